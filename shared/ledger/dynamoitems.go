package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"rollcall/shared/roll"
)

// item is one item of the table. README.md lists the keys and attributes of every kind.
type item = map[string]types.AttributeValue

// Attributes of every item in addition to the record.
const (
	attrPartition = "pk"
	attrSort      = "sk"
	// attrExpires is the table's TTL attribute, in seconds since 1970.
	attrExpires = "expires"
)

// partition returns the partition key of a cluster.
func partition(c roll.ClusterID) string { return "cluster#" + c.String() }

// key returns the primary key of an item.
func key(pk, sk string) item { return item{attrPartition: text(pk), attrSort: text(sk)} }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}

func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// part is a value in an item: one attribute, or, if it has no name, a struct whose fields
// are attributes.
type part struct {
	name  string
	value any
}

// encode returns the item with the parts under a key.
func encode(pk, sk string, parts ...part) (item, error) {
	enc := attributevalue.NewEncoder(func(o *attributevalue.EncoderOptions) {
		o.TagKey = "json"
		o.EncodeTime = func(t time.Time) (types.AttributeValue, error) {
			return text(t.UTC().Format(time.RFC3339Nano)), nil
		}
	})
	it := key(pk, sk)
	for _, p := range parts {
		av, err := enc.Encode(p.value)
		if err != nil {
			return nil, fmt.Errorf("encode item %s %s: %w", pk, sk, err)
		}
		if fields, ok := av.(*types.AttributeValueMemberM); ok && p.name == "" {
			maps.Copy(it, fields.Value)
		} else if p.name != "" {
			it[p.name] = av
		}
	}
	return it, nil
}

// decode reads an item into its parts. It returns an error that names the key if a required
// attribute is missing, or if the attributes do not match the key. Unknown attributes belong
// to a later version and are ignored.
func decode(it item, needs string, sortKey func() string, parts ...part) error {
	for name := range strings.FieldsSeq(needs) {
		switch it[name].(type) {
		case nil, *types.AttributeValueMemberNULL:
			return malformed(it, fmt.Errorf("its attribute %s is missing", name))
		}
	}
	for _, p := range parts {
		var av types.AttributeValue = &types.AttributeValueMemberM{Value: it}
		if p.name != "" {
			av = it[p.name]
		}
		if err := attributevalue.UnmarshalWithOptions(av, p.value, func(o *attributevalue.DecoderOptions) { o.TagKey = "json" }); err != nil {
			return malformed(it, err)
		}
	}
	if want := sortKey(); want != textOf(it[attrSort]) {
		return malformed(it, fmt.Errorf("by its attributes it belongs under %s", want))
	}
	return nil
}

func malformed(it item, err error) error {
	return fmt.Errorf("item %s %s is malformed: %w; fix or delete it", textOf(it[attrPartition]), textOf(it[attrSort]), err)
}

// item returns the item of a record.
func (k many[K, V]) item(pk string, key K, v V) (item, error) {
	parts := []part{{k.key, key}, {k.value, v}}
	if t, ok := any(v).(time.Time); ok && k.lasts > 0 {
		parts = append(parts, part{attrExpires, t.Add(k.lasts).Unix()})
	}
	return encode(pk, k.sortKey(key), parts...)
}

func (k many[K, V]) read(s *State, it item) error {
	var key K
	var v V
	err := decode(it, k.needs, func() string { return k.sortKey(key) }, part{k.key, &key}, part{k.value, &v})
	if err == nil {
		(*k.of(s))[key] = v
	}
	return err
}

func (k one[V]) read(s *State, it item) error {
	var v V
	err := decode(it, k.needs, k.kind, part{k.value, &v})
	if err == nil {
		*k.of(s) = v
	}
	return err
}

