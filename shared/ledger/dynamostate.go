package ledger

// reading is a state in the course of being put together from its items. What several
// items make is kept until all have been seen.
type reading struct {
	state State
	acts  []actionItem
	heads []noticeItem
	parts map[NoticeKey]map[int]toldItem
}

// stateOf makes a state of a cluster's items.
func stateOf(items []item) (State, error) {
	r := reading{parts: map[NoticeKey]map[int]toldItem{}}
	r.state.init()
	for _, it := range items {
		if err := r.take(it); err != nil {
			return State{}, err
		}
	}
	for _, head := range r.heads {
		n, err := head.notice(r.parts[head.key()])
		if err != nil {
			return State{}, err
		}
		r.state.Notices[head.key()] = n
	}
	inTurn(r.acts)
	r.state.Actions = plain(r.acts)
	return r.state, nil
}

// take takes one item. Kinds that it does not know are those of a later version.
func (r *reading) take(it item) error {
	s := &r.state
	switch kindOf(textOf(it[attrSort])) {
	case kindFinding:
		return with(it, func(f findingItem) { s.Findings[f.Key()] = f.Finding })
	case kindNotReady:
		return with(it, func(n notReadyItem) { s.NotReady[n.Instance] = n.NotReady })
	case kindRest:
		return with(it, func(i restItem) { s.Rests[i.Instance] = i.Rest })
	case kindGroup:
		return with(it, func(g groupItem) { s.GroupsWithNodes[g.Name] = g.Seen })
	case kindRemediate:
		return with(it, func(g remediateItem) { s.RemediateSince[g.Name] = g.Since })
	case kindChecked:
		return with(it, func(c checkedItem) { s.Checked = c.At })
	case kindFirst:
		return with(it, func(c firstItem) { s.First = c.At })
	case kindNotices:
		return with(it, func(n noticesItem) { s.NoticesVersion = n.Version })
	case kindMissing:
		return with(it, func(m missingItem) { s.Missing[m.Instance] = m.Since })
	case kindSpot:
		return with(it, func(a spotItem) { s.Spot[SpotKey{a.Instance, a.Event}] = a.At })
	case kindFlips:
		return with(it, func(f flipsItem) { s.Flips[f.Instance] = f.Times })
	case kindPressure:
		return with(it, func(p pressureItem) { s.Pressures[p.Instance] = p.Pressure })
	case kindMemory:
		return with(it, func(m memoryItem) { s.Groups[m.Group] = m.GroupMemory })
	case kindTrouble:
		return with(it, func(t troubleItem) { s.Trouble = &t.Trouble })
	case kindRefusal:
		return with(it, func(i refusalItem) { s.Refusals[i.key()] = i.Refusal })
	case kindNotice:
		return with(it, func(n noticeItem) { r.heads = append(r.heads, n) })
	case kindTold:
		return with(it, func(p toldItem) {
			if r.parts[p.key()] == nil {
				r.parts[p.key()] = map[int]toldItem{}
			}
			r.parts[p.key()][p.Part] = p
		})
	case kindAction:
		a, err := actionOf(it)
		r.acts = append(r.acts, a)
		return err
	}
	return nil
}

// with reads an item and passes it on.
func with[T keyed](it item, do func(T)) error {
	v, err := decode[T](it)
	if err == nil {
		do(v)
	}
	return err
}
