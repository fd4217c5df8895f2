package bootstrap

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// mismatch is one field by which user data names another cluster.
type mismatch struct {
	sure  bool
	words string
	roll.Evidence
	change string // what to change; "" if it is the cluster's name, endpoint or certificate authority
	gap    string // why it is not sure, if AWS's answer leaves that open
}

// clusterMismatch checks whether the user data joins this cluster, by its name, its region, its endpoint
// and its certificate authority. Where one of several ways of joining is right, nothing is
// certain.
func (b *start) clusterMismatch() cause.Verdict {
	joins, config := b.joins(), b.Cluster.Config
	var wrong []mismatch
	right, named, givesCA, computed := false, false, false, false
	for _, j := range joins {
		m := b.mismatches(j)
		wrong = append(wrong, m...)
		right = right || len(m) == 0
		named = named || j.Cluster.State == userdata.Given
		givesCA = givesCA || j.CA.State == userdata.Given
		computed = computed || j.Cluster.State == userdata.Dynamic || j.Endpoint.State == userdata.Dynamic || j.CA.State == userdata.Dynamic
	}
	switch {
	case len(joins) == 0:
		return cause.NotChecked(noJoin)
	case len(wrong) > 0:
		return b.otherCluster(wrong, right)
	case !config.Known():
		return cause.NotChecked(config.Gap())
	case config.Value.CAHash == "" && givesCA:
		return cause.NotChecked(evidence.AnswerOf + "eks:DescribeCluster lacks the certificate authority")
	case computed:
		return cause.NotChecked("the user data computes the cluster's name, endpoint or certificate authority on the instance")
	case !named:
		return cause.NotChecked("the user data does not name the cluster")
	}
	return cause.RuledOut
}

func (b *start) mismatches(j userdata.Join) []mismatch {
	var out []mismatch
	add := func(sure bool, words, field, observed, expected string) {
		out = append(out, mismatch{sure, words, roll.Evidence{Source: b.source, Field: at(j.Part, field), Observed: observed, Expected: expected}, "", ""})
	}
	name, config := b.ClusterID.Name, b.Cluster.Config
	switch {
	case j.Cluster.State == userdata.Given && j.Cluster.Value != name:
		words := fmt.Sprintf("names the cluster %s and not %s", j.Cluster.Value, name)
		if strings.EqualFold(j.Cluster.Value, name) {
			words += ": the names differ in upper and lower case, which matters"
		}
		add(!j.Conditional, words, "cluster name", j.Cluster.Value, name)
	case j.Cluster.State == userdata.Malformed && (j.Tool == userdata.Nodeadm || j.Tool == userdata.BottlerocketSettings):
		// Such as a placeholder that nobody replaced. In a shell script it would be less
		// certain.
		add(true, "has a cluster name that no cluster can have", "cluster name", "other characters than letters, digits, - and _", name)
	}
	// Unless the settings name the node, pluto asks EC2 for the instance's name, and finds no such instance in
	// another region (https://github.com/bottlerocket-os/bottlerocket/issues/4779).
	if r := j.Region; r.State == userdata.Given && r.Value != b.Region {
		add(!j.Conditional && !j.InstanceIDName && j.Kubelet.HostnameOverride.State == userdata.Absent,
			"has Bottlerocket call AWS in "+r.Value+", and the instance is in "+b.Region, regionSetting, r.Value, b.Region)
		out[len(out)-1].change = "leave " + regionSetting + " out: then it is the instance's"
	}
	if !config.Known() || !b.uses(j) {
		return out
	}
	// An address that is not one of EKS's names may still resolve to the cluster. So may the
	// other one of the two names of a cluster's endpoint.
	own := config.Value.Endpoint
	if theirs, mine := host(j.Endpoint.Value), host(own); j.Endpoint.State == userdata.Given && mine != "" && theirs != mine {
		id, _, _ := strings.Cut(theirs, ".")
		ours, _, _ := strings.Cut(mine, ".")
		add(!j.Conditional && ofEKS(theirs) && ofEKS(mine) && id != ours,
			"has the API server's endpoint "+j.Endpoint.Value+", which is not that of "+name, "API server endpoint", j.Endpoint.Value, own)
	}
	// bootstrap.sh ends with base64's error (set -o errexit, in the same source as uses). That proves no other
	// cluster, so it is not sure.
	if j.Tool == userdata.BootstrapScript && j.CA.State == userdata.Malformed {
		add(false, "has a certificate authority that is not valid base64", "certificate authority", "not valid base64", "that of "+name)
	}
	given, owned := strings.Fields(strings.ToLower(j.CA.Value)), strings.Fields(strings.ToLower(config.Value.CAHash))
	trusted := len(owned) - len(slices.DeleteFunc(slices.Clone(owned), func(ca string) bool { return slices.Contains(given, ca) }))
	const field = "certificate authority (SHA-256)"
	switch {
	case len(given) == 0 || trusted == len(owned):
	case trusted > 0:
		// In a rotation the cluster has the authority that signs and its successor, and DescribeCluster does not
		// tell them apart. Those who trust one of them are this cluster's.
		// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCertificateAuthority.html
		add(false, fmt.Sprintf("has %d of the %d certificate authorities of %s, which are rotated: it trusts the API server only while that one signs", trusted, len(owned), name),
			field, j.CA.Value, config.Value.CAHash)
		out[len(out)-1].gap = evidence.AnswerOf + "eks:DescribeCluster lacks which certificate authority signs"
		out[len(out)-1].change = "give it all certificate authorities of " + paste.Word(name) + ", as the first command shows them"
	default:
		// While a cluster is updated, its authority may be about to change
		// (https://docs.aws.amazon.com/eks/latest/APIReference/API_Update.html, type
		// CertificateAuthorityUpdate).
		add(!j.Conditional && config.Value.Status == roll.ClusterActive,
			"has a certificate authority that is not that of "+name, field, j.CA.Value, config.Value.CAHash)
	}
	return out
}

