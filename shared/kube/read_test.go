package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// asked are all questions, each with its request and the permission that it needs.
var asked = map[Question]struct{ request, permission string }{
	ANode("n"):                {"/api/v1/nodes/n", "get nodes"},
	AllNodes():                {"/api/v1/nodes", "list nodes"},
	LeaseOf("n"):              {"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n", "get leases.coordination.k8s.io in kube-node-lease"},
	AllLeases():               {"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", "list leases.coordination.k8s.io in kube-node-lease"},
	AwsAuth():                 {"/api/v1/namespaces/kube-system/configmaps/aws-auth", "get configmaps in kube-system"},
	EventsOfNode("n"):         {"/api/v1/events?fieldSelector=involvedObject.kind=Node,involvedObject.name=n", "list events"},
	EventsOfNodeClaim("c"):    {"/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind=NodeClaim,involvedObject.name=c", "list events in default"},
	LaunchesWithoutCapacity(): {"/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind=NodeClaim,reason=InsufficientCapacityError", "list events in default"},
	EventsOfPod("team", "p"):  {"/api/v1/namespaces/team/events?fieldSelector=involvedObject.kind=Pod,involvedObject.name=p", "list events in team"},
	PodsOf("n"):               {"/api/v1/pods?fieldSelector=spec.nodeName=n", "list pods"},
	PodsWithoutNode():         {"/api/v1/pods?fieldSelector=spec.nodeName=,status.phase=Pending", "list pods"},
	PodsLike("team", map[string]string{"b": "c", "a": "b"}): {"/api/v1/namespaces/team/pods?labelSelector=a=b,b=c", "list pods in team"},
	AllBudgets():                       {"/apis/policy/v1/poddisruptionbudgets", "list poddisruptionbudgets.policy"},
	AllVolumes():                       {"/api/v1/persistentvolumes", "list persistentvolumes"},
	ControllerAccounts():               {"/api/v1/serviceaccounts?fieldSelector=metadata.name=karpenter", "list serviceaccounts"},
	NodeClaimsOf("default"):            {"/apis/karpenter.sh/v1/nodeclaims?labelSelector=karpenter.sh/nodepool=default", "list nodeclaims.karpenter.sh"},
	ANodePool("default"):               {"/apis/karpenter.sh/v1/nodepools/default", "get nodepools.karpenter.sh"},
	AllNodePools():                     {"/apis/karpenter.sh/v1/nodepools", "list nodepools.karpenter.sh"},
	AnEC2NodeClass("default"):          {"/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default", "get ec2nodeclasses.karpenter.k8s.aws"},
	Webhooks():                         {"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "list mutatingwebhookconfigurations.admissionregistration.k8s.io"},
	DaemonSets():                       {"/apis/apps/v1/daemonsets", "list daemonsets.apps"},
	EndpointSlicesOf("team", "policy"): {"/apis/discovery.k8s.io/v1/namespaces/team/endpointslices?labelSelector=kubernetes.io/service-name=policy", "list endpointslices.discovery.k8s.io in team"},
}

// kindAt returns the kind of the objects at a path, by its plural.
func kindAt(t *testing.T, path string) (kind, version string) {
	t.Helper()
	for q := range asked {
		for _, r := range q.ask.of {
			if strings.HasSuffix(path, "/"+r.plural) || strings.Contains(path, "/"+r.plural+"/") {
				return r.kind, r.apiVersion()
			}
		}
	}
	t.Fatalf("what does %s serve?", path)
	return "", ""
}

// The API server leaves the kind out of the items of its own types; kubectl prints it.
func TestEveryQuestionIsAnsweredInTheShapeOfKubectl(t *testing.T) {
	for q, want := range asked {
		c, m := over(t, func(r *http.Request) (int, string, error) {
			kind, version := kindAt(t, r.URL.Path)
			if q.ByName() {
				return http.StatusOK, fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":"x"}}`, kind, version), nil
			}
			return http.StatusOK, fmt.Sprintf(`{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"x"}}]}`, kind, version), nil
		})
		got, err := c.printed(t.Context(), q)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		var answers []string
		for _, r := range m.requests {
			kind, version := kindAt(t, r.URL.Path)
			answers = append(answers, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"x"}}`, version, kind))
			if r.Method != http.MethodGet || r.Header.Get("Accept") != applicationJSON {
				t.Errorf("%s: %s, accepting %q", q, r.Method, r.Header.Get("Accept"))
			}
			limit := r.URL.Query().Get("limit")
			expect.That(t, (limit == "500") != q.ByName(), "%s: asked with the limit %q", q, limit)
		}
		document := strings.Join(answers, ",")
		if !q.ByName() {
			document = `{"apiVersion":"v1","items":[` + document + `],"kind":"List","metadata":{"resourceVersion":""}}`
		}
		expect.That(t, string(got) == document, "%s: got  %s\nwant %s", q, got, document)
		expect.Equal(t, strings.Join(m.paths(), " "), want.request, "%s: asked for", q)
	}
	made := 0
	for _, file := range []string{"question.go", "capacity.go"} {
		source := must.Read(t, file)
		made += strings.Count(string(source), ") Question {")
	}
	expect.That(t, len(asked) == made, "%d questions are tried, and there are %d", len(asked), made)
}

func TestQuestionsAreToldInWords(t *testing.T) {
	for q, want := range map[Question]string{
		ANode("n"):               "get node n",
		EventsOfPod("team", "p"): "list events of pod team/p",
		EventsOfNodeClaim("c"):   "list events of NodeClaim c",
		AllLeases():              "list leases of nodes",
		PodsLike("team", map[string]string{"a": "b"}): "list pods like team/a=b",
		AllVolumes():                  "list persistent volumes",
		ControllerAccounts():          "list service accounts called karpenter",
		EndpointSlicesOf("team", "s"): "list EndpointSlices of service team/s",
		{}:                            "nothing",
	} {
		expect.That(t, q.String() == want, "%q, want %q", q, want)
	}
}

func TestAnEmptyListIsOne(t *testing.T) {
	for _, body := range []string{`{"kind":"PodList","apiVersion":"v1","items":null}`, `{"kind":"List","apiVersion":"v1","items":[]}`} {
		c, _ := over(t, saying(http.StatusOK, body))
		got, err := c.printed(t.Context(), PodsOf("n"))
		want := `{"apiVersion":"v1","items":[],"kind":"List","metadata":{"resourceVersion":""}}`
		expect.That(t, err == nil && string(got) == want, "%s, %v", got, err)
	}
}

func TestNamesThatCannotBeAreNotAskedFor(t *testing.T) {
	c, m := over(t, saying(http.StatusOK, `{}`))
	for q, want := range map[Question]string{
		{}:                    "asks nothing",
		ANode(""):             "read node: the name is missing",
		PodsOf(""):            "list pods of node: the name is missing",
		PodsLike("team", nil): "list pods like team/: the name is missing",
		PodsLike("", map[string]string{"a": "b"}): "no name is like this",
		ANode("../secrets"):                       `read node ../secrets: no name is like this: may not contain '/'`,
		LeaseOf(".."):                             "no name is like this",
		EventsOfNode("a/b"):                       "no name is like this",
		EventsOfPod("", "p"):                      "no name is like this",
		NodeClaimsOf("a,b"):                       "no name is like this",
		EndpointSlicesOf("team", "a b"):           "no name is like this",
		EndpointSlicesOf("", "s"):                 "no name is like this",
		EndpointSlicesOf("a/b", "s"):              "no name is like this",
		EndpointSlicesOf("team", ""):              "the name is missing",
		AnEC2NodeClass("%2e%2e/secrets"):          "no name is like this",
	} {
		if got, err := c.printed(t.Context(), q); err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%#v: %v", q, err)
		} else if _, text := Fault(roll.Cluster{}, err, ""); strings.Contains(text, "did not answer") || !strings.Contains(text, " failed: ") {
			t.Errorf("%#v: a person is told: %s", q, text)
		}
	}
	if len(m.requests) != 0 {
		t.Errorf("asked for %v", m.paths())
	}
}

const podPage = `{"kind":"PodList","apiVersion":"v1","metadata":{"continue":%q},"items":[{"metadata":{"name":%q}}]}`

func TestReadsEveryPageAndBeginsOnceMoreWhenTheServerDropsTheListing(t *testing.T) {
	begun := 0
	c, m := over(t, func(r *http.Request) (int, string, error) {
		switch r.URL.Query().Get("continue") {
		case "":
			begun++
			return http.StatusOK, fmt.Sprintf(podPage, "more", fmt.Sprint("first-", begun)), nil
		case "more":
			return http.StatusOK, fmt.Sprintf(podPage, "last", "second"), nil
		}
		if begun == 1 {
			return http.StatusGone, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}`, nil
		}
		return http.StatusOK, fmt.Sprintf(podPage, "", "third"), nil
	})
	got, err := c.printed(t.Context(), PodsOf("n"))
	var names []string
	for _, part := range strings.Split(string(got), `"name":"`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		names = append(names, name)
	}
	want := []string{"first-2", "second", "third"}
	expect.That(t, err == nil && slices.Equal(names, want) && len(m.requests) == 6, "%v, %v after %d requests", names, err, len(m.requests))
}

