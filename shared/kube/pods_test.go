package kube

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// silent are the objects of a cluster, as the items of lists, by path.
type silent map[string]string

const (
	silentNodePath = "/api/v1/nodes/worker"
	podsPath       = "/api/v1/pods?fieldSelector=spec.nodeName=worker"
	budgetsPath    = "/apis/policy/v1/poddisruptionbudgets"
	volumesPath    = "/api/v1/persistentvolumes"
)

// read returns what a silent node runs in that cluster.
func (s silent) read(t *testing.T) (roll.NodePods, error) {
	t.Helper()
	c, _ := over(t, func(r *http.Request) (int, string, error) {
		path := r.URL.Path
		if q := r.URL.Query(); q.Has("fieldSelector") {
			path += "?fieldSelector=" + q.Get("fieldSelector")
		} else if q.Has("labelSelector") {
			path += "?labelSelector=" + q.Get("labelSelector")
		}
		if path == silentNodePath {
			if s[path] == "" {
				return http.StatusOK, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker","labels":{"kubernetes.io/hostname":"worker","topology.kubernetes.io/zone":"a"}}}`, nil
			}
			return http.StatusOK, s[path], nil
		}
		kind, version := kindAt(t, r.URL.Path)
		return http.StatusOK, fmt.Sprintf(`{"kind":"%sList","apiVersion":%q,"items":[%s]}`, kind, version, s[path]), nil
	})
	budgets, err := c.Budgets(t.Context())
	must.Succeed(t, err)
	volumes, err := c.Volumes(t.Context())
	must.Succeed(t, err)
	return c.SilentNode(t.Context(), "worker", at, budgets, volumes)
}

