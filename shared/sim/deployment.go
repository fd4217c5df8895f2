package sim

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"rollcall/shared/aws/tags"
	"rollcall/shared/lambdas"
	"rollcall/shared/lambdas/ambient"
	"rollcall/shared/lambdas/bus"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/lambdas/dispatch"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/lambdas/statechange"
	sweeping "rollcall/shared/lambdas/sweep"
	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/observe/collect"
	"rollcall/shared/observe/view"
	"rollcall/shared/plan"
	"rollcall/shared/plan/replay"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// The names of the stack's resources.
const (
	stack           = "rollcall"
	policyParameter = "/rollcall/policy"
	topicARN        = "arn:aws:sns:" + region + ":" + accountID + ":rollcall-" + stack
	chatARN         = topicARN + "-chat"
	scheduleGroup   = stack + "-Schedules-1A2B3C4D5E6F"
	scheduleRole    = "arn:aws:iam::" + accountID + ":role/" + stack + "-SchedulesRole-1A2B3C4D5E6F"
	bucketName      = "rollcall-evidencebucket-1a2b3c4d5e6f"
	eventBus        = "default"
)

// deployment is one stack of template.yaml: a test compares its settings with the template's.
type deployment struct {
	a         *account
	guards    Guards
	permitted policy.Mode // the mode with which the stack was deployed
	policy    string      // the document in its parameter; "" if there is no parameter
	table     *table
	lost      bool // the table was lost with orders whose cordons remain
	bucket    *bucket
	schedules map[string]*schedule // the existing ones, by name

	events, checks, orders *queue
	functions              map[functionName]*function
	sweeping               int // sweeps in progress
}

// deploy creates the account's deployment. It does nothing until it is started.
func (a *account) deploy(g Guards) error {
	permitted, err := policy.ParseMode(a.sc.Permitted)
	if err != nil {
		return err
	}
	d := &deployment{
		a: a, guards: g, permitted: permitted, policy: a.sc.Policy,
		table: newTable(a), bucket: &bucket{bundles: map[string]bool{}, whole: map[string]bool{}}, functions: map[functionName]*function{}, schedules: map[string]*schedule{},
	}
	for name, timeout := range map[functionName]time.Duration{
		stateChange: time.Minute, sweep: 2 * time.Minute, inspect: 5 * time.Minute, remediator: 5 * time.Minute, approver: 15 * time.Second,
	} {
		d.functions[name] = &function{a: a, name: name, timeout: timeout, build: d.build}
	}
	d.events = d.newQueue(queue{
		name: stack + "-events", visibility: 380 * time.Second, retention: 4 * time.Hour, maxReceives: 5,
		fn: d.functions[stateChange], batch: 200, window: 20 * time.Second, consumers: 2,
	})
	d.checks = d.newQueue(queue{
		name: stack + "-checks.fifo", fifo: true, byContent: true, visibility: 330 * time.Second, retention: time.Hour, maxReceives: 2,
		fn: d.functions[inspect], batch: 1, consumers: 5,
	})
	d.orders = d.newQueue(queue{
		name: stack + "-remediations.fifo", fifo: true, visibility: 330 * time.Second, retention: 24 * time.Hour, maxReceives: 2,
		fn: d.functions[remediator], batch: 1, consumers: 2,
	})
	a.dep = d
	return nil
}

func (d *deployment) newQueue(q queue) *queue {
	q.a, q.d, q.sent, q.alike = d.a, d.a.d.of(q.name), map[string]accepted{}, map[dice]int{}
	return &q
}

func (d *deployment) state(cluster string) ledger.State {
	return d.table.state(roll.ClusterID{Account: accountID, Region: region, Name: cluster})
}

const sweepsReserved = 1 // the maximum number of concurrent sweeps

const sweepJitter = 20 * time.Second // the maximum delay of the sweep's schedule

