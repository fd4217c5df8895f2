package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestWhatChangedIsShownLaterAndInItsOrder(t *testing.T) {
	a, c := shop(t)
	g := c.group("general")
	var seen []string // of the launched machines, as states by id
	last := map[string]string{}
	var m *machine
	a.in(0, func() {
		m = g.add()
		expect.That(t, m.shown == nil, "it is shown at once")
	})
	for i := range 40 {
		a.until(a.Now().Add(500 * time.Millisecond))
		if m.shown != nil && last[m.id] != string(m.shown.State.Name) {
			last[m.id] = string(m.shown.State.Name)
			seen = append(seen, last[m.id])
		}
		if i == 25 {
			m.end("a test")
		}
	}
	a.until(a.Now().Add(2 * time.Minute))
	seen = append(seen, string(m.shown.State.Name))
	if !slices.Equal(seen, []string{"pending", "running", "shutting-down", "terminated"}) && !slices.Equal(seen, []string{"running", "shutting-down", "terminated"}) {
		t.Errorf("seen %v", seen)
	}
	expect.That(t, m.shown.VpcId == nil && m.shown.StateReason != nil, "terminated: %+v", m.shown)
	a.until(m.ended.Add(45 * time.Minute))
	expect.That(t, a.machines[m.id] == m && slices.Contains(c.machines, m), "it is forgotten soon")
	a.until(m.ended.Add(75 * time.Minute))
	expect.That(t, a.machines[m.id] == nil && !slices.Contains(c.machines, m) && !slices.Contains(idsOf(c.list()), m.id), "it is not forgotten")
}

func TestAnswersStayAsTheyWere(t *testing.T) {
	a, c := shop(t)
	m := c.machines[0]
	before := c.list()
	old := *before[0].State
	m.tags = with(m.tags, tag{roll.TagHold, "true"})
	m.touch()
	m.end("a test")
	a.until(a.Now().Add(time.Minute))
	expect.That(t, *before[0].State == old && len(before[0].Tags) != len(m.tags), "what was answered turned into %+v", before[0])
	after := c.list()
	expect.That(t, after[0].State.Name == types.InstanceStateNameTerminated && len(after[0].Tags) == len(m.tags), "what is answered is %+v", after[0])
	expect.That(t, slices.Equal(after[1:2][0].Tags, before[1].Tags), "another instance changed")
}

func TestStale(t *testing.T) {
	a, c := shop(t)
	a.weather.spells = []spell{{from: a.Now(), to: a.Now().Add(time.Hour), what: FaultStale, share: 1}}
	m := c.machines[0]
	m.tags = with(m.tags, tag{roll.TagOrder, "one"})
	m.touch()
	a.until(a.Now().Add(staleLeast - time.Second))
	expect.That(t, len(m.shownTags) != len(m.tags), "it is shown soon")
	a.until(a.Now().Add(staleMost))
	expect.That(t, len(m.shownTags) == len(m.tags), "it is not shown")
}

func TestALaunchedMachineStaysOfItsKind(t *testing.T) {
	a, c := shop(t)
	g := c.group("general")
	m := g.members[0]
	g.kind = kindOf("m6g.large")
	m.tags = with(m.tags, tag{roll.TagOrder, "one"})
	m.touch()
	a.until(a.Now().Add(time.Minute))
	expect.That(t, m.shown.InstanceType == "m5.large" && m.shown.Architecture == types.ArchitectureValuesX8664, "it became %s, %s", m.shown.InstanceType, m.shown.Architecture)
}

func BenchmarkListing(b *testing.B) {
	a, err := newAccount(Scenario{Seed: 7, Start: dawn, Permitted: "observe", Sweep: 5 * time.Minute, Quiet: true}, Watch{})
	must.Succeed(b, err)
	defer a.shutdown()
	a.found(ClusterSpec{Name: "large", Groups: []GroupSpec{{Name: "general", Owner: "karpenter", Type: "m5.large", Desired: 1000}}})
	c := a.clusters[0]
	tags := [2][]tag{c.machines[500].tags, with(c.machines[500].tags, tag{roll.TagFinding, "Unknown"})}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N { // with one change each time
		c.machines[500].show(running, tags[(i+1)%2], c.groups[0].kind)
		must.That(b, len(c.list()) == 1000, "instances are missing")
	}
}
