package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/roll"
)

// said is a notice and the mode in which it is sent.
type said struct {
	notice plan.Notice
	mode   policy.Mode
}

func noticeOf(mode policy.Mode, entries ...plan.Entry) said {
	f := entries[0].Finding
	return said{plan.Notice{Key: ledger.NoticeKey{Group: f.Group, Kind: f.Kind}, Entries: entries}, mode}
}

func terminateAt(after time.Duration) plan.Step {
	return plan.Step{Do: policy.DoTerminate, At: now.Add(after)}
}

func entry(f roll.Finding, change func(*plan.Entry)) plan.Entry {
	e := plan.Entry{Finding: f, New: true}
	change(&e)
	return e
}

// notices are notices as a reader meets them, by the name of their golden files.
func notices() map[string]said {
	ordered := func(e *plan.Entry) { o := order(e.Finding); e.Order, e.Step = &o, terminateAt(0) }
	heldFor := func(reason plan.Reason, detail string) func(*plan.Entry) {
		return func(e *plan.Entry) {
			h := held(e.Finding, reason, detail)
			e.Held, e.Step = &h, terminateAt(-time.Minute)
		}
	}
	share := heldFor(plan.UnhealthyShare, "11 of 48 nodes of cluster shop-production are past their tolerance, more than the 10 that limits.unhealthy (20%) allows: the fault is hardly in the instances")
	old := func(e *plan.Entry) { e.New = false }
	notReady := silent(3, 20*time.Minute)
	notReady.Kind, notReady.Stage, notReady.Summary = roll.NotReady, roll.Overdue, "node "+notReady.Node+" reports that it is not ready since 2026-03-02 11:40:00Z (KubeletNotReady)"
	notReady.Due = notReady.Since.Add(15 * time.Minute)
	karpenter := missing(8, 17*time.Minute)
	karpenter.Group, karpenter.Owner = "nodepool/default", roll.OwnerKarpenter
	return map[string]said{
		"warned": noticeOf(policy.Remediate, entry(missing(1, 6*time.Minute), func(e *plan.Entry) { e.Step = terminateAt(9 * time.Minute) })),
		"warned-karpenter": noticeOf(policy.Notify, entry(func() roll.Finding {
			f := missing(8, 6*time.Minute)
			f.Group, f.Owner = "nodepool/default", roll.OwnerKarpenter
			return f
		}(), func(*plan.Entry) {})),
		"overdue":           noticeOf(policy.Remediate, entry(silent(1, 31*time.Minute), func(e *plan.Entry) { e.Step = terminateAt(9 * time.Minute) })),
		"overdue-not-ready": noticeOf(policy.Notify, entry(notReady, func(*plan.Entry) {})),
		"ordered":           noticeOf(policy.Remediate, entry(silent(1, 41*time.Minute), old), entry(silent(2, 45*time.Minute), ordered)),
		"held": noticeOf(policy.Remediate,
			entry(silent(1, 41*time.Minute), share), entry(silent(2, 42*time.Minute), share), entry(silent(3, 50*time.Minute), old)),
		"held-karpenter": noticeOf(policy.Remediate, entry(karpenter, heldFor(plan.OwnerNotifyOnly, "owner is karpenter: this version only notifies"))),
		"held-mode":      noticeOf(policy.Notify, entry(silent(1, 41*time.Minute), heldFor(plan.ModeNotify, "mode is notify: only the mode holds this back"))),
		"hold-tag": noticeOf(policy.Remediate, entry(silent(1, 49*time.Hour), func(e *plan.Entry) {
			heldFor(plan.InstanceHeld, string(e.Finding.Instance)+" carries rollcall:hold=2026-03-05; it keeps costing until the tag is removed")(e)
			e.Hold = "2026-03-05"
		})),
	}
}

