package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// remediateSince records when a check first saw mode remediate for each group with findings or
// nodes. It forgets that if the mode is another one. It does not wait for a finding: one that
// appears while the policy is unreadable must not count as found before remediate.
func (p *planner) remediateSince() {
	p.since = map[roll.Group]time.Time{}
	for g, at := range p.State.RemediateSince {
		if !p.predates(at) {
			p.since[g] = at
		}
	}
	if p.cannotJudge() || p.Lowered {
		return // a partial check remembers nothing
	}
	for g := range p.State.RemediateSince {
		if p.Policy(roll.GroupSelector(g)).Mode != policy.Remediate {
			delete(p.since, g)
			p.out.Changes.Drop.RemediateSince = append(p.out.Changes.Drop.RemediateSince, g)
		}
	}
	slices.Sort(p.out.Changes.Drop.RemediateSince)
	for _, f := range p.Assessment.Findings {
		p.remediateIsOn(f.Group)
	}
	for g := range p.Assessment.Populations {
		p.remediateIsOn(g)
	}
}

// remediateIsOn records that the mode of a group is remediate, if it is.
func (p *planner) remediateIsOn(g roll.Group) {
	if _, ok := p.since[g]; ok || p.Policy(roll.GroupSelector(g)).Mode != policy.Remediate {
		return
	}
	p.since[g] = p.Now
	p.out.Changes.Put.RemediateSince[g] = p.Now
}

// remember collects the differences between this check and the ledger.
func (p *planner) remember() {
	c := &p.out.Changes
	current := map[roll.FindingKey]bool{}
	// Nodes within their starting time are remembered too: only checks that saw a young node know
	// that it was never healthy.
	for _, f := range slices.Concat(p.Assessment.Findings, p.Assessment.Starting) {
		current[f.Key()] = true
		put := ledger.Finding{
			Instance: f.Instance, Kind: f.Kind, Node: f.Node, Group: f.Group, Stage: f.Stage, FirstSeen: p.SeenAt, Since: f.Since.UTC(),
			Condition: f.Condition, Began: f.Began.UTC(), Worked: f.Worked, Contradicted: f.Contradiction != "",
		}
		known, ok := p.State.Known(f)
		if ok {
			put.FirstSeen, put.Opened, put.Allowed, put.Evidence = known.FirstSeen, known.Opened, known.Allowed, known.Evidence
		} else {
			put.Allowed = p.allowedBefore(f)
		}
		put.Proven = p.proven(f, known.Proven)
		put.Left = f.Left.Instance
		put.Outside, put.Eased = p.lastsOutside(f, known), known.Eased
		if known.Outside && !put.Outside {
			put.Eased = p.SeenAt
		}
		if i := p.instances[f.Instance]; f.Kind == roll.Orphaned && i != nil {
			put.Outlives = slices.Clone(i.Outlives)
		}
		if put.Opened.IsZero() && f.Stage != roll.Watching {
			put.Opened, put.Allowed = p.SeenAt, put.Allowed || !p.since[f.Group].IsZero() && !p.Policy(f.Selector).Stop
		}
		if !ok || !sameFinding(put, known) {
			c.Put.Findings[put.Key()] = put
		}
	}
	for k := range p.State.Findings {
		if !current[k] && !p.Assessment.Kept[k] {
			c.Drop.Findings = append(c.Drop.Findings, k)
		}
	}
	slices.SortFunc(c.Drop.Findings, func(a, b roll.FindingKey) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Kind, b.Kind))
	})
	c.Put.NotReady, c.Drop.NotReady = changed(p.State.NotReady, p.Assessment.NotReady, func(a, b ledger.NotReady) bool {
		return a.Since.Equal(b.Since) && a.Status == b.Status && a.Transition.Equal(b.Transition) && a.Known == b.Known && a.Proven.Equal(b.Proven) && a.Perhaps.Equal(b.Perhaps)
	})
	c.Put.Rests, c.Drop.Rests = changed(p.State.Rests, p.Assessment.Rests, func(a, b ledger.Rest) bool { return a.Left.Equal(b.Left) && a.Warm == b.Warm })

	c.Put.Missing, c.Drop.Missing = changed(p.State.Missing, p.Assessment.Missing, time.Time.Equal)
	c.Put.Doubts, c.Drop.Doubts = changed(p.State.Doubts, p.Assessment.Doubts, time.Time.Equal)
	c.Put.Flips, c.Drop.Flips = changed(p.State.Flips, p.Assessment.Flips, func(a, b []time.Time) bool { return slices.EqualFunc(a, b, time.Time.Equal) })
	c.Put.Pressures, c.Drop.Pressures = changed(p.State.Pressures, p.Assessment.Pressures, func(a, b ledger.Pressure) bool {
		return a.Since.Equal(b.Since) && a.Until.Equal(b.Until) && slices.Equal(a.Types, b.Types)
	})
	for key, at := range p.State.Spot {
		if p.Now.Sub(at) >= ledger.SpotRetention {
			c.Drop.Spot = append(c.Drop.Spot, key)
		}
	}
	p.rememberGroups()
	p.rememberRefusals()
	p.rememberQuestions()
	p.recordTags()
	p.givenAgain()
	if p.wholeCluster() && !p.gone && p.Now.Sub(p.State.Checked) >= checkedEvery {
		c.Put.Checked = p.Now
		if p.first().IsZero() {
			c.Put.First = p.SeenAt
		}
	}
	if tag := p.Snapshot.Cluster.ModeTag; p.wholeCluster() && !p.gone && tag != p.State.ModeTag {
		c.Put.ModeTag, c.Drop.ModeTag = tag, tag == ""
	}
	p.rememberOrigins()
}

