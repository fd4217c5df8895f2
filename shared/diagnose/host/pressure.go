package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
)

const (
	// recent is how long before the silence a check, or a text, may show what led to it.
	recent = 30 * time.Minute
	// lately is how long before the silence a pressure may have been seen last, and have led to it.
	// Checks are minutes apart; a longer gap hides what happened in between.
	lately = 15 * time.Minute
	// eventsKept is how long the API server keeps an event. Of what came before, none is left to show a pressure.
	// https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/ (--event-ttl)
	eventsKept = time.Hour
)

// pressure is a resource that a node can run short of.
type pressure struct {
	code      cause.Code
	condition string // of the node
	what      string
	// begins and ends are the reasons of the kubelet's events for the condition.
	// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/nodestatus/setters.go
	begins, ends string
	// reclaims are the resources that EvictionThresholdMet names for it.
	// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/eviction/helpers.go
	reclaims []string
	// alone are the event reasons that prove it by themselves: the kernel's OOM kills when the
	// machine is out of memory, which the kubelet distinguishes from a container's.
	// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/oom/oom_watcher_linux.go
	alone []string
	// unseen is why a node may have run short although no check and no event shows the condition, "" if it cannot.
	unseen string
}

var kinds = []pressure{
	{cause.MemoryPressurePreceded, roll.MemoryPressure, "memory", "NodeHasInsufficientMemory", "NodeHasSufficientMemory", []string{"memory"}, []string{"SystemOOM"}, sudden},
	{cause.DiskPressurePreceded, roll.DiskPressure, "disk space", "NodeHasDiskPressure", "NodeHasNoDiskPressure", []string{"ephemeral-storage", "inodes"}, nil, ""},
	{cause.PidPressurePreceded, roll.PIDPressure, "process ids", "NodeHasInsufficientPID", "NodeHasSufficientPID", []string{"pids"}, nil, unwatched},
}

// proof is one piece of evidence for a pressure.
type proof struct {
	roll.Evidence
	sure bool
	over bool // the pressure had ended before the silence
}

// preceded checks what a silent node ran short of before it went silent.
func (l *look) preceded() {
	for _, p := range kinds {
		proofs := slices.Concat(l.remembered(p), l.events(p), l.killed(p), l.forked(p))
		switch {
		case len(proofs) > 0:
			l.Note(p.code, l.shortBefore(p, proofs))
		case !l.wasWell(p):
			l.NotChecked(l.unseen(p), p.code)
		case p.unseen != "":
			l.NotChecked(p.unseen, p.code)
		default:
			l.RuledOut(p.code)
		}
	}
}

// remembered returns what an earlier check observed. If the condition ended before the silence,
// or the check is long ago, it is only a hint.
func (l *look) remembered(p pressure) []proof {
	r := l.Node().Remembered.Value
	c, _ := r.Condition(p.condition)
	if c.Since.After(l.quiet().Add(slack)) {
		return nil
	}
	seen := roll.Evidence{Source: "earlier check", Field: "conditions[" + p.condition + "]", Expected: "False"}
	switch {
	case c.Status == string(roll.ConditionTrue):
		seen.Observed = fmt.Sprintf("True since %s, seen at %s", roll.Clock(c.Since), roll.Clock(r.At))
		ended := l.endedAfter(p, r.At)
		return []proof{{seen, l.quiet().Sub(r.At) <= lately && !ended, ended}}
	case c.Status == string(roll.ConditionFalse) && l.quiet().Sub(c.Since) <= lately && c.Reason == "":
		// The ledger only remembers that the condition was True; Since is when it ended.
		seen.Observed = "True until " + roll.Clock(c.Since)
		return []proof{{seen, false, true}}
	}
	return nil
}

// endedAfter reports whether the kubelet reported the end of the pressure after the time.
func (l *look) endedAfter(p pressure, at time.Time) bool {
	return slices.ContainsFunc(l.own(), func(e evidence.Event) bool { return e.Reason == p.ends && e.Last.After(at) })
}

