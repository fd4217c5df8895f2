package bundle

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestAListOfPrintedObjectsIsPrintedLikeAnyOther(t *testing.T) {
	objects := []any{map[string]any{"kind": "Pod", "metadata": map[string]any{"name": "<a>"}, "spec": map[string]any{"nodeName": "n", "tolerations": []any{map[string]any{}}}}, map[string]any{}}
	for n := range len(objects) + 1 {
		items := [][]byte{}
		for _, o := range objects[:n] {
			data, _ := json.Marshal(o)
			var p prunedItem
			if err := p.UnmarshalJSON(data); err != nil {
				t.Fatal(err)
			}
			items = append(items, p.json)
		}
		want := printed(map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": objects[:n]})
		if got := listPrinted(items); !bytes.Equal(got, want) {
			t.Errorf("%d objects:\n%s\nwant:\n%s", n, got, want)
		}
	}
}
