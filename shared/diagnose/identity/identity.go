// Package identity looks for what keeps an instance from being known to its cluster:
// the instance profile, its role, the role's trust policy, and the mapping of the role
// in the stores that the cluster asks.
//
// Which store counts is the cluster's authenticationMode. Where both do, an access
// entry of the role goes before aws-auth, even a wrong one.
// https://docs.aws.amazon.com/eks/latest/userguide/setting-up-access-entries.html
//
// A node that reports its status is known to the cluster, so the codes are about
// instances that never registered and about nodes that went silent: the kubelet's token
// is refused as soon as its mapping is gone. Of a silent node a missing mapping is only
// suggestive while others of its group are healthy, since they have the same role, and
// where nobody looked whether they are.
//
// The package is pure.
package identity

import (
	"slices"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// mapping are the codes about the mapping of the node's role.
var mapping = []cause.Code{
	cause.NodeRoleNotMapped, cause.ControllerRoleMapped, cause.AccessEntryWrongType, cause.AccessEntryStale,
	cause.AwsAuthUnparseable, cause.AwsAuthArnHasPath, cause.AwsAuthArnIsInstanceProfile,
	cause.AwsAuthWrongGroups, cause.AwsAuthWrongUsername, cause.AwsAuthDuplicateRole,
}

// Analyze notes what it finds about the identity of the case's instance.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	switch c.Finding.Kind {
	case roll.Unregistered, roll.Unknown:
		d := &door{Case: c, s: s}
		d.confidence, d.unsettled = confidence(c)
		d.role()
		if c.Finding.Kind == roll.Unregistered {
			policies(c, s)
		}
	case roll.NotReady, roll.Uninitialized:
		policies(c, s)
	}
}

// confidence is how sure a missing mapping explains the finding. unsettled is why it is not, where nobody
// knows whether a node in order has the same role.
func confidence(c *evidence.Case) (sure roll.Confidence, unsettled string) {
	if c.Finding.Kind == roll.Unregistered {
		return roll.Decisive, ""
	}
	if c.Alone {
		return roll.Suggestive, ""
	}
	sure = roll.Decisive
	for _, s := range c.Sound {
		switch shares, gap := sharesRole(c, s); {
		case !shares:
		case gap == "":
			return roll.Suggestive, ""
		default:
			sure, unsettled = roll.Suggestive, gap
		}
	}
	return sure, unsettled
}

// sharesRole reports whether an instance in order has the role of the finding's instance.
// Of its own group that is taken to be so unless its role is known to be another one; gap is why it
// is not known of one whose instance profile is another.
func sharesRole(c *evidence.Case, s evidence.Sound) (shares bool, gap string) {
	mine, theirs := c.Profile(), c.Profiles[s.Profile]
	switch {
	case s.Profile != "" && s.Profile == c.Config().Value.ProfileARN:
		return true, ""
	case mine.Known() && theirs.Known():
		return slices.Equal(mine.Value.Roles, theirs.Value.Roles), ""
	}
	if s.Profile != "" && !theirs.Settled() {
		gap = theirs.Missing("instance profile " + s.Profile)
	}
	return s.Group == c.Finding.Group && s.Group != roll.GroupNone, gap
}

// door is what an instance has to come through to be known to its cluster.
type door struct {
	*evidence.Case
	s          *cause.Sheet
	confidence roll.Confidence
	unsettled  string // why the confidence is not decisive, "" if that is known
}

// found notes a cause, as sure as the case lets it be.
func (d *door) found(c roll.Cause) {
	if c.Confidence == "" {
		c.Confidence, c.Unsettled = d.confidence, d.unsettled
	}
	d.s.Found(c)
}

// role follows instance, profile and role, and then the role's mapping.
func (d *door) role() {
	profile := d.Profile()
	switch {
	case !profile.Settled():
		d.s.NotChecked(profile.Gap(), append([]cause.Code{cause.InstanceProfileMissing, cause.RoleTrustInvalid}, mapping...)...)
		return
	case profile.State == evidence.Absent:
		d.found(d.noProfile())
		return
	case len(profile.Value.Roles) == 0:
		d.found(d.emptyProfile(profile.Value))
		return
	}
	role := d.Role()
	switch {
	case role.State == evidence.Absent:
		d.found(d.roleGone(profile.Value))
		return
	case !role.Known():
		d.s.RuledOut(cause.InstanceProfileMissing)
		d.s.NotChecked(role.Gap(), append([]cause.Code{cause.RoleTrustInvalid}, mapping...)...)
		return
	}
	d.s.RuledOut(cause.InstanceProfileMissing)
	d.trust(role.Value)
	d.mapped(role.Value)
}
