package console

import "strings"

// rule tells a sign from a segment.
type rule struct {
	// needle is in every segment that the rule can say anything about: looking for it is
	// what keeps reading cheap.
	needle string
	// read gives the sign and its detail, or "".
	read func(segment) (Sign, string)
	// traced: the rule is about commands in a shell's trace, and not about what they print.
	traced bool
}

func (r rule) apply(s segment) (Sign, string) {
	if r.traced != s.trace || !strings.Contains(s.text, r.needle) {
		return "", ""
	}
	return r.read(s)
}

// rules are all of them. Each is asked about each segment.
var rules = join(kernelRules, commonRules, awsRules, unitRules, cloudInitRules, nodeadmRules, bootstrapRules,
	bottlerocketRules, bootRules)

func join(lists ...[]rule) []rule {
	var all []rule
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// says is a rule's reading of a segment that contains its needle and needs no more.
func says(sign Sign, detail string) func(segment) (Sign, string) {
	return func(segment) (Sign, string) { return sign, detail }
}
