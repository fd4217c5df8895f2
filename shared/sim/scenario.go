package sim

import "time"

// Scenario is the input of a run. The same value gives the same run.
type Scenario struct {
	Seed  uint64
	Start time.Time
	// Storm is how long faults occur. Calm follows: no new faults, and what is broken stays
	// broken. Healed is the time after everything is repaired.
	Storm, Calm, Healed time.Duration
	Mends               time.Duration // how often people repair everything during the storm too; 0 is never
	Clusters            []ClusterSpec
	Faults              []Fault
	Policy              string        // the policy document in the Parameter Store parameter, YAML; "" is none
	Permitted           string        // the highest mode that the deployment permits: observe, notify or remediate
	Sweep               time.Duration // the interval of the sweep
	// Quiet leaves out killed functions, duplicate messages and clock differences.
	Quiet    bool
	HostLogs bool // reports whether the deployment reads the logs of hosts
	Clocks   bool // the clocks of some machines are wrong
}

// ClusterSpec describes a cluster of a scenario.
type ClusterSpec struct {
	Name   string
	Mode   string // the value of its tag rollcall:mode; "" is no tag
	Groups []GroupSpec
}

// GroupSpec describes a group of a cluster.
type GroupSpec struct {
	Name    string
	Owner   ownerKind
	Type    string // of the instances, such as m5.large
	Desired int
	Repair  bool // its owner repairs nodes itself
	Spot    bool // of Spot Instances
}

// FaultKind names the effect of a fault.
type FaultKind string

