package template

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/lambdas/config"
	"rollcall/shared/ledger"
	"rollcall/tests/cost"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

type queue struct {
	QueueName                 string
	FifoQueue                 bool
	SqsManagedSseEnabled      bool
	ContentBasedDeduplication bool
	MessageRetentionPeriod    int
	VisibilityTimeout         int
	RedrivePolicy             *struct {
		DeadLetterTargetArn string
		MaxReceiveCount     int
	}
	RedriveAllowPolicy *struct {
		RedrivePermission string
		SourceQueueArns   []string
	}
}

func queues(t *testing.T, tmpl *Template) map[string]queue {
	t.Helper()
	all := map[string]queue{}
	for _, id := range tmpl.ofType("AWS::SQS::Queue") {
		var q queue
		must.Succeed(t, tmpl.properties(id, &q))
		all["${"+id+".Arn}"] = q
	}
	return all
}

func TestEveryQueueIsEncryptedAndHasADeadLetterQueueOrIsOne(t *testing.T) {
	all := queues(t, whole(t))
	expect.That(t, len(all) == 7, "%d queues", len(all))
	for arn, q := range all {
		expect.That(t, q.SqsManagedSseEnabled, "%s is not encrypted", arn)
		expect.That(t, q.FifoQueue == strings.HasSuffix(q.QueueName, ".fifo"), "%s is named %s", arn, q.QueueName)
		if q.RedrivePolicy == nil {
			expect.That(t, q.RedriveAllowPolicy != nil, "%s has no dead-letter queue and is none", arn)
			continue
		}
		dead, ok := all[q.RedrivePolicy.DeadLetterTargetArn]
		if !ok || dead.RedriveAllowPolicy == nil {
			t.Errorf("%s sends its dead letters to %s", arn, q.RedrivePolicy.DeadLetterTargetArn)
			continue
		}
		own := fmt.Sprintf("arn:aws:sqs:%s:%s:%s", Region, Account, q.QueueName)
		if dead.RedriveAllowPolicy.RedrivePermission != "byQueue" || !slices.Equal(dead.RedriveAllowPolicy.SourceQueueArns, []string{own}) {
			t.Errorf("the dead letters of %s are taken from %+v", own, dead.RedriveAllowPolicy)
		}
		expect.That(t, dead.FifoQueue == q.FifoQueue, "of %s and its dead-letter queue one is FIFO and one is not", arn)
		expect.That(t, dead.MessageRetentionPeriod > q.MessageRetentionPeriod, "%s keeps messages for longer than its dead-letter queue, which counts from their first day", arn)
		expect.That(t, q.RedrivePolicy.MaxReceiveCount >= 2, "%s gives up at the first attempt", arn)
	}
	checks := all["${ChecksQueue.Arn}"]
	expect.That(t, checks.FifoQueue && checks.ContentBasedDeduplication && checks.RedrivePolicy.MaxReceiveCount == 2, "the queue of checks: %+v", checks)
	expect.That(t, all["${OrdersQueue.Arn}"].FifoQueue, "orders of one cluster are not kept apart")
}

func TestAMessageIsHiddenForAsLongAsItsFunctionWorks(t *testing.T) {
	tmpl := whole(t)
	all := queues(t, tmpl)
	for _, folder := range []string{"statechange", "inspect", "remediate"} {
		f := function(t, tmpl, folder)
		q := all[f.Source.Queue]
		least, most := 6*f.Timeout+f.Source.WindowSeconds, 43200
		if q.FifoQueue { // the other messages of a cluster wait for a crashed one
			least, most = f.Timeout+1, f.Timeout+60
		}
		expect.That(t, q.VisibilityTimeout >= least && q.VisibilityTimeout <= most, "%s: its messages are hidden for %d s, want %d to %d", folder, q.VisibilityTimeout, least, most)
		if q.FifoQueue && (f.Source.BatchSize != 1 || f.Source.WindowSeconds != 0) {
			t.Errorf("%s takes %+v", folder, f.Source)
		}
		expect.That(t, f.Source.ReportsFailures, "%s: the messages that it says have failed would be deleted", folder)
	}
}

// A burst of 5,000 launches in a minute may cost 100 EC2 calls at most. One call
// describes 200 instances. A batch ends when it is full or its window is over, and Lambda
// fills five in parallel, one per poller.
func TestABurstFitsIntoTheBatches(t *testing.T) {
	const events, perCall, pollers, most = 5000, 200, 5, 100
	s := function(t, read(t), "statechange").Source
	callsPerBatch := (s.BatchSize + perCall - 1) / perCall
	full := (events + s.BatchSize - 1) / s.BatchSize
	begun := pollers * 60 / s.WindowSeconds
	calls := (full + begun) * callsPerBatch
	expect.That(t, calls <= most, "up to %d calls for %+v", calls, s)
	expect.That(t, s.WindowSeconds <= 30, "a warning must not wait for its batch")
}

func TestOnlyTheRulesMaySendEvents(t *testing.T) {
	tmpl := read(t)
	statements, err := tmpl.Statements("EventsQueuePolicy", "PolicyDocument")
	must.Succeed(t, err)
	statements = slices.DeleteFunc(statements, func(s Statement) bool { return s.Effect == "Deny" }) // see TestNobodySpeaksWithoutTLS
	want := []Statement{{
		Sid: "OnlyTheRules", Effect: "Allow", Actions: []string{"sqs:SendMessage"}, Resources: []string{"${EventsQueue.Arn}", "${EventsDeadLetters.Arn}"},
		Principals: map[string][]string{"Service": {"events.amazonaws.com"}},
		Conditions: map[string]map[string][]string{"ArnEquals": {"aws:SourceArn": {"${StateChanges.Arn}", "${HealthEvents.Arn}", "${SpotEvents.Arn}"}}},
	}}
	expect.Same(t, statements, want, "queue policy")
	for _, id := range Rules() {
		var rule struct {
			Targets []struct {
				Arn              string
				DeadLetterConfig struct{ Arn string }
			}
		}
		must.Succeed(t, tmpl.properties(id, &rule))
		if len(rule.Targets) != 1 || rule.Targets[0].Arn != "${EventsQueue.Arn}" || rule.Targets[0].DeadLetterConfig.Arn != "${EventsDeadLetters.Arn}" {
			t.Errorf("targets of %s %+v", id, rule.Targets)
		}
	}
}

