package bundle

import (
	"slices"
	"strings"
)

// member is a field that a tool prints of every object of a kind, even if it is empty. If the field
// is missing, somebody removed it, and its content is unknown.
type member struct {
	// in is the path of the objects that have it, such as Entries[].PortRange; "" is the object
	// itself. Objects that do not exist need not have it.
	in string
	// has is its name, or a path with [] in it. Of several names, separated by |, one must be
	// present.
	has string
	// list reports whether it is a list. A null list is empty.
	list bool
	// filled reports whether an empty value counts as missing too.
	filled bool
	// when is a condition on the object, a field with its values, such as Protocol=6|17; "" is
	// always.
	when string
}

// always lists the fields that the tools print of every object, by file. It includes only those
// without which a conclusion would be wrong.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Types.html
var always = map[string][]member{
	fileCluster: {
		{has: "status"}, {in: "resourcesVpcConfig", has: "endpointPublicAccess"}, {in: "resourcesVpcConfig", has: "endpointPrivateAccess"},
	},
	fileInstances: {
		{has: "LaunchTime"}, {has: "State"}, {in: "State", has: "Name"}, {in: "IamInstanceProfile", has: "Arn"},
		{in: "SecurityGroups[]", has: "GroupId"}, {in: "Tags[]", has: "Key"}, {in: "Tags[]", has: "Value"},
	},
	fileStatuses: {
		{has: "InstanceStatus"}, {has: "SystemStatus"}, {in: "InstanceStatus", has: "Status"}, {in: "SystemStatus", has: "Status"}, {in: "Events[]", has: "Code"}, {in: "Events[]", has: "Description"},
	},
	fileSubnets: {{has: "AvailableIpAddressCount"}, {has: "OwnerId"}},
	fileRouteTables: {
		{has: "VpcId"}, {has: "Routes", list: true}, {has: "Associations", list: true}, {in: "Associations[]", has: "SubnetId|GatewayId", when: "Main=false"},
		{in: "Routes[]", has: "DestinationCidrBlock|DestinationIpv6CidrBlock|DestinationPrefixListId"}, {in: "Routes[]", has: routeTargets, when: "State=active"},
	},
	fileSecurityGroups: {
		{has: "IpPermissions", list: true}, {has: "IpPermissionsEgress", list: true},
		{in: "IpPermissions[]", has: "IpProtocol"}, {in: "IpPermissionsEgress[]", has: "IpProtocol"},
		{in: "IpPermissions[]", has: rulePeers, filled: true}, {in: "IpPermissionsEgress[]", has: rulePeers, filled: true},
		{in: "IpPermissions[]", has: "FromPort", when: "IpProtocol=tcp|udp|6|17"}, {in: "IpPermissionsEgress[]", has: "FromPort", when: "IpProtocol=tcp|udp|6|17"},
		{in: "IpPermissions[]", has: "ToPort", when: "IpProtocol=tcp|udp|6|17"}, {in: "IpPermissionsEgress[]", has: "ToPort", when: "IpProtocol=tcp|udp|6|17"},
		{in: "IpPermissions[].IpRanges[]", has: "CidrIp"}, {in: "IpPermissionsEgress[].IpRanges[]", has: "CidrIp"},
		{in: "IpPermissions[].Ipv6Ranges[]", has: "CidrIpv6"}, {in: "IpPermissionsEgress[].Ipv6Ranges[]", has: "CidrIpv6"},
		{in: "IpPermissions[].UserIdGroupPairs[]", has: "GroupId"}, {in: "IpPermissionsEgress[].UserIdGroupPairs[]", has: "GroupId"},
		{in: "IpPermissions[].PrefixListIds[]", has: "PrefixListId"}, {in: "IpPermissionsEgress[].PrefixListIds[]", has: "PrefixListId"},
	},
	fileNetworkACLs: {
		{has: "VpcId"}, {has: "Entries", list: true}, {has: "Associations", list: true}, {in: "Associations[]", has: "SubnetId"},
		{in: "Entries[]", has: "Egress"}, {in: "Entries[]", has: "Protocol"}, {in: "Entries[]", has: "RuleAction"}, {in: "Entries[]", has: "RuleNumber"},
		{in: "Entries[]", has: "CidrBlock|Ipv6CidrBlock"}, {in: "Entries[]", has: "PortRange", when: "Protocol=6|17|tcp|udp"},
		{in: "Entries[].PortRange", has: "From"}, {in: "Entries[].PortRange", has: "To"},
	},
	fileVPCEndpoints: {
		{has: "VpcId"}, {has: "ServiceName"}, {has: "State"}, {has: "VpcEndpointType"},
		{has: "Groups", list: true, when: "VpcEndpointType=Interface"}, {has: "PrivateDnsEnabled", when: "VpcEndpointType=Interface"},
		{has: "RouteTableIds", list: true, when: "VpcEndpointType=Gateway"}, {in: "Groups[]", has: "GroupId"},
	},
	fileNATGateways:   {{has: "State"}, {has: "NatGatewayAddresses", list: true}},
	fileImages:        {{has: "Name"}, {has: "Architecture"}},
	fileDHCPOptions:   {{has: "DhcpConfigurations"}, {in: "DhcpConfigurations[]", has: "Key"}, {in: "DhcpConfigurations[]", has: "Values", filled: true}, {in: "DhcpConfigurations[].Values[]", has: "Value"}},
	fileTemplates:     {{has: "VersionNumber"}, {has: "LaunchTemplateData"}},
	fileASGInstances:  {{has: "AutoScalingGroupName"}, {has: "LifecycleState"}, {has: "ProtectedFromScaleIn"}},
	fileASGs:          {{has: "DesiredCapacity"}, {has: "SuspendedProcesses", list: true}, {in: "SuspendedProcesses[]", has: "ProcessName"}, {in: "Tags[]", has: "Key"}, {in: "Tags[]", has: "Value"}},
	fileActivities:    {{has: "AutoScalingGroupName"}, {has: "Description"}, {has: "StartTime"}, {has: "StatusCode"}, {has: "Cause"}},
	fileNodeGroups:    {{has: "status"}, {has: "amiType"}, {has: "health"}, {in: "health", has: "issues", list: true}, {in: "health.issues[]", has: "code"}},
	fileProfiles:      append(trustPolicy("Roles[].AssumeRolePolicyDocument"), member{has: "Roles", list: true}, member{in: "Roles[]", has: "RoleName"}),
	fileAttached:      {{has: "AttachedPolicies", list: true}, {in: "AttachedPolicies[]", has: "PolicyArn"}},
	fileRoles:         append(trustPolicy("AssumeRolePolicyDocument"), member{has: "Arn"}),
	fileAccessEntries: {{has: "type"}},
	fileNodes: {
		{in: "metadata", has: "creationTimestamp"}, {has: "status"}, {in: "status", has: "conditions", filled: true}, {in: "spec.taints[]", has: "key"}, {in: "spec.taints[]", has: "effect"},
		{in: "status.conditions[]", has: "type"}, {in: "status.conditions[]", has: "status"}, {in: "status.conditions[]", has: "lastTransitionTime", when: "type=Ready"},
	},
	fileLeases: {{in: "metadata", has: "namespace"}, {has: "spec"}, {in: "spec", has: "renewTime"}},
	// Every recorder of events fills these; the message may be empty.
	// https://pkg.go.dev/k8s.io/client-go/tools/record#EventRecorder
	fileEvents: {
		{has: "involvedObject"}, {in: "involvedObject", has: "kind"}, {in: "involvedObject", has: "name"}, {in: "metadata", has: "namespace"},
		{has: "reason"}, {has: "type"},
	},
	fileDaemonSets: {{in: "metadata", has: "namespace"}, {has: "spec"}, {in: "spec", has: "template"}, {in: "spec.template", has: "spec"}},
	filePods:       {{has: "spec"}, {has: "status"}, {in: "metadata", has: "namespace"}},
	fileNodeClaims: {
		{in: "metadata", has: "labels"}, {in: "metadata.labels", has: "karpenter.sh/nodepool"}, {in: "metadata", has: "creationTimestamp"},
		{in: "status", has: "conditions", list: true}, {in: "status.conditions[]", has: "reason"},
		{in: "status.conditions[]", has: "type"}, {in: "status.conditions[]", has: "status"}, {in: "status.conditions[]", has: "lastTransitionTime"},
	},
	fileNodePools: {
		{has: "spec"}, {in: "spec", has: "template"}, {in: "spec.template", has: "spec"},
		{in: "spec.template.spec.startupTaints[]", has: "key"}, {in: "spec.template.spec.startupTaints[]", has: "effect"},
		{in: "status.conditions[]", has: "type"}, {in: "status.conditions[]", has: "status"}, {in: "status.conditions[]", has: "message", when: "status=False"},
	},
	fileNodeClasses: {
		{has: "spec"}, {in: "spec", has: "amiFamily|amiSelectorTerms[].alias"},
		{in: "status.conditions[]", has: "type"}, {in: "status.conditions[]", has: "status"}, {in: "status.conditions[]", has: "message", when: "status=False"},
	},
	// https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#ownership
	fileEndpointSlices: {{in: "metadata", has: "namespace"}, {in: "metadata", has: "labels"}, {in: "metadata.labels", has: "kubernetes.io/service-name"}, {has: "endpoints", list: true}},
	fileWebhooks: {
		{in: "webhooks[]", has: "clientConfig"}, {in: "webhooks[].clientConfig", has: "service|url"},
		{in: "webhooks[].clientConfig.service", has: "name"}, {in: "webhooks[].clientConfig.service", has: "namespace"},
		{in: "webhooks[]", has: "failurePolicy"}, {in: "webhooks[].rules[]", has: "apiGroups"}, {in: "webhooks[].rules[]", has: "operations"}, {in: "webhooks[].rules[]", has: "resources"},
	},
}

