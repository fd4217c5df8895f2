package kube

import (
	"encoding/json"
	"slices"
	"time"
)

// newestEvents are the events in the order of their time, without the oldest where they
// are more than so many.
func newestEvents(events []*Item, most int) []*Item {
	type dated struct {
		event *Item
		at    time.Time
	}
	all := make([]dated, len(events))
	for i, e := range events {
		all[i] = dated{e, lastSeen(e)}
	}
	slices.SortStableFunc(all, func(a, b dated) int { return a.at.Compare(b.at) })
	all = all[max(0, len(all)-most):]
	out := make([]*Item, len(all))
	for i := range all {
		out[i] = all[i].event
	}
	return out
}

// lastSeen is when an event happened for the last time. Which field tells it depends on
// the age of the library that wrote it.
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
func lastSeen(i *Item) (at time.Time) {
	read, err := Decode[object](i)
	if err != nil {
		return at
	}
	var series, metadata object
	event := *read
	_ = json.Unmarshal(event["series"], &series) // what cannot be read leaves the others
	_ = json.Unmarshal(event["metadata"], &metadata)
	for _, raw := range []json.RawMessage{event["lastTimestamp"], event["eventTime"], event["firstTimestamp"], series["lastObservedTime"], metadata["creationTimestamp"]} {
		var t time.Time
		if json.Unmarshal(raw, &t) == nil && t.After(at) {
			at = t
		}
	}
	return at
}
