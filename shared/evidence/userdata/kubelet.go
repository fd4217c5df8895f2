package userdata

import "slices"

// Kubelet is what one call or document, or all NodeConfigs together, give the
// kubelet.
type Kubelet struct {
	Flags []Flag // in the kubelet's order
	// FlagsDynamic: there may be more flags, or other ones, than those in Flags:
	// their text is computed on the instance.
	FlagsDynamic bool
	Loss         Loss // "" unless systemd drops flags

	Taints []Taint // in order, with those that are dropped or invalid
	// TaintConflict: taints are given by the flag and in the kubelet's
	// configuration. The flag wins: the kubelet parses it again over the
	// configuration (cmd/kubelet/app/server.go, kubeletConfigFlagPrecedence).
	TaintConflict bool
	// TaintsDynamic: some taints are computed on the instance.
	TaintsDynamic bool
	Labels        []Label

	MaxPods          Setting
	NodeIP           Setting
	HostnameOverride Setting
	CloudProvider    Setting
	PauseImage       Setting
	FailCgroupV1     Setting // true or false
}

// Flag is the flag that counts among those of the name: the last one.
func (k Kubelet) Flag(name string) (Flag, bool) {
	for _, f := range slices.Backward(k.Flags) {
		if f.Name == name && f.read() {
			return f, true
		}
	}
	return Flag{}, false
}

// Registered are the taints with which the kubelet registers the node, if it
// starts at all.
func (k Kubelet) Registered() []Taint {
	var out []Taint
	for _, t := range k.Taints {
		if t.Fault == "" && !t.Dropped {
			out = append(out, t)
		}
	}
	return out
}

// kubeletConfig is what stands in the kubelet's configuration rather than in its
// flags.
type kubeletConfig struct {
	taints    []Taint
	hasTaints bool // also when it is an empty list
	maxPods   Setting
	failCG1   Setting
	dns       Setting
}

func (c kubeletConfig) over(later kubeletConfig) kubeletConfig {
	if later.hasTaints {
		c.taints, c.hasTaints = later.taints, true
	}
	c.maxPods = c.maxPods.over(later.maxPods)
	c.failCG1 = c.failCG1.over(later.failCG1)
	c.dns = c.dns.over(later.dns)
	return c
}

// newKubelet judges the words that the kubelet gets, and its configuration.
func newKubelet(words []word, part func(at int) string, config kubeletConfig) Kubelet {
	var k Kubelet
	var values []string
	k.Flags, values = kubeletFlags(words, part)
	k.FlagsDynamic = slices.ContainsFunc(words, computedWord)
	k.taints(values, config)
	k.labels(values)
	for name, valid := range flagSettings {
		s := Setting{}
		for i, f := range k.Flags {
			if f.Name == name && f.read() {
				s = setting(values[i], valid)
			}
		}
		k.set(name, s)
	}
	k.MaxPods = config.maxPods.over(k.MaxPods)
	k.FailCgroupV1 = config.failCG1.over(k.FailCgroupV1)
	return k
}

// flagSettings are the flags that are settings of their own, with their form.
var flagSettings = map[string]func(string) bool{
	"max-pods": validNumber, "node-ip": validAddresses, "hostname-override": validHost,
	"cloud-provider": validHost, "pod-infra-container-image": validImage, "fail-cgroupv1": validBool,
}

func (k *Kubelet) set(name string, s Setting) {
	switch name {
	case "max-pods":
		k.MaxPods = s
	case "node-ip":
		k.NodeIP = s
	case "hostname-override":
		k.HostnameOverride = s
	case "cloud-provider":
		k.CloudProvider = s
	case "pod-infra-container-image":
		k.PauseImage = s
	case "fail-cgroupv1":
		k.FailCgroupV1 = s
	}
}

// taints collects those of the flag, whose last value counts, and those of the
// configuration, which count only without the flag.
func (k *Kubelet) taints(values []string, config kubeletConfig) {
	last := -1
	for i, f := range k.Flags {
		if f.Name != "register-with-taints" || !f.read() {
			continue
		}
		if last >= 0 {
			k.drop()
		}
		last = i
		k.TaintsDynamic = k.TaintsDynamic || f.State == Dynamic
		k.Taints = append(k.Taints, flagTaints(values[i], f.Part)...)
	}
	for _, t := range config.taints {
		t.Dropped = t.Dropped || last >= 0
		k.Taints = append(k.Taints, t)
	}
	k.TaintConflict = last >= 0 && len(config.taints) > 0
	if len(k.Taints) > maxTaints {
		k.Taints = k.Taints[:maxTaints]
	}
}

func (k *Kubelet) drop() {
	for i := range k.Taints {
		k.Taints[i].Dropped = true
	}
}

// labels adds up: --node-labels may be given more than once, and a later value of
// the same label wins.
func (k *Kubelet) labels(values []string) {
	for i, f := range k.Flags {
		if f.Name == "node-labels" && f.read() {
			for _, l := range flagLabels(values[i], f.Part) {
				k.Labels = addLabel(k.Labels, l)
			}
		}
	}
}
