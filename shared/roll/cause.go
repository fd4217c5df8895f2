package roll

// Confidence is how far the evidence carries a cause.
type Confidence string

// The confidences.
const (
	// Decisive: the evidence alone proves that this breaks the node.
	Decisive Confidence = "decisive"
	// Suggestive: consistent with it.
	Suggestive Confidence = "suggestive"
)

// Cause is why something is wrong.
type Cause struct {
	Code       string // of the catalogue of causes, such as NodeRoleNotMapped
	Confidence Confidence
	Summary    string // one sentence for a person
	Evidence   []Evidence
	Fix        string // what a person can paste
	// Subject is what the cause lies in when that is not the instance alone, such as
	// an IAM role or a subnet: "" if a replacement of the instance would cure it.
	// Several findings with one code and one subject have one cause between them.
	Subject string
	// Cure is what helps against it.
	Cure Cure
}

// Cure is what helps against a cause.
type Cure string

// The cures. What a diagnosis finds decides with them between the steps of a ladder.
const (
	CureUnclear Cure = ""        // it does not say
	CureChange  Cure = "change"  // a person has to change something; a replacement meets the same
	CureReplace Cure = "replace" // another instance: a reboot does not help
	CureReboot  Cure = "reboot"  // a reboot may do, and another instance does
	CureWait    Cure = "wait"    // it passes, or is not the instance's fault
	CureNone    Cure = "none"    // nothing is to be done to the instance
)

// Evidence is one thing that was read and that speaks for a cause.
type Evidence struct {
	Source   string // such as aws-auth
	Field    string // such as mapRoles[2].rolearn
	Observed string
	Expected string
}