// trustPolicy are the members of the trust policy of a role.
func trustPolicy(in string) []member {
	return []member{
		{in: in, has: "Statement"}, {in: in + ".Statement[]", has: "Effect"},
		{in: in + ".Statement[]", has: "Action|NotAction", filled: true}, {in: in + ".Statement[]", has: "Principal|NotPrincipal", filled: true},
	}
}

// routeTargets are the possible targets of a working route.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Route.html
const routeTargets = "GatewayId|NatGatewayId|TransitGatewayId|VpcPeeringConnectionId|NetworkInterfaceId|InstanceId|EgressOnlyInternetGatewayId|LocalGatewayId|CarrierGatewayId|CoreNetworkArn|OdbNetworkArn"

// rulePeers are the possible peers of a security group's rule: EC2 keeps no rule without one.
const rulePeers = "IpRanges|Ipv6Ranges|UserIdGroupPairs|PrefixListIds"

// trimmed returns the first field that the tool always prints and that is missing in the object,
// such as Entries[].Protocol; "" if none is missing.
func (in *input) trimmed(thing *value) string {
	for _, m := range always[in.spec.name] {
		for _, holder := range thing.down(m.in) {
			if holder.kind == object && m.asked(holder) && !m.there(holder) {
				return strings.TrimPrefix(m.in+"."+strings.ReplaceAll(m.has, "|", " or "), ".")
			}
		}
	}
	return ""
}

