package remediate

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// pod is a pod on the target's node that has to leave it.
type pod struct {
	name    string
	leaving bool
	kept    string // reason why it may not be evicted
	stuck   bool   // in Terminating: its runtime does not stop it
}

// calling records a call, and fails it if it is to fail.
func (w *world) calling(ctx context.Context, name, told string, work func() error) error {
	w.event(name)
	var err error
	if send := w.sending[name]; send != nil {
		err = send(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, fmt.Sprintf("%s %s", name, told))
	if err != nil {
		return err
	}
	return work()
}

// RebootInstances implements instances.
func (w *world) RebootInstances(ctx context.Context, in *ec2.RebootInstancesInput, options ...func(*ec2.Options)) (*ec2.RebootInstancesOutput, error) {
	set := ec2.Options{RetryMaxAttempts: 3}
	for _, o := range options {
		o(&set)
	}
	told := fmt.Sprintf("%v, %d try", in.InstanceIds, set.RetryMaxAttempts)
	return &ec2.RebootInstancesOutput{}, w.calling(ctx, "reboot", told, func() error { return nil })
}

// meant returns the node that a change names, by name and uid as the API server does.
func (w *world) meant(name, uid string) (*roll.Node, error) {
	i := slices.IndexFunc(w.nodes, func(n roll.Node) bool { return n.Name == name })
	if i < 0 {
		return nil, kube.ErrGone
	}
	if w.nodes[i].UID != uid {
		return nil, fmt.Errorf("change node %s: %w: it has the uid %s, not %s", name, kube.ErrChanged, w.nodes[i].UID, uid)
	}
	return &w.nodes[i], nil
}

// Cordon implements hands.
func (w *world) Cordon(ctx context.Context, name, uid, order string) error {
	return w.calling(ctx, "cordon", name+" "+uid+" "+order, func() error {
		n, err := w.meant(name, uid)
		if err == nil && !n.Unschedulable {
			n.Unschedulable, n.CordonedBy = true, order
		}
		return err
	})
}

// Uncordon implements hands.
func (w *world) Uncordon(ctx context.Context, name, uid, _ string) error {
	return w.calling(ctx, "uncordon", name+" "+uid, func() error {
		n, err := w.meant(name, uid)
		if err != nil {
			return err
		}
		if n.CordonedBy == "" {
			return fmt.Errorf("uncordon node %s: %w: it carries no annotation", name, kube.ErrChanged)
		}
		n.Unschedulable, n.CordonedBy = n.CordonedByOthers(), ""
		return nil
	})
}

// OutOfService implements hands.
func (w *world) OutOfService(ctx context.Context, name, uid string) error {
	return w.calling(ctx, "out-of-service", name+" "+uid, func() error {
		_, err := w.meant(name, uid)
		return err
	})
}

// DeleteNode implements hands.
func (w *world) DeleteNode(ctx context.Context, name, uid string) error {
	return w.calling(ctx, "delete-node", name+" "+uid, func() error {
		if _, err := w.meant(name, uid); err != nil {
			return err
		}
		w.nodes = slices.DeleteFunc(w.nodes, func(n roll.Node) bool { return n.Name == name })
		return nil
	})
}

// DeleteNodeClaim implements hands.
func (w *world) DeleteNodeClaim(ctx context.Context, name, uid string) error {
	return w.calling(ctx, "delete-nodeclaim", name+" "+uid, func() error {
		d := w.details[target]
		if d.NodeClaim == nil || d.NodeClaim.Name != name {
			return kube.ErrGone
		}
		if d.NodeClaim.UID != uid {
			return fmt.Errorf("delete NodeClaim %s: %w", name, kube.ErrChanged)
		}
		claim := *d.NodeClaim
		claim.DeletedAt = now
		d.NodeClaim = &claim
		w.details[target] = d
		return nil
	})
}

// Drain implements hands. Pods that were evicted are gone by the next pass.
func (w *world) Drain(ctx context.Context, name string, pass kube.Pass) (kube.Drained, error) {
	w.drained, w.skipped = append(w.drained, pass.Now), pass.Since
	evictions := pass.Evictions
	var d kube.Drained
	err := w.calling(ctx, "drain", fmt.Sprintf("%s %d", name, evictions), func() error {
		w.pods = slices.DeleteFunc(w.pods, func(p pod) bool { return p.leaving })
		for i := range w.pods {
			switch p := &w.pods[i]; {
			case p.kept != "":
				d.Blocked = append(d.Blocked, "default/"+p.name+": "+p.kept)
			case p.stuck:
				d.Stuck = append(d.Stuck, "default/"+p.name+": in Terminating since 11:50:00Z, past its grace period")
			case len(d.Evicted) == evictions:
				d.Waiting = append(d.Waiting, "default/"+p.name+": not asked to leave yet")
			default:
				p.leaving = true
				d.Evicted = append(d.Evicted, "default/"+p.name+": asked to leave")
			}
		}
		return nil
	})
	return d, err
}

var _ hands = (*kube.Client)(nil)

// dialing is a dialer that finds no endpoint.
type dialing struct{}

func (dialing) Dial(roll.Cluster) (*kube.Client, error) { return nil, kube.ErrNoEndpoint }
