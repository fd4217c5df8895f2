package awsauth

import (
	"testing"

	"rollcall/tests/harness/expect"
)

func TestCanonical(t *testing.T) {
	const role = "arn:aws:iam::111122223333:role/node"
	for _, tc := range []struct{ name, arn, want string }{
		{"a role", "arn:aws:iam::111122223333:role/node", role},
		{"in any case", "arn:aws:iam::111122223333:role/Node", role},
		{"a role with a path", "arn:aws:iam::111122223333:role/team/EU/node", role},
		{"an instance's session", "arn:aws:sts::111122223333:assumed-role/Node/i-0123456789abcdef0", role},
		{"a session with a path", "arn:aws:sts::111122223333:assumed-role/team/node/i-0123456789abcdef0", role},
		{"China", "arn:aws-cn:sts::111122223333:assumed-role/node/x", "arn:aws-cn:iam::111122223333:role/node"},
		{"GovCloud", "arn:aws-us-gov:iam::111122223333:role/a/node", "arn:aws-us-gov:iam::111122223333:role/node"},
		{"another account", "arn:aws:iam::123456789012:role/node", "arn:aws:iam::123456789012:role/node"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Canonical(tc.arn)
			expect.That(t, err == nil && got == tc.want, "Canonical(%q) = %q, %v, want %q", tc.arn, got, err, tc.want)
		})
	}
}

func TestCanonicalIsOfRolesOnly(t *testing.T) {
	for _, arn := range []string{
		"",
		"node",
		"arn:aws:iam::111122223333",
		"arn:aws:iam::111122223333:user/node",
		"arn:aws:iam::111122223333:root",
		"arn:aws:iam::111122223333:instance-profile/node",
		"arn:aws:sts::111122223333:assumed-role/node",
		"arn:aws:sts::111122223333:federated-user/node",
		"arn:aws:ec2:eu-west-1:111122223333:instance/i-0123456789abcdef0",
		"arn:nowhere:iam::111122223333:role/node",
	} {
		if got, err := Canonical(arn); err == nil || got != "" {
			t.Errorf("Canonical(%q) = %q, %v", arn, got, err)
		}
	}
}
