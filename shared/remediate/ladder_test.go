package remediate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// worlds are the worlds in which each act is the next step.
var worlds = map[plan.Action]func(*testing.T) *world{
	plan.Cordon: unready, plan.Uncordon: recovered, plan.Drain: cordoned, plan.Reboot: silent,
	plan.DeleteNode: ghost, plan.DeleteNodeClaim: claimed, plan.Terminate: silentNode,
}

// in returns the world in which an act is the next step, and its order.
func in(t *testing.T, a plan.Action) (*world, plan.Order) {
	t.Helper()
	w := worlds[a](t)
	o := w.order(t)
	must.That(t, o.Action == a, "the world orders %s, want %s", o.Action, a)
	return w, o
}

// A person lifted Rollcall's cordon, and cordoned the node again before Rollcall removed its note.
func TestACordonThatAPersonMadeSinceStays(t *testing.T) {
	w := recovered(t)
	w.nodes[0].Cordoner = "kubectl"
	out := w.remediator(t).Act(t.Context(), w.order(t), now)
	expect.That(t, out.Result == Acted && out.Detail == "removed Rollcall's annotation from node node-1, and left it cordoned: somebody else has cordoned it since (field manager kubectl)", "%+v", out)
	expect.That(t, w.nodes[0].Unschedulable && w.nodes[0].CordonedBy == "", "%+v", w.nodes[0])
	p := w.check(t, now.Add(time.Minute))
	expect.That(t, len(p.Orders) == 0, "ordered %+v", p.Orders)
}

func TestEachActIsOneCallBetweenItsIntentAndItsOutcome(t *testing.T) {
	for a, want := range map[plan.Action]struct{ call, detail string }{
		plan.Cordon:          {"cordon node-1 uid-1 ", "cordoned node node-1"},
		plan.Uncordon:        {"uncordon node-1 uid-1", "uncordoned node node-1"},
		plan.Drain:           {"drain node-1 50", "drained node node-1"},
		plan.Reboot:          {"reboot [i-00000000000000001], 1 try", "rebooted i-00000000000000001"},
		plan.DeleteNode:      {"delete-node node-1 uid-1", "deleted node node-1"},
		plan.DeleteNodeClaim: {"delete-nodeclaim default-x7k2p uid-claim", "deleted NodeClaim default-x7k2p of i-00000000000000001"},
	} {
		t.Run(string(a), func(t *testing.T) {
			w, o := in(t, a)
			earlier := len(w.actions(t))
			w.sending[string(a)] = func(context.Context) error {
				got := w.actions(t)[earlier:]
				expect.That(t, len(got) == 1 && got[0].ID == o.ID && got[0].Outcome == nil, "at the time of the call the ledger holds %+v, want the open intent", got)
				return nil
			}
			if a == plan.Cordon {
				want.call += o.ID
			}
			at := now.Add(3 * time.Second)
			r := w.remediator(t)
			out := r.Act(t.Context(), o, at)
			expect.That(t, out.Result == Acted && out.Reason == "" && out.Detail == want.detail && out.News && out.Order.ID == o.ID, "got %+v, want %s", out, want.detail)
			events := sequence(a)
			expect.That(t, slices.Equal(w.events, events), "events %v, want %v", w.events, events)
			expect.That(t, slices.Equal(w.sent, []string{want.call}) && len(w.calls) == 0, "sent %q, want %q", w.sent, want.call)
			got := w.actions(t)[earlier:]
			must.That(t, len(got) == 1 && got[0].Outcome != nil && got[0].Outcome.Result == ledger.Done, "the ledger holds %+v, want the act and its outcome", got)
			if i := got[0]; i.Do != string(a) || i.Instance != target || i.Group != o.Group || i.Kind != o.Kind || i.Node != o.Node || !i.At.Equal(at) || i.Free != (a == plan.Uncordon) {
				t.Errorf("the intent is %+v", i)
			}
			// Every message may be delivered twice.
			again := r.Act(t.Context(), o, at.Add(time.Second))
			expect.That(t, again.Result == Refused && again.Reason == plan.AlreadyBegun && len(w.sent) == 1, "a second delivery: %s for %s, sent %q", again.Result, again.Reason, w.sent)
		})
	}
}

