package collect

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestWhatTheKubernetesAPISaysOfANode(t *testing.T) {
	a := healthy()
	a.launch(1, workers)
	a.join(1)
	got := checked(t, a, roll.Unknown, workers, 1).Nodes[nodeName(1)]
	o := got.Object.Value
	ready, _ := o.Condition("Ready")
	expect.That(t, o.KubeletVersion == "v1.36.2-eks-1234567" && o.Created.Equal(at.Add(-50*time.Minute)), "%+v", o)
	expect.That(t, reflect.DeepEqual(o.Labels, map[string]string{"topology.kubernetes.io/zone": "eu-west-1a", "team": "web"}) && reflect.DeepEqual(o.Addresses, []string{"10.0.1.5"}), "labels %v, addresses %v", o.Labels, o.Addresses)
	expect.That(t, ready.Reason == "NodeStatusUnknown" && len(o.Taints) != 0, "%+v %+v", ready, o.Taints)
	l := got.Lease.Value
	expect.That(t, l.Duration == 40*time.Second && l.Renewed.Format(time.RFC3339) == "2026-03-02T11:19:00Z", "%+v", l)
	e := got.Events.Value[0]
	expect.That(t, e.Count == 3 && e.Last.Equal(at.Add(-45*time.Minute)) && e.First.Equal(at.Add(-50*time.Minute)) && !strings.Contains(e.Message, "hunter2") && strings.HasPrefix(e.Message, "System OOM encountered"), "%+v", e)
	p := got.Pods.Value[0]
	expect.That(t, p.Owner == "DaemonSet/cilium" && !p.Ready && p.Waiting == "CrashLoopBackOff" && p.Terminated == "OOMKilled" && p.Containers[0] == "agent" && p.Message == "back-off" && len(p.Events) == 1 && p.Events[0].Type == "Warning", "%+v", p)
}

func TestANodeThatIsGoneIsAbsent(t *testing.T) {
	a := healthy()
	a.launch(1, workers)
	got := checked(t, a, roll.Ghost, workers, 1).Nodes[nodeName(1)]
	expect.That(t, got.Object.State == evidence.Absent && got.Lease.State == evidence.Absent, "%+v", got)
}

func TestEventsTellTheirTimesInOneOfSeveralWays(t *testing.T) {
	for text, want := range map[string]evidence.Event{
		`{"eventTime": "2026-03-02T11:00:00.000001Z", "reportingComponent": "karpenter", "firstTimestamp": null, "lastTimestamp": null}`: {Count: 1, First: at.Add(-time.Hour), Last: at.Add(-time.Hour)},
		`{"eventTime": "2026-03-02T11:00:00Z", "series": {"count": 9, "lastObservedTime": "2026-03-02T11:30:00Z"}}`:                      {Count: 9, First: at.Add(-time.Hour), Last: at.Add(-time.Hour / 2)},
		`{"metadata": {"creationTimestamp": "2026-03-02T11:00:00Z"}, "count": 2}`:                                                        {Count: 2, First: at.Add(-time.Hour), Last: at.Add(-time.Hour)},
	} {
		var e kube.Event
		must.Succeed(t, json.Unmarshal([]byte(text), &e))
		got := event(&e)
		got.First, got.Last = got.First.Truncate(time.Second), got.Last.Truncate(time.Second)
		expect.Equal(t, got, want, "%s", text)
	}
}

func TestThePodsTroubleIsTheMostTelling(t *testing.T) {
	var p podJSON
	text := `{"status": {"initContainerStatuses": [{"state": {"terminated": {"reason": "Completed"}}}],
		"containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}, {"restartCount": 2, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "m"}}}, {"restartCount": 1, "state": {"terminated": {"reason": "Error"}}}]}}`
	must.Succeed(t, json.Unmarshal([]byte(text), &p))
	got := pod(&p)
	expect.That(t, got.Waiting == "ImagePullBackOff" && got.Terminated == "Error" && got.Message == "m", "%+v", got)
}

