package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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

// keptAnnotations are the prefixes of annotations that describe a node and hold no secret. All
// others are removed.
var keptAnnotations = []string{
	"karpenter.sh/", "karpenter.k8s.aws/", "compatibility.karpenter.sh/", "rollcall", "cluster.x-k8s.io/machine",
	"cluster-autoscaler.kubernetes.io/scale-down-disabled", "cluster-autoscaler.kubernetes.io/safe-to-evict",
	"eks.amazonaws.com/role-arn", "node.alpha.kubernetes.io/ttl", "volumes.kubernetes.io/controller-managed-attach-detach", "alpha.kubernetes.io/provided-node-ip",
}

// prunedItem is an object as it is written: without managed fields and without irrelevant fields
// that may hold a secret. An item that the API server returns again is decoded, and so pruned, only
// once.
type prunedItem struct{ json json.RawMessage }

// UnmarshalJSON prunes the object.
func (p *prunedItem) UnmarshalJSON(data []byte) error {
	o, err := pruned(data)
	if err != nil {
		return err
	}
	p.json = compact(o)
	return nil
}

func pruned(data json.RawMessage) (any, error) {
	o, err := kube.Trim(data)
	if err != nil {
		return nil, err
	}
	within(o, "metadata", func(m map[string]any) {
		delete(m, "managedFields")
		within(m, "annotations", func(a map[string]any) {
			maps.DeleteFunc(a, func(key string, _ any) bool {
				return o["kind"] != "Pod" && !slices.ContainsFunc(keptAnnotations, func(kept string) bool { return strings.HasPrefix(key, kept) })
			})
			if len(a) == 0 {
				delete(m, "annotations")
			}
		})
	})
	switch o["kind"] {
	case "Node":
		// The names of all images on the node are most of its size and are not needed.
		within(o, "status", func(status map[string]any) { delete(status, "images") })
	case "EC2NodeClass":
		within(o, "spec", func(spec map[string]any) {
			if said, ok := spec["userData"].(string); ok {
				spec["userData"] = encoded(said)
			}
		})
	}
	return cleared("", o), nil
}

func within(o map[string]any, field string, change func(map[string]any)) {
	if inner, ok := o[field].(map[string]any); ok {
		change(inner)
	}
}

// Write writes files, by names with slashes, to a directory that it creates or that is empty. Only
// the user can read it: redacted data is still private. Each file is written completely or not at
// all.
func Write(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write the bundle %s: %w", dir, err)
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("write the bundle %s: %w", dir, err)
	}
	if len(there) > 0 {
		return fmt.Errorf("write the bundle %s: there is something in it already (%s): name another directory, or empty this one", dir, there[0].Name())
	}
	root, err := os.OpenRoot(dir) // names come from ids; the root keeps them inside
	if err != nil {
		return fmt.Errorf("write the bundle %s: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(root, filepath.FromSlash(name), files[name]); err != nil {
			return fmt.Errorf("write %s of the bundle %s: %w", name, dir, err)
		}
	}
	return nil
}

func writeFile(root *os.Root, name string, data []byte) error {
	if folder := filepath.Dir(name); folder != "." {
		if err := root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	partial := name + ".partial"
	f, err := root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, root.Remove(partial))
	}
	return root.Rename(partial, name)
}
