package collect

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

const (
	nodeRole    = "arn:aws:iam::111122223333:role/team/demo-node"
	nodeProfile = "arn:aws:iam::111122223333:instance-profile/demo-node"
	trust       = "%7B%22Version%22%3A%222012-10-17%22%7D"
	boots       = "#!/bin/bash\nexport DB_PASSWORD=hunter2hunter2\n/etc/eks/bootstrap.sh demo\n"
)

var (
	vpc        = id("vpc", 1)
	subnetA    = id("subnet", 1)
	subnetB    = id("subnet", 2)
	subnetNAT  = id("subnet", 9)
	nodeGroup1 = id("sg", 1)
	clusterSG  = id("sg", 2)
	endpointG  = id("sg", 3)
	nat        = id("nat", 1)
	ami        = id("ami", 1)
	template   = id("lt", 1)
)

// healthy returns an account in which every read succeeds.
func healthy() *account {
	a := newAccount()
	a.cluster = &ekstypes.Cluster{
		Name: aws.String("demo"), Arn: aws.String("arn:aws:eks:eu-west-1:111122223333:cluster/demo"), Status: ekstypes.ClusterStatusActive,
		Version: aws.String("1.36"), CreatedAt: aws.Time(at.AddDate(-1, 0, 0)), Endpoint: aws.String("https://demo.example"),
		CertificateAuthority:    &ekstypes.Certificate{Data: aws.String(base64.StdEncoding.EncodeToString([]byte("a certificate")))},
		AccessConfig:            &ekstypes.AccessConfigResponse{AuthenticationMode: ekstypes.AuthenticationModeApiAndConfigMap},
		ResourcesVpcConfig:      &ekstypes.VpcConfigResponse{VpcId: aws.String(vpc), SubnetIds: []string{subnetA, subnetB}, ClusterSecurityGroupId: aws.String(clusterSG), EndpointPrivateAccess: true},
		KubernetesNetworkConfig: &ekstypes.KubernetesNetworkConfigResponse{IpFamily: ekstypes.IpFamilyIpv4, ServiceIpv4Cidr: aws.String("172.20.0.0/16")},
		Health:                  &ekstypes.ClusterHealth{Issues: []ekstypes.ClusterIssue{{Code: ekstypes.ClusterIssueCodeStsRegionalEndpointDisabled, Message: aws.String("enable it"), ResourceIds: []string{"eu-west-1"}}}},
	}
	a.entries = []ekstypes.AccessEntry{{PrincipalArn: aws.String(nodeRole), Type: aws.String("EC2"), Username: aws.String("system:node:{{EC2PrivateDNSName}}"), CreatedAt: aws.Time(at)}}
	a.access[nodeRole] = []string{"arn:aws:eks::aws:cluster-access-policy/AmazonEKSAutoNodePolicy"}
	a.nodeGroups["workers"] = &ekstypes.Nodegroup{
		NodegroupName: aws.String("workers"), Status: ekstypes.NodegroupStatusActive, AmiType: ekstypes.AMITypesAl2023X8664Standard, Version: aws.String("1.36"), NodeRole: aws.String(nodeRole),
		Health: &ekstypes.NodegroupHealth{Issues: []ekstypes.Issue{{Code: ekstypes.NodegroupIssueCodeNodeCreationFailure, Message: aws.String("Instances failed to join the kubernetes cluster"), ResourceIds: []string{"i-1"}}}},
	}
	a.addNetwork()
	a.addIdentity()
	a.images = []types.Image{{ImageId: aws.String(ami), Name: aws.String("amazon-eks-node-al2023-x86_64-standard-1.36-v20260714"), OwnerId: aws.String("123456789012"), ImageOwnerAlias: aws.String("amazon"), Architecture: types.ArchitectureValuesX8664, CreationDate: aws.String("2026-07-14T18:02:11.000Z")}}
	a.templates = []types.LaunchTemplateVersion{{LaunchTemplateId: aws.String(template), LaunchTemplateName: aws.String("workers"), VersionNumber: aws.Int64(3), LaunchTemplateData: &types.ResponseLaunchTemplateData{ImageId: aws.String(ami), UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(boots)))}}}
	a.scaling = []asgtypes.AutoScalingGroup{{AutoScalingGroupName: aws.String("eks-workers"), MinSize: aws.Int32(1), MaxSize: aws.Int32(9), DesiredCapacity: aws.Int32(3), VPCZoneIdentifier: aws.String(subnetA + "," + subnetB)}}
	a.activities["eks-workers"] = []asgtypes.Activity{{StatusCode: asgtypes.ScalingActivityStatusCodeSuccessful, Description: aws.String("Launching a new EC2 instance: i-1"), StartTime: aws.Time(at.Add(-time.Hour)), EndTime: aws.Time(at.Add(-59 * time.Minute))}}
	a.addKarpenter()
	a.addWebhooks()
	return a
}

