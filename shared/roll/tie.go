package roll

// Tie is something that instances share and that may have a common cause: their group, launch
// template version, instance profile or subnet. It is comparable.
type Tie struct{ what, name string }

// String returns the tie in words, such as "group asg/w".
func (t Tie) String() string { return t.what + " " + t.name }

// SharesUserData reports whether instances with the tie were launched with the same user data. A
// launch template version has one, and only a stopped instance can change its own.
func (t Tie) SharesUserData() bool { return t.what == tieTemplate }

const tieTemplate = "launch template"

// Ties returns what an instance of a group may share with others: only the group if EC2 does not
// return the instance.
func Ties(g Group, i *Instance) (out []Tie) {
	if g != GroupNone && g != "" {
		out = append(out, Tie{"group", string(g)})
	}
	if i == nil {
		return out
	}
	for _, t := range []Tie{{tieTemplate, i.LaunchTemplate}, {"instance profile", i.Profile}, {"subnet", i.Subnet}} {
		if t.name != "" {
			out = append(out, t)
		}
	}
	return out
}
