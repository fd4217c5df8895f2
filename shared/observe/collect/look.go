package collect

import (
	"context"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// look is one collection in progress.
type look struct {
	ctx context.Context
	*Collector
	in       Input
	findings []roll.Finding // those that are diagnosed
	samples  samples
	needed   sync.Map // the results of needing
	dial     func() (*kube.Client, error)

	mu     sync.Mutex // guards what several tasks write: instances, nodes and groups, and what follows
	ev     *evidence.Evidence
	down   string            // why the Kubernetes API is asked no more: it does not answer, or refuses
	silent map[string]string // why it is asked no more for objects of a kind
	waited string            // a kind that it should have read by itself, and did not

	// The results that one step leaves for the next, each written by one task.
	tables fetched[types.RouteTable]
	acls   fetched[types.NetworkAcl]
	// podHooks are the webhooks that concern pods.
	podHooks evidence.Fact[[]evidence.Webhook]
}

// fetched is the result of a listing, or why there is none.
type fetched[T any] struct {
	vpcs []string // the VPCs that it covers
	all  []T
	why  string
}

func newLook(ctx context.Context, c *Collector, in Input) *look {
	s := in.Snapshot
	l := &look{ctx: ctx, Collector: c, in: in, findings: wanted(in), down: downSince(in.Snapshot), silent: map[string]string{}}
	if !c.Free {
		l.findings = inRotation(l.findings, s.At)
	}
	l.samples = sampled(l.findings, c.Free)
	l.dial = sync.OnceValues(func() (*kube.Client, error) { return l.Kube.Dial(s.Cluster) })
	l.ev = &evidence.Evidence{
		At: s.At, Region: c.AWS.Region, ClusterID: s.Cluster.ID, Findings: in.Findings, Gaps: s.Gaps, Alone: s.Target != "",
		Unread: map[string]bool{}, Instances: map[roll.InstanceID]evidence.Instance{}, Nodes: map[string]evidence.Node{},
		Profiles: map[string]evidence.Fact[evidence.InstanceProfile]{}, Roles: map[string]evidence.Fact[evidence.Role]{}, Policies: map[string]evidence.Fact[evidence.Policies]{}, Documents: map[string]evidence.Fact[[]evidence.PolicyDocument]{},
		Images: map[string]evidence.Fact[evidence.Image]{}, Templates: map[string]evidence.Fact[evidence.LaunchTemplate]{},
		Groups: map[roll.Group]evidence.Group{},
		Network: evidence.Network{
			Subnets: map[string]evidence.Fact[evidence.Subnet]{}, RouteTables: map[string]evidence.Fact[evidence.RouteTable]{}, ACLs: map[string]evidence.Fact[evidence.ACL]{},
			SecurityGroups: map[string]evidence.Fact[evidence.SecurityGroup]{}, NATGateways: map[string]evidence.Fact[evidence.NATGateway]{}, VPCs: map[string]evidence.VPC{},
		},
	}
	return l
}

// needing returns the findings whose diagnosis needs n. Callers share the list.
func (l *look) needing(n need) (out []*roll.Finding) {
	if known, ok := l.needed.Load(n); ok {
		return known.([]*roll.Finding)
	}
	for i := range l.findings {
		if f := &l.findings[i]; needsOf(f)&n != 0 {
			out = append(out, f)
		}
	}
	l.needed.Store(n, out)
	return out
}

// instancesNeeding returns the instances of those findings, each once.
func (l *look) instancesNeeding(n need) []roll.InstanceID {
	var ids []roll.InstanceID
	for _, f := range l.needing(n) {
		if f.Instance.IsInstance() {
			ids = append(ids, f.Instance)
		}
	}
	return distinct(ids)
}

// configs returns the descriptions of those instances, as far as EC2 returned them.
func (l *look) configs(n need) (out []evidence.InstanceConfig) {
	for _, id := range l.instancesNeeding(n) {
		if c := l.config(id); c.Known() {
			out = append(out, c.Value)
		}
	}
	return out
}

// changed changes a value of the evidence under its lock. known returns a value under its lock.
func changed[K comparable, V any](l *look, all map[K]V, key K, change func(*V)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := all[key]
	change(&v)
	all[key] = v
}

func known[K comparable, V any](l *look, all map[K]V, key K) V {
	l.mu.Lock()
	defer l.mu.Unlock()
	return all[key]
}

// joined returns the texts of all.
func joined[T any](all []T, of func(T) []string) []string { return slices.Concat(roll.Map(all, of)...) }

func (l *look) instance(id roll.InstanceID, change func(*evidence.Instance)) {
	changed(l, l.ev.Instances, id, change)
}
func (l *look) node(name string, change func(*evidence.Node)) {
	changed(l, l.ev.Nodes, name, change)
}
func (l *look) group(name roll.Group, change func(*evidence.Group)) {
	changed(l, l.ev.Groups, name, change)
}
func (l *look) vpc(id string, change func(*evidence.VPC)) {
	changed(l, l.ev.Network.VPCs, id, change)
}

func (l *look) config(id roll.InstanceID) evidence.Fact[evidence.InstanceConfig] {
	return known(l, l.ev.Instances, id).Config
}
func (l *look) nodeOf(name string) evidence.Node       { return known(l, l.ev.Nodes, name) }
func (l *look) groupOf(name roll.Group) evidence.Group { return known(l, l.ev.Groups, name) }

// distinct returns the values without duplicates and without the zero value, in order.
func distinct[T comparable](all []T) []T {
	return slices.DeleteFunc(roll.Distinct(all), func(v T) bool { return v == *new(T) })
}

func first[T any](all []T, n int) (some, rest []T) {
	n = min(n, len(all))
	return all[:n], all[n:]
}

// most returns the limit n, or no limit if reading is free.
func (l *look) most(n int) int {
	if l.Free {
		return int(^uint(0) >> 1)
	}
	return n
}
