package roll

// Tie is something that instances have in common and in which a cause may lie that each of
// them then has: their group, the version of their launch template, their instance profile
// or their subnet. It is comparable.
type Tie struct{ what, name string }

// String is the tie in words, such as "group asg/w".
func (t Tie) String() string { return t.what + " " + t.name }

// SharesUserData reports that instances with the tie were launched with the same user data:
// a version of a launch template has one, which only a stopped instance can change.
func (t Tie) SharesUserData() bool { return t.what == tieTemplate }

const tieTemplate = "launch template"

// Ties are what ties an instance of a group to others. Of what EC2 does not show only the
// group does.
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
