package collect

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
)

// imagesTotal is how many AMIs are described per check, all in one call.
const imagesTotal = 100

func (l *look) readImages() {
	var ids []string
	for c := range l.configs(needImage) {
		ids = append(ids, c.Image)
	}
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
