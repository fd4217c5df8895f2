package policy

import (
	"slices"
	"sync"
	"time"

	"rollcall/shared/roll"
)

// Default is the document that says nothing: every policy it gives is the
// defaults. They are safe: nothing but looking happens under them.
func Default() *Document { return &Document{} }

// defaults are the settings under every document. They are made once, and never changed:
// a policy copies what it takes from a setting.
//
// A node that answers is drained before its instance ends; a silent one cannot be,
// and is rebooted first: that costs no instance. Where a node is Ready, or replacing
// the instance cures nothing, the ladder ends with a notice.
var defaults = sync.OnceValue(func() []setting {
	settings := []setting{
		{key: "mode", value: string(Observe), set: func(p *Policy) { p.Mode = Observe }},
		stopSetting(false),
		durationSetting(keyWarnAfter, 5*time.Minute),
		durationSetting(keyDeadline, 15*time.Minute),
		durationSetting(keyInitWarnAfter, 5*time.Minute),
		durationSetting(keyInitialization, 15*time.Minute),
		taintsSetting(nil),
	}
	for _, c := range []Condition{
		{"Ready", "False", 15 * time.Minute},
		{"Ready", "Unknown", 30 * time.Minute},
		{roll.AcceleratedHardware, "False", 10 * time.Minute},
		{"StorageReady", "False", 30 * time.Minute},
		{"NetworkingReady", "False", 30 * time.Minute},
		{"KernelReady", "False", 30 * time.Minute},
		{"ContainerRuntimeReady", "False", 30 * time.Minute},
		// The kubelet keeps a pressure up for 5 minutes after it saw the last of it
		// (evictionPressureTransitionPeriod), so one that is over by then never shows here.
		// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#node-condition-oscillation
		{roll.MemoryPressure, "True", 10 * time.Minute},
		{roll.DiskPressure, "True", 10 * time.Minute},
		{roll.PIDPressure, "True", 10 * time.Minute},
	} {
		settings = append(settings, conditionSetting(c))
	}
	return slices.Clip(append(settings,
		durationSetting("impaired.tolerate", 5*time.Minute),
		durationSetting("scheduled.lead", 24*time.Hour),
		durationSetting("launch.tolerance", 5*time.Minute),
		durationSetting("launch.pending", 10*time.Minute),
		durationSetting("ghost.tolerate", 5*time.Minute),
		durationSetting("orphaned.tolerate", 15*time.Minute),
		durationSetting("conflict.tolerate", 5*time.Minute),
		durationSetting("stuck.after", time.Hour),
		ladderSetting(roll.Unregistered, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoTerminate}}),
		ladderSetting(roll.Uninitialized, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoCordon}, {Do: DoDrain}, {Do: DoTerminate}}),
		ladderSetting(roll.NotReady, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoCordon}, {Do: DoDrain}, {Do: DoTerminate}}),
		ladderSetting(roll.Unknown, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoReboot, Once: true}, {Do: DoTerminate, After: 10 * time.Minute}}),
		ladderSetting(roll.ConditionFailed, []Step{{Do: DoTag}, {Do: DoNotify}}),
		ladderSetting(roll.Impaired, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoTerminate, After: 10 * time.Minute}}),
		ladderSetting(roll.Scheduled, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoCordon}, {Do: DoDrain}}),
		ladderSetting(roll.Flapping, []Step{{Do: DoTag}, {Do: DoNotify}}),
		ladderSetting(roll.Ghost, []Step{{Do: DoNotify}, {Do: DoDeleteNode}}),
		ladderSetting(roll.Orphaned, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoTerminate, After: 45 * time.Minute}}),
		ladderSetting(roll.Conflict, []Step{{Do: DoNotify}}),
		ladderSetting(roll.Stuck, []Step{{Do: DoNotify}}),
		ladderSetting(roll.Unlaunched, []Step{{Do: DoNotify}}),
		acceleratorsSetting(false),
		durationSetting("drain.timeout", 10*time.Minute),
		forceSetting(ForceNever),
		durationSetting("drain.budgetTimeout", time.Hour),
		durationSetting("reboot.wait", 10*time.Minute),
		guardSetting("silentNode.doNotDisrupt", GuardHold),
		guardSetting("silentNode.budgets", GuardHold),
		guardSetting("silentNode.localVolumes", GuardHold),
		taintSetting(false),
		percentSetting("limits.unhealthy", 20),
		percentSetting("limits.zone", 55),
		percentSetting("limits.massSilence", 10),
		durationSetting("limits.stormCooldown", 15*time.Minute),
		countSetting("limits.replacements", 2),
		durationSetting("limits.provenAfter", time.Hour),
		withoutReplacementSetting(WithoutReplacementHold),
		causeOutsideSetting(CauseOutsideHold),
		durationSetting("limits.replacementWait", 30*time.Minute),
		countSetting("limits.actionsPerCheck", 1),
		countSetting("limits.actionsPerHour", 5),
		ownerSetting(roll.OwnerAutoMode, OwnerNotify),
		ownerSetting(roll.OwnerKarpenter, OwnerTerminate),
		ownerSetting(roll.OwnerManagedNodeGroup, OwnerTerminate),
		ownerSetting(roll.OwnerAutoScalingGroup, OwnerTerminate),
		ownerSetting(roll.OwnerClusterAPI, OwnerNotify),
		ownerSetting(roll.OwnerNone, OwnerNotify),
	))
})