// allowedBefore reports whether mode remediate was on when the fault of a node was found. NotReady
// that turns into Unknown, or back, is the same fault while the node was never Ready. So is one
// that changed there and back between two checks, as with a reboot: the new transition time does
// not show that. A failed condition is the same fault after a silence of its node, and if it is reported
// anew after a reboot.
func (p *planner) allowedBefore(f roll.Finding) bool {
	unseen := f.Began.Sub(p.State.Checked) <= assess.Unseen
	switch f.Kind {
	case roll.ConditionFailed:
		was := p.State.Findings[f.Key()]
		return was.Allowed && was.Condition == f.Condition && (was.Began.Equal(f.Began) || unseen)
	case roll.NotReady, roll.Unknown:
		return slices.ContainsFunc([]roll.Kind{roll.NotReady, roll.Unknown}, func(k roll.Kind) bool {
			was := p.State.Findings[roll.FindingKey{Instance: f.Instance, Kind: k}]
			return was.Allowed && (was.Since.Equal(f.Since) || unseen)
		})
	}
	return false
}

// rememberOrigins records which Auto Scaling groups and launch template versions have nodes, at
// most once a day. It forgets those whose last node is too long ago to show an intent.
func (p *planner) rememberOrigins() {
	c := &p.out.Changes
	for o := range p.Assessment.GroupsWithNodes {
		at, ok := p.State.GroupsWithNodes[o]
		if !ok || p.predates(at) || p.Now.Sub(at) >= ledger.IntentRefresh {
			c.Put.GroupsWithNodes[o] = p.Now
		}
	}
	if !p.wholeCluster() || p.gone {
		return
	}
	for o, at := range p.State.GroupsWithNodes {
		past := p.predates(at) || p.Now.Sub(at) >= ledger.IntentRetention
		if past && !p.Assessment.GroupsWithNodes[o] {
			c.Drop.GroupsWithNodes = append(c.Drop.GroupsWithNodes, o)
		}
	}
	slices.Sort(c.Drop.GroupsWithNodes)
}

// checkedEvery is how old the time of the last complete check may become in the ledger.
const checkedEvery = time.Minute

// rememberGroups records what is new about the nodes of groups, and which of their instances
// Rollcall terminated last.
func (p *planner) rememberGroups() {
	memory := maps.Clone(p.Assessment.Groups)
	if memory == nil {
		memory = map[roll.Group]ledger.GroupMemory{}
	}
	for _, a := range p.State.Actions {
		if _, ok := memory[a.Group]; !ok && a.Group != roll.GroupNone && Action(a.Do).replaced() {
			memory[a.Group] = p.State.Groups[a.Group]
		}
	}
	for g, m := range memory {
		known := p.State.Groups[g]
		m.Ended = lastEnded(p.State, g)
		samePressure := func(a, b ledger.GroupPressure) bool {
			return a.Instance == b.Instance && a.Node == b.Node && a.Type == b.Type && a.Since.Equal(b.Since)
		}
		if known.Good.Equal(m.Good) && known.Proven.Equal(m.Proven) && slices.EqualFunc(known.Pressed, m.Pressed, samePressure) && known.Counted.Equal(m.Counted) && slices.Equal(known.Seconds, m.Seconds) && known.Ended.Done.Equal(m.Ended.Done) {
			continue
		}
		p.out.Changes.Put.Groups[g] = m
	}
	for g, m := range p.State.Groups {
		idle := p.Assessment.Count[g].Nodes == 0 && p.Now.Sub(m.Counted) >= ledger.ActionRetention && p.Now.Sub(m.Good) >= ledger.ActionRetention
		owes := !m.Good.After(m.Ended.At) && p.Now.Sub(m.Ended.Done) < ledger.IntentRetention
		if idle && !owes && p.wholeCluster() && len(p.State.ActsOf(g, p.Now.Add(-ledger.ActionRetention))) == 0 {
			p.out.Changes.Drop.Groups = append(p.out.Changes.Drop.Groups, g)
		}
	}
	slices.Sort(p.out.Changes.Drop.Groups)
}

