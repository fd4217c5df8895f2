// Package trigger parses and encodes the messages that start Rollcall's functions: EC2
// state changes as EventBridge puts them into a queue, requests to check a cluster, and
// orders to act on an instance.
//
// Messages are not trusted. Every parser limits its input, reports all faults at once, and
// quotes only a few words of the message. Rollcall's own messages must have exactly the
// form in which Rollcall writes them. A well-formed event that is not for Rollcall is not
// an error but has a Reason to ignore it.
//
// The package is pure: no I/O, no clock.
package trigger
