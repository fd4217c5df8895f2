package generate

import (
	"fmt"
	"strings"
	"time"
)

// Machine is an instance with everything that AWS and Kubernetes report about it. The parts are
// those in the bundle, so a case changes them in place.
type Machine struct {
	ID, Address, Zone string
	Group             Group
	Age               time.Duration // since its launch
	Instance, Status  object
	Member            object // in its Auto Scaling group; nil without one
	Claim             object // Karpenter's; nil without one
	Node, Lease       object // nil until it joins
}

// Name returns the name of the machine's node.
func (m *Machine) Name() string {
	return "ip-" + strings.ReplaceAll(m.Address, ".", "-") + "." + Region + ".compute.internal"
}

// providerID returns the machine's ID as the cloud provider writes it.
func (m *Machine) providerID() string { return "aws:///" + Region + m.Zone + "/" + m.ID }

// suffix returns a suffix that makes names unique, as random suffixes do.
func (m *Machine) suffix() string { return m.ID[3:6] + m.ID[17:] }

// Launch starts an instance of a group, and adds whatever is missing from the group. Its user
// data is kept only if it does not join: nobody captures that of healthy nodes.
func (b *Bundle) Launch(id, address, zone string, g Group, age time.Duration) *Machine {
	b.ensure(g)
	m := &Machine{ID: id, Address: address, Zone: zone, Group: g, Age: age}
	m.Instance = object{
		"InstanceId": id, "ImageId": g.Image.ID, "InstanceType": g.Type, "Architecture": g.Image.Arch,
		"LaunchTime": b.ec2Time(age), "State": object{"Code": 16, "Name": "running"},
		"Placement":      object{"AvailabilityZone": Region + zone, "Tenancy": "default"},
		"PrivateDnsName": m.Name(), "PrivateIpAddress": address, "SubnetId": subnet(zone), "VpcId": vpc,
		"SecurityGroups":     []object{{"GroupId": g.firewall(), "GroupName": b.firewallName(g.firewall())}},
		"IamInstanceProfile": object{"Arn": "arn:aws:iam::" + Account + ":instance-profile/" + g.Profile(), "Id": "AIPA" + token(g.Profile())},
		"MetadataOptions":    object{"State": "applied", "HttpTokens": "required", "HttpPutResponseHopLimit": hopLimit(g), "HttpEndpoint": "enabled"},
		"Tags":               tags(m),
	}
	if g.Image.OS == windows {
		m.Instance["Platform"], m.Instance["PlatformDetails"] = "windows", "Windows"
	}
	m.Status = status(m)
	b.Instances, b.Statuses = append(b.Instances, m.Instance), append(b.Statuses, m.Status)
	switch g.Owner {
	case byKarpenter:
		m.Claim = b.claim(m)
		b.NodeClaims = append(b.NodeClaims, m.Claim)
	default:
		m.Member = member(m)
		b.Members = append(b.Members, m.Member)
		asg := b.find(b.ScalingGroups, "AutoScalingGroupName", g.ASG())
		asg["DesiredCapacity"] = asg["DesiredCapacity"].(int) + 1
	}
	return m
}

// hopLimit returns 1 where Karpenter makes the template (its default since 1.0), otherwise 2.
func hopLimit(g Group) int {
	if g.Owner == byKarpenter {
		return 1
	}
	return 2
}

// tags returns those that the owner and EC2 put on an instance.
func tags(m *Machine) []object {
	g := m.Group
	out := []object{
		tag("kubernetes.io/cluster/"+Cluster, "owned"),
		tag("aws:ec2launchtemplate:id", g.Template),
		tag("aws:ec2launchtemplate:version", fmt.Sprint(g.Version)),
	}
	switch g.Owner {
	case byKarpenter:
		out = append(out, tag("karpenter.sh/nodepool", g.Name), tag("karpenter.k8s.aws/ec2nodeclass", g.Name),
			tag("eks:eks-cluster-name", Cluster), tag("Name", g.Name+"/"+m.Name()))
	case byNodeGroup:
		out = append(out, tag("eks:nodegroup-name", g.Name), tag("eks:cluster-name", Cluster), tag("aws:autoscaling:groupName", g.ASG()))
	case byASG:
		out = append(out, tag("Name", g.Name), tag("aws:autoscaling:groupName", g.ASG()))
	}
	return out
}

func tag(key, value string) object { return object{"Key": key, "Value": value} }

// status returns EC2's status checks, all passed.
func status(m *Machine) object {
	passed := func() object {
		return object{"Status": "ok", "Details": []object{{"Name": "reachability", "Status": "passed"}}}
	}
	return object{
		"InstanceId": m.ID, "AvailabilityZone": Region + m.Zone, "InstanceState": object{"Code": 16, "Name": "running"},
		"InstanceStatus": passed(), "SystemStatus": passed(),
	}
}

// impaired makes a status check fail: InstanceStatus or SystemStatus.
func (b *Bundle) impaired(m *Machine, check string, since time.Duration) {
	m.Status[check] = object{"Status": "impaired", "Details": []object{{"Name": "reachability", "Status": "failed", "ImpairedSince": b.ec2Time(since)}}}
}

// scheduled schedules an EC2 event for the machine.
func (b *Bundle) scheduled(m *Machine, code, description string, in time.Duration) {
	m.Status["Events"] = []object{{
		"InstanceEventId": "instance-event-0d59937288b749b32", "Code": code, "Description": description,
		"NotBefore": b.ec2Time(-in), "NotAfter": b.ec2Time(-in - 2*time.Hour), "NotBeforeDeadline": b.ec2Time(-in - 7*day),
	}}
}