// own returns the node's events from before its silence.
func (l *look) own() []evidence.Event {
	from, to := l.born().Add(-slack), l.quiet().Add(slack)
	return slices.DeleteFunc(slices.Clone(l.Node().Events.Value), func(e evidence.Event) bool { return e.Last.Before(from) || e.Last.After(to) })
}

// born returns from when the events about the node's name are its own: a new node may have the name of
// an old one.
func (l *look) born() time.Time {
	return roll.Later(l.Node().Object.Value.Created, l.Config().Value.Launched)
}

// events returns what the kubelet reported and did not revoke. Without the node and the
// instance it is unknown whose events they are.
func (l *look) events(p pressure) []proof {
	whose := l.Node().Object.Known() && l.Config().Known()
	var begun, ended time.Time
	var out []proof
	for _, e := range l.own() {
		sure := whose && l.quiet().Sub(e.Last) <= lately
		switch {
		case e.Reason == p.begins:
			begun = e.Last
		case e.Reason == p.ends:
			ended = e.Last
		case slices.Contains(p.alone, e.Reason):
			out = append(out, proof{event(e), sure, false})
		case e.Reason == "EvictionThresholdMet" && p.reclaimed(e.Message):
			ended := l.endedAfter(p, e.Last)
			out = append(out, proof{event(e), sure && !ended, ended})
		}
	}
	if lasts := ended.Before(begun); lasts || !begun.IsZero() && l.quiet().Sub(ended) <= lately {
		seen := roll.Evidence{Source: "events", Field: p.begins, Observed: "at " + roll.Clock(begun), Expected: "none before the node went silent"}
		if !lasts {
			seen.Observed += ", ended at " + roll.Clock(ended)
		}
		out = append(out, proof{seen, whose && lasts, !lasts})
	}
	return out
}

// reclaimed reports whether the message of EvictionThresholdMet, "Attempting to reclaim
// memory", names a resource of the pressure.
func (p pressure) reclaimed(message string) bool {
	_, resource, _ := strings.Cut(message, "reclaim ")
	return slices.Contains(p.reclaims, strings.TrimSpace(resource))
}

func event(e evidence.Event) roll.Evidence {
	return roll.Evidence{Source: "events", Field: e.Reason, Observed: e.Message + " at " + roll.Clock(e.Last), Expected: "none before the node went silent"}
}

// killed returns the kernel's console line that the instance ran out of memory. It only hints at
// a pressure: the kill itself is OutOfMemory, and does not show how long the node had run
// short.
func (l *look) killed(p pressure) []proof {
	f, when := l.sign(console.OutOfMemory)
	if p.condition != roll.MemoryPressure || when == nowhere || when == past || when == stale && !l.justBefore(f) || l.outlived(f) > 0 {
		return nil
	}
	return []proof{{cause.Line(f, outOfMemory), false, false}}
}

// forked returns that the node monitoring agent saw the kubelet fail to start a process or a thread shortly before.
// The control plane leaves that condition as it is. It only hints at a pressure: a limit of the kubelet's
// own unit shows in the same way.
//
//   - https://github.com/aws/eks-node-monitoring-agent/blob/main/monitors/kernel/monitor.go (handleKubelet)
//   - https://docs.aws.amazon.com/eks/latest/userguide/node-health-nma.html
func (l *look) forked(p pressure) []proof {
	c, _ := l.Node().Object.Value.Condition("KernelReady")
	before := l.trouble().Sub(c.Since)
	if p.condition != roll.PIDPressure || c.Status != string(roll.ConditionFalse) || c.Reason != "ForkFailedOutOfPIDs" || before > lately || before < -slack {
		return nil
	}
	return []proof{{condition(c, c.Type, "True"), false, false}}
}

// unwatched is why PIDPressure=False proves nothing. Neither the kubelet nor nodeadm has a threshold for process
// IDs by default, and without one the condition is never True.
//
//   - https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#hard-eviction-thresholds
//   - https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/config.go
const unwatched = "the condition PIDPressure is never True unless the kubelet is given an eviction threshold for pid.available, and it has none by default"

