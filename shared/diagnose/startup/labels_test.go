package startup_test

import (
	"maps"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
	"rollcall/tests/harness/expect"
)

// on sets labels of the node; "" removes one.
func (w *world) on(labels map[string]string) {
	maps.Copy(w.object().Labels, labels)
	maps.DeleteFunc(w.object().Labels, func(_, value string) bool { return value == "" })
}

func asks(key, operator string, values ...string) evidence.Requirement {
	return evidence.Requirement{Key: key, Operator: operator, Values: values}
}

func TestLabelsThatContradictWhatTheNodeWasLaunchedFor(t *testing.T) {
	const arch, pool, zone, capacity = "kubernetes.io/arch", "karpenter.sh/nodepool", "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"
	launched := func(w *world) {
		w.claim().Labels = map[string]string{pool: "default", capacity: "spot", zone: "eu-west-1a", "team": "web"}
		w.claim().Requirements = []evidence.Requirement{asks(arch, "In", "arm64"), asks("karpenter.k8s.aws/instance-cpu", "Gt", "3"), asks("dedicated", "NotIn", "db"), asks("old", "DoesNotExist")}
		w.pool.Value.Requirements = []evidence.Requirement{asks(arch, "In", "arm64", "amd64")}
		w.object().Architecture = "arm64"
		w.on(map[string]string{pool: "default", capacity: "spot", zone: "eu-west-1a", "team": "web", arch: "arm64", "karpenter.k8s.aws/instance-cpu": "4"})
	}
	with := func(labels map[string]string, more ...func(*world)) func(*world) {
		return func(w *world) {
			launched(w)
			w.on(labels)
			for _, f := range more {
				f(w)
			}
		}
	}
	unregistered := func(w *world) {
		w.on(map[string]string{"karpenter.sh/registered": ""})
		w.claim().Conditions[0] = evidence.Condition{Type: "Registered", Status: "Unknown"}
	}
	wants := func(all ...evidence.Requirement) func(*world) {
		return func(w *world) {
			w.claim().Requirements = all
			for _, r := range all { // the NodeClaim's own label may be older than what it asks for
				delete(w.claim().Labels, r.Key)
			}
			delete(w.claim().Labels, zone)
		}
	}
	unclaimed := func(w *world) { w.claims = evidence.Failed[[]evidence.NodeClaim]("why") }
	initialized := func(ago time.Duration) func(*world) {
		return func(w *world) {
			w.claim().Conditions[1] = evidence.Condition{Type: "Initialized", Status: "True", Since: now.Add(-ago)}
		}
	}
	check(t, roll.Uninitialized, []test{
		{"all is as it was launched", launched, "", ""},
		{"another architecture than it was launched for", with(map[string]string{arch: "amd64"}, func(w *world) { w.object().Architecture = "amd64" }), "NodeLabelsMismatch?", "has the label kubernetes.io/arch=amd64, and NodeClaim says In [arm64]: pods that ask"},
		{"a label that is not the kubelet's", with(map[string]string{arch: "amd64"}), "NodeLabelsMismatch?", "--overwrite kubernetes.io/arch=arm64"},
		{"by the label's older name", with(map[string]string{arch: "amd64"}, func(w *world) { w.claim().Requirements[0].Key = "beta.kubernetes.io/arch" }), "NodeLabelsMismatch?", ""},
		{"another node pool", with(map[string]string{pool: "other"}), "NodeLabelsMismatch?", "kubectl label node " + name + " --overwrite karpenter.sh/nodepool=default"},
		{"another zone", with(map[string]string{zone: "eu-west-1b"}), "NodeLabelsMismatch?", ""},
		{"another zone, by the name of the EBS driver", with(map[string]string{zone: "eu-west-1b"}, wants(asks("topology.ebs.csi.aws.com/zone", "In", "eu-west-1a"))), "NodeLabelsMismatch?", "says In [eu-west-1a]"},
		{"another instance family", with(map[string]string{"karpenter.k8s.aws/instance-family": "m5"}, wants(asks("karpenter.k8s.aws/instance-family", "In", "m7g", "c7g"))), "NodeLabelsMismatch?", "says In [m7g, c7g]"},
		{"how it is bought", with(map[string]string{capacity: "on-demand"}, wants(asks(capacity, "In", "spot"))), "NodeLabelsMismatch?", "says In [spot]"},
		{"a label of the template was changed", with(map[string]string{"team": "db"}), "NodeLabelsMismatch?", "team=db"},
		{"a label of the template was taken off", with(map[string]string{"team": ""}), "NodeLabelsMismatch?", "lacks the label team=web, which NodeClaim has"},
		{"two of them", with(map[string]string{"team": "", pool: "other"}), "NodeLabelsMismatch?", "and 1 more of its labels"},
		{"a number that is too small", with(map[string]string{"karpenter.k8s.aws/instance-cpu": "2"}), "NodeLabelsMismatch?", "Gt [3]"},
		{"a value that is shut out", with(map[string]string{"dedicated": "db"}), "NodeLabelsMismatch?", ""},
		{"a label that must not be there", with(map[string]string{"old": "x"}), "NodeLabelsMismatch?", ""},
		{"further labels", with(map[string]string{"mine": "x", "beta.kubernetes.io/arch": "amd64"}), "", ""},
		{"each operator is met", with(map[string]string{"family": "c7g", "dedicated": "web", "karpenter.k8s.aws/instance-cpu": "8"},
			wants(asks("family", "Exists"), asks("dedicated", "NotIn", "db", "batch"), asks("gone", "DoesNotExist"), asks("karpenter.k8s.aws/instance-cpu", "Gt", "7"),
				asks("karpenter.k8s.aws/instance-cpu", "Lt", "9"), asks("karpenter.k8s.aws/instance-cpu", "Gte", "8"), asks("absent", "NotIn", "x"), asks("absent", "Gt", "3"))), "", ""},
		{"its capacity reservation ended", with(map[string]string{capacity: "on-demand"}, wants(asks(capacity, "In", "reserved")), func(w *world) {
			w.pool.Value.Requirements = []evidence.Requirement{asks(capacity, "In", "reserved")}
		}), "", ""},
		{"what is asked for and not on the node", with(map[string]string{"karpenter.k8s.aws/instance-cpu": ""}), "", ""},
		{"Karpenter's own mark was taken off", with(nil, initialized(10*time.Minute)), "NodeLabelsMismatch", "lacks the label karpenter.sh/initialized, which Karpenter wrote on it and does not write again"},
		{"and another label was changed with it", with(map[string]string{arch: "amd64"}, initialized(10*time.Minute)), "NodeLabelsMismatch", "and 1 more of its labels are not as they should be: to Karpenter the node is still starting"},
		{"it was written just now", with(nil, initialized(time.Minute)), "", ""},
		{"it is on the node", with(map[string]string{"karpenter.sh/initialized": "true"}, initialized(10*time.Minute)), "", ""},

		{"the NodePool was edited since", with(nil, func(w *world) {
			w.pool.Value.Requirements = []evidence.Requirement{asks(arch, "In", "amd64")}
			w.pool.Value.Labels = map[string]string{"team": "db"}
		}), "NodeLabelsMismatch?", "NodePool says In [amd64]"},
		{"the NodePool alone is known", with(map[string]string{arch: "s390x"}, unclaimed, func(w *world) { w.object().Architecture = "s390x" }), "NodeLabelsMismatch?", ""},
		{"before it is registered, its machine", with(map[string]string{arch: "amd64"}, unregistered, func(w *world) { w.object().Architecture = "amd64" }), "NodeLabelsMismatch?", ""},
		{"before it is registered, what Karpenter writes", with(map[string]string{pool: "", capacity: "", "team": ""}, unregistered), "", ""},
		{"a label that is untrue, of somebody else's node", with(map[string]string{arch: "amd64"}, func(w *world) { w.finding.Owner = roll.OwnerManagedNodeGroup }), "NodeLabelsMismatch?", "and the kubelet says arm64"},
		{"somebody else's node", with(map[string]string{pool: "other"}, func(w *world) { w.finding.Owner = roll.OwnerManagedNodeGroup }), "", ""},
	})
	check(t, roll.NotReady, []test{
		{"a node that was ready", with(map[string]string{pool: "other"}), "NodeLabelsMismatch?", ""},
		{"Karpenter's own mark was taken off a node that was ready", with(nil, initialized(10*time.Minute)), "", ""},
		{"the NodePool of a node that was ready was edited since", with(nil, func(w *world) { w.pool.Value.Labels = map[string]string{"team": "db"} }), "", ""},
	})

	for name, spoil := range map[string]func(*world){
		"the NodeClaim": unclaimed,
		"the NodePool":  func(w *world) { w.pool = evidence.Failed[evidence.NodePool]("why") },
	} {
		w := of(roll.Uninitialized)
		launched(w)
		spoil(w)
		expect.Equal(t, causetest.Reason(w.analyze(), cause.NodeLabelsMismatch), "why", "without %s", name)
	}
}