// One finding from its first act to its last, check by check.
func TestAnUnreadyNodeIsCordonedThenDrainedThenItsInstanceEnds(t *testing.T) {
	w := unready(t)
	w.pods = []pod{{name: "a"}, {name: "b"}}
	r := w.remediator(t)
	var results []Result
	for minute := range 6 {
		at := now.Add(time.Duration(minute) * time.Minute)
		if w.instances[0].State.Gone() {
			break
		}
		o := w.orderAt(t, at)
		for range 2 { // each message is delivered twice
			results = append(results, r.Act(t.Context(), o, at.Add(time.Second)).Result)
		}
	}
	want := []string{"cordon node-1 uid-1 " + w.nodes[0].CordonedBy, "drain node-1 50", "drain node-1 50"}
	expect.That(t, slices.Equal(w.sent, want) && len(w.calls) == 1, "sent %q, %d terminations; want %q and one", w.sent, len(w.calls), want)
	expect.List(t, results, []Result{Acted, Refused, Ongoing, Acted, Acted, Refused}, "results")
	spent := (ledger.Budget{Since: now.Add(-plan.Hour)}).Spent(w.actions(t), "")
	expect.That(t, spent == 1, "%d instances count against the budget, want 1", spent)
}

func TestTheCordonOfSomebodyElseIsLeftToThem(t *testing.T) {
	w, o := in(t, plan.Cordon)
	w.nodes[0].Unschedulable = true
	out := w.remediator(t).Act(t.Context(), o, now)
	want := "node node-1 was cordoned already, and not by Rollcall, which will not uncordon it either"
	expect.That(t, out.Result == Acted && out.Detail == want, "got %s: %s", out.Result, out.Detail)
	expect.That(t, len(w.sent) == 0 && w.nodes[0].CordonedBy == "", "sent %q, the node says that %q cordoned it", w.sent, w.nodes[0].CordonedBy)
	// The node becomes Ready, and nothing follows: there is nothing to undo.
	w.nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now}
	p := w.check(t, now.Add(time.Minute))
	expect.That(t, len(p.Orders) == 0, "orders %+v", p.Orders)
}

// The order's tag limits what IAM permits, and is a veto for the other acts: removing it
// stops the act.
func TestWhichActsNeedTheOrdersTag(t *testing.T) {
	for a, needed := range map[plan.Action]bool{
		plan.Cordon: true, plan.Uncordon: false, plan.Drain: true, plan.Reboot: true, plan.DeleteNode: false, plan.DeleteNodeClaim: true, plan.Terminate: true,
	} {
		for name, marks := range map[string]*roll.Marks{"none": nil, "empty": {}, "another order's": {Order: "0000000000000000"}} {
			t.Run(string(a)+"/"+name, func(t *testing.T) {
				w, o := in(t, a)
				earlier := len(w.actions(t))
				w.instances[0].Marks = marks
				out := w.remediator(t).Act(t.Context(), o, now)
				if needed {
					w.refused(t, out, plan.OrderUnmarked, earlier)
				} else if out.Result != Acted {
					t.Errorf("got %s for %s: %s", out.Result, out.Reason, out.Detail)
				}
			})
		}
	}
}

