package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"time"

	"rollcall/shared/kube"
	"rollcall/shared/plan/replay"
	"rollcall/shared/roll/memo"
)

// Result is the outcome of a run.
type Result struct {
	Violations []Violation // a run stops at the first
	Digest     string      // a hash of all reported events: the same run has the same digest
	NodeHours  float64     // the sum of the nodes' lifetimes, in hours
	Counts     map[EventKind]int
	Situations map[Situation]int // how often each decision was made in the run
	Cost       Cost
	Harm       Harm
	Usage      Usage
	Ended      time.Time // when the run was over
}

// Watch holds the callbacks that follow a run.
type Watch struct {
	Tell func(Event)                             // if not nil, called with each event as it happens
	Step func(at time.Time, clusters []Standing) // if not nil, is called after every simulated minute with the state of the clusters
	// Bus, if not nil, is called with each event put on the event bus and its resource ARNs.
	Bus      func(at time.Time, detailType, detail string, resources []string)
	Record   func(replay.Recorded) error // if not nil, called with the inputs of each check that found something
	Metrics  io.Writer                   // if not nil, receives the metrics that the functions write
	Detailed bool                        // writes each metric by all its dimensions
	Log      slog.Handler                // if not nil, receives the functions' log records
	Guards   Guards                      // replace safety mechanisms with wrong versions, to test the rules themselves
	GoOn     bool                        // continues the run after a violation
	Stop     func() bool                 // if not nil, ends the run early when it returns true
}

// GCPercent is for debug.SetGCPercent during runs, which allocate much memory for a short time.
const GCPercent = 800

const (
	step      = time.Minute     // how far a run advances between two checks of the auditor
	calmEvery = 5 * time.Minute // how often the auditor checks a calm account
)

// Run runs a scenario. It returns an error if the scenario itself is invalid.
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
		_, _ = fmt.Fprintf(digest, "%d|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s\n", e.At.UnixNano(), e.Kind, e.Cluster, e.Instance, e.Node, e.Group, e.Finding, e.Cause, e.Action, e.Reason, e.Stage, e.Subject, e.Text, e.Detail)
		tell(e)
	}
	a.found(sc.Clusters...)
	a.arrange()
	a.dep.sweepAfter(a.Now())
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

// Standing is the state of a cluster at a time.
type Standing struct {
	Cluster      string
	Exists       bool // EKS still has it
	Nodes, Ready int
	Machines     int // the number of running machines
}

func (a *account) standings() []Standing {
	var out []Standing
	for _, c := range a.clusters {
		ready := count(c.nodes, func(n *node) bool { return n.works })
		out = append(out, Standing{Cluster: c.name, Exists: c.exists(), Nodes: len(c.nodes), Ready: ready, Machines: count(c.machines, (*machine).alive)})
	}
	return out
}

// newAccount creates the account of a scenario, before anything happens in it.
func newAccount(sc Scenario, w Watch) (*account, error) {
	a := &account{
		engine: newEngine(sc.Start), d: newDice(sc.Seed), sc: sc, decisions: map[Situation]int{}, byName: map[string]*cluster{}, machines: map[string]*machine{},
		items: memo.Memo[memo.Key, *kube.Item]{Most: 4096}, weather: &weather{}, tell: w.Tell, silenced: map[string]bool{}, answered: map[string]bool{}, usage: Usage{Calls: map[string]int{}, Invocations: map[string]int{}, Events: map[string]int{}},
	}
	if a.tell == nil {
		a.tell = func(Event) {}
	}
	if w.Bus == nil {
		w.Bus = func(time.Time, string, string, []string) {}
	}
	if w.Metrics == nil {
		w.Metrics = io.Discard
	}
	if w.Log == nil {
		w.Log = slog.DiscardHandler
	}
	a.watch = w
	a.audit = newAuditor(a)
	if err := a.deploy(w.Guards); err != nil {
		return nil, fmt.Errorf("scenario of seed %d: %w", sc.Seed, err)
	}
	return a, nil
}

// found creates clusters whose machines predate the run.
func (a *account) found(clusters ...ClusterSpec) {
	a.founding = true
	for _, s := range clusters {
		a.newCluster(s).populate()
	}
	a.founding = false
}

func (a *account) nodeHours(d time.Duration) float64 {
	n := 0
	for _, c := range a.clusters {
		n += len(c.nodes)
		a.cost.count(c, d)
	}
	return float64(n) * d.Hours()
}

// Cost is what the account's machines cost, and how much of that was wasted.
type Cost struct {
	// Machines and Wasted are in US dollars: for all machines, and for unhealthy or left ones.
	Machines, Wasted float64
	SickHours        float64 // how many hours machines ran unhealthy
}

// Usage is how much Rollcall itself used of the account.
type Usage struct {
	Calls       map[string]int // by service and operation
	Invocations map[string]int // by function
	Events      map[string]int // put on the bus, by detail type
	Busy        time.Duration  // total run time of all functions
}

// count adds the cost of a cluster's machines for a duration.
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
