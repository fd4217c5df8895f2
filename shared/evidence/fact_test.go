package evidence_test

import (
	"testing"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// The reason of a missing value names the thing, unless its reader gave another reason.
func TestMissingSaysWhyAValueIsNotKnown(t *testing.T) {
	for _, c := range []struct {
		name string
		fact evidence.Fact[int]
		want string
	}{
		{"certainly none", evidence.None[int](), "there is no lease of node a"},
		{"not asked", evidence.Fact[int]{}, "lease of node a was not read"},
		{"not asked, for a reason", evidence.Skipped[int]("the cluster was not read"), "the cluster was not read"},
		{"not readable", evidence.Failed[int]("eks:DescribeCluster is denied"), "eks:DescribeCluster is denied"},
		{"not readable, without a reason", evidence.Failed[int](""), "it could not be read"},
	} {
		expect.Equal(t, c.fact.Missing("lease of node a"), c.want, "%s", c.name)
	}
}

// If EC2 does not list an instance, nothing about it is known; of one that is terminated, it shows little.
func TestAnInstanceThatEC2DoesNotListLacksNothing(t *testing.T) {
	const id = roll.InstanceID("i-0000000000000000a")
	c := func(config evidence.Fact[evidence.InstanceConfig]) *evidence.Case {
		i := evidence.Instance{Config: config, UserData: evidence.None[userdata.Boot]()}
		return &evidence.Case{Evidence: &evidence.Evidence{Instances: map[roll.InstanceID]evidence.Instance{id: i}}, Finding: roll.Finding{Instance: id}}
	}
	states := func(c *evidence.Case) map[string]evidence.State {
		data, _ := c.UserData()
		return map[string]evidence.State{
			"profile": c.Profile().State, "role": c.Role().State, "image": c.Image().State, "subnet": c.Subnet().State,
			"routes": c.RouteTable().State, "ACL": c.ACL().State, "user data": data.State,
		}
	}
	for what, state := range states(c(evidence.None[evidence.InstanceConfig]())) {
		expect.That(t, state == evidence.Unreadable, "the %s of an instance that is not listed is %s", what, state)
	}
	ended := states(c(evidence.Read(evidence.InstanceConfig{State: "terminated"})))
	listed := states(c(evidence.Read(evidence.InstanceConfig{State: "running"})))
	for _, what := range []string{"profile", "role", "user data"} {
		if ended[what] != evidence.Unreadable {
			t.Errorf("the %s of an instance that is terminated is %s", what, ended[what])
		}
		if listed[what] != evidence.Absent {
			t.Errorf("the %s of an instance without one is %s", what, listed[what])
		}
	}
}