// The object of the order is gone, or another one has its name, when the order arrives.
func TestRefusesWhatIsNotTheSameObjectAnyMore(t *testing.T) {
	tests := map[string]struct {
		act    plan.Action
		happen func(*world, *plan.Order)
		reason plan.Reason
		detail string
	}{
		"another NodeClaim has the instance": {
			plan.DeleteNodeClaim, func(w *world, _ *plan.Order) {
				w.detail(func(d *roll.Detail) { d.NodeClaim = &roll.NodeClaim{Name: "default-other", UID: "uid-other"} })
			}, plan.VerdictChanged, `the NodeClaim of i-00000000000000001 is now "default-other", the order was for "default-x7k2p"`,
		},
		"the order names another NodeClaim": {
			plan.DeleteNodeClaim, func(_ *world, o *plan.Order) { o.Claim = "default-other" }, plan.VerdictChanged, "",
		},
		"the order names none": {
			plan.DeleteNodeClaim, func(_ *world, o *plan.Order) { o.Claim = "" }, plan.VerdictChanged, "",
		},
		"the NodeClaim has no uid": {
			plan.DeleteNodeClaim, func(w *world, _ *plan.Order) {
				w.detail(func(d *roll.Detail) { d.NodeClaim = &roll.NodeClaim{Name: "default-x7k2p"} })
			}, plan.VerdictChanged, "NodeClaim default-x7k2p no longer has i-00000000000000001",
		},
		"the NodeClaim is being deleted": {
			plan.DeleteNodeClaim, func(w *world, _ *plan.Order) {
				w.detail(func(d *roll.Detail) {
					d.NodeClaim = &roll.NodeClaim{Name: "default-x7k2p", UID: "uid-claim", DeletedAt: now}
				})
			}, plan.OwnerWillAct, "",
		},
		"the NodeClaims cannot be read": {
			plan.DeleteNodeClaim, func(w *world, _ *plan.Order) {
				w.detail(func(d *roll.Detail) { d.HasNodeClaim, d.NodeClaim = roll.Unreadable, nil })
			}, plan.OwnerUnknown, "",
		},
		"the node has no uid": {
			plan.Cordon, func(w *world, _ *plan.Order) { w.nodes[0].UID = "" },
			plan.VerdictChanged, "there is no node node-1 of i-00000000000000001 any more",
		},
		"the node is being deleted": {
			plan.Drain, func(w *world, _ *plan.Order) { w.nodes[0].DeletedAt = now }, plan.NodeDeleting, "",
		},
		"the node to drain is Ready": {
			plan.Drain, func(w *world, _ *plan.Order) {
				w.nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now}
			}, plan.VerdictChanged, "node node-1 of i-00000000000000001 is registered and Ready now",
		},
		"the node to cordon went silent": {
			plan.Cordon, func(w *world, _ *plan.Order) {
				w.nodes[0].Ready = roll.Condition{Status: roll.ConditionUnknown, Since: now}
			}, plan.VerdictChanged, "",
		},
		"the node to uncordon is sick again": {
			plan.Uncordon, func(w *world, _ *plan.Order) {
				w.nodes[0].Ready = roll.Condition{Status: roll.ConditionFalse, Since: now}
			}, plan.VerdictChanged, "",
		},
		"somebody took the note off": {
			plan.Uncordon, func(w *world, _ *plan.Order) { w.nodes[0].CordonedBy, w.nodes[0].Unschedulable = "", false }, plan.VerdictChanged, "node node-1 is no longer one that Rollcall cordoned and that is Ready again",
		},
		"somebody took the cordon over": {
			plan.Uncordon, func(w *world, _ *plan.Order) { w.nodes[0].CordonedBy = "" }, plan.VerdictChanged, "",
		},
		"an order to uncordon that nobody cordoned": {
			plan.Uncordon, func(w *world, _ *plan.Order) { w.nodes[0].CordonedBy = "0000000000000000" }, plan.VerdictChanged, "",
		},
		"the instance to reboot is held": {
			plan.Reboot, func(w *world, _ *plan.Order) { w.instances[0].Hold = "true" }, plan.InstanceHeld, "",
		},
		"the instance of the ghost is there": {
			plan.DeleteNode, func(w *world, _ *plan.Order) { w.instances[0].State = roll.StateRunning }, plan.VerdictChanged, "",
		},
		"the ghost is Ready": {
			plan.DeleteNode, func(w *world, _ *plan.Order) {
				w.nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now}
			}, plan.VerdictChanged, "",
		},
		"a new instance has the ghost's name": {
			plan.DeleteNode, func(w *world, _ *plan.Order) {
				w.instances = append(w.instances, roll.Instance{ID: other, State: roll.StateRunning, Launched: now, ASG: "w", Owner: roll.OwnerAutoScalingGroup, Group: "asg/w", PrivateDNS: "node-1"})
			}, plan.Conflicting, "",
		},
		"EC2 no longer knows the ghost's instance, and another has its name": {
			plan.DeleteNode, func(w *world, _ *plan.Order) {
				w.instances = []roll.Instance{{ID: other, State: roll.StatePending, Launched: now, ASG: "w", Owner: roll.OwnerAutoScalingGroup, Group: "asg/w", PrivateDNS: "node-1"}}
			}, plan.Conflicting, "",
		},
		"the ghost's name is another node's": {
			plan.DeleteNode, func(w *world, _ *plan.Order) { w.nodes[0].Instance = other }, plan.VerdictChanged, "",
		},
		"the API server cannot be dialed": {
			plan.Cordon, func(w *world, _ *plan.Order) { w.dialErr = errors.New("parse CA: bad certificate") }, plan.TargetUnreadable, "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, o := in(t, tt.act)
			earlier := len(w.actions(t))
			tt.happen(w, &o)
			out := w.remediator(t).Act(t.Context(), o, now.Add(time.Second))
			w.refused(t, out, tt.reason, earlier)
			if tt.detail != "" && out.Detail != tt.detail {
				t.Errorf("detail\n got %s\nwant %s", out.Detail, tt.detail)
			}
		})
	}
}

