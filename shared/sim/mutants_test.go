package sim

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/kube"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/view"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// mutant is a version of Rollcall with one fault, such as somebody could make by mistake.
type mutant struct {
	name   string
	guards func() Guards // created for each run: some keep state
	sc     Scenario
	seeds  int    // it is caught in one of this many seeds; 0 means one
	rules  []Rule // one of which it must break first
	// survives says why it breaks no rule: what else in the product prevents harm.
	survives string
}

// A rule that no wrong version breaks proves nothing. Neither does a rule that the right version breaks
// too.
func TestWrongVersionsAreCaught(t *testing.T) {
	caught := map[Rule]bool{}
	for _, m := range mutants() {
		for _, rule := range m.rules {
			caught[rule] = true
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.check(t)
		})
	}
	for _, rule := range allRules(t) {
		if !caught[rule] && !byHand[rule] {
			t.Errorf("no wrong version breaks %s", rule)
		}
	}
}

// check runs the right version and the wrong one.
func (m mutant) check(t *testing.T) {
	for range max(m.seeds, 1) {
		right := tried(t, m.sc, Guards{})
		expect.That(t, len(right.Violations) == 0, "seed %d: the right version breaks rules: %+v", m.sc.Seed, right.Violations)
		r := tried(t, m.sc, m.guards())
		switch {
		case m.survives != "" && r.Digest == right.Digest:
			t.Error("makes no difference here")
		case len(r.Violations) == 0:
		case m.survives != "":
			t.Errorf("is caught by %s (%s), and is said to survive since %s", r.Violations[0].Rule, r.Violations[0].Detail, m.survives)
		case !slices.Contains(m.rules, r.Violations[0].Rule):
			t.Errorf("breaks %s first (%s), and should break %s", r.Violations[0].Rule, r.Violations[0].Detail, m.rules)
		default:
			return
		}
		m.sc.Seed++
	}
	expect.That(t, m.survives != "", "breaks no rule, and should break %s", m.rules)
}

