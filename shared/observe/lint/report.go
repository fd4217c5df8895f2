package lint

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// printer adds what diagnoses say to a document.
type printer struct {
	Request
	out *report.LintDocument
}

// add adds the diagnoses of a launch. A hint counts only if no earlier diagnosis decided its code.
func (p *printer) add(l *launch, all ...roll.Diagnosis) {
	if !slices.Contains(p.out.Launches, l.name) {
		p.out.Launches = append(p.out.Launches, l.name)
	}
	words, decided := l.words(), map[cause.Code]bool{}
	for _, d := range all {
		earlier := maps.Clone(decided)
		for _, c := range d.Causes {
			switch {
			case !p.judged(l, c.Code):
			case c.Confidence == roll.Decisive:
				p.out.Findings = p.with(p.out.Findings, l, c, words)
			case earlier[c.Code]: // what was proven or suggested before is no further hint
			default:
				p.out.Hints = p.with(p.out.Hints, l, c, words)
			}
			decided[c.Code] = true
		}
		for _, code := range d.RuledOut {
			decided[code] = true
		}
	}
	for _, d := range all {
		for _, n := range d.NotChecked {
			if p.judged(l, n.Code) && !decided[n.Code] && !strings.Contains(n.Reason, beforeLaunch) {
				p.unchecked(n.Code, p.reason(l, n.Reason, words))
			}
		}
	}
	if l.part {
		p.unchecked(cause.UserDataUnparseable, fmt.Sprintf("%s names no cluster: EKS completes it in a managed node group without an AMI, and Karpenter does; elsewhere nothing joins by it", l.name))
	}
	if l.onlyUserData {
		p.unchecked("everything else", fmt.Sprintf("%s is user data alone: a launch template or an EC2NodeClass shows the rest", l.name))
	}
}

// judged reports whether lint reports the code: a person has to change something, it is not a
// symptom, and the inputs suffice to check it without other instances of the group.
func (p *printer) judged(l *launch, code cause.Code) bool {
	return cause.CureOf(code) == roll.CureChange && !cause.Symptom(code) && code != cause.LaunchTemplateDrift &&
		(!l.onlyUserData || strings.HasPrefix(code, "UserData")) && (p.Cluster != "" || code != cause.UserDataClusterMismatch)
}

// with adds a cause of a launch to the list, which is in the order of the catalogue and has a cause
// that several launches share once.
func (p *printer) with(all []report.LintFinding, l *launch, c roll.Cause, words func(string) string) []report.LintFinding {
	f := l.finding(c, p.Sources, words)
	same := slices.IndexFunc(all, func(o report.LintFinding) bool {
		return o.Code == f.Code && o.Subject == f.Subject && (f.Subject != "" || slices.Contains(o.Launches, l.name))
	})
	if same >= 0 {
		if !slices.Contains(all[same].Launches, l.name) {
			all[same].Launches = append(all[same].Launches, l.name)
		}
		return all
	}
	all = append(all, f)
	slices.SortStableFunc(all, func(a, b report.LintFinding) int { return cause.Compare(a.Code, b.Code) })
	return all
}

func (p *printer) unchecked(code, reason string) {
	i := slices.IndexFunc(p.out.NotChecked, func(u report.LintGap) bool { return u.Reason == reason })
	if i < 0 {
		p.out.NotChecked = append(p.out.NotChecked, report.LintGap{Codes: []string{code}, Reason: reason})
	} else if !slices.Contains(p.out.NotChecked[i].Codes, code) {
		p.out.NotChecked[i].Codes = append(p.out.NotChecked[i].Codes, code)
	}
}

// reason returns why something was not checked. Without context nothing can be read.
func (p *printer) reason(l *launch, text string, words func(string) string) string {
	if what, ok := strings.CutPrefix(text, evidence.AnswerOf+"ec2:DescribeInstances lacks "); ok {
		return fmt.Sprintf("%s does not show %s", l.name, strings.TrimSuffix(what, " of "+l.id()))
	}
	if p.View == nil && strings.HasSuffix(text, "is not in the bundle") {
		return "no cluster was given: --cluster NAME or --bundle DIR"
	}
	return words(text)
}

