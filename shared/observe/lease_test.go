package observe

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"rollcall/shared/kube"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// leaseAPI is a Kubernetes API in memory with leases, by name: the renewal time of each, or the
// status returned instead. It is a dialer.
type leaseAPI struct {
	asked   []string
	renewed map[string]time.Time
	fails   map[string]int // 0 is an answer that was not captured
	cannot  error          // be reached
}

// Dial implements the dialer of an observer.
func (l *leaseAPI) Dial(roll.Cluster) (*kube.Client, error) {
	if l.cannot != nil {
		return nil, l.cannot
	}
	return kube.NewInMemoryClient(l)
}

// RoundTrip implements http.RoundTripper.
func (l *leaseAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	name := path.Base(r.URL.Path)
	l.asked = append(l.asked, name)
	if status, fails := l.fails[name]; fails {
		return replied(r, status, "")
	}
	at, has := l.renewed[name]
	if !has {
		return replied(r, http.StatusNotFound, "")
	}
	spec := "{}"
	if !at.IsZero() {
		spec = fmt.Sprintf(`{"renewTime":%q}`, at.Format(time.RFC3339))
	}
	return replied(r, http.StatusOK, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","spec":`+spec+`}`)
}

// ask reads the leases of n instances. The node of instance i is named dns-i, or claim-i by
// Karpenter.
func (l *leaseAPI) ask(t *testing.T, n int, change func(*roll.Snapshot)) *roll.Snapshot {
	t.Helper()
	s := &roll.Snapshot{At: at, Details: map[roll.InstanceID]roll.Detail{}}
	var questions []roll.Question
	for i := range n {
		id := roll.InstanceID(instanceID(i))
		s.Instances = append(s.Instances, roll.Instance{ID: id, PrivateDNS: fmt.Sprint("dns-", i)})
		questions = append(questions, roll.Question{Instance: id, Lease: true})
	}
	change(s)
	New(Options{Kube: l}).Details(t.Context(), s, questions)
	return s
}

// An instance may have two names: the one from EC2, and the Node name that Karpenter reports. If
// one could not be read, that means nothing for the other.
func TestReadsTheLeasesOfInstancesWithoutANode(t *testing.T) {
	long, lately := at.Add(-time.Hour), at.Add(-time.Second)
	for name, tt := range map[string]struct {
		api   leaseAPI
		want  roll.Answer
		at    time.Time
		asked int
		gaps  int
	}{
		"neither has one":          {leaseAPI{}, roll.No, time.Time{}, 2, 0},
		"one has":                  {leaseAPI{renewed: map[string]time.Time{"claim-0": lately}}, roll.Yes, lately, 2, 0},
		"the other has":            {leaseAPI{renewed: map[string]time.Time{"dns-0": lately}}, roll.Yes, lately, 2, 0},
		"both have":                {leaseAPI{renewed: map[string]time.Time{"claim-0": lately, "dns-0": long}}, roll.Yes, lately, 2, 0},
		"one has, one is denied":   {leaseAPI{renewed: map[string]time.Time{"claim-0": lately}, fails: map[string]int{"dns-0": 403}}, roll.Unreadable, lately, 2, 1},
		"one is empty, one has":    {leaseAPI{renewed: map[string]time.Time{"claim-0": {}, "dns-0": lately}}, roll.Unreadable, lately, 2, 1},
		"one is empty, one is not": {leaseAPI{renewed: map[string]time.Time{"claim-0": {}}}, roll.Unreadable, time.Time{}, 2, 1},
		"denied":                   {leaseAPI{fails: map[string]int{"claim-0": 403}}, roll.Unreadable, time.Time{}, 1, 1},
		"throttled":                {leaseAPI{fails: map[string]int{"claim-0": 429}}, roll.Unreadable, time.Time{}, 1, 1},
		"not captured":             {leaseAPI{fails: map[string]int{"claim-0": 0, "dns-0": 0}}, roll.Unreadable, time.Time{}, 2, 1},
		"no way there":             {leaseAPI{cannot: errors.New("no endpoint")}, roll.Unreadable, time.Time{}, 0, 1},
	} {
		s := tt.api.ask(t, 1, func(s *roll.Snapshot) {
			s.Details[s.Instances[0].ID] = roll.Detail{HasNodeClaim: roll.Yes, NodeClaim: &roll.NodeClaim{Node: "claim-0"}}
		})
		d := s.Details[s.Instances[0].ID]
		expect.That(t, d.LeaseRead == tt.want && d.LeaseRenewed.Equal(tt.at) && (d.LeaseOf == "") == tt.at.IsZero() && len(tt.api.asked) == tt.asked && len(s.Gaps) == tt.gaps, "%s: %+v, asked for %v, gaps %+v", name, d, tt.api.asked, s.Gaps)
	}
}

// An error for one of them stops no other read. An error for all of them is noted once.
func TestALeaseThatCannotBeReadHidesNoOther(t *testing.T) {
	for name, tt := range map[string]struct {
		api  leaseAPI
		want roll.Answer // of the second
	}{
		"it is empty":   {leaseAPI{renewed: map[string]time.Time{"dns-0": {}}}, roll.No},
		"it is invalid": {leaseAPI{fails: map[string]int{"dns-0": 422}}, roll.No},
		"denied":        {leaseAPI{fails: map[string]int{"dns-0": 403}}, roll.Unreadable},
		"unauthorized":  {leaseAPI{fails: map[string]int{"dns-0": 401}}, roll.Unreadable},
		"throttled":     {leaseAPI{fails: map[string]int{"dns-0": 429}}, roll.Unreadable},
		"it broke down": {leaseAPI{fails: map[string]int{"dns-0": 500}}, roll.Unreadable},
	} {
		s := tt.api.ask(t, 2, func(*roll.Snapshot) {})
		first, second := s.Details[s.Instances[0].ID].LeaseRead, s.Details[s.Instances[1].ID].LeaseRead
		expect.That(t, first == roll.Unreadable && second == tt.want && len(s.Gaps) == 1, "%s: %v and %v, gaps %+v", name, first, second, s.Gaps)
	}
}

func TestAnInstanceWithoutANameIsNotSaidToHaveNoLease(t *testing.T) {
	l := &leaseAPI{}
	s := l.ask(t, 2, func(s *roll.Snapshot) { s.Instances[0].PrivateDNS = "" })
	got := s.Details[s.Instances[0].ID].LeaseRead
	expect.That(t, got == roll.Unreadable && len(s.Gaps) == 1 && strings.Contains(s.Gaps[0].Detail, instanceID(0)), "%v, gaps %+v", got, s.Gaps)
	expect.Equal(t, s.Details[s.Instances[1].ID].LeaseRead, roll.No, "the other")
}

func TestSoManyLeasesAreReadAndNoMore(t *testing.T) {
	for n, unread := range map[int]int{leaseReads - 1: 0, leaseReads: 0, leaseReads + 1: 1} {
		l := &leaseAPI{}
		s, got := l.ask(t, n, func(*roll.Snapshot) {}), 0
		for _, d := range s.Details {
			if d.LeaseRead == roll.Unreadable {
				got++
			}
		}
		expect.That(t, got == unread && len(s.Gaps) == unread && len(l.asked) == n-unread, "%d wanted: %d unread, %d asked for, gaps %+v", n, got, len(l.asked), s.Gaps)
	}
}