// sudden is why MemoryPressure=False proves nothing about a node that went silent later. The kubelet measures the
// memory every 10 seconds. What uses it up in between also stops the kubelet, which then reports nothing.
//
//   - https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#kubelet-may-not-observe-memory-pressure-right-away
//   - https://github.com/awslabs/amazon-eks-ami/issues/1145
//   - https://github.com/awslabs/amazon-eks-ami/issues/1490
const sudden = "a node can run out of memory within seconds, before its kubelet reports MemoryPressure: that the last check and its events show none proves nothing"

func (l *look) shortBefore(p pressure, proofs []proof) cause.Verdict {
	v, told, over := cause.Suggestive(), "may have run", true
	for _, proof := range proofs {
		v.Shows(proof.Evidence)
		if proof.sure {
			v, told = v.DecisiveIf(true), "ran"
		}
		over = over && proof.over
	}
	if over {
		return v.Past().Fix(l.relieve(p, true)).
			Says("node %s ran short of %s, which was over before it went silent at %s: it may have come back unseen", l.Finding.Node, l.what(p), roll.Clock(l.quiet()))
	}
	since := l.quiet()
	if c, _ := l.Node().Remembered.Value.Condition(p.condition); c.Status == string(roll.ConditionTrue) {
		since = c.Since
	}
	return l.more(p, v.Fix(l.relieve(p, true)).
		Says("node %s %s short of %s before it went silent at %s", l.Finding.Node, told, l.what(p), roll.Clock(l.quiet())), since)
}

// what returns in words what the node runs short of.
func (l *look) what(p pressure) string {
	if p.condition == roll.DiskPressure && l.inodes() {
		return "inodes (its disk can hold no more files, however much space is free)"
	}
	return p.what
}

// inodes reports whether the kubelet, or df on the host, names inodes. The condition alone does not distinguish
// bytes from inodes.
// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#eviction-signals
func (l *look) inodes() bool {
	if s, _ := l.shortage(); s.row.Field == dfInodes {
		return true
	}
	evicted := func(e evidence.Event) bool {
		return e.Reason == "Evicted" && strings.Contains(e.Message, "low on resource: inodes")
	}
	return slices.ContainsFunc(l.Node().Events.Value, func(e evidence.Event) bool {
		return e.Reason == "EvictionThresholdMet" && strings.HasSuffix(e.Message, "reclaim inodes")
	}) || slices.ContainsFunc(l.Node().Pods.Value, func(p evidence.Pod) bool { return slices.ContainsFunc(p.Events, evicted) })
}

// relieve returns what helps a node that runs short, and what prevents it from recurring.
// Commands that only read come first, since the evidence is lost with the instance. A node
// whose only fault is pressure still works, and is not terminated for it.
func (l *look) relieve(p pressure, broken bool) string {
	look, end := paste.PodsOf(l.Finding.Node)+"   # which of them start so many processes? podPidsLimit in the configuration of the kubelet bounds them", l.reboot()
	switch {
	case p.condition == roll.MemoryPressure:
		look = limits(l.Finding.Node)
	case p.condition == roll.DiskPressure && l.inodes():
		look, end = paste.PodsOf(l.Finding.Node)+"   # which of them make so many files (df -i)? have them delete some, or give the group larger volumes, which hold more", l.replace()
	case p.condition == roll.DiskPressure:
		look, end = paste.PodsOf(l.Finding.Node)+"   # which of them fill the disk? limit ephemeral-storage, or give the group larger volumes", l.replace()
	}
	if !broken {
		return look
	}
	return paste.Lines(look, end)
}

// wasWell reports whether a check shortly before the silence saw no pressure, or one that had
// ended long before. The node's events must show no pressure since.
func (l *look) wasWell(p pressure) bool {
	return l.sawEnough(p) && l.Node().Events.Known() && l.At.Sub(l.Node().Remembered.Value.At) < eventsKept
}

func (l *look) sawEnough(p pressure) bool {
	r := l.Node().Remembered.Value
	c, _ := r.Condition(p.condition)
	return c.Status == string(roll.ConditionFalse) && l.quiet().Sub(r.At) <= recent
}

