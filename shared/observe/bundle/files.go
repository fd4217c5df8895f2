package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
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
	out := map[string][]byte{}
	var faults []error
	for i := range specs {
		name := specs[i].name
		if _, torn := r.torn[name]; torn || !r.c.files[name].itself().held {
			continue
		}
		switch document, err := specs[i].write(r.c); {
		case err != nil:
			faults = append(faults, err)
		case document != nil:
			out[name] = printed(document)
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	// Without this file there is no bundle, and a cluster whose API server does not answer is worth
	// one.
	if refused, ok := r.c.refused[fileNodes]; ok {
		out[fileNodes] = printed(map[string]any{
			"apiVersion": "v1", "kind": "Status", "metadata": map[string]any{}, "status": "Failure", "code": refused.code,
			"reason": reasons[refused.code], "message": redact.Text(r.torn[fileNodes]),
		})
	}
	data := tableOf[[]byte](r.c, folderUserData)
	for i, id := range data.keys {
		if clean, ok := scrubbed(data.rows[i]); ok {
			out[documentName(folderUserData, id)] = clean
		}
	}
	for _, folder := range []string{folderConsole, folderHostLogs} {
		texts := tableOf[[]byte](r.c, folder)
		for i, id := range texts.keys {
			out[documentName(folder, id)] = []byte(redactedLog(folder, string(texts.rows[i])))
		}
	}
	if !r.c.at.IsZero() {
		out[fileAt] = []byte(r.c.at.Format(time.RFC3339) + "\n")
	}
	return out, nil
}

// lineCut stands for a line without its beginning.
const lineCut = "[redacted: the line lacks its beginning]"

// redactedLog returns a log without its secrets. The first line of a console that EC2 cut is left out.
// Spaces in its place keep the length by which the console is known to be cut.
func redactedLog(folder, text string) string {
	clean := redact.Log(text)
	if folder != folderConsole || !console.Cut(text) {
		return clean
	}
	_, rest, _ := strings.Cut(clean, "\n")
	return lineCut + strings.Repeat(" ", max(0, len(text)-len(lineCut)-1-len(rest))) + "\n" + rest
}

// writeAccessEntries writes the entries, if all were listed. An entry that was only listed is written
// as its ARN.
func writeAccessEntries(c *contents) (any, error) {
	if !c.entries {
		return nil, nil
	}
	all := []any{}
	for _, e := range c.accessEntries().sorted() {
		if e.listed {
			all = append(all, redact.Text(*e.PrincipalArn))
			continue
		}
		all = append(all, encoder{lower: true}.one(&e.AccessEntry))
	}
	return map[string]any{"accessEntries": all}, nil
}

func writeLedger(c *contents) (any, error) {
	nodes := map[string]any{}
	known := tableOf[evidence.Remembered](c, fileLedger)
	for i := range known.rows {
		nodes[known.keys[i]] = encoder{lower: true}.one(&known.rows[i])
	}
	return map[string]any{"nodes": nodes}, nil
}

func writeObjects(c *contents, file string) (any, error) {
	items := []json.RawMessage{}
	for _, i := range c.objects(file).sorted() {
		o, err := kube.Decode[prunedItem](i.object)
		if err != nil {
			return nil, fmt.Errorf("write %s %s into %s: %w", i.Kind, i.Metadata.Name, file, err)
		}
		items = append(items, o.json)
	}
	if file == fileAwsAuth && len(items) == 1 {
		return items[0], nil
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items}, nil
}

var reasons = map[int]string{
	http.StatusUnauthorized: "Unauthorized", http.StatusForbidden: "Forbidden", http.StatusTooManyRequests: "TooManyRequests",
	http.StatusInternalServerError: "InternalError", http.StatusServiceUnavailable: "ServiceUnavailable",
}
