package sim

import (
	"slices"
	"strings"
	"time"
)

// faultType defines how faults of a kind are drawn, started and ended.
type faultType struct {
	kind   FaultKind
	weight int // how often it is drawn, relative to the other kinds
	// draw chooses the details of a fault. If it is nil, the fields from values to count do.
	draw   func(*Fault, drawing)
	values []string                             // the forms of the fault
	fits   func(g GroupSpec, value string) bool // reports whether a form can arise in a group; nil means in every group
	shape  []GroupSpec                          // the cluster of a run made for this fault
	// need is the time between its start and the end of the storm at least. least and most bound it; 0 lasts.
	need, least, most time.Duration
	count             int // the maximum number of machines

	// prepare runs when the account is created, strike when the fault starts, relent when it ends.
	prepare, strike, relent func(*account, Fault, dice)
	ails                    ailment // the ailment of the affected machines

	// spell marks a fault of the weather. calls selects the affected calls, and answer returns what one meets.
	spell  bool
	calls  func(name string) bool
	answer func(kind access, d dice) string
}

// isSituation reports whether the kind creates a case in which a plausible verdict does harm.
func (t *faultType) isSituation() bool { return t.shape != nil }

// faultTypes holds all kinds of faults, in drawing order.
var faultTypes []faultType

// generations are the kinds of faults in the order in which they were added, each from the first of its kinds on.
// Whether a later one replaces an earlier one is drawn by a die of its own, so that it leaves most scenarios unchanged.
var generations = []struct {
	first        FaultKind
	die, kindDie string
}{{FaultSilence, "", "kind"}, {FaultStopped, "newer", "newer kind"}, {FaultUndescribed, "newest", "newest kind"}, {FaultUnreachable, "private", "private kind"}, {FaultTides, "tides", "tides kind"}}

func indexOf(kind FaultKind) int {
	return slices.IndexFunc(faultTypes, func(t faultType) bool { return t.kind == kind })
}

