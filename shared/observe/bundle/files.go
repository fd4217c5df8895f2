package bundle

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"
	"unicode"
)

// Files returns what was recorded as a bundle, by file name with slashes, in the formats of the AWS
// CLI and kubectl and always in the same order. Secrets are redacted by package redact. Kubernetes
// objects lose further fields that may hold secrets: most annotations, and of pods everything
// except names, images, resources and states. A file with a missing answer is left out: see
// [Recorder.Lacks].
func (r *Recorder) Files() (map[string][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &filer{out: map[string][]byte{}, torn: r.torn, scrub: newScrubber()}
	f.aws(r.c)
	if r.entries {
		f.accessEntries(r.c)
	}
	f.documents(r.c)
	f.ledger(r.c)
	if err := f.kubernetes(r.c); err != nil {
		return nil, err
	}
	if !r.c.at.IsZero() {
		f.out[fileAt] = []byte(r.c.at.Format(time.RFC3339) + "\n")
	}
	return f.out, nil
}

type filer struct {
	out   map[string][]byte
	torn  map[string]string
	scrub *scrubber
}

func (f *filer) upper() encoder { return encoder{scrub: f.scrub} }
func (f *filer) lower() encoder { return encoder{scrub: f.scrub, lower: true} }

// like returns the encoder whose names begin with a letter of the same case as the name.
func (f *filer) like(name string) encoder {
	return encoder{scrub: f.scrub, lower: unicode.IsLower(rune(name[0]))}
}

func (f *filer) write(file string, v any) {
	if _, torn := f.torn[file]; !torn {
		f.out[file] = printed(v)
	}
}

func (f *filer) aws(c *contents) {
	if c.cluster.held {
		f.write(fileCluster, map[string]any{"cluster": f.one(f.lower(), &c.cluster.rows[0])})
	}
	if c.instances.held {
		f.write(fileInstances, map[string]any{"Reservations": encodeAll(f.upper(), reservations(c.instances.sorted()))})
	}
	for i := range specs {
		if specs[i].write != nil {
			specs[i].write(f, c)
		}
	}
	if len(c.shifts.rows) > 0 {
		f.write(fileShifts, f.one(f.lower(), &c.shifts.rows[0]))
	}
}

func (f *filer) one(e encoder, v any) any {
	out, ok := e.value(reflect.ValueOf(v), "")
	if !ok {
		return map[string]any{}
	}
	return out
}

// listed writes a file with a list.
func listed[T any](f *filer, list string, t *table[T]) {
	if t.held {
		f.write(t.file, map[string]any{list: encodeAll(f.like(list), t.sorted())})
	}
}

// answers writes a file with one answer per name. field is the name of one of its fields. Fields
// without a value are left out, even if these are all fields: an empty answer is an answer.
func answers[T any](f *filer, field string, t *table[T]) {
	if !t.held {
		return
	}
	out := map[string]any{}
	for _, row := range t.rows {
		out[t.key(&row)] = f.one(f.like(field), &row)
	}
	f.write(t.file, out)
}

// accessEntries writes entries that were only listed as their ARNs.
func (f *filer) accessEntries(c *contents) {
	all := []any{}
	for _, e := range c.entries.sorted() {
		if e.listed {
			all = append(all, f.scrub.text(*e.PrincipalArn))
			continue
		}
		all = append(all, f.one(f.lower(), &e.AccessEntry))
	}
	f.write(fileAccessEntries, map[string]any{"accessEntries": all})
}

func (f *filer) documents(c *contents) {
	for _, d := range c.userData.rows {
		if clean, ok := f.scrub.userData(d.text); ok {
			f.out[documentName(folderUserData, d.instance)] = clean
		}
	}
	for _, d := range c.consoles.rows {
		f.out[documentName(folderConsole, d.instance)] = []byte(f.scrub.text(string(d.text)))
	}
}

func (f *filer) ledger(c *contents) {
	if !c.remembered.held {
		return
	}
	nodes := map[string]any{}
	for _, r := range c.remembered.rows {
		n := rememberedNode{At: r.At, ReadyFlips: r.ReadyFlips, GroupPressures: r.GroupPressures}
		for _, k := range r.Conditions {
			n.Conditions = append(n.Conditions, rememberedCondition{k.Type, k.Status, k.Reason, k.Message, k.Since})
		}
		nodes[r.node] = f.one(f.lower(), &n)
	}
	f.write(fileLedger, map[string]any{"nodes": nodes})
}

func (f *filer) kubernetes(c *contents) error {
	for _, file := range slices.Sorted(maps.Keys(c.objects)) {
		t := c.objects[file]
		if !t.held {
			continue
		}
		items := []any{}
		for _, i := range t.sorted() {
			o, err := f.scrub.written(&i)
			if err != nil {
				return fmt.Errorf("write %s %s into %s: %w", i.Kind, i.Metadata.Name, file, err)
			}
			items = append(items, o)
		}
		if file == fileAwsAuth && len(items) == 1 {
			f.write(file, items[0])
			continue
		}
		f.list(file, items)
	}
	// Without this file there is no bundle, and a cluster whose API server does not answer is worth
	// one.
	if refused, ok := c.refused[fileNodes]; ok {
		f.out[fileNodes] = printed(map[string]any{
			"apiVersion": "v1", "kind": "Status", "metadata": map[string]any{}, "status": "Failure", "code": refused.code,
			"reason": reasons[refused.code], "message": f.scrub.text(f.torn[fileNodes]),
		})
	}
	return nil
}

// reasons maps the code of a Status to its reason.
var reasons = map[int]string{
	http.StatusUnauthorized: "Unauthorized", http.StatusForbidden: "Forbidden", http.StatusTooManyRequests: "TooManyRequests",
	http.StatusInternalServerError: "InternalError", http.StatusServiceUnavailable: "ServiceUnavailable",
}

func (f *filer) list(file string, items []any) {
	f.write(file, map[string]any{"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]any{"resourceVersion": ""}})
}