func TestPodsOfDaemonSetsAreAskedAboutFirst(t *testing.T) {
	pods := []evidence.Pod{
		{Name: "web"}, {Name: "logs", Owner: "DaemonSet/fluent-bit"}, {Name: "ebs", Owner: "DaemonSet/ebs-csi-node"}, {Name: "cni", Owner: "DaemonSet/cilium"},
		{Name: "fine", Owner: "DaemonSet/x", Ready: true}, {Name: "job", Phase: "Succeeded"},
	}
	n := evidence.Node{Pods: evidence.Read(pods)}
	expect.Equal(t, fmt.Sprint(unready(n)), "[3 1 2 0]", "without a startup taint")
	n.Object = evidence.Read(evidence.NodeObject{Taints: []evidence.Taint{{Key: "ebs.csi.aws.com/agent-not-ready", Effect: "NoExecute"}}})
	expect.Equal(t, fmt.Sprint(unready(n)), "[3 2 1 0]", "with an agent's startup taint")
}

// A node without its network has no pod that is ready, except those of the host's network. Those of other
// namespaces come before kube-system in the list.
func TestWhatTheNetworkPluginSaysIsReadOfEachNodeFirst(t *testing.T) {
	a := healthy()
	var nodes []int
	for n := range 3 {
		a.launch(n, workers)
		a.join(n)
		nodes = append(nodes, n)
		for _, name := range []string{"cloudwatch-agent", "fluent-bit"} {
			a.api.put("/api/v1/namespaces/amazon-cloudwatch/pods/"+name+"-"+nodeName(n), thing{
				"metadata": thing{"namespace": "amazon-cloudwatch", "ownerReferences": []any{thing{"kind": "DaemonSet", "name": name, "controller": true}}},
				"spec":     thing{"nodeName": nodeName(n)}, "status": thing{"phase": "Pending"},
			})
		}
	}
	for _, of := range [][]int{nodes[:1], nodes} {
		e := checked(t, a, roll.Uninitialized, workers, of...)
		for _, n := range of {
			for _, p := range e.Nodes[nodeName(n)].Pods.Value {
				if p.OfNetworkPlugin() {
					expect.That(t, len(p.Events) == 1 && p.EventsUnread == "", "%s, of %d nodes: %+v", p.Name, len(of), p)
				} else if n == 2 {
					expect.That(t, strings.HasPrefix(p.EventsUnread, "sampled: "), "%s was not asked about, and counts as read", p.Name)
				}
			}
		}
	}
}

func TestKarpentersObjects(t *testing.T) {
	a := healthy()
	a.launch(1, pool)
	a.claim(1, "default")
	a.claim(2, "default")
	g := checked(t, a, roll.Unregistered, pool, 1).Groups[pool]
	p := g.NodePool.Value
	expect.That(t, p.NodeClass == "al2023" && p.StartupTaints[0].Key == "node.cilium.io/agent-not-ready" && p.Requirements[0].String() == "In [amd64]", "%+v", p)
	c := g.NodeClass.Value
	expect.That(t, c.AMIAlias == "al2023@latest" && c.Role == "demo-node", "%+v", c)
	claims := g.NodeClaims.Value
	expect.That(t, len(claims) == 2 && claims[0].Instance == instanceID(1) && claims[0].Events.Value[0].Reason == "FailedConsistencyCheck" && claims[1].Events.State == evidence.NotAsked, "%+v", claims)
}

func TestAClusterWithoutKarpenterHasNoNodeClaims(t *testing.T) {
	a := healthy()
	a.api.groups = nil
	a.launch(1, pool)
	g := checked(t, a, roll.Orphaned, pool, 1).Groups[pool]
	expect.That(t, g.NodeClaims.Known() && len(g.NodeClaims.Value) == 0 && g.NodePool.State == evidence.Absent && g.NodeClass.State == evidence.Absent, "%+v", g)
}

func TestNodeClassesOfAutoModeAreNotLookedInto(t *testing.T) {
	a := healthy()
	a.api.put("/apis/karpenter.sh/v1/nodepools/default", thing{"spec": thing{"template": thing{"spec": thing{"nodeClassRef": thing{"kind": "NodeClass", "name": "default"}}}}})
	a.launch(1, pool)
	g := checked(t, a, roll.Unregistered, pool, 1).Groups[pool]
	expect.That(t, g.NodePool.Value.NodeClass == "default" && g.NodeClass.Gap() == "default is a NodeClass, which is not read", "%+v", g)
}

// printed is a webhook with the selectors that the API server sets where nobody else does.
func printed() webhook {
	return webhook{NamespaceSelector: json.RawMessage(`{}`), ObjectSelector: json.RawMessage(`{}`)}
}

