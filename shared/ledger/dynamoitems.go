package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/roll"
)

// item is one item of the table. The names of its attributes are those of the
// ledger's JSON form.
type item = map[string]types.AttributeValue

// The forms of items whose sort key is not made of what the ledger's own type holds.
type (
	notReadyItem struct {
		Instance roll.InstanceID `json:"instance"`
		NotReady
	}
	restItem struct {
		Instance roll.InstanceID `json:"instance"`
		Rest
	}
	sinceItem struct { // group and remediate
		Name  string    `json:"name"`
		Since time.Time `json:"since"`
	}
	// noticeItem holds a notice. The members that do not fit are in Parts further
	// items, numbered from 1, that are written with it in one transaction and carry
	// the same stamp.
	noticeItem struct {
		Group  roll.Group `json:"group"`
		Kind   roll.Kind  `json:"kind"`
		SentAt time.Time  `json:"sentAt"`
		Told   []told     `json:"told"`
		Parts  int        `json:"parts"`
		Stamp  string     `json:"stamp"`
	}
	toldItem struct {
		Group roll.Group `json:"group"`
		Kind  roll.Kind  `json:"kind"`
		Part  int        `json:"part"`
		Stamp string     `json:"stamp"`
		Told  []told     `json:"told"`
	}
	// told is what was said of some instances, in a third of the space that a map of
	// them needs.
	told struct {
		Said      string   `json:"said"`
		Instances []string `dynamodbav:"instances,stringset" json:"instances"`
	}
	// actionItem is an act with its turn: the version of the budget item that it made,
	// and so its place among the acts of the cluster.
	actionItem struct {
		Action
		Turn int64 `json:"turn"`
	}
	// budgetItem makes acts begin one after the other: each raises its version from
	// the one it has read.
	budgetItem struct {
		Version int64     `json:"version"`
		Last    string    `json:"last"`   // sort key of the act that made this version
		LastAt  time.Time `json:"lastAt"` // its time
	}
)

// shapes are the attributes that an item must have to be understood, with their
// types. Further ones are ignored, so that a later version may add some.
var shapes = map[string]map[string]string{
	kindFinding:   {"instance": "S", "kind": "S", "group": "S", "stage": "S", "firstSeen": "S", "since": "S", "began": "S"},
	kindNotReady:  {"instance": "S", "since": "S", "status": "S", "transition": "S"},
	kindRest:      {"instance": "S", "left": "S"},
	kindGroup:     {"name": "S", "since": "S"},
	kindRemediate: {"name": "S", "since": "S"},
	kindNotice:    {"group": "S", "kind": "S", "sentAt": "S", "told": "L", "parts": "N", "stamp": "S"},
	kindTold:      {"group": "S", "kind": "S", "part": "N", "stamp": "S", "told": "L"},
	kindAction:    {"id": "S", "do": "S", "instance": "S", "group": "S", "kind": "S", "at": "S", "turn": "N"},
	kindBudget:    {"version": "N", "last": "S", "lastAt": "S"},
}

func typeOf(v types.AttributeValue) string {
	switch v.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberL:
		return "L"
	}
	return ""
}

func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// key is the primary key of an item.
func key(pk, sk string) item { return item{attrPartition: text(pk), attrSort: text(sk)} }

// encode makes an item of what is to be remembered under the key.
func encode(pk, sk string, v any) (item, error) {
	enc := attributevalue.NewEncoder(func(o *attributevalue.EncoderOptions) {
		o.TagKey = "json"
		o.EncodeTime = func(t time.Time) (types.AttributeValue, error) {
			return text(t.UTC().Format(time.RFC3339Nano)), nil
		}
	})
	av, err := enc.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("encode item %s %s: %w", pk, sk, err)
	}
	m, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("encode item %s %s: a %T is not an item", pk, sk, v)
	}
	maps.Copy(m.Value, key(pk, sk))
	return m.Value, nil
}

