package userdata

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The fields are those of nodeadm/api/v1alpha1/nodeconfig_types.go, July 2026. Its module is not
// imported: the only version is of February 2024, and needs k8s.io/apimachinery.
//
// nodeadm decodes with the UniversalDecoder of k8s.io/apimachinery
// (nodeadm/internal/api/bridge/decode.go), which is not strict. It drops unknown fields; names are
// case-sensitive. It fails for a kind or apiVersion that is not registered and for a value of the
// wrong type. It reads the first of several YAML documents. One NodeConfig that cannot be decoded
// makes nodeadm reject the whole user data (internal/configprovider/chain.go).

// shape is the content of a field: an object by its fields, a list or map by its elements, or a
// scalar. The zero shape is anything.
type shape struct {
	fields map[string]shape
	each   *shape
	kind   yaml.Kind
	scalar func(*yaml.Node) bool
}

func object(fields map[string]shape) shape { return shape{kind: yaml.MappingNode, fields: fields} }
func mapOf(each shape) shape               { return shape{kind: yaml.MappingNode, each: &each} }
func listOf(each shape) shape              { return shape{kind: yaml.SequenceNode, each: &each} }

var (
	textShape       = shape{kind: yaml.ScalarNode, scalar: isText}
	boolShape       = shape{kind: yaml.ScalarNode, scalar: isBool}
	base64Shape     = shape{kind: yaml.ScalarNode, scalar: isBase64}
	nodeConfigShape = object(map[string]shape{
		"apiVersion": textShape, "kind": textShape, "metadata": {}, "status": {},
		"spec": object(map[string]shape{
			"cluster": object(map[string]shape{
				"name": textShape, "apiServerEndpoint": textShape, "cidr": textShape, "id": textShape, "certificateAuthority": base64Shape, "enableOutpost": boolShape,
			}),
			"containerd": object(map[string]shape{"config": textShape, "baseRuntimeSpec": mapOf(shape{})}),
			"instance": object(map[string]shape{
				"localStorage": object(map[string]shape{"strategy": textShape, "mountPath": textShape, "disabledMounts": listOf(textShape)}),
				"environment":  mapOf(mapOf(textShape)),
				"network":      object(map[string]shape{"nameservers": listOf(textShape), "domains": listOf(textShape)}),
			}),
			"kubelet":      object(map[string]shape{"config": mapOf(shape{}), "flags": listOf(textShape), "maxPodsExpression": textShape}),
			"featureGates": mapOf(boolShape),
		}),
	})
)

// nodeDocument is a NodeConfig before it is merged with others.
type nodeDocument struct {
	Join
	flags        []string
	taints       []Taint // of the kubelet's configuration
	hasTaints    bool    // also when the list is empty
	failCgroupV1 Setting
	cidr         string // spec.cluster.cidr
	meant        string // the cluster that it names, even if nodeadm does not read it
	ok           bool   // nodeadm reads it
	karpenter    bool   // it carries the comment with which Karpenter marks its own
	dropIn       bool   // nodeadm-run.service reads it, and nodeadm-config.service before it does not
}

// nodeConfigGroup is the prefix of the apiVersions that nodeadm reads (awslabs/amazon-eks-ami,
// nodeadm).
const nodeConfigGroup = "node.eks.aws/"

// merge adds a NodeConfig. nodeadm merges all of them "in the order they appear", the last value
// taking precedence (nodeadm, Merging multiple configuration objects). One that nodeadm does not see
// still shows its cluster.
func (r *reader) merge(doc nodeDocument) {
	if doc.meant != "" {
		r.merged = doc.meant
	}
	if doc.ok && len(r.nodeConfigs) < maxDocuments {
		r.nodeConfigs = append(r.nodeConfigs, doc)
	}
}

// isDropIn matches the files that nodeadm reads after the user data (configprovider/file.go).
var isDropIn = form(`/etc/eks/nodeadm\.d/[^/]*(?i:\.yaml|\.yml|\.json)`)

