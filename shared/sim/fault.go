package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// arrange schedules the scenario's faults, and the healings by people and after the calm.
func (a *account) arrange() {
	for _, f := range a.sc.Faults {
		t := f.Kind.faultType()
		if t.prepare != nil {
			t.prepare(a, f, a.how(f))
		}
		from := a.sc.Start.Add(f.At)
		to := a.sc.Start.Add(a.sc.Storm + a.sc.Calm)
		if f.For > 0 {
			to = from.Add(f.For)
		}
		if t.spell {
			a.weather.spells = append(a.weather.spells, spell{fault: f.ID, from: from, to: to, what: f.Kind, about: f.Cluster, share: f.Share, form: f.Value})
		}
		a.at(from, func() {
			a.note(Event{Kind: EventFault, Cluster: f.Cluster, Group: f.Group, Stage: "begins", Text: f.Says, Detail: f.String()})
			if t.strike != nil {
				t.strike(a, f, a.how(f))
			}
		})
		if f.For > 0 {
			a.at(to, func() {
				a.note(Event{Kind: EventFault, Cluster: f.Cluster, Group: f.Group, Stage: "over", Text: f.Says, Detail: f.String() + ": over"})
				a.relent(f)
			})
		}
	}
	for after := a.sc.Mends; after > 0 && after < a.sc.Storm; after += a.sc.Mends {
		a.at(a.sc.Start.Add(after), a.heal)
	}
	a.at(a.sc.Start.Add(a.sc.Storm+a.sc.Calm), a.heal)
}

// String returns the fault's description for a history.
func (f Fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fault %d: %s", f.ID, f.Kind)
	for _, part := range [][2]string{{"cluster", f.Cluster}, {"group", f.Group}, {"zone", f.Zone}, {"value", f.Value}} {
		if part[1] != "" {
			fmt.Fprintf(&b, " %s=%s", part[0], part[1])
		}
	}
	if f.Count > 0 {
		fmt.Fprintf(&b, " count=%d", f.Count)
	}
	if f.Share > 0 {
		fmt.Fprintf(&b, " share=%.2f", f.Share)
	}
	if f.For > 0 {
		fmt.Fprintf(&b, " for=%s", f.For)
	}
	return b.String()
}

const lasting = "lasting" // the value of a fault that no reboot cures

func (a *account) targets(f Fault) []*group {
	var out []*group
	for _, c := range a.of(f) {
		for _, g := range c.groups {
			if f.Group == "" || g.name == f.Group {
				out = append(out, g)
			}
		}
	}
	return out
}

// victims returns healthy machines with nodes, as many as the fault affects.
func (a *account) victims(f Fault) []*machine {
	var able []*machine
	for _, g := range a.targets(f) {
		for _, m := range g.members {
			if m.state == running && m.ail == well && m.node != nil && !m.muted && m.aside == "" && m.shielded.IsZero() && (f.Zone == "" || m.zone == f.Zone) {
				able = append(able, m)
			}
		}
	}
	d := a.d.of("fault").nth(f.ID)
	var out []*machine
	for i := 0; i < f.Count && len(able) > 0; i++ {
		j := d.nth(i).below(len(able))
		out = append(out, able[j])
		able = slices.Delete(able, j, j+1)
	}
	return out
}

func (f Fault) one() Fault {
	f.Count = 1
	return f
}

func (a *account) of(f Fault) []*cluster {
	return slices.DeleteFunc(slices.Clone(a.clusters), func(c *cluster) bool { return f.Cluster != "" && c.name != f.Cluster || !c.exists() })
}

func (a *account) how(f Fault) dice { return a.d.of("fault").nth(f.ID).of("how") }

// relent ends a fault. If its type has no relent, the machines that it affected recover.
func (a *account) relent(f Fault) {
	t := f.Kind.faultType()
	if t.relent != nil {
		t.relent(a, f, a.how(f))
		return
	}
	for _, g := range a.targets(f) {
		for _, m := range slices.Clone(g.members) {
			if m.ail != well && m.ail == t.ails && !m.stays {
				m.cure()
			}
		}
	}
}

