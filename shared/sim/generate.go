package sim

import (
	"fmt"
	"time"
)

// Options are what a random scenario is made for.
type Options struct {
	Seed     uint64
	Hours    int // of the whole run; at least 6
	Clusters int // at least 1
	Nodes    int // of each cluster, at least 4
	// Faults is how many faults befall the account; 0 is about one an hour and cluster, or
	// two where some are certain.
	Faults int
	// Policy is the account's policy; "" is one drawn by chance. It is YAML with its sections on
	// lines of their own.
	Policy string
	// Certain are faults that befall it beside those, each in a cluster that suits it.
	Certain []FaultKind
	// Values are the forms that these have, in the same order; "" and none are drawn by chance.
	Values []string
}

// LeastHours is how long a run is at least: what is ill has to be cured in it, and what
// is cured to be forgotten.
const LeastHours = 6

// began is when every random scenario starts, a Monday.
var began = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// Random makes a scenario by chance: the same for the same options.
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
	s.Calm, s.Healed = 5*time.Hour, 150*time.Minute
	if total < 2*(s.Calm+s.Healed) {
		s.Calm, s.Healed = total*3/10, total/5
	}
	s.Storm = total - s.Calm - s.Healed
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

// randomCluster is a cluster with about as many nodes.
func randomCluster(d dice, i, nodes int) ClusterSpec {
	c := ClusterSpec{Name: []string{"orders", "search", "media", "batch", "edge", "staging"}[i%6]}
	if i >= 6 {
		c.Name += fmt.Sprintf("-%d", i/6+1)
	}
	if d.of("mode").chance(0.08) {
		c.Mode = []string{"notify", "observe"}[d.of("which").below(2)]
	}
	shapes := [][]GroupSpec{
		{{Name: "default", Owner: "karpenter", Type: "m5.xlarge", Desired: 60}, {Name: "system", Owner: "managed-nodegroup", Type: "m5.large", Desired: 25}, {Name: "workers", Owner: "autoscaling-group", Type: "c5.xlarge", Desired: 15}},
		{{Name: "general", Owner: "managed-nodegroup", Type: "m5.large", Desired: 50}, {Name: "memory", Owner: "managed-nodegroup", Type: "r5.xlarge", Desired: 40, Repair: true}, {Name: "single", Owner: "none", Type: "m5.large", Desired: 10}},
		{{Name: "workers", Owner: "autoscaling-group", Type: "c5.xlarge", Desired: 70}, {Name: "spare", Owner: "autoscaling-group", Type: "m5.large", Desired: 30}},
		{{Name: "arm", Owner: "karpenter", Type: "m6g.large", Desired: 50}, {Name: "default", Owner: "karpenter", Type: "m5.large", Desired: 40}, {Name: "core", Owner: "managed-nodegroup", Type: "m5.large", Desired: 10}},
	}
	for _, g := range shapes[d.of("shape").below(len(shapes))] {
		g.Desired = max(1, g.Desired*nodes/100)
		if i > 0 && g.Owner == "autoscaling-group" {
			g.Name = c.Name + "-" + g.Name // an account has one Auto Scaling group of a name
		}
		c.Groups = append(c.Groups, g)
	}
	return c
}

// likely are the faults by how often they are drawn.
var likely = []struct {
	kind   FaultKind
	weight int
}{
	{FaultSilence, 14}, {FaultPressure, 4}, {FaultShort, 2}, {FaultNotReady, 8}, {FaultImpaired, 6}, {FaultFlapping, 4}, {FaultNoJoin, 8}, {FaultNoReady, 3}, {FaultPart, 1}, {FaultAccelerator, 2},
	{FaultTemplate, 4}, {FaultTaint, 2}, {FaultCilium, 3}, {FaultArchitect, 2}, {FaultRole, 3}, {FaultZone, 3}, {FaultShift, 2}, {FaultDeleted, 3}, {FaultUpdate, 2},
	{FaultScale, 5}, {FaultSpot, 4}, {FaultDry, 3}, {FaultFight, 4}, {FaultGhosts, 3}, {FaultOrphans, 3}, {FaultPeople, 6}, {FaultMode, 3}, {FaultBadPolicy, 2},
	{FaultTaintReturns, 2}, {FaultNoReplacement, 3}, {FaultKillSwitch, 2}, {FaultBacklog, 2}, {FaultHangingPods, 2}, {FaultForeignTags, 1}, {FaultBastion, 1}, {FaultSmallZone, 2},
	{FaultOwnerIdle, 2}, {FaultSilentServing, 2}, {FaultOutageBetween, 2}, {FaultUnreadSibling, 2}, {FaultVanishedNode, 2}, {FaultLoneCause, 2}, {FaultRefused, 2}, {FaultDiesYoung, 2}, {FaultScheduled, 3}, {FaultStuck, 2}, {FaultUnlaunched, 2},
	{FaultThrottle, 5}, {FaultErrors, 5}, {FaultAPIDown, 4}, {FaultAPIErrors, 5}, {FaultLedgerErrors, 4}, {FaultLostAnswers, 5}, {FaultDenied, 2}, {FaultStale, 5}, {FaultKills, 7}, {FaultMessages, 6}, {FaultLeft, 1},
	{FaultStopped, 2}, {FaultSetAside, 2}, {FaultDisrupted, 2}, {FaultFrozen, 2}, {FaultNameReused, 1}, {FaultNoProviderID, 1}, {FaultDegraded, 1}, {FaultDatedHold, 1}, {FaultBeside, 2}, {FaultRelapse, 2}, {FaultSuspended, 1},
	{FaultLostEvents, 2}, {FaultMissedSweeps, 2}, {FaultPartialPut, 1}, {FaultRetries, 2}, {FaultNotInvoked, 2}, {FaultMemory, 2},
}

