package collect

import (
	"encoding/json"
	"testing"

	"rollcall/shared/kube"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestQuantities(t *testing.T) {
	for text, want := range map[string]int64{
		"134217728": 128 << 20, "128Mi": 128 << 20, "1500Ki": 1500 << 10, "0.5Gi": 512 << 20, "1G": 1e9, "500M": 5e8, "2k": 2000, "1e9": 1e9, "128974848000m": 128974848,
		"0": 0, "": 0, "much": 0, "5Zi": 0, "-1Gi": 0, "Gi": 0, "1E30": 0, "NaN": 0, "7Mi more": 0,
	} {
		expect.Equal(t, kube.Quantity(text), want, "%q", text)
	}
}

func TestTheMemoryOfAPod(t *testing.T) {
	const evicted = `"status": {"phase": "Failed", "reason": "Evicted", "message": `
	for _, tt := range []struct {
		name, text    string
		unlimited     bool
		request, used int64
		killed        bool
	}{
		{"nothing said", `{"spec": {"containers": [{"name": "a"}]}}`, true, 0, 0, false},
		{"a request alone", `{"spec": {"containers": [{"name": "a", "resources": {"requests": {"memory": "1Gi", "cpu": "1"}, "limits": {"cpu": "1"}}}]}}`, true, 1 << 30, 0, false},
		{"a limit", `{"spec": {"containers": [{"name": "a", "resources": {"limits": {"memory": "1Gi"}}}]}}`, false, 0, 0, false},
		{"a limit of one of two", `{"spec": {"containers": [{"name": "a", "resources": {"requests": {"memory": "1Mi"}, "limits": {"memory": "1Gi"}}}, {"name": "b", "resources": {"requests": {"memory": "2Mi"}}}]}}`, true, 3 << 20, 0, false},
		{"a limit of the pod", `{"spec": {"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}, "containers": [{"name": "a"}]}}`, false, 1 << 30, 0, false},
		{"evicted", `{` + evicted + `"The node was low on resource: memory. Threshold quantity: 100Mi, available: 88Mi. Container app was using 1500Mi, request is 256Mi, has larger consumption of memory. Container log was using 20Mi, request is 0, has larger consumption of memory. "}}`, false, 0, 1520 << 20, false},
		{"evicted, with requests of its own", `{` + evicted + `"The node was low on resource: memory. Pod cache-1 was using 3Gi, request is 1Gi, has larger consumption of memory. Container app was using 3Gi, request is 0, has larger consumption of memory. "}}`, false, 0, 3 << 30, false},
		{"evicted for want of disk space", `{` + evicted + `"The node was low on resource: ephemeral-storage. Container app was using 15Gi, request is 0, has larger consumption of ephemeral-storage. "}}`, false, 0, 0, false},
		{"evicted, without a word why", `{` + evicted + `"The node had condition: [MemoryPressure]. "}}`, false, 0, 0, false},
		{"not evicted", `{"status": {"message": "Container app was using 1500Mi, request is 0, has larger consumption of memory. "}}`, false, 0, 0, false},
		{"killed", `{"status": {"containerStatuses": [{"lastState": {"terminated": {"reason": "Error"}}}, {"lastState": {"terminated": {"reason": "OOMKilled"}}}]}}`, false, 0, 0, true},
	} {
		var p podJSON
		must.Succeed(t, json.Unmarshal([]byte(tt.text), &p))
		got := pod(&p)
		expect.That(t, got.Unlimited == tt.unlimited && got.MemoryRequest == tt.request && got.MemoryUsed == tt.used && got.OutOfMemory == tt.killed, "%s: %+v", tt.name, got)
	}
}
