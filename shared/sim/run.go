package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/kube"
	"rollcall/shared/roll/memo"
)

// Result is what came of a run.
type Result struct {
	Violations []Violation // of which a run stops at the first
	// Digest is a hash of everything that was told: the same run has the same.
	Digest string
	// NodeHours is how many nodes lived for how many hours.
	NodeHours float64
	Counts    map[EventKind]int
	// Situations are the decisions of the run, and how often each was made.
	Situations map[Situation]int
	Cost       Cost
	Harm       Harm
	Usage      Usage
	Ended      time.Time // when it was over
}

// Watch is how a run is followed.
type Watch struct {
	// Tell is called with every event as it happens; nil is nobody.
	Tell func(Event)
	// Step is called when time has passed, at most a minute at a time, with how the
	// clusters stand; nil is nobody.
	Step func(at time.Time, clusters []Standing)
	// Bus is called with every event that is put on the event bus, and the ARNs that it is
	// about; nil is nobody.
	Bus func(at time.Time, detailType, detail string, resources []string)
	// Metrics is written what the functions write of metrics; nil is nobody.
	Metrics io.Writer
	// Log is handed what the functions log; nil is nobody.
	Log slog.Handler
	// Guards are wrong versions of what protects, for the check of the rules themselves.
	Guards Guards
	// GoOn after a violation.
	GoOn bool
	// Stop ends the run early when it says so; nil never does.
	Stop func() bool
}

// step is how far a run goes before somebody looks at it.
const step = time.Minute

// calmEvery is how often the auditor looks at a calm account.
const calmEvery = 5 * time.Minute

// Run lets a scenario happen. An error says what is wrong with the scenario itself.
func Run(sc Scenario, w Watch) (Result, error) {
	r := Result{Counts: map[EventKind]int{}}
	a, err := newAccount(sc, w)
	if err != nil {
		return r, err
	}
	defer a.shutdown()
	r.Situations = a.decisions
	digest := sha256.New()
	tell := a.tell
	a.tell = func(e Event) {
		r.Counts[e.Kind]++
		a.decided(e)
		write(digest, e)
		tell(e)
	}
	a.begin()
	calm := sc.Start.Add(sc.Storm)
	healed := calm.Add(sc.Calm)
	end := healed.Add(sc.Healed)
	looked := calm
	for now := sc.Start; now.Before(end); {
		now = now.Add(step)
		a.until(now)
		r.NodeHours += a.nodeHours(step)
		a.audit.minute()
		if w.Step != nil {
			w.Step(now, a.standings())
		}
		if now.After(calm) && now.Before(healed) && now.Sub(looked) >= calmEvery {
			looked = now
			a.audit.calm()
		}
		if len(a.audit.violations) > 0 && !w.GoOn {
			break
		}
		if w.Stop != nil && w.Stop() {
			r.Violations, r.Ended = a.audit.violations, a.Now()
			return r, nil
		}
	}
	if len(a.audit.violations) == 0 || w.GoOn {
		a.audit.end()
	}
	r.Violations, r.Ended, r.Cost, r.Usage, r.Harm = a.audit.violations, a.Now(), a.cost, a.usage, a.audit.harms.total
	r.Digest = hex.EncodeToString(digest.Sum(nil)[:16])
	return r, nil
}

// Standing is how a cluster stands at a moment.
type Standing struct {
	Cluster      string
	Exists       bool // EKS knows it
	Nodes, Ready int
	Machines     int // that run
}

func (a *account) standings() []Standing {
	var out []Standing
	for _, c := range a.clusters {
		s := Standing{Cluster: c.name, Exists: c.exists(), Nodes: len(c.nodes)}
		for _, n := range c.nodes {
			if n.ready().Status == corev1.ConditionTrue {
				s.Ready++
			}
		}
		for _, m := range c.machines {
			if m.alive() {
				s.Machines++
			}
		}
		out = append(out, s)
	}
	return out
}

// write adds an event to a digest.
func write(h hash.Hash, e Event) {
	_, _ = fmt.Fprintf(h, "%d|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s\n", e.At.UnixNano(), e.Kind, e.Cluster, e.Instance, e.Node, e.Group, e.Finding, e.Cause, e.Action, e.Reason, e.Stage, e.Subject, e.Text, e.Detail)
}

// newAccount makes the account of a scenario, with nothing in it that happens yet.
func newAccount(sc Scenario, w Watch) (*account, error) {
	a := &account{
		engine: newEngine(sc.Start), d: newDice(sc.Seed), sc: sc, decisions: map[Situation]int{}, byName: map[string]*cluster{}, machines: map[string]*machine{},
		items: memo.Memo[memo.Key, *kube.Item]{Most: 4096}, weather: &weather{}, tell: w.Tell, bus: w.Bus, metrics: w.Metrics, log: w.Log, silenced: map[string]bool{}, usage: Usage{Calls: map[string]int{}, Invocations: map[string]int{}, Events: map[string]int{}},
	}
	if a.tell == nil {
		a.tell = func(Event) {}
	}
	if a.bus == nil {
		a.bus = func(time.Time, string, string, []string) {}
	}
	if a.metrics == nil {
		a.metrics = io.Discard
	}
	if a.log == nil {
		a.log = slog.DiscardHandler
	}
	a.audit = newAuditor(a)
	if err := a.deploy(w.Guards); err != nil {
		return nil, fmt.Errorf("scenario of seed %d: %w", sc.Seed, err)
	}
	return a, nil
}

// begin fills the account with what has been there for long, and arranges what is to come.
func (a *account) begin() {
	a.founding = true
	for _, s := range a.sc.Clusters {
		a.newCluster(s).populate()
	}
	a.founding = false
	a.arrange()
	a.dep.start()
}

// nodeHours counts the nodes there are for the time that passed.
func (a *account) nodeHours(d time.Duration) float64 {
	n := 0
	for _, c := range a.clusters {
		n += len(c.nodes)
		a.cost.count(c, d)
	}
	return float64(n) * d.Hours()
}

// Cost is what the account cost in machines, and how much of that was for nothing.
type Cost struct {
	// Machines and Wasted are US dollars: for all machines, and for those that were ill or
	// left over.
	Machines, Wasted float64
	// SickHours is for how long machines were ill while they ran.
	SickHours float64
}

// Usage is what Rollcall itself used of the account.
type Usage struct {
	Calls       map[string]int // by service and operation
	Invocations map[string]int // by function
	Events      map[string]int // that it put on the bus, by detail type
	Busy        time.Duration  // of all functions together
}

// count adds what the machines of a cluster cost for a while.
func (k *Cost) count(c *cluster, d time.Duration) {
	for _, m := range c.machines {
		if !m.alive() {
			continue
		}
		k.Machines += m.g.kind.Price * d.Hours()
		if m.ail != well || !c.exists() || m.g.owner == karpenter && m.claim == nil {
			k.Wasted += m.g.kind.Price * d.Hours()
			k.SickHours += d.Hours()
		}
	}
}
