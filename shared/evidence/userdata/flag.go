package userdata

import (
	"slices"
	"strings"

	"rollcall/shared/roll/pattern"
)

// Flag is one flag as the kubelet would receive it.
type Flag struct {
	// Name is the name without dashes, with hyphens for underscores, as the kubelet normalizes it;
	// "" if the text does not have the form of a flag's name.
	Name string
	// Value is kept for some flags only (KeptFlag). For others State is Withheld. State is
	// Malformed if the value has characters that such a value never has. Quotes in Value are
	// characters that reach the kubelet.
	Value string
	State State
	Part  string // the part that contains it

	Anomalies []Anomaly
	// GoneBy is a minor version of Kubernetes whose kubelet no longer has this flag and exits
	// because of it; 0 if the kubelet has it.
	GoneBy int
}

// Has reports whether the flag has the anomaly.
func (f Flag) Has(a Anomaly) bool { return slices.Contains(f.Anomalies, a) }

// read reports whether the kubelet reads it as the flag of that name.
func (f Flag) read() bool { return f.Name != "" && !f.Has(SingleDash) }

// Anomaly is something about a flag that is rarely intended.
type Anomaly string

// The anomalies.
const (
	// UnbalancedQuote: a quote is not closed. systemd reads everything that follows into the value.
	// If nothing follows, that does no harm.
	UnbalancedQuote Anomaly = "a quote is not closed"
	// LiteralQuote: a quote is part of the value that the kubelet gets.
	LiteralQuote Anomaly = "quotes reach the kubelet"
	// NestedQuotes: there are quotes within those that the shell or YAML removes. systemd removes
	// the inner ones too, and Karpenter writes its flags this way: alone this proves nothing.
	NestedQuotes Anomaly = "quotes within quotes"
	// Repeated: the same flag was given before. The kubelet uses the last one, but combines the
	// labels of several --node-labels.
	Repeated Anomaly = "given again"
	// NoDashes: a word that belongs to no flag. The kubelet exits: "unknown command".
	NoDashes Anomaly = "a word that belongs to no flag"
	// SingleDash: the kubelet reads one dash as a series of one-letter flags, and exits.
	SingleDash Anomaly = "one dash"
	// BadSyntax: there is no name between the dashes and the value. The kubelet exits.
	BadSyntax Anomaly = "no name"
	// ValueMissing: the flag needs a value and is the last word. The kubelet exits.
	ValueMissing Anomaly = "no value"
	// FlagAsValue: the flag needs a value, and the next word, which looks like a flag, becomes the
	// value.
	FlagAsValue Anomaly = "the next flag is taken for its value"
	// Lookalike: a typographic dash or quote, as word processors insert.
	Lookalike Anomaly = "a typographic dash or quote"
	// UnknownFlag: no kubelet from 1.20 to 1.36 is known to have it. The kubelet exits because of a
	// flag that it does not have.
	UnknownFlag Anomaly = "no flag of the kubelet"
)

// maxFlags bounds the flags of one kubelet, maxFlagValue the length of a kept value.
const (
	maxFlags     = 64
	maxFlagValue = 2 << 10
)

// kubeletFlags reads words as the kubelet does (spf13/pflag, parseArgs). values are the flags'
// values, kept or not.
func kubeletFlags(words []word, part func(word) string) (flags []Flag, values []string) {
	seen := map[string]bool{}
	for i := 0; i < len(words) && len(flags) < maxFlags; i++ {
		if words[i].computed() {
			continue
		}
		f := Flag{Part: part(words[i])}
		name, value, joined := f.begin(words[i])
		if name != "" && !joined && !f.Has(SingleDash) && !slices.Contains(booleanFlags, name) {
			if next, ok := f.next(name, words[i+1:]); ok {
				value, joined = next.text, true
				f.quotes(next)
				i++
			}
		}
		if f.take(name, value, joined); f.read() {
			if seen[f.Name] {
				f.note(Repeated)
			}
			seen[f.Name] = true
		}
		flags, values = append(flags, f), append(values, value)
	}
	return flags, values
}

// computed reports whether the word is computed on the instance, so that it may be any flag.
func (w word) computed() bool { return strings.HasPrefix(strings.TrimLeft(w.text, `'"`), unknown) }

func (f *Flag) note(a Anomaly) {
	if !f.Has(a) {
		f.Anomalies = append(f.Anomalies, a)
	}
}

