package kube

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"rollcall/shared/roll"
)

// envelope begins every object that an API server sends as protobuf.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
var envelope = []byte("k8s\x00")

// errWire is the error for bytes that this file does not read.
var errWire = errors.New("not the list of nodes that was expected")

// nodePageOf reduces one page of nodes, in the protobuf of an API server, while it arrives: one node
// at a time is in memory, and what no verdict needs is not decoded. Of the 16 KB of a node these are
// all but 2: mostly the names of its images, and the record of who set which field.
//
// It accepts less than the full decoder of Kubernetes: after errWire the page is requested as JSON.
// For bytes that both accept the result is the same; see FuzzWireReadsWhatTheDecoderDoes.
//
// The numbers are those of generated.proto in k8s.io/api/core/v1 and k8s.io/apimachinery/pkg. They
// never change: https://protobuf.dev/programming-guides/proto2/#updating
func (p *projector) nodePageOf(in *bufio.Reader) (nodes []roll.Node, next string, err error) {
	s := stream{in: in}
	if begin, err := s.bytes(len(envelope)); !bytes.Equal(begin, envelope) {
		return nil, "", errors.Join(errWire, err)
	}
	var version, kind string
	var w wire
	listed := false
	nodes = p.page[:0]
	item := func(n protowire.Number, size int) error {
		value, err := s.bytes(size)
		switch {
		case err != nil:
			return err
		case n == 1: // metadata
			return eachField(value, ofListMeta, func(_ protowire.Number, value []byte) error {
				next = string(value)
				return nil
			})
		}
		if err := w.read(value); err != nil {
			return err
		}
		nodes = append(nodes, p.node(&w.node))
		return nil
	}
	err = s.eachField(untilTheEnd, ofEnvelope, func(n protowire.Number, size int) error {
		if n == 2 && !listed { // raw
			if listed = true; version != "v1" || kind != "NodeList" {
				return errWire
			}
			return s.eachField(size, ofList, item)
		}
		if n != 1 || listed { // contentEncoding, contentType, or not in the order of an API server
			if size > 0 {
				return errWire
			}
			return nil
		}
		value, err := s.bytes(size)
		if err != nil {
			return err
		}
		return eachField(value, ofType, func(n protowire.Number, value []byte) error {
			if n == 1 {
				version = string(value)
			} else {
				kind = string(value)
			}
			return nil
		})
	})
	p.page = nodes
	if err == nil && !listed {
		err = errWire
	}
	if err != nil {
		return nil, "", errors.Join(errWire, err)
	}
	return nodes, next, nil
}

// stream reads messages of which not all bytes have arrived.
type stream struct {
	in    *bufio.Reader
	at    int // bytes read
	field bytes.Buffer
}

const untilTheEnd = -1

// eachField calls read for each of those fields of a message of that size, all of them strings, bytes
// or messages, with its size; read reads it to its end. It steps over all others.
func (s *stream) eachField(size int, those numbers, read func(n protowire.Number, size int) error) error {
	for end := s.at + size; size == untilTheEnd || s.at < end; {
		if size == untilTheEnd {
			if _, err := s.in.Peek(1); errors.Is(err, io.EOF) {
				return nil
			}
		}
		begin, _ := s.in.Peek(2 * binary.MaxVarintLen64) // less before the end
		n, t, length, used, err := header(begin)
		if err == nil {
			err = s.skip(used)
		}
		wanted := those.have(n)
		switch {
		case err != nil:
			return err
		case size != untilTheEnd && s.at+length > end, wanted && t != protowire.BytesType:
			return errWire
		case wanted:
			err = read(n, length)
		default:
			err = s.skip(length)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// header reads the beginning of a field: its number and type, the length of its value, and how many
// bytes come before it.
func header(data []byte) (n protowire.Number, t protowire.Type, length, used int, err error) {
	if n, t, used = protowire.ConsumeTag(data); used < 0 {
		return 0, 0, 0, 0, protowire.ParseError(used)
	}
	value, size := protowire.ConsumeVarint(data[used:])
	switch {
	case t == protowire.Fixed32Type:
		return n, t, 4, used, nil
	case t == protowire.Fixed64Type:
		return n, t, 8, used, nil
	case size < 0:
		return 0, 0, 0, 0, protowire.ParseError(size)
	case t == protowire.VarintType:
		return n, t, size, used, nil
	case t == protowire.BytesType && value <= math.MaxInt32:
		return n, t, int(value), used + size, nil
	}
	return 0, 0, 0, 0, errWire
}

// bytes returns the next bytes; they are overwritten by those that follow.
func (s *stream) bytes(size int) ([]byte, error) {
	s.field.Reset()
	n, err := io.CopyN(&s.field, s.in, int64(size))
	s.at += int(n)
	return s.field.Bytes(), err
}

func (s *stream) skip(size int) error {
	n, err := s.in.Discard(size)
	s.at += n
	return err
}

// wire reads one node after the other into the same one. Only fields that the projector uses are
// set.
type wire struct{ node NodeObject }

func (w *wire) read(data []byte) error {
	n := &w.node
	labels, annotations := n.Labels, n.Annotations
	clear(labels)
	clear(annotations)
	*n = NodeObject{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}, Spec: NodeSpec{Taints: n.Spec.Taints[:0]}, Status: NodeStatus{Conditions: n.Status.Conditions[:0]}}
	err := eachField(data, ofNode, func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			return eachField(value, ofMetadata, w.metadata)
		case 2:
			return eachField(value, ofSpec, w.spec)
		case 3:
			return eachField(value, ofStatus, w.status)
		}
		return nil
	})
	if err != nil || !n.Spec.Unschedulable {
		return err
	}
	// Only of a cordoned node it matters who set which field.
	return eachField(data, ofObject, func(_ protowire.Number, value []byte) error {
		return eachField(value, ofManaged, func(_ protowire.Number, value []byte) error {
			var e metav1.ManagedFieldsEntry
			err := e.Unmarshal(value)
			n.ManagedFields = append(n.ManagedFields, e)
			return err
		})
	})
}

