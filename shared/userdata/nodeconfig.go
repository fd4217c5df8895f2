package userdata

import (
	"strings"

	"github.com/BurntSushi/toml"
)

// nodeConfigGroup begins the apiVersion of what nodeadm reads
// (awslabs/amazon-eks-ami, nodeadm).
const nodeConfigGroup = "node.eks.aws/"

// readNodeConfig takes a NodeConfig from the user data. nodeadm merges all of
// them "in the order they appear", the last value taking precedence
// (nodeadm, Merging multiple configuration objects).
func (r *reader) readNodeConfig(text, part string) {
	if name, ok := r.nodeConfigCluster(text, part); ok && name != "" {
		r.nodeConfig, r.configPart = name, part
	}
}

// nodeConfigCluster is the cluster that a NodeConfig names: the first of a part
// with several documents, since nodeadm reads no further. ok is false when there
// is no NodeConfig. A NodeConfig without a cluster is meant to be merged.
func (r *reader) nodeConfigCluster(text, part string) (name string, ok bool) {
	for _, doc := range r.documents(text, part, NodeConfig) {
		if scalar(lookup(doc, "kind")) != "NodeConfig" ||
			!strings.HasPrefix(scalar(lookup(doc, "apiVersion")), nodeConfigGroup) {
			continue
		}
		ok = true
		if name = scalar(lookup(doc, "spec", "cluster", "name")); name != "" {
			return name, true
		}
	}
	return "", ok
}

// bottlerocket reads settings.kubernetes.cluster-name (Bottlerocket settings
// reference). A host in standalone mode runs a kubelet that joins no cluster.
func (r *reader) bottlerocket(text, part string) {
	if len(text) > maxTOML || countAny(text, "[{") > maxTOMLBrackets {
		r.problem(part, Bottlerocket, TooLarge)
		return
	}
	var doc struct {
		Settings struct {
			Kubernetes struct {
				ClusterName any `toml:"cluster-name"`
				Standalone  any `toml:"standalone-mode"`
			} `toml:"kubernetes"`
		} `toml:"settings"`
	}
	if _, err := toml.Decode(text, &doc); err != nil {
		r.problemAt(part, Bottlerocket, Unparseable, err)
		return
	}
	r.bottlerocketReads(text, part)
	k := doc.Settings.Kubernetes
	if k.ClusterName == nil || k.Standalone == true {
		return
	}
	name, _ := k.ClusterName.(string)
	r.result.cluster(name, part, Bottlerocket)
}
