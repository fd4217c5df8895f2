package host_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/host"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
	"rollcall/tests/harness/expect"
)

const (
	instance = roll.InstanceID("i-0123456789abcdef0")
	name     = "ip-10-0-1-17.eu-west-1.compute.internal"
	group    = roll.Group("nodegroup/web")
)

var (
	now     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	silence = now.Add(-40 * time.Minute) // when the control plane marked the node silent
	created = now.Add(-72 * time.Hour)
)

// world is a finding of a kind and what was read about it.
type world struct {
	*evidence.Evidence
	finding  roll.Finding
	node     evidence.Node
	instance evidence.Instance
}

func (w *world) ready() *evidence.Condition { return &w.node.Object.Value.Conditions[0] }

func condition(kind, status string) func(*world) {
	return func(w *world) {
		for i := range w.node.Object.Value.Conditions {
			if c := &w.node.Object.Value.Conditions[i]; c.Type == kind {
				c.Status, c.Reason = status, "KubeletSays"
			}
		}
	}
}

// remember makes an earlier check have seen a condition this long before the silence.
func remember(kind, status string, before time.Duration) func(*world) {
	return func(w *world) {
		r := &w.node.Remembered.Value
		r.At = silence.Add(-before)
		for i := range r.Conditions {
			if r.Conditions[i].Type == kind {
				r.Conditions[i].Status, r.Conditions[i].Since = status, r.At.Add(-10*time.Minute)
			}
		}
	}
}

// forkFails makes the node monitoring agent have reported, this long before the trouble, that the kubelet could not
// fork.
func forkFails(before time.Duration) func(*world) {
	return func(w *world) {
		conditions := &w.node.Object.Value.Conditions
		*conditions = slices.DeleteFunc(*conditions, func(c evidence.Condition) bool { return c.Type == "KernelReady" })
		*conditions = append(*conditions, evidence.Condition{Type: "KernelReady", Status: "False", Reason: "ForkFailedOutOfPIDs", Since: silence.Add(-before)})
	}
}

// event adds an event this long before the silence.
func event(reason, message string, before time.Duration) func(*world) {
	return func(w *world) {
		at := silence.Add(-before)
		w.node.Events.Value = append(w.node.Events.Value, evidence.Event{Reason: reason, Message: message, First: at, Last: at})
		slices.SortStableFunc(w.node.Events.Value, func(a, b evidence.Event) int { return a.Last.Compare(b.Last) })
	}
}

// leaves makes the node leave Ready three times, each this long after an event with the reason.
func leaves(reason string, after time.Duration) func(*world) {
	return func(w *world) {
		for _, before := range []time.Duration{15 * time.Minute, 10 * time.Minute, 5 * time.Minute} {
			event("NodeNotReady", "", before)(w)
			event(reason, "", before+after)(w)
		}
	}
}

// shows puts a sign on the console.
func shows(s console.Sign, detail string, boot int) func(*world) {
	return func(w *world) {
		log := &w.instance.Console.Value
		log.Found = append(log.Found, console.Found{Sign: s, Line: 80 + len(log.Found), Boot: boot, Excerpt: "[ 81.2] " + string(s) + " " + detail, Detail: detail})
	}
}

// latest sets when the console last showed the sign that was added last.
func latest(at time.Time) func(*world) {
	return func(w *world) {
		log := &w.instance.Console.Value
		log.Found[len(log.Found)-1].Latest = at.Sub(w.instance.Config.Value.Launched)
	}
}

// killedAt makes the console show a kill for lack of memory, this long after the second of two boots.
func killedAt(up time.Duration) func(*world) {
	return do(shows(console.OutOfMemory, "java", 2), boots(2), func(w *world) { w.instance.Console.Value.Found[0].Latest = up })
}

// goesOn makes the console show, in output of that time, that the machine was up for so long after its start.
func goesOn(up time.Duration, taken time.Time) func(*world) {
	return func(w *world) { w.instance.Console.Value.Up, w.instance.ConsoleAt = up, taken }
}

// do combines the changes of a world.
func do(steps ...func(*world)) func(*world) { return causetest.Do(steps...) }

// boots sets how many boots the console shows, capturedAt when it was captured.
func boots(n int) func(*world)             { return func(w *world) { w.instance.Console.Value.Boots = n } }
func capturedAt(at time.Time) func(*world) { return func(w *world) { w.instance.ConsoleAt = at } }

