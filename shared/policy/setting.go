package policy

import (
	"slices"
	"strconv"
	"time"

	"rollcall/shared/roll"
)

// setting is one key of a policy with its value: the unit that defaults, document
// and overrides are merged by.
type setting struct {
	key          string // such as registration.deadline
	value        string // for a person
	path         string // what stands before key in the path of a fault: "overrides[1]." or ""
	line, column int    // where the document has it; 0 for a default
	set          func(*Policy)
}

// at is the setting at a place in the document.
func (s setting) at(line, column int) setting {
	s.line, s.column = line, column
	return s
}

// The keys that are checked together.
const (
	keyWarnAfter = "registration.warnAfter"
	keyDeadline  = "registration.deadline"
)

func modeSetting(m Mode) setting {
	return setting{key: "mode", value: string(m), set: func(p *Policy) { p.Mode, p.ModeSet = m, true }}
}

// durationSetting is a setting of one of the keys that hold a duration.
func durationSetting(key string, d time.Duration) setting {
	return setting{key: key, value: durationText(d), set: func(p *Policy) {
		switch key {
		case keyWarnAfter:
			p.Registration.WarnAfter = d
		case keyDeadline:
			p.Registration.Deadline = d
		case "initialization.deadline":
			p.Initialization.Deadline = d
		}
	}}
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

func percentSetting(key string, share Percent) setting {
	return setting{key: key, value: share.String(), set: func(p *Policy) {
		switch key {
		case "limits.unhealthy":
			p.Limits.Unhealthy = share
		case "limits.zone":
			p.Limits.Zone = share
		}
	}}
}

func countSetting(key string, n int) setting {
	return setting{key: key, value: strconv.Itoa(n), set: func(p *Policy) {
		switch key {
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
