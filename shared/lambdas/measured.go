package lambdas

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
	"rollcall/shared/report/metric"
	"rollcall/shared/roll"
)

// measure returns the samples of a check.
func measure(before ledger.State, events []emit.Event, result report.Check, took time.Duration) []metric.Sample {
	cluster := result.Snapshot.Cluster.ID.Name
	s := &sums{cluster: cluster}
	s.add(metric.CheckDuration, nil, float64(took.Milliseconds()))
	if result.Snapshot.Whole() {
		s.add(metric.ChecksCompleted, nil, 1)
		s.stands(result)
	} else {
		s.add(metric.ChecksIncomplete, nil, 1)
		s.samples = append(s.samples, metric.Sample{Of: metric.ClusterUnread, Value: unreadFor(before, result).Seconds()})
	}
	if result.Snapshot.Relisted != "" {
		s.add(metric.ChecksRelisted, nil, 1)
	}
	for _, e := range events {
		s.changed(e)
	}
	for _, o := range result.Plan.Orders {
		s.add(metric.Orders, metric.By{metric.ByAction: string(o.Action)}, 1)
	}
	if took := result.Assessment.NewRegistrations; len(took) > 0 {
		s.samples = append(s.samples, metric.Sample{Of: metric.RegistrationSeconds, By: metric.By{metric.ByCluster: cluster}, Values: inSeconds(took)})
	}
	return s.samples
}

// unreadFor returns how long no node of the cluster could be judged, 0 if this check is the first. A
// cluster that EKS does not know has nothing to judge.
func unreadFor(before ledger.State, result report.Check) time.Duration {
	t := cmp.Or(result.Plan.Changes.Put.Trouble, before.Trouble)
	if t == nil || t.Outage.Since.IsZero() || result.Snapshot.ClusterGone() {
		return 0
	}
	return result.Snapshot.At.Sub(t.Outage.Since)
}

// sums adds up the samples of a cluster. Several samples of one series and dimensions
// become one value.
type sums struct {
	cluster string
	samples []metric.Sample
}

func (s *sums) add(of metric.Series, by metric.By, n float64) {
	all := metric.By{metric.ByCluster: s.cluster}
	maps.Copy(all, by)
	same := func(other metric.Sample) bool { return other.Of.Name == of.Name && maps.Equal(other.By, all) }
	if i := slices.IndexFunc(s.samples, same); i >= 0 {
		s.samples[i].Value += n
		return
	}
	s.samples = append(s.samples, metric.Sample{Of: of, By: all, Value: n})
}

// stands adds the state of the cluster. It requires a complete check: with a part unread,
// fewer findings would look like an improvement.
func (s *sums) stands(result report.Check) {
	s.add(metric.Nodes, nil, float64(result.Assessment.Nodes))
	s.add(metric.ReadyNodes, nil, float64(result.Assessment.Ready))
	findings := result.Findings()
	s.add(metric.Findings, nil, float64(len(findings)))
	for _, f := range findings {
		s.add(metric.Findings, metric.By{metric.ByKind: string(f.Kind)}, 1)
	}
	s.add(metric.HeldActs, nil, float64(len(result.Plan.Held)))
	for _, h := range result.Plan.Held {
		s.add(metric.HeldActs, metric.By{metric.ByReason: string(h.Reason)}, 1)
	}
	age := oldest(findings, result.Snapshot)
	if age > 0 { // a metric more for each cluster, and only in the hours in which it has something to say
		s.add(metric.OldestFinding, nil, age)
	}
	s.samples = append(s.samples, metric.Sample{Of: metric.OldestFinding, Value: age})
}

// oldest returns the age of the oldest finding in seconds, 0 if there is none. It skips
// instances that a person put on hold or excluded: their age is intended.
func oldest(findings []roll.Finding, s *roll.Snapshot) float64 {
	kept := map[roll.InstanceID]bool{}
	for i := range s.Instances {
		if inst := &s.Instances[i]; inst.Ignore || roll.HoldActive(inst.Hold, s.At) {
			kept[inst.ID] = true
		}
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.DoNotRepair && n.Instance != "" {
			kept[n.Instance] = true
		}
	}
	for id, d := range s.Details {
		if d.NodeClaim != nil && d.NodeClaim.DoNotRepair {
			kept[id] = true
		}
	}
	age := time.Duration(0)
	for _, f := range findings {
		if !kept[f.Instance] && f.Kind != roll.Scheduled { // announced weeks ahead
			age = max(age, s.At.Sub(f.Since))
		}
	}
	return age.Seconds()
}

// changed counts an event. The function that carries out orders counts its own acts; this
// counts acts whose outcome a check settled later.
func (s *sums) changed(e emit.Event) {
	switch d := e.Detail.(type) {
	case emit.Finding:
		kind := metric.By{metric.ByKind: d.Kind}
		if e.DetailType == emit.FindingEscalated {
			s.add(metric.FindingsEscalated, kind, 1)
			return
		}
		kind[metric.ByCause] = cmp.Or(d.Cause, metric.NoCause)
		s.add(metric.FindingsOpened, kind, 1)
	case emit.Resolved:
		s.add(metric.FindingsResolved, metric.By{metric.ByKind: d.Kind}, 1)
	case emit.Action:
		switch by := (metric.By{metric.ByAction: d.Action}); {
		case d.Order == "":
		case e.DetailType == emit.ActionTaken:
			s.add(metric.ActionsTaken, by, 1)
		case e.DetailType == emit.ActionFailed:
			s.add(metric.ActionsFailed, by, 1)
		default:
			if d.Reason != "" {
				by[metric.ByReason] = d.Reason
			}
			s.add(metric.ActionsRefused, by, 1)
		}
	}
}

func tried(o plan.Order, out remediate.Outcome) metric.Sample {
	s := metric.Sample{By: metric.By{metric.ByCluster: o.Name, metric.ByAction: string(o.Action)}, Value: 1}
	switch out.Result {
	case remediate.Acted:
		s.Of = metric.ActionsTaken
	case remediate.Refused:
		s.Of = metric.ActionsRefused
		s.By[metric.ByReason] = string(out.Reason)
	case remediate.Failed:
		s.Of = metric.ActionsFailed
	case remediate.Ongoing:
		s.Of = metric.ActionsOngoing
	default:
		s.Of = metric.ActionsUnclear
	}
	return s
}

func inSeconds(times []time.Duration) []float64 {
	out := make([]float64, len(times))
	for i, d := range times {
		out[i] = d.Seconds()
	}
	return out
}