func TestEveryActHeedsTheKillSwitch(t *testing.T) {
	for a := range worlds {
		for says, reason := range map[string]plan.Reason{"stop: true": plan.Stopped, "mode: observe": plan.ModeObserve, "mode: notify": plan.ModeNotify} {
			t.Run(string(a)+"/"+says, func(t *testing.T) {
				w, o := in(t, a)
				earlier := len(w.actions(t))
				thrown := document(ladders + says + "\nowners: {karpenter: delete-nodeclaim}\n")
				before := w.doc
				w.doc = thrown
				out := w.remediator(t).Act(t.Context(), o, now)
				w.refused(t, out, out.Reason, earlier)
				if a != plan.Reboot && out.Reason != reason { // this ladder has no such act there
					t.Errorf("refused for %s (%s), want %s", out.Reason, out.Detail, reason)
				}
				// The kill switch also works while the target is read.
				w.doc = before
				r := w.remediator(t)
				reads := 0
				r.Policy = func(ctx context.Context) (*policy.Document, error) {
					if reads++; reads == 2 {
						return thrown, nil
					}
					return w.policySource(ctx)
				}
				out = r.Act(t.Context(), o, now)
				w.refused(t, out, out.Reason, earlier)
				if a != plan.Reboot && out.Reason != reason {
					t.Errorf("refused for %s (%s), want %s", out.Reason, out.Detail, reason)
				}
			})
		}
		for mode, reason := range map[policy.Mode]plan.Reason{policy.Observe: plan.ModeObserve, policy.Notify: plan.ModeNotify} {
			w, o := in(t, a)
			earlier := len(w.actions(t))
			w.permitted = mode
			w.refused(t, w.remediator(t).Act(t.Context(), o, now), reason, earlier)
		}
	}
}

// An unreadable policy stops the act both before and after the target is read.
func TestThePolicyIsReadBeforeTheLookAndAfterIt(t *testing.T) {
	for fails := 1; fails <= 2; fails++ {
		w := silentNode(t)
		o := w.order(t)
		r := w.remediator(t)
		reads := 0
		r.Policy = func(ctx context.Context) (*policy.Document, error) {
			if reads++; reads == fails {
				return nil, errors.New("ssm:GetParameter was throttled")
			}
			return w.policySource(ctx)
		}
		w.refused(t, r.Act(t.Context(), o, now), plan.PolicyUnreadable, 0)
		looked := slices.Contains(w.events, "look")
		expect.That(t, looked == (fails == 2), "read %d fails: %v", fails, w.events)
	}
}

func TestLooksForWhatThePolicyWatches(t *testing.T) {
	w := silentNode(t)
	w.doc = document(ladders + "conditions: [{type: GPUReady, status: \"False\", tolerate: 5m}]\ninitialization: {taints: [example.com/agent]}\n")
	o := w.order(t)
	if out := w.remediator(t).Act(t.Context(), o, now); out.Result != Acted {
		t.Fatal(out)
	}
	if len(w.watched) != 2 || !w.watched[1].Conditions[roll.ConditionKey{Type: "GPUReady", Status: roll.ConditionFalse}] || !slices.Equal(w.watched[0].Taints, []string{"example.com/agent"}) {
		t.Errorf("looked for %+v", w.watched)
	}
}

