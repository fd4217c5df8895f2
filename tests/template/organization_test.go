package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// parametersOf returns the parameters of a template as written.
func parametersOf(t *testing.T, file string) map[string]map[string]any {
	t.Helper()
	data, err := Transform(t.Context(), root, file)
	must.Succeed(t, err)
	var raw struct {
		Parameters map[string]map[string]any
	}
	must.Succeed(t, json.Unmarshal(data, &raw))
	return raw.Parameters
}

func TestTheStackSetPassesEveryParameterOn(t *testing.T) {
	deployment, set := parametersOf(t, "template.yaml"), parametersOf(t, "infra/stackset.yaml")
	own := []string{"TemplateUrl", "OrganizationalUnitIds", "DeployedRegion", "CodeBucket", "CodePrefix", "CallAs", "MaxConcurrentPercentage", "FailureTolerancePercentage"}
	for name, takes := range deployment {
		diff := cmp.Diff(takes, set[name])
		expect.That(t, diff == "", "infra/stackset.yaml has another parameter %s (-template.yaml +stackset.yaml):\n%s", name, diff)
	}
	for name := range set {
		if deployment[name] == nil && !slices.Contains(own, name) {
			t.Errorf("template.yaml takes no %s", name)
		}
	}
	given := map[string]string{}
	for name := range deployment {
		given[name] = "value of " + name
	}
	pairs := slices.Clone(stacks["infra/stackset.yaml"])
	for name, value := range given {
		pairs = append(pairs, name, value)
	}
	var of struct {
		Parameters              []struct{ ParameterKey, ParameterValue string }
		PermissionModel, CallAs string
		OperationPreferences    map[string]any
		ManagedExecution        struct{ Active bool }
		StackInstancesGroup     []struct{ Regions []string }
		AutoDeployment          struct{ Enabled bool }
	}
	must.Succeed(t, other(t, "infra/stackset.yaml", pairs...).properties("Rollcall", &of))
	passed := map[string]string{}
	for _, p := range of.Parameters {
		passed[p.ParameterKey] = p.ParameterValue
	}
	expect.That(t, maps.Equal(passed, given), "it passes on %v, want %v", passed, given)
	// A release takes its code from a bucket, of which template.yaml knows nothing.
	pairs = append(pairs, "CodeBucket", "code", "CodePrefix", "rollcall/1.0.0")
	var released struct {
		Parameters []struct{ ParameterKey, ParameterValue string }
	}
	must.Succeed(t, other(t, "infra/stackset.yaml", pairs...).properties("Rollcall", &released))
	expect.Equal(t, fmt.Sprint(released.Parameters[:2]), "[{CodeBucket code} {CodePrefix rollcall/1.0.0}]", "a release is given")
	want := map[string]any{"MaxConcurrentPercentage": "10", "FailureTolerancePercentage": "5", "ConcurrencyMode": "STRICT_FAILURE_TOLERANCE"}
	if of.CallAs != "SELF" || of.PermissionModel != "SERVICE_MANAGED" || !of.AutoDeployment.Enabled || !of.ManagedExecution.Active || !cmp.Equal(of.OperationPreferences, want) {
		t.Errorf("it is deployed with %+v", of)
	}
}

// Operators who deploy for an organization copy this policy.
func TestTheBucketOfAnOrganizationIsReadByNobodyElse(t *testing.T) {
	var d document
	must.Succeed(t, json.Unmarshal([]byte(text(t, "infra", "organization-bucket.json")), &d))
	want := []Statement{
		{Sid: "TheOrganizationReads", Effect: "Allow", Actions: []string{"s3:GetObject"}, Resources: []string{"arn:PARTITION:s3:::BUCKET/*"}, Principals: map[string][]string{"AWS": {"*"}}, Conditions: map[string]map[string][]string{"StringEquals": {"aws:PrincipalOrgID": {"o-exampleorgid"}}}},
		{Sid: "NobodyWithoutTLS", Effect: "Deny", Actions: []string{"s3:*"}, Resources: []string{"arn:PARTITION:s3:::BUCKET", "arn:PARTITION:s3:::BUCKET/*"}, Principals: map[string][]string{"AWS": {"*"}}, Conditions: map[string]map[string][]string{"Bool": {"aws:SecureTransport": {"false"}}}},
	}
	expect.Same(t, d.Statement, want, "d.Statement")
}

// Neither CloudFormation nor Terraform looks behind an unchanged URL of a template:
// https://github.com/hashicorp/terraform-provider-aws/issues/304. Operators copy these URLs.
func TestEachVersionOfTheTemplateHasAURLOfItsOwn(t *testing.T) {
	urls := regexp.MustCompile(`https://BUCKET\S*\.json`).FindAllString(text(t, "infra", "README.md"), -1)
	for _, url := range urls {
		expect.That(t, regexp.MustCompile(`/\d+\.\d+\.\d+/`).MatchString(url), "%s is that of every version", url)
	}
	expect.That(t, len(urls) >= 4, "only %v", urls)
}

// CloudFormation creates the entries of each cluster from one loop. The test expands it as documented: &{Name}
// omits characters that a logical ID must not have.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-foreach.html
func TestOneStackLetsTheFunctionsIntoEveryCluster(t *testing.T) {
	const inspect, remediate = "arn:aws:iam::123456789012:role/inspect", "arn:aws:iam::123456789012:role/remediate"
	data, err := Transform(t.Context(), root, "infra/cluster-access.yaml")
	must.Succeed(t, err)
	var written map[string]any
	must.Succeed(t, json.Unmarshal(data, &written))
	must.That(t, written["Transform"] == "AWS::LanguageExtensions", "loops need a transform: %v", written["Transform"])
	loop := written["Resources"].(map[string]any)["Fn::ForEach::Clusters"].([]any)
	must.That(t, loop[0] == "Name" && fmt.Sprint(loop[1]) == "map[Ref:ClusterNames]", "it loops over %v", loop)
	body, err := json.Marshal(loop[2])
	must.Succeed(t, err)
	resources := map[string]any{}
	for _, cluster := range []string{"prod-a", "batch_2"} {
		id := strings.NewReplacer("-", "", "_", "").Replace(cluster)
		made := strings.NewReplacer("\\u0026{Name}", id, "&{Name}", id, "${Name}", cluster).Replace(string(body))
		must.Succeed(t, json.Unmarshal([]byte(made), &resources))
	}
	written["Resources"] = resources
	data, err = json.Marshal(written)
	must.Succeed(t, err)
	entry := func(cluster, role, group string) map[string]any {
		return map[string]any{"ClusterName": cluster, "PrincipalArn": role, "Type": "STANDARD", "KubernetesGroups": []any{group}}
	}
	want := map[string]map[string]any{
		"Inspectproda": entry("prod-a", inspect, "rollcall:viewers"), "Inspectbatch2": entry("batch_2", inspect, "rollcall:viewers"),
	}
	for _, role := range []string{"", remediate} {
		if role != "" {
			want["Remediateproda"], want["Remediatebatch2"] = entry("prod-a", role, "rollcall:remediators"), entry("batch_2", role, "rollcall:remediators")
		}
		tmpl, err := Resolve(data, map[string]string{"InspectRoleArn": inspect, "RemediateRoleArn": role})
		must.Succeed(t, err)
		got := map[string]map[string]any{}
		for id, r := range tmpl.Resources {
			got[id] = r.Properties
		}
		expect.Same(t, got, want, "entries")
	}
}