// of returns a healthy instance with a finding of the kind: the state of its node makes the
// finding, and nothing explains it.
func of(kind roll.Kind) *world {
	w := &world{finding: roll.Finding{Instance: instance, Node: name, Kind: kind, Stage: roll.Overdue, Group: group, Owner: roll.OwnerManagedNodeGroup, Since: silence, Began: silence}}
	ready := evidence.Condition{Type: "Ready", Status: "True", Reason: "KubeletReady", Since: created}
	pressure, heard := "False", now.Add(-5*time.Second)
	switch kind {
	case roll.Unknown:
		ready = evidence.Condition{Type: "Ready", Status: "Unknown", Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status.", Since: silence}
		pressure, heard = "Unknown", silence.Add(-50*time.Second)
	case roll.NotReady:
		ready = evidence.Condition{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: "PLEG is not healthy", Since: silence}
	case roll.ConditionFailed:
		w.finding.Condition = "KernelReady"
	}
	remembered := evidence.Remembered{At: silence.Add(-4 * time.Minute)}
	object := evidence.NodeObject{Name: name, Created: created, Conditions: []evidence.Condition{ready}}
	for _, t := range []string{roll.MemoryPressure, roll.DiskPressure, roll.PIDPressure} {
		object.Conditions = append(object.Conditions, evidence.Condition{Type: t, Status: pressure, Since: silence})
		remembered.Conditions = append(remembered.Conditions, evidence.Condition{Type: t, Status: "False", Reason: "KubeletSays", Since: created})
	}
	for _, t := range []string{"KernelReady", "NetworkingReady"} {
		object.Conditions = append(object.Conditions, evidence.Condition{Type: t, Status: "True", Since: created})
	}
	if kind == roll.ConditionFailed {
		object.Conditions[4].Status, object.Conditions[4].Reason = "False", "ForkFailedOutOfPID"
	}
	w.node = evidence.Node{
		Object: evidence.Read(object), Lease: evidence.Read(evidence.Lease{Renewed: heard, Duration: 40 * time.Second}),
		Events: evidence.Read([]evidence.Event{}), Pods: evidence.Read([]evidence.Pod{}), Remembered: evidence.Read(remembered),
	}
	w.instance = evidence.Instance{
		Config: evidence.Read(evidence.InstanceConfig{State: "running", Launched: created.Add(-time.Minute), ASG: "eks-web"}),
		Status: evidence.Read(evidence.InstanceStatus{Instance: "ok", System: "ok"}), Console: evidence.Read(console.Log{Lines: 300, Boots: 1}), ConsoleAt: now,
	}
	if kind == roll.Unregistered {
		w.finding.Node, w.finding.Since, w.finding.Began = "", now.Add(-20*time.Minute), now.Add(-20*time.Minute)
		w.instance.Config.Value.Launched = w.finding.Began
	}
	return w
}

func (w *world) analyze() *cause.Sheet {
	e := &evidence.Evidence{
		At: now, Region: "eu-west-1", ClusterID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "payments"},
		Instances: map[roll.InstanceID]evidence.Instance{instance: w.instance}, Nodes: map[string]evidence.Node{name: w.node},
		Groups: map[roll.Group]evidence.Group{group: {}},
	}
	s := &cause.Sheet{}
	host.Analyze(&evidence.Case{Evidence: e, Finding: w.finding}, s)
	return s
}

// Another instance of the image has no more space. What filled a disk later is the instance's own.
func TestAFullDiskAtBootIsTheImages(t *testing.T) {
	for kind, want := range map[roll.Kind]string{roll.Unregistered: "ami/ami-0d3b8c1f2a4e5d6f7", roll.Unknown: ""} {
		w := of(kind)
		w.instance.Config.Value.Image = "ami-0d3b8c1f2a4e5d6f7"
		shows(console.DiskFull, "cloud-init", 1)(w)
		w.instance.Console.Value.Boots = 2
		c := w.analyze().Causes()[0]
		expect.That(t, c.Code == cause.DiskFull && c.Subject == want && strings.HasSuffix(c.Summary, ", in a boot before the last"), "%s: %+v", kind, c)
		ends := strings.Contains(c.Fix, "terminate")
		expect.That(t, ends == (kind == roll.Unknown), "%s: %s", kind, c.Fix)
	}
}

