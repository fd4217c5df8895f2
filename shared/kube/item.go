package kube

import (
	"encoding/json"
	"sync"
)

// Item is one object as "kubectl get --output json" prints it. It caches its decoded value: the API
// server of a simulated cluster returns the same item until the object changes, and most objects do
// not.
type Item struct {
	json json.RawMessage

	mu      sync.Mutex
	decoded []any // pointers, each of another type
	trimmed *Item // the part that may leave the package, if that is less
}

// NewItem returns an Item with that JSON, which must not be changed afterwards.
func NewItem(data json.RawMessage) *Item { return &Item{json: data} }

// JSON returns the object as printed. The caller must not change it.
func (i *Item) JSON() json.RawMessage { return i.json }

// Decode returns the item as a T. The caller must not change it.
func Decode[T any](i *Item) (*T, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, known := range i.decoded {
		if v, ok := known.(*T); ok {
			return v, nil
		}
	}
	v := new(T)
	if err := json.Unmarshal(i.json, v); err != nil {
		return nil, err
	}
	i.decoded = append(i.decoded, v)
	return v, nil
}

func decodeAll[T any](items []*Item) (all []*T, err error) {
	for _, i := range items {
		one, err := Decode[T](i)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// trim returns the item without what must not leave the package.
func (i *Item) trim(t trimming) (*Item, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.trimmed != nil {
		return i.trimmed, nil
	}
	var o object
	if err := unmarshal(i.json, &o); err != nil {
		return nil, err
	}
	if err := t.object(o); err != nil {
		return nil, err
	}
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	i.trimmed = NewItem(data)
	return i.trimmed, nil
}
