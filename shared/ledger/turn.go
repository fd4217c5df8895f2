package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// act is the record of an act with its turn: the version of the turn's record that it wrote,
// and so its place among the acts of the cluster. Their times come from many clocks.
type act struct {
	Action
	Turn    int64 `json:"turn"`
	version int64 // of its record
}

// turn serializes Begin: each act increments the version of its record.
type turn struct {
	Last    string    `json:"last"`   // key of the act that wrote this version
	LastAt  time.Time `json:"lastAt"` // time of that act
	version int64     // 0 before the first act
}

const (
	actPrefix = "action#"
	turnKey   = "budget"
)

// sortableTime has a fixed number of digits, so that strings sort as times do.
const sortableTime = "2006-01-02T15:04:05.000000000Z"

// key orders a cluster's acts by time. The turn keeps two tries of one order apart, whatever
// their clocks say.
func (a act) key() string {
	return fmt.Sprintf("%s%s#%s#%d", actPrefix, a.At.UTC().Format(sortableTime), a.ID, a.Turn)
}

// write returns the write of an act whose record has a version.
func (a act) write(read int64) (write, error) {
	w, err := encode(a.key(), none{}, a)
	w.version, w.read = read+1, &read
	if a.Outcome != nil {
		w.expires = a.TookUntil().Add(ActionRetention)
	}
	return w, err
}

var actNeeds = needs[act]()

func actOf(r record) (act, error) {
	p := r.parsed(func() parsed {
		_, a, err := decode[none, act](r, actNeeds)
		if err == nil && a.Outcome != nil && a.Outcome.Result == "" {
			err = errors.New("its outcome has no result")
		}
		if err == nil && a.key() != r.key {
			err = fmt.Errorf("by its content its key is %s", a.key())
		}
		return parsed{act: a, err: err}
	})
	p.act.Outcome, p.act.version = own(p.act.Outcome), r.version
	return p.act, r.malformed(p.err)
}

// acts returns the acts of a cluster in the order of their Begin.
func (b *book) acts(ctx context.Context, partition string) (acts []act, _ error) {
	records, err := b.store.read(ctx, partition, actPrefix)
	for _, r := range records {
		a, wrong := actOf(r)
		acts, err = append(acts, a), errors.Join(err, wrong)
	}
	slices.SortFunc(acts, byTurn)
	return acts, err
}

func byTurn(a, b act) int { return cmp.Compare(a.Turn, b.Turn) }

func actionsOf(acts []act) (out []Action) {
	for _, a := range acts {
		out = append(out, a.Action)
	}
	return out
}

// lastTurn returns the latest turn, the zero value before the first act.
func (b *book) lastTurn(ctx context.Context, partition string) (t turn, _ error) {
	records, err := b.store.read(ctx, partition, turnKey)
	if err != nil || len(records) == 0 {
		return turn{}, err
	}
	r := records[0]
	if _, t, err = decode[none, turn](r, needs[turn]()); err == nil && r.version < 1 {
		err = errors.New("it has no version")
	}
	t.version = r.version
	return t, r.malformed(err)
}

// among returns an error unless the act of this turn is among the acts that were read. During
// the commit of a step a read may see one of its records without the other; a decision
// without the last act could permit two acts. The last act is enough, since its own Begin saw
// the one before. An old act may have expired.
func (t turn) among(acts []act, now time.Time) error {
	if t.version == 0 || now.Sub(t.LastAt) >= ActionRetention {
		return nil
	}
	if slices.ContainsFunc(acts, func(a act) bool { return a.key() == t.Last }) {
		return nil
	}
	return fmt.Errorf("the last act, %s, is missing; if somebody deleted it, delete the record %s too: %w", t.Last, turnKey, errMoved)
}
