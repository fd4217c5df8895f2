package userdata

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// nodeadm's own types are not imported: the only version of
// github.com/awslabs/amazon-eks-ami/nodeadm that can be had as a module is of
// February 2024 and lacks fields (spec.instance.environment, featureGates,
// maxPodsExpression), and they bring k8s.io/apimachinery, which a pure package
// does not import. What is read here is what they say as of July 2026
// (nodeadm/api/v1alpha1/nodeconfig_types.go).
//
// nodeadm decodes with the UniversalDecoder of k8s.io/apimachinery
// (nodeadm/internal/api/bridge/decode.go). That is not strict: it drops fields
// that it does not know, names being case-sensitive; it fails for a kind or
// apiVersion that is not registered and for a value of the wrong type; and it
// reads the first of several YAML documents. One NodeConfig that cannot be
// decoded costs the whole user data (internal/configprovider/chain.go).

// shape is what a field holds.
type shape struct {
	kind   shapeKind
	fields map[string]shape // of an object
	each   *shape           // of a list's or map's elements
}

type shapeKind int

const (
	anything shapeKind = iota
	aText
	aBool
	aBase64
	anObject
	aList
	aMap
)

var (
	someText     = shape{kind: aText}
	someBool     = shape{kind: aBool}
	listOfText   = shape{kind: aList, each: &someText}
	mapOfText    = shape{kind: aMap, each: &someText}
	mapOfAny     = shape{kind: aMap, each: &shape{}}
	nodeConfigIs = shape{kind: anObject, fields: map[string]shape{
		"apiVersion": someText, "kind": someText, "metadata": {}, "status": {},
		"spec": {kind: anObject, fields: map[string]shape{
			"cluster": {kind: anObject, fields: map[string]shape{
				"name": someText, "apiServerEndpoint": someText, "cidr": someText, "id": someText,
				"certificateAuthority": {kind: aBase64}, "enableOutpost": someBool,
			}},
			"containerd": {kind: anObject, fields: map[string]shape{
				"config": someText, "baseRuntimeSpec": mapOfAny,
			}},
			"instance": {kind: anObject, fields: map[string]shape{
				"localStorage": {kind: anObject, fields: map[string]shape{
					"strategy": someText, "mountPath": someText, "disabledMounts": listOfText,
				}},
				"environment": {kind: aMap, each: &mapOfText},
				"network": {kind: anObject, fields: map[string]shape{
					"nameservers": listOfText, "domains": listOfText,
				}},
			}},
			"kubelet": {kind: anObject, fields: map[string]shape{
				"config": mapOfAny, "flags": listOfText, "maxPodsExpression": someText,
			}},
			"featureGates": {kind: aMap, each: &someBool},
		}},
	}}
)

// nodeDocument is a NodeConfig with what it takes to merge it.
type nodeDocument struct {
	Document
	flags   []string
	config  kubeletConfig
	cluster string // that it is meant for, whether nodeadm reads it or not
	ok      bool   // nodeadm reads it
}

// nodeConfigGroup begins the apiVersion of what nodeadm reads
// (awslabs/amazon-eks-ami, nodeadm).
const nodeConfigGroup = "node.eks.aws/"

// nodeConfig takes a NodeConfig of the user data. nodeadm merges all of them "in the order
// they appear", the last value taking precedence (nodeadm, Merging multiple configuration
// objects). One that nodeadm does not see shows its cluster all the same.
func (r *reader) nodeConfig(text, part string, misplaced bool) {
	found := r.nodeDocument(text, part, true, !misplaced)
	if found.cluster != "" {
		r.merged, r.mergedPart = found.cluster, part
	}
	r.merges(found, misplaced)
}

func (r *reader) merges(d nodeDocument, misplaced bool) {
	if d.ok && !misplaced && len(r.nodeConfigs) < maxDocuments {
		r.nodeConfigs = append(r.nodeConfigs, d)
	}
}

// clusterIn is the cluster that the first NodeConfig that names one names: in the user data
// of a node that nodeadm will not read, too, since it shows what the node was meant for.
// One without a cluster is meant to be merged.
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

