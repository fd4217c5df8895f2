package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// because adds a cause to the diagnosis of the first instance.
func (w *world) because(code string, c roll.Confidence, cure roll.Cure, subject string) {
	if w.causes == nil {
		w.causes = map[roll.FindingKey][]roll.Cause{}
	}
	key := roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}
	w.causes[key] = append(w.causes[key], roll.Cause{Code: code, Confidence: c, Cure: cure, Subject: subject, Summary: code})
}

// The diagnosis decides between the steps of the ladder of a silent node.
func TestTheCauseOfSilenceChoosesTheStep(t *testing.T) {
	tests := []struct {
		name   string
		spoil  func(*world)
		want   Action // "" for none
		reason Reason
	}{
		{"nothing is known", func(*world) {}, Reboot, ""},
		{"it ran short of memory", func(w *world) { w.because("MemoryPressurePreceded", roll.Decisive, roll.CureReboot, "") }, Reboot, ""},
		{"its status check fails", func(w *world) { w.because("InstanceStatusImpaired", roll.Decisive, roll.CureReplace, "") }, Terminate, ""},
		{"its status check perhaps fails", func(w *world) { w.because("InstanceStatusImpaired", roll.Suggestive, roll.CureReplace, "") }, Reboot, ""},
		{"the root decides, not what it shows in", func(w *world) {
			w.because("MemoryPressurePreceded", roll.Decisive, roll.CureReboot, "")
			w.because("InstanceStatusImpaired", roll.Decisive, roll.CureReplace, "")
		}, Reboot, ""},
		{"its status check fails, and its NodeClaim is gone", func(w *world) {
			w.because("OwnerGone", roll.Decisive, roll.CureUnclear, "")
			w.because("InstanceStatusImpaired", roll.Decisive, roll.CureReplace, "")
		}, Terminate, ""},
		{"its zone is down", func(w *world) { w.because("ZoneOutage", roll.Decisive, roll.CureWait, "zone/a") }, "", ZoneOutage},
		{"its kubelet restarts while it starts up", func(w *world) {
			w.because("KubeletRestartedDuringStartup", roll.Decisive, roll.CureWait, "")
		}, "", CausePasses},
		{"perhaps it restarts", func(w *world) {
			w.because("KubeletRestartedDuringStartup", roll.Suggestive, roll.CureWait, "")
		}, Reboot, ""},
		{"its replacements fail", func(w *world) {
			w.because("KernelPanic", roll.Decisive, roll.CureReboot, "")
			w.because("ReplacementRepeats", roll.Decisive, roll.CureChange, "asg/w")
		}, "", ReplacementRepeats},
		{"a role has to change", func(w *world) { w.because("NodeRoleNotMapped", roll.Decisive, roll.CureChange, "role/x") }, "", CauseOutside},
		{"perhaps a role has to", func(w *world) { w.because("NodeRoleNotMapped", roll.Suggestive, roll.CureChange, "role/x") }, Reboot, ""},
		{"something of its own has to", func(w *world) { w.because("UserDataEmpty", roll.Decisive, roll.CureChange, "") }, Reboot, ""},
		{"a role has to change, and its zone is down", func(w *world) {
			w.because("ZoneOutage", roll.Decisive, roll.CureWait, "zone/a")
			w.because("NodeRoleNotMapped", roll.Decisive, roll.CureChange, "role/x")
		}, "", ZoneOutage},
		{"an attached volume fails too", func(w *world) {
			w.snapshot.StatusRead, w.snapshot.Impaired = roll.Yes, map[roll.InstanceID]roll.Impairment{instanceID(1): {Only: "attached EBS"}}
		}, Reboot, ""},
		{"another node has no provider id", func(w *world) {
			w.snapshot.Nodes = append(w.snapshot.Nodes, roll.Node{Name: "node-x", Compute: roll.ComputeUnknown})
		}, Reboot, ""},
		{"it was stopped", func(w *world) { w.snapshot.Instances[0].State = roll.StateStopped }, DeleteNode, ""},
		{"it was stopped, and is Karpenter's", func(w *world) {
			w.snapshot.Instances[0].State = roll.StateStopped
			w.snapshot.Instances[0].Owner = roll.OwnerKarpenter
		}, "", InstanceNotRunning},
		{"it is hibernated", func(w *world) {
			w.snapshot.Instances[0].State, w.snapshot.Instances[0].Hibernated = roll.StateStopped, true
		}, "", InstanceNotRunning},
		{"it is stopping", func(w *world) { w.snapshot.Instances[0].State = roll.StateStopping }, "", InstanceNotRunning},
	}
	for _, tt := range tests {
		w := sick()
		w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: notify}, {do: reboot, once: true}, {do: terminate, after: 10m}]}\n")
		tt.spoil(w)
		_, p := w.make(now)
		var got Action
		if len(p.Orders) == 1 {
			got = p.Orders[0].Action
		}
		expect.That(t, got == tt.want, "%s: %q is ordered, want %q; held for %v", tt.name, got, tt.want, reasons(p))
		if tt.reason != "" && !slices.Contains(reasons(p), tt.reason) {
			t.Errorf("%s: held for %v, want %s", tt.name, reasons(p), tt.reason)
		}
	}
}