// decode reads an item. One that lacks something, or lies under a key that is not
// its own, is an error that names the key: to guess what was remembered is to forget
// it.
func decode[T any](it item, sortKey func(T) string) (T, error) {
	var v T
	sk := textOf(it[attrSort])
	fail := func(err error) (T, error) {
		return v, fmt.Errorf("item %s %s is malformed: %w; mend or delete it", textOf(it[attrPartition]), sk, err)
	}
	shape := shapes[kindOf(sk)]
	for _, name := range slices.Sorted(maps.Keys(shape)) {
		if got := typeOf(it[name]); got != shape[name] {
			return fail(fmt.Errorf("its attribute %s is missing or not of type %s", name, shape[name]))
		}
	}
	if err := attributevalue.UnmarshalMapWithOptions(it, &v, func(o *attributevalue.DecoderOptions) { o.TagKey = "json" }); err != nil {
		return fail(err)
	}
	if want := sortKey(v); want != sk {
		return fail(fmt.Errorf("by its attributes it belongs under %s", want))
	}
	return v, nil
}

// actionOf reads an act.
func actionOf(it item) (actionItem, error) {
	a, err := decode(it, func(a actionItem) string { return actionSort(a.Action, a.Turn) })
	if err == nil && a.Outcome != nil && a.Outcome.Result == "" {
		return a, fmt.Errorf("item %s %s is malformed: its outcome has no result; mend or delete it", textOf(it[attrPartition]), textOf(it[attrSort]))
	}
	return a, err
}

func toldOf(it item) (toldItem, error) {
	return decode(it, func(p toldItem) string { return toldSort(NoticeKey{p.Group, p.Kind}, p.Part) })
}

// errMoved tells that what was read does not fit together, or is not what is there
// any more, because somebody writes at the same time.
var errMoved = errors.New("the ledger was changed at the same time")

// stateOf makes a state of a cluster's items. Kinds that it does not know are those of
// a later version.
func stateOf(items []item) (State, error) {
	var s State
	s.init()
	var acts []actionItem
	var heads []noticeItem
	parts := map[NoticeKey]map[int]toldItem{}
	for _, it := range items {
		var err error
		switch kindOf(textOf(it[attrSort])) {
		case kindFinding:
			var f Finding
			f, err = decode(it, func(f Finding) string { return findingSort(f.Key()) })
			s.Findings[f.Key()] = f
		case kindNotReady:
			var n notReadyItem
			n, err = decode(it, func(n notReadyItem) string { return notReadySort(n.Instance) })
			s.NotReady[n.Instance] = n.NotReady
		case kindRest:
			var r restItem
			r, err = decode(it, func(r restItem) string { return restSort(r.Instance) })
			s.Rests[r.Instance] = r.Rest
		case kindGroup:
			var g sinceItem
			g, err = decode(it, func(g sinceItem) string { return groupSort(g.Name) })
			s.GroupsWithNodes[g.Name] = g.Since
		case kindRemediate:
			var g sinceItem
			g, err = decode(it, func(g sinceItem) string { return remediateSort(roll.Group(g.Name)) })
			s.RemediateSince[roll.Group(g.Name)] = g.Since
		case kindNotice:
			var n noticeItem
			n, err = decode(it, func(n noticeItem) string { return noticeSort(NoticeKey{n.Group, n.Kind}) })
			heads = append(heads, n)
		case kindTold:
			var p toldItem
			p, err = toldOf(it)
			k := NoticeKey{p.Group, p.Kind}
			if parts[k] == nil {
				parts[k] = map[int]toldItem{}
			}
			parts[k][p.Part] = p
		case kindAction:
			var a actionItem
			a, err = actionOf(it)
			acts = append(acts, a)
		}
		if err != nil {
			return State{}, err
		}
	}
	for _, head := range heads {
		k := NoticeKey{head.Group, head.Kind}
		n, err := head.notice(parts[k])
		if err != nil {
			return State{}, err
		}
		s.Notices[k] = n
	}
	inTurn(acts)
	s.Actions = plain(acts)
	return s, nil
}

