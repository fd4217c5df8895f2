package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/report"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
	"rollcall/shared/sim"
)

// summary describes the faults of a cluster and what Rollcall did, in one sentence.
func summary(troubles []*trouble, c page.Cluster) string {
	if len(troubles) == 0 {
		return "Nothing was found."
	}
	var causes, done report.Tally
	ill, held := map[string]bool{}, map[string]bool{}
	for _, t := range troubles {
		causes.Add(cmp.Or(t.code(), t.kind))
		ill[t.instance] = true
		if len(t.held) > 0 {
			held[t.instance] = true
		}
	}
	for _, a := range c.Acts {
		if a.Result == resultDone && (a.Action == "reboot" || a.Action == "terminate") {
			done.Add(past(a.Action))
		}
	}
	parts := []string{fmt.Sprintf("%d %s in trouble (%s)", len(ill), roll.Plural(len(ill), "instance", "instances"), strings.Join(causes.Names, ", "))}
	if len(done.Names) > 0 {
		parts = append(parts, strings.Join(done.List("%s %d"), ", "))
	}
	if n := len(held); n > 0 {
		parts = append(parts, fmt.Sprintf("acts on %d held", n))
	}
	return strings.Join(parts, "; ") + "."
}

func past(action string) string {
	word, _, _ := strings.Cut(cmp.Or(done[action], action), " ")
	return word
}

// episodes describes for each fault of a cluster its findings and their results.
func (s *story) episodes(cluster string, troubles []*trouble) []string {
	of := map[int][]*trouble{}
	for _, t := range troubles {
		if f, ok := s.fault(cluster, t); ok {
			of[f.ID] = append(of[f.ID], t)
		}
	}
	var out []string
	for _, f := range s.day.Faults {
		if f.Cluster != "" && f.Cluster != cluster {
			continue
		}
		at := s.day.Start.Add(f.At)
		text := hour(at)
		if f.For > 0 {
			text += " to " + hour(at.Add(f.For))
		}
		text += ", " + f.Says
		if f.Group != "" {
			text += " (" + f.Group + ")"
		}
		found := ""
		if len(of[f.ID]) > 0 {
			_, found = course(of[f.ID], (*trouble).name)
			if last := ended(of[f.ID]); !last.IsZero() {
				found += "; over at " + hour(last)
			}
		} else if !slices.ContainsFunc(troubles, func(t *trouble) bool { return !t.told.Before(at) && t.told.Before(at.Add(f.For)) }) {
			found = "nothing was found"
		}
		out = append(out, strings.TrimSuffix(text+": "+found, ": ")+".")
	}
	return out
}

// fault returns the fault that caused a finding: the latest one in effect when it began.
func (s *story) fault(cluster string, t *trouble) (sim.Fault, bool) {
	for _, f := range slices.Backward(s.day.Faults) {
		at := s.day.Start.Add(f.At)
		here := (f.Cluster == "" || f.Cluster == cluster) && (f.Group == "" || strings.HasSuffix(t.group, "/"+f.Group))
		then := !t.since.Before(at) && (f.For == 0 || t.since.Before(at.Add(f.For)))
		if here && then && f.Kind != sim.FaultThrottle {
			return f, true
		}
	}
	return sim.Fault{}, false
}
