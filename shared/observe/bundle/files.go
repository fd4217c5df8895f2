package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"
	"unicode"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/redact"
	"rollcall/shared/kube"
)

// Files returns what was recorded as a bundle, by file name with slashes, in the formats of the AWS
// CLI and kubectl and always in the same order. Secrets are redacted by package redact. Kubernetes
// objects lose further fields that may hold secrets: most annotations, and of pods everything
// except names, images, resources and states. A file with a missing answer is left out: see
// [Recorder.Lacks].
func (r *Recorder) Files() (map[string][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &filer{out: map[string][]byte{}, torn: r.torn}
	for i := range specs {
		specs[i].write(f, r.c)
	}
	f.documents(r.c)
	if f.err != nil {
		return nil, f.err
	}
	if !r.c.at.IsZero() {
		f.out[fileAt] = []byte(r.c.at.Format(time.RFC3339) + "\n")
	}
	return f.out, nil
}

type filer struct {
	out  map[string][]byte
	torn map[string]string
	err  error // of an object that cannot be written
}

// like returns the encoder whose names begin with a letter of the same case as the name.
func like(name string) encoder { return encoder{lower: unicode.IsLower(rune(name[0]))} }

func (f *filer) write(file string, v any) {
	if _, torn := f.torn[file]; !torn {
		f.out[file] = printed(v)
	}
}

func (f *filer) one(e encoder, v any) any {
	out, ok := e.value(reflect.ValueOf(v), "")
	if !ok {
		return map[string]any{}
	}
	return out
}

// accessEntries writes the entries, if all were listed: those of which no more was read as their ARNs.
func (f *filer) accessEntries(c *contents) {
	if !c.entries {
		return
	}
	all := []any{}
	for _, e := range c.accessEntries().sorted() {
		if e.listed {
			all = append(all, redact.Text(*e.PrincipalArn))
			continue
		}
		all = append(all, f.one(encoder{lower: true}, &e.AccessEntry))
	}
	f.write(fileAccessEntries, map[string]any{"accessEntries": all})
}

func (f *filer) documents(c *contents) {
	data := tableOf[[]byte](c, folderUserData)
	for i, id := range data.keys {
		if clean, ok := scrubbed(data.rows[i]); ok {
			f.out[documentName(folderUserData, id)] = clean
		}
	}
	for _, folder := range []string{folderConsole, folderHostLogs} {
		texts := tableOf[[]byte](c, folder)
		for i, id := range texts.keys {
			f.out[documentName(folder, id)] = []byte(redact.Log(string(texts.rows[i])))
		}
	}
}

func (f *filer) ledger(c *contents) {
	known := tableOf[evidence.Remembered](c, fileLedger)
	if !known.held {
		return
	}
	nodes := map[string]any{}
	for i, r := range known.rows {
		n := rememberedNode{At: r.At, ReadyFlips: r.ReadyFlips, GroupPressures: r.GroupPressures}
		for _, k := range r.Conditions {
			n.Conditions = append(n.Conditions, rememberedCondition{k.Type, k.Status, k.Reason, k.Message, k.Since})
		}
		nodes[known.keys[i]] = f.one(encoder{lower: true}, &n)
	}
	f.write(fileLedger, map[string]any{"nodes": nodes})
}

func (f *filer) objects(c *contents, file string) {
	if t := c.objects(file); t.held {
		items := []json.RawMessage{}
		for _, i := range t.sorted() {
			o, err := kube.Decode[prunedItem](i.object)
			if err != nil {
				f.err = errors.Join(f.err, fmt.Errorf("write %s %s into %s: %w", i.Kind, i.Metadata.Name, file, err))
				return
			}
			items = append(items, o.json)
		}
		if file == fileAwsAuth && len(items) == 1 {
			f.write(file, items[0])
		} else {
			f.write(file, map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items})
		}
	}
	// Without this file there is no bundle, and a cluster whose API server does not answer is worth
	// one.
	if refused, ok := c.refused[file]; ok && file == fileNodes {
		f.out[fileNodes] = printed(map[string]any{
			"apiVersion": "v1", "kind": "Status", "metadata": map[string]any{}, "status": "Failure", "code": refused.code,
			"reason": reasons[refused.code], "message": redact.Text(f.torn[fileNodes]),
		})
	}
}

// reasons maps the code of a Status to its reason.
var reasons = map[int]string{
	http.StatusUnauthorized: "Unauthorized", http.StatusForbidden: "Forbidden", http.StatusTooManyRequests: "TooManyRequests",
	http.StatusInternalServerError: "InternalError", http.StatusServiceUnavailable: "ServiceUnavailable",
}
