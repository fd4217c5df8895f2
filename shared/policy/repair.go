package policy

import (
	"maps"
	"slices"

	"rollcall/shared/roll"
)

// Repairs is what to do about a node whose accelerator failed, by the reason of the EKS node
// monitoring agent. The zero value does nothing.
type Repairs struct {
	// Accelerators: do what AWS does for a reason, and nothing for a reason without a published
	// action.
	Accelerators bool
	// Reasons take precedence over AWS's table, and apply without Accelerators too.
	Reasons map[string]roll.Repair
}

const keyAccelerators = "accelerators"

// Repairs returns the policy's repair for a finding; false if it leaves the finding to the ladder
// of its kind.
func (p Policy) Repairs(f roll.Finding) (roll.Repair, bool) {
	if f.Kind != roll.ConditionFailed || f.Condition != roll.AcceleratedHardware {
		return "", false
	}
	if own, ok := p.Repair.Reasons[f.Reason]; ok {
		return own, true
	}
	repair, _ := roll.AcceleratorRepair(f.Reason)
	return repair, p.Repair.Accelerators
}

// repairSteps are the acts of the repairs. If a reboot cured nothing, the replacement follows. It
// is also the only act if the instance was rebooted within a day.
var repairSteps = map[roll.Repair][]Step{
	roll.RepairReboot:  {{Do: DoCordon}, {Do: DoDrain}, {Do: DoReboot, Once: true}, {Do: DoTerminate}},
	roll.RepairReplace: {{Do: DoCordon}, {Do: DoDrain}, {Do: DoTerminate}},
}

// repaired returns a ladder of the finding with the acts of its repair instead of its own, which a
// Ready node would hold. If the ladder asks for an approval, the repair needs it.
func (p Policy) repaired(f roll.Finding, steps []Step) []Step {
	repair, ok := p.Repairs(f)
	if !ok {
		return steps
	}
	telling := slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Do.Acts() })
	acts := slices.Clone(repairSteps[repair])
	if i := slices.IndexFunc(steps, func(s Step) bool { return s.Approve.Needed() }); i >= 0 {
		for j := range acts {
			acts[j].Approve = steps[i].Approve
		}
	}
	return append(telling, acts...)
}

func acceleratorsSetting(on bool) setting {
	return settingOf("repair."+keyAccelerators, on, func(p *Policy, on bool) { p.Repair.Accelerators = on })
}

// repairSetting returns the setting for one reason. Two policies never share the map.
func repairSetting(reason string, repair roll.Repair) setting {
	return settingOf("repair."+reason, repair, func(p *Policy, repair roll.Repair) {
		p.Repair.Reasons = maps.Clone(p.Repair.Reasons)
		if p.Repair.Reasons == nil {
			p.Repair.Reasons = make(map[string]roll.Repair)
		}
		p.Repair.Reasons[reason] = repair
	})
}

func (r *reader) repair(section field) []setting {
	return r.settings(section, r.repairKey, func(f field) (setting, bool) {
		if f.name == keyAccelerators {
			on, ok := r.boolean(f)
			return acceleratorsSetting(on), ok
		}
		repair, ok := word(r, f, "a repair", roll.AllRepairs())
		return repairSetting(f.name, repair), ok
	})
}

// repairKey reports whether the key is keyAccelerators, or a reason of AcceleratedHardwareReady.
func (r *reader) repairKey(f field) bool {
	if f.name == keyAccelerators || roll.AcceleratorReason(f.name) {
		return true
	}
	known := append([]string{keyAccelerators}, roll.AcceleratorReasons()...)
	r.unknown(f, didYouMean(f.name, known), "accelerators, and reasons of AcceleratedHardwareReady such as NvidiaXID79Error")
	return false
}
