package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/golden"
	"rollcall/tests/harness/must"
)

const folder = "s3://rollcall-evidence/111122223333/eu-west-1/shop-production/i-00000000000000001/"

// asked is the instance to explain.
var asked = instanceID(1)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// remembers returns the ledger state of a group whose instances do not register. One was
// terminated yesterday, the termination of another failed an hour ago, and asked has
// further entries.
func remembers() ledger.State {
	const group = roll.Group("asg/web-workers-20260114")
	key := ledger.NoticeKey{Group: group, Kind: roll.Unregistered, Cause: "NodeRoleNotMapped"}
	f := ledger.Finding{
		Instance: asked, Kind: roll.Unregistered, Group: group, Stage: roll.Overdue,
		Since: ago(20 * time.Minute), Began: ago(20 * time.Minute), FirstSeen: ago(18 * time.Minute), Opened: ago(15 * time.Minute), Evidence: folder + "20260302T114200Z-Unregistered-warned/",
	}
	return ledger.State{
		RemediateSince: map[roll.Group]time.Time{group: ago(50 * time.Hour)},
		Findings:       map[roll.FindingKey]ledger.Finding{f.Key(): f},
		Notices: map[ledger.NoticeKey]ledger.Notice{key: {
			SentAt: ago(15 * time.Minute), Members: map[roll.InstanceID]ledger.MemberMemory{asked: {Last: ledger.Statement{Held: "SharedCause"}, Told: ledger.Statement{Held: "SharedCause"}}, instanceID(2): {Last: ledger.Statement{Stage: roll.Warned}, Told: ledger.Statement{Stage: roll.Warned}}},
			Incident: ledger.Incident{ID: "5d1c7f9e3b2a4680", First: ago(26 * time.Hour), Sent: 4},
		}},
		Actions: []ledger.Action{
			{ID: "1111111111111111", Do: "terminate", Instance: instanceID(7), Group: group, Kind: roll.Unregistered, At: ago(23 * time.Hour), Cause: "NodeRoleNotMapped", Outcome: &ledger.Outcome{Result: ledger.Done, At: ago(23 * time.Hour), Detail: "terminated " + string(instanceID(7))}},
			{ID: "2222222222222222", Do: "terminate", Instance: instanceID(8), Group: group, Kind: roll.Unregistered, At: ago(50 * time.Minute), Outcome: &ledger.Outcome{Result: ledger.Failed, At: ago(49 * time.Minute), Detail: "ec2:TerminateInstances was denied"}},
			{ID: "3333333333333333", Do: "terminate", Instance: instanceID(9), Group: "asg/other", Kind: roll.Unknown, At: ago(40 * time.Minute), Outcome: &ledger.Outcome{Result: ledger.Done, At: ago(40 * time.Minute)}},
		},
		Refusals: map[ledger.RefusalKey]ledger.Refusal{
			{Order: "4444444444444444", Reason: "VerdictChanged"}: {Instance: asked, Kind: roll.Unregistered, Do: "terminate", At: ago(10 * time.Minute)},
		},
		Groups:  map[roll.Group]ledger.GroupMemory{group: {Good: ago(48 * time.Hour)}},
		Trouble: &ledger.Trouble{Reason: "UnhealthyShare", Since: ago(3 * time.Hour), Last: ago(170 * time.Minute)},
		Checked: ago(time.Minute),
	}
}

// review returns a check of the cluster with memory, about the instance.
func review(state ledger.State, instances ...roll.Instance) Check {
	c := checks()["healthy"]
	c.Mode = policy.Remediate
	c.Snapshot.Instances = instances
	c.Asked = &Asked{ID: asked, Known: roll.No}
	for _, i := range instances {
		if i.ID == asked {
			c.Asked.Known, c.Asked.Instance = roll.Yes, i
		}
	}
	c.Memory = &Memory{From: "the ledger of stack rollcall", Cluster: cluster, State: state, PerHour: map[roll.Group]int{"": 5, "asg/web-workers-20260114": 2}, Evidence: folder}
	return c
}

// sickly returns such a check in which the instance never registered.
func sickly() (Check, roll.Finding) {
	f := missing(1, 20*time.Minute)
	c := review(remembers(), roll.Instance{ID: asked, State: roll.StateRunning, Launched: f.Since, Group: f.Group, Owner: f.Owner})
	c.Assessment.Findings = []roll.Finding{f}
	c.Diagnoses = map[roll.FindingKey]roll.Diagnosis{f.Key(): {Causes: []roll.Cause{unmapped()}}}
	return c, f
}

