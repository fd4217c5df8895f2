// Package inquiry finds out why: it has the evidence about findings collected, has it
// diagnosed, and keeps what was read where it outlives the instances.
//
// An inquiry never fails as a whole. What could not be read is told as not checked, and
// only keeping the evidence can come to nothing.
package inquiry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"

	"rollcall/shared/archive"
	"rollcall/shared/bundle"
	"rollcall/shared/collect"
	"rollcall/shared/diagnose"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// Store keeps evidence; *archive.S3 and *archive.Dir do.
type Store interface {
	Put(context.Context, archive.Key, map[string][]byte) (archive.Link, error)
}

// Options are what an inquirer is made of.
type Options struct {
	AWS  aws.Config
	Kube bundle.Dialer
	// Principal tells whose credentials are used, for messages; it may be nil.
	Principal func(context.Context) string
	// Store keeps evidence; nil keeps none.
	Store Store
	// Free: reading costs nothing, as from a bundle. Serial: questions are asked one after
	// the other. See collect.Options.
	Free, Serial bool
}

// Inquirer makes inquiries in one account and region. It is safe for concurrent use.
type Inquirer struct{ o Options }

// New makes an inquirer.
func New(o Options) *Inquirer { return &Inquirer{o} }

// Inquiry is what came of one inquiry.
type Inquiry struct {
	Diagnoses map[roll.FindingKey]roll.Diagnosis
	Evidence  *evidence.Evidence
	recorder  *bundle.Recorder // nil if nothing is to be kept
	store     Store
	fault     error // why the evidence cannot be kept
}

// Keeps reports whether evidence can be kept at all.
func (i *Inquirer) Keeps() bool { return i.o.Store != nil }

// Inquire reads the evidence of the input's findings and diagnoses them. record says
// that it may be kept afterwards: the answers themselves are remembered until then.
func (i *Inquirer) Inquire(ctx context.Context, in collect.Input, record bool) *Inquiry {
	out := &Inquiry{}
	o := collect.Options{AWS: i.o.AWS, Kube: i.o.Kube, Principal: i.o.Principal, Free: i.o.Free, Serial: i.o.Serial}
	if record && i.o.Store != nil {
		out.recorder, out.store = bundle.NewRecorder(in.Snapshot.At), i.o.Store
		o.AWS, o.Kube = out.recorder.AWS(i.o.AWS), out.recorder.Kube(i.o.Kube)
	}
	out.Evidence = collect.New(o).Collect(ctx, in)
	out.Diagnoses = diagnose.Diagnose(out.Evidence)
	if out.recorder != nil {
		out.recorder.Remember(out.Evidence.Remembered())
		out.fault = out.recorder.Snapshot(in.Snapshot)
	}
	return out
}

// ErrNotRecorded says that an inquiry was not made to be kept.
var ErrNotRecorded = errors.New("the answers were not recorded")

// Keep keeps what the inquiry read, as a bundle without secrets, together with the
// findings: any value that JSON can hold. It may be called again for the same key, which
// changes nothing.
func (q *Inquiry) Keep(ctx context.Context, key archive.Key, findings any) (archive.Link, error) {
	if q.recorder == nil {
		return archive.Link{}, ErrNotRecorded
	}
	if q.fault != nil {
		return archive.Link{}, q.fault
	}
	files, err := q.recorder.Files()
	if err != nil {
		return archive.Link{}, fmt.Errorf("put the evidence about %s together: %w", key.Instance, err)
	}
	if files[archive.Findings], err = json.MarshalIndent(findings, "", "  "); err != nil {
		return archive.Link{}, fmt.Errorf("encode the findings about %s: %w", key.Instance, err)
	}
	return q.store.Put(ctx, key, files)
}
