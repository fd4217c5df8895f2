package policy

import (
	"sync"

	"rollcall/shared/roll"
)

// policies are effective policies by what they were asked for.
type policies struct {
	mu sync.Mutex
	of map[asked]Policy
}

type asked struct {
	cluster, clusterTag string
	of                  roll.Selector
}

// mostPolicies bounds what is remembered: selectors differ by group, and by the tags of instances.
const mostPolicies = 1000

func (p *policies) get(a asked, compute func() Policy) Policy {
	if p == nil {
		return compute()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	got, ok := p.of[a]
	if !ok {
		if p.of == nil || len(p.of) >= mostPolicies {
			p.of = map[asked]Policy{}
		}
		got = compute()
		p.of[a] = got
	}
	return got
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
			p = d.known.get(asked{name, clusterTag, of}, func() Policy { return d.For(name, clusterTag, of) })
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
	with.deployed, with.known = nil, new(policies)
	if r.WarnAfter > 0 {
		with.deployed = append(with.deployed, durationSetting(keyWarnAfter, r.WarnAfter))
	}
	if r.Deadline > 0 {
		with.deployed = append(with.deployed, durationSetting(keyDeadline, r.Deadline))
	}
	return &with
}
