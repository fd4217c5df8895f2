package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/plan"
	"rollcall/shared/roll"
)

// listed returns causes for JSON, in which every list is present, even if empty.
func listed(causes []roll.Cause) []roll.Cause {
	out := append([]roll.Cause{}, causes...)
	for i := range out {
		if out[i].Evidence == nil {
			out[i].Evidence = []roll.Evidence{}
		}
	}
	return out
}

// shared is one cause and the instances that have it.
type shared struct {
	cause     roll.Cause
	instances []roll.InstanceID
}

// first returns the cause to show where there is room for one: the first decisive one, or
// else the first suggested one.
func first(causes []roll.Cause) (roll.Cause, bool) {
	if c, ok := (roll.Diagnosis{Causes: causes}).Decisive(); ok {
		return c, true
	}
	if len(causes) > 0 {
		return causes[0], true
	}
	return roll.Cause{}, false
}

// sharedBy groups the instances of entries by their first cause, or by the cause own for those that
// have it. Decisive causes come before suggested ones, then those of the most instances. Instances
// without a cause are left out.
func sharedBy(entries []plan.Entry, own string) []shared {
	type told struct {
		cause    roll.Cause
		instance roll.InstanceID
	}
	var all []told
	for _, e := range entries {
		c, ok := roll.Find(e.Causes, func(c roll.Cause) bool { return c.Code == own && c.Confidence == roll.Decisive })
		if !ok {
			c, ok = first(e.Causes)
		}
		if ok {
			all = append(all, told{c, e.Finding.Instance})
		}
	}
	groups := roll.Grouped(all, func(t told) [4]string {
		key := [4]string{t.cause.Code, t.cause.Subject, "", string(t.cause.Confidence)}
		if t.cause.Subject == "" {
			key[2] = t.cause.Summary // each instance has the cause separately
		}
		return key
	})
	out := roll.Map(groups, func(of []told) shared {
		return shared{of[0].cause, roll.Distinct(roll.Map(of, func(t told) roll.InstanceID { return t.instance }))}
	})
	slices.SortStableFunc(out, func(a, b shared) int {
		return cmp.Or(roll.TrueFirst(a.cause.Confidence == roll.Decisive, b.cause.Confidence == roll.Decisive), len(b.instances)-len(a.instances))
	})
	return out
}

// perhaps returns the code of a cause, marked unless the cause is decisive.
func perhaps(c roll.Cause) string {
	if c.Confidence == roll.Decisive {
		return c.Code
	}
	return c.Code + " (perhaps)"
}

// why writes the causes of the findings, each once.
func (c Check) why(t *text) {
	told := sharedBy(roll.Map(c.Findings(), c.entry), "")
	if len(told) == 0 {
		return
	}
	t.section("why")
	for _, s := range told {
		t.item("%s: %s", perhaps(s.cause), roll.Few(s.instances, 2))
		t.wrap(6, s.cause.Summary)
		t.fix(6, s.cause.Fix)
	}
}

// fix writes the commands to paste without wrapping them, which would change them.
func (t *text) fix(indent int, fix string) {
	if fix == "" {
		return
	}
	t.line("%sto fix:", strings.Repeat(" ", indent))
	for _, l := range lines(fix) {
		t.line("%s%s", strings.Repeat(" ", indent+2), l)
	}
}

// interrupting are the commands of fixes that do the same as Rollcall's own acts.
var interrupting = []string{"aws ec2 reboot-instances", "aws ec2 terminate-instances", "aws autoscaling terminate-instance-in-auto-scaling-group", "kubectl delete nodeclaim"}

// leaveOut removes commands from the fixes that Rollcall has ordered itself. Run again, they
// would hit the instance while it recovers, or its replacement.
func leaveOut(causes []shared, entries []plan.Entry) {
	ordered := map[roll.InstanceID]bool{}
	for _, e := range entries {
		ordered[e.Finding.Instance] = e.Order != nil
	}
	for i := range causes {
		if !slices.ContainsFunc(causes[i].instances, func(id roll.InstanceID) bool { return ordered[id] }) {
			continue
		}
		var kept []string
		for _, line := range lines(causes[i].cause.Fix) {
			if !slices.ContainsFunc(interrupting, func(command string) bool { return strings.HasPrefix(strings.TrimPrefix(line, "# "), command) }) {
				kept = append(kept, line)
				continue
			}
			for len(kept) > 0 && strings.HasPrefix(kept[len(kept)-1], "#") { // the remarks above the command
				kept = kept[:len(kept)-1]
			}
		}
		causes[i].cause.Fix = strings.Join(kept, "\n")
	}
}

// noticeCauses is the most causes of a notice. With more, it would be a list of instances.
const noticeCauses = 5

// explain adds the causes to a notice's JSON form.
func (d *NoticeDocument) explain(causes []shared) {
	for _, s := range causes[:min(len(causes), noticeCauses)] {
		c := NoticeCause{Cause: s.cause, Fix: s.cause.Fix, Count: len(s.instances)}
		c.Evidence = nil
		d.Causes = append(d.Causes, c)
	}
}

// reasons returns the first cause of a notice, and names the others. own is the notice's own
// cause, which may be one that could not be checked this time.
func reasons(causes []shared, own string, of int) (out []why) {
	if own != "" && !slices.ContainsFunc(causes, func(s shared) bool { return s.cause.Code == own }) {
		out = append(out, why{code: own, summary: "found before; this time it could not be checked"})
	}
	var others []string
	for i, same := range roll.Grouped(causes, func(s shared) string { return perhaps(s.cause) }) {
		code, share, n := perhaps(same[0].cause), "", 0
		for _, s := range same {
			n += len(s.instances)
		}
		if n < of {
			share = fmt.Sprintf("%d of %d", n, of)
		}
		if i > 0 || len(out) > 0 {
			others = append(others, code+roll.Behind(", ", share))
			continue
		}
		summary := causes[0].cause.Summary
		if more := n - len(causes[0].instances); more > 0 { // a summary names one instance
			summary += fmt.Sprintf("; %d more %s this cause", more, roll.Plural(more, "instance has", "instances have"))
		}
		out = append(out, why{code: code, summary: summary, share: share})
	}
	if len(others) > 0 {
		out = append(out, why{code: "Other causes", summary: roll.Few(others, noticeCauses-1)})
	}
	return out
}

// fetch returns the command that downloads evidence from S3.
func fetch(region string, folder string) Recipe {
	return Recipe{"To fetch the evidence", []string{paste.Format("aws s3 cp --recursive --region %s %s %s", region, folder, path.Base(folder))}}
}
