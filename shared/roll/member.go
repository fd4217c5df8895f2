package roll

// Member is one line of the roll: an instance and the node that carries its id,
// or one of the two alone.
type Member struct {
	Instance *Instance
	Node     *Node
}

// Group is the group that the member's owner keeps it in.
func (m Member) Group() Group {
	_, g := m.ownerAndGroup()
	return g
}

// Owner is who launched the member and would replace it.
func (m Member) Owner() Owner {
	o, _ := m.ownerAndGroup()
	return o
}

// ownerAndGroup asks the instance. A node's labels are whatever its kubelet was told
// to write, so beside an instance they count only where they make Rollcall more
// careful: for owners whose instances it leaves to them.
func (m Member) ownerAndGroup() (Owner, Group) {
	owner, group := OwnerNone, GroupNone
	if m.Instance != nil {
		owner, group = m.Instance.Owner, m.Instance.Group
	}
	if m.Node == nil || m.Node.Owner == "" || owner != OwnerNone {
		return owner, group
	}
	if m.Instance == nil || m.Node.Owner == OwnerKarpenter || m.Node.Owner == OwnerAutoMode {
		return m.Node.Owner, m.Node.Group
	}
	return owner, group
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

// ZoneID is the id of the member's availability zone, "" if neither side tells it.
func (m Member) ZoneID() string {
	if m.Instance != nil && m.Instance.ZoneID != "" {
		return m.Instance.ZoneID
	}
	if m.Node != nil {
		return m.Node.ZoneID
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

// Off reports that the member's instance does not run, such as one that a person stopped: its node
// is silent for that, and tells nothing of its zone or of the cluster. Where the instance was not
// read, the node tells it.
func (m Member) Off() bool {
	if m.Instance != nil {
		return m.Instance.State != StateRunning
	}
	return m.Node != nil && m.Node.Shutdown
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
// another name), the one that is Ready is the instance's node, or else the one
// created last. The other is left out: the instance has answered through the first.
func Pair(s *Snapshot) []Member {
	byInstance := make(map[InstanceID]int, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Instance == "" {
			continue
		}
		if j, ok := byInstance[n.Instance]; ok && !n.answersBetter(&s.Nodes[j]) {
			continue
		}
		byInstance[n.Instance] = i
	}
	members := make([]Member, 0, max(len(s.Instances), len(s.Nodes)))
	for i := range s.Instances {
		m := Member{Instance: &s.Instances[i]}
		if j, ok := byInstance[m.Instance.ID]; ok {
			m.Node = &s.Nodes[j]
			byInstance[m.Instance.ID] = -1 // taken
		}
		members = append(members, m)
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Instance == "" || byInstance[n.Instance] == i {
			members = append(members, Member{Node: n})
		}
	}
	return members
}

// answersBetter reports whether the node, rather than another of the same instance,
// speaks for it.
func (n *Node) answersBetter(other *Node) bool {
	ready, otherReady := n.Ready.Status == ConditionTrue, other.Ready.Status == ConditionTrue
	if ready != otherReady {
		return ready
	}
	if !n.Created.Equal(other.Created) {
		return n.Created.After(other.Created)
	}
	return n.Name > other.Name // as good as any, and the same in whatever order they come
}