// allRules returns the rules that the sources name.
func allRules(t *testing.T) (all []Rule) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	must.Succeed(t, err)
	named := regexp.MustCompile(`(?m)^\tRule\w+ +Rule = "([^"]+)"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must.Succeed(t, err)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			all = append(all, Rule(m[1]))
		}
	}
	must.That(t, len(all) >= 20, "found only %s", all)
	return all
}

// byHand has the rules that no guard can break, for lack of a seam. The tests of the auditor's files
// break them.
var byHand = map[Rule]bool{
	RuleRole: true, RuleSchedule: true, RuleNoise: true, RuleHarm: true,
	RuleAtRest: true, RuleDisrupted: true, RuleFrozen: true, RuleBeside: true,
	RuleFresh: true, RuleLetters: true,
	RuleGroup: true, RuleStopped: true, RuleBacklog: true, RuleForeign: true, RuleBooting: true, RuleServing: true, RuleVain: true,
}

func tried(t *testing.T, sc Scenario, g Guards) Result {
	t.Helper()
	r, err := Run(sc, Watch{Guards: g})
	must.Succeed(t, err)
	return r
}

// The groups of the trials.
const (
	api     = "api"
	workers = "workers"
	pool    = "pool"
)

// trial returns a short run of one cluster, in which nothing but the faults happens at random.
func trial(faults ...Fault) Scenario {
	for i := range faults {
		faults[i].ID = cmp.Or(faults[i].ID, i+1)
	}
	return Scenario{
		Seed: 1, Start: began, Storm: 3 * time.Hour, Healed: 150 * time.Minute, Sweep: 5 * time.Minute, Permitted: "remediate", Quiet: true,
		Policy: remediating, Faults: faults,
		Clusters: []ClusterSpec{{Name: "orders", Groups: []GroupSpec{
			{Name: api, Owner: "managed-nodegroup", Type: "m5.large", Desired: 9},
			{Name: workers, Owner: "autoscaling-group", Type: "c5.xlarge", Desired: 6},
			{Name: pool, Owner: "karpenter", Type: "m5.large", Desired: 6},
		}}},
	}
}

// one is a group of one machine in the first zone, so that it is certain which machine a fault affects.
var one = GroupSpec{Name: "one", Owner: "autoscaling-group", Type: "m5.large", Desired: 1}

// calmly returns the scenario with calm hours at its end, in which what is ill should be remediated.
func calmly(sc Scenario) Scenario {
	sc.Storm, sc.Calm = time.Hour, 6*time.Hour
	return sc
}

// longer returns the scenario, longer by the hours until something counts as left.
func longer(sc Scenario) Scenario {
	sc.Storm += 3 * time.Hour
	return sc
}

// notifying returns the scenario in mode notify.
func notifying(sc Scenario) Scenario {
	sc.Policy = withMode(sc.Policy, "notify")
	return sc
}

// ill makes machines of a group ill at that minute.
func ill(kind FaultKind, minute int, group string, count int) Fault {
	return Fault{Kind: kind, At: time.Duration(minute) * time.Minute, Group: group, Count: count}
}

// lasts returns the fault with a duration in minutes.
func (f Fault) lasts(minutes int) Fault {
	f.For = time.Duration(minutes) * time.Minute
	return f
}

// people has a person interfere in that way with one machine of a group.
func people(does string, minute int, group string) Fault {
	f := ill(FaultPeople, minute, group, 1)
	f.Value = does
	return f
}

// mutants returns the wrong versions.
func mutants() []mutant {
	return slices.Concat(mutantsOfLooks(), mutantsOfLimits(), mutantsOfSense(), mutantsOfMode(), mutantsOfMemory(), mutantsOfWords())
}

// mutantsOfLooks trust observations that they should not.
func mutantsOfLooks() []mutant {
	rarely := trial(ill(FaultNotReady, 62, api, 1))
	rarely.Sweep = 20 * time.Minute
	updating := trial(ill(FaultNotReady, 30, api, 1), Fault{Kind: FaultUpdate, At: 35 * time.Minute, For: time.Hour})
	crowd := trial(ill(FaultNotReady, 30, api, 1), Fault{Kind: FaultAPIErrors, At: 35 * time.Minute, For: time.Hour, Share: 0.3})
	crowd.Clusters[0].Groups[1].Desired, crowd.Storm = kube.PageSize, 100*time.Minute
	late := trial(ill(FaultSilence, 30, api, 1).lasts(35), ill(FaultSilence, 80, workers, 1).lasts(35), ill(FaultSilence, 130, api, 1).lasts(35), Fault{Kind: FaultMessages, At: time.Hour, For: 2 * time.Hour, Share: 0.5})
	late.Quiet, late.Sweep = false, 20*time.Minute
	held := trial(people(peopleHold, 30, "one"), ill(FaultNotReady, 40, "one", 1))
	held.Clusters[0].Groups[0] = one
	ignored := trial(people(peopleIgnore, 30, "one"))
	ignored.Clusters[0].Groups[0] = one
	protected := trial(people(peopleProtect, 30, "one"), ill(FaultNotReady, 40, "one", 1))
	protected.Clusters[0].Groups[0] = one
	again := trial(ill(FaultNotReady, 40, api, 1))
	again.Seed = 3
	canceled := trial(Fault{Kind: FaultScheduled, At: 30 * time.Minute, Group: workers, Count: 3, Value: eventCanceled})
	far := trial(Fault{Kind: FaultScheduled, At: 30 * time.Minute, Group: workers, Count: 1, Value: eventFar})
	soon := trial(Fault{Kind: FaultScheduled, At: 90 * time.Minute, Group: pool, Count: 1, Value: eventRetires})
	repairs := func(reason string, repair roll.Repair) func() Guards {
		return planningFrom(underPolicy(func(p *policy.Policy) { p.Repair.Reasons = map[string]roll.Repair{reason: repair} }))
	}
	unasked := repairing(workers, gpuReplaced)
	unasked.Policy = remediating
	takenFor := func(reason string) func() Guards {
		return reading(func(s *roll.Snapshot) {
			for i := range s.Nodes {
				s.Nodes[i].Conditions = slices.Clone(s.Nodes[i].Conditions)
				for j := range s.Nodes[i].Conditions {
					s.Nodes[i].Conditions[j].Reason = reason
				}
			}
		})
	}
	return []mutant{
		{name: "an accelerator is repaired though nobody asked for it", sc: unasked, rules: []Rule{RuleAccelerator}, guards: func() Guards {
			answered := func(s *roll.Snapshot) {
				s.Details, s.Groups = map[roll.InstanceID]roll.Detail{}, map[roll.Group]roll.GroupDetail{}
				for _, i := range s.Instances {
					s.Details[i.ID] = roll.Detail{
						TerminationProtected: roll.No, ScaleInProtected: roll.No, LifecycleRead: roll.Yes, Lifecycle: "InService",
						Pods: &roll.NodePods{Read: roll.Yes, BudgetsRead: roll.Yes, VolumesRead: roll.Yes},
					}
					s.Groups[i.Group] = roll.GroupDetail{AutoRepair: roll.No, LaunchSuspended: roll.No, ReplaceSuspended: roll.No, LaunchesRead: roll.Yes}
				}
			}
			g := repairs("NvidiaXID79Error", roll.RepairReplace)()
			g.Observer, g.Targets = seeing(answered), seeingAgain(answered)
			return g
		}},
		{name: "what needs a person is taken for what is replaced", sc: repairing(workers, gpuPerson), rules: []Rule{RuleAccelerator}, guards: takenFor("NvidiaXID79Error")},
		{name: "what needs a person is taken for what is rebooted", sc: repairing(api, gpuPerson), rules: []Rule{RuleAccelerator}, guards: takenFor("NvidiaXID48Error")},
		{name: "what a reboot cures is replaced", sc: repairing(workers, gpuReboots), rules: []Rule{RuleAccelerator}, guards: repairs("NvidiaXID48Error", roll.RepairReplace)},
		{name: "what a reboot does not cure is rebooted", sc: repairing(api, gpuReplaced), rules: []Rule{RuleAccelerator}, guards: repairs("NvidiaXID79Error", roll.RepairReboot)},
		{name: "a failed accelerator is left alone", sc: calmly(repairing(workers, gpuReplaced)), rules: []Rule{RuleCure}, guards: repairs("NvidiaXID79Error", "")},
		{
			name: "an event that is over is taken for one to come", sc: canceled, seeds: 6, rules: []Rule{RuleScheduled},
			guards: func() Guards {
				once := map[roll.InstanceID]roll.Event{}
				return reading(func(s *roll.Snapshot) {
					maps.Copy(once, s.Scheduled)
					s.Scheduled = maps.Clone(once)
				})()
			},
		},
		{
			name: "the lead is ignored", sc: far, rules: []Rule{RuleScheduled},
			guards: reading(func(s *roll.Snapshot) {
				for id, e := range s.Scheduled {
					e.NotBefore = began.Add(2 * time.Hour)
					s.Scheduled[id] = e
				}
			}),
		},
		{
			name: "Karpenter has no time to move its nodes", sc: soon, rules: []Rule{RuleScheduled},
			guards: planningFrom(func(in *plan.Input) {
				for i := range in.Assessment.Findings {
					if f := &in.Assessment.Findings[i]; f.Kind == roll.Scheduled {
						f.Since = began.Add(30 * time.Minute)
					}
				}
			}),
		},
		{
			name: "a ladder reboots what is scheduled", sc: trial(Fault{Kind: FaultScheduled, At: 30 * time.Minute, Group: workers, Count: 1, Value: eventRetires}), survives: "the plan passes over every step but cordon and drain",
			guards: planningFrom(func(in *plan.Input) {
				was := in.Policy
				in.Policy = func(s roll.Selector) policy.Policy {
					pol := was(s)
					pol.Ladders = maps.Clone(pol.Ladders)
					pol.Ladders[roll.Scheduled] = []policy.Step{{Do: policy.DoReboot}, {Do: policy.DoTerminate}}
					return pol
				}
			}),
		},
		{
			name: "a trouble is taken for an older one", sc: trial(ill(FaultSilence, 30, api, 1)), rules: []Rule{RuleTolerance},
			guards: reading(func(s *roll.Snapshot) {
				for i := range s.Nodes {
					if n := &s.Nodes[i]; n.Ready.Status == roll.ConditionUnknown {
						n.Ready.Since = n.Ready.Since.Add(-8 * time.Minute)
					}
				}
			}),
		},
		{
			name: "a silent machine is taken for one whose status checks fail", sc: trial(ill(FaultSilence, 30, pool, 1)), rules: []Rule{RuleLadder},
			guards: reading(func(s *roll.Snapshot) {
				s.Impaired = maps.Clone(s.Impaired)
				for _, n := range s.Nodes {
					if n.Ready.Status == roll.ConditionUnknown {
						s.Impaired[n.Instance] = roll.Impairment{Since: n.Ready.Since}
					}
				}
			}),
		},
		{
			name: "one sighting is enough", sc: rarely, rules: []Rule{RuleTwice},
			guards: planningFrom(seenBefore),
		},
		{
			name: "a cluster that is updated is taken for a whole one", sc: updating, rules: []Rule{RuleWhole},
			guards: func() Guards {
				whole := func(s *roll.Snapshot) { s.Gaps, s.Cluster.Status = nil, roll.ClusterActive }
				return Guards{Observer: seeing(whole), Targets: seeingAgain(whole), Plan: planning(without("ClusterNotActive"))}
			},
		},
		{
			name: "a partial page is trusted", sc: crowd, seeds: 8, rules: []Rule{RuleWhole},
			guards: reading(func(s *roll.Snapshot) { s.Gaps = nil }),
		},
		{
			name: "the target is not looked at again", sc: again, rules: []Rule{RuleWhole},
			guards: func() Guards {
				first, orders := map[roll.InstanceID]*roll.Snapshot{}, map[roll.InstanceID]string{}
				return Guards{Targets: func(o Targets) Targets { return oldTargets{o, first, orders} }, Plan: planned(ordersOf(orders))}
			},
		},
		{
			name: "a node that came back is taken for a silent one", sc: late, seeds: 24, rules: []Rule{RuleHealthy},
			guards: func() Guards {
				then := map[roll.InstanceID]roll.Node{}
				return Guards{Observer: seeing(func(s *roll.Snapshot) {
					for _, n := range s.Nodes {
						if n.Ready.Status != roll.ConditionTrue {
							then[n.Instance] = n
						}
					}
				}), Targets: seeingAgain(func(s *roll.Snapshot) {
					for i, n := range s.Nodes {
						if sick, ok := then[n.Instance]; ok {
							s.Nodes[i] = sick
						}
					}
				})}
			},
		},
		{
			name: "a healthy node is taken for one that is not", sc: trial(), rules: []Rule{RuleHealthy, RuleLadder},
			guards: reading(func(s *roll.Snapshot) {
				for i := range s.Nodes {
					if n := &s.Nodes[i]; s.At.After(began.Add(10*time.Minute)) && n.Group == "nodegroup/api" && (s.Target != "" && n.Instance == s.Target || s.Target == "" && i == 0) {
						n.Ready = roll.Condition{Status: roll.ConditionFalse, Since: began.Add(10 * time.Minute)}
					}
				}
			}),
		},
		{
			name: "rollcall:hold is not looked at", sc: held, rules: []Rule{RuleKept},
			guards: reading(func(s *roll.Snapshot) {
				for i := range s.Instances {
					s.Instances[i].Hold = ""
				}
			}),
		},
		{
			name: "rollcall:ignore is not looked at", sc: ignored, seeds: 6, rules: []Rule{RuleKept},
			guards: reading(func(s *roll.Snapshot) {
				for i := range s.Instances {
					s.Instances[i].Ignore = false
				}
			}),
		},
		{
			name: "termination protection is not looked at", sc: protected, rules: []Rule{RuleKept},
			guards: func() Guards {
				return Guards{Observer: func(o Observer) Observer { return wrongDetails{o} }, Targets: func(o Targets) Targets { return wrongDetailsAgain{o} }}
			},
		},
		{
			name: "the order's tag is not needed", sc: trial(ill(FaultNotReady, 30, api, 1)), rules: []Rule{RuleKept},
			guards: func() Guards {
				orders := map[roll.InstanceID]string{}
				marked := func(s *roll.Snapshot) {
					for i := range s.Instances {
						s.Instances[i].Marks = &roll.Marks{Order: orders[s.Instances[i].ID]}
					}
				}
				return Guards{
					Targets: seeingAgain(marked), Tags: func(t Tags) Tags { return noTags{t} },
					Plan: planned(ordersOf(orders)),
				}
			},
		},
	}
}

// mutantsOfLimits exceed limits.
func mutantsOfLimits() []mutant {
	three := trial(ill(FaultNotReady, 30, api, 3))
	spread := trial(ill(FaultNotReady, 30, api, 2), ill(FaultNotReady, 30, workers, 2), ill(FaultNotReady, 30, pool, 2))
	busy := trial(ill(FaultNotReady, 30, api, 1), ill(FaultNotReady, 31, workers, 1))
	busy.Policy += "limits: {actionsPerHour: 1}\n"
	fewer := func(g roll.Group) func(*plan.Input) {
		return func(in *plan.Input) {
			counts := maps.Clone(in.Assessment.Count)
			c := counts[g]
			c.Overdue--
			counts[g] = c
			in.Assessment.Count = counts
		}
	}
	many := limits(func(l *policy.Limits) { l.ActionsPerHour, l.ActionsPerCheck = 100, 100 })
	rich := func(l ledger.Ledger) ledger.Ledger {
		return wrongLedger{Ledger: l, begin: func(ctx context.Context, c roll.ClusterID, a ledger.Action, b ledger.Budget) error {
			b.Max = 1000
			return l.Begin(ctx, c, a, b)
		}}
	}
	return []mutant{
		{
			name: "the share of a group lets one more be", sc: three, rules: []Rule{RuleShare},
			guards: planningFrom(limits(func(l *policy.Limits) { l.Unhealthy = 30 })),
		},
		{
			name: "of a group one too few is counted", sc: three, rules: []Rule{RuleShare},
			guards: planningFrom(fewer("nodegroup/api")),
		},
		{
			name: "of the cluster one too few is counted", sc: spread, rules: []Rule{RuleShare},
			guards: planningFrom(fewer("")),
		},
		{
			name: "the share is ignored", sc: trial(ill(FaultNotReady, 30, api, 6)), rules: []Rule{RuleShare},
			guards: planningFrom(limits(func(l *policy.Limits) { l.Unhealthy = 100 })),
		},
		{
			name: "the budget is ignored", sc: busy, rules: []Rule{RuleBudget},
			guards: func() Guards { return Guards{Plan: planning(many), Ledger: rich} },
		},
		{
			name: "the plan ignores the budget", sc: busy, rules: []Rule{RuleBudget},
			guards: planningFrom(many),
		},
	}
}

// mutantsOfSense keep to the numeric limits, and do what no person would.
func mutantsOfSense() []mutant {
	corner := trial(Fault{Kind: FaultZone, Zone: zones[2], At: 30 * time.Minute, For: 80 * time.Minute})
	corner.Clusters[0].Groups = nil
	for i, desired := range []int{3, 3, 3, 2, 2, 2, 2, 2} {
		corner.Clusters[0].Groups = append(corner.Clusters[0].Groups, GroupSpec{Name: []string{"a", "b", "c", "d", "e", "f", "g", "h"}[i], Owner: "autoscaling-group", Type: "m5.large", Desired: desired})
	}
	broken := trial(Fault{Kind: FaultTemplate, Group: workers, At: 30 * time.Minute, Count: 1})
	broken.Storm = 6 * time.Hour
	again := trial(Fault{Kind: FaultPressure, Group: "one", At: 20 * time.Minute, Count: 1, Bare: true}, Fault{Kind: FaultPressure, Group: "one", At: 150 * time.Minute, Count: 1, Bare: true})
	again.Storm = 5 * time.Hour
	again.Clusters[0].Groups[0] = one
	dry := trial(ill(FaultNotReady, 30, pool, 2), Fault{Kind: FaultDry, Group: pool, At: 40 * time.Minute, For: 2 * time.Hour})
	shifted := trial(Fault{Kind: FaultShift, Zone: zones[0], At: 20 * time.Minute, For: 90 * time.Minute}, ill(FaultNotReady, 30, "one", 1))
	shifted.Clusters[0].Groups[0] = one
	slow := trial(ill(FaultNotReady, 30, api, 1))
	slow.Policy += "ladders: {NotReady: [{do: notify}, {do: cordon}, {do: drain, after: 10m}, {do: terminate}]}\n"
	turns := trial(ill(FaultNotReady, 20, api, 1), ill(FaultNotReady, 100, api, 1))
	unrelated := func(in *plan.Input) { in.Diagnoses = nil }
	return []mutant{
		{
			name: "a zone that is down is not noticed", sc: corner, rules: []Rule{RuleZone},
			guards: planningFrom(func(in *plan.Input) { in.Assessment.Zones, in.Assessment.Silent = nil, nil }, unrelated),
		},
		{
			name: "a zonal shift is ignored", sc: shifted, rules: []Rule{RuleZone},
			guards: reading(func(s *roll.Snapshot) { s.Cluster.ZonalShift = false }),
		},
		{
			name: "a cause that others share is ignored", sc: broken, survives: "replacements that fail like what they replaced are not made again and again",
			guards: planningFrom(unrelated),
		},
		{
			name: "replacements that repeat are not noticed", sc: broken, rules: []Rule{RuleRepeats, RulePace},
			guards: planningFrom(unrelated, limits(func(l *policy.Limits) { l.Replacements, l.WithoutReplacement = 100, true })),
		},
		{
			name: "the replacement is not waited for", sc: dry, rules: []Rule{RulePace},
			guards: planningFrom(limits(func(l *policy.Limits) { l.WithoutReplacement = true })),
		},
		{
			name: "Karpenter is not waited for", sc: trial(ill(FaultNotReady, 30, pool, 1)), rules: []Rule{RuleOwner},
			guards: planningFrom(func(in *plan.Input) {
				in.Assessment.Findings = slices.Clone(in.Assessment.Findings)
				for i := range in.Assessment.Findings {
					if f := &in.Assessment.Findings[i]; f.Owner == roll.OwnerKarpenter {
						f.Owner = roll.OwnerNone
					}
				}
			}, underPolicy(func(p *policy.Policy) {
				p.Owners = maps.Clone(p.Owners)
				p.Owners[roll.OwnerNone] = policy.OwnerTerminate
			})),
		},
		{name: "a silent node is ended without a reboot", sc: trial(ill(FaultSilence, 30, api, 1)), rules: []Rule{RuleLadder}, guards: climbing(roll.Unknown, policy.Step{Do: policy.DoNotify}, policy.Step{Do: policy.DoTerminate})},
		{name: "a step does not wait", sc: slow, rules: []Rule{RuleLadder}, guards: climbing(roll.NotReady, policy.Step{Do: policy.DoNotify}, policy.Step{Do: policy.DoCordon}, policy.Step{Do: policy.DoDrain}, policy.Step{Do: policy.DoTerminate})},
		{name: "a node that answers is not drained", sc: trial(ill(FaultNotReady, 30, api, 1)), rules: []Rule{RuleLadder}, guards: climbing(roll.NotReady, policy.Step{Do: policy.DoNotify}, policy.Step{Do: policy.DoCordon}, policy.Step{Do: policy.DoTerminate})},
		{name: "a node is drained before it is cordoned", sc: trial(ill(FaultNotReady, 30, api, 1)), rules: []Rule{RuleLadder}, guards: climbing(roll.NotReady, policy.Step{Do: policy.DoNotify}, policy.Step{Do: policy.DoDrain}, policy.Step{Do: policy.DoTerminate})},
		{name: "each trouble is taken for one that is shared", sc: trial(ill(FaultNotReady, 30, api, 1)), rules: []Rule{RuleTruth}, guards: heldFor(plan.SharedCause)},
		{name: "an owner is waited for without end", sc: trial(ill(FaultNotReady, 30, api, 1)), rules: []Rule{RuleTruth}, guards: heldFor(plan.OwnerWillAct)},
		{name: "an owner that repairs nothing is waited for", sc: trial(ill(FaultNotReady, 30, workers, 1)), rules: []Rule{RuleTruth}, guards: heldFor(plan.OwnerWillAct)},
		{name: "what was done is taken for failed", sc: trial(ill(FaultNotReady, 30, api, 1)), rules: []Rule{RuleTruth}, guards: heldAfter(plan.Drain, plan.ActionFailed)},
		{name: "what was done is taken for stuck", sc: trial(ill(FaultNotReady, 30, api, 1)), rules: []Rule{RuleTruth}, guards: heldAfter(plan.Drain, plan.ActionStuck)},
		{name: "a drain that is done is taken for unfinished", sc: trial(ill(FaultNotReady, 30, api, 1)), rules: []Rule{RuleTruth}, guards: heldAfter(plan.Drain, plan.DrainUnfinished)},
		{name: "a group has one turn", sc: turns, rules: []Rule{RuleTruth}, guards: planningTo(func(in plan.Input, out *plan.Plan) {
			if len(in.State.Actions) > 0 && !slices.ContainsFunc(in.State.Actions, func(a ledger.Action) bool { return len(out.Orders) > 0 && a.Instance == out.Orders[0].Instance }) {
				holdAll(out, plan.OneAtATime)
			}
		})},
		{name: "each trouble is seen for the first time", sc: trial(ill(FaultNotReady, 30, api, 1)), rules: []Rule{RuleTruth}, guards: heldFor(plan.NotSeenTwice)},
		{
			name: "an instance is rebooted for each of its troubles", sc: again, rules: []Rule{RuleOnce},
			guards: planningFrom(func(in *plan.Input) {
				in.State = in.State.Clone()
				in.State.Actions = slices.DeleteFunc(in.State.Actions, func(a ledger.Action) bool {
					return a.Do == string(plan.Reboot) && in.Now.Sub(a.At) > time.Hour
				})
			}),
		},
	}
}

// mutantsOfMode do what their mode forbids.
func mutantsOfMode() []mutant {
	sick := trial(ill(FaultNotReady, 30, api, 1))
	asks := trial(ill(FaultNotReady, 30, api, 1))
	asks.Policy += "ladders: {NotReady: [{do: notify}, {approve: {for: 1h}}, {do: cordon}, {do: drain}, {do: terminate}]}\n"
	asks.Seed = 3
	goes := asks.clone()
	goes.Policy = strings.Replace(asks.Policy, "1h", "1h, then: go", 1)
	notify, observe, permits := sick.clone(), sick.clone(), sick.clone()
	notify.Policy, observe.Policy = withMode(sick.Policy, "notify"), withMode(sick.Policy, "observe")
	permits.Permitted = "notify"
	lowered := trial(ill(FaultNotReady, 22, api, 1), Fault{Kind: FaultMode, At: 45 * time.Minute, Value: "notify"}.lasts(20))
	lowered.Policy += "ladders: {NotReady: [{do: notify}, {do: terminate, after: 40m}]}\n"
	mode := func(m policy.Mode) func() Guards {
		return planningFrom(underPolicy(func(p *policy.Policy) { p.Mode = m }))
	}
	return []mutant{
		{
			name: "a mode that was lowered for a while leaves alone what was found before", sc: lowered, rules: []Rule{RuleTruth},
			guards: forgetting(func(w *wrongLedger) {
				w.record = func(c *ledger.Changes) {
					for key, f := range c.Put.Findings {
						f.Allowed = false
						c.Put.Findings[key] = f
					}
				}
			}),
		},
		{
			name: "a rung that asks is passed over", sc: asks, rules: []Rule{RuleApproval},
			guards: climbing(roll.NotReady, policy.Step{Do: policy.DoNotify}, policy.Step{Do: policy.DoCordon}, policy.Step{Do: policy.DoDrain}, policy.Step{Do: policy.DoTerminate}),
		},
		{
			name: "every question is taken for approved", sc: asks, rules: []Rule{RuleApproval},
			guards: forgetting(func(w *wrongLedger) {
				w.read = func(s *ledger.State) {
					for order, q := range s.Questions {
						s.Approvals[order] = ledger.Approval{By: "nobody", How: ledger.WayCommand, At: q.At}
					}
				}
			}),
		},
		{
			name: "what may go does not wait", sc: goes, rules: []Rule{RuleApproval},
			guards: planningFrom(func(in *plan.Input) {
				in.State = in.State.Clone()
				for order, q := range in.State.Questions {
					q.Until = in.Now
					in.State.Questions[order] = q
				}
			}),
		},
		{name: "mode notify is not kept to", sc: notify, rules: []Rule{RuleMode}, guards: mode(policy.Remediate)},
		{name: "mode observe is not kept to", sc: observe, rules: []Rule{RuleMode, RuleTruth}, guards: mode(policy.Notify)},
		{
			name: "the mode of the deployment is not kept to", sc: permits, rules: []Rule{RuleMode},
			guards: func() Guards { return Guards{Permitted: func(policy.Mode) policy.Mode { return policy.Remediate }} },
		},
		{
			// Each delivery reads it before its node and, as the kill switch, again after it.
			name: "the policy is not read again after the node", sc: sick, rules: []Rule{RuleFresh}, guards: policyReads(1),
		},
		{name: "the policy is not read again for the next act", sc: sick, rules: []Rule{RuleMode}, guards: policyReads(2)},
	}
}

// mutantsOfMemory do not record what they should, or do not read it.
func mutantsOfMemory() []mutant {
	sick := trial(ill(FaultNotReady, 30, api, 1))
	two := calmly(trial(ill(FaultSilence, 30, api, 2)))
	twice := trial(Fault{Kind: FaultPressure, At: 30 * time.Minute, Group: api, Count: 1, Value: lasting})
	beside := trial(ill(FaultNotReady, 30, api, 1), ill(FaultSilence, 60, workers, 1), Fault{Kind: FaultMessages, At: time.Minute, For: 3 * time.Hour, Share: 1})
	beside.Quiet = false
	return []mutant{
		{
			name: "the version of the notices is raised without a condition", sc: beside, seeds: 8, rules: []Rule{RuleReport},
			guards: func() Guards { return Guards{Table: func(t Table) Table { return unconditional{t} }} },
		},
		{
			name: "the ledger is read eventually consistent", sc: beside, seeds: 16, rules: []Rule{RuleReport, RuleEnd},
			guards: func() Guards { return Guards{Table: func(t Table) Table { return stale{t} }} },
		},
		{
			name: "the intent is not recorded", sc: sick, rules: []Rule{RuleIntent},
			guards: forgetting(func(w *wrongLedger) {
				w.begin = func(context.Context, roll.ClusterID, ledger.Action, ledger.Budget) error { return nil }
			}),
		},
		{
			name: "what was begun is begun again", sc: twice, rules: []Rule{RuleOnce, RuleIntent},
			guards: forgetting(func(w *wrongLedger) {
				l := w.Ledger
				w.begin = func(ctx context.Context, c roll.ClusterID, a ledger.Action, b ledger.Budget) error {
					if err := l.Begin(ctx, c, a, b); !errors.Is(err, ledger.ErrBegun) && !errors.Is(err, ledger.ErrUnresolved) && !errors.Is(err, ledger.ErrOvertaken) {
						return err
					}
					return nil
				}
				w.read = func(s *ledger.State) { s.Actions = nil }
			}),
		},
		{
			name: "a termination that took effect is recorded as failed", sc: sick, rules: []Rule{RuleRecord},
			guards: forgetting(func(w *wrongLedger) {
				l := w.Ledger
				w.finish = func(ctx context.Context, c roll.ClusterID, id string, o ledger.Outcome) error {
					if strings.HasPrefix(o.Detail, "terminated") {
						o.Result = ledger.Failed
					}
					return l.Finish(ctx, c, id, o)
				}
			}),
		},
		{
			name: "an outcome is never recorded", sc: two, rules: []Rule{RuleCure},
			guards: forgetting(func(w *wrongLedger) {
				w.finish = func(context.Context, roll.ClusterID, string, ledger.Outcome) error { return nil }
			}),
		},
		{
			name: "evidence is said to be kept", sc: sick, rules: []Rule{RuleEvidence},
			guards: func() Guards { return Guards{Store: func(view.Store) view.Store { return noStore{} }} },
		},
		{
			name: "another cause is reported", sc: sick, rules: []Rule{RuleCause},
			guards: func() Guards {
				return Guards{Check: func(why run.Why) run.Why {
					return func(ctx context.Context, s *roll.Snapshot, findings []roll.Finding, state ledger.State, record bool) (map[roll.FindingKey]roll.Diagnosis, run.Keep) {
						diagnoses, keep := why(ctx, s, findings, state, record)
						for key := range diagnoses {
							diagnoses[key] = roll.Diagnosis{Causes: []roll.Cause{{Code: "ZoneOutage", Confidence: roll.Decisive, Cure: roll.CureUnclear}}}
						}
						return diagnoses, keep
					}
				}}
			},
		},
		{name: "the console is not kept", sc: sick, rules: []Rule{RuleEvidence}, guards: storingNo("console/")},
		{name: "the console of what never joined is not kept", sc: trial(ill(FaultNoJoin, 30, api, 1)), rules: []Rule{RuleEvidence}, guards: storingNo("console/")},
		{
			name: "the status checks are not kept", sc: calmly(trial(Fault{Kind: FaultOwnerIdle, At: 30 * time.Minute, Group: workers, Count: 1, Value: idleHealth})), rules: []Rule{RuleEvidence},
			guards: storingNo("instance-status"),
		},
		{
			name: "nothing is kept before an act", sc: sick, rules: []Rule{RuleEvidence},
			guards: func() Guards {
				return Guards{Act: func(why remediate.Why) remediate.Why {
					return func(ctx context.Context, s *roll.Snapshot, findings []roll.Finding, state ledger.State) (map[roll.FindingKey]roll.Diagnosis, remediate.Keep) {
						diagnoses, _ := why(ctx, s, findings, state)
						return diagnoses, func(context.Context, plan.Order, remediate.Seen) (string, error) { return "s3://nowhere/", nil }
					}
				}}
			},
		},
		{
			name: "findings are remembered for ever", sc: trial(ill(FaultSilence, 30, api, 1).lasts(33)), rules: []Rule{RuleTidy},
			guards: forgetting(func(w *wrongLedger) { w.record = func(c *ledger.Changes) { c.Drop.Findings = nil } }),
		},
	}
}

// mutantsOfWords send no notices, or too many; or leave objects behind.
func mutantsOfWords() []mutant {
	sick := trial(ill(FaultNotReady, 30, api, 1))
	calm := calmly(trial(ill(FaultSilence, 30, api, 1)))
	part := calmly(trial(ill(FaultPart, 30, api, 1)))
	back := trial(ill(FaultSilence, 30, api, 1).lasts(33))
	after := calmly(trial(ill(FaultNotReady, 55, api, 1)))
	absent := calmly(trial(ill(FaultNoJoin, 30, api, 1)))
	failing := calmly(trial(ill(FaultImpaired, 30, pool, 1))) // an Auto Scaling group replaces it before that
	failing.Policy = strings.Replace(failing.Policy, "mode: remediate", "mode: remediate\nimpaired: {tolerate: 20m}", 1)
	long := trial(ill(FaultNotReady, 30, api, 1))
	long.Storm = 8 * time.Hour
	four := trial(ill(FaultNotReady, 30, api, 1), ill(FaultNotReady, 180, api, 1), ill(FaultNotReady, 330, api, 1), ill(FaultNotReady, 480, api, 1))
	four.Storm = 11 * time.Hour
	return []mutant{
		{
			name: "that a notice was sent is not remembered", sc: sick, rules: []Rule{RuleReport},
			guards: forgetting(func(w *wrongLedger) { w.record = func(c *ledger.Changes) { c.Put.Notices = nil } }),
		},
		{name: "outcomes are not told", sc: after, rules: []Rule{RuleReport}, guards: silentOn(`"ordered":"`)},
		{
			name: "an act is told of only afterwards", sc: sick, rules: []Rule{RuleFirst},
			guards: func() Guards {
				return Guards{Notices: telling(func(document string) bool {
					return !strings.Contains(document, `"order":"`) || strings.Contains(document, `"ordered":"`)
				})}
			},
		},
		{name: "that it is over is not told", sc: sick, rules: []Rule{RuleEnd}, guards: silentOn(`"resolved"`)},
		{
			name: "that it is over is neither told nor recorded", sc: sick, rules: []Rule{RuleEnd},
			guards: func() Guards {
				g := forgetting(func(w *wrongLedger) { w.record = func(c *ledger.Changes) { c.Drop.Notices = nil } })()
				g.Notices = silentOn(`"resolved"`)().Notices
				return g
			},
		},
		{name: "a cordon is not told of before", sc: sick, rules: []Rule{RuleFirst}, guards: silentOn(`"action":"cordon"`)},
		{
			name: "findings are not told", sc: part, rules: []Rule{RuleReport},
			guards: func() Guards {
				return Guards{Notices: telling(func(document string) bool { return strings.Contains(document, `"ordered"`) })}
			},
		},
		{name: "what still has time is not told", sc: trial(Fault{Kind: FaultRefused, At: 30 * time.Minute, Group: pool, Value: refusedNode}.lasts(60)), rules: []Rule{RuleExplained}, guards: silentOn(`"warned"`)},
		{name: "what is stuck is not told", sc: trial(Fault{Kind: FaultStuck, At: 30 * time.Minute, Group: pool, Count: 1, Value: stuckBoth}.lasts(200)), rules: []Rule{RuleStuck}, guards: silentOn(`"Stuck"`)},
		{
			name: "what was just deleted is stuck", sc: trial(Fault{Kind: FaultStuck, At: 30 * time.Minute, Group: pool, Count: 1, Value: stuckNode}.lasts(200)), rules: []Rule{RuleStuck},
			guards: func() Guards {
				return Guards{Observer: seeing(func(s *roll.Snapshot) {
					for i := range s.Nodes {
						if n := &s.Nodes[i]; !n.DeletedAt.IsZero() {
							n.DeletedAt = n.DeletedAt.Add(-40 * time.Minute)
						}
					}
				})}
			},
		},
		{name: "what is left is not told", sc: longer(trial(Fault{Kind: FaultLeft, At: 15 * time.Minute, Group: api, Count: 1, Value: leftVolume})), rules: []Rule{RuleLeft}, guards: silentOn(`"Stuck"`)},
		{
			name: "what is to outlive an instance is not recorded", sc: longer(trial(Fault{Kind: FaultLeft, At: 15 * time.Minute, Group: api, Count: 1, Value: leftInterface})), rules: []Rule{RuleLeft},
			guards: forgetting(func(w *wrongLedger) {
				l := w.Ledger
				w.begin = func(ctx context.Context, c roll.ClusterID, a ledger.Action, b ledger.Budget) error {
					a.Outlives = nil
					return l.Begin(ctx, c, a, b)
				}
			}),
		},
		{
			name: "what is to outlive an orphan is not recorded", sc: longer(notifying(trial(Fault{Kind: FaultLeft, At: 15 * time.Minute, Group: pool, Count: 1, Value: leftOrphan}))), rules: []Rule{RuleLeft},
			guards: forgetting(func(w *wrongLedger) {
				w.record = func(c *ledger.Changes) {
					for key, f := range c.Put.Findings {
						f.Outlives = nil
						c.Put.Findings[key] = f
					}
				}
			}),
		},
		{
			name: "a claim is no claim", sc: longer(trial(Fault{Kind: FaultLeft, At: 15 * time.Minute, Group: api, Count: 1, Value: leftClaimed})), rules: []Rule{RuleLeft},
			guards: func() Guards { return Guards{Observer: func(o Observer) Observer { return allLeft{o} }} },
		},
		{
			name: "what is attached again is left", sc: longer(trial(Fault{Kind: FaultLeft, At: 15 * time.Minute, Group: api, Count: 1, Value: leftAttached})), rules: []Rule{RuleLeft},
			guards: func() Guards { return Guards{Observer: func(o Observer) Observer { return allLeft{o} }} },
		},
		{name: "that launches fail is not told", sc: trial(Fault{Kind: FaultUnlaunched, At: 30 * time.Minute, Group: workers, Value: "quota"}.lasts(100)), rules: []Rule{RuleUnlaunched}, guards: silentOn(`"Unlaunched"`)},
		{
			name: "tags are never removed", sc: back, rules: []Rule{RuleTidy},
			guards: func() Guards { return Guards{Tags: func(t Tags) Tags { return noUntags{t} }} },
		},
		{
			name: "everything is said twice", sc: sick, rules: []Rule{RuleReport},
			guards: func() Guards { return Guards{Notices: func(n Notices) Notices { return twice{n} }} },
		},
		{
			name: "what came back stays cordoned", sc: trial(ill(FaultNotReady, 30, api, 1).lasts(18)), rules: []Rule{RuleCordon},
			guards: planningTo(func(_ plan.Input, out *plan.Plan) {
				out.Orders = slices.DeleteFunc(out.Orders, func(o plan.Order) bool { return o.Action == plan.Uncordon })
			}),
		},
		{
			name: "what is gone is remembered", sc: sick, rules: []Rule{RuleTidy},
			guards: forgetting(func(w *wrongLedger) { w.record = func(c *ledger.Changes) { c.Drop.Findings = nil } }),
		},
		{
			name: "what is held is not told", sc: calm, rules: []Rule{RuleDeadline},
			guards: planningTo(func(_ plan.Input, out *plan.Plan) { out.Held, out.Orders = nil, nil }),
		},
		{
			name: "nothing is ever ordered", sc: calm, rules: []Rule{RuleDeadline},
			guards: planningTo(func(_ plan.Input, out *plan.Plan) { out.Orders = nil }),
		},
		{
			name: "every order is refused at the act", sc: calm, rules: []Rule{RuleCure},
			guards: func() Guards { return Guards{Targets: seeingAgain(throttled)} },
		},
		{
			name: "every order is refused at the act, while faults occur", sc: long, rules: []Rule{RuleCure},
			guards: func() Guards { return Guards{Targets: seeingAgain(throttled)} },
		},
		{name: "what is silent is ordered late", sc: calm, rules: []Rule{RuleDeadline}, guards: lateBy(30 * time.Minute)},
		{name: "what never registers is ordered late", sc: absent, rules: []Rule{RuleDeadline}, guards: lateBy(30 * time.Minute)},
		{name: "what never initializes is ordered late", sc: calmly(trial(ill(FaultNoReady, 30, api, 1))), rules: []Rule{RuleDeadline}, guards: lateBy(30 * time.Minute)},
		{name: "an instance that fails its status checks is ordered late", sc: failing, rules: []Rule{RuleDeadline}, guards: lateBy(30 * time.Minute)},
		{name: "what never registers alone is taken for shared", sc: absent, rules: []Rule{RuleTruth}, guards: heldFor(plan.SharedCause)},
		{name: "a node that fell silent is said to have its cause outside", sc: calm, rules: []Rule{RuleTruth}, guards: heldFor(plan.CauseOutside)},
		{
			name: "what was replaced well is counted for ever", sc: four, rules: []Rule{RuleTruth},
			guards: planningTo(func(in plan.Input, out *plan.Plan) {
				ended := func(a ledger.Action) bool { return a.Do == string(plan.Terminate) }
				if len(slices.DeleteFunc(slices.Clone(in.State.Actions), func(a ledger.Action) bool { return !ended(a) })) >= 3 {
					holdAll(out, plan.ReplacementRepeats)
				}
			}),
		},
		{name: "everything is held, for what should pass", sc: calm, rules: []Rule{RuleTruth}, guards: heldFor(plan.ActionsPerHour)},
		{name: "no look is ever whole", sc: calm, rules: []Rule{RuleTruth}, guards: func() Guards { return Guards{Observer: seeing(throttled)} }},
		{
			name: "no look is ever whole, and nothing is said to be held", sc: calm, rules: []Rule{RuleChecked},
			guards: func() Guards {
				return Guards{Observer: seeing(throttled), Plan: planned(func(_ plan.Input, out *plan.Plan) { out.Held = nil })}
			},
		},
	}
}