func TestASelectorThatIsMissingMayExclude(t *testing.T) {
	w := printed()
	w.Rules = []rule{{APIGroups: []string{""}, Operations: []string{"CREATE"}, Resources: []string{"nodes", "pods"}}}
	for name, tt := range map[string]struct {
		change      func(*webhook)
		nodes, pods string // which one is missing
	}{
		"both are there":         {func(*webhook) {}, "", ""},
		"without the objects'":   {func(w *webhook) { w.ObjectSelector = nil }, "objectSelector", "objectSelector"},
		"without the namespaces": {func(w *webhook) { w.NamespaceSelector = nil }, "", "namespaceSelector"},
	} {
		w := w
		tt.change(&w)
		nodes, _ := nodesOnly(w)
		pods, ok := podsOnly(w)
		expect.That(t, nodes.Lacks == tt.nodes && nodes.Selective == (tt.nodes != "") && pods.Lacks == tt.pods && pods.Selective == (tt.pods != "") && ok, "%s: nodes %+v, pods %+v", name, nodes, pods)
	}
}

func TestWebhooksThatAreAskedAboutNodes(t *testing.T) {
	for name, tt := range map[string]struct {
		webhook   string
		resources []string
		selective bool
	}{
		"nodes":                            {`{"rules": [{"apiGroups": [""], "operations": ["CREATE"], "resources": ["nodes", "pods"]}]}`, []string{"nodes"}, false},
		"their status":                     {`{"rules": [{"apiGroups": [""], "operations": ["UPDATE"], "resources": ["nodes/status"]}]}`, []string{"nodes/status"}, false},
		"everything":                       {`{"rules": [{"apiGroups": ["*"], "operations": ["*"], "resources": ["*/*"]}]}`, []string{"*/*"}, false},
		"every resource":                   {`{"rules": [{"apiGroups": ["*"], "operations": ["*"], "resources": ["*"], "scope": "*"}]}`, []string{"*"}, false},
		"every status":                     {`{"rules": [{"apiGroups": [""], "operations": ["UPDATE"], "resources": ["*/status"]}]}`, []string{"*/status"}, false},
		"some by label":                    {`{"objectSelector": {"matchLabels": {"a": "b"}}, "rules": [{"apiGroups": [""], "operations": ["CREATE"], "resources": ["nodes"]}]}`, []string{"nodes"}, true},
		"some by condition":                {`{"matchConditions": [{"name": "a"}], "rules": [{"apiGroups": [""], "operations": ["CREATE"], "resources": ["nodes"]}]}`, []string{"nodes"}, true},
		"a selector that selects all":      {`{"objectSelector": {}, "rules": [{"apiGroups": [""], "operations": ["CREATE"], "resources": ["nodes"]}]}`, []string{"nodes"}, false},
		"namespaces, which nodes have not": {`{"namespaceSelector": {"matchLabels": {"a": "b"}}, "rules": [{"apiGroups": [""], "operations": ["CREATE"], "resources": ["nodes"]}]}`, []string{"nodes"}, false},
		"pods":                             {`{"rules": [{"apiGroups": [""], "operations": ["*"], "resources": ["pods"]}]}`, nil, false},
		"another group's":                  {`{"rules": [{"apiGroups": ["apps"], "operations": ["*"], "resources": ["*"]}]}`, nil, false},
		"deletions":                        {`{"rules": [{"apiGroups": [""], "operations": ["DELETE"], "resources": ["nodes"]}]}`, nil, false},
		"what has a namespace":             {`{"rules": [{"apiGroups": ["*"], "operations": ["*"], "resources": ["*"], "scope": "Namespaced"}]}`, nil, false},
		"other subresources":               {`{"rules": [{"apiGroups": [""], "operations": ["*"], "resources": ["nodes/proxy"]}]}`, nil, false},
	} {
		w := printed()
		must.Succeed(t, json.Unmarshal([]byte(tt.webhook), &w))
		got, ok := nodesOnly(w)
		if ok != (tt.resources != nil) || ok && (!reflect.DeepEqual(got.Resources, tt.resources) || got.Selective != tt.selective || got.FailurePolicy != "Fail") {
			t.Errorf("%s: got %v, %+v", name, ok, got)
		}
	}
}

