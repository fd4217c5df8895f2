package kube

// Noting is the same client, which also tells note of every [Client.Read] and
// [Client.ReadEach]: what was asked, and the objects of the answer or the error. It is for a
// capture, and may be called from several goroutines at once if the client is.
func (c *Client) Noting(note func(Question, []*Item, error)) *Client {
	return &Client{rest: c.rest, nodes: c.nodes, items: c.items, note: note}
}

// Kinds are the kinds of the objects that the question asks for, such as Node.
func (q Question) Kinds() []string {
	var kinds []string
	for _, r := range askings[q.topic].of {
		kinds = append(kinds, r.kind)
	}
	return kinds
}

// ByName reports whether the question asks for one object by its name, and not for a list.
func (q Question) ByName() bool { return askings[q.topic].byName }
