package assess

import "rollcall/shared/roll"

// keepOne keeps a finding in the ledger unchanged, and reports whether there is one.
func (a *assessor) keepOne(k roll.FindingKey) bool {
	_, ok := a.State.Findings[k]
	if ok {
		a.out.Kept[k] = true
	}
	return ok
}

func (a *assessor) keep(id roll.InstanceID) {
	for _, kind := range roll.Kinds() {
		a.keepOne(roll.FindingKey{Instance: id, Kind: kind})
	}
}

// keepUnread keeps the findings that depend on something unreadable, unless they were found again.
func (a *assessor) keepUnread() {
	statuses := map[roll.FindingKey]bool{}
	current := make(map[roll.FindingKey]bool, len(a.out.Findings))
	for _, f := range a.out.Findings {
		delete(a.out.Kept, f.Key())
		current[f.Key()] = true
	}
	for k := range a.State.Findings {
		switch {
		case current[k]:
		case a.unread(k), a.stuckUnread(k), a.unchecked(k):
			a.out.Kept[k] = true
		case a.Snapshot.StatusRead != roll.Yes:
			statuses[k] = true
		}
	}
	if len(statuses) == 0 {
		return // as in most checks: do not walk through all instances
	}
	for n := range a.Snapshot.Instances {
		for _, kind := range []roll.Kind{roll.Impaired, roll.Scheduled} {
			k := roll.FindingKey{Instance: a.Snapshot.Instances[n].ID, Kind: kind}
			if statuses[k] && a.Snapshot.Instances[n].State == roll.StateRunning {
				a.out.Kept[k] = true
			}
		}
	}
}

// unread reports whether a finding depends on a part of the snapshot that is missing.
func (a *assessor) unread(k roll.FindingKey) bool {
	switch {
	case a.Snapshot.Target != "" && k.Instance != a.Snapshot.Target:
		return true
	case a.gone:
		// EKS may have been called in the wrong account or region, so this ends no finding. Orphans
		// are found through EC2.
		return k.Kind != roll.Orphaned || !a.orphansRead()
	}
	if a.Snapshot.Unasked[roll.Group(k.Instance)] {
		return true
	}
	switch kind, _, _ := k.Instance.Subject(); kind { // of Unlaunched
	case "nodepool":
		return a.Snapshot.ClaimsRead != roll.Yes
	case "nodegroup":
		return a.Snapshot.ScalingRead != roll.Yes || a.Snapshot.NodeGroupsRead != roll.Yes
	case "asg":
		return a.Snapshot.ScalingRead != roll.Yes
	}
	return !a.instancesRead || !a.nodesRead || a.lookedUpInVain(k.Instance)
}

// unchecked reports whether a finding is of a status check of a running instance, and EC2 has no result of it now: it
// has not failed, nor passed.
func (a *assessor) unchecked(k roll.FindingKey) bool {
	if k.Kind != roll.Impaired || !a.Snapshot.Unchecked[k.Instance] {
		return false
	}
	i := a.Snapshot.Instance(k.Instance)
	return i != nil && i.State == roll.StateRunning
}

// lookedUpInVain reports whether EC2 left an instance out of its listing, and whether it exists could not be
// read.
func (a *assessor) lookedUpInVain(id roll.InstanceID) bool {
	return a.Snapshot.Details[id].WholeRead == roll.Unreadable && a.Snapshot.Instance(id) == nil
}

// carry repeats the ledger records of members that the snapshot does not show, so that they are not
// forgotten.
func (a *assessor) carry() {
	if a.whole {
		return
	}
	target := a.Snapshot.Target
	shown := map[roll.InstanceID]bool{}
	for i := range a.Snapshot.Nodes {
		shown[a.Snapshot.Nodes[i].Instance] = true
	}
	lacksNode := func(id roll.InstanceID) bool {
		if target != "" {
			return id != target || !a.nodesRead
		}
		return !a.nodesRead && !shown[id]
	}
	lacksAny := func(id roll.InstanceID) bool {
		return target == "" || id != target || !a.nodesRead || !a.instancesRead
	}
	carry(a.out.NotReady, a.State.NotReady, lacksNode)
	carry(a.out.Flips, a.State.Flips, lacksNode)
	carry(a.out.Pressures, a.State.Pressures, lacksNode)
	carry(a.out.Missing, a.State.Missing, lacksAny)
	carry(a.out.Doubts, a.State.Doubts, lacksAny)
	carry(a.out.Rests, a.State.Rests, lacksAny)
}

func carry[V any](out, known map[roll.InstanceID]V, missing func(roll.InstanceID) bool) {
	for id, v := range known {
		if _, ok := out[id]; !ok && missing(id) {
			out[id] = v
		}
	}
}
