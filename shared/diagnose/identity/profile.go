package identity

import (
	"fmt"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// noProfile is that the instance has no instance profile, or one that was deleted:
// without credentials nothing on it can authenticate.
func (d *door) noProfile() roll.Cause {
	out := roll.Cause{
		Code: cause.InstanceProfileMissing, Confidence: roll.Decisive, Subject: d.origin(),
		Summary:  fmt.Sprintf("%s has no instance profile, so its kubelet has no AWS credentials to authenticate with", d.Finding.Instance),
		Evidence: []roll.Evidence{{Source: "instance", Field: "IamInstanceProfile", Observed: "none", Expected: "the instance profile of the node role"}},
		Fix: fmt.Sprintf("aws ec2 associate-iam-instance-profile --region %s --instance-id %s --iam-instance-profile Name=PROFILE_OF_THE_NODE_ROLE\n"+
			"# and name the profile where the instance comes from: launch template, node group or EC2NodeClass", d.Region, d.Finding.Instance),
	}
	if arn := d.Config().Value.ProfileARN; arn != "" {
		out.Summary = fmt.Sprintf("the instance profile %s of %s does not exist, so its kubelet has no AWS credentials to authenticate with", last(arn), d.Finding.Instance)
		out.Evidence = []roll.Evidence{{Source: "instance profile", Field: "InstanceProfileName", Observed: last(arn) + " does not exist", Expected: "an instance profile with the node role"}}
		out.Subject = "instance-profile/" + arn
		out.Fix = fmt.Sprintf("aws iam create-instance-profile --instance-profile-name %[1]s\naws iam add-role-to-instance-profile --instance-profile-name %[1]s --role-name NODE_ROLE", last(arn))
	}
	return out
}

func (d *door) emptyProfile(p evidence.InstanceProfile) roll.Cause {
	return roll.Cause{
		Code: cause.InstanceProfileMissing, Confidence: roll.Decisive, Subject: "instance-profile/" + p.ARN,
		Summary:  fmt.Sprintf("the instance profile %s of %s holds no role, so its kubelet has no AWS credentials to authenticate with", p.Name, d.Finding.Instance),
		Evidence: []roll.Evidence{{Source: "instance profile", Field: "Roles", Observed: "none", Expected: "the node role"}},
		Fix:      fmt.Sprintf("aws iam add-role-to-instance-profile --instance-profile-name %s --role-name NODE_ROLE", p.Name),
	}
}

func (d *door) roleGone(p evidence.InstanceProfile) roll.Cause {
	return roll.Cause{
		Code: cause.InstanceProfileMissing, Confidence: roll.Decisive, Subject: "instance-profile/" + p.ARN,
		Summary:  fmt.Sprintf("the role %s of the instance profile %s does not exist, so the kubelet of %s has no AWS credentials to authenticate with", p.Roles[0], p.Name, d.Finding.Instance),
		Evidence: []roll.Evidence{{Source: "role", Field: "RoleName", Observed: p.Roles[0] + " does not exist", Expected: "the node role"}},
		Fix: fmt.Sprintf("aws iam remove-role-from-instance-profile --instance-profile-name %[1]s --role-name %[2]s\n"+
			"aws iam add-role-to-instance-profile --instance-profile-name %[1]s --role-name NODE_ROLE", p.Name, p.Roles[0]),
	}
}

// origin is what the instance comes from and shares with others, "" if nothing tells.
func (d *door) origin() string {
	switch i := d.Config().Value; {
	case i.NodeClass != "":
		return "ec2nodeclass/" + i.NodeClass
	case i.LaunchTemplate != "":
		return "launch-template/" + i.LaunchTemplate + ":" + i.LaunchTemplateVersion
	case d.Finding.Group != roll.GroupNone && d.Finding.Group != "":
		return string(d.Finding.Group)
	}
	return ""
}

// last is the name at the end of an ARN.
func last(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }
