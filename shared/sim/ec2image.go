package sim

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// templates iterates over all templates of the account's groups and machines, some of them more than once.
func (a *account) templates() iter.Seq2[*group, *template] {
	return func(yield func(*group, *template) bool) {
		for _, c := range a.clusters {
			for _, g := range c.groups {
				if !yield(g, &g.template) || g.spare != nil && !yield(g, g.spare) {
					return
				}
			}
			for _, m := range c.machines {
				if !yield(m.g, &m.template) {
					return
				}
			}
		}
	}
}

// DescribeImages returns AMIs by ID.
func (e ec2API) DescribeImages(in *ec2.DescribeImagesInput, out *ec2.DescribeImagesOutput) (err error) {
	if len(in.ImageIds) == 0 || len(in.Filters) > 0 || !aws.ToBool(in.IncludeDeprecated) {
		e.v.unsimulated(in)
	}
	out.Images, err = picked(in.ImageIds, e.v.a.image, func(unknown []string) error {
		return badRequest("InvalidAMIID.NotFound", "The image ids '[%s]' do not exist", strings.Join(unknown, ", "))
	})
	return err
}

// ownerEKS stands for the account from which EKS shares its AMIs under the alias amazon.
const ownerEKS = "123456789012"

var published = regexp.MustCompile(`\b(?:v)?(20\d{6})\b`) // matches the date in the name of an AMI

func (a *account) image(id string) (image types.Image, ok bool) {
	for g, t := range a.templates() {
		if t.ami != id {
			continue
		}
		created := a.start.AddDate(0, -1, 0)
		if date := published.FindStringSubmatch(t.amiName); date != nil {
			created, _ = time.Parse("20060102", date[1])
		}
		image = types.Image{
			ImageId: aws.String(id), Name: aws.String(t.amiName), OwnerId: aws.String(t.amiOwner), Architecture: built(t, g),
			State: types.ImageStateAvailable, PlatformDetails: linux, CreationDate: aws.String(created.Format("2006-01-02T15:04:05.000Z")),
			RootDeviceType: types.DeviceTypeEbs, VirtualizationType: types.VirtualizationTypeHvm,
		}
		if strings.HasPrefix(t.amiName, "Windows_") {
			image.Platform, image.PlatformDetails = types.PlatformValuesWindows, aws.String("Windows")
		}
		if t.amiOwner == "amazon" {
			image.OwnerId, image.ImageOwnerAlias, image.Public = aws.String(ownerEKS), aws.String("amazon"), aws.Bool(true)
		}
		return image, true
	}
	return image, false
}

// built returns the architecture of an AMI, first by its name: the group's may have changed.
func built(t *template, g *group) types.ArchitectureValues {
	switch {
	case strings.Contains(t.amiName, "arm64"):
		return types.ArchitectureValuesArm64
	case strings.Contains(t.amiName, "x86_64"):
		return types.ArchitectureValuesX8664
	}
	return architecture(g.kind.Arch)
}

// DescribeLaunchTemplateVersions returns versions of a launch template by number.
func (e ec2API) DescribeLaunchTemplateVersions(in *ec2.DescribeLaunchTemplateVersionsInput, out *ec2.DescribeLaunchTemplateVersionsOutput) error {
	named := slices.ContainsFunc(in.Versions, func(v string) bool { return strings.HasPrefix(v, "$") }) // such as $Latest
	if in.LaunchTemplateId == nil || len(in.Versions) == 0 || named || len(in.Filters) > 0 || in.NextToken != nil {
		e.v.unsimulated(in)
	}
	known := e.v.a.versions(*in.LaunchTemplateId)
	if len(known) == 0 {
		return badRequest("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", *in.LaunchTemplateId)
	}
	for _, version := range in.Versions {
		v, ok := known[version]
		if !ok {
			return badRequest("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version %s for the launch template with ID %s.", version, *in.LaunchTemplateId)
		}
		out.LaunchTemplateVersions = append(out.LaunchTemplateVersions, v)
	}
	return nil
}

func (a *account) versions(id string) map[string]types.LaunchTemplateVersion {
	out := map[string]types.LaunchTemplateVersion{}
	for g, t := range a.templates() {
		if t.id != id {
			continue
		}
		number := fmt.Sprint(t.version)
		if _, ok := out[number]; ok {
			continue
		}
		out[number] = types.LaunchTemplateVersion{
			LaunchTemplateId: aws.String(id), LaunchTemplateName: aws.String(g.c.name + "-" + g.name), VersionNumber: aws.Int64(int64(t.version)),
			DefaultVersion: aws.Bool(t.version == g.template.version), CreatedBy: aws.String("arn:aws:iam::" + accountID + ":role/Admin"),
			LaunchTemplateData: &types.ResponseLaunchTemplateData{
				ImageId: aws.String(t.ami), UserData: inBase64(t.userData),
				IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecification{Arn: aws.String(profileARN(g.role))},
				MetadataOptions:    &types.LaunchTemplateInstanceMetadataOptions{HttpTokens: types.LaunchTemplateHttpTokensStateRequired, HttpPutResponseHopLimit: metadata.HttpPutResponseHopLimit},
			},
		}
		if built(t, g) == architecture(g.kind.Arch) { // or the group launched another type at that time
			out[number].LaunchTemplateData.InstanceType = types.InstanceType(g.kind.Type)
		}
	}
	return out
}

// GetConsoleOutput returns the latest console output of an instance, as on the Nitro system.
func (e ec2API) GetConsoleOutput(in *ec2.GetConsoleOutputInput, out *ec2.GetConsoleOutputOutput) error {
	out.InstanceId = in.InstanceId
	of, err := e.v.a.allKnown([]string{aws.ToString(in.InstanceId)})
	for _, m := range of {
		out.Output, out.Timestamp = inBase64(m.console()), aws.Time(e.v.a.Now().Truncate(time.Second))
	}
	return err
}

// console returns the console output since the last boot: empty before the machine boots.
func (m *machine) console() string {
	if m.boots == 0 || m.booting {
		return ""
	}
	if m.template.breaks != well && m.template.console != "" {
		return m.template.console
	}
	text := bootLog(
		"[    5.312011] nodeadm[1619]: {\"level\":\"info\",\"caller\":\"init/init.go:57\",\"msg\":\"Loading configuration..\",\"configSource\":[\"imds://user-data\"]}",
		"[  OK  ] Finished nodeadm-config.service - EKS Nodeadm Config.",
		"[    9.811120] cloud-init[1990]: Cloud-init v. 22.2.2 finished at "+m.launched.UTC().Format(time.RFC1123Z)+". Datasource DataSourceEc2.  Up 9.80 seconds",
		"[  OK  ] Started kubelet.service - Kubernetes Kubelet.",
		"[  OK  ] Finished nodeadm-run.service - EKS Nodeadm Run.",
		"[  OK  ] Reached target multi-user.target - Multi-User System.",
	)
	if !m.pressure.IsZero() && m.ail == silent {
		up := m.pressure.Sub(m.launched).Seconds()
		text += fmt.Sprintf("\r\n[%12.6f] Out of memory: Killed process 48213 (java) total-vm:9183204kB, anon-rss:7214060kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:16012kB oom_score_adj:996", up)
	}
	return text
}