func TestWhatBefellASilentNode(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*world)
		want  string
	}{
		{"nothing is known but its silence", func(*world) {}, "KubeletSilent"},
		{"its lease is fresh", func(w *world) { w.node.Lease.Value.Renewed = now.Add(-20 * time.Second) }, ""},
		{"its lease is renewed as the check looks", func(w *world) { w.node.Lease.Value.Renewed = now.Add(time.Second) }, ""},
		{"its lease ran out a moment ago", func(w *world) { w.node.Lease.Value.Renewed = now.Add(-60 * time.Second) }, "KubeletSilent?"},
		{"its lease is good for longer than usual", func(w *world) {
			w.node.Lease.Value = evidence.Lease{Renewed: now.Add(-4 * time.Minute), Duration: 5 * time.Minute}
		}, ""},
		{"it has no lease", func(w *world) { w.node.Lease = evidence.None[evidence.Lease]() }, "KubeletSilent"},
		{"its lease was not read", func(w *world) { w.node.Lease = evidence.Failed[evidence.Lease]("why") }, ""},
		{"it is Ready again", func(w *world) { w.ready().Status = "True" }, ""},
		{"nobody gives a reason", func(w *world) { w.ready().Reason = "" }, "KubeletSilent?"},
		{"it never reported", func(w *world) { w.ready().Reason = "NodeStatusNeverUpdated" }, "NeverReported"},
		{"it has no condition Ready yet", func(w *world) { w.node.Object.Value.Conditions = nil }, "NeverReported?"},
		{"the node was not read", func(w *world) { w.node.Object = evidence.Failed[evidence.NodeObject]("why") }, ""},

		{"short of memory at the check before", remember(roll.MemoryPressure, "True", 4*time.Minute), "MemoryPressurePreceded KubeletSilent"},
		{"short of disk at the check before", remember(roll.DiskPressure, "True", 4*time.Minute), "DiskPressurePreceded KubeletSilent"},
		{"short of processes at the check before", remember(roll.PIDPressure, "True", 4*time.Minute), "PidPressurePreceded KubeletSilent"},
		{"its kubelet could not fork just before", forkFails(4 * time.Minute), "PidPressurePreceded? KubeletSilent"},
		{"its kubelet could not fork long before", forkFails(16 * time.Minute), "KubeletSilent"},
		{"its kubelet could not fork after it was silent", forkFails(-4 * time.Minute), "KubeletSilent"},
		{"its kernel has another fault", do(forkFails(4*time.Minute), condition("KernelReady", "False")), "KubeletSilent"},
		{"short of memory hours before", remember(roll.MemoryPressure, "True", 3*time.Hour), "MemoryPressurePreceded? KubeletSilent"},
		{"short of memory, and said to be over", do(remember(roll.MemoryPressure, "True", 10*time.Minute), event("NodeHasSufficientMemory", "", 3*time.Minute)),
			"KubeletSilent MemoryPressurePreceded?"},
		{"short of memory since it went silent", remember(roll.MemoryPressure, "True", -20*time.Minute), "KubeletSilent"},
		{"the ledger saw it end", func(w *world) {
			w.node.Remembered.Value.Conditions = []evidence.Condition{{Type: roll.MemoryPressure, Status: "False", Since: silence.Add(-6 * time.Minute)}}
		}, "KubeletSilent MemoryPressurePreceded?"},
		{"the ledger saw it end long ago", func(w *world) {
			w.node.Remembered.Value.Conditions = []evidence.Condition{{Type: roll.MemoryPressure, Status: "False", Since: silence.Add(-50 * time.Minute)}}
		}, "KubeletSilent"},
		{"its kubelet said so", event("NodeHasInsufficientMemory", "", 20*time.Minute), "MemoryPressurePreceded KubeletSilent"},
		{"its kubelet said so, and took it back long before", do(event("NodeHasInsufficientMemory", "", 40*time.Minute), event("NodeHasSufficientMemory", "", 30*time.Minute)), "KubeletSilent"},
		{"its kubelet took it back just before", do(event("NodeHasInsufficientMemory", "", 20*time.Minute), event("NodeHasSufficientMemory", "", 5*time.Minute)),
			"KubeletSilent MemoryPressurePreceded?"},
		{"its kubelet took it back, and said so again", do(event("NodeHasInsufficientMemory", "", 20*time.Minute), event("NodeHasSufficientMemory", "", 10*time.Minute), event("NodeHasInsufficientMemory", "", 2*time.Minute)), "MemoryPressurePreceded KubeletSilent"},
		{"another node of its name said so", do(func(w *world) { w.node.Object.Value.Created = silence.Add(-10 * time.Minute) }, event("NodeHasInsufficientMemory", "", 20*time.Minute)),
			"KubeletSilent"},
		{"it said so before the instance was started again",
			do(func(w *world) { w.instance.Config.Value.Launched = silence.Add(-10 * time.Minute) }, event("NodeHasInsufficientMemory", "", 20*time.Minute)), "KubeletSilent"},
		{"it has enough of all, said at its start", do(event("NodeHasSufficientMemory", "", 5*time.Minute), event("NodeHasNoDiskPressure", "", 5*time.Minute)), "KubeletSilent"},
		{"the kernel killed for lack of memory", event("SystemOOM", "System OOM encountered, victim process: java, pid: 4711", 3*time.Minute), "MemoryPressurePreceded KubeletSilent"},
		{"the kernel killed for lack of memory half an hour before", event("SystemOOM", "System OOM encountered", 30*time.Minute), "MemoryPressurePreceded? KubeletSilent"},
		{"it reclaimed memory", event("EvictionThresholdMet", "Attempting to reclaim memory", 3*time.Minute), "MemoryPressurePreceded KubeletSilent"},
		{"it reclaimed disk", event("EvictionThresholdMet", "Attempting to reclaim ephemeral-storage", 3*time.Minute), "DiskPressurePreceded KubeletSilent"},
		{"it reclaimed inodes", event("EvictionThresholdMet", "Attempting to reclaim inodes", 3*time.Minute), "DiskPressurePreceded KubeletSilent"},
		{"it reclaimed memory, and had enough then", do(event("EvictionThresholdMet", "Attempting to reclaim memory", 14*time.Minute), event("NodeHasSufficientMemory", "", 3*time.Minute)),
			"KubeletSilent MemoryPressurePreceded?"},
		{"the console shows the kernel kill", shows(console.OutOfMemory, "java", 1), "OutOfMemory KubeletSilent MemoryPressurePreceded?"},
		{"it killed in an earlier boot", do(shows(console.OutOfMemory, "java", 1), boots(2)), "OutOfMemory? KubeletSilent"},
		{"it killed long before, and the machine went on", do(shows(console.OutOfMemory, "java", 1), latest(silence.Add(-31*time.Minute))), "OutOfMemory? KubeletSilent"},
		{"it killed shortly before", do(shows(console.OutOfMemory, "java", 1), latest(silence.Add(-29*time.Minute))), "OutOfMemory KubeletSilent MemoryPressurePreceded?"},
		{"it killed at a time that a lost beginning of the console hides", func(w *world) {
			shows(console.OutOfMemory, "java", 1)(w)
			latest(silence.Add(-31 * time.Minute))(w)
			w.instance.Console.Value.Truncated = true
		}, "OutOfMemory KubeletSilent MemoryPressurePreceded?"},
		{"it killed long before, in the second boot that the console shows", do(shows(console.OutOfMemory, "java", 2), boots(2), latest(silence.Add(-31*time.Minute))), "OutOfMemory KubeletSilent MemoryPressurePreceded?"},
		{"it killed at an unknown time, and the machine went on for long", do(killedAt(time.Hour), goesOn(3*time.Hour, silence.Add(70*time.Minute))), "OutOfMemory? KubeletSilent"},
		{"it killed at an unknown time, and the machine went on, perhaps only after its node was silent", do(killedAt(time.Hour), goesOn(3*time.Hour, silence.Add(90*time.Minute))), "OutOfMemory KubeletSilent MemoryPressurePreceded?"},
		{"it killed at an unknown time, and the machine went on, in output from before", do(killedAt(time.Hour), goesOn(3*time.Hour, silence.Add(-time.Minute))), "OutOfMemory? KubeletSilent"},
		{"it killed at an unknown time, and that of the output is unknown", do(killedAt(time.Hour), goesOn(100*time.Minute, time.Time{})), "OutOfMemory KubeletSilent MemoryPressurePreceded?"},
		{"it killed at an unknown time, and the machine went on for days", do(killedAt(time.Hour), goesOn(100*time.Hour, time.Time{})), "OutOfMemory? KubeletSilent"},
		{"its kernel panicked, and printed for long", do(shows(console.KernelPanic, "Fatal exception", 2), boots(2), goesOn(100*time.Hour, now)), "KernelPanic KubeletSilent"},
		{"its kernel panicked long before", do(shows(console.KernelPanic, "Fatal exception", 1), latest(silence.Add(-31*time.Minute))), "KernelPanic KubeletSilent"},
		{"the kernel killed before its last heartbeat, which was long before the control plane noticed",
			do(func(w *world) { w.node.Lease.Value.Renewed = silence.Add(-20 * time.Minute) }, event("SystemOOM", "System OOM encountered", 30*time.Minute)), "MemoryPressurePreceded KubeletSilent"},
		{"the kernel killed, and the instance was not read", do(event("SystemOOM", "System OOM encountered", 3*time.Minute), func(w *world) { w.instance.Config = evidence.Failed[evidence.InstanceConfig]("denied") }), "MemoryPressurePreceded? KubeletSilent"},
		{"a disk was full long before, and the machine went on", do(shows(console.DiskFull, "cloud-init", 1), latest(silence.Add(-31*time.Minute))), "DiskFull? KubeletSilent"},
		{"it killed, in output from just before", do(shows(console.OutOfMemory, "java", 1), capturedAt(silence.Add(-10*time.Minute))), "MemoryPressurePreceded? OutOfMemory? KubeletSilent"},
		{"it killed, in output from long before", do(shows(console.OutOfMemory, "java", 1), capturedAt(silence.Add(-10*time.Hour))), "KubeletSilent"},
		{"it killed, in output without a time", do(shows(console.OutOfMemory, "java", 1), capturedAt(time.Time{})), "OutOfMemory KubeletSilent MemoryPressurePreceded?"},

		{"its kernel panicked", shows(console.KernelPanic, "Fatal exception", 1), "KernelPanic KubeletSilent"},
		{"its kernel panicked, and booted since", do(shows(console.KernelPanic, "Fatal exception", 1), boots(2)), "KernelPanic? KubeletSilent"},
		{"its kernel panicked, and the node was heard after that", do(shows(console.KernelPanic, "Fatal exception", 1), capturedAt(silence.Add(-10*time.Minute))), "KubeletSilent"},
		{"the panic's boot began before what EC2 keeps",
			do(shows(console.KernelPanic, "Fatal exception", 0), func(w *world) { w.instance.Console.Value.Boots, w.instance.Console.Value.Truncated = 0, true }), "KernelPanic KubeletSilent"},
		{"its disk is full", shows(console.DiskFull, "containerd", 1), "DiskFull KubeletSilent"},
		{"its disk was full an earlier boot", do(shows(console.DiskFull, "containerd", 1), boots(2)), "DiskFull? KubeletSilent"},

		{"EC2 does not reach its system", func(w *world) { w.instance.Status.Value.Instance = "impaired" }, "InstanceStatusImpaired KubeletSilent"},
		{"the host below it fails", func(w *world) { w.instance.Status.Value.System = "impaired" }, "SystemStatusImpaired KubeletSilent"},
		{"EC2 is not sure", func(w *world) { w.instance.Status.Value.Instance = "insufficient-data" }, "KubeletSilent"},
		{"it is stopped", func(w *world) { w.instance.Config.Value.State = "stopped" }, "InstanceStopped KubeletSilent"},
		{"it is being stopped", func(w *world) { w.instance.Config.Value.State = "stopping" }, "InstanceStopped KubeletSilent"},
		{"it is being ended", func(w *world) { w.instance.Config.Value.State = "shutting-down" }, "KubeletSilent"},
	}
	for _, tt := range tests {
		w := of(roll.Unknown)
		tt.spoil(w)
		s := w.analyze()
		expect.Equal(t, causetest.Told(s), tt.want, "%s", tt.name)
		whole(t, tt.name, s)
	}
}

