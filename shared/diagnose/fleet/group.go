package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// failures is how many replacements in a row must have failed in one way.
const failures = 2

// ending is the end of an instance that failed like the case's.
type ending struct {
	instance string
	at       time.Time
}

// repeats asks whether the last replacements in the group failed like this instance: as
// the ledger remembers Rollcall's own acts, or as the group tells of what it ended.
func repeats(c *evidence.Case, s *cause.Sheet) {
	g := c.Group()
	if c.Finding.Group == roll.GroupNone || !joins(c.Finding.Kind) {
		return
	}
	for _, told := range []struct {
		source, field string
		ends          []ending
	}{
		{"ledger", "actions", acted(c, g)},
		{"Auto Scaling group", "Activities", ended(g)},
	} {
		if ends := told.ends; len(ends) >= failures && failedSince(c, g, ends[failures-1].at) {
			s.Found(repeated(c, told.source, told.field, ends))
			return
		}
	}
	switch {
	case g.Activities.State == evidence.Unreadable:
		s.NotChecked(g.Activities.Gap(), cause.ReplacementRepeats)
	case g.Acts.Settled():
		s.RuledOut(cause.ReplacementRepeats)
	case g.Activities.Known():
		s.NotChecked(g.Acts.Gap()+"; the scaling activities show none", cause.ReplacementRepeats)
	default:
		s.NotChecked(g.Acts.Gap(), cause.ReplacementRepeats)
	}
}

// acted are the group's instances that Rollcall replaced for the same kind of finding,
// the last one first.
func acted(c *evidence.Case, g evidence.Group) (out []ending) {
	for _, a := range g.Acts.Value {
		if g.Acts.Known() && a.Done && a.Kind == c.Finding.Kind && (a.Do == "terminate" || a.Do == "delete-nodeclaim") {
			out = append(out, ending{string(a.Instance), a.At})
		}
	}
	slices.SortFunc(out, func(a, b ending) int { return b.at.Compare(a.at) })
	return out
}

// shortLife is how long after its launch the end of an instance counts as one of an
// instance that never worked.
const shortLife = time.Hour

// ended are the instances that the group took out of service for their health within
// shortLife of their launch, the last one first. What it ended to shrink was healthy.
// The words are those of Auto Scaling's activities.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-health-checks.html
func ended(g evidence.Group) (out []ending) {
	if !g.Activities.Known() {
		return nil
	}
	launched := map[string]time.Time{}
	for _, a := range g.Activities.Value {
		if id, ok := strings.CutPrefix(a.Description, "Launching a new EC2 instance: "); ok {
			launched[id] = a.At
		}
	}
	for _, a := range g.Activities.Value {
		id, ok := strings.CutPrefix(a.Description, "Terminating EC2 instance: ")
		if start, known := launched[id]; ok && known && a.At.Sub(start) < shortLife && strings.Contains(a.Cause, "health") {
			out = append(out, ending{id, a.At})
		}
	}
	slices.SortFunc(out, func(a, b ending) int { return b.at.Compare(a.at) })
	return out
}

func repeated(c *evidence.Case, source, field string, ends []ending) roll.Cause {
	var ids []string
	for _, e := range ends {
		ids = append(ids, e.instance)
	}
	return roll.Cause{
		Code: cause.ReplacementRepeats, Confidence: roll.Decisive, Subject: string(c.Finding.Group),
		Summary:  fmt.Sprintf("%d instances of %s failed and were replaced since %s, and none that was launched since works: another replacement would fail in the same way", len(ends), c.Finding.Group, roll.Clock(ends[len(ends)-1].at)),
		Evidence: []roll.Evidence{{Source: source, Field: field, Observed: "ended: " + strings.Join(ids, ", "), Expected: "a replacement that works"}},
		Fix:      keep(c) + "   # and mend the other causes before the next one is launched",
	}
}

// keep is how a person keeps the instance to look at it.
func keep(c *evidence.Case) string {
	return fmt.Sprintf("aws ec2 create-tags --region %s --resources %s --tags Key=%s,Value=true", c.Region, c.Finding.Instance, roll.TagHold)
}