// running returns a pod as JSON: its name, the kind of its controller, and more of its metadata,
// spec and conditions.
func running(name, kind, metadata, spec, ready string) string {
	owner := ""
	if kind != "" {
		owner = fmt.Sprintf(`,"ownerReferences":[{"apiVersion":"apps/v1","kind":%q,"name":"o","uid":"o","controller":true}]`, kind)
	}
	return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"labels":{"app":"db"}%s%s},"spec":{"nodeName":"worker"%s},"status":{"phase":"Running","startTime":"2026-03-02T10:00:00Z","conditions":[{"type":"Ready","status":%q}]}}`, name, owner, metadata, spec, ready)
}

const (
	keptPod  = `,"annotations":{"karpenter.sh/do-not-disrupt":"true"}`
	hanging  = `,"deletionTimestamp":"2026-03-02T11:00:00Z","deletionGracePeriodSeconds":30`
	stopping = `,"deletionTimestamp":"2026-03-02T12:00:00Z","deletionGracePeriodSeconds":30`
	claiming = `,"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data-0"}}]`
)

func TestWhatASilentNodeRuns(t *testing.T) {
	keptWord := "karpenter.sh/do-not-disrupt=true"
	tests := map[string]struct {
		pod  string
		want []roll.Pod
	}{
		"a Deployment's":               {running("p", "ReplicaSet", "", "", "False"), []roll.Pod{{Name: "shop/p"}}},
		"a DaemonSet's":                {running("p", "DaemonSet", keptPod, "", "False"), nil},
		"like a DaemonSet's":           {running("p", "NodeAgent", "", `,"tolerations":[{"key":"node.kubernetes.io/unschedulable","operator":"Exists"}]`, "False"), nil},
		"a static one":                 {running("p", "", `,"annotations":{"kubernetes.io/config.mirror":"x"}`, "", "False"), nil},
		"a kept one":                   {running("p", "Job", keptPod, "", "False"), []roll.Pod{{Name: "shop/p", NotToDisrupt: keptWord}}},
		"not safe to evict":            {running("p", "", `,"annotations":{"cluster-autoscaler.kubernetes.io/safe-to-evict":"false"}`, "", "False"), []roll.Pod{{Name: "shop/p", NotToDisrupt: "cluster-autoscaler.kubernetes.io/safe-to-evict=false"}}},
		"its time of peace":            {running("p", "", `,"annotations":{"karpenter.sh/do-not-disrupt":"1h"}`, "", "False"), []roll.Pod{{Name: "shop/p"}}},
		"it stops":                     {running("p", "ReplicaSet", stopping, "", "False"), []roll.Pod{{Name: "shop/p"}}},
		"it hangs":                     {running("p", "ReplicaSet", hanging, "", "False"), []roll.Pod{{Name: "shop/p"}}},
		"a StatefulSet's hangs":        {running("p", "StatefulSet", hanging, "", "False"), []roll.Pod{{Name: "shop/p", Waits: true}}},
		"it hangs with a claim":        {running("p", "ReplicaSet", hanging, claiming, "False"), []roll.Pod{{Name: "shop/p"}}},
		"a kept one that hangs":        {running("p", "ReplicaSet", keptPod+hanging, "", "False"), []roll.Pod{{Name: "shop/p", NotToDisrupt: keptWord}}},
		"a kept one of nobody":         {running("p", "", keptPod+hanging, "", "False"), []roll.Pod{{Name: "shop/p", NotToDisrupt: keptWord}}},
		"a kept StatefulSet's":         {running("p", "StatefulSet", keptPod+hanging, "", "False"), []roll.Pod{{Name: "shop/p", NotToDisrupt: keptWord, Waits: true}}},
		"like a DaemonSet's, but kept": {running("p", "NodeAgent", keptPod, `,"tolerations":[{"key":"node.kubernetes.io/unschedulable","operator":"Exists"}]`, "False"), []roll.Pod{{Name: "shop/p", NotToDisrupt: keptWord}}},
		"a kept one without labels":    {strings.Replace(running("p", "Job", keptPod+hanging, "", "False"), `{"app":"db"}`, "{}", 1), []roll.Pod{{Name: "shop/p", NotToDisrupt: keptWord}}},
		"nothing on the node yet":      {"", nil},
	}
	for name, tt := range tests {
		got, err := silent{podsPath: tt.pod}.read(t)
		want := roll.NodePods{Read: roll.Yes, Pods: tt.want, BudgetsRead: roll.Yes, VolumesRead: roll.Yes}
		diff := cmp.Diff(want, got)
		expect.That(t, diff == "" && err == nil, "%s: %v (-want +got)\n%s", name, err, diff)
	}
}

// A pod waits for the termination of the instance if its volume is attached there. A network file
// system needs no attachment, so a replacement can start at once.
func TestAPodWaitsForAVolumeThatIsAttachedToItsNode(t *testing.T) {
	const node = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker"},"status":{"volumesAttached":[
		{"name":"kubernetes.io/csi/ebs.csi.aws.com^vol-0abc","devicePath":""}]}}`
	volume := func(claim, source string) string {
		return fmt.Sprintf(`{"metadata":{"name":"pv"},"spec":{%s,"claimRef":{"namespace":"shop","name":%q}},"status":{"phase":"Bound"}}`, source, claim)
	}
	csi := func(driver, handle string) string {
		return fmt.Sprintf(`"csi":{"driver":%q,"volumeHandle":%q}`, driver, handle)
	}
	attached := csi("ebs.csi.aws.com", "vol-0abc")
	for name, tt := range map[string]struct {
		spec, volume string
		want         bool
	}{
		"attached":                {claiming, volume("data-0", attached), true},
		"attached, of its own":    {`,"volumes":[{"name":"data","ephemeral":{}}]`, volume("p-data", attached), true},
		"of no claim":             {`,"volumes":[{"name":"data","emptyDir":{}}]`, volume("p-data", attached), false},
		"of before drivers":       {claiming, volume("data-0", `"awsElasticBlockStore":{"volumeID":"aws://eu-west-1a/vol-0abc"}`), true},
		"attached elsewhere":      {claiming, volume("data-0", csi("ebs.csi.aws.com", "vol-0def")), false},
		"of another driver":       {claiming, volume("data-0", csi("other", "vol-0abc")), false},
		"a network's file system": {claiming, volume("data-0", csi("efs.csi.aws.com", "fs-0abc")), false},
		"NFS":                     {claiming, volume("data-0", `"nfs":{"server":"s","path":"/"}`), false},
		"another pod's":           {claiming, volume("data-1", attached), false},
		"no volume of the claim":  {claiming, "", false},
	} {
		got, err := silent{silentNodePath: node, podsPath: running("p", "ReplicaSet", hanging, tt.spec, "False"), volumesPath: tt.volume}.read(t)
		expect.That(t, err == nil && len(got.Pods) == 1 && got.Pods[0].Waits == tt.want, "%s: %+v, %v", name, got, err)
	}
}