func (f *Flag) quotes(w word) {
	if w.open {
		f.note(UnbalancedQuote)
	}
	if w.quoted {
		f.note(NestedQuotes)
	}
	if strings.ContainsAny(w.text, `'"`) {
		f.note(LiteralQuote)
	}
	if strings.ContainsAny(w.text, "\u2010\u2011\u2012\u2013\u2014\u2212\u2018\u2019\u201c\u201d") {
		f.note(Lookalike)
	}
}

// shortFlag matches -v, -v=2 and -v2, the only one-letter flag that has a value.
var shortFlag = pattern.New(`^-v(?:=?([0-9]{1,9}))?$`)

// begin splits a word into name and value. name is "" if the word is not a flag.
func (f *Flag) begin(w word) (name, value string, joined bool) {
	f.quotes(w)
	short := shortFlag.FindStringSubmatch(w.text)
	switch {
	case strings.HasPrefix(w.text, "--"):
		name, value, joined = strings.Cut(w.text[2:], "=")
		if name == "" || name[0] == '-' {
			f.note(BadSyntax)
			return "", value, joined
		}
	case short != nil:
		name, value, joined = "v", short[1], short[1] != ""
	case strings.HasPrefix(w.text, "-") && len(w.text) > 1:
		f.note(SingleDash)
		name, value, joined = strings.Cut(w.text[1:], "=")
	default:
		f.note(NoDashes)
	}
	return strings.ReplaceAll(name, "_", "-"), value, joined
}

// next returns the word that becomes the value of a flag without one. What follows an unknown flag
// is its value unless it looks like a flag.
func (f *Flag) next(name string, rest []word) (word, bool) {
	known := isKubeletFlag(name)
	switch {
	case len(rest) == 0:
		if known {
			f.note(ValueMissing)
		}
		return word{}, false
	case !strings.HasPrefix(rest[0].text, "--"):
	case !known:
		return word{}, false
	default:
		f.note(FlagAsValue)
	}
	return rest[0], true
}

// flagName matches the form of kubelet flags, which hardly any secret has.
var flagName = form(`[a-z]{1,24}(-[a-z]{1,24}){0,7}`)

// flagValue matches the characters of kept values, and quotes, so that a report can show which
// quotes reached the kubelet.
var flagValue = form(`[A-Za-z0-9._:/=,<>%@+\-\[\]'" ]*`)

func (f *Flag) take(name, value string, given bool) {
	known := isKubeletFlag(name)
	if known || flagName(name) {
		f.Name = name
	}
	f.GoneBy = goneFlags[name]
	if name != "" && !known && !strings.Contains(name, unknown) {
		f.note(UnknownFlag)
	}
	switch {
	case name == "" && !given:
	case strings.Contains(name+value, unknown):
		f.State = Dynamic
	case !given:
	case !KeptFlag(name):
		f.State = Withheld
	case len(value) > maxFlagValue || !flagValue(value):
		f.State = Malformed
	default:
		f.Value, f.State = swallowed(value), Given
	}
}

// swallowed cuts a value where it includes the next flag, as happens if a quote is not closed. The
// value of that flag may be a secret. The flag's name stays visible.
func swallowed(value string) string {
	if i := strings.Index(value, " -"); i >= 0 {
		return value[:i+len(" -")]
	}
	return value
}

// KeptFlag reports whether the values of a kubelet flag are kept: those that decide how a node
// registers and do not hold secrets.
func KeptFlag(name string) bool { return slices.Contains(keptFlags, name) }

var keptFlags = strings.Fields(`
	cgroup-driver cloud-provider cluster-dns cluster-domain config config-dir container-runtime
	container-runtime-endpoint eviction-hard eviction-soft fail-cgroupv1 fail-swap-on feature-gates
	hostname-override image-gc-high-threshold image-gc-low-threshold image-service-endpoint
	kube-reserved kubeconfig max-pods network-plugin node-ip node-labels pod-infra-container-image
	pods-per-core protect-kernel-defaults read-only-port register-node register-with-taints
	reserved-cpus root-dir rotate-certificates serialize-image-pulls system-reserved
	topology-manager-policy v`)

// booleanFlags take a value only if it is joined by "=". From add-dir-header on, they are of earlier kubelets.
var booleanFlags = strings.Fields(`
	anonymous-auth authentication-token-webhook cgroups-per-qos contention-profiling cpu-cfs-quota
	enable-controller-attach-detach enable-debugging-handlers enable-load-reader enable-server
	exit-on-lock-contention experimental-allocatable-ignore-eviction fail-cgroupv1 fail-swap-on help
	kernel-memcg-notification local-storage-capacity-isolation log-cadvisor-usage
	log-json-split-stream log-text-split-stream make-iptables-util-chains protect-kernel-defaults
	register-node rotate-certificates rotate-server-certificates runonce seccomp-default
	serialize-image-pulls storage-driver-secure version windows-service
	add-dir-header allow-privileged alsologtostderr experimental-kernel-memcg-notification
	keep-terminated-pod-volumes logtostderr one-output really-crash-for-testing
	redirect-container-streaming register-schedulable skip-headers skip-log-headers`)

