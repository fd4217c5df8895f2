package policy

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// A stop turns each text into the next, and lifting it restores the text.
func TestAStopIsOneLineThatComesAndGoes(t *testing.T) {
	for name, tt := range map[string]struct{ before, after string }{
		"behind the version":        {"apiVersion: rollcall/v1\nmode: notify\n", "apiVersion: rollcall/v1\nstop: true\nmode: notify\n"},
		"no last line end":          {"apiVersion: rollcall/v1\nmode: notify", "apiVersion: rollcall/v1\nstop: true\nmode: notify"},
		"comments stay":             {"# Ours.\napiVersion: rollcall/v1 # the only one\n\n# As agreed.\nmode: notify # for now\n# End.\n", "# Ours.\napiVersion: rollcall/v1 # the only one\nstop: true\n\n# As agreed.\nmode: notify # for now\n# End.\n"},
		"the version comes last":    {"limits:\n  zone: 50%\napiVersion: rollcall/v1\n", "limits:\n  zone: 50%\napiVersion: rollcall/v1\nstop: true\n"},
		"what Windows writes":       {"\ufeffapiVersion: rollcall/v1\r\nmode: notify\r\n", "\ufeffapiVersion: rollcall/v1\r\nstop: true\r\nmode: notify\r\n"},
		"an indented document":      {"  apiVersion: rollcall/v1\n  mode: notify\n", "  apiVersion: rollcall/v1\n  stop: true\n  mode: notify\n"},
		"a mark before it":          {"---\napiVersion: rollcall/v1\n", "---\napiVersion: rollcall/v1\nstop: true\n"},
		"a mark behind it":          {"apiVersion: rollcall/v1\nmode: notify\n...\n", "apiVersion: rollcall/v1\nstop: true\nmode: notify\n...\n"},
		"a quoted version":          {"apiVersion: \"rollcall/v1\"\nmode: notify\n", "apiVersion: \"rollcall/v1\"\nstop: true\nmode: notify\n"},
		"a key that is spelt out":   {"? apiVersion\n: rollcall/v1\n", "? apiVersion\n: rollcall/v1\nstop: true\n"},
		"JSON on a line":            {`{"apiVersion": "rollcall/v1", "mode": "notify"}`, `{"stop": true, "apiVersion": "rollcall/v1", "mode": "notify"}`},
		"JSON":                      {"{\n  \"apiVersion\": \"rollcall/v1\"\n}\n", "{\"stop\": true, \n  \"apiVersion\": \"rollcall/v1\"\n}\n"},
		"a stop that was lifted":    {"apiVersion: rollcall/v1\nstop: false # ask the platform team\nmode: notify\n", "apiVersion: rollcall/v1\nstop: true # ask the platform team\nmode: notify\n"},
		"a stop that was lifted, 2": {`{"stop": false, "apiVersion": "rollcall/v1"}`, `{"stop": true, "apiVersion": "rollcall/v1"}`},
		"stop in another place":     {"apiVersion: rollcall/v1\npresets:\n  stop: {registration: {deadline: 1h}}\n", "apiVersion: rollcall/v1\nstop: true\npresets:\n  stop: {registration: {deadline: 1h}}\n"},
	} {
		with, _, err := WithStop([]byte(tt.before))
		if err != nil || string(with) != tt.after {
			t.Errorf("%s: %v\n%q, want\n%q", name, err, with, tt.after)
			continue
		}
		d, err := Parse(with)
		expect.That(t, err == nil && d.Stopped() && Stops(with) && !Stops([]byte(tt.before)), "%s: %v\n%s", name, err, with)
		if again, _, err := WithStop(with); err != nil || !bytes.Equal(again, with) {
			t.Errorf("%s: stopped again %v\n%q", name, err, again)
		}
		without, err := WithoutStop(with)
		if d, invalid := Parse(without); err != nil || invalid != nil || d.Stopped() {
			t.Errorf("%s: lifted %v, %v\n%q", name, err, invalid, without)
		}
		if lifted := !strings.Contains(name, "lifted, 2"); lifted && string(without) != tt.before {
			t.Errorf("%s: lifted\n%q, want\n%q", name, without, tt.before)
		}
		if again, err := WithoutStop(without); err != nil || !bytes.Equal(again, without) {
			t.Errorf("%s: lifted again %v\n%q", name, err, again)
		}
	}
}