func TestAGroupGivesUpOneInstanceAtATime(t *testing.T) {
	begun := func(at time.Time) ledger.Action {
		return ledger.Action{ID: "another", Do: "reboot", Instance: other, Group: "asg/w", Kind: roll.Unknown, At: at}
	}
	done, failed := &ledger.Outcome{Result: ledger.Done, At: now}, &ledger.Outcome{Result: ledger.Failed, At: now}
	tests := map[string]struct {
		change  func(*ledger.Action)
		outcome *ledger.Outcome
		refused bool
	}{
		"another instance, since the order":       {func(*ledger.Action) {}, done, true},
		"another instance, as the order was made": {func(a *ledger.Action) { a.At = now }, done, true},
		"before the order":                        {func(a *ledger.Action) { a.At = now.Add(-time.Nanosecond) }, done, false},
		"it failed":                               {func(*ledger.Action) {}, failed, false},
		"it came half-way":                        {func(*ledger.Action) {}, &ledger.Outcome{Result: ledger.Failed, At: now, Detail: ledger.Unfinished + ": pods were left"}, true},
		"of another group":                        {func(a *ledger.Action) { a.Group = "asg/other" }, done, false},
		"it gave something back":                  {func(a *ledger.Action) { a.Do, a.Free = "uncordon", true }, done, false},
		"on the same instance":                    {func(a *ledger.Action) { a.Instance = target }, done, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := silentNode(t)
			o := w.order(t)
			a := begun(now.Add(time.Second))
			tt.change(&a)
			w.begin(t, a, tt.outcome)
			out := w.remediator(t).Act(t.Context(), o, now.Add(2*time.Second))
			if !tt.refused {
				expect.That(t, out.Result == Acted, "got %s for %s: %s", out.Result, out.Reason, out.Detail)
				return
			}
			w.refused(t, out, plan.OneAtATime, 1)
		})
	}
}

func TestInstancesOfNoGroupDoNotWaitForEachOther(t *testing.T) {
	w := newWorld(t)
	w.doc = document(ladders + "owners: {none: terminate}\n")
	i := &w.instances[0]
	i.ASG, i.Owner, i.Group = "", roll.OwnerNone, roll.GroupNone
	w.nodes = []roll.Node{sick(roll.ConditionUnknown, "NodeStatusUnknown")}
	w.check(t, now.Add(-10*time.Minute))
	o := w.order(t)
	w.begin(t, ledger.Action{ID: "another", Do: "terminate", Instance: other, Group: roll.GroupNone, Kind: roll.Unknown, At: now}, &ledger.Outcome{Result: ledger.Done, At: now})
	out := w.remediator(t).Act(t.Context(), o, now)
	expect.That(t, out.Result == Acted, "got %s for %s: %s", out.Result, out.Reason, out.Detail)
}

// A node that became Ready need not wait for acts on others of its group.
func TestToGiveBackWaitsForNobody(t *testing.T) {
	w, o := in(t, plan.Uncordon)
	for n := range 5 {
		w.spend(t, n, now)
	}
	w.begin(t, ledger.Action{ID: "another", Do: "drain", Instance: other, Group: "asg/w", Kind: roll.NotReady, At: now}, nil)
	out := w.remediator(t).Act(t.Context(), o, now.Add(time.Second))
	expect.That(t, out.Result == Acted, "got %s for %s: %s", out.Result, out.Reason, out.Detail)
}

// The clock of the acting function may be behind the minute of the order's check.
func TestAnActIsNeverDatedBeforeItsOrder(t *testing.T) {
	for _, tt := range []struct{ now, want time.Duration }{
		{0, 0}, {time.Second, time.Second}, {-time.Second, 0}, {-time.Minute, 0}, {-time.Minute - time.Nanosecond, -time.Minute - time.Nanosecond},
	} {
		if got := notBefore(now.Add(tt.now), now); !got.Equal(now.Add(tt.want)) {
			t.Errorf("%s after the order: dated %s after it, want %s", tt.now, got.Sub(now), tt.want)
		}
	}
}

// sequence returns the steps around an act, in order.
func sequence(a plan.Action) []string {
	if a == plan.Uncordon { // it interrupts nothing
		return []string{"policy", "look", "policy", "intent", string(a), "outcome"}
	}
	return []string{"policy", "look", "diagnosis", "look", "policy", "evidence", "intent", string(a), "outcome"}
}

func TestEvidenceIsKeptBeforeTheIntentIsRecorded(t *testing.T) {
	for a := range worlds {
		t.Run(string(a), func(t *testing.T) {
			w, o := in(t, a)
			r := w.remediator(t)
			w.keeping = func(got plan.Order, seen Seen) (string, error) {
				expect.That(t, got.ID == o.ID, "the evidence is of order %s, want %s", got.ID, o.ID)
				expect.That(t, seen.Snapshot != nil && len(seen.Assessment.Findings) != 0 && len(seen.Plan.Orders) == 1, "the evidence lacks what the order rests on: %+v", seen)
				return "s3://evidence/x/", nil
			}
			out := r.Act(t.Context(), o, now)
			must.That(t, out.Result == Acted, "%+v", out)
			want := sequence(a)
			expect.That(t, slices.Equal(w.events, want), "events %v, want %v", w.events, want)
		})
	}
}