// sweepAfter begins the sweeps, which continue for the whole run.
func (d *deployment) sweepAfter(t time.Time) {
	next := t.Truncate(d.a.sc.Sweep).Add(d.a.sc.Sweep)
	dice := d.a.d.of("sweep").of(next.String())
	d.a.at(next.Add(dice.of("jitter").between(0, sweepJitter)), func() {
		defer d.sweepAfter(next)
		if d.a.befalls(FaultMissedSweeps, "", dice.of("missed"), "the schedule does not fire") {
			return
		}
		d.sweeps(message{id: uid(dice), body: fmt.Sprintf(`{"planned":%q}`, next.Format(time.RFC3339))}, dice, d.a.Now(), 0)
	})
}

// build returns a function's handler for a new environment, wired as in its main.
func (d *deployment) build(v *env) func([]message) []string {
	switch v.fn {
	case stateChange:
		return batches(v, d.newStateChange(v).Handle, d.events)
	case sweep:
		h := d.newSweep(v)
		return func(batch []message) (failed []string) {
			for _, m := range batch {
				if err := h.Handle(v.context(), []byte(m.body)); err != nil {
					failed = append(failed, m.id)
				}
			}
			return failed
		}
	case inspect:
		return batches(v, d.newInspect(v).Handle, d.checks)
	case remediator:
		return batches(v, d.newRemediate(v).Handle, d.orders)
	case approver:
		return d.newApprove(v)
	}
	panic(fmt.Sprintf("no function %s", v.fn))
}

// batches invokes a function with messages of a queue as Lambda does.
func batches(v *env, handle func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), q *queue) func([]message) []string {
	return func(batch []message) (failed []string) {
		var event events.SQSEvent
		for _, m := range batch {
			record := events.SQSMessage{
				MessageId: m.id, Body: m.body, EventSource: "aws:sqs", EventSourceARN: q.arn(), AWSRegion: region,
				Attributes: map[string]string{"ApproximateReceiveCount": fmt.Sprint(m.receives)},
			}
			if q.fifo {
				record.Attributes["MessageGroupId"] = m.group
			}
			event.Records = append(event.Records, record)
		}
		response, err := handle(v.context(), event)
		if err != nil {
			for _, m := range batch {
				failed = append(failed, m.id)
			}
			return failed
		}
		for _, f := range response.BatchItemFailures {
			failed = append(failed, f.ItemIdentifier)
		}
		return failed
	}
}

func nobodys(context.Context) string { return "" }

func (v *env) ambient() ambient.Ambient {
	return ambient.Ambient{Clock: v.now, Log: slog.New(v.a.watch.Log), Metrics: v.a.watch.Metrics, Detailed: v.a.watch.Detailed}
}

func (v *env) policies() *config.PolicyParameterStore {
	return config.NewPolicyStore(ssmAPI{v}, config.Settings{PolicyParameter: policyParameter})
}

func (d *deployment) newSchedules(v *env) *dispatch.Schedules {
	return dispatch.NewSchedules(schedulerAPI{v}, scheduleGroup, d.checks.arn(), scheduleRole)
}

func (d *deployment) notices(v *env) Notices {
	return guarded(d.guards.Notices, Notices(report.NewTopic(snsAPI{v}, topicARN, chatARN, nobodys)))
}

func (d *deployment) ledger(v *env) ledger.Ledger {
	return guarded(d.guards.Ledger, ledger.Ledger(d.newLedger(v)))
}

func (d *deployment) planner(v *env) func(plan.Input) plan.Plan {
	planned := guarded(d.guards.Plan, plan.Make)
	return func(in plan.Input) plan.Plan {
		out := planned(in)
		v.inv.planned(in, out)
		return out
	}
}