func init() { // set in init because the functions of a fault use this table
	faultTypes = []faultType{
		{kind: FaultSilence, weight: 14, draw: drawIll, ails: silent, strike: eachVictim(func(m *machine, f Fault, d dice) {
			m.fall(silent, false, f.Value != answersBetween && d.chance(0.5))
			if f.Value == answersBetween {
				m.answers(d)
			}
		})},
		{kind: FaultPressure, weight: 4, draw: drawIll, ails: silent, strike: eachVictim(func(m *machine, f Fault, d dice) {
			m.starve(d.between(7*time.Minute, 16*time.Minute), f.Value != lasting && (f.Bare || d.of("reboots").chance(0.5)))
		})},
		{kind: FaultShort, weight: 2, draw: drawIll, ails: short, strike: fell(short)},
		{kind: FaultNotReady, weight: 8, draw: drawIll, ails: notReady, strike: eachVictim(func(m *machine, f Fault, _ dice) {
			if f.Value != "" {
				m.keeps(f.Value)
			}
			m.fall(notReady, false, false)
		})},
		{kind: FaultImpaired, weight: 6, draw: drawIll, ails: impaired, strike: eachVictim(func(m *machine, f Fault, d dice) { m.impair(f, d) })},
		{kind: FaultFlapping, weight: 4, draw: drawIll, ails: flapping, strike: eachVictim(func(m *machine, f Fault, _ dice) {
			m.flickers = f.Value == flickering
			m.fall(flapping, false, false)
		})},
		{kind: FaultNoJoin, weight: 8, draw: drawSome, strike: eachGroup(func(g *group, f Fault, d dice) { g.misfortune(f, d, neverJoins) })},
		{kind: FaultNoReady, weight: 3, draw: drawSome, strike: eachGroup(func(g *group, f Fault, d dice) {
			ill := neverReady
			if len(g.template.taints) == 0 {
				ill = neverJoins
			}
			g.misfortune(f, d, ill)
		})},
		{kind: FaultPart, weight: 1, draw: drawIll, ails: failedPart, strike: fell(failedPart)},
		accelerators,
		{kind: FaultTemplate, weight: 4, draw: drawTemplate, strike: breakTemplate, relent: mendTemplate},
		{kind: FaultTaint, weight: 2, draw: drawTemplate, strike: breakTemplate, relent: mendTemplate},
		{kind: FaultCilium, weight: 3, draw: drawTemplate, strike: eachGroup(func(g *group, f Fault, _ dice) { g.undeclared(f) }), relent: mendTemplate},
		{kind: FaultArchitect, weight: 2, draw: drawTemplate, strike: breakTemplate, relent: mendTemplate},
		{kind: FaultRole, weight: 3, draw: drawTemplate, relent: eachGroup(func(g *group, _ Fault, _ dice) { g.remap() }), strike: eachGroup(func(g *group, f Fault, _ dice) {
			g.unmap(f.Bare)
			g.grow(f.Count)
		})},
		{kind: FaultZone, weight: 3, draw: func(f *Fault, w drawing) {
			f.Cluster, f.Zone, f.For = "", oneOf(w.d.of("zone"), zones...), w.long/2
		}, strike: func(a *account, f Fault, _ dice) { a.zoneNetwork(f.Zone, true) }, relent: func(a *account, f Fault, _ dice) { a.zoneNetwork(f.Zone, false) }},
		{kind: FaultShift, weight: 2, draw: func(f *Fault, w drawing) {
			f.Zone, f.For = oneOf(w.d.of("zone"), zones...), w.long
		}, strike: eachCluster(func(c *cluster, f Fault, _ dice) { c.shifted = f.Zone }), relent: eachCluster(func(c *cluster, _ Fault, _ dice) { c.shifted = "" })},
		{kind: FaultDeleted, weight: 3, draw: func(f *Fault, w drawing) {
			if len(w.s.Clusters) < 2 || w.c.Name == w.s.Clusters[0].Name {
				f.Kind, f.Count = FaultSilence, 1
			}
		}, strike: eachCluster(func(c *cluster, _ Fault, _ dice) { c.delete() })},
		{kind: FaultUpdate, weight: 2, draw: func(f *Fault, w drawing) { f.For = w.long / 3 },
			strike: eachCluster(func(c *cluster, _ Fault, _ dice) { c.status = "UPDATING" }), relent: eachCluster(func(c *cluster, _ Fault, _ dice) { c.status = "ACTIVE" })},
		{kind: FaultScale, weight: 5, draw: func(f *Fault, w drawing) {
			f.Group, f.Count = w.g.Name, w.d.of("by").below(9)-4
			if f.Count == 0 {
				f.Count = 2
			}
		}, strike: eachGroup(func(g *group, f Fault, _ dice) {
			g.slow = f.Value == scaledSlowly
			g.desired = max(1, g.desired+f.Count)
			g.reconcile()
		})},
		{kind: FaultSpot, weight: 4, draw: drawSpot, strike: eachVictim(func(m *machine, f Fault, d dice) { m.reclaim(f, d) })},
		{kind: FaultDry, weight: 3, draw: drawGroup, strike: func(a *account, f Fault, d dice) {
			if f.Value == dryForAMonth {
				a.dryForAMonth(f)
				return
			}
			eachGroup(func(g *group, f Fault, _ dice) { g.dry = g.c.a.Now().Add(f.For) })(a, f, d)
		}},
		{kind: FaultFight, weight: 4, draw: drawGroup, strike: eachGroup(func(g *group, _ Fault, _ dice) { g.repair = true }), relent: eachGroup(func(g *group, _ Fault, _ dice) { g.repair = false })},
		{kind: FaultGhosts, weight: 3, draw: func(f *Fault, w drawing) {
			drawSome(f, w)
			f.For = w.long
		}, strike: func(a *account, f Fault, _ dice) {
			for _, c := range a.of(f) {
				c.ghosts = true
			}
			for _, m := range a.victims(f) {
				m.end("a person, by hand")
			}
		}, relent: eachCluster(func(c *cluster, _ Fault, _ dice) {
			c.ghosts = false
			c.buryGhosts()
		})},
		{kind: FaultOrphans, weight: 3, draw: drawSome, strike: eachVictim(func(m *machine, _ Fault, _ dice) {
			if m.claim != nil {
				m.c.dropClaim(m.claim)
			}
		})},
		{kind: FaultPeople, weight: 6, draw: drawSome, strike: eachVictim(func(m *machine, f Fault, d dice) { m.meddle(f, d) })},
		{kind: FaultMode, weight: 3, draw: func(f *Fault, w drawing) {
			f.Cluster, f.Value, f.For = "", oneOf(w.d.of("mode"), "observe", "notify"), w.long
		}, strike: func(a *account, f Fault, _ dice) { a.dep.policy = withMode(a.sc.Policy, f.Value) }, relent: restorePolicy},
		{kind: FaultBadPolicy, weight: 2, draw: func(f *Fault, w drawing) { f.Cluster, f.For = "", w.long/2 }, strike: func(a *account, _ Fault, _ dice) {
			a.dep.policy = "apiVersion: rollcall/v1\nmode: destroy\nlimts: {}\n"
		}, relent: restorePolicy},
		taintReturns, noReplacement, killSwitch, backlog, hangingPods, foreignTags, bastion, smallZone, ownerIdle, silentServing, outageBetween, unreadSibling, vanishedNode,
		loneCause, refused, diesYoung, scheduledEvents, stuckNodes, unlaunchedGroup,
		{kind: FaultThrottle, weight: 5, draw: drawEverywhere, spell: true, calls: callsOf("ec2:", "autoscaling:"), answer: meets(faultThrottle)},
		{kind: FaultErrors, weight: 5, draw: drawEverywhere, spell: true, calls: callsOf(""), answer: anyError},
		{kind: FaultAPIDown, weight: 4, draw: func(f *Fault, w drawing) {
			f.Share, f.For = 1, w.long/3
			if w.d.of("partly").chance(0.5) {
				f.Share = w.share
			}
		}, spell: true, calls: callsOf("kubernetes:"), answer: meets(faultHang)},
		{kind: FaultAPIErrors, weight: 5, draw: func(f *Fault, w drawing) { f.Share, f.For = w.share, w.long }, spell: true, calls: callsOf("kubernetes:"), answer: anyError},
		{kind: FaultLedgerErrors, weight: 4, draw: drawEverywhere, spell: true, calls: callsOf("dynamodb:", "s3:"), answer: anyError},
		{kind: FaultLostAnswers, weight: 5, draw: drawEverywhere, spell: true, calls: callsOf(""), answer: func(kind access, _ dice) string {
			if kind == writes {
				return faultLost
			}
			return faultNone
		}},
		{kind: FaultDenied, weight: 2, draw: drawEverywhere, spell: true, calls: callsOf("iam:", "sns:"), answer: meets(faultDenied)},
		{kind: FaultStale, weight: 5, draw: drawEverywhere, spell: true},
		{kind: FaultKills, weight: 7, draw: drawEverywhere, spell: true},
		{kind: FaultMessages, weight: 6, draw: drawEverywhere, spell: true},
		leftBehind,
		stoppedMachines, setAside, disruptedNodes, frozenHeartbeats, nameReused, noProviderID, regional, datedHold, besideNodes, relapses, suspendedProcess,
		{kind: FaultLostEvents, weight: 2, draw: drawEverywhere, spell: true},
		{kind: FaultMissedSweeps, weight: 2, draw: drawEverywhere, spell: true},
		{kind: FaultPartialPut, weight: 1, draw: drawEverywhere, spell: true},
		{kind: FaultRetries, weight: 2, draw: drawEverywhere, spell: true},
		{kind: FaultNotInvoked, weight: 2, draw: drawEverywhere, spell: true},
		{kind: FaultMemory, weight: 2, draw: drawEverywhere, spell: true},
		{kind: FaultUndescribed, weight: 1, draw: func(f *Fault, w drawing) { f.Share, f.For = 1, w.long }, spell: true, calls: callsOf("eks:DescribeCluster"), answer: meets(faultDenied)},
		{kind: FaultUnreachable, weight: 1, draw: func(f *Fault, w drawing) { f.Share, f.For = 1, w.long }, spell: true, calls: callsOf("kubernetes:"), answer: meets(faultUnconnected)},
		tides,
	}
}

