package kube

import (
	"slices"
	"time"
)

// newestEvents returns the newest events, at most that many, in the order of their time.
func newestEvents(events []*Item, most int) []*Item {
	at := make(map[*Item]time.Time, len(events))
	for _, e := range events {
		if read, err := Decode[Event](e); err == nil {
			at[e] = read.Last()
		}
	}
	slices.SortStableFunc(events, func(a, b *Item) int { return at[a].Compare(at[b]) })
	return events[max(0, len(events)-most):]
}

// Event is an Event of the core API. Which of its times and counts are set depends on the library
// that wrote it.
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
type Event struct {
	Metadata struct {
		CreationTimestamp time.Time `json:"creationTimestamp"`
	} `json:"metadata"`
	InvolvedObject struct {
		Name string `json:"name"`
	} `json:"involvedObject"`
	Type           string    `json:"type"`
	Reason         string    `json:"reason"`
	Message        string    `json:"message"`
	FirstTimestamp time.Time `json:"firstTimestamp"`
	LastTimestamp  time.Time `json:"lastTimestamp"`
	EventTime      time.Time `json:"eventTime"`
	Count          int       `json:"count"`
	Series         struct {
		Count            int       `json:"count"`
		LastObservedTime time.Time `json:"lastObservedTime"`
	} `json:"series"`
}

// Last returns when the event last happened.
func (e *Event) Last() time.Time {
	last := slices.MaxFunc([]time.Time{e.LastTimestamp, e.Series.LastObservedTime, e.EventTime, e.FirstTimestamp}, time.Time.Compare)
	if last.IsZero() {
		last = e.Metadata.CreationTimestamp
	}
	return last.UTC()
}

// First returns when the event first happened.
func (e *Event) First() time.Time {
	first := e.Last()
	for _, t := range []time.Time{e.FirstTimestamp, e.EventTime} {
		if !t.IsZero() && t.Before(first) {
			first = t.UTC()
		}
	}
	return first
}
