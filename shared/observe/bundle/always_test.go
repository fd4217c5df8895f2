package bundle

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/kube"
	"rollcall/tests/harness/expect"
)

// A field that the tools always print is missing only if somebody removed it. That does not mean
// "none", and the rest of the object is unknown without it.
func TestWhatIsAlwaysPrintedAndIsNotThereWasTakenOut(t *testing.T) {
	const egress = `"IpPermissionsEgress": [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]`
	const entry = `"Egress": true, "RuleAction": "allow", "RuleNumber": 100, "CidrBlock": "0.0.0.0/0"`
	group := func(rules string) string { return `{"SecurityGroups": [{"GroupId": "x"` + rules + `}]}` }
	acl := func(rules string) string {
		return `{"NetworkAcls": [{"NetworkAclId": "x", "VpcId": "vpc-1", "Associations": []` + rules + `}]}`
	}
	table := func(rest string) string {
		return `{"RouteTables": [{"RouteTableId": "x", "VpcId": "vpc-1"` + rest + `}]}`
	}
	role := func(trust string) string {
		return `{"Roles": [{"RoleName": "x", "Arn": "arn:aws:iam::111122223333:role/x", "CreateDate": "2026-01-01T00:00:00+00:00", "AssumeRolePolicyDocument": {` + trust + `}}]}`
	}
	event := func(rest string) string {
		return `{"kind": "List", "items": [{"metadata": {"name": "x", "namespace": "default"}, ` + rest + `}]}`
	}
	for name, tt := range map[string]struct {
		file, data string
		lacks      string // "" if it is whole
	}{
		"a group without rules":                 {fileSecurityGroups, group(`, "IpPermissions": [], "IpPermissionsEgress": []`), ""},
		"a group, its ingress taken out":        {fileSecurityGroups, group(`, ` + egress), "IpPermissions"},
		"a group, its egress taken out":         {fileSecurityGroups, group(`, "IpPermissions": []`), "IpPermissionsEgress"},
		"a group, its egress null":              {fileSecurityGroups, group(`, "IpPermissions": [], "IpPermissionsEgress": null`), ""},
		"a rule of one kind of peers":           {fileSecurityGroups, group(`, "IpPermissions": [], ` + egress), ""},
		"a rule, its peers taken out":           {fileSecurityGroups, group(`, "IpPermissions": [{"IpProtocol": "-1", "IpRanges": []}], ` + egress), "IpPermissions[].IpRanges or Ipv6Ranges or UserIdGroupPairs or PrefixListIds"},
		"a rule, its protocol taken out":        {fileSecurityGroups, group(`, "IpPermissions": [{"IpRanges": [{"CidrIp": "0.0.0.0/0"}]}], ` + egress), "IpPermissions[].IpProtocol"},
		"a rule of TCP, its port taken out":     {fileSecurityGroups, group(`, "IpPermissions": [{"IpProtocol": "tcp", "ToPort": 443, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}], ` + egress), "IpPermissions[].FromPort"},
		"an ACL without entries":                {fileNetworkACLs, acl(`, "Entries": []`), ""},
		"an ACL, its entries taken out":         {fileNetworkACLs, acl(``), "Entries"},
		"an entry of all protocols":             {fileNetworkACLs, acl(`, "Entries": [{"Protocol": "-1", ` + entry + `}]`), ""},
		"an entry of TCP, its ports taken":      {fileNetworkACLs, acl(`, "Entries": [{"Protocol": "6", ` + entry + `}]`), "Entries[].PortRange"},
		"a table without routes":                {fileRouteTables, table(`, "Associations": [{"Main": true}], "Routes": []`), ""},
		"a table, its routes taken out":         {fileRouteTables, table(`, "Associations": [{"Main": true}]`), "Routes"},
		"a profile without roles":               {fileProfiles, `{"InstanceProfiles": [{"InstanceProfileName": "x", "Roles": []}]}`, ""},
		"a profile, its roles taken out":        {fileProfiles, `{"InstanceProfiles": [{"InstanceProfileName": "x"}]}`, "Roles"},
		"a role":                                {fileRoles, role(`"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}]`), ""},
		"a role that trusts nobody":             {fileRoles, role(`"Statement": []`), ""},
		"a role, its trust taken out":           {fileRoles, role(``), "AssumeRolePolicyDocument.Statement"},
		"a profile, its role's trust taken out": {fileProfiles, `{"InstanceProfiles": [{"InstanceProfileName": "x", "Roles": [{"RoleName": "x", "AssumeRolePolicyDocument": {}}]}]}`, "Roles[].AssumeRolePolicyDocument.Statement"},
		"an access entry":                       {fileAccessEntries, `{"accessEntries": [{"principalArn": "x", "type": "STANDARD"}]}`, ""},
		"an access entry, its type taken":       {fileAccessEntries, `{"accessEntries": [{"principalArn": "x"}]}`, "type"},
		"a node group without issues":           {fileNodeGroups, `{"nodegroups": [{"nodegroupName": "x", "status": "ACTIVE", "amiType": "AL2023_x86_64_STANDARD", "health": {"issues": []}}]}`, ""},
		"a node group, its health taken out":    {fileNodeGroups, `{"nodegroups": [{"nodegroupName": "x", "status": "ACTIVE", "amiType": "AL2023_x86_64_STANDARD"}]}`, "health"},
		"a scaling group":                       {fileASGs, `{"AutoScalingGroups": [{"AutoScalingGroupName": "x", "DesiredCapacity": 1, "SuspendedProcesses": []}]}`, ""},
		"a scaling group, its processes cut":    {fileASGs, `{"AutoScalingGroups": [{"AutoScalingGroupName": "x", "DesiredCapacity": 1}]}`, "SuspendedProcesses"},
		"a node pool":                           {fileNodePools, `{"kind": "List", "items": [{"metadata": {"name": "x"}, "spec": {"template": {"spec": {}}}}]}`, ""},
		"a node pool, its template cut":         {fileNodePools, `{"kind": "List", "items": [{"metadata": {"name": "x"}, "spec": {"template": {}}}]}`, "spec.template.spec"},
		"an event without a message":            {fileEvents, event(`"involvedObject": {"kind": "Node", "name": "n"}, "reason": "Starting", "type": "Normal"`), ""},
		"an event, its reason taken out":        {fileEvents, event(`"involvedObject": {"kind": "Node", "name": "n"}, "type": "Normal"`), "reason"},
		"an event, its type taken out":          {fileEvents, event(`"involvedObject": {"kind": "Node", "name": "n"}, "reason": "Starting"`), "type"},
		"an event, its object taken out":        {fileEvents, event(`"reason": "Starting", "type": "Normal"`), "involvedObject"},
		"an event, its object's name cut":       {fileEvents, event(`"involvedObject": {"kind": "Node"}, "reason": "Starting", "type": "Normal"`), "involvedObject.name"},
	} {
		b := opened(t, with(least(t), tt.file, tt.data))
		c := of(b)
		var err error
		switch tt.file {
		case fileSecurityGroups:
			_, err = c.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{"x"}})
		case fileNetworkACLs:
			_, err = c.ec2.DescribeNetworkAcls(t.Context(), &ec2.DescribeNetworkAclsInput{Filters: filter("vpc-id", "vpc-1")})
		case fileRouteTables:
			_, err = c.ec2.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{Filters: filter("vpc-id", "vpc-1")})
		case fileProfiles:
			_, err = c.iam.GetInstanceProfile(t.Context(), &iam.GetInstanceProfileInput{InstanceProfileName: aws.String("x")})
		case fileRoles:
			_, err = c.iam.GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String("x")})
		case fileAccessEntries:
			_, err = c.eks.DescribeAccessEntry(t.Context(), &eks.DescribeAccessEntryInput{PrincipalArn: aws.String("x")})
		case fileNodeGroups:
			_, err = c.eks.DescribeNodegroup(t.Context(), &eks.DescribeNodegroupInput{NodegroupName: aws.String("x")})
		case fileASGs:
			_, err = autoscaling.NewFromConfig(b.AWS()).DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"x"}})
		case fileNodePools:
			_, err = client(t, b).Read(t.Context(), kube.ANodePool("x"))
		case fileEvents:
			_, err = client(t, b).Read(t.Context(), kube.EventsOfNode("n"))
		}
		if tt.lacks == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tt.lacks != "" && (err == nil || !strings.Contains(awserr.Describe(err, "", ""), "x lacks "+tt.lacks+" in "+tt.file)) {
			t.Errorf("%s: %v, want that it lacks %s", name, err, tt.lacks)
		}
	}
}

