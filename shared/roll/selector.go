package roll

import "strings"

// Selector selects the policy of an instance in its cluster. The zero value selects the policy of
// the cluster, a Group alone that of the group. It is comparable, so that the policy can be cached.
type Selector struct {
	Group Group
	// Preset is the policy preset for the instance's platform and type, such as windows; "" if
	// none. It only lengthens times.
	Preset string
	// Deadline is the value of the instance's tag TagDeadline, "" if none.
	Deadline string
}

// GroupSelector returns the selector of a whole group.
func GroupSelector(g Group) Selector { return Selector{Group: g} }

// Presets for instances that start slowly.
const (
	PresetGPU     = "gpu"
	PresetMetal   = "metal"
	PresetWindows = "windows"
)

// PresetOf returns the preset for an instance's platform and type, "" if none. platform is EC2's
// Platform, which is "windows" or empty.
//
// Accelerated families start slowly: their drivers and device plugins start after the kubelet, and
// their images are large.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html
func PresetOf(platform, instanceType string) string {
	if strings.EqualFold(platform, "windows") {
		return PresetWindows
	}
	if _, size, _ := strings.Cut(instanceType, "."); size == "metal" || strings.HasPrefix(size, "metal-") {
		return PresetMetal // checked before the family: bare metal boots slowest
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

// Selector returns the selector of the member's policy.
func (m Member) Selector() Selector {
	s := Selector{Group: m.Group()}
	if m.Instance != nil {
		s.Preset, s.Deadline = m.Instance.Preset, m.Instance.DeadlineTag
	}
	return s
}
