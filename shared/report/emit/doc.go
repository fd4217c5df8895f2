// Package emit makes the events that Rollcall puts on an EventBridge bus: what they
// are called, what they carry, and which of them follow from a check or from an act.
// events/rollcall-events.schema.json describes them for whoever listens.
//
// A finding makes an event when it opens, when it escalates and when it is over, and
// none in between: what a check changes in the ledger is what is news. So the events
// of a check are derived from the memory that it started with and the changes it
// makes, and a second check of an unchanged world makes none but Check Completed.
//
// An event may come twice: a check that dies after it sent its events and before its
// changes are recorded is made again. Sent after the changes are recorded, one may be
// lost instead. Which of the two, the caller decides by its order. A listener tells a
// repetition by the finding's id, that of an act by its order, and sees from the counts
// of Check Completed what it has missed.
//
// Whoever passes an event on has it in words too, a title and a text, which hold nothing
// that would end a quoted string: EventBridge does not escape what a rule's input
// transformer takes from an event.
//
// The package is pure: no I/O, no clock.
package emit