// empty tells of a part that is said to be a NodeConfig and has nothing in it.
func (r *reader) empty(mediaType, part string) {
	if mediaType == nodeConfigMedia {
		r.fault(Fault{Problem: Problem{part, NodeConfig, WrongKind}, By: ByNodeadm, Effect: Fails})
	}
}

// dropIns takes the files that scripts write to the directory that nodeadm reads
// after the user data, once cloud-init is through (nodeadm-run.service), in the
// order of their names (configprovider/file.go).
func (r *reader) dropIns() {
	n := 0
	for _, path := range slices.Sorted(maps.Keys(r.files)) {
		name, ok := strings.CutPrefix(path, "/etc/eks/nodeadm.d/")
		if !ok || strings.Contains(name, "/") || !slices.ContainsFunc([]string{".yaml", ".yml", ".json"}, func(ext string) bool {
			return strings.HasSuffix(asciiLower(name), ext)
		}) {
			continue
		}
		n++
		doc := r.nodeDocument(r.files[path], fmt.Sprintf("nodeadm.d file %d", n), true, true)
		doc.DropIn = true
		r.merges(doc, false)
	}
}

// nodeDocument reads one NodeConfig, of several YAML documents the first. own: the lines
// are the part's. judged: nodeadm reads it, and stumbles over its faults.
func (r *reader) nodeDocument(text, part string, own, judged bool) (doc nodeDocument) {
	tell := func(why Reason, line int, field string, effect Effect) {
		if !own {
			line = 0
		}
		if judged {
			r.fault(Fault{Problem{part, NodeConfig, why}, line, field, ByNodeadm, effect})
		}
	}
	if len(text) > maxYAML || !r.spend(len(text)) {
		r.problem(part, NodeConfig, TooLarge)
		return doc
	}
	roots, err := yamlDocuments(text)
	if err != nil {
		r.unread(part, NodeConfig, Unparseable)
	}
	doc.cluster = clusterIn(roots)
	switch {
	case len(roots) == 0 && err != nil:
		tell(Unparseable, errorLine(err), "", Fails)
		return doc
	case len(roots) == 0:
		tell(WrongKind, 0, "", Fails)
		return doc
	case len(roots) > 1 && !isNull(roots[1]):
		tell(ExtraDocument, roots[1].Line, "", Skipped)
	}
	root := roots[0]
	group, version, _ := strings.Cut(scalar(lookupLast(root, "apiVersion")), "/")
	switch {
	case scalar(lookupLast(root, "kind")) != "NodeConfig" || group+"/" != nodeConfigGroup:
		tell(WrongKind, lineOf(root), "", Fails)
		return doc
	case version != "v1alpha1":
		tell(WrongKind, lineOf(lookupLast(root, "apiVersion")), "apiVersion", Depends)
	}
	if !judged {
		return doc
	}
	c := checker{tell: tell, steps: 4096}
	c.visit(root, nodeConfigIs, "", 0)
	cluster := doc.cluster
	doc = readNodeDocument(root, part)
	doc.cluster, doc.ok = cluster, true
	doc.Karpenter = strings.Contains(text, "# Karpenter Generated NodeConfig")
	r.nodeConfigProxy(root)
	return doc
}

// checker compares a document with a shape. steps bounds it: aliases could
// repeat a node without end.
type checker struct {
	tell  func(why Reason, line int, field string, effect Effect)
	steps int
}

func (c *checker) visit(n *yaml.Node, s shape, path string, depth int) {
	n = resolve(n)
	if c.steps--; c.steps < 0 || depth > maxDepth || n == nil || isNull(n) || s.kind == anything {
		return
	}
	if !s.fits(n) {
		c.tell(WrongType, n.Line, path, Fails)
		return
	}
	switch s.kind {
	case anObject:
		c.object(n, s, path, depth)
	case aMap:
		for i := 1; i < len(n.Content); i += 2 {
			c.visit(n.Content[i], *s.each, path, depth+1) // the key is not nodeadm's
		}
	case aList:
		for _, item := range n.Content {
			c.visit(item, *s.each, path, depth+1)
		}
	}
}

