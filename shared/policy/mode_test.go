package policy

import (
	"testing"

	"rollcall/shared/roll"
)

func TestParseMode(t *testing.T) {
	for _, m := range []Mode{Observe, Notify, Remediate} {
		if got, err := ParseMode(string(m)); got != m || err != nil {
			t.Errorf("%s: %q, %v", m, got, err)
		}
	}
	for in, want := range map[string]string{
		"":           `"" is not a mode: observe, notify or remediate`,
		"Remediate":  `Remediate is not a mode: observe, notify or remediate`,
		"remediate ": `"remediate " is not a mode: observe, notify or remediate`,
		"true":       `true is not a mode: observe, notify or remediate`,
	} {
		if got, err := ParseMode(in); got != "" || err == nil || err.Error() != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// A cluster whose tag could not be read gets no act, and the notice that it could not be read.
func TestAnUnreadModeTagNeitherActsNorSilences(t *testing.T) {
	doc, err := Parse([]byte("apiVersion: rollcall/v1\nmode: remediate\n"))
	if err != nil {
		t.Fatal(err)
	}
	for permitted, want := range map[Mode]Mode{Observe: Observe, Notify: Notify, Remediate: Notify} {
		if got := doc.Cluster("demo", roll.ModeTagUnread, permitted)(roll.Selector{}).Mode; got != want {
			t.Errorf("permitted %s: %s, want %s", permitted, got, want)
		}
	}
}

func TestModesAreOrdered(t *testing.T) {
	const other = Mode("Remediate")
	for _, c := range []struct {
		a, b    Mode
		allowed bool // a allows b
		lower   Mode
	}{
		{Observe, Observe, true, Observe},
		{Observe, Notify, false, Observe},
		{Observe, Remediate, false, Observe},
		{Notify, Observe, true, Observe},
		{Notify, Notify, true, Notify},
		{Notify, Remediate, false, Notify},
		{Remediate, Observe, true, Observe},
		{Remediate, Notify, true, Notify},
		{Remediate, Remediate, true, Remediate},
		{other, Observe, true, Observe},
		{other, Notify, false, Observe},
		{other, Remediate, false, Observe},
		{"", Notify, false, Observe},
		{Remediate, other, true, Observe},
	} {
		if got := c.a.Allows(c.b); got != c.allowed {
			t.Errorf("%q allows %q: %v", c.a, c.b, got)
		}
		if got := Lower(c.a, c.b); got != c.lower {
			t.Errorf("lower of %q and %q: %q", c.a, c.b, got)
		}
		if Lower(c.a, c.b) != Lower(c.b, c.a) {
			t.Errorf("lower of %q and %q depends on their order", c.a, c.b)
		}
	}
}
