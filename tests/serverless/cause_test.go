package serverless

import (
	"bytes"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"rollcall/shared/plan/replay"
	"rollcall/shared/report"
	"rollcall/shared/roll"
	"rollcall/tests/harness/archivetest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// objects returns the objects in the evidence bucket, by key, without the checks kept for a replay.
func (s *Stack) objects(t *testing.T) map[string][]byte {
	t.Helper()
	client := s3.NewFromConfig(bed.AWSConfigFor(testbed.Seeder))
	listed, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(s.Evidence)})
	must.Succeed(t, err)
	all := map[string][]byte{}
	for _, o := range listed.Contents {
		if isCheck(aws.ToString(o.Key)) {
			continue
		}
		got, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(s.Evidence), Key: o.Key})
		must.Succeed(t, err)
		data, err := io.ReadAll(got.Body)
		must.Succeed(t, err)
		all[aws.ToString(o.Key)] = data
	}
	return all
}

// findings returns the findings kept as evidence at a stage; there must be only one
// place.
func (s *Stack) findings(t *testing.T, stage string) report.Document {
	t.Helper()
	var d report.Document
	n := 0
	for key, data := range s.objects(t) {
		if path.Base(key) == "findings.json" && strings.HasSuffix(path.Dir(key), stage) {
			must.Succeed(t, json.Unmarshal(data, &d))
			n++
		}
	}
	must.That(t, n == 1, "%d places of evidence for the stage %q, want 1", n, stage)
	return d
}

// documents returns the notices that arrived since the last call, in the form for
// programs.
func (s *Stack) documents(t *testing.T) (all []report.NoticeDocument) {
	t.Helper()
	notices, err := s.Notices(t.Context())
	must.Succeed(t, err)
	for _, n := range notices {
		var d report.NoticeDocument
		must.Succeed(t, json.Unmarshal([]byte(n.Message), &d))
		all = append(all, d)
	}
	return all
}

// isCheck reports whether an object is a check kept for a replay.
func isCheck(key string) bool { return path.Ext(key) == replay.Extension }

// puts counts the PutObject requests to the bucket, including failed ones.
func puts(t *testing.T) (n int) {
	t.Helper()
	calls, err := bed.Calls(t.Context())
	must.Succeed(t, err)
	for _, c := range calls {
		if c.Action == "PutObject" && !isCheck(c.Params["Key"]) {
			n++
		}
	}
	return n
}

func tagsOf(t *testing.T, id string) map[string]string {
	t.Helper()
	out, err := ec2.NewFromConfig(bed.AWSConfigFor(testbed.Seeder)).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	must.Succeed(t, err)
	tags := map[string]string{}
	for _, tag := range out.Reservations[0].Instances[0].Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags
}

