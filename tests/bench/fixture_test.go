package bench

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	clusterName = "bench"
	region      = "eu-west-1"
	account     = "111122223333"
)

// began is the launch time of the first instance; the others follow at intervals of a
// second.
var began = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)

// trouble is which workers of a cluster have a silent node.
type trouble string

// The troubles: none, one worker in a hundred, and a zone, one in three.
const (
	noTrouble   trouble = "none"
	someTrouble trouble = "some"
	zoneTrouble trouble = "zone"
)

func (t trouble) hits(w worker) bool {
	return t == someTrouble && w%100 == 0 || t == zoneTrouble && w%3 == 0
}

// worker is one instance and its node, derived from its number alone. Every other one is
// Karpenter's; the rest belong to a managed node group.
type worker int

// mixed spreads the number over 64 bits. It is a bijection (splitmix64), so IDs made from
// it are unique.
func (w worker) mixed() uint64 {
	z := uint64(w) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (w worker) karpenter() bool { return w%2 == 0 }

func (w worker) hex() string        { return fmt.Sprintf("0%016x", w.mixed()) }
func (w worker) instanceID() string { return "i-" + w.hex() }
func (w worker) zone() string       { return region + string("abc"[w%3]) }
func (w worker) launched() time.Time {
	return began.Add(time.Duration(w) * time.Second)
}

func (w worker) uuid() string {
	h := w.mixed()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", h>>32, h>>16&0xffff, h&0xfff, h>>4&0xfff, int(w))
}

func (w worker) ip() string {
	return fmt.Sprintf("10.%d.%d.%d", 16+w>>16, w>>8&0xff, w&0xff)
}

func (w worker) name() string {
	return "ip-" + strings.ReplaceAll(w.ip(), ".", "-") + "." + region + ".compute.internal"
}

func (w worker) instanceType() string {
	return []string{"m5.large", "m5.xlarge", "c5.xlarge", "r5.large", "m6i.large"}[w%5]
}

// nodeClaim returns the name that Karpenter gives to the worker's NodeClaim.
func (w worker) nodeClaim() string { return fmt.Sprintf("default-%05x", int(w)) }

type tag struct{ key, value string }

func (w worker) tags() []tag {
	if w.karpenter() {
		return []tag{
			{"Name", w.name()},
			{"aws:ec2:fleet-id", "fleet-" + w.uuid()},
			{"aws:ec2launchtemplate:id", "lt-0c1f7a5e93b2d8064"},
			{"aws:ec2launchtemplate:version", "1"},
			{"eks:eks-cluster-name", clusterName},
			{"karpenter.k8s.aws/ec2nodeclass", "default"},
			{"karpenter.sh/nodeclaim", w.nodeClaim()},
			{"karpenter.sh/nodepool", "default"},
			{"kubernetes.io/cluster/" + clusterName, "owned"},
		}
	}
	return []tag{
		{"Name", "bench-workers-Node"},
		{"aws:autoscaling:groupName", "eks-workers-5ac8f0d2-7b13-4e96-8a07-2f6c91d4e3b5"},
		{"aws:ec2launchtemplate:id", "lt-08d3b6e1f4a9c2750"},
		{"aws:ec2launchtemplate:version", "3"},
		{"eks:cluster-name", clusterName},
		{"eks:nodegroup-name", "workers"},
		{"k8s.io/cluster-autoscaler/" + clusterName, "owned"},
		{"k8s.io/cluster-autoscaler/enabled", "true"},
		{"kubernetes.io/cluster/" + clusterName, "owned"},
	}
}

// instanceXML is one reservation of a DescribeInstances answer, in EC2's own layout. The
// white space is a good part of what must be read.
//
//go:embed testdata/instance.xml
var instanceXML string

// reservation returns the worker's instance in XML, in its own reservation.
func (w worker) reservation() string {
	launched := w.launched().Format("2006-01-02T15:04:05.000Z")
	return os.Expand(instanceXML, func(name string) string {
		switch name {
		case "account":
			return account
		case "hex":
			return w.hex()
		case "ip":
			return w.ip()
		case "launched":
			return launched
		case "mac":
			return fmt.Sprintf("%02x:%02x:%02x:%02x", int(w)>>24&0xff, int(w)>>16&0xff, int(w)>>8&0xff, int(w)&0xff)
		case "name":
			return w.name()
		case "tags":
			return w.tagItems()
		case "type":
			return w.instanceType()
		case "uuid":
			return w.uuid()
		case "zone":
			return w.zone()
		case "zonehex":
			return fmt.Sprintf("0f4b19c7d2e8a635%d", w%3)
		}
		panic("testdata/instance.xml asks for " + name)
	})
}

func (w worker) tagItems() string {
	const indent = "                        "
	var out strings.Builder
	for _, t := range w.tags() {
		fmt.Fprintf(&out, "%s<item>\n%s    <key>%s</key>\n%s    <value>%s</value>\n%s</item>\n", indent, indent, t.key, indent, t.value, indent)
	}
	return out.String()
}

// instancePage returns an answer of DescribeInstances; next is "" on the last page.
func instancePage(workers []worker, next string) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<DescribeInstancesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\n    <requestId>%s</requestId>\n    <reservationSet>\n", workers[0].uuid())
	for _, w := range workers {
		out.WriteString(w.reservation())
	}
	out.WriteString("    </reservationSet>\n")
	if next != "" {
		fmt.Fprintf(&out, "    <nextToken>%s</nextToken>\n", next)
	}
	out.WriteString("</DescribeInstancesResponse>\n")
	return []byte(out.String())
}

