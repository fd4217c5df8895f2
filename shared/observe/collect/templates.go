package collect

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
)

// templatesTotal is how many launch templates are described per check, with one call for the
// versions of each.
const templatesTotal = 10

func (l *look) readTemplates() {
	a := l.secret("ec2:DescribeLaunchTemplateVersions")
	var ids []string
	versions := map[string][]string{}
	for c := range l.configs(needUserData) {
		if c.LaunchTemplate != "" && c.LaunchTemplateVersion != "" {
			ids = append(ids, c.LaunchTemplate)
			versions[c.LaunchTemplate] = distinct(append(versions[c.LaunchTemplate], c.LaunchTemplateVersion))
		}
	}
	ids, left := first(distinct(ids), l.most(templatesTotal))
	for _, id := range ids {
		l.describeTemplate(a, id, versions[id])
	}
	for _, id := range left {
		for _, v := range versions[id] {
			l.ev.Templates[id+":"+v] = evidence.Skipped[evidence.LaunchTemplate](fmt.Sprintf("%d launch templates are described per check, the most urgent first", templatesTotal))
		}
	}
}

// describeTemplate describes versions of one launch template, in one call. If EC2 does not know one
// of them, it describes them one by one.
func (l *look) describeTemplate(a *action, id string, versions []string) {
	facts := lookUp(a, versions, l.ec2.DescribeLaunchTemplateVersions,
		func(versions []string) *ec2.DescribeLaunchTemplateVersionsInput {
			return &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String(id), Versions: versions, IncludeManagedResources: aws.Bool(true)}
		},
		func(out *ec2.DescribeLaunchTemplateVersionsOutput) []types.LaunchTemplateVersion {
			return out.LaunchTemplateVersions
		},
		func(v *types.LaunchTemplateVersion) *string {
			return aws.String(versionOf(v))
		}, launchTemplate)
	for version, fact := range facts {
		l.ev.Templates[id+":"+version] = fact
	}
}

// versionOf returns the number of a version, as the API names it in requests.
func versionOf(v *types.LaunchTemplateVersion) string {
	return strconv.FormatInt(aws.ToInt64(v.VersionNumber), 10)
}

func launchTemplate(v *types.LaunchTemplateVersion) evidence.LaunchTemplate {
	out := evidence.LaunchTemplate{ID: aws.ToString(v.LaunchTemplateId), Version: versionOf(v)}
	d := v.LaunchTemplateData
	if d == nil {
		d = &types.ResponseLaunchTemplateData{}
	}
	out.Image = aws.ToString(d.ImageId)
	out.HasUserData = aws.ToString(d.UserData) != ""
	out.UserData = boot(aws.ToString(d.UserData), fmt.Sprintf("ec2:DescribeLaunchTemplateVersions of %s:%s", out.ID, out.Version))
	if p := d.IamInstanceProfile; p != nil {
		if out.ProfileARN = aws.ToString(p.Arn); out.ProfileARN == "" {
			out.ProfileARN = aws.ToString(p.Name)
		}
	}
	for _, n := range d.NetworkInterfaces {
		if s := aws.ToString(n.SubnetId); s != "" {
			out.Subnets = append(out.Subnets, s)
		}
	}
	return out
}