// A webhook on all that there is is also asked when a kubelet renews its node's lease, which has a namespace.
func TestWebhooksThatAreAskedAboutLeases(t *testing.T) {
	everything := func(selector string) string {
		return `{` + selector + `"rules": [{"apiGroups": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*/*"], "scope": "*"}]}`
	}
	but := func(namespace string) string {
		return everything(`"namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "` + namespace + `"]}]}, `)
	}
	for name, tt := range map[string]struct{ webhook, want string }{
		"all that there is":         {everything(""), "leases"},
		"all but some namespaces":   {but("kyverno"), "leases"},
		"all but that of leases":    {but("kube-node-lease"), ""},
		"some namespaces by label":  {everything(`"namespaceSelector": {"matchExpressions": [{"key": "admission.gatekeeper.sh/ignore", "operator": "DoesNotExist"}]}, `), "leases?"},
		"nodes and their status":    {`{"rules": [{"apiGroups": [""], "operations": ["*"], "resources": ["*/*"]}]}`, ""},
		"nodes and leases, by name": {`{"rules": [{"apiGroups": [""], "operations": ["UPDATE"], "resources": ["nodes/status"]}, {"apiGroups": ["coordination.k8s.io"], "operations": ["UPDATE"], "resources": ["leases"]}]}`, "leases"},
		"leases that are created":   {`{"rules": [{"apiGroups": [""], "operations": ["UPDATE"], "resources": ["nodes/status"]}, {"apiGroups": ["*"], "operations": ["CREATE"], "resources": ["leases"]}]}`, ""},
		"what has no namespace":     {`{"rules": [{"apiGroups": ["*"], "operations": ["*"], "resources": ["*/*"], "scope": "Cluster"}]}`, ""},
	} {
		w := printed()
		must.Succeed(t, json.Unmarshal([]byte(tt.webhook), &w))
		found, _ := nodesOnly(w)
		got := ""
		if found.Leases {
			got = "leases"
			if found.LeasesIf {
				got += "?"
			}
		}
		expect.Equal(t, got, tt.want, "%s", name)
	}
}

func TestWebhooksThatAreAskedAboutPods(t *testing.T) {
	const pods = `"rules": [{"apiGroups": [""], "operations": ["CREATE"], "resources": ["pods"]}]`
	for name, tt := range map[string]struct {
		webhook   string
		resources []string
		selective bool
		in        string // what a namespace must be called
	}{
		"pods":                         {`{` + pods + `}`, []string{"pods"}, false, ""},
		"all that there is":            {`{"rules": [{"apiGroups": ["*"], "operations": ["*"], "resources": ["*/*"]}]}`, []string{"*/*"}, false, ""},
		"what has a namespace":         {`{"rules": [{"apiGroups": ["*"], "operations": ["*"], "resources": ["*"], "scope": "Namespaced"}]}`, []string{"*"}, false, ""},
		"what has none":                {`{"rules": [{"apiGroups": ["*"], "operations": ["*"], "resources": ["*"], "scope": "Cluster"}]}`, nil, false, ""},
		"changes of pods":              {`{"rules": [{"apiGroups": [""], "operations": ["UPDATE"], "resources": ["pods"]}]}`, nil, false, ""},
		"their subresources":           {`{"rules": [{"apiGroups": [""], "operations": ["*"], "resources": ["pods/*"]}]}`, nil, false, ""},
		"deployments":                  {`{"rules": [{"apiGroups": ["apps"], "operations": ["*"], "resources": ["*"]}]}`, nil, false, ""},
		"some pods by label":           {`{"objectSelector": {"matchLabels": {"a": "b"}}, ` + pods + `}`, []string{"pods"}, true, ""},
		"some namespaces by label":     {`{"namespaceSelector": {"matchLabels": {"a": "b"}}, ` + pods + `}`, []string{"pods"}, true, ""},
		"all namespaces":               {`{"namespaceSelector": {}, ` + pods + `}`, []string{"pods"}, false, ""},
		"all but kube-system":          {`{"namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]}, ` + pods + `}`, []string{"pods"}, false, "NotIn [kube-system]"},
		"all but another namespace":    {`{"namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["team"]}]}, ` + pods + `}`, []string{"pods"}, false, "NotIn [team]"},
		"another namespace":            {`{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "team"}}, ` + pods + `}`, []string{"pods"}, false, "In [team]"},
		"by name and by label":         {`{"namespaceSelector": {"matchLabels": {"a": "b", "kubernetes.io/metadata.name": "team"}}, ` + pods + `}`, []string{"pods"}, true, "In [team]"},
		"kube-system alone, by a list": {`{"namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["kube-system"]}]}, ` + pods + `}`, []string{"pods"}, false, "In [kube-system]"},
	} {
		w := printed()
		must.Succeed(t, json.Unmarshal([]byte(tt.webhook), &w))
		got, ok := podsOnly(w)
		in := ""
		for _, r := range got.Namespaces {
			in += r.String()
		}
		expect.Equal(t, in, tt.in, "%s: namespaces", name)
		if ok != (tt.resources != nil) || ok && (!reflect.DeepEqual(got.Resources, tt.resources) || got.Selective != tt.selective) {
			t.Errorf("%s: got %v, %+v", name, ok, got)
		}
	}
}