func (a *account) addNetwork() {
	a.vpcs = []types.Vpc{{VpcId: aws.String(vpc), DhcpOptionsId: aws.String(id("dopt", 1)), CidrBlock: aws.String("10.0.0.0/16")}}
	a.dhcp = []types.DhcpOptions{{DhcpOptionsId: aws.String(id("dopt", 1)), DhcpConfigurations: []types.DhcpConfiguration{
		{Key: aws.String("domain-name-servers"), Values: []types.AttributeValue{{Value: aws.String("AmazonProvidedDNS")}}},
		{Key: aws.String("domain-name"), Values: []types.AttributeValue{{Value: aws.String("eu-west-1.compute.internal")}}},
	}}}
	a.dns[vpc+" enableDnsSupport"], a.dns[vpc+" enableDnsHostnames"] = true, true
	for n, name := range map[int]string{1: subnetA, 2: subnetB, 9: subnetNAT} {
		a.subnets = append(a.subnets, types.Subnet{SubnetId: aws.String(name), VpcId: aws.String(vpc), AvailabilityZone: aws.String("eu-west-1a"), CidrBlock: aws.String(fmt.Sprintf("10.0.%d.0/24", n)), AvailableIpAddressCount: aws.Int32(200), OwnerId: aws.String("111122223333")})
	}
	local := types.Route{DestinationCidrBlock: aws.String("10.0.0.0/16"), GatewayId: aws.String("local"), State: types.RouteStateActive}
	a.tables = []types.RouteTable{
		{RouteTableId: aws.String(id("rtb", 1)), VpcId: aws.String(vpc), Associations: []types.RouteTableAssociation{{Main: aws.Bool(true)}}, Routes: []types.Route{local, {DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: aws.String(id("igw", 1)), State: types.RouteStateActive}}},
		{RouteTableId: aws.String(id("rtb", 2)), VpcId: aws.String(vpc), Associations: []types.RouteTableAssociation{{Main: aws.Bool(false), SubnetId: aws.String(subnetA)}, {Main: aws.Bool(false), SubnetId: aws.String(subnetB)}}, Routes: []types.Route{local, {DestinationCidrBlock: aws.String("0.0.0.0/0"), NatGatewayId: aws.String(nat), State: types.RouteStateActive}}},
	}
	a.acls = []types.NetworkAcl{{NetworkAclId: aws.String(id("acl", 1)), VpcId: aws.String(vpc), IsDefault: aws.Bool(true), Entries: []types.NetworkAclEntry{
		{RuleNumber: aws.Int32(32767), Egress: aws.Bool(true), RuleAction: types.RuleActionDeny, Protocol: aws.String("-1"), CidrBlock: aws.String("0.0.0.0/0")},
		{RuleNumber: aws.Int32(100), Egress: aws.Bool(true), RuleAction: types.RuleActionAllow, Protocol: aws.String("6"), CidrBlock: aws.String("0.0.0.0/0"), PortRange: &types.PortRange{From: aws.Int32(443), To: aws.Int32(443)}},
	}}}
	for _, name := range []string{nodeGroup1, clusterSG, endpointG} {
		a.groups = append(a.groups, types.SecurityGroup{
			GroupId: aws.String(name), VpcId: aws.String(vpc), Tags: tags("kubernetes.io/cluster/demo=owned"),
			IpPermissions:       []types.IpPermission{{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(443), ToPort: aws.Int32(443), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: aws.String(nodeGroup1)}}}},
			IpPermissionsEgress: []types.IpPermission{{IpProtocol: aws.String("-1"), IpRanges: []types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}, Ipv6Ranges: []types.Ipv6Range{{CidrIpv6: aws.String("::/0")}}}},
		})
	}
	a.gateways = []types.NatGateway{{NatGatewayId: aws.String(nat), VpcId: aws.String(vpc), SubnetId: aws.String(subnetNAT), State: types.NatGatewayStateAvailable, NatGatewayAddresses: []types.NatGatewayAddress{{PublicIp: aws.String("203.0.113.7")}}}}
	a.endpoints = []types.VpcEndpoint{{VpcEndpointId: aws.String(id("vpce", 1)), VpcId: aws.String(vpc), ServiceName: aws.String("com.amazonaws.eu-west-1.ec2"), VpcEndpointType: types.VpcEndpointTypeInterface, State: "Available", PrivateDnsEnabled: aws.Bool(true), SubnetIds: []string{subnetA}, Groups: []types.SecurityGroupIdentifier{{GroupId: aws.String(endpointG)}}}}
}