// whole checks that every cause on a sheet is complete, has its subject, and that no reason is missing.
func whole(t *testing.T, name string, s *cause.Sheet) {
	t.Helper()
	causetest.Whole(t, name, s)
	for _, c := range s.Causes() {
		expect.Equal(t, c.Subject, "", "%s: subject of %s", name, c.Code)
	}
}

func TestWhatBefellAnInstanceThatIsNotSilent(t *testing.T) {
	tests := []struct {
		name  string
		kind  roll.Kind
		spoil func(*world)
		want  string
	}{
		{"a node that is not ready", roll.NotReady, func(*world) {}, ""},
		{"it runs short of memory now", roll.NotReady, condition(roll.MemoryPressure, "True"), "MemoryPressurePreceded?"},
		{"it runs short of disk while it starts", roll.Uninitialized, condition(roll.DiskPressure, "True"), "DiskPressurePreceded?"},
		{"it is not ready, and its kubelet could not fork", roll.NotReady, forkFails(4 * time.Minute), "PidPressurePreceded?"},
		{"it runs short of processes and flaps", roll.Flapping, condition(roll.PIDPressure, "True"), "PidPressurePreceded?"},
		{"it ran short before, and has enough now", roll.NotReady, remember(roll.MemoryPressure, "True", time.Minute), ""},
		{"it says that a disk is full", roll.NotReady, func(w *world) {
			w.ready().Message = "container runtime is down: mkdir /var/lib/x: No space left on device"
		}, "DiskFull"},
		{"it says that a file system in memory is full", roll.NotReady, func(w *world) { w.ready().Message = "container runtime is down: mkdir /run/x: No space left on device" }, ""},
		{"it was Ready with that message", roll.Uninitialized, func(w *world) { w.ready().Message = "no space left on device" }, ""},
		{"the kernel killed on a node that reports", roll.NotReady, shows(console.OutOfMemory, "java", 1), "OutOfMemory?"},
		{"it panicked and reports again", roll.NotReady, do(shows(console.KernelPanic, "Fatal exception", 1), boots(2)), "KernelPanic?"},
		{"old output shows a panic of a node that reports", roll.NotReady, shows(console.KernelPanic, "Fatal exception", 1), ""},
		{"it flaps, and panicked", roll.Flapping, shows(console.KernelPanic, "Fatal exception", 1), "KernelPanic?"},
		{"kills for lack of memory came before it left Ready", roll.Flapping, leaves("SystemOOM", 30*time.Second), "OutOfMemory"},
		{"kills came after it", roll.Flapping, leaves("SystemOOM", -time.Minute), "OutOfMemory?"},
		{"it ran short of processes before it left Ready", roll.Flapping, leaves("NodeHasInsufficientPID", time.Minute), "PidPressurePreceded"},
		{"its kubelet was started before it left Ready", roll.Flapping, leaves("Starting", time.Minute), ""},
		{"its machine was rebooted, and panicked in the boot before", roll.Flapping, do(leaves("Rebooted", -time.Minute), shows(console.KernelPanic, "Fatal exception", 1), boots(2)), "KernelPanic"},
		{"it was rebooted once", roll.Flapping, do(event("Rebooted", "", time.Minute), shows(console.KernelPanic, "Fatal exception", 1), boots(2)), "KernelPanic?"},
		{"it was rebooted twice", roll.Flapping, do(event("Rebooted", "", time.Minute), event("Rebooted", "", 9*time.Minute), shows(console.KernelPanic, "Fatal exception", 1), boots(2)), "KernelPanic"},
		{"it was rebooted twice, and panicked in the last boot", roll.Flapping, do(event("Rebooted", "", time.Minute), event("Rebooted", "", 9*time.Minute), shows(console.KernelPanic, "Fatal exception", 1)), "KernelPanic?"},
		{"it was rebooted twice, and ran out of memory in the boot before", roll.Flapping, do(event("Rebooted", "", time.Minute), event("Rebooted", "", 9*time.Minute), shows(console.OutOfMemory, "java", 1), boots(2)), "OutOfMemory?"},
		{"a kill before the one time that it left Ready", roll.Flapping, do(event("NodeNotReady", "", 5*time.Minute), event("SystemOOM", "", 6*time.Minute)), "OutOfMemory?"},
		{"kills before half of the times that it left Ready", roll.Flapping, do(leaves("SystemOOM", time.Minute), leaves("Starting", time.Minute), func(w *world) {
			for i, e := range w.node.Events.Value {
				if e.Reason == "NodeNotReady" && i%2 == 0 {
					w.node.Events.Value[i].Last = e.Last.Add(-16 * time.Minute)
				}
			}
		}), "OutOfMemory"},
		{"kills before it left Ready, and the instance was not read", roll.Flapping, do(leaves("SystemOOM", time.Minute), func(w *world) { w.instance.Config = evidence.Failed[evidence.InstanceConfig]("denied") }), "OutOfMemory?"},
		{"its runtime is down, and found no space", roll.NotReady, shows(console.DiskFull, "containerd", 1), "DiskFull"},
		{"its runtime is down, and another program found no space", roll.NotReady, shows(console.DiskFull, "cloud-init", 1), "DiskFull?"},
		{"its runtime is down, and was killed for lack of memory", roll.NotReady, shows(console.OutOfMemory, "containerd", 1), "OutOfMemory?"},
		{"it is not ready for something else, and its runtime found no space", roll.NotReady, do(func(w *world) { w.ready().Message = "cni plugin not initialized" }, shows(console.DiskFull, "containerd", 1)), "DiskFull?"},
		{"a kill on a node that reports", roll.NotReady, event("SystemOOM", "", 2*time.Minute), "OutOfMemory?"},
		{"EC2 does not reach a node that reports", roll.NotReady, func(w *world) { w.instance.Status.Value.Instance = "impaired" }, "InstanceStatusImpaired?"},
		{"a node that reports is being stopped", roll.NotReady, func(w *world) { w.instance.Config.Value.State = "stopping" }, "InstanceStopped"},

		{"an instance that never registered", roll.Unregistered, func(*world) {}, ""},
		{"its kernel panicked", roll.Unregistered, shows(console.KernelPanic, "VFS: Unable to mount root fs", 1), "KernelPanic"},
		{"it ran out of memory as it booted", roll.Unregistered, shows(console.OutOfMemory, "dnf", 1), "OutOfMemory"},
		{"its disk was full as it booted", roll.Unregistered, shows(console.DiskFull, "cloud-init", 1), "DiskFull"},
		{"its output is from before it was started again", roll.Unregistered, do(shows(console.KernelPanic, "Fatal exception", 1), func(w *world) { w.instance.ConsoleAt = w.instance.Config.Value.Launched.Add(-time.Hour) }), ""},
		{"EC2 does not reach it", roll.Unregistered, func(w *world) { w.instance.Status.Value.Instance = "impaired" }, "InstanceStatusImpaired"},

		{"an impaired instance", roll.Impaired, func(w *world) { w.instance.Status.Value.Instance = "impaired" }, "InstanceStatusImpaired"},
		{"its kernel panicked", roll.Impaired, do(func(w *world) { w.instance.Status.Value.Instance = "impaired" }, shows(console.KernelPanic, "Fatal exception", 1)),
			"KernelPanic InstanceStatusImpaired"},
		{"its host fails, and its kernel killed", roll.Impaired, do(func(w *world) { w.instance.Status.Value.System = "impaired" }, shows(console.OutOfMemory, "java", 1)),
			"SystemStatusImpaired OutOfMemory?"},
		{"it passes again", roll.Impaired, func(*world) {}, ""},
		{"a volume of it", roll.Impaired, func(w *world) { w.instance.Status.Value.AttachedEBS = "impaired" }, "AttachedEbsImpaired?"},
		{"its host, and so its volumes", roll.Impaired, func(w *world) {
			w.instance.Status.Value.System, w.instance.Status.Value.AttachedEBS = "impaired", "impaired"
		}, "SystemStatusImpaired AttachedEbsImpaired?"},
		{"what runs on it", roll.Impaired, func(w *world) { w.instance.Status.Value.Application = "impaired" }, "ApplicationStatusImpaired?"},
		{"it is slow", roll.Impaired, func(w *world) { w.instance.Status.Value.Performance = "impaired" }, "PerformanceStatusImpaired?"},
		{"of a volume EC2 knows nothing", roll.Impaired, func(w *world) { w.instance.Status.Value.AttachedEBS = "insufficient-data" }, ""},
		{"a volume of a silent node", roll.Unregistered, func(w *world) { w.instance.Status.Value.AttachedEBS = "impaired" }, ""},

		{"a condition of the agent alone", roll.ConditionFailed, func(*world) {}, "MonitoringConditionLatched"},
		{"it was told again since", roll.ConditionFailed, event("ForkFailedOutOfPID", "again", -5*time.Minute), "MonitoringConditionLatched?"},
		{"an event of the condition came since", roll.ConditionFailed, event("KernelReady", "ForkFailedOutOfPID: again", -5*time.Minute), "MonitoringConditionLatched?"},
		{"it was told when it was set", roll.ConditionFailed, event("ForkFailedOutOfPID", "once", silence.Sub(created)), "MonitoringConditionLatched"},
		{"another trouble was told since", roll.ConditionFailed, event("Rebooted", "", -5*time.Minute), "MonitoringConditionLatched"},
		{"its events were not read", roll.ConditionFailed, func(w *world) { w.node.Events = evidence.Failed[[]evidence.Event]("denied") }, "MonitoringConditionLatched?"},
		{"two of them", roll.ConditionFailed, condition("NetworkingReady", "False"), "MonitoringConditionLatched?"},
		{"it runs short of memory too", roll.ConditionFailed, condition(roll.MemoryPressure, "True"), "MonitoringConditionLatched?"},
		{"its file system is read-only too", roll.ConditionFailed, func(w *world) {
			w.node.Object.Value.Conditions = append(w.node.Object.Value.Conditions, evidence.Condition{Type: "ReadonlyFilesystem", Status: "True"})
		}, "MonitoringConditionLatched?"},
		{"EC2 is still looking at it", roll.ConditionFailed, func(w *world) { w.instance.Status.Value.System = "initializing" }, "MonitoringConditionLatched?"},
		{"EC2 does not reach it", roll.ConditionFailed, func(w *world) { w.instance.Status.Value.Instance = "impaired" }, ""},
		{"the host below it fails", roll.ConditionFailed, func(w *world) { w.instance.Status.Value.System = "impaired" }, ""},
		{"the agent gave no reason", roll.ConditionFailed, func(w *world) { w.node.Object.Value.Conditions[4].Reason = "" }, "MonitoringConditionLatched?"},
		{"its lease ran out", roll.ConditionFailed, func(w *world) { w.node.Lease.Value.Renewed = now.Add(-time.Hour) }, ""},
		{"it is not Ready", roll.ConditionFailed, func(w *world) { w.ready().Status = "False" }, ""},
		{"the condition is True again", roll.ConditionFailed, condition("KernelReady", "True"), ""},
		{"another agent's condition", roll.ConditionFailed, func(w *world) { w.finding.Condition = "KernelDeadlock" }, ""},
	}
	for _, tt := range tests {
		w := of(tt.kind)
		tt.spoil(w)
		s := w.analyze()
		expect.Equal(t, causetest.Told(s), tt.want, "%s, %s", tt.kind, tt.name)
		whole(t, string(tt.kind)+", "+tt.name, s)
	}
}

