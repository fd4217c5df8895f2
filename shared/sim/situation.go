package sim

import (
	"slices"
	"strings"
	"time"
)

// The situations: faults of which each brings about one case in which a verdict that looks
// right does harm, or leaves alone what is sick. The rules for them are in files of their own, audit*.go.
const (
	FaultTaintReturns  FaultKind = "taint-returns"  // a startup taint comes back on nodes that worked for hours
	FaultNoReplacement FaultKind = "no-replacement" // a group cannot, or may not, replace what it loses, and its machines fall ill
	FaultKillSwitch    FaultKind = "kill-switch"    // the policy is deleted, emptied, stopped, or contradicted by the cluster's tag
	FaultBacklog       FaultKind = "backlog"        // a cluster is first seen, or its ledger made anew, with machines that are ill already
	FaultHangingPods   FaultKind = "hanging-pods"   // a container runtime is dead, and its pods stay in Terminating
	FaultForeignTags   FaultKind = "foreign-tags"   // machines of another cluster carry this one's tags
	FaultBastion       FaultKind = "bastion"        // a machine from the nodes' launch template is no node
	FaultSmallZone     FaultKind = "small-zone"     // a small zone or group falls silent, or bare metal boots for long
	FaultOwnerIdle     FaultKind = "owner-idle"     // an owner that should repair a machine does not
	FaultSilentServing FaultKind = "silent-serving" // a kubelet is dead, and its machine goes on serving
	FaultOutageBetween FaultKind = "outage-between" // the network goes between an order and its act
	FaultUnreadSibling FaultKind = "unread-sibling" // of two machines from a broken template, one's user data cannot be read
	FaultVanishedNode  FaultKind = "vanished-node"  // the Node of a machine that works is gone
	FaultLoneCause     FaultKind = "lone-cause"     // one machine alone fails for its template, which is plain to see
	FaultRefused       FaultKind = "refused"        // Karpenter ends what it has not registered after 15 minutes
	FaultDiesYoung     FaultKind = "dies-young"     // what is launched works for minutes, and falls ill
	FaultUnlaunched    FaultKind = "unlaunched"     // a group is to have a machine more, and its launches fail
	FaultScheduled     FaultKind = "scheduled"      // EC2 is going to interrupt a machine that works
	FaultAccelerator   FaultKind = "accelerator"    // the GPU of a Ready node failed, or only seems to have
	FaultStuck         FaultKind = "stuck"          // a node that works is deleted, and its finalizer keeps it
	FaultStopped       FaultKind = "stopped"        // a person stops or hibernates machines, and starts them again
	FaultSetAside      FaultKind = "set-aside"      // Standby, warm pools, scale-in protection, an instance refresh
	FaultLeft          FaultKind = "left"           // a volume or an interface outlives a machine that falls ill
)

const (
	// CertainHours is how long a run is that is made for a situation.
	CertainHours = 10
	// besides is how many random faults there are in one beside those that are certain.
	besides = 2
)

// certainly makes the scenario one in which the faults come about for certain: Rollcall may
// act, and where a fault is a situation, there is a cluster for it.
func (s *Scenario) certainly(kinds []FaultKind) {
	if len(kinds) == 0 {
		return
	}
	s.Permitted, s.Policy = "remediate", withMode(s.Policy, "remediate")
	if !strings.Contains(s.Policy, "owners:") { // there are machines that nobody owns
		s.Policy += "owners: {none: terminate}\n"
	}
	for i := range s.Clusters {
		s.Clusters[i].Mode = ""
		if i < len(kinds) {
			if t := kinds[i].faultType(); t.isSituation() {
				s.Clusters[i].Groups = slices.Clone(t.shape)
			}
		}
	}
}

// arose tells that a situation is there: what the fault is about is as it says.
func (a *account) arose(f Fault, c *cluster, m *machine, detail string) {
	e := Event{Kind: EventArose, Stage: string(f.Kind), Reason: f.Value, Detail: detail}
	if c != nil {
		e.Cluster = c.name
	}
	if m != nil {
		e.Instance, e.Group = m.id, m.g.groupName()
		if m.node != nil {
			e.Node = m.node.name
		}
	}
	a.note(e)
}

// arose tells that a situation is there, and the machine is one of it.
func (m *machine) arose(f Fault, detail string) { m.c.a.arose(f, m.c, m, detail) }

