package generate

import "time"

// quotingCases are about quotes around the kubelet's flags. The shell takes the outer ones
// off, systemd those within, and most texts come out right.
func quotingCases() []Case {
	flagged := func(code, quoted string) func(*Bundle) *verdict {
		return func(b *Bundle) *verdict {
			m := b.Unregistered(Reports)
			b.retext(m, kubeletFlags(quoted))
			return unregistered(m, code)
		}
	}
	return []Case{
		broken("flags-with-a-quote-that-never-ends", "A double quote is opened around the labels and not closed: everything behind it becomes part of the label.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/179", "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/1004"), flagged("UserDataMalformedFlags", `'--node-labels="team=reports,tier=night --max-pods=58'`)).of(quotedFlags),
		broken("flags-with-quotes-that-reach-the-kubelet", "The quotes are escaped once for each hand they go through, and one stays: the label's value begins with a quote, which the kubelet refuses.",
			from("https://github.com/kubernetes/kubernetes/pull/109263", "https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html"), flagged("UserDataMalformedFlags", `'--node-labels=team=\\\"reports\\\" --max-pods=58'`)).of(quotedFlags),
		misleading("flags-with-quotes-in-quotes", "Quotes in quotes look odd and were seen to work, so they are a hint. Nothing else is shown.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/67", "https://github.com/aws/karpenter-provider-aws/issues/6456"), func(b *Bundle) *verdict {
				m := b.Unregistered(Reports)
				b.retext(m, kubeletFlags(`'--node-labels="team=reports,tier=night" --max-pods=58'`))
				return unregistered(m, "").suggests("UserDataMalformedFlags")
			}).of(quotedFlags),
		misleading("flags-with-quotes-in-quotes-and-no-route", "The same odd quotes, and a subnet without a way to an endpoint that is public only: the route is the cause.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/67", docEndpoint), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				b.aside()
				m := b.Unregistered(Reports)
				b.retext(m, kubeletFlags(`'--node-labels="team=reports,tier=night" --max-pods=58'`))
				m.moved()
				return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing").suggests("UserDataMalformedFlags")
			}).of(quotedFlags),
		well("flags-with-quotes-in-quotes-on-nodes-that-work", "Two nodes joined with quotes in quotes and are Ready.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/179", "https://github.com/terraform-aws-modules/terraform-aws-eks/pull/1082"), func(b *Bundle) *verdict {
				m := b.Unregistered(Reports)
				b.retext(m, kubeletFlags(`'--node-labels="team=reports,tier=night" --max-pods=58'`))
				other := b.Another(m)
				text := b.UserData[m.ID]
				b.Join(m, 38*time.Minute)
				b.Join(other, 37*time.Minute)
				b.UserData[m.ID] = text
				return nothing()
			}).of(quotedFlags),
		misleading("karpenters-own-quotes", "Karpenter itself puts the labels in quotes in its NodeConfig. The role of the instance does not trust EC2.",
			from("https://github.com/aws/karpenter-provider-aws/issues/7486", docNodeRole), func(b *Bundle) *verdict {
				m := b.Unregistered(Batch)
				b.find(b.Roles, "RoleName", Batch.Role)["AssumeRolePolicyDocument"] = trust("eks-nodegroup.amazonaws.com")
				return unregistered(m, "RoleTrustInvalid")
			}).of(quotedFlags),
		broken("startup-taint-quoted-twice-and-refused", "User data of a custom AMI gives Karpenter's taint in quotes within quotes, the node came without it, and Karpenter before 1.3 refuses such a node: the quotes are to be changed.",
			from(docNodeClasses, "https://github.com/kubernetes-sigs/karpenter/issues/1828", "https://github.com/awslabs/amazon-eks-ami/issues/179"), func(b *Bundle) *verdict {
				m := b.untainted()
				b.custom(m, nestedTaint)
				return finds(m, "Uninitialized", "UserDataMalformedFlags", "StartupTaintMissing")
			}).of(quotedFlags),
		misleading("startup-taint-quoted-once-and-refused", "The taint is written as it should be, and Karpenter before 1.3 refuses the node all the same: nothing is wrong with the flags.",
			from(docNodeClasses, "https://github.com/kubernetes-sigs/karpenter/issues/1828"), func(b *Bundle) *verdict {
				m := b.untainted()
				b.custom(m, "'--register-with-taints=karpenter.sh/unregistered=:NoExecute'")
				return finds(m, "Uninitialized", "StartupTaintMissing").rulesOut("UserDataMalformedFlags")
			}).of(quotedFlags),
		misleading("startup-taint-quoted-twice-since-karpenter-1-3", "The same quotes, and Karpenter tells that the taint was missing and goes on. What the node lacks is the CNI, whose pod crashes.",
			from("https://github.com/kubernetes-sigs/karpenter/pull/1991", docNodeClasses), func(b *Bundle) *verdict {
				m := b.joined(Batch, 26*time.Minute)
				b.custom(m, nestedTaint)
				b.neverReady(m)
				b.claimEvent(m, "UnregisteredTaintMissing", "Missing karpenter.sh/unregistered taint which prevents registration related race conditions on Karpenter-managed nodes", "Warning", 25*time.Minute)
				b.pod(m, "aws-node", "CrashLoopBackOff", "back-off 5m0s restarting failed container=aws-node")
				return finds(m, "Uninitialized", "CniNotReady").suggests("UserDataMalformedFlags", "StartupTaintMissing")
			}).of(quotedFlags),
		well("startup-taint-quoted-twice-on-a-node-that-works", "The same quotes, and the node is registered, initialized and Ready.",
			from(docNodeClasses, "https://github.com/awslabs/amazon-eks-ami/issues/67"), func(b *Bundle) *verdict {
				m := b.joined(Batch, 26*time.Minute)
				b.custom(m, nestedTaint)
				return nothing()
			}).of(quotedFlags),
		broken("startup-taint-with-another-effect", "The kubelet registers with Karpenter's key and the effect NoSchedule. Karpenter compares both, so it registers and initializes the node and never takes that taint off.",
			from("https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/registration.go", docNodeClasses), func(b *Bundle) *verdict {
				m := b.joined(Batch, 26*time.Minute)
				b.custom(m, "'--register-with-taints=karpenter.sh/unregistered:NoSchedule'")
				b.taint(m, "karpenter.sh/unregistered", "NoSchedule")
				return finds(m, "Uninitialized", "StartupTaintMissing", "StartupTaintNotRemoved").rulesOut("UserDataMalformedFlags")
			}).of(quotedFlags),
	}
}

// nestedTaint is Karpenter's taint in quotes within quotes.
const nestedTaint = `'--register-with-taints="karpenter.sh/unregistered=:NoExecute"'`

// custom makes a machine's node class one of the family Custom, to which Karpenter adds
// nothing, with extra arguments for the kubelet, quoted as they stand.
func (b *Bundle) custom(m *Machine, quoted string) {
	b.UserData[m.ID] = kubeletFlags(quoted)
	for _, c := range b.NodeClasses {
		if c["metadata"].(object)["name"] == m.Group.Name {
			spec := c["spec"].(object)
			spec["amiFamily"], spec["userData"] = "Custom", b.UserData[m.ID]
		}
	}
	own := Image{"ami-0c05aaaaaaaaaaaa3", "payments-golden-al2-2026-02", Account, "x86_64", al2, "v1.35.0-eks-70ce843"}
	b.image(own)
	m.Instance["ImageId"], m.Claim["status"].(object)["imageID"] = own.ID, own.ID
}