func TestTheLedgerIsKeptEncryptedAndOutlivesTheStack(t *testing.T) {
	tmpl := read(t)
	ids := tmpl.ofType("AWS::DynamoDB::Table")
	must.That(t, slices.Equal(ids, []string{"Ledger"}), "tables %v", ids)
	want := `{"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],` +
		`"BillingMode":"PAY_PER_REQUEST","DeletionProtectionEnabled":false,"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],` +
		`"PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true},"SSESpecification":{"SSEEnabled":true},"TimeToLiveSpecification":{"AttributeName":"expires","Enabled":true}}`
	got, err := json.Marshal(tmpl.Resources["Ledger"].Properties)
	must.Succeed(t, err)
	expect.That(t, string(got) == want, "the table is %s, want %s", got, want)
	outlives(t, tmpl, "Ledger")
}

// A new stack over what an earlier one left forgets nothing.
func TestAnEarlierTableAndBucketAreAdopted(t *testing.T) {
	tmpl := read(t, "Mode", "remediate", "ChatApproval", "true", "ExistingTable", "old-table", "ExistingBucket", "old-bucket")
	for _, kind := range []string{"AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::S3::BucketPolicy"} {
		ids := tmpl.ofType(kind)
		expect.That(t, len(ids) == 0, "it creates %v", ids)
	}
	all, err := json.Marshal([]any{tmpl.Resources, tmpl.Outputs})
	must.Succeed(t, err)
	for _, ref := range []string{"${Ledger", "${EvidenceBucket"} {
		expect.That(t, !strings.Contains(string(all), ref), "something refers to %s}, which does not exist", ref)
	}
	for folder := range Functions {
		f := function(t, tmpl, folder)
		expect.Equal(t, f.Environment[config.Table], "old-table", "%s uses the table", folder)
		may := fmt.Sprint(f.Statements)
		if !strings.Contains(may, "arn:aws:dynamodb:eu-west-1:123456789012:table/old-table") || f.Environment[config.EvidenceBucket] != "" && !strings.Contains(may, "arn:aws:s3:::old-bucket/*") {
			t.Errorf("%s may only %s", folder, may)
		}
	}
	expect.That(t, tmpl.Outputs["LedgerTableName"] == "old-table" && tmpl.Outputs["EvidenceBucket"] == "old-bucket", "outputs %v", tmpl.Outputs)
}

// With a key of one's own nothing is encrypted with another, and the stack makes none.
func TestOneKeyEncryptsEverything(t *testing.T) {
	const key = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	tmpl := read(t, "Mode", "remediate", "KmsKeyArn", key)
	ids := tmpl.ofType("AWS::KMS::Key")
	expect.That(t, len(ids) == 0, "it makes the keys %v", ids)
	encrypted := 0
	for id, r := range tmpl.Resources {
		var got any
		switch r.Type {
		case "AWS::Logs::LogGroup":
			got = r.Properties["KmsKeyId"]
		case "AWS::SQS::Queue":
			got = r.Properties["KmsMasterKeyId"]
			expect.That(t, r.Properties["SqsManagedSseEnabled"] == nil, "%s has two keys, which SQS refuses", id)
		case "AWS::SNS::Topic":
			got = r.Properties["KmsMasterKeyId"]
		case "AWS::DynamoDB::Table":
			s := r.Properties["SSESpecification"].(map[string]any)
			got = s["KMSMasterKeyId"]
			expect.That(t, s["SSEType"] == "KMS" && s["SSEEnabled"] == true, "%s: %v", id, s)
		case "AWS::S3::Bucket":
			got = evidence(t, tmpl).BucketEncryption.ServerSideEncryptionConfiguration[0].ServerSideEncryptionByDefault.KMSMasterKeyID
		default:
			continue
		}
		if encrypted++; got != key {
			t.Errorf("%s is encrypted with %v", id, got)
		}
	}
	expect.That(t, encrypted == 5+7+2+1+1, "only %d of them are encrypted", encrypted)
}