// tagPage returns an answer of DescribeTags with the cluster's tag of each worker.
func tagPage(workers []worker, next string) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<DescribeTagsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\n    <requestId>%s</requestId>\n    <tagSet>\n", workers[0].uuid())
	for _, w := range workers {
		fmt.Fprintf(&out, "        <item>\n            <resourceId>%s</resourceId>\n            <resourceType>instance</resourceType>\n            <key>kubernetes.io/cluster/%s</key>\n            <value>owned</value>\n        </item>\n", w.instanceID(), clusterName)
	}
	out.WriteString("    </tagSet>\n")
	if next != "" {
		fmt.Fprintf(&out, "    <nextToken>%s</nextToken>\n", next)
	}
	out.WriteString("</DescribeTagsResponse>\n")
	return []byte(out.String())
}

// images are the images that nodes have pulled. A kubelet reports the 50 largest.
var images = func() []corev1.ContainerImage {
	out := make([]corev1.ContainerImage, 64)
	for i := range out {
		repository := fmt.Sprintf("%s.dkr.ecr.%s.amazonaws.com/platform/%s/service-%02d", account, region, []string{"payments", "search", "ingress", "telemetry"}[i%4], i)
		digest := sha256.Sum256([]byte(repository))
		out[i] = corev1.ContainerImage{
			Names: []string{
				fmt.Sprintf("%s@sha256:%x", repository, digest),
				fmt.Sprintf("%s:v2.%d.%d-20260214093000-%x", repository, i%7, i, digest[:6]),
			},
			SizeBytes: int64(900-7*i) << 20,
		}
	}
	return out
}()

const imagesPerNode = 50

// node returns the worker's node as the API server stores it, Ready.
func (w worker) node() corev1.Node {
	first := int(w) % (len(images) - imagesPerNode)
	joined := metav1.NewTime(w.launched().Add(45 * time.Second))
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: w.name(), UID: types.UID(w.uuid()), ResourceVersion: fmt.Sprint(800_000_000 + int(w)), CreationTimestamp: joined,
			Labels: w.labels(),
			Annotations: map[string]string{
				"alpha.kubernetes.io/provided-node-ip":                   w.ip(),
				"csi.volume.kubernetes.io/nodeid":                        `{"ebs.csi.aws.com":"` + w.instanceID() + `","efs.csi.aws.com":"` + w.instanceID() + `"}`,
				"node.alpha.kubernetes.io/ttl":                           "0",
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
			},
			Finalizers:    []string{"karpenter.sh/termination"},
			ManagedFields: managedFields(joined),
		},
		Spec: corev1.NodeSpec{ProviderID: "aws:///" + w.zone() + "/" + w.instanceID()},
		Status: corev1.NodeStatus{
			Capacity:    resources("4", "15896572Ki", "58"),
			Allocatable: resources("3920m", "14880764Ki", "58"),
			Conditions:  conditions(joined),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: w.ip()},
				{Type: corev1.NodeInternalDNS, Address: w.name()},
				{Type: corev1.NodeHostName, Address: w.name()},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID: "ec2" + w.hex(), SystemUUID: "ec2" + w.uuid(), BootID: w.uuid(),
				KernelVersion: "6.12.58-82.121.amzn2023.x86_64", OSImage: "Amazon Linux 2023.9.20260105",
				ContainerRuntimeVersion: "containerd://2.1.5", KubeletVersion: "v1.36.3-eks-0000000",
				OperatingSystem: "linux", Architecture: "amd64",
			},
			Images: images[first : first+imagesPerNode],
		},
	}
}

