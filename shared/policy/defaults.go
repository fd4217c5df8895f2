package policy

import (
	"slices"
	"sync"
	"time"

	"rollcall/shared/roll"
)

// Default returns an empty document: all its policies are the defaults. They are safe: Rollcall
// only observes.
func Default() *Document { return &Document{known: remembering()} }

// defaults are the settings under every document. They are created once and never changed: a policy
// copies what it takes from a setting.
//
// A node whose kubelet answers is drained before its instance is terminated. A silent one cannot be
// drained and is rebooted first, which costs no instance. If a node is Ready, or a replacement
// cures nothing, the ladder ends with a notice.
var defaults = sync.OnceValue(func() []setting {
	settings := []setting{
		settingOf("mode", Observe, func(p *Policy, m Mode) { p.Mode = m }),
		stopSetting(false),
		acceleratorsSetting(false),
	}
	for _, k := range keys {
		settings = append(settings, k.builtIn)
	}
	for _, c := range []Condition{
		{"Ready", "False", 15 * time.Minute},
		{"Ready", "Unknown", 30 * time.Minute},
		{roll.AcceleratedHardware, "False", 10 * time.Minute},
		{"StorageReady", "False", 30 * time.Minute},
		{"NetworkingReady", "False", 30 * time.Minute},
		{"KernelReady", "False", 30 * time.Minute},
		{"ContainerRuntimeReady", "False", 30 * time.Minute},
		// The kubelet keeps a pressure condition for 5 minutes after the pressure ended
		// (evictionPressureTransitionPeriod), so a shorter one never shows here.
		// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#node-condition-oscillation
		{roll.MemoryPressure, "True", 10 * time.Minute},
		{roll.DiskPressure, "True", 10 * time.Minute},
		{roll.PIDPressure, "True", 10 * time.Minute},
	} {
		settings = append(settings, conditionSetting(c))
	}
	for _, l := range []struct {
		kind  roll.Kind
		steps []Step
	}{
		{roll.Unregistered, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoTerminate}}},
		{roll.Uninitialized, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoCordon}, {Do: DoDrain}, {Do: DoTerminate}}},
		{roll.NotReady, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoCordon}, {Do: DoDrain}, {Do: DoTerminate}}},
		{roll.Unknown, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoReboot, Once: true}, {Do: DoTerminate, After: 10 * time.Minute}}},
		{roll.ConditionFailed, []Step{{Do: DoTag}, {Do: DoNotify}}},
		{roll.Impaired, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoTerminate, After: 10 * time.Minute}}},
		{roll.Scheduled, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoCordon}, {Do: DoDrain}}},
		{roll.Flapping, []Step{{Do: DoTag}, {Do: DoNotify}}},
		{roll.Ghost, []Step{{Do: DoNotify}, {Do: DoDeleteNode}}},
		{roll.Orphaned, []Step{{Do: DoTag}, {Do: DoNotify}, {Do: DoTerminate, After: 45 * time.Minute}}},
		{roll.Stuck, []Step{{Do: DoNotify}}},
		{roll.Unlaunched, []Step{{Do: DoNotify}}},
	} {
		settings = append(settings, ladderSetting(l.kind, l.steps))
	}
	for _, owner := range roll.Owners() {
		rule := OwnerNotify
		if owner == roll.OwnerKarpenter || owner == roll.OwnerManagedNodeGroup || owner == roll.OwnerAutoScalingGroup {
			rule = OwnerTerminate
		}
		settings = append(settings, ownerSetting(owner, rule))
	}
	return slices.Clip(sourced("default", settings...))
})
