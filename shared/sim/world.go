package sim

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	scaling "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/kube"
	"rollcall/shared/roll/memo"
)

// The simulated account and region.
const (
	accountID = "111122223333"
	region    = "eu-west-1"
)

var zones = []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"} // the region's Availability Zones, in the order in which groups fill them

// account is the simulated AWS account of one run.
type account struct {
	*engine
	d         dice
	sc        Scenario
	clusters  []*cluster
	byName    map[string]*cluster
	machines  map[string]*machine // by instance ID; removed when EC2 forgets a terminated instance
	reported  []*machine          // the machines that may have failing status checks or a scheduled event
	items     memo.Memo[memo.Key, *kube.Item]
	weather   *weather
	tell      func(Event)     // reports an event to the history; never nil
	watch     Watch           // all of its callbacks but Record may be called
	silenced  map[string]bool // zones without a network
	dep       *deployment     // nil before deploy
	audit     *auditor
	cost      Cost
	usage     Usage
	decisions map[Situation]int // how often each decision was made
	founding  bool              // true while begin creates what predates the run
	traps     []*trap
	commands  []command       // sent to machines
	left      []*leftover     // volumes and interfaces that outlive their machines
	answered  map[string]bool // orders that people were asked to approve, and answered or not
}

// cluster is an EKS cluster and its Kubernetes API.
type cluster struct {
	a        *account
	d        dice
	name     string
	created  time.Time
	deleted  time.Time // zero while it exists
	status   string    // as eks:DescribeCluster returns it
	spec     ClusterSpec
	mode     string    // the value of the EKS cluster's tag rollcall:mode; "" if it has none
	retagged time.Time // when it changed
	skew     time.Duration
	unplaced int // how many of its pods no node can ever take

	groups   []*group
	machines []*machine // not yet forgotten by EC2, in launch order
	nodes    []*node    // the existing ones, in creation order
	byNode   map[string]*node
	claims   []*claim // the existing NodeClaims
	dropped  []dropped
	mapped   []string // the roles that aws-auth maps to nodes
	ghosts   bool     // the Nodes of terminated machines are not removed
	barred   bool     // its API server denies Rollcall's requests: access was not granted yet
	shifted  string   // the zone that ARC's zonal shift moves traffic away from, "" if none
	version  int      // resourceVersion of the last change to any object

	listed  []types.Instance   // the instances that EC2 lists; nil after a change
	objects []*corev1.Node     // the nodes that its API server lists; nil after a change
	reduced []*kube.NodeObject // the same, with the fields that the product reads
}

// ownerKind says which controller launches a group's machines.
type ownerKind string

const (
	karpenter   ownerKind = "karpenter"
	nodeGroup   ownerKind = "managed-nodegroup"
	autoScaling ownerKind = "autoscaling-group"
	nobody      ownerKind = "none"
)

// group launches machines from one template: a NodePool, a managed node group, an Auto Scaling group, or nobody's.
type group struct {
	c          *cluster
	d          dice
	name       string
	owner      ownerKind
	kind       machineKind
	spec       GroupSpec // as the scenario has it; only a type if a fault made the group
	desired    int
	tide       int    // how much of desired is due to FaultTides
	moves      bool   // its owner launches for the pods of nodes that are not Ready
	custom     bool   // a managed node group that has had a custom AMI, as EKS shows it from then on
	role       string // of the instance profile, which has the same name
	template   template
	spare      *template // the template to restore when the fault is over
	members    []*machine
	launches   int
	repair     bool               // the owner itself replaces nodes that are not ready for 30 minutes
	spot       bool               // its machines are Spot Instances
	suspended  bool               // launches are suspended
	dry        time.Time          // until this time there is no capacity for a launch
	unmapped   bool               // its role was removed from aws-auth
	unlucky    int                // how many of the next launches are faulty
	ill        ailment            // the fault of those launches
	bounces    bool               // kubelets restart while their nodes start
	took       []time.Duration    // from the launch to the registration, of its latest nodes
	activities []scaling.Activity // the latest launches, newest first
	endings    []ending           // the latest terminations, newest first
	due        bool               // a reconciliation is scheduled

	groupPlight // the group's state from situations

	// What machines share in EC2's answers: a version's launch tags, and other fields by zone.
	tagged   launchTags
	patterns map[string]types.Instance
}

