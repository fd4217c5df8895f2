package policy

import (
	"maps"
	"slices"

	"rollcall/shared/roll"
)

// Repairs is what is done about a node whose accelerator failed, by the reason that the EKS
// node monitoring agent gives. The zero value does nothing.
type Repairs struct {
	// Accelerators: what AWS does about a reason is done, and nothing about a reason of which
	// it publishes nothing.
	Accelerators bool
	// Reasons go before it, and hold without it too.
	Reasons map[string]roll.Repair
}

// keyAccelerators opts in to AWS's table.
const keyAccelerators = "accelerators"

// Repairs is what the policy has done about a finding; false if it leaves the finding to
// the ladder of its kind.
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

// repairSteps are the acts of the repairs. A reboot that cured nothing is followed by the
// replacement, which is also what is left where the instance was rebooted within a day.
var repairSteps = map[roll.Repair][]Step{
	roll.RepairReboot:  {{Do: DoCordon}, {Do: DoDrain}, {Do: DoReboot, Once: true}, {Do: DoTerminate}},
	roll.RepairReplace: {{Do: DoCordon}, {Do: DoDrain}, {Do: DoTerminate}},
}

// repaired is a ladder of the finding with the acts of its repair in place of its own, which
// a Ready node holds back.
func (p Policy) repaired(f roll.Finding, steps []Step) []Step {
	repair, ok := p.Repairs(f)
	if !ok {
		return steps
	}
	telling := slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Do.Acts() })
	return append(telling, repairSteps[repair]...)
}

func acceleratorsSetting(on bool) setting {
	return settingOf("repair."+keyAccelerators, on, func(p *Policy, on bool) { p.Repair.Accelerators = on })
}

// repairSetting is for one reason. Two policies never share the map.
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

// repairKey reports whether the key opts in, or is a reason of AcceleratedHardwareReady.
func (r *reader) repairKey(f field) bool {
	if f.name == keyAccelerators || roll.AcceleratorReason(f.name) {
		return true
	}
	known := append([]string{keyAccelerators}, roll.AcceleratorReasons()...)
	r.unknown(f, didYouMean(f.name, known), "accelerators, and reasons of AcceleratedHardwareReady such as NvidiaXID79Error")
	return false
}
