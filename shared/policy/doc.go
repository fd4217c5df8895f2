// Package policy holds the policy document, with which operators configure Rollcall: its
// defaults, validation, presets and overrides.
//
// A document is YAML (or JSON, which is a subset) in an SSM parameter. README.md beside this file
// is the reference for operators. The main entry points are:
//
//   - [Parse] reads a document and reports all faults at once, each with its line and key.
//   - [Document.For] returns the effective [Policy] of one cluster, group or instance.
//   - [Document.Explain] returns the source of each of its values.
//   - [Document.Watch] returns what has to be read of a node for it.
//   - [Schema] returns the JSON Schema for editors.
//
// Settings are merged in this order, the strongest first:
//
//   - The tag rollcall:deadline of an instance.
//   - Overrides that name a group.
//   - The other overrides. By preset they only lower the mode, below that of the group.
//   - The preset for an instance's platform and type, only where it gives more time than the
//     layers below.
//   - The document, the settings of its deployment, the defaults.
//
// Among overrides of one level, the later in the document wins, key by key. A preset that an
// override applies ranks below the override's own keys. So a mode at the top of the document does
// not lower the mode of an override that names one. The tag rollcall:mode of the EKS cluster
// only lowers the resulting mode. A condition replaces the one with the same type and status; the
// others stay. A ladder replaces the whole ladder of its kind, and a list of taints the one before
// it.
//
// The package performs no I/O and reads no clock.
package policy
