package userdata

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Boot is all that user data says about the node that it would make, for a
// linter to judge. What it finds wrong is told by who reads that text on the
// instance and what becomes of it there (Fault).
//
// It holds no text of the user data but: names of clusters, addresses of API
// servers, address ranges, labels, taints, names of kubelet flags, values of the
// flags whose values are kept (KeptFlag), and names of fetched files. Each has
// the form of what it is meant to be, else it is not kept and its State is
// Malformed.
type Boot struct {
	Size   int    // bytes as given; EC2 keeps at most MaxRaw of them
	SHA256 string // of the bytes as given, in hexadecimal
	Empty  bool   // there is nothing but white space

	Gzip         bool // the whole is compressed, which cloud-init, nodeadm and Bottlerocket undo
	EncodedTwice bool // what EC2 hands out is itself base64; a Fault tells who reads that

	// Clusters are those that it is meant to bootstrap a node of, distinct, in order. Where
	// the text leaves that open none is named, and Unreadable says what stood in the way.
	Clusters   []string
	Unreadable []Problem

	Formats []Format // the forms found, distinct, in order
	Faults  []Fault  // in the order found

	// Joins are the ways in which it would join the instance to a cluster, in the
	// order in which they were found: one for each call of a script, one for all
	// NodeConfigs together. None does not mean that the instance is no node: EKS
	// adds its own part to the user data of managed node groups that bring no AMI
	// of their own, and an AMI may join by itself.
	Joins []Join

	// Traces are the tools that would join the instance to a cluster and that the text names
	// where it does not parse: what a reader gives up shows all the same what it was meant for.
	Traces []Trace
	// Opaque: a script runs or fetches something that is not in the user data, and that is not
	// one of the usual commands: it may do anything, also join a cluster.
	Opaque bool

	Proxy Proxy
	// Edits are what the user data changes under the tools' feet; flags and
	// settings are then not all to be seen here.
	Edits   []Edit
	Fetches []Fetch
}

// Tool is what joins an instance to a cluster.
type Tool string

// The tools.
const (
	BootstrapScript      Tool = "bootstrap.sh"           // /etc/eks/bootstrap.sh of Amazon Linux 2 and EKS's Ubuntu images
	Nodeadm              Tool = "nodeadm"                // a NodeConfig, Amazon Linux 2023
	BottlerocketSettings Tool = "bottlerocket"           // [settings.kubernetes]
	WindowsScript        Tool = "Start-EKSBootstrap.ps1" // EKS's Windows images
	KubeletCommand       Tool = "kubelet"                // the user data starts the kubelet by itself
	NodeadmCommand       Tool = "nodeadm init"           // called by a script, on files that the user data writes
)

// Join is one way in which user data joins the instance to a cluster.
type Join struct {
	Tool Tool
	Config
	// Conditional: it stands in a branch that may not be taken.
	Conditional bool
	// Missing are the fields without which the tool stops, by their paths. A
	// launch template of a managed node group may leave them out, since EKS adds
	// them; what the instance itself holds may not.
	Missing []string
	// Documents are the NodeConfigs that were merged into Config, in nodeadm's
	// order: the last one wins, list of flags by list of flags appended
	// (nodeadm/internal/api/merge.go). Karpenter puts its own last.
	Documents []Document
}

// Document is one NodeConfig.
type Document struct {
	Config
	Karpenter bool // it carries the comment with which Karpenter marks its own
	DropIn    bool // written to /etc/eks/nodeadm.d, which is merged after the user data
}

// Config is what one call or document gives.
type Config struct {
	Part string // which part of the user data, by position, as in Problem

	Cluster     Setting
	Endpoint    Setting // URL of the API server
	CA          Certificate
	ServiceCIDR Setting
	ClusterDNS  Setting // addresses, separated by commas
	IPFamily    Setting // ipv4 or ipv6
	// Runtime is bootstrap.sh's --container-runtime, UseMaxPods its --use-max-pods,
	// AuthMode Bottlerocket's authentication-mode.
	Runtime, UseMaxPods, AuthMode Setting
	// BootstrapToken: Bottlerocket's bootstrap-token is set; it is a secret.
	BootstrapToken bool
	// InstanceIDName: nodeadm's feature gate InstanceIdNodeName is on, or Bottlerocket's
	// hostname-override-source is instance-id, so that the node is named after the
	// instance's id.
	InstanceIDName bool

	Kubelet Kubelet
}