func TestRefusesWhenTheEvidenceIsNotKept(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	r := w.remediator(t)
	w.keeping = func(plan.Order, Seen) (string, error) { return "", errors.New("s3:PutObject was denied") }
	out := r.Act(t.Context(), o, now)
	w.refused(t, out, plan.EvidenceNotStored, 0)
	expect.Equal(t, out.Detail, "what i-00000000000000001 can still show could not be kept, so nothing was done: s3:PutObject was denied", "detail")
}

// The wait of the next step counts from the act, not from when its order was received.
func TestAnActIsDatedWhenItIsDone(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	r := w.remediator(t)
	at := now
	r.Clock = func() time.Time { return at }
	w.diagnosing = func() { at = now.Add(2 * time.Minute) }
	out := r.Act(t.Context(), o, now)
	must.That(t, out.Result == Acted, "%+v", out)
	a := w.actions(t)[0]
	expect.That(t, a.At.Equal(at) && a.Outcome != nil && a.Outcome.At.Equal(at), "the act is of %s, its outcome %+v, want both of %s", a.At, a.Outcome, at)
}

func TestAnOrderThatExpiresWhileTheEvidenceIsKeptIsRefused(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	r := w.remediator(t)
	at := now
	r.Clock = func() time.Time { return at }
	w.keeping = func(plan.Order, Seen) (string, error) {
		at = o.Expires
		return "s3://evidence/x/", nil
	}
	w.refused(t, r.Act(t.Context(), o, now), plan.OrderExpired, 0)
}

func TestTheOutcomeTellsWhereTheEvidenceIsAndTheCause(t *testing.T) {
	w := silentNode(t)
	o := w.order(t)
	w.diagnoses = map[roll.FindingKey]roll.Diagnosis{{Instance: target, Kind: roll.Unknown}: {Causes: []roll.Cause{{Code: "KernelPanic", Confidence: roll.Decisive, Cure: roll.CureReboot}}}}
	w.keeping = func(_ plan.Order, s Seen) (string, error) {
		expect.That(t, len(s.Diagnoses) == 1, "the evidence holds %d diagnoses", len(s.Diagnoses))
		return "s3://evidence/x/", nil
	}
	out := w.remediator(t).Act(t.Context(), o, now)
	expect.That(t, out.Result == Acted && out.Evidence == "s3://evidence/x/" && out.Cause == "KernelPanic", "%+v", out)
}

// The state of the target after the diagnosis decides, since the diagnosis takes time.
func TestWhatHappensDuringTheDiagnosisIsSeen(t *testing.T) {
	for name, tt := range map[string]struct {
		happen func(*world)
		reason plan.Reason
	}{
		"its node comes back":        {func(w *world) { w.nodes[0].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now} }, plan.VerdictChanged},
		"a person holds it":          {func(w *world) { w.instances[0].Hold = "true" }, plan.InstanceHeld},
		"the mode is set to observe": {func(w *world) { w.doc = document("mode: observe\n" + ladders) }, plan.ModeObserve},
		"every act is stopped":       {func(w *world) { w.doc = document("stop: true\n" + ladders) }, plan.Stopped},
	} {
		w := silentNode(t)
		w.permitted = policy.Remediate
		o := w.order(t)
		w.diagnosing = func() { tt.happen(w) }
		out := w.remediator(t).Act(t.Context(), o, now)
		expect.That(t, out.Result == Refused && out.Reason == tt.reason && len(w.calls) == 0, "%s: %+v", name, out)
	}
}