// misfortune makes the next machines of the group faulty, and launches some of them.
func (g *group) misfortune(f Fault, d dice, ill ailment) {
	g.unlucky, g.ill = f.Count, ill
	for i := 0; i < f.Count && len(g.members) > 0; i++ {
		oneOf(d.nth(i), g.members...).leave(string(g.owner) + ": rotation")
	}
}

// undeclared puts a startup taint on the group's next nodes that its NodePool does not declare: Karpenter launches
// more.
func (g *group) undeclared(f Fault) {
	g.bounces = true
	g.template.version++
	g.template.taints = append(slices.Clone(g.template.taints), "node.cilium.io/agent-not-ready=true:NoSchedule")
	g.grow(f.Count)
	g.c.a.in(75*time.Second, func() { g.grow(1) })
	g.c.a.in(40*time.Minute, func() { g.grow(-1) })
}

func (a *account) zoneNetwork(zone string, off bool) {
	if off {
		a.silenced[zone] = true
	} else {
		delete(a.silenced, zone)
	}
	for _, c := range a.clusters {
		for _, m := range c.machines {
			if m.zone == zone && m.alive() {
				m.mute(off)
			}
		}
	}
}

func (a *account) cutOff(machines []*machine, long time.Duration) {
	for _, m := range machines {
		m.mute(true)
	}
	a.in(long, func() {
		for _, m := range machines {
			if !a.silenced[m.zone] {
				m.mute(false)
			}
		}
	})
}

// nodesIn returns the machines of the cluster that are nodes in a zone, or in all zones.
func (c *cluster) nodesIn(zone string) []*machine {
	return slices.DeleteFunc(slices.Clone(c.machines), func(m *machine) bool { return !m.alive() || m.elsewhere != "" || zone != "" && m.zone != zone })
}

// buryGhosts removes the Nodes of terminated machines, including machines that EC2 forgot.
func (c *cluster) buryGhosts() {
	for _, n := range slices.Clone(c.nodes) {
		if n.machine != nil && n.machine.state == terminated {
			n.machine.forgetNode()
		}
	}
}

func (g *group) grow(by int) {
	g.desired += by
	g.reconcile()
}

// rotate makes the owner replace some machines, as after a new version.
func (g *group) rotate(n int) {
	for i := 0; i < n && len(g.members) > 0; i++ {
		g.members[0].leave(string(g.owner) + ": rotation to a new version")
	}
}

// breakBy gives the group a new version of its template whose machines do not join.
func (g *group) breakBy(kind FaultKind) {
	if g.spare == nil {
		spare := g.template
		g.spare = &spare
	} else { // in place of another broken version
		version := g.template.version
		g.template = *g.spare
		g.template.version = version
	}
	t := &g.template
	t.version++
	t.breaks = neverJoins
	c := g.c
	switch kind {
	case FaultTaint: // a custom AMI whose flags, including the startup taint, have one pair of quotes too many
		t.ami, t.amiOwner, t.amiName = "ami-0"+shortID(g.d.of("custom"), 16), accountID, "golden-eks-1.33-20260301"
		t.userData = fmt.Sprintf("#!/bin/bash\nset -ex\n/etc/eks/bootstrap.sh %s --apiserver-endpoint %s --b64-cluster-ca %s \\\n  --kubelet-extra-args '--register-with-taints=\\\\\\\"ebs.csi.aws.com/agent-not-ready=:NoExecute\\\\\\\" --max-pods=58'\n", c.name, c.endpoint(), c.authority())
		t.console = strings.ReplaceAll(strings.ReplaceAll(bootLog("[   24.023378] systemd[1]: kubelet.service: Main process exited, code=exited, status=1/FAILURE"),
			"Linux 2023.10.20260216", "Linux 2"), "6.12.68-92.122.amzn2023", "5.10.245-241.978.amzn2")
	case FaultArchitect: // arm64, with a helper downloaded for amd64
		g.kind = kindOf("m6g.large")
		t.ami, t.amiOwner, t.amiName = "ami-0"+shortID(g.d.of("arm"), 16), accountID, "golden-eks-1.33-arm64-20260301"
		t.userData = strings.Replace(t.userData, "--//\n", "--//\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\n#!/bin/bash\nset -e\ncurl -fsSLo /usr/local/bin/fetch-ca https://artifacts.example.com/fetch-ca/linux_amd64/fetch-ca\nchmod +x /usr/local/bin/fetch-ca\n/usr/local/bin/fetch-ca\n--//\n", 1)
		t.console = bootLog("[   12.553021] cloud-init[1893]: /var/lib/cloud/instance/scripts/part-001: line 5: /usr/local/bin/fetch-ca: cannot execute binary file: Exec format error",
			"[FAILED] Failed to start cloud-final.service - Cloud-init: Final Stage.")
	default: // YAML that nodeadm cannot parse
		t.userData = strings.Replace(t.userData, "    cidr:", "  cidr", 1)
		t.console = bootLog(`[    9.710421] nodeadm[1701]: {"level":"fatal","caller":"nodeadm/main.go:36","msg":"Command failed","error":"yaml: line 8: could not find expected ':'"}`,
			"[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.")
	}
	g.custom = g.custom || t.amiOwner != "amazon"
}