// State says how a setting is given.
type State string

// The states. Only Given comes with a value.
const (
	Absent    State = ""          // it is not given
	Given     State = "given"     // its value is known
	Dynamic   State = "dynamic"   // its value is computed on the instance: not checked, neither right nor wrong
	Malformed State = "malformed" // it has not the form that such a value has, and is not kept
	Withheld  State = "not kept"  // it is given, and may be a secret
)

// Setting is one setting as the user data gives it.
type Setting struct {
	Value string // "" unless State is Given
	State State
}

// Is reports whether the setting is given and has the value.
func (s Setting) Is(value string) bool { return s.State == Given && s.Value == value }

// setting makes a Setting of text of which valid tells the form.
func setting(text string, valid func(string) bool) Setting {
	switch {
	case strings.Contains(text, unknown):
		return Setting{State: Dynamic}
	case text == "":
		return Setting{}
	case !valid(text):
		return Setting{State: Malformed}
	}
	return Setting{Value: text, State: Given}
}

// over is the setting that holds when a later document gives other.
func (s Setting) over(other Setting) Setting {
	if other.State != Absent {
		return other
	}
	return s
}

// Proxy says which proxy settings the user data makes, in whatever way. Their
// values are not kept: a proxy's URL may hold a password.
type Proxy struct{ HTTP, HTTPS, No bool }

// Any reports whether a proxy is set.
func (p Proxy) Any() bool { return p.HTTP || p.HTTPS }

// Edit is something on the image that the user data changes before or after it
// joins a cluster.
type Edit string

// The edits.
const (
	EditsBootstrapScript Edit = "changes /etc/eks/bootstrap.sh"
	EditsKubeletUnit     Edit = "writes a systemd unit or drop-in of the kubelet"
	EditsKubeletConfig   Edit = "changes the kubelet's configuration file"
	RestartsKubelet      Edit = "starts or restarts the kubelet's service"
)

// Bounds that keep a Boot small whatever the input.
const (
	maxJoins     = 8
	maxDocuments = 16
	maxFaults    = 48
	maxFetches   = 16
)

func (r *reader) finish(data []byte) Boot {
	b := r.boot
	b.Size = len(data)
	sum := sha256.Sum256(data)
	b.SHA256 = hex.EncodeToString(sum[:])
	b.Empty = len(strings.TrimSpace(string(data))) == 0
	b.Gzip = strings.HasPrefix(string(data), string(gzipMagic))
	b.Fetches = r.used()
	b.Traces = r.traces
	if len(r.nodeConfigs) > 0 {
		b.Joins = append(b.Joins, mergedJoin(Nodeadm, r.nodeConfigs))
	}
	return b
}

// join keeps a way of joining.
func (r *reader) join(j Join) {
	if !r.full() {
		r.boot.Joins = append(r.boot.Joins, j)
	}
}

// full reports whether no more ways of joining are kept, so that their arguments
// need not be read. The last place is that of the NodeConfigs.
func (r *reader) full() bool { return len(r.boot.Joins) >= maxJoins-1 }

func (r *reader) edit(e Edit) {
	if !slices.Contains(r.boot.Edits, e) {
		r.boot.Edits = append(r.boot.Edits, e)
	}
}

// Uses reports whether the user data joins by the tool.
func (b Boot) Uses(t Tool) bool {
	return slices.ContainsFunc(b.Joins, func(j Join) bool { return j.Tool == t })
}

// Unread reports whether some of it was not followed, so that what is not in b
// may still be in the user data.
func (b Boot) Unread() bool {
	return slices.ContainsFunc(b.Faults, func(f Fault) bool { return f.Effect == Unread })
}
