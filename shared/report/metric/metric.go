package metric

import (
	"slices"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/plan"
	"rollcall/shared/roll"
)

// Dimension is a CloudWatch dimension of a metric. Each has a closed list of values, except
// ByCluster.
type Dimension string

// The dimensions.
const (
	ByCluster Dimension = "Cluster"
	ByKind    Dimension = "Kind"
	ByCause   Dimension = "Cause"
	ByAction  Dimension = "Action"
	ByReason  Dimension = "Reason"
	ByService Dimension = "Service"
)

// Special values of dimensions.
const (
	// NoCause: nothing decisive was found.
	NoCause = "none"
	// OtherValue replaces a value that is not on the list of its dimension.
	OtherValue = "other"
)

var services = apistats.Services()

var dimensionValues = map[Dimension]func(string) bool{
	ByKind:    func(v string) bool { return slices.Contains(roll.Kinds(), roll.Kind(v)) },
	ByCause:   func(v string) bool { return v == NoCause || cause.Known(v) },
	ByAction:  func(v string) bool { return slices.Contains(plan.Actions, plan.Action(v)) },
	ByReason:  func(v string) bool { return plan.Reason(v).Ends() != "" },
	ByService: func(v string) bool { return slices.Contains(services, v) },
}

// Form is the type of a metric, which decides the statistics that are meaningful.
type Form string

// The forms.
const (
	// Counter: the increase since the last value. Sums are meaningful, over time and over
	// dimensions.
	Counter Form = "counter"
	// Gauge: the current value. Clusters are checked at irregular intervals, so a sum over
	// time is meaningless; the maximum of a period is meaningful.
	Gauge Form = "gauge"
	// Distribution: one value for each measurement. Percentiles are meaningful.
	Distribution Form = "distribution"
)

// Series is a metric that Rollcall writes.
type Series struct {
	Name string
	Unit string // a CloudWatch unit
	Form Form
	// Sets are the dimension sets under which it is always written, Detailed those that a
	// deployment asks for. Each set with its values is one CloudWatch metric, and is charged for.
	Sets, Detailed [][]Dimension
}

// detailed adds sets that are written only where a deployment asks for them.
func (s Series) detailed(sets ...[]Dimension) Series {
	s.Detailed = sets
	return s
}

var (
	overall   = []Dimension{}
	byCluster = []Dimension{ByCluster}
)

func counter(name string, sets ...[]Dimension) Series {
	return Series{Name: name, Unit: "Count", Form: Counter, Sets: sets}
}

func gauge(name, unit string, sets ...[]Dimension) Series {
	return Series{Name: name, Unit: unit, Form: Gauge, Sets: sets}
}

func distribution(name, unit string, sets ...[]Dimension) Series {
	return Series{Name: name, Unit: unit, Form: Distribution, Sets: sets}
}

