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

// The document for which the format was designed.
func ExampleDocument_For() {
	d, err := policy.Parse([]byte(`apiVersion: rollcall/v1
mode: observe                              # observe | notify | remediate
registration:   {warnAfter: 5m, deadline: 15m}
initialization: {deadline: 15m}
conditions:
  - {type: Ready, status: "False", tolerate: 15m}
  - {type: Ready, status: Unknown, tolerate: 30m}
ladders:
  Unknown: [{do: notify}, {do: reboot, once: true}, {do: terminate, after: 10m}]
limits: {unhealthy: 20%, zone: 55%, actionsPerCheck: 1, actionsPerHour: 5}
overrides:
  - match: {cluster: "gpu-*", group: nodepool/training}
    registration: {deadline: 30m}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("warnings:", len(d.Warnings()))
	training := roll.GroupSelector("nodepool/training")
	p := d.For("gpu-a", "", training)
	fmt.Println(p.Mode, p.Registration.Deadline, d.For("web", "", training).Registration.Deadline)
	for _, step := range p.Ladders[roll.Unknown] {
		fmt.Println(step.Do, step.Once, step.After)
	}
	for _, s := range d.Explain("gpu-a", "", training)[:6] {
		fmt.Printf("%s: %s (%s)\n", s.Key, s.Value, s.From)
	}
	// Output:
	// warnings: 0
	// observe 30m0s 15m0s
	// notify false 0s
	// reboot true 0s
	// terminate false 10m0s
	// mode: observe (line 2)
	// stop: false (default)
	// registration.warnAfter: 5m (line 3)
	// registration.deadline: 30m (override at line 13)
	// initialization.warnAfter: 5m (default)
	// initialization.deadline: 15m (line 4)
}

// An instance with accelerators, with a deadline of 50 minutes, in a cluster in which no act is allowed.
func ExampleDocument_Explain() {
	d, err := policy.Parse([]byte(`apiVersion: rollcall/v1
mode: remediate
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	of := roll.Selector{Group: "asg/training", Preset: roll.PresetGPU, Deadline: "50m"}
	for _, s := range d.Explain("research", "notify", of)[:6] {
		fmt.Printf("%s: %s (%s)\n", s.Key, s.Value, s.From)
	}
	// Output:
	// mode: notify (cluster tag rollcall:mode)
	// stop: false (default)
	// registration.warnAfter: 10m (preset gpu)
	// registration.deadline: 50m (instance tag rollcall:deadline)
	// initialization.warnAfter: 10m (preset gpu)
	// initialization.deadline: 50m (instance tag rollcall:deadline)
}