// aws returns the configuration of a function's read-only AWS clients.
func (v *env) aws() aws.Config {
	none := apistats.Answered(region, func(_ context.Context, in any, _ apistats.Call) (any, error) {
		v.unsimulated(in)
		return nil, nil
	})
	whole := apistats.Intercept(none, apistats.Methods(ec2API{v}, eksAPI{v}))
	return apistats.Intercept(whole, v.reading(ec2API{v}, eksAPI{v}, autoScalingAPI{v}, zonalShiftAPI{v}, iamAPI{v}, agentsAPI{v}))
}

// view returns a View that reads serially: the account's simulation allows one call at a time.
func (d *deployment) view(v *env) *view.View {
	o := view.Options{Store: guarded(d.guards.Store, view.Store(evidenceStore{v})), PageInterval: time.Nanosecond, RollFrom: 1, Serial: true}
	if v.fn == inspect {
		o.Account = config.Settings{ChecksQueueARN: d.checks.arn()}.Account()
	}
	if d.a.sc.HostLogs {
		o.HostLogs = collect.HostLogs{Document: hostLogsDocument, Ask: v.fn == inspect}
	}
	return view.New(v.aws(), kubeDialer{v}, o)
}

func (d *deployment) newStateChange(v *env) *statechange.Handler {
	return &statechange.Handler{Ambient: v.ambient(), EC2: ec2API{v}, Policies: v.policies(), Schedules: d.newSchedules(v), Ledger: d.ledger(v), Home: trigger.Home{Region: region}}
}

func (d *deployment) newSweep(v *env) *sweeping.Handler {
	return &sweeping.Handler{
		Ambient: v.ambient(), EKS: eks.NewFromConfig(v.aws()), EC2: ec2.NewFromConfig(v.aws()), Checks: dispatch.NewChecks(sqsAPI{v}, d.checks.url()),
		Fleet: d.newLedger(v), Region: region, Interval: d.a.sc.Sweep,
	}
}

func (d *deployment) newInspect(v *env) *lambdas.Inspect {
	look := d.view(v)
	inspect := &lambdas.Inspect{
		Ambient: v.ambient(),
		Runner: run.Runner{
			Observer: guarded(d.guards.Observer, Observer(look.Observer)),
			Why:      guarded(d.guards.Check, run.Why(look.Check)),
			Ledger:   d.ledger(v),
			Tags:     guarded(d.guards.Tags, Tags(tags.New(ec2API{v}, nobodys))),
			Notices:  d.notices(v),
			Plan:     d.planner(v),
			Clock:    v.now,
			ReadTime: lambdas.ReadTime, WhyTime: view.WhyTime,
		},
		Policies:      v.policies(),
		Permitted:     guarded(d.guards.Permitted, d.permitted),
		SweepInterval: d.a.sc.Sweep,
		Orders:        dispatch.NewOrders(sqsAPI{v}, d.orders.url()),
		Schedules:     d.newSchedules(v),
		Events:        bus.New(eventsAPI{v}, eventBus),
		Fleet:         d.newLedger(v),
	}
	if record := d.a.watch.Record; record != nil {
		inspect.Runner.Record = func(_ context.Context, c replay.Recorded) error { return record(c) }
	}
	return inspect
}

func (d *deployment) newRemediate(v *env) *lambdas.Remediate {
	look := d.view(v)
	remediator, err := remediate.New(remediate.Options{
		Targets:   guarded(d.guards.Targets, Targets(look.Observer)),
		EC2:       ec2API{v},
		Kube:      kubeDialer{v},
		Why:       guarded(d.guards.Act, remediate.Why(look.Act)),
		Ledger:    d.ledger(v),
		Policy:    guarded(d.guards.Policy, remediate.PolicySource(v.policies().Read)),
		Permitted: guarded(d.guards.Permitted, d.permitted),
		Plan:      d.planner(v),
		Clock:     v.now,
	})
	if err != nil {
		panic(err) // only without a persistent ledger or a store for evidence
	}
	return &lambdas.Remediate{
		Ambient: v.ambient(), Remediator: remediator, Notices: d.notices(v), Events: bus.New(eventsAPI{v}, eventBus),
	}
}