func (a *account) addIdentity() {
	a.profiles["demo-node"] = &iamtypes.InstanceProfile{Arn: aws.String(nodeProfile), InstanceProfileName: aws.String("demo-node"), Roles: []iamtypes.Role{{RoleName: aws.String("demo-node")}}}
	a.addRole("demo-node", nodeRole)
	a.attached["demo-node"] = []string{"arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy", "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"}
	a.inline["demo-node"] = []string{"more"}
	a.api.put("/api/v1/namespaces/kube-system/configmaps/aws-auth", thing{"data": thing{"mapRoles": "- rolearn: arn:aws:iam::111122223333:role/demo-node\n  username: system:node:{{EC2PrivateDNSName}}\n  groups: [system:bootstrappers, system:nodes]\n"}})
}

func (a *account) addRole(name, arn string) {
	a.roles[name] = &iamtypes.Role{RoleName: aws.String(name), Arn: aws.String(arn), RoleId: aws.String("AROA" + strings.ToUpper(name)), CreateDate: aws.Time(at.AddDate(-1, 0, 0)), AssumeRolePolicyDocument: aws.String(trust)}
}

func (a *account) addKarpenter() {
	ref := thing{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "al2023"}
	a.api.put("/apis/karpenter.sh/v1/nodepools/default", thing{"spec": thing{"template": thing{"spec": thing{
		"nodeClassRef": ref, "startupTaints": []any{thing{"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"}},
		"requirements": []any{thing{"key": "kubernetes.io/arch", "operator": "In", "values": []any{"amd64"}}},
	}}}})
	a.api.put("/apis/karpenter.k8s.aws/v1/ec2nodeclasses/al2023", thing{"spec": thing{"amiSelectorTerms": []any{thing{"alias": "al2023@latest"}}, "role": "demo-node", "userData": "SECRET=hunter2hunter2"}, "status": thing{"conditions": []any{thing{"type": "Ready", "status": "True"}}}})
}

