package collect

import (
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// imagesTotal is how many AMIs are described per check, all in one call.
const imagesTotal = 100

func (l *look) readImages() {
	ids := roll.Map(l.configs(needImage), func(c evidence.InstanceConfig) string { return c.Image })
	describe(l, l.ev.Images, "ec2:DescribeImages", imagesTotal, "AMIs", ids, l.ec2.DescribeImages,
		func(ids []string) *ec2.DescribeImagesInput {
			return &ec2.DescribeImagesInput{ImageIds: ids, IncludeDeprecated: aws.Bool(true), IncludeDisabled: aws.Bool(true)}
		},
		func(out *ec2.DescribeImagesOutput) []types.Image { return out.Images }, func(i *types.Image) *string { return i.ImageId }, image)
}

func image(i *types.Image) evidence.Image {
	out := evidence.Image{
		Name: aws.ToString(i.Name), Owner: aws.ToString(i.OwnerId), OwnerAlias: aws.ToString(i.ImageOwnerAlias),
		Architecture: string(i.Architecture),
	}
	out.Family, out.Kubernetes, out.EKS = family(out.Name, out.OwnerAlias)
	return out
}

// pattern matches the names of a family of AMIs. Its first group is the Kubernetes minor version.
type pattern struct {
	family string
	name   *regexp.Regexp
	// byAWS reports whether AWS publishes them. Its accounts differ by partition and region, but
	// all have the owner alias amazon. Other publishers have their account ids.
	byAWS bool
}

// patterns match the AMIs that are made for EKS nodes.
//
//   - Amazon Linux: https://github.com/awslabs/amazon-eks-ami, CHANGELOG.md
//   - Bottlerocket: https://github.com/bottlerocket-os/bottlerocket, and
//     pkg/providers/amifamily/bottlerocket.go of karpenter-provider-aws
//   - Windows: https://docs.aws.amazon.com/eks/latest/userguide/retrieve-windows-ami-id.html
//   - Ubuntu: https://documentation.ubuntu.com/aws/aws-how-to/instances/find-ubuntu-images/,
//     published by Canonical and not by AWS
//   - EKS Auto Mode's are Bottlerocket's under a name of their own:
//     https://docs.aws.amazon.com/eks/latest/userguide/automode-learn-instances.html
var patterns = []pattern{
	{family: "al2023", byAWS: true, name: regexp.MustCompile(`^amazon-eks-node-al2023-(?:x86_64|arm64)-[a-z0-9_-]+?-(1\.\d+)-v\d`)},
	{family: "al2", byAWS: true, name: regexp.MustCompile(`^amazon-eks-(?:gpu-|arm64-)?node-(1\.\d+)-v\d`)},
	{family: "bottlerocket", byAWS: true, name: regexp.MustCompile(`^bottlerocket-aws-k8s-(1\.\d+)(?:-[a-z0-9]+)*-(?:x86_64|aarch64|arm64)-v\d`)},
	{family: "bottlerocket", byAWS: true, name: regexp.MustCompile(`^eks-auto-[a-z0-9]+-(1\.\d+)-(?:x86_64|aarch64)-\d`)},
	{family: "windows", byAWS: true, name: regexp.MustCompile(`^Windows_Server-\d{4}-English-(?:Core|Full)-EKS_Optimized-(1\.\d+)-\d`)},
	{family: "ubuntu", name: regexp.MustCompile(`^ubuntu-eks(?:-pro)?/k8s_(1\.\d+)/images/`)},
}

// aliasAmazon is the owner alias of AMIs that AWS itself publishes.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Image.html
const aliasAmazon = "amazon"

// family returns what the name of an AMI shows: the family, "" if none, its Kubernetes minor
// version, and whether AWS publishes it for EKS nodes. Anyone can give an AMI any name: a copy
// keeps the name and family of its original, but is not AWS's.
func family(name, ownerAlias string) (family, kubernetes string, eks bool) {
	for _, p := range patterns {
		if m := p.name.FindStringSubmatch(name); m != nil {
			return p.family, m[1], p.byAWS && ownerAlias == aliasAmazon
		}
	}
	return "", "", false
}