func TestAnAnswerThatIsTooLargeIsGivenUp(t *testing.T) {
	filler := strings.Repeat("x", 3<<20)
	page := func(r *http.Request, kind string, pages int) string {
		next := len(r.URL.Query().Get("continue")) + 1
		token := strings.Repeat("n", next)
		if next >= pages {
			token = ""
		}
		return fmt.Sprintf(`{"kind":"%sList","apiVersion":"v1","metadata":{"continue":%q},"items":[{"metadata":{"name":%q}}]}`, kind, token, filler)
	}
	tests := map[string]struct {
		question Question
		kind     string
		pages    int
		requests int
		fits     bool
	}{
		"two pages fit":                    {PodsOf("n"), "Pod", 2, 2, true},
		"the third page is too much":       {PodsOf("n"), "Pod", 9, 3, false},
		"all nodes of a cluster are large": {AllNodes(), "Node", 9, 9, true},
		"as are a node pool's NodeClaims":  {NodeClaimsOf("default"), "NodeClaim", 9, 9, true},
	}
	for name, tt := range tests {
		c, m := over(t, func(r *http.Request) (int, string, error) { return http.StatusOK, page(r, tt.kind, tt.pages), nil })
		got, err := c.printed(t.Context(), tt.question)
		expect.That(t, (err == nil) == tt.fits && (got == nil) != tt.fits && len(m.requests) == tt.requests, "%s: %d bytes after %d requests, %v", name, len(got), len(m.requests), err)
		if !tt.fits {
			_, text := Fault(roll.Cluster{ID: roll.ClusterID{Name: "demo"}}, err, "")
			expect.That(t, text == "the listing of pods of node n of demo failed: "+errTooLarge.Error(), "%s: a person is told: %s", name, text)
		}
	}
	c, _ := over(t, saying(http.StatusOK, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"`+strings.Repeat("x", maxAnswer)+`"}}`))
	_, err := c.printed(t.Context(), ANode("n"))
	expect.That(t, errors.Is(err, errTooLarge), "one object: %v", err)
}

// A 404 is about the object only if the API server looked it up.
func TestWhatIsNotThere(t *testing.T) {
	status := func(message string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":%q}`, message)
	}
	groups := func(names ...string) string {
		out := `{"kind":"APIGroupList","apiVersion":"v1","groups":[`
		for i, n := range names {
			out += strings.Repeat(",", min(i, 1)) + fmt.Sprintf(`{"name":%q}`, n)
		}
		return out + `]}`
	}
	tests := map[string]struct {
		question  Question
		body      string
		discovery string
		is        error
		err       string
	}{
		"no such node":                    {ANode("n"), status(`nodes "n" not found`), "", ErrGone, "read node n: there is no such object"},
		"no such lease":                   {LeaseOf("n"), status(`leases.coordination.k8s.io "n" not found`), "", ErrGone, "read the lease of node n: "},
		"no aws-auth":                     {AwsAuth(), status(`configmaps "aws-auth" not found`), "", ErrGone, "read the ConfigMap aws-auth: "},
		"no such node pool":               {ANodePool("p"), status(`nodepools.karpenter.sh "p" not found`), "", ErrGone, "read node pool p: "},
		"no Karpenter":                    {NodeClaimsOf("p"), "404 page not found", groups("apps"), ErrNoNodeClaims, "list NodeClaims of node pool p: the cluster serves no karpenter.sh"},
		"no Karpenter, asked for a pool":  {ANodePool("p"), "404 page not found", groups("apps"), ErrNoNodeClaims, "read node pool p: "},
		"no Karpenter of AWS":             {AnEC2NodeClass("c"), "404 page not found", groups("apps", "karpenter.sh"), ErrNoEC2NodeClasses, "read EC2NodeClass c: the cluster serves no karpenter.k8s.aws"},
		"one that is older than v1":       {AnEC2NodeClass("c"), "404 page not found", groups("karpenter.k8s.aws"), nil, "but no ec2nodeclasses of version v1: is its Karpenter older than 1.0?"},
		"a proxy that knows no paths":     {ANode("n"), "404 page not found", "", nil, "read node n: "},
		"neither does it know the groups": {ANodePool("p"), "404 page not found", "404 page not found", nil, "is karpenter.sh served at all?"},
	}
	for name, tt := range tests {
		c, _ := over(t, func(r *http.Request) (int, string, error) {
			if r.URL.Path == "/apis" && strings.HasPrefix(tt.discovery, "{") {
				return http.StatusOK, tt.discovery, nil
			}
			return http.StatusNotFound, tt.body, nil
		})
		got, err := c.printed(t.Context(), tt.question)
		expect.That(t, got == nil && err != nil && strings.Contains(err.Error(), tt.err), "%s: %s, %v", name, got, err)
		for _, known := range []error{ErrGone, ErrNoNodeClaims, ErrNoEC2NodeClasses} {
			expect.Equal(t, errors.Is(err, known), errors.Is(tt.is, known), "%s: %v is %v", name, err, known)
		}
	}
}

