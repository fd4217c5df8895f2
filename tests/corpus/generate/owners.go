package generate

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ensure adds what an instance of a group needs: its image, identity, template and owner, all
// healthy.
func (b *Bundle) ensure(g Group) {
	b.image(g.Image)
	b.identity(g)
	switch g.Owner {
	case byKarpenter:
		b.pool(g)
	default:
		b.template(g)
		b.scalingGroup(g)
		if g.Owner == byNodeGroup {
			b.nodeGroup(g)
		}
	}
}

func has(list []object, key, value string) bool {
	return slices.ContainsFunc(list, func(o object) bool { return o[key] == value })
}

func (b *Bundle) image(i Image) {
	if has(b.Images, "ImageId", i.ID) {
		return
	}
	o := object{
		"ImageId": i.ID, "Name": i.Name, "OwnerId": i.Owner, "Architecture": i.Arch, "State": "available",
		"CreationDate": "2026-02-25T01:12:07.000Z", "Public": i.Owner != Account, "PlatformDetails": "Linux/UNIX", "VirtualizationType": "hvm",
	}
	if i.OS == windows {
		o["Platform"], o["PlatformDetails"] = "windows", "Windows"
	}
	if i.Owner != Account {
		o["ImageOwnerAlias"] = "amazon"
	}
	b.Images = append(b.Images, o)
}

// template returns a launch template version, as EKS or a person creates them.
func (b *Bundle) template(g Group) object {
	for _, t := range b.Templates {
		if t["LaunchTemplateId"] == g.Template && t["VersionNumber"] == g.Version {
			return t
		}
	}
	t := object{
		"LaunchTemplateId": g.Template, "LaunchTemplateName": g.templateName(), "VersionNumber": g.Version, "DefaultVersion": true,
		"CreateTime": b.ec2Time(60 * day), "CreatedBy": "arn:aws:iam::" + Account + ":role/terraform",
		"LaunchTemplateData": object{
			"ImageId": g.Image.ID, "InstanceType": g.Type, "SecurityGroupIds": []string{g.firewall()},
			"IamInstanceProfile": object{"Name": g.Profile()},
			"MetadataOptions":    object{"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
			"UserData":           base64.StdEncoding.EncodeToString([]byte(UserData(g))),
		},
	}
	b.Templates = append(b.Templates, t)
	return t
}

// retext gives a machine and its template other user data.
func (b *Bundle) retext(m *Machine, text string) {
	b.UserData[m.ID] = text
	if m.Group.Owner == byKarpenter {
		return
	}
	data := b.template(m.Group)["LaunchTemplateData"].(object)
	data["UserData"] = base64.StdEncoding.EncodeToString([]byte(text))
	if text == "" {
		delete(data, "UserData")
	}
}

func (g Group) templateName() string {
	if g.Owner == byNodeGroup && !g.Custom {
		return "eks-4ac6f0d2-6f4e-4b0a-9d6c-2f6f5d1c7a10-" + g.Name
	}
	return Cluster + "-" + g.Name
}

// scalingGroup adds an Auto Scaling group without instances.
func (b *Bundle) scalingGroup(g Group) {
	if has(b.ScalingGroups, "AutoScalingGroupName", g.ASG()) {
		return
	}
	spec := object{"LaunchTemplateId": g.Template, "LaunchTemplateName": g.templateName(), "Version": fmt.Sprint(g.Version)}
	o := object{
		"AutoScalingGroupName": g.ASG(), "MinSize": 1, "MaxSize": 10, "DesiredCapacity": 0, "HealthCheckType": "EC2", "HealthCheckGracePeriod": 15,
		"AutoScalingGroupARN": "arn:aws:autoscaling:eu-west-1:" + Account + ":autoScalingGroup:2b1d6c1e-6d2c-4d5e-8f0a-1c2d3e4f5a6b:autoScalingGroupName/" + g.ASG(),
		"AvailabilityZones":   []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}, "VPCZoneIdentifier": strings.Join([]string{subnet("a"), subnet("b"), subnet("c")}, ","),
		"SuspendedProcesses": []object{}, "NewInstancesProtectedFromScaleIn": false, "CreatedTime": "2025-07-01T10:00:00.000000+00:00",
		"Tags": []object{{"Key": "kubernetes.io/cluster/" + Cluster, "Value": "owned", "PropagateAtLaunch": true, "ResourceId": g.ASG(), "ResourceType": "auto-scaling-group"}},
	}
	if g.Owner == byNodeGroup {
		o["MixedInstancesPolicy"] = object{"LaunchTemplate": object{"LaunchTemplateSpecification": spec, "Overrides": []object{{"InstanceType": g.Type}}}}
	} else {
		o["LaunchTemplate"] = spec
	}
	b.ScalingGroups = append(b.ScalingGroups, o)
}

func (b *Bundle) nodeGroup(g Group) {
	if has(b.NodeGroups, "nodegroupName", g.Name) {
		return
	}
	o := object{
		"nodegroupName": g.Name, "clusterName": Cluster, "status": "ACTIVE", "capacityType": "ON_DEMAND", "version": "1.35",
		"nodegroupArn": "arn:aws:eks:eu-west-1:" + Account + ":nodegroup/payments/" + g.Name + "/4ac6f0d2-6f4e-4b0a-9d6c-2f6f5d1c7a10",
		"createdAt":    "2025-07-01T09:58:11.204000+00:00", "modifiedAt": b.eksTime(9 * day),
		"amiType": amiType(g), "instanceTypes": []string{g.Type}, "nodeRole": g.RoleARN(),
		"scalingConfig": object{"minSize": 1, "maxSize": 10, "desiredSize": 2}, "subnets": []string{subnet("a"), subnet("b"), subnet("c")},
		"resources": object{"autoScalingGroups": []object{{"name": g.ASG()}}}, "health": object{"issues": []object{}},
		"nodeRepairConfig": object{"enabled": false}, "tags": object{},
	}
	if g.Custom {
		o["launchTemplate"] = object{"id": g.Template, "name": g.templateName(), "version": fmt.Sprint(g.Version)}
	}
	b.NodeGroups = append(b.NodeGroups, o)
}

