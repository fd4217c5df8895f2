package awserr

import (
	"errors"
	"slices"
	"testing"

	"github.com/aws/smithy-go"
)

func TestMissingIDs(t *testing.T) {
	for _, tt := range []struct {
		code, message string
		want          []string
	}{
		{"InvalidAMIID.NotFound", "The image id '[ami-0123456789abcdef0]' does not exist", []string{"ami-0123456789abcdef0"}},
		{"InvalidAMIID.NotFound", "The image ids '[ami-0123456789abcdef0, ami-01234567]' do not exist", []string{"ami-0123456789abcdef0", "ami-01234567"}},
		{"InvalidSubnetID.NotFound", "The subnet ID 'subnet-0123456789abcdef0' does not exist", []string{"subnet-0123456789abcdef0"}},
		{"InvalidGroup.NotFound", "The security group 'sg-01234567' does not exist", []string{"sg-01234567"}},
		{"NatGatewayNotFound", "NatGateway nat-0123456789abcdef0 was not found", []string{"nat-0123456789abcdef0"}},
		{"InvalidInstanceID.NotFound", "The instance ID 'i-0123456789abcdef0' does not exist", []string{"i-0123456789abcdef0"}},
		{"InvalidVpcID.NotFound", "it does not exist", nil},
		{"UnauthorizedOperation", "not for ami-0123456789abcdef0", nil},
	} {
		if got := MissingIDs(&smithy.GenericAPIError{Code: tt.code, Message: tt.message}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.message, got, tt.want)
		}
	}
	if MissingIDs(nil) != nil || MissingIDs(errors.New("ami-0123456789abcdef0 does not exist")) != nil {
		t.Error("an error of nobody names ids")
	}
}

func TestUnsupported(t *testing.T) {
	if !IsUnsupported(&smithy.GenericAPIError{Code: "UnsupportedOperation"}) || IsUnsupported(&smithy.GenericAPIError{Code: "InvalidParameterValue"}) || IsUnsupported(nil) {
		t.Error("only UnsupportedOperation says so")
	}
}
