package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// failures is how many replacements in a row must have failed in the same way.
const failures = 2

// ending is the termination of an instance that failed like the case's.
type ending struct {
	instance string
	at       time.Time
}

// shortLife is the longest time from launch to termination of an instance that counts as one
// that never worked.
const shortLife = time.Hour

// unhealthy reports whether an activity says that an instance which was running failed a health check. Scaled in, it
// was healthy. Found "terminated or stopped" it may have been: a person or another program ended it, EC2 did by a Spot
// interruption, or Rollcall, whose acts the ledger has.
// https://repost.aws/knowledge-center/auto-scaling-instance-how-terminated
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-healthchecks.html
func unhealthy(a evidence.Activity) bool {
	return (strings.Contains(a.Cause, "health") || strings.Contains(a.Cause, "status check")) && !strings.Contains(a.Cause, "terminated or stopped")
}

// ended returns the instances that the group terminated for their health within shortLife of
// their launch, the latest first. Each counts from the start of its termination: while it ends, which a lifecycle
// hook may delay for long, the group launches its replacement.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/replace-unhealthy-instance.html
func (l *look) ended() (out []ending) {
	g := l.Group()
	launched := map[string]time.Time{}
	for _, a := range g.Activities.Value {
		launched[strings.TrimPrefix(a.Description, "Launching a new EC2 instance: ")] = a.At
	}
	for _, a := range g.Activities.Value {
		id := strings.TrimPrefix(a.Description, "Terminating EC2 instance: ")
		at := cmp.Or(a.Started, a.At)
		if at.Sub(launched[id]) < shortLife && unhealthy(a) { // long, if its launch is unknown
			out = append(out, ending{id, at})
		}
	}
	return lastFirst(out)
}

// differs reports whether all failing instances share this instance's value and no healthy one
// is known to have it. The value of at least one healthy instance must be known.
func differs(own *evidence.Member, failing, healthy []*evidence.Member, of func(*evidence.Member) string) bool {
	mine := of(own)
	same := func(m *evidence.Member) bool { return of(m) == mine }
	other := func(m *evidence.Member) bool { return of(m) != mine }
	known := func(m *evidence.Member) bool { return of(m) != "" }
	return mine != "" && !slices.ContainsFunc(failing, other) && !slices.ContainsFunc(healthy, same) && slices.ContainsFunc(healthy, known)
}