// A kept pod that the control plane deleted is no longer kept once another pod does its work.
func TestAKeptPodThatHangsIsReplacedByOneThatWorks(t *testing.T) {
	const like = "/api/v1/namespaces/shop/pods?labelSelector=app=db"
	elsewhere := func(name, kind, metadata, ready string) string {
		return strings.Replace(running(name, kind, metadata, "", ready), `"nodeName":"worker"`, `"nodeName":"other"`, 1)
	}
	later, before := `,"creationTimestamp":"2026-03-02T10:59:30Z"`, `,"creationTimestamp":"2026-03-02T10:59:29Z"`
	for name, tt := range map[string]struct {
		other string
		want  bool
	}{
		"none":                 {"", false},
		"it works":             {elsewhere("q", "ReplicaSet", later, "True"), true},
		"it was there before":  {elsewhere("q", "ReplicaSet", before, "True"), false},
		"it does not work yet": {elsewhere("q", "ReplicaSet", later, "False"), false},
		"it stops":             {elsewhere("q", "ReplicaSet", later+stopping, "True"), false},
		"it is deleted too":    {elsewhere("q", "ReplicaSet", later+hanging, "True"), false},
		"nobody's":             {elsewhere("q", "", later, "True"), false},
		"another owner's":      {strings.Replace(elsewhere("q", "ReplicaSet", later, "True"), `"uid":"o"`, `"uid":"x"`, 1), false},
		"on the same node":     {running("q", "ReplicaSet", later, "", "True"), false},
	} {
		got, err := silent{podsPath: running("p", "ReplicaSet", keptPod+hanging, "", "False"), like: tt.other}.read(t)
		expect.That(t, err == nil && len(got.Pods) == 1 && got.Pods[0].Replaced == tt.want, "%s: %+v, %v", name, got, err)
	}
}

// One pod replaces one: of several stuck pods, here or on other nodes, none counts as replaced
// before as many work.
func TestKeptPodsThatHangAreReplacedByAsMany(t *testing.T) {
	const like = "/api/v1/namespaces/shop/pods?labelSelector=app=db"
	pod := func(name, node, metadata, ready string) string {
		return strings.Replace(running(name, "ReplicaSet", metadata, "", ready), `"nodeName":"worker"`, fmt.Sprintf(`"nodeName":%q`, node), 1)
	}
	newer := `,"creationTimestamp":"2026-03-02T10:59:30Z"`
	first := `,"deletionTimestamp":"2026-03-02T10:30:00Z","deletionGracePeriodSeconds":30`
	last := `,"deletionTimestamp":"2026-03-02T11:30:00Z","deletionGracePeriodSeconds":30`
	p, q := pod("p", "worker", keptPod+hanging, "False"), pod("q", "worker", keptPod+hanging, "False")
	one, two := pod("n1", "other", newer, "True"), pod("n2", "other", newer, "True")
	for name, tt := range map[string]struct {
		here, like []string
		want       bool
	}{
		"two hang, one works":                   {[]string{p, q}, []string{p, q, one}, false},
		"two hang, two work":                    {[]string{p, q}, []string{p, q, one, two}, true},
		"two hang, one works, one starts":       {[]string{p, q}, []string{p, q, one, pod("n2", "other", newer, "False")}, false},
		"one hangs on another node":             {[]string{p}, []string{p, pod("r", "third", keptPod+hanging, "False"), one}, false},
		"one hangs for less, both replaced":     {[]string{p}, []string{p, pod("r", "third", last, "False"), one, two}, true},
		"one stops on another node":             {[]string{p}, []string{p, pod("r", "third", stopping, "False"), one}, true},
		"one hangs for longer, and is replaced": {[]string{p}, []string{p, pod("r", "third", first, "False"), pod("n0", "other", `,"creationTimestamp":"2026-03-02T10:31:00Z"`, "True"), one}, true},
	} {
		got, err := silent{podsPath: strings.Join(tt.here, ","), like: strings.Join(tt.like, ",")}.read(t)
		must.That(t, err == nil && len(got.Pods) == len(tt.here), "%s: %+v, %v", name, got, err)
		for _, pod := range got.Pods {
			expect.That(t, pod.Replaced == tt.want, "%s: %+v", name, pod)
		}
	}
}

