package roll

// Member is an instance and the node that carries its id, or one of the two alone.
type Member struct {
	Instance *Instance
	Node     *Node
}

// Group returns the group in which the member's owner keeps it.
func (m Member) Group() Group {
	_, g := m.ownerAndGroup()
	return g
}

// Owner returns who launched the member and would replace it.
func (m Member) Owner() Owner {
	o, _ := m.ownerAndGroup()
	return o
}

// ownerAndGroup prefers the instance. A kubelet can write any labels on its node. So beside an
// instance, labels count only if they make Rollcall more careful: for owners whose instances it
// leaves to them.
func (m Member) ownerAndGroup() (Owner, Group) {
	owner, group := OwnerNone, GroupNone
	if m.Instance != nil {
		owner, group = m.Instance.Owner, m.Instance.Group
	}
	if m.Node == nil || m.Node.Owner == "" || owner != OwnerNone {
		return owner, group
	}
	if m.Instance == nil || m.Instance.Stripped() || m.Node.Owner == OwnerKarpenter || m.Node.Owner == OwnerAutoMode || m.Node.Owner == OwnerClusterAPI {
		return m.Node.Owner, m.Node.Group
	}
	return owner, group
}

// ControlPlane reports whether the member is of the control plane of a local cluster, by its tag or its taint.
func (m Member) ControlPlane() bool {
	return m.Instance != nil && m.Instance.ControlPlane || m.Node != nil && m.Node.ControlPlane
}

// Zone returns the member's availability zone.
func (m Member) Zone() string {
	if m.Instance != nil && m.Instance.Zone != "" {
		return m.Instance.Zone
	}
	if m.Node != nil {
		return m.Node.Zone
	}
	return ""
}

// ZoneID returns the id of the member's availability zone, "" if neither the instance nor the node
// has it.
func (m Member) ZoneID() string {
	if m.Instance != nil && m.Instance.ZoneID != "" {
		return m.Instance.ZoneID
	}
	if m.Node != nil {
		return m.Node.ZoneID
	}
	return ""
}

// ID returns the instance id, from the node if there is no instance.
func (m Member) ID() InstanceID {
	if m.Instance != nil {
		return m.Instance.ID
	}
	if m.Node != nil {
		return m.Node.Instance
	}
	return ""
}

// Off reports whether the member's instance is not running, for example because somebody stopped
// it. Its node is silent for that reason, which says nothing about its zone or the cluster. If the
// instance was not read, the node's taint decides.
func (m Member) Off() bool {
	if m.Instance != nil {
		return m.Instance.State != StateRunning
	}
	return m.Node != nil && m.Node.Shutdown
}

// NodeName returns the node's name, "" if there is no node.
func (m Member) NodeName() string {
	if m.Node != nil {
		return m.Node.Name
	}
	return ""
}

// Pair returns each instance with the node that carries its id in spec.providerID, then each node
// without an instance in the snapshot. It never compares names: two nodes may have the same name
// over time, and a kubelet can choose any name.
//
// If two nodes carry one instance id (a node registered again under another name), Pair chooses the
// Ready one, or else the one created last. It drops the other.
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

// answersBetter reports whether n, rather than other, is the node of their instance.
func (n *Node) answersBetter(other *Node) bool {
	ready, otherReady := n.Ready.Status == ConditionTrue, other.Ready.Status == ConditionTrue
	if ready != otherReady {
		return ready
	}
	if !n.Created.Equal(other.Created) {
		return n.Created.After(other.Created)
	}
	return n.Name > other.Name // arbitrary, but does not depend on their order
}
