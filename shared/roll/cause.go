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
}

// Evidence is one thing that was read and that speaks for a cause.
type Evidence struct {
	Source   string // such as aws-auth
	Field    string // such as mapRoles[2].rolearn
	Observed string
	Expected string
}