// Every fixture can be stopped, and otherwise stays the same.
func TestEveryDocumentCanBeStoppedAndLosesNothing(t *testing.T) {
	good := fixtures(t, "testdata/good/*.yaml")
	maps.Copy(good, fixtures(t, "testdata/good/*.json"))
	for name, text := range good {
		for _, text := range [][]byte{text, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), bytes.TrimSpace(text)} {
			with, _, err := WithStop(text)
			must.That(t, err == nil, "%s: %v", name, err)
			d, err := Parse(with)
			must.That(t, err == nil && d.Stopped(), "%s: %v\n%s", name, err, with)
			before, _ := Parse(text)
			for _, cluster := range []string{"a", "gpu-a"} {
				of := roll.Selector{Group: "nodepool/training", Preset: roll.PresetGPU}
				a, b := before.Explain(cluster, "", of), d.Explain(cluster, "", of)
				differs := func(a, b Setting) bool { return a.Key == keyStop || a.Key == b.Key && a.Value == b.Value }
				expect.That(t, slices.EqualFunc(a, b, differs), "%s: %v\nbecame %v", name, a, b)
			}
			if without, err := WithoutStop(with); err != nil || !before.Stopped() && name != "defaults" && !bytes.Equal(ended(without), ended(text)) {
				t.Errorf("%s: lifted %v\n%q, want\n%q", name, err, without, text)
			}
		}
	}
	for name, text := range bad(t) {
		with, _, err := WithStop(text)
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		if _, fault := load(text); fault == nil && !Stops(with) {
			t.Errorf("%s is not stopped:\n%s", name, with)
		}
		for line := range bytes.Lines(text) {
			if s := bytes.TrimRight(line, "\r\n"); !bytes.Contains(with, s) && !bytes.Contains(s, []byte("stop")) && !bytes.HasPrefix(text, []byte("{")) && !blank(text) {
				t.Errorf("%s lost %q:\n%s", name, line, with)
			}
		}
		if _, err := WithoutStop(text); err == nil {
			t.Errorf("%s: a stop was lifted from what does not validate", name)
		}
	}
}

func TestWhatIsNoDocumentIsStoppedToo(t *testing.T) {
	for before, after := range map[string]string{
		"":                                   leastStopped,
		" \n":                                leastStopped,
		"# Keep me.":                         "# Keep me.\n" + leastStopped,
		"null\n":                             leastStopped,
		"---\n":                              "---\n" + leastStopped,
		"{}":                                 `{"stop": true}`,
		"mode: on\n":                         "stop: true\nmode: on\n",
		"stop: \"no\"\na: b\n":               "stop: true\na: b\n",
		"stop: [a,\n  b]\n":                  "",
		"apiVersion: rollcall/v1\nmode: {\n": "apiVersion: rollcall/v1\nstop: true\nmode: {\n",
		"mode: {\nstop: false\n":             "mode: {\nstop: true\n",
		"mode: {\nstop: true # Jo\n":         "mode: {\nstop: true # Jo\n",
		"mode: {\n":                          "stop: true\nmode: {\n",
		"- a\n":                              "",
		"hello":                              "",
	} {
		with, anew, err := WithStop([]byte(before))
		if string(with) != after || (err != nil) != (after == "") || anew != strings.HasSuffix(after, leastStopped) {
			t.Errorf("%q: %v, anew %v\n%q, want\n%q", before, err, anew, with, after)
		}
	}
}

func TestAStopWithFaultsCountsAsOne(t *testing.T) {
	for text, want := range map[string]bool{
		"stop: true\n": true, "stop: yes\n": true, "stop:\n": true, "stop: [false]\n": true, "stop: \"false\"\n": true, "stop: 0\n": true,
		"stop: true\nstop: false\n": true, "mode: off\nstop: TRUE\n": true,
		"stop: false\n": false, "stop: False\nmode: off\n": false, "a: {stop: true}\n": false, "": false, "stop: {\n": true, "mode: {\nstop: true # now\n": true, "mode: {\nstop: false # now\n": false, "mode: {\n  stop: true\n": false, "[stop]": false,
	} {
		expect.Equal(t, Stops([]byte(text)), want, "%q", text)
	}
}

func TestTheHighestMode(t *testing.T) {
	for document, want := range map[string]Mode{
		"":             Remediate, // no mode is named: the permitted one
		"mode: notify": Notify,
		"mode: notify\noverrides: [{match: {cluster: a}, mode: remediate}]":  Remediate,
		"mode: observe\noverrides: [{match: {group: none}, mode: notify}]":   Notify,
		"mode: remediate\noverrides: [{match: {group: none}, mode: notify}]": Remediate,
	} {
		d := mustParse(t, document)
		for _, permitted := range modes {
			expect.Equal(t, d.Highest(permitted), Lower(want, permitted), "%q, permitted %s", document, permitted)
		}
	}
}