// The faults: of the functions' calls and messages, of machines and clusters, and situations, each of which creates a
// case in which a plausible verdict does harm or leaves a fault unrepaired.
const (
	FaultThrottle     FaultKind = "throttle"        // EC2 and Auto Scaling throttle
	FaultErrors       FaultKind = "errors"          // every service fails occasionally
	FaultAPIDown      FaultKind = "api-down"        // the API server of a cluster hangs
	FaultAPIErrors    FaultKind = "api-errors"      // the API server of a cluster fails occasionally
	FaultLedgerErrors FaultKind = "ledger-errors"   // the table and the bucket fail occasionally
	FaultLostAnswers  FaultKind = "lost-answers"    // calls take effect, but time out
	FaultDenied       FaultKind = "denied"          // IAM and SNS deny calls
	FaultUndescribed  FaultKind = "undescribed"     // EKS denies the description of a cluster
	FaultUnreachable  FaultKind = "unreachable"     // the functions' network does not reach the API server of a cluster
	FaultStale        FaultKind = "stale"           // EC2's answers lag by minutes
	FaultKills        FaultKind = "kills"           // functions are killed between any two calls
	FaultMessages     FaultKind = "messages"        // messages arrive twice, late and out of order
	FaultLostEvents   FaultKind = "lost-events"     // EC2 and AWS Health events do not arrive
	FaultMissedSweeps FaultKind = "missed-sweeps"   // the sweep's schedule does not fire
	FaultPartialPut   FaultKind = "partial-put"     // PutEvents accepts only some of the events
	FaultRetries      FaultKind = "retries"         // calls are throttled, and retried after a delay
	FaultNotInvoked   FaultKind = "lambda-throttle" // Lambda throttles the functions
	FaultMemory       FaultKind = "out-of-memory"   // functions run out of memory

	FaultSilence   FaultKind = "silence"   // kubelets stop reporting; a reboot or a replacement cures it
	FaultPressure  FaultKind = "pressure"  // machines run short of memory, then stop reporting
	FaultNotReady  FaultKind = "not-ready" // kubelets report that they are not ready
	FaultImpaired  FaultKind = "impaired"  // status checks fail
	FaultFlapping  FaultKind = "flapping"  // kubelets stop and resume reporting
	FaultNoJoin    FaultKind = "no-join"   // the next machines launched do not join
	FaultNoReady   FaultKind = "no-ready"  // the next machines launched keep a startup taint
	FaultPart      FaultKind = "part"      // the monitoring agent reports a failed component
	FaultShort     FaultKind = "short"     // machines run short of memory but keep working
	FaultTemplate  FaultKind = "template"  // a new template version whose machines do not join
	FaultTaint     FaultKind = "taint"     // a new template version whose startup taint is not removed
	FaultCilium    FaultKind = "cilium"    // an agent's taint that the NodePool does not declare, and kubelets restart
	FaultArchitect FaultKind = "arm64"     // a group changes to arm64, with user data that does not work there
	FaultRole      FaultKind = "role"      // aws-auth maps the controller's role instead of the nodes'
	FaultZone      FaultKind = "zone"      // a zone loses its network
	FaultShift     FaultKind = "shift"     // ARC shifts a cluster away from a zone
	FaultDeleted   FaultKind = "deleted"   // a cluster is deleted, and its machines remain
	FaultUpdate    FaultKind = "update"    // a cluster is being updated
	FaultScale     FaultKind = "scale"     // a group grows or shrinks
	FaultSpot      FaultKind = "spot"      // EC2 reclaims Spot Instances
	FaultDry       FaultKind = "dry"       // there is no capacity
	FaultFight     FaultKind = "fight"     // Karpenter repairs nodes too
	FaultGhosts    FaultKind = "ghosts"    // Nodes of terminated machines are not removed
	FaultOrphans   FaultKind = "orphans"   // NodeClaims disappear, and their machines remain
	FaultPeople    FaultKind = "people"    // people hold, protect, cordon, and remove tags
	FaultMode      FaultKind = "mode"      // the policy's mode changes
	FaultBadPolicy FaultKind = "policy"    // the policy is invalid

	FaultTaintReturns  FaultKind = "taint-returns"  // a startup taint returns to nodes that worked for hours
	FaultNoReplacement FaultKind = "no-replacement" // a group cannot or may not replace lost machines, and its machines fail
	FaultKillSwitch    FaultKind = "kill-switch"    // the policy is deleted, emptied, stopped, or contradicted by the cluster's tag
	FaultBacklog       FaultKind = "backlog"        // a cluster is first seen, or its ledger recreated, with machines that already failed
	FaultHangingPods   FaultKind = "hanging-pods"   // a container runtime is dead, and its pods stay in Terminating
	FaultForeignTags   FaultKind = "foreign-tags"   // machines of another cluster carry this one's tags
	FaultBastion       FaultKind = "bastion"        // a machine from the nodes' launch template is not a node
	FaultSmallZone     FaultKind = "small-zone"     // a small zone or group goes silent, or bare metal boots slowly
	FaultOwnerIdle     FaultKind = "owner-idle"     // an owner that should repair a machine does not
	FaultSilentServing FaultKind = "silent-serving" // a kubelet is dead, but its machine continues to serve
	FaultOutageBetween FaultKind = "outage-between" // the network fails between an order and its act
	FaultUnreadSibling FaultKind = "unread-sibling" // of two machines from a broken template, one's user data cannot be read
	FaultVanishedNode  FaultKind = "vanished-node"  // the Node of a working machine disappears
	FaultLoneCause     FaultKind = "lone-cause"     // a single machine fails because of its template, and the evidence is clear
	FaultRefused       FaultKind = "refused"        // Karpenter terminates machines not registered after 15 minutes
	FaultDiesYoung     FaultKind = "dies-young"     // new machines work for minutes, then fail
	FaultUnlaunched    FaultKind = "unlaunched"     // a group needs one more machine, and its launches fail
	FaultScheduled     FaultKind = "scheduled"      // EC2 schedules an interruption of a working machine
	FaultAccelerator   FaultKind = "accelerator"    // the GPU of a Ready node failed, or only appears to
	FaultStuck         FaultKind = "stuck"          // a working node is deleted, but its finalizer keeps it
	FaultStopped       FaultKind = "stopped"        // a person stops or hibernates machines, and starts them again
	FaultSetAside      FaultKind = "set-aside"      // Standby, warm pools, scale-in protection, an instance refresh
	FaultLeft          FaultKind = "left"           // a volume or network interface outlives a failed machine
	FaultDegraded      FaultKind = "regional"       // the region is degraded: most of what is above at once
	FaultBeside        FaultKind = "beside"         // nodes of other kinds than the cluster's groups have
	FaultDisrupted     FaultKind = "disrupted"      // Karpenter replaces a node for its own reasons
	FaultFrozen        FaultKind = "frozen"         // heartbeats stop during an upgrade
	FaultNameReused    FaultKind = "name-reused"    // a machine gets the address, and therefore the Node name, of an earlier one
	FaultNoProviderID  FaultKind = "no-provider-id" // a Node does not identify its instance
	FaultRelapse       FaultKind = "relapse"        // a machine fails repeatedly
	FaultSuspended     FaultKind = "suspended"      // one process of an Auto Scaling group is suspended
	FaultDatedHold     FaultKind = "dated-hold"     // a person holds a machine until a date
	FaultTides         FaultKind = "tides"          // a group grows and shrinks by many machines at once
)

// Fault is a fault that starts at a given time of the run.
type Fault struct {
	ID      int
	Kind    FaultKind
	At      time.Duration // since the start
	For     time.Duration // duration; 0 lasts until everything is healed
	Cluster string        // "" means all clusters, or the first
	Group   string
	Zone    string
	Count   int     // of machines
	Share   float64 // of calls, messages or invocations
	Value   string  // a mode
	// Bare selects the milder form: a reboot cures it, or it affects new machines only.
	Bare bool
	// Says describes the fault for readers; "" uses the other fields.
	Says string
}