func TestWhatIsInOrderIsRuledOut(t *testing.T) {
	tests := []struct {
		kind  roll.Kind
		spoil func(*world)
		want  []cause.Code
	}{
		{roll.Unknown, func(w *world) { w.node.Lease.Value.Renewed = now }, []cause.Code{
			cause.InstanceStopped, cause.SystemStatusImpaired, cause.DiskPressurePreceded,
			cause.InstanceStatusImpaired, cause.NeverReported, cause.KubeletSilent}},
		{roll.NotReady, func(*world) {}, []cause.Code{
			cause.InstanceStopped, cause.SystemStatusImpaired, cause.KernelPanic, cause.MemoryPressurePreceded, cause.DiskPressurePreceded, cause.InstanceStatusImpaired}},
		{roll.Unregistered, func(*world) {}, []cause.Code{cause.InstanceStopped, cause.SystemStatusImpaired, cause.InstanceStatusImpaired}},
		{roll.ConditionFailed, condition("KernelReady", "True"), []cause.Code{cause.InstanceStopped, cause.MonitoringConditionLatched}},
		{roll.Ghost, func(*world) {}, nil},
	}
	for _, tt := range tests {
		w := of(tt.kind)
		tt.spoil(w)
		expect.List(t, w.analyze().Clear(), tt.want, "%s: ruled out", tt.kind)
	}
}

