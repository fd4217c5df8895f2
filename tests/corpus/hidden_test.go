package corpus_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/corpus"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// hidden are the ways in which a file about one instance may be unreadable: not captured,
// truncated, or garbled.
var hidden = map[string]func([]byte) []byte{
	"removed":           func([]byte) []byte { return nil },
	"emptied":           func([]byte) []byte { return []byte{} },
	"cut in the middle": func(text []byte) []byte { return text[:len(text)/2] },
	"cut at the end":    func(text []byte) []byte { return text[:len(text)-min(len(text), 12)] },
	"garbled":           func(text []byte) []byte { return bytes.Map(garble, text) },
	"not base64":        func(text []byte) []byte { return append([]byte("SGVsbG8%%%"), text[:len(text)/3]...) },
	"another file":      func([]byte) []byte { return []byte("#include\nhttps://example.com/bootstrap.sh\n") },
}

// garble shifts letters, as a wrong decoding would.
func garble(r rune) rune {
	if r > ' ' && r < 'z' {
		return r + 1
	}
	return r
}

// shared are the files about many instances, in which the entries of one may be missing. Two
// other files list the instances: without them there is nothing to diagnose.
var shared = []string{"auto-scaling-instances.json", "instance-status.json", "k8s-events.json", "leases.json", "nodeclaims.json", "pods.json"}

// entriesOf drops the list entries about an instance.
func entriesOf(t *testing.T, id string) func([]byte) []byte {
	var drop func(v any) any
	drop = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for key := range v {
				v[key] = drop(v[key])
			}
		case []any:
			return slices.DeleteFunc(v, func(entry any) bool {
				text, err := json.Marshal(entry)
				return err != nil || strings.Contains(string(text), id)
			})
		}
		return v
	}
	return func(text []byte) []byte {
		var v any
		must.Succeed(t, json.Unmarshal(text, &v))
		out, err := json.Marshal(drop(v))
		must.Succeed(t, err)
		return out
	}
}

// hiding is one way in which a bundle hides what is known about an instance.
type hiding struct {
	file, how string
	hide      func([]byte) []byte
}

// hidings returns all of them for the instances.
func hidings(t *testing.T, files map[string][]byte, sick []string) (out []hiding) {
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for _, id := range sick {
			if strings.Contains(file, id) {
				for how, hide := range hidden {
					out = append(out, hiding{file, how, hide})
				}
			}
			if slices.Contains(shared, file) && bytes.Contains(files[file], []byte(id)) {
				out = append(out, hiding{file, "without " + id, entriesOf(t, id)})
			}
		}
	}
	return out
}

// What is unreadable about one of several sick instances never leads to an act that the whole
// bundle does not lead to. An act on it instead of on another, which came first and is now
// held, is no new act: its turn would have come.
func TestWhatIsHiddenOfASiblingAddsNoOrder(t *testing.T) {
	cases, asked := 0, 0
	for _, c := range generate.All() {
		var sick []string
		for _, f := range c.Expect.Findings {
			if !slices.Contains(sick, f.Instance) {
				sick = append(sick, f.Instance)
			}
		}
		if len(sick) < 2 {
			continue
		}
		cases++
		whole, err := explained(t.Context(), c)
		must.Succeed(t, err)
		for _, h := range hidings(t, c.Files, sick) {
			asked++
			t.Run(fmt.Sprintf("%s/%s/%s", c.Name, h.file, h.how), func(t *testing.T) {
				t.Parallel()
				got, err := explained(t.Context(), without(c, h))
				must.Succeed(t, err)
				for _, o := range got.Orders {
					held := of(whole.Held, o.Instance)
					turn := slices.Contains(held, "OneAtATime") || slices.Contains(held, "ActionsPerCheck")
					if !slices.Contains(whole.Orders, o) && !turn {
						t.Errorf("%s of %s is ordered, and not by the whole bundle: held there %q", o.Action, o.Instance, held)
					}
				}
			})
		}
	}
	expect.That(t, cases >= 9 && asked >= 100, "%d cases with several sick instances, %d ways of hiding something", cases, asked)
}

func of(held []corpus.Held, instance string) (out []string) {
	for _, h := range held {
		if h.Instance == instance {
			out = append(out, h.Reason)
		}
	}
	return out
}

// without returns the case with one file hidden.
func without(c generate.Made, h hiding) generate.Made {
	c.Files = maps.Clone(c.Files)
	if text := h.hide(c.Files[h.file]); text == nil {
		delete(c.Files, h.file)
	} else {
		c.Files[h.file] = text
	}
	return c
}

// A time in the year 9999, which some use for "never", breaks no output.
func TestATimeInTheYear9999IsAnswered(t *testing.T) {
	stamp := regexp.MustCompile(`"20\d\d-\d\d-\d\dT[0-9:.]*(Z|\+00:00)"`)
	for _, name := range []string{"role-in-neither-store", "silent", "kubelet-restarted-while-it-started", "pool-without-capacity", "replacements-fail-alike", "instance-status-impaired"} {
		c := generate.Named(t, name)
		for file, text := range c.Files {
			if !strings.HasSuffix(file, ".json") || !stamp.Match(text) {
				continue
			}
			never := without(c, hiding{file: file, hide: func(text []byte) []byte { return stamp.ReplaceAll(text, []byte(`"9999-12-31T23:59:59Z"`)) }})
			_, err := explained(t.Context(), never)
			expect.That(t, err == nil, "%s of %s: %v", file, name, err)
		}
	}
	c := generate.Named(t, "silent")
	c = without(c, hiding{file: "at.txt", hide: func([]byte) []byte { return []byte("9999-12-31T23:59:59Z") }})
	_, err := explained(t.Context(), c)
	expect.That(t, err != nil && strings.Contains(err.Error(), "is not a time in RFC 3339"), "a capture in the year 9999: %v", err)
}