// The services of webhooks about pods are read only for a node that has no network plugin's pod.
func TestWebhooksAboutPodsAreReadForANodeWithoutANetwork(t *testing.T) {
	for name, tt := range map[string]struct {
		message, daemonSet string
		read               bool
	}{
		"it has none":              {awaits, "kube-proxy", true},
		"it has one":               {awaits, "cilium", false},
		"it has another complaint": {"PLEG is not healthy", "kube-proxy", false},
	} {
		a := unnetworked(tt.message)
		for path := range a.api.objects {
			if strings.Contains(path, "/pods/") {
				delete(a.api.objects, path)
			}
		}
		a.api.put("/api/v1/namespaces/kube-system/pods/a", thing{
			"metadata": thing{"namespace": "kube-system", "ownerReferences": []any{thing{"kind": "DaemonSet", "name": tt.daemonSet, "controller": true}}},
			"spec":     thing{"nodeName": nodeName(1)},
		})
		got := checked(t, a, roll.NotReady, workers, 1).Cluster.PodWebhooks
		if got.Known() != tt.read || tt.read && (len(got.Value) != 1 || got.Value[0].Name != "pods.gate.example" || got.Value[0].Endpoints.Value != 2) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestReadyAddressesOfAWebhooksService(t *testing.T) {
	a := healthy()
	a.launch(1, pool)
	got := checked(t, a, roll.Unregistered, pool, 1).Cluster.Webhooks.Value
	expect.That(t, len(got) == 1 && got[0].Configuration == "gate" && got[0].Kind == "MutatingWebhookConfiguration" && got[0].Endpoints.Value == 2, "%+v", got)
	delete(a.api.objects, "/apis/discovery.k8s.io/v1/namespaces/policy/endpointslices/gate-1")
	if got := checked(t, a, roll.Unregistered, pool, 1).Cluster.Webhooks.Value[0].Endpoints; !got.Known() || got.Value != 0 {
		t.Errorf("no slice: %+v", got)
	}
}

func TestAnAnswerThatIsNotWhatItShouldBeIsUnreadable(t *testing.T) {
	a := healthy()
	a.launch(1, workers)
	a.join(1)
	a.api.objects["/api/v1/nodes/"+nodeName(1)]["spec"] = "nothing"
	got := checked(t, a, roll.Unknown, workers, 1).Nodes[nodeName(1)]
	expect.That(t, got.Object.State == evidence.Unreadable && strings.Contains(got.Object.Why, "get node "+nodeName(1)) && got.Lease.Known(), "%+v", got.Object)
}

func TestWhatTheLedgerRemembersOfANode(t *testing.T) {
	silent := roll.Condition{Status: roll.ConditionUnknown, Since: at.Add(-40 * time.Minute)}
	min := func(n int) time.Time { return at.Add(-time.Duration(n) * time.Minute) }
	for name, tt := range map[string]struct {
		state ledger.State
		want  evidence.Fact[evidence.Remembered]
	}{
		"nothing": {ledger.State{Checked: min(5)}, evidence.None[evidence.Remembered]()},
		"a pressure that lasted": {
			ledger.State{Checked: min(5), Pressures: map[roll.InstanceID]ledger.Pressure{instanceID(1): {Types: []string{"MemoryPressure"}, Since: min(50)}}},
			evidence.Read(evidence.Remembered{At: min(40), Conditions: []evidence.Condition{{Type: "MemoryPressure", Status: "True", Since: min(50)}}}),
		},
		"one that was over": {
			ledger.State{Checked: min(45), Pressures: map[roll.InstanceID]ledger.Pressure{instanceID(1): {Types: []string{"DiskPressure"}, Since: min(60), Until: min(55)}}},
			evidence.Read(evidence.Remembered{At: min(45), Conditions: []evidence.Condition{{Type: "DiskPressure", Status: "False", Since: min(55)}}}),
		},
		"flips": {
			ledger.State{Flips: map[roll.InstanceID][]time.Time{instanceID(1): {min(70), min(60)}}},
			evidence.Read(evidence.Remembered{At: min(60), ReadyFlips: []time.Time{min(70), min(60)}}),
		},
		"none, of a node that told so": {
			ledger.State{Checked: min(5), NotReady: map[roll.InstanceID]ledger.NotReady{instanceID(1): {Since: min(40), Told: min(44)}}},
			evidence.Read(evidence.Remembered{At: min(44), Conditions: noPressure()}),
		},
		"a pressure, and when it was seen": {
			ledger.State{
				Checked: min(5), NotReady: map[roll.InstanceID]ledger.NotReady{instanceID(1): {Since: min(40), Told: min(44)}},
				Pressures: map[roll.InstanceID]ledger.Pressure{instanceID(1): {Types: []string{"MemoryPressure"}, Since: min(50)}},
			},
			evidence.Read(evidence.Remembered{At: min(44), Conditions: []evidence.Condition{{Type: "MemoryPressure", Status: "True", Since: min(50)}}}),
		},
		"a pressure, and no check saw the node report since": {
			ledger.State{
				Checked: min(5), NotReady: map[roll.InstanceID]ledger.NotReady{instanceID(1): {Since: min(40), Status: roll.ConditionUnknown}},
				Pressures: map[roll.InstanceID]ledger.Pressure{instanceID(1): {Types: []string{"MemoryPressure"}, Since: min(150)}},
			},
			evidence.Read(evidence.Remembered{At: min(150), Conditions: []evidence.Condition{{Type: "MemoryPressure", Status: "True", Since: min(150)}}}),
		},
		"a pressure of a node that was not ready, and answered until now": {
			ledger.State{
				Checked: min(45), NotReady: map[roll.InstanceID]ledger.NotReady{instanceID(1): {Since: min(100), Status: roll.ConditionFalse}},
				Pressures: map[roll.InstanceID]ledger.Pressure{instanceID(1): {Types: []string{"MemoryPressure"}, Since: min(150)}},
			},
			evidence.Read(evidence.Remembered{At: min(45), Conditions: []evidence.Condition{{Type: "MemoryPressure", Status: "True", Since: min(150)}}}),
		},
		"those of its group, of a node that no check saw report": {
			ledger.State{
				Checked: min(5), NotReady: map[roll.InstanceID]ledger.NotReady{instanceID(1): {Since: min(40), Status: roll.ConditionUnknown}},
				Groups: map[roll.Group]ledger.GroupMemory{workers: {Pressed: []ledger.GroupPressure{{Instance: "i-9", Node: "gone", Type: "MemoryPressure", Since: min(600)}}}},
			},
			evidence.Read(evidence.Remembered{At: min(40), GroupPressures: []evidence.Pressure{{Instance: "i-9", Node: "gone", Type: "MemoryPressure", Since: min(600)}}}),
		},
		"those of its group": {
			ledger.State{Checked: min(45), Groups: map[roll.Group]ledger.GroupMemory{workers: {Pressed: []ledger.GroupPressure{{Instance: "i-9", Node: "gone", Type: "MemoryPressure", Since: min(600)}}}}},
			evidence.Read(evidence.Remembered{At: min(45), GroupPressures: []evidence.Pressure{{Instance: "i-9", Node: "gone", Type: "MemoryPressure", Since: min(600)}}}),
		},
	} {
		f := found(1, roll.Unknown, workers)
		l := newLook(t.Context(), newAccount().collector(), Input{Snapshot: seen(f), Findings: []roll.Finding{f}, State: tt.state})
		got := l.remembered(f, roll.Node{Ready: silent})
		expect.That(t, reflect.DeepEqual(got, tt.want), "%s: got %+v, want %+v", name, got, tt.want)
	}
}

func TestWhatABundleRemembersGoesBeforeTheLedger(t *testing.T) {
	a, in := oneOfEach()
	want := evidence.Remembered{At: at, Conditions: []evidence.Condition{{Type: "PIDPressure", Status: "True"}}}
	in.Remembered = map[string]evidence.Remembered{nodeName(2): want}
	if got := a.collector().Collect(t.Context(), in).Nodes[nodeName(2)].Remembered; !reflect.DeepEqual(got, evidence.Read(want)) {
		t.Errorf("%+v", got)
	}
	in.Remembered = map[string]evidence.Remembered{}
	got := a.collector().Collect(t.Context(), in).Nodes[nodeName(2)].Remembered
	expect.That(t, got.State == evidence.Absent, "%+v", got)
}

func TestALedgerThatCouldNotBeReadIsNotAnEmptyOne(t *testing.T) {
	a, in := oneOfEach()
	in.Snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapFailed, Call: roll.CallLedger, Detail: "the ledger could not be read"}}
	e := a.collector().Collect(t.Context(), in)
	expect.That(t, e.Groups[pool].Acts.Gap() == "the ledger could not be read" && e.Nodes[nodeName(2)].Remembered.Gap() == "the ledger could not be read", "%+v", e.Groups[pool].Acts)
}

