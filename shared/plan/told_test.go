package plan

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// chance is a world in which anything may happen between two checks, and the record of what was
// reported.
type chance struct {
	*world
	*rand.Rand
	t     *testing.T
	nodes []roll.Node
	at    time.Time
	heard map[string]bool // orders by their id, cordon and drain by the finding's first sighting; unless they were reported as held after all
}

func newChance(t *testing.T, seed uint64) *chance {
	c := &chance{world: newWorld(), Rand: rand.New(rand.NewPCG(seed, 7)), t: t, at: now, heard: map[string]bool{}}
	c.doc = mustParse("apiVersion: rollcall/v1\n")
	if seed%2 == 1 { // only the ladders hold it
		c.doc = mustParse("apiVersion: rollcall/v1\nlimits: {unhealthy: 100%, zone: 100%, massSilence: 100%, actionsPerHour: 50}\n")
	}
	c.mode = oneOf(c, policy.Notify, policy.Remediate, policy.Remediate)
	c.causes, c.unchecked, c.ruledOut = map[roll.FindingKey][]roll.Cause{}, map[roll.FindingKey][]string{}, map[roll.FindingKey][]string{}
	for k := 1; k <= 3+c.IntN(8); k++ {
		switch i := c.add(k, 0); c.IntN(6) {
		case 0:
			i.Owner, i.Group, i.ASG = roll.OwnerNone, roll.GroupNone, ""
		case 1:
			i.Owner, i.Group, i.ASG = roll.OwnerManagedNodeGroup, "nodegroup/w", ""
		}
	}
	c.nodes = slices.Clone(c.snapshot.Nodes)
	return c
}

func oneOf[T any](c *chance, of ...T) T { return of[c.IntN(len(of))] }

func (c *chance) once(in int) bool { return c.IntN(in) == 0 }

// pass lets some time pass with random events.
func (c *chance) pass() {
	c.at = c.at.Add(time.Duration(30+c.IntN(1500)) * time.Second)
	if c.once(4) {
		c.at = c.at.Add(time.Duration(c.IntN(120)) * time.Minute)
	}
	if c.once(12) {
		c.mode = oneOf(c, policy.Observe, policy.Notify, policy.Remediate)
	}
	for k := range c.nodes {
		if c.once(5) {
			c.nodes[k].Ready = roll.Condition{Status: oneOf(c, roll.ConditionTrue, roll.ConditionTrue, roll.ConditionFalse, roll.ConditionUnknown), Since: c.at}
		}
		if i := &c.snapshot.Instances[k]; c.once(6) {
			i.Hold = oneOf(c, "", "", "", "true")
		}
		if c.once(6) {
			c.diagnose(instanceID(k + 1))
		}
	}
	c.snapshot.Nodes, c.snapshot.Gaps = slices.Clone(c.nodes), nil
	if c.once(15) {
		c.snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable}}
	}
}

// diagnose finds, misses and rules out causes at random.
func (c *chance) diagnose(id roll.InstanceID) {
	var found []roll.Cause
	var unread, ruledOut []string
	for _, code := range []string{"A", "B", "C"} {
		switch c.IntN(5) {
		case 0:
			found = append(found, roll.Cause{Code: code, Confidence: roll.Decisive, Cure: roll.CureReplace, Subject: oneOf(c, "", "role/x")})
		case 1:
			unread = append(unread, code)
		case 2, 3:
			ruledOut = append(ruledOut, code)
		}
	}
	for _, kind := range roll.Kinds() {
		key := roll.FindingKey{Instance: id, Kind: kind}
		c.causes[key], c.unchecked[key], c.ruledOut[key] = found, unread, ruledOut
	}
}

// check makes a plan, and checks its invariants.
func (c *chance) check() (p Plan) {
	c.t.Helper()
	a, p := c.make(c.at)
	ids := map[string]ledger.NoticeKey{}
	for _, n := range p.Notices {
		other, twice := ids[n.Incident.ID]
		expect.That(c.t, !twice && n.Incident.ID != "" && n.Incident.Sent != 0, "%s: notice of %v is of incident %+v, as is %v", c.at, n.Key, n.Incident, other)
		ids[n.Incident.ID] = n.Key
		if n.Over != (len(n.News) == 0) || n.Over != (len(n.Entries) == 0) {
			c.t.Errorf("%s: notice of %v, over %v, has news %v of %d instances", c.at, n.Key, n.Over, n.News, len(n.Entries))
		}
		for _, e := range n.Entries {
			switch {
			case e.Order != nil:
				c.heard[orderHeard(*e.Order)] = true
			case e.says.Held == string(DrainUnfinished): // it is tried again, as that reason says
			case e.Held != nil && e.says.Held != "":
				for heard := range c.heard {
					if strings.HasPrefix(heard, string(e.Finding.Instance)+" "+string(e.Finding.Kind)) {
						delete(c.heard, heard)
					}
				}
			}
		}
		c.over(n, a)
	}
	for _, o := range p.Orders {
		switch {
		case o.Action == Uncordon:
		case !c.heard[orderHeard(o)] && !c.refusedLately(o):
			c.t.Errorf("%s: %s of %s is ordered, and nobody was told", c.at, o.Action, o.Instance)
		case o.Incident == "":
			c.t.Errorf("%s: %s of %s is of no incident", c.at, o.Action, o.Instance)
		}
	}
	return p
}

