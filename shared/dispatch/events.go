package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"rollcall/shared/awserr"
	"rollcall/shared/emit"
)

type eventBridgeAPI interface {
	PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

// eventBatch is the most entries that PutEvents takes.
const eventBatch = 10

// Events is the bus on which Rollcall tells what it found and did.
type Events struct {
	api eventBridgeAPI
	bus string
}

// NewEvents puts events on the bus of that name or ARN.
func NewEvents(api eventBridgeAPI, bus string) *Events { return &Events{api: api, bus: bus} }

// Put puts the events on the bus. An error says how many were not taken.
func (e *Events) Put(ctx context.Context, all []emit.Event) error {
	var faults []error
	for batch := range slices.Chunk(all, eventBatch) {
		in := &eventbridge.PutEventsInput{}
		for _, event := range batch {
			detail, err := json.Marshal(event.Detail)
			if err != nil {
				return fmt.Errorf("encode the event %s: %w", event.DetailType, err)
			}
			in.Entries = append(in.Entries, types.PutEventsRequestEntry{
				Source: aws.String(emit.Source), DetailType: aws.String(event.DetailType), Detail: aws.String(string(detail)), EventBusName: aws.String(e.bus),
			})
		}
		out, err := e.api.PutEvents(ctx, in)
		switch {
		case err != nil:
			faults = append(faults, errors.New(awserr.Describe(err, "events:PutEvents", "")))
		case out.FailedEntryCount > 0:
			faults = append(faults, fmt.Errorf("events:PutEvents did not take %d of %d events", out.FailedEntryCount, len(batch)))
		}
	}
	return errors.Join(faults...)
}
