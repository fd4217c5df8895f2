package kube

import "rollcall/shared/roll"

// Noting returns the same client, which also passes every [Client.Read] to
// note: the question, and the objects of the answer or the error. It is for a capture, and is safe
// for concurrent use if the client is.
func (c *Client) Noting(note func(Question, []*Item, error)) *Client {
	return &Client{rest: c.rest, nodes: c.nodes, items: c.items, note: note}
}

// Kinds returns the kinds of the objects that the question requests, such as Node.
func (q Question) Kinds() []string {
	return roll.Map(q.ask.of, func(r resource) string { return r.kind })
}

// ByName reports whether the question requests one object by name, not a list.
func (q Question) ByName() bool { return q.ask.byName }