func (c *checker) object(n *yaml.Node, s shape, path string, depth int) {
	for i := 0; i+1 < len(n.Content) && c.steps > 0; i += 2 {
		c.steps--
		key := n.Content[i]
		if f, ok := s.fields[key.Value]; ok {
			c.visit(n.Content[i+1], f, dotted(path, key.Value), depth+1)
			continue
		}
		if key.Value == "<<" {
			continue
		}
		c.tell(UnknownField, key.Line, meant(s, key.Value, path), Skipped)
	}
}

var withoutMarks = strings.NewReplacer("_", "", "-", "")

// meant is the field that differs from the name only by its letters' case, or
// else the object that has no such field. The name itself is not kept.
func meant(s shape, name, path string) string {
	name = withoutMarks.Replace(asciiLower(name))
	for field := range s.fields {
		if asciiLower(field) == name {
			return dotted(path, field)
		}
	}
	return path
}

func dotted(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// fits reports whether a node decodes into the shape, as JSON does into Go's
// types: a number is no string.
func (s shape) fits(n *yaml.Node) bool {
	switch s.kind {
	case aText:
		return n.Kind == yaml.ScalarNode && isText(n)
	case aBool:
		return n.Kind == yaml.ScalarNode && isBool(n)
	case aBase64:
		if n.Kind != yaml.ScalarNode || !isText(n) {
			return false
		}
		_, ok := decodeBase64(n.Value)
		return ok || strings.Contains(n.Value, unknown)
	case anObject, aMap:
		return n.Kind == yaml.MappingNode
	case aList:
		return n.Kind == yaml.SequenceNode
	}
	return true
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// isBool includes the words that YAML 1.1, which nodeadm's parser follows, takes
// for true and false.
func isBool(n *yaml.Node) bool {
	return n.ShortTag() == "!!bool" ||
		n.Style == 0 && slices.Contains([]string{"y", "yes", "on", "n", "no", "off"}, asciiLower(n.Value))
}

func isText(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!str", "!!timestamp", "!!binary":
		return !isBool(n)
	}
	return false
}

// lookupLast follows keys as lookup does, but takes the last of equal ones, as
// nodeadm's parser does.
func lookupLast(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if n = resolve(n); n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var value *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				value = n.Content[i+1]
			}
		}
		n = value
	}
	return resolve(n)
}

func lineOf(n *yaml.Node) int {
	if n == nil {
		return 0
	}
	return n.Line
}

// readNodeDocument takes what matters out of a NodeConfig.
func readNodeDocument(root *yaml.Node, part string) nodeDocument {
	cluster := func(key string) string { return scalar(lookupLast(root, "spec", "cluster", key)) }
	var doc nodeDocument
	doc.Part = part
	doc.Cluster = setting(cluster("name"), validName)
	doc.Endpoint = setting(cluster("apiServerEndpoint"), validEndpoint)
	doc.CA = CertificateOf(cluster("certificateAuthority"))
	doc.ServiceCIDR = setting(cluster("cidr"), validCIDR)
	doc.InstanceIDName = scalar(lookupLast(root, "spec", "featureGates", "InstanceIdNodeName")) == "true"
	for _, flag := range items(lookupLast(root, "spec", "kubelet", "flags")) {
		if len(doc.flags) < maxFlags {
			doc.flags = append(doc.flags, scalar(flag))
		}
	}
	doc.config = readKubeletConfig(lookupLast(root, "spec", "kubelet", "config"), part)
	doc.ClusterDNS = doc.config.dns
	doc.Kubelet = nodeadmKubelet([]nodeDocument{doc}, doc.config)
	return doc
}

// readKubeletConfig takes what matters out of a KubeletConfiguration.
func readKubeletConfig(n *yaml.Node, part string) kubeletConfig {
	c := kubeletConfig{
		maxPods: setting(scalar(lookupLast(n, "maxPods")), validNumber),
		failCG1: setting(scalar(lookupLast(n, "failCgroupV1")), validBool),
	}
	var dns []string
	for _, address := range items(lookupLast(n, "clusterDNS")) {
		if len(dns) < maxProblems {
			dns = append(dns, scalar(address))
		}
	}
	c.dns = setting(strings.Join(dns, ","), validAddresses)
	taints := lookupLast(n, "registerWithTaints")
	c.hasTaints = taints != nil
	for _, item := range items(taints) {
		if len(c.taints) == maxTaints {
			break
		}
		t := newTaint(scalar(lookupLast(item, "key")), scalar(lookupLast(item, "value")), scalar(lookupLast(item, "effect")))
		t.Source, t.Part = TaintConfig, part
		c.taints = append(c.taints, t)
	}
	return c
}

