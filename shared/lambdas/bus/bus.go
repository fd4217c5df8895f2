// Package bus puts events about findings and acts on an EventBridge bus.
package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/report/emit"
)

type eventBridgeAPI interface {
	PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

// Limits of one PutEvents call: the number of entries, and their total size in bytes.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html
const (
	eventBatch = 10
	eventBytes = 256 << 10
)

// Events is the event bus for findings and acts.
type Events struct {
	api eventBridgeAPI
	bus string
}

// New returns the bus with the name or ARN.
func New(api eventBridgeAPI, bus string) *Events { return &Events{api: api, bus: bus} }

// Put puts events on the bus. It retries refused entries once: a busy bus accepts some
// entries of a call and refuses others. The error says how many were refused, and why.
func (e *Events) Put(ctx context.Context, all []emit.Event) error {
	entries := make([]types.PutEventsRequestEntry, 0, len(all))
	for _, event := range all {
		detail, err := json.Marshal(event.Detail)
		if err != nil {
			return fmt.Errorf("encode the event %s: %w", event.DetailType, err)
		}
		entries = append(entries, types.PutEventsRequestEntry{
			Source: aws.String(emit.Source), DetailType: aws.String(event.DetailType), Detail: aws.String(string(detail)), Resources: event.Resources, EventBusName: aws.String(e.bus),
		})
	}
	var faults []error
	for len(entries) > 0 {
		n := batch(entries)
		if err := e.put(ctx, entries[:n]); err != nil {
			faults = append(faults, err)
		}
		entries = entries[n:]
	}
	return errors.Join(faults...)
}

// batch returns the number of entries for the next call, at least one.
func batch(entries []types.PutEventsRequestEntry) int {
	bytes := 0
	for i, entry := range entries {
		bytes += size(entry)
		if i == eventBatch || i > 0 && bytes > eventBytes {
			return i
		}
	}
	return len(entries)
}

// size returns the size of an entry as EventBridge counts it:
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html
func size(e types.PutEventsRequestEntry) int {
	n := len(aws.ToString(e.Source)) + len(aws.ToString(e.DetailType)) + len(aws.ToString(e.Detail))
	for _, r := range e.Resources {
		n += len(r)
	}
	return n
}

func (e *Events) put(ctx context.Context, entries []types.PutEventsRequestEntry) error {
	left, why, err := e.try(ctx, entries)
	if err == nil && len(left) > 0 {
		left, why, err = e.try(ctx, left)
	}
	switch {
	case err != nil:
		return errors.New(awserr.Describe(err, "events:PutEvents", ""))
	case len(left) > 0:
		return fmt.Errorf("events:PutEvents did not take %d of %d events: %s", len(left), len(entries), why)
	}
	return nil
}

// try puts entries on the bus, and returns the refused ones and why.
func (e *Events) try(ctx context.Context, entries []types.PutEventsRequestEntry) (left []types.PutEventsRequestEntry, why string, err error) {
	out, err := e.api.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries})
	if err != nil || out.FailedEntryCount == 0 {
		return nil, "", err
	}
	reasons := map[string]bool{}
	for i, result := range out.Entries {
		if result.EventId == nil && i < len(entries) { // accepted entries have an id
			left = append(left, entries[i])
			reasons[aws.ToString(result.ErrorMessage)] = true
		}
	}
	return left, strings.Join(slices.Sorted(maps.Keys(reasons)), ", "), nil
}