// wasEnded returns a state in which Rollcall drained the node of the instance and terminated
// it, and the finding is over.
func wasEnded() ledger.State {
	s := remembers()
	s.Findings, s.Notices, s.Refusals, s.Trouble = nil, nil, nil, nil
	s.Actions = append(s.Actions,
		ledger.Action{
			ID: "5555555555555555", Do: "drain", Instance: asked, Node: nodeName(1), Group: "asg/web-workers-20260114", Kind: roll.NotReady, At: ago(9 * time.Hour),
			Why: "node " + nodeName(1) + " has not been ready since " + clock(-10*time.Hour) + " (KubeletNotReady)", Since: ago(10 * time.Hour), Cause: "DiskFull",
			Outcome: &ledger.Outcome{Result: ledger.Done, At: ago(9*time.Hour - 4*time.Minute), Detail: "drained node " + nodeName(1)},
		},
		ledger.Action{
			ID: "6666666666666666", Do: "terminate", Instance: asked, Node: nodeName(1), Group: "asg/web-workers-20260114", Kind: roll.NotReady, At: ago(9*time.Hour - 5*time.Minute),
			Why: "node " + nodeName(1) + " has not been ready since " + clock(-10*time.Hour) + " (KubeletNotReady)", Since: ago(10 * time.Hour), Cause: "DiskFull",
			Evidence: folder + "20260302T020000Z-NotReady-6666666666666666/",
			Outcome:  &ledger.Outcome{Result: ledger.Done, At: ago(9*time.Hour - 5*time.Minute), Detail: "terminated " + string(asked)},
		})
	return s
}

// explanations returns realistic explanations, by the name of their golden files.
func explanations() map[string]Check {
	all := map[string]Check{}

	c, f := sickly()
	c.Plan.Held = []plan.Held{held(f, plan.SharedCause, "2 instances have the cause NodeRoleNotMapped in common (arn:aws:iam::111122223333:role/shop-node): a replacement would have it too")}
	all["held"] = c

	c, f = sickly()
	c.Plan.Held = []plan.Held{held(f, plan.StormCooldown, "the cluster as a whole was in trouble until 2026-03-02 11:58:00Z (ZoneOutage); nothing is ordered until 2026-03-02 12:13:00Z")}
	c.Plan.Held[0].Until = now.Add(13 * time.Minute)
	all["passing"] = c

	c, f = sickly()
	c.Plan.Orders = []plan.Order{{ID: "7777777777777777", Instance: asked, Group: f.Group, Kind: f.Kind, Action: plan.Terminate, Why: f.Summary + "; no cordon: there is no node", At: now, Expires: now.Add(plan.OrderLife)}}
	all["ordered"] = c

	c, f = sickly()
	c.Mode, c.WhatIf, c.Memory, c.Asked = policy.Observe, true, nil, nil
	c.Plan.Held = []plan.Held{held(f, plan.ModeObserve, "mode is observe: only the mode prevents it")}
	all["what-if"] = c

	all["acted"] = review(wasEnded())

	s := wasEnded()
	s.Actions[len(s.Actions)-1].Outcome = nil
	all["acting"] = review(s, roll.Instance{ID: asked, State: roll.StateShuttingDown})

	s = remembers()
	s.Actions = s.Actions[:1]
	all["gone"] = review(s)

	c = review(ledger.State{Checked: ago(time.Minute)})
	all["unknown"] = c.Only(asked)

	c = review(ledger.State{Checked: ago(time.Minute)}, roll.Instance{ID: asked, State: roll.StateRunning})
	c.Snapshot.Nodes = []roll.Node{{Name: nodeName(1), Instance: asked, Ready: roll.Condition{Status: roll.ConditionTrue, Since: ago(40 * time.Hour)}}}
	all["fine"] = c
	return all
}

// explained returns the explanation of a check as a terminal shows it.
func explained(t *testing.T, c Check) string {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, c.Explain(&b, Layout{Columns: 80}))
	return b.String()
}

