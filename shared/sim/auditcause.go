package sim

import (
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// caused is a decisive cause that a check reported; the code is "" if it reported none.
type caused struct {
	about
	code string
}

// brokenBy holds, by the cause, what shows in the user data of the broken versions of a template.
var brokenBy = map[string]string{
	"UserDataUnparseable":    "\n  cidr",
	"UserDataMalformedFlags": `\\\"ebs.csi.aws.com`,
	"ArchitectureMismatch":   "linux_amd64/fetch-ca",
}

// causesHold says when each decisive cause is true, by what was done, not by what Rollcall reads. No fault has others.
var causesHold = map[string]func(e excuse) bool{
	// the machine's template and role
	"UserDataUnparseable": func(e excuse) bool {
		return e.m.brokenBy("UserDataUnparseable") || e.m.unread == unreadGarbled || e.m.unread == unreadCut
	},
	"UserDataMalformedFlags": func(e excuse) bool { return e.m.brokenBy("UserDataMalformedFlags") },
	"ArchitectureMismatch":   func(e excuse) bool { return e.m.brokenBy("ArchitectureMismatch") },
	"UserDataEmpty":          func(e excuse) bool { return e.m.unread == unreadRemoved },
	"UserDataWrongFormat":    func(e excuse) bool { return e.m.unread == unreadCut },
	"NodeRoleNotMapped":      excuse.shutOut,
	"ControllerRoleMapped":   excuse.shutOut,

	// its start
	"StartupTaintMissing":    func(e excuse) bool { return e.m.template.refused },
	"StartupTaintNotRemoved": func(e excuse) bool { return e.lately("tainted", e.m.id) },
	"UndeclaredStartupTaint": func(e excuse) bool { return len(e.m.template.taints) > len(e.m.template.declared) },
	"NodeLabelsMismatch":     func(e excuse) bool { return e.lately("unlabelled", e.m.id) },
	"DuplicateLaunch": func(e excuse) bool {
		return slices.ContainsFunc(e.c.machines, func(o *machine) bool {
			return o != e.m && o.g == e.g && o.launched.Sub(e.m.launched).Abs() <= 6*time.Minute
		})
	},
	"KubeletRestartedDuringStartup": func(e excuse) bool {
		began := latest(e.m.launched, e.m.drawn, e.m.leftRest)
		if e.m.g.bounces && e.m.node != nil {
			began = latest(began, e.m.node.created) // its kubelet bounces when its Node was deleted, too
		}
		return e.u.a.Now().Sub(began) < 40*time.Minute
	},

	// the machine
	"KubeletSilent": func(e excuse) bool {
		return e.lately("deaf", e.m.id) || e.m.state != running // EC2 may hide that it ended, or show it late
	},
	"MemoryPressurePreceded":  excuse.starved,
	"OutOfMemory":             excuse.starved,
	"UserDataClusterMismatch": func(e excuse) bool { return e.m.elsewhere != "" },
	"InstanceStopped":         func(e excuse) bool { return e.lately("at rest", e.m.id) },
	"InstanceStatusImpaired": func(e excuse) bool {
		rebooted := e.m.rebooted > 0 && e.m.rebooted == e.m.boots && e.u.a.Now().Sub(e.m.bootedAt) < 30*time.Minute
		return rebooted || e.lately("impaired", e.m.id) && e.m.checkFails != checksSystem
	},
	"SystemStatusImpaired": func(e excuse) bool {
		return e.lately("impaired", e.m.id) && e.m.checkFails != "" && e.m.checkFails != checksInstance
	},
	"AcceleratorFault":           func(e excuse) bool { return e.lately("gpu", e.m.id) },
	"MonitoringConditionLatched": func(e excuse) bool { return e.u.anyLately(e.m.id, "part", "gpu") },
	"CniNotReady":                func(e excuse) bool { return e.lately("ill", e.m.id) }, // as a kubelet says that starts

	// its group, its zone and its cluster
	"NodeGroupUnhealthy":      func(e excuse) bool { return e.lately("unwell", e.g.groupName()) },
	"InstanceProfileMissing":  func(e excuse) bool { return e.lately("unwell", e.g.groupName()) }, // by EKS's word
	"ReplacementRepeats":      func(e excuse) bool { return e.lately("ill", e.m.id) && len(e.u.sense.replaced[e.g])+e.g.failures() > 0 },
	"ZoneOutage":              func(e excuse) bool { return e.outage() || e.m.muted && e.m.frozen.IsZero() || !e.k.whole }, // without EC2, what ended looks silent
	"ClusterNotActive":        func(e excuse) bool { return e.lately("not active", e.c.name) },
	"ControlPlaneUnreachable": func(e excuse) bool { return ofCluster["ClusterUnreachable"](e) == "" || e.m.muted },
	"OwnerGone":               func(e excuse) bool { return !e.c.exists() || e.g.owner == karpenter && e.m.claim == nil },
}

func (m *machine) brokenBy(code string) bool {
	return strings.Contains(m.template.userData, brokenBy[code])
}

// shutOut reports whether the machine's role is not mapped, or was not since its launch: a check may have proven it.
func (e excuse) shutOut() bool {
	at, ok := e.u.truths.last[[2]string{"unmapped", e.g.groupName()}]
	return !e.c.maps(e.g.role) || ok && at.After(e.m.launched)
}

// starved reports whether the machine was short of memory, lately or when its node was last heard of.
func (e excuse) starved() bool {
	at, ok := e.u.truths.last[[2]string{"starved", e.m.id}]
	if ok && roll.Kind(e.kind) == roll.Unregistered && e.m.node != nil {
		return true // its Node, by which a check would tell that it recovered, is not known to be its own
	}
	return e.lately("starved", e.m.id) || ok && e.m.node != nil && !at.Before(e.m.node.ready().LastTransitionTime.Add(-lag))
}

// caused checks the decisive causes of a check, and that what shows plainly has one. What is wrong breaks the
// rule if it was in the check before, too: what one check reads may change before the auditor looks.
func (u *auditor) caused(inv *invocation, k checkup, outage func() bool) {
	c := u.a.byName[k.cluster]
	before, now := u.truths.untrue[c.name], map[caused]time.Time{}
	again := func(claim caused) bool {
		first, ok := before[claim]
		if !ok {
			first = u.a.Now()
		}
		now[claim] = first
		return u.a.Now().Sub(first) > time.Minute
	}
	for _, claim := range k.causes {
		e := excuse{u: u, inv: inv, c: c, k: k, withheld: withheld{about: claim.about}, m: u.a.machines[claim.instance], outage: outage}
		if e.m == nil || roll.Kind(claim.kind) == roll.Stuck {
			continue
		}
		e.g = e.m.g
		if holds, ok := causesHold[claim.code]; (!ok || !holds(e)) && again(claim) {
			u.broken(RuleCause, "%s: %s of %s is said to be caused by %s, and the machine is %s since %s, in %s", inv.name, claim.kind, claim.instance, claim.code, state(e.m), e.m.since.Format(time.TimeOnly), e.g.groupName())
		}
	}
	for _, a := range k.open {
		m := u.a.machines[a.instance]
		if m == nil || inv.missed || !k.whole {
			continue
		}
		fellow := func(b about) bool {
			o := u.a.machines[b.instance]
			return o != nil && o != m && o.c == m.c && o.g.groupName() == m.g.groupName()
		}
		if slices.ContainsFunc(k.found, fellow) || len(k.found) > readNodes {
			continue // of several in a group it reads two, and of many in a cluster the nodes of eight
		}
		works := func(o *machine) bool {
			return o.ail == well && o.node != nil && o.template.version == m.template.version
		}
		if m.node == nil && slices.ContainsFunc(m.g.members, works) {
			continue // what it was launched with may not be the cause, though it is
		}
		if code := m.shows(roll.Kind(a.kind)); code != "" && again(caused{a, ""}) {
			u.broken(RuleCause, "%s: %s of %s has no known cause, and it shows %s: it is %s since %s, in %s", inv.name, a.kind, a.instance, code, state(m), m.since.Format(time.TimeOnly), m.g.groupName())
		}
	}
	u.truths.untrue[c.name] = now
}

const readNodes = 8 // how many nodes a check reads in full

// shows returns the cause of the machine's trouble that shows plainly, "" if none does.
func (m *machine) shows(k roll.Kind) string {
	switch {
	case k == roll.Unregistered && m.ail == neverJoins && m.unread == "" && m.stays && m.elsewhere == "":
		for code := range brokenBy {
			if m.brokenBy(code) {
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