func TestActsOfAGroup(t *testing.T) {
	a, in := oneOfEach()
	e := a.collector().Collect(t.Context(), in)
	want := []evidence.Act{{Instance: instanceID(7), Do: "terminate", Kind: roll.Unregistered, At: at.Add(-time.Hour), Done: true}}
	if got := e.Groups[pool].Acts.Value; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	got := e.Groups[workers].Acts
	expect.That(t, got.Known() && len(got.Value) == 0, "%+v", got)
}

// An observation of one instance shows no other instances, which must not count as proof that there
// are none.
func TestALookAtOneInstanceCountsNobodyElse(t *testing.T) {
	a, in := oneOfEach()
	proven := at.Add(-2 * time.Hour)
	in.State.Groups = map[roll.Group]ledger.GroupMemory{pool: {Proven: proven}}
	if e := a.collector().Collect(t.Context(), in); e.Alone || len(e.Zones) == 0 || !e.Groups[pool].Proven.Equal(proven) {
		t.Errorf("alone %v, zones %+v, proven %s", e.Alone, e.Zones, e.Groups[pool].Proven)
	}
	in.Snapshot.Target = in.Findings[0].Instance
	e := a.collector().Collect(t.Context(), in)
	expect.That(t, e.Alone && e.Zones == nil && e.Groups[pool].Proven.Equal(proven), "alone %v, zones %+v, proven %s", e.Alone, e.Zones, e.Groups[pool].Proven)
}

