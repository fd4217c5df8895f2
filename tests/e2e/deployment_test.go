package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"rollcall/functions/local/command"
	"rollcall/shared/evidence/archive"
	"rollcall/shared/ledger"
	"rollcall/shared/plan/replay"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// outline is the part of template.yaml that the command line needs to query a deployment.
const outline = `
AWSTemplateFormatVersion: "2010-09-09"
Parameters:
  Mode: {Type: String, Default: observe}
  WarnAfter: {Type: String, Default: 5m}
  Deadline: {Type: String, Default: 15m}
Resources:
  Ledger:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions:
        - {AttributeName: pk, AttributeType: S}
        - {AttributeName: sk, AttributeType: S}
      KeySchema:
        - {AttributeName: pk, KeyType: HASH}
        - {AttributeName: sk, KeyType: RANGE}
  Policy:
    Type: AWS::SSM::Parameter
    Properties: {Name: /rollcall/policy, Type: String, Value: "apiVersion: rollcall/v1"}
  EvidenceBucket: {Type: AWS::S3::Bucket}
Outputs:
  LedgerTableName: {Value: !Ref Ledger}
  PolicyParameterName: {Value: !Ref Policy}
  EvidenceBucket: {Value: !Ref EvidenceBucket}
  InspectRoleArn: {Value: "` + testbed.ViewerRoleARN + `"}
  RemediateRoleArn: {Value: "` + testbed.RemediatorRoleARN + `"}
`

// deployed is an account's deployment, as far as the command line uses it.
type deployed struct {
	t      *testing.T
	table  *ledger.Dynamo
	bucket string
}

// deploy creates the stack rollcall in the given mode.
func deploy(t *testing.T, mode string) *deployed {
	t.Helper()
	client := cloudformation.NewFromConfig(bed.AWSConfig())
	_, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("rollcall"), TemplateBody: aws.String(outline),
		Parameters: []types.Parameter{{ParameterKey: aws.String("Mode"), ParameterValue: aws.String(mode)}},
	})
	must.Succeed(t, err)
	out, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("rollcall")})
	must.Succeed(t, err)
	d := &deployed{t: t}
	for _, o := range out.Stacks[0].Outputs {
		switch aws.ToString(o.OutputKey) {
		case "LedgerTableName":
			d.table = ledger.NewDynamo(dynamodb.NewFromConfig(bed.AWSConfig()), aws.ToString(o.OutputValue))
			must.Succeed(t, d.table.Record(t.Context(), clusterID, ledger.Changes{Put: ledger.State{First: time.Now().Add(-30 * 24 * time.Hour)}}))
		case "EvidenceBucket":
			d.bucket = aws.ToString(o.OutputValue)
		}
	}
	return d
}

var clusterID = roll.ClusterID{Account: testbed.AccountID, Region: testbed.Region, Name: testbed.ClusterName}

// takeOver copies the ledger file of an account's checks into the deployment's table, as
// if its own functions had made them.
func (d *deployed) takeOver(a *account) {
	d.t.Helper()
	ctx := d.t.Context()
	file, err := ledger.OpenFile(a.ledger)
	must.Succeed(d.t, err)
	s, err := file.Read(ctx, clusterID)
	must.Succeed(d.t, err)
	changes := ledger.Changes{Put: s}
	known, err := d.table.Read(ctx, clusterID)
	must.Succeed(d.t, err)
	maps.DeleteFunc(known.Findings, func(k roll.FindingKey, _ ledger.Finding) bool { _, kept := s.Findings[k]; return kept })
	for k := range known.Findings {
		changes.Drop.Findings = append(changes.Drop.Findings, k)
	}
	must.Succeed(d.t, d.table.Record(ctx, clusterID, changes))
	must.Succeed(d.t, d.table.PutSize(ctx, testbed.Region, testbed.ClusterName, 3))
	for _, act := range s.Actions {
		if _, begun := known.Action(act.ID); begun {
			continue
		}
		must.Succeed(d.t, d.table.Begin(ctx, clusterID, act, ledger.Budget{Max: 100}))
		if act.Outcome != nil {
			must.Succeed(d.t, d.table.Finish(ctx, clusterID, act.ID, *act.Outcome))
		}
	}
}

