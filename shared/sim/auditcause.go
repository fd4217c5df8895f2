package sim

import (
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// caused is a decisive cause that a check reported.
type caused struct {
	about
	code string
}

// causesHold says of each decisive cause when it is true, by what was done to the machine, its group or its
// cluster. It knows nothing of how Rollcall finds a cause. No fault has any other.
var causesHold = map[string]func(e excuse) bool{
	"UserDataUnparseable": func(e excuse) bool { return e.launchedWith("\n  cidr") || e.m.unread == unreadGarbled },
	"UserDataEmpty":       func(e excuse) bool { return e.m.unread == unreadRemoved },
	"DuplicateLaunch": func(e excuse) bool {
		return slices.ContainsFunc(e.c.machines, func(o *machine) bool {
			return o != e.m && o.g == e.g && o.launched.Sub(e.m.launched).Abs() <= 6*time.Minute
		})
	},
	"KubeletRestartedDuringStartup": func(e excuse) bool { return e.u.a.Now().Sub(e.m.launched) < 40*time.Minute },
	"UserDataWrongFormat":           func(e excuse) bool { return e.m.unread == unreadCut },
	"UserDataMalformedFlags":        func(e excuse) bool { return e.launchedWith(`\\\"ebs.csi.aws.com`) },
	"ArchitectureMismatch":          func(e excuse) bool { return e.launchedWith("linux_amd64/fetch-ca") },
	"NodeRoleNotMapped":             func(e excuse) bool { return e.shutOut() },
	"ControllerRoleMapped":          func(e excuse) bool { return e.shutOut() },
	"StartupTaintMissing":           func(e excuse) bool { return e.m.template.refused },
	"StartupTaintNotRemoved":        func(e excuse) bool { return e.lately("tainted", e.m.id) },
	"UndeclaredStartupTaint": func(e excuse) bool {
		return len(e.m.template.taints) > 0 && len(e.m.template.declared) < len(e.m.template.taints)
	},
	"KubeletSilent": func(e excuse) bool {
		return e.lately("deaf", e.m.id)
	},
	"MemoryPressurePreceded": func(e excuse) bool { return e.starved() },
	"InstanceStatusImpaired": func(e excuse) bool { return e.lately("impaired", e.m.id) && e.m.checkFails != checksSystem },
	"SystemStatusImpaired": func(e excuse) bool {
		return e.lately("impaired", e.m.id) && e.m.checkFails != "" && e.m.checkFails != checksInstance
	},
	"OutOfMemory":                func(e excuse) bool { return e.starved() },
	"ClusterNotActive":           func(e excuse) bool { return e.lately("not active", e.c.name) },
	"MonitoringConditionLatched": func(e excuse) bool { return e.lately("part", e.m.id) || e.lately("gpu", e.m.id) },
	"NodeLabelsMismatch":         func(e excuse) bool { return e.lately("unlabelled", e.m.id) },
	"ReplacementRepeats":         func(e excuse) bool { return e.lately("ill", e.m.id) && len(e.u.sense.replaced[e.g]) > 0 },
	"InstanceStopped":            func(e excuse) bool { return e.lately("at rest", e.m.id) },
	"NodeGroupUnhealthy":         func(e excuse) bool { return e.lately("unwell", e.g.groupName()) },
	"AcceleratorFault":           func(e excuse) bool { return e.lately("gpu", e.m.id) },
	"ZoneOutage":                 func(e excuse) bool { return e.outage() || e.m.muted && e.m.frozen.IsZero() },
	"ControlPlaneUnreachable":    func(e excuse) bool { return ofCluster["ClusterUnreachable"](e) == "" || e.m.muted },
	"OwnerGone":                  func(e excuse) bool { return !e.c.exists() || e.g.owner == karpenter && e.m.claim == nil },
}

// launchedWith reports whether the machine was launched with user data that contain the text.
func (e excuse) launchedWith(text string) bool { return strings.Contains(e.m.template.userData, text) }

// shutOut reports whether the machine's role is not mapped, or was not at some time since its launch: a check
// may have proven it then.
func (e excuse) shutOut() bool {
	at, ok := e.u.truths.last[[2]string{"unmapped", e.g.groupName()}]
	return e.m.stays || !e.c.maps(e.g.role) || ok && at.After(e.m.launched)
}

// starved reports whether the machine was short of memory, lately or when its node was last heard of.
func (e excuse) starved() bool {
	at, ok := e.u.truths.last[[2]string{"starved", e.m.id}]
	return e.lately("starved", e.m.id) || ok && e.m.node != nil && !at.Before(e.m.node.ready().LastTransitionTime.Add(-lag))
}

// caused checks the decisive causes of a check. One is false if it was in the check before, too, as truthful
// judges reasons.
func (u *auditor) caused(inv *invocation, k checkup, outage func() bool) {
	c := u.a.byName[k.cluster]
	now := map[caused]time.Time{}
	for _, claim := range k.causes {
		e := excuse{u: u, inv: inv, c: c, k: k, withheld: withheld{about: claim.about}, m: u.a.machines[claim.instance], outage: outage}
		holds, ok := causesHold[claim.code]
		if e.m == nil || roll.Kind(claim.kind) == roll.Stuck {
			continue
		}
		if e.g = e.m.g; ok && holds(e) {
			continue
		}
		now[claim] = u.a.Now()
		if first, again := u.truths.untrue[c.name][claim]; again {
			now[claim] = first
			u.forbids(RuleCause, u.a.Now().Sub(first) > time.Minute, "%s: %s of %s is said to be caused by %s, and the machine is %s since %s, in %s", inv.name, claim.kind, claim.instance, claim.code, state(e.m), e.m.since.Format(time.TimeOnly), e.g.groupName())
		}
	}
	for _, a := range k.open {
		m, claim := u.a.machines[a.instance], caused{a, ""}
		if m == nil || inv.missed || !k.whole {
			continue
		}
		if slices.ContainsFunc(k.found, func(b about) bool { o := u.a.machines[b.instance]; return o != nil && o != m && o.g == m.g }) {
			continue // of several in a group it reads two
		}
		code := m.shows(roll.Kind(a.kind))
		if code == "" {
			continue
		}
		now[claim] = u.a.Now()
		if first, again := u.truths.untrue[c.name][claim]; again {
			now[claim] = first
			u.forbids(RuleCause, u.a.Now().Sub(first) > time.Minute, "%s: no cause of %s of %s is known, which is %s for %s since %s, in %s", inv.name, a.kind, a.instance, state(m), code, m.since.Format(time.TimeOnly), m.g.groupName())
		}
	}
	u.truths.untrue[c.name] = now
}

// shows returns the cause that anybody can see of the machine's trouble, "" if there is none.
func (m *machine) shows(k roll.Kind) string {
	switch {
	case k == roll.Unregistered && m.ail == neverJoins && m.unread == "" && m.stays && m.elsewhere == "":
		for code, text := range map[string]string{"UserDataUnparseable": "\n  cidr", "UserDataMalformedFlags": `\\\"ebs.csi.aws.com`, "ArchitectureMismatch": "linux_amd64/fetch-ca"} {
			if strings.Contains(m.template.userData, text) {
				return code
			}
		}
		if m.g.unmapped {
			return "NodeRoleNotMapped"
		}
	case k == roll.Impaired && m.ail == impaired:
		return "InstanceStatusImpaired"
	case k == roll.Unknown && m.ail == silent && m.state == running && !m.muted && !m.g.unmapped:
		return "KubeletSilent"
	}
	return ""
}