// A ladder by cause applies if its cause was found. If the cause may exist, no act is done that is
// missing in its ladder, whichever of the two ladders is harsher.
func TestTheLadderOfTheCauseIsClimbed(t *testing.T) {
	const harsh, mild = "[{do: tag}, {do: notify}, {do: reboot, once: true}]", "[{do: notify}]"
	unchecked := func(w *world) {
		w.unchecked = map[roll.FindingKey][]string{{Instance: instanceID(1), Kind: roll.Unknown}: {"MemoryPressurePreceded"}}
	}
	decisive := func(w *world) { w.because("MemoryPressurePreceded", roll.Decisive, roll.CureReboot, "") }
	suggested := func(w *world) { w.because("MemoryPressurePreceded", roll.Suggestive, roll.CureReboot, "") }
	other := func(w *world) { w.because("KernelPanic", roll.Decisive, roll.CureReboot, "") }
	tests := []struct {
		name      string
		kind, own string
		spoil     func(*world)
		want      Action
		held      Reason
		why       string // part of the reason
		next      string // beginning of the tag rollcall:next
	}{
		{"found, and mild", harsh, mild, decisive, "", "", "", "notify only"},
		{"found, and harsh", mild, harsh, decisive, Reboot, "", "", "reboot after"},
		{"another one found", harsh, mild, other, Reboot, "", "", "reboot after"},
		{"unread, and mild", harsh, mild, unchecked, "", CauseNotChecked, "sampled", "notify only"},
		{"suggested, and mild", harsh, mild, suggested, "", CauseNotChecked, "it is only suggested", "notify only"},
		{"not diagnosed, and mild", harsh, mild, func(*world) {}, "", CauseNotChecked, "nothing was checked for it", "notify only"},
		{"unread, and harsh", mild, harsh, unchecked, "", "", "", "notify only"},
		{"unread, and the same", harsh, harsh, unchecked, Reboot, "", "", "reboot after"},
	}
	for _, tt := range tests {
		w := sick()
		w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: " + tt.kind + ", Unknown/MemoryPressurePreceded: " + tt.own + "}\n")
		tt.spoil(w)
		_, p := w.make(now)
		var got Action
		if len(p.Orders) == 1 {
			got = p.Orders[0].Action
		}
		if got != tt.want || len(p.Held) > 0 != (tt.held != "") {
			t.Errorf("%s: %q is ordered, want %q; held %+v", tt.name, got, tt.want, p.Held)
			continue
		}
		if tt.held != "" && (p.Held[0].Reason != tt.held || !strings.Contains(p.Held[0].Detail, tt.why)) {
			t.Errorf("%s: held %+v", tt.name, p.Held)
		}
		for _, c := range p.Tags {
			next := c.Set[roll.TagNext]
			expect.That(t, strings.HasPrefix(next, tt.next), "%s: next is %q", tt.name, next)
		}
	}
}

