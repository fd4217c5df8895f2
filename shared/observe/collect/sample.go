package collect

import (
	"fmt"
	"time"

	"rollcall/shared/roll"
)

const (
	// sampleAlone is how many instances of a group are sampled for one kind of finding,
	// samplePlural if there are findings of several groups or kinds. Two is the minimum that shows
	// a shared cause.
	sampleAlone, samplePlural = 3, 2
	// sampleTotal is how many instances are sampled per check.
	sampleTotal = 20
)

// samples are the instances whose evidence costs one call each, by what they represent.
type samples struct {
	free   bool
	taken  map[roll.FindingKey]bool
	counts map[stratum]int
}

// stratum is a kind of finding in a group, which a sample represents.
type stratum struct {
	group roll.Group
	kind  roll.Kind
}

func of(f *roll.Finding) stratum { return stratum{f.Group, f.Kind} }

// sampled selects the first findings of each group and kind, in the order given.
func sampled(findings []roll.Finding, free bool) samples {
	s := samples{free: free, taken: map[roll.FindingKey]bool{}, counts: map[stratum]int{}}
	for i := range findings {
		s.counts[of(&findings[i])] = 0
	}
	most := sampleAlone
	if len(s.counts) > 1 {
		most = samplePlural
	}
	for i := range findings {
		if f := &findings[i]; s.counts[of(f)] < most && len(s.taken) < sampleTotal {
			s.counts[of(f)]++
			s.taken[f.Key()] = true
		}
	}
	return s
}

// inRotation returns the findings in the order in which they are sampled: the most urgent first and, if they
// are of more groups and kinds than a check samples, or reads nodes of, the others in turn. A long hold on some does not
// leave the others without a cause forever.
func inRotation(findings []roll.Finding, at time.Time) []roll.Finding {
	all, nodes := map[stratum]bool{}, map[stratum]bool{}
	for i := range findings {
		all[of(&findings[i])] = true
		if findings[i].Node != "" {
			nodes[of(&findings[i])] = true
		}
	}
	if len(all)*samplePlural <= sampleTotal && len(nodes)*samplePlural <= nodesTotal {
		return findings
	}
	return roll.InTurn(findings, sampleTotal/4, at)
}

func (s samples) has(f *roll.Finding) bool { return s.free || s.taken[f.Key()] }

// why returns why nothing is read about a finding that is not in the sample.
func (s samples) why(f *roll.Finding) string {
	n := s.counts[of(f)]
	if n == 0 {
		return fmt.Sprintf("sampled: read from %d instances per check, none of them of %s", sampleTotal, f.Group)
	}
	what := "of " + string(f.Group)
	if f.Group == roll.GroupNone {
		what = "that belong to no group"
	}
	return fmt.Sprintf("sampled: read from %d %s %s, not from this one", n, roll.Plural(n, "instance", "instances"), what)
}

// sampledOf splits the instances of findings with the need into those in the sample and the others,
// with the reason why nothing is read of them.
func (l *look) sampledOf(n need) (ids []roll.InstanceID, skipped map[roll.InstanceID]string) {
	return split(l, n, func(f *roll.Finding) (roll.InstanceID, bool) { return f.Instance, f.Instance.IsInstance() })
}

// sampledNodes does the same for the nodes of findings.
func (l *look) sampledNodes(n need) (names []string, skipped map[string]string) {
	names, skipped = split(l, n, func(f *roll.Finding) (string, bool) { return f.Node, f.Node != "" })
	names, left := first(names, l.most(nodesTotal))
	for _, name := range left {
		skipped[name] = fmt.Sprintf("sampled: %d nodes are read per check, the most urgent first, the others in turn", nodesTotal)
	}
	return names, skipped
}

func split[K comparable](l *look, n need, key func(*roll.Finding) (K, bool)) (keys []K, skipped map[K]string) {
	skipped = map[K]string{}
	for _, f := range l.needing(n) {
		k, ok := key(f)
		if !ok {
			continue
		}
		if l.samples.has(f) {
			keys = append(keys, k)
		} else if _, ok := skipped[k]; !ok {
			skipped[k] = l.samples.why(f)
			if l.samples.counts[of(f)] == 0 {
				l.unread(skipped[k], true) // an act waits for its turn
			}
		}
	}
	keys = distinct(keys)
	for _, k := range keys {
		delete(skipped, k) // another finding of it is in the sample
	}
	return keys, skipped
}