// Operators copy this key policy. Each statement is one use of the key; the roles need no
// permission of their own. See the pages on key policies of DynamoDB, CloudWatch Logs, SQS and SNS.
func TestTheKeyPolicyLetsTheServicesInThatUseTheKey(t *testing.T) {
	var d document
	must.Succeed(t, json.Unmarshal([]byte(text(t, "infra", "key-policy.json")), &d))
	got := map[string]string{}
	for _, s := range d.Statement {
		expect.Equal(t, s.Effect, "Allow", "%s is a", s.Sid)
		got[s.Sid] = fmt.Sprint(s.Principals, s.Actions, s.Conditions)
	}
	all := "kms:Decrypt kms:DescribeKey kms:Encrypt kms:GenerateDataKey* kms:ReEncrypt*"
	want := map[string]string{
		"TheAccountAdministersIt":     "map[AWS:[arn:PARTITION:iam::111122223333:root]] [kms:*] map[]",
		"WhoeverMayUseWhatItEncrypts": "map[AWS:[*]] [" + all + "] map[StringEquals:map[kms:CallerAccount:[111122223333] kms:ViaService:[dynamodb.REGION.amazonaws.com s3.REGION.amazonaws.com sns.REGION.amazonaws.com sqs.REGION.amazonaws.com]]]",
		"TheTableKeepsAGrant":         "map[AWS:[*]] [kms:CreateGrant] map[Bool:map[kms:GrantIsForAWSResource:[true]] StringEquals:map[kms:CallerAccount:[111122223333] kms:ViaService:[dynamodb.REGION.amazonaws.com]]]",
		"LogsOfTheFunctions":          "map[Service:[logs.REGION.amazonaws.com]] [" + all + "] map[ArnLike:map[kms:EncryptionContext:aws:logs:arn:[arn:PARTITION:logs:REGION:111122223333:log-group:/aws/lambda/*]]]",
		"AlarmsOfThisAccount":         "map[Service:[cloudwatch.amazonaws.com]] [kms:Decrypt kms:GenerateDataKey] map[StringEquals:map[aws:SourceAccount:[111122223333]]]",
		"RulesSendToTheQueue":         "map[Service:[events.amazonaws.com]] [kms:Decrypt kms:GenerateDataKey] map[]",
	}
	expect.Same(t, got, want, "got")
}

// outlives checks that a resource is retained when the stack is deleted, and deleted if the stack's
// creation fails: what a failed creation leaves would only block the next one.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html
func outlives(t *testing.T, tmpl *Template, id string) {
	t.Helper()
	if r := tmpl.Resources[id]; r.DeletionPolicy != "RetainExceptOnCreate" || r.UpdateReplacePolicy != "Retain" {
		t.Errorf("%s goes with the stack: %q, or when it is replaced: %q", id, r.DeletionPolicy, r.UpdateReplacePolicy)
	}
}

// CloudWatch may not use alias/aws/sns, so the topic has its own key that CloudWatch may
// use.
func TestAlarmsCanBePublishedToTheEncryptedTopic(t *testing.T) {
	tmpl := read(t)
	for _, id := range tmpl.ofType("AWS::SNS::Topic") {
		expect.Equal(t, tmpl.Resources[id].Properties["KmsMasterKeyId"], "${NoticesKey.Arn}", "%s is encrypted with", id)
	}
	key, err := tmpl.Statements("NoticesKey", "KeyPolicy")
	must.Succeed(t, err)
	bySid := map[string]Statement{}
	for _, s := range key {
		bySid[s.Sid] = s
	}
	alarms := Statement{
		Sid: "AlarmsOfThisAccount", Effect: "Allow", Actions: []string{"kms:Decrypt", "kms:GenerateDataKey"}, Resources: []string{"*"},
		Principals: map[string][]string{"Service": {"cloudwatch.amazonaws.com"}},
		Conditions: map[string]map[string][]string{"StringEquals": {"aws:SourceAccount": {Account}}},
	}
	expect.Same(t, bySid["AlarmsOfThisAccount"], alarms, "alarms and the key")
	account := map[string]map[string][]string{"StringEquals": {"kms:CallerAccount": {Account}, "kms:ViaService": {"sns.eu-west-1.amazonaws.com"}}}
	expect.Same(t, bySid["WhoeverMayPublishHere"].Conditions, account, "who else may use the key")
	topics := tmpl.ofType("AWS::SNS::Topic")
	expect.List(t, topics, []string{"ChatTopic", "NoticesTopic"}, "topics")
	for policy, topic := range map[string]string{"NoticesPolicy": "${NoticesTopic}", "ChatPolicy": "${ChatTopic}"} {
		s, err := tmpl.Statements(policy, "PolicyDocument")
		must.Succeed(t, err)
		s = slices.DeleteFunc(s, func(s Statement) bool { return s.Effect == "Deny" }) // see TestNobodySpeaksWithoutTLS
		if len(s) != 1 || !cmp.Equal(s[0].Principals, map[string][]string{"Service": {"cloudwatch.amazonaws.com"}}) || !slices.Equal(s[0].Resources, []string{topic}) || !slices.Equal(s[0].Actions, []string{"sns:Publish"}) ||
			!cmp.Equal(s[0].Conditions["ArnLike"], map[string][]string{"aws:SourceArn": {"arn:aws:cloudwatch:eu-west-1:123456789012:alarm:*"}}) {
			t.Errorf("%s: %+v", policy, s)
		}
		expect.Equal(t, fmt.Sprint(tmpl.Resources[policy].Properties["Topics"]), "["+topic+"]", "%s is that of those named", policy)
	}
}

// With the button, a channel may also invoke the one function that approves.
func TestASlackChannelMayApprove(t *testing.T) {
	// In a region with a name as long as any that has Amazon Q Developer.
	name := fmt.Sprint(whole(t).Resources["ApproveFunction"].Properties["FunctionName"])
	function := "arn:aws:lambda:ap-southeast-2:123456789012:function:" + name
	tmpl := other(t, "infra/slack.yaml", "ChatTopicArn", "arn:aws:sns:eu-west-1:123456789012:rollcall-rollcall-chat", "SlackWorkspaceId", "T0123ABCDEF", "SlackChannelId", "C0123ABCDEF", "ApproveFunctionArn", function)
	channel := tmpl.Resources["SlackChannel"].Properties
	if got := fmt.Sprint(channel["GuardrailPolicies"], channel["CustomizationResourceArns"], tmpl.Resources["SlackRole"].Properties["ManagedPolicyArns"]); got != "[arn:aws:iam::aws:policy/CloudWatchReadOnlyAccess ${MayApprove}] [${ApproveButton.CustomActionArn}] [${MayApprove}]" {
		t.Error(got)
	}
	may, err := tmpl.Statements("MayApprove", "PolicyDocument")
	if err != nil || len(may) != 1 || !slices.Equal(may[0].Actions, []string{"lambda:InvokeFunction"}) || !slices.Equal(may[0].Resources, []string{function}) {
		t.Errorf("it may %+v, %v", may, err)
	}
	var button struct{ Definition struct{ CommandText string } }
	must.Succeed(t, tmpl.properties("ApproveButton", &button))
	command := button.Definition.CommandText
	want := "lambda invoke --function-name " + name + ` --region ap-southeast-2 --payload {"order":"$o"}`
	expect.That(t, command == want && len(command) <= 100, "the button says %s (%d characters), want %s", command, len(command), want)
}

