package sim

import (
	"slices"
	"time"
)

// Shrink reduces a failing scenario for as long as the same rule is broken first, in at most the given number of runs.
// It returns the smallest one with its result, and calls progress, if not nil, with the runs and faults left.
func Shrink(sc Scenario, w Watch, rule Rule, runs int, progress func(left int, faults int)) (Scenario, Result) {
	w.Tell, w.Step, w.Bus, w.GoOn = nil, nil, nil, false
	best, result := sc, Result{}
	take := func(candidate Scenario) bool { // if the same rule is broken first
		if runs <= 0 {
			return false
		}
		runs--
		if progress != nil {
			progress(runs, len(candidate.Faults))
		}
		r, err := Run(candidate, w)
		fails := err == nil && len(r.Violations) > 0 && r.Violations[0].Rule == rule
		if fails || len(result.Violations) == 0 { // the first run is returned in any case
			best, result = candidate, r
		}
		return fails
	}
	for again := take(sc); again && runs > 0; {
		again = false
		// Faults after the violation cannot have caused it.
		cut := best.clone()
		cut.Faults = slices.DeleteFunc(cut.Faults, func(f Fault) bool { return best.Start.Add(f.At).After(result.Violations[0].At) })
		if len(cut.Faults) < len(best.Faults) {
			again = take(cut) || again
		}
		for size := (len(best.Faults) + 1) / 2; size >= 1; size /= 2 {
			for i := 0; i < len(best.Faults) && runs > 0; {
				candidate := best.clone()
				candidate.Faults = slices.Delete(candidate.Faults, i, min(i+size, len(candidate.Faults)))
				if take(candidate) {
					again = true
					continue
				}
				i += size
			}
		}
		for _, smaller := range best.smaller() {
			if take(smaller) {
				again = true
				break
			}
		}
	}
	return best, result
}

func (sc Scenario) clone() Scenario {
	sc.Faults = slices.Clone(sc.Faults)
	sc.Clusters = slices.Clone(sc.Clusters)
	for i := range sc.Clusters {
		sc.Clusters[i].Groups = slices.Clone(sc.Clusters[i].Groups)
	}
	return sc
}

// smaller returns the scenarios that have slightly less than this one.
func (sc Scenario) smaller() (out []Scenario) {
	add := func(reduce func(*Scenario)) {
		less := sc.clone()
		reduce(&less)
		out = append(out, less)
	}
	if !sc.Quiet {
		add(func(less *Scenario) { less.Quiet = true })
	}
	for i, c := range sc.Clusters {
		if len(sc.Clusters) > 1 {
			add(func(less *Scenario) { less.Clusters = slices.Delete(less.Clusters, i, i+1) })
		}
		for j, g := range c.Groups {
			if len(c.Groups) > 1 {
				add(func(less *Scenario) { less.Clusters[i].Groups = slices.Delete(less.Clusters[i].Groups, j, j+1) })
			}
			if g.Desired > 2 {
				add(func(less *Scenario) { less.Clusters[i].Groups[j].Desired = g.Desired / 2 })
			}
		}
	}
	if half := sc.Storm / 2; half >= time.Hour && !slices.ContainsFunc(sc.Faults, func(f Fault) bool { return f.At > half }) {
		add(func(less *Scenario) { less.Storm = half })
	}
	return out
}
