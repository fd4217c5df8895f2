package archive

import "strings"

// consoleURL is the page of the S3 console that lists what is below a prefix. Each region
// has an address of its own: https://docs.aws.amazon.com/general/latest/gr/mgmt-console.html.
// It is "" in isolated partitions and the European Sovereign Cloud, whose addresses are
// not known here.
func consoleURL(region, bucket, prefix string) string {
	domain := "console.aws.amazon.com"
	switch {
	case strings.HasPrefix(region, "cn-"):
		domain = "console.amazonaws.cn"
	case strings.HasPrefix(region, "us-gov-"):
		domain = "console.amazonaws-us-gov.com"
	case strings.HasPrefix(region, "eusc-"), strings.Contains(region, "-iso"):
		return ""
	}
	return "https://" + region + "." + domain + "/s3/buckets/" + bucket + "?region=" + region + "&prefix=" + prefix
}