func TestBudgetsOfWhatASilentNodeRuns(t *testing.T) {
	budget := func(selector, status string) string {
		return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"db","generation":2},"spec":{"selector":%s},"status":{"observedGeneration":2,"currentHealthy":2,"desiredHealthy":2%s}}`, selector, status)
	}
	disruption := func(status, reason string) string {
		return fmt.Sprintf(`,"conditions":[{"type":"DisruptionAllowed","status":%q,"reason":%q}]`, status, reason)
	}
	const app = `{"matchLabels":{"app":"db"}}`
	counts := func(ready int) []roll.Budget {
		return []roll.Budget{{Name: "shop/db", Healthy: 2, Desired: 2, Pods: []string{"shop/p"}, Ready: ready}}
	}
	for name, tt := range map[string]struct {
		pod, budget string
		want        []roll.Budget
	}{
		"its own":                  {running("p", "ReplicaSet", "", "", "False"), budget(app, ""), counts(0)},
		"still counted as healthy": {running("p", "ReplicaSet", "", "", "True"), budget(app, ""), counts(1)},
		"scheduled, and not Ready": {strings.Replace(running("p", "ReplicaSet", "", "", "False"), `"conditions":[`, `"conditions":[{"type":"PodScheduled","status":"True"},`, 1), budget(app, ""), counts(0)},
		"a selector nobody knows": {running("p", "ReplicaSet", "", "", "False"), budget(`{"matchExpressions":[{"key":"app","operator":"Near"}]}`, ""),
			[]roll.Budget{{Name: "shop/db", Healthy: 2, Desired: 2, Unknown: true, Pods: []string{"shop/p"}}}},
		"of what is healthy": {running("p", "ReplicaSet", "", "", "False"), budget(app+`,"unhealthyPodEvictionPolicy":"IfHealthyBudget"`, ""), counts(0)},
		"of what is healthy, always": {running("p", "ReplicaSet", "", "", "False"), budget(app+`,"unhealthyPodEvictionPolicy":"AlwaysAllow"`, ""),
			[]roll.Budget{{Name: "shop/db", Healthy: 2, Desired: 2, AlwaysAllow: true, Pods: []string{"shop/p"}}}},
		"deleted, and Ready":   {running("p", "ReplicaSet", hanging, "", "True"), budget(app, ""), counts(0)},
		"it waits for the end": {running("p", "StatefulSet", hanging, "", "False"), budget(app, ""), nil},
		"a DaemonSet's":        {running("p", "DaemonSet", "", "", "False"), budget(app, ""), nil},
		"of other pods":        {running("p", "ReplicaSet", "", "", "False"), budget(`{"matchLabels":{"app":"web"}}`, ""), nil},
		"of all pods":          {running("p", "ReplicaSet", "", "", "False"), budget(`{}`, ""), counts(0)},
		"of none":              {running("p", "ReplicaSet", "", "", "False"), budget(`null`, ""), nil},
		"of another namespace": {running("p", "ReplicaSet", "", "", "False"), strings.Replace(budget(app, ""), "shop", "other", 1), nil},
		"not up to date": {running("p", "ReplicaSet", "", "", "False"), strings.Replace(budget(app, ""), `"observedGeneration":2`, `"observedGeneration":1`, 1),
			[]roll.Budget{{Name: "shop/db", Healthy: 2, Desired: 2, Unknown: true, Pods: []string{"shop/p"}}}},
		"counted by nobody": {running("p", "ReplicaSet", "", "", "False"), budget(app, disruption("False", "SyncFailed")),
			[]roll.Budget{{Name: "shop/db", Healthy: 2, Desired: 2, Unknown: true, Pods: []string{"shop/p"}}}},
		"counted, and all are needed": {running("p", "ReplicaSet", "", "", "False"), budget(app, disruption("False", "InsufficientPods")), counts(0)},
		"counted, and some are not":   {running("p", "ReplicaSet", "", "", "False"), budget(app, disruption("True", "SufficientPods")), counts(0)},
	} {
		got, err := silent{podsPath: tt.pod, budgetsPath: tt.budget}.read(t)
		diff := cmp.Diff(tt.want, got.Budgets)
		expect.That(t, diff == "" && err == nil, "%s: %v (-want +got)\n%s", name, err, diff)
	}
}

func TestWhichPodsWaitForANode(t *testing.T) {
	pending := func(metadata, conditions string) string {
		return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"p"%s},"status":{"phase":"Pending","conditions":[%s]}}`, metadata, conditions)
	}
	scheduled := func(reason string) string {
		return fmt.Sprintf(`{"type":"PodScheduled","status":"False","reason":%q}`, reason)
	}
	owned := func(kind string) string {
		return fmt.Sprintf(`,"ownerReferences":[{"apiVersion":"apps/v1","kind":%q,"name":"o","uid":"o","controller":true}]`, kind)
	}
	for name, tt := range map[string]struct {
		pods string
		want bool
	}{
		"none":                              {"", false},
		"no node has room for it":           {pending(owned("ReplicaSet"), scheduled("Unschedulable")), true},
		"the scheduler has not seen it yet": {pending("", ""), true},
		"one of a DaemonSet":                {pending(owned("DaemonSet"), scheduled("Unschedulable")), false},
		"a gate keeps it":                   {pending("", scheduled("SchedulingGated")), false},
		"it is being deleted":               {pending(`,"deletionTimestamp":"2026-03-02T10:00:00Z"`, scheduled("Unschedulable")), false},
		"one of two":                        {pending("", scheduled("SchedulingGated")) + "," + pending("", scheduled("Unschedulable")), true},
		"so many that they are not read":    {pending(`,"labels":{"a":"`+strings.Repeat("b", maxAnswer)+`"}`, ""), true},
	} {
		c, _ := over(t, func(*http.Request) (int, string, error) {
			return http.StatusOK, `{"kind":"PodList","apiVersion":"v1","items":[` + tt.pods + `]}`, nil
		})
		got, err := c.PodsWait(t.Context())
		expect.That(t, got == tt.want && err == nil, "%s: %v, %v", name, got, err)
	}
	c, _ := over(t, func(*http.Request) (int, string, error) { return http.StatusForbidden, "{}", nil })
	_, err := c.PodsWait(t.Context())
	expect.That(t, err != nil, "what is forbidden is no answer")
}

