package policy

import (
	"rollcall/shared/roll"
	"rollcall/shared/roll/memo"
)

// asked is what an effective policy was asked for.
type asked struct {
	cluster, clusterTag string
	of                  roll.Selector
}

// remembering remembers the effective policies of a document. Selectors differ by group, and by the
// tags of instances.
func remembering() *memo.Memo[asked, Policy] { return &memo.Memo[asked, Policy]{Most: 1000} }

// remembered is For, worked out once where the document remembers.
func (d *Document) remembered(a asked) Policy {
	effective := func() Policy { return d.For(a.cluster, a.clusterTag, a.of) }
	if d.known == nil {
		return effective()
	}
	return d.known.Get(a, effective)
}

// Cluster returns the effective policy of a cluster's groups and instances as a
// function, for readers that ask once per node. clusterTag is the value of the EKS cluster tag
// rollcall:mode. permitted is the mode that the caller was started with. The mode is
// the lowest of that, of what the document with its overrides says, and of the tags
// rollcall:mode of the cluster and of the instance. Where the document names no mode,
// it is the lowest of the others.
//
// The function is for one goroutine. Its answers are remembered with the document, for the next
// check too: nobody may change them.
func (d *Document) Cluster(name, clusterTag string, permitted Mode) func(roll.Selector) Policy {
	known := map[roll.Selector]Policy{}
	return func(of roll.Selector) Policy {
		p, ok := known[of]
		if !ok {
			p = d.remembered(asked{name, clusterTag, of})
			if p.ModeSet {
				p.Mode = Lower(p.Mode, permitted)
			} else {
				p.Mode = Lower(permitted, Lower(ceiling(clusterTag), ceiling(of.Mode)))
			}
			known[of] = p
		}
		return p
	}
}

// Deployed returns the document with other times for registration in the place of the
// built-in ones: those that a deployment was given. Zero times leave the built-in ones.
// What the document itself says goes before.
func (d *Document) Deployed(r Registration) *Document {
	with := *d
	with.deployed, with.known = nil, remembering()
	if r.WarnAfter > 0 {
		with.deployed = append(with.deployed, durationSetting(keyWarnAfter, r.WarnAfter))
	}
	if r.Deadline > 0 {
		with.deployed = append(with.deployed, durationSetting(keyDeadline, r.Deadline))
	}
	return &with
}
