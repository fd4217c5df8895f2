// Package policy is what an operator may say about Rollcall's behaviour: the
// policy document, its defaults, its validation, its presets and its overrides.
//
// A document is YAML (JSON is a part of it) in an SSM parameter. [Parse] reads it
// and reports every fault at once, each with its line and key; [Document.For]
// gives the effective [Policy] of one cluster, group or instance; [Document.Explain]
// tells where each value of it came from; [Document.Watch] what of a node has to be
// read for it; [Schema] is the same shape for editors. README.md beside this file is
// the reference for operators.
//
// What the merge does, the strongest first:
//
//   - The tags of an instance: rollcall:deadline and rollcall:preset set times.
//   - Overrides that name a group.
//   - The other overrides. By preset they only lower the mode, below that of the group.
//   - The preset that an instance's platform and type suggest: only where it gives
//     more time than what follows.
//   - The document, what its deployment says, the defaults.
//
// Among overrides of one level, the later in the document wins, key by key; a preset
// that an override applies lies under that override's own keys. So a mode at the top
// of the document does not lower the mode of an override that names one. The tags
// rollcall:mode of the EKS cluster and of an instance only lower the mode that comes
// out of this. A condition replaces the one with the
// same type and status, and the others stay. A ladder replaces the ladder of its kind
// as a whole, and a list of taints the one before it.
//
// The package performs no I/O and reads no clock.
package policy