// faultType returns the type of the fault; nil if there is none of that name.
func (k FaultKind) faultType() *faultType {
	if i := indexOf(k); i >= 0 {
		return &faultTypes[i]
	}
	return nil
}

// Kinds returns the faults that a random scenario may have.
func Kinds() (all []FaultKind) {
	for _, t := range faultTypes {
		all = append(all, t.kind)
	}
	return all
}

type drawing struct {
	d     dice
	s     *Scenario
	c     ClusterSpec
	g     GroupSpec
	long  time.Duration
	few   int
	share float64
}

func drawIll(f *Fault, w drawing) {
	f.Count = w.few
	if f.Kind == FaultImpaired {
		f.Value = oneOf(w.d.of("checks"), checkForms...)
	}
	if w.d.of("where").chance(0.6) {
		f.Group = w.g.Name
	}
	if f.Kind == FaultFlapping || w.d.of("heals").chance(0.25) {
		f.For = w.long
	}
	if f.Kind == FaultFlapping && w.d.of("flickers").chance(0.4) {
		f.Value = flickering
	}
	if f.Kind == FaultNotReady && f.Value == "" && w.d.of("keeps").chance(0.15) { // its workload must not be terminated
		f.Value = oneOf(w.d.of("kept"), keptAnnotated, keptUnsafe, keptBudget)
	}
}

