// Package lint diagnoses instances that were not launched yet. From a launch template, a NodePool
// with its EC2NodeClass, or user data it makes the instance that would be launched, and diagnoses
// it like one that did not become a node. The evidence is that of an account or a bundle, in which
// the inputs replace what is there. Only causes that a person has to change are reported, and only
// those that show without a running machine.
package lint
