package bundle

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/observe/apistats"
)

// AWS returns a configuration whose clients' calls about the captured cluster are recorded.
func (r *Recorder) AWS(cfg aws.Config) aws.Config {
	return apistats.Intercept(cfg, func(ctx context.Context, in any, next apistats.Call) (any, error) {
		out, err := next(ctx, in)
		r.mu.Lock()
		defer r.mu.Unlock()
		file, listing := recordedIn(in)
		switch {
		case err == nil:
			r.remember(in, out)
		case !awserr.IsNotFound(err):
			if listing {
				r.torn[file] = awserr.Describe(err, apistats.Action(ctx), "")
			}
		case file == fileNodeGroups && listing: // a missing group is an answer too
			r.c.nodeGroups.held = true
		}
		return out, err
	})
}

// recordedIn returns the file that the answer belongs in, "" for none. listing reports whether
// things that are missing in the file would count as absent, so that a failure makes the file
// useless.
func recordedIn(in any) (file string, listing bool) {
	switch in := in.(type) {
	case *ec2.DescribeInstancesInput:
		return fileInstances, true
	case *ec2.DescribeInstanceStatusInput:
		return fileStatuses, len(in.Filters) > 0
	case *eks.ListNodegroupsInput:
		return fileNodeGroups, in.NextToken != nil
	case *eks.DescribeNodegroupInput:
		return fileNodeGroups, true
	case *eks.ListAccessEntriesInput:
		return fileAccessEntries, true
	case *eks.ListAssociatedAccessPoliciesInput:
		return fileAccessPolicies, in.NextToken != nil
	case *iam.ListAttachedRolePoliciesInput:
		return fileAttached, in.Marker != nil
	case *iam.ListRolePoliciesInput:
		return fileInline, in.Marker != nil
	}
	if s := callOf(in); s != nil {
		return s.name, s.call.all(in)
	}
	return "", false
}

// remember records an answer. It omits terminated instances and the names of other clusters.
func (r *Recorder) remember(in, out any) {
	c := r.c
	switch out := out.(type) {
	case *ec2.DescribeInstancesOutput:
		c.instances.put()
		for _, r := range out.Reservations {
			all := r.Instances
			r.Instances = nil
			for _, i := range all {
				c.instances.put(instance{Instance: i, reservation: r})
			}
		}
	case *ec2.DescribeInstanceStatusOutput:
		for _, s := range out.InstanceStatuses { // a listing of the region has other clusters' too
			if len(in.(*ec2.DescribeInstanceStatusInput).InstanceIds) > 0 || c.instances.has(aws.ToString(s.InstanceId)) {
				c.statuses.put(s)
			}
		}
	case *ec2.DescribeInstanceAttributeOutput:
		c.rememberAttribute(in.(*ec2.DescribeInstanceAttributeInput), out)
	case *ec2.GetConsoleOutputOutput:
		putDocument(&c.consoles, aws.ToString(in.(*ec2.GetConsoleOutputInput).InstanceId), out.Output)
	case *ec2.DescribeVpcAttributeOutput:
		c.rememberVPC(aws.ToString(in.(*ec2.DescribeVpcAttributeInput).VpcId), out)
	case *arczonalshift.GetManagedResourceOutput:
		c.shifts.put(*out)
	case *eks.ListAccessEntriesOutput:
		c.rememberEntries(out.AccessEntries)
		r.entries = r.entries || aws.ToString(out.NextToken) == ""
	default:
		if s := callOf(in); s != nil {
			s.call.put(c, out)
		}
		c.rememberEKS(in, out)
		c.rememberIAM(in, out)
	}
}

func (c *contents) rememberAttribute(in *ec2.DescribeInstanceAttributeInput, out *ec2.DescribeInstanceAttributeOutput) {
	id := aws.ToString(in.InstanceId)
	switch {
	case in.Attribute == types.InstanceAttributeNameDisableApiTermination:
		c.protections.put(protection{instance: id, DisableApiTermination: out.DisableApiTermination})
	case in.Attribute == types.InstanceAttributeNameUserData && out.UserData != nil:
		putDocument(&c.userData, id, out.UserData.Value)
	case in.Attribute == types.InstanceAttributeNameUserData:
		putDocument(&c.userData, id, nil)
	}
}

