package sim

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	scaling "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/kube"
	"rollcall/shared/roll/memo"
)

// The account in which everything happens.
const (
	accountID = "111122223333"
	region    = "eu-west-1"
)

// zones are the availability zones of the region, in the order in which groups use them.
var zones = []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}

// account is the world of one run.
type account struct {
	*engine
	d        dice
	sc       Scenario
	clusters []*cluster
	byName   map[string]*cluster
	machines map[string]*machine // by instance id; what is long gone is forgotten as EC2 does
	// reported are machines of which EC2 had something to say: failing checks, or an event.
	reported []*machine
	items    memo.Memo[memo.Key, *kube.Item]
	weather  *weather
	tell     func(Event) // of what is worth telling; never nil
	// bus is called with what is put on the event bus; never nil.
	bus       func(at time.Time, detailType, detail string, resources []string)
	metrics   io.Writer
	log       slog.Handler
	silenced  map[string]bool // zones without a network
	serial    int             // of machines
	dep       *deployment     // nil before there is one
	audit     *auditor
	cost      Cost
	usage     Usage
	decisions map[Situation]int // how often each was made
	founding  bool              // what has been there for long is being made
	traps     []*trap
	left      []*leftover // what is to outlive machines, or did
}

// cluster is an EKS cluster and its Kubernetes API.
type cluster struct {
	a       *account
	d       dice
	name    string
	created time.Time
	deleted time.Time // zero while it exists
	status  string    // as eks:DescribeCluster tells it
	mode    string    // of the EKS cluster tag rollcall:mode; "" is none
	skew    time.Duration

	groups   []*group
	machines []*machine // not yet forgotten, in the order of their launches
	nodes    []*node    // that exist, in the order of their creation
	byNode   map[string]*node
	claims   []*claim // NodeClaims that exist
	dropped  []dropped
	mapped   []string // the roles that aws-auth maps as nodes
	ghosts   bool     // the Nodes of ended machines are not removed
	barred   bool     // its API server refuses Rollcall: no access was granted yet
	// shifted is the zone from which ARC shifts the cluster away, "" if none.
	shifted string
	version int // of the last change to any object: its resourceVersion

	listed  []types.Instance // what EC2 lists of it, nil when that changed
	objects []corev1.Node    // its nodes as its API server lists them, nil when that changed
}

// ownerKind is who launches the machines of a group.
type ownerKind string

// The owners.
const (
	karpenter   ownerKind = "karpenter"
	nodeGroup   ownerKind = "managed-nodegroup"
	autoScaling ownerKind = "autoscaling-group"
	nobody      ownerKind = "none"
)

// group is what launches machines alike: a NodePool, a managed node group, an Auto
// Scaling group, or nobody's single machines.
type group struct {
	c        *cluster
	d        dice
	name     string
	owner    ownerKind
	kind     machineKind
	desired  int
	role     string // of the instance profile, which has its name
	template template
	spare    *template // what template is put back to when the fault is over
	members  []*machine
	launches int
	// repair: the owner replaces what is not ready for 30 minutes by itself.
	repair bool
	// suspended: launches are suspended.
	suspended bool
	// dry: there is no capacity to launch from, until then.
	dry        time.Time
	unmapped   bool               // its role was taken out of aws-auth
	unlucky    int                // how many of the next machines are launched ill
	ill        ailment            // and of what
	bounces    bool               // kubelets restart while their nodes start
	activities []scaling.Activity // the latest, newest first
	due        bool               // a reconciliation is on its way

	groupPlight // what situations make of it

	// What its machines share in what EC2 tells of them: the tags with which one is launched
	// from a version of the template, and the rest by zone.
	tagged   launchTags
	patterns map[string]types.Instance
}

// launchTags are the tags of what is launched from a version of a template, also as EC2
// tells them.
type launchTags struct {
	version int
	tags    []tag
	shown   []types.Tag
}

// machineKind is what is launched.
type machineKind struct {
	Type  string  // of the instance
	Arch  string  // amd64 or arm64
	Price float64 // US dollars an hour, on demand
	// Boots is how much longer than others it boots.
	Boots time.Duration
}

// template is a version of a launch template, or of an EC2NodeClass, and what comes of it.
type template struct {
	id       string // lt-...
	version  int
	ami      string
	amiName  string
	amiOwner string // an account, or amazon
	userData string
	// taints are the startup taints with which its nodes register, as key=value:Effect.
	taints []string
	// declared are the startup taints that the NodePool declares.
	declared []string
	// breaks is the ailment of every machine that is launched from it.
	breaks ailment
	// refused: its nodes come without Karpenter's taint, and Karpenter does not register them.
	refused bool
	// console is what the console shows of a boot that breaks.
	console string
}

// ailment is what is wrong with a machine.
type ailment string

// The ailments. What cures one is said by curedBy.
const (
	well       ailment = ""
	neverJoins ailment = "never-joins" // its kubelet never registers
	neverReady ailment = "never-ready" // it registers, and keeps a startup taint
	notReady   ailment = "not-ready"   // its kubelet says that it is not ready
	silent     ailment = "silent"      // its kubelet stopped reporting
	impaired   ailment = "impaired"    // its status checks fail, and its kubelet is silent
	flapping   ailment = "flapping"    // its kubelet comes and goes
	failedPart ailment = "failed-part" // Ready, but the monitoring agent's KernelReady is False
	failedGPU  ailment = "failed-gpu"  // Ready, but the monitoring agent's AcceleratedHardwareReady is False
	short      ailment = "short"       // Ready, but short of memory for long
)

