package evidence_test

import (
	"testing"

	"rollcall/shared/evidence"
	"rollcall/tests/harness/expect"
)

func TestOnlyNetworkPluginsCountAsSuch(t *testing.T) {
	for name, want := range map[string]bool{
		"aws-node": true, "cilium": true, "calico-node": true, "kube-flannel-ds": true,
		"aws-node-termination-handler": false, "cilium-envoy": false, "weave-scope-agent": false, "kube-proxy": false,
	} {
		expect.Equal(t, evidence.IsNetworkPlugin(name), want, "%s", name)
	}
}