// nodeadmKubelet is the kubelet of several documents, whose flags nodeadm puts
// one after the other.
func nodeadmKubelet(docs []nodeDocument, config kubeletConfig) Kubelet {
	var all strings.Builder
	var starts []int
	for _, d := range docs {
		starts = append(starts, all.Len())
		for _, flag := range d.flags {
			if all.Len() > 0 {
				all.WriteByte(' ')
			}
			if all.Len() < maxScript {
				all.WriteString(flag)
			}
		}
	}
	part := func(at int) string {
		name := ""
		for i, start := range starts {
			if start <= at {
				name = docs[i].Part
			}
		}
		return name
	}
	value, loss := environmentFileValue(all.String())
	k := newKubelet(commandLineWords(value), part, config)
	k.Loss = loss
	return k
}

// mergedJoin merges documents as nodeadm does: a value that is given wins over
// earlier ones, flags are appended, and lists in the kubelet's configuration are
// replaced (nodeadm/internal/api/merge.go).
func mergedJoin(tool Tool, docs []nodeDocument) Join {
	j := Join{Tool: tool}
	var config kubeletConfig
	var parts []string
	for _, d := range docs {
		parts = append(parts, d.Part)
		j.Cluster = j.Cluster.over(d.Cluster)
		j.Endpoint = j.Endpoint.over(d.Endpoint)
		j.CA = j.CA.over(d.CA)
		j.ServiceCIDR = j.ServiceCIDR.over(d.ServiceCIDR)
		j.InstanceIDName = j.InstanceIDName || d.InstanceIDName
		dropped := config.taints
		config = config.over(d.config)
		if d.config.hasTaints {
			config.taints = append(dropAll(dropped), config.taints...)
		}
		j.Documents = append(j.Documents, d.Document)
	}
	j.Part = strings.Join(slices.Compact(parts), ", ")
	j.ClusterDNS = config.dns
	j.Kubelet = nodeadmKubelet(docs, config)
	j.Missing = missing(j.Config)
	return j
}

func dropAll(taints []Taint) []Taint {
	out := slices.Clone(taints)
	for i := range out {
		out[i].Dropped = true
	}
	return out
}

// missing are the fields without which nodeadm stops
// (nodeadm/internal/api/validation.go).
func missing(c Config) []string {
	var out []string
	for _, need := range []struct {
		field string
		state State
	}{
		{"spec.cluster.name", c.Cluster.State},
		{"spec.cluster.apiServerEndpoint", c.Endpoint.State},
		{"spec.cluster.certificateAuthority", c.CA.State},
		{"spec.cluster.cidr", c.ServiceCIDR.State},
	} {
		if need.state == Absent {
			out = append(out, need.field)
		}
	}
	return out
}

// nodeConfigProxy looks for proxies in spec.instance.environment.
func (r *reader) nodeConfigProxy(root *yaml.Node) {
	services := lookupLast(root, "spec", "instance", "environment")
	if services == nil || services.Kind != yaml.MappingNode || !r.spend(len(services.Content)) {
		return
	}
	for i := 1; i < len(services.Content); i += 2 {
		variables := resolve(services.Content[i])
		if variables == nil || variables.Kind != yaml.MappingNode || !r.spend(len(variables.Content)) {
			continue
		}
		for j := 0; j < len(variables.Content); j += 2 {
			r.proxy(variables.Content[j].Value)
		}
	}
}

// nodeadmJoin keeps what nodeadm init is given in files.
func (s *shell) nodeadmJoin(docs []nodeDocument) {
	if len(docs) == 0 || s.r.full() {
		return
	}
	j := mergedJoin(NodeadmCommand, docs)
	j.Conditional = s.branch
	s.r.join(j)
}
