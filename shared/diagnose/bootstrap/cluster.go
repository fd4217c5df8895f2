package bootstrap

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// mismatch is one thing by which user data names another cluster.
type mismatch struct {
	sure  bool
	words string
	roll.Evidence
}

// clusterMismatch asks whether the cluster that the user data joins is this one: by its
// name, its endpoint and its certificate authority. Where there are several ways of
// joining and one of them is right, nothing is certain.
func (b *start) clusterMismatch() {
	joins, config := b.joins(), b.Cluster.Config
	if len(joins) == 0 {
		b.s.NotChecked("no way of joining a cluster was seen in the user data", cause.UserDataClusterMismatch)
		return
	}
	var wrong []mismatch
	right, named := false, false
	for _, j := range joins {
		m := b.mismatches(j)
		wrong = append(wrong, m...)
		right = right || len(m) == 0
		named = named || j.Cluster.State == userdata.Given
	}
	if len(wrong) > 0 {
		b.otherCluster(wrong, right)
		return
	}
	switch {
	case !config.Known():
		b.s.NotChecked(config.Gap(), cause.UserDataClusterMismatch)
	case config.Value.CAHash == "" && slices.ContainsFunc(joins, func(j userdata.Join) bool { return j.CA.State == userdata.Given }):
		b.s.NotChecked(evidence.AnswerOf+"eks:DescribeCluster lacks the certificate authority", cause.UserDataClusterMismatch)
	case computed(joins):
		b.s.NotChecked("the user data computes the cluster's name, endpoint or certificate authority on the instance", cause.UserDataClusterMismatch)
	case !named:
		b.s.NotChecked("the user data does not name the cluster", cause.UserDataClusterMismatch)
	default:
		b.s.RuledOut(cause.UserDataClusterMismatch)
	}
}

// computed reports whether only the instance knows what a join names.
func computed(joins []userdata.Join) bool {
	for _, j := range joins {
		if j.Cluster.State == userdata.Dynamic || j.Endpoint.State == userdata.Dynamic || j.CA.State == userdata.Dynamic {
			return true
		}
	}
	return false
}

func (b *start) mismatches(j userdata.Join) []mismatch {
	var out []mismatch
	switch {
	case j.Cluster.State == userdata.Given && j.Cluster.Value != b.ClusterID.Name:
		out = append(out, b.otherName(j))
	case j.Cluster.State == userdata.Malformed && (j.Tool == userdata.Nodeadm || j.Tool == userdata.BottlerocketSettings):
		out = append(out, b.noName(j))
	}
	config := b.Cluster.Config
	if !config.Known() || !b.uses(j) {
		return out
	}
	if j.Endpoint.State == userdata.Given {
		if m, ok := b.otherEndpoint(j, config.Value.Endpoint); ok {
			out = append(out, m)
		}
	}
	if m, ok := b.otherCA(j, config.Value); ok {
		out = append(out, m)
	}
	return out
}

// uses reports whether the tool takes the endpoint and the authority that it is given:
// bootstrap.sh and Start-EKSBootstrap.ps1 ask the EKS API for both unless they get both.
// https://github.com/awslabs/amazon-eks-ami/blob/al2/templates/al2/runtime/bootstrap.sh
func (b *start) uses(j userdata.Join) bool {
	both := j.Endpoint.State != userdata.Absent && j.CA.State != userdata.Absent
	return both || j.Tool != userdata.BootstrapScript && j.Tool != userdata.WindowsScript
}

func (b *start) otherName(j userdata.Join) mismatch {
	words := fmt.Sprintf("names the cluster %s and not %s", j.Cluster.Value, b.ClusterID.Name)
	if strings.EqualFold(j.Cluster.Value, b.ClusterID.Name) {
		words += ": the names differ in upper and lower case, which matters"
	}
	return mismatch{
		sure: !j.Conditional, words: words,
		Evidence: roll.Evidence{Source: b.source, Field: at(j.Part, "cluster name"), Observed: j.Cluster.Value, Expected: b.ClusterID.Name},
	}
}

// noName is a text that no cluster can have for a name, such as a variable that nobody put
// in. What a shell makes of it would be less certain.
func (b *start) noName(j userdata.Join) mismatch {
	return mismatch{
		sure: true, words: "has a cluster name that no cluster can have",
		Evidence: roll.Evidence{Source: b.source, Field: at(j.Part, "cluster name"), Observed: "letters, digits, - and _ are not all that is in it", Expected: b.ClusterID.Name},
	}
}

// otherEndpoint compares addresses. One that is not of EKS's own names may lead to the
// cluster all the same, and so may the other one of the two names of a cluster's endpoint.
func (b *start) otherEndpoint(j userdata.Join, own string) (mismatch, bool) {
	theirs, mine := host(j.Endpoint.Value), host(own)
	if mine == "" || theirs == mine {
		return mismatch{}, false
	}
	id, _, _ := strings.Cut(theirs, ".")
	ours, _, _ := strings.Cut(mine, ".")
	return mismatch{
		sure: !j.Conditional && ofEKS(theirs) && ofEKS(mine) && id != ours, words: "has the API server's endpoint " + j.Endpoint.Value + ", which is not that of " + b.ClusterID.Name,
		Evidence: roll.Evidence{Source: b.source, Field: at(j.Part, "API server endpoint"), Observed: j.Endpoint.Value, Expected: own},
	}, true
}

// host is the host of an address in lower case; a port that is https's own does not count.
func host(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Host), ":443")
}

// ofEKS reports whether a host is one that EKS names: <id>.<shard>.<region>.eks.amazonaws.com
// or, with IPv6, <id>.<shard>.eks-cluster.<region>.api.aws.
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
func ofEKS(host string) bool {
	return strings.Contains(host, ".eks.amazonaws.com") || strings.Contains(host, ".eks-cluster.") && strings.HasSuffix(host, ".api.aws") ||
		strings.Contains(host, ".eks-cluster.") && strings.HasSuffix(host, ".api.amazonwebservices.com.cn")
}

// otherCA compares certificate authorities. While a cluster is updated its authority may
// be about to change (https://docs.aws.amazon.com/eks/latest/APIReference/API_Update.html,
// type CertificateAuthorityUpdate).
func (b *start) otherCA(j userdata.Join, config evidence.ClusterConfig) (mismatch, bool) {
	if j.CA.State != userdata.Given || config.CAHash == "" || strings.EqualFold(j.CA.Value, config.CAHash) {
		return mismatch{}, false
	}
	return mismatch{
		sure: !j.Conditional && config.Status == roll.ClusterActive, words: "has a certificate authority that is not that of " + b.ClusterID.Name,
		Evidence: roll.Evidence{Source: b.source, Field: at(j.Part, "certificate authority (SHA-256)"), Observed: j.CA.Value, Expected: config.CAHash},
	}, true
}

func (b *start) otherCluster(wrong []mismatch, right bool) {
	var seen []roll.Evidence
	first, sure := wrong[0], false
	for _, m := range wrong {
		seen = append(seen, m.Evidence)
		if m.sure && !sure {
			first, sure = m, true
		}
	}
	b.given(sure && !right, roll.Cause{
		Code:     cause.UserDataClusterMismatch,
		Summary:  fmt.Sprintf("the user data of %s %s", b.Finding.Instance, first.words),
		Evidence: seen[:min(len(seen), maxEvidence)],
		Fix:      b.describe() + "\n" + b.change(fmt.Sprintf("name the cluster %s, with its own endpoint and certificate authority", b.ClusterID.Name)),
	})
}
