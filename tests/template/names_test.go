package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// stacks lists the templates that make stacks, with the parameters that have no default.
var stacks = map[string][]string{
	"template.yaml":         {"Mode", "remediate"},
	"events/rules.yaml":     {"CentralBusArn", "arn:aws:events:eu-west-1:111122223333:event-bus/central"},
	"events/incidents.yaml": {"IncidentUrl", "https://events.pagerduty.com/v2/enqueue", "IncidentKey", "0123456789abcdef0123456789abcdef"},
	"infra/slack.yaml":      {"ChatTopicArn", "arn:aws:sns:eu-west-1:123456789012:rollcall-rollcall-chat", "SlackWorkspaceId", "T0123ABCDEF", "SlackChannelId", "C0123ABCDEF"},
	"infra/stackset.yaml":   {"TemplateUrl", "https://bucket.s3.eu-west-1.amazonaws.com/rollcall.json", "OrganizationalUnitIds", "ou-abcd-11112222", "DeployedRegion", "eu-west-1"},
}

// names lists the properties that may hold the stack's name, with the limits of their
// services.
var names = map[string]struct {
	most    int
	allowed string
}{
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
	"AWS::SQS::Queue QueueName": {80, `^[A-Za-z0-9_-]+(\.fifo)?$`},
	// https://docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html
	"AWS::SNS::Topic TopicName": {256, `^[A-Za-z0-9_-]+$`},
	// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_CreateLogGroup.html
	"AWS::Logs::LogGroup LogGroupName": {512, `^[._/#A-Za-z0-9-]+$`},
	// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutQueryDefinition.html
	"AWS::Logs::QueryDefinition Name": {255, `^[^:*]+$`},
	// https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutDashboard.html
	"AWS::CloudWatch::Dashboard DashboardName": {255, `^[A-Za-z0-9_-]+$`},
	// https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
	"AWS::CloudWatch::Alarm AlarmDescription": {1024, ``},
	// https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateKey.html
	"AWS::KMS::Key Description": {8192, ``},
	// https://docs.aws.amazon.com/chatbot/latest/APIReference/API_CreateSlackChannelConfiguration.html
	"AWS::Chatbot::SlackChannelConfiguration ConfigurationName": {128, `^[A-Za-z0-9_-]+$`},
	// A stack of the set is called StackSet-NAME-UUID, with at most 128 characters.
	"AWS::CloudFormation::StackSet StackSetName": {128 - len("StackSet--") - 36, `^[a-zA-Z][a-zA-Z0-9-]*$`},
}

// A stack of a StackSet has a long name, and any stack may have one: 128 characters.
func TestTheLongestStackNameFitsIntoEveryName(t *testing.T) {
	long := "r" + strings.Repeat("o", 126) + "l"
	id := strings.Replace(StackID, "/"+Stack+"/", "/"+long+"/", 1)
	found := map[string]bool{}
	for file, pairs := range stacks {
		tmpl := other(t, file, append([]string{"AWS::StackName", long, "AWS::StackId", id, "AWS::Region", "ap-southeast-1"}, pairs...)...)
		for logical, r := range tmpl.Resources {
			for property, value := range r.Properties {
				kind := r.Type + " " + property
				limit, named := names[kind]
				text, isText := value.(string)
				if named {
					found[kind] = true
					if !isText || len(text) > limit.most || !regexp.MustCompile(limit.allowed).MatchString(text) {
						t.Errorf("%s: %s %s is %v (%d characters), and may have %d of %s", file, logical, property, value, len(text), limit.most, limit.allowed)
					}
				}
				if data, err := json.Marshal(value); err != nil || strings.Contains(string(data), long) && !named && !longMayBe[kind] {
					t.Errorf("%s: %s %s holds the name of the stack, and no limit of it is known here: %s, %v", file, logical, property, data, err)
				}
			}
		}
	}
	for kind := range names {
		expect.That(t, found[kind], "no template has a %s", kind)
	}
}

// longMayBe lists properties that hold the stack's name and have room for it.
var longMayBe = map[string]bool{
	"AWS::CloudWatch::Dashboard DashboardBody": true, // a text
	"AWS::Lambda::Function Environment":        true, // 4 KB
	"AWS::Lambda::Function LoggingConfig":      true, // a log group
}

