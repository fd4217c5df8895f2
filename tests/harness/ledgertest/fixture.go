package ledgertest

import (
	"fmt"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// Subjects of the tests.
var (
	Cluster = roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}
	// Other has the same name in another region.
	Other = roll.ClusterID{Account: "111122223333", Region: "us-east-1", Name: "demo"}
	T0    = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	// Wide is a budget that permits everything.
	Wide = ledger.Budget{Max: 100}
)

// Intent returns the intent to terminate an instance without a group.
func Intent(id string, instance roll.InstanceID, at time.Time) ledger.Action {
	return ledger.Action{ID: id, Do: "terminate", Instance: instance, Group: roll.GroupNone, Kind: roll.Unknown, At: at}
}

// Changes returns changes that put a record of each kind.
func Changes() ledger.Changes {
	key := ledger.NoticeKey{Group: "asg/w", Kind: roll.Unknown}
	return ledger.Changes{
		Put: ledger.State{
			RemediateSince:  map[roll.Group]time.Time{"asg/w": T0},
			Findings:        map[roll.FindingKey]ledger.Finding{{Instance: "i-00000001", Kind: roll.Unknown}: {Instance: "i-00000001", Kind: roll.Unknown, Node: "n", Group: "asg/w", Stage: roll.Overdue, FirstSeen: T0, Opened: T0, Since: T0.Add(-time.Hour)}},
			NotReady:        map[roll.InstanceID]ledger.NotReady{"i-00000001": {Since: T0, Status: roll.ConditionUnknown, Transition: T0}},
			Rests:           map[roll.InstanceID]ledger.Rest{"i-00000002": {}, "i-00000003": {Left: T0}},
			GroupsWithNodes: map[roll.Origin]time.Time{"asg/w": T0},
			Notices:         map[ledger.NoticeKey]ledger.Notice{key: {SentAt: T0, Members: map[roll.InstanceID]ledger.MemberMemory{"i-00000001": {Last: ledger.Statement{Stage: roll.Overdue}, Told: ledger.Statement{Stage: roll.Overdue}}}, Incident: Incident()}},
			Checked:         T0,
			First:           T0.Add(-time.Hour),
			Missing:         map[roll.InstanceID]time.Time{"i-00000001": T0},
			Flips:           map[roll.InstanceID][]time.Time{"i-00000002": {T0.Add(-time.Minute), T0}},
			Pressures:       map[roll.InstanceID]ledger.Pressure{"i-00000001": {Types: []string{"DiskPressure", "MemoryPressure"}, Since: T0.Add(-time.Hour)}},
			Groups:          map[roll.Group]ledger.GroupMemory{"asg/w": {Seconds: []int{48, 61}, Counted: T0.Add(-time.Hour), Good: T0.Add(-2 * time.Hour), Pressed: []ledger.GroupPressure{{Instance: "i-00000001", Node: "node-1", Type: "DiskPressure", Since: T0.Add(-time.Hour)}}}},
			Trouble: &ledger.Trouble{
				Reason: "ZoneOutage", Since: T0.Add(-time.Minute), Last: T0, Told: T0.Add(-time.Hour),
				Outage: ledger.Outage{Reason: "ClusterUnreachable", Since: T0.Add(-2 * time.Hour), Last: T0.Add(-5 * time.Minute)},
			},
			Refusals: map[ledger.RefusalKey]ledger.Refusal{
				{Order: "3f9a0c5d7e1b2468", Reason: "VerdictChanged"}: {Instance: "i-00000001", Kind: roll.Unknown, Do: "terminate", At: T0, Given: T0.Add(time.Hour)},
			},
		},
	}
}

// Findings returns changes that put n findings, each a nanosecond later than the one
// before.
func Findings(n int) (c ledger.Changes) {
	c.Put = ledger.NewState()
	for i := range n {
		at := T0.Add(time.Duration(i))
		f := ledger.Finding{
			Instance: InstanceID(i), Kind: roll.Unknown, Node: fmt.Sprintf("node-%d", i), Group: "asg/w",
			Stage: roll.Warned, FirstSeen: at, Opened: at, Since: at, Began: at,
		}
		c.Put.Findings[f.Key()] = f
	}
	return c
}

// Notice returns a notice of n instances.
func Notice(n int) ledger.Notice {
	members := map[roll.InstanceID]ledger.MemberMemory{}
	memories := []ledger.MemberMemory{
		{Last: ledger.Statement{Stage: roll.Overdue}, Told: ledger.Statement{Stage: roll.Overdue}}, {Last: ledger.Statement{Held: "UnhealthyShare"}, Told: ledger.Statement{Held: "UnhealthyShare"}}, {Last: ledger.Statement{Stage: roll.Overdue}, Unnamed: true},
	}
	for i := range n {
		members[InstanceID(i)] = memories[i%len(memories)]
	}
	return ledger.Notice{SentAt: T0.Add(time.Duration(n)), Members: members, Incident: Incident()}
}

// Incident returns the incident of the notices here.
func Incident() ledger.Incident {
	return ledger.Incident{ID: "5d1c7f9e3b2a4680", First: T0.Add(-time.Hour), Sent: 3, Most: 2, Total: 7, Told: 5, Stages: []roll.Stage{roll.Overdue}, Reasons: []string{"SharedCause"}, Causes: []string{""}}
}

// InstanceID returns an instance id in the form of EC2.
func InstanceID(n int) roll.InstanceID { return roll.InstanceID(fmt.Sprintf("i-%017x", n)) }