// ask runs rollcall explain --stack rollcall with JSON output.
func (a *account) ask(code int, args ...string) report.ExplanationDocument {
	a.t.Helper()
	got, stdout, stderr := a.run(testbed.Viewer, append([]string{"explain", "--stack", "rollcall", "--output", "json"}, args...)...)
	var d report.ExplanationDocument
	err := json.Unmarshal([]byte(stdout), &d)
	must.That(a.t, err == nil && got == code, "explain --stack %q: exit %d, want %d: %v\n%s%s", args, got, code, err, stdout, stderr)
	a.nothingWritten("explain --stack")
	return d
}

// answers returns the answers of an explanation, each with its reason.
func answers(d report.ExplanationDocument) (out []string) {
	for _, a := range d.Answers {
		out = append(out, strings.TrimSpace(a.Answer+" "+a.Action+" "+a.Reason))
	}
	return out
}

func past(d report.ExplanationDocument) (out []string) {
	for _, e := range d.History {
		out = append(out, e.What)
	}
	return out
}

// Covers the time from the first observation of an instance until only the ledger knows
// it.
func TestADeploymentIsAskedWhyItActedAndWhyItDidNot(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	d := deploy(t, "remediate")
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})

	// No check has run yet.
	e := a.ask(command.ExitFindings, id)
	same(t, "before the first check", answers(e), []string{"held terminate NotSeenTwice"})
	if e.WhatIf || e.Memory != "the ledger of stack rollcall" || !slices.ContainsFunc(e.Notes, func(n string) bool { return strings.Contains(n, "no record of a check") }) {
		t.Errorf("what if: %v, memory %q, notes %q", e.WhatIf, e.Memory, e.Notes)
	}

	a.remediate()
	d.takeOver(a)
	e = a.ask(command.ExitFindings, id)
	same(t, "after the first check", answers(e), []string{"held terminate NotSeenTwice"})
	expect.That(t, !e.Answers[0].Until.IsZero(), "nobody tells when a second check may be")
	same(t, "its history", slices.Sorted(slices.Values(past(e))), []string{"began", "checked", "group-good", "opened", "remediate-on", "seen", "told"})

	a.later(2 * time.Minute)
	same(t, "before the second check", answers(a.ask(command.ExitFindings, id)), []string{"ordered terminate"})
	same(t, "what if the mode were notify", answers(a.ask(command.ExitFindings, id, "--mode", "notify")), []string{"held terminate ModeNotify"})
	same(t, "what if the policy only notified", answers(a.ask(command.ExitFindings, id, "--policy", a.policy("owners: {autoscaling-group: notify}\n"))), []string{"held terminate OwnerNotifyOnly"})

	same(t, "the second check", acted(a.remediate().only(t)), []string{"acted " + id})
	d.takeOver(a)
	e = a.ask(command.ExitOK, id)
	same(t, "after the act", answers(e), []string{"acted terminate", "gone"})
	if got := e.Answers[0]; !strings.Contains(got.Detail, "has not registered as a node") || !strings.HasPrefix(got.Evidence, "file://"+a.evidence) || got.Order == "" {
		t.Errorf("why it acted: %+v", got)
	}
	expect.Equal(t, e.EvidenceFolder, "s3://"+d.bucket+"/"+testbed.AccountID+"/"+testbed.Region+"/"+testbed.ClusterName+"/"+id+"/", "its evidence is in")
	b := e.Budgets
	expect.That(t, len(b) == 2 && b[0] == (report.BudgetDocument{Of: testbed.ClusterName, Used: 1, Max: 5}), "the hour: %+v", b)

	// An hour later EC2 does not know the instance any more, and its tags are gone with it.
	must.Succeed(t, bed.ForgetInstance(t.Context(), id))
	a.later(time.Hour)
	a.remediate()
	d.takeOver(a)
	e = a.ask(command.ExitOK, id)
	same(t, "when it is forgotten", answers(e), []string{"acted terminate", "gone"})
	got := past(e)
	expect.That(t, slices.Contains(got, "intended") && slices.Contains(got, "ended"), "its history: %q", got)
	code, table, stderr := a.run(testbed.Viewer, "explain", id, "--stack", "rollcall")
	if code != command.ExitOK || !strings.Contains(table, "\n  acted: terminated at ") || !strings.Contains(table, "EC2 no longer knows it") {
		t.Errorf("exit %d:\n%s%s", code, table, stderr)
	}

	// The same from a ledger file, which does not record where evidence is kept.
	code, table, stderr = a.run(testbed.Viewer, "explain", id, "--ledger", a.ledger)
	if code != command.ExitOK || !strings.Contains(table, "\n  acted: terminated at ") || !strings.Contains(table, "by the ledger") || !strings.Contains(table, a.ledger) {
		t.Errorf("exit %d:\n%s%s", code, table, stderr)
	}
}

