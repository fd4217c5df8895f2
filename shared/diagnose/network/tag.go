package network

import (
	"fmt"
	"slices"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// tagOf is the key by which instances are marked as a cluster's.
const tagOf = "kubernetes.io/cluster/"

// taintCloud is on a node until the cloud controller has found its instance.
const taintCloud = "node.cloudprovider.kubernetes.io/uninitialized"

// tag looks for the cluster's tag on an instance that nobody at AWS tags: a self-managed
// one or Karpenter's (ClusterTagMissing).
//
// AWS lists it among what keeps nodes from joining. What reads it: a kubelet that starts
// AWS's cloud provider itself, before 1.27, which ends without it; and the cloud
// controller, which finds instances by their node's name among those with the tag. A
// newer kubelet of EKS's AMIs registers without it and tells the controller the instance
// id. So the tag is decisive for such an old kubelet, and for a node whose taint the
// cloud controller has left on; else it is a hint.
// https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html#worker-node-fail
// https://github.com/kubernetes/cloud-provider-aws/blob/master/docs/getting_started.md
// https://github.com/awslabs/amazon-eks-ami/issues/310
func (l *look) tag() {
	const code = cause.ClusterTagMissing
	owner := l.Finding.Owner
	if !slices.Contains([]roll.Owner{roll.OwnerKarpenter, roll.OwnerAutoScalingGroup, roll.OwnerNone}, owner) {
		return
	}
	name := l.clusterName()
	if name == "" || slices.Contains(l.i.ClusterTags, name) {
		l.s.RuledOut(code)
		return
	}
	c := roll.Cause{
		Code: code, Confidence: roll.Suggestive, Subject: l.origin(),
		Summary:  fmt.Sprintf("the instance lacks the tag %s%s, by which it is known to belong to the cluster", tagOf, name),
		Evidence: []roll.Evidence{{Source: "instance", Field: "Tags[" + tagOf + name + "]", Observed: "none", Expected: "owned"}},
		Fix:      l.addTag(name),
	}
	waits := slices.ContainsFunc(l.Node().Object.Value.Taints, func(t evidence.Taint) bool { return t.Key == taintCloud })
	switch {
	case l.Finding.Kind == roll.Unregistered && l.Cluster.Config.Known() && l.oldKubelet():
		c.Confidence = roll.Decisive
	case l.Finding.Kind == roll.Uninitialized && waits:
		c.Confidence = roll.Decisive
		c.Evidence = append(c.Evidence, roll.Evidence{Source: "node", Field: "spec.taints", Observed: taintCloud, Expected: "removed by the cloud controller"})
	}
	l.s.Found(c)
}

// addTag tags the instance, and those that its group launches.
func (l *look) addTag(name string) string {
	own := l.aws("ec2", "create-tags", "--resources", string(l.Finding.Instance), "--tags", "Key="+tagOf+name+",Value=owned")
	if l.i.ASG == "" || l.Finding.Owner != roll.OwnerAutoScalingGroup {
		return own
	}
	return paste.Lines(own, l.aws("autoscaling", "create-or-update-tags", "--tags",
		fmt.Sprintf("ResourceId=%s,ResourceType=auto-scaling-group,Key=%s%s,Value=owned,PropagateAtLaunch=true", l.i.ASG, tagOf, name)))
}
