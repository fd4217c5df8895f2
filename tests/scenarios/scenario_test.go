package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A scenario is one folder: an account and a cluster, the changes to them over time, and the expected checks. See
// README.md for the fields; an unknown key is an error.
type scenario struct {
	What string `yaml:"what"`
	Mode string `yaml:"mode"`
	// Diagnose makes Rollcall look for causes, as every deployment does.
	Diagnose bool `yaml:"diagnose"`
	// Fresh means that no earlier check has seen the cluster. Otherwise complete checks have
	// run for a long time, so no finding counts as older than them.
	Fresh   bool    `yaml:"fresh"`
	Cluster cluster `yaml:"cluster"`
	Steps   []step  `yaml:"steps"`

	instances []instance
	nodes     []node
	claims    []claim
	pools     []pool
	pods      []pod
	budgets   []budget
	groups    []group
	policy    string
}

type step struct {
	At        duration `yaml:"at"`
	Why       string   `yaml:"why"`
	Do        []change `yaml:"do"`
	BeforeAct []change `yaml:"beforeAct"`
	Check     *check   `yaml:"check"`
}

// check is the expected result of one check. An absent list must be empty, except notes.
type check struct {
	Incomplete bool     `yaml:"incomplete"`
	Findings   []string `yaml:"findings"`
	Watching   []string `yaml:"watching"`
	Waiting    int      `yaml:"waiting"`
	NotNodes   []string `yaml:"notNodes"`
	Orders     []string `yaml:"orders"`
	Held       []string `yaml:"held"`
	Acts       []string `yaml:"acts"`
	Calls      []string `yaml:"calls"`
	Again      []string `yaml:"again"`
	Notes      []string `yaml:"notes"`
	Next       duration `yaml:"next"`
	Cordoned   []string `yaml:"cordoned"`
	Pods       []string `yaml:"pods"`
	Tags       []string `yaml:"tags"`
	Causes     []string `yaml:"causes"`
	Says       []string `yaml:"says"`
}

// change is one change; exactly one of its fields is set.
type change struct {
	Launch       *instance       `yaml:"launch"`
	Join         *node           `yaml:"join"`
	Node         *nodeChange     `yaml:"node"`
	DeleteNode   string          `yaml:"deleteNode"`
	FinishNode   string          `yaml:"finishNode"`
	Instance     *instanceChange `yaml:"instance"`
	Forget       string          `yaml:"forget"`
	DeleteVolume string          `yaml:"deleteVolume"`
	Claim        *claim          `yaml:"claim"`
	NodePool     *pool           `yaml:"nodePool"`
	DeleteClaim  string          `yaml:"deleteClaim"`
	FinishClaim  string          `yaml:"finishClaim"`
	Pod          *pod            `yaml:"pod"`
	EndPod       string          `yaml:"endPod"`
	Budget       *budget         `yaml:"budget"`
	Group        *group          `yaml:"group"`
	Cluster      *cluster        `yaml:"cluster"`
	DropCluster  bool            `yaml:"dropCluster"`
	APIServer    string          `yaml:"apiServer"`
	Fault        *fault          `yaml:"fault"`
	ClearFaults  bool            `yaml:"clearFaults"`
	Policy       *string         `yaml:"policy"`
	ZonalShift   string          `yaml:"zonalShift"`
	ForgetLedger bool            `yaml:"forgetLedger"`
	UnmapNodes   bool            `yaml:"unmapNodes"`
	// MapController is the name of the controller's role that is mapped instead of the nodes'
	// role.
	MapController string `yaml:"mapController"`
	MapNodes      bool   `yaml:"mapNodes"`
}

type cluster struct {
	Status     string            `yaml:"status"`
	Tags       map[string]string `yaml:"tags"`
	ZonalShift bool              `yaml:"zonalShift"`
}

