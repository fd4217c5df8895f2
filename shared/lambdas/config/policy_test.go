package config

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

type parameter struct {
	value string
	err   error
	reads int
}

func (p *parameter) GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	p.reads++
	if p.err != nil {
		return nil, p.err
	}
	return &ssm.GetParameterOutput{Parameter: &types.Parameter{Value: aws.String(p.value)}}, nil
}

func TestNeverMoreThanNotifyUnderAGuess(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	p := &parameter{err: errors.New("no answer")}
	s := NewPolicyStore(p, Settings{PolicyParameter: "/rollcall/policy", WarnAfter: 2 * time.Minute})
	doc, mode, err := s.Usable(t.Context(), policy.Remediate, now, time.Minute)
	if doc == nil || mode != policy.Observe || err == nil {
		t.Errorf("nothing read yet: %v, %s, %v, want observe: the document may say so", doc, mode, err)
	}
	if got := doc.For("demo", "", roll.Selector{}).Registration.WarnAfter; got != 2*time.Minute {
		t.Errorf("warning after %s, want the deployment's time", got)
	}
	p.err, p.value = nil, "apiVersion: rollcall/v1\nregistration: {warnAfter: 1m, deadline: 7m}\n"
	doc, mode, err = s.Usable(t.Context(), policy.Remediate, now, time.Minute)
	if mode != policy.Remediate || err != nil || doc.For("demo", "", roll.Selector{}).Registration.Deadline != 7*time.Minute {
		t.Errorf("a good policy: %s, %v", mode, err)
	}
	p.value = "apiVersion: rollcall/v1\nmdoe: observe\n"
	if _, mode, err = s.Usable(t.Context(), policy.Remediate, now.Add(59*time.Second), time.Minute); mode != policy.Remediate || err != nil || p.reads != 2 {
		t.Errorf("within its age: %s, %v, %d reads", mode, err, p.reads)
	}
	doc, mode, err = s.Usable(t.Context(), policy.Remediate, now.Add(time.Minute), time.Minute)
	if mode != policy.Notify || err == nil || !strings.Contains(err.Error(), "line 2") || doc.For("demo", "", roll.Selector{}).Registration.Deadline != 7*time.Minute {
		t.Errorf("a bad policy: %s, %v, want the last good one and notify at most", mode, err)
	}
	if _, _, err = s.Usable(t.Context(), policy.Observe, now.Add(2*time.Minute), time.Minute); err == nil {
		t.Error("a bad policy stays an error")
	}
	if _, err := s.Read(t.Context()); err == nil {
		t.Error("whoever destroys must be told that the policy is bad")
	}
}

// A stop also applies in a document with faults elsewhere, so that the reason of held acts
// names it.
func TestAStopInADocumentWithFaultsIsToldToo(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	p := &parameter{value: "apiVersion: rollcall/v1\nregistration: {deadline: 7m}\n"}
	s := NewPolicyStore(p, Settings{PolicyParameter: "/rollcall/policy"})
	if doc, _, err := s.Usable(t.Context(), policy.Remediate, now, time.Minute); err != nil || doc.Stopped() {
		t.Fatalf("stopped %v, %v", doc.Stopped(), err)
	}
	for value, stopped := range map[string]bool{"stop: true\nmdoe: observe\n": true, "stop: yes\n": true, "stop: false\nmdoe: observe\n": false, "mdoe: observe\n": false} {
		p.value = value
		doc, mode, err := s.Usable(t.Context(), policy.Remediate, now.Add(time.Hour), time.Minute)
		if doc.Stopped() != stopped || mode != policy.Notify || err == nil || doc.For("demo", "", roll.Selector{}).Registration.Deadline != 7*time.Minute {
			t.Errorf("%q: stopped %v, %s, %v", value, doc.Stopped(), mode, err)
		}
		if doc, _, _ := NewPolicyStore(p, Settings{}).Usable(t.Context(), policy.Remediate, now, time.Minute); doc.Stopped() != stopped {
			t.Errorf("%q, and nothing read before: stopped %v", value, doc.Stopped())
		}
	}
}

// The stack creates the parameter, or is told that it exists. A missing parameter was
// deleted, and its policy may have kept nodes from acts.
func TestAPolicyThatIsGoneIsUnreadable(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for name, gone := range map[string]parameter{
		"no parameter":   {err: &types.ParameterNotFound{}},
		"an empty value": {},
		"blanks":         {value: " \n"},
		"comments alone": {value: "# mode: remediate\n"},
	} {
		// A function that never read a policy only observes.
		s := NewPolicyStore(&gone, Settings{PolicyParameter: "/rollcall/policy"})
		if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "/rollcall/policy") {
			t.Errorf("%s: read with %v, want an error that names the parameter", name, err)
		}
		doc, mode, err := s.Usable(t.Context(), policy.Remediate, now, time.Minute)
		expect.That(t, doc != nil && mode == policy.Observe && err != nil, "%s: mode %s, %v, want observe", name, mode, err)
		if missing := gone.err != nil; errors.Is(err, ErrNoPolicy) != missing || missing && !strings.Contains(err.Error(), "mode: observe") {
			t.Errorf("%s: %v, says that there is no parameter: %v", name, err, !missing)
		}
		// A function that read a good policy continues with it, and destroys nothing.
		p := &parameter{value: "apiVersion: rollcall/v1\nregistration: {deadline: 7m}\n"}
		s = NewPolicyStore(p, Settings{PolicyParameter: "/rollcall/policy"})
		if _, mode, err := s.Usable(t.Context(), policy.Remediate, now, time.Minute); mode != policy.Remediate || err != nil {
			t.Fatalf("a good policy: %s, %v", mode, err)
		}
		p.value, p.err = gone.value, gone.err
		doc, mode, err = s.Usable(t.Context(), policy.Remediate, now.Add(time.Hour), time.Minute)
		if mode != policy.Notify || err == nil || doc.For("demo", "", roll.Selector{}).Registration.Deadline != 7*time.Minute {
			t.Errorf("%s after a good one: mode %s, %v, want the last good one and notify at most", name, mode, err)
		}
		if _, err := s.Read(t.Context()); err == nil {
			t.Errorf("%s: whoever destroys must be told", name)
		}
	}
}

