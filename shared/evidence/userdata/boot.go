package userdata

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// Boot is what user data says about the node it would create.
//
// It keeps no text of the user data except names of clusters, addresses of API servers, labels,
// taints, names of kubelet flags, values of the flags that KeptFlag lists, and names of fetched
// files. A value that does not have the expected form is not kept.
type Boot struct {
	Size   int    // bytes as given; EC2 keeps at most MaxRaw of them
	SHA256 string // of the bytes as given, in hexadecimal
	Empty  bool   // it contains only white space

	EncodedTwice bool // what EC2 returns is itself base64; a Fault names the readers that fail on it

	// Clusters are the clusters that it bootstraps a node of, distinct, in order.
	Clusters []string
	// Unclear reports whether it may bootstrap a node of other clusters too: a name is computed on
	// the instance or is none, or a part could not be read; or it joins none, but names a tool in a
	// form that is not followed.
	Unclear bool

	Formats []Format // the forms found, distinct, in order
	Faults  []Fault  // in the order found

	// Joins are the ways in which it joins the instance to a cluster, in order: one for each call
	// of a script, one for all NodeConfigs together. An instance without any may still be a node:
	// EKS adds its own part to the user data of managed node groups without an AMI of their own,
	// and an AMI may join by itself.
	Joins []Join

	// Traces are joining tools named in text that does not parse, or that its reader passes over.
	Traces []Trace
	// Opaque reports whether a script runs or fetches something that is not in the user data and is
	// not a usual command, or Bottlerocket runs a bootstrap container. It may do anything, including joining
	// a cluster and making settings.
	Opaque bool

	Proxy bool // it sets a proxy, whose URL is not kept: it may contain a password
	// DualStack reports whether a text names the endpoints of AWS that have IPv6, or the setting by
	// which AWS's tools call them: use_dualstack_endpoint, or a name under api.aws.
	DualStack bool
	// Essential are Bottlerocket's bootstrap containers whose failure stops the boot.
	Essential []string
	Edits     []Edit // flags and settings may then differ from Joins
	Fetches   []Fetch
}

// For reports whether the user data bootstraps a node of the named cluster.
// Cluster names are case-sensitive.
func (b Boot) For(cluster string) bool { return slices.Contains(b.Clusters, cluster) }

// Reaches reports whether the user data certainly joins at this endpoint of an API server, whatever
// name it gives to the cluster there. bootstrap.sh and EKS's script for Windows use an endpoint
// only together with a certificate authority.
func (b Boot) Reaches(endpoint string) bool {
	return slices.ContainsFunc(b.Joins, func(j Join) bool {
		both := j.CA.State != Absent || j.Tool != BootstrapScript && j.Tool != WindowsScript
		return endpoint != "" && both && !j.Conditional && j.Endpoint.State == Given && strings.EqualFold(strings.TrimSuffix(j.Endpoint.Value, "/"), strings.TrimSuffix(endpoint, "/"))
	})
}

// Uses reports whether the user data joins with the tool.
func (b Boot) Uses(t Tool) bool {
	return slices.ContainsFunc(b.Joins, func(j Join) bool { return j.Tool == t })
}

// Unread reports whether a part was not followed, so that its content may be missing from b.
func (b Boot) Unread() bool {
	return slices.ContainsFunc(b.Faults, func(f Fault) bool { return f.Effect == Unread })
}

// Format is the format of user data, or of a part of it.
type Format string

// The formats.
const (
	Shell        Format = "shell"                // #!/bin/bash and other POSIX shells, #cloud-boothook
	CloudConfig  Format = "cloud-config"         // #cloud-config
	Archive      Format = "cloud-config-archive" // #cloud-config-archive
	Multipart    Format = "mime"                 // MIME multipart
	NodeConfig   Format = "nodeconfig"           // node.eks.aws NodeConfig, for nodeadm (AL2023)
	Bottlerocket Format = "bottlerocket"         // TOML settings
	PowerShell   Format = "powershell"           // <powershell>, or EC2Launch v2 tasks
	Include      Format = "include"              // #include: addresses that are fetched at boot
	Ignition     Format = "ignition"             // Ignition's JSON: Flatcar, Fedora CoreOS
	TalosConfig  Format = "talos"                // a machine configuration of Talos
	Unknown      Format = "unknown"              // none of these
)

// Tool is a tool that joins an instance to a cluster.
type Tool string

// The tools.
const (
	BootstrapScript      Tool = "bootstrap.sh"           // /etc/eks/bootstrap.sh of Amazon Linux 2 and EKS's Ubuntu images
	Nodeadm              Tool = "nodeadm"                // a NodeConfig, Amazon Linux 2023
	BottlerocketSettings Tool = "bottlerocket"           // [settings.kubernetes]
	WindowsScript        Tool = "Start-EKSBootstrap.ps1" // EKS's Windows images
	KubeletCommand       Tool = "kubelet"                // the user data starts the kubelet itself
	NodeadmCommand       Tool = "nodeadm init"           // a script calls it on files that the user data writes
)

