package sim

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"rollcall/shared/observe/apistats"
	"rollcall/shared/roll"
	"rollcall/tests/harness/awstest"
)

// moto is held to the same contract.
func TestAWSAnswersAsItDoes(t *testing.T) {
	a := bare(t, false)
	a.founding = true
	c := a.newCluster(ClusterSpec{Name: awstest.Cluster, Mode: "remediate", Groups: []GroupSpec{
		{Name: awstest.NodeGroup, Owner: "managed-nodegroup", Type: "m5.large"}, {Name: awstest.Spare, Owner: "managed-nodegroup", Type: "m5.large"},
		{Name: awstest.Group, Owner: "autoscaling-group", Type: "m5.large", Desired: 2}, {Name: "single", Owner: "none", Type: "m5.large", Desired: 5},
	}})
	c.populate()
	for _, m := range c.machines {
		m.tags = with(m.tags, tag{roll.TagOrder, "one"})
		m.touch()
	}
	a.founding = false
	names := map[string]string{
		awstest.Template: c.group(awstest.Group).template.id, awstest.Checks: a.dep.checks.url(), awstest.Orders: a.dep.orders.url(), awstest.Target: a.dep.checks.arn(), awstest.Topic: topicARN,
		awstest.Schedules: scheduleGroup, awstest.Role: scheduleRole,
	}
	members := c.group(awstest.Group).members
	slices.SortFunc(members, func(a, b *machine) int { return cmp.Compare(a.id, b.id) })
	names[awstest.Member], names[awstest.Other] = members[0].id, members[1].id
	for i, name := range []string{awstest.Single, awstest.Sleeper, awstest.Guarded, awstest.Ill, awstest.Gone} {
		names[name] = c.group("single").members[i].id
	}
	inside(t, a, inspect, func(v *env) {
		cfg := apistats.Intercept(v.aws(), apistats.Methods(sqsAPI{v}, snsAPI{v}, ssmAPI{v}, schedulerAPI{v}, eventsAPI{v}))
		awstest.Contract(t, awstest.Account{Config: cfg, Names: names, Do: func(act awstest.Act, id string) {
			a.machines[id].does(act)
			v.inv.wait(3 * time.Minute)
		}})
	})
}

// does makes an act.
func (m *machine) does(act awstest.Act) {
	switch act {
	case awstest.Protect:
		m.protected = true
	case awstest.Impair:
		m.fall(impaired, false, false)
	case awstest.Retire:
		m.schedule(Fault{Value: eventFar}, m.d)
	case awstest.Stop:
		m.stop(false)
	case awstest.Start:
		m.restart()
	case awstest.Shield:
		m.shielded = m.c.a.Now()
	case awstest.Standby:
		m.setAside(standby)
	case awstest.Return:
		m.setAside("")
	case awstest.Drop:
		m.g.desired--
		m.end("a test")
	case awstest.Forget:
		m.forget()
	}
}
