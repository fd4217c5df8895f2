// Package trigger reads and writes the messages that start Rollcall's functions:
// EC2 state changes as EventBridge puts them into a queue, requests to check a
// cluster, and orders to act on an instance.
//
// What a queue delivers is not trusted. Every parser bounds its input, reports all
// faults of its values at once, and quotes no more than a few words of what it was given.
// Rollcall's own messages are read only as Rollcall writes them. An event that is well
// formed and not meant for Rollcall is no error: it comes back as Ignored, with the reason.
//
// The package is pure: no I/O, no clock.
package trigger
