package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"rollcall/tests/harness/expect"
)

func TestWhatAQueueDelivers(t *testing.T) {
	fails := func(bodies ...string) func(*invocation, []message) []string {
		return func(_ *invocation, batch []message) (failed []string) {
			for _, m := range batch {
				if slices.Contains(bodies, m.body) {
					failed = append(failed, m.id)
				}
			}
			return failed
		}
	}
	slow := func(inv *invocation, _ []message) []string { inv.wait(3 * time.Minute); return nil }
	dies := func(inv *invocation, batch []message) []string {
		if batch[0].receives == 1 {
			inv.die()
		}
		return nil
	}
	type sent struct {
		minute          int
		body, group, id string
	}
	for _, tt := range []struct {
		name  string
		queue func(*deployment) *queue
		does  func(*invocation, []message) []string
		sends []sent
		want  []string
		dead  []string
	}{
		{
			"the same content within five minutes is one message, also when it was processed", (*deployment).checkQueue, nil,
			[]sent{{0, "a", "g", ""}, {0, "a", "g", ""}, {4, "a", "g", ""}, {5, "a", "g", ""}}, []string{"0:a", "5:a"}, nil,
		},
		{
			"a deduplication id tells more than content", (*deployment).orderQueue, nil,
			[]sent{{0, "a", "g", "1"}, {0, "b", "g", "1"}, {0, "a", "g", "2"}}, []string{"0:a", "0:a"}, nil,
		},
		{
			"a group's messages come one after the other, other groups' side by side", (*deployment).checkQueue, slow,
			[]sent{{0, "a", "g", ""}, {0, "b", "g", ""}, {0, "c", "h", ""}, {0, "d", "g", ""}}, []string{"0:a", "0:c", "3:b", "6:d"}, nil,
		},
		{
			"no more at once than there are consumers", (*deployment).orderQueue, slow,
			[]sent{{0, "a", "g", "1"}, {0, "b", "h", "2"}, {0, "c", "i", "3"}}, []string{"0:a", "0:b", "3:c"}, nil,
		},
		{
			"what fails holds its group until it is a dead letter", (*deployment).checkQueue, fails("a"),
			[]sent{{0, "a", "g", ""}, {1, "b", "g", ""}, {1, "c", "h", ""}}, []string{"0:a", "1:c", "5:a", "11:b"}, []string{"a"},
		},
		{
			"what dies comes again when its visibility runs out", (*deployment).orderQueue, dies,
			[]sent{{0, "a", "g", "1"}, {1, "b", "g", "2"}}, []string{"0:a", "5:a", "5:b", "11:b"}, nil,
		},
		{
			"of a batch only what failed comes again", (*deployment).eventQueue, fails("b"),
			[]sent{{0, "a", "", ""}, {0, "b", "", ""}, {0, "c", "", ""}}, []string{"0:a", "0:b", "0:c", "7:b", "13:b", "20:b", "27:b"}, []string{"b"},
		},
		{
			"nobody drops the same from a standard queue", (*deployment).eventQueue, nil,
			[]sent{{0, "a", "", ""}, {0, "a", "", ""}}, []string{"0:a", "0:a"}, nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := bare(t, false)
			q := tt.queue(a.dep)
			c := a.consume(q.fn.name)
			c.does = tt.does
			for _, s := range tt.sends {
				a.at(dawn.Add(time.Duration(s.minute)*time.Minute), func() { q.send(s.body, s.group, s.id) })
			}
			a.pass(time.Hour)
			c.want(t, tt.want...)
			var dead []string
			for _, m := range q.dead {
				dead = append(dead, m.body)
			}
			expect.That(t, slices.Equal(dead, tt.dead) && len(q.letters) == 0, "dead letters %q, want %q; %d are left", dead, tt.dead, len(q.letters))
		})
	}
}

func (d *deployment) checkQueue() *queue { return d.checks }
func (d *deployment) orderQueue() *queue { return d.orders }
func (d *deployment) eventQueue() *queue { return d.events }

func TestABatchIsCollectedForAWhileOrUntilItIsFull(t *testing.T) {
	a := bare(t, false)
	c := a.consume(stateChange)
	for i := range 10 {
		a.in(time.Duration(i)*time.Second, func() { a.dep.events.send(fmt.Sprint("few ", i), "", "") })
	}
	a.in(5*time.Minute, func() {
		for i := range 450 {
			a.dep.events.send(fmt.Sprint("many ", i), "", "")
		}
	})
	a.pass(10 * time.Minute)
	var sizes []int
	for _, d := range c.got {
		sizes = append(sizes, len(d.bodies))
	}
	slices.Sort(sizes)
	expect.That(t, slices.Equal(sizes, []int{10, 50, 200, 200}) && c.got[0].at >= 20*time.Second && c.got[1].at <= 5*time.Minute+5*time.Second, "batches of %v, the first after %s, the second after %s", sizes, c.got[0].at, c.got[1].at)
}

