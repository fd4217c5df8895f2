package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"

	"rollcall/shared/diagnose"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/archive"
	"rollcall/shared/observe/bundle"
	"rollcall/shared/observe/collect"
	"rollcall/shared/roll"
)

// Store keeps evidence, and returns the URI of its folder. *archive.S3 and *archive.Dir implement it.
type Store interface {
	Put(context.Context, archive.Key, map[string][]byte) (string, error)
}

// Inquiry is the result of a diagnosis. It never fails as a whole: what could not be read is
// reported as not checked. Only keeping the evidence can fail.
type Inquiry struct {
	Diagnoses map[roll.FindingKey]roll.Diagnosis
	Evidence  *evidence.Evidence
	recorder  *bundle.Recorder // nil if nothing will be kept
	store     Store
	fault     error // why the evidence cannot be kept
}

// Inquire reads the evidence for the input's findings and diagnoses them. record reports whether it
// may be kept afterwards; the answers are then held in memory.
func (v *View) Inquire(ctx context.Context, in collect.Input, record bool) *Inquiry {
	out, from := &Inquiry{}, v.collector
	if record && v.options.Store != nil {
		out.recorder, out.store = bundle.NewRecorder(in.Snapshot.At), v.options.Store
		from = collecting(out.recorder.AWS(v.aws), out.recorder.Kube(v.kube), v.options)
	}
	out.Evidence = from.Collect(ctx, in)
	out.Diagnoses = diagnose.Diagnose(out.Evidence)
	if out.recorder != nil {
		out.recorder.Remember(out.Evidence.Remembered())
		out.fault = out.recorder.Snapshot(in.Snapshot)
	}
	return out
}

func collecting(cfg aws.Config, dialer bundle.Dialer, o Options) *collect.Collector {
	return collect.New(collect.Options{AWS: cfg, Kube: dialer, Principal: o.Principal, Free: o.Free, Serial: o.Serial, WithoutSecrets: o.WithoutSecrets, HostLogs: o.HostLogs})
}

// ErrNotRecorded means that the answers of an inquiry were not recorded.
var ErrNotRecorded = errors.New("the answers were not recorded")

// Keep stores what the inquiry read, as a bundle without secrets, together with the findings: any
// value that can be encoded as JSON. It returns where they are. Another call for the same key changes
// nothing.
func (q *Inquiry) Keep(ctx context.Context, key archive.Key, findings any) (string, error) {
	if q.recorder == nil {
		return "", ErrNotRecorded
	}
	if q.fault != nil {
		return "", q.fault
	}
	files, err := q.recorder.Files()
	if err != nil {
		return "", fmt.Errorf("put the evidence about %s together: %w", key.Instance, err)
	}
	if files[archive.Findings], err = json.MarshalIndent(findings, "", "  "); err != nil {
		return "", fmt.Errorf("encode the findings about %s: %w", key.Instance, err)
	}
	return q.store.Put(ctx, key, files)
}
