package roll

import "strings"

// Selector chooses the policy of an instance within its cluster. The zero value is
// the cluster as a whole, and a Group alone the group as a whole. It is comparable,
// so that what it chooses is worked out once.
type Selector struct {
	Group Group
	// Preset names the preset of the policy that the instance's platform and type
	// suggest, such as windows; "" is none. It only lengthens times.
	Preset string
	// Mode, Deadline and PresetTag are the values of the tags TagInstanceMode,
	// TagDeadline and TagPreset of the instance, "" if it has none.
	Mode, Deadline, PresetTag string
}

// GroupSelector is that of a group as a whole.
func GroupSelector(g Group) Selector { return Selector{Group: g} }

// Presets for instances that take long to start.
const (
	PresetGPU     = "gpu"
	PresetMetal   = "metal"
	PresetWindows = "windows"
)

// PresetOf is the preset that an instance's platform and type suggest, "" for none.
// platform is EC2's Platform, which is "windows" or empty.
//
// Accelerated families are those of
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html: their drivers and
// device plugins start after the kubelet, and their images are large.
func PresetOf(platform, instanceType string) string {
	if strings.EqualFold(platform, "windows") {
		return PresetWindows
	}
	if _, size, _ := strings.Cut(instanceType, "."); size == "metal" || strings.HasPrefix(size, "metal-") {
		return PresetMetal // before its family: it takes longest to boot
	}
	digit := strings.IndexAny(instanceType, "0123456789")
	if digit <= 0 {
		return ""
	}
	switch instanceType[:digit] {
	case "p", "g", "gr", "inf", "trn", "dl", "f", "vt":
		return PresetGPU
	}
	return ""
}

// Selector is what chooses the member's policy.
func (m Member) Selector() Selector {
	s := Selector{Group: m.Group()}
	if m.Instance != nil {
		s.Preset, s.PresetTag = m.Instance.Preset, m.Instance.PresetTag
		s.Mode, s.Deadline = m.Instance.ModeTag, m.Instance.DeadlineTag
	}
	return s
}