// failedSince reports whether this instance was launched since a moment, and none of the
// group that was is healthy, or stayed so for long as far as anybody remembers.
func failedSince(c *evidence.Case, g evidence.Group, at time.Time) bool {
	if g.Proven.After(at) {
		return false
	}
	own := false
	for _, m := range g.Members {
		if !m.Launched.After(at) {
			continue
		}
		if m.Healthy {
			return false
		}
		own = own || m.Instance == c.Finding.Instance
	}
	return own
}

// drift asks what the failing instances of the group have in common and its healthy ones
// do not: a version of the launch template, or an AMI.
func drift(c *evidence.Case, s *cause.Sheet) {
	if c.Finding.Group == roll.GroupNone || !joins(c.Finding.Kind) {
		return
	}
	g := c.Group()
	var own evidence.Member
	var failing, healthy []evidence.Member
	for _, m := range g.Members {
		switch {
		case m.Healthy:
			healthy = append(healthy, m)
		case m.Finding == c.Finding.Kind:
			failing = append(failing, m)
		}
		if m.Instance == c.Finding.Instance {
			own = m
		}
	}
	if len(healthy) == 0 || own.Instance == "" || own.Image == "" && own.LaunchTemplate == "" {
		s.NotChecked("there is no healthy instance of the group to compare with, or what it was launched from was not read", cause.LaunchTemplateDrift)
		return
	}
	template := func(m evidence.Member) string {
		if m.LaunchTemplate == "" {
			return ""
		}
		return m.LaunchTemplate + ":" + m.LaunchTemplateVersion
	}
	image := func(m evidence.Member) string { return m.Image }
	switch {
	case differs(own, failing, healthy, template):
		s.Found(drifted(c, "launch template", "version", "launch-template/"+template(own), template(own), all(healthy, template), len(failing), len(healthy)))
	case differs(own, failing, healthy, image):
		s.Found(drifted(c, "AMI", "ImageId", "ami/"+own.Image, own.Image, all(healthy, image), len(failing), len(healthy)))
	default:
		s.RuledOut(cause.LaunchTemplateDrift)
	}
}

// differs reports whether all failing instances have what this one has, and no healthy
// one has it, or has nothing that is known.
func differs(own evidence.Member, failing, healthy []evidence.Member, of func(evidence.Member) string) bool {
	mine := of(own)
	if mine == "" {
		return false
	}
	for _, m := range failing {
		if of(m) != mine {
			return false
		}
	}
	known := false
	for _, m := range healthy {
		if of(m) == mine {
			return false
		}
		known = known || of(m) != ""
	}
	return known
}

// all are the distinct values of the members, in order.
func all(members []evidence.Member, of func(evidence.Member) string) string {
	var out []string
	for _, m := range members {
		if v := of(m); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func drifted(c *evidence.Case, source, field, subject, mine, theirs string, failing, healthy int) roll.Cause {
	return roll.Cause{
		Code: cause.LaunchTemplateDrift, Confidence: roll.Suggestive, Subject: subject,
		Summary:  fmt.Sprintf("all %d failing instances of %s come from %s %s, none of the %d healthy ones does", failing, c.Finding.Group, source, mine, healthy),
		Evidence: []roll.Evidence{{Source: source, Field: field, Observed: mine, Expected: theirs}},
		Fix:      compare(c, source, mine, theirs),
	}
}

// compare is how to see what changed.
func compare(c *evidence.Case, source, mine, theirs string) string {
	good, _, _ := strings.Cut(theirs, ", ")
	if source == "AMI" {
		return fmt.Sprintf("aws ec2 describe-images --region %s --image-ids %s %s --query 'Images[].{Id:ImageId,Name:Name,Created:CreationDate}'", c.Region, mine, good)
	}
	id, version, _ := strings.Cut(mine, ":")
	other, old, _ := strings.Cut(good, ":")
	if id == other {
		return fmt.Sprintf("aws ec2 describe-launch-template-versions --region %s --launch-template-id %s --versions %s %s   # what changed between them?", c.Region, id, old, version)
	}
	return fmt.Sprintf("aws ec2 describe-launch-template-versions --region %[1]s --launch-template-id %[2]s --versions %[3]s\naws ec2 describe-launch-template-versions --region %[1]s --launch-template-id %[4]s --versions %[5]s", c.Region, id, version, other, old)
}