func TestExplanationsAsThingsStand(t *testing.T) {
	for name, c := range explanations() {
		told := explained(t, c)
		golden.File(t, "testdata/explain-"+name+".golden", told)
		for line := range strings.Lines(told) {
			if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > 80 && len(strings.Fields(line)) > 1 && !strings.Contains(fixes(c), strings.TrimSpace(line)) && !strings.HasPrefix(strings.TrimSpace(line), "aws ") {
				t.Errorf("%s: a line of %d columns: %s", name, utf8.RuneCountInString(line), line)
			}
		}
		data, err := json.Marshal(c.Explanation())
		must.Succeed(t, err)
		golden.File(t, "testdata/explanation-"+name+".golden", indented(t, data))
	}
}

// The answer is on the first screen, right below the paragraph that summarizes why.
func TestTheAnswerStandsFirst(t *testing.T) {
	for name, want := range map[string]string{
		"held":    "held: terminate, SharedCause",
		"passing": "held: terminate, StormCooldown until 2026-03-02 12:13:00Z",
		"ordered": "to be ordered: terminate, by the next check, unless something changes",
		"acted":   "acted: terminated at 2026-03-02 03:05:00Z",
		"acting":  "acting: terminate was begun at 2026-03-02 03:05:00Z and has no outcome yet",
		"gone":    "it is gone; Rollcall has no record of terminating it: EC2 no longer knows it",
		"fine":    "nothing is wrong with it: node " + nodeName(1) + " is Ready since 2026-02-28 20:00:00Z",
		"unknown": "nothing is on record about i-00000000000000001: EC2 no longer knows it",
	} {
		c := explanations()[name]
		answers := c.Answers()
		expect.That(t, len(answers) != 0 && answers[0].Text == want, "%s: %+v, want %q first", name, answers, want)
		told := explained(t, c)
		lines := strings.Join(strings.Fields(strings.Join(slices.Collect(strings.Lines(told))[:11], "")), " ")
		expect.That(t, strings.Contains(lines, want), "%s: the first lines do not say %q:\n%s", name, want, lines)
	}
}

func TestWhatAnOwnerIsGivenTimeForIsLeftToIt(t *testing.T) {
	c, f := sickly()
	h := held(f, plan.OwnerWillAct, "Karpenter terminates instances that do not register within 15 min")
	for until, want := range map[time.Time]string{
		now.Add(5 * time.Minute): "left to the owner until 2026-03-02 12:05:00Z: terminate, OwnerWillAct",
		{}:                       "left to the owner: terminate, OwnerWillAct",
	} {
		h.Until = until
		c.Plan.Held = []plan.Held{h}
		a := c.About(f)
		expect.That(t, a.Answer == AnswerLeft && a.Text == want && a.Ends == plan.OwnerWillAct.Ends(), "%+v, want %q", a, want)
	}
}

func TestWhatHasItsTimeYet(t *testing.T) {
	c, f := sickly()
	c.Plan.Steps[f.Key()] = plan.Step{Do: policy.DoTerminate, At: now.Add(2 * time.Minute)}
	if a := c.About(f); a.Answer != AnswerWaiting || a.Action != "terminate" || !a.At.Equal(now.Add(2*time.Minute)) {
		t.Errorf("an act that is announced: %+v", a)
	}
	c.Plan.Steps[f.Key()] = plan.Step{Do: policy.DoNotify, At: now.Add(2 * time.Minute)}
	if a := c.About(f); a.Answer != AnswerWaiting || a.Action != "notify" {
		t.Errorf("a notice that is announced: %+v", a)
	}
	delete(c.Plan.Steps, f.Key())
	if a := c.About(f); a.Answer != AnswerTold {
		t.Errorf("a ladder that only tells: %+v", a)
	}
	early := missing(1, 6*time.Minute)
	a := c.About(early)
	expect.That(t, a.Answer == AnswerWaiting && a.Until.Equal(early.Due), "within its tolerance: %+v", a)
}

// The answer for a finding within its tolerance says how much time is left, even if the
// finding is not explained.
func TestWhatIsWatchedIsAnsweredWithItsTime(t *testing.T) {
	c, _ := sickly()
	f := silent(1, 10*time.Minute)
	c.Assessment.Findings, c.Diagnoses = []roll.Finding{f}, nil
	a := c.Answers()
	expect.That(t, len(a) == 1 && a[0].Answer == AnswerWaiting && a[0].Until.Equal(f.Due) && a[0].Detail == f.Summary, "%+v", a)
	told := explained(t, c)
	expect.That(t, strings.Contains(told, "nothing yet: within its tolerance until"), "%s", told)
}