func TestNodesOfEachZone(t *testing.T) {
	unknown := func(m int) roll.Condition {
		return roll.Condition{Status: roll.ConditionUnknown, Since: at.Add(-time.Duration(m) * time.Minute)}
	}
	s := &roll.Snapshot{
		Nodes: []roll.Node{
			{Name: "a", Zone: "z2", ZoneID: "id2", Ready: unknown(5), Compute: roll.ComputeEC2}, {Name: "b", Zone: "z2", ZoneID: "id2", Ready: unknown(9), Compute: roll.ComputeEC2},
			{Name: "c", Zone: "z1", ZoneID: "id1", Ready: roll.Condition{Status: roll.ConditionTrue}, Compute: roll.ComputeEC2},
			{Name: "d", Zone: "z1", ZoneID: "id1", Ready: unknown(1), Compute: roll.ComputeFargate}, {Name: "e", Ready: unknown(1)},
			{Name: "f", Zone: "z1", ZoneID: "id1", Ready: unknown(1), Compute: roll.ComputeEC2, Shutdown: true},
			{Name: "g", Zone: "z1", ZoneID: "id1", Ready: unknown(1), Compute: roll.ComputeEC2, Instance: "i-0123456789abcdef7"},
		},
		NotFound: map[roll.InstanceID]bool{"i-0123456789abcdef7": true},
	}
	want := []evidence.Zone{{Zone: "z1", Nodes: 1}, {Zone: "z2", Nodes: 2, Silent: []time.Time{at.Add(-9 * time.Minute), at.Add(-5 * time.Minute)}}}
	got := zones(s)
	expect.That(t, reflect.DeepEqual(got, want), "got %+v, want %+v", got, want)
}

func TestZonesFromWhichTheClusterIsShifted(t *testing.T) {
	a, in := oneOfEach()
	in.Snapshot.Shifts, in.Snapshot.ShiftsRead = []roll.Shift{{ZoneID: "euw1-az1"}}, roll.Yes
	e := a.collector().Collect(t.Context(), in)
	expect.That(t, slices.Equal(e.Shifts, []string{"euw1-az1"}), "shifted away from %v", e.Shifts)
}