// randomFault is the n-th fault of the scenario.
func (s *Scenario) randomFault(d dice, id int) Fault {
	before, after := 0, 0
	newer := false
	for _, l := range likely {
		if newer = newer || l.kind == FaultStopped; newer {
			after += l.weight
		} else {
			before += l.weight
		}
	}
	// The newer kinds are drawn apart, so that they leave most scenarios as they were.
	draw := d.of("kind").below(before)
	if d.of("newer").chance(float64(after) / float64(before+after)) {
		draw = before + d.of("newer kind").below(after)
	}
	kind := FaultKind("")
	for _, l := range likely {
		if draw < l.weight {
			kind = l.kind
			break
		}
		draw -= l.weight
	}
	return s.fault(kind, "", s.Clusters[d.of("which").below(len(s.Clusters))], d, id)
}

// fault is a fault of a kind, and of a form of it if one is named, in a cluster if it is about one.
func (s *Scenario) fault(kind FaultKind, value string, c ClusterSpec, d dice, id int) Fault {
	f := Fault{ID: id, Kind: kind, Value: value}
	f.At = d.of("at").between(10*time.Minute, s.Storm-20*time.Minute).Truncate(time.Second)
	g := c.Groups[d.of("group").below(len(c.Groups))]
	f.Cluster = c.Name
	long := d.of("for").between(20*time.Minute, 3*time.Hour).Truncate(time.Second)
	few := 1 + d.of("count").below(1+max(1, g.Desired/8))
	share := 0.02 + 0.5*d.of("share").share()*d.of("again").share()
	switch f.Kind {
	case FaultSilence, FaultNotReady, FaultImpaired, FaultPressure, FaultFlapping, FaultPart, FaultShort:
		f.Count = few
		if d.of("where").chance(0.6) {
			f.Group = g.Name
		}
		if f.Kind == FaultFlapping || d.of("heals").chance(0.25) {
			f.For = long
		}
		if f.Kind == FaultNotReady && f.Value == "" && d.of("keeps").chance(0.15) { // what runs there must not be ended
			f.Value = []string{keptAnnotated, keptUnsafe, keptBudget}[d.of("kept").below(3)]
		}
	case FaultNoJoin, FaultNoReady, FaultSpot, FaultOrphans, FaultPeople, FaultGhosts:
		f.Group, f.Count = g.Name, min(few, 3)
		if f.Kind == FaultGhosts {
			f.For = long
		}
	case FaultTemplate, FaultTaint, FaultArchitect, FaultRole, FaultCilium:
		f.Group, f.Count = g.Name, 1+d.of("some").below(2)
		f.Bare = d.of("bare").chance(0.7)
		if d.of("mended").chance(0.5) {
			f.For = long
		}
	case FaultZone:
		f.Cluster, f.Zone, f.For = "", zones[d.of("zone").below(len(zones))], long/2
	case FaultShift:
		f.Zone, f.For = zones[d.of("zone").below(len(zones))], long
	case FaultDeleted:
		if len(s.Clusters) < 2 || c.Name == s.Clusters[0].Name {
			f.Kind, f.Count = FaultSilence, 1
		}
	case FaultScale:
		f.Group, f.Count = g.Name, d.of("by").below(9)-4
		if f.Count == 0 {
			f.Count = 2
		}
	case FaultDry, FaultFight:
		f.Group, f.For = g.Name, long
	case FaultUpdate:
		f.For = long / 3
	case FaultMode:
		f.Cluster, f.Value, f.For = "", []string{"observe", "notify"}[d.of("mode").below(2)], long
	case FaultBadPolicy:
		f.Cluster, f.For = "", long/2
	case FaultAPIDown:
		f.Share, f.For = 1, long/3
		if d.of("partly").chance(0.5) {
			f.Share = share
		}
	case FaultAPIErrors:
		f.Share, f.For = share, long
	default: // faults of calls that are everywhere
		if sit := kind.situation(); sit != nil {
			sit.draw(&f, d, c, s.Storm)
			break
		}
		f.Cluster, f.Share, f.For = "", share, long
	}
	if f.For > 0 {
		f.For = min(f.For, s.Storm-f.At) // or the calm would be none
	}
	return f
}