// A cause found in the diagnosis right before the act changes the next step.
func TestTheCauseFoundBeforeTheActDecides(t *testing.T) {
	key := roll.FindingKey{Instance: target, Kind: roll.Unknown}
	for code, tt := range map[string]struct {
		cure   roll.Cure
		reason plan.Reason
	}{
		"SystemStatusImpaired":          {roll.CureReplace, plan.VerdictChanged}, // now terminate, not reboot
		"KubeletRestartedDuringStartup": {roll.CureWait, plan.CausePasses},
	} {
		w := silent(t)
		o := w.order(t)
		must.That(t, o.Action == plan.Reboot, "the order is to %s", o.Action)
		w.diagnoses = map[roll.FindingKey]roll.Diagnosis{key: {Causes: []roll.Cause{{Code: code, Confidence: roll.Decisive, Cure: tt.cure}}}}
		out := w.remediator(t).Act(t.Context(), o, now)
		expect.That(t, out.Result == Refused && out.Reason == tt.reason && len(w.sent) == 0, "%s: %+v", code, out)
	}
}

func TestRefusesToActWithoutAPlaceForEvidence(t *testing.T) {
	w := silentNode(t)
	_, err := New(Options{Targets: w, EC2: w, Ledger: w.ledger, Policy: w.policySource, Permitted: w.permitted})
	expect.That(t, err != nil && strings.Contains(err.Error(), "--evidence"), "got %v", err)
	o := w.order(t)
	r := w.remediator(t)
	r.Why = func(context.Context, *roll.Snapshot, []roll.Finding, ledger.State) (map[roll.FindingKey]roll.Diagnosis, Keep) {
		return nil, nil
	}
	w.refused(t, r.Act(t.Context(), o, now), plan.EvidenceNotStored, 0)
}

// After a crash that followed the intent, an act that may have happened is looked up and
// not repeated; a repeatable act is repeated.
func TestAfterACrash(t *testing.T) {
	for a, resumes := range map[plan.Action]bool{
		plan.Cordon: true, plan.Uncordon: true, plan.Drain: true, plan.Reboot: false, plan.DeleteNode: false, plan.DeleteNodeClaim: false, plan.Terminate: false,
	} {
		for _, done := range []bool{false, true} {
			t.Run(string(a)+map[bool]string{false: "/before the call", true: "/after the call"}[done], func(t *testing.T) {
				w, o := in(t, a)
				earlier := len(w.actions(t))
				intent := intentOf(o, now.Add(-time.Minute))
				intent.Free = a == plan.Uncordon
				w.begin(t, intent, nil)
				if done && a == plan.Cordon {
					w.nodes[0].Unschedulable, w.nodes[0].CordonedBy = true, o.ID
				}
				out := w.remediator(t).Act(t.Context(), o, now)
				if !resumes {
					w.refused(t, out, plan.ActionUnresolved, earlier+1)
					return
				}
				expect.That(t, out.Result == Acted && !slices.Contains(w.events, "intent"), "got %s for %s (%s); events %v", out.Result, out.Reason, out.Detail, w.events)
				got := w.actions(t)[earlier:]
				expect.That(t, len(got) == 1 && got[0].Outcome != nil && got[0].Outcome.Result == ledger.Done, "the ledger holds %+v, want the one act, done", got)
				if again := len(w.sent); done && a == plan.Cordon && again != 0 {
					t.Errorf("cordoned again: %q", w.sent)
				}
			})
		}
	}
}

func TestTheIdempotentActThatWasDoneMeanwhileIsNotDoneAgain(t *testing.T) {
	w, o := in(t, plan.Drain)
	earlier := len(w.actions(t))
	w.begin(t, intentOf(o, now), nil)
	r := w.remediatorWith(t, &loudLedger{Ledger: w.ledger, world: w})
	r.Targets = lookingThen{w, func() {
		expect.Succeed(t, w.ledger.Finish(context.Background(), cluster, o.ID, ledger.Outcome{Result: ledger.Done, At: now}))
	}}
	w.refused(t, r.Act(t.Context(), o, now.Add(time.Second)), plan.AlreadyBegun, earlier+1)
}

// lookingThen runs a function while the target is read.
type lookingThen struct {
	*world
	then func()
}

func (l lookingThen) Target(ctx context.Context, name string, id roll.InstanceID, at time.Time, watch roll.Watch) *roll.Snapshot {
	defer l.then()
	return l.world.Target(ctx, name, id, at, watch)
}

func TestNewRemediatorsDialTheCluster(t *testing.T) {
	w := newWorld(t)
	r, err := New(Options{Ledger: w.ledger, Kube: dialing{}, Why: w.why})
	must.Succeed(t, err)
	if _, err := r.reach(w.cluster); err == nil || !strings.Contains(err.Error(), "no endpoint") {
		t.Errorf("got %v", err)
	}
}
