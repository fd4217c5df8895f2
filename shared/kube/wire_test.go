package kube

import (
	"bufio"
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	protobufserializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// watchAll makes the projector keep conditions of every sort in the tests.
var watchAll = roll.Watch{Conditions: map[roll.ConditionKey]bool{{Type: "", Status: roll.ConditionUnknown}: true, {Type: "ready", Status: roll.ConditionTrue}: true}, Taints: []string{"dedicated"}}

// wholly projects the nodes of a page with the full decoder.
func wholly(list *corev1.NodeList) (nodes []roll.Node) {
	p := &projector{watch: watchAll}
	for i := range list.Items {
		nodes = append(nodes, p.node(nodeOf(&list.Items[i])))
	}
	return nodes
}

// wrapped puts the bytes of a list into the envelope of an API server.
func wrapped(t testing.TB, raw []byte) []byte {
	t.Helper()
	data, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Raw: raw}).Marshal()
	must.Succeed(t, err)
	return append(bytes.Clone(envelope), data...)
}

func randomPage(r *rand.Rand) *corev1.NodeList {
	list := &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: []string{"", "after-500"}[r.IntN(2)]}}
	for range r.IntN(5) {
		n := randomNode(r)
		n.Finalizers, n.Generation = []string{"a", "b"}[:r.IntN(3)], r.Int64N(3)
		n.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)}, {Manager: "kured", Time: &metav1.Time{Time: time.Unix(7, 0)}, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:unschedulable":{}}}`)}, {},
		}[:r.IntN(4)]
		n.Status.Images = []corev1.ContainerImage{{Names: []string{"registry/image"}, SizeBytes: 7}}[:r.IntN(2)]
		list.Items = append(list.Items, *n)
	}
	return list
}

// A page as an API server encodes it must not need the full decoder.
func TestAPageIsReadFromTheWire(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	p := &projector{watch: watchAll}
	for range 5_000 {
		list := randomPage(r)
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
		var data bytes.Buffer
		must.Succeed(t, protobufserializer.NewSerializer(everyType, everyType).Encode(list, &data))
		nodes, next, err := p.nodePageOf(bufio.NewReader(&data))
		must.That(t, err == nil && next == list.Continue, "token %q, want %q: %v", next, list.Continue, err)
		back := new(corev1.NodeList)
		if raw, err := list.Marshal(); err != nil || back.Unmarshal(raw) != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(wholly(back), nodes); d != "" && len(list.Items) > 0 {
			t.Fatal(d)
		}
	}
}

// Only a list of nodes is read here. Anything else is for the full decoder to understand or refuse.
func TestOtherAnswersAreLeftToTheFullDecoder(t *testing.T) {
	whole, err := randomPage(rand.New(rand.NewPCG(1, 1))).Marshal()
	must.Succeed(t, err)
	other := func(u runtime.Unknown) []byte {
		data, err := u.Marshal()
		must.Succeed(t, err)
		return append(bytes.Clone(envelope), data...)
	}
	list := runtime.TypeMeta{APIVersion: "v1", Kind: "NodeList"}
	field := func(n protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), value)
	}
	number := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 1) // items as a number
	for name, data := range map[string][]byte{
		"nothing":         nil,
		"JSON":            []byte(`{"kind":"NodeList","apiVersion":"v1","items":[]}`),
		"a status":        other(runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Status"}, Raw: whole}),
		"another version": other(runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v2", Kind: "NodeList"}, Raw: whole}),
		"encoded":         other(runtime.Unknown{TypeMeta: list, Raw: whole, ContentEncoding: "gzip"}),
		"cut off":         wrapped(t, whole[:len(whole)-1]),
		"a wrong type":    wrapped(t, number),
		"no more a page":  wrapped(t, []byte{0xff}),
		"two lists":       append(wrapped(t, whole), field(2, whole)...),
		"a late type":     append(wrapped(t, whole), field(1, field(2, []byte("Status")))...),
		"the list first":  slices.Concat(envelope, field(2, whole), field(1, slices.Concat(field(1, []byte("v1")), field(2, []byte("NodeList"))))),
		"a long item":     wrapped(t, protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.BytesType), 1<<40)),
		"no list":         slices.Concat(envelope, field(1, slices.Concat(field(1, []byte("v1")), field(2, []byte("NodeList"))))),
	} {
		nodes, _, err := new(projector).nodePageOf(bufio.NewReader(bytes.NewReader(data)))
		expect.That(t, err != nil, "%s: read %d nodes", name, len(nodes))
	}
	if _, _, err := new(projector).nodePageOf(bufio.NewReader(bytes.NewReader(wrapped(t, whole)))); err != nil {
		t.Errorf("the page itself: %v", err)
	}
}

func FuzzWireReadsWhatTheDecoderDoes(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 32 {
		data, err := randomPage(r).Marshal()
		must.Succeed(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, next, err := (&projector{watch: watchAll}).nodePageOf(bufio.NewReader(bytes.NewReader(wrapped(t, data))))
		if err != nil {
			t.Skip()
		}
		var list corev1.NodeList
		if err := list.Unmarshal(data); err != nil {
			t.Skip()
		}
		expect.That(t, list.Continue == next, "token %q, want %q", next, list.Continue)
		if d := cmp.Diff(wholly(&list), nodes); d != "" && len(list.Items)+len(nodes) > 0 {
			t.Error(d)
		}
	})
}