// putDocument records a text that the API returns in base64; nil is an empty one. Text that is not
// base64 is not recorded, because it could not be searched for secrets.
func putDocument(t *table[document], id string, said *string) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(aws.ToString(said)), ""))
	if err == nil {
		t.put(document{id, data})
	}
}

func (c *contents) rememberVPC(id string, out *ec2.DescribeVpcAttributeOutput) {
	f := vpcFlags{vpc: id}
	if c.vpcFlags.has(id) { // the other attribute was read before
		f = c.vpcFlags.rows[c.vpcFlags.at[id]]
	}
	if out.EnableDnsSupport != nil {
		f.EnableDnsSupport = out.EnableDnsSupport
	}
	if out.EnableDnsHostnames != nil {
		f.EnableDnsHostnames = out.EnableDnsHostnames
	}
	c.vpcFlags.put(f)
}

func (c *contents) rememberEntries(principals []string) {
	for i := range principals {
		if !c.entries.has(principals[i]) {
			c.entries.put(accessEntry{AccessEntry: ekstypes.AccessEntry{PrincipalArn: &principals[i]}, listed: true})
		}
	}
}

func (c *contents) rememberEKS(in, out any) {
	switch out := out.(type) {
	case *eks.DescribeClusterOutput:
		if out.Cluster != nil {
			c.cluster.put(*out.Cluster)
		}
	case *eks.ListNodegroupsOutput:
		// A bundle keeps no names alone, but the described groups are all there are.
		c.nodeGroups.held = true
	case *eks.DescribeNodegroupOutput:
		if out.Nodegroup != nil {
			c.nodeGroups.put(*out.Nodegroup)
		}
	case *eks.DescribeAccessEntryOutput:
		if out.AccessEntry != nil {
			c.entries.put(accessEntry{AccessEntry: *out.AccessEntry})
		}
	case *eks.ListAssociatedAccessPoliciesOutput:
		in := in.(*eks.ListAssociatedAccessPoliciesInput)
		p := begun(&c.policies, aws.ToString(in.PrincipalArn), in.NextToken)
		p.principal, p.AssociatedAccessPolicies = aws.ToString(in.PrincipalArn), append(p.AssociatedAccessPolicies, out.AssociatedAccessPolicies...)
		c.policies.put(p)
	}
}

// begun returns the row that a page adds to: an empty one for the first page.
func begun[T any](t *table[T], key string, page *string) (row T) {
	if at, ok := t.at[key]; ok && page != nil {
		return t.rows[at]
	}
	return row
}

func (c *contents) rememberIAM(in, out any) {
	switch out := out.(type) {
	case *iam.GetInstanceProfileOutput:
		if out.InstanceProfile != nil {
			c.profiles.put(*out.InstanceProfile)
		}
	case *iam.GetRoleOutput:
		if out.Role != nil {
			c.roles.put(*out.Role)
		}
	case *iam.ListAttachedRolePoliciesOutput:
		in := in.(*iam.ListAttachedRolePoliciesInput)
		p := begun(&c.attached, aws.ToString(in.RoleName), in.Marker)
		p.role, p.AttachedPolicies = aws.ToString(in.RoleName), append(p.AttachedPolicies, out.AttachedPolicies...)
		c.attached.put(p)
	case *iam.ListRolePoliciesOutput:
		in := in.(*iam.ListRolePoliciesInput)
		p := begun(&c.inline, aws.ToString(in.RoleName), in.Marker)
		p.role, p.PolicyNames = aws.ToString(in.RoleName), append(p.PolicyNames, out.PolicyNames...)
		c.inline.put(p)
	case *iam.GetRolePolicyOutput:
		in := in.(*iam.GetRolePolicyInput)
		c.inlineTexts.put(inlinePolicy{in.RoleName, in.PolicyName, out.PolicyDocument})
	case *iam.GetPolicyOutput:
		if out.Policy != nil {
			c.managed.put(*out.Policy)
		}
	case *iam.GetPolicyVersionOutput:
		c.policyTexts.put(policyVersion{aws.ToString(in.(*iam.GetPolicyVersionInput).PolicyArn), out.PolicyVersion})
	}
}