// claim adds a NodeClaim of the pool for an instance, with an event.
func (a *account) claim(n int, pool string) {
	name := fmt.Sprintf("%s-%d", pool, n)
	a.api.put("/apis/karpenter.sh/v1/nodeclaims/"+name, thing{
		"metadata": thing{"labels": thing{"karpenter.sh/nodepool": pool}, "uid": "uid-" + name, "creationTimestamp": stamp(at.Add(-time.Hour))},
		"spec":     thing{"nodeClassRef": thing{"name": "al2023"}},
		"status":   thing{"providerID": "aws:///eu-west-1a/" + string(instanceID(n)), "conditions": []any{thing{"type": "Registered", "status": "Unknown", "reason": "NodeNotFound", "lastTransitionTime": stamp(at.Add(-time.Hour))}}},
	})
	a.api.put("/api/v1/namespaces/default/events/"+name+".1", thing{"involvedObject": thing{"kind": "NodeClaim", "name": name}, "type": "Warning", "reason": "FailedConsistencyCheck", "message": "why", "eventTime": stamp(at.Add(-time.Minute)), "reportingComponent": "karpenter"})
}

func stamp(t time.Time) string { return t.Format(time.RFC3339) }

func (a *account) addWebhooks() {
	hook := func(name, resource, policy string, extra thing) thing {
		w := thing{"name": name, "failurePolicy": policy, "clientConfig": thing{"service": thing{"namespace": "policy", "name": "gate"}}, "rules": []any{thing{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{resource}}}}
		for k, v := range extra {
			w[k] = v
		}
		return w
	}
	a.api.put("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/gate", thing{"webhooks": []any{
		hook("nodes.gate.example", "nodes", "Fail", nil), hook("pods.gate.example", "pods", "Fail", nil),
	}})
	a.api.put("/apis/discovery.k8s.io/v1/namespaces/policy/endpointslices/gate-1", thing{"metadata": thing{"labels": thing{"kubernetes.io/service-name": "gate"}}, "endpoints": []any{
		thing{"addresses": []any{"10.0.1.7"}}, thing{"addresses": []any{"10.0.1.8"}, "conditions": thing{"ready": false}}, thing{"addresses": []any{"10.0.1.9"}, "conditions": thing{"ready": true}},
	}})
}

// launch adds a running instance of the group.
func (a *account) launch(n int, group roll.Group, more ...string) *types.Instance {
	all := append([]string{"kubernetes.io/cluster/demo=owned"}, more...)
	if name, ok := group.NodeGroup(); ok {
		all = append(all, "eks:nodegroup-name="+name, "aws:autoscaling:groupName=eks-"+name, "aws:ec2launchtemplate:id="+template, "aws:ec2launchtemplate:version=3")
		for i := range a.scaling {
			if aws.ToString(a.scaling[i].AutoScalingGroupName) == "eks-"+name {
				a.scaling[i].Instances = append(a.scaling[i].Instances, asgtypes.Instance{InstanceId: aws.String(string(instanceID(n))), LifecycleState: asgtypes.LifecycleStateInService, HealthStatus: aws.String("Healthy")})
			}
		}
	}
	if pool, ok := group.NodePool(); ok {
		all = append(all, "karpenter.sh/nodepool="+pool, "karpenter.k8s.aws/ec2nodeclass=al2023", "aws:ec2launchtemplate:id="+template, "aws:ec2launchtemplate:version=3")
	}
	a.instances = append(a.instances, types.Instance{
		InstanceId: aws.String(string(instanceID(n))), State: &types.InstanceState{Name: types.InstanceStateNameRunning}, LaunchTime: aws.Time(at.Add(-time.Hour)),
		InstanceType: types.InstanceTypeM5Large, Architecture: types.ArchitectureValuesX8664, ImageId: aws.String(ami), VpcId: aws.String(vpc), SubnetId: aws.String([]string{subnetA, subnetB}[n%2]),
		PrivateIpAddress: aws.String("10.0.1.5"), IamInstanceProfile: &types.IamInstanceProfile{Arn: aws.String(nodeProfile)},
		MetadataOptions: &types.InstanceMetadataOptionsResponse{HttpPutResponseHopLimit: aws.Int32(1), HttpTokens: types.HttpTokensStateRequired, HttpEndpoint: types.InstanceMetadataEndpointStateEnabled},
		SecurityGroups:  []types.GroupIdentifier{{GroupId: aws.String(endpointG)}, {GroupId: aws.String(nodeGroup1)}},
		NetworkInterfaces: []types.InstanceNetworkInterface{
			{Attachment: &types.InstanceNetworkInterfaceAttachment{DeviceIndex: aws.Int32(0), NetworkCardIndex: aws.Int32(0)}, Groups: []types.GroupIdentifier{{GroupId: aws.String(nodeGroup1)}}},
			{Attachment: &types.InstanceNetworkInterfaceAttachment{DeviceIndex: aws.Int32(1), NetworkCardIndex: aws.Int32(0)}, Groups: []types.GroupIdentifier{{GroupId: aws.String(endpointG)}}},
		},
		Tags: tags(all...),
	})
	a.userData[string(instanceID(n))] = boots
	a.consoles[string(instanceID(n))] = "[    0.000000] Linux version 6.1\nready\n"
	return &a.instances[len(a.instances)-1]
}

