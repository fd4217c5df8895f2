package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"rollcall/shared/roll"
)

// partBytes is how much of what was told goes into one item. An item may have 400 KB.
const partBytes = 300_000

// toldOverhead is what a told takes beside what was said and the instances.
const toldOverhead = len("said") + len("instances") + 4*valueOverhead

// noticeItems splits a notice into its items, the head first.
func noticeItems(pk string, k NoticeKey, n Notice) ([]item, error) {
	bySaid := map[string][]string{}
	for id, said := range n.Members {
		bySaid[said] = append(bySaid[said], string(id))
	}
	pieces, size := [][]told{{}}, 0
	for _, said := range slices.Sorted(maps.Keys(bySaid)) {
		slices.Sort(bySaid[said])
		begun := false // what was said has its place in this piece
		for _, id := range bySaid[said] {
			if size > partBytes {
				pieces, size, begun = append(pieces, []told{}), 0, false
			}
			last := &pieces[len(pieces)-1]
			if !begun {
				*last, begun = append(*last, told{Said: said}), true
				size += len(said) + toldOverhead
			}
			t := &(*last)[len(*last)-1]
			t.Instances = append(t.Instances, id)
			size += len(id) + 1
		}
	}
	head := noticeItem{NoticeKey: k, SentAt: n.SentAt, Over: n.Over, Incident: n.Incident, Told: pieces[0], Parts: len(pieces) - 1}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q", n.SentAt.UTC().Format(time.RFC3339Nano), pieces))
	head.Stamp = hex.EncodeToString(sum[:8])
	all := []keyedItem{head}
	for i, piece := range pieces[1:] {
		all = append(all, toldItem{NoticeKey: k, Part: i + 1, Stamp: head.Stamp, Told: piece})
	}
	var items []item
	for _, v := range all {
		it, err := encode(pk, v.sortKey(), part{"", v})
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}

// notice puts a notice together again. A part of another stamp belongs to a notice
// that was written in the middle of the reading, and then the reading must begin anew;
// parts beyond the head's number are left over and mean nothing.
func (head noticeItem) notice(parts map[string]toldItem) (Notice, error) {
	n := Notice{SentAt: head.SentAt, Over: head.Over, Incident: head.Incident}
	add := func(ts []told) {
		for _, t := range ts {
			for _, id := range t.Instances {
				if n.Members == nil {
					n.Members = map[roll.InstanceID]string{}
				}
				n.Members[roll.InstanceID(id)] = t.Said
			}
		}
	}
	add(head.Told)
	for i := range head.Parts {
		at := toldItem{NoticeKey: head.NoticeKey, Part: i + 1}.sortKey()
		p, ok := parts[at]
		if !ok || p.Stamp != head.Stamp {
			return Notice{}, fmt.Errorf("item %s and its part %s do not belong together: %w", head.sortKey(), at, errMoved)
		}
		add(p.Told)
	}
	return n, nil
}
