package kube

import (
	"context"
	"encoding/json"
)

// printed is [Client.Read] in the form that kubectl prints: one object, or a List.
func (c *Client) printed(ctx context.Context, q Question) (json.RawMessage, error) {
	objects, err := c.Read(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case q.ByName():
		return objects[0].JSON(), nil
	}
	items := []json.RawMessage{}
	for _, o := range objects {
		items = append(items, o.JSON())
	}
	return json.Marshal(map[string]any{"apiVersion": "v1", "kind": kindList, "items": items, "metadata": map[string]any{"resourceVersion": ""}})
}
