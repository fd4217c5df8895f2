package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// partBytes is the maximum size of a notice's memory in one item, in bytes. An item takes
// 400 KB.
const partBytes = 300_000

// toldOverhead is the maximum size of a told without its texts and its instances, in bytes.
const toldOverhead = len("last told instances stage held order drain") + 12*valueOverhead

// noticeItems splits a notice into its items, the head first.
func noticeItems(pk string, k NoticeKey, n Notice) ([]item, error) {
	pieces, size := [][]told{{}}, 0
	for _, t := range toldOf(n.Members) {
		ids := t.Instances
		for len(ids) > 0 {
			if size > partBytes {
				pieces, size = append(pieces, nil), 0
			}
			size += toldOverhead + len(fmt.Sprint(t.MemberMemory))
			fit := 0
			for fit < len(ids) && size <= partBytes {
				size += len(ids[fit]) + 1
				fit++
			}
			fit = max(fit, 1)
			last := &pieces[len(pieces)-1]
			*last = append(*last, told{t.MemberMemory, ids[:fit]})
			ids = ids[fit:]
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

// toldOf groups members with equal memories, in the order of their ids.
func toldOf(members map[roll.InstanceID]MemberMemory) []told {
	byMemory := map[MemberMemory][]string{}
	for id, m := range members {
		byMemory[m] = append(byMemory[m], string(id))
	}
	var out []told
	for m, ids := range byMemory {
		slices.Sort(ids)
		out = append(out, told{m, ids})
	}
	slices.SortFunc(out, func(a, b told) int { return strings.Compare(a.Instances[0], b.Instances[0]) })
	return out
}

// notice joins the items of a notice. A part with another stamp belongs to a notice that
// was written during the read: then the read starts again. Parts beyond the head's number
// are left over and are ignored.
func (head noticeItem) notice(parts map[string]toldItem) (Notice, error) {
	n := Notice{SentAt: head.SentAt, Over: head.Over, Incident: head.Incident, Members: map[roll.InstanceID]MemberMemory{}}
	all := slices.Clone(head.Told)
	for i := range head.Parts {
		at := toldItem{NoticeKey: head.NoticeKey, Part: i + 1}.sortKey()
		p, ok := parts[at]
		if !ok || p.Stamp != head.Stamp {
			return Notice{}, fmt.Errorf("item %s and its part %s do not belong together: %w", head.sortKey(), at, errMoved)
		}
		all = append(all, p.Told...)
	}
	for _, t := range all {
		for _, id := range t.Instances {
			n.Members[roll.InstanceID(id)] = t.MemberMemory
		}
	}
	return n, nil
}
