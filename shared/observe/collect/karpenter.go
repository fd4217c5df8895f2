package collect

import (
	"cmp"
	"fmt"
	"strings"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// ofPools reads one fact of each node pool of findings.
func ofPools[V any](l *look, read func(pool string) evidence.Fact[V], place func(*evidence.Group) *evidence.Fact[V]) {
	ofGroups(l, l.groupsOf(roll.Group.NodePool), poolsTotal, "node pools", func(group roll.Group) evidence.Fact[V] {
		pool, _ := group.NodePool()
		if !kube.ValidPool(pool) {
			return evidence.Skipped[V](fmt.Sprintf("no node pool can have the name %q", pool))
		}
		return read(pool)
	}, place)
}

func (l *look) readNodePools() {
	t := l.topic()
	ofPools(l, func(pool string) evidence.Fact[evidence.NodePool] { return object(t, kube.ANodePool(pool), nodePool) },
		func(g *evidence.Group) *evidence.Fact[evidence.NodePool] { return &g.NodePool })
}

// readNodeClaims lists the NodeClaims of the node pools. A cluster that does not serve NodeClaims
// has none.
func (l *look) readNodeClaims() {
	t := l.topic()
	ofPools(l, func(pool string) evidence.Fact[[]evidence.NodeClaim] {
		fact := items(t, kube.NodeClaimsOf(pool), nodeClaim)
		if fact.State == evidence.Absent {
			fact = evidence.Read([]evidence.NodeClaim{})
		}
		return fact
	}, func(g *evidence.Group) *evidence.Fact[[]evidence.NodeClaim] { return &g.NodeClaims })
}

// readNodeClasses reads the EC2NodeClasses that the node pools name, each once. Auto Mode's
// NodeClasses are of another kind, and AWS manages their nodes.
func (l *look) readNodeClasses() {
	t := l.topic()
	known := map[string]evidence.Fact[evidence.NodeClass]{}
	for _, group := range l.groupsOf(roll.Group.NodePool) {
		pool := l.groupOf(group).NodePool
		kind, name, _ := strings.Cut(pool.Value.NodeClass, "/")
		fact := evidence.Then(pool, func(evidence.NodePool) evidence.Fact[evidence.NodeClass] { return l.nodeClass(t, known, kind, name) })
		l.group(group, func(g *evidence.Group) { g.NodePool.Value.NodeClass, g.NodeClass = name, fact })
	}
}

func (l *look) nodeClass(t *topic, known map[string]evidence.Fact[evidence.NodeClass], kind, name string) evidence.Fact[evidence.NodeClass] {
	if kind != kindEC2NodeClass {
		return evidence.Skipped[evidence.NodeClass](fmt.Sprintf("%s is a %s, which is not read", name, kind))
	}
	if _, ok := known[name]; !ok {
		known[name] = object(t, kube.AnEC2NodeClass(name), nodeClassOf)
	}
	return known[name]
}

func (l *look) readClaimEvents() {
	t := l.topic()
	asked := 0
	for _, f := range l.needing(needOwner) {
		claims := l.groupOf(f.Group).NodeClaims.Value
		for i, c := range claims {
			if c.Instance != f.Instance || !f.Instance.IsInstance() || c.Events.State != evidence.NotAsked || c.Events.Why != "" {
				continue
			}
			events := evidence.Skipped[[]evidence.Event]("")
			switch {
			case !l.samples.has(f):
				events.Why = l.samples.why(f)
			case asked >= l.most(claimEventsTotal):
				events.Why = fmt.Sprintf("sampled: the events of %d NodeClaims are read per check, the most urgent first", claimEventsTotal)
			default:
				asked++
				events = inOrder(items(t, kube.EventsOfNodeClaim(c.Name), event))
			}
			// Only this task of the step uses the list.
			claims[i].Events = events
		}
	}
}

// nodePoolJSON has the fields of Karpenter's v1 NodePool that are read.
// https://karpenter.sh/docs/concepts/nodepools/
type nodePoolJSON struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Template struct {
			Metadata metadata  `json:"metadata"`
			Spec     claimSpec `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// claimSpec holds the common fields of NodePools and NodeClaims.
type claimSpec struct {
	Taints        []evidence.Taint `json:"taints"`
	StartupTaints []evidence.Taint `json:"startupTaints"`
	NodeClassRef  struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"nodeClassRef"`
	Requirements []evidence.Requirement `json:"requirements"`
}

const (
	kindEC2NodeClass = "EC2NodeClass"
	labelNodePool    = "karpenter.sh/nodepool"
)

// nodePool converts a NodePool. Its NodeClass is kind/name until the NodeClass has been read.
func nodePool(p *nodePoolJSON) evidence.NodePool {
	spec := p.Spec.Template.Spec
	return evidence.NodePool{
		Name: p.Metadata.Name, Taints: spec.Taints, StartupTaints: spec.StartupTaints,
		NodeClass: spec.NodeClassRef.Kind + "/" + spec.NodeClassRef.Name,
		Labels:    p.Spec.Template.Metadata.Labels, Requirements: spec.Requirements,
	}
}

// nodeClassJSON has the fields of an EC2NodeClass that are read. Of its user data only its presence
// is kept.
// https://karpenter.sh/docs/concepts/nodeclasses/
type nodeClassJSON struct {
	Spec struct {
		AMIFamily        string `json:"amiFamily"`
		AMISelectorTerms []struct {
			Alias string `json:"alias"`
		} `json:"amiSelectorTerms"`
		Role     string `json:"role"`
		UserData string `json:"userData"`
	} `json:"spec"`
}

func nodeClassOf(c *nodeClassJSON) evidence.NodeClass {
	out := evidence.NodeClass{
		AMIFamily: c.Spec.AMIFamily, Role: c.Spec.Role, UserData: c.Spec.UserData != "",
	}
	for _, term := range c.Spec.AMISelectorTerms {
		out.AMIAlias = cmp.Or(out.AMIAlias, term.Alias)
	}
	return out
}

// nodeClaimJSON has the fields of Karpenter's v1 NodeClaim that are read.
// https://karpenter.sh/docs/concepts/nodeclaims/
type nodeClaimJSON struct {
	Metadata metadata  `json:"metadata"`
	Spec     claimSpec `json:"spec"`
	Status   struct {
		ProviderID string               `json:"providerID"`
		NodeName   string               `json:"nodeName"`
		Conditions []evidence.Condition `json:"conditions"`
	} `json:"status"`
}

func nodeClaim(c *nodeClaimJSON) evidence.NodeClaim {
	_, instance := roll.ParseProviderID(c.Status.ProviderID)
	return evidence.NodeClaim{
		Name: c.Metadata.Name, Created: c.Metadata.CreationTimestamp.UTC(), NodePool: c.Metadata.Labels[labelNodePool],
		Instance: instance, Node: c.Status.NodeName, Conditions: c.Status.Conditions,
		Type: c.Metadata.Labels["node.kubernetes.io/instance-type"], Capacity: c.Metadata.Labels["karpenter.sh/capacity-type"],
		Taints: c.Spec.Taints, Startup: c.Spec.StartupTaints,
		Labels: c.Metadata.Labels, Requirements: c.Spec.Requirements,
	}
}