// launchTags are the tags of machines launched from one template version, also in EC2's form.
type launchTags struct {
	version int
	tags    []tag
	shown   []types.Tag
}

type machineKind struct {
	Type  string        // of the instance
	Arch  string        // amd64 or arm64
	Price float64       // US dollars an hour, on demand
	Boots time.Duration // the additional boot time
}

// template is a version of a launch template or EC2NodeClass, with its effect on machines.
type template struct {
	id       string // lt-...
	version  int
	ami      string
	amiName  string
	amiOwner string // an account ID, or amazon
	userData string
	taints   []string // the startup taints with which its nodes register, as key=value:Effect
	declared []string // the startup taints that the NodePool declares
	breaks   ailment  // the fault of every machine launched from it
	refused  bool     // its nodes register without Karpenter's taint, so Karpenter does not register them
	console  string   // the console output of a failing boot
}

type ailment string

const (
	well       ailment = ""
	neverJoins ailment = "never-joins" // its kubelet never registers
	neverReady ailment = "never-ready" // it registers, and keeps a startup taint
	notReady   ailment = "not-ready"   // its kubelet reports that it is not ready
	silent     ailment = "silent"      // its kubelet stopped reporting
	impaired   ailment = "impaired"    // its status checks fail, and its kubelet does not report
	flapping   ailment = "flapping"    // its kubelet stops and resumes reporting
	failedPart ailment = "failed-part" // Ready, but the monitoring agent's KernelReady is False
	failedGPU  ailment = "failed-gpu"  // Ready, but the monitoring agent's AcceleratedHardwareReady is False
	short      ailment = "short"       // Ready, but under memory pressure for long
)

// machineState is the state of an instance, as EC2 names it.
type machineState string

const (
	pending      machineState = "pending"
	running      machineState = "running"
	stopping     machineState = "stopping"
	stopped      machineState = "stopped"
	shuttingDown machineState = "shutting-down"
	terminated   machineState = "terminated"
)

// tag is a tag of an instance. Tags keep the order in which they were written.
type tag struct{ key, value string }

type machine struct {
	// What is read of all machines every minute comes first, near each other in memory.
	c             *cluster
	g             *group
	node          *node  // its Node, nil if there is none
	claim         *claim // its NodeClaim, nil if there is none
	state         machineState
	ail           ailment
	muted         bool            // its zone has no network, so it reaches nobody
	protected     bool            // termination protection
	shown         *types.Instance // what EC2 returns, which lags behind the machine's state; nil before it knows it
	machinePlight                 // the machine's state from situations

	d         dice
	id        string
	dnsName   string // private
	address   string // private
	zone      string
	launched  time.Time
	template  template
	ended     time.Time // when it stopped running for good
	unclaimed time.Time // when its NodeClaim went
	taken     bool      // EC2 reclaimed it
	tags      []tag
	brokenOff *types.StateReason // why EC2 terminated it at launch, nil if it did not

	since    time.Time // start of the ailment
	cured    time.Time // end of the last one
	stays    bool      // a replacement would have the same ailment: the machine is not its cause
	young    bool      // it failed soon after launch, like every machine its group launches
	reboots  bool      // a reboot cures the ailment
	boots    int       // number of boots
	rebooted int       // the number of the last boot that was a reboot
	booting  bool
	bootedAt time.Time // when its last boot began
	silence  int       // counts the times it went silent, so that delayed effects apply only to their own silence

	reporting bool          // its kubelet reports
	clock     time.Duration // by how much its clock is ahead of the cluster's
	renewed   time.Time
	pressure  time.Time // start of its memory shortage; zero if none

	shownTags   []tag // as the permission check and EC2's answers use them
	shownAt     time.Duration
	omitted     time.Time // when DescribeTags last left it out
	tagsBefore  []tag     // the tags before tagsChanged, which DescribeTags shows a while longer
	tagsChanged time.Duration

	protectedAt time.Time
	unstoppable bool // protected by stop protection
}