type instance struct {
	Name      string            `yaml:"name"`
	Count     int               `yaml:"count"`
	Launched  duration          `yaml:"launched"`
	Clusters  []string          `yaml:"clusters"`
	ASG       string            `yaml:"asg"`
	NodeGroup string            `yaml:"nodeGroup"`
	NodePool  string            `yaml:"nodePool"`
	AutoMode  string            `yaml:"autoMode"`
	Zone      string            `yaml:"zone"`
	Type      string            `yaml:"type"`
	UserData  string            `yaml:"userData"`
	Protected bool              `yaml:"protected"`
	Keeps     bool              `yaml:"keeps"`
	Tags      map[string]string `yaml:"tags"`
	State     string            `yaml:"state"`
	Lifecycle string            `yaml:"lifecycle"`
	OwnerID   string            `yaml:"ownerId"`
	Platform  string            `yaml:"platform"`
	Purchase  string            `yaml:"purchase"`
	Image     string            `yaml:"image"`
	Console   string            `yaml:"console"`
	Hidden    string            `yaml:"hidden"`
}

// scheduledEvent is an event that EC2 has scheduled: it starts after In and lasts two
// hours. Done is Completed or Canceled once it is over.
type scheduledEvent struct {
	Code string   `yaml:"code"`
	In   duration `yaml:"in"`
	Done string   `yaml:"done"`
}

type instanceChange struct {
	Name          string            `yaml:"name"`
	State         *string           `yaml:"state"`
	Launched      *duration         `yaml:"launched"`
	Status        *string           `yaml:"status"`
	SystemStatus  *string           `yaml:"systemStatus"`
	EBSStatus     *string           `yaml:"ebsStatus"`
	Event         *scheduledEvent   `yaml:"event"`
	NoEvent       bool              `yaml:"noEvent"`
	ImpairedSince *duration         `yaml:"impairedSince"`
	Hidden        *string           `yaml:"hidden"`
	Lifecycle     *string           `yaml:"lifecycle"`
	RebootCures   bool              `yaml:"rebootCures"`
	Tag           map[string]string `yaml:"tag"`
	Untag         []string          `yaml:"untag"`
}

type node struct {
	Instances   []string          `yaml:"instances"`
	Name        string            `yaml:"name"`
	ProviderID  string            `yaml:"providerId"`
	Ready       string            `yaml:"ready"`
	Since       *duration         `yaml:"since"`
	Created     *duration         `yaml:"created"`
	Reason      string            `yaml:"reason"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
	Taints      []taint           `yaml:"taints"`
	Conditions  []condition       `yaml:"conditions"`
	Cordoned    bool              `yaml:"cordoned"`
}

type nodeChange struct {
	Name       string             `yaml:"name"`
	Ready      string             `yaml:"ready"`
	Since      duration           `yaml:"since"`
	Reason     string             `yaml:"reason"`
	Conditions []condition        `yaml:"conditions"`
	Labels     map[string]*string `yaml:"labels"`
	Taints     *[]taint           `yaml:"taints"`
	Cordoned   *bool              `yaml:"cordoned"`
	BootID     string             `yaml:"bootId"`
}

type taint struct {
	Key    string `yaml:"key"`
	Effect string `yaml:"effect"`
}

type condition struct {
	Type   string   `yaml:"type"`
	Status string   `yaml:"status"`
	Since  duration `yaml:"since"`
	Reason string   `yaml:"reason"`
	// Message is the message of a NodeClaim's condition.
	Message string `yaml:"message"`
}

type claim struct {
	Name         string              `yaml:"name"`
	NodePool     string              `yaml:"nodePool"`
	Instance     string              `yaml:"instance"`
	Node         string              `yaml:"node"`
	Created      duration            `yaml:"created"`
	Labels       map[string]string   `yaml:"labels"`
	Requirements map[string][]string `yaml:"requirements"`
	Conditions   []condition         `yaml:"conditions"`
}

type pool struct {
	Name          string  `yaml:"name"`
	Taints        []taint `yaml:"taints"`
	StartupTaints []taint `yaml:"startupTaints"`
}

type pod struct {
	Name        string            `yaml:"name"`
	Node        string            `yaml:"node"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
	Phase       string            `yaml:"phase"`
	DaemonSet   bool              `yaml:"daemonSet"`
	Mirror      bool              `yaml:"mirror"`
	Lingers     bool              `yaml:"lingers"`
	Limit       string            `yaml:"limit"`
	Evicted     string            `yaml:"evicted"`
}

