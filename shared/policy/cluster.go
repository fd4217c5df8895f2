package policy

import (
	"sync"

	"rollcall/shared/roll"
	"rollcall/shared/roll/memo"
)

// asked holds the arguments of an effective policy.
type asked struct {
	cluster, clusterTag string
	of                  roll.Selector
}

// cache holds what was computed from a document: its effective policies, and what Watch returns.
// Selectors differ by group, and by the tag of instances.
type cache struct {
	memo.Memo[asked, Policy]

	once  sync.Once
	watch roll.Watch
}

func remembering() *cache { return &cache{Memo: memo.Memo[asked, Policy]{Most: 1000}} }

// Cluster returns a function that returns the effective policy of a cluster's groups and instances,
// for callers that need it once per node. clusterTag is the value of the EKS cluster tag
// rollcall:mode. permitted is the mode of the caller. The mode of a policy is the lowest of
// permitted, of the document with its overrides, and of the tag. If the document names no mode, it
// is the lowest of the others.
//
// The function is for one goroutine. The document caches its results for the next check too, so
// they must not be changed.
func (d *Document) Cluster(name, clusterTag string, permitted Mode) func(roll.Selector) Policy {
	known := map[roll.Selector]Policy{}
	return func(of roll.Selector) Policy {
		p, ok := known[of]
		if !ok {
			p = d.cached(name, clusterTag, of)
			if p.ModeSet {
				p.Mode = Lower(p.Mode, permitted)
			} else {
				p.Mode = Lower(permitted, Ceiling(clusterTag))
			}
			known[of] = p
		}
		return p
	}
}

// cached is For, whose result must not be changed.
func (d *Document) cached(cluster, clusterTag string, of roll.Selector) Policy {
	return d.known.Get(asked{cluster, clusterTag, of}, func() Policy { return d.For(cluster, clusterTag, of) })
}

// Deployed returns the document with the registration times of a deployment in place of the
// built-in ones. Zero times keep the built-in ones. Times in the document itself take precedence.
func (d *Document) Deployed(r Registration) *Document {
	with := *d
	with.deployed, with.known = nil, remembering()
	with.source.Deployed = r
	if r.WarnAfter > 0 {
		with.deployed = append(with.deployed, durationSetting(keyWarnAfter, r.WarnAfter))
	}
	if r.Deadline > 0 {
		with.deployed = append(with.deployed, durationSetting(keyDeadline, r.Deadline))
	}
	sourced("deployment", with.deployed...)
	return &with
}
