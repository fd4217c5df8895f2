// Package emit builds the events that Rollcall puts on an EventBridge bus: their
// detail-types, their details, and which of them a check or an act causes.
// events/rollcall-events.schema.json is their schema.
//
// A finding causes an event when it opens, when it escalates and when it is resolved,
// and none in between. The events of a check are derived from the ledger state that it
// started with and the changes that it makes. A second check of an unchanged cluster
// emits only Check Completed.
//
// The caller chooses the delivery guarantee. If it sends events before it records the
// changes, a check that fails in between is repeated, and its events may arrive twice.
// If it sends them afterwards, events may be lost. A listener recognizes a duplicate by
// the finding's id, or by the order of an act. The counts of Check Completed show what
// it missed.
//
// Events also carry a title and a text for people; see Message.
package emit
