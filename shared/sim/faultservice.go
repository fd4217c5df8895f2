package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
)

// Faults of AWS's own services, which lose, delay or repeat what lies between Rollcall's functions.
const (
	FaultLostEvents   FaultKind = "lost-events"     // events of EC2 and AWS Health do not arrive
	FaultMissedSweeps FaultKind = "missed-sweeps"   // the sweep's schedule does not fire
	FaultPartialPut   FaultKind = "partial-put"     // PutEvents takes some of the events only
	FaultRetries      FaultKind = "retries"         // calls are throttled, and tried again after a while
	FaultNotInvoked   FaultKind = "lambda-throttle" // Lambda throttles the functions
	FaultMemory       FaultKind = "out-of-memory"   // functions run out of memory
)

// befalls reports whether a fault of that kind befalls what the dice are for, and tells the history
// when it does so first in that form.
func (a *account) befalls(what FaultKind, form string, d dice, detail string) bool {
	if !d.chance(a.share(what)) {
		return false
	}
	for i := range a.weather.spells {
		if s := &a.weather.spells[i]; s.what == what && s.lasts(a.Now()) && !slices.Contains(s.met, form) {
			s.met = append(s.met, form)
			a.note(Event{Kind: EventArose, Stage: string(what), Reason: form, Detail: detail})
		}
	}
	return true
}

// arrives hands an event of AWS to the queue of the rule that wants it, unless it is lost.
// EventBridge delivers at least once as a rule, and EC2 emits its events on a best-effort basis.
func (a *account) arrives(body string, after time.Duration, d dice) {
	if a.befalls(FaultLostEvents, "", d.of("lost"), "an event does not arrive") {
		return
	}
	a.in(after, func() { a.dep.events.send(body, "", "") })
}

// retry is how a client tries a call again that was throttled: how often in all, and how long it
// waits before the n-th further try.
type retry struct {
	of    string // whose way it is
	tries int
	waits func(n int, d dice) time.Duration
}

// Whose way it is to try a call again.
const (
	sdkBackoff = "backoff"     // the AWS SDK's
	retryAfter = "retry-after" // an API server's
)

// retryOf is how a call of that name is tried again: by the SDK's standard retryer (three
// tries, a random part of 2^n s), or, of a Kubernetes API, as often as client-go comes back
// after Retry-After, which is a second with priority and fairness. What ends or reboots
// instances is sent once.
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
func retryOf(name string) retry {
	switch {
	case strings.HasPrefix(name, "kubernetes:"):
		return retry{retryAfter, 10, func(int, dice) time.Duration { return time.Second }}
	case actsOnMachines(name):
		return retry{sdkBackoff, 1, nil}
	}
	return retry{sdkBackoff, 3, func(n int, d dice) time.Duration {
		return time.Duration(d.share() * float64(time.Second) * float64(int(1)<<n))
	}}
}

// retried is how long an answer takes beyond a call for the tries that are throttled, and whether
// they all are.
func (a *account) retried(name string, d dice) (waits time.Duration, throttled bool) {
	r := retryOf(name)
	for n := 1; a.befalls(FaultRetries, r.of, d.nth(n), name+" is throttled"); n++ {
		if n >= r.tries {
			return waits, true
		}
		waits += r.waits(n, d.nth(n).of("waits"))
	}
	return waits, false
}

// putAway is what became of events that an invocation put on the bus: those that the bus refused
// once, by their text, and those that it took.
type putAway struct{ refused, taken map[string]int }

// puts decides about each event of a call of PutEvents, and notes it. It takes or refuses each by
// itself.
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
func (v *env) puts(entries []types.PutEventsRequestEntry) (results []types.PutEventsResultEntry, refused int32) {
	inv := v.inv
	p := &inv.events
	if p.taken == nil {
		p.taken, p.refused = map[string]int{}, map[string]int{}
	}
	for i, entry := range entries {
		text := aws.ToString(entry.DetailType) + " " + aws.ToString(entry.Detail)
		d := inv.d.of("put").nth(inv.calls).nth(i)
		if v.a.befalls(FaultPartialPut, "", d, "the bus refuses an event of a call") {
			refused++
			p.refused[text]++
			results = append(results, types.PutEventsResultEntry{ErrorMessage: aws.String("Rate exceeded")})
			continue
		}
		if p.taken[text]++; p.taken[text] > 1 {
			v.a.audit.broken(RuleReport, "%s: an event is put on the bus a second time, which it took: %s", inv.name, aws.ToString(entry.DetailType))
		}
		inv.put(aws.ToString(entry.DetailType), aws.ToString(entry.Detail), entry.Resources)
		results = append(results, types.PutEventsResultEntry{EventId: aws.String(uid(d.of("id")))})
	}
	return results, refused
}

// givenUp checks that an invocation that came to its own end tried each event again that the bus
// refused.
func (u *auditor) givenUp(inv *invocation) {
	if inv.failed {
		return
	}
	for text, times := range inv.events.refused {
		if times < 2 && inv.events.taken[text] == 0 {
			kind, _, _ := strings.Cut(text, " {")
			u.broken(RuleReport, "%s: an event that the bus refused is not put again: %s", inv.name, kind)
		}
	}
}

// throttledFor is how long Lambda waits until it tries to invoke a throttled function the n-th time.
func throttledFor(n int) time.Duration { return time.Duration(n+1) * 20 * time.Second }

// memoryWithin is the number of calls in one of which a function runs out of memory: the listings
// come first.
const memoryWithin = 12

// FaultDegraded is a degradation of the region as one event.
const FaultDegraded FaultKind = "regional"

// regional: the region is degraded. Calls fail, are throttled and tried again, EC2 shows what was,
// events and sweeps get lost, nothing can be launched, a zone has no network, and some machines
// fall silent for good.
var regional = faultType{
	kind: FaultDegraded, weight: 1, need: 2 * time.Hour, least: 40 * time.Minute, most: 2 * time.Hour, count: 2,
	shape: []GroupSpec{
		{Name: "system", Owner: "managed-nodegroup", Type: "m5.large", Desired: 6}, {Name: "workers", Owner: "autoscaling-group", Type: "c5.xlarge", Desired: 6}, {Name: "default", Owner: "karpenter", Type: "m5.large", Desired: 4},
	},
	prepare: func(a *account, f Fault, d dice) {
		from := a.sc.Start.Add(f.At)
		for _, what := range []FaultKind{FaultErrors, FaultThrottle, FaultStale, FaultLostEvents, FaultMissedSweeps, FaultRetries} {
			a.weather.spells = append(a.weather.spells, spell{fault: f.ID, from: from, to: from.Add(f.For), what: what, share: 0.05 + 0.45*d.of(string(what)).share()})
		}
	},
	strike: func(a *account, f Fault, d dice) {
		zone := oneOf(d.of("zone"), zones...)
		a.zoneNetwork(zone, true)
		for _, c := range a.clusters {
			for _, g := range c.groups {
				g.dry = a.Now().Add(f.For)
			}
		}
		for i, m := range a.victims(f) {
			m.fall(silent, false, d.nth(i).of("reboots").chance(0.3))
		}
		for _, c := range a.of(f) {
			a.arose(f, c, nil, fmt.Sprintf("the region is degraded, and %s has no network", zone))
		}
	},
	relent: func(a *account, _ Fault, d dice) {
		zone := oneOf(d.of("zone"), zones...)
		a.zoneNetwork(zone, false)
	},
}
