package template

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/lambdas/config"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var transformed = sync.OnceValues(func() ([]byte, error) {
	return Transform(context.Background(), root, "template.yaml")
})

// read returns the template for the parameters, given in pairs.
func read(t *testing.T, pairs ...string) *Template {
	t.Helper()
	data, err := transformed()
	must.Succeed(t, err)
	parameters := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		parameters[pairs[i]] = pairs[i+1]
	}
	tmpl, err := Resolve(data, parameters)
	must.Succeed(t, err)
	return tmpl
}

// whole returns the template in mode remediate, in which every resource exists.
func whole(t *testing.T) *Template {
	t.Helper()
	return read(t, "Mode", "remediate", "ChatApproval", "true")
}

// other returns another template of the project for the parameters, given in pairs.
func other(t *testing.T, file string, pairs ...string) *Template {
	t.Helper()
	data, err := Transform(t.Context(), root, file)
	must.Succeed(t, err)
	parameters := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		parameters[pairs[i]] = pairs[i+1]
	}
	tmpl, err := Resolve(data, parameters)
	must.Succeed(t, err)
	return tmpl
}

func (t *Template) ofType(kind string) []string {
	var ids []string
	for id, r := range t.Resources {
		if r.Type == kind {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func function(t *testing.T, tmpl *Template, folder string) Function {
	t.Helper()
	f, err := tmpl.Function(folder)
	must.Succeed(t, err)
	return f
}

var modes = []string{"observe", "notify", "remediate"}

var inVPC = []string{"SubnetIds", "subnet-0a1b2c3d4e5f60718,subnet-1a1b2c3d4e5f60718", "SecurityGroupIds", "sg-0a1b2c3d4e5f60718"}

const (
	instances = "arn:aws:ec2:eu-west-1:123456789012:instance/*"
	clusters  = "arn:aws:eks:eu-west-1:123456789012:cluster/*"
	pools     = "arn:aws:eks:eu-west-1:123456789012:nodegroup/*"
	entries   = "arn:aws:eks:eu-west-1:123456789012:access-entry/*"
	networks  = "arn:aws:ec2:eu-west-1:*:vpc/*" // also those shared by another account
	profiles  = "arn:aws:iam::123456789012:instance-profile/*"
	roles     = "arn:aws:iam::123456789012:role/*"
	managed   = "arn:aws:iam::123456789012:policy/*"
	policies  = "arn:aws:ssm:eu-west-1:123456789012:parameter/rollcall/policy"
	schedules = "arn:aws:scheduler:eu-west-1:123456789012:schedule/${Schedules}/*"
	bus       = "arn:aws:events:eu-west-1:123456789012:event-bus/default"
)

// diagnosis lists the actions that read an instance's surroundings to find a cause.
var diagnosis = []string{
	"ec2:DescribeDhcpOptions *", "ec2:DescribeImages *", "ec2:DescribeLaunchTemplateVersions *", "ec2:DescribeNatGateways *", "ec2:DescribeNetworkAcls *",
	"ec2:DescribeRouteTables *", "ec2:DescribeSecurityGroups *", "ec2:DescribeSubnets *", "ec2:DescribeVpcEndpoints *", "ec2:DescribeVpcs *",
	"ec2:GetConsoleOutput " + instances, "ec2:DescribeVpcAttribute " + networks,
	"iam:GetInstanceProfile " + profiles, "iam:GetRole " + roles, "iam:ListAttachedRolePolicies " + roles, "iam:ListRolePolicies " + roles, "iam:GetRolePolicy " + roles,
	"iam:GetPolicy " + managed, "iam:GetPolicyVersion " + managed,
	"eks:ListAccessEntries " + clusters, "eks:DescribeAccessEntry " + entries, "eks:ListAssociatedAccessPolicies " + entries,
}

// grants lists all permissions of the functions, by the lowest mode that has them.
var grants = map[string]map[string][]string{
	"statechange": {"observe": {
		"logs:CreateLogStream ${StateChangeLogs.Arn}", "logs:PutLogEvents ${StateChangeLogs.Arn}",
		"sqs:ReceiveMessage ${EventsQueue.Arn}", "sqs:DeleteMessage ${EventsQueue.Arn}", "sqs:GetQueueAttributes ${EventsQueue.Arn}",
		"ec2:DescribeInstances *", "ssm:GetParameter " + policies, "scheduler:CreateSchedule " + schedules, "iam:PassRole ${SchedulesRole.Arn}",
		"dynamodb:PutItem ${Ledger.Arn}",
	}},
	"sweep": {"observe": {
		"logs:CreateLogStream ${SweepLogs.Arn}", "logs:PutLogEvents ${SweepLogs.Arn}",
		"eks:ListClusters *", "ec2:DescribeTags *", "dynamodb:Query ${Ledger.Arn}", "sqs:SendMessage ${ChecksQueue.Arn}", "sqs:SendMessage ${SweepsDeadLetters.Arn}",
	}},
	"inspect": {
		"observe": append([]string{
			"logs:CreateLogStream ${InspectLogs.Arn}", "logs:PutLogEvents ${InspectLogs.Arn}",
			"sqs:ReceiveMessage ${ChecksQueue.Arn}", "sqs:DeleteMessage ${ChecksQueue.Arn}", "sqs:GetQueueAttributes ${ChecksQueue.Arn}",
			"ec2:DescribeInstances *", "ec2:DescribeInstanceStatus *", "ec2:DescribeTags *", "ec2:DescribeInstanceAttribute " + instances, "ec2:DescribeVolumes *", "ec2:DescribeNetworkInterfaces *",
			"autoscaling:DescribeAutoScalingInstances *", "autoscaling:DescribeAutoScalingGroups *", "autoscaling:DescribeScalingActivities *",
			"eks:DescribeCluster " + clusters, "eks:ListNodegroups " + clusters, "eks:DescribeNodegroup " + pools, "arc-zonal-shift:GetManagedResource *",
			"ssm:GetParameter " + policies, "events:PutEvents " + bus, "scheduler:CreateSchedule " + schedules, "iam:PassRole ${SchedulesRole.Arn}",
			"dynamodb:Query ${Ledger.Arn}", "dynamodb:PutItem ${Ledger.Arn}", "dynamodb:DeleteItem ${Ledger.Arn}",
			"s3:PutObject ${EvidenceBucket.Arn}/checks/*",
		}, diagnosis...),
		"notify":    {"sns:Publish ${NoticesTopic}", "sns:Publish ${ChatTopic}", "ec2:CreateTags " + instances, "ec2:DeleteTags " + instances, "s3:PutObject ${EvidenceBucket.Arn}/*"},
		"remediate": {"sqs:SendMessage ${OrdersQueue.Arn}"},
	},
	"remediate": {
		"remediate": append([]string{
			"logs:CreateLogStream ${RemediateLogs.Arn}", "logs:PutLogEvents ${RemediateLogs.Arn}",
			"sqs:ReceiveMessage ${OrdersQueue.Arn}", "sqs:DeleteMessage ${OrdersQueue.Arn}", "sqs:GetQueueAttributes ${OrdersQueue.Arn}",
			"ec2:DescribeInstances *", "ec2:DescribeInstanceStatus *", "ec2:DescribeInstanceAttribute " + instances,
			"autoscaling:DescribeAutoScalingInstances *", "autoscaling:DescribeAutoScalingGroups *", "autoscaling:DescribeScalingActivities *",
			"eks:DescribeCluster " + clusters, "eks:DescribeNodegroup " + pools, "arc-zonal-shift:GetManagedResource *",
			"ssm:GetParameter " + policies, "events:PutEvents " + bus,
			"dynamodb:Query ${Ledger.Arn}", "dynamodb:PutItem ${Ledger.Arn}",
			"sns:Publish ${NoticesTopic}", "sns:Publish ${ChatTopic}",
			"s3:PutObject ${EvidenceBucket.Arn}/*", "ec2:RebootInstances " + instances, "ec2:TerminateInstances " + instances,
		}, diagnosis...),
	},
}

func TestAFunctionMayDoWhatItsModeNeedsAndNothingElse(t *testing.T) {
	for n, mode := range modes {
		tmpl := read(t, "Mode", mode)
		for folder, byMode := range grants {
			if folder == "remediate" && mode != "remediate" {
				continue // see TestWhatActsExistsInModeRemediateOnly
			}
			var want, got []string
			for _, lower := range modes[:n+1] {
				want = append(want, byMode[lower]...)
			}
			for _, s := range function(t, tmpl, folder).Statements {
				expect.That(t, s.Effect == "Allow", "%s in mode %s: %s is a %s", folder, mode, s.Sid, s.Effect)
				for _, action := range s.Actions {
					for _, resource := range s.Resources {
						got = append(got, action+" "+resource)
					}
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			expect.Same(t, got, want, "%s in mode %s", folder, mode)
		}
	}
}

// A reviewer of a stack in mode observe or notify finds nothing in it that could act. The log group
// is an exception: lowering the mode must not delete the record of what was done.
func TestWhatActsExistsInModeRemediateOnly(t *testing.T) {
	acts := regexp.MustCompile(`^(Orders|Remediate)`)
	for _, mode := range modes {
		var got []string
		tmpl := read(t, "Mode", mode)
		for id := range tmpl.Resources {
			if acts.MatchString(id) {
				got = append(got, id)
			}
		}
		for id := range tmpl.Outputs {
			if acts.MatchString(id) {
				got = append(got, "output "+id)
			}
		}
		slices.Sort(got)
		want := []string{"RemediateLogs"}
		if mode == "remediate" {
			want = []string{"OrdersDead", "OrdersDeadLetters", "OrdersLate", "OrdersQueue", "OrdersQueuePolicy", "RemediateErrors", "RemediateFunction", "RemediateFunctionQueue", "RemediateLogs", "RemediateRole",
				"output RemediateEventSource", "output RemediateRoleArn"}
		}
		expect.Same(t, got, want, "mode %s", mode)
		data, err := json.Marshal([]any{tmpl.Resources, tmpl.Outputs})
		must.Succeed(t, err)
		for _, m := range regexp.MustCompile(`\$\{((?:Orders|Remediate)[A-Za-z]*)`).FindAllStringSubmatch(string(data), -1) {
			expect.That(t, slices.Contains(got, m[1]), "mode %s refers to %s, which does not exist", mode, m[1])
		}
	}
}

// What may hold secrets can be left out. Protection from termination is read with
// ec2:DescribeInstanceAttribute, like user data, and IAM does not tell the attributes apart.
func TestWhatMayHoldSecretsCanBeLeftUnread(t *testing.T) {
	secrets := []string{"ec2:DescribeLaunchTemplateVersions", "ec2:GetConsoleOutput"}
	for value, want := range map[string][]string{"true": secrets, "false": nil} {
		tmpl := read(t, "Mode", "remediate", "ReadConsoleAndUserData", value)
		for _, folder := range []string{"inspect", "remediate"} {
			var got []string
			f := function(t, tmpl, folder)
			for _, s := range f.Statements {
				for _, action := range s.Actions {
					if slices.Contains(secrets, action) {
						got = append(got, action)
					}
				}
			}
			slices.Sort(got)
			expect.That(t, slices.Equal(got, want), "ReadConsoleAndUserData=%s: %s may %v, want %v", value, folder, got, want)
			expect.Equal(t, f.Environment[config.ReadSecrets], value, "ReadConsoleAndUserData=%s: the code of %s is told", value, folder)
		}
	}
}

// Checks are kept in every mode, unless the stack says no.
func TestChecksCanBeLeftUnkept(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false} {
		f := function(t, read(t, "KeepChecks", value), "inspect")
		may := slices.ContainsFunc(f.Statements, func(s Statement) bool { return slices.Contains(s.Actions, "s3:PutObject") })
		if may != want || f.Environment[config.KeepChecks] != value {
			t.Errorf("KeepChecks=%s: inspect may put objects: %v, and its code is told %q", value, may, f.Environment[config.KeepChecks])
		}
	}
}

// With a customer managed key, SSM decrypts the policy with the permissions of the
// reader.
func TestAPolicyUnderAKeyOfOnesOwnCanBeRead(t *testing.T) {
	const key = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	want := Statement{Sid: "DecryptPolicy", Effect: "Allow", Actions: []string{"kms:Decrypt"}, Resources: []string{key}, Conditions: map[string]map[string][]string{"StringEquals": {"kms:ViaService": {"ssm.eu-west-1.amazonaws.com"}}}}
	tmpl := read(t, "Mode", "remediate", "ChatApproval", "true", "PolicyKeyArn", key)
	for folder := range Functions {
		statements := function(t, tmpl, folder).Statements
		reads := slices.ContainsFunc(statements, func(s Statement) bool { return slices.Contains(s.Actions, "ssm:GetParameter") })
		decrypts := slices.ContainsFunc(statements, func(s Statement) bool { return cmp.Equal(s, want) })
		expect.That(t, reads == decrypts, "%s reads the policy: %v, decrypts it: %v", folder, reads, decrypts)
	}
}

func TestTheSweepDescribesClustersOnlyToTellTheirVPCs(t *testing.T) {
	var found bool
	for _, s := range function(t, read(t, "VpcIds", "vpc-0a1b2c3d4e5f60718"), "sweep").Statements {
		found = found || slices.Equal(s.Actions, []string{"eks:DescribeCluster"}) && slices.Equal(s.Resources, []string{clusters})
	}
	expect.That(t, found, "with VpcIds the sweep cannot tell whose clusters are whose")
}

// takeNoResource lists the actions that take no resource, according to the Service
// Authorization Reference:
// https://docs.aws.amazon.com/service-authorization/latest/reference/. The copy in
// cfn-lint must agree.
var takeNoResource = map[string]string{
	"ec2:DescribeInstances":                    "the listing of instances",
	"ec2:DescribeInstanceStatus":               "status checks that fail",
	"ec2:DescribeTags":                         "clusters that only tags know, and the instances of large ones",
	"eks:ListClusters":                         "all clusters of the region",
	"autoscaling:DescribeAutoScalingInstances": "warm pools, Standby, scale-in protection",
	"autoscaling:DescribeAutoScalingGroups":    "processes that are suspended",
	"autoscaling:DescribeScalingActivities":    "launches that failed",
	"ec2:DescribeNetworkInterfaces":            "interfaces that outlived their instances; and Lambda, when it places a function in a VPC",
	"ec2:DescribeVolumes":                      "volumes that outlived their instances",
	"ec2:DescribeSubnets":                      "free addresses; and Lambda, when it places a function in a VPC",
	"ec2:DescribeDhcpOptions":                  "which name servers instances ask",
	"ec2:DescribeImages":                       "what an instance boots, and for which processor",
	"ec2:DescribeLaunchTemplateVersions":       "what instances of a group are launched with",
	"ec2:DescribeNatGateways":                  "the way to public API servers",
	"ec2:DescribeNetworkAcls":                  "likewise",
	"ec2:DescribeRouteTables":                  "likewise",
	"ec2:DescribeSecurityGroups":               "likewise, and to private ones",
	"ec2:DescribeVpcEndpoints":                 "the way to the APIs of AWS",
	"ec2:DescribeVpcs":                         "which set of DHCP options a VPC uses",
	"ssm:DescribeInstanceInformation":          "which SSM agents answer, with HostLogs",
	"ssm:ListCommandInvocations":               "which commands printed logs of hosts, with HostLogs",
	"ssm:GetCommandInvocation":                 "what they printed",
	"xray:PutTraceSegments":                    "traces, with Tracing",
	"xray:PutTelemetryRecords":                 "likewise",
}

// takesOtherResources lists the actions that take resources of another type than the one
// meant. A condition of the template restricts them; see TestConditionsOfGrants.
var takesOtherResources = map[string]string{
	// https://docs.aws.amazon.com/r53recovery/latest/dg/security_iam_service-with-iam-zonal-shift.html
	"arc-zonal-shift:GetManagedResource": "load balancers, not clusters",
}

func TestNoWildcardsButWhereAWSKnowsNoResources(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".build/sam/lib/python*/site-packages/cfnlint/data/AdditionalSpecs/Policies.json"))
	must.That(t, err == nil && len(files) == 1, "cfn-lint's list of actions: %v, %v", files, err)
	data := must.Read(t, files[0])
	var services map[string]struct {
		Actions map[string]struct{ Resources []string }
	}
	must.Succeed(t, json.Unmarshal(data, &services))
	for action := range takeNoResource {
		service, name, _ := strings.Cut(action, ":")
		known := false
		for some, about := range services[service].Actions {
			if strings.EqualFold(some, name) {
				known = true
				expect.That(t, len(about.Resources) == 0, "%s takes resources: %v", action, about.Resources)
			}
		}
		expect.That(t, known, "AWS knows no action %s", action)
	}
	for _, mode := range modes {
		tmpl := read(t, append([]string{"Mode", mode, "Tracing", "true", "HostLogs", "true"}, inVPC...)...)
		for _, role := range tmpl.ofType("AWS::IAM::Role") {
			statements, err := tmpl.Role(role)
			must.Succeed(t, err)
			for _, s := range statements {
				for _, action := range s.Actions {
					expect.That(t, !strings.Contains(action, "*"), "%s may %s", role, action)
					// Network interfaces that do not exist yet have no name. The function's code is denied all of
					// these actions.
					if s.Sid == "LambdaMakesNetworkInterfaces" || s.Effect == "Deny" {
						continue
					}
					if takesOtherResources[action] != "" && s.Conditions != nil {
						continue
					}
					if slices.Contains(s.Resources, "*") && takeNoResource[action] == "" {
						t.Errorf("%s may %s everything", role, action)
					}
				}
			}
		}
		for _, id := range tmpl.ofType("AWS::KMS::Key") {
			statements, err := tmpl.Statements(id, "KeyPolicy")
			must.Succeed(t, err)
			for _, s := range statements {
				expect.That(t, !slices.ContainsFunc(s.Actions, func(a string) bool { return strings.Contains(a, "*") }), "the policy of %s: %s allows %v", id, s.Sid, s.Actions)
			}
		}
	}
}

// destructive lists the actions that interrupt or terminate instances.
var destructive = []string{"ec2:RebootInstances", "ec2:TerminateInstances"}

func TestOnlyRemediateDestroysAndOnlyWhatCarriesAnOrder(t *testing.T) {
	harmless := []string{
		"sqs:DeleteMessage",   // on its own queue, by Lambda
		"ec2:DeleteTags",      // the five keys
		"dynamodb:DeleteItem", // records that the ledger no longer needs
	}
	for _, mode := range modes {
		tmpl := read(t, append([]string{"Mode", mode}, inVPC...)...)
		var destroyers []string
		for _, role := range tmpl.ofType("AWS::IAM::Role") {
			statements, err := tmpl.Role(role)
			must.Succeed(t, err)
			for _, s := range statements {
				if s.Effect != "Allow" || s.Sid == "LambdaMakesNetworkInterfaces" {
					continue
				}
				for _, action := range s.Actions {
					_, verb, _ := strings.Cut(action, ":")
					for _, bad := range []string{"Terminate", "Stop", "Reboot", "Delete", "Remove", "Detach", "Disassociate", "Modify", "Set", "Run", "Start", "Cancel"} {
						if strings.HasPrefix(verb, bad) && !slices.Contains(harmless, action) {
							destroyers = append(destroyers, role+" "+action)
						}
					}
				}
				if slices.ContainsFunc(s.Actions, func(a string) bool { return slices.Contains(destructive, a) }) {
					want := map[string]map[string][]string{"Null": {"aws:ResourceTag/rollcall:order": {"false"}}}
					diff := cmp.Diff(want, s.Conditions)
					expect.That(t, diff == "" && slices.Equal(s.Actions, destructive), "the leash of %v (-want +got):\n%s", s.Actions, diff)
				}
			}
		}
		var want []string
		if mode == "remediate" {
			want = []string{"RemediateRole ec2:RebootInstances", "RemediateRole ec2:TerminateInstances"}
		}
		expect.That(t, slices.Equal(destroyers, want), "in mode %s these may destroy: %v, want %v", mode, destroyers, want)
	}
}

// The conditions of all statements that have one: no other grant depends on a condition.
func TestConditionsOfGrants(t *testing.T) {
	passed := map[string]map[string][]string{"StringEquals": {"iam:PassedToService": {"scheduler.amazonaws.com"}}}
	events := map[string]map[string][]string{"ForAllValues:StringEquals": {"events:source": {"rollcall"}}}
	code := map[string]map[string][]string{"ArnLike": {"lambda:SourceFunctionArn": {"arn:aws:lambda:eu-west-1:123456789012:function:*"}}}
	tags := map[string]map[string][]string{
		"ForAllValues:StringEquals": {"aws:TagKeys": {"rollcall:finding", "rollcall:since", "rollcall:cause", "rollcall:next", "rollcall:order"}},
		"Null":                      {"aws:TagKeys": {"false"}},
	}
	order := map[string]map[string][]string{"Null": {"aws:ResourceTag/rollcall:order": {"false"}}}
	shifts := map[string]map[string][]string{"StringLike": {"arc-zonal-shift:ResourceIdentifier": {clusters}}}
	onlyNew := map[string]map[string][]string{"Null": {"s3:if-none-match": {"false"}}}
	sizes := map[string]map[string][]string{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": {"fleet#" + Region}}}
	ofClusters := map[string]map[string][]string{"ForAllValues:StringLike": {"dynamodb:LeadingKeys": {"cluster#123456789012/" + Region + "/*"}}}
	want := map[string]map[string]map[string][]string{
		"statechange iam:PassRole":                             passed,
		"statechange dynamodb:PutItem":                         ofClusters,
		"inspect iam:PassRole":                                 passed,
		"sweep dynamodb:Query":                                 sizes,
		"approve dynamodb:PutItem":                             ofClusters,
		"inspect events:PutEvents":                             events,
		"inspect ec2:CreateTags":                               tags,
		"inspect ec2:DeleteTags":                               tags,
		"inspect s3:PutObject":                                 onlyNew,
		"remediate s3:PutObject":                               onlyNew,
		"remediate events:PutEvents":                           events,
		"remediate ec2:RebootInstances ec2:TerminateInstances": order,
		"inspect arc-zonal-shift:GetManagedResource":           shifts,
		"remediate arc-zonal-shift:GetManagedResource":         shifts,
		"inspect not from the function's code":                 code,
		"remediate not from the function's code":               code,
	}
	got := map[string]map[string]map[string][]string{}
	tmpl := read(t, append([]string{"Mode", "remediate", "ChatApproval", "true"}, inVPC...)...)
	for folder := range Functions {
		for _, s := range function(t, tmpl, folder).Statements {
			switch {
			case s.Effect == "Deny":
				got[folder+" not from the function's code"] = s.Conditions
			case s.Conditions != nil:
				got[folder+" "+strings.Join(s.Actions, " ")] = s.Conditions
			}
		}
	}
	expect.Same(t, got, want, "conditions")
}

// The order tag is what remediate may act on: below its mode no function writes one. One that
// a higher mode left is still removed.
func TestAnOrderIsTaggedInModeRemediateOnly(t *testing.T) {
	marks := []string{"rollcall:finding", "rollcall:since", "rollcall:cause", "rollcall:next"}
	for mode, want := range map[string][]string{"notify": marks, "remediate": append(slices.Clone(marks), "rollcall:order")} {
		for _, s := range function(t, read(t, "Mode", mode), "inspect").Statements {
			keys := s.Conditions["ForAllValues:StringEquals"]["aws:TagKeys"]
			if slices.Contains(s.Actions, "ec2:CreateTags") && !slices.Equal(keys, want) {
				t.Errorf("in mode %s it may write %v", mode, keys)
			}
			if slices.Contains(s.Actions, "ec2:DeleteTags") && (len(s.Actions) != 1 || len(keys) != 5) {
				t.Errorf("in mode %s it may remove %v", mode, keys)
			}
		}
	}
}

// Settings that an organization requires for every role, table and function.
func TestWhatAnOrganizationPrescribesReachesEveryResource(t *testing.T) {
	const boundary = "arn:aws:iam::123456789012:policy/platform/boundary"
	for file, pairs := range stacks {
		if file == "infra/stackset.yaml" {
			continue // its role, that of the service, exists already
		}
		named := boundary
		if file == "template.yaml" {
			named = "platform/boundary"
		}
		tmpl := other(t, file, append([]string{"PermissionsBoundaryArn", named, "RolePath", "/platform/"}, pairs...)...)
		roles := tmpl.ofType("AWS::IAM::Role")
		expect.That(t, len(roles) > 0, "%s has no role", file)
		for _, id := range append(roles, tmpl.ofType("AWS::IAM::ManagedPolicy")...) {
			p := tmpl.Resources[id].Properties
			isRole := tmpl.Resources[id].Type == "AWS::IAM::Role"
			expect.That(t, p["Path"] == "/platform/" && (!isRole || p["PermissionsBoundary"] == boundary), "%s: %s has the path %v and the boundary %v", file, id, p["Path"], p["PermissionsBoundary"])
		}
	}
	tmpl := read(t, "Mode", "remediate", "ChatApproval", "true", "PermissionsBoundaryArn", boundary, "RolePath", "/platform/", "TableDeletionProtection", "true", "TablePointInTimeRecovery", "false", "Tracing", "true")
	for _, id := range tmpl.ofType("AWS::IAM::Role") {
		if p := tmpl.Resources[id].Properties; p["PermissionsBoundary"] != boundary || p["Path"] != "/platform/" {
			t.Errorf("%s has the boundary %v and the path %v", id, p["PermissionsBoundary"], p["Path"])
		}
		p := whole(t).Resources[id].Properties
		expect.That(t, p["PermissionsBoundary"] == nil && p["Path"] == "/", "%s has the boundary %v and the path %v by default", id, p["PermissionsBoundary"], p["Path"])
	}
	table := tmpl.Resources["Ledger"].Properties
	if table["DeletionProtectionEnabled"] != true || fmt.Sprint(table["PointInTimeRecoverySpecification"]) != "map[PointInTimeRecoveryEnabled:false]" {
		t.Errorf("the table has %v", table)
	}
	// Lambda writes the traces with the function's permissions.
	traces := Statement{Sid: "Trace", Effect: "Allow", Actions: []string{"xray:PutTraceSegments", "xray:PutTelemetryRecords"}, Resources: []string{"*"}}
	for tracing, mode := range map[string]string{"true": "map[Mode:Active]", "false": "map[Mode:PassThrough]"} {
		tmpl := read(t, "Mode", "remediate", "ChatApproval", "true", "Tracing", tracing)
		for folder, id := range Functions {
			may := slices.ContainsFunc(function(t, tmpl, folder).Statements, func(s Statement) bool { return cmp.Equal(s, traces) })
			got := fmt.Sprint(tmpl.Resources[id].Properties["TracingConfig"])
			expect.That(t, got == mode && may == (tracing == "true"), "Tracing=%s: %s has %s, and may write traces: %v", tracing, folder, got, may)
		}
	}
}

// Every resource that receives messages or keeps evidence refuses requests without TLS.
func TestNobodySpeaksWithoutTLS(t *testing.T) {
	tmpl := whole(t)
	guarded := map[string]bool{}
	for kind, property := range map[string]string{"AWS::SQS::QueuePolicy": "sqs:*", "AWS::SNS::TopicPolicy": "sns:Publish", "AWS::S3::BucketPolicy": "s3:*"} {
		for _, id := range tmpl.ofType(kind) {
			statements, err := tmpl.Statements(id, "PolicyDocument")
			must.Succeed(t, err)
			for _, s := range statements {
				if s.Effect == "Deny" && slices.Equal(s.Actions, []string{property}) && slices.Equal(s.Principals["AWS"], []string{"*"}) && cmp.Equal(s.Conditions, map[string]map[string][]string{"Bool": {"aws:SecureTransport": {"false"}}}) {
					for _, r := range s.Resources {
						guarded[r] = true
					}
				}
			}
		}
	}
	for kind, arn := range map[string]string{"AWS::SQS::Queue": ".Arn}", "AWS::SNS::Topic": "}", "AWS::S3::Bucket": ".Arn}"} {
		for _, id := range tmpl.ofType(kind) {
			expect.That(t, guarded["${"+id+arn], "%s is spoken to without TLS", id)
		}
	}
}

func TestTheFunctionsCodeMayNotUseWhatLambdaNeedsForAVPC(t *testing.T) {
	tmpl := read(t, append([]string{"Mode", "remediate", "ChatApproval", "true"}, inVPC...)...)
	for folder := range Functions {
		f := function(t, tmpl, folder)
		var allowed, denied []string
		for _, s := range f.Statements {
			if s.Sid == "LambdaMakesNetworkInterfaces" {
				allowed = s.Actions
			}
			if s.Effect == "Deny" && slices.Equal(s.Resources, []string{"*"}) {
				denied = s.Actions
			}
		}
		reachesClusters := folder == "inspect" || folder == "remediate"
		expect.That(t, f.InVPC == reachesClusters && (len(allowed) > 0) == reachesClusters, "%s: in the VPC: %v, may make interfaces: %v", folder, f.InVPC, allowed)
		// The code reads subnets too, and that of inspect reads interfaces.
		if folder == "inspect" {
			allowed = slices.DeleteFunc(slices.Clone(allowed), func(a string) bool { return a == "ec2:DescribeNetworkInterfaces" })
		}
		expect.That(t, slices.Equal(allowed, denied) && !slices.Contains(denied, "ec2:DescribeSubnets"), "%s: Lambda may %v, the code is denied %v", folder, allowed, denied)
	}
	for folder := range Functions {
		f := function(t, whole(t), folder)
		expect.That(t, !f.InVPC, "%s is in a VPC by default", folder)
	}
}

func TestRolesTrustTheirServiceOnly(t *testing.T) {
	tmpl := whole(t)
	account := map[string]map[string][]string{"StringEquals": {"aws:SourceAccount": {Account}}, "ArnEquals": {"aws:SourceArn": {"${Schedules.Arn}"}}}
	want := map[string]string{
		"StateChangeRole": "lambda.amazonaws.com", "SweepRole": "lambda.amazonaws.com", "InspectRole": "lambda.amazonaws.com", "RemediateRole": "lambda.amazonaws.com", "ApproveRole": "lambda.amazonaws.com",
		"SchedulesRole": "scheduler.amazonaws.com", "SweepScheduleRole": "scheduler.amazonaws.com",
	}
	expect.List(t, tmpl.ofType("AWS::IAM::Role"), slices.Sorted(maps.Keys(want)), "roles")
	for role, service := range want {
		statements, err := tmpl.Statements(role, "AssumeRolePolicyDocument")
		must.Succeed(t, err)
		if len(statements) != 1 || !cmp.Equal(statements[0].Principals, map[string][]string{"Service": {service}}) || !slices.Equal(statements[0].Actions, []string{"sts:AssumeRole"}) {
			t.Errorf("%s trusts %+v", role, statements)
			continue
		}
		if service == "scheduler.amazonaws.com" && !cmp.Equal(statements[0].Conditions, account) {
			t.Errorf("%s trusts the schedules of others: %v", role, statements[0].Conditions)
		}
	}
	for role, may := range map[string][]string{"SchedulesRole": {"sqs:SendMessage ${ChecksQueue.Arn}"}, "SweepScheduleRole": {"lambda:InvokeFunction ${SweepFunction.Arn}", "sqs:SendMessage ${SweepsDeadLetters.Arn}"}} {
		statements, err := tmpl.Role(role)
		must.Succeed(t, err)
		var got []string
		for _, s := range statements {
			got = append(got, strings.Join(s.Actions, " ")+" "+strings.Join(s.Resources, " "))
		}
		expect.That(t, slices.Equal(got, may), "%s may %q, want %q", role, got, may)
	}
}

// An inline policy has at most 10,240 characters, without white space, and ARNs grow with
// the names of stack and region.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
func TestTheRolesFitIntoIAMsQuota(t *testing.T) {
	tmpl := read(t, append([]string{"Mode", "remediate", "HostLogs", "true"}, inVPC...)...)
	for _, role := range tmpl.ofType("AWS::IAM::Role") {
		var p struct {
			Policies []struct{ PolicyDocument json.RawMessage }
		}
		must.Succeed(t, tmpl.properties(role, &p))
		size := 0
		for _, some := range p.Policies {
			size += len(some.PolicyDocument)
		}
		expect.That(t, size != 0 && size <= 8000, "the policies of %s have %d characters", role, size)
	}
}