func TestWhatWasNotReadIsNotChecked(t *testing.T) {
	pressures := []cause.Code{cause.MemoryPressurePreceded, cause.DiskPressurePreceded, cause.PidPressurePreceded}
	shown := []cause.Code{cause.KernelPanic, cause.OutOfMemory, cause.DiskFull}
	tests := []struct {
		name  string
		kind  roll.Kind
		spoil func(*world)
		codes []cause.Code
		words string
	}{
		{"the node", roll.Unknown, func(w *world) { w.node.Object = evidence.Failed[evidence.NodeObject]("no permission") }, []cause.Code{cause.KubeletSilent, cause.NeverReported}, "no permission"},
		{"the node is gone", roll.NotReady, func(w *world) { w.node.Object = evidence.None[evidence.NodeObject]() }, pressures, "there is no node " + name},
		{"the lease", roll.Unknown, func(w *world) { w.node.Lease = evidence.Skipped[evidence.Lease]("") }, []cause.Code{cause.KubeletSilent}, "was not read"},
		{"what an earlier check saw", roll.Unknown, func(w *world) { w.node.Remembered = evidence.Failed[evidence.Remembered]("throttled") }, pressures, "throttled"},
		{"no earlier check saw it", roll.Unknown, func(w *world) { w.node.Remembered = evidence.None[evidence.Remembered]() }, pressures, "proves nothing"},
		{"the check before lies long back", roll.Unknown, func(w *world) { w.node.Remembered.Value.At = silence.Add(-5 * time.Hour) }, pressures, "shortly before"},
		{"nor its events", roll.Unknown, func(w *world) {
			w.node.Remembered = evidence.None[evidence.Remembered]()
			w.node.Events = evidence.Failed[[]evidence.Event]("events: forbidden")
		}, pressures, "events: forbidden"},
		{"enough memory was seen", roll.Unknown, func(*world) {}, []cause.Code{cause.MemoryPressurePreceded}, "within seconds"},
		{"enough was seen, and the events since may be gone", roll.Unknown, func(w *world) {
			w.node.Remembered.Value.At = now.Add(-time.Hour)
		}, pressures, "those since the check may be gone"},
		{"no shortage of process ids was seen", roll.Unknown, func(*world) {}, []cause.Code{cause.PidPressurePreceded}, "pid.available"},
		{"no shortage of process ids is told", roll.NotReady, func(*world) {}, []cause.Code{cause.PidPressurePreceded}, "pid.available"},
		{"a pressure is not told", roll.NotReady, condition(roll.MemoryPressure, "Unknown"), []cause.Code{cause.MemoryPressurePreceded}, "does not report"},
		{"it reports no pressures", roll.NotReady, func(w *world) { w.node.Object.Value.Conditions = w.node.Object.Value.Conditions[:1] }, pressures, "does not report"},
		{"the console", roll.Unknown, func(w *world) { w.instance.Console = evidence.Failed[console.Log]("sampled") }, shown, "sampled"},
		{"the console is empty", roll.Unknown, func(w *world) { w.instance.Console.Value = console.Log{} }, shown, "no console output"},
		{"the console shows nothing", roll.Unknown, func(*world) {}, shown, "proves nothing"},
		{"the status checks", roll.Unknown, func(w *world) { w.instance.Status = evidence.Failed[evidence.InstanceStatus]("denied") }, []cause.Code{cause.InstanceStatusImpaired, cause.SystemStatusImpaired}, "denied"},
		{"a check that has not ended", roll.Unknown, func(w *world) { w.instance.Status.Value.Instance = "initializing" }, []cause.Code{cause.InstanceStatusImpaired}, "initializing"},
		{"the instance", roll.Unknown, func(w *world) { w.instance.Config = evidence.Failed[evidence.InstanceConfig]("denied") }, []cause.Code{cause.InstanceStopped}, "denied"},
		{"the lease beside a condition", roll.ConditionFailed, func(w *world) { w.node.Lease = evidence.Failed[evidence.Lease]("denied") }, []cause.Code{cause.MonitoringConditionLatched}, "denied"},
		{"the checks beside a condition", roll.ConditionFailed, func(w *world) { w.instance.Status = evidence.Failed[evidence.InstanceStatus]("denied") }, []cause.Code{cause.MonitoringConditionLatched}, "denied"},
	}
	for _, tt := range tests {
		w := of(tt.kind)
		tt.spoil(w)
		causetest.NotChecked(t, tt.name, w.analyze(), tt.words, tt.codes...)
	}
}

