package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// setting is one key of a policy with its value: the unit that defaults, document,
// presets, overrides and tags are merged by.
type setting struct {
	key          string        // such as registration.deadline
	value        string        // for a person
	time         time.Duration // of settings that are a time, else 0
	path         string        // what stands before key in the path of a fault: "overrides[1]." or ""
	preset       string        // the preset that an override or tag brought it in with, "" if none
	line, column int           // where the document has it; 0 for a default
	set          func(*Policy)
}

// at is the setting at a place in the document.
func (s setting) at(line, column int) setting {
	s.line, s.column = line, column
	return s
}

// fault is the place of the setting with a problem.
func (s setting) fault(problem string) Fault {
	key := s.path + s.key
	if s.preset != "" {
		key = s.path + "preset"
	}
	return Fault{s.line, s.column, key, problem}
}

// The keys that are checked together, or that a tag or preset sets.
const (
	keyWarnAfter      = "registration.warnAfter"
	keyDeadline       = "registration.deadline"
	keyInitWarnAfter  = "initialization.warnAfter"
	keyInitialization = "initialization.deadline"
	keyForce          = "drain.force"
	keyDrainTimeout   = "drain.timeout"
	keyBudgetTimeout  = "drain.budgetTimeout"
)

// tolerant are the sections that hold the tolerance of a kind and nothing else.
var tolerant = map[string]roll.Kind{
	"impaired": roll.Impaired,
	"ghost":    roll.Ghost,
	"orphaned": roll.Orphaned,
	"conflict": roll.Conflict,
	"stuck":    roll.Stuck,
}

func modeSetting(m Mode) setting {
	return setting{key: "mode", value: string(m), set: func(p *Policy) { p.Mode, p.ModeSet = m, true }}
}

// durationSetting is a setting of one of the keys that hold a duration.
func durationSetting(key string, d time.Duration) setting {
	return setting{key: key, value: durationText(d), time: d, set: func(p *Policy) {
		switch key {
		case keyWarnAfter:
			p.Registration.WarnAfter = d
		case keyDeadline:
			p.Registration.Deadline = d
		case keyInitWarnAfter:
			p.Initialization.WarnAfter = d
		case keyInitialization:
			p.Initialization.Deadline = d
		case "reboot.wait":
			p.Reboot.Wait = d
		case "scheduled.lead":
			p.Scheduled.Lead = d
		case "launch.tolerance":
			p.Launch.Tolerance = d
		case "launch.pending":
			p.Launch.Pending = d
		case keyDrainTimeout:
			p.Drain.Timeout = d
		case keyBudgetTimeout:
			p.Drain.BudgetTimeout = d
		case "limits.stormCooldown":
			p.Limits.StormCooldown = d
		case "limits.provenAfter":
			p.Limits.ProvenAfter = d
		case "limits.replacementWait":
			p.Limits.ReplacementWait = d
		default:
			section, _, _ := strings.Cut(key, ".")
			p.Tolerances[tolerant[section]] = d
		}
	}}
}

// taintsSetting copies the keys each time, as ladderSetting does its steps.
func taintsSetting(keys []string) setting {
	value := "none"
	if len(keys) > 0 {
		value = strings.Join(keys, ", ")
	}
	return setting{key: "initialization.taints", value: value, set: func(p *Policy) {
		p.Initialization.Taints = slices.Clone(keys)
	}}
}

func causeOutsideSetting(then CauseOutside) setting {
	return setting{key: "limits.causeOutside", value: string(then), set: func(p *Policy) { p.Limits.CauseOutside = then }}
}

func withoutReplacementSetting(then WithoutReplacement) setting {
	return setting{key: "limits.withoutReplacement", value: string(then), set: func(p *Policy) { p.Limits.WithoutReplacement = then }}
}

func forceSetting(force Force) setting {
	return setting{key: keyForce, value: string(force), set: func(p *Policy) { p.Drain.Force = force }}
}

func guardSetting(key string, g Guard) setting {
	return setting{key: key, value: string(g), set: func(p *Policy) {
		switch key {
		case "silentNode.doNotDisrupt":
			p.SilentNode.DoNotDisrupt = g
		case "silentNode.budgets":
			p.SilentNode.Budgets = g
		case "silentNode.localVolumes":
			p.SilentNode.LocalVolumes = g
		}
	}}
}

func taintSetting(on bool) setting {
	return setting{key: "silentNode.outOfServiceTaint", value: strconv.FormatBool(on), set: func(p *Policy) { p.SilentNode.OutOfServiceTaint = on }}
}

// conditionSetting only appends: merge has one setting for each type and status.
func conditionSetting(c Condition) setting {
	return setting{
		key:   "conditions." + c.Type + "=" + c.Status,
		value: durationText(c.Tolerate),
		set:   func(p *Policy) { p.Conditions = append(p.Conditions, c) },
	}
}

// ladderSetting copies the steps each time: two policies never share a ladder
// that a reader might change.
func ladderSetting(kind roll.Kind, steps []Step) setting {
	return setting{
		key:   "ladders." + string(kind),
		value: ladderText(steps),
		set:   func(p *Policy) { p.Ladders[kind] = slices.Clone(steps) },
	}
}

// causeLadderSetting is likewise for the ladder of a cause.
func causeLadderSetting(key CauseKey, steps []Step) setting {
	return setting{
		key:   "ladders." + key.String(),
		value: ladderText(steps),
		set: func(p *Policy) {
			if p.CauseLadders == nil {
				p.CauseLadders = make(map[CauseKey][]Step)
			}
			p.CauseLadders[key] = slices.Clone(steps)
		},
	}
}

func percentSetting(key string, share Percent) setting {
	return setting{key: key, value: share.String(), set: func(p *Policy) {
		switch key {
		case "limits.unhealthy":
			p.Limits.Unhealthy = share
		case "limits.zone":
			p.Limits.Zone = share
		case "limits.massSilence":
			p.Limits.MassSilence = share
		}
	}}
}

func countSetting(key string, n int) setting {
	return setting{key: key, value: strconv.Itoa(n), set: func(p *Policy) {
		switch key {
		case "limits.replacements":
			p.Limits.Replacements = n
		case "limits.actionsPerCheck":
			p.Limits.ActionsPerCheck = n
		case "limits.actionsPerHour":
			p.Limits.ActionsPerHour = n
		}
	}}
}

func ownerSetting(owner roll.Owner, rule OwnerRule) setting {
	return setting{
		key:   "owners." + string(owner),
		value: string(rule),
		set:   func(p *Policy) { p.Owners[owner] = rule },
	}
}
