package identity

import (
	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// noProfile checks for an instance without an instance profile, or with a deleted one. Nothing
// on such an instance can authenticate.
func (d *door) noProfile() cause.Verdict {
	if arn := d.Config().Value.ProfileARN; arn != "" {
		return cause.Decisive().In("instance-profile/"+arn).
			Says("the instance profile %s of %s does not exist, %s", roll.LastPart(arn), d.Finding.Instance, noCredentials).
			Saw("instance profile", "InstanceProfileName", roll.LastPart(arn)+" does not exist", "an instance profile with the node role").
			Fix(paste.Command("aws", "iam", "create-instance-profile", "--instance-profile-name", roll.LastPart(arn)), addRole(roll.LastPart(arn)))
	}
	return cause.Decisive().In(d.origin()).
		Says("%s has no instance profile, %s", d.Finding.Instance, noCredentials).
		Saw("instance", "IamInstanceProfile", "none", "the instance profile of the node role").
		Fix(paste.Format("aws ec2 associate-iam-instance-profile --region %s --instance-id %s --iam-instance-profile Name=PROFILE_OF_THE_NODE_ROLE", d.Region, string(d.Finding.Instance)),
			"# and name the profile where the instance comes from: launch template, node group or EC2NodeClass")
}

// launchedWith returns the name of the instance profile in the launch template version that the instance was
// launched from, "" if it names none or was not read. The profile of a running instance can be replaced, which
// Quick Setup of Systems Manager did to nodes.
// https://github.com/eksctl-io/eksctl/issues/1907
func (d *door) launchedWith() string {
	i := d.Config().Value
	return roll.LastPart(d.Templates[i.LaunchTemplate+":"+i.LaunchTemplateVersion].Value.ProfileARN)
}

// giveBack returns the commands that give the instance a profile in place of the one that it has.
func (d *door) giveBack(profile string) string {
	return paste.Assign("ASSOCIATION",
		d.AWS("ec2", "describe-iam-instance-profile-associations", "--filters", "Name=instance-id,Values="+string(d.Finding.Instance),
			"--query", "IamInstanceProfileAssociations[0].AssociationId", "--output", "text"),
		d.AWS("ec2", "replace-iam-instance-profile-association", "--association-id", "ASSOCIATION", "--iam-instance-profile", "Name="+profile))
}

func (d *door) emptyProfile(p evidence.InstanceProfile) cause.Verdict {
	return cause.Decisive().In("instance-profile/"+p.ARN).
		Says("the instance profile %s of %s holds no role, %s", p.Name, d.Finding.Instance, noCredentials).
		Saw("instance profile", "Roles", "none", "the node role").Fix(addRole(p.Name))
}

func (d *door) roleGone(p evidence.InstanceProfile) cause.Verdict {
	return cause.Decisive().In("instance-profile/"+p.ARN).
		Says("the role %s of the instance profile %s does not exist, so the kubelet of %s has no AWS credentials to authenticate with", p.Roles[0], p.Name, d.Finding.Instance).
		Saw("role", "RoleName", p.Roles[0]+" does not exist", "the node role").
		Fix(paste.Format("aws iam remove-role-from-instance-profile --instance-profile-name %s --role-name %s", p.Name, p.Roles[0]), addRole(p.Name))
}

// origin returns what the instance comes from and shares with others, "" if nothing shows it.
func (d *door) origin() string {
	switch i := d.Config().Value; {
	case i.NodeClass != "":
		return "nodeclass/" + i.NodeClass
	case i.LaunchTemplate != "":
		return d.LaunchTemplate()
	case d.Finding.Group != roll.GroupNone:
		return string(d.Finding.Group)
	}
	return ""
}

const noCredentials = "so its kubelet has no AWS credentials to authenticate with"

func addRole(profile string) string {
	return paste.Command("aws", "iam", "add-role-to-instance-profile", "--instance-profile-name", profile, "--role-name", "NODE_ROLE")
}