// dropIns reads the files that scripts write for nodeadm, in the order of their names. nodeadm-run.service,
// which reads them, runs after cloud-init. It requires nodeadm-config.service, which runs before and fails
// without a cluster in the user data itself: "drop-in files cannot be used on their own"
// (https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/doc/examples.md).
func (r *reader) dropIns() {
	n := 0
	for _, path := range slices.Sorted(maps.Keys(r.files)) {
		if isDropIn(path) {
			n++
			doc := r.nodeDocument(r.files[path], fmt.Sprintf("nodeadm.d file %d", n), true, true)
			doc.dropIn = true
			r.merge(doc)
		}
	}
}

// nodeDocument reads one NodeConfig, the first of several YAML documents. judged reports whether
// nodeadm reads it and fails on its faults. lines reports whether its lines are those of the part.
func (r *reader) nodeDocument(text, part string, judged, lines bool) (doc nodeDocument) {
	computed := strings.Contains(text, unknown)
	found := func(why Reason, line int, field string, effect Effect) {
		if computed && field == "" && effect == Fails {
			r.problem(part, NodeConfig, Elsewhere) // the instance computes some of the text
			return
		}
		if !lines {
			line = 0
		}
		if judged {
			r.fault(Fault{part, NodeConfig, why, line, field, ByNodeadm, effect})
		}
	}
	if len(text) > maxYAML || !r.spend(len(text)) {
		r.problem(part, NodeConfig, TooLarge)
		return doc
	}
	roots, err := yamlDocuments(text)
	if err != nil {
		r.boot.Unclear = true
	}
	doc.meant = clusterIn(roots)
	switch {
	case len(roots) == 0 && err != nil:
		found(Unparseable, errorLine(err), "", Fails)
		return doc
	case len(roots) == 0:
		found(WrongKind, 0, "", Fails)
		return doc
	case len(roots) > 1 && !isNull(roots[1]):
		found(ExtraDocument, roots[1].Line, "", Skipped)
	}
	root := roots[0]
	if isHybrid(root) {
		return nodeDocument{}
	}
	group, version, _ := strings.Cut(scalar(lookup(root, "apiVersion")), "/")
	switch {
	case scalar(lookup(root, "kind")) != "NodeConfig" || group+"/" != nodeConfigGroup:
		found(WrongKind, root.Line, "", Fails)
		return doc
	case version != "v1alpha1":
		found(WrongKind, lookup(root, "apiVersion").Line, "apiVersion", Depends)
	}
	if !judged {
		return doc
	}
	c := checker{found: found, steps: 4096}
	c.visit(root, nodeConfigShape, "", 0)
	doc.read(root, part)
	doc.karpenter = strings.Contains(text, "# Karpenter Generated NodeConfig")
	r.proxies(text)
	return doc
}

// isHybrid reports whether a NodeConfig is for the nodeadm of hybrid nodes, which is another program.
// People try hybrid nodes on EC2 instances too. The Node of such an instance does not carry its id.
// https://docs.aws.amazon.com/eks/latest/userguide/hybrid-nodes-nodeadm.html
func isHybrid(root *yaml.Node) bool {
	hybrid := lookup(root, "spec", "hybrid")
	return hybrid != nil && !isNull(hybrid)
}

// clusterIn returns the cluster of the first NodeConfig that names one. A NodeConfig without a
// cluster is meant to be merged.
func clusterIn(roots []*yaml.Node) string {
	for _, doc := range roots {
		if scalar(lookup(doc, "kind")) == "NodeConfig" && strings.HasPrefix(scalar(lookup(doc, "apiVersion")), nodeConfigGroup) {
			if name := scalar(lookup(doc, "spec", "cluster", "name")); name != "" {
				return name
			}
		}
	}
	return ""
}

// checker compares a document with a shape. steps bounds the comparison, because aliases could
// repeat a node without end.
type checker struct {
	found func(why Reason, line int, field string, effect Effect)
	steps int
}

