package roll

// Member is one line of the roll: an instance and the node that carries its id,
// or one of the two alone.
type Member struct {
	Instance *Instance
	Node     *Node
}

// Group is the member's group, told by the instance or else by the node.
func (m Member) Group() Group {
	if m.Instance != nil && m.Instance.Group != GroupNone {
		return m.Instance.Group
	}
	if m.Node != nil && m.Node.Group != "" {
		return m.Node.Group
	}
	return GroupNone
}

// Owner is the member's owner, told by the instance or else by the node.
func (m Member) Owner() Owner {
	if m.Instance != nil && m.Instance.Owner != OwnerNone {
		return m.Instance.Owner
	}
	if m.Node != nil && m.Node.Owner != "" {
		return m.Node.Owner
	}
	return OwnerNone
}

// Zone is the member's availability zone.
func (m Member) Zone() string {
	if m.Instance != nil && m.Instance.Zone != "" {
		return m.Instance.Zone
	}
	if m.Node != nil {
		return m.Node.Zone
	}
	return ""
}

// ID is the instance id, also when only the node tells it.
func (m Member) ID() InstanceID {
	if m.Instance != nil {
		return m.Instance.ID
	}
	if m.Node != nil {
		return m.Node.Instance
	}
	return ""
}

// NodeName is the node's name, "" when there is no node.
func (m Member) NodeName() string {
	if m.Node != nil {
		return m.Node.Name
	}
	return ""
}

// Pair calls the roll: every instance with the node that carries its id in
// spec.providerID, then every node without an instance in the snapshot. Names are
// never compared: two nodes may carry one name over time, and a node's name is
// whatever its kubelet chose.
//
// When two nodes carry one instance id (a node that registered again under
// another name), the one created last is the instance's node and the other stands
// alone.
func Pair(s *Snapshot) []Member {
	byInstance := make(map[InstanceID]int, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Instance == "" {
			continue
		}
		if j, ok := byInstance[n.Instance]; ok && !n.Created.After(s.Nodes[j].Created) {
			continue
		}
		byInstance[n.Instance] = i
	}
	members := make([]Member, 0, max(len(s.Instances), len(s.Nodes)))
	paired := make([]bool, len(s.Nodes))
	for i := range s.Instances {
		m := Member{Instance: &s.Instances[i]}
		if j, ok := byInstance[m.Instance.ID]; ok {
			m.Node = &s.Nodes[j]
			paired[j] = true
		}
		members = append(members, m)
	}
	for i := range s.Nodes {
		if !paired[i] {
			members = append(members, Member{Node: &s.Nodes[i]})
		}
	}
	return members
}
