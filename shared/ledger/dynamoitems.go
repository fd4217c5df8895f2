package ledger

import (
	"cmp"
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

// keyed is an item in its Go form. It knows the sort key that its attributes lead to.
type keyed interface{ sortKey() string }

// The forms of items.
type (
	findingItem  struct{ Finding }
	notReadyItem struct {
		Instance roll.InstanceID `json:"instance"`
		NotReady
	}
	restItem struct {
		Instance roll.InstanceID `json:"instance"`
		Rest
	}
	groupItem struct {
		Name roll.Origin `json:"name"`
		Seen time.Time   `json:"seen"`
	}
	remediateItem struct {
		Name  roll.Group `json:"name"`
		Since time.Time  `json:"since"`
	}
	firstItem struct {
		At time.Time `json:"at"`
	}
	checkedItem struct {
		At time.Time `json:"at"`
	}
	// noticesItem is the version of all notices.
	noticesItem struct {
		Version int64 `json:"version"`
	}
	missingItem struct {
		Instance roll.InstanceID `json:"instance"`
		Since    time.Time       `json:"since"`
	}
	spotItem struct {
		Instance roll.InstanceID `json:"instance"`
		Event    roll.SpotEvent  `json:"event"`
		At       time.Time       `json:"at"`
		Expires  int64           `json:"expires"` // nobody may ever check the instance's cluster
	}
	flipsItem struct {
		Instance roll.InstanceID `json:"instance"`
		Times    []time.Time     `json:"times,omitempty"`
	}
	pressureItem struct {
		Instance roll.InstanceID `json:"instance"`
		Pressure
	}
	memoryItem struct {
		Group roll.Group `json:"group"`
		GroupMemory
	}
	troubleItem struct{ Trouble }
	refusalItem struct {
		Order  string `json:"order"`
		Reason string `json:"reason"`
		Refusal
	}
	// noticeItem holds a notice. The members that do not fit are in Parts further
	// items, numbered from 1, that are written with it in one transaction and carry
	// the same stamp.
	noticeItem struct {
		Group    roll.Group `json:"group"`
		Kind     roll.Kind  `json:"kind"`
		Cause    string     `json:"cause,omitempty"`
		SentAt   time.Time  `json:"sentAt"`
		Over     time.Time  `json:"over"`
		Incident Incident   `json:"incident"`
		Told     []told     `json:"told"`
		Parts    int        `json:"parts"`
		Stamp    string     `json:"stamp"`
	}
	toldItem struct {
		Group roll.Group `json:"group"`
		Kind  roll.Kind  `json:"kind"`
		Cause string     `json:"cause,omitempty"`
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

func (i findingItem) sortKey() string   { return findingSort(i.Key()) }
func (i notReadyItem) sortKey() string  { return notReadySort(i.Instance) }
func (i restItem) sortKey() string      { return restSort(i.Instance) }
func (i groupItem) sortKey() string     { return groupSort(i.Name) }
func (i remediateItem) sortKey() string { return remediateSort(i.Name) }
func (firstItem) sortKey() string       { return kindFirst }
func (checkedItem) sortKey() string     { return kindChecked }
func (noticesItem) sortKey() string     { return kindNotices }
func (i missingItem) sortKey() string   { return missingSort(i.Instance) }
func (i spotItem) sortKey() string      { return spotSort(SpotKey{i.Instance, i.Event}) }
func (i flipsItem) sortKey() string     { return flipsSort(i.Instance) }
func (i pressureItem) sortKey() string  { return pressureSort(i.Instance) }
func (i memoryItem) sortKey() string    { return memorySort(i.Group) }
func (troubleItem) sortKey() string     { return kindTrouble }
func (i refusalItem) key() RefusalKey   { return RefusalKey{i.Order, i.Reason} }
func (i refusalItem) sortKey() string   { return refusalSort(i.key()) }
func (i noticeItem) key() NoticeKey     { return NoticeKey{i.Group, i.Kind, i.Cause} }
func (i noticeItem) sortKey() string    { return noticeSort(i.key()) }
func (i toldItem) key() NoticeKey       { return NoticeKey{i.Group, i.Kind, i.Cause} }
func (i toldItem) sortKey() string      { return toldSort(i.key(), i.Part) }
func (i actionItem) sortKey() string    { return actionSort(i.Action, i.Turn) }
func (budgetItem) sortKey() string      { return kindBudget }

// shapes are the attributes that an item must have to be understood, with their
// types. Texts, lists and flags that are empty are not written, so they are not among
// them. Further ones are ignored, so that a later version may add some.
var shapes = map[string]map[string]string{
	kindFinding:   {"instance": "S", "kind": "S", "group": "S", "stage": "S", "firstSeen": "S", "since": "S", "began": "S"},
	kindNotReady:  {"instance": "S", "since": "S", "status": "S", "transition": "S"},
	kindRest:      {"instance": "S", "left": "S"},
	kindGroup:     {"name": "S", "seen": "S"},
	kindRemediate: {"name": "S", "since": "S"},
	kindNotice:    {"group": "S", "kind": "S", "sentAt": "S", "told": "L", "parts": "N", "stamp": "S"},
	kindTold:      {"group": "S", "kind": "S", "part": "N", "stamp": "S", "told": "L"},
	kindAction:    {"id": "S", "do": "S", "instance": "S", "group": "S", "kind": "S", "at": "S", "turn": "N"},
	kindBudget:    {"version": "N", "last": "S", "lastAt": "S"},
	kindFirst:     {"at": "S"},
	kindChecked:   {"at": "S"},
	kindNotices:   {"version": "N"},
	kindMissing:   {"instance": "S", "since": "S"},
	kindSpot:      {"instance": "S", "event": "S", "at": "S"},
	kindFlips:     {"instance": "S"},
	kindPressure:  {"instance": "S", "since": "S", "until": "S"},
	kindMemory:    {"group": "S", "counted": "S", "good": "S", "ended": "M"},
	kindTrouble:   {"reason": "S", "since": "S", "last": "S", "told": "S"},
	kindRefusal:   {"order": "S", "reason": "S", "instance": "S", "kind": "S", "do": "S", "at": "S"},
}

func typeOf(v types.AttributeValue) string {
	switch v.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberL:
		return "L"
	case *types.AttributeValueMemberM:
		return "M"
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
func decode[T keyed](it item) (T, error) {
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
	if want := v.sortKey(); want != sk {
		return fail(fmt.Errorf("by its attributes it belongs under %s", want))
	}
	return v, nil
}

// actionOf reads an act.
func actionOf(it item) (actionItem, error) {
	a, err := decode[actionItem](it)
	if err == nil && a.Outcome != nil && a.Outcome.Result == "" {
		return a, fmt.Errorf("item %s %s is malformed: its outcome has no result; mend or delete it", textOf(it[attrPartition]), textOf(it[attrSort]))
	}
	return a, err
}

// errMoved tells that what was read does not fit together, or is not what is there
// any more, because somebody writes at the same time.
var errMoved = errors.New("the ledger was changed at the same time")

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

// valueOverhead is more than DynamoDB adds to a value for itself: 3 bytes to a list or
// map and 1 to each of its elements (Item sizes and formats in its developer guide).
const valueOverhead = 8

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