func (c *checker) visit(n *yaml.Node, s shape, path string, depth int) {
	n = resolve(n)
	if c.steps--; c.steps < 0 || depth > maxDepth || n == nil || isNull(n) || s.kind == 0 {
		return
	}
	if n.Kind != s.kind || s.scalar != nil && !s.scalar(n) {
		if !strings.Contains(n.Value, unknown) {
			c.found(WrongType, n.Line, path, Fails)
		}
		return
	}
	for i, item := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode:
			c.visit(item, *s.each, path, depth+1)
		case i%2 == 0 && s.fields != nil:
			c.field(item, n.Content[i+1], s, path, depth)
		case i%2 == 1 && s.each != nil:
			c.visit(item, *s.each, path, depth+1) // the key is not a field name of nodeadm
		}
	}
}

func (c *checker) field(key, value *yaml.Node, s shape, path string, depth int) {
	if f, ok := s.fields[key.Value]; ok {
		c.visit(value, f, dotted(path, key.Value), depth+1)
	} else if c.steps--; key.Value != "<<" && c.steps > 0 {
		c.found(UnknownField, key.Line, likely(s, key.Value, path), Skipped)
	}
}

// likely returns the field that differs from the name only by case, or else the object that has no
// such field. The name itself is not kept.
func likely(s shape, name, path string) string {
	for field := range s.fields {
		if strings.EqualFold(field, withoutMarks.Replace(name)) {
			return dotted(path, field)
		}
	}
	return path
}

func dotted(path, field string) string { return strings.TrimPrefix(path+"."+field, ".") }

func isNull(n *yaml.Node) bool { return n.ShortTag() == "!!null" }

// isBool includes the words that YAML 1.1, which nodeadm's parser follows, reads as true and false.
func isBool(n *yaml.Node) bool {
	return n.ShortTag() == "!!bool" || n.Style == 0 && validBool(truth(n))
}

// isText reports whether a scalar decodes into a string. A number does not.
func isText(n *yaml.Node) bool {
	return slices.Contains([]string{"!!str", "!!timestamp", "!!binary"}, n.ShortTag()) && !isBool(n)
}

// isBase64 reports whether a scalar decodes into bytes: encoding/json takes line breaks, and no blanks as
// YAML folds them into.
func isBase64(n *yaml.Node) bool {
	_, err := base64.StdEncoding.DecodeString(n.Value)
	return err == nil && isText(n)
}

// read reads the relevant fields of a NodeConfig.
func (d *nodeDocument) read(root *yaml.Node, part string) {
	cluster := func(key string) string { return scalar(lookup(root, "spec", "cluster", key)) }
	d.ok, d.Part = true, part
	d.Cluster = setting(cluster("name"), validName)
	d.Endpoint = setting(cluster("apiServerEndpoint"), validEndpoint)
	d.CA = CertificateOf(cluster("certificateAuthority"))
	d.cidr = cluster("cidr")
	d.InstanceIDName = truth(lookup(root, "spec", "featureGates", "InstanceIdNodeName")) == "true"
	if all := lookup(root, "spec", "instance", "environment", "default"); all != nil {
		for i, n := range all.Content {
			d.Proxied = d.Proxied || i%2 == 0 && proxyName(n.Value)
		}
	}
	d.flags = scalars(lookup(root, "spec", "kubelet", "flags"))
	d.flags = d.flags[:min(len(d.flags), maxFlags)]
	config := lookup(root, "spec", "kubelet", "config")
	d.failCgroupV1 = setting(truth(lookup(config, "failCgroupV1")), validBool)
	taints := lookup(config, "registerWithTaints")
	d.hasTaints = taints != nil
	for _, item := range items(taints) {
		if len(d.taints) == maxTaints {
			break
		}
		t := newTaint(scalar(lookup(item, "key")), scalar(lookup(item, "value")), scalar(lookup(item, "effect")))
		t.Source, t.Part = TaintConfig, part
		d.taints = append(d.taints, t)
	}
}