func TestTheFixNamesTheInstanceAndItsOwner(t *testing.T) {
	w := of(roll.Unknown)
	remember(roll.MemoryPressure, "True", time.Minute)(w)
	causes := w.analyze().Causes()
	for _, part := range []string{"aws ec2 reboot-instances --instance-ids i-0123456789abcdef0 --region eu-west-1", "spec.nodeName=" + name} {
		expect.That(t, strings.Contains(causes[0].Fix, part), "%s\nlacks %s", causes[0].Fix, part)
	}
	part := "aws autoscaling terminate-instance-in-auto-scaling-group --region eu-west-1 --instance-id i-0123456789abcdef0 --no-should-decrement-desired-capacity"
	expect.That(t, strings.Contains(causes[1].Fix, part), "%s\nlacks %s", causes[1].Fix, part)
}

// What the console shows about a hanging machine is reported with the silence. The evidence is
// lost with the instance.
func TestAFixLooksBeforeItActs(t *testing.T) {
	acts := []string{"aws ec2 reboot-instances", "aws ec2 terminate-instances", "aws autoscaling terminate-instance-in-auto-scaling-group", "kubectl delete nodeclaim"}
	for _, tt := range []struct {
		name  string
		kind  roll.Kind
		spoil func(*world)
		code  cause.Code
	}{
		{"memory", roll.Unknown, remember(roll.MemoryPressure, "True", time.Minute), cause.MemoryPressurePreceded},
		{"disk", roll.Unknown, remember(roll.DiskPressure, "True", time.Minute), cause.DiskPressurePreceded},
		{"processes", roll.Unknown, remember(roll.PIDPressure, "True", time.Minute), cause.PidPressurePreceded},
		{"killed", roll.Unknown, shows(console.OutOfMemory, "java", 1), cause.OutOfMemory},
		{"full", roll.Unknown, shows(console.DiskFull, "containerd", 1), cause.DiskFull},
		{"panic", roll.Unknown, shows(console.KernelPanic, "", 1), cause.KernelPanic},
		{"silence", roll.Unknown, func(*world) {}, cause.KubeletSilent},
		{"status", roll.Impaired, func(w *world) { w.instance.Status.Value.Instance = "impaired" }, cause.InstanceStatusImpaired},
	} {
		w := of(tt.kind)
		tt.spoil(w)
		causes := w.analyze().Causes()
		i := slices.IndexFunc(causes, func(c roll.Cause) bool { return c.Code == tt.code })
		if i < 0 {
			t.Errorf("%s: no %s among %v", tt.name, tt.code, causes)
			continue
		}
		acted := false
		for line := range strings.Lines(causes[i].Fix) {
			act := slices.ContainsFunc(acts, func(a string) bool { return strings.HasPrefix(line, a) })
			if looks := !act && !strings.HasPrefix(line, "#"); looks && acted {
				t.Errorf("%s: %q comes after an act:\n%s", tt.name, line, causes[i].Fix)
			}
			acted = acted || act
		}
		expect.That(t, acted, "%s: no act in the fix\n%s", tt.name, causes[i].Fix)
	}
}

