package observe

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/kube"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// podAPI is a Kubernetes API in memory, whose nodes have one pod each. It is a dialer.
type podAPI struct {
	asked  []string
	fails  map[string]int // by path: the status in place of an answer; 0 is an answer that was not captured
	cannot error          // be reached
	items  string         // of the listing of PersistentVolumes
}

// Dial implements the dialer of an observer.
func (p *podAPI) Dial(roll.Cluster) (*kube.Client, error) {
	if p.cannot != nil {
		return nil, p.cannot
	}
	return kube.NewInMemoryClient(p)
}

// RoundTrip implements http.RoundTripper.
func (p *podAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	p.asked = append(p.asked, r.URL.Path)
	if status, fails := p.fails[r.URL.Path]; fails {
		return replied(r, status, "")
	}
	body := `{"kind":"List","apiVersion":"v1","items":[]}`
	switch node, one := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/"); {
	case one:
		body = fmt.Sprintf(`{"kind":"Node","apiVersion":"v1","metadata":{"name":%q}}`, node)
	case r.URL.Path == "/api/v1/persistentvolumes" && p.items != "":
		body = `{"kind":"PersistentVolumeList","apiVersion":"v1","items":[` + p.items + `]}`
	case r.URL.Path == "/api/v1/pods":
		body = fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"namespace":"shop","name":"on-%s"}}]}`, strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "spec.nodeName="))
	}
	return replied(r, http.StatusOK, body)
}

// replied returns the answer of an API server in memory: the body, or a Status with another code. 0 is an answer
// that was not captured.
func replied(r *http.Request, code int, body string) (*http.Response, error) {
	if code == 0 {
		return nil, kube.ErrNotCaptured
	}
	if code != http.StatusOK {
		reason := map[int]string{403: "Forbidden", 404: "NotFound", 429: "TooManyRequests"}[code]
		body = fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"no"}`, reason, code)
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (p *podAPI) ask(t *testing.T, n int, at time.Time) *roll.Snapshot {
	t.Helper()
	s := &roll.Snapshot{At: at, Details: map[roll.InstanceID]roll.Detail{}}
	var questions []roll.Question
	for i := range n {
		questions = append(questions, roll.Question{Instance: roll.InstanceID(instanceID(i)), Pods: fmt.Sprint("node-", i)})
	}
	New(Options{Kube: p}).Details(t.Context(), s, questions)
	return s
}

func TestReadsWhatSilentNodesRun(t *testing.T) {
	p := &podAPI{}
	s := p.ask(t, 2, at)
	for i := range 2 {
		has := s.Details[roll.InstanceID(instanceID(i))].Pods
		expect.That(t, has != nil && has.Read == roll.Yes && has.BudgetsRead == roll.Yes && has.VolumesRead == roll.Yes && len(has.Pods) == 1 && has.Pods[0].Name == fmt.Sprint("shop/on-node-", i), "node %d: %+v", i, has)
	}
	if len(p.asked) != 6 || len(s.Gaps) != 0 { // budgets and volumes are read once
		t.Errorf("asked for %v, gaps %+v", p.asked, s.Gaps)
	}
}

// Of a Node that was deleted only the volumes are read.
func TestReadsTheVolumesOfADeletedNode(t *testing.T) {
	for status, want := range map[int]roll.Answer{200: roll.Yes, 403: roll.Unreadable} {
		p := &podAPI{}
		if status != 200 {
			p.fails = map[string]int{"/api/v1/persistentvolumes": status}
		}
		s := &roll.Snapshot{At: at, Details: map[roll.InstanceID]roll.Detail{}}
		New(Options{Kube: p}).Details(t.Context(), s, []roll.Question{{Instance: "i-1", Pods: "node-1", Deleted: true}})
		has := s.Details["i-1"].Pods
		expect.That(t, has.Read == roll.Yes && has.VolumesRead == want && len(p.asked) == 2, "%d: %+v by %v", status, has, p.asked)
	}
}

// They take no turn from silent nodes, of which one listing each is read.
func TestDeletedNodesTakeNoTurns(t *testing.T) {
	p := &podAPI{}
	s := &roll.Snapshot{At: at, Details: map[roll.InstanceID]roll.Detail{}}
	var questions []roll.Question
	for i := range 2 * podReads {
		questions = append(questions, roll.Question{Instance: roll.InstanceID(instanceID(i)), Pods: fmt.Sprint("node-", i), Deleted: i > 0})
	}
	New(Options{Kube: p}).Details(t.Context(), s, questions)
	for i := range questions {
		has := s.Details[roll.InstanceID(instanceID(i))].Pods
		expect.That(t, has.Read == roll.Yes && !has.Later, "node %d: %+v", i, has)
	}
}

// One listing answers for all suspects.
func TestReadsWhetherPodsWait(t *testing.T) {
	for status, want := range map[int]roll.Answer{200: roll.Yes, 403: roll.Unreadable} {
		p := &podAPI{}
		if status != 200 {
			p.fails = map[string]int{"/api/v1/pods": status}
		}
		s := &roll.Snapshot{At: at, Details: map[roll.InstanceID]roll.Detail{}}
		New(Options{Kube: p}).Details(t.Context(), s, []roll.Question{{Instance: "i-1"}, {Instance: "i-2", Waiting: true}, {Instance: "i-3", Waiting: true}})
		expect.That(t, s.PodsWait == want && len(p.asked) == 1 && (len(s.Gaps) == 0) == (want == roll.Yes), "%d: %v by %v, gaps %+v", status, s.PodsWait, p.asked, s.Gaps)
	}
}

