package policy_test

import (
	"fmt"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

func ExampleParse() {
	_, err := policy.Parse([]byte(`apiVersion: rollcall/v1
registration: {deadline: 15}
limits:
  Unhealthy: 20%
`))
	fmt.Println(err)
	// Output:
	// line 2: registration.deadline: 15 has no unit: write for example 15m
	// line 4: limits.Unhealthy: unknown key; did you mean unhealthy?
}

func ExampleDocument_For() {
	d, err := policy.Parse([]byte(`apiVersion: rollcall/v1
mode: notify
overrides:
  - match: {cluster: "gpu-*", group: nodepool/training}
    registration: {deadline: 30m}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p := d.For("gpu-a", "", roll.GroupSelector("nodepool/training"))
	fmt.Println(p.Mode, p.Registration.Deadline)
	for _, s := range d.Explain("gpu-a", "", roll.GroupSelector("nodepool/training"))[:3] {
		fmt.Printf("%s: %s (%s)\n", s.Key, s.Value, s.From)
	}
	// Output:
	// notify 30m0s
	// mode: notify (line 2)
	// registration.warnAfter: 5m (default)
	// registration.deadline: 30m (override at line 5)
}
