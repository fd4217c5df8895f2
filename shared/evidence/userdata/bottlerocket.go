package userdata

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"rollcall/shared/roll/pattern"
)

// bottlerocket reads the relevant Bottlerocket settings. The API rejects the whole if a value has another
// type than in its model or a setting is not in it, which depends on the version
// (sources/early-boot-config; the models' attribute deny_unknown_fields). Only the types of the settings
// read here are checked. A host in standalone mode runs a kubelet that joins no cluster.
func (r *reader) bottlerocket(text, part string) {
	if len(text) > maxTOML || brackets(text, "[{") > maxTOMLBrackets {
		r.problem(part, Bottlerocket, TooLarge)
		return
	}
	var doc map[string]any
	if err := toml.Unmarshal([]byte(text), &doc); err != nil {
		r.problemAt(part, Bottlerocket, Unparseable, err)
		return
	}
	b := bottlerocketReader{r: r, part: part}
	if ofTOML11(text) {
		r.fault(Fault{Part: part, Format: Bottlerocket, Reason: NewerTOML, By: ByBottlerocket, Effect: Depends})
	}
	settings, ok := doc["settings"].(map[string]any)
	if !ok {
		b.fault(NoSettings, "settings")
		return
	}
	b.known(settings, "settings", settingsTables)
	_, proxy := typed[map[string]any](b, settings, "settings.", "network")["https-proxy"]
	r.boot.Proxy = r.boot.Proxy || proxy
	kernel := typed[map[string]any](b, settings, "settings.", "kernel")
	sysctl := typed[map[string]any](b, kernel, "settings.kernel.", "sysctl")
	for _, key := range slices.Sorted(maps.Keys(sysctl)) {
		typed[string](b, sysctl, "settings.kernel.sysctl.", key) // numbers too are written as text
	}
	containers := typed[map[string]any](b, settings, "settings.", "bootstrap-containers")
	for _, name := range slices.Sorted(maps.Keys(containers)) {
		c := typed[map[string]any](b, containers, "settings.bootstrap-containers.", name)
		if c["essential"] == true {
			add(&r.boot.Essential, name, maxList)
		}
		// It gets the API's socket and client, runs before the kubelet, and is off by default.
		// https://github.com/bottlerocket-os/bottlerocket-core-kit, sources/host-ctr/cmd/host-ctr/main.go
		if mode, _ := c["mode"].(string); mode != "" && mode != "off" {
			r.boot.Opaque = true
		}
	}
	kubernetes := typed[map[string]any](b, settings, "settings.", "kubernetes")
	if _, given := settings["kubernetes"]; given && kubernetes == nil {
		r.boot.Unclear = true // it may have been meant for any cluster
	}
	if kubernetes == nil || kubernetes["standalone-mode"] == true {
		return
	}
	if name, given := kubernetes["cluster-name"]; given {
		text, _ := name.(string)
		r.cluster(text)
	}
	b.known(kubernetes, "settings.kubernetes", kubernetesSettings)
	j := b.kubernetes(kubernetes)
	aws := typed[map[string]any](b, settings, "settings.", "aws")
	region, _ := aws["region"].(string)
	j.Region = setting(region, validRegion)
	_, j.AWSConfig = aws["config"]
	r.join(j)
}

// tomlToken matches what shows the nesting of TOML: strings and comments as a whole, brackets, ends of
// lines, and the comma at the end of an inline table.
var tomlToken = pattern.New(`"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:[^"\\]|\\.)*"|'[^']*'|#.*|[][{}\n]|,[ \t]*}`)

// ofTOML11 reports whether a text, which parses, has an inline table on several lines or with a comma at
// its end, or an escape sequence \e or \x. TOML 1.0 has none of these. Bottlerocket parses with the crate
// toml 0.8, which reads 1.0; from 0.9.10 on it reads 1.1.
//   - https://toml.io/en/v1.1.0
//   - https://github.com/bottlerocket-os/bottlerocket-core-kit/blob/develop/sources/Cargo.toml
func ofTOML11(text string) bool {
	var open []byte
	for _, token := range tomlToken.FindAllString(text, -1) {
		switch first := token[0]; {
		case first == ',', first == '\n' && len(open) > 0 && open[len(open)-1] == '{', newerEscape.MatchString(token):
			return true
		case first == '[', first == '{':
			open = append(open, first)
		case first == ']', first == '}':
			open = open[:max(0, len(open)-1)]
		}
	}
	return false
}

var newerEscape = pattern.New(`^"(?:[^\\]|\\[^ex])*\\[ex]`)

type bottlerocketReader struct {
	r    *reader
	part string
}

func (b bottlerocketReader) fault(why Reason, field string) {
	b.r.fault(Fault{Part: b.part, Format: Bottlerocket, Reason: why, Field: field, By: ByBottlerocket, Effect: Fails})
}

// known adds a fault if a table has settings that no known version of Bottlerocket has.
func (b bottlerocketReader) known(in map[string]any, path string, names []string) {
	for name := range in {
		if !slices.Contains(names, name) {
			b.r.fault(Fault{Part: b.part, Format: Bottlerocket, Reason: UnknownSetting, Field: path, By: ByBottlerocket, Effect: Depends})
		}
	}
}

