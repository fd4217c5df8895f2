package roll

import (
	"net/url"
	"strings"
)

// Partition returns the partition of ARNs in a region: aws, aws-cn, aws-us-gov, ...
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
func Partition(region string) string {
	for _, p := range []struct{ region, partition string }{
		{"cn-", "aws-cn"}, {"us-gov-", "aws-us-gov"}, {"eusc-", "aws-eusc"},
		{"us-iso-", "aws-iso"}, {"us-isob-", "aws-iso-b"}, {"eu-isoe-", "aws-iso-e"}, {"us-isof-", "aws-iso-f"},
	} {
		if strings.HasPrefix(region, p.region) {
			return p.partition
		}
	}
	return "aws"
}

// Console returns the URL of the AWS console of a region, without a trailing slash.
// https://docs.aws.amazon.com/general/latest/gr/mgmt-console.html
// It is "" in isolated partitions and the European Sovereign Cloud, whose URLs are not known here.
func Console(region string) string {
	switch Partition(region) {
	case "aws":
		return "https://" + region + ".console.aws.amazon.com"
	case "aws-cn":
		return "https://" + region + ".console.amazonaws.cn"
	case "aws-us-gov":
		return "https://" + region + ".console.amazonaws-us-gov.com"
	}
	return ""
}

// ARN returns the ARN of the cluster.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelastickubernetesservice.html
func (id ClusterID) ARN() string {
	return "arn:" + Partition(id.Region) + ":eks:" + id.Region + ":" + id.Account + ":cluster/" + id.Name
}

// InstanceARN returns the ARN of an instance in the cluster's account and region.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
func (id ClusterID) InstanceARN(i InstanceID) string {
	return "arn:" + Partition(id.Region) + ":ec2:" + id.Region + ":" + id.Account + ":instance/" + string(i)
}

// InstancePage returns the URL of an instance in the EC2 console, "" if the console's URL is not
// known.
func InstancePage(region string, i InstanceID) string {
	return page(region, "/ec2/home?region="+region+"#InstanceDetails:instanceId="+string(i))
}

// ClusterPage returns the URL of a cluster in the EKS console, "" if the console's URL is not
// known.
func ClusterPage(region, name string) string {
	return page(region, "/eks/clusters/"+url.PathEscape(name)+"?region="+region)
}

// BucketPage returns the URL of the S3 console that lists the objects under a prefix, "" if the
// console's URL is not known.
func BucketPage(region, bucket, prefix string) string {
	return page(region, "/s3/buckets/"+bucket+"?region="+region+"&prefix="+prefix)
}

func page(region, path string) string {
	if console := Console(region); console != "" {
		return console + path
	}
	return ""
}
