package testbed

import "github.com/aws/aws-sdk-go-v2/aws"

// The constants that all parts of a bed share.
const (
	// AccountID is the emulator's only AWS account.
	AccountID = "123456789012"
	// Region is the bed's only region.
	Region = "eu-west-1"
	// ClusterName is the EKS cluster whose endpoint is the bed's API server; tokens are bound to this name.
	ClusterName = "demo"
	// NodeRoleARN is the role of healthy nodes of the cluster; the default aws-auth maps it.
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
	// OperatorRoleARN is the role of a person who uses the command line for both reading and acting: the default
	// aws-auth maps it to both groups.
	OperatorRoleARN = "arn:aws:iam::" + AccountID + ":role/rollcall-operator"
	// StrangerRoleARN is a role of the account without any mapping.
	StrangerRoleARN = "arn:aws:iam::" + AccountID + ":role/stranger"
)

// Access keys of the bed's identities: fixed, so that a call log is readable, and visibly not real.
const (
	ViewerAccessKeyID       = "AKIAIOSFODNN7VIEWERS"
	ViewerSecretAccessKey   = "viewer/not/a/secret/EXAMPLEKEYEXAMPLEKEY"
	StrangerAccessKeyID     = "AKIAIOSFODNNSTRANGER"
	StrangerSecretAccessKey = "stranger/not/a/secret/EXAMPLEKEYEXAMPLEK"
	RemediatorAccessKeyID   = "AKIAIOSFODREMEDIATOR"
	OperatorAccessKeyID     = "AKIAIOSFODNNOPERATOR"
	// SeederAccessKeyID signs the bed's own calls. Faults and the page limit do not apply to it, and [Bed.Calls]
	// omits it.
	SeederAccessKeyID     = "AKIAIOSFODNN7TESTBED"
	seederSecretAccessKey = "testbed/not/a/secret/EXAMPLEKEYEXAMPLEKE"
)

// An Identity is an access key with its IAM role or user. The bed's STS answers for the identities it knows and
// refuses every other key.
type Identity struct {
	AccessKeyID     string
	SecretAccessKey string
	// ARN is the IAM role (arn:aws:iam::<account>:role/<name>) or user (arn:aws:iam::<account>:user/<name>). For a
	// role, GetCallerIdentity returns an assumed-role session, as on AWS.
	ARN string
}

// The identities that every bed knows.
var (
	Viewer     = Identity{ViewerAccessKeyID, ViewerSecretAccessKey, ViewerRoleARN}
	Remediator = Identity{RemediatorAccessKeyID, "remediator/not/a/secret/EXAMPLEKEYEXAMPL", RemediatorRoleARN}
	Operator   = Identity{OperatorAccessKeyID, "operator/not/a/secret/EXAMPLEKEYEXAMPLEK", OperatorRoleARN}
	// Administrator is the person who installs Rollcall and removes it. The default aws-auth does not map its role.
	Administrator = Identity{"AKIAIOSFODNN7ADMINIS", "admin/not/a/secret/EXAMPLEKEYEXAMPLEKEYE", "arn:aws:iam::" + AccountID + ":role/administrator"}
	Stranger      = Identity{StrangerAccessKeyID, StrangerSecretAccessKey, StrangerRoleARN}
	// Seeder is the bed itself, and any other actor in a test beside Rollcall: see [SeederAccessKeyID].
	Seeder = Identity{SeederAccessKeyID, seederSecretAccessKey, "arn:aws:iam::" + AccountID + ":role/testbed"}

	// prober is mapped by every aws-auth that the bed writes; its user name shows the version in force.
	prober = Identity{"AKIAIOSFODNN07PROBER", "prober/not/a/secret/EXAMPLEKEYEXAMPLEKEY", "arn:aws:iam::" + AccountID + ":user/testbed-prober"}
)

// Credentials returns the static credentials of the identity.
func (i Identity) Credentials() aws.Credentials {
	return aws.Credentials{AccessKeyID: i.AccessKeyID, SecretAccessKey: i.SecretAccessKey, Source: "testbed"}
}