func nodeName(n int) string { return fmt.Sprintf("node-%d", n) }

// join adds a node that fell silent to an instance, with its lease, an event and a pod.
func (a *account) join(n int) {
	name := nodeName(n)
	a.api.put("/api/v1/nodes/"+name, thing{
		"metadata": thing{"uid": "uid-" + name, "creationTimestamp": stamp(at.Add(-50 * time.Minute)), "labels": thing{"topology.kubernetes.io/zone": "eu-west-1a", "team": "web"}},
		"spec":     thing{"providerID": "aws:///eu-west-1a/" + string(instanceID(n)), "taints": []any{thing{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": stamp(at.Add(-40 * time.Minute))}}},
		"status": thing{
			"capacity":   thing{"pods": "29", "cpu": 2},
			"conditions": []any{thing{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status.", "lastTransitionTime": stamp(at.Add(-40 * time.Minute)), "lastHeartbeatTime": stamp(at.Add(-41 * time.Minute))}},
			"addresses":  []any{thing{"type": "InternalIP", "address": "10.0.1.5"}, thing{"type": "ExternalIP", "address": "203.0.113.9"}},
			"nodeInfo":   thing{"kubeletVersion": "v1.36.2-eks-1234567", "architecture": "amd64", "bootID": "boot"},
		},
	})
	a.api.put("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+name, thing{"spec": thing{"renewTime": "2026-03-02T11:19:00.123456Z", "leaseDurationSeconds": 40}})
	a.api.put("/api/v1/namespaces/default/events/"+name+".1", thing{"involvedObject": thing{"kind": "Node", "name": name}, "type": "Warning", "reason": "SystemOOM", "message": "System OOM encountered, password=hunter2hunter2", "source": thing{"component": "kubelet"}, "firstTimestamp": stamp(at.Add(-50 * time.Minute)), "lastTimestamp": stamp(at.Add(-45 * time.Minute)), "count": 3, "eventTime": nil})
	for i, kind := range []string{"Normal", "Warning"} {
		a.api.put(fmt.Sprintf("/api/v1/namespaces/kube-system/events/cilium-%s.%d", name, i), thing{"metadata": thing{"namespace": "kube-system"}, "involvedObject": thing{"kind": "Pod", "name": "cilium-" + name}, "type": kind, "reason": "BackOff", "message": "token=hunter2hunter2", "lastTimestamp": stamp(at)})
	}
	a.api.put("/api/v1/namespaces/kube-system/pods/cilium-"+name, thing{
		"metadata": thing{"namespace": "kube-system", "labels": thing{"app": "cilium"}, "ownerReferences": []any{thing{"kind": "DaemonSet", "name": "cilium", "controller": true}}},
		"spec":     thing{"nodeName": name, "containers": []any{thing{"name": "agent"}}},
		"status":   thing{"phase": "Running", "conditions": []any{thing{"type": "Ready", "status": "False"}}, "containerStatuses": []any{thing{"name": "agent", "restartCount": 7, "state": thing{"waiting": thing{"reason": "CrashLoopBackOff", "message": "back-off"}}, "lastState": thing{"terminated": thing{"reason": "OOMKilled"}}}}},
	})
}

func owner(group roll.Group) roll.Owner {
	if _, ok := group.NodeGroup(); ok {
		return roll.OwnerManagedNodeGroup
	}
	if _, ok := group.NodePool(); ok {
		return roll.OwnerKarpenter
	}
	if strings.HasPrefix(string(group), "asg/") {
		return roll.OwnerAutoScalingGroup
	}
	return roll.OwnerNone
}

// found returns a finding about an instance.
func found(n int, kind roll.Kind, group roll.Group) roll.Finding {
	f := roll.Finding{Instance: instanceID(n), Kind: kind, Group: group, Owner: owner(group), Stage: roll.Overdue, Zone: "eu-west-1a"}
	if kind != roll.Unregistered && kind != roll.Orphaned {
		f.Node = nodeName(n)
	}
	return f
}

// inTrouble launches n instances of a group, from the number 0, and returns the input of a check that found
// them all in that trouble.
func (a *account) inTrouble(n int, kind roll.Kind, group roll.Group) Input {
	var findings []roll.Finding
	for i := range n {
		a.launch(i, group)
		findings = append(findings, found(i, kind, group))
	}
	return Input{Snapshot: seen(findings...), Findings: findings}
}

// seen returns a snapshot with the findings' instances and nodes.
func seen(findings ...roll.Finding) *roll.Snapshot {
	s := &roll.Snapshot{At: at, Cluster: roll.Cluster{ID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}, Status: roll.ClusterActive, Endpoint: "https://demo.example"}}
	for _, f := range findings {
		s.Instances = append(s.Instances, roll.Instance{ID: f.Instance, State: roll.StateRunning, Launched: at.Add(-time.Hour), Zone: f.Zone, Owner: f.Owner, Group: f.Group})
		if f.Node != "" {
			s.Nodes = append(s.Nodes, roll.Node{Name: f.Node, Compute: roll.ComputeEC2, Instance: f.Instance, Created: at.Add(-50 * time.Minute), Zone: f.Zone, Ready: roll.Condition{Status: roll.ConditionUnknown, Since: at.Add(-40 * time.Minute)}, Owner: f.Owner, Group: f.Group})
		}
	}
	return s
}

const (
	workers = roll.Group("nodegroup/workers")
	pool    = roll.Group("nodepool/default")
)

// oneOfEach returns an account with an instance of a node pool that never registered and a silent
// node of a node group, and the input from its check.
func oneOfEach() (*account, Input) {
	a := healthy()
	a.launch(1, pool)
	a.claim(1, "default")
	a.launch(2, workers)
	a.join(2)
	findings := []roll.Finding{found(1, roll.Unregistered, pool), found(2, roll.Unknown, workers)}
	state := ledger.State{
		Checked:   at.Add(-5 * time.Minute),
		Pressures: map[roll.InstanceID]ledger.Pressure{instanceID(2): {Types: []string{roll.MemoryPressure}, Since: at.Add(-45 * time.Minute)}},
		Flips:     map[roll.InstanceID][]time.Time{instanceID(2): {at.Add(-49 * time.Minute)}},
		Actions:   []ledger.Action{{ID: "o-1", Do: "terminate", Instance: instanceID(7), Group: pool, Kind: roll.Unregistered, At: at.Add(-time.Hour), Outcome: &ledger.Outcome{Result: ledger.Done}}},
	}
	return a, Input{Snapshot: seen(findings...), Findings: findings, State: state}
}