func TestVolumesOnTheDisksOfASilentNode(t *testing.T) {
	volume := func(source, affinity, phase string) string {
		return fmt.Sprintf(`{"metadata":{"name":"pv"},"spec":{%s"claimRef":{"namespace":"shop","name":"data-0"}%s},"status":{"phase":%q}}`, source, affinity, phase)
	}
	in := func(key, values string) string {
		return fmt.Sprintf(`,"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":%q,"operator":"In","values":[%s]}]}]}}`, key, values)
	}
	terms := func(terms string) string { return `,"nodeAffinity":{"required":{"nodeSelectorTerms":[` + terms + `]}}` }
	const host, local, path = "kubernetes.io/hostname", `"local":{"path":"/mnt/d"},`, `"hostPath":{"path":"/d"},`
	for name, tt := range map[string]struct {
		volume, pod string
		want        bool
	}{
		"a local one":                     {volume(local, in(host, `"worker"`), "Bound"), "", true},
		"of another node":                 {volume(local, in(host, `"other"`), "Bound"), "", false},
		"of a driver for local disks":     {volume("", in("topology.topolvm.io/node", `"worker"`), "Bound"), "", false}, // the node has no such label
		"of a driver, by hostname":        {volume("", in(host, `"worker"`), "Bound"), "", true},
		"of the zone, as EBS":             {volume("", in("topology.kubernetes.io/zone", `"a"`), "Bound"), "", false},
		"of a driver, by name":            {volume("", strings.Replace(in("metadata.name", `"worker"`), "matchExpressions", "matchFields", 1), "Bound"), "", true},
		"of a driver, and its zone":       {volume("", terms(`{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["worker"]},{"key":"topology.kubernetes.io/zone","operator":"In","values":["a"]}]}`), "Bound"), "", true},
		"of a driver, on two nodes":       {volume("", in(host, `"worker","other"`), "Bound"), "", false},
		"of a driver, on all but one":     {volume("", strings.Replace(in(host, `"other"`), `"In"`, `"NotIn"`, 1), "Bound"), "", false},
		"of no node":                      {volume(local, terms("{}"), "Bound"), "", false},
		"of any node, as it says":         {volume(local, `,"nodeAffinity":{}`, "Bound"), "", false},
		"available, to be kept":           {volume(local+`"persistentVolumeReclaimPolicy":"Retain",`, in(host, `"worker"`), "Available"), "", false},
		"by a field of another node":      {volume(local, strings.Replace(in("metadata.name", `"other"`), "matchExpressions", "matchFields", 1), "Bound"), "", false},
		"a path there, of a pod here":     {volume(path, in(host, `"other"`), "Bound"), running("p", "ReplicaSet", "", claiming, "False"), false},
		"available":                       {volume(local, in(host, `"worker"`), "Available"), "", false},
		"released, to be deleted":         {volume(local, in(host, `"worker"`), "Released"), "", false},
		"released, and kept":              {volume(local+`"persistentVolumeReclaimPolicy":"Retain",`, in(host, `"worker"`), "Released"), "", true},
		"a path, of a pod here":           {volume(path, "", "Bound"), running("p", "ReplicaSet", "", claiming, "False"), true},
		"a path, of a pod elsewhere":      {volume(path, "", "Bound"), "", false},
		"a network's, of a pod here":      {volume("", "", "Bound"), running("p", "ReplicaSet", "", claiming, "False"), false},
		"an affinity that nobody knows":   {volume(local, strings.Replace(in(host, `"worker"`), `"In"`, `"Near"`, 1), "Bound"), "", true},
		"by a field of the node":          {volume(local, strings.Replace(in("metadata.name", `"worker"`), "matchExpressions", "matchFields", 1), "Bound"), "", true},
		"by an expression of another one": {volume(local, strings.Replace(in(host, `"worker"`), `"In"`, `"NotIn"`, 1), "Bound"), "", false},
	} {
		got, err := silent{podsPath: tt.pod, volumesPath: tt.volume}.read(t)
		want := []roll.LocalVolume{{Name: "pv", Claim: "shop/data-0"}}
		if !tt.want {
			want = nil
		}
		diff := cmp.Diff(want, got.LocalVolumes)
		expect.That(t, diff == "" && err == nil, "%s: %v (-want +got)\n%s", name, err, diff)
	}
}