func member(m *Machine) object {
	return object{
		"InstanceId": m.ID, "InstanceType": m.Group.Type, "AutoScalingGroupName": m.Group.ASG(), "AvailabilityZone": Region + m.Zone,
		"LifecycleState": "InService", "HealthStatus": "HEALTHY", "ProtectedFromScaleIn": false,
		"LaunchTemplate": object{"LaunchTemplateId": m.Group.Template, "LaunchTemplateName": m.Group.templateName(), "Version": fmt.Sprint(m.Group.Version)},
	}
}

// Unregistered launches an instance that should be a node and is not, with the user data from
// its owner. Karpenter terminates its own after 15 minutes, so they are captured just before
// that; the others stay until somebody acts.
func (b *Bundle) Unregistered(g Group) *Machine {
	age := 40 * time.Minute
	if g.Owner == byKarpenter {
		age = 17 * time.Minute
	}
	m := b.Launch(Sick, "10.0.41.21", "a", g, age)
	b.UserData[m.ID] = UserData(g)
	return m
}

// unjoined builds a case about an instance of a group that should be a node and is not.
func unjoined(g Group, build func(*Bundle, *Machine) *verdict) func(*Bundle) *verdict {
	return on(func(b *Bundle) *Machine { return b.Unregistered(g) }, build)
}

// on builds a case about a machine that is added to the account first.
func on(add func(*Bundle) *Machine, build func(*Bundle, *Machine) *verdict) func(*Bundle) *verdict {
	return func(b *Bundle) *verdict { return build(b, add(b)) }
}

// Another launches a second instance like a sick one.
func (b *Bundle) Another(m *Machine) *Machine {
	other := b.Launch(SickToo, "10.0.41.22", "a", m.Group, m.Age-time.Minute)
	other.Instance["SubnetId"], other.Instance["SecurityGroups"] = m.Instance["SubnetId"], m.Instance["SecurityGroups"]
	b.UserData[other.ID] = b.UserData[m.ID]
	return other
}

// The instances that cases are about.
const (
	Sick    = "i-0bad0000000000001"
	SickToo = "i-0bad0000000000002"
)

// moved puts a machine into the subnet aside.
func (m *Machine) moved() {
	m.Instance["SubnetId"] = asideSubnet
	m.Address = "10.0.160." + m.Address[strings.LastIndex(m.Address, ".")+1:]
	m.Instance["PrivateIpAddress"], m.Instance["PrivateDnsName"] = m.Address, m.Name()
}

// UnregisteredAside adds an unregistered instance in that subnet.
func (b *Bundle) UnregisteredAside(g Group) *Machine {
	m := b.Unregistered(g)
	m.moved()
	return m
}

// prints makes the console show that the machine booted, followed by the lines.
func (b *Bundle) prints(m *Machine, lines ...string) {
	b.Console[m.ID] = console(append(booted(), lines...)...)
}

// behind puts a machine behind its own security group.
func (b *Bundle) behind(m *Machine, in, out []object) {
	b.SecurityGroups = append(b.SecurityGroups, firewall(batchGroup, "payments-batch-nodes", in, out))
	m.Instance["SecurityGroups"] = []object{{"GroupId": batchGroup, "GroupName": "payments-batch-nodes"}}
}

// admit lets a security group into the cluster's.
func (b *Bundle) admit(rule object) {
	g := b.find(b.SecurityGroups, "GroupId", clusterGroup)
	g["IpPermissions"] = append(g["IpPermissions"].([]object), rule)
}

func (b *Bundle) firewallName(id string) string {
	return b.find(b.SecurityGroups, "GroupId", id)["GroupName"].(string)
}

// find returns the object whose key has the value. A missing object is a fault of a case.
func (b *Bundle) find(list []object, key, value string) object {
	for _, o := range list {
		if o[key] == value {
			return o
		}
	}
	panic(fmt.Sprintf("no %s is %s", key, value))
}

// untag removes a tag from an instance.
func (m *Machine) untag(key string) {
	var kept []object
	for _, t := range m.Instance["Tags"].([]object) {
		if t["Key"] != key {
			kept = append(kept, t)
		}
	}
	m.Instance["Tags"] = kept
}

// without drops an object from a list.
func without(list []object, key, value string) []object {
	var kept []object
	for _, o := range list {
		if o[key] != value {
			kept = append(kept, o)
		}
	}
	return kept
}

// Remove removes a machine and its node from the account.
func (b *Bundle) Remove(m *Machine) {
	b.Instances, b.Statuses = without(b.Instances, "InstanceId", m.ID), without(b.Statuses, "InstanceId", m.ID)
	b.Members = without(b.Members, "InstanceId", m.ID)
	named := func(list []object, name string) []object {
		var kept []object
		for _, o := range list {
			if o["metadata"].(object)["name"] != name {
				kept = append(kept, o)
			}
		}
		return kept
	}
	b.Nodes, b.Leases = named(b.Nodes, m.Name()), named(b.Leases, m.Name())
	if m.Claim != nil {
		b.NodeClaims = named(b.NodeClaims, m.claimName())
	}
}

// RemoveAll leaves a cluster without nodes.
func (b *Bundle) RemoveAll() {
	for _, m := range b.healthy.all() {
		b.Remove(m)
	}
}
