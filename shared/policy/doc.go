// Package policy is what an operator may say about Rollcall's behaviour: the
// policy document, its defaults, its validation and its overrides.
//
// A document is YAML (JSON is a part of it) in an SSM parameter. [Parse] reads it
// and reports every fault at once, each with its line and key; [Document.For]
// gives the effective [Policy] of one cluster or group; [Document.Explain] tells
// where each value of it came from; [Schema] is the same shape for editors.
//
// What the merge does:
//
//   - An override that names a group beats one that names only a cluster, which
//     beats the document, which beats the defaults. The tag rollcall:mode on an
//     EKS cluster is a cluster override of the mode and beats those in the document.
//   - Among overrides of one level, the later in the document wins, key by key.
//   - So a mode at the top of the document does not lower the mode of an override
//     that names one. To stop everything, no override may say remediate.
//   - A condition replaces the one with the same type and status; the others stay.
//   - A ladder replaces the ladder of its kind as a whole.
//
// The package performs no I/O and reads no clock.
package policy