// A node that was deleted has no labels any more. Its volumes name it.
func TestVolumesOfADeletedNode(t *testing.T) {
	for name, tt := range map[string]struct {
		key, node string
		want      int
	}{
		"by hostname":                  {"kubernetes.io/hostname", "worker", 1},
		"by the key of a driver":       {"topology.topolvm.io/node", "worker", 1},
		"of another node, by hostname": {"kubernetes.io/hostname", "other", 0},
		"of a zone":                    {"topology.kubernetes.io/zone", "eu-west-1a", 0},
	} {
		volume := fmt.Sprintf(`{"metadata":{"name":"pv"},"spec":{"local":{"path":"/d"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":%q,"operator":"In","values":[%q]}]}]}}},"status":{"phase":"Bound"}}`, tt.key, tt.node)
		c, _ := over(t, saying(http.StatusOK, `{"kind":"PersistentVolumeList","apiVersion":"v1","items":[`+volume+`]}`))
		volumes, err := c.Volumes(t.Context())
		must.Succeed(t, err)
		got := volumes.DeletedNode("worker")
		expect.That(t, got.Read == roll.Yes && got.VolumesRead == roll.Yes && len(got.LocalVolumes) == tt.want, "%s: %+v", name, got)
	}
	got := (*Volumes)(nil).DeletedNode("worker")
	expect.That(t, !got.VolumesRead.Answered(), "volumes that were not read: %+v", got)
}