func drawSome(f *Fault, w drawing)       { f.Group, f.Count = w.g.Name, min(w.few, 3) }
func drawGroup(f *Fault, w drawing)      { f.Group, f.For = w.g.Name, w.long }
func drawEverywhere(f *Fault, w drawing) { f.Cluster, f.Share, f.For = "", w.share, w.long }

func drawTemplate(f *Fault, w drawing) {
	f.Group, f.Count = w.g.Name, 1+w.d.of("some").below(2)
	f.Bare = w.d.of("bare").chance(0.7)
	if w.d.of("mended").chance(0.5) {
		f.For = w.long
	}
}

// drawSituation draws the form of a situation, and a group that fits it.
func (t *faultType) drawSituation(f *Fault, w drawing) {
	d := w.d
	if f.Value == "" && len(t.values) > 0 {
		f.Value = oneOf(d.of("value"), t.values...)
	}
	suits := func(value string) (out []string) {
		for _, g := range w.c.Groups {
			if t.fits == nil || t.fits(g, value) {
				out = append(out, g.Name)
			}
		}
		return out
	}
	groups := suits(f.Value)
	for i := 0; len(groups) == 0 && i < len(t.values); i++ {
		f.Value = t.values[i]
		groups = suits(f.Value)
	}
	if len(groups) > 0 {
		f.Group = oneOf(d.of("suits"), groups...)
	}
	f.Count = 1 + d.of("how many").below(max(1, t.count))
	f.At = d.of("at").between(10*time.Minute, max(w.s.Storm-t.need, 15*time.Minute)).Truncate(time.Second)
	if t.most > 0 {
		f.For = d.of("for").between(t.least, t.most).Truncate(time.Second)
	}
}

// eachVictim returns a strike that calls do for each affected machine, with separate dice.
func eachVictim(do func(*machine, Fault, dice)) func(*account, Fault, dice) {
	return func(a *account, f Fault, d dice) {
		for i, m := range a.victims(f) {
			do(m, f, d.nth(i))
		}
	}
}