// The members of a channel can do what both the role and the guardrail allow.
func TestASlackChannelMayOnlyLook(t *testing.T) {
	tmpl := other(t, "infra/slack.yaml", "ChatTopicArn", "arn:aws:sns:eu-west-1:123456789012:rollcall-rollcall-chat", "SlackWorkspaceId", "T0123ABCDEF", "SlackChannelId", "C0123ABCDEF")
	want := map[string]any{
		"ConfigurationName": "rollcall-1a2b3c4d", "SlackWorkspaceId": "T0123ABCDEF", "SlackChannelId": "C0123ABCDEF",
		"SnsTopicArns": []any{"arn:aws:sns:eu-west-1:123456789012:rollcall-rollcall-chat"}, "IamRoleArn": "${SlackRole.Arn}", "GuardrailPolicies": []any{"arn:aws:iam::aws:policy/CloudWatchReadOnlyAccess"},
	}
	expect.Same(t, tmpl.Resources["SlackChannel"].Properties, want, "the channel")
	may, err := tmpl.Role("SlackRole")
	must.Succeed(t, err)
	expect.That(t, len(may) == 1 && slices.Equal(may[0].Actions, []string{"cloudwatch:Describe*", "cloudwatch:Get*", "cloudwatch:List*"}), "it may %+v", may)
	trust, err := tmpl.Statements("SlackRole", "AssumeRolePolicyDocument")
	expect.That(t, err == nil && len(trust) == 1 && cmp.Equal(trust[0].Principals, map[string][]string{"Service": {"chatbot.amazonaws.com"}}), "it trusts %+v, %v", trust, err)
}

func TestEveryFunctionIsBoundedAndLogs(t *testing.T) {
	tmpl := whole(t)
	ids := tmpl.ofType("AWS::Lambda::Function")
	expect.That(t, len(ids) == len(Functions), "functions %v", ids)
	atOnce := 0
	for folder, id := range Functions {
		f := function(t, tmpl, folder)
		// An account may have a concurrency limit of ten, of which nothing can be reserved:
		// https://docs.aws.amazon.com/lambda/latest/api/API_PutFunctionConcurrency.html
		expect.That(t, f.Reserved == 0, "%s reserves %d executions by default", folder, f.Reserved)
		if folder == "approve" {
			// a person's button
		} else if f.Source == nil {
			atOnce++ // the sweep
		} else if atOnce += f.Source.Concurrency; f.Source.Concurrency < 2 {
			t.Errorf("%s has no maximum concurrency", folder)
		}
		logs := tmpl.Resources[strings.Trim(f.LogGroup, "${}")]
		expect.That(t, logs.Type == "AWS::Logs::LogGroup" && logs.Properties["RetentionInDays"] == "30", "%s logs to %s: %+v", folder, f.LogGroup, logs)
		p := tmpl.Resources[id].Properties
		if p["Runtime"] != "provided.al2023" || !cmp.Equal(p["Architectures"], []any{"arm64"}) || p["Handler"] != "bootstrap" {
			t.Errorf("%s: %v %v %v", folder, p["Runtime"], p["Architectures"], p["Handler"])
		}
	}
	expect.That(t, atOnce <= 10, "%d executions at once: a new account may run ten", atOnce)
	f := function(t, read(t, "ReserveConcurrency", "true"), "sweep")
	expect.That(t, f.Reserved == 1, "ReserveConcurrency=true reserves %d", f.Reserved)
	// With a fixed name a second stack could not be deployed beside the first.
	name, ok := tmpl.Resources["SweepFunctionRate"].Properties["Name"]
	expect.That(t, !ok, "the schedule is named %v", name)
}

// asked returns the variables that the main of a function reads.
func asked(t *testing.T, folder string) []string {
	t.Helper()
	values := map[string]string{}
	config, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "shared", "lambdas", "config", "config.go"), nil, 0)
	must.Succeed(t, err)
	ast.Inspect(config, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				values[spec.Names[0].Name], _ = strconv.Unquote(value.Value)
			}
		}
		return true
	})
	main, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "functions", folder, "main.go"), nil, 0)
	must.Succeed(t, err)
	names := []string{values["DetailedMetrics"]} // start.Begin asks for it itself
	ast.Inspect(main, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Begin" {
			return true
		}
		for _, argument := range call.Args {
			if name, ok := argument.(*ast.SelectorExpr); ok {
				if value, ok := values[name.Sel.Name]; ok {
					names = append(names, value)
				}
			}
		}
		return true
	})
	must.That(t, len(names) > 1, "functions/%s asks for no variables", folder)
	slices.Sort(names)
	return names
}

func TestAFunctionGetsTheVariablesThatItReadsAndNoOthers(t *testing.T) {
	tmpl := whole(t)
	for folder := range Functions {
		var set []string
		for name := range function(t, tmpl, folder).Environment {
			set = append(set, name)
		}
		slices.Sort(set)
		diff := cmp.Diff(asked(t, folder), set)
		expect.That(t, diff == "", "variables of %s (-read +set):\n%s", folder, diff)
	}
}

