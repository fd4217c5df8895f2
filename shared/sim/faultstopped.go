package sim

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
)

// The ways in which a machine is stopped and started again.
const (
	stopsAndStarts = "stopped"    // for hours
	stopsShortly   = "shortly"    // for minutes, for example to change its type
	hibernated     = "hibernated" // its memory is kept, and its kubelet continues where it was
	stopsForGood   = "kept"       // until everything is healed
)

// standby is the state in which a person puts an instance of an Auto Scaling group before stopping
// it: otherwise the group would replace it.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-enter-exit-standby.html
const standby = "Standby"

// stoppedMachines: a person stops or hibernates working machines, and starts them again.
var stoppedMachines = faultType{
	kind: FaultStopped, weight: 2, need: 90 * time.Minute, least: time.Hour, most: 4 * time.Hour, count: 2,
	values: []string{stopsAndStarts, stopsShortly, hibernated, stopsForGood},
	shape:  []GroupSpec{{Name: "single", Owner: "none", Type: "m5.large", Desired: 4}, scaledNodes(4), pooledNodes(4)},
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		a := m.c.a
		if m.g.asgName() != "" {
			m.setAside(standby)
		}
		m.stop(f.Value == hibernated)
		m.arose(f, fmt.Sprintf("%s by a person", m.state))
		if m.g.owner == karpenter && d.of("queue").chance(0.3) {
			// Karpenter gets the event through its interruption queue, and treats the machine as gone.
			a.in(d.of("noticed").between(time.Minute, 3*time.Minute), func() {
				if m.state == stopped {
					m.leave("karpenter: it was stopped")
				}
			})
		}
		switch f.Value {
		case stopsForGood:
		case stopsShortly:
			a.in(d.of("back").between(2*time.Minute, 25*time.Minute), m.restart)
		default:
			a.in(f.For-20*time.Minute, m.restart)
		}
	}),
	relent: eachMember(func(m *machine, _ Fault) { m.restart() }),
}

// stop stops the machine, as a person would. Its Node remains; the cloud node lifecycle controller
// taints it.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/how-ec2-instance-stop-start-works.html
func (m *machine) stop(hibernates bool) {
	if m.state != running {
		return
	}
	a := m.c.a
	m.state, m.hibernates, m.restedAt = stopping, hibernates, a.Now()
	if hibernates {
		m.asleep = m.node
	}
	m.hush()
	m.booting = false
	m.boots++ // cancels a boot in progress
	m.touch()
	if e := m.event; e != nil && e.over.IsZero() {
		e.over, e.why = a.Now(), "Completed" // it starts on other hardware, for which the event is not
	}
	a.stateChanged(m)
	m.tell(EventAilment, "is stopped by a person")
	a.in(m.d.of("stop").nth(m.boots).between(15*time.Second, 90*time.Second), func() {
		if m.state != stopping {
			return
		}
		m.state = stopped
		m.touch()
		a.stateChanged(m)
		if n := m.node; n != nil {
			n.taint(corev1.Taint{Key: "node.cloudprovider.kubernetes.io/shutdown", Effect: corev1.TaintEffectNoSchedule})
		}
	})
}

// startedAgain is the detail of the event that a stopped machine has booted.
const startedAgain = "is started again"

// restart starts a stopped machine again. LaunchTime is the time of the start. A hibernated
// machine continues where it was: its kubelet does not register again.
func (m *machine) restart() {
	if m.state != stopped && m.state != stopping {
		return
	}
	a := m.c.a
	if m.state == stopping { // EC2 starts only stopped instances
		a.in(time.Minute, m.restart)
		return
	}
	m.state, m.started, m.muted = pending, a.Now(), a.silenced[m.zone]
	if m.muted {
		m.mutedAt = a.Now()
	}
	m.touch()
	m.boots++
	a.in(m.d.of("start").nth(m.boots).between(4*time.Second, 12*time.Second), func() {
		if m.state != pending {
			return
		}
		m.state = running
		m.touch()
		a.stateChanged(m)
		m.booted(m.g.kind.Boots+m.d.of("boots").nth(m.boots).between(20*time.Second, 60*time.Second), func() {
			m.restedAt = time.Time{}
			m.tell(EventAilment, startedAgain)
			m.rejoins()
		})
	})
	if m.g.owner != nobody {
		a.in(m.g.patience(), func() { m.g.watch(m) })
	}
}

// rejoins brings back the kubelet of a machine that was started again.
func (m *machine) rejoins() {
	if n := m.node; n != nil {
		n.untaint("node.cloudprovider.kubernetes.io/shutdown")
		if !m.hibernates {
			n.bootID = uid(m.d.of("bootid").nth(m.boots))
		}
		n.version = m.c.changed()
	}
	if m.aside == standby { // in which a person put it
		m.setAside("")
	}
	slept := m.asleep
	m.hibernates, m.asleep = false, nil
	if slept != nil && m.node == nil {
		// Its kubelet continues without a Node: it renews its lease, and registers only when the
		// kubelet restarts.
		m.vanished, m.lost, m.reporting = m.c.a.Now(), slept, true
		return
	}
	m.join()
}

// stateReason returns why the machine is stopped, as EC2 shows it, nil if it is not.
func (m *machine) stateReason(state machineState) *types.StateReason {
	switch {
	case state != stopping && state != stopped:
		return nil
	case m.hibernates:
		return &types.StateReason{Code: aws.String("Client.UserInitiatedHibernate"), Message: aws.String("Client.UserInitiatedHibernate: User initiated hibernate")}
	}
	return userShutdown
}