// memory remembers parameters as the ledger does.
type memory struct {
	seen   map[string]bool
	err    error
	writes int
}

func (m *memory) PolicySeen(_ context.Context, name string) (bool, error) { return m.seen[name], m.err }

func (m *memory) SeePolicy(_ context.Context, name string) error {
	if m.err == nil {
		m.seen[name] = true
	}
	m.writes++
	return m.err
}

// A policy that was never written may be a misspelt parameter. The built-in one then applies to
// reports, and nothing is acted on. If there once was one, it is missed, also by a function that
// starts again.
func TestUnderAPolicyThatNeverWasNothingIsActedOn(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	p, m := &parameter{err: &types.ParameterNotFound{}}, &memory{seen: map[string]bool{}}
	s := NewPolicyStore(p, Settings{PolicyParameter: "/rollcall/policy", Deadline: 9 * time.Minute}).Remembering(m)
	doc, mode, err := s.Usable(t.Context(), policy.Remediate, now, time.Minute)
	if mode != policy.Notify || doc.For("demo", "", roll.Selector{}).Registration.Deadline != 9*time.Minute {
		t.Fatalf("it never was: %v, %s, want notify by the built-in policy", doc, mode)
	}
	if !errors.Is(err, ErrNoPolicy) || !strings.Contains(err.Error(), "PolicyParameter=none") {
		t.Errorf("it never was: %v, want an error that says how to ask for the built-in policy", err)
	}
	for _, permitted := range []policy.Mode{policy.Observe, policy.Notify} {
		if _, mode, err := s.Usable(t.Context(), permitted, now, time.Minute); err != nil || mode != permitted {
			t.Errorf("a stack that does not act needs no policy: %s, %v", mode, err)
		}
	}
	if _, err := s.Read(t.Context()); !errors.Is(err, ErrNoPolicy) {
		t.Errorf("it never was, and whoever destroys reads: %v", err)
	}
	p.err, p.value = nil, "" // an empty policy is a policy
	if _, err := s.Read(t.Context()); err == nil || !m.seen["/rollcall/policy"] {
		t.Errorf("an empty one: %v, remembered: %v", err, m.seen)
	}
	p.value = "apiVersion: rollcall/v1\n"
	for range 3 {
		if _, err := s.Read(t.Context()); err != nil {
			t.Error(err)
		}
	}
	expect.That(t, m.writes == 1, "recorded %d times", m.writes)
	p.err = &types.ParameterNotFound{}
	s = NewPolicyStore(p, Settings{PolicyParameter: "/rollcall/policy"}).Remembering(m)
	if _, mode, err := s.Usable(t.Context(), policy.Remediate, now, time.Minute); mode != policy.Observe || !errors.Is(err, ErrNoPolicy) {
		t.Errorf("deleted: %s, %v", mode, err)
	}
	// It is unknown whether there was a policy, or its existence cannot be recorded.
	m.err = errors.New("no answer of the table")
	for _, err := range []error{p.err, nil} {
		p.err = err
		s := NewPolicyStore(p, Settings{PolicyParameter: "/rollcall/policy"}).Remembering(m)
		if _, err := s.Read(t.Context()); !errors.Is(err, m.err) {
			t.Errorf("without an answer: %v", err)
		}
		if _, mode, _ := s.Usable(t.Context(), policy.Remediate, now, time.Minute); mode != policy.Observe {
			t.Errorf("without an answer: %s", mode)
		}
	}
}

// Wrong times of the stack do not stop checks, but they stop acts.
func TestUnderWrongTolerancesNothingIsActedOn(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	p := &parameter{value: "apiVersion: rollcall/v1\nregistration: {deadline: 7m}\n"}
	s := NewPolicyStore(p, Settings{PolicyParameter: "/rollcall/policy", Tolerances: ErrTolerances})
	for range 2 {
		doc, mode, err := s.Usable(t.Context(), policy.Remediate, now, time.Minute)
		if mode != policy.Notify || !errors.Is(err, ErrTolerances) || doc.For("demo", "", roll.Selector{}).Registration.Deadline != 7*time.Minute {
			t.Errorf("%s, %v", mode, err)
		}
		if _, err := s.Read(t.Context()); !errors.Is(err, ErrTolerances) {
			t.Errorf("whoever destroys is told %v", err)
		}
	}
}

// PolicyParameter=none asks for the built-in policy, in the stack's mode.
func TestNoneIsTheBuiltInPolicy(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	p, m := &parameter{err: &types.ParameterNotFound{}}, &memory{seen: map[string]bool{}}
	s := NewPolicyStore(p, Settings{PolicyParameter: BuiltIn, Deadline: 9 * time.Minute}).Remembering(m)
	doc, mode, err := s.Usable(t.Context(), policy.Remediate, now, time.Minute)
	if err != nil || mode != policy.Remediate || doc.For("demo", "", roll.Selector{}).Registration.Deadline != 9*time.Minute {
		t.Errorf("%v, %s, %v", doc, mode, err)
	}
	if _, err := s.Read(t.Context()); err != nil || p.reads != 0 || m.writes != 0 {
		t.Errorf("whoever destroys reads: %v; %d reads of a parameter, %d writes", err, p.reads, m.writes)
	}
}
