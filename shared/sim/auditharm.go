package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	harmful  = 20 * time.Minute // for how long the pods of a cluster may be interrupted within a day
	restarts = 2 * time.Minute  // the minimum time until a pod runs elsewhere
)

// Harm is what Rollcall's acts did to the workload, beyond what the faults did.
type Harm struct {
	Pods    int           // working pods that were evicted or killed
	Minutes time.Duration // for which they did not run, in total
}

type harms struct {
	open  []interruption
	total Harm
	of    map[*cluster][]harmed // within a day
}

// interruption is an act that interrupted the pods of a machine that worked.
type interruption struct {
	at       time.Time
	m        *machine
	what     act
	pods     int
	accepted bool // the policy says that it may be interrupted, though it may still work
}

type harmed struct {
	at   time.Time
	time time.Duration
}

func (u *auditor) interrupts(inv *invocation, what act, m *machine) {
	if m == nil || !u.a.serving(m) {
		return
	}
	pods := 0
	switch what {
	case actEvict:
		pods = 1
	case actTerminate, actReboot, actDeleteClaim, actDeleteNode:
		for _, p := range m.pods() {
			if !p.daemon && p.leaving.IsZero() {
				pods++
			}
		}
	}
	if pods > 0 {
		u.harms.total.Pods += pods
		kept := func(p *pod) bool { return p.keep != "" }
		accepted := m.ail == failedGPU || m.serving && slices.ContainsFunc(m.pods(), kept) && !slices.ContainsFunc(m.pods(), u.policyOf(inv, m).spares)
		u.harms.open = append(u.harms.open, interruption{u.a.Now(), m, what, pods, accepted})
	}
}

// pods returns the pods that run on the machine, also while its Node is gone.
func (m *machine) pods() []*pod {
	switch {
	case m.node != nil:
		return m.node.pods
	case m.lost != nil:
		return m.lost.pods
	}
	return nil
}

// serving reports whether the machine's pods work and would continue to: neither the fault nor EC2 interrupts them.
func (a *account) serving(m *machine) bool {
	switch {
	case m.state != running || m.booting || m.muted || a.silenced[m.zone] || !m.c.exists() || m.elsewhere != "":
		return false
	case m.event != nil && m.event.over.IsZero(), m.claim != nil && !m.claim.deleting.IsZero():
		return false
	case m.serving:
		return true
	}
	switch m.ail {
	case well:
		return !m.settledAt.IsZero() && (m.node != nil && m.node.ready().Status == corev1.ConditionTrue || !m.vanished.IsZero() && m.lost == nil)
	case flapping, failedPart, short:
		return true
	case failedGPU:
		return m.gpu == gpuPerson
	}
	return false
}

// interrupted counts a minute of each interruption.
func (u *auditor) interrupted() {
	now := u.a.Now()
	u.harms.open = slices.DeleteFunc(u.harms.open, func(i interruption) bool {
		c := i.m.c
		lost := min(now.Sub(i.at), step) * time.Duration(i.pods)
		if u.harms.total.Minutes += lost; i.accepted {
			lost = 0
		}
		day := append(slices.DeleteFunc(u.harms.of[c], func(h harmed) bool { return now.Sub(h.at) >= 24*time.Hour }), harmed{now, lost})
		u.harms.of[c] = day
		sum := time.Duration(0)
		for _, h := range day {
			sum += h.time
		}
		u.forbids(RuleHarm, sum > harmful && sum-lost <= harmful, "pods of %s that worked were interrupted for %s within a day, the last %d by the %s of %s at %s", c.name, sum, i.pods, i.what, i.m.id, i.at.Format(time.TimeOnly))
		return !c.exists() || now.Sub(i.at) >= restarts && slices.ContainsFunc(c.machines, func(m *machine) bool {
			return (m != i.m || i.what == actReboot) && m.node != nil && !m.node.cordoned && u.a.serving(m)
		})
	})
}
