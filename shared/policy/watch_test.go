package policy

import (
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestWatchHasWhatAnyPartNames(t *testing.T) {
	defaults := map[roll.ConditionKey]bool{
		{Type: "AcceleratedHardwareReady", Status: "False"}: true,
		{Type: "StorageReady", Status: "False"}:             true,
		{Type: "NetworkingReady", Status: "False"}:          true,
		{Type: "KernelReady", Status: "False"}:              true,
		{Type: "ContainerRuntimeReady", Status: "False"}:    true,
		{Type: "MemoryPressure", Status: "True"}:            true,
		{Type: "DiskPressure", Status: "True"}:              true,
		{Type: "PIDPressure", Status: "True"}:               true,
	}
	expect.Same(t, Default().Watch(), roll.Watch{Conditions: defaults}, "defaults")
	d := mustParse(t, `conditions:
  - {type: Ready, status: Unknown, tolerate: 1h}
  - {type: KernelReady, status: "False", tolerate: 1h}
  - {type: KernelReady, status: Unknown, tolerate: 1h}
initialization: {taints: [example.com/b, node.cilium.io/agent-not-ready]}
presets: {slow: {initialization: {taints: [example.com/c]}}}
overrides:
  - match: {cluster: other}
    conditions: [{type: NetworkUnavailable, status: "True", tolerate: 1h}]
    initialization: {taints: [example.com/a, example.com/b]}
  - match: {preset: slow}
    preset: slow
    conditions: [{type: Custom, status: "True", tolerate: 1h}]
`)
	for _, key := range []roll.ConditionKey{
		{Type: "KernelReady", Status: "Unknown"}, {Type: "NetworkUnavailable", Status: "True"}, {Type: "Custom", Status: "True"},
	} {
		defaults[key] = true
	}
	want := roll.Watch{
		Conditions: defaults,
		Taints:     []string{"example.com/a", "example.com/b", "example.com/c", "node.cilium.io/agent-not-ready"},
	}
	expect.Same(t, d.Watch(), want, "d.Watch()")
}