// words returns a replacer of the names of objects that do not exist yet.
func (l *launch) words() func(string) string {
	names := []string{
		"node " + l.node(), "the node of " + l.name, l.node(), "the node of " + l.name, "instance " + l.id(), l.name, l.id(), l.name,
		"launch another instance with it corrected: ", "",
		publicAddress, "a public address", ipv6Address, "an IPv6 address",
	}
	if id := aws.ToString(l.instance.ImageId); strings.HasPrefix(id, standInPrefix) {
		names = append(names, id, "EKS's AMI")
	}
	replacer := strings.NewReplacer(names...)
	own := aws.ToString(l.instance.PrivateIpAddress)
	if own == "" {
		return replacer.Replace
	}
	address := regexp.MustCompile(`\b` + regexp.QuoteMeta(own) + `\b(/32)?`)
	return func(text string) string {
		return replacer.Replace(address.ReplaceAllString(text, "an address of "+aws.ToString(l.instance.SubnetId)))
	}
}

func (l *launch) finding(c roll.Cause, sources []Source, words func(string) string) report.LintFinding {
	f := report.LintFinding{Launches: []string{l.name}, Code: c.Code, Summary: words(c.Summary), Subject: words(c.Subject), Evidence: []report.LintEvidence{}}
	for _, e := range c.Evidence {
		seen := report.LintEvidence{Evidence: e, LintPlace: l.place(e, sources)}
		seen.Source, seen.Field = words(e.Source), words(strings.TrimPrefix(e.Field, "user data, "))
		seen.Observed, seen.Expected = words(e.Observed), words(e.Expected)
		f.LintPlace = cmp.Or(f.LintPlace, seen.LintPlace)
		f.Evidence = append(f.Evidence, seen)
	}
	if len(l.from) > 0 {
		f.LintPlace = cmp.Or(f.LintPlace, report.LintPlace{File: l.from[0].File, Line: l.from[0].line})
	}
	for line := range strings.Lines(c.Fix) { // commands about the instance are of no use
		if !strings.Contains(line, l.id()) {
			f.Fix += words(line)
		}
	}
	return f
}

var inLine = regexp.MustCompile(`\bline (\d+)\b`)

func (l *launch) place(e roll.Evidence, sources []Source) report.LintPlace {
	d := l.source(e.Source, sources)
	if d == nil {
		return report.LintPlace{}
	}
	m := inLine.FindStringSubmatch(e.Field)
	if m == nil || d.Content != UserData || strings.Contains(e.Field, "part ") {
		return report.LintPlace{File: d.File, Line: d.find(e)}
	}
	n, _ := strconv.Atoi(m[1]) // digits
	return report.LintPlace{File: d.File, Line: n}
}

// source returns the source of an observation, nil if there is none.
func (l *launch) source(of string, sources []Source) *Source {
	switch of {
	case "aws-auth":
		return first(sources, AwsAuth)
	case "access entry", "access entries":
		return first(sources, AccessEntries)
	}
	wanted := func(d *Source) bool { return d.Content != NodePool }
	switch of {
	case "NodePool":
		wanted = func(d *Source) bool { return d.Content == NodePool }
	case "user data", "instance", "image", "EC2NodeClass", "instance profile":
	default:
		return nil
	}
	if i := slices.IndexFunc(l.from, wanted); i >= 0 {
		return l.from[i]
	}
	return nil
}

// first returns the first source with the content, nil if there is none.
func first(sources []Source, content Content) *Source {
	i := slices.IndexFunc(sources, func(d Source) bool { return d.Content == content })
	if i < 0 {
		return nil
	}
	return &sources[i]
}

// find returns the line on which the observation most likely is: where its value is, or as much of
// the path of its field as there is, or where the user data begins.
func (d *Source) find(e roll.Evidence) int {
	lines := strings.Split(d.text, "\n")
	after := func(line int, text string) int { // from 1, 0 if there is none
		return 1 + line + slices.IndexFunc(lines[line:], func(l string) bool { return strings.Contains(l, text) })
	}
	begin := min(d.line-1, len(lines)) // YAML knows more line breaks than this
	if line := after(begin, e.Observed); len(e.Observed) > 4 && line > begin {
		return line
	}
	path := strings.FieldsFunc(e.Field, func(r rune) bool { return strings.ContainsRune(".[], ", r) })
	if e.Source == "user data" {
		path = []string{"serData"} // of a launch template, or of an EC2NodeClass
	}
	at := begin
	for _, name := range path {
		line := after(at, name)
		if line <= at {
			break
		}
		at = line
	}
	return max(at, d.line)
}