func amiType(g Group) string {
	switch {
	case g.Custom:
		return "CUSTOM"
	case g.Image.OS == bottlerocket:
		return "BOTTLEROCKET_" + g.Image.Arch
	case g.Image.Arch == "arm64":
		return "AL2023_ARM_64_STANDARD"
	}
	return "AL2023_x86_64_STANDARD"
}

// token derives an ID from a name, in the letters of IAM's unique IDs.
func token(name string) string {
	sum := sha256.Sum256([]byte(name))
	return strings.ToUpper(hex.EncodeToString(sum[:]))[:17]
}

// pool adds Karpenter's NodePool and EC2NodeClass of a group.
func (b *Bundle) pool(g Group) {
	for _, p := range b.NodePools {
		if p["metadata"].(object)["name"] == g.Name {
			return
		}
	}
	b.NodePools = append(b.NodePools, object{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool",
		"metadata": object{"name": g.Name, "uid": uid("nodepool", g.Name), "creationTimestamp": "2025-07-01T10:00:00Z", "generation": 1},
		"spec": object{
			"disruption": object{"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "1m"},
			"template": object{"spec": object{
				"expireAfter": "720h", "nodeClassRef": object{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": g.Name},
				"requirements": []object{{"key": "kubernetes.io/arch", "operator": "In", "values": []string{kubeArch(g.Image)}}},
			}},
		},
		"status": object{"conditions": []object{
			{"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2025-07-01T10:00:05Z"},
			{"type": "NodeRegistrationHealthy", "status": "True", "reason": "NodeRegistrationHealthy", "message": "", "lastTransitionTime": "2025-07-01T10:03:00Z"},
		}},
	})
	b.NodeClasses = append(b.NodeClasses, object{
		"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
		"metadata": object{"name": g.Name, "creationTimestamp": "2025-07-01T10:00:00Z", "generation": 1},
		"spec": object{
			"amiFamily": g.Image.OS, "amiSelectorTerms": []object{{"id": g.Image.ID}}, "role": g.Role,
			"subnetSelectorTerms":        []object{{"tags": object{"karpenter.sh/discovery": Cluster}}},
			"securityGroupSelectorTerms": []object{{"id": g.firewall()}},
			"metadataOptions":            object{"httpEndpoint": "enabled", "httpProtocolIPv6": "disabled", "httpPutResponseHopLimit": 1, "httpTokens": "required"},
		},
		"status": object{"instanceProfile": g.Profile(), "conditions": []object{
			{"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2025-07-01T10:00:05Z"},
		}},
	})
}

func kubeArch(i Image) string {
	if i.Arch == "arm64" {
		return "arm64"
	}
	return "amd64"
}

// claimName returns the name of the machine's NodeClaim.
func (m *Machine) claimName() string { return m.Group.Name + "-" + m.suffix() }

// claim returns the NodeClaim of an instance that Karpenter launched and that is not yet a
// node.
func (b *Bundle) claim(m *Machine) object {
	return object{
		"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
		"metadata": object{
			"name": m.claimName(), "uid": uid("nodeclaim", m.ID), "creationTimestamp": b.kubeTime(m.Age + 4*time.Second), "generation": 1,
			"labels":          object{"karpenter.sh/nodepool": m.Group.Name, "karpenter.sh/capacity-type": "on-demand", "topology.kubernetes.io/zone": Region + m.Zone},
			"finalizers":      []string{"karpenter.sh/termination"},
			"ownerReferences": []object{{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": m.Group.Name, "uid": uid("nodepool", m.Group.Name), "blockOwnerDeletion": true}},
		},
		"spec": object{"expireAfter": "720h", "nodeClassRef": object{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": m.Group.Name}, "requirements": []object{}},
		"status": object{
			"imageID": m.Group.Image.ID, "providerID": m.providerID(),
			"conditions": []object{
				b.claimCondition("Launched", "True", "Launched", "", m.Age),
				b.claimCondition("Registered", "Unknown", "NodeNotFound", "Node not registered with cluster", m.Age),
				b.claimCondition("Initialized", "Unknown", "NodeNotFound", "Node not registered with cluster", m.Age),
				b.claimCondition("Ready", "Unknown", "ReconcilingDependents", "Initialized=Unknown, Registered=Unknown", m.Age),
			},
		},
	}
}

func (b *Bundle) claimCondition(kind, status, reason, message string, since time.Duration) object {
	return object{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": b.kubeTime(since), "observedGeneration": 1}
}

// claimSays changes a condition of a machine's NodeClaim.
func (b *Bundle) claimSays(m *Machine, kind, status, reason, message string, since time.Duration) {
	s := m.Claim["status"].(object)
	for i, c := range s["conditions"].([]object) {
		if c["type"] == kind {
			s["conditions"].([]object)[i] = b.claimCondition(kind, status, reason, message, since)
		}
	}
}

// poolOf returns the NodePool of a group.
func (b *Bundle) poolOf(g Group) object {
	for _, p := range b.NodePools {
		if p["metadata"].(object)["name"] == g.Name {
			return p
		}
	}
	panic("no node pool " + g.Name)
}

// starts declares a startup taint of a node pool.
func (b *Bundle) starts(g Group, key, effect string) {
	spec := b.poolOf(g)["spec"].(object)["template"].(object)["spec"].(object)
	spec["startupTaints"] = []object{{"key": key, "effect": effect}}
}
