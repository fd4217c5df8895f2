package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// queue is an SQS queue with its event source mapping. Unfinished messages become visible again.
type queue struct {
	a           *account
	d           dice
	name        string
	fifo        bool
	byContent   bool          // messages without a deduplication ID use a hash of their content
	visibility  time.Duration // how long a received message is hidden
	retention   time.Duration // how long a message is kept
	maxReceives int           // number of receives before it becomes a dead letter
	fn          *function
	batch       int           // the maximum number of messages per invocation
	window      time.Duration // how long a batch is collected
	consumers   int           // maximum concurrent invocations

	letters   []*letter // not yet deleted, in the order in which they were sent
	dead      []message
	sent      map[string]accepted // by deduplication ID
	alike     map[dice]int        // how often the same message was sent, which distinguishes equal ones
	running   int
	polled    time.Time // time of the next poll; zero if none is scheduled
	heldUntil time.Time // when messages that are sent now are delivered
}

type letter struct {
	message
	d       dice
	sent    time.Time
	visible time.Time // when it may be received
}

// accepted is a message whose duplicates are dropped for a while.
type accepted struct {
	id string
	at time.Time
}

const (
	deduplicates = 5 * time.Minute // how long a FIFO queue remembers a deduplication ID
	// Maximum delays of the second and the first delivery while messages are unreliable.
	secondWithin = 20 * time.Minute
	firstWithin  = 10 * time.Minute
	// lateLeast and lateMost bound the delay of messages with the form messagesLate.
	lateLeast    = 16 * time.Minute
	lateMost     = 25 * time.Minute
	besideWithin = time.Second      // the maximum delay between two concurrent deliveries
	overtakenBy  = 30 * time.Second // how far messages of a standard queue may then overtake each other
)

// messagesLate is the form of FaultMessages that delays messages beyond a later check. It is not drawn.
const messagesLate = "late"

// messagesBeside is the form of FaultMessages that delivers each message twice side by side. It is not drawn.
const messagesBeside = "beside"

// send puts a message into the queue and returns its ID, or that of an earlier duplicate.
func (q *queue) send(body, group, id string) string {
	now := q.a.Now()
	key := cmp.Or(id, body)
	if q.fifo {
		if first, ok := q.sent[key]; ok && now.Sub(first.at) < deduplicates {
			return first.id
		}
	}
	like := q.d.of(body)
	d := like.nth(q.alike[like])
	q.alike[like]++
	l := &letter{message: message{id: uid(d), body: body, group: group}, d: d, sent: now, visible: now}
	if q.fifo {
		q.sent[key] = accepted{l.id, now}
	}
	if q.heldUntil.After(now) {
		l.visible = q.heldUntil
	}
	q.letters = append(q.letters, l)
	q.unsettle(l)
	q.poll(l.visible.Add(q.pause(l.d)))
	return l.id
}

// unsettle decides whether a message is delayed or delivered twice.
func (q *queue) unsettle(l *letter) {
	share := q.a.share(FaultMessages)
	beside := share > 0 && q.a.weather.has(FaultMessages, messagesBeside, q.a.Now())
	if !beside {
		q.delay(l, share)
	}
	if beside || l.d.of("twice").chance(share) {
		m, d := l.message, l.d.of("second")
		m.receives = 2
		after := d.of("after").between(time.Second, secondWithin)
		if beside || d.of("beside").chance(0.3) {
			after = d.of("beside by").between(0, besideWithin)
		}
		q.a.at(l.visible.Add(after), func() { q.repeat(m, d) })
	}
}

// delay delays a share of the messages.
func (q *queue) delay(l *letter, share float64) {
	if l.d.of("late").chance(share) {
		least, most := time.Second, firstWithin
		if q.a.weather.has(FaultMessages, messagesLate, q.a.Now()) {
			least, most = lateLeast, lateMost
		}
		l.visible = l.visible.Add(l.d.of("late by").between(least, most))
	}
	if !q.fifo && l.d.of("shuffled").chance(share) {
		l.visible = l.visible.Add(l.d.of("shuffled by").between(time.Second, overtakenBy))
	}
}

// repeat delivers a message once more, whatever became of it, and ignores the result.
func (q *queue) repeat(m message, d dice) {
	if q.running >= q.consumers {
		q.a.in(time.Second, func() { q.repeat(m, d) })
		return
	}
	q.running++
	q.fn.invoke([]message{m}, d, func(bool, []string) {
		q.running--
		q.poll(q.a.Now().Add(q.pause(d)))
	})
}

// pause returns the delay until visible messages are polled.
func (q *queue) pause(d dice) time.Duration {
	if q.window > 0 && len(q.letters) < q.batch {
		return q.window
	}
	return d.of("poll").between(20*time.Millisecond, 400*time.Millisecond)
}

// poll schedules a poll of the queue for a time, unless one is due earlier.
func (q *queue) poll(at time.Time) {
	if !q.polled.IsZero() && !at.Before(q.polled) {
		return
	}
	q.polled = at
	q.a.at(at, func() {
		if q.polled.Equal(at) {
			q.polled = time.Time{}
			q.deliver()
		}
	})
}