func TestAnOrderSaysWhyItDoesNotRebootFirst(t *testing.T) {
	w := sick()
	w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: reboot, once: true}, {do: terminate, after: 10m}]}\n")
	w.because("SystemStatusImpaired", roll.Decisive, roll.CureReplace, "")
	_, p := w.make(now)
	expect.That(t, len(p.Orders) == 1 && strings.Contains(p.Orders[0].Why, "no reboot: a new instance helps against SystemStatusImpaired, a reboot does not"), "got %+v", p.Orders)
}

// The ladder of a finding about the status checks themselves applies as written.
func TestTheLadderOfImpairedIsObeyed(t *testing.T) {
	w := healthy(10)
	w.silent(1, 2*time.Hour)
	w.doc = mustParse("apiVersion: rollcall/v1\nladders: {Unknown: [{do: notify}], Impaired: [{do: reboot, once: true}, {do: terminate, after: 10m}]}\n")
	w.impaired(1)
	w.causes = map[roll.FindingKey][]roll.Cause{
		{Instance: instanceID(1), Kind: roll.Impaired}: {{Code: "InstanceStatusImpaired", Confidence: roll.Decisive, Cure: roll.CureReplace}},
	}
	_, p := w.make(now)
	expect.That(t, len(p.Orders) == 1 && p.Orders[0].Action == Reboot, "orders %+v, held for %v", p.Orders, reasons(p))
}

func TestTheTagNamesTheFirstDecisiveCause(t *testing.T) {
	w := sick()
	w.because("LaunchTemplateDrift", roll.Suggestive, roll.CureChange, "x")
	w.because("KernelPanic", roll.Decisive, roll.CureReboot, "")
	_, p := w.make(now)
	for _, c := range p.Tags {
		if c.Instance == instanceID(1) && c.Set[roll.TagCause] != "KernelPanic" {
			t.Errorf("tags %+v", c)
		}
	}
	expect.That(t, len(p.Tags) > 0, "nothing is tagged")
}

// However many instances share one cause, there is one notice and no termination.
func TestFiveHundredOfOneCauseAreOneNoticeAndNoOrder(t *testing.T) {
	const sick = 500
	w := newWorld()
	w.causes = map[roll.FindingKey][]roll.Cause{}
	for n := 1; n <= sick+2000; n++ {
		silent := time.Duration(0)
		if n <= sick {
			silent = 2*time.Hour + time.Duration(n)*5*time.Minute // each at its own time
		}
		w.add(n, silent)
		if n <= sick {
			w.silent(n, silent)
			w.causes[roll.FindingKey{Instance: instanceID(n), Kind: roll.Unknown}] = []roll.Cause{{Code: "NodeRoleNotMapped", Confidence: roll.Decisive, Cure: roll.CureChange, Subject: "role/x"}}
		}
	}
	_, p := w.make(now)
	if len(p.Orders) != 0 || len(p.Held) != sick || len(p.Notices) != 1 || len(p.Notices[0].Entries) != sick {
		t.Fatalf("%d orders, %d held, %d notices", len(p.Orders), len(p.Held), len(p.Notices))
	}
	for _, h := range p.Held {
		must.That(t, h.Reason == SharedCause, "held for %s: %s", h.Reason, h.Detail)
	}
}

