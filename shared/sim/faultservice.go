package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
)

// This file has the faults of AWS services that lose, delay or repeat the messages between Rollcall's functions.

// befalls reports whether a fault of that kind hits, and notes its first time in each form.
func (a *account) befalls(what FaultKind, form string, d dice, detail ...string) bool {
	if !d.chance(a.share(what)) {
		return false
	}
	for _, s := range a.weather.active(what, a.Now()) {
		if !slices.Contains(s.met, form) {
			s.met = append(s.met, form)
			a.note(Event{Kind: EventArose, Stage: string(what), Reason: form, Detail: strings.Join(detail, " ")})
		}
	}
	return true
}

// arrives delivers an AWS event to the queue of its rule, unless it is lost.
func (a *account) arrives(body string, after time.Duration, d dice) {
	if a.befalls(FaultLostEvents, "", d.of("lost"), "an event does not arrive") {
		return
	}
	a.in(after, func() { a.dep.events.send(body, "", "") })
}

// retry is how a client retries a throttled call: its tries, and the wait before the n-th.
type retry struct {
	of    string // sdkBackoff or retryAfter
	tries int
	waits func(n int, d dice) time.Duration
}

const (
	sdkBackoff = "backoff"     // the AWS SDK's
	retryAfter = "retry-after" // an API server's
)

// retryOf returns how a call is retried: by the SDK's standard retryer, or after an API server's Retry-After, if at
// all.
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

// retried returns the additional time for throttled tries, and whether all tries are throttled.
func (a *account) retried(name string, d dice) (waits time.Duration, throttled bool) {
	r := retryOf(name)
	for n := 1; a.befalls(FaultRetries, r.of, d.nth(n), name, "is throttled"); n++ {
		if n >= r.tries {
			return waits, true
		}
		waits += r.waits(n, d.nth(n).of("waits"))
	}
	return waits, false
}

// putAway counts an invocation's events by their text: refused by the bus, and taken.
type putAway struct{ refused, taken map[string]int }

// puts decides for each event of a PutEvents call whether the bus takes it.
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
		v.a.usage.Events[aws.ToString(entry.DetailType)]++
		v.a.watch.Bus(v.a.Now(), aws.ToString(entry.DetailType), aws.ToString(entry.Detail), entry.Resources)
		results = append(results, types.PutEventsResultEntry{EventId: aws.String(uid(d.of("id")))})
	}
	return results, refused
}

// givenUp checks that an invocation that ended normally retried each event that the bus refused.
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

const memoryWithin = 12 // the number of calls within which a function runs out of memory

// regional: the region is degraded. Calls fail, answers are stale, events and sweeps are lost, launches fail, a zone
// has no network, and some machines fall silent for good.
var regional = faultType{
	kind: FaultDegraded, weight: 1, need: 2 * time.Hour, least: 40 * time.Minute, most: 2 * time.Hour, count: 2,
	shape: []GroupSpec{managedNodes(6), scaledNodes(6), pooledNodes(4)},
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