func TestFaultOfAReadingNamesVerbAndResource(t *testing.T) {
	const refused = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`
	demo := roll.Cluster{ID: roll.ClusterID{Name: "demo"}}
	for q, want := range asked {
		c, _ := over(t, saying(http.StatusForbidden, refused))
		_, err := c.printed(t.Context(), q)
		kind, text := Fault(demo, err, principal)
		told := "the Kubernetes API of demo knows " + principal + " but does not let it " + want.permission + ": apply infra/rbac.yaml and give it the group rollcall:viewers (no)"
		expect.That(t, kind == roll.GapDenied && text == told, "%s: %s: %s", q, kind, text)
	}
	c, _ := over(t, func(r *http.Request) (int, string, error) {
		if strings.Contains(r.URL.Path, "mutating") {
			return http.StatusOK, `{"kind":"MutatingWebhookConfigurationList","apiVersion":"admissionregistration.k8s.io/v1","items":[]}`, nil
		}
		return http.StatusForbidden, refused, nil
	})
	_, err := c.printed(t.Context(), Webhooks())
	_, text := Fault(demo, err, "")
	expect.That(t, strings.Contains(text, "list validatingwebhookconfigurations.admissionregistration.k8s.io:"), "the second half of a question: %s", text)
}

func TestFaultOfAReading(t *testing.T) {
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", applicationJSON)
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(`{"kind":"Node"`))
		w.(http.Flusher).Flush()
	}
	tests := map[string]struct {
		spoil func(*apiServer)
		hangs bool
		kind  roll.GapKind
		text  string
	}{
		"401":                         {refuses(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized"), false, roll.GapUnauthorized, "refused the token of the caller (401 Unauthorized)"},
		"no such object":              {refuses(http.StatusNotFound, metav1.StatusReasonNotFound, `nodes "n" not found`), false, roll.GapFailed, "the reading of node n of demo found nothing: there is no such object"},
		"too many":                    {refuses(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slow down"), false, roll.GapThrottled, "turned the reading of node n away"},
		"no answer":                   {answers(hang), true, roll.GapClusterUnreachable, "did not answer in time"},
		"half an answer":              {answers(half), false, roll.GapFailed, "the reading of node n of demo failed: unexpected EOF"},
		"an answer that does not end": {answers(func(w http.ResponseWriter, r *http.Request) { half(w, r); hang(w, r) }), true, roll.GapClusterUnreachable, "did not answer in time"},
		"a page of HTML": {answers(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>sign in</html>")) }), false, roll.GapFailed,
			"the reading of node n of demo failed: invalid character '<' looking for beginning of value"},
	}
	for name, tt := range tests {
		s := newAPIServer(t)
		tt.spoil(s)
		ctx := t.Context()
		if tt.hangs {
			ended, cancel := contextFor(t, 200*time.Millisecond)
			defer cancel()
			ctx = ended
		}
		got, err := s.client(t).printed(ctx, ANode("n"))
		kind, text := Fault(s.cluster(), err, "")
		expect.That(t, got == nil && kind == tt.kind && strings.Contains(text, tt.text), "%s: %s: %s", name, kind, text)
	}
}

func TestAnAnswerThatIsSomethingElseIsAnError(t *testing.T) {
	tests := map[string]struct {
		question Question
		body     string
	}{
		"no list":              {PodsOf("n"), `{}`},
		"a list of others":     {PodsOf("n"), `{"kind":"NodeList","apiVersion":"v1","items":[]}`},
		"an item of others":    {PodsOf("n"), `{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Secret","data":{}}]}`},
		"an older version":     {NodeClaimsOf("p"), `{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"karpenter.sh/v1beta1","kind":"NodeClaim"}]}`},
		"an item that is no":   {PodsOf("n"), `{"kind":"PodList","apiVersion":"v1","items":[null]}`},
		"an item of text":      {PodsOf("n"), `{"kind":"PodList","apiVersion":"v1","items":["x"]}`},
		"another object":       {ANode("n"), `{"kind":"Secret","apiVersion":"v1"}`},
		"no object":            {ANode("n"), `null`},
		"an object of no kind": {ANode("n"), `{"hello":"x"}`},
		"a kind that is none":  {ANode("n"), `{"kind":7,"apiVersion":"v1"}`},
		"two":                  {ANode("n"), `{"kind":"Node","apiVersion":"v1"} {}`},
		"odd metadata":         {ANode("n"), `{"kind":"Node","apiVersion":"v1","metadata":[]}`},
		"odd containers":       {PodsOf("n"), `{"kind":"PodList","apiVersion":"v1","items":[{"spec":{"containers":{"env":"secret"}}}]}`},
	}
	for name, tt := range tests {
		c, _ := over(t, saying(http.StatusOK, tt.body))
		got, err := c.printed(t.Context(), tt.question)
		expect.That(t, err != nil && got == nil && strings.Contains(err.Error(), "is not what it should be: "), "%s: %s, %v", name, got, err)
	}
}

func TestWhatOwnsAFieldAndWhatWasAppliedLastAreLeftOut(t *testing.T) {
	c, _ := over(t, saying(http.StatusOK, `{"kind":"EC2NodeClass","apiVersion":"karpenter.k8s.aws/v1","metadata":{
		"name":"default","generation":12345678901234567890,"managedFields":[{"manager":"kubectl"}],
		"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"userData\":\"x\"}}","karpenter.k8s.aws/ec2nodeclass-hash":"1"}},
		"spec":{"share":1.50,"none":null}}`))
	got, err := c.printed(t.Context(), AnEC2NodeClass("default"))
	want := `{"apiVersion":"karpenter.k8s.aws/v1","kind":"EC2NodeClass","metadata":{"annotations":{"karpenter.k8s.aws/ec2nodeclass-hash":"1"},"generation":12345678901234567890,"name":"default"},"spec":{"none":null,"share":1.50}}`
	expect.That(t, err == nil && string(got) == want, "got  %s, %v\nwant %s", got, err, want)
}

func TestTheNewestEventsAreKeptInTheOrderOfTheirTime(t *testing.T) {
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) string { return start.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339) }
	var items []string
	for i := range MaxEvents + 5 { // the newest first, each dated in another way
		minutes := MaxEvents + 5 - i
		dated := []string{
			fmt.Sprintf(`"lastTimestamp":%q,"firstTimestamp":%q,"eventTime":null`, at(minutes), at(0)),
			fmt.Sprintf(`"lastTimestamp":null,"eventTime":%q`, start.Add(time.Duration(minutes)*time.Minute).Format("2006-01-02T15:04:05.000000Z07:00")),
			fmt.Sprintf(`"eventTime":%q,"series":{"count":2,"lastObservedTime":%q}`, at(0), at(minutes)),
			fmt.Sprintf(`"metadata":{"creationTimestamp":%q}`, at(minutes)),
		}[i%4]
		items = append(items, fmt.Sprintf(`{"count":%d,%s}`, minutes, dated))
	}
	items = append(items, `{"count":0,"lastTimestamp":"soon"}`) // at an unknown time
	c, _ := over(t, saying(http.StatusOK, `{"kind":"EventList","apiVersion":"v1","items":[`+strings.Join(items, ",")+`]}`))
	got, err := c.printed(t.Context(), EventsOfNode("n"))
	must.Succeed(t, err)
	var answer struct{ Items []struct{ Count int } }
	must.Succeed(t, json.Unmarshal(got, &answer))
	must.That(t, len(answer.Items) == MaxEvents, "%d events", len(answer.Items))
	for i, e := range answer.Items {
		must.That(t, e.Count == i+6, "event %d is of minute %d", i, e.Count)
	}
}

func TestReadSpeaksJSONWithAnAPIServerThatPrefersOtherwise(t *testing.T) {
	s := newAPIServer(t, manyNodes(1201)...)
	s.json = true
	got, err := s.client(t).printed(t.Context(), AllNodes())
	must.Succeed(t, err)
	var answer struct {
		Items []struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}
	}
	must.Succeed(t, json.Unmarshal(got, &answer))
	n := len(answer.Items)
	must.That(t, n == 1201 && len(s.requests) == 3, "%d nodes in %d requests", n, len(s.requests))
	want := answer.Items[1200]
	want.APIVersion, want.Kind, want.Metadata.Name = "v1", "Node", "node-1200"
	expect.Same(t, answer.Items[1200], want, "answer.Items[1200]")
	for _, r := range s.requests {
		expect.Equal(t, r.Header.Get("Accept"), applicationJSON, "accepts")
	}
}
