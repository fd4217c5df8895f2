package sim

import "time"

// Scenario is what a run is made from. It is a value: the same one makes the same run.
type Scenario struct {
	Seed  uint64
	Start time.Time
	// Storm is how long faults befall the account; Calm how long it is left alone after,
	// with what is broken still broken; Healed how long after everything is well again.
	Storm, Calm, Healed time.Duration
	Clusters            []ClusterSpec
	Faults              []Fault
	// Policy is the policy document in its parameter, YAML; "" is none.
	Policy string
	// Permitted is the most that the deployment may do: observe, notify or remediate.
	Permitted string
	// Sweep is the interval of the sweep.
	Sweep time.Duration
	// Quiet leaves out the chance that functions are killed, messages come twice and
	// clocks differ: a day as it mostly is.
	Quiet bool
}

// ClusterSpec is a cluster of a scenario.
type ClusterSpec struct {
	Name   string
	Mode   string // of its tag rollcall:mode; "" is none
	Groups []GroupSpec
}

// GroupSpec is a group of a cluster.
type GroupSpec struct {
	Name    string
	Owner   string // karpenter, managed-nodegroup, autoscaling-group, none
	Type    string // of the instances, such as m5.large
	Desired int
	Repair  bool // its owner repairs nodes by itself
}

// FaultKind is what a fault does.
type FaultKind string

// The faults. Those of calls befall what the functions ask for; those of machines befall
// what they ask about.
const (
	FaultThrottle     FaultKind = "throttle"      // EC2 and Auto Scaling throttle
	FaultErrors       FaultKind = "errors"        // every service fails now and then
	FaultAPIDown      FaultKind = "api-down"      // the API server of a cluster hangs
	FaultAPIErrors    FaultKind = "api-errors"    // the API server of a cluster fails now and then
	FaultLedgerErrors FaultKind = "ledger-errors" // the table and the bucket fail now and then
	FaultLostAnswers  FaultKind = "lost-answers"  // calls take effect, and time out
	FaultDenied       FaultKind = "denied"        // IAM and SNS refuse
	FaultStale        FaultKind = "stale"         // what EC2 shows lags by minutes
	FaultKills        FaultKind = "kills"         // functions are killed between any two calls
	FaultMessages     FaultKind = "messages"      // messages come twice, late and out of order

	FaultSilence   FaultKind = "silence"   // kubelets fall silent; a reboot or a new machine cures it
	FaultPressure  FaultKind = "pressure"  // machines run short of memory, and then fall silent
	FaultNotReady  FaultKind = "not-ready" // kubelets say that they are not ready
	FaultImpaired  FaultKind = "impaired"  // status checks fail
	FaultFlapping  FaultKind = "flapping"  // kubelets come and go
	FaultNoJoin    FaultKind = "no-join"   // the next machines launched do not join
	FaultNoReady   FaultKind = "no-ready"  // the next machines launched keep a startup taint
	FaultPart      FaultKind = "part"      // the monitoring agent says that a part failed
	FaultShort     FaultKind = "short"     // machines run short of memory, and go on working
	FaultTemplate  FaultKind = "template"  // a new template version, from which nothing joins
	FaultTaint     FaultKind = "taint"     // a new template version, whose startup taint nobody removes
	FaultCilium    FaultKind = "cilium"    // an agent's taint that the NodePool does not declare, and kubelets restart
	FaultArchitect FaultKind = "arm64"     // a group turns to arm64, with user data that does not work there
	FaultRole      FaultKind = "role"      // the controller's role is mapped instead of the nodes'
	FaultZone      FaultKind = "zone"      // a zone loses its network
	FaultShift     FaultKind = "shift"     // ARC shifts a cluster away from a zone
	FaultDeleted   FaultKind = "deleted"   // a cluster is deleted, and its machines are left over
	FaultUpdate    FaultKind = "update"    // a cluster is being updated
	FaultScale     FaultKind = "scale"     // a group grows or shrinks
	FaultSpot      FaultKind = "spot"      // machines are taken away
	FaultDry       FaultKind = "dry"       // there is no capacity
	FaultFight     FaultKind = "fight"     // Karpenter repairs nodes too
	FaultGhosts    FaultKind = "ghosts"    // Nodes of ended machines are not removed
	FaultOrphans   FaultKind = "orphans"   // NodeClaims vanish, and their machines stay
	FaultPeople    FaultKind = "people"    // people hold, protect, cordon, and remove tags
	FaultMode      FaultKind = "mode"      // the policy's mode changes
	FaultBadPolicy FaultKind = "policy"    // the policy does not validate
)

// Fault befalls the account at a time.
type Fault struct {
	ID      int
	Kind    FaultKind
	At      time.Duration // since the start
	For     time.Duration // how long it lasts; 0 lasts until everything is healed
	Cluster string        // "" is all of them, or the first
	Group   string
	Zone    string
	Count   int     // of machines
	Share   float64 // of calls, messages or invocations
	Value   string  // a mode
	// Bare takes the milder form, where a fault has two: a reboot cures it, or it meets new
	// machines only.
	Bare bool
	// Says what it is, for a person; "" leaves it to the rest.
	Says string
}
