package sim

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"rollcall/shared/lambdas/config"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// resources returns the resources of the template, by name.
func resources(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../../template.yaml")
	must.Succeed(t, err)
	names := regexp.MustCompile(`(?m)^  ([A-Z][A-Za-z]+):\n`)
	text, all := string(data), map[string]string{}
	at := names.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		all[text[m[2]:m[3]]] = text[m[1]:end]
	}
	return all
}

// number returns the value of a property, or -1 if the resource does not have it.
func number(resource, property string) int {
	_, after, found := strings.Cut(resource, property+": ")
	n := -1
	if _, err := fmt.Sscan(after, &n); !found || err != nil {
		return -1
	}
	return n
}

func TestTheDeploymentIsTheTemplates(t *testing.T) {
	all, d := resources(t), bare(t, false).dep
	for name, q := range map[string]*queue{"EventsQueue": d.events, "ChecksQueue": d.checks, "OrdersQueue": d.orders} {
		r := all[name]
		for property, got := range map[string]int{
			"VisibilityTimeout": int(q.visibility.Seconds()), "MessageRetentionPeriod": int(q.retention.Seconds()), "maxReceiveCount": q.maxReceives,
		} {
			want := number(r, property)
			expect.That(t, got == want, "%s: %s is %d, the template has %d", name, property, got, want)
		}
		fifo, content := strings.Contains(r, "FifoQueue: true"), strings.Contains(r, "ContentBasedDeduplication: true")
		expect.That(t, q.fifo == fifo && q.byContent == content, "%s: FIFO %v, by content %v", name, q.fifo, q.byContent)
	}
	for name, fn := range map[string]functionName{"StateChangeFunction": stateChange, "SweepFunction": sweep, "InspectFunction": inspect, "RemediateFunction": remediator, "ApproveFunction": approver} {
		r, f := all[name], d.functions[fn]
		want := number(r, "Timeout")
		expect.That(t, int(f.timeout.Seconds()) == want, "%s: %s, the template has %d s", name, f.timeout, want)
		for _, q := range []*queue{d.events, d.checks, d.orders} {
			if q.fn != f {
				continue
			}
			expect.That(t, q.batch == number(r, "BatchSize") && q.consumers == number(r, "MaximumConcurrency") && max(0, number(r, "MaximumBatchingWindowInSeconds")) == int(q.window.Seconds()), "%s: batches of %d within %s, %d at once", name, q.batch, q.window, q.consumers)
		}
	}
	if r := all["SweepFunction"]; !strings.Contains(r, fmt.Sprintf("ReservedConcurrentExecutions: !If [Reserves, %d,", sweepsReserved)) ||
		number(strings.ReplaceAll(r, ",", " "), "MaximumRetryAttempts") != asyncRetries || !strings.Contains(r, fmt.Sprintf("MaximumEventAgeInSeconds: %d", int(asyncAge.Seconds()))) {
		t.Error("the sweep is invoked in another way than the template's")
	}
}

// The environment variables of the functions must be known settings.
func TestTheNamesOfTheStackAreSettings(t *testing.T) {
	d := bare(t, false).dep
	set := map[string]string{
		config.Mode: "remediate", config.PolicyParameter: policyParameter, config.Topic: topicARN, config.ChatTopic: chatARN, config.ChecksQueueURL: d.checks.url(), config.ChecksQueueARN: d.checks.arn(),
		config.OrdersQueueURL: d.orders.url(), config.ScheduleGroup: scheduleGroup, config.ScheduleRole: scheduleRole, config.EventBus: eventBus, config.EvidenceBucket: bucketName,
	}
	var names []string
	for name := range set {
		names = append(names, name)
	}
	if _, err := config.Read(func(name string) (string, bool) { v, ok := set[name]; return v, ok }, names...); err != nil {
		t.Error(err)
	}
}

func TestAGuardTakesThePlaceOfTheRealThing(t *testing.T) {
	a, err := newAccount(Scenario{Seed: 1, Start: dawn, Permitted: "remediate", Sweep: 300e9, Quiet: true, Clusters: []ClusterSpec{{Name: "demo"}}}, Watch{Guards: Guards{
		Plan: func(func(plan.Input) plan.Plan) func(plan.Input) plan.Plan {
			return func(plan.Input) plan.Plan { return plan.Plan{} }
		},
		Permitted: func(policy.Mode) policy.Mode { return policy.Observe },
	}})
	must.Succeed(t, err)
	v := a.environment(inspect)
	h := a.dep.newInspect(v)
	v.within(0, false, func() {
		out := h.Runner.Plan(plan.Input{Snapshot: &roll.Snapshot{}})
		expect.That(t, len(out.Orders) == 0 && h.Permitted == policy.Observe, "%+v, %s", out, h.Permitted)
	})
	expect.That(t, a.dep.permitted == policy.Remediate, "the auditor is to know the mode that the stack was deployed with")
}

func TestAnUnknownModeIsNoDeployment(t *testing.T) {
	_, err := newAccount(Scenario{Start: dawn, Permitted: "destroy"}, Watch{})
	expect.That(t, err != nil, "deployed")
}
