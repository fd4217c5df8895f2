package roll

import "strings"

// Removal is a deleted Node or NodeClaim that still exists. An object stays until all its
// finalizers are removed.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/
type Removal struct {
	Claim string // the NodeClaim that is deleted, "" if none is known to be
	// ClaimFinalizers and NodeFinalizers are the finalizers of the NodeClaim and of the Node, as
	// "a, b"; "" if none.
	ClaimFinalizers, NodeFinalizers string
	// Machine is the EC2 instance of the two, "" if neither names it. State is its state in EC2, ""
	// if EC2 does not return it. Gone: EC2 certainly no longer knows it.
	Machine InstanceID
	State   InstanceState
	Gone    bool
}

// Finalizers splits a finalizer field of a Removal into a list.
func Finalizers(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ", ")
}
