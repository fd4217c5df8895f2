package roll_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const (
	byAWS      = "aws:eks:cluster-name"
	byEKS      = "eks:cluster-name"
	byOperator = "eks:eks-cluster-name"
	byEksctl   = "alpha.eksctl.io/cluster-name"
	claims     = "kubernetes.io/cluster/"
)

// permutations calls the function with the pairs in every order.
func permutations(pairs [][2]string, call func([][2]string)) {
	if len(pairs) < 2 {
		call(pairs)
		return
	}
	for i := range pairs {
		rest := slices.Concat(pairs[:i], pairs[i+1:])
		permutations(rest, func(p [][2]string) { call(append([][2]string{pairs[i]}, p...)) })
	}
}

func tagsIn(pairs [][2]string) *roll.TagSet {
	var t roll.TagSet
	for _, p := range pairs {
		t.Add(p[0], p[1])
	}
	return &t
}

func TestWhichAutoscalerScales(t *testing.T) {
	const prefix = "k8s.io/cluster-autoscaler/"
	for _, tt := range []struct {
		keys []string
		want bool
	}{
		{nil, false},
		{[]string{prefix + "enabled", prefix + "demo"}, true},
		{[]string{prefix + "enabled"}, false},
		{[]string{prefix + "demo", prefix + "other"}, false},
		{[]string{prefix + "demo", prefix + "node-template/label/team"}, true},
		{[]string{prefix + "Demo"}, false},
	} {
		var tags roll.TagSet
		for _, key := range tt.keys {
			tags.Add(key, "owned")
		}
		expect.Equal(t, tags.ScaledBy("demo"), tt.want, "%q: scaled by demo", tt.keys)
	}
}

// The cluster of every case is demo. Each case is tried with its tags in every order.
func TestWhichClusterTheTagsProve(t *testing.T) {
	claim := func(cluster string) [2]string { return [2]string{claims + cluster, "owned"} }
	named := func(key, cluster string) [2]string { return [2]string{key, cluster} }
	yes, no, unclear := roll.Belongs, roll.BelongsNot, roll.BelongsAmbiguous
	tests := []struct {
		name  string
		tags  [][2]string
		want  roll.Belonging
		other string   // the other named cluster
		all   []string // the clusters that the tags may mean
	}{
		// Keys alone.
		{"no tag", nil, no, "", nil},
		{"this key", [][2]string{claim("demo")}, yes, "", []string{"demo"}},
		{"this key, shared", [][2]string{named(claims+"demo", "shared")}, yes, "", []string{"demo"}},
		{"another key", [][2]string{claim("other")}, no, "", []string{"other"}},
		{"another key, whose name begins alike", [][2]string{claim("demo2")}, no, "", []string{"demo2"}},
		{"names are case-sensitive", [][2]string{claim("Demo")}, no, "", []string{"Demo"}},
		{"both keys", [][2]string{claim("demo"), claim("other")}, unclear, "", []string{"demo", "other"}},
		// AWS's own tag decides, whatever other tags there are.
		{"AWS names this one", [][2]string{named(byAWS, "demo")}, yes, "", []string{"demo"}},
		{"AWS names this one, the key another", [][2]string{named(byAWS, "demo"), claim("other")}, yes, "", []string{"demo"}},
		{"AWS names this one, eksctl another", [][2]string{named(byAWS, "demo"), named(byEksctl, "other"), claim("demo")}, yes, "", []string{"demo"}},
		{"AWS names this one, all else another", [][2]string{named(byAWS, "demo"), named(byEksctl, "other"), named(byEKS, "other"), claim("other")}, yes, "", []string{"demo"}},
		{"AWS names another", [][2]string{named(byAWS, "other"), claim("demo")}, no, "other", []string{"other"}},
		{"AWS names another, eksctl this one", [][2]string{named(byAWS, "other"), named(byEksctl, "demo"), claim("demo")}, no, "other", []string{"other"}},
		{"AWS names another, all else this one", [][2]string{named(byAWS, "other"), named(byEksctl, "demo"), named(byEKS, "demo"), named(byOperator, "demo"), claim("demo")}, no, "other", []string{"other"}},
		{"AWS names nothing", [][2]string{named(byAWS, ""), claim("demo")}, yes, "", []string{"demo"}},
		// Names that anybody can write, and that agree.
		{"eksctl alone", [][2]string{named(byEksctl, "demo")}, yes, "", []string{"demo"}},
		{"EKS and this key", [][2]string{named(byEKS, "demo"), claim("demo")}, yes, "", []string{"demo"}},
		{"EKS decides between keys", [][2]string{named(byEKS, "demo"), claim("demo"), claim("other")}, yes, "", []string{"demo"}},
		{"all names agree", [][2]string{named(byEKS, "demo"), named(byOperator, "demo"), named(byEksctl, "demo"), claim("demo")}, yes, "", []string{"demo"}},
		{"EKS names another", [][2]string{named(byEKS, "other"), claim("demo")}, no, "other", []string{"other"}},
		{"EKS names another, of both keys", [][2]string{named(byEKS, "other"), claim("demo"), claim("other")}, no, "other", []string{"other"}},
		{"EKS names this one, which no key claims, and a key another", [][2]string{named(byEKS, "demo"), claim("other")}, unclear, "", []string{"demo"}},
		{"EKS names nothing", [][2]string{named(byEKS, ""), claim("demo")}, yes, "", []string{"demo"}},
		// Names that anybody can write, and that disagree.
		{"EKS this one, eksctl another", [][2]string{named(byEKS, "demo"), named(byEksctl, "other"), claim("demo")}, unclear, "", []string{"demo", "other"}},
		{"eksctl this one, EKS another", [][2]string{named(byEksctl, "demo"), named(byEKS, "other"), claim("demo")}, unclear, "", []string{"demo", "other"}},
		{"two against one", [][2]string{named(byEKS, "demo"), named(byOperator, "demo"), named(byEksctl, "other"), claim("demo")}, unclear, "", []string{"demo", "other"}},
		{"both names and both keys", [][2]string{named(byEKS, "demo"), named(byEksctl, "other"), claim("demo"), claim("other")}, unclear, "", []string{"demo", "other"}},
		{"two others", [][2]string{named(byEKS, "other"), named(byEksctl, "third"), claim("demo")}, no, "other", []string{"other", "third"}},
		{"three names", [][2]string{named(byEKS, "third"), named(byOperator, "other"), named(byEksctl, "demo"), claim("demo")}, unclear, "", []string{"demo", "other", "third"}},
	}
	for _, tt := range tests {
		permutations(tt.tags, func(tags [][2]string) {
			set := tagsIn(tags)
			expect.Equal(t, set.Belonging("demo"), tt.want, "%s: %v belongs", tt.name, tags)
			expect.Equal(t, set.OtherCluster("demo"), tt.other, "%s: %v names the other cluster", tt.name, tags)
			expect.List(t, set.Clusters(), tt.all, "%s: %v may mean", tt.name, tags)
		})
	}
}