// Join is one way in which user data joins the instance to a cluster.
type Join struct {
	Tool     Tool
	Part     string // which part of the user data, by position, as in Fault
	Cluster  Setting
	Endpoint Setting // URL of the API server
	CA       Setting // see CertificateOf
	// Region is that of Bottlerocket's calls of AWS, settings.aws.region, if it is not to be the instance's.
	// https://bottlerocket.dev/en/os/latest/api/settings/aws/
	Region Setting
	// AWSConfig reports whether Bottlerocket's settings.aws.config is given, the configuration of its calls of AWS.
	AWSConfig bool
	// InstanceIDName reports whether the node is named after the instance's id, by nodeadm's
	// feature gate InstanceIdNodeName or Bottlerocket's hostname-override-source.
	InstanceIDName bool
	Kubelet        Kubelet
	// Conditional reports whether it is in a branch that may not be taken.
	Conditional bool
	// Last reports whether it is the last command of the only script: if that fails, so did joining.
	Last bool
	// Missing are the paths of missing fields without which the tool stops. A launch template of a
	// managed node group may omit them, since EKS adds them; the instance's own user data may not.
	Missing []string
	// DropIns reports whether scripts write a part of it to /etc/eks/nodeadm.d, which cannot give what is Missing.
	DropIns bool
	// Proxied reports whether nodeadm itself uses a proxy: a NodeConfig of the user data sets it for all services.
	Proxied bool
	// Karpenter are the parts with NodeConfigs that carry Karpenter's comment.
	Karpenter []string
}

// State is how a setting is given.
type State string

// The states. Only Given has a value.
const (
	Absent    State = ""          // it is not given
	Given     State = "given"     // its value is known
	Dynamic   State = "dynamic"   // the instance computes its value: not checked
	Malformed State = "malformed" // it does not have the expected form, and is not kept
	Withheld  State = "not kept"  // it is given, but may be a secret
)

// Setting is one setting of the user data.
type Setting struct {
	Value string // "" unless State is Given
	State State
}

// Is reports whether the setting is given and has the value.
func (s Setting) Is(value string) bool { return s.State == Given && s.Value == value }

// setting returns the Setting of a text, which is valid only if it has the required form.
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

// over returns the effective setting if a later document gives other.
func (s Setting) over(other Setting) Setting {
	if other.State != Absent {
		return other
	}
	return s
}

// Edit is a change that the user data makes to the image.
type Edit string

// The edits.
const (
	EditsBootstrapScript Edit = "changes /etc/eks/bootstrap.sh"
	EditsKubeletUnit     Edit = "writes a systemd unit or drop-in of the kubelet"
	EditsKubeletConfig   Edit = "changes the kubelet's configuration file"
	RestartsKubelet      Edit = "starts or restarts the kubelet's service"
	ChangesNodeadm       Edit = "runs nodeadm, or changes what it runs with"
)

// Fetch is a program for one architecture that the user data fetches and installs or runs.
type Fetch struct {
	Name        string // the file's name, without its address
	Arch        string // amd64 or arm64, from the words of the address
	Part        string
	Conditional bool // in a branch, whose condition may be the architecture
}

// Bounds that keep a Boot small whatever the input.
const (
	maxList      = 16 // clusters, edits, formats
	maxJoins     = 8
	maxDocuments = 16
	maxFaults    = 48
	maxFetches   = 16
)

func (r *reader) finish(data []byte) Boot {
	b := r.boot
	b.Size = len(data)
	b.SHA256 = fmt.Sprintf("%x", sha256.Sum256(data))
	b.Empty = len(strings.TrimSpace(string(data))) == 0
	b.Fetches = r.usedFetches()
	b.DualStack = r.dualStack()
	if len(r.nodeConfigs) > 0 {
		b.Joins = append(b.Joins, mergedJoin(Nodeadm, r.nodeConfigs))
	}
	b.Unclear = b.Unclear || r.hinted && len(b.Joins)+len(b.Clusters) == 0
	return b
}

// join adds a way of joining. The last place is reserved for the NodeConfigs.
func (r *reader) join(j Join) {
	if len(r.boot.Joins) < maxJoins-1 {
		r.boot.Joins = append(r.boot.Joins, j)
	}
}

// add appends a value to a list of limited length, unless the list has it.
func add[T comparable](list *[]T, value T, most int) {
	if len(*list) < most && !slices.Contains(*list, value) {
		*list = append(*list, value)
	}
}

// cluster adds the name that a bootstrap call or document gives.
func (r *reader) cluster(name string) {
	if validName(name) {
		add(&r.boot.Clusters, name, maxList)
	} else {
		r.boot.Unclear = true
	}
}