// The policy may allow to terminate one instance of a group for a cause outside it, but no second
// one.
func TestACauseOutsideIsTriedOnce(t *testing.T) {
	ended := func(of roll.Group, id roll.InstanceID, code string, what Action, outcome *ledger.Outcome) []ledger.Action {
		at := now.Add(-24 * time.Hour)
		return []ledger.Action{{ID: "t", Do: string(what), Instance: id, Group: of, Kind: roll.Unknown, Cause: code, At: at, Outcome: outcome}}
	}
	worked := &ledger.Outcome{Result: ledger.Done, At: now.Add(-24 * time.Hour)}
	failed := &ledger.Outcome{Result: ledger.Failed, At: now.Add(-24 * time.Hour)}
	const code = "NodeRoleNotMapped"
	for name, tt := range map[string]struct {
		limits string
		before []ledger.Action
		want   Reason // "" is an order
	}{
		"by default":                         {"", nil, CauseOutside},
		"for the first time":                 {"causeOutside: tryOnce", nil, ""},
		"for the second time":                {"causeOutside: tryOnce", ended("asg/w", instanceID(9), code, Terminate, worked), CauseOutside},
		"after its own reboot":               {"causeOutside: tryOnce", ended("asg/w", instanceID(1), code, Terminate, failed), ""},
		"after a try that failed":            {"causeOutside: tryOnce", ended("asg/w", instanceID(9), code, Terminate, failed), ""},
		"after another instance's reboot":    {"causeOutside: tryOnce", ended("asg/w", instanceID(9), code, Reboot, worked), ""},
		"after a try in another group":       {"causeOutside: tryOnce", ended("asg/v", instanceID(9), code, Terminate, worked), ""},
		"after a try for a cause of its own": {"causeOutside: tryOnce", ended("asg/w", instanceID(9), "KernelPanic", Terminate, worked), ""},
		"after a try whose end nobody knows": {"causeOutside: tryOnce", ended("asg/w", instanceID(9), code, Terminate, nil), CauseOutside},
	} {
		w := sick()
		limits := "withoutReplacement: proceed"
		if tt.limits != "" {
			limits += ", " + tt.limits
		}
		w.doc = with("limits: {" + limits + "}\n")
		w.because(code, roll.Decisive, roll.CureChange, "role/x")
		w.state.Actions = tt.before
		_, p := w.make(now)
		if got := reasons(p); tt.want == "" && len(p.Orders) != 1 || tt.want != "" && !slices.Equal(got, []Reason{tt.want}) {
			t.Errorf("%s: %d orders, held for %v, want %q", name, len(p.Orders), got, tt.want)
		}
	}
}

// Unreadable evidence for a cause that a replacement would have too holds acts, unless something
// proven explains the fault by itself. An empty console does not hold them.
func TestWhatMayLieOutsideAndWasNotReadHolds(t *testing.T) {
	open := func(code string, unread, passing bool) func(*world) {
		return func(w *world) {
			w.unread = append(w.unread, roll.NotChecked{Code: code, Reason: "iam:GetRole: no permission", Unread: unread, Passing: passing})
		}
	}
	role := open("NodeRoleNotMapped", true, false)
	unsettled := func(unread bool) func(*world) {
		return func(w *world) {
			w.because("SecurityGroupBlocksApi", roll.Suggestive, roll.CureChange, "security-group/x")
			c := &w.causes[roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}][0]
			c.Unsettled, c.Unread = "ec2:DescribeInstanceAttribute: no permission", unread
		}
	}
	tried := []ledger.Action{{ID: "t", Do: string(Terminate), Instance: instanceID(9), Group: "asg/w", Kind: roll.Unknown, At: now.Add(-24 * time.Hour), Outcome: &ledger.Outcome{Result: ledger.Done, At: now.Add(-24 * time.Hour)}}}
	for name, tt := range map[string]struct {
		limits string
		spoil  []func(*world)
		want   Reason // "" is an order
	}{
		"a denied read":                           {"", []func(*world){role}, CauseNotChecked},
		"one that failed for now":                 {"", []func(*world){open("NaclBlocksApi", true, true)}, NotReadYet},
		"one of each":                             {"", []func(*world){open("NaclBlocksApi", true, true), role}, CauseNotChecked},
		"a console that shows nothing":            {"", []func(*world){open("KernelPanic", true, false)}, ""},
		"a cause that only a console proves":      {"", []func(*world){open("AmiWithoutKubernetes", true, false)}, ""},
		"what nothing that can be read proves":    {"", []func(*world){open("UserDataClusterMismatch", false, false)}, ""},
		"a root is proven":                        {"", []func(*world){role, func(w *world) { w.because("KernelPanic", roll.Decisive, roll.CureReboot, "") }}, ""},
		"what would settle a hint was not read":   {"", []func(*world){unsettled(true)}, CauseNotChecked},
		"what would settle a hint cannot be read": {"", []func(*world){unsettled(false)}, ""},
		"a root is suggested":                     {"", []func(*world){role, func(w *world) { w.because("KernelPanic", roll.Suggestive, roll.CureReboot, "") }}, CauseNotChecked},
		"to be tried once":                        {"causeOutside: tryOnce", []func(*world){role}, ""},
		"to be tried once, and tried":             {"causeOutside: tryOnce", []func(*world){role, func(w *world) { w.state.Actions = tried }}, CauseNotChecked},
		"to be tried once, and it passes anyway":  {"causeOutside: tryOnce", []func(*world){open("NaclBlocksApi", true, true)}, NotReadYet},
	} {
		w := sick()
		limits := "withoutReplacement: proceed"
		if tt.limits != "" {
			limits += ", " + tt.limits
		}
		w.doc = with("limits: {" + limits + "}\n")
		for _, spoil := range tt.spoil {
			spoil(w)
		}
		_, p := w.make(now)
		if got := reasons(p); tt.want == "" && len(p.Orders) != 1 || tt.want != "" && !slices.Equal(got, []Reason{tt.want}) {
			t.Errorf("%s: %d orders, held for %v, want %q", name, len(p.Orders), got, tt.want)
		}
	}
}

