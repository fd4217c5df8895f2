package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"rollcall/shared/roll"
)

// ApprovalRequest is the question of a notice whether acts on an instance may be done. A person answers it with an
// Approval.
type ApprovalRequest struct {
	Order    string          `json:"order"` // id of the first act's order, given before the order
	Instance roll.InstanceID `json:"instance"`
	Node     string          `json:"node,omitempty"`
	Group    roll.Group      `json:"group"`
	Kind     roll.Kind       `json:"kind"`
	Acts     []string        `json:"acts"` // what an approval permits, in order, such as cordon, drain, terminate
	Why      string          `json:"why,omitempty"`
	Cause    string          `json:"cause,omitempty"` // code of the first decisive cause, "" if none was found
	At       time.Time       `json:"at"`
	Until    time.Time       `json:"until"` // an approval must come before it
}

// Approval is the answer of a person to an ApprovalRequest.
type Approval struct {
	By  string    `json:"by"` // ARN of the caller, or what is known of who it was
	How Way       `json:"how"`
	At  time.Time `json:"at"`
}

// Way is a way to approve.
type Way string

// The ways to approve.
const (
	WayCommand Way = "command" // rollcall approve
	WayTag     Way = "tag"     // the tag rollcall:approve on the instance
	WayChat    Way = "chat"    // the function of the chat's button
)

// String returns the approval for a person, such as "arn:..., by command, at 12:00".
func (a Approval) String() string {
	return fmt.Sprintf("%s, by %s, at %s", a.By, a.How, roll.Clock(a.At))
}

// Errors of Approve. Nothing is changed then.
var (
	ErrNotAsked = errors.New("no notice asked about this order, or its finding is over and forgotten")
	ErrOver     = errors.New("the finding is over: nothing is left to approve")
	ErrActed    = errors.New("the act was begun already")
	ErrApproved = errors.New("it was approved already")
	ErrTooLate  = errors.New("the time to approve it is over")
)

// Asked returns the question of an order if it may be approved at a time, or else why not.
func (s State) Asked(order string, at time.Time) (ApprovalRequest, error) {
	q, ok := s.Questions[order]
	if !ok {
		return q, ErrNotAsked
	}
	if _, open := s.Findings[roll.FindingKey{Instance: q.Instance, Kind: q.Kind}]; !open {
		return q, ErrOver
	}
	if a, begun := s.Action(order); begun && a.Interrupted() {
		return q, fmt.Errorf("%w at %s", ErrActed, roll.Clock(a.At))
	}
	if a, ok := s.Approvals[order]; ok {
		return q, fmt.Errorf("%w: %s", ErrApproved, a)
	}
	if !at.Before(q.Until) {
		return q, fmt.Errorf("%w since %s", ErrTooLate, roll.Clock(q.Until))
	}
	return q, nil
}

// Approve implements Ledger.
//
// It reads, decides, and writes only if nobody else approved since it read. Where nothing was asked it
// reads one record: a memory may have megabytes, and ApproveAnywhere tries each.
func (b *book) Approve(ctx context.Context, cluster roll.ClusterID, order string, a Approval) (q ApprovalRequest, _ error) {
	asked, err := b.store.read(ctx, partition(cluster), questions.key(order))
	if err != nil {
		return q, fmt.Errorf("read the question of order %s in the ledger of %s: %w", order, cluster, err)
	}
	if len(asked) == 0 {
		return q, ErrNotAsked
	}
	err = b.retry(ctx, func() error {
		state, err := b.Read(ctx, cluster)
		if err != nil {
			return err
		}
		if q, err = state.Asked(order, a.At); err != nil {
			return err
		}
		put, err := encode(approvals.key(order), order, a)
		if err != nil {
			return err
		}
		var absent int64
		put.version, put.read = 1, &absent
		if _, err := b.store.write(ctx, partition(cluster), []write{put}, nil); err != nil {
			return fmt.Errorf("record the approval of order %s: %w", order, err)
		}
		return nil
	})
	return q, err
}

// ApproveAnywhere approves the question of an order in whichever cluster of the account and region
// has it. It returns the cluster with the question, also with the error if it may not be approved. A
// memory that cannot be read is an error only if no other has the question.
func ApproveAnywhere(ctx context.Context, l OfClusters, account, region, order string, a Approval) (roll.ClusterID, ApprovalRequest, error) {
	clusters, err := l.Clusters(ctx, account, region)
	if err != nil {
		return roll.ClusterID{}, ApprovalRequest{}, err
	}
	var unread []error
	for _, c := range clusters {
		q, err := l.Approve(ctx, c, order, a)
		switch {
		case q.Order != "":
			return c, q, err
		case !errors.Is(err, ErrNotAsked):
			unread = append(unread, err)
		}
	}
	return roll.ClusterID{}, ApprovalRequest{}, cmp.Or(errors.Join(unread...), ErrNotAsked)
}
