package awsauth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/aws-iam-authenticator/pkg/endpoints"

	"rollcall/shared/roll/pattern"
)

// roleMapping is an entry of mapRoles. It accepts and refuses what RoleMapping of the
// authenticator's pkg/config does, which links a registry of metrics: the tests compare the two.
type roleMapping struct {
	RoleARN  string   `json:"rolearn"`
	SSO      *sso     `json:"sso"`
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
	UserID   string   `json:"userid"`
}

// sso selects the roles that IAM Identity Center makes for a permission set.
type sso struct {
	PermissionSetName string `json:"permissionSetName"`
	AccountID         string `json:"accountID"`
	Partition         string `json:"partition"`
}

// key returns the ARN by which a mapping is kept, in lower case: the role's, or a pattern. The
// authenticator leaves a partition that is given out of the pattern.
func (m *roleMapping) key() string {
	switch {
	case m.RoleARN != "":
		return strings.ToLower(m.RoleARN)
	case m.SSO == nil:
		return ""
	}
	partition := ""
	if m.SSO.Partition == "" {
		partition = endpoints.AwsPartitionID
	}
	return strings.ToLower("arn:" + partition + ":iam::" + m.SSO.AccountID + ":role/AWSReservedSSO_" + m.SSO.PermissionSetName + "_*")
}

// fault returns why the authenticator drops the entry, in its words.
func (m *roleMapping) fault() error {
	switch s := m.SSO; {
	case m.RoleARN == "" && s == nil:
		return errors.New("one of rolearn or SSO must be supplied")
	case m.RoleARN != "" && s != nil:
		return errors.New("only one of rolearn or SSO can be supplied")
	case s == nil:
		return nil
	case !accountID.MatchString(s.AccountID):
		return fmt.Errorf("AccountID '%s' is not a valid AWS Account ID", s.AccountID)
	case !permissionSet.MatchString(s.PermissionSetName):
		return fmt.Errorf("PermissionSetName '%s' is not a valid AWS SSO PermissionSet Name", s.PermissionSetName)
	case s.Partition != "" && !slices.Contains(endpoints.PARTITIONS, s.Partition):
		return fmt.Errorf("partition '%s' is not a valid AWS partition", s.Partition)
	}
	return nil
}

var (
	accountID     = pattern.New(`^[0-9]{12}$`)
	permissionSet = pattern.New(`^[\w+=,.@-]{1,32}$`)
)