// Once its cause outside the instance is over, a node has the cooldown to recover, however long it has been
// faulty. A cause that nobody could read in between is not over.
func TestANodeHasTimeToRecover(t *testing.T) {
	w := sick()
	key := roll.FindingKey{Instance: instanceID(1), Kind: roll.Unknown}
	check := func(minute int, want ...Reason) {
		t.Helper()
		p := w.told(now.Add(time.Duration(minute) * time.Minute))
		expect.List(t, reasons(p), want, "at minute %d, with %d orders, held for", minute, len(p.Orders))
		expect.Equal(t, len(p.Orders), 1-len(want), "orders")
	}
	w.because("NodeRoleNotMapped", roll.Decisive, roll.CureChange, "role/x")
	check(0, CauseOutside)
	w.causes, w.unread = nil, []roll.NotChecked{{Code: "NodeRoleNotMapped", Reason: "eks:ListAccessEntries failed", Unread: true}}
	check(1, CauseNotChecked)
	w.unread = nil
	check(2, CauseEnded)
	f := w.state.Findings[key]
	expect.That(t, !f.Outside && f.Eased.Equal(now.Add(2*time.Minute)), "remembered %+v", f)
	check(16, CauseEnded)
	w.because("NodeRoleNotMapped", roll.Decisive, roll.CureChange, "role/x") // it is taken away again
	check(17, CauseOutside)
	w.causes = nil
	check(18, CauseEnded)
	check(32, CauseEnded)
	check(33)
}

// So has a node of a group that had too many unhealthy ones.
func TestANodeHasTimeToRecoverAmongFewer(t *testing.T) {
	w := sick()
	w.doc = with("limits: {massSilence: 100%}\n")
	for n := 2; n <= 3; n++ {
		w.snapshot.Nodes[n-1].Ready = w.snapshot.Nodes[0].Ready
		w.seen(n, 10*time.Minute)
	}
	p := w.told(now)
	expect.That(t, slices.Equal(reasons(p), []Reason{UnhealthyShare, UnhealthyShare, UnhealthyShare}), "held for %v", reasons(p))
	w.state.Trouble = nil // that of the whole cluster has its own wait
	for n := 2; n <= 3; n++ {
		w.snapshot.Nodes[n-1].Ready = roll.Condition{Status: roll.ConditionTrue, Since: now}
	}
	p = w.told(now.Add(time.Minute))
	expect.That(t, slices.Equal(reasons(p), []Reason{CauseEnded}) && p.Held[0].Instance == instanceID(1), "held for %v", p.Held)
}
