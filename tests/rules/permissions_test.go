package rules

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/template"
)

// none disables every part of the example, which makes no stack.
var none = map[string]string{"Audit": "false"}

func statements(t *testing.T, made *template.Template, id, property string) []template.Statement {
	t.Helper()
	out, err := made.Statements(id, property)
	must.That(t, err == nil, "%s: %v", id, err)
	return out
}

// An event that EventBridge has no permission to deliver is lost without an error, except
// for the dead-letter queue.
func TestEveryTargetMayBeReached(t *testing.T) {
	made := everything(t)
	for id, r := range rules(t, made) {
		target := r.Targets[0]
		if target.DeadLetterConfig.Arn != "${Undelivered.Arn}" || target.RetryPolicy.MaximumEventAgeInSeconds < 3600 || target.RetryPolicy.MaximumRetryAttempts == 0 {
			t.Errorf("%s gives up at once, and nobody hears of it", id)
		}
		expect.That(t, r.EventBusName == "default", "%s listens on %q", id, r.EventBusName)
		role := strings.TrimSuffix(strings.TrimPrefix(target.RoleArn, "${"), ".Arn}")
		switch target.Arn {
		case "arn:aws:logs:eu-west-1:123456789012:log-group:${Acts}":
			// This type of target is not documented to take a role.
			expect.That(t, target.RoleArn == "", "%s has the role %s", id, target.RoleArn)
		case "${IncidentTool.Arn}":
			may(t, made, id, role, "events:InvokeApiDestination", target.Arn)
		case all["CentralBusArn"]:
			may(t, made, id, role, "events:PutEvents", target.Arn)
		default:
			t.Errorf("%s has a target that nobody lets it reach: %s", id, target.Arn)
		}
	}
}

// may checks that these are all permissions of a role.
func may(t *testing.T, made *template.Template, id, role, action, resource string) {
	t.Helper()
	granted, err := made.Role(role)
	if err != nil || len(granted) != 1 || !slices.Equal(granted[0].Actions, []string{action}) || !slices.Equal(granted[0].Resources, []string{resource}) {
		t.Errorf("%s: its role %s may %+v, %v", id, role, granted, err)
	}
}

// The dead-letter queue accepts messages from each of these rules.
func TestTheQueueTakesFromEveryRule(t *testing.T) {
	stacks := []*template.Template{of(t, "incidents.yaml", tool)}
	for _, parameters := range []map[string]string{all, nil, {"Audit": "false", "CentralBusArn": all["CentralBusArn"]}} {
		stacks = append(stacks, with(t, parameters))
	}
	for n, made := range stacks {
		var want []string
		for id, r := range made.Resources {
			if r.Type == "AWS::Events::Rule" {
				want = append(want, "${"+id+".Arn}")
			}
		}
		got := statements(t, made, "UndeliveredPolicy", "PolicyDocument")[0].Conditions["ArnEquals"]["aws:SourceArn"]
		slices.Sort(got)
		slices.Sort(want)
		expect.That(t, len(got) > 0 && slices.Equal(got, want), "stack %d: its queue takes from %q, the rules are %q", n, got, want)
	}
}

func TestActsAreKeptWhereTheRuleMayWrite(t *testing.T) {
	made := with(t, all)
	group, _ := made.Resources["Acts"].Properties["LogGroupName"].(string)
	granted := statements(t, made, "Acts", "ResourcePolicyDocument")
	if len(granted) != 1 || !strings.HasPrefix(group, "/aws/events/") || !slices.Equal(granted[0].Resources, []string{"arn:aws:logs:eu-west-1:123456789012:log-group:" + group + ":*"}) {
		t.Fatalf("the group is %s, its policy %+v", group, granted)
	}
	if !slices.Contains(granted[0].Principals["Service"], "events.amazonaws.com") || !slices.Equal(granted[0].Actions, []string{"logs:CreateLogStream", "logs:PutLogEvents"}) {
		t.Errorf("%+v", granted[0])
	}
	// It outlives the stack, so a fixed name would block the next stack.
	expect.That(t, strings.Contains(group, "1a2b3c4d"), "the next stack of the same name would want the group %s too", group)
	for id, r := range made.Resources {
		expect.That(t, r.Type != "AWS::Logs::ResourcePolicy", "%s counts against the ten of the account", id)
	}
	if r := made.Resources["Acts"]; r.DeletionPolicy != "RetainExceptOnCreate" || r.UpdateReplacePolicy != "Retain" {
		t.Errorf("the group is deleted: %q, %q", r.DeletionPolicy, r.UpdateReplacePolicy)
	}
}

// A disabled part leaves no resource and no reference to one.
func TestEachPartStandsByItself(t *testing.T) {
	const shared = "NotDelivered Undelivered UndeliveredPolicy"
	for want, parameters := range map[string]map[string]string{
		"Acts Audited " + shared:         nil,
		"CentralRole PassedOn " + shared: {"Audit": "false", "CentralBusArn": all["CentralBusArn"]},
	} {
		made := with(t, parameters)
		ids := slices.Sorted(maps.Keys(made.Resources))
		wanted := strings.Fields(want)
		slices.Sort(wanted)
		expect.That(t, slices.Equal(ids, wanted), "%v: %q", parameters, ids)
		data, err := json.Marshal(made.Resources)
		must.Succeed(t, err)
		for id := range with(t, all).Resources {
			if !slices.Contains(ids, id) && (strings.Contains(string(data), "${"+id+"}") || strings.Contains(string(data), "${"+id+".")) {
				t.Errorf("%v: something refers to %s", parameters, id)
			}
		}
	}
}

// A stack without a target would notify nobody. It could not be deployed either: its
// queue's policy would name no rule.
func TestSomebodyMustBeTold(t *testing.T) {
	const nobody = "Audit and CentralBusArn both say no - choose at least one of them"
	for _, c := range []struct {
		chosen map[string]string
		want   []string
	}{
		{nil, []string{nobody}},
		{map[string]string{"AlarmTopicArn": all["AlarmTopicArn"]}, []string{nobody}},
		{map[string]string{"Audit": "true"}, nil},
		{map[string]string{"CentralBusArn": all["CentralBusArn"]}, nil},
		{all, nil},
	} {
		parameters := maps.Clone(none)
		maps.Copy(parameters, c.chosen)
		expect.List(t, with(t, parameters).Refused, c.want, "%v: refused", c.chosen)
	}
	if got := with(t, nil).Refused; len(got) > 0 {
		t.Errorf("the defaults are refused: %q", got)
	}
}

// The key of the incident tool is only in the connection, which keeps it secret.
func TestTheKeyIsASecret(t *testing.T) {
	made := of(t, "incidents.yaml", tool)
	for id, r := range made.Resources {
		data, err := json.Marshal(r.Properties)
		must.Succeed(t, err)
		if id != "IncidentConnection" && strings.Contains(string(data), tool["IncidentKey"]) {
			t.Errorf("%s has the key in it", id)
		}
	}
	for _, p := range bodyParameters(t, made) {
		expect.That(t, p.Key == "routing_key" && p.Value == tool["IncidentKey"] && p.IsValueSecret, "the connection adds %+v", p)
	}
}