func TestWithoutEvidenceThereIsNoAct(t *testing.T) {
	s := deploy(t, "remediate")
	s.Step = 6 * time.Minute
	fleet(t, 3)
	id := launch(t)
	must.Succeed(t, bed.Inject(t.Context(), testbed.Fault{Service: "s3", Action: "PutObject", Kind: testbed.Deny}))
	must.Succeed(t, s.Advance(t.Context(), 24*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances"), nil)
	expect.That(t, puts(t) != 0, "nobody tried to keep evidence")
	out := s.Output(Remediate)
	expect.That(t, strings.Contains(out, "EvidenceNotStored") && strings.Contains(out, "s3:PutObject"), "remediate does not say what is missing:\n%s", out)
	open, err := s.open(t.Context())
	must.Succeed(t, err)
	expect.That(t, open == 0, "%d intents in the ledger", open)
	must.Succeed(t, bed.ClearFaults(t.Context()))
	must.Succeed(t, s.Advance(t.Context(), 12*time.Minute))
	same(t, "terminations once it can be kept", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	d := s.findings(t, tagsOf(t, id)[roll.TagOrder])
	expect.That(t, len(d.Findings) == 1 && d.Findings[0].Instance == id, "the evidence is about %+v", d.Findings)
}

// Karpenter terminates what does not register, so its evidence is kept at the warning,
// once.
func TestEvidenceOfWhatKarpenterWillEndIsKeptOnceAndLinked(t *testing.T) {
	s := deploy(t, "remediate")
	fleet(t, 3)
	id, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{Cluster: testbed.ClusterName, Tags: map[string]string{"karpenter.sh/nodepool": "default"}, UserData: secretive()})
	must.Succeed(t, err)
	console := "[   12.1] cloud-init[1680]: + mysql --user=app --password=" + secrets[1] + "\n"
	must.Succeed(t, bed.ChangeInstance(t.Context(), id, testbed.InstanceChange{Console: &console}))
	must.Succeed(t, bed.CreateNodeClaim(t.Context(), testbed.NodeClaimSpec{Name: "default-x", InstanceID: id, Created: time.Now()}))
	must.Succeed(t, bed.EmitStateChange(t.Context(), id, "running"))
	must.Succeed(t, s.Advance(t.Context(), 7*time.Minute))
	objects := s.objects(t)
	var names []string
	for key := range objects {
		names = append(names, path.Base(key))
	}
	slices.Sort(names)
	same(t, "objects of the warning", names, []string{"bundle.tar.gz", "findings.json"})
	told := s.documents(t)
	if len(told) != 1 || !strings.HasPrefix(told[0].Evidence, "s3://"+s.Evidence+"/") || !strings.Contains(told[0].Evidence, id) || !strings.HasSuffix(told[0].Evidence, "-Unregistered-warned/") {
		t.Errorf("the notices say %+v", told)
	}
	d := s.findings(t, "-warned")
	expect.That(t, len(d.Findings) == 1 && d.Findings[0].Instance == id && len(d.Findings[0].RuledOut) != 0, "the findings that were kept: %+v", d.Findings)
	must.Succeed(t, s.Advance(t.Context(), 7*time.Minute))
	n := puts(t)
	expect.That(t, n == 2, "%d objects were put in 14 minutes, want two, once", n)

	kept, err := archivetest.Unpack(objects)
	must.Succeed(t, err)
	bundled := false
	for name, content := range kept {
		bundled = bundled || strings.HasSuffix(name, "/bundle/user-data/"+id+".txt")
		tellsNoSecret(t, name, content)
	}
	expect.That(t, bundled, "the evidence lacks the user data")
	for _, name := range []string{Inspect, Remediate, Sweep, StateChange} {
		tellsNoSecret(t, "the log of "+name, s.functions[name].output.all())
	}
	text, err := json.Marshal(told)
	must.Succeed(t, err)
	tellsNoSecret(t, "the notices", string(text))
}

// secrets are of the kinds that people put into user data and that appear on consoles.
var secrets = []string{"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "correct-horse-battery-staple"}

// secretive returns the user data of a node that also holds secrets.
func secretive() string {
	script := "--//\nContent-Type: text/x-shellscript\n\n#!/bin/bash\nexport AWS_SECRET_ACCESS_KEY=" + secrets[0] + "\nmysql --user=app --password=" + secrets[1] + "\n\n--//--\n"
	return strings.Replace(bed.NodeUserData(testbed.ClusterName), "--//--\n", script, 1)
}

func tellsNoSecret(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range secrets {
		expect.That(t, !bytes.Contains([]byte(text), []byte(secret)), "%s holds %q", what, secret)
	}
}

// No instance of the group can join, because its role was removed from aws-auth. A
// replacement could not join either.
func TestWhatSharesACauseIsHeldAndToldOnceWithTheFix(t *testing.T) {
	s := deploy(t, "remediate")
	s.Step = 6 * time.Minute
	fleet(t, 12)
	must.Succeed(t, bed.UnmapNodes(t.Context()))
	ids := []string{launch(t), launch(t)}
	must.Succeed(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances", "RebootInstances"), nil)
	var named []report.NoticeDocument
	for _, d := range s.documents(t) {
		if d.Severity == report.SeverityCritical {
			named = append(named, d)
		}
	}
	if len(named) != 1 || named[0].Count != 2 || named[0].Cause != "NodeRoleNotMapped" || len(named[0].Causes) == 0 || named[0].Causes[0].Count != 2 {
		t.Fatalf("the notices past the deadline: %+v", named)
	}
	fix := named[0].Causes[0].Fix
	expect.That(t, strings.Contains(fix, testbed.NodeRoleARN), "the fix is %q", fix)
	for _, i := range named[0].Instances {
		expect.That(t, i.Held == "SharedCause" && slices.Contains(ids, i.Instance), "the notice says of %s that it is held by %q", i.Instance, i.Held)
	}
	for _, id := range ids {
		expect.Equal(t, tagsOf(t, id)[roll.TagCause], "NodeRoleNotMapped", "%s has the tag %s=", id, roll.TagCause)
	}
}

// Karpenter's controller has the mapping that its nodes need. Its role's name proves
// nothing, so both functions read the role's permissions.
func TestTheControllersRoleIsToldByWhatItMayDo(t *testing.T) {
	s := deploy(t, "remediate")
	s.Step = 6 * time.Minute
	fleet(t, 3)
	must.Succeed(t, s.Policy(t.Context(), "apiVersion: rollcall/v1\nlimits: {causeOutside: tryOnce}\n"))
	must.Succeed(t, bed.MapController(t.Context(), "f3a91c"))
	id, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{Cluster: testbed.ClusterName, Tags: map[string]string{"karpenter.sh/nodepool": "default"}})
	must.Succeed(t, err)
	must.Succeed(t, bed.CreateNodeClaim(t.Context(), testbed.NodeClaimSpec{Name: "default-x", InstanceID: id, Created: time.Now()}))
	must.Succeed(t, bed.EmitStateChange(t.Context(), id, "running"))
	must.Succeed(t, s.Advance(t.Context(), 30*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	expect.Equal(t, tagsOf(t, id)[roll.TagCause], "ControllerRoleMapped", "the tag %s", roll.TagCause)
	d := s.findings(t, tagsOf(t, id)[roll.TagOrder])
	expect.That(t, len(d.Findings) == 1 && len(d.Findings[0].Causes) != 0 && strings.Contains(d.Findings[0].Causes[0].Summary, "f3a91c"), "the evidence is about %+v", d.Findings)
}

// A missing permission is no verdict. The report says what could not be checked, and the instance is
// left alone until the policy allows one of its group to be tried.
func TestWhatMayNotBeReadIsNotChecked(t *testing.T) {
	s := deploy(t, "remediate")
	s.Step = 6 * time.Minute
	fleet(t, 3)
	id := launch(t)
	must.Succeed(t, bed.Inject(t.Context(), testbed.Fault{Service: "iam", Action: "GetInstanceProfile", Kind: testbed.Deny}))
	must.Succeed(t, s.Advance(t.Context(), 24*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances"), nil)
	if out := s.Output(Inspect); !strings.Contains(out, `"heldFor":{"CauseNotChecked":1}`) {
		t.Errorf("it is not held for what was not read:\n%s", out)
	}
	must.Succeed(t, s.Policy(t.Context(), "apiVersion: rollcall/v1\nlimits: {causeOutside: tryOnce}\n"))
	must.Succeed(t, s.Advance(t.Context(), 12*time.Minute))
	same(t, "terminations, to be tried", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
	d := s.findings(t, tagsOf(t, id)[roll.TagOrder])
	reasons := map[string]string{}
	for _, f := range d.Findings {
		for _, n := range f.NotChecked {
			reasons[n.Code] = n.Reason
		}
	}
	for _, code := range []string{"NodeRoleNotMapped", "RoleTrustInvalid"} {
		expect.That(t, strings.Contains(reasons[code], "iam:GetInstanceProfile"), "%s is not checked because of %q", code, reasons[code])
	}
	out := s.Output(Inspect)
	expect.That(t, strings.Contains(out, `"complete":true`) && !strings.Contains(out, `"complete":false`), "the checks were not complete:\n%s", out)
}

// The node role has an entry of Auto Mode's type with its policy, which lets in nodes that are named after their
// instance ID, and no others: no replacement would join either.
func TestANodeThatAnAccessEntryOfAutoModeDoesNotLetInIsHeld(t *testing.T) {
	s := deploy(t, "remediate")
	s.Step = 6 * time.Minute
	fleet(t, 3)
	must.Succeed(t, bed.SetAccessEntries(t.Context(), testbed.ClusterName, testbed.AccessEntry{
		PrincipalARN: testbed.NodeRoleARN, Type: "EC2", Policies: []string{"arn:aws:eks::aws:cluster-access-policy/AmazonEKSAutoNodePolicy"},
	}))
	id := launch(t)
	must.Succeed(t, s.Advance(t.Context(), 24*time.Minute))
	same(t, "terminations", acts(t, "TerminateInstances"), nil)
	expect.That(t, tagsOf(t, id)[roll.TagCause] == "AccessEntryWrongType", "%v", tagsOf(t, id))
	must.Succeed(t, s.Policy(t.Context(), "apiVersion: rollcall/v1\nlimits: {causeOutside: tryOnce}\n"))
	must.Succeed(t, s.Advance(t.Context(), 36*time.Minute))
	same(t, "terminations, to be tried", acts(t, "TerminateInstances"), []string{"TerminateInstances " + id})
}