// People ask about the act that interrupted something, not about the one that undid it.
func TestTheLatestActThatInterruptedIsTold(t *testing.T) {
	act := func(do string, at time.Time, o *ledger.Outcome) ledger.Action {
		return ledger.Action{ID: do, Do: do, Instance: asked, Kind: roll.NotReady, At: at, Free: do == "uncordon", Outcome: o}
	}
	done, failed := &ledger.Outcome{Result: ledger.Done}, &ledger.Outcome{Result: ledger.Failed, Detail: "denied"}
	for name, tt := range map[string]struct {
		acts       []ledger.Action
		want, text string
	}{
		"a node that was given back": {[]ledger.Action{act("cordon", ago(2*time.Hour), done), act("uncordon", ago(time.Hour), done)}, AnswerActed, "acted: its node was cordoned at 2026-03-02 10:00:00Z"},
		"a try after a reboot":       {[]ledger.Action{act("reboot", ago(2*time.Hour), done), act("terminate", ago(time.Hour), failed)}, AnswerActed, "acted: rebooted at 2026-03-02 10:00:00Z"},
		"a NodeClaim":                {[]ledger.Action{act("delete-nodeclaim", ago(2*time.Hour), done)}, AnswerActed, "acted: its NodeClaim was deleted at 2026-03-02 10:00:00Z"},
		"a try alone":                {[]ledger.Action{act("terminate", ago(time.Hour), failed)}, AnswerFailed, "tried: terminate at 2026-03-02 11:00:00Z, which failed: denied"},
		"nothing":                    {[]ledger.Action{{ID: "x", Do: "terminate", Instance: instanceID(9), At: ago(time.Hour), Outcome: done}}, "", ""},
	} {
		a, ok := Memory{State: ledger.State{Actions: tt.acts}}.Done(asked)
		expect.That(t, a.Answer == tt.want && a.Text == tt.text && ok == (tt.want != ""), "%s: %+v, want %s: %q", name, a, tt.want, tt.text)
	}
}

func TestAHistoryIsInTheOrderOfItsTime(t *testing.T) {
	m := Memory{Cluster: cluster, State: remembers()}
	m.State.NotReady = map[roll.InstanceID]ledger.NotReady{asked: {Since: ago(30 * time.Minute), Status: roll.ConditionUnknown}}
	m.State.Flips = map[roll.InstanceID][]time.Time{asked: {ago(40 * time.Minute), ago(35 * time.Minute)}}
	m.State.Pressures = map[roll.InstanceID]ledger.Pressure{asked: {Types: []string{"DiskPressure"}, Since: ago(45 * time.Minute), Until: ago(33 * time.Minute)}}
	m.State.Rests = map[roll.InstanceID]ledger.Rest{asked: {Left: ago(60 * time.Minute)}}
	m.State.Missing = map[roll.InstanceID]time.Time{asked: ago(5 * time.Minute)}
	var what []string
	last := time.Time{}
	for _, e := range m.History(asked, "", now) {
		expect.That(t, !e.At.Before(last) && e.Detail != "", "%s at %s, after %s: %q", e.What, e.At, last, e.Detail)
		last = e.At
		what = append(what, e.What)
	}
	want := []string{"remediate-on", "group-good", "group-act", "cluster", "rested", "group-act", "pressed", "ready-again", "ready-again", "relieved", "not-ready", "began", "seen", "opened", "told", "refused", "missed", "checked"}
	expect.That(t, slices.Equal(what, want), "got  %q\nwant %q", what, want)
	if other := m.History(instanceID(3), "", now); len(other) != 2 { // the cluster's own
		t.Errorf("of an instance that nobody remembers: %+v", other)
	}
}

// No notice is sent when an instance joins a known incident.
func TestAHistoryTellsWhoWasNotNamed(t *testing.T) {
	s := remembers()
	for k, n := range s.Notices {
		n.Members[asked] = ledger.MemberMemory{Last: ledger.Statement{Stage: roll.Overdue}}
		s.Notices[k] = n
	}
	h := Memory{Cluster: cluster, State: s}.History(asked, "", now)
	i := slices.IndexFunc(h, func(e HistoryDocument) bool { return e.What == "joined" })
	if i < 0 || !h[i].At.Equal(ago(26*time.Hour)) || h[i].Incident != "5d1c7f9e3b2a4680" || slices.ContainsFunc(h, func(e HistoryDocument) bool { return e.What == "told" }) {
		t.Errorf("%+v", h)
	}
}