// all returns the distinct values of the members, sorted.
func all(members []*evidence.Member, of func(*evidence.Member) string) string {
	var out []string
	for _, m := range members {
		if v := of(m); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// repeats checks whether the last replacements in the group failed like this instance. It reads
// the ledger's record of Rollcall's own acts, and what the group terminated itself.
func (l *look) repeats() cause.Verdict {
	g := l.Group()
	if l.Finding.Group == roll.GroupNone {
		return cause.Verdict{}
	}
	for _, told := range []struct {
		source, field string
		ends          []ending
	}{{"ledger", "actions", l.acted()}, {"Auto Scaling group", "Activities", l.ended()}} {
		ends := told.ends
		for len(ends) > failures && !l.failedSince(ends[len(ends)-1].at) {
			ends = ends[:len(ends)-1] // a launch worked since
		}
		if len(ends) >= failures && l.failedSince(ends[failures-1].at) {
			return l.repeated(told.source, told.field, ends)
		}
	}
	switch {
	case g.Activities.State == evidence.Unreadable:
		return cause.NotChecked(g.Activities.Gap())
	case g.Acts.Settled():
		return cause.RuledOut
	case g.Activities.Known():
		return cause.NotChecked(g.Acts.Gap() + "; the scaling activities show none")
	}
	return cause.NotChecked(g.Acts.Gap())
}

// acted returns the group's instances that Rollcall replaced for the same kind of finding, the
// latest first.
func (l *look) acted() (out []ending) {
	for _, a := range l.Group().Acts.Value {
		if a.Done && a.Kind == l.Finding.Kind && (a.Do == "terminate" || a.Do == "delete-nodeclaim") {
			out = append(out, ending{string(a.Instance), a.At})
		}
	}
	return lastFirst(out)
}

func lastFirst(ends []ending) []ending {
	slices.SortFunc(ends, func(a, b ending) int { return b.at.Compare(a.at) })
	return ends
}

func (l *look) repeated(source, field string, ends []ending) cause.Verdict {
	ids := roll.Map(ends, func(e ending) string { return e.instance })
	return cause.Decisive().In(string(l.Finding.Group)).
		Says("%d instances of %s failed and were replaced since %s, and none that was launched since works: another replacement would fail in the same way", len(ends), l.Finding.Group, roll.Clock(ends[len(ends)-1].at)).
		Saw(source, field, "ended: "+strings.Join(ids, ", "), "a replacement that works").
		Fix(paste.Format("aws ec2 create-tags --region %s --resources %s --tags Key=%s,Value=true   # and correct the other causes before the next one is launched", l.Region, string(l.Finding.Instance), roll.TagHold))
}

// failedSince reports whether this instance was launched after the time, and no instance of the
// group launched since then is healthy or is recorded to have stayed healthy for long.
func (l *look) failedSince(at time.Time) bool {
	g, own := l.Group(), false
	if g.Proven.After(at) {
		return false
	}
	for _, m := range g.Members {
		if !m.Launched.After(at) {
			continue
		}
		if m.Healthy {
			return false
		}
		own = own || m.Instance == l.Finding.Instance
	}
	return own
}

// drift checks for what the group's failing instances share and its healthy ones do not have: a
// version of the launch template, or an AMI.
func (l *look) drift() cause.Verdict {
	if l.Finding.Group == roll.GroupNone {
		return cause.Verdict{}
	}
	own := &evidence.Member{}
	var failing, healthy []*evidence.Member
	members := l.Group().Members
	for i := range members {
		m := &members[i]
		switch {
		case m.Healthy:
			healthy = append(healthy, m)
		case m.Finding == l.Finding.Kind:
			failing = append(failing, m)
		}
		if m.Instance == l.Finding.Instance {
			own = m
		}
	}
	if len(healthy) == 0 || own.Instance == "" || own.Image == "" && own.LaunchTemplate == "" {
		return cause.NotChecked("there is no healthy instance of the group to compare with, or what it was launched from was not read")
	}
	drifted := func(source, field, prefix string, of func(*evidence.Member) string) cause.Verdict {
		mine, theirs := of(own), all(healthy, of)
		return cause.Suggestive().In(prefix+mine).
			Says("all %d failing instances of %s come from %s %s, none of the %d healthy ones does", len(failing), l.Finding.Group, source, mine, len(healthy)).
			Saw(source, field, mine, theirs).Fix(l.compare(source, mine, theirs))
	}
	template := func(m *evidence.Member) string {
		if m.LaunchTemplate == "" {
			return ""
		}
		return m.LaunchTemplate + ":" + m.LaunchTemplateVersion
	}
	image := func(m *evidence.Member) string { return m.Image }
	switch {
	case differs(own, failing, healthy, template):
		return drifted("launch template", "version", "launch-template/", template)
	case differs(own, failing, healthy, image):
		return drifted("AMI", "ImageId", "ami/", image)
	}
	return cause.RuledOut
}

// compare returns a command that shows what changed.
func (l *look) compare(source, mine, theirs string) string {
	good, _, _ := strings.Cut(theirs, ", ")
	if source == "AMI" {
		return paste.Format("aws ec2 describe-images --region %s --image-ids %s %s --query 'Images[].{Id:ImageId,Name:Name,Created:CreationDate}'", l.Region, mine, good)
	}
	id, version, _ := strings.Cut(mine, ":")
	other, old, _ := strings.Cut(good, ":")
	if id == other {
		return paste.Format("aws ec2 describe-launch-template-versions --region %s --launch-template-id %s --versions %s %s   # what changed between them?", l.Region, id, old, version)
	}
	return paste.Format("aws ec2 describe-launch-template-versions --region %[1]s --launch-template-id %[2]s --versions %[3]s\naws ec2 describe-launch-template-versions --region %[1]s --launch-template-id %[4]s --versions %[5]s", l.Region, id, version, other, old)
}