// Whatever the tags: their order does not matter, and no two clusters may act on one instance.
func TestNoOrderOfTagsDecidesAndNoTwoClustersHaveOneInstance(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 6))
	clusters := []string{"demo", "other", "third", ""}
	keys := []string{byAWS, byEKS, byOperator, byEksctl, "karpenter.sh/nodepool", "karpenter.sh/provisioner-name", "eks:nodegroup-name", "aws:autoscaling:groupName", "aws:ec2launchtemplate:id", "aws:ec2launchtemplate:version"}
	for range 20_000 {
		var tags [][2]string
		for _, key := range keys {
			if r.IntN(3) == 0 {
				tags = append(tags, [2]string{key, clusters[r.IntN(4)]})
			}
		}
		for _, cluster := range clusters[:3] {
			if r.IntN(2) == 0 {
				tags = append(tags, [2]string{claims + cluster, "owned"})
			}
		}
		told := func(t *roll.TagSet) string {
			owner, group := t.Owner("")
			out := fmt.Sprint(t.Clusters(), owner, group, t.LaunchTemplate())
			for _, cluster := range clusters[:3] {
				out += fmt.Sprint(" ", t.Belonging(cluster), t.OtherCluster(cluster), t.NamedBy(cluster))
			}
			return out
		}
		first, n := told(tagsIn(tags)), 0
		for range 3 {
			r.Shuffle(len(tags), func(i, j int) { tags[i], tags[j] = tags[j], tags[i] })
			again := told(tagsIn(tags))
			must.That(t, again == first, "%v: %s, in another order %s", tags, again, first)
		}
		for _, cluster := range clusters[:3] {
			if tagsIn(tags).Belonging(cluster) == roll.Belongs {
				n++
			}
		}
		must.That(t, n <= 1, "%v belongs to %d clusters", tags, n)
	}
}

// The id of a launch template without its version shows nothing: a bastion may come from
// another version of the nodes' own template.
func TestALaunchTemplateIsItsIDAndItsVersion(t *testing.T) {
	const id, version = "aws:ec2launchtemplate:id", "aws:ec2launchtemplate:version"
	for want, tags := range map[string][]string{
		"lt-1:3": {id, "lt-1", version, "3"},
		"":       {id, "lt-1"},
	} {
		expect.Equal(t, tagSet(tags...).LaunchTemplate(), want, "%v", tags)
	}
	expect.Equal(t, tagSet(version, "3").LaunchTemplate(), "", "a version alone")
}

// Each key by which instances of any cluster are looked for must name the cluster of an
// instance that has no other tag.
func TestEachClusterTagKeyNamesACluster(t *testing.T) {
	keys := roll.ClusterTagKeys()
	for _, key := range append(keys, byAWS, byEKS, byOperator, byEksctl, claims+"*") {
		expect.That(t, slices.Contains(keys, key), "%q is not looked for", key)
		var tags roll.TagSet
		tags.Add(strings.Replace(key, "*", "shop", 1), "shop")
		got := tags.Clusters()
		expect.That(t, slices.Equal(got, []string{"shop"}), "an instance with %q is of the clusters %q, want shop", key, got)
	}
}