func TestSignsWithoutACodeStandBesideTheSilence(t *testing.T) {
	w := of(roll.Unknown)
	shows(console.CPUStuck, "kworker/0:1", 1)(w)
	c := w.analyze().Causes()[0]
	last := c.Evidence[len(c.Evidence)-1]
	expect.That(t, last.Source == "console" && strings.Contains(last.Observed, "kworker"), "%+v", c.Evidence)
}

// Whatever is unreadable, nothing becomes decisive that was not. The worlds do not contradict
// themselves: if one source calls a pressure over and another does not, the first may be
// hidden.
func TestWhatIsHiddenIsNeverAFault(t *testing.T) {
	spoil := []func(*world){
		remember(roll.MemoryPressure, "True", 4*time.Minute),
		remember(roll.DiskPressure, "True", 40*time.Minute),
		event("NodeHasInsufficientPID", "", 50*time.Minute),
		event("SystemOOM", "System OOM encountered", 10*time.Minute),
		func(w *world) { w.node.Object.Value.Created = silence.Add(-30 * time.Minute) },
		func(w *world) { w.instance.Config.Value.Launched = silence.Add(-20 * time.Minute) },
		shows(console.OutOfMemory, "java", 1),
		shows(console.KernelPanic, "Fatal exception", 1),
		func(w *world) { w.instance.Console.Value.Boots = 2 },
		func(w *world) { w.instance.ConsoleAt = silence.Add(-10 * time.Minute) },
		func(w *world) { w.instance.Status.Value.Instance = "impaired" },
		func(w *world) { w.instance.Config.Value.State = "stopped" },
		func(w *world) { w.node.Lease.Value.Renewed = now },
		condition("NetworkingReady", "False"),
		condition(roll.MemoryPressure, "True"),
	}
	hide := []func(*world, string){
		func(w *world, why string) { w.node.Object = evidence.Failed[evidence.NodeObject](why) },
		func(w *world, why string) { w.node.Lease = evidence.Failed[evidence.Lease](why) },
		func(w *world, why string) { w.node.Events = evidence.Skipped[[]evidence.Event](why) },
		func(w *world, why string) { w.node.Pods = evidence.Failed[[]evidence.Pod](why) },
		func(w *world, why string) { w.node.Remembered = evidence.Skipped[evidence.Remembered](why) },
		func(w *world, why string) { w.instance.Config = evidence.Failed[evidence.InstanceConfig](why) },
		func(w *world, why string) { w.instance.Status = evidence.Failed[evidence.InstanceStatus](why) },
		func(w *world, why string) { w.instance.Console = evidence.Failed[console.Log](why) },
		func(w *world, _ string) { w.node, w.instance = evidence.Node{}, evidence.Instance{} },
	}
	causetest.Hidden(t, of, (*world).analyze, 4, spoil, hide, whole)
}

func ExampleAnalyze() {
	w := of(roll.Unknown)
	remember(roll.MemoryPressure, "True", 4*time.Minute)(w)
	for _, c := range w.analyze().Causes() {
		fmt.Println(c.Code, c.Confidence)
	}
	// Output:
	// MemoryPressurePreceded decisive
	// KubeletSilent decisive
}