func TestWhatIsUsedOfAnHour(t *testing.T) {
	m := Memory{Cluster: cluster, State: remembers(), PerHour: map[roll.Group]int{"": 5, "asg/web-workers-20260114": 2}}
	want := []BudgetDocument{{Of: "shop-production", Used: 1, Max: 5}, {Of: "asg/web-workers-20260114", Used: 0, Max: 2}}
	expect.List(t, m.Budgets(now), want, "m.Budgets(now)")
}

func TestThatNobodyCheckedIsToldFromAQuarterOfAnHourOn(t *testing.T) {
	for checked, want := range map[time.Time]string{
		{}: "no record of a check", ago(15 * time.Minute): "15m ago", ago(15*time.Minute - time.Second): "",
	} {
		notes := Memory{From: "the ledger of stack rollcall", Cluster: cluster, State: ledger.State{Checked: checked}}.Unchecked(now)
		expect.That(t, (len(notes) > 0) == (want != "") && strings.Contains(strings.Join(notes, ""), want), "checked at %s: %q, want %q", checked, notes, want)
	}
}

func TestWhatIsSaidOfWhoIsNotThere(t *testing.T) {
	for name, tt := range map[string]struct {
		asked Asked
		want  string
	}{
		"another cluster's":     {Asked{Known: roll.Yes, Instance: roll.Instance{State: roll.StateRunning, OtherCluster: "demo"}}, AnswerNothing},
		"nobody's":              {Asked{Known: roll.Yes, Instance: roll.Instance{State: roll.StateRunning, Unclaimed: true}}, AnswerNothing},
		"terminated":            {Asked{Known: roll.Yes, Instance: roll.Instance{State: roll.StateTerminated}}, AnswerUnknown},
		"not known to EC2":      {Asked{Known: roll.No}, AnswerUnknown},
		"could not be asked of": {Asked{Known: roll.Unreadable}, AnswerUnknown},
	} {
		c := review(ledger.State{})
		tt.asked.ID = asked
		c.Asked = &tt.asked
		a := c.Answers()
		expect.That(t, len(a) == 1 && a[0].Answer == tt.want, "%s: %+v, want %s", name, a, tt.want)
		// That EC2 does not list it is an answer, and no fault.
		if c := c.Only(asked); (len(c.Faults) == 0) != (tt.asked.Known == roll.No) {
			t.Errorf("%s: faults %q", name, c.Faults)
		}
	}
	c := review(wasEnded()).Only(asked)
	expect.That(t, len(c.Faults) == 0, "what is remembered is told, and no fault: %q", c.Faults)
}

// Beside a symptom stands what would explain it and was not checked.
func TestASymptomSaysWhatWasNotChecked(t *testing.T) {
	for want, unread := range map[string][]string{
		"not checked: NodeRoleNotMapped, KernelPanic, any of which would explain it": {"NodeRoleNotMapped", "KernelPanic"},
		"": nil,
	} {
		f := roll.Finding{Instance: instanceID(1), Kind: roll.Unknown, Stage: roll.Overdue}
		c := checks()["healthy"]
		c.Snapshot = new(*c.Snapshot)
		c.Assessment.Findings = []roll.Finding{f}
		c.Diagnoses = map[roll.FindingKey]roll.Diagnosis{f.Key(): {Causes: []roll.Cause{{Code: "KubeletSilent", Confidence: roll.Decisive, Symptom: true, Summary: "it is silent", NotChecked: unread}}}}
		told := explained(t, c)
		text := strings.Join(strings.Fields(told), " ")
		if want != "" && !strings.Contains(text, "it is silent "+want) || want == "" && strings.Contains(text, "any of which would explain it") {
			t.Errorf("%v: want %q in\n%s", unread, want, told)
		}
	}
}