func TestWhatNobodyTakesIsGoneInTheEnd(t *testing.T) {
	a := bare(t, false)
	c := a.consume(inspect)
	c.does = func(inv *invocation, batch []message) []string {
		inv.wait(4 * time.Minute)
		return []string{batch[0].id}
	}
	for i := range 12 { // each occupies the message group for eleven minutes
		a.dep.checks.send(fmt.Sprint(i), "g", "")
	}
	a.pass(3 * time.Hour)
	n := len(c.got)
	expect.That(t, n == 11 && len(a.dep.checks.letters) == 0, "%d deliveries, %d messages left, want those of an hour and none", n, len(a.dep.checks.letters))
}

// unreliable returns an account in which FaultMessages affects that share of the messages for an hour.
func unreliable(t *testing.T, share float64) *account {
	a := bare(t, true)
	a.weather.spells = []spell{{from: dawn, to: dawn.Add(time.Hour), what: FaultMessages, share: share}}
	return a
}

func TestUnreliableMessagesComeTwiceLateAndOutOfOrder(t *testing.T) {
	for _, fn := range []functionName{stateChange, inspect} {
		a := unreliable(t, 1)
		c := a.consume(fn)
		q := map[functionName]*queue{stateChange: a.dep.events, inspect: a.dep.checks}[fn]
		var bodies []string
		for i := range 10 {
			bodies = append(bodies, string(rune('a'+i)))
			q.send(bodies[i], bodies[i], "")
		}
		a.pass(2 * time.Hour)
		times := map[string][]time.Duration{}
		var order []string
		for _, d := range c.got {
			for _, body := range d.bodies {
				times[body] = append(times[body], d.at)
				order = append(order, body)
			}
		}
		lateOnes := 0
		for body, at := range times {
			if first, last := at[0], at[len(at)-1]; len(at) < 2 || last > firstWithin+secondWithin+time.Minute {
				t.Errorf("%s: %s came at %v", fn, body, at)
			} else if first > time.Minute {
				lateOnes++
			}
		}
		expect.That(t, len(times) == 10 && lateOnes != 0 && !slices.Equal(order[:10], bodies), "%s: %d messages, %d late, in the order %q", fn, len(times), lateOnes, order)
	}
}

func TestWhatIsUnreliableIsStillDelivered(t *testing.T) {
	a := unreliable(t, 0.5)
	c := a.consume(inspect)
	for i := range 20 {
		a.at(dawn.Add(time.Duration(i)*time.Minute), func() { a.dep.checks.send(string(rune('a'+i)), "g", "") })
	}
	a.pass(3 * time.Hour)
	seen := map[string]bool{}
	for _, d := range c.got {
		seen[d.bodies[0]] = true
	}
	expect.That(t, len(seen) == 20 && len(c.got) > 20, "%d of 20 messages in %d deliveries", len(seen), len(c.got))
}

func TestTheSameDiceMakeTheSameDeliveries(t *testing.T) {
	run := func() string {
		a := unreliable(t, 0.5)
		c := a.consume(stateChange)
		for i := range 50 {
			a.at(dawn.Add(time.Duration(i)*7*time.Second), func() { a.dep.events.send(fmt.Sprint(i%40), "", "") })
		}
		a.pass(2 * time.Hour)
		var b strings.Builder
		for _, d := range c.got {
			fmt.Fprintln(&b, d.at, d.bodies, d.env.skew)
		}
		return b.String()
	}
	one, two := run(), run()
	expect.That(t, one == two, "two runs differ:\n%s\n%s", one, two)
}

func TestSendMessageGoesWhereItsURLSays(t *testing.T) {
	a := bare(t, false)
	c, o := a.consume(inspect), a.consume(remediator)
	v := a.environment(inspect)
	send := func(url, body, group, id string) (err error) {
		v.within(0, false, func() {
			in := &sqs.SendMessageInput{QueueUrl: aws.String(url), MessageBody: aws.String(body), MessageGroupId: aws.String(group)}
			if id != "" {
				in.MessageDeduplicationId = aws.String(id)
			}
			_, err = sqsAPI{v}.SendMessage(t.Context(), in)
		})
		return err
	}
	for _, tt := range []struct {
		url, group, id string
		ok             bool
	}{
		{a.dep.checks.url(), "g", "", true},
		{a.dep.checks.url(), "", "", false},
		{a.dep.orders.url(), "g", "", false},
		{a.dep.orders.url(), "g", "1", true},
		{a.dep.orders.url() + "x", "g", "1", false},
		{"https://elsewhere/" + a.dep.orders.name, "g", "1", false},
	} {
		err := send(tt.url, "a", tt.group, tt.id)
		expect.That(t, (err == nil) == tt.ok, "%s, group %q, id %q: %v", tt.url, tt.group, tt.id, err)
	}
	expect.That(t, len(c.got) == 1 && len(o.got) == 1, "%d checks and %d orders were delivered, want one each", len(c.got), len(o.got))
}