// groupPlight is what situations make of a group.
type groupPlight struct {
	halted []string // processes of its Auto Scaling group that are suspended
	// failing is how each of its launches fails, "" if they do not; failedBy is the fault.
	failing  string
	failedBy int
	// refused is when a launch last did not come about, and launched when one last did; lacking is set
	// while FaultUnlaunched lasts.
	refused, launched time.Time
	lacking           *lack
	status            string   // of the managed node group; "" is ACTIVE
	issues            []string // codes of its health issues
	// youth is for how long what it launches works, zero if for good; diedYoung counts how
	// often Rollcall ended such a machine.
	youth     time.Duration
	diedYoung int
	// youngSince is when the first of those was replaced.
	youngSince time.Time
	// troubled is since when it is as halted, status and issues say.
	troubled time.Time
	idle     bool // its owner repairs nothing, though it would
	// unread is how the user data of one of the machines from a broken template is read.
	unread string
	// plain: whoever reads the user data of its machines sees why they fail.
	plain bool
	// stray: its machines carry the cluster's tag and are no nodes of it. launchedWith are
	// the tags that they have instead of its owner's.
	stray        bool
	launchedWith []tag
	// known is the name of another Auto Scaling group, if they are in that, and not in one of
	// their own.
	known string
	// pool is its warm pool, which are none of its members.
	pool []*machine
	// heirs are machines that left their addresses to the next ones.
	heirs []*machine
	// nameless is how many of the next Nodes do not say on which instance they run, by that fault.
	nameless   int
	namelessBy *Fault
	// beside is what keeps its machines, which are not the cluster's, "" if they are; by is the
	// fault, and labels those that their Nodes have.
	beside string
	by     int
	labels map[string]string
}

// atEase undoes what situations made of a group.
func (g *group) atEase() {
	g.drainPool()
	if g.beside != "" {
		g.leaves()
	}
	g.groupPlight = groupPlight{stray: g.stray, launchedWith: g.launchedWith, known: g.known, beside: g.beside, by: g.by, labels: g.labels}
	if g.stray {
		g.desired = 0
		for _, m := range slices.Clone(g.members) {
			m.end("a person: it is no node of " + g.c.name)
		}
	}
}

// machinePlight is what situations make of a machine.
type machinePlight struct {
	settledAt time.Time // since when it is in order; zero if it never was
	// elsewhere says what the machine is instead of a node of its cluster, "" if it is one.
	elsewhere string
	// hangs: its container runtime is dead, and its pods never stop.
	hangs bool
	// serving: its kubelet is dead, and what runs on it is not to be ended.
	serving bool
	// unacted: its owner should repair it, and does not.
	unacted bool
	unread  string // how its user data is read; see groupPlight
	// lost is its Node, which is gone though its kubelet works; vanished is since when that
	// is so, or since when listings leave its Node out.
	lost     *node
	vanished time.Time
	mutedAt  time.Time
	// checkFails is which status checks fail while it is impaired; "" is the instance's.
	checkFails string
	// event is what EC2 has scheduled for it, or had; nil if nothing.
	event *scheduledEvent
	// gpu is what became of its GPU, "" if nothing, and gpuFailed since when.
	gpu       string
	gpuFailed time.Time
	// leaves is what is to outlive it, nil if nothing is.
	leaves *leftover
	// deletedBy is the fault by which somebody deleted its Node, nil if nobody did.
	deletedBy *int
	// restedAt is when a person stopped it, zero once it is up again; started when it was started
	// again last; hibernates, that its memory is kept, and asleep the Node that it had then.
	restedAt, started time.Time
	hibernates        bool
	asleep            *node
	// aside is the state of an instance that its Auto Scaling group has and does not have in
	// service, "" if it does; asideSince is since when, and leftRest when that ended last.
	aside                string
	asideSince, leftRest time.Time
	// dormant says why its kubelet does not start, though nothing is wrong; "" if it does.
	dormant string
	// shielded is since when it is protected from scale-in, zero if it is not.
	shielded time.Time
	// disrupting: Karpenter is about to replace it, and disrupted since when it removes it.
	disrupting bool
	disrupted  time.Time
	frozen     time.Time // since when an upgrade keeps it silent, zero if none does
	// bequeaths is the fault by which it leaves its address to the next machine, keepsNode says
	// that its Node stays, and heirOf is whose address it got.
	bequeaths *Fault
	keepsNode bool
	heirOf    *machine
	unnamed   time.Time // since when its Node does not carry its id, zero if it does
	holds     *hold     // a person's, with a date; nil if there is none
	// relapse is the fault by which it falls ill again and again, nil if it does not.
	relapse     *Fault
	relapseDice dice
	awaited     bool // nothing but the ordinary stands in the way of its cure
}
