// Package lint diagnoses instances that were not launched yet. From a launch template, a NodePool
// with its EC2NodeClass, or user data it makes the instance that would be launched, and has it
// diagnosed like one that did not become a node: with the evidence of an account or of a bundle, in
// which the inputs replace what is there. Only causes that a person has to change are
// reported. What only a running machine shows, such as its console, is not looked for.
package lint