// An object that must be complete is rejected, with the field and the position.
func TestRefusesWhatMustBeThereWhole(t *testing.T) {
	const cluster = `{"cluster": {"arn": "arn:aws:eks:eu-west-1:111122223333:cluster/demo"`
	const instance = `[{"InstanceId": "i-1", "LaunchTime": 1`
	for data, want := range map[[2]string]string{
		{fileCluster, cluster + `}}`}:                                                                     `cluster.json:1:13: this has no status, which is always printed`,
		{fileInstances, `[{"InstanceId": "i-1", "State": {"Name": "running"}}]`}:                          `instances.json:1:2: this has no LaunchTime,`,
		{fileInstances, instance + `}]`}:                                                                  `instances.json:1:2: this has no State,`,
		{fileInstances, instance + `, "State": {"Name": "running"}, "Tags": [{"Value": "a"}]}]`}:          `instances.json:1:2: this has no Tags[].Key,`,
		{fileInstances, instance + `, "State": {"Name": "running"}, "IamInstanceProfile": {"Id": "a"}}]`}: `instances.json:1:2: this has no IamInstanceProfile.Arn,`,
		{fileNodes, `{"items": [{"metadata": {"name": "a"}}]}`}:                                           `nodes.json:1:12: this has no metadata.creationTimestamp,`,
	} {
		_, err := OpenFS(with(least(t), data[0], data[1]))
		expect.That(t, err != nil && strings.HasPrefix(err.Error(), want), "%s: %v, want %s", data[1], err, want)
	}
}
