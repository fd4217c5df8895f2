package awsauth

import (
	"fmt"
	"strings"

	awsarn "github.com/aws/aws-sdk-go-v2/aws/arn"
	"sigs.k8s.io/aws-iam-authenticator/pkg/arn"
)

// Canonical returns the ARN, in lower case, by which the authenticator finds the mapping of a
// session of a role, for comparison with the Canonical field of evidence.RoleMapping. It accepts
// the role's own ARN, with or without its path, and that of a session of the role, such as an
// instance's (arn:aws:sts::111122223333:assumed-role/my-role/i-0123456789abcdef0). All give the
// same result. A session's ARN has no path, so neither has the result.
//
// It returns an error for anything but the ARN of a role or its session in a partition that the
// authenticator knows.
func Canonical(role string) (string, error) {
	// All parts are compared in lower case. The services and resources that Canonicalize knows are
	// lower case.
	kind, canonical, err := arn.Canonicalize(strings.ToLower(role))
	if err != nil {
		return "", fmt.Errorf("ARN of a role: %w", err)
	}
	if kind != arn.ROLE && kind != arn.ASSUMED_ROLE {
		return "", fmt.Errorf("ARN of a role: %q is not a role's", role)
	}
	return arn.StripPath(canonical)
}

// hasPath reports whether a role's ARN, in lower case, contains an IAM path.
func hasPath(canonical string) bool {
	stripped, err := arn.StripPath(canonical)
	return err == nil && stripped != canonical
}

// isInstanceProfile reports whether an ARN, in lower case, is an instance profile's.
func isInstanceProfile(canonical string) bool {
	parsed, err := awsarn.Parse(canonical)
	return err == nil && parsed.Service == "iam" && strings.HasPrefix(parsed.Resource, "instance-profile/")
}
