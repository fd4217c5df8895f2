package kube

import (
	"encoding/json"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestWhatAnItemWasDecodedIntoIsRemembered(t *testing.T) {
	type named struct {
		Kind     string
		Metadata struct{ Name string }
	}
	type kind struct{ Kind int }
	i := NewItem(json.RawMessage(`{"kind":"Pod","metadata":{"name":"a","annotations":{"b":"s3cret"}}}`))
	one, err := Decode[named](i)
	must.That(t, err == nil && one.Metadata.Name == "a", "%+v, %v", one, err)
	if again, err := Decode[named](i); again != one || err != nil {
		t.Errorf("decoded once more: %+v, %v", again, err)
	}
	if other, err := Decode[object](i); err != nil || (*other)["kind"] != "Pod" {
		t.Errorf("as another type: %v, %v", other, err)
	}
	for range 2 {
		v, err := Decode[kind](i)
		expect.That(t, err != nil, "as what it is not: %+v", v)
	}
	less, err := i.trim(trimPod)
	if err != nil || strings.Contains(string(less.JSON()), "s3cret") || !strings.Contains(string(i.JSON()), "s3cret") {
		t.Errorf("trimmed to %s, %v", less.JSON(), err)
	}
	if again, err := i.trim(trimPod); again != less || err != nil {
		t.Errorf("trimmed once more, %v", err)
	}
}