// mergedJoin merges documents as nodeadm does: a given value replaces earlier ones, flags are
// appended, and lists in the kubelet's configuration are replaced (nodeadm/internal/api/merge.go).
func mergedJoin(tool Tool, docs []nodeDocument) Join {
	j := Join{Tool: tool}
	var taints []Taint
	var failCgroupV1 Setting
	var parts []string
	var flags strings.Builder
	var own nodeDocument // the cluster by those that are no drop-ins
	for _, d := range docs {
		parts = append(parts, d.Part)
		j.Cluster = j.Cluster.over(d.Cluster)
		j.Endpoint = j.Endpoint.over(d.Endpoint)
		j.CA = j.CA.over(d.CA)
		if d.dropIn {
			j.DropIns = true
		} else {
			own.Cluster, own.Endpoint, own.CA, own.cidr = j.Cluster, j.Endpoint, j.CA, own.cidr+d.cidr
			j.Proxied = j.Proxied || d.Proxied
		}
		j.InstanceIDName = j.InstanceIDName || d.InstanceIDName
		if d.hasTaints {
			dropAll(taints)
		}
		taints = slices.Concat(taints, d.taints)
		failCgroupV1 = failCgroupV1.over(d.failCgroupV1)
		if d.karpenter {
			j.Karpenter = append(j.Karpenter, d.Part)
		}
		if all := strings.Join(d.flags, " "); flags.Len()+len(all) < maxScript {
			flags.WriteString(all + " ")
		}
		flags.WriteByte(documentEnds)
	}
	j.Part = strings.Join(slices.Compact(slices.Clone(parts)), ", ")
	value, loss := environmentFileValue(flags.String())
	j.Kubelet = newKubelet(commandLineWords(value), parts...)
	j.Kubelet.configure(taints, failCgroupV1)
	j.Kubelet.Loss = loss
	// Without these nodeadm stops (nodeadm/internal/api/validation.go).
	j.needs("spec.cluster.name", own.Cluster.State != Absent)
	j.needs("spec.cluster.apiServerEndpoint", own.Endpoint.State != Absent)
	j.needs("spec.cluster.certificateAuthority", own.CA.State != Absent)
	j.needs("spec.cluster.cidr", own.cidr != "")
	return j
}

// needs notes a field without which the tool stops, unless it is given.
func (j *Join) needs(field string, given bool) {
	if !given {
		j.Missing = append(j.Missing, field)
	}
}

// nodeadm adds a call of nodeadm init. Without a source, or from the instance's user data, it reads
// the NodeConfig that is found in any case.
func (w *walk) nodeadm(args []field) {
	if len(args) == 0 || args[0].text != "init" {
		return
	}
	var docs []nodeDocument
	named := false // a source of its own
	for i, f := range args {
		option, source, _ := strings.Cut(f.text, "=")
		if option != "-c" && option != "--config-source" {
			continue
		}
		if source == "" && i+1 < len(args) {
			source = args[i+1].text
		}
		if source == "" || strings.HasPrefix(source, "imds:") {
			continue
		}
		named = true
		name := w.at(path.Clean(strings.TrimPrefix(source, "file://")))
		if w.tooEarly(name) {
			continue
		}
		text, ok := w.files[name]
		if !ok || !w.spend(len(text)) {
			w.gap(Elsewhere)
			continue
		}
		doc := w.nodeDocument(text, w.part, true, false)
		if doc.ok {
			docs = append(docs, doc)
		}
		if doc.meant != "" {
			w.cluster(doc.meant)
		}
	}
	if !named { // it reads the user data again, in the environment that the script has made
		add(&w.boot.Edits, ChangesNodeadm, maxList)
	}
	if len(docs) > 0 {
		j := mergedJoin(NodeadmCommand, docs)
		j.Conditional = w.conditional
		w.join(j)
	}
}