func (w worker) labels() map[string]string {
	size := w.instanceType()
	family, _, _ := strings.Cut(size, ".")
	labels := map[string]string{
		"beta.kubernetes.io/arch":                  "amd64",
		"beta.kubernetes.io/instance-type":         size,
		"beta.kubernetes.io/os":                    "linux",
		"failure-domain.beta.kubernetes.io/region": region,
		"failure-domain.beta.kubernetes.io/zone":   w.zone(),
		"k8s.io/cloud-provider-aws":                "9f1d5a3c7e8b4062a6d0f2b1c3e5d7a9",
		"kubernetes.io/arch":                       "amd64",
		"kubernetes.io/hostname":                   w.name(),
		"kubernetes.io/os":                         "linux",
		"node.kubernetes.io/instance-type":         size,
		"topology.ebs.csi.aws.com/zone":            w.zone(),
		"topology.k8s.aws/zone-id":                 "euw1-az" + string("123"[w%3]),
		"topology.kubernetes.io/region":            region,
		"topology.kubernetes.io/zone":              w.zone(),
	}
	if !w.karpenter() {
		labels["eks.amazonaws.com/capacityType"] = "ON_DEMAND"
		labels["eks.amazonaws.com/nodegroup"] = "workers"
		labels["eks.amazonaws.com/nodegroup-image"] = "ami-0b7c53a9de41f2086"
		labels["eks.amazonaws.com/sourceLaunchTemplateId"] = "lt-08d3b6e1f4a9c2750"
		labels["eks.amazonaws.com/sourceLaunchTemplateVersion"] = "3"
		return labels
	}
	labels["karpenter.k8s.aws/ec2nodeclass"] = "default"
	labels["karpenter.k8s.aws/instance-category"] = family[:1]
	labels["karpenter.k8s.aws/instance-cpu"] = "4"
	labels["karpenter.k8s.aws/instance-family"] = family
	labels["karpenter.k8s.aws/instance-generation"] = family[1:2]
	labels["karpenter.k8s.aws/instance-hypervisor"] = "nitro"
	labels["karpenter.k8s.aws/instance-memory"] = "16384"
	labels["karpenter.k8s.aws/instance-network-bandwidth"] = "1250"
	labels["karpenter.sh/capacity-type"] = "on-demand"
	labels["karpenter.sh/initialized"] = "true"
	labels["karpenter.sh/nodepool"] = "default"
	labels["karpenter.sh/registered"] = "true"
	return labels
}

// managedFields returns the field managers that the API server records for every object.
func managedFields(at metav1.Time) []metav1.ManagedFieldsEntry {
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
		}
	}
	return []metav1.ManagedFieldsEntry{
		entry("kubelet", "", `{"f:metadata":{"f:annotations":{".":{},"f:alpha.kubernetes.io/provided-node-ip":{},"f:volumes.kubernetes.io/controller-managed-attach-detach":{}},"f:labels":{".":{},"f:beta.kubernetes.io/arch":{},"f:beta.kubernetes.io/os":{},"f:kubernetes.io/arch":{},"f:kubernetes.io/hostname":{},"f:kubernetes.io/os":{}}},"f:spec":{"f:providerID":{}}}`),
		entry("kube-controller-manager", "", `{"f:metadata":{"f:annotations":{"f:node.alpha.kubernetes.io/ttl":{}}},"f:spec":{"f:taints":{}}}`),
		entry("kubelet", "status", `{"f:status":{"f:allocatable":{"f:cpu":{},"f:memory":{}},"f:capacity":{"f:memory":{}},"f:conditions":{"k:{\"type\":\"DiskPressure\"}":{"f:lastHeartbeatTime":{}},"k:{\"type\":\"MemoryPressure\"}":{"f:lastHeartbeatTime":{}},"k:{\"type\":\"PIDPressure\"}":{"f:lastHeartbeatTime":{}},"k:{\"type\":\"Ready\"}":{"f:lastHeartbeatTime":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{}}},"f:images":{},"f:nodeInfo":{"f:bootID":{}}}}`),
	}
}

func resources(cpu, memory, pods string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse(cpu),
		corev1.ResourceMemory:           resource.MustParse(memory),
		corev1.ResourcePods:             resource.MustParse(pods),
		corev1.ResourceEphemeralStorage: resource.MustParse("83873772Ki"),
		"hugepages-1Gi":                 resource.MustParse("0"),
		"hugepages-2Mi":                 resource.MustParse("0"),
	}
}

// silent marks the node as one whose kubelet has not answered for ten minutes.
func silent(n *corev1.Node) {
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionUnknown, "NodeStatusUnknown", metav1.NewTime(at.Add(-10*time.Minute))
	}
}

func conditions(since metav1.Time) []corev1.NodeCondition {
	out := []corev1.NodeCondition{
		{Type: "NetworkUnavailable", Status: corev1.ConditionFalse, Reason: "RouteCreated", Message: "RouteController created a route"},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"},
	}
	for i := range out {
		out[i].LastTransitionTime, out[i].LastHeartbeatTime = since, since
	}
	return out
}

// nodePage returns one page of a listing of nodes; next is "" on the last.
func nodePage(workers []worker, next string, remaining int, t trouble) *corev1.NodeList {
	list := &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "900000000", Continue: next}}
	if next != "" {
		left := int64(remaining)
		list.RemainingItemCount = &left
	}
	for _, w := range workers {
		n := w.node()
		if t.hits(w) {
			silent(&n)
		}
		list.Items = append(list.Items, n)
	}
	return list
}

// pages splits the workers of a cluster into pages.
func pages(nodes, size int) [][]worker {
	all := make([]worker, nodes)
	for i := range all {
		all[i] = worker(i)
	}
	return slices.Collect(slices.Chunk(all, size))
}
