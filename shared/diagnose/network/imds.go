package network

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// metadata looks at whether the instance has a metadata service at all (ImdsDisabled).
// nodeadm, bootstrap.sh and Bottlerocket begin by asking it who and where they are, and
// the kubelet's credentials, those of the instance's role, come from it and from nowhere
// else. A node that registered once had it then, or other credentials; when it was
// turned off is not told, so of a node it is a hint.
// https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/api/status.go
// https://github.com/awslabs/amazon-eks-ami/blob/v20251112/templates/al2/runtime/bootstrap.sh
// https://github.com/bottlerocket-os/bottlerocket-core-kit/tree/develop/sources/early-boot-config
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-options.html
func (l *look) metadata() {
	if !l.i.IMDSDisabled {
		l.s.RuledOut(cause.ImdsDisabled)
		return
	}
	confidence := roll.Suggestive
	if l.Finding.Kind == roll.Unregistered {
		confidence = roll.Decisive
	}
	l.s.Found(roll.Cause{
		Code: cause.ImdsDisabled, Confidence: confidence, Subject: l.origin(),
		Summary:  "the instance's metadata service is off, from which it learns who it is and gets the credentials of its role",
		Evidence: []roll.Evidence{{Source: "instance", Field: "MetadataOptions.HttpEndpoint", Observed: "disabled", Expected: "enabled"}},
		Fix:      l.metadataOptions("--http-endpoint", "enabled", `{"httpEndpoint":"enabled"}`),
	})
}

// hopLimit looks at how far answers of the metadata service travel (ImdsHopLimit): with
// 1 they reach the host and pods in its network, and no other pod. That is Karpenter's
// default and does not bother a node, so it is told, as a hint, only of a node with a pod
// that fails and asks the metadata service.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-options.html
// https://karpenter.sh/docs/concepts/nodeclasses/#specmetadataoptions
func (l *look) hopLimit() {
	const code = cause.ImdsHopLimit
	pods := l.Node().Pods
	switch {
	case l.i.HopLimit == 0:
		l.s.NotChecked("the hop limit of the metadata service is not told", code)
		return
	case l.i.HopLimit > 1:
		l.s.RuledOut(code)
		return
	case !pods.Settled():
		l.s.NotChecked(pods.Missing("the pods on the node"), code)
		return
	}
	i := slices.IndexFunc(pods.Value, asksMetadata)
	if i < 0 {
		l.s.RuledOut(code)
		return
	}
	p := pods.Value[i]
	l.s.Found(roll.Cause{
		Code: code, Confidence: roll.Suggestive, Subject: l.origin(),
		Summary: fmt.Sprintf("the pod %s/%s fails and asks the instance's metadata service, whose answers reach only the host (hop limit 1)", p.Namespace, p.Name),
		Evidence: []roll.Evidence{
			{Source: "instance", Field: "MetadataOptions.HttpPutResponseHopLimit", Observed: "1", Expected: "2, or pods that do without"},
			{Source: "pod " + p.Namespace + "/" + p.Name, Field: "state", Observed: strings.TrimSpace(orElse(p.Waiting, p.Terminated) + " " + p.Message), Expected: "running"},
		},
		Fix: l.metadataOptions("--http-put-response-hop-limit", "2", `{"httpPutResponseHopLimit":2}`),
	})
}

// askers are workloads in a network of their own that ask the metadata service for their
// region, their instance or credentials unless they are told. Each project's installation
// guide says so.
// https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/install.md
// https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/installation/
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Container-Insights-setup-EKS-quickstart.html
var askers = []string{"ebs-csi-node", "ebs-csi-controller", "aws-load-balancer-controller", "cluster-autoscaler", "cloudwatch-agent", "external-dns", "aws-for-fluent-bit", "fluent-bit"}

// asksMetadata: the pod fails, and says that it is for want of the metadata service, or
// is one of those that ask it.
func asksMetadata(p evidence.Pod) bool {
	if p.Ready || p.Waiting != "CrashLoopBackOff" && p.Terminated == "" {
		return false
	}
	_, owner, _ := strings.Cut(p.Owner, "/")
	return says(p.Message, []string{"169.254.169.254", "EC2MetadataError", "EC2 IMDS", "ec2imds", "EC2 metadata", "instance metadata"}) ||
		slices.ContainsFunc(askers, func(a string) bool { return strings.HasPrefix(owner, a) })
}

// metadataOptions sets an option on the instance, and for those that Karpenter launches.
func (l *look) metadataOptions(flag, value, patch string) string {
	own := l.aws("ec2", "modify-instance-metadata-options", "--instance-id", string(l.Finding.Instance), flag, value)
	if l.Finding.Owner == roll.OwnerKarpenter && l.i.NodeClass != "" {
		return paste.Lines(own, command("kubectl", "patch", "ec2nodeclass", l.i.NodeClass, "--type", "merge", "-p", `{"spec":{"metadataOptions":`+patch+`}}`))
	}
	return paste.Lines(own, "# and in the launch template, for instances to come")
}