func TestParametersReachTheFunctions(t *testing.T) {
	tmpl := read(t, "Mode", "remediate", "SweepRate", "rate(7 minutes)", "VpcIds", "vpc-1,vpc-2", "WarnAfter", "1h30m", "Deadline", "2h", "PolicyParameter", "/a/b", "LogRetentionDays", "7", "EvidenceDays", "8")
	for variable, want := range map[string]string{
		"inspect ROLLCALL_MODE": "remediate", "remediate ROLLCALL_MODE": "remediate",
		"sweep ROLLCALL_SWEEP_INTERVAL": "7m", "inspect ROLLCALL_SWEEP_INTERVAL": "7m", "sweep ROLLCALL_VPC_IDS": "vpc-1,vpc-2", "inspect ROLLCALL_VPC_IDS": "vpc-1,vpc-2",
		"statechange ROLLCALL_WARN_AFTER": "1h30m", "inspect ROLLCALL_DEADLINE": "2h", "remediate ROLLCALL_POLICY_PARAMETER": "/a/b",
		"sweep ROLLCALL_CHECKS_QUEUE_URL": "${ChecksQueue}", "statechange ROLLCALL_CHECKS_QUEUE_ARN": "${ChecksQueue.Arn}",
		"inspect ROLLCALL_EVIDENCE_BUCKET": "${EvidenceBucket}", "remediate ROLLCALL_EVIDENCE_BUCKET": "${EvidenceBucket}",
		"inspect ROLLCALL_ORDERS_QUEUE_URL": "${OrdersQueue}", "inspect ROLLCALL_SCHEDULE_ROLE_ARN": "${SchedulesRole.Arn}",
	} {
		folder, name, _ := strings.Cut(variable, " ")
		expect.Equal(t, function(t, tmpl, folder).Environment[name], want, "%s", variable)
	}
	got := evidence(t, tmpl).LifecycleConfiguration.Rules[0].ExpirationInDays
	expect.That(t, got == "8", "evidence is kept for %s days", got)
	for _, value := range []string{"sweep ROLLCALL_SWEEP_INTERVAL", "statechange ROLLCALL_WARN_AFTER", "statechange ROLLCALL_DEADLINE"} {
		folder, name, _ := strings.Cut(value, " ")
		_, err := time.ParseDuration(function(t, read(t), folder).Environment[name])
		expect.That(t, err == nil, "the default of %s: %v", value, err)
	}
}

// Every duration that the template accepts is valid for the functions.
func TestEveryDurationThatIsAllowedCanBeUsed(t *testing.T) {
	data, err := transformed()
	must.Succeed(t, err)
	var raw struct {
		Parameters map[string]struct{ AllowedPattern string }
	}
	must.Succeed(t, json.Unmarshal(data, &raw))
	for name, variable := range map[string]string{"WarnAfter": config.WarnAfter, "Deadline": config.Deadline} {
		allowed, tried := regexp.MustCompile(raw.Parameters[name].AllowedPattern), 0
		for _, h := range []string{"", "1h", "99h", "699h", "700h", "719h", "720h", "721h", "999h", "9999h"} {
			for _, m := range []string{"", "1m", "59m", "99m", "999m", "9999m", "43201m", "99999m"} {
				for _, s := range []string{"", "1s", "99s", "999s", "999999s", "9999999s"} {
					value := h + m + s
					if !allowed.MatchString(value) {
						continue
					}
					tried++
					got, err := config.Read(func(string) (string, bool) { return value, true }, variable)
					expect.That(t, err == nil && got.Tolerances == nil, "%s=%s: %v, %v", name, value, err, got.Tolerances)
				}
			}
		}
		expect.That(t, tried >= 30, "%s allows only %d of the durations that were tried", name, tried)
	}
}

func TestWhatParametersAllow(t *testing.T) {
	data, err := transformed()
	must.Succeed(t, err)
	var raw struct {
		Parameters map[string]struct {
			Default                                            any
			AllowedPattern, ConstraintDescription, Description string
			AllowedValues                                      []any
			MinValue, MaxValue                                 *float64
		}
	}
	must.Succeed(t, json.Unmarshal(data, &raw))
	for name, p := range raw.Parameters {
		bounded := p.MinValue != nil && p.MaxValue != nil
		if number, ok := p.Default.(float64); bounded && (!ok || number < *p.MinValue || number > *p.MaxValue) {
			t.Errorf("%s does not allow its default", name)
		}
		ways := 0
		for _, way := range []bool{p.AllowedPattern != "", len(p.AllowedValues) > 0, bounded} {
			if way {
				ways++
			}
		}
		if p.Default == nil || p.Description == "" || ways != 1 || (len(p.AllowedValues) == 0) != (p.ConstraintDescription != "") {
			t.Errorf("%s is not described, bounded and defaulted: %+v", name, p)
		}
		if p.AllowedPattern != "" && !regexp.MustCompile(p.AllowedPattern).MatchString(fmt.Sprint(p.Default)) {
			t.Errorf("%s does not allow its default", name)
		}
	}
	expect.That(t, raw.Parameters["Mode"].Default == "observe", "a deployment does not begin by observing")
	for _, c := range []struct {
		parameter, good, bad string
	}{
		{"PolicyParameter", "/rollcall/policy", "rollcall/policy"},
		{"PolicyParameter", "/a", "/a b"},
		{"PolicyParameter", "/a/b/c", "/a/*"}, // it becomes part of an ARN
		{"WarnAfter", "90s", "5"},
		{"Deadline", "1h30m", "0m"},
		{"WarnAfter", "720h", "721h"},
		{"WarnAfter", "719h", "720h1m"},
		{"Deadline", "9999m59s", "99999m"},
		{"Deadline", "999999s", "9999999s"},
		{"Deadline", "699h99m99s", "999h"},
		{"PolicyKeyArn", "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab", "arn:aws:kms:eu-west-1:123456789012:alias/policy"},
		{"SweepRate", "rate(2 minutes)", "rate(1 minutes)"},
		{"SweepRate", "rate(10 minutes)", "rate(11 minutes)"},
		{"VpcIds", "vpc-0a1b,vpc-2c3d", "vpc-0a1b, vpc-2c3d"},
		{"SubnetIds", "subnet-0a1b", "vpc-0a1b"},
		{"SecurityGroupIds", "sg-0a1b,sg-2c3d", "sg-0a1b,"},
		{"NotificationEmail", "ops@example.com", "ops@example"},
	} {
		pattern := regexp.MustCompile(raw.Parameters[c.parameter].AllowedPattern)
		if !pattern.MatchString(c.good) || pattern.MatchString(c.bad) {
			t.Errorf("%s: %q allowed: %v, %q allowed: %v", c.parameter, c.good, pattern.MatchString(c.good), c.bad, pattern.MatchString(c.bad))
		}
	}
}

