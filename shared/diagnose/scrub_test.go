package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const secret = "Tr0ub4dor-and-3x"

func TestScrubTakesSecretsOutOfEverythingThatIsSaid(t *testing.T) {
	said := "it was called with password=" + secret
	d := roll.Diagnosis{
		Causes: []roll.Cause{{
			Code: "UserDataMalformedFlags", Subject: "nodeclass/x", Summary: "labels are team=web,db_password=" + secret, Fix: "curl https://user:" + secret + "@example.com/",
			Evidence: []roll.Evidence{
				{Source: "node", Field: "status.conditions[Ready]", Observed: "False: " + said, Expected: "True"},
				{Source: "user data", Field: "--db-password", Observed: secret, Expected: secret},
				{Source: "user data", Field: said, Observed: "payments", Expected: "payments"},
			},
		}},
		NotChecked: []roll.NotChecked{{Code: "X", Reason: said}},
	}
	scrub(&d)
	text := fmt.Sprintf("%+v", d)
	expect.That(t, !strings.Contains(text, secret), "there is a secret left in %s", text)
	if c := d.Causes[0]; c.Subject != "nodeclass/x" || c.Evidence[0].Expected != "True" || c.Evidence[2].Observed != "payments" || !strings.Contains(c.Summary, "labels are team=web") {
		t.Errorf("more than that is gone: %+v", d)
	}
}

// Condition messages contain whatever their writer had at hand.
func TestADiagnosisQuotesNoSecretOfACondition(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	node := evidence.NodeObject{Name: "ip-10-0-0-1", Created: now.Add(-time.Hour), Conditions: []evidence.Condition{
		{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Since: now.Add(-30 * time.Minute), Message: "container runtime network not ready: cni plugin not initialized: password=" + secret},
	}}
	e := &evidence.Evidence{At: now, Nodes: map[string]evidence.Node{node.Name: {Object: evidence.Read(node)}}}
	f := roll.Finding{Instance: "i-0123456789abcdef0", Node: node.Name, Kind: roll.NotReady, Owner: roll.OwnerAutoScalingGroup, Group: "asg/w", Stage: roll.Overdue}
	e.Findings = []roll.Finding{f}
	d := Diagnose(e)[f.Key()]
	c, ok := d.Decisive()
	must.That(t, ok && c.Code == cause.CniNotReady && strings.Contains(fmt.Sprint(c.Evidence), "cni plugin not initialized"), "the condition is not quoted at all: %+v", d.Causes)
	text := fmt.Sprintf("%+v", d)
	expect.That(t, !strings.Contains(text, secret), "there is a secret in %s", text)
}