// unseen returns why nothing is known about what preceded the silence.
func (l *look) unseen(p pressure) string {
	n := l.Node()
	switch {
	case !n.Remembered.Settled():
		return n.Remembered.Missing("memory of node " + l.Finding.Node)
	case !n.Events.Known():
		return n.Events.Missing("list of events of node " + l.Finding.Node)
	case l.sawEnough(p):
		return fmt.Sprintf("the last check before node %s went silent, at %s, saw no %s, but the API server keeps events for an hour: those since the check may be gone", l.Finding.Node, roll.Clock(n.Remembered.Value.At), p.condition)
	}
	return fmt.Sprintf("no check saw the condition %s of node %s shortly before it went silent, and that its events and console show no sign proves nothing", p.condition, l.Finding.Node)
}

// pressures checks what a reporting node runs short of now. Pressure evicts its pods, and does
// not make the node unready by itself.
// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
func (l *look) pressures() {
	object := l.Node().Object
	for _, p := range kinds {
		switch c, told := object.Value.Condition(p.condition); {
		case !object.Known():
			l.Note(p.code, l.NoNode())
		case !told || c.Status == string(roll.ConditionUnknown):
			l.NotChecked(fmt.Sprintf("node %s does not report its condition %s", l.Finding.Node, p.condition), p.code)
		case c.Status != string(roll.ConditionFalse):
			l.Note(p.code, l.shortNow(p, c))
		case p.condition != roll.PIDPressure:
			l.RuledOut(p.code)
		default:
			l.Note(p.code, l.shortUnwatched(p))
		}
	}
}

// shortUnwatched returns the verdict on a shortage for which the kubelet may have no threshold.
func (l *look) shortUnwatched(p pressure) cause.Verdict {
	forked := l.forked(p)
	if len(forked) == 0 {
		return cause.NotChecked(unwatched)
	}
	return cause.Suggestive().Says("node %s may be short of %s: its kubelet failed to start a process or a thread", l.Finding.Node, l.what(p)).
		Shows(forked[0].Evidence).Fix(l.relieve(p, true))
}

// shortNow returns the verdict on a lasting pressure: decisive for a finding about it,
// otherwise a hint.
func (l *look) shortNow(p pressure, c evidence.Condition) cause.Verdict {
	sure, follows := false, "its pods are evicted and new ones kept off, which may hold up what it needs to be ready, and does not by itself make it unready"
	if l.Finding.Condition == p.condition {
		sure, follows = true, "its kubelet evicts pods, and may fall silent if that does not help"
	}
	return l.more(p, cause.DecisiveIf(sure).
		Says("node %s has been short of %s since %s: %s", l.Finding.Node, l.what(p), roll.Clock(c.Since), follows).
		Shows(condition(c, p.condition, "False")).
		Fix(l.relieve(p, l.Finding.Kind != roll.ConditionFailed)), c.Since)
}

const (
	// namedPods is how many pods without a memory limit a summary names, and shownPods how many
	// the evidence lists.
	namedPods, shownPods = 2, 10
	// lastingDay is how long before a pressure another one in its group counts as the same
	// trouble.
	lastingDay = 24 * time.Hour
)

// more adds to a pressure the nodes of the group that had it before and, for memory, the pods
// without a memory limit.
func (l *look) more(p pressure, c cause.Verdict, at time.Time) cause.Verdict {
	if told, seen := l.again(p, at); told != "" {
		c.Also(told).Shows(seen)
	}
	if s, ok := l.shortage(); ok && p.condition == roll.DiskPressure {
		c.Shows(s.row)
	}
	if p.condition == roll.MemoryPressure {
		told, seen := l.unlimited()
		c.Also(told).Shows(seen)
	}
	return c
}