// inTurn sorts acts into the order in which they began. Their times come from many
// clocks, their turns from one item.
func inTurn(acts []actionItem) {
	slices.SortFunc(acts, func(a, b actionItem) int { return cmp.Compare(a.Turn, b.Turn) })
}

func plain(acts []actionItem) (out []Action) {
	for _, a := range acts {
		out = append(out, a.Action)
	}
	return out
}

// partBytes is how much of what was told goes into one item. An item may have 400 KB.
const partBytes = 300_000

// noticeItems splits a notice into its items, the head first.
func noticeItems(pk string, k NoticeKey, n Notice) ([]item, error) {
	bySaid := map[string][]string{}
	for id, said := range n.Members {
		bySaid[said] = append(bySaid[said], string(id))
	}
	pieces, size := [][]told{{}}, 0
	for _, said := range slices.Sorted(maps.Keys(bySaid)) {
		slices.Sort(bySaid[said])
		begun := false // what was said has its place in this piece
		for _, id := range bySaid[said] {
			if size > partBytes {
				pieces, size, begun = append(pieces, []told{}), 0, false
			}
			last := &pieces[len(pieces)-1]
			if !begun {
				*last, begun = append(*last, told{Said: said}), true
				size += len(said) + toldOverhead
			}
			t := &(*last)[len(*last)-1]
			t.Instances = append(t.Instances, id)
			size += len(id) + 1
		}
	}
	head := noticeItem{Group: k.Group, Kind: k.Kind, SentAt: n.SentAt, Told: pieces[0], Parts: len(pieces) - 1}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q", n.SentAt.UTC().Format(time.RFC3339Nano), pieces))
	head.Stamp = hex.EncodeToString(sum[:8])
	first, err := encode(pk, noticeSort(k), head)
	if err != nil {
		return nil, err
	}
	items := []item{first}
	for i, piece := range pieces[1:] {
		part, err := encode(pk, toldSort(k, i+1), toldItem{Group: k.Group, Kind: k.Kind, Part: i + 1, Stamp: head.Stamp, Told: piece})
		if err != nil {
			return nil, err
		}
		items = append(items, part)
	}
	return items, nil
}

// notice puts a notice together again. A part of another stamp belongs to a notice
// that was written in the middle of the reading, and then the reading must begin anew;
// parts beyond the head's number are left over and mean nothing.
func (head noticeItem) notice(parts map[int]toldItem) (Notice, error) {
	n := Notice{SentAt: head.SentAt}
	add := func(ts []told) {
		for _, t := range ts {
			for _, id := range t.Instances {
				if n.Members == nil {
					n.Members = map[roll.InstanceID]string{}
				}
				n.Members[roll.InstanceID(id)] = t.Said
			}
		}
	}
	add(head.Told)
	for i := range head.Parts {
		p, ok := parts[i+1]
		if !ok || p.Stamp != head.Stamp {
			k := NoticeKey{head.Group, head.Kind}
			return Notice{}, fmt.Errorf("item %s and its part %s do not belong together: %w", noticeSort(k), toldSort(k, i+1), errMoved)
		}
		add(p.Told)
	}
	return n, nil
}

// valueOverhead is more than DynamoDB adds to a value for itself: 3 bytes to a list or
// map and 1 to each of its elements (Item sizes and formats in its developer guide).
const valueOverhead = 8

// toldOverhead is what a told takes beside what was said and the instances.
const toldOverhead = len("said") + len("instances") + 4*valueOverhead

// sizeOf is at least the size of an item as DynamoDB counts it.
func sizeOf(it item) int {
	n := 100
	for name, v := range it {
		n += len(name) + valueSize(v)
	}
	return n
}

func valueSize(v types.AttributeValue) int {
	n := valueOverhead
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		n += len(v.Value)
	case *types.AttributeValueMemberN:
		n += len(v.Value)
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			n += len(s) + 1
		}
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			n += 1 + valueSize(e)
		}
	case *types.AttributeValueMemberM:
		for name, e := range v.Value {
			n += len(name) + 1 + valueSize(e)
		}
	}
	return n
}