// rollsOut replaces machines by a broken version. The situation arises if one fits after a while.
func (g *group) rollsOut(f Fault, kind FaultKind, machines int, after time.Duration, detail string, fits func(*machine) bool) {
	g.breakBy(kind)
	g.rotate(machines)
	g.c.a.in(after, func() {
		if m := find(g.members, fits); m != nil {
			m.arose(f, detail)
		}
	})
}

// bootLog returns the console output of an AL2023 boot that contains the lines.
func bootLog(lines ...string) string {
	all := append([]string{"[    0.000000] Linux version 6.12.68-92.122.amzn2023.x86_64", "[    4.310022] systemd[1]: Detected virtualization amazon."}, lines...)
	return strings.Join(append(all, "", "Amazon Linux 2023.10.20260216", "Kernel 6.12.68-92.122.amzn2023.x86_64 on an x86_64 (-)", "", "localhost login: "), "\r\n")
}

// mend restores the group's template and replaces the machines launched from the broken one.
func (g *group) mend() {
	g.bounces = false
	if g.spare != nil {
		version := g.template.version
		g.template, g.spare = *g.spare, nil
		g.template.version = version + 1
		g.kind = kindOf(g.spec.Type)
	}
	g.template.taints = nil
	if g.unmapped {
		g.template.breaks = neverJoins // whatever they are launched from
	}
	for _, m := range slices.Clone(g.members) {
		if m.stays {
			m.leave(string(g.owner) + ": rotation to a version that works")
		}
	}
}

func (c *cluster) tag(mode string) { c.mode, c.retagged = mode, c.a.Now() }

// unmap maps the controller's role in place of the group's. Its machines lose access, unless the fault is bare.
func (g *group) unmap(bare bool) {
	c := g.c
	g.unmapped = true
	c.mapped = slices.DeleteFunc(slices.Clone(c.mapped), func(role string) bool { return role == g.role })
	c.mapped = append(c.mapped, c.controllerRole())
	c.changed()
	g.template.breaks = neverJoins
	if bare {
		return
	}
	for _, m := range g.members {
		m.fall(silent, true, false)
	}
}

func (g *group) remap() {
	if !g.unmapped {
		return
	}
	g.unmapped = false
	g.c.mapRoles()
	g.c.changed()
	g.template.breaks = well
	for _, m := range slices.Clone(g.members) {
		if m.stays {
			m.cure()
		}
	}
}

// The actions of people; a fault of FaultPeople may name one of them.
const (
	peopleHold    = "hold"
	peopleIgnore  = "ignore" // an instance in trouble
	peopleProtect = "protect"
	peopleCordon  = "cordon"
	peopleUntag   = "untag"
	peopleStop    = "stop the kubelet"
	peopleFill    = "fill the tags of what is ill"
	// These are only where a run names them.
	peopleKeep     = "keep what is cordoned"
	peopleBreak    = "break what is uncordoned"
	peopleHesitate = "hold what is ordered for minutes"
	peopleDisown   = "disown what is ordered"
	peopleSpare    = "keep it unhealthy"
)

var meddlings = []string{peopleHold, peopleProtect, peopleCordon, peopleUntag, peopleStop, peopleIgnore, peopleFill}

func (n *node) lift() {
	n.cordoned, n.lifted, n.sealed = false, n.c.a.Now(), time.Time{}
	n.version = n.c.changed()
}