func (w *wire) metadata(number protowire.Number, value []byte) error {
	n := &w.node
	switch number {
	case 1:
		n.Name = string(value)
	case 5:
		n.UID = types.UID(value)
	case 8:
		return n.CreationTimestamp.Unmarshal(value)
	case 9:
		if n.DeletionTimestamp == nil {
			n.DeletionTimestamp = new(metav1.Time)
		}
		return n.DeletionTimestamp.Unmarshal(value)
	case 11:
		return entry(value, &n.Labels, nodeLabels)
	case 12:
		return entry(value, &n.Annotations, nodeAnnotations)
	case 14:
		n.Finalizers = append(n.Finalizers, string(value))
	}
	return nil
}

func (w *wire) spec(number protowire.Number, value []byte) error {
	spec := &w.node.Spec
	switch number {
	case 3:
		spec.ProviderID = string(value)
	case unschedulable:
		on, used := protowire.ConsumeVarint(value)
		if used != len(value) {
			return errWire
		}
		spec.Unschedulable = on != 0
	case 5:
		var t NodeTaint
		err := eachField(value, ofTaint, func(n protowire.Number, value []byte) error {
			switch n {
			case 1:
				t.Key = string(value)
			case 2:
				t.Value = string(value)
			case 3:
				t.Effect = string(value)
			}
			return nil
		})
		spec.Taints = append(spec.Taints, t)
		return err
	}
	return nil
}

func (w *wire) status(_ protowire.Number, value []byte) error {
	var c Condition
	err := eachField(value, ofCondition, func(n protowire.Number, value []byte) error {
		switch n {
		case 1:
			c.Type = string(value)
		case 2:
			c.Status = string(value)
		case 4:
			return c.LastTransitionTime.Unmarshal(value)
		case 5:
			c.Reason = string(value)
		}
		return nil
	})
	w.node.Status.Conditions = append(w.node.Status.Conditions, c)
	return err
}

var (
	nodeLabels      = wanted(roll.NodeLabels())
	nodeAnnotations = wanted(roll.NodeAnnotations())
)

func wanted(keys []string) map[string]bool {
	out := make(map[string]bool, len(keys))
	for _, k := range keys {
		out[k] = true
	}
	return out
}

// entry reads one entry of a map, if its key is wanted.
func entry(data []byte, into *map[string]string, wanted map[string]bool) error {
	var key, value []byte
	err := eachField(data, ofEntry, func(n protowire.Number, v []byte) error {
		switch n {
		case 1:
			key = v
		case 2:
			value = v
		}
		return nil
	})
	if err != nil || !wanted[string(key)] {
		return err
	}
	if *into == nil {
		*into = map[string]string{}
	}
	(*into)[string(key)] = string(value)
	return nil
}

// numbers are those of fields of a message, each a bit.
type numbers uint32

func numbersOf(numbers ...protowire.Number) (all numbers) {
	for _, n := range numbers {
		all |= 1 << n
	}
	return all
}

func (f numbers) have(n protowire.Number) bool { return n < 32 && f&(1<<n) != 0 }

// The fields that are read of each message. All but number are strings, bytes or messages.
var (
	ofEnvelope  = numbersOf(1, 2, 3, 4)
	ofType      = numbersOf(1, 2)
	ofList      = numbersOf(1, 2)
	ofListMeta  = numbersOf(3)
	ofNode      = numbersOf(1, 2, 3)
	ofObject    = numbersOf(1)
	ofMetadata  = numbersOf(1, 5, 8, 9, 11, 12, 14)
	ofManaged   = numbersOf(17)
	ofEntry     = numbersOf(1, 2)
	ofSpec      = numbersOf(3, unschedulable, 5)
	ofTaint     = numbersOf(1, 2, 3)
	ofStatus    = numbersOf(4)
	ofCondition = numbersOf(1, 2, 4, 5)
)

// unschedulable is the only number that is read.
const unschedulable protowire.Number = 4

// eachField calls read for each of those fields of a message, in their order, with its bytes. It
// steps over all others.
func eachField(data []byte, those numbers, read func(protowire.Number, []byte) error) error {
	for len(data) > 0 {
		n, t, length, used, err := header(data)
		if err != nil {
			return err
		}
		if length > len(data)-used {
			return errWire
		}
		value := data[used : used+length]
		data = data[used+length:]
		if !those.have(n) {
			continue
		}
		if number := those == ofSpec && n == unschedulable; number != (t == protowire.VarintType) || !number && t != protowire.BytesType {
			return errWire
		}
		if err := read(n, value); err != nil {
			return err
		}
	}
	return nil
}