// deliver starts invocations for the visible messages, up to the number of consumers.
func (q *queue) deliver() {
	for q.running < q.consumers {
		got := q.receive()
		if len(got) == 0 {
			break
		}
		batch := make([]message, len(got))
		for i, l := range got {
			batch[i] = l.message
		}
		q.running++
		q.try(got, batch, got[0].d.of("received").nth(got[0].receives), 0)
	}
	now := q.a.Now()
	for _, l := range q.letters {
		if l.visible.After(now) {
			q.poll(l.visible.Add(q.pause(l.d)))
		}
	}
}

// try invokes the function with messages. Those that it does not finish stay hidden until their
// visibility timeout expires. Lambda retries throttled invocations until the messages become
// visible.
// https://docs.aws.amazon.com/lambda/latest/operatorguide/sqs-retries.html
func (q *queue) try(got []*letter, batch []message, d dice, n int) {
	now := q.a.Now()
	if q.a.befalls(FaultNotInvoked, "", d.of("throttled").nth(n), string(q.fn.name)+" is throttled") {
		if wait := time.Duration(n+1) * 20 * time.Second; now.Add(wait).Before(got[0].visible) {
			q.a.in(wait, func() { q.try(got, batch, d, n+1) })
			return
		}
		q.running--
		q.a.audit.excuses(batch)
		q.poll(got[0].visible.Add(q.pause(d)))
		return
	}
	ended := false
	if n > 0 { // it began so late that the messages may be visible again before it ends
		q.a.in(got[0].visible.Add(-time.Millisecond).Sub(now), func() {
			if !ended {
				q.a.audit.excuses(batch)
			}
		})
	}
	q.fn.invoke(batch, d, func(ok bool, failed []string) {
		q.running--
		ended = true
		if ok {
			q.letters = slices.DeleteFunc(q.letters, func(l *letter) bool {
				return slices.Contains(got, l) && !slices.Contains(failed, l.id)
			})
		}
		q.poll(q.a.Now().Add(q.pause(d)))
	})
}

// receive returns a batch: visible messages, of a FIFO queue only the first of each group.
func (q *queue) receive() []*letter {
	now := q.a.Now()
	q.letters = slices.DeleteFunc(q.letters, func(l *letter) bool { return now.Sub(l.sent) >= q.retention || q.buries(l, now) })
	var got []*letter
	taken := map[string]bool{}
	for _, l := range q.letters {
		if q.fifo && taken[l.group] {
			continue
		}
		taken[l.group] = true
		if !l.visible.After(now) {
			got = append(got, l)
		}
	}
	slices.SortStableFunc(got, func(a, b *letter) int { return a.visible.Compare(b.visible) })
	got = got[:min(len(got), q.batch)]
	for _, l := range got {
		l.receives++
		l.visible = now.Add(q.visibility)
	}
	return got
}

// buries reports whether the message has its maximum of receives, and moves it to the dead letters.
func (q *queue) buries(l *letter, now time.Time) bool {
	if l.visible.After(now) || l.receives < q.maxReceives {
		return false
	}
	q.dead = append(q.dead, l.message)
	q.a.audit.buried(q, l)
	return true
}

func (q *queue) url() string {
	return fmt.Sprintf("https://sqs.%s.amazonaws.com/%s/%s", region, accountID, q.name)
}

func (q *queue) arn() string { return fmt.Sprintf("arn:aws:sqs:%s:%s:%s", region, accountID, q.name) }

// share returns the largest share of the active faults of that kind.
func (a *account) share(what FaultKind) float64 {
	if a.sc.Quiet {
		return 0
	}
	most := 0.0
	for _, s := range a.weather.active(what, a.Now()) {
		most = max(most, s.share)
	}
	return most
}

type sqsAPI struct{ v *env }

// SendMessage puts a message into the queue with that URL.
func (s sqsAPI) SendMessage(ctx context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	var id string
	s.v.inv.swept(0, 1)
	err := s.v.call(ctx, "sqs:SendMessage", writes, "", func() error {
		dep := s.v.a.dep
		q := find([]*queue{dep.events, dep.checks, dep.orders}, func(q *queue) bool { return q.url() == aws.ToString(in.QueueUrl) })
		if q == nil {
			return badRequest("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
		}
		body, group, like := aws.ToString(in.MessageBody), aws.ToString(in.MessageGroupId), aws.ToString(in.MessageDeduplicationId)
		switch {
		case body == "":
			return badRequest("MissingParameter", "The request must contain the parameter MessageBody.")
		case q.fifo && group == "":
			return badRequest("MissingParameter", "The request must contain the parameter MessageGroupId.")
		case q.fifo && like == "" && !q.byContent:
			return badRequest("InvalidParameterValue", "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly")
		}
		if q == dep.orders {
			s.v.a.audit.ordered(s.v.inv, body)
			s.v.a.sprung(body)
		}
		id = q.send(body, group, like)
		return nil
	})
	return answered(&sqs.SendMessageOutput{MessageId: aws.String(id)}, err)
}