// ordered reports whether the ledger has the order by which Rollcall cordoned the node, and by which it lifts that.
func (n *node) ordered() bool {
	_, ok := n.c.a.dep.state(n.c.name).Action(n.annotations[roll.AnnotationCordoned])
	return ok
}

func (n *node) spare(on bool) {
	value := ""
	n.spared = time.Time{}
	if on {
		value, n.spared = "true", n.c.a.Now()
	}
	n.annotate(roll.AnnotationDoNotRepair, value)
	n.version = n.c.changed()
}

func (m *machine) meddle(f Fault, p dice) {
	a := m.c.a
	does := f.Value
	if does == "" {
		does = oneOf(p, meddlings...)
	}
	switch does {
	case peopleHold:
		if !m.tagOnce(roll.TagHold, "true") {
			return
		}
		a.in(p.of("until").between(time.Hour, 3*time.Hour), func() { m.untag(roll.TagHold) })
	case peopleIgnore:
		m.fall(oneOf(p.of("ail"), silent, notReady), false, p.of("reboots").chance(0.5))
		a.in(p.of("sees").between(0, 40*time.Minute), func() { // before an act would be due, or between two of them
			if m.ail == well || m.state != running || a.healedNow() || !m.tagOnce(roll.TagIgnore, "true") {
				return
			}
			m.arose(f, roll.TagIgnore+"=true on what is "+string(m.ail))
			a.in(p.of("until").between(time.Hour, 3*time.Hour), func() { m.untag(roll.TagIgnore) })
		})
	case peopleProtect:
		m.protected, m.protectedAt, m.unstoppable = true, a.Now(), p.of("stop").chance(0.5)
		a.in(p.of("until").between(time.Hour, 3*time.Hour), func() { m.protected = false })
	case peopleCordon:
		m.node.cordoned, m.node.sealed = true, a.Now()
		m.node.version = m.c.changed()
		n := m.node
		a.in(p.of("until").between(time.Hour, 2*time.Hour), n.lift)
	case peopleUntag:
		m.untag("rollcall:order")
	case peopleBreak:
		a.traps = append(a.traps, &trap{f: f, m: m, lifts: true, waits: p.of("waits").between(time.Minute, 2*time.Minute), springs: func() { m.fall(notReady, false, false) }})
	case peopleKeep:
		// The first order cordons its node. Whoever holds it repairs it, and keeps it for a while.
		a.traps = append(a.traps, &trap{f: f, m: m, springs: func() {
			a.in(p.of("holds").between(20*time.Second, 50*time.Second), func() { m.tagOnce(roll.TagHold, "true") })
			a.in(p.of("repairs").between(5*time.Minute, 15*time.Minute), m.cure)
			a.in(p.of("until").between(time.Hour, 3*time.Hour), func() { m.untag(roll.TagHold) })
		}})
	case peopleHesitate:
		// The first order waits for longer than the hold, in which a check may order another act.
		a.traps = append(a.traps, &trap{f: f, m: m, waits: p.of("waits").between(6*time.Minute, 8*time.Minute), springs: func() {
			a.disarm(f)
			if m.tagOnce(roll.TagHold, "true") {
				a.in(p.of("until").between(5*time.Minute, 330*time.Second), func() { m.untag(roll.TagHold) })
			}
		}})
	case peopleDisown:
		t := &trap{f: f, m: m, any: true}
		t.springs = func() {
			a.disarm(f)
			a.in(p.of("after").between(time.Minute, 5*time.Minute), func() {
				t.m.disowned = true
				t.m.untag(t.m.c.owns().key)
			})
		}
		a.traps = append(a.traps, t)
	case peopleFill:
		m.full = true
		a.in(p.of("room").between(3*time.Hour, 6*time.Hour), func() { m.full = false })
		m.fall(oneOf(p.of("ail"), silent, notReady), false, p.of("reboots").chance(0.5))
	case peopleSpare:
		m.node.spare(true)
		a.in(p.of("until").between(time.Hour, 3*time.Hour), func() { m.node.spare(false) })
	case peopleStop:
		m.fall(silent, false, p.of("reboots").chance(0.5))
		a.in(p.of("back").between(25*time.Minute, 50*time.Minute), m.cure) // about when an act would be due
	}
	m.touch()
}