// The metrics. infra/MONITORING.md describes them. Of a cluster two are always written; the rest of
// its numbers are in the lines of the log.
var (
	ChecksCompleted  = counter("ChecksCompleted", overall).detailed(byCluster)
	ChecksIncomplete = counter("ChecksIncomplete", overall).detailed(byCluster)
	ClusterUnread    = gauge("ClusterUnreadSeconds", "Seconds", overall)
	ChecksSkipped    = counter("ChecksSkipped", overall).detailed(byCluster)
	ChecksRelisted   = counter("ChecksRelisted", overall).detailed(byCluster)
	CheckDuration    = distribution("CheckDuration", "Milliseconds", overall).detailed(byCluster)

	Nodes         = gauge("Nodes", "Count").detailed(byCluster)
	ReadyNodes    = gauge("ReadyNodes", "Count").detailed(byCluster)
	Findings      = gauge("Findings", "Count", byCluster).detailed([]Dimension{ByCluster, ByKind})
	OldestFinding = gauge("OldestFindingSeconds", "Seconds", overall, byCluster)
	HeldActs      = gauge("Held", "Count").detailed(byCluster, []Dimension{ByCluster, ByReason})

	FindingsOpened      = counter("FindingsOpened", []Dimension{ByKind}, []Dimension{ByKind, ByCause}).detailed(byCluster)
	FindingsEscalated   = counter("FindingsEscalated", []Dimension{ByKind}).detailed(byCluster)
	FindingsResolved    = counter("FindingsResolved", []Dimension{ByKind}).detailed(byCluster)
	RegistrationSeconds = distribution("RegistrationSeconds", "Seconds", overall).detailed(byCluster)

	Orders         = counter("Orders", []Dimension{ByAction}).detailed(byCluster)
	ActionsTaken   = counter("ActionsTaken", overall, []Dimension{ByAction}).detailed(byCluster)
	ActionsFailed  = counter("ActionsFailed", overall, []Dimension{ByAction}).detailed(byCluster)
	ActionsUnclear = counter("ActionsUnclear", overall, []Dimension{ByAction}).detailed(byCluster)
	ActionsOngoing = counter("ActionsOngoing", []Dimension{ByAction}).detailed(byCluster)
	ActionsRefused = counter("ActionsRefused", []Dimension{ByAction}, []Dimension{ByReason}).detailed(byCluster)

	NoticesSent   = counter("NoticesSent", overall).detailed(byCluster)
	NoticesFailed = counter("NoticesFailed", overall).detailed(byCluster)

	Sweeps          = counter("Sweeps", overall)
	Clusters        = gauge("Clusters", "Count", overall)
	StateChanges    = counter("StateChanges", overall)
	MessagesDropped = counter("MessagesDropped", overall)
	PolicyInvalid   = counter("PolicyInvalid", overall)

	APICalls          = counter("APICalls", overall).detailed([]Dimension{ByService})
	APICallsThrottled = counter("APICallsThrottled", overall).detailed([]Dimension{ByService})
	APICallsDenied    = counter("APICallsDenied", overall).detailed([]Dimension{ByService})
)

// Catalogue lists every metric that Rollcall writes.
func Catalogue() []Series {
	return []Series{
		ChecksCompleted, ChecksIncomplete, ClusterUnread, ChecksSkipped, ChecksRelisted, CheckDuration,
		Nodes, ReadyNodes, Findings, OldestFinding, HeldActs,
		FindingsOpened, FindingsEscalated, FindingsResolved, RegistrationSeconds,
		Orders, ActionsTaken, ActionsFailed, ActionsUnclear, ActionsOngoing, ActionsRefused,
		NoticesSent, NoticesFailed,
		Sweeps, Clusters, StateChanges, MessagesDropped, PolicyInvalid,
		APICalls, APICallsThrottled, APICallsDenied,
	}
}

// By maps the dimensions of a sample to their values.
type By map[Dimension]string

// Sample is one or more values of a metric.
type Sample struct {
	Of     Series
	By     By
	Value  float64
	Values []float64 // instead of Value if there are several; then never empty
}

// of returns those of the sets that fit the sample. A counter or distribution has every set whose
// dimensions it has. A gauge has only the set of exactly its dimensions, because a part has another
// value than the whole.
func (s Sample) of(sets [][]Dimension) [][]Dimension {
	var out [][]Dimension
	for _, set := range sets {
		has := !slices.ContainsFunc(set, func(d Dimension) bool { return s.By[d] == "" })
		if has && (s.Of.Form != Gauge || len(set) == len(s.By)) {
			out = append(out, set)
		}
	}
	return out
}

// fits reports whether the metric has sets of these dimensions, and of all of them.
func (s Sample) fits() bool {
	told := map[Dimension]bool{}
	sets := s.of(slices.Concat(s.Of.Sets, s.Of.Detailed))
	for _, set := range sets {
		for _, d := range set {
			told[d] = true
		}
	}
	return len(sets) > 0 && len(told) == len(s.By)
}

// value returns the value of a dimension, OtherValue if it is not on the list.
func (s Sample) value(d Dimension) string {
	if listed, ok := dimensionValues[d]; ok && !listed(s.By[d]) {
		return OtherValue
	}
	return s.By[d]
}