// A deployment can be stopped and resumed. While stopped, its explanations say so for each
// act that it would carry out.
func TestADeploymentIsStoppedAndResumed(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	d := deploy(t, "remediate")
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
	a.remediate()
	d.takeOver(a)
	a.later(2 * time.Minute)
	api := ssm.NewFromConfig(bed.AWSConfig())
	document := func() string {
		out, err := api.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/rollcall/policy"), WithDecryption: aws.Bool(true)})
		must.Succeed(t, err)
		return aws.ToString(out.Parameter.Value)
	}
	put := func(value string, kind ssmtypes.ParameterType, key *string) {
		_, err := api.PutParameter(t.Context(), &ssm.PutParameterInput{Name: aws.String("/rollcall/policy"), Value: aws.String(value), Type: kind, KeyId: key, Overwrite: aws.Bool(true)})
		must.Succeed(t, err)
	}
	const ours = "# Ours.\napiVersion: rollcall/v1\nmode: remediate # at last\n"
	put(ours, ssmtypes.ParameterTypeString, nil)
	same(t, "before", answers(a.ask(command.ExitFindings, id)), []string{"ordered terminate"})

	turn := func(code int, args ...string) string {
		t.Helper()
		got, stdout, stderr := a.run(testbed.Viewer, args...)
		expect.That(t, got == code, "%q: exit %d, want %d\n%s%s", args, got, code, stdout, stderr)
		return stdout + stderr
	}
	for _, args := range [][]string{{"--stack", "rollcall"}, {}, {"--parameter", "/rollcall/policy"}} {
		said := turn(command.ExitOK, append([]string{"stop"}, args...)...)
		expect.That(t, strings.Contains(said, "\n  stop       true\n") && strings.Contains(said, "remediate at most"), "stop says\n%s", said)
	}
	if got := document(); got != strings.Replace(ours, "v1\n", "v1\nstop: true\n", 1) {
		t.Errorf("the policy is\n%s", got)
	}
	e := a.ask(command.ExitFindings, id)
	same(t, "stopped", answers(e), []string{"held terminate Stopped"})
	expect.That(t, strings.Contains(e.Answers[0].Ends, "rollcall resume"), "nobody tells what ends it: %+v", e.Answers[0])
	if said := turn(command.ExitOK, "resume"); !strings.Contains(said, "resumed: ") || document() != ours {
		t.Errorf("resume says\n%s\nand the policy is\n%s", said, document())
	}
	same(t, "resumed", answers(a.ask(command.ExitFindings, id)), []string{"ordered terminate"})

	// A SecureString parameter keeps its key.
	_, err := api.DeleteParameter(t.Context(), &ssm.DeleteParameterInput{Name: aws.String("/rollcall/policy")})
	must.Succeed(t, err)
	put(ours, ssmtypes.ParameterTypeSecureString, aws.String("alias/policies"))
	turn(command.ExitOK, "stop")
	history, err := api.GetParameterHistory(t.Context(), &ssm.GetParameterHistoryInput{Name: aws.String("/rollcall/policy")})
	must.Succeed(t, err)
	last := history.Parameters[len(history.Parameters)-1]
	expect.That(t, last.Version == 2 && aws.ToString(last.KeyId) == "alias/policies" && last.Type == ssmtypes.ParameterTypeSecureString, "written as %+v", last)
	must.Succeed(t, bed.Inject(t.Context(), testbed.Fault{Service: "ssm", Action: "PutParameter", AccessKeyID: testbed.Viewer.AccessKeyID, Kind: testbed.Deny}))
	said := turn(command.ExitError, "resume")
	expect.That(t, strings.Contains(said, "allow ssm:PutParameter") && strings.Contains(document(), "stop: true"), "a denied resume says\n%s", said)
	must.Succeed(t, bed.ClearFaults(t.Context()))
	// Without a policy, stop creates one that stops.
	_, err = api.DeleteParameter(t.Context(), &ssm.DeleteParameterInput{Name: aws.String("/rollcall/policy")})
	must.Succeed(t, err)
	turn(command.ExitError, "resume")
	turn(command.ExitOK, "stop")
	got := document()
	expect.That(t, got == "apiVersion: rollcall/v1\nmode: notify\nstop: true\n", "the policy is\n%s", got)
}

