package sim

import (
	"slices"
	"strings"
	"time"
)

// The size of a run made for a situation.
const (
	CertainHours = 10 // in hours
	besides      = 2  // how many random faults it has in addition to the certain ones
)

// certainly makes the faults occur: Rollcall may act, and each situation gets a cluster that fits.
func (s *Scenario) certainly(kinds []FaultKind) {
	if len(kinds) == 0 {
		return
	}
	s.Permitted, s.Policy = "remediate", withMode(s.Policy, "remediate")
	if !strings.Contains(s.Policy, "owners:") { // there are machines without an owner
		s.Policy += "owners: {none: terminate}\n"
	}
	for i := range s.Clusters {
		s.Clusters[i].Mode = ""
		if i < len(kinds) {
			if t := kinds[i].faultType(); t.isSituation() {
				s.Clusters[i].Groups = slices.Clone(t.shape)
				s.Clusters[i].nameGroups(i)
			}
		}
	}
}

// arose records that the situation of a fault has begun. detail describes it.
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

func (m *machine) arose(f Fault, detail string) { m.c.a.arose(f, m.c, m, detail) }

type groupPlight struct {
	halted []string   // suspended processes of its Auto Scaling group
	missed []*machine // the members that somebody else terminated and that its Auto Scaling group still counts
	// failing is the error of each of its launches, "" if they succeed; failedBy is the fault.
	failing  string
	failedBy int
	// When a launch last failed and last succeeded. lacking is set while FaultUnlaunched lasts.
	refused, launched time.Time
	lacking           *lack
	status            string   // of the managed node group; "" is ACTIVE
	issues            []string // codes of its health issues
	// youth is how long its new machines work, 0 for good. diedYoung counts those Rollcall terminated.
	youth      time.Duration
	diedYoung  int
	youngSince time.Time // when the first of those was replaced
	troubled   time.Time // when halted, status or issues took effect
	// roomBy is the fault that makes room for lost machines' pods, wanted how many there were before.
	roomBy, wanted int
	slow           bool   // its new nodes need minutes until they are Ready
	idle           bool   // its owner repairs nothing, although it normally would
	unread         string // the result of reading the user data of one machine from a broken template
	plain          int    // the template version whose user data shows why its machines fail, 0 if none
	// stray: its machines carry the cluster's tag but are no nodes. launchedWith are their tags.
	stray        bool
	launchedWith []tag
	known        string     // the name of another Auto Scaling group with these machines, if any
	pool         []*machine // the instances of its warm pool, which are not members of the group
	heirs        []*machine // the machines whose addresses the next machines get
	// nameless is how many of the next Nodes have no usable provider ID. namelessBy is the fault.
	nameless   int
	namelessBy *Fault
	// beside says what runs machines that are not the cluster's. by is the fault, labels those of their Nodes.
	beside string
	by     int
	labels map[string]string
}

// atEase undoes the effects of situations on a group.
func (g *group) atEase() {
	g.drainPool()
	if g.beside != "" {
		g.leaves()
	}
	if g.roomBy != 0 {
		g.filled()
	}
	if g.unwell() {
		g.refused = g.c.a.Now() // EKS reported the failure until now
	}
	g.groupPlight = groupPlight{refused: g.refused, launched: g.launched, stray: g.stray, launchedWith: g.launchedWith, known: g.known, beside: g.beside, by: g.by, labels: g.labels}
	if g.stray {
		g.desired = 0
		for _, m := range slices.Clone(g.members) {
			m.end("a person: it is no node of " + g.c.name)
		}
	}
}

type machinePlight struct {
	elsewhere string // says what the machine is if it is not a node of its cluster, "" if it is one
	// lost is its Node if that was deleted while it ran, vanished when, or since when lists omit it.
	lost       *node
	vanished   time.Time
	remade     int       // how often its kubelet registered another Node although the machine did not boot
	flickers   bool      // while it flaps, its kubelet answers, and says for seconds only that its node is Ready
	settledAt  time.Time // since when it is healthy; zero if it never was
	disowned   bool      // a person took off the tag that shows its cluster
	full       bool      // it has as many tags as EC2 allows
	hangs      bool      // its container runtime is dead, and its pods never stop
	serving    bool      // its kubelet is dead, and its workload must not be terminated
	unacted    bool      // its owner should repair it but does not
	unread     string    // the result of reading its user data; see groupPlight
	mutedAt    time.Time
	checkFails string          // names the status checks that fail while it is impaired; "" means the instance's
	event      *scheduledEvent // the event that EC2 scheduled for it, also a past one; nil if none
	// gpu is the fault of its GPU, "" if none. gpuFailed is when it began.
	gpu       string
	gpuFailed time.Time
	leaves    *leftover // the resource that will outlive it, nil if none
	deletedBy *int      // the ID of the fault by which its Node was deleted, nil if it was not
	// restedAt is when a person stopped it, zero once it runs again. started is when it was last
	// started again. hibernates: its memory is kept. asleep is the Node it had when it was
	// stopped.
	restedAt, started time.Time
	hibernates        bool
	retired           bool // EC2 stopped it, and nobody else
	asleep            *node
	// aside is the lifecycle state of an instance that its Auto Scaling group has out of service,
	// "" otherwise. asideSince is when that began, leftRest when it last ended. drawn is when its group
	// started it to take it from its warm pool; zero for one that ran there, which shows no such time.
	aside                       string
	asideSince, leftRest, drawn time.Time
	dormant                     string    // says why its kubelet does not start without a fault; "" if it does start
	shielded                    time.Time // since when it is protected from scale-in, zero if it is not
	// disrupting: Karpenter is about to replace it. disrupted is when it began to remove it.
	disrupting bool
	disrupted  time.Time
	dismissed  bool // its owner terminated it
	// warned: EC2 warned that it takes it back. relieved: its owner launches another in its place already.
	warned, relieved bool
	frozen           time.Time // since when an upgrade keeps it silent, zero if none does
	// bequeaths is the fault by which the next machine gets its address, heirOf whose address it got.
	bequeaths   *Fault
	keepsNode   bool
	heirOf      *machine
	unnamed     time.Time // since when its Node lacks its instance ID, zero if it has it
	holds       *hold     // a person's dated hold; nil if none
	unignored   time.Time // when a person last took rollcall:ignore off it, zero if none did
	relapse     *Fault    // the fault that makes it fail repeatedly, nil if none
	relapseDice dice
	awaited     bool // only the ordinary conditions delay its cure
}
