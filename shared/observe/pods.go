package observe

import (
	"context"
	"slices"

	"rollcall/shared/roll"
)

// podReads bounds the nodes whose pods are read per round. An API server may scan all pods
// of the cluster for each. Of a Node that was deleted no pods are read.
const podReads = 10

// readPods reads what runs on the nodes of suspects, and which volumes lie there.
func (o *Observer) readPods(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	asked := wanting(questions, func(q roll.Question) bool { return q.Pods != "" && !q.Deleted })
	deleted := wanting(questions, func(q roll.Question) bool { return q.Pods != "" && q.Deleted }) // the list of volumes is enough
	if len(asked)+len(deleted) == 0 {
		return
	}
	set := func(id roll.InstanceID, pods roll.NodePods) {
		setDetail(s, id, func(d *roll.Detail) { d.Pods = &pods })
	}
	now := asked
	if len(asked) > podReads {
		asked = roll.InTurn(asked, podReads/2, s.At)
		now = asked[:podReads]
		for _, q := range asked[podReads:] {
			set(q.Instance, roll.NodePods{Read: roll.Unreadable, Later: true})
		}
	}
	now = slices.Concat(now, deleted)
	client, err := o.Kube.Dial(s.Cluster)
	if err != nil {
		o.unread(ctx, s, roll.CallPods, err)
		for _, q := range now {
			set(q.Instance, roll.NodePods{Read: roll.Unreadable})
		}
		return
	}
	budgets, budgetsRead := whole(ctx, o, s, roll.CallBudgets, client.Budgets)
	volumes, volumesRead := whole(ctx, o, s, roll.CallVolumes, client.Volumes)
	over := false // a failure that affects all of them is noted once
	for _, q := range now {
		pods := roll.NodePods{Read: roll.Unreadable}
		if q.Deleted {
			pods = volumes.DeletedNode(q.Pods)
		} else if !over {
			if pods, err = client.SilentNode(ctx, q.Pods, s.At, budgets, volumes); err != nil {
				pods.Read = o.unread(ctx, s, roll.CallPods, err)
				over = meetsAll(s.Cluster, err)
			}
		}
		if pods.Read != roll.Yes {
			pods = roll.NodePods{Read: pods.Read}
		}
		pods.BudgetsRead, pods.VolumesRead = budgetsRead, volumesRead
		set(q.Instance, pods)
	}
}

// readWaiting reads whether pods wait for a node.
func (o *Observer) readWaiting(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	if !slices.ContainsFunc(questions, func(q roll.Question) bool { return q.Waiting }) {
		return
	}
	client, err := o.Kube.Dial(s.Cluster)
	wait := false
	if err == nil {
		wait, err = client.PodsWait(ctx)
	}
	if s.PodsWait = answer(wait); err != nil {
		s.PodsWait = o.unread(ctx, s, roll.CallPods, err)
	}
}

// wanting returns the questions that want something, in their order.
func wanting(questions []roll.Question, wants func(roll.Question) bool) []roll.Question {
	return slices.DeleteFunc(slices.Clone(questions), func(q roll.Question) bool { return !wants(q) })
}

// whole reads what is listed once for all suspects.
func whole[T any](ctx context.Context, o *Observer, s *roll.Snapshot, call string, read func(context.Context) (*T, error)) (*T, roll.Answer) {
	all, err := read(ctx)
	if err != nil {
		return nil, o.unread(ctx, s, call, err)
	}
	return all, roll.Yes
}