func TestADeploymentIsAskedForAnInstanceThatNobodyKnows(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	d := deploy(t, "notify")
	must.Succeed(t, d.table.PutSize(t.Context(), testbed.Region, testbed.ClusterName, 3))
	code, _, stderr := a.run(testbed.Viewer, "explain", "i-0fedcba9876543210", "--stack", "rollcall")
	for _, want := range []string{"EC2 knows no instance i-0fedcba9876543210", "the ledger of stack rollcall remembers nothing of it in 1 cluster"} {
		expect.That(t, code == command.ExitError && strings.Contains(stderr, want), "exit %d, %q lacks %q", code, stderr, want)
	}
	// With --cluster, the answer is what the deployment knows of the instance in that
	// cluster.
	e := a.ask(command.ExitError, "i-0fedcba9876543210", "--cluster", testbed.ClusterName)
	same(t, "with its cluster", answers(e), []string{"unknown"})
}

// The bucket of a deployment has the checks of its functions, here those of a simulated one.
func TestTheChecksOfADeploymentAreReplayed(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	d := deploy(t, "notify")
	file := filepath.Join(t.TempDir(), "day.rollcall")
	if code, _, stderr := a.run(testbed.Viewer, "simulate", "--seed", "7", "--hours", "6", "--clusters", "1", "--nodes", "10", "--record", file); code != command.ExitOK {
		t.Fatalf("simulate: exit %d\n%s", code, stderr)
	}
	data, err := os.ReadFile(file)
	must.Succeed(t, err)
	checks, err := replay.Read(bytes.NewReader(data))
	must.That(t, err == nil && len(checks) > 2, "%d checks, %v", len(checks), err)
	bucket := archive.NewS3(s3.NewFromConfig(bed.AWSConfig()), d.bucket)
	for _, c := range checks {
		c.Snapshot.Cluster.ID = clusterID
		must.Succeed(t, bucket.Record(t.Context(), c))
	}
	code, out, stderr := a.run(testbed.Viewer, "replay", "--stack", "rollcall", "--days", "3650")
	expect.That(t, code == command.ExitOK && strings.Contains(out, fmt.Sprintf("%d checks", len(checks))), "exit %d\n%s%s", code, out, stderr)
	a.nothingWritten("replay --stack")
	must.Succeed(t, bed.Inject(t.Context(), testbed.Fault{Service: "s3", Action: "ListObjectsV2", AccessKeyID: testbed.Viewer.AccessKeyID, Kind: testbed.Deny}))
	code, _, stderr = a.run(testbed.Viewer, "replay", "--stack", "rollcall", "--days", "3650")
	expect.That(t, code == command.ExitError && strings.Contains(stderr, "s3:ListBucket"), "denied: exit %d\n%s", code, stderr)
}

// A healthy instance has no findings, also when a deployment answers.
func TestADeploymentIsAskedForAnInstanceThatIsWell(t *testing.T) {
	a := newAccount(t)
	ids := a.fleet(3)
	deploy(t, "notify")
	e := a.ask(command.ExitOK, ids[0])
	same(t, "answers", answers(e), []string{"nothing"})
}

