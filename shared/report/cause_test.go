package report

import (
	"fmt"
	"strings"
	"testing"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/golden"
)

const (
	nodeRole     = "arn:aws:iam::111122223333:role/shop-node"
	evidenceLink = "s3://rollcall-evidence/111122223333/eu-west-1/shop-production/i-00000000000000001/20260302T115000Z-Unregistered-warned/"
)

func unmapped() roll.Cause {
	return roll.Cause{
		Code: "NodeRoleNotMapped", Confidence: roll.Decisive, Cure: roll.CureChange, Subject: "role/" + nodeRole,
		Summary:  "the role " + nodeRole + " of its instance profile is in neither aws-auth nor the access entries of shop-production",
		Evidence: []roll.Evidence{{Source: "access entries", Field: "principalArn", Observed: "no entry for " + nodeRole, Expected: "an entry of type EC2_LINUX"}, {Source: "aws-auth", Field: "mapRoles", Observed: "3 roles, not this one", Expected: nodeRole}},
		Fix:      "aws eks create-access-entry --region eu-west-1 --cluster-name shop-production --principal-arn " + nodeRole + " --type EC2_LINUX\n",
	}
}

func driftOf(version string) roll.Cause {
	return roll.Cause{
		Code: "LaunchTemplateDrift", Confidence: roll.Suggestive, Cure: roll.CureChange, Subject: "launch-template/lt-0123456789abcdef0:" + version,
		Summary:  "the failing instances were launched from version " + version + " of the launch template, the healthy ones from others",
		Evidence: []roll.Evidence{{Source: "launch template", Field: "version", Observed: version, Expected: "6"}},
		Fix:      "aws ec2 describe-launch-template-versions --region eu-west-1 --launch-template-id lt-0123456789abcdef0 --versions 6 " + version,
	}
}

// diagnosed adds diagnoses to the findings of a check.
func diagnosed(c Check) Check {
	c.Diagnoses = map[roll.FindingKey]roll.Diagnosis{}
	for i, f := range c.Assessment.Findings {
		switch {
		case i < 3:
			c.Diagnoses[f.Key()] = roll.Diagnosis{
				Causes: []roll.Cause{unmapped(), driftOf("7")}, RuledOut: []string{"ArchitectureMismatch", "WrongVpc"},
				NotChecked: []roll.NotChecked{
					{Code: "DnsDisabled", Reason: "ec2:DescribeVpcAttribute on vpc-0a1b2c3d was denied to rollcall-inspect: allow it in the role's policy"},
					{Code: "DhcpOptionsWrong", Reason: "ec2:DescribeVpcAttribute on vpc-0a1b2c3d was denied to rollcall-inspect: allow it in the role's policy"},
					{Code: "NodeadmFailed", Reason: "sampled: read from 3 instances of the group, not from this one"},
				},
			}
		case i < 5:
			c.Diagnoses[f.Key()] = roll.Diagnosis{Causes: []roll.Cause{driftOf("7")}}
		case i < 6:
			c.Diagnoses[f.Key()] = roll.Diagnosis{Causes: []roll.Cause{{Code: "KernelPanic", Confidence: roll.Decisive, Summary: "the console of " + string(f.Instance) + " shows a kernel panic"}}}
		}
	}
	c.Evidence = evidenceLink
	return c
}

// fixes returns the commands of a check to paste.
func fixes(c Check) string {
	var b strings.Builder
	for _, d := range c.Diagnoses {
		for _, cause := range d.Causes {
			b.WriteString(cause.Fix + "\n")
		}
	}
	return b.String()
}

func TestExplanations(t *testing.T) {
	for _, name := range []string{"diagnosed", "healthy", "watching", "incomplete"} {
		told := explained(t, checks()[name])
		golden.File(t, "testdata/explain-"+name+".golden", told)
	}
}

// A fix must not be wrapped, because that changes the command.
func TestAFixStaysOnItsLine(t *testing.T) {
	c := checks()["diagnosed"]
	told := explained(t, c)
	for _, text := range []string{told, table(t, c)} {
		expect.That(t, strings.Contains(text, strings.TrimSpace(unmapped().Fix)+"\n"), "the fix is not there in one piece:\n%s", text)
	}
}

func TestWhatHasTimeIsExplainedOnlyIfItsCauseIsDecisive(t *testing.T) {
	c := checks()["watching"]
	f := c.Assessment.Findings[0]
	starting := uninitialized(9)
	starting.Stage = roll.Watching
	c.Assessment.Starting = []roll.Finding{starting}
	for confidence, want := range map[roll.Confidence]int{roll.Suggestive: 0, roll.Decisive: 2} {
		cause := roll.Cause{Code: "UndeclaredStartupTaint", Confidence: confidence}
		c.Diagnoses = map[roll.FindingKey]roll.Diagnosis{f.Key(): {Causes: []roll.Cause{cause}}, starting.Key(): {Causes: []roll.Cause{cause}}}
		got := len(c.Explained())
		expect.That(t, got == want, "%s: %d are explained, want %d", confidence, got, want)
		d := c.Explanation()
		expect.That(t, len(d.Findings) == want && len(d.Watching) == 1-want/2, "%s: %d findings and %d watched: each stands once", confidence, len(d.Findings), len(d.Watching))
	}
}

// One cause is shown once, however many instances have it, and decisive causes come first.
func TestACauseOfManyIsToldOnce(t *testing.T) {
	entries := notices()["caused"].notice.Entries
	told := sharedBy(entries, "NodeRoleNotMapped")
	var got []string
	for _, s := range told {
		got = append(got, fmt.Sprint(s.cause.Code, len(s.instances)))
	}
	want := "[NodeRoleNotMapped2 LaunchTemplateDrift1]"
	expect.That(t, fmt.Sprint(got) == want, "got %v, want %s", got, want)
	own := unmapped()
	own.Subject = ""
	other := own
	other.Summary = "another"
	entries[0].Causes, entries[1].Causes = []roll.Cause{own}, []roll.Cause{other}
	if told := sharedBy(entries, "NodeRoleNotMapped"); len(told) != 3 {
		t.Errorf("what lies in each instance is not one cause: %d", len(told))
	}
}

func TestTheNoticeNamesTheCauseForFilters(t *testing.T) {
	s := notices()["caused"]
	m, err := here.Notice(cluster, s.notice, s.mode, now)
	expect.That(t, err == nil && m.Attributes.Cause == "NodeRoleNotMapped", "cause %q, %v", m.Attributes.Cause, err)
	for i := range s.notice.Entries {
		s.notice.Entries[i].Causes = []roll.Cause{driftOf("7")}
	}
	s.notice.Key.Cause = ""
	m, err = here.Notice(cluster, s.notice, policy.Notify, now)
	expect.That(t, err == nil && m.Attributes.Cause == "none", "what is only suggested is given as %q, %v", m.Attributes.Cause, err)
}
