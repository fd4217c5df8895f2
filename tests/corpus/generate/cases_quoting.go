package generate

import "time"

// quotingCases are about quotes around the kubelet's flags. The shell takes the outer ones
// off, systemd those within, and most texts come out right.
func quotingCases() []Case {
	flagged := func(code, quoted string) func(*Bundle, healthy) *verdict {
		return func(b *Bundle, _ healthy) *verdict {
			m := b.Unregistered(Reports)
			b.retext(m, kubeletFlags(quoted))
			return unregistered(m, code)
		}
	}
	return []Case{
		{
			Name: "flags-with-a-quote-that-never-ends", Class: Broken, Report: quotedFlags,
			Why:     "A double quote is opened around the labels and not closed: everything behind it becomes part of the label.",
			Sources: []string{"https://github.com/awslabs/amazon-eks-ami/issues/179", "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/1004"},
			Build:   flagged("UserDataMalformedFlags", `'--node-labels="team=reports,tier=night --max-pods=58'`),
		},
		{
			Name: "flags-with-quotes-that-reach-the-kubelet", Class: Broken, Report: quotedFlags,
			Why:     "The quotes are escaped once for each hand they go through, and one stays: the label's value begins with a quote, which the kubelet refuses.",
			Sources: []string{"https://github.com/kubernetes/kubernetes/pull/109263", "https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html"},
			Build:   flagged("UserDataMalformedFlags", `'--node-labels=team=\\\"reports\\\" --max-pods=58'`),
		},
		{
			Name: "flags-with-quotes-in-quotes", Class: Misleading, Report: quotedFlags,
			Why:     "Quotes in quotes look odd and were seen to work, so they are a hint. Nothing else is shown.",
			Sources: []string{"https://github.com/awslabs/amazon-eks-ami/issues/67", "https://github.com/aws/karpenter-provider-aws/issues/6456"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Reports)
				b.retext(m, kubeletFlags(`'--node-labels="team=reports,tier=night" --max-pods=58'`))
				return unregistered(m, "").suggests("UserDataMalformedFlags")
			},
		},
		{
			Name: "flags-with-quotes-in-quotes-and-no-route", Class: Misleading, Report: quotedFlags,
			Why:     "The same odd quotes, and a subnet without a way to an endpoint that is public only: the route is the cause.",
			Sources: []string{"https://github.com/awslabs/amazon-eks-ami/issues/67", docEndpoint},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.endpoint(true, false)
				b.aside()
				m := b.Unregistered(Reports)
				b.retext(m, kubeletFlags(`'--node-labels="team=reports,tier=night" --max-pods=58'`))
				m.moved()
				return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing").suggests("UserDataMalformedFlags")
			},
		},
		{
			Name: "flags-with-quotes-in-quotes-on-nodes-that-work", Class: Well, Report: quotedFlags,
			Why:     "Two nodes joined with quotes in quotes and are Ready.",
			Sources: []string{"https://github.com/awslabs/amazon-eks-ami/issues/179", "https://github.com/terraform-aws-modules/terraform-aws-eks/pull/1082"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Reports)
				b.retext(m, kubeletFlags(`'--node-labels="team=reports,tier=night" --max-pods=58'`))
				other := b.Another(m)
				text := b.UserData[m.ID]
				b.Join(m, 38*time.Minute)
				b.Join(other, 37*time.Minute)
				b.UserData[m.ID] = text
				return nothing()
			},
		},
		{
			Name: "karpenters-own-quotes", Class: Misleading, Report: quotedFlags,
			Why:     "Karpenter itself puts the labels in quotes in its NodeConfig. The role of the instance does not trust EC2.",
			Sources: []string{"https://github.com/aws/karpenter-provider-aws/issues/7486", docNodeRole},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Batch)
				b.find(b.Roles, "RoleName", Batch.Role)["AssumeRolePolicyDocument"] = trust("eks-nodegroup.amazonaws.com")
				return unregistered(m, "RoleTrustInvalid")
			},
		},
	}
}