// The settings of all versions and variants of Bottlerocket, in its tables settings and settings.kubernetes.
// https://github.com/bottlerocket-os/bottlerocket-settings-sdk, bottlerocket-settings-models: settings-models
// and settings-extensions/kubernetes
var (
	settingsTables = strings.Fields(`
		autoscaling aws boot bootstrap-commands bootstrap-containers cloudformation container-registry container-runtime
		container-runtime-plugins dns ecs host-containers image-verifier-plugins kernel kubelet-device-plugins
		kubelet-dra-drivers kubernetes measurement metrics motd network ntp nvidia-container-runtime oci-defaults oci-hooks
		pki updates`)
	kubernetesSettings = strings.Fields(`
		allowed-unsafe-sysctls api-server authentication-mode bootstrap-token cloud-provider cluster-certificate
		cluster-dns-ip cluster-domain cluster-name container-log-max-files container-log-max-size
		container-log-max-workers container-log-monitor-interval cpu-cfs-quota-enforced cpu-manager-policy
		cpu-manager-policy-options cpu-manager-reconcile-period credential-providers
		device-ownership-from-security-context event-burst event-qps eviction-hard eviction-max-pod-grace-period
		eviction-soft eviction-soft-grace-period fail-cgroup-v1 fail-cgroupv1 hostname-override
		hostname-override-source ids-per-pod image-gc-high-threshold-percent image-gc-low-threshold-percent
		image-maximum-gc-age image-minimum-gc-age kube-api-burst kube-api-qps kube-reserved kubelet-extra-config
		log-level max-parallel-image-pulls max-pods memory-manager-policy memory-manager-reserved-memory
		memory-swap-behavior node-ip node-labels node-taints pod-infra-container-image pod-pids-limit provider-id
		registry-burst registry-qps reserved-cpus seccomp-default server-certificate server-key server-tls-bootstrap
		shutdown-grace-period shutdown-grace-period-for-critical-pods single-process-oom-kill standalone-mode
		static-pods static-pods-enabled system-reserved topology-manager-policy topology-manager-policy-options
		topology-manager-scope`)
)

// typed returns the value of a key. A value of another type is a fault and gives the zero value.
func typed[T any](b bottlerocketReader, in map[string]any, path, key string) T {
	value, ok := in[key].(T)
	if _, given := in[key]; given && !ok {
		b.fault(WrongType, path+key)
	}
	return value
}

const kubernetesPath = "settings.kubernetes."

// text returns a setting that is a string.
func (b bottlerocketReader) text(k map[string]any, key string, valid func(string) bool) Setting {
	value := typed[string](b, k, kubernetesPath, key)
	if _, isText := k[key].(string); k[key] != nil && !isText {
		return Setting{State: Malformed}
	}
	return setting(value, valid)
}

func (b bottlerocketReader) kubernetes(k map[string]any) Join {
	j := Join{Tool: BottlerocketSettings, Part: b.part}
	j.Cluster = b.text(k, "cluster-name", validName)
	j.Endpoint = b.text(k, "api-server", validEndpoint)
	certificate := typed[string](b, k, kubernetesPath, "cluster-certificate")
	// Its type in the API is ValidBase64, which takes no line breaks (bottlerocket-modeled-types, shared.rs).
	if _, err := base64.StdEncoding.Strict().DecodeString(certificate); err != nil || strings.ContainsAny(certificate, "\r\n") {
		b.fault(WrongType, kubernetesPath+"cluster-certificate")
	}
	j.CA = CertificateOf(certificate)
	for _, address := range oneOrMore(k["cluster-dns-ip"]) {
		if _, ok := address.(string); !ok {
			b.fault(WrongType, kubernetesPath+"cluster-dns-ip")
		}
	}
	j.Kubelet.HostnameOverride = b.text(k, "hostname-override", validHost)
	j.InstanceIDName = k["hostname-override-source"] == "instance-id" // otherwise the private DNS name from EC2
	for _, key := range []string{"authentication-mode", "node-ip", "cloud-provider", "pod-infra-container-image"} {
		typed[string](b, k, kubernetesPath, key)
	}
	typed[int64](b, k, kubernetesPath, "max-pods")
	j.Kubelet.Labels = b.labels(typed[map[string]any](b, k, kubernetesPath, "node-labels"))
	j.Kubelet.Taints = b.taints(typed[map[string]any](b, k, kubernetesPath, "node-taints"))
	// The variants for Kubernetes on AWS require these (Bottlerocket, settings.kubernetes,
	// "Settings needed for aws-k8s-* variants").
	j.needs(kubernetesPath+"api-server", j.Endpoint.State != Absent)
	j.needs(kubernetesPath+"cluster-certificate", j.CA.State != Absent)
	j.needs(kubernetesPath+"cluster-name", j.Cluster.State != Absent)
	return j
}

func oneOrMore(v any) []any {
	if v == nil {
		return nil
	}
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func (b bottlerocketReader) labels(table map[string]any) []Label {
	var out []Label
	for _, key := range slices.Sorted(maps.Keys(table)) {
		value, ok := table[key].(string)
		if !ok {
			b.fault(WrongType, kubernetesPath+"node-labels")
			continue
		}
		out = addLabel(out, newLabel(key, value, b.part))
	}
	return out
}

// taints reads values such as "value:NoSchedule", one or a list for each key. Bottlerocket checks
// their form, the kubelet checks the effect.
func (b bottlerocketReader) taints(table map[string]any) []Taint {
	var out []Taint
	for _, key := range slices.Sorted(maps.Keys(table)) {
		for _, v := range oneOrMore(table[key]) {
			s, ok := v.(string)
			value, effect, cut := strings.Cut(s, ":")
			switch {
			case !ok:
				b.fault(WrongType, kubernetesPath+"node-taints")
				continue
			case len(out) == maxTaints:
				return markDuplicates(out)
			}
			t := newTaint(key, value, effect)
			if !cut {
				t = Taint{Fault: TaintSyntax}
			}
			t.Source, t.Part = TaintSetting, b.part
			out = append(out, t)
		}
	}
	return markDuplicates(out)
}
