package roll

import "strings"

// Removal is a Node or a NodeClaim that somebody deleted and that is still there: objects
// with finalizers stay until whoever owns these has removed them.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/
type Removal struct {
	Claim string // the NodeClaim that is deleted, "" if none is known to be
	// Finalizers are those of the NodeClaim, and of the Node, as "a, b"; "" if it has none.
	ClaimFinalizers, NodeFinalizers string
	// Machine is the EC2 instance below, "" if neither of them tells; State is what EC2 says of
	// it, "" if it does not show it, and Gone that it certainly knows it no more.
	Machine InstanceID
	State   InstanceState
	Gone    bool
}

// Finalizers lists what a field of a Removal holds.
func Finalizers(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ", ")
}