// orderHeard returns the key of a reported order: cordon and drain are one piece of news.
func orderHeard(o Order) string {
	about := string(o.Instance) + " " + string(o.Kind) + " "
	if o.Action.Told() {
		return about + o.ID
	}
	return about + o.FirstSeen.UTC().String()
}

// refusedLately reports whether a notice within the hour said that an order is alternately given
// and refused, or counts as such.
func (c *chance) refusedLately(o Order) bool {
	for k, r := range c.state.Refusals {
		same := k.Order == o.ID || !o.Action.Told() && !Action(r.Do).Told() && r.Instance == o.Instance && r.Kind == o.Kind
		if same && c.at.Sub(r.Latest()) < forgetAfter {
			return true
		}
	}
	return false
}

// over checks a report about the end of a fault against the findings.
func (c *chance) over(n Notice, a assess.Assessment) {
	c.t.Helper()
	for _, e := range n.Ended {
		for _, f := range a.Findings {
			if f.Instance == e.Instance && f.Kind == n.Key.Kind && f.Stage != roll.Watching && e.How == EndedRecovered {
				c.t.Errorf("%s: %s is said to have recovered from %s, and has it", c.at, e.Instance, f.Kind)
			}
		}
	}
}

// remember records the state after all notices were sent.
func (c *chance) remember(p Plan) {
	c.apply(p)
	if p.Alarm != nil {
		c.state.Apply(p.Alarm.Sent())
	}
	for _, r := range p.Resolved {
		for i, a := range c.state.Actions {
			if a.ID == r.ActionID && a.Outcome == nil {
				c.state.Actions[i].Outcome = &r.Outcome
			}
		}
	}
}

// act carries some of the orders out, with some outcome or none.
func (c *chance) act(orders []Order) {
	for _, o := range orders {
		switch c.IntN(6) {
		case 0, 1:
			continue
		case 2:
			key := ledger.RefusalKey{Order: o.ID, Reason: string(VerdictChanged)}
			if _, told := c.state.Refusals[key]; !told {
				c.state.Apply(ledger.Changes{Put: ledger.State{Refusals: map[ledger.RefusalKey]ledger.Refusal{key: {Instance: o.Instance, Kind: o.Kind, Do: string(o.Action), At: c.at}}}})
			}
			continue
		}
		a := ledger.Action{ID: o.ID, Do: string(o.Action), Instance: o.Instance, Node: o.Node, Group: o.Group, Kind: o.Kind, At: c.at.Add(5 * time.Second)}
		switch c.IntN(6) {
		case 0: // outcome unknown
		case 1, 2:
			a.Outcome = &ledger.Outcome{Result: ledger.Failed, Detail: "no", At: c.at.Add(10 * time.Second)}
			if o.Action == Drain {
				a.Outcome.Detail = ledger.Unfinished + ": 2 pods"
			}
		default:
			a.Outcome = &ledger.Outcome{Result: ledger.Done, Detail: "done", At: c.at.Add(10 * time.Second)}
			for k := range c.nodes {
				if instanceID(k+1) == o.Instance && (o.Action == Cordon || o.Action == Uncordon) {
					c.nodes[k].Unschedulable = o.Action == Cordon
					c.nodes[k].CordonedBy = map[bool]string{true: o.ID}[o.Action == Cordon]
				}
			}
		}
		c.state.Actions = append(c.state.Actions, a)
	}
}

// In any world: an act is reported before it happens, everything is reported once, and nothing
// known is written again.
func TestWhateverHappensIsToldOnceAndBeforeItIsActedOn(t *testing.T) {
	for seed := range uint64(300) {
		c := newChance(t, seed)
		for range 40 {
			c.pass()
			p := c.check()
			c.remember(p)
			if len(p.Resolved) == 0 {
				again := c.check()
				again.Changes.Put.Checked, again.Changes.Put.First = time.Time{}, time.Time{}
				again.Changes.Drop.Refusals = nil // of findings that the first forgot
				if len(again.Notices)+len(again.Quiet) > 0 || again.Alarm != nil || !again.Changes.Empty() {
					t.Errorf("%s: the same check once more: notices %+v, quiet %+v, alarm %+v, changes %+v", c.at, again.Notices, again.Quiet, again.Alarm, again.Changes)
				}
			}
			c.act(p.Orders)
			must.That(t, !t.Failed(), "with seed %d", seed)
		}
	}
}