// unlimited returns the node's pods without a memory limit, those known to have used most
// first. Pods that the kubelet evicted stay listed for a while.
func (l *look) unlimited() (told string, seen roll.Evidence) {
	fact := l.Node().Pods
	seen = roll.Evidence{Source: "pods", Field: "spec.containers[].resources.limits.memory", Expected: "a limit for each"}
	all := slices.DeleteFunc(slices.Clone(fact.Value), func(p evidence.Pod) bool {
		return !p.Unlimited || (p.Phase == "Succeeded" || p.Phase == "Failed") && p.MemoryUsed == 0 && !p.OutOfMemory
	})
	slices.SortFunc(all, func(a, b evidence.Pod) int {
		return cmp.Or(cmp.Compare(b.MemoryUsed, a.MemoryUsed), roll.TrueFirst(a.OutOfMemory, b.OutOfMemory), cmp.Compare(b.MemoryRequest, a.MemoryRequest),
			roll.TrueFirst(strings.HasPrefix(b.Owner, "DaemonSet/"), strings.HasPrefix(a.Owner, "DaemonSet/")),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	switch {
	case !fact.Known():
		seen.Observed = "unknown: " + fact.Missing("list of pods of node "+l.Finding.Node)
	case len(fact.Value) == 0:
		seen.Observed = "no pod is on the node"
	case len(all) == 0:
		seen.Observed = "a limit for each"
	default:
		seen.Observed = "none for " + some(all, shownPods)
		told = fmt.Sprintf("; %d of its pods %s no memory limit: %s", len(all), roll.Plural(len(all), "has", "have"), some(all, namedPods))
	}
	return told, seen
}

// some returns the first pods, with what is known of their memory, and how many more there are.
func some(all []evidence.Pod, most int) string {
	words := roll.Map(all[:min(most, len(all))], func(p evidence.Pod) string { return fmt.Sprintf("%s/%s (%s)", p.Namespace, p.Name, appetite(p)) })
	if left := len(all) - most; left > 0 {
		words = append(words, fmt.Sprintf("and %d more", left))
	}
	return strings.Join(words, ", ")
}

// appetite returns what is known about a pod's memory. Its current use is unknown.
func appetite(p evidence.Pod) string {
	request := "requests none"
	if p.MemoryRequest > 0 {
		request = "requests " + size(p.MemoryRequest)
	}
	switch {
	case p.MemoryUsed > 0:
		return "used " + size(p.MemoryUsed) + " when it was evicted, " + request
	case p.OutOfMemory:
		return "killed for lack of memory, " + request
	}
	return request
}

// size returns a number of bytes as a quantity.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/(1<<30)), ".0") + "Gi"
	case n >= 1<<20:
		return fmt.Sprintf("%dMi", n>>20)
	}
	return fmt.Sprintf("%dKi", (n+1<<10-1)>>10)
}

// again returns which nodes of the group, this one included, had the pressure within the day
// before it began, "" if none is known.
func (l *look) again(p pressure, at time.Time) (told string, seen roll.Evidence) {
	var before []string
	nodes := map[roll.InstanceID]bool{}
	for _, e := range l.Node().Remembered.Value.GroupPressures {
		own := e.Instance == l.Finding.Instance
		if e.Type != p.condition || e.Since.After(at) || at.Sub(e.Since) > lastingDay || own && at.Sub(e.Since) < lately { // or it may be this one
			continue
		}
		before = append(before, fmt.Sprintf("%s at %s", e.Node, roll.Clock(e.Since)))
		if !own {
			nodes[e.Instance] = true
		}
	}
	if len(before) == 0 {
		return "", seen
	}
	told = "; it did so before within 24 h"
	if n := len(nodes); n > 0 {
		told = fmt.Sprintf("; it is the %s node of %s within 24 h", ordinal(n+1), l.Finding.Group)
	}
	return told, roll.Evidence{
		Source: "earlier checks", Field: p.condition + " of nodes of " + string(l.Finding.Group), Observed: strings.Join(before, ", "), Expected: "none within 24 h before",
	}
}

// ordinal returns the ordinal of a number from two on.
func ordinal(n int) string {
	words := []string{"second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}
	if n-2 < len(words) {
		return words[n-2]
	}
	return fmt.Sprintf("%dth", n)
}
