// Package sim simulates an AWS account with its own clock, in which Rollcall's functions run unchanged: only the APIs
// and the time are simulated. README.md says which file holds what, and what is not simulated.
//
// # Vocabulary
//
// A Scenario describes a run: its clusters with their groups, and its Faults with their times. A machine is an EC2
// instance with what runs on it. It has at most one ailment, caused by its group's template, by its zone or by chance.
// An invocation is one run of a function. The auditor sees every call of an invocation and the true state of the
// account, and records a Violation when a rule is broken. The demo shows the Events of a run as its history.
//
// # Reproducible
//
// The same scenario gives the same run, byte for byte. Invocations are goroutines, of which only one runs at a time. A
// random decision is computed from the seed and the name of what it decides, so that removing a fault changes no other
// decision, and a failing run can be shrunk.
package sim