type node struct {
	// What is read of all nodes every minute comes first, as in machine.
	c        *cluster
	machine  *machine
	name     string
	deleting time.Time // when it was deleted, zero if it was not
	cordoned bool
	unlisted bool // lists omit it
	works    bool // its condition Ready is True
	keeps    bool // it has, or had, pods that must not be terminated or have a budget
	// It has the label with which Karpenter marks an initialized node; labels holds all others.
	initialized bool

	conditions  []corev1.NodeCondition                     // Ready last, as kubelets list them, with times of the cluster's clock; set changes them
	dated       map[corev1.NodeConditionType]time.Duration // by how much the time that a condition shows is ahead, as its writer's clock was
	pods        []*pod
	version     int
	uid         string
	created     time.Time
	labels      map[string]string
	annotations map[string]string
	taints      []corev1.Taint
	lifted      time.Time // when a person lifted their cordon, zero if none did
	sealed      time.Time // since when a person keeps it cordoned, zero if none does
	spared      time.Time // since when a person keeps it from repairs, zero if none does
	bare        bool      // it has no provider ID
	named       time.Time // when it got one later, zero if it did not
	provider    string    // a provider ID that replaces its machine's, "" if none
	guest       string    // what it represents if it runs on no EC2 instance; "" if it does
	bootID      string
	events      []occurrence

	listed   *corev1.Node     // as lists return it
	reduced  *kube.NodeObject // the same, with the fields that the product reads
	listedAt int              // the version at which both were built
	made     made[nodeState]
}

type pod struct {
	keep                 string // why it must not be terminated; "" if it may be
	guarded              bool   // its disruption budget allows no eviction
	slow                 bool   // it needs long to stop
	daemon               bool
	namespace, name, uid string
	leaving              time.Time // when it was deleted, zero if it was not
	made                 made[podState]
	budget               made[time.Time] // its disruption budget, keyed by its node's creation time
}

type claim struct {
	g        *group
	name     string
	uid      string
	version  int
	created  time.Time
	machine  *machine
	launched time.Time // condition Launched
	// registered and initialized are when these conditions became True, zero while they are not.
	registered, initialized time.Time
	deleting                time.Time
	failure                 string // why no instance is launched for it, "" if one is
	events                  []occurrence
	made                    made[claimState]
}

type occurrence struct {
	at              time.Time
	kind            string // Normal or Warning
	reason, message string
	count           int
	ahead           time.Duration // the clock of its writer
}

func (c *cluster) arn() string {
	return fmt.Sprintf("arn:aws:eks:%s:%s:cluster/%s", region, accountID, c.name)
}

func (c *cluster) exists() bool { return c.deleted.IsZero() }

// changed records a change to an object of the cluster and returns the new resource version.
func (c *cluster) changed() int {
	c.version++
	c.objects = nil
	return c.version
}

// find returns the first element for which is reports true, nil if there is none.
func find[T any](all []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

// count returns for how many elements is reports true.
func count[T any](all []T, is func(T) bool) (n int) {
	for _, element := range all {
		if is(element) {
			n++
		}
	}
	return n
}

func (m *machine) isIll() bool { return m.ail != well }

func (m *machine) hasTag(key string) bool {
	_, ok := get(m.tags, key)
	return ok
}

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

// capacity returns the capacity type of the group's machines, as Karpenter names it.
func (g *group) capacity() string {
	if g.spot {
		return "spot"
	}
	return "on-demand"
}

// groupName returns the name that Rollcall uses for the group.
func (g *group) groupName() string {
	switch g.owner {
	case karpenter:
		return "nodepool/" + g.name
	case nodeGroup:
		return "nodegroup/" + g.name
	case autoScaling:
		return "asg/" + g.asgName()
	}
	if g.beside == besideAuto {
		return "nodepool/" + g.labels["karpenter.sh/nodepool"]
	}
	return "none"
}

// groupNamed returns the cluster's group with that Rollcall name, nil if there is none.
func (c *cluster) groupNamed(name string) *group {
	return find(c.groups, func(g *group) bool { return g.groupName() == name })
}

// asgName returns the name of the Auto Scaling group behind the group, "" if there is none.
func (g *group) asgName() string {
	switch g.owner {
	case nodeGroup:
		return "eks-" + g.name + "-" + shortID(g.d, 8)
	case autoScaling:
		return cmp.Or(g.known, g.name)
	}
	return ""
}

// shortID returns a generated ID with that many hexadecimal digits.
func shortID(d dice, digits int) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(d.of("id")))
	if digits > 16 {
		b = binary.BigEndian.AppendUint64(b, uint64(d.of("di")))
	}
	return hex.EncodeToString(b)[:digits]
}
