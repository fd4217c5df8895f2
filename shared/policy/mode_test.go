package policy

import (
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestParseMode(t *testing.T) {
	for _, m := range []Mode{Observe, Notify, Remediate} {
		got, err := ParseMode(string(m))
		expect.That(t, got == m && err == nil, "%s: %q, %v", m, got, err)
	}
	for in, want := range map[string]string{
		"":           `"" is not a mode: observe, notify or remediate`,
		"Remediate":  `Remediate is not a mode: observe, notify or remediate`,
		"remediate ": `"remediate " is not a mode: observe, notify or remediate`,
		"true":       `true is not a mode: observe, notify or remediate`,
	} {
		got, err := ParseMode(in)
		expect.That(t, got == "" && err != nil && err.Error() == want, "%q: %q, %v", in, got, err)
	}
}

// A cluster whose tag could not be read gets no act, and the notice that it could not be read.
func TestAnUnreadModeTagNeitherActsNorSilences(t *testing.T) {
	doc, err := Parse([]byte("apiVersion: rollcall/v1\nmode: remediate\n"))
	must.Succeed(t, err)
	for permitted, want := range map[Mode]Mode{Observe: Observe, Notify: Notify, Remediate: Notify} {
		expect.Equal(t, doc.Cluster("demo", roll.ModeTagUnread, permitted)(roll.Selector{}).Mode, want, "permitted %s", permitted)
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
		expect.Equal(t, c.a.Allows(c.b), c.allowed, "%q allows %q", c.a, c.b)
		expect.Equal(t, Lower(c.a, c.b), c.lower, "lower of %q and %q", c.a, c.b)
		expect.That(t, Lower(c.a, c.b) == Lower(c.b, c.a), "lower of %q and %q depends on their order", c.a, c.b)
	}
}

// Only a document ignores clusters, whole ones. Whatever compares the mode takes it for Observe.
func TestADocumentIgnoresClusters(t *testing.T) {
	doc, err := Parse([]byte(`apiVersion: rollcall/v1
mode: ignore
overrides:
  - match: {cluster: "prod-*"}
    mode: remediate
  - match: {cluster: prod-old}
    mode: ignore
  - match: {group: nodepool/batch}
    mode: remediate
`))
	must.Succeed(t, err)
	for cluster, want := range map[string]Mode{"sandbox": Observe, "prod-old": Observe, "prod-a": Remediate} {
		expect.Equal(t, doc.Ignores(cluster), want == Observe, "%s", cluster)
		expect.Equal(t, doc.Cluster(cluster, "", Remediate)(roll.Selector{}).Mode, want, "%s", cluster)
	}
	expect.Equal(t, doc.Highest(Remediate), Remediate, "highest")
	expect.That(t, !Default().Ignores("sandbox"), "a document without a mode ignores a cluster")
	for _, tag := range []string{"", "observe", "notify", "remediate", "ignore"} {
		expect.Equal(t, doc.Explain("sandbox", tag, roll.Selector{})[0], Setting{Key: "mode", Value: "ignore", From: "line 2"}, "tag %q", tag)
	}
	expect.Equal(t, doc.Explain("sandbox", "", roll.Selector{Group: "nodegroup/a", Preset: "gpu"})[0], Setting{Key: "mode", Value: "ignore", From: "line 2"}, "of an instance")
	// An override by group does not bring back a part of such a cluster: an order from before would be carried out.
	expect.Equal(t, doc.Explain("sandbox", "", roll.GroupSelector("nodepool/batch"))[0], Setting{Key: "mode", Value: "ignore", From: "line 2"}, "of a group with a mode")
	for cluster, want := range map[string]Mode{"sandbox": Observe, "prod-old": Observe, "prod-a": Remediate} {
		expect.Equal(t, doc.Cluster(cluster, "", Remediate)(roll.GroupSelector("nodepool/batch")).Mode, want, "the group in %s", cluster)
	}
}