type budget struct {
	Name    string            `yaml:"name"`
	Match   map[string]string `yaml:"match"`
	Allowed int               `yaml:"allowed"`
}

type group struct {
	ASG        string     `yaml:"asg"`
	NodeGroup  string     `yaml:"nodeGroup"`
	NodeRepair bool       `yaml:"nodeRepair"`
	Suspended  *[]string  `yaml:"suspended"`
	Activities []activity `yaml:"activities"`
	Desired    *int       `yaml:"desired"`
	Status     string     `yaml:"status"`
	Issues     *[]issue   `yaml:"issues"`
}

type issue struct {
	Code    string `yaml:"code"`
	Message string `yaml:"message"`
}

type activity struct {
	At      duration `yaml:"at"`
	Status  string   `yaml:"status"`
	Message string   `yaml:"message"`
}

type fault struct {
	Service  string `yaml:"service"`
	Action   string `yaml:"action"`
	Kind     string `yaml:"kind"`
	Code     string `yaml:"code"`
	Status   int    `yaml:"status"`
	Page     int    `yaml:"page"`
	Times    int    `yaml:"times"`
	PageSize int    `yaml:"pageSize"`
}

// duration is a Go duration in YAML, such as 1h30m.
type duration time.Duration

func (d *duration) UnmarshalYAML(value *yaml.Node) error {
	parsed, err := time.ParseDuration(value.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", value.Line, err)
	}
	*d = duration(parsed)
	return nil
}

// load reads the scenario of a folder.
func load(dir string) (*scenario, error) {
	s := &scenario{Mode: "remediate", policy: "apiVersion: rollcall/v1\n"}
	for _, f := range []struct {
		name     string
		into     any
		optional bool
	}{
		{"scenario.yaml", s, false}, {"instances.yaml", &s.instances, true}, {"nodes.yaml", &s.nodes, true}, {"nodeclaims.yaml", &s.claims, true}, {"nodepools.yaml", &s.pools, true},
		{"pods.yaml", &s.pods, true}, {"budgets.yaml", &s.budgets, true}, {"groups.yaml", &s.groups, true},
	} {
		err := read(filepath.Join(dir, f.name), f.into)
		if f.optional && errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "policy.yaml")); err == nil {
		s.policy = string(text)
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return s, s.validate(dir)
}

// read decodes one YAML document, strictly.
func read(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// validate reports errors that the decoder cannot find.
func (s *scenario) validate(dir string) error {
	known := []string{"scenario.yaml", "instances.yaml", "nodes.yaml", "nodeclaims.yaml", "nodepools.yaml", "pods.yaml", "budgets.yaml", "groups.yaml", "policy.yaml"}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var faults []error
	for _, f := range files {
		if !slices.Contains(known, f.Name()) {
			faults = append(faults, fmt.Errorf("%s: no such file in a scenario; known are %s", filepath.Join(dir, f.Name()), strings.Join(known, ", ")))
		}
	}
	if s.What == "" {
		faults = append(faults, fmt.Errorf("%s: what does it show?", dir))
	}
	last := duration(0)
	for i, st := range s.Steps {
		if st.At < last {
			faults = append(faults, fmt.Errorf("%s: step %d is before the one above it", dir, i+1))
		}
		last = st.At
		if st.Check == nil && len(st.BeforeAct) > 0 {
			faults = append(faults, fmt.Errorf("%s: step %d has beforeAct and no check", dir, i+1))
		}
		for _, c := range append(st.Do[:len(st.Do):len(st.Do)], st.BeforeAct...) {
			if n := c.set(); n != 1 {
				faults = append(faults, fmt.Errorf("%s: step %d has a change with %d things in it, want 1", dir, i+1, n))
			}
		}
	}
	return errors.Join(faults...)
}

// set returns how many fields of a change are set.
func (c change) set() (n int) {
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			n++
		}
	}
	return n
}
