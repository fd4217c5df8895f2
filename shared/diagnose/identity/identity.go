// Package identity looks for what keeps an instance from being known to its cluster: the
// instance profile, its role, the role's trust policy, and the role's mapping in the stores
// that the cluster reads.
//
// The cluster's authenticationMode decides which stores count. Where both do, an access entry
// of the role takes precedence over aws-auth, even a wrong one, but not one that is older than the role.
// https://docs.aws.amazon.com/eks/latest/userguide/setting-up-access-entries.html
//
// A node that reports its status is known to the cluster. So the codes are about instances that
// never registered and nodes that went silent: the kubelet's token is refused as soon as its
// mapping is gone. The exception is a Windows node, which may be known and still lack the group
// that its network needs. For a silent node a missing mapping is only suggestive while others with
// its role are healthy, or may be. For an instance that never registered it is suggestive only if
// such a node joined after its launch.
//
// The package is pure.
package identity

import (
	"slices"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// Analyze notes what it finds about the identity of the case's instance.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	d := &door{Look: cause.Look{Case: c, Sheet: s}}
	switch c.Finding.Kind {
	case roll.Unregistered, roll.Unknown:
		d.sure, d.unsettled = explains(c)
		d.role()
	case roll.NotReady, roll.Uninitialized:
		if d.ofWindows() {
			d.sure, d.unsettled = explains(c)
			entry, groups := d.windows()
			s.Note(cause.AccessEntryWrongType, entry)
			s.Note(cause.AwsAuthWrongGroups, groups)
		}
	}
	switch c.Finding.Kind {
	case roll.Unregistered, roll.NotReady, roll.Uninitialized:
		s.Note(cause.RolePoliciesMissing, d.policies())
	}
}

// sharesRole reports whether a healthy instance has the role of the finding's instance. One in
// the same group is assumed to, unless its role is known to differ. gap says why the role of
// one with another instance profile is unknown.
func sharesRole(c *evidence.Case, s evidence.Sound) (shares bool, gap string) {
	theirs := c.Profiles[s.Profile]
	if theirs.Known() {
		return slices.Equal(c.Profile().Value.Roles, theirs.Value.Roles), ""
	}
	if s.Profile != "" && !theirs.Settled() {
		gap = theirs.Missing("instance profile " + s.Profile)
	}
	return s.Group == c.Finding.Group && s.Group != roll.GroupNone, gap
}

// door is what an instance must pass to be known to its cluster.
type door struct {
	cause.Look
	sure      bool   // a missing mapping explains the finding
	unsettled string // why it may not, "" if that is known
}

// role checks the instance's profile and role, and then the role's mapping.
func (d *door) role() {
	profile, role := d.Profile(), d.Role()
	switch {
	case !profile.Settled():
		d.NotChecked(profile.Gap(), append([]cause.Code{cause.InstanceProfileMissing, cause.RoleTrustInvalid}, mapping...)...)
	case profile.State == evidence.Absent:
		d.Note(cause.InstanceProfileMissing, d.noProfile())
	case len(profile.Value.Roles) == 0:
		d.Note(cause.InstanceProfileMissing, d.emptyProfile(profile.Value))
	case role.State == evidence.Absent:
		d.Note(cause.InstanceProfileMissing, d.roleGone(profile.Value))
	case !role.Known():
		d.RuledOut(cause.InstanceProfileMissing)
		d.NotChecked(role.Gap(), append([]cause.Code{cause.RoleTrustInvalid}, mapping...)...)
	default:
		d.RuledOut(cause.InstanceProfileMissing)
		d.Note(cause.RoleTrustInvalid, d.trust(role.Value))
		d.mapped(role.Value)
	}
}

// explains reports whether a missing mapping certainly explains the finding. If it does not
// because the roles of healthy nodes are unknown, unsettled says why.
func explains(c *evidence.Case) (sure bool, unsettled string) {
	if c.Finding.Kind == roll.Unregistered {
		return joinedSince(c) == "", ""
	}
	if c.Alone {
		return false, ""
	}
	sure = true
	for _, s := range sound(c) {
		if c.Finding.Kind != roll.Unknown && !s.Windows {
			continue // it works with the mapping of a Linux node
		}
		switch shares, gap := sharesRole(c, s); {
		case !shares:
		case gap == "":
			return false, ""
		default:
			sure, unsettled = false, gap
		}
	}
	return sure, unsettled
}

// sound returns the healthy instances to compare with: those of the cluster, and those of the group of
// which the snapshot has no profile.
func sound(c *evidence.Case) []evidence.Sound {
	all := slices.Clone(c.Sound)
	for _, m := range c.Group().Members {
		if m.Healthy && m.Described && m.Instance != c.Finding.Instance {
			all = append(all, evidence.Sound{Group: c.Finding.Group, Profile: m.Profile, Latest: m.Instance, Joined: m.Joined, Windows: c.Config().Value.Platform == "windows"})
		}
	}
	return all
}

// joinedSince returns a healthy instance with the role that joined after the finding's onset, "" if
// none is known: the role let it in then. It is of one of the groups, or of any if none is given.
func joinedSince(c *evidence.Case, groups ...roll.Group) roll.InstanceID {
	since := c.Onset()
	for _, s := range sound(c) {
		of := len(groups) == 0 || slices.Contains(groups, s.Group)
		if shares, gap := sharesRole(c, s); of && shares && gap == "" && s.Joined.After(since) {
			return s.Latest
		}
	}
	return ""
}

// blocks returns a verdict with a cause as sure as the case allows.
func (d *door) blocks(subject string) cause.Verdict {
	return cause.DecisiveIf(d.sure).Unsettled(d.unsettled).In(subject)
}