// sameFinding compares times as instants: the same instant read from JSON and from an API differs
// in its location.
func sameFinding(a, b ledger.Finding) bool {
	times := a.FirstSeen.Equal(b.FirstSeen) && a.Opened.Equal(b.Opened) && a.Since.Equal(b.Since) && a.Began.Equal(b.Began)
	same := slices.EqualFunc(a.Proven, b.Proven, func(x, y roll.Proof) bool { return x.Code == y.Code && x.Subject == y.Subject && x.At.Equal(y.At) })
	return times && same && a.Stage == b.Stage && a.Node == b.Node && a.Group == b.Group && a.Condition == b.Condition && a.Worked == b.Worked && a.Allowed == b.Allowed && a.Evidence == b.Evidence &&
		a.Contradicted == b.Contradicted && a.Outside == b.Outside && a.Eased.Equal(b.Eased) && a.Left == b.Left && slices.Equal(a.Outlives, b.Outlives)
}

// proofs is the maximum number of causes remembered per finding; root causes come first.
const proofs = 3

// proven returns the decisive causes to remember: as first found, without those that the diagnosis
// did not find again.
func (p *planner) proven(f roll.Finding, known []roll.Proof) []roll.Proof {
	why, diagnosed := p.Diagnoses[f.Key()]
	if !diagnosed {
		return known
	}
	var out []roll.Proof
	for _, c := range why.Causes {
		if !c.Lasts() || len(out) == proofs {
			continue
		}
		proof := roll.Proof{At: p.Now, Code: c.Code, Subject: c.Subject, Summary: c.Summary, Evidence: c.Evidence, Fix: c.Fix}
		if i := slices.IndexFunc(known, func(k roll.Proof) bool { return k.Code == c.Code && k.Subject == c.Subject }); i >= 0 {
			proof = known[i]
		}
		out = append(out, proof)
	}
	return out
}

// changed returns what to put and to drop to turn the known records into the wanted ones.
func changed[V any](known, wanted map[roll.InstanceID]V, same func(a, b V) bool) (map[roll.InstanceID]V, []roll.InstanceID) {
	put := map[roll.InstanceID]V{}
	for id, w := range wanted {
		if k, ok := known[id]; !ok || !same(k, w) {
			put[id] = w
		}
	}
	var drop []roll.InstanceID
	for id := range known {
		if _, ok := wanted[id]; !ok {
			drop = append(drop, id)
		}
	}
	slices.Sort(drop)
	return put, drop
}

// refusalKept is the minimum time for which a refusal is remembered. After it no late message can
// deliver the order again.
const refusalKept = 2 * OrderLife

// rememberRefusals drops refusals of orders that no check can repeat.
func (p *planner) rememberRefusals() {
	c := &p.out.Changes
	for k, r := range p.State.Refusals {
		if p.Now.Sub(r.At) >= refusalKept && !p.mayRepeat(k.Order, r) {
			c.Drop.Refusals = append(c.Drop.Refusals, k)
		}
	}
	slices.SortFunc(c.Drop.Refusals, func(a, b ledger.RefusalKey) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Reason, b.Reason))
	})
}

// mayRepeat reports whether a check may repeat the order: the ledger still has its finding, its
// cordon, or the end of its instance.
func (p *planner) mayRepeat(order string, r ledger.Refusal) bool {
	if Action(r.Do) == Uncordon {
		return slices.ContainsFunc(p.State.Actions, func(a ledger.Action) bool {
			return Action(a.Do).cordons() && a.Instance == r.Instance && uncordonID(p.Snapshot.Cluster.ID, a) == order
		})
	}
	if Action(r.Do) == OutOfService {
		return slices.ContainsFunc(p.State.Actions, func(a ledger.Action) bool {
			return a.Do == string(Terminate) && a.Instance == r.Instance && taintID(p.Snapshot.Cluster.ID, a) == order
		})
	}
	known, ok := p.State.Findings[roll.FindingKey{Instance: r.Instance, Kind: r.Kind}]
	return ok && orderID(p.Snapshot.Cluster.ID, known.Key(), known.FirstSeen, Action(r.Do)) == order
}

// givenEvery is how old the time of a repeated order may become in the ledger.
const givenEvery = forgetAfter / 2

// givenAgain records that this plan repeats refused orders.
func (p *planner) givenAgain() {
	given := map[string]bool{}
	for _, o := range p.out.Orders {
		given[o.ID] = true
	}
	for k, r := range p.State.Refusals {
		if !given[k.Order] || p.Now.Sub(r.Latest()) < givenEvery {
			continue
		}
		r.Given = p.Now
		p.out.Changes.Put.Refusals[k] = r
	}
}

// refused reports whether a notice within the last hour said that an order was refused, or an
// earlier one did and the order was repeated within the hour.
func (p *planner) refused(order string) bool {
	for k, r := range p.State.Refusals {
		if k.Order == order && !r.Untold && p.Now.Sub(r.Latest()) < forgetAfter {
			return true
		}
	}
	return false
}
