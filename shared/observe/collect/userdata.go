package collect

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
)

// readUserData reads the user data of the sample, with one call per instance.
func (l *look) readUserData() {
	a := l.secret("ec2:DescribeInstanceAttribute")
	ids, skipped := l.sampledOf(needUserData)
	for id, why := range skipped {
		l.instance(id, func(i *evidence.Instance) { i.UserData = evidence.Skipped[userdata.Boot](why) })
	}
	for _, id := range ids {
		in := &ec2.DescribeInstanceAttributeInput{InstanceId: aws.String(string(id)), Attribute: types.InstanceAttributeNameUserData}
		fact := one(a, l.ec2.DescribeInstanceAttribute, in, func(out *ec2.DescribeInstanceAttributeOutput) evidence.Fact[userdata.Boot] {
			if out.UserData == nil {
				return evidence.None[userdata.Boot]()
			}
			return boot(aws.ToString(out.UserData.Value), fmt.Sprintf("ec2:DescribeInstanceAttribute of %s", id))
		})
		l.instance(id, func(i *evidence.Instance) { i.UserData = fact })
	}
}

// boot parses user data, as returned by the API, in memory. It may hold secrets: only what
// userdata.Boot keeps leaves this function.
func boot(encoded, source string) evidence.Fact[userdata.Boot] {
	if encoded == "" {
		return evidence.None[userdata.Boot]()
	}
	data, err := userdata.Decode(encoded)
	if errors.Is(err, userdata.ErrTooLarge) {
		return evidence.Read(tooLarge(encoded))
	}
	if err != nil {
		return evidence.Failed[userdata.Boot](source + ": " + err.Error())
	}
	return evidence.Read(userdata.Read(data))
}

// tooLarge returns the result for user data that exceeds what EC2 keeps. Its size is a finding, and
// nothing else of it is read.
func tooLarge(encoded string) userdata.Boot {
	return userdata.Boot{
		Size:   base64.StdEncoding.DecodedLen(len(encoded)),
		Faults: []userdata.Fault{{Part: "user data", Format: userdata.Unknown, Reason: userdata.TooLarge, By: userdata.Rollcall, Effect: userdata.Unread}},
	}
}

// templatesTotal is how many launch templates are described per check, with one call for the
// versions of each.
const templatesTotal = 10

func (l *look) readTemplates() {
	a := l.secret("ec2:DescribeLaunchTemplateVersions")
	var ids []string
	versions := map[string][]string{}
	for _, c := range l.configs(needUserData) {
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
		out.ProfileARN = cmp.Or(aws.ToString(p.Arn), aws.ToString(p.Name))
	}
	for _, n := range d.NetworkInterfaces {
		if s := aws.ToString(n.SubnetId); s != "" {
			out.Subnets = append(out.Subnets, s)
		}
	}
	return out
}
