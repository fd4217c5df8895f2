package policy

import (
	"time"

	"rollcall/shared/roll"
)

// Default is the document that says nothing: every policy it gives is the
// defaults. They are safe: nothing but looking happens under them.
func Default() *Document { return &Document{} }

// defaults are the settings under every document.
//
// A NotReady node's kubelet may still answer and run pods, and this version does
// not drain, so its ladder ends before terminate: that is for an operator to add.
func defaults() []setting {
	settings := []setting{
		{key: "mode", value: string(Observe), set: func(p *Policy) { p.Mode = Observe }},
		durationSetting(keyWarnAfter, 5*time.Minute),
		durationSetting(keyDeadline, 15*time.Minute),
		durationSetting("initialization.deadline", 15*time.Minute),
	}
	for _, c := range []Condition{
		{"Ready", "False", 15 * time.Minute},
		{"Ready", "Unknown", 30 * time.Minute},
		{"AcceleratedHardwareReady", "False", 10 * time.Minute},
		{"StorageReady", "False", 30 * time.Minute},
		{"NetworkingReady", "False", 30 * time.Minute},
		{"KernelReady", "False", 30 * time.Minute},
		{"ContainerRuntimeReady", "False", 30 * time.Minute},
	} {
		settings = append(settings, conditionSetting(c))
	}
	return append(settings,
		ladderSetting(roll.Unregistered, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoTerminate}}),
		ladderSetting(roll.NotReady, []Step{{Do: DoTag}, {Do: DoNotify}}),
		ladderSetting(roll.Unknown, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoTerminate, After: 10 * time.Minute}}),
		percentSetting("limits.unhealthy", 20),
		percentSetting("limits.zone", 55),
		countSetting("limits.actionsPerCheck", 1),
		countSetting("limits.actionsPerHour", 5),
		ownerSetting(roll.OwnerAutoMode, OwnerNotify),
		ownerSetting(roll.OwnerKarpenter, OwnerNotify),
		ownerSetting(roll.OwnerManagedNodeGroup, OwnerTerminate),
		ownerSetting(roll.OwnerAutoScalingGroup, OwnerTerminate),
		ownerSetting(roll.OwnerClusterAPI, OwnerNotify),
		ownerSetting(roll.OwnerNone, OwnerNotify),
	)
}
