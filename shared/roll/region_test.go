package roll_test

import (
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestPartitionsAndTheirConsoles(t *testing.T) {
	for region, want := range map[string]struct{ partition, console string }{
		"eu-west-1":      {"aws", "https://eu-west-1.console.aws.amazon.com"},
		"us-east-1":      {"aws", "https://us-east-1.console.aws.amazon.com"},
		"cn-north-1":     {"aws-cn", "https://cn-north-1.console.amazonaws.cn"},
		"us-gov-west-1":  {"aws-us-gov", "https://us-gov-west-1.console.amazonaws-us-gov.com"},
		"eusc-de-east-1": {"aws-eusc", ""},
		"us-iso-east-1":  {"aws-iso", ""},
		"us-isob-east-1": {"aws-iso-b", ""},
		"eu-isoe-west-1": {"aws-iso-e", ""},
		"us-isof-east-1": {"aws-iso-f", ""},
	} {
		expect.Equal(t, roll.Partition(region), want.partition, "the partition of %s", region)
		expect.Equal(t, roll.Console(region), want.console, "the console of %s", region)
		page := roll.InstancePage(region, "i-00000000000000001")
		if wanted := want.console + "/ec2/home?region=" + region + "#InstanceDetails:instanceId=i-00000000000000001"; page != wanted && (page != "" || want.console != "") {
			t.Errorf("the page of an instance in %s is %q", region, page)
		}
		id := roll.ClusterID{Account: "111122223333", Region: region, Name: "demo"}
		expect.Equal(t, id.ARN(), "arn:"+want.partition+":eks:"+region+":111122223333:cluster/demo", "a cluster in %s", region)
		expect.Equal(t, id.InstanceARN("i-00000000000000001"), "arn:"+want.partition+":ec2:"+region+":111122223333:instance/i-00000000000000001", "an instance in %s", region)
	}
}
