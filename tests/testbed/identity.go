package testbed

import "github.com/aws/aws-sdk-go-v2/aws"

// What every part of a bed agrees on.
const (
	// AccountID is the one AWS account of the emulator.
	AccountID = "123456789012"
	// Region is the one region of a bed.
	Region = "eu-west-1"
	// ClusterName is the EKS cluster whose endpoint is the bed's API server; tokens are bound to this name.
	ClusterName = "demo"
	// NodeRoleARN is the role that healthy nodes of the cluster carry; the default aws-auth maps it.
	NodeRoleARN = "arn:aws:iam::" + AccountID + ":role/demo-node"
	// ViewerRoleARN is the role that the default aws-auth maps to the group rollcall:viewers.
	ViewerRoleARN = "arn:aws:iam::" + AccountID + ":role/rollcall-viewer"
	// ViewerUsername is the Kubernetes user name that the default aws-auth gives to ViewerRoleARN.
	ViewerUsername = "rollcall-viewer"
	// ViewersGroup is the Kubernetes group that the default aws-auth gives to ViewerRoleARN.
	ViewersGroup = "rollcall:viewers"
	// RemediatorRoleARN is the role that the default aws-auth maps to the group rollcall:remediators.
	RemediatorRoleARN = "arn:aws:iam::" + AccountID + ":role/rollcall-remediator"
	// RemediatorsGroup is the Kubernetes group that the default aws-auth gives to RemediatorRoleARN.
	RemediatorsGroup = "rollcall:remediators"
	// OperatorRoleARN is the role of a person who does both with the command line: the default aws-auth maps it to both
	// groups.
	OperatorRoleARN = "arn:aws:iam::" + AccountID + ":role/rollcall-operator"
	// StrangerRoleARN is a role of the account that is mapped nowhere.
	StrangerRoleARN = "arn:aws:iam::" + AccountID + ":role/stranger"
)

// Access keys of the bed's identities: fixed, so that a call log can be read, and visibly not real.
const (
	ViewerAccessKeyID       = "AKIAIOSFODNN7VIEWERS"
	ViewerSecretAccessKey   = "viewer/not/a/secret/EXAMPLEKEYEXAMPLEKEY"
	StrangerAccessKeyID     = "AKIAIOSFODNNSTRANGER"
	StrangerSecretAccessKey = "stranger/not/a/secret/EXAMPLEKEYEXAMPLEK"
	RemediatorAccessKeyID   = "AKIAIOSFODREMEDIATOR"
	OperatorAccessKeyID     = "AKIAIOSFODNNOPERATOR"
	// SeederAccessKeyID signs the bed's own calls. Faults and the page cap spare it, and [Bed.Calls] leaves it out.
	SeederAccessKeyID     = "AKIAIOSFODNN7TESTBED"
	seederSecretAccessKey = "testbed/not/a/secret/EXAMPLEKEYEXAMPLEKE"
)

// An Identity is an access key and the IAM role or user it belongs to. STS on the bed answers for the identities it
// knows and refuses every other key.
type Identity struct {
	AccessKeyID     string
	SecretAccessKey string
	// ARN is the IAM role (arn:aws:iam::<account>:role/<name>) or user (arn:aws:iam::<account>:user/<name>). A role
	// answers GetCallerIdentity as an assumed-role session, as it does on AWS.
	ARN string
}

// The identities that every bed knows.
var (
	Viewer     = Identity{ViewerAccessKeyID, ViewerSecretAccessKey, ViewerRoleARN}
	Remediator = Identity{RemediatorAccessKeyID, "remediator/not/a/secret/EXAMPLEKEYEXAMPL", RemediatorRoleARN}
	Operator   = Identity{OperatorAccessKeyID, "operator/not/a/secret/EXAMPLEKEYEXAMPLEK", OperatorRoleARN}
	Stranger   = Identity{StrangerAccessKeyID, StrangerSecretAccessKey, StrangerRoleARN}
	// Seeder is the bed itself, and whoever else acts in a test beside Rollcall: see [SeederAccessKeyID].
	Seeder = Identity{SeederAccessKeyID, seederSecretAccessKey, "arn:aws:iam::" + AccountID + ":role/testbed"}

	// prober is mapped by every aws-auth that the bed writes; its user name tells which version is in force.
	prober = Identity{"AKIAIOSFODNN07PROBER", "prober/not/a/secret/EXAMPLEKEYEXAMPLEKEY", "arn:aws:iam::" + AccountID + ":user/testbed-prober"}
)

// Credentials returns the static credentials of the identity.
func (i Identity) Credentials() aws.Credentials {
	return aws.Credentials{AccessKeyID: i.AccessKeyID, SecretAccessKey: i.SecretAccessKey, Source: "testbed"}
}