// An all-clear comes after what was not judged, and covers only what was judged.
func TestAnAllClearIsEarned(t *testing.T) {
	tagged := assess.NotNode{Instance: instanceID(5), Why: "its user data bootstraps no node of this cluster"}
	unread := assess.NotNode{Instance: instanceID(6), Why: "its user data could not be read"}
	for name, tt := range map[string]struct {
		spoil      func(*Check)
		before     []string // texts before the last line
		conclusion string
	}{
		"all answered": {func(*Check) {}, nil, "every instance is a healthy node"},
		"a bastion": {func(c *Check) { c.Assessment.NotNodes = []assess.NotNode{tagged} },
			[]string{"not judged", string(tagged.Instance), "bootstraps no node"}, "every instance that is meant to be a node is a healthy one"},
		"user data that could not be read": {func(c *Check) {
			c.Assessment.NotNodes, c.Assessment.Unjudged = []assess.NotNode{unread}, []roll.InstanceID{unread.Instance}
		}, []string{"not judged", string(unread.Instance), "could not be read"}, "no finding, but 1 instance could not be judged"},
		"a group that could not be read": {func(c *Check) { c.Assessment.Unjudged = []roll.InstanceID{instanceID(7)} },
			[]string{"not judged", string(instanceID(7)), "Auto Scaling group"}, "no finding, but 1 instance could not be judged"},
		"a hybrid node that is silent": {func(c *Check) {
			c.Snapshot.Nodes = []roll.Node{{Name: "mi-0a1b2c3d4e5f60718", Compute: roll.ComputeHybrid, Ready: roll.Condition{Status: roll.ConditionUnknown}}}
		}, []string{"not judged", "mi-0a1b2c3d4e5f60718", "hybrid"}, "every EC2 instance is a healthy node"},
		"a node of Fargate that is ready": {func(c *Check) {
			c.Snapshot.Nodes = []roll.Node{{Name: "fargate-ip-10-0-0-9", Compute: roll.ComputeFargate, Ready: roll.Condition{Status: roll.ConditionTrue}}}
		}, nil, "every instance is a healthy node"},
		"a gap": {func(c *Check) {
			c.Snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeInstances, Kind: roll.GapDenied, Detail: "ec2:DescribeInstanceStatus is denied"}}
		}, []string{"not judged", "ec2:DescribeInstanceStatus is denied"}, "no finding, but not everything could be read"},
	} {
		c := checks()["healthy"]
		c.Snapshot = new(*c.Snapshot)
		c.Assessment.Notes = nil
		tt.spoil(&c)
		told := explained(t, c)
		text := strings.Join(strings.Fields(told), " ")
		before, after, found := strings.Cut(text, "nothing to explain: ")
		expect.That(t, found && after == tt.conclusion, "%s: concludes %q, want %q", name, after, tt.conclusion)
		for _, w := range tt.before {
			expect.That(t, strings.Contains(before, w), "%s: %q does not come first in\n%s", name, w, told)
		}
		if tt.before == nil && strings.Contains(before, "not judged") {
			t.Errorf("%s: something is not judged", name)
		}
	}
}

// A group whose launches go well may have instances that do not: a few are named.
func TestAGroupNamesItsInstancesInTrouble(t *testing.T) {
	for want, findings := range map[int]string{0: "", 1: "1 instance of nodegroup/batch has findings (" + string(instanceID(1)) + ")", 5: "5 instances of nodegroup/batch have findings (" + roll.Few([]roll.InstanceID{instanceID(1), instanceID(2), instanceID(3)}, 3) + " and 2 more)"} {
		c := checks()["healthy"]
		c.Assessment.Notes, c.Assessment.Findings = nil, nil
		for i := range want {
			for _, kind := range []roll.Kind{roll.Unregistered, roll.Impaired} { // each is named once
				c.Assessment.Findings = append(c.Assessment.Findings, roll.Finding{Instance: instanceID(i + 1), Group: "nodegroup/batch", Kind: kind, Stage: roll.Overdue})
			}
		}
		c = c.Concerning("nodegroup/batch", nil, func(id roll.InstanceID) string { return "explain " + string(id) })
		text := strings.Join(strings.Fields(explained(t, c)), " ")
		_, after, _ := strings.Cut(text, "nothing to explain: ")
		conclusion := "nothing is wrong with launches of nodegroup/batch"
		if findings == "" {
			expect.That(t, after == conclusion && len(c.Notes()) == 0, "none: %q, %q", after, c.Notes())
			continue
		}
		command := "explain " + string(instanceID(1))
		expect.That(t, after == conclusion+" "+findings+"; to explain: "+command, "%d: %q", want, after)
		expect.That(t, slices.Equal(c.Notes(), []string{findings + ": " + command}), "%d: %q", want, c.Notes())
	}
}
