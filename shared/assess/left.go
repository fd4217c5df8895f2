package assess

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

const (
	// LeftAfter is how long after the end of its instance a volume or interface counts as left
	// over. Until then its owner may attach it elsewhere or delete it: Kubernetes alone waits 6
	// minutes before it detaches a volume from a silent node.
	// https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#storage-force-detach-on-timeout
	LeftAfter = 3 * time.Hour
	// leftAsked is how long after that end EC2 is queried for it, unless it is a finding.
	leftAsked = 24 * time.Hour
)

// remnant is a volume or network interface that outlives its instance.
type remnant struct {
	roll.Leftover
	group roll.Group
	// known is its finding in the ledger, zero if there is none.
	known ledger.Finding
}

// asked reports whether to query EC2 for it at a time.
func (r remnant) asked(now time.Time) bool {
	return !now.Before(r.Ended.Add(LeftAfter)) && (!r.known.Opened.IsZero() || now.Before(r.Ended.Add(leftAsked)))
}

// remnants returns the remnants of instances that Rollcall terminated, and those that already have
// a finding.
func remnants(s ledger.State) map[roll.InstanceID]remnant {
	out := map[roll.InstanceID]remnant{}
	for _, a := range s.Actions {
		if a.Outcome == nil || a.Outcome.Result != ledger.Done {
			continue
		}
		for _, id := range a.Outlives {
			if subject, ok := roll.LeftoverID(id); ok {
				out[subject] = remnant{Leftover: roll.Leftover{ID: id, Instance: a.Instance, Ended: a.Outcome.At.UTC()}, group: a.Group}
			}
		}
	}
	for k, f := range s.Findings {
		if id, ok := k.Instance.Leftover(); ok {
			out[k.Instance] = remnant{Leftover: roll.Leftover{ID: id, Instance: f.Left, Ended: f.Since.UTC()}, group: f.Group, known: f}
		}
	}
	return out
}

// AskLeft returns the volumes and interfaces to query from EC2, in order: those of instances that
// ended between LeftAfter and a day ago, and those that have a finding.
func AskLeft(s ledger.State, now time.Time) (subjects []roll.InstanceID) {
	for subject, r := range remnants(s) {
		if r.asked(now) {
			subjects = append(subjects, subject)
		}
	}
	slices.Sort(subjects)
	return subjects
}

// left finds volumes and interfaces that outlived their instances.
func (a *assessor) left() {
	if a.Snapshot.Target != "" {
		return // no act is about them
	}
	all := remnants(a.State)
	a.orphansGone(all)
	for _, subject := range slices.Sorted(maps.Keys(all)) {
		r := all[subject]
		switch {
		case a.Now.Before(r.Ended.Add(LeftAfter)):
			if !r.known.FirstSeen.IsZero() { // otherwise the record of the act has it
				a.leftover(subject, r)
			}
		case a.Snapshot.Left[subject].ID != "":
			a.leftover(subject, r)
		case r.known.Opened.IsZero() && r.asked(a.Now):
			a.keepOne(roll.FindingKey{Instance: subject, Kind: roll.Stuck}) // it may still be detached
		}
	}
}

// orphansGone adds the remnants of orphans that are gone without an act of Rollcall. The ledger
// forgets such an orphan with this check.
func (a *assessor) orphansGone(all map[roll.InstanceID]remnant) {
	if !a.instancesRead {
		return
	}
	gone := map[roll.InstanceID]ledger.Finding{}
	for k, f := range a.State.Findings {
		if k.Kind == roll.Orphaned {
			gone[k.Instance] = f
		}
	}
	for i := range a.Snapshot.Instances {
		if !a.Snapshot.Instances[i].State.Gone() {
			delete(gone, a.Snapshot.Instances[i].ID)
		}
	}
	for id, f := range gone {
		for _, left := range f.Outlives {
			subject, ok := roll.LeftoverID(left)
			if _, known := all[subject]; !ok || known {
				continue
			}
			r := remnant{Leftover: roll.Leftover{ID: left, Instance: id, Ended: a.Now.UTC()}, group: f.Group}
			r.known.FirstSeen = a.Now // makes it a finding from now on
			all[subject] = r
		}
	}
}

func (a *assessor) leftover(subject roll.InstanceID, r remnant) {
	l := a.Snapshot.Left[subject]
	l.ID, l.Instance, l.Ended = r.ID, r.Instance, r.Ended
	f := roll.Finding{
		Instance: subject, Group: r.group, Owner: ownerOf(r.group), Selector: roll.GroupSelector(r.group), Zone: l.Zone, Kind: roll.Stuck, Stage: roll.Watching, Left: l,
		Since: r.Ended, Began: r.Ended, Due: r.Ended.Add(LeftAfter),
	}
	f.Summary = fmt.Sprintf("%s is meant to outlive instance %s, which has been gone since %s", leftName(l), l.Instance, roll.Clock(l.Ended))
	if !a.Now.Before(f.Due) {
		f.Stage = roll.Overdue
		f.Summary = fmt.Sprintf("%s outlived instance %s, which has been gone since %s, and is attached to nothing: %s", leftName(l), l.Instance, roll.Clock(l.Ended), leftCost(l))
	}
	a.out.Findings = append(a.out.Findings, f)
}

// ownerOf returns the owner of a group by its name.
func ownerOf(g roll.Group) roll.Owner {
	if _, ok := g.NodePool(); ok {
		return roll.OwnerKarpenter
	}
	if _, ok := g.NodeGroup(); ok {
		return roll.OwnerManagedNodeGroup
	}
	if strings.HasPrefix(string(g), string(roll.AutoScalingGroup(""))) {
		return roll.OwnerAutoScalingGroup
	}
	return roll.OwnerNone
}

func leftName(l roll.Leftover) string {
	switch {
	case l.Type != "":
		return fmt.Sprintf("EBS volume %s (%s, %d GiB)", l.ID, l.Type, l.Size)
	case l.Subnet != "":
		return fmt.Sprintf("network interface %s in subnet %s", l.ID, l.Subnet)
	}
	return l.ID
}

// leftCost describes the estimated cost: prices differ by region and contract.
func leftCost(l roll.Leftover) string {
	usd, priced := l.Monthly()
	switch {
	case !priced:
		return "its cost is not known"
	case l.Type == "" && l.Public == 0:
		return "it costs nothing, and holds an address of its subnet"
	case l.Type == "":
		return fmt.Sprintf("its public %s %s about %.2f USD a month (an estimate by the prices of %s, %s)", roll.Plural(l.Public, "address", "addresses"), roll.Plural(l.Public, "costs", "cost"), usd, roll.PricesRegion, roll.PricesOf)
	}
	return fmt.Sprintf("it costs about %.2f USD a month (an estimate by the prices of %s, %s)", usd, roll.PricesRegion, roll.PricesOf)
}

// leftUnread reports whether the snapshot can neither confirm nor end a finding about a volume or
// interface.
func (a *assessor) leftUnread(k roll.FindingKey) bool {
	r := remnant{known: a.State.Findings[k]}
	r.Ended = r.known.Since
	return r.asked(a.Now) && a.Snapshot.LeftRead[k.Instance] != roll.Yes
}