// refuseTrimmed adds a fault if a field is missing in an object that must be complete.
func (in *input) refuseTrimmed(thing *value) {
	if lacks := in.trimmed(thing); lacks != "" && len(in.faults) == 0 { // otherwise that is reported first
		in.fail(thing.from, "this has no %s, which is always printed, so it was taken out: write it again with: %s", lacks, in.spec.command)
	}
}

// asked reports whether an object must have the member.
func (m member) asked(holder *value) bool {
	name, values, some := strings.Cut(m.when, "=")
	if !some {
		return true
	}
	return slices.Contains(strings.Split(values, "|"), holder.said(name))
}

func (m member) there(holder *value) bool {
	for name := range strings.SplitSeq(m.has, "|") {
		found := []*value{holder.get(name)}
		if strings.Contains(name, "[]") {
			found = holder.down(name)
		}
		for _, v := range found {
			if v != nil && (m.list || v.kind != null) && (!m.filled || !v.blank()) {
				return true
			}
		}
	}
	return false
}

func (v *value) blank() bool {
	switch v.kind {
	case object:
		return len(v.fields) == 0
	case array:
		return len(v.items) == 0
	case text:
		return v.text == ""
	}
	return false
}

// down follows a path of field names separated by dots. [] after a name means each item of a list.
func (v *value) down(path string) []*value {
	at := []*value{v}
	if path == "" {
		return at
	}
	for step := range strings.SplitSeq(path, ".") {
		name, each := strings.CutSuffix(step, "[]")
		var next []*value
		for _, holder := range at {
			inner := holder.get(name)
			switch {
			case inner == nil:
			case each && inner.kind == array:
				next = append(next, inner.each()...)
			default:
				next = append(next, inner)
			}
		}
		at = next
	}
	return at
}