func TestWhatKeepsTheNodeAndIsAttachedToIt(t *testing.T) {
	got, err := silent{silentNodePath: `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker","annotations":{"cluster-autoscaler.kubernetes.io/scale-down-disabled":"true"}},
		"status":{"volumesAttached":[{"name":"kubernetes.io/csi/ebs.csi.aws.com^vol-0abc","devicePath":""},{"name":"kubernetes.io/aws-ebs/aws://eu-west-1a/vol-0def","devicePath":"/dev/xvdba"}]}}`}.read(t)
	want := roll.NodePods{
		Read: roll.Yes, Attached: []string{"vol-0abc", "vol-0def"},
		BudgetsRead: roll.Yes, VolumesRead: roll.Yes,
	}
	diff := cmp.Diff(want, got)
	expect.That(t, diff == "" && err == nil, "%v (-want +got)\n%s", err, diff)
}

// If there are more pods like a kept one than can be read, nothing proves that it was replaced, and
// nothing on its node is hidden.
func TestAKeptPodWithTooManyLikeItIsNotReplaced(t *testing.T) {
	c, _ := over(t, func(r *http.Request) (int, string, error) {
		switch {
		case r.URL.Path == silentNodePath:
			return http.StatusOK, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker"}}`, nil
		case r.URL.Query().Has("labelSelector"):
			return http.StatusOK, `{"kind":"PodList","apiVersion":"v1","items":[` + strings.Repeat(" ", maxAnswer+1) + `]}`, nil
		}
		return http.StatusOK, `{"kind":"PodList","apiVersion":"v1","items":[` + running("p", "ReplicaSet", keptPod+hanging, "", "False") + `]}`, nil
	})
	got, err := c.SilentNode(t.Context(), "worker", at, nil, nil)
	expect.That(t, err == nil && len(got.Pods) == 1 && !got.Pods[0].Replaced && got.Pods[0].NotToDisrupt != "", "%+v, %v", got, err)
}

// Data that was not read is neither empty nor an answer.
func TestASilentNodeThatCannotBeRead(t *testing.T) {
	for _, path := range []string{silentNodePath, "/api/v1/pods", "/api/v1/namespaces/shop/pods"} {
		c, _ := over(t, func(r *http.Request) (int, string, error) {
			switch r.URL.Path {
			case path:
				return 0, "", errors.New("broke off")
			case silentNodePath:
				return http.StatusOK, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker"}}`, nil
			}
			return http.StatusOK, `{"kind":"PodList","apiVersion":"v1","items":[` + running("p", "ReplicaSet", keptPod+hanging, "", "False") + `]}`, nil
		})
		got, err := c.SilentNode(t.Context(), "worker", at, nil, nil)
		expect.That(t, err != nil && got.Read != roll.Yes, "%s: %+v, %v", path, got, err)
	}
}