func eachGroup(do func(*group, Fault, dice)) func(*account, Fault, dice) {
	return func(a *account, f Fault, d dice) {
		for _, g := range a.targets(f) {
			do(g, f, d)
		}
	}
}

// eachMember returns a relent that calls do for each machine of the affected groups.
func eachMember(do func(*machine, Fault)) func(*account, Fault, dice) {
	return eachGroup(func(g *group, f Fault, _ dice) {
		for _, m := range slices.Clone(g.members) {
			do(m, f)
		}
	})
}

func eachCluster(do func(*cluster, Fault, dice)) func(*account, Fault, dice) {
	return func(a *account, f Fault, d dice) {
		for _, c := range a.of(f) {
			do(c, f, d)
		}
	}
}

// fell returns a strike that gives machines an ailment no reboot cures.
func fell(ail ailment) func(*account, Fault, dice) {
	return eachVictim(func(m *machine, _ Fault, _ dice) { m.fall(ail, false, false) })
}

// Relent functions that several kinds share, and the strike of template faults.
var (
	breakTemplate = eachGroup(func(g *group, f Fault, _ dice) {
		g.breakBy(f.Kind)
		g.rotate(f.Count)
	})
	mendTemplate  = eachGroup(func(g *group, _ Fault, _ dice) { g.mend() })
	restorePolicy = func(a *account, _ Fault, _ dice) { a.dep.policy = a.sc.Policy }
)

// callsOf returns a function that reports whether a call's name has one of the prefixes.
func callsOf(prefixes ...string) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	}
}

func meets(what string) func(access, dice) string { return func(access, dice) string { return what } }

func anyError(_ access, d dice) string {
	return oneOf(d, faultThrottle, faultServer, faultServer, faultHang)
}

// scaledSlowly is the form of FaultScale in which new nodes need minutes to start. It is not drawn.
const scaledSlowly = "slow"

// The usual groups of clusters, of that size.
func managedNodes(n int) GroupSpec {
	return GroupSpec{Name: "system", Owner: "managed-nodegroup", Type: "m5.large", Desired: n}
}

func scaledNodes(n int) GroupSpec {
	return GroupSpec{Name: "workers", Owner: "autoscaling-group", Type: "c5.xlarge", Desired: n}
}

func pooledNodes(n int) GroupSpec {
	return GroupSpec{Name: "default", Owner: "karpenter", Type: "m5.large", Desired: n}
}

// The groups of clusters made for faults.
var (
	groupsOfFour   = []GroupSpec{managedNodes(4), scaledNodes(4), pooledNodes(4)}
	groupsOfRepair = []GroupSpec{{Name: "system", Owner: "managed-nodegroup", Type: "m5.large", Desired: 4, Repair: true}, scaledNodes(4), pooledNodes(4)}
	groupsOfSix    = []GroupSpec{managedNodes(6), scaledNodes(6)} // large enough that one of their machines is not a large share
	groupsScaled   = []GroupSpec{managedNodes(4), scaledNodes(5)} // without Karpenter
)

// actedOnSoon reports whether the owner leaves nodes that are not ready to Rollcall at once.
func actedOnSoon(g GroupSpec) bool {
	return g.Owner == autoScaling || g.Owner == nodeGroup && !g.Repair
}

// The groups that a fault fits, whatever its form.
func fitsActedOnSoon(g GroupSpec, _ string) bool { return actedOnSoon(g) }
func fitsOwned(g GroupSpec, _ string) bool       { return g.Owner != nobody }
func fitsUnrepaired(g GroupSpec, _ string) bool  { return g.Owner != nobody && !g.Repair }
func fitsKarpenter(g GroupSpec, _ string) bool   { return g.Owner == karpenter }
func fitsScaled(g GroupSpec, _ string) bool {
	return g.Owner == autoScaling || g.Owner == nodeGroup
}
