package sim

import (
	"fmt"
	"time"
)

// Options define a random scenario.
type Options struct {
	Seed     uint64
	Hours    int         // of the whole run; at least 6
	Clusters int         // at least 1
	Nodes    int         // of each cluster, at least 4
	Faults   int         // the number of random faults; 0 is about one per hour and cluster, or two with Certain
	Policy   string      // the account's policy, "" to draw one: YAML with each section on its own line
	Certain  []FaultKind // additional faults, each in a cluster that suits it
	Values   []string    // the forms of these faults, in the same order; "" or a missing one is drawn
}

// LeastHours is the minimum length of a run: it must suffice to cure faults and forget them.
const LeastHours = 6

var began = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC) // the start of every random scenario, a Monday

// Random returns a random scenario: the same one for the same options.
func Random(o Options) Scenario {
	if len(o.Certain) > 0 && o.Hours == 0 {
		o.Hours = CertainHours
	}
	o.Hours, o.Clusters, o.Nodes = max(o.Hours, LeastHours), max(o.Clusters, len(o.Certain), 1), max(o.Nodes, 4)
	d := newDice(o.Seed).of("scenario")
	total := time.Duration(o.Hours) * time.Hour
	s := Scenario{Seed: o.Seed, Start: began, Sweep: 5 * time.Minute, Permitted: "remediate"}
	if d.of("permitted").chance(0.06) {
		s.Permitted = "notify"
	}
	s.HostLogs = d.of("host logs").chance(0.25)
	s.Clocks = d.of("clocks").chance(0.3)
	s.Calm, s.Healed = 5*time.Hour, 150*time.Minute
	if total < 2*(s.Calm+s.Healed) {
		s.Calm, s.Healed = total*3/10, total/5
	}
	s.Storm = total - s.Calm - s.Healed
	if total > 48*time.Hour { // otherwise more and more is broken, and soon nothing may be acted on
		s.Mends = 24 * time.Hour
	}
	for i := range o.Clusters {
		s.Clusters = append(s.Clusters, randomCluster(d.of("cluster").nth(i), i, o.Nodes))
	}
	s.Policy = randomPolicy(d.of("policy"), s.Clusters, len(o.Certain) == 0)
	s.certainly(o.Certain)
	if o.Policy != "" {
		s.Permitted, s.Policy = "remediate", o.Policy
	}
	n := o.Faults
	if n == 0 && len(o.Certain) > 0 {
		n = besides
	} else if n == 0 {
		n = max(4, int(s.Storm.Hours())*o.Clusters)
	}
	for i := range n {
		s.Faults = append(s.Faults, s.randomFault(d.of("fault").nth(i), i+1))
	}
	for i, kind := range o.Certain {
		value := ""
		if i < len(o.Values) {
			value = o.Values[i]
		}
		s.Faults = append(s.Faults, s.fault(kind, value, s.Clusters[i], d.of("certain").nth(i), n+i+1))
	}
	return s
}

func randomCluster(d dice, i, nodes int) ClusterSpec {
	c := ClusterSpec{Name: []string{"orders", "search", "media", "batch", "edge", "staging"}[i%6]}
	if i >= 6 {
		c.Name += fmt.Sprintf("-%d", i/6+1)
	}
	if d.of("mode").chance(0.08) {
		c.Mode = oneOf(d.of("which"), "notify", "observe")
	}
	shapes := [][]GroupSpec{
		{{Name: "default", Owner: "karpenter", Type: "m5.xlarge", Desired: 60}, managedNodes(25), scaledNodes(15)},
		{{Name: "general", Owner: "managed-nodegroup", Type: "m5.large", Desired: 50}, {Name: "memory", Owner: "managed-nodegroup", Type: "r5.xlarge", Desired: 40, Repair: true}, {Name: "single", Owner: "none", Type: "m5.large", Desired: 10}},
		{scaledNodes(70), {Name: "spare", Owner: "autoscaling-group", Type: "m5.large", Desired: 30}},
		{{Name: "arm", Owner: "karpenter", Type: "m6g.large", Desired: 50}, pooledNodes(40), {Name: "core", Owner: "managed-nodegroup", Type: "m5.large", Desired: 10}},
	}
	for _, g := range oneOf(d.of("shape"), shapes...) {
		g.Desired = max(1, g.Desired*nodes/100)
		c.Groups = append(c.Groups, g)
	}
	c.nameGroups(i)
	return c
}

// nameGroups names the Auto Scaling groups of the i-th cluster: an account has one of a name.
func (c ClusterSpec) nameGroups(i int) {
	for j, g := range c.Groups {
		if i > 0 && g.Owner == autoScaling {
			c.Groups[j].Name = c.Name + "-" + g.Name
		}
	}
}

func (s *Scenario) randomFault(d dice, id int) Fault {
	var (
		kinds       []faultType
		draw, total int
	)
	for i, g := range generations {
		end := len(faultTypes)
		if i+1 < len(generations) {
			end = indexOf(generations[i+1].first)
		}
		own, weight := faultTypes[indexOf(g.first):end], 0
		for _, t := range own {
			weight += t.weight
		}
		total += weight
		if i == 0 || d.of(g.die).chance(float64(weight)/float64(total)) {
			kinds, draw = own, d.of(g.kindDie).below(weight)
		}
	}
	kind := FaultKind("")
	for _, t := range kinds {
		if draw < t.weight {
			kind = t.kind
			break
		}
		draw -= t.weight
	}
	return s.fault(kind, "", oneOf(d.of("which"), s.Clusters...), d, id)
}

// fault returns a fault of a kind, in the given form, if one is named, and in the given cluster.
func (s *Scenario) fault(kind FaultKind, value string, c ClusterSpec, d dice, id int) Fault {
	f := Fault{ID: id, Kind: kind, Value: value}
	f.At = d.of("at").between(10*time.Minute, s.Storm-20*time.Minute).Truncate(time.Second)
	g := oneOf(d.of("group"), c.Groups...)
	f.Cluster = c.Name
	long := d.of("for").between(20*time.Minute, 3*time.Hour).Truncate(time.Second)
	few := 1 + d.of("count").below(1+max(1, g.Desired/8))
	share := 0.02 + 0.5*d.of("share").share()*d.of("again").share()
	w := drawing{d: d, s: s, c: c, g: g, long: long, few: few, share: share}
	if t := kind.faultType(); t.draw != nil {
		t.draw(&f, w)
	} else {
		t.drawSituation(&f, w)
	}
	if f.For > 0 {
		f.For = min(f.For, s.Storm-f.At) // otherwise there would be no calm
	}
	return f
}