func TestWhatADeploymentCannotBeAsked(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
	explain := func(args ...string) (int, string) {
		code, _, stderr := a.run(testbed.Viewer, append([]string{"explain", id}, args...)...)
		return code, stderr
	}
	if code, stderr := explain("--stack", "rollcall"); code != command.ExitError || !strings.Contains(stderr, `no CloudFormation stack "rollcall" in `+testbed.Region) {
		t.Errorf("no stack: exit %d, %s", code, stderr)
	}
	deploy(t, "notify")
	for action, wants := range map[string][]string{
		"cloudformation:DescribeStacks": {"allow cloudformation:DescribeStacks"},
		"dynamodb:Query":                {"the ledger of stack rollcall, table rollcall", "allow dynamodb:Query"},
		"ssm:GetParameter":              {"parameter /rollcall/policy", "allow ssm:GetParameter", "--policy FILE"},
	} {
		service, call, _ := strings.Cut(action, ":")
		must.Succeed(t, bed.Inject(t.Context(), testbed.Fault{Service: service, Action: call, AccessKeyID: testbed.Viewer.AccessKeyID, Kind: testbed.Deny}))
		code, stderr := explain("--stack", "rollcall")
		for _, want := range wants {
			expect.That(t, code == command.ExitError && strings.Contains(stderr, want), "%s denied: exit %d, %q lacks %q", action, code, stderr, want)
		}
		must.Succeed(t, bed.ClearFaults(t.Context()))
	}
	other := cloudformation.NewFromConfig(bed.AWSConfig())
	_, err := other.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("other"), TemplateBody: aws.String("{Resources: {Topic: {Type: 'AWS::SNS::Topic'}}}")})
	must.Succeed(t, err)
	if code, stderr := explain("--stack", "other"); code != command.ExitError || !strings.Contains(stderr, "has no output LedgerTableName") || !strings.Contains(stderr, "not a deployment of Rollcall") {
		t.Errorf("another stack: exit %d, %s", code, stderr)
	}
}

// With a policy that is invalid or missing, the functions do nothing, and the answer says so.
func TestAPolicyThatIsNoneIsToldOfADeployment(t *testing.T) {
	for document, want := range map[string]string{"apiVersion: rollcall/v1\nmode: destroy\n": "line 2: mode", "": "there is no such SSM parameter"} {
		a := newAccount(t)
		a.fleet(3)
		d := deploy(t, "remediate")
		must.Succeed(t, d.table.SeePolicy(t.Context(), "/rollcall/policy")) // its functions have read it once
		id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
		api := ssm.NewFromConfig(bed.AWSConfig())
		var err error
		if document == "" {
			_, err = api.DeleteParameter(context.Background(), &ssm.DeleteParameterInput{Name: aws.String("/rollcall/policy")})
		} else {
			_, err = api.PutParameter(context.Background(), &ssm.PutParameterInput{
				Name: aws.String("/rollcall/policy"), Value: aws.String(document), Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true),
			})
		}
		must.Succeed(t, err)
		e := a.ask(command.ExitFindings, id)
		if !slices.ContainsFunc(e.Notes, func(n string) bool {
			return strings.Contains(n, "without a valid policy nothing is done") && strings.Contains(n, want)
		}) {
			t.Errorf("%q: notes %q", document, e.Notes)
		}
		expect.Equal(t, e.Mode, "observe", "%q: the mode", document)
	}
}

// A ladder asks, a person approves in the deployment's ledger, and only that order.
func TestADeploymentIsToldOfAnApproval(t *testing.T) {
	a := newAccount(t)
	a.fleet(3)
	d := deploy(t, "remediate")
	id := a.instance(testbed.InstanceSpec{Group: "workers", LaunchedAgo: time.Hour})
	asks := a.policy("mode: remediate\nladders: {Unregistered: [{do: notify}, {approve: {for: 2h}}, {do: terminate}]}\n")
	a.remediate("--policy", asks)
	a.later(2 * time.Minute)
	same(t, "asked", acted(a.remediate("--policy", asks).only(t)), nil)
	d.takeOver(a)
	e := a.ask(command.ExitFindings, id, "--policy", asks)
	same(t, "before", answers(e), []string{"held terminate ApprovalPending"})
	order := e.Answers[0].Order
	for _, tt := range []struct {
		order string
		code  int
		says  string
	}{{"fedcba9876543210", command.ExitError, "no notice asked about this order"}, {order, command.ExitOK, "approved: the next check orders terminate"}, {order, command.ExitError, "approved already"}} {
		code, stdout, stderr := a.run(testbed.Viewer, "approve", tt.order, "--stack", "rollcall")
		expect.That(t, code == tt.code && strings.Contains(stdout+stderr, tt.says), "approve %s: exit %d, %s%s", tt.order, code, stdout, stderr)
	}
	same(t, "approved", answers(a.ask(command.ExitFindings, id, "--policy", asks)), []string{"ordered terminate"})
}