// Half of a pair would deploy, and do less than the operator expects.
func TestHalfOfAPairIsRefused(t *testing.T) {
	for _, c := range []struct {
		pairs []string
		want  string
	}{
		{nil, ""},
		{[]string{"SubnetIds", "subnet-0a1b"}, "SubnetIds needs SecurityGroupIds"},
		{[]string{"SecurityGroupIds", "sg-0a1b"}, "SecurityGroupIds needs SubnetIds"},
		{[]string{"SubnetIds", "subnet-0a1b", "SecurityGroupIds", "sg-0a1b"}, ""},
		{[]string{"HostLogs", "true"}, ""},
		{[]string{"HostLogs", "true", "ReadConsoleAndUserData", "false"}, "HostLogs needs ReadConsoleAndUserData, since the logs may hold secrets too"},
	} {
		expect.Equal(t, strings.Join(read(t, c.pairs...).Refused, "; "), c.want, "%v: refused", c.pairs)
	}
}

// A stack that creates a parameter writes its own value again whenever the resource
// changes, such as by the stack's tags: the operator's policy would be lost.
func TestNoStackWritesThePolicy(t *testing.T) {
	for file, pairs := range stacks {
		ids := other(t, file, pairs...).ofType("AWS::SSM::Parameter")
		expect.That(t, len(ids) == 0, "%s makes the parameters %v", file, ids)
	}
}

type alarm struct {
	AlarmDescription, Namespace, MetricName, Statistic, ComparisonOperator, TreatMissingData string
	AlarmActions, OKActions                                                                  []string
	Period, EvaluationPeriods, Threshold                                                     int
	Dimensions                                                                               dimensions
	Metrics                                                                                  []struct {
		ID, Expression string
		ReturnData     *bool
		MetricStat     *struct {
			Metric struct {
				Namespace, MetricName string
				Dimensions            dimensions
			}
			Stat   string
			Period int
		}
	}
}

type dimensions []struct{ Name, Value string }

func (d dimensions) String() (text string) {
	for _, some := range d {
		text += " " + some.Name + "=" + some.Value
	}
	return text
}

// watches returns the metrics that the alarm watches.
func (a alarm) watches() (all []string) {
	if len(a.Metrics) == 0 {
		return []string{a.Namespace + " " + a.MetricName}
	}
	for _, m := range a.Metrics {
		if s := m.MetricStat; s != nil {
			all = append(all, s.Metric.Namespace+" "+s.Metric.MetricName)
		}
	}
	return all
}

// about says what the alarm watches, and when it rings.
func (a alarm) about() string {
	ends := fmt.Sprintf("%s %d, %d x", a.ComparisonOperator, a.Threshold, a.EvaluationPeriods)
	if len(a.Metrics) == 0 {
		return fmt.Sprintf("%s %s%s %s %s %d s, %s", a.Namespace, a.MetricName, a.Dimensions, a.Statistic, ends, a.Period, a.TreatMissingData)
	}
	var formula string
	var of []string
	for _, m := range a.Metrics {
		if s := m.MetricStat; s != nil && m.ReturnData != nil && !*m.ReturnData {
			of = append(of, fmt.Sprintf("%s %s%s %s %d s", s.Metric.Namespace, s.Metric.MetricName, s.Metric.Dimensions, s.Stat, s.Period))
		} else {
			formula += m.Expression
		}
	}
	return fmt.Sprintf("%s of %s %s, %s", formula, strings.Join(of, ", "), ends, a.TreatMissingData)
}