// outcomes are what may become of an order, by the name of their golden files.
func outcomes() map[string]remediate.Outcome {
	f := silent(1, 45*time.Minute)
	nobody := missing(2, 20*time.Minute)
	nobody.Owner, nobody.Group = roll.OwnerNone, roll.GroupNone
	return map[string]remediate.Outcome{
		"acted":        {Order: order(f), Result: remediate.Acted, Detail: "terminated " + string(f.Instance), News: true},
		"acted-nobody": {Order: order(nobody), Result: remediate.Acted, Detail: "terminated " + string(nobody.Instance), News: true},
		"refused":      {Order: order(f), Result: remediate.Refused, Reason: plan.VerdictChanged, Detail: "node " + f.Node + " of " + string(f.Instance) + " is registered and Ready by now", News: true},
		"failed":       {Order: order(f), Result: remediate.Failed, Detail: "ec2:TerminateInstances was refused: the instance has termination protection (disableApiTermination)", News: true},
		"unclear":      {Order: order(f), Result: remediate.Unclear, Detail: "ec2:TerminateInstances got no answer in time; whether it took effect, a later check will see from the instance; until then it is not repeated", News: true},
	}
}

// messages renders all of them.
func messages(t *testing.T) map[string]Message {
	t.Helper()
	out := map[string]Message{}
	for name, s := range notices() {
		m, err := Notice(cluster, s.notice, s.mode, now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out["notice-"+name] = m
	}
	for name, o := range outcomes() {
		m, err := Outcome(cluster, o, now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out["outcome-"+name] = m
	}
	return out
}

func TestNoticesAndOutcomes(t *testing.T) {
	for name, m := range messages(t) {
		t.Run(name, func(t *testing.T) { golden(t, name, letter(t, m)) })
	}
}

func noticeSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "events", "notice.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("notice.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("notice.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestEveryMessageHasThePublishedForm(t *testing.T) {
	s := noticeSchema(t)
	all := messages(t)
	all["a thousand"] = aThousand(t, "2026-03-05")
	for name, m := range all {
		if err := validate(t, s, m.JSON); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestThePublishedFormRefusesWhatItDoesNotName(t *testing.T) {
	s := noticeSchema(t)
	good := messages(t)["notice-ordered"].JSON
	for name, spoil := range map[string]func(map[string]any){
		"an unknown field":                func(d map[string]any) { d["extra"] = 1 },
		"an unknown field of an instance": func(d map[string]any) { instance(d)["extra"] = 1 },
		"an unknown field of a next step": func(d map[string]any) { instance(d)["next"].(map[string]any)["extra"] = 1 },
		"an unknown action":               func(d map[string]any) { d["action"] = "rebooted" },
		"an unknown kind":                 func(d map[string]any) { d["kind"] = "Ghost" },
		"an unknown stage":                func(d map[string]any) { instance(d)["stage"] = "watching" },
		"a missing field":                 func(d map[string]any) { delete(d, "severity") },
		"no instances":                    func(d map[string]any) { d["instances"] = []any{} },
		"a time that is none":             func(d map[string]any) { d["at"] = "yesterday" },
		"a time that is not UTC":          func(d map[string]any) { d["at"] = "2026-03-02T12:00:00+01:00" },
		"another version":                 func(d map[string]any) { d["version"] = 2 },
	} {
		var d map[string]any
		if err := json.Unmarshal(good, &d); err != nil {
			t.Fatal(err)
		}
		spoil(d)
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if validate(t, s, data) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := validate(t, s, good); err != nil {
		t.Errorf("unspoilt: %v", err)
	}
}

func instance(d map[string]any) map[string]any {
	return d["instances"].([]any)[0].(map[string]any)
}

// Every kind, stage, owner and verb that the vocabulary has is in the schema, or
// the first notice that says it is refused by those who validate.
func TestThePublishedFormKnowsTheVocabulary(t *testing.T) {
	s := noticeSchema(t)
	for _, kind := range roll.Kinds() {
		for _, owner := range roll.Owners() {
			for _, stage := range []roll.Stage{roll.Warned, roll.Overdue} {
				for _, do := range []policy.Do{policy.DoWarn, policy.DoTag, policy.DoNotify, policy.DoCordon, policy.DoDrain, policy.DoReboot, policy.DoTerminate, policy.DoDeleteNode} {
					f := silent(1, time.Hour)
					f.Kind, f.Owner, f.Stage = kind, owner, stage
					n := noticeOf(policy.Notify, plan.Entry{Finding: f, Step: plan.Step{Do: do, At: now}})
					m, err := Notice(cluster, n.notice, n.mode, now)
					if err != nil {
						t.Fatal(err)
					}
					if err := validate(t, s, m.JSON); err != nil {
						t.Fatalf("%s %s %s %s: %v", kind, owner, stage, do, err)
					}
				}
			}
		}
	}
}

// aThousand is a notice of a thousand instances that have a lot to say each, and
// carry the value of rollcall:hold.
func aThousand(t *testing.T, hold string) Message {
	t.Helper()
	var entries []plan.Entry
	for n := 1; n <= 1000; n++ {
		f := silent(n, time.Duration(n)*time.Minute+time.Hour)
		h := held(f, plan.ActionFailed, fmt.Sprintf("terminate of %s failed at 2026-03-02 11:50:00Z (ec2:TerminateInstances was denied to arn:aws:sts::111122223333:assumed-role/%s/rollcall with an explicit deny in a service control policy: an allow does not override that, so change the deny to let that role do ec2:TerminateInstances on arn:aws:ec2:eu-west-1:111122223333:instance/%s); it is tried again 15m0s later", f.Instance, strings.Repeat("r", 64), f.Instance))
		entries = append(entries, plan.Entry{Finding: f, Held: &h, Hold: hold, New: n%2 == 0, Step: terminateAt(0)})
	}
	o := order(entries[999].Finding)
	entries[999].Held, entries[999].Order = nil, &o
	entries[999].New = false
	n := noticeOf(policy.Remediate, entries...)
	m, err := Notice(cluster, n.notice, n.mode, now)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestANoticeOfAThousandInstancesFitsAndCounts(t *testing.T) {
	m := aThousand(t, "2026-03-05")
	if !strings.Contains(m.Subject, "1000 Unknown") {
		t.Errorf("subject %q", m.Subject)
	}
	if n := len(m.Text); n >= 20_000 {
		t.Errorf("the text has %d bytes", n)
	}
	if !strings.HasPrefix(m.Text, "1000 nodes have ") || !strings.Contains(m.Text, "  and 980 more\n") {
		t.Errorf("the text does not count them all:\n%s", m.Text[:200])
	}
	var d NoticeDocument
	if err := json.Unmarshal(m.JSON, &d); err != nil {
		t.Fatal(err)
	}
	if d.Count != 1000 || len(d.Instances)+d.Truncated != 1000 || d.Truncated == 0 {
		t.Errorf("count %d, %d listed, %d left out", d.Count, len(d.Instances), d.Truncated)
	}
	if d.Action != "terminate" || d.Instances[0].Order == "" {
		t.Errorf("what is being acted on comes first: action %s, first %+v", d.Action, d.Instances[0])
	}
	for i, e := range d.Instances[1:] {
		if !e.New {
			t.Errorf("instance %d is no news and stands before news", i+1)
			break
		}
	}
	if n := published(t, m); n >= 256*1024 {
		t.Errorf("the message has %d bytes, SNS takes 262144", n)
	}
}

// published is the size of a message as SNS counts it.
func published(t *testing.T, m Message) int {
	t.Helper()
	fake := &topicFake{}
	if err := NewTopic(fake, topic, nobody).Publish(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return fake.size()
}

// A tag's value has 256 characters at most, and JSON within JSON writes some of
// them with seven.
func TestANoticeFitsWhateverPeopleWriteIntoTags(t *testing.T) {
	for _, c := range []string{"x", "ü", "\"", "<", "\\"} {
		m := aThousand(t, strings.Repeat(c, 256))
		if n := published(t, m); n >= 256*1024 {
			t.Errorf("with %q in rollcall:hold the message has %d bytes, SNS takes 262144", c, n)
		}
		if n := len(m.Text); n >= 20_000 {
			t.Errorf("with %q in rollcall:hold the text has %d bytes", c, n)
		}
	}
}

func TestANoticeDoesNotReorderWhatItIsGiven(t *testing.T) {
	n := noticeOf(policy.Notify, entry(silent(2, time.Hour), func(e *plan.Entry) { e.New = false }), entry(silent(1, 2*time.Hour), func(*plan.Entry) {}))
	if _, err := Notice(cluster, n.notice, n.mode, now); err != nil {
		t.Fatal(err)
	}
	if n.notice.Entries[0].Finding.Instance != instanceID(2) {
		t.Error("the caller's entries were reordered")
	}
}

// SNS takes subjects of printable ASCII with fewer than 100 characters.
func TestSubjectsAreWhatSNSTakes(t *testing.T) {
	names := []string{"d", "shop-production", strings.Repeat("a", 100), strings.Repeat("日本", 25), "zwölf", "a\nb\tc\x00d\x7fe"}
	groups := []roll.Group{"none", "nodepool/default", roll.NodeGroupGroup(strings.Repeat("g", 63)), roll.AutoScalingGroup(strings.Repeat("workers ", 31)), roll.AutoScalingGroup(strings.Repeat("größe", 20)), "asg/a\r\nBcc: x\x7f"}
	for _, name := range names {
		for _, group := range groups {
			id := cluster
			id.Name = name
			f := silent(1, time.Hour)
			f.Group = group
			n := noticeOf(policy.Remediate, entry(f, func(e *plan.Entry) { o := order(f); e.Order = &o }))
			notice, err := Notice(id, n.notice, n.mode, now)
			if err != nil {
				t.Fatal(err)
			}
			outcome, err := Outcome(id, remediate.Outcome{Order: order(f), Result: remediate.Acted}, now)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{notice.Subject, outcome.Subject} {
				if len(s) == 0 || len(s) >= 100 || !strings.HasPrefix(s, "[rollcall] ") {
					t.Errorf("%q in %q: %d characters: %q", name, group, len(s), s)
				}
				if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
					t.Errorf("%q in %q: not printable ASCII: %q", name, group, s)
				}
			}
		}
	}
}

func TestTheClustersNameGivesWayFirst(t *testing.T) {
	id := cluster
	id.Name = strings.Repeat("a", 100)
	n := notices()["ordered"]
	m, err := Notice(id, n.notice, n.mode, now)
	if err != nil {
		t.Fatal(err)
	}
	if want := "..." + ": 2 Unknown in nodegroup/web-blue, terminating 1"; !strings.HasSuffix(m.Subject, want) || len(m.Subject) != 99 {
		t.Errorf("got %q", m.Subject)
	}
}

// Whatever the group is called, the reader must learn from the subject what is
// being done.
func TestALongGroupDoesNotHideWhatIsDone(t *testing.T) {
	f := silent(1, time.Hour)
	f.Group = roll.AutoScalingGroup(strings.Repeat("g", 255))
	n := noticeOf(policy.Remediate, entry(f, func(e *plan.Entry) { o := order(f); e.Order = &o }))
	m, err := Notice(cluster, n.notice, n.mode, now)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.Subject, "terminating 1") {
		t.Errorf("got %q", m.Subject)
	}
}

func TestSeverityAndAction(t *testing.T) {
	want := map[string]Attributes{
		"notice-warned":            {Severity: SeverityWarning, Action: "none"},
		"notice-warned-karpenter":  {Severity: SeverityWarning, Action: "none"},
		"notice-overdue":           {Severity: SeverityCritical, Action: "none"},
		"notice-overdue-not-ready": {Severity: SeverityCritical, Action: "none"},
		"notice-ordered":           {Severity: SeverityCritical, Action: "terminate"},
		"notice-held":              {Severity: SeverityCritical, Action: "none"},
		"notice-held-karpenter":    {Severity: SeverityCritical, Action: "none"},
		"notice-held-mode":         {Severity: SeverityCritical, Action: "none"},
		"notice-hold-tag":          {Severity: SeverityCritical, Action: "none"},
		"outcome-acted":            {Severity: SeverityInfo, Action: "terminated"},
		"outcome-acted-nobody":     {Severity: SeverityInfo, Action: "terminated"},
		"outcome-refused":          {Severity: SeverityInfo, Action: "refused"},
		"outcome-failed":           {Severity: SeverityCritical, Action: "failed"},
		"outcome-unclear":          {Severity: SeverityCritical, Action: "unclear"},
	}
	for name, m := range messages(t) {
		if m.Attributes.Severity != want[name].Severity || m.Attributes.Action != want[name].Action {
			t.Errorf("%s: %s, %s; want %s, %s", name, m.Attributes.Severity, m.Attributes.Action, want[name].Severity, want[name].Action)
		}
	}
}

// A person must be able to do what the text says by copying it.
func TestCommandsInATextAreWhole(t *testing.T) {
	for name, m := range messages(t) {
		for line := range strings.Lines(m.Text) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "aws ") && !strings.Contains(line, "--region eu-west-1") {
				t.Errorf("%s: no region: %s", name, line)
			}
			if strings.HasPrefix(line, "kubectl ") && strings.HasSuffix(line, "node") {
				t.Errorf("%s: no node: %s", name, line)
			}
		}
		if strings.HasPrefix(name, "notice-") && !strings.Contains(m.Text, "rollcall:hold") {
			t.Errorf("%s does not say how to keep an instance", name)
		}
	}
}

// Nobody is told of a termination that will not come: neither the mode nor a hold
// lets it.
func TestANoticeAnnouncesNoTerminationThatIsNotToCome(t *testing.T) {
	coming := func(e *plan.Entry) { e.Step = terminateAt(9 * time.Minute) }
	for name, n := range map[string]said{
		"mode notify, warned":  noticeOf(policy.Notify, entry(missing(1, 6*time.Minute), coming)),
		"mode notify, overdue": noticeOf(policy.Notify, entry(silent(1, 31*time.Minute), coming)),
		"a hold": noticeOf(policy.Remediate, entry(silent(1, 31*time.Minute), func(e *plan.Entry) {
			coming(e)
			e.Hold = "true"
		})),
	} {
		m, err := Notice(cluster, n.notice, n.mode, now)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(m.Text, "will be terminated") {
			t.Errorf("%s: a person is told:\n%s", name, m.Text)
		}
		var d NoticeDocument
		if err := json.Unmarshal(m.JSON, &d); err != nil {
			t.Fatal(err)
		}
		for _, i := range d.Instances {
			if i.Next != nil && i.Next.Do == string(policy.DoTerminate) {
				t.Errorf("%s: a program is told that %s follows at %s", name, i.Next.Do, i.Next.At.Format(time.RFC3339))
			}
		}
	}
}

// A hold that has run out, or that says no, holds nothing, and a notice that says so
// would have people rely on it.
func TestANoticeTakesNoHoldForOneThatIsOver(t *testing.T) {
	for _, hold := range []string{"2026-03-01", "2026-03-02T11:59:59Z", "false", "no"} {
		n := noticeOf(policy.Remediate, entry(silent(1, 31*time.Minute), func(e *plan.Entry) { e.Step, e.Hold = terminateAt(9*time.Minute), hold }))
		m, err := Notice(cluster, n.notice, n.mode, now)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(m.Text, "kept as it is") || !strings.Contains(m.Text, "will be terminated at 2026-03-02T12:09:00Z") {
			t.Errorf("rollcall:hold=%s: a person is told:\n%s", hold, m.Text)
		}
	}
}

// What is held back does not follow, least of all in the past.
func TestWhatIsHeldBackHasNoNextStepInThePast(t *testing.T) {
	for name, m := range messages(t) {
		var d NoticeDocument
		if err := json.Unmarshal(m.JSON, &d); err != nil {
			t.Fatal(err)
		}
		for _, i := range d.Instances {
			if i.Next != nil && i.Next.At.Before(d.At) {
				t.Errorf("%s: next is %s at %s, before the notice itself (held: %s)", name, i.Next.Do, i.Next.At.Format(time.RFC3339), i.Held)
			}
		}
	}
}