// uses reports whether the tool uses the given endpoint and authority: bootstrap.sh and
// Start-EKSBootstrap.ps1 call the EKS API for both unless they get both.
// https://github.com/awslabs/amazon-eks-ami/blob/al2/templates/al2/runtime/bootstrap.sh
func (b *start) uses(j userdata.Join) bool {
	both := j.Endpoint.State != userdata.Absent && j.CA.State != userdata.Absent
	return both || j.Tool != userdata.BootstrapScript && j.Tool != userdata.WindowsScript
}

// host returns the host of an address in lower case, without HTTPS's default port.
func host(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Host), ":443")
}

// ofEKS reports whether a host has one of EKS's names: <id>.<shard>.<region>.eks.amazonaws.com
// or, with IPv6, <id>.<shard>.eks-cluster.<region>.api.aws.
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
func ofEKS(host string) bool {
	return strings.Contains(host, ".eks.amazonaws.com") || strings.Contains(host, ".eks-cluster.") && strings.HasSuffix(host, ".api.aws") ||
		strings.Contains(host, ".eks-cluster.") && strings.HasSuffix(host, ".api.amazonwebservices.com.cn")
}

// otherCluster returns the cause that the user data joins another cluster. An instance that may
// belong to another cluster is left alone, also when it is checked alone.
func (b *start) otherCluster(wrong []mismatch, right bool) cause.Verdict {
	v := b.inData()
	first, sure := wrong[0], false
	for i, m := range wrong {
		if i < maxEvidence {
			v.Shows(m.Evidence)
		}
		if m.sure && !sure {
			first, sure = m, true
		}
	}
	if first.gap != "" && b.mate() == "" && !b.Alone { // before an act the other instances are not known
		v = v.Unsettled(first.gap)
	}
	change := cmp.Or(first.change, fmt.Sprintf("name the cluster %s, with its own endpoint and certificate authority", paste.Word(b.ClusterID.Name)))
	return b.unlessOthersWork(sure && !right, v.
		Says("the user data of %s %s", b.Finding.Instance, first.words).
		Fix(b.describe(), b.change(change)))
}

// silenced checks whether a silent node trusts only some of the cluster's certificate authorities. Once the
// successor signs, which EKS activates by itself before the other one expires, its kubelet does not trust the API
// server, and neither would that of a replacement with the same user data. DescribeCluster still shows both. So it
// is a hint, and none while an instance of the same launch template version works.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ActivateCertificateAuthority.html
func (b *start) silenced() cause.Verdict {
	if lease := b.Node().Lease; lease.Known() && lease.Value.Fresh(b.At) || b.mate() != "" {
		return cause.Verdict{}
	}
	like := *b
	like.data, like.source = b.SameUserData()
	var partly []mismatch
	joins := like.joins()
	for _, j := range joins {
		if m, ok := roll.Find(like.mismatches(j), func(m mismatch) bool { return m.gap != "" }); ok {
			partly = append(partly, m)
		}
	}
	if len(partly) == 0 || len(partly) < len(joins) {
		return cause.Verdict{}
	}
	m := partly[0]
	v := like.inData().Shows(m.Evidence).
		Says("the user data of %s %s; if another one signs by now, its kubelet is silent for that reason, and a replacement with the same user data would not join", b.Finding.Instance, m.words).
		Fix(b.describe(), b.change(m.change), "# and replace the nodes that were launched before: a kubelet gets its certificate authorities only at boot")
	joined := b.healthy(func(m evidence.Member) bool { return m.Joined.After(b.Onset()) })
	if joined == "" && !b.Alone {
		v = v.Unsettled(m.gap)
	}
	return v
}

const regionSetting = "settings.aws.region"

// noJoin is why flags, taints and names in user data were not checked.
const noJoin = "the user data shows no way of joining a cluster"