// presentFlags are the flags with a value of the kubelet of Kubernetes 1.36
// (cmd/kubelet/app/options, component-base/logs and version/verflag).
var presentFlags = strings.Fields(`
	address allowed-unsafe-sysctls application-metrics-count-limit
	authentication-token-webhook-cache-ttl authorization-mode
	authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
	boot-id-file bootstrap-kubeconfig cert-dir cgroup-driver cgroup-root client-ca-file
	cloud-provider cluster-dns cluster-domain config config-dir container-hints
	container-log-max-files container-log-max-size container-runtime-endpoint containerd
	containerd-namespace cpu-cfs-quota-period cpu-manager-policy cpu-manager-policy-options
	cpu-manager-reconcile-period enforce-node-allocatable event-burst event-qps
	event-storage-age-limit event-storage-event-limit eviction-hard
	eviction-max-pod-grace-period eviction-minimum-reclaim eviction-pressure-transition-period
	eviction-soft eviction-soft-grace-period experimental-mounter-path feature-gates
	file-check-frequency global-housekeeping-interval hairpin-mode healthz-bind-address
	healthz-port hostname-override housekeeping-interval http-check-frequency
	image-credential-provider-bin-dir image-credential-provider-config image-gc-high-threshold
	image-gc-low-threshold image-service-endpoint kube-api-burst kube-api-content-type
	kube-api-qps kube-reserved kube-reserved-cgroup kubeconfig kubelet-cgroups lock-file
	log-flush-frequency log-json-info-buffer-size log-text-info-buffer-size logging-format
	machine-id-file manifest-url manifest-url-header max-open-files max-pods
	maximum-dead-containers maximum-dead-containers-per-container memory-manager-policy
	minimum-container-ttl-duration minimum-image-ttl-duration node-ip node-labels
	node-status-max-images node-status-update-frequency oom-score-adj pod-cidr
	pod-manifest-path pod-max-pids pods-per-core port provider-id qos-reserved read-only-port
	register-with-taints registry-burst registry-qps reserved-cpus reserved-memory resolv-conf
	root-dir runtime-cgroups runtime-request-timeout storage-driver-buffer-duration
	storage-driver-db storage-driver-host storage-driver-password storage-driver-table
	storage-driver-user streaming-connection-idle-timeout sync-frequency system-cgroups
	system-reserved system-reserved-cgroup tls-cert-file tls-cipher-suites tls-min-version
	tls-private-key-file topology-manager-policy topology-manager-policy-options
	topology-manager-scope v vmodule volume-plugin-dir volume-stats-agg-period
	windows-priorityclass`)

// goneFlags are flags of older kubelets, with a minor version that no longer has them, not always
// the first. They are missing from 1.36's own list; --container-runtime from 1.27 on
// (https://kubernetes.io/blog/2023/03/17/upcoming-changes-in-kubernetes-v1-27/).
var goneFlags = map[string]int{
	"container-runtime": 27,

	"add-dir-header": 36, "allow-privileged": 36, "alsologtostderr": 36,
	"azure-container-registry-config": 36, "cloud-config": 36, "cni-bin-dir": 36,
	"cni-cache-dir": 36, "cni-conf-dir": 36, "docker-endpoint": 36, "dynamic-config-dir": 36,
	"experimental-bootstrap-kubeconfig": 36, "experimental-kernel-memcg-notification": 36,
	"image-pull-progress-deadline": 36, "iptables-drop-bit": 36, "iptables-masquerade-bit": 36,
	"keep-terminated-pod-volumes": 36, "log-backtrace-at": 36, "log-dir": 36, "log-file": 36,
	"log-file-max-size": 36, "logtostderr": 36, "master-service-namespace": 36,
	"network-plugin": 36, "network-plugin-mtu": 36, "node-status-report-frequency": 36,
	"non-masquerade-cidr": 36, "one-output": 36, "pod-infra-container-image": 36,
	"really-crash-for-testing": 36, "redirect-container-streaming": 36,
	"register-schedulable": 36, "seccomp-profile-root": 36, "skip-headers": 36,
	"skip-log-headers": 36, "stderrthreshold": 36,
}
