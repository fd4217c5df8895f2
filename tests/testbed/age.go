package testbed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// The keys of objects whose age the bed changes, with the API server's default etcd
// prefix.
const (
	nodeKey      = "/registry/minions/"
	nodeClaimKey = "/registry/karpenter.sh/nodeclaims/"
)

// errChanged is returned if the object was written between reading and writing it.
var errChanged = errors.New("the object changed meanwhile")

// age sets the creation time of a stored object. The API server stamps an object with its own clock and lets nobody
// change the time, so age changes it in etcd: the bed's API server stores JSON.
func (b *Bed) age(ctx context.Context, key string, created time.Time) error {
	err := errChanged
	for range 5 {
		if err = b.tryAge(ctx, key, created); !errors.Is(err, errChanged) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("set the creation time of %s in etcd: %w", key, err)
	}
	return nil
}

func (b *Bed) tryAge(ctx context.Context, key string, created time.Time) error {
	var found struct {
		KVs []struct {
			Value       []byte `json:"value"`
			ModRevision string `json:"mod_revision"`
		} `json:"kvs"`
	}
	if err := b.askEtcd(ctx, "range", map[string]any{"key": []byte(key)}, &found); err != nil {
		return err
	}
	if len(found.KVs) != 1 {
		return fmt.Errorf("%d objects, want 1", len(found.KVs))
	}
	value, err := withCreation(found.KVs[0].Value, created)
	if err != nil {
		return err
	}
	var written struct {
		Succeeded bool `json:"succeeded"`
	}
	err = b.askEtcd(ctx, "txn", map[string]any{
		"compare": []any{map[string]any{"key": []byte(key), "target": "MOD", "result": "EQUAL", "mod_revision": found.KVs[0].ModRevision}},
		"success": []any{map[string]any{"request_put": map[string]any{"key": []byte(key), "value": value}}},
	}, &written)
	if err == nil && !written.Succeeded {
		err = errChanged
	}
	return err
}

// withCreation returns a stored object with another creation time.
func withCreation(stored []byte, created time.Time) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(stored))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("decode what is stored: %w", err)
	}
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return nil, errors.New("what is stored has no metadata")
	}
	metadata["creationTimestamp"] = created.UTC().Format(time.RFC3339)
	return json.Marshal(object)
}

// askEtcd calls etcd's JSON gateway, which encodes keys and values in base64, as Go encodes
// bytes.
func (b *Bed) askEtcd(ctx context.Context, call string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode %s: %w", call, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.etcd+"/v3/kv/"+call, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s: read the answer: %w", call, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", call, resp.Status, bytes.TrimSpace(answer))
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s: decode the answer: %w", call, err)
	}
	return nil
}