// An error for one node hides no other. An error for all is noted once.
func TestANodeThatCannotBeReadHidesNoOther(t *testing.T) {
	for status, want := range map[int]roll.Answer{404: roll.Yes, 422: roll.Yes, 401: roll.Unreadable, 403: roll.Unreadable, 429: roll.Unreadable, 500: roll.Unreadable} {
		p := &podAPI{fails: map[string]int{"/api/v1/nodes/node-0": status}}
		s := p.ask(t, 2, at)
		first, second := s.Details[roll.InstanceID(instanceID(0))].Pods.Read, s.Details[roll.InstanceID(instanceID(1))].Pods.Read
		expect.That(t, first == roll.Unreadable && second == want && len(s.Gaps) == 1, "%d: %v and %v, gaps %+v", status, first, second, s.Gaps)
	}
}

// Each silent node is read in time, at any interval of checks and for any number of silent nodes.
func TestEveryoneHasATurn(t *testing.T) {
	for minutes := 1; minutes <= 15; minutes++ {
		for _, n := range []int{podReads, podReads + 1, 12, 15, 17, 25, 26, 35, 50, 65, 97, 125} {
			var asked []roll.Question
			for i := range n {
				asked = append(asked, roll.Question{Instance: roll.InstanceID(instanceID(i))})
			}
			read := map[roll.InstanceID]bool{}
			checks := 0
			for at := at; len(read) < n && checks < 4*n; at = at.Add(time.Duration(minutes) * time.Minute) {
				order := roll.InTurn(asked, podReads/2, at)
				for _, q := range order[:podReads] {
					read[q.Instance] = true
				}
				each := map[roll.InstanceID]bool{}
				for _, q := range order {
					each[q.Instance] = true
				}
				if checks++; len(order) != n || len(each) != n || !slices.Equal(order[:podReads/2], asked[:podReads/2]) {
					t.Fatalf("%v of %d", order, n)
				}
			}
			expect.That(t, len(read) >= n, "every %d min: %d of %d were read in %d checks", minutes, len(read), n, checks)
		}
	}
}

// One check reads the pods of a limited number of nodes, and in time those of all.
func TestThePodsOfManySilentNodesAreReadInTurn(t *testing.T) {
	const n, checks = 50, 100
	read := map[int]int{}
	for check := range checks {
		s := (&podAPI{}).ask(t, n, at.Add(time.Duration(check)*5*time.Minute))
		now := 0
		for i := range n {
			switch has := s.Details[roll.InstanceID(instanceID(i))].Pods; {
			case has == nil, (has.Read == roll.Yes) == has.Later:
				t.Fatalf("node %d: %+v", i, has)
			case !has.Later:
				now++
				read[i]++
			}
		}
		expect.That(t, now == podReads, "check %d: %d nodes", check, now)
	}
	for i := range n {
		if read[i] == 0 || i < podReads/2 && read[i] != checks {
			t.Errorf("node %d was read %d times in %d checks", i, read[i], checks)
		}
	}
}

func TestWhatASilentNodeRunsMayBeUnreadable(t *testing.T) {
	type answers struct{ pods, budgets, volumes roll.Answer }
	for name, tt := range map[string]struct {
		api  podAPI
		want answers
		gaps int
	}{
		"no way there":         {podAPI{cannot: errors.New("no endpoint")}, answers{roll.Unreadable, roll.NotAsked, roll.NotAsked}, 1},
		"pods denied":          {podAPI{fails: map[string]int{"/api/v1/pods": 403}}, answers{roll.Unreadable, roll.Yes, roll.Yes}, 1},
		"nodes denied":         {podAPI{fails: map[string]int{"/api/v1/nodes/node-0": 403}}, answers{roll.Unreadable, roll.Yes, roll.Yes}, 1},
		"the node is gone":     {podAPI{fails: map[string]int{"/api/v1/nodes/node-0": 404}}, answers{roll.Unreadable, roll.Yes, roll.Yes}, 1},
		"budgets denied":       {podAPI{fails: map[string]int{"/apis/policy/v1/poddisruptionbudgets": 403}}, answers{roll.Yes, roll.Unreadable, roll.Yes}, 1},
		"volumes denied":       {podAPI{fails: map[string]int{"/api/v1/persistentvolumes": 403}}, answers{roll.Yes, roll.Yes, roll.Unreadable}, 1},
		"pods not captured":    {podAPI{fails: map[string]int{"/api/v1/pods": 0}}, answers{roll.No, roll.Yes, roll.Yes}, 0},
		"budgets not captured": {podAPI{fails: map[string]int{"/apis/policy/v1/poddisruptionbudgets": 0}}, answers{roll.Yes, roll.No, roll.Yes}, 0},
	} {
		s := tt.api.ask(t, 3, at)
		has := s.Details[roll.InstanceID(instanceID(0))].Pods
		got := (answers{has.Read, has.BudgetsRead, has.VolumesRead})
		expect.That(t, got == tt.want && len(s.Gaps) == tt.gaps, "%s: %+v, want %+v, gaps %+v", name, got, tt.want, s.Gaps)
		if other := s.Details[roll.InstanceID(instanceID(1))].Pods; name == "the node is gone" && other.Read != roll.Yes {
			t.Errorf("another node: %+v", other)
		}
		for _, g := range s.Gaps {
			if g.Scope != roll.ScopeDetail || name != "no way there" && name != "the node is gone" && g.Kind != roll.GapDenied {
				t.Errorf("%s: %+v", name, g)
			}
		}
	}
}
