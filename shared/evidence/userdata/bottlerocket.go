package userdata

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// bottlerocket takes what matters out of Bottlerocket's settings. The API refuses what
// its model does not know; which settings it knows depends on the version, so that only
// those are judged here that are read (Bottlerocket, settings reference;
// sources/early-boot-config). A host in standalone mode runs a kubelet that joins no
// cluster.
func (r *reader) bottlerocket(text, part string) {
	if len(text) > maxTOML || countAny(text, "[{") > maxTOMLBrackets {
		r.problem(part, Bottlerocket, TooLarge)
		return
	}
	var doc map[string]any
	if _, err := toml.Decode(text, &doc); err != nil {
		r.problemAt(part, Bottlerocket, Unparseable, err)
		return
	}
	b := bottlerocketReader{r: r, part: part}
	settings, ok := doc["settings"].(map[string]any)
	if !ok {
		b.fault(NoSettings, "settings")
		return
	}
	b.network(settings)
	kubernetes := b.table(settings, "settings", "kubernetes")
	if _, given := settings["kubernetes"]; given && kubernetes == nil {
		r.unread(part, Bottlerocket, Unparseable) // it may have been meant for any cluster
	}
	if kubernetes == nil || kubernetes["standalone-mode"] == true {
		return
	}
	if name, given := kubernetes["cluster-name"]; given {
		text, _ := name.(string)
		r.cluster(text, part, Bottlerocket)
	}
	b.kubernetes(kubernetes)
}

type bottlerocketReader struct {
	r    *reader
	part string
}

func (b bottlerocketReader) fault(why Reason, field string) {
	b.r.fault(Fault{Problem: Problem{b.part, Bottlerocket, why}, Field: field, By: ByBottlerocket, Effect: Fails})
}

// table is a table in a table, nil if there is none.
func (b bottlerocketReader) table(in map[string]any, path, key string) map[string]any {
	value, ok := in[key]
	if !ok {
		return nil
	}
	t, ok := value.(map[string]any)
	if !ok {
		b.fault(WrongType, path+"."+key)
	}
	return t
}

// text is a setting that is a string.
func (b bottlerocketReader) text(in map[string]any, key string, valid func(string) bool) Setting {
	value, ok := in[key]
	if !ok {
		return Setting{}
	}
	s, ok := value.(string)
	if !ok {
		b.fault(WrongType, "settings.kubernetes."+key)
		return Setting{State: Malformed}
	}
	return setting(s, valid)
}

func (b bottlerocketReader) network(settings map[string]any) {
	network := b.table(settings, "settings", "network")
	if _, ok := network["https-proxy"]; ok {
		b.r.boot.Proxy.HTTPS = true
	}
	if _, ok := network["no-proxy"]; ok {
		b.r.boot.Proxy.No = true
	}
}

func (b bottlerocketReader) kubernetes(k map[string]any) {
	j := Join{Tool: BottlerocketSettings}
	j.Part = b.part
	j.Cluster = b.text(k, "cluster-name", validName)
	j.Endpoint = b.text(k, "api-server", validEndpoint)
	if ca := b.text(k, "cluster-certificate", func(string) bool { return true }); ca.State == Given {
		j.CA = CertificateOf(ca.Value)
	}
	j.ClusterDNS = b.addresses(k, "cluster-dns-ip")
	j.AuthMode = b.text(k, "authentication-mode", oneOf("aws", "tls"))
	_, j.BootstrapToken = k["bootstrap-token"]
	j.Kubelet.HostnameOverride = b.text(k, "hostname-override", validHost)
	j.InstanceIDName = k["hostname-override-source"] == "instance-id" // else the private DNS name, as EC2 tells it
	j.Kubelet.NodeIP = b.text(k, "node-ip", validAddresses)
	j.Kubelet.CloudProvider = b.text(k, "cloud-provider", validHost)
	j.Kubelet.PauseImage = b.text(k, "pod-infra-container-image", validImage)
	switch n := k["max-pods"].(type) {
	case nil:
	case int64:
		j.Kubelet.MaxPods = setting(fmt.Sprint(n), validNumber)
	default:
		b.fault(WrongType, "settings.kubernetes.max-pods")
		j.Kubelet.MaxPods = Setting{State: Malformed}
	}
	j.Kubelet.Labels = b.labels(b.table(k, "settings.kubernetes", "node-labels"))
	j.Kubelet.Taints = b.taints(b.table(k, "settings.kubernetes", "node-taints"))
	j.Missing = missingSettings(j.Config)
	b.r.join(j)
}

// missingSettings are those that the variants for Kubernetes on AWS need
// (Bottlerocket, settings.kubernetes, "Settings needed for aws-k8s-* variants").
func missingSettings(c Config) []string {
	var out []string
	for field, state := range map[string]State{
		"settings.kubernetes.cluster-name": c.Cluster.State, "settings.kubernetes.api-server": c.Endpoint.State,
		"settings.kubernetes.cluster-certificate": c.CA.State,
	} {
		if state == Absent {
			out = append(out, field)
		}
	}
	slices.Sort(out)
	return out
}

// addresses is a setting that is one address or a list of them.
func (b bottlerocketReader) addresses(k map[string]any, key string) Setting {
	var all []string
	for _, v := range oneOrMore(k[key]) {
		s, ok := v.(string)
		if !ok {
			b.fault(WrongType, "settings.kubernetes."+key)
			return Setting{State: Malformed}
		}
		all = append(all, s)
	}
	if len(all) > maxProblems {
		return Setting{State: Malformed}
	}
	return setting(strings.Join(all, ","), validAddresses)
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
			b.fault(WrongType, "settings.kubernetes.node-labels")
			continue
		}
		out = addLabel(out, newLabel(key, value, b.part))
	}
	return out
}

// taints reads values such as "value:NoSchedule", one or a list of them for each
// key. Bottlerocket checks their form, the kubelet the effect.
func (b bottlerocketReader) taints(table map[string]any) []Taint {
	var out []Taint
	for _, key := range slices.Sorted(maps.Keys(table)) {
		for _, v := range oneOrMore(table[key]) {
			s, ok := v.(string)
			value, effect, cut := strings.Cut(s, ":")
			switch {
			case !ok:
				b.fault(WrongType, "settings.kubernetes.node-taints")
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