// tagOnce tags the machine, and reports whether it did: an instance has one tag of a key.
func (m *machine) tagOnce(key, value string) bool {
	if m.hasTag(key) {
		return false
	}
	m.tags = append(slices.Clone(m.tags), tag{key, value})
	m.touch()
	return true
}

func (m *machine) untag(key string) {
	if key == roll.TagIgnore && m.hasTag(key) {
		m.unignored = m.c.a.Now()
	}
	m.tags = slices.DeleteFunc(slices.Clone(m.tags), func(t tag) bool { return t.key == key })
	m.touch()
}

// own gives the machine back the tag that shows its cluster, if a person took it, and room for more.
func (m *machine) own() {
	m.full = false
	if m.disowned {
		m.disowned, m.tags = false, append(slices.Clone(m.tags), m.c.owns())
		m.touch()
	}
}

func (a *account) heal() {
	a.note(Event{Kind: EventFault, Stage: "healed", Detail: "everything is healed"})
	a.silenced = map[string]bool{}
	a.dep.policy = a.sc.Policy
	for _, c := range a.clusters {
		if !c.exists() {
			for _, m := range slices.Clone(c.machines) {
				m.end("a person: the cluster is gone")
			}
			continue
		}
		c.status, c.shifted, c.ghosts, c.barred = "ACTIVE", "", false, false
		c.tag(c.spec.Mode)
		for _, g := range c.groups {
			g.repair, g.suspended, g.unlucky = g.spec.Repair, false, 0
			if g.dry.Sub(a.Now()) < 24*time.Hour { // dryForAMonth outlasts the repairs
				g.dry = time.Time{}
			}
			g.atEase()
			g.remap()
			g.mend()
			for _, m := range slices.Clone(g.members) {
				m.muted, m.protected, m.event, m.holds, m.relieved = false, false, nil, nil, false
				m.setAtEase()
				m.restore()
				m.rename()
				m.untag(roll.TagHold)
				m.untag(roll.TagIgnore)
				m.untag(roll.TagApprove)
				m.own()
				if m.node != nil && !m.node.spared.IsZero() {
					m.node.spare(false)
				}
				switch {
				case m.g.owner == karpenter && m.claim == nil && m.alive():
					m.end("a person: nothing owned it")
				case m.ail != well:
					m.cure()
				default:
					m.join()
				}
				if n := m.node; n != nil && n.cordoned && (n.annotations[roll.AnnotationCordoned] == "" || a.dep.lost && !n.ordered()) {
					n.annotate(roll.AnnotationCordoned, "")
					n.lift()
				}
			}
			g.reconcile()
		}
		c.buryGhosts()
		c.guestsLeave()
	}
}

func withMode(policy, mode string) string {
	lines := strings.Split(policy, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "mode:") {
			lines[i] = "mode: " + mode
		}
	}
	return strings.Join(lines, "\n")
}

// The status checks that fail.
const (
	checksInstance = "instance" // the instance status checks
	checksSystem   = "system"   // the system status checks
	checksBoth     = "both"     // both: a failed host also fails the instance's checks
)

var checkForms = []string{checksInstance, checksSystem, checksBoth}

func (m *machine) impair(f Fault, d dice) {
	m.checkFails = f.Value
	m.fall(impaired, false, false)
	since := m.since
	if m.recoverable() && d.of("recovers").chance(0.5) {
		m.c.a.in(d.of("recovered").between(2*time.Minute, 20*time.Minute), func() {
			if m.failsCheck() && m.since.Equal(since) {
				m.reboots = true
				m.reboot()
				m.arose(f, "EC2 recovers it on another host")
			}
		})
	}
	m.c.a.in(5*time.Minute, func() {
		if m.failsCheck() && m.since.Equal(since) {
			m.arose(f, "EC2 shows for five minutes that its status checks fail: "+f.Value)
		}
	})
}

// recoverable reports whether EC2's automatic recovery applies: to no Spot Instance, metal, or Auto Scaling group.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-configuration-recovery.html
func (m *machine) recoverable() bool {
	return (m.checkFails == checksSystem || m.checkFails == checksBoth) && m.g.asgName() == "" && !m.g.spot && !strings.HasSuffix(m.kind().Type, ".metal")
}
