// Package statechange implements the function that turns EC2 state changes into schedules of
// checks.
package statechange

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/lambdas/ambient"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/lambdas/trigger"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/project"
	"rollcall/shared/policy"
	"rollcall/shared/report/metric"
	"rollcall/shared/roll"
)

const (
	// lookupSize is the maximum number of values in one EC2 filter.
	lookupSize = 200
	// goneAfter is the delay before a cluster is checked after one of its instances stops
	// or terminates: by then its node should be gone, and an act on it has an outcome.
	goneAfter = 5 * time.Minute
)

type instancesAPI interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
}

type schedules interface {
	At(context.Context, trigger.Check) (made bool, err error)
}

// announcements stores EC2's announcements about Spot Instances.
type announcements interface {
	Record(ctx context.Context, cluster roll.ClusterID, changes ledger.Changes) error
}

// Handler turns batches of EC2 state changes and AWS Health events into schedules of
// checks, and records announcements about Spot Instances. It judges nothing.
type Handler struct {
	ambient.Ambient
	EC2 instancesAPI
	// Policies has the deadlines at which checks are due.
	Policies  *config.PolicyParameterStore
	Schedules schedules
	// Ledger stores announcements.
	Ledger announcements
	// VPCs selects instances; empty selects all.
	VPCs []string
	// Home is the expected account and region of events.
	Home trigger.Home
}

// change is the content of an event for one instance, and its message.
type change struct {
	trigger.Event
	instance roll.InstanceID
	message  string
}

// wants collects what changes require: checks with their messages, and each cluster's Spot
// announcements with theirs.
type wants struct {
	checks    map[trigger.Check][]string
	announced map[roll.ClusterID]ledger.Changes
	announce  map[roll.ClusterID][]string
}

// tally counts the results of a batch.
type tally struct {
	malformed, ignored, notOurs, made, kept int
}

// Handle returns the messages that a retry may help: those whose instances could not be
// looked up, whose check could not be scheduled, or whose announcement could not be recorded.
// Malformed and foreign messages are counted and dropped.
func (h *Handler) Handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	defer h.Spent()
	var t tally
	changes := h.read(batch, &t)
	failed := map[string]bool{}
	w := wants{map[trigger.Check][]string{}, map[roll.ClusterID]ledger.Changes{}, map[roll.ClusterID][]string{}}
	for some := range slices.Chunk(changes, lookupSize) {
		found, err := h.lookUp(ctx, some)
		if err != nil {
			h.Log.Error("instances not looked up", "instances", len(some), "error", err.Error())
			for _, c := range some {
				failed[c.message] = true
			}
			continue
		}
		h.plan(ctx, some, found, w, &t)
	}
	for _, id := range slices.SortedFunc(maps.Keys(w.announced), func(a, b roll.ClusterID) int { return cmp.Compare(a.String(), b.String()) }) {
		if err := h.Ledger.Record(ctx, id, w.announced[id]); err != nil {
			h.Log.Error("announcement not recorded", "cluster", id.Name, "error", err.Error())
			for _, message := range w.announce[id] {
				failed[message] = true
			}
		}
	}
	for _, c := range slices.SortedFunc(maps.Keys(w.checks), func(a, b trigger.Check) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), a.Due.Compare(b.Due))
	}) {
		wanted := w.checks[c]
		c.Due = roll.Later(c.Due, trigger.Soonest(h.Clock())) // a schedule in the past may never run
		made, err := h.Schedules.At(ctx, c)
		switch {
		case err != nil:
			h.Log.Error("check not scheduled", "cluster", c.Cluster, "due", c.Due, "error", err.Error())
			for _, message := range wanted {
				failed[message] = true
			}
		case made:
			t.made++
		default:
			t.kept++
		}
	}
	h.Log.Info("state changes", "messages", len(batch.Records), "malformed", t.malformed, "ignored", t.ignored, "notOurs", t.notOurs, "schedulesMade", t.made, "schedulesKept", t.kept, "failed", len(failed))
	if len(changes) > 0 {
		h.Count(metric.Sample{Of: metric.StateChanges, Value: float64(len(changes))})
	}
	response := events.SQSEventResponse{}
	for _, m := range batch.Records {
		if failed[m.MessageId] {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	return response, nil
}

func (h *Handler) read(batch events.SQSEvent, t *tally) []change {
	var changes []change
	for _, m := range batch.Records {
		e, ignored, err := trigger.ParseEvent([]byte(m.Body), h.Home)
		switch {
		case err != nil:
			t.malformed++
			h.Dropped(m.MessageId, err)
		case ignored != "":
			t.ignored++
			h.Log.Info("event ignored", "message", m.MessageId, "reason", ignored)
		}
		for _, id := range e.Instances {
			changes = append(changes, change{e, id, m.MessageId})
		}
	}
	return changes
}

// lookUp describes the instances with as few calls as possible. It filters by id instead of
// passing ids: one unknown id would fail the whole call.
func (h *Handler) lookUp(ctx context.Context, changes []change) (map[roll.InstanceID]types.Instance, error) {
	ids := roll.Map(changes, func(c change) string { return string(c.instance) })
	slices.Sort(ids)
	found := map[roll.InstanceID]types.Instance{}
	pages := ec2.NewDescribeInstancesPaginator(h.EC2, &ec2.DescribeInstancesInput{
		Filters:                 []types.Filter{{Name: aws.String("instance-id"), Values: slices.Compact(ids)}},
		IncludeManagedResources: aws.Bool(true),
		MaxResults:              aws.Int32(1000),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, errors.New(awserr.Describe(err, "ec2:DescribeInstances", ""))
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				found[roll.InstanceID(aws.ToString(i.InstanceId))] = i
			}
		}
	}
	return found, nil
}