// machineState is the state of an instance, in EC2's words.
type machineState string

// The states.
const (
	pending      machineState = "pending"
	running      machineState = "running"
	stopping     machineState = "stopping"
	stopped      machineState = "stopped"
	shuttingDown machineState = "shutting-down"
	terminated   machineState = "terminated"
)

// tag is a tag of an instance. They are kept in the order in which they were written.
type tag struct{ key, value string }

// machine is an EC2 instance and what runs on it.
type machine struct {
	c        *cluster
	g        *group
	d        dice
	id       string
	dnsName  string // private
	address  string // private
	zone     string
	launched time.Time
	template template
	state    machineState
	ended    time.Time // when it left running for good
	taken    bool      // EC2 took it back
	tags     []tag
	// brokenOff is why EC2 terminated it at its launch, nil if it did not.
	brokenOff *types.StateReason

	ail     ailment
	since   time.Time // of the ailment
	stays   bool      // a replacement would have it too: its cause is not the machine's
	young   bool      // it fell ill as all do that its group launches
	reboots bool      // a reboot cures it
	boots   int       // how often it booted
	booting bool
	// muted: nobody hears it, because its zone has no network.
	muted   bool
	silence int // counts the silences, so that what follows from one meets no other

	node      *node  // its Node, nil if there is none
	claim     *claim // its NodeClaim, nil if there is none
	reporting bool   // its kubelet reports
	renewed   time.Time
	pressure  time.Time // since when it has been short of memory; zero is not

	// What EC2 shows of it lags behind: shown is what it answers, nil before it knows of
	// the instance at all.
	shown     *types.Instance
	shownTags []tag // as the permission check and the answers see them
	shownAt   time.Duration

	protected   bool // termination protection
	protectedAt time.Time

	machinePlight // what situations make of it
}

// node is a Node object.
type node struct {
	c           *cluster
	name        string
	uid         string
	version     int
	created     time.Time
	machine     *machine
	labels      map[string]string
	annotations map[string]string
	taints      []corev1.Taint
	cordoned    bool
	deleting    time.Time              // when somebody deleted it, zero if nobody did
	unlisted    bool                   // lists leave it out
	bare        bool                   // it carries no provider id
	provider    string                 // the provider id that it carries in place of its machine's, "" if none
	guest       string                 // what it is of, where it runs on no instance; "" if it does
	conditions  []corev1.NodeCondition // Ready last, as kubelets list them
	bootID      string
	pods        []*pod
	events      []occurrence

	listed   corev1.Node // as lists show it
	listedAt int         // at which version
	made     made[nodeState]
}

// pod is a Pod that is bound to a node.
type pod struct {
	namespace, name, uid string
	daemon               bool
	guarded              bool      // its disruption budget lets it not go
	leaving              time.Time // zero while it stays
	keep                 string    // why it must not be ended; "" if it may
	made                 made[podState]
	budget               made[time.Time] // its disruption budget, by when its node was created
}

// claim is a NodeClaim of Karpenter.
type claim struct {
	g        *group
	name     string
	uid      string
	version  int
	created  time.Time
	machine  *machine
	launched time.Time // condition Launched
	// registered and initialized are the conditions' times, zero while they are not True.
	registered, initialized time.Time
	deleting                time.Time
	failure                 string // why no instance is launched for it, "" if one is
	events                  []occurrence
	made                    made[claimState]
}

// occurrence is an Event about an object.
type occurrence struct {
	at              time.Time
	kind            string // Normal or Warning
	reason, message string
	count           int
}

func (c *cluster) String() string { return c.name }

// arn is the cluster's.
func (c *cluster) arn() string {
	return fmt.Sprintf("arn:aws:eks:%s:%s:cluster/%s", region, accountID, c.name)
}

// exists reports whether EKS still knows the cluster.
func (c *cluster) exists() bool { return c.deleted.IsZero() }

// changed notes that an object of the cluster changed, and returns its new version.
func (c *cluster) changed() int {
	c.version++
	c.objects = nil
	return c.version
}

// get is the value of a tag.
func get(tags []tag, key string) (string, bool) {
	for _, t := range tags {
		if t.key == key {
			return t.value, true
		}
	}
	return "", false
}

// alive reports whether the machine costs money and may run pods.
func (m *machine) alive() bool { return m.state == pending || m.state == running }

// groupName is the group as Rollcall names it.
func (g *group) groupName() string {
	switch g.owner {
	case karpenter:
		return "nodepool/" + g.name
	case nodeGroup:
		return "nodegroup/" + g.name
	case autoScaling:
		return "asg/" + g.asgName()
	}
	return "none"
}

// groupNamed is the group of the cluster that Rollcall calls so, nil if there is none.
func (c *cluster) groupNamed(name string) *group {
	if i := slices.IndexFunc(c.groups, func(g *group) bool { return g.groupName() == name }); i >= 0 {
		return c.groups[i]
	}
	return nil
}

// asgName is the Auto Scaling group behind the group, "" if there is none.
func (g *group) asgName() string {
	switch g.owner {
	case nodeGroup:
		return "eks-" + g.name + "-" + shortID(g.d, 8)
	case autoScaling:
		return cmp.Or(g.known, g.name)
	}
	return ""
}

// shortID is a made-up id of that many hexadecimal digits.
func shortID(d dice, digits int) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(d.of("id")))
	if digits > 16 {
		b = binary.BigEndian.AppendUint64(b, uint64(d.of("di")))
	}
	return hex.EncodeToString(b)[:digits]
}