// CloudFormation refuses a template with a type that its region does not have, whatever the
// conditions say. So types that some regions lack are in a separate template.
func TestEveryRegionKnowsTheTypesOfTheTemplates(t *testing.T) {
	apart := map[string]string{
		"AWS::Chatbot::SlackChannelConfiguration": "infra/slack.yaml",
		"AWS::Events::ApiDestination":             "events/incidents.yaml",
		"AWS::Events::Connection":                 "events/incidents.yaml",
	}
	regions, err := filepath.Glob(filepath.Join(root, ".build/sam/lib/python*/site-packages/cfnlint/data/schemas/providers/*-*.json"))
	must.That(t, err == nil && len(regions) >= 30, "cfn-lint's lists of types: %v, %v", regions, err)
	lists := map[string]map[string]string{}
	for _, file := range regions {
		data := must.Read(t, file)
		var known map[string]string
		must.Succeed(t, json.Unmarshal(data, &known))
		lists[strings.TrimSuffix(filepath.Base(file), ".json")] = known
	}
	for file, pairs := range stacks {
		for logical, r := range other(t, file, pairs...).Resources {
			var missing []string
			for region, known := range lists {
				if known[r.Type] == "" {
					missing = append(missing, region)
				}
			}
			if len(missing) > 0 && apart[r.Type] != file {
				t.Errorf("%s: %s, a %s, is not known in %s", file, logical, r.Type, fmt.Sprint(missing))
			}
		}
	}
}

// What is retained outlives a stack whose creation failed, unless the policy excepts it, and with a
// fixed name it would block the next stack.
func TestWhatOutlivesAStackBlocksNoOther(t *testing.T) {
	named := []string{"TableName", "BucketName", "LogGroupName", "QueueName", "TopicName", "Name"}
	kept := 0
	for file, pairs := range stacks {
		for logical, r := range other(t, file, pairs...).Resources {
			if !strings.HasPrefix(r.DeletionPolicy, "Retain") {
				continue
			}
			kept++
			expect.That(t, r.DeletionPolicy == "RetainExceptOnCreate", "%s: %s stays when the creation fails: %s", file, logical, r.DeletionPolicy)
			for _, property := range named {
				if name, ok := r.Properties[property]; ok && !strings.Contains(fmt.Sprint(name), "1a2b3c4d") {
					t.Errorf("%s: %s is called %v in the next stack, too", file, logical, name)
				}
			}
		}
	}
	expect.That(t, kept >= 4, "only %d resources outlive a stack", kept)
}

// KMS names the services that use a key with the suffix amazonaws.com in every partition:
// https://docs.aws.amazon.com/kms/latest/developerguide/conditions-kms.html#viaService_table.
// With the suffix of the endpoints no notice can be published in China, and no policy decrypted.
func TestKeysAreUsedByTheSameServicesInEveryPartition(t *testing.T) {
	const key = "arn:aws-cn:kms:cn-north-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	tmpl := read(t, "AWS::Partition", "aws-cn", "AWS::URLSuffix", "amazonaws.com.cn", "AWS::Region", "cn-north-1", "PolicyKeyArn", key)
	got := map[string]bool{}
	for _, r := range tmpl.Resources {
		data, err := json.Marshal(r.Properties)
		must.Succeed(t, err)
		for _, m := range regexp.MustCompile(`"kms:ViaService":"([^"]*)"`).FindAllStringSubmatch(string(data), -1) {
			got[m[1]] = true
		}
	}
	want := map[string]bool{"sns.cn-north-1.amazonaws.com": true, "ssm.cn-north-1.amazonaws.com": true}
	expect.That(t, maps.Equal(got, want), "keys are used by way of %v, want %v", got, want)
}

// Other partitions have other ARNs and hosts. Principals of services are the same everywhere.
func TestNothingIsOfOnePartition(t *testing.T) {
	for file, pairs := range stacks {
		tmpl := other(t, file, append([]string{"AWS::Partition", "aws-cn", "AWS::URLSuffix", "amazonaws.com.cn", "AWS::Region", "cn-north-1", "AWS::StackId", strings.Replace(StackID, "arn:aws:", "arn:aws-cn:", 1)}, pairs...)...)
		for logical, r := range tmpl.Resources {
			given := fmt.Sprint(pairs)
			for _, arn := range regexp.MustCompile(`arn:aws:[^\s"\]]+`).FindAllString(fmt.Sprint(r.Properties), -1) {
				expect.That(t, strings.Contains(given, arn), "%s: %s names %s", file, logical, arn)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "infra", "*.json"))
	must.That(t, err == nil && len(files) >= 4, "published policies: %v, %v", files, err)
	for _, file := range files {
		expect.That(t, !strings.Contains(text(t, "infra", filepath.Base(file)), "arn:aws:"), "%s holds in one partition only", file)
	}
}
