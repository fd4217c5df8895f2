package testbed

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// auditPolicy makes the API server log the requests of Rollcall's users, and no others.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted]
omitManagedFields: true
rules:
  - level: Request
    userGroups: ["` + ViewersGroup + `", "` + RemediatorsGroup + `"]
  - level: None
`

// A KubeCall is one authenticated request of a user in Rollcall's groups.
type KubeCall struct {
	Time        time.Time
	User        string
	Verb        string // get, list, create, update, patch, delete, deletecollection, ...
	Group       string // API group, empty for the core one
	Resource    string // such as nodes
	Subresource string // such as eviction
	Namespace   string
	Name        string
	Code        int // HTTP status of the answer
	// Body is the request body, as JSON; nil for reads.
	Body json.RawMessage
}

// auditEvent holds the fields that are read from an audit event.
type auditEvent struct {
	AuditID   string
	Stage     string
	Verb      string
	User      struct{ Username string }
	ObjectRef struct {
		APIGroup, Resource, Subresource, Namespace, Name string
	}
	ResponseStatus           struct{ Code int }
	RequestObject            json.RawMessage
	RequestReceivedTimestamp time.Time
}

// KubeCalls returns the requests since the last [Bed.Reset] or [Bed.ForgetCalls], in order of arrival. It waits for the
// answers to pending requests: the API server logs an answer only after the client has it.
func (b *Bed) KubeCalls(ctx context.Context) ([]KubeCall, error) {
	var calls []KubeCall
	err := poll(ctx, 10*time.Second, 10*time.Millisecond, func(context.Context) error {
		data, err := os.ReadFile(b.auditLog())
		if err != nil {
			return err
		}
		var open int
		calls, open, err = readAudit(data[b.audited:])
		if err == nil && open > 0 {
			err = fmt.Errorf("%d requests have no answer yet", open)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return calls, nil
}

// Changing returns the calls that would change something, whether or not they succeeded.
// It omits a request that conflicted with a write of the control plane (409 Conflict) and
// then succeeded: it changed nothing, and who wins is chance.
func Changing(calls []KubeCall) (out []KubeCall) {
	for i, c := range calls {
		if slices.Contains([]string{"get", "list", "watch"}, c.Verb) {
			continue
		}
		again := func(later KubeCall) bool {
			return later.Code < http.StatusBadRequest && later.User == c.User && later.Verb == c.Verb && later.Group == c.Group && later.Resource == c.Resource &&
				later.Subresource == c.Subresource && later.Namespace == c.Namespace && later.Name == c.Name
		}
		if c.Code == http.StatusConflict && slices.ContainsFunc(calls[i+1:], again) {
			continue
		}
		out = append(out, c)
	}
	return out
}

// readAudit returns the calls of an audit log, and how many of them have no answer yet.
func readAudit(log []byte) (calls []KubeCall, open int, err error) {
	byID := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, len(log)+1)
	for lines.Scan() {
		var e auditEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, 0, fmt.Errorf("decode an audit event: %w", err)
		}
		if e.Stage == "RequestReceived" {
			byID[e.AuditID] = len(calls)
			calls = append(calls, KubeCall{Time: e.RequestReceivedTimestamp, User: e.User.Username, Verb: e.Verb, Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource, Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name})
			open++
			continue
		}
		if i, ok := byID[e.AuditID]; ok && calls[i].Code == 0 {
			calls[i].Code, calls[i].Body = e.ResponseStatus.Code, e.RequestObject
			open--
		}
	}
	return calls, open, lines.Err()
}

// forgetAudit makes [Bed.KubeCalls] return only later requests.
func (b *Bed) forgetAudit(ctx context.Context) error {
	if b.options.AWSOnly {
		return nil
	}
	if _, err := b.KubeCalls(ctx); err != nil { // so that no answer to an earlier request comes later
		return err
	}
	info, err := os.Stat(b.auditLog())
	if err != nil {
		return fmt.Errorf("look at the audit log: %w", err)
	}
	b.audited = info.Size()
	return nil
}

func (b *Bed) auditLog() string { return filepath.Join(b.dir, "logs", "audit.log") }

// auditFlags writes the policy and returns the API server's flags for it.
func (b *Bed) auditFlags() ([]string, error) {
	path := filepath.Join(b.dir, "audit-policy.yaml")
	if err := os.WriteFile(path, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	// Otherwise the API server creates the file only with the first event.
	if err := os.WriteFile(b.auditLog(), nil, 0o600); err != nil {
		return nil, fmt.Errorf("make the audit log: %w", err)
	}
	return []string{"--audit-policy-file=" + path, "--audit-log-path=" + b.auditLog(), "--audit-log-mode=blocking", "--audit-log-maxsize=0"}, nil
}