// plan determines what the changes require, and for which messages.
func (h *Handler) plan(ctx context.Context, changes []change, found map[roll.InstanceID]types.Instance, w wants, t *tally) {
	now := h.Clock()
	doc, _, err := h.Policies.Usable(ctx, policy.Observe, now, config.PolicyAge)
	if err != nil && !errors.Is(err, config.ErrNoPolicy) { // inspect determines whether there ever was one
		// Use the last good deadlines, or the built-in ones.
		h.Log.Error("policy unusable", "error", err.Error())
	}
	for _, c := range changes {
		i := found[c.instance] // one that EC2 does not know has no tags
		tags := project.Tags(&i)
		clusters := tags.Clusters()
		if len(clusters) == 0 || len(h.VPCs) > 0 && !slices.Contains(h.VPCs, aws.ToString(i.VpcId)) {
			t.notOurs++
			continue
		}
		_, group := tags.Owner(project.Operator(&i))
		selector := roll.Selector{
			Group: group, Deadline: tags.Deadline,
			Preset: roll.PresetOf(string(i.Platform), string(i.InstanceType)),
		}
		for _, cluster := range clusters {
			if !trigger.ValidCluster(cluster) {
				continue
			}
			if c.Spot != "" {
				w.remember(roll.ClusterID{Account: c.Account, Region: c.Region, Name: cluster}, c)
				continue
			}
			for _, due := range dues(doc.For(cluster, "", selector), c, aws.ToTime(i.LaunchTime), now) {
				check := trigger.Check{Cluster: cluster, Due: due}
				w.checks[check] = append(w.checks[check], c.message)
			}
		}
	}
}

// remember adds an announcement about an instance of the cluster.
func (w wants) remember(id roll.ClusterID, c change) {
	if w.announced[id].Put.Spot == nil {
		w.announced[id] = ledger.Changes{Put: ledger.NewState()}
	}
	w.announced[id].Put.Spot[ledger.SpotKey{Instance: c.instance, Event: c.Spot}] = c.At
	w.announce[id] = append(w.announce[id], c.message)
}

// dues returns the minutes at which a check may reach another verdict because of the
// change.
func dues(p policy.Policy, c change, launched, now time.Time) []time.Time {
	if c.State == roll.StateRunning {
		return trigger.Deadlines(launched, p.Registration.WarnAfter, p.Registration.Deadline, now)
	}
	if c.State == "" {
		return []time.Time{trigger.Soonest(now)} // the scheduled event is readable now
	}
	return []time.Time{roll.Later(trigger.DueAt(c.At.Add(goneAfter)), trigger.Soonest(now))}
}
