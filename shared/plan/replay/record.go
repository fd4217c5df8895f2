// Package replay shows what another policy would have done: it makes the plans of recorded checks
// again.
//
// A record holds the inputs of each check. Under the policy that a check ran with, the same orders
// follow from them. For another policy, Play assumes how the past would have changed.
package replay

import (
	"cmp"
	"compress/gzip"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// Recorded holds the inputs of one check, and the orders that it gave.
type Recorded struct {
	Now, SeenAt time.Time
	// Policy is the policy in force, and Permitted the highest mode that the deployment permits.
	Policy    policy.Source
	Permitted policy.Mode
	// Lowered and Unremembered are those of plan.Input.
	Lowered, Unremembered bool
	Snapshot              *roll.Snapshot // with everything that was read for this check
	Diagnoses             map[roll.FindingKey]roll.Diagnosis
	State                 ledger.State // before the check
	Orders                []plan.Order
}

// Cluster returns the cluster of the check.
func (c Recorded) Cluster() roll.ClusterID { return c.Snapshot.Cluster.ID }

// Plan makes the check's plan once more, under the policy that it ran with.
func (c Recorded) Plan() (plan.Plan, error) {
	doc, err := c.document()
	if err != nil {
		return plan.Plan{}, err
	}
	in := c.under(doc, c.Permitted, c.Snapshot, c.State)
	in.Diagnoses = c.Diagnoses
	return plan.Make(in), nil
}

// document returns the policy that the check ran with.
func (c Recorded) document() (*policy.Document, error) {
	doc, err := c.Policy.Document()
	if err != nil {
		return nil, fmt.Errorf("the policy of the check of %s at %s: %w", c.Cluster().Name, roll.Clock(c.Now), err)
	}
	return doc, nil
}

// under returns the inputs, except diagnoses, of a plan of the check under another policy, snapshot
// or ledger.
func (c Recorded) under(doc *policy.Document, permitted policy.Mode, s *roll.Snapshot, state ledger.State) plan.Input {
	pol := doc.Cluster(s.Cluster.ID.Name, s.Cluster.ModeTag, permitted)
	return plan.Input{
		Snapshot: s, Assessment: assess.Assess(assess.Input{Snapshot: s, Policy: pol, State: state, Now: c.Now}), State: state, Policy: pol,
		Now: c.Now, SeenAt: c.SeenAt, Lowered: c.Lowered, Unremembered: c.Unremembered,
	}
}

// Extension is the end of the names of files that are records.
const Extension = ".rollcall"

// format is the first value of a record. A later version of the format has another number.
type format struct{ Rollcall int }

const version = 1

// Writer writes checks to a record.
type Writer struct {
	zip *gzip.Writer
	gob *gob.Encoder
}

// NewWriter begins a record.
func NewWriter(to io.Writer) (*Writer, error) {
	zip := gzip.NewWriter(to)
	w := &Writer{zip, gob.NewEncoder(zip)}
	return w, w.gob.Encode(format{version})
}

// Write appends a check.
func (w *Writer) Write(c Recorded) error { return w.gob.Encode(c) }

// Close ends the record. It does not close what it was written to.
func (w *Writer) Close() error { return w.zip.Close() }

// ErrNoRecord means that the content read is no record.
var ErrNoRecord = errors.New("it is not a record of checks")

// maxRecord bounds the bytes that a record expands to: a small file may expand to any number.
const maxRecord = 4 << 30

// Read reads a record to its end. An error names what is wrong; the checks before it are returned
// too.
func Read(from io.Reader) (checks []Recorded, err error) { return read(from, maxRecord) }

func read(from io.Reader, most int64) (checks []Recorded, err error) {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRecord, err)
	}
	bounded := &io.LimitedReader{R: zip, N: most + 1}
	dec := gob.NewDecoder(bounded)
	var f format
	switch err := dec.Decode(&f); {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoRecord, err)
	case f.Rollcall != version:
		return nil, fmt.Errorf("its format is version %d, and this program reads version %d", f.Rollcall, version)
	}
	for {
		var c Recorded
		switch err := dec.Decode(&c); {
		case err != nil && bounded.N <= 0:
			return checks, fmt.Errorf("it expands to more than %d bytes, the most that is read", most)
		case errors.Is(err, io.EOF):
			return checks, nil
		case err != nil:
			return checks, fmt.Errorf("check %d of the record: %w", len(checks)+1, err)
		case c.Snapshot == nil:
			return checks, fmt.Errorf("check %d of the record has no snapshot", len(checks)+1)
		}
		checks = append(checks, c)
	}
}

// ByCluster sorts checks by their time, and groups them by cluster, by name.
func ByCluster(checks []Recorded) (out [][]Recorded) {
	checks = slices.Clone(checks)
	slices.SortStableFunc(checks, func(a, b Recorded) int {
		return cmp.Or(cmp.Compare(a.Cluster().String(), b.Cluster().String()), a.Now.Compare(b.Now))
	})
	for len(checks) > 0 {
		n := slices.IndexFunc(checks, func(c Recorded) bool { return c.Cluster() != checks[0].Cluster() })
		if n < 0 {
			n = len(checks)
		}
		out, checks = append(out, checks[:n]), checks[n:]
	}
	return out
}