// Items with a layout of their own.
type (
	// noticeItem holds a notice. Members that do not fit are in further items, numbered 1 to
	// Parts, written in the same transaction and with the same stamp.
	noticeItem struct {
		NoticeKey
		SentAt   time.Time `json:"sentAt"`
		Over     time.Time `json:"over"`
		Incident Incident  `json:"incident"`
		Told     []told    `json:"told"`
		Parts    int       `json:"parts"`
		Stamp    string    `json:"stamp"`
	}
	toldItem struct {
		NoticeKey
		Part  int    `json:"part"`
		Stamp string `json:"stamp"`
		Told  []told `json:"told"`
	}
	// told is the memory of several instances, in a third of the space of a map.
	told struct {
		MemberMemory
		Instances []string `dynamodbav:"instances,stringset" json:"instances"`
	}
	// actionItem is an act with its turn: the version of the budget item that it wrote, and
	// so its place among the acts of the cluster.
	actionItem struct {
		Action
		Turn int64 `json:"turn"`
	}
	// budgetItem serializes Begin: each act increments the version that it read.
	budgetItem struct {
		Version int64     `json:"version"`
		Last    string    `json:"last"`   // sort key of the act that wrote this version
		LastAt  time.Time `json:"lastAt"` // time of that act
	}
)

const (
	kindTold   = "told"
	kindAction = "action"
	kindBudget = "budget"
)

func (i noticeItem) sortKey() string { return kindNotice.sortKey(i.NoticeKey) }
func (i toldItem) sortKey() string {
	return fmt.Sprintf("%s#%s#%03d", kindTold, keyText(i.NoticeKey), i.Part)
}

// sortKey orders a cluster's acts by time. The turn keeps two tries of one order apart,
// whatever their clocks say.
func (i actionItem) sortKey() string {
	return fmt.Sprintf("%s#%s#%s#%d", kindAction, i.At.UTC().Format(sortableTime), i.ID, i.Turn)
}

func (budgetItem) sortKey() string { return kindBudget }

// sortableTime has a fixed number of digits, so that strings sort as times do.
const sortableTime = "2006-01-02T15:04:05.000000000Z"

// keyedItem computes its sort key from its attributes.
type keyedItem interface{ sortKey() string }

func itemOf[T keyedItem](it item, needs string) (v T, err error) {
	err = decode(it, needs, func() string { return v.sortKey() }, part{"", &v})
	return v, err
}

func toldItemOf(it item) (toldItem, error) { return itemOf[toldItem](it, "group kind part stamp told") }

func actionOf(it item) (actionItem, error) {
	a, err := itemOf[actionItem](it, "id do instance group kind at launched since turn")
	if err == nil && a.Outcome != nil && a.Outcome.Result == "" {
		err = malformed(it, errors.New("its outcome has no result"))
	}
	return a, err
}

// stateOf returns the state in a cluster's items.
func stateOf(items []item) (State, error) {
	s := NewState()
	var acts []actionItem
	var heads []noticeItem
	parts := map[string]toldItem{}
	for _, it := range items {
		kind, _, _ := strings.Cut(textOf(it[attrSort]), "#")
		var err error
		switch kind {
		case kindNotice.name:
			var head noticeItem
			head, err = itemOf[noticeItem](it, "group kind sentAt over incident told parts stamp")
			heads = append(heads, head)
		case kindTold:
			var p toldItem
			p, err = toldItemOf(it)
			parts[p.sortKey()] = p
		case kindAction:
			var a actionItem
			a, err = actionOf(it)
			acts = append(acts, a)
		case kindNotices.name:
			err = kindNotices.read(&s, it)
		default: // unknown kinds belong to a later version
			if i := slices.IndexFunc(records, func(r record) bool { return r.kind() == kind }); i >= 0 {
				err = records[i].read(&s, it)
			}
		}
		if err != nil {
			return State{}, err
		}
	}
	for _, head := range heads {
		n, err := head.notice(parts)
		if err != nil {
			return State{}, err
		}
		s.Notices[head.NoticeKey] = n
	}
	slices.SortFunc(acts, byTurn)
	s.Actions = actionsOf(acts)
	return s, nil
}

// errMoved means that another writer changed the items during or after the read.
var errMoved = errors.New("the ledger was changed at the same time")

// byTurn orders acts by their Begin: their times come from many clocks, their turns from one
// item.
func byTurn(a, b actionItem) int { return cmp.Compare(a.Turn, b.Turn) }

func actionsOf(acts []actionItem) (out []Action) {
	for _, a := range acts {
		out = append(out, a.Action)
	}
	return out
}

// valueOverhead is an upper bound of DynamoDB's overhead per value: 3 bytes for a list or
// map and 1 for each element (developer guide, Item sizes and formats).
const valueOverhead = 8

// sizeOf returns an upper bound of an item's size as DynamoDB counts it.
func sizeOf(it item) int { return 100 + valueSize(&types.AttributeValueMemberM{Value: it}) }

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