func TestAlarms(t *testing.T) {
	tmpl := whole(t)
	want := map[string]string{
		"ChecksMissing":  "Rollcall ChecksCompleted Sum LessThanThreshold 1, 3 x 300 s, breaching",
		"PolicyInvalid":  "Rollcall PolicyInvalid Sum GreaterThanThreshold 0, 1 x 900 s, notBreaching",
		"FindingTooOld":  "Rollcall OldestFindingSeconds Maximum GreaterThanOrEqualToThreshold 86400, 1 x 10800 s, notBreaching",
		"ActsFailed":     "Rollcall ActionsFailed Sum GreaterThanThreshold 0, 1 x 300 s, notBreaching",
		"NoticesUnsent":  "Rollcall NoticesFailed Sum GreaterThanThreshold 0, 1 x 300 s, notBreaching",
		"CallsThrottled": "Rollcall APICallsThrottled Sum GreaterThanThreshold 20, 3 x 300 s, notBreaching",
		// An empty dead-letter queue writes no data, and neither does a function that does not
		// run.
		"MessagesDropped": "Rollcall MessagesDropped Sum GreaterThanThreshold 0, 1 x 300 s, notBreaching",
		"EventsDead":      "AWS/SQS ApproximateNumberOfMessagesVisible QueueName=${EventsDeadLetters.QueueName} Maximum GreaterThanThreshold 0, 1 x 300 s, notBreaching",
		"ChecksDead":      "AWS/SQS ApproximateNumberOfMessagesVisible QueueName=${ChecksDeadLetters.QueueName} Maximum GreaterThanThreshold 0, 1 x 300 s, notBreaching",
		"OrdersDead":      "AWS/SQS ApproximateNumberOfMessagesVisible QueueName=${OrdersDeadLetters.QueueName} Maximum GreaterThanThreshold 0, 1 x 300 s, notBreaching",
		"SweepsDead":      "AWS/SQS ApproximateNumberOfMessagesVisible QueueName=${SweepsDeadLetters.QueueName} Maximum GreaterThanThreshold 0, 1 x 300 s, notBreaching",
		"ClusterUnread":   "Rollcall ClusterUnreadSeconds Maximum GreaterThanOrEqualToThreshold 1800, 1 x 900 s, notBreaching",
		"EventsLate":      "AWS/SQS ApproximateAgeOfOldestMessage QueueName=${EventsQueue.QueueName} Maximum GreaterThanOrEqualToThreshold 900, 1 x 300 s, notBreaching",
		"ChecksLate":      "AWS/SQS ApproximateAgeOfOldestMessage QueueName=${ChecksQueue.QueueName} Maximum GreaterThanOrEqualToThreshold 900, 1 x 300 s, notBreaching",
		"OrdersLate":      "AWS/SQS ApproximateAgeOfOldestMessage QueueName=${OrdersQueue.QueueName} Maximum GreaterThanOrEqualToThreshold 900, 1 x 300 s, notBreaching",
		"FunctionsThrottled": "SUM(METRICS()) of AWS/Lambda Throttles FunctionName=${StateChangeFunction} Sum 300 s, AWS/Lambda Throttles FunctionName=${SweepFunction} Sum 300 s, " +
			"AWS/Lambda Throttles FunctionName=${InspectFunction} Sum 300 s, AWS/Lambda Throttles FunctionName=${RemediateFunction} Sum 300 s GreaterThanThreshold 0, 3 x, notBreaching",
		"StateChangeErrors": "AWS/Lambda Errors FunctionName=${StateChangeFunction} Sum GreaterThanThreshold 0, 1 x 300 s, notBreaching",
		"SweepErrors":       "AWS/Lambda Errors FunctionName=${SweepFunction} Sum GreaterThanThreshold 0, 1 x 300 s, notBreaching",
		"InspectErrors":     "AWS/Lambda Errors FunctionName=${InspectFunction} Sum GreaterThanThreshold 0, 1 x 300 s, notBreaching",
		"RemediateErrors":   "AWS/Lambda Errors FunctionName=${RemediateFunction} Sum GreaterThanThreshold 0, 1 x 300 s, notBreaching",
	}
	got, watched := map[string]string{}, 0
	everybody := []string{"${NoticesTopic}", "${ChatTopic}"}
	for _, id := range tmpl.ofType("AWS::CloudWatch::Alarm") {
		var a alarm
		must.Succeed(t, tmpl.properties(id, &a))
		got[id] = a.about()
		watched += len(a.watches())
		if !slices.Equal(a.AlarmActions, everybody) || len(a.OKActions) > 0 && !slices.Equal(a.OKActions, everybody) {
			t.Errorf("%s goes to %v, and when it is over to %v", id, a.AlarmActions, a.OKActions)
		}
	}
	expect.Same(t, got, want, "alarms")
	expect.That(t, watched == cost.Alarmed, "they watch %d metrics, and the table of costs counts %d", watched, cost.Alarmed)
	for arn, q := range queues(t, tmpl) {
		if name := strings.TrimSuffix(arn, ".Arn}") + ".QueueName}"; q.RedrivePolicy == nil && !strings.Contains(fmt.Sprint(got), name) {
			t.Errorf("no alarm watches %s", name)
		}
	}
}

// CloudFormation takes an update back if one of at most five alarms rings, and refuses one with an
// alarm that does not exist, so only those of every mode will do. It cannot be an alias with a
// version: SAM publishes none when only a parameter changes.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_RollbackConfiguration.html
func TestAnUpdateIsTakenBackWhenAFunctionFails(t *testing.T) {
	for _, mode := range []string{"observe", "notify", "remediate"} {
		tmpl := read(t, "Mode", mode)
		var r struct {
			MonitoringTimeInMinutes int
			RollbackTriggers        []struct{ Arn, Type string }
		}
		text, _ := tmpl.Outputs["RollbackConfiguration"].(string)
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%s: %v: %s", mode, err, text)
		}
		slowest := time.Duration(0) // alarm, until it rings
		for _, trigger := range r.RollbackTriggers {
			id := strings.TrimSuffix(strings.TrimPrefix(trigger.Arn, "${"), ".Arn}")
			var a alarm
			if err := tmpl.properties(id, &a); err != nil || tmpl.Resources[id].Type != trigger.Type {
				t.Errorf("%s: %s is no %s (%v)", mode, id, trigger.Type, err)
				continue
			}
			slowest = max(slowest, time.Duration(a.Period*a.EvaluationPeriods)*time.Second)
		}
		if n := len(r.RollbackTriggers); n < 4 || n > 5 || slowest >= time.Duration(r.MonitoringTimeInMinutes)*time.Minute {
			t.Errorf("%s: %d alarms, of which one takes %s, in %d minutes", mode, n, slowest, r.MonitoringTimeInMinutes)
		}
		for _, id := range tmpl.ofType("AWS::Lambda::Version") {
			t.Errorf("%s: %s keeps its environment when a parameter changes", mode, id)
		}
	}
}

