package kube

// Noting returns the same client, which also passes every [Client.Read] to
// note: the question, and the objects of the answer or the error. It is for a capture, and is safe
// for concurrent use if the client is.
func (c *Client) Noting(note func(Question, []*Item, error)) *Client {
	return &Client{rest: c.rest, nodes: c.nodes, items: c.items, note: note}
}

// Kinds returns the kinds of the objects that the question requests, such as Node.
func (q Question) Kinds() []string {
	var kinds []string
	for _, r := range q.ask.of {
		kinds = append(kinds, r.kind)
	}
	return kinds
}

// ByName reports whether the question requests one object by name, not a list.
func (q Question) ByName() bool { return q.ask.byName }
