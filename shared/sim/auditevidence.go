package sim

import (
	"strings"

	"rollcall/shared/evidence/archive"
	"rollcall/shared/roll"
)

// complete checks that evidence has everything that could be read of a machine when it was stored. It
// applies to deliveries without a failed call.
func (u *auditor) complete(inv *invocation, key archive.Key, files map[string][]byte) {
	m := u.a.machines[string(key.Instance)]
	if m == nil || inv.v.fn != remediator || inv.missed || m.state != running || m.ail == well {
		return
	}
	in := func(file, text string) bool { return strings.Contains(string(files[file]), text) }
	lacks := ""
	switch {
	case !in(archive.Findings, m.id):
		lacks = "its finding"
	case !in("instances.json", m.id):
		lacks = "the instance"
	case m.node != nil && !m.node.bare && !m.node.unlisted && m.node.provider == "" && !in("nodes.json", m.node.name):
		lacks = "its node"
	case key.Kind == roll.Scheduled: // nothing else shows anything of an event that EC2 announces
	case m.claim != nil && !in("nodeclaims.json", m.claim.name):
		lacks = "its NodeClaim"
	case m.console() != "" && len(files["console/"+m.id+".txt"]) == 0:
		lacks = "its console"
	case m.node == nil && m.unread == "" && len(files["user-data/"+m.id+".txt"]) == 0:
		lacks = "its user data"
	case m.ail == silent && m.node != nil && !in("leases.json", m.node.name):
		lacks = "its lease"
	}
	if lacks != "" {
		u.broken(RuleEvidence, "%s: what is kept of %s (%s), order %s, lacks %s", inv.name, m.id, state(m), key.Stage, lacks)
	}
}