// The sweep is started by a schedule and answers nobody: without a destination, one that fails is
// lost.
func TestAFailedSweepIsKept(t *testing.T) {
	tmpl := read(t)
	const queue = "${SweepsDeadLetters.Arn}"
	var invoked struct {
		DestinationConfig struct {
			OnFailure struct{ Destination string }
		}
	}
	var schedule struct {
		Target struct {
			DeadLetterConfig struct{ Arn string }
		}
	}
	for _, id := range tmpl.ofType("AWS::Lambda::EventInvokeConfig") {
		must.Succeed(t, tmpl.properties(id, &invoked))
	}
	must.Succeed(t, tmpl.properties("SweepFunctionRate", &schedule))
	if invoked.DestinationConfig.OnFailure.Destination != queue || schedule.Target.DeadLetterConfig.Arn != queue {
		t.Errorf("what fails goes to %+v, what is not started to %+v", invoked, schedule)
	}
	for _, role := range []string{"SweepRole", "SweepScheduleRole"} {
		statements, err := tmpl.Role(role)
		must.Succeed(t, err)
		if !slices.ContainsFunc(statements, func(s Statement) bool {
			return slices.Equal(s.Actions, []string{"sqs:SendMessage"}) && slices.Equal(s.Resources, []string{queue})
		}) {
			t.Errorf("%s may not send there", role)
		}
	}
}

// Between two checks an alarm has no data. If its window is shorter than the time between
// checks, it would return to OK and ring again.
func TestAlarmsLookBackAsFarAsTheLastCheck(t *testing.T) {
	tmpl := whole(t)
	sweep := rarest(t)
	takes := time.Duration(function(t, tmpl, "inspect").Timeout) * time.Second
	for id, least := range map[string]time.Duration{
		"ChecksMissing": sweep + takes,
		"PolicyInvalid": sweep + takes,
		"FindingTooOld": sweep*time.Duration(ledger.SweepFactor(100_000)) + takes,
	} {
		var a alarm
		must.Succeed(t, tmpl.properties(id, &a))
		window := time.Duration(a.EvaluationPeriods*a.Period) * time.Second
		expect.That(t, window >= least, "%s looks back %v; from one check to the next it may take %v", id, window, least)
	}
}

// rarest returns the longest interval between two sweeps that the template allows.
func rarest(t *testing.T) (between time.Duration) {
	t.Helper()
	data, err := transformed()
	must.Succeed(t, err)
	var raw struct {
		Parameters struct {
			SweepRate struct{ AllowedPattern string }
		}
	}
	must.Succeed(t, json.Unmarshal(data, &raw))
	allowed := regexp.MustCompile(raw.Parameters.SweepRate.AllowedPattern)
	for minutes := range 24 * 60 {
		if allowed.MatchString(fmt.Sprintf("rate(%d minutes)", minutes)) {
			between = time.Duration(minutes) * time.Minute
		}
	}
	must.That(t, between != 0, "SweepRate allows no rate in minutes")
	return between
}

// A person who is paged has only the description at first. It must name an existing query
// of the stack, or an existing page and section.
func TestTheDescriptionsOfAlarmsLeadSomewhere(t *testing.T) {
	tmpl, shipped := whole(t), queries(t)
	named, section := regexp.MustCompile(`the query ([a-z-]+)`), regexp.MustCompile(`See "([^"]+)" in (infra/[A-Z]+\.md)\.$`)
	for _, id := range tmpl.ofType("AWS::CloudWatch::Alarm") {
		d := fmt.Sprint(tmpl.Resources[id].Properties["AlarmDescription"])
		expect.That(t, len(d) >= 100 && len(d) <= 320, "%s has %d characters: a phone shows some 300", id, len(d))
		if strings.Contains(d, "rollcall explain INSTANCE") && !strings.Contains(d, "rollcall explain INSTANCE --stack "+Stack+`"`) {
			t.Errorf("%s asks for an answer without the ledger: %s", id, d)
		}
		for _, m := range named.FindAllStringSubmatch(d, -1) {
			_, ok := shipped[m[1]]
			expect.That(t, ok, "%s names the query %s", id, m[1])
		}
		m := section.FindStringSubmatch(d)
		expect.That(t, m != nil && strings.Contains(text(t, m[2]), "\n## "+m[1]+"\n"), "%s leads nowhere: %s", id, d)
	}
}

// An alarm on a metric that nothing writes never rings, or always.
func TestTheAlarmsAreOnMetricsThatAreWritten(t *testing.T) {
	tmpl := whole(t)
	for _, id := range tmpl.ofType("AWS::CloudWatch::Alarm") {
		var a alarm
		must.Succeed(t, tmpl.properties(id, &a))
		told := func(namespace, name string, by dimensions, statistic string) {
			var dimensions []string
			for _, d := range by {
				dimensions = append(dimensions, d.Name)
			}
			err := readable(namespace, name, dimensions, statistic)
			expect.That(t, err == nil, "%s: %v", id, err)
		}
		if len(a.Metrics) == 0 {
			told(a.Namespace, a.MetricName, a.Dimensions, a.Statistic)
		}
		for _, m := range a.Metrics {
			if s := m.MetricStat; s != nil {
				told(s.Metric.Namespace, s.Metric.MetricName, s.Metric.Dimensions, s.Stat)
			}
		}
	}
	// Without clusters only the sweep can report a completed check.
	sweep, err := os.ReadFile(filepath.Join(root, "shared", "lambdas", "sweep", "sweep.go"))
	expect.That(t, err == nil && strings.Contains(string(sweep), "metric.ChecksCompleted"), "in an account without clusters ChecksMissing would ring forever: %v", err)
}
