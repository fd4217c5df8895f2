package corpus_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
	admission "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	disruption "k8s.io/api/policy/v1"

	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
)

// list is a list as kubectl prints it.
type list[T any] struct {
	APIVersion, Kind string
	Metadata         struct{ ResourceVersion string }
	Items            []T
}

// role is a role whose trust policy is an object, as the AWS CLI decodes it.
type role struct {
	iamtypes.Role
	AssumeRolePolicyDocument map[string]any
}

type profile struct {
	iamtypes.InstanceProfile
	Roles []role
}

// inlinePolicy and policyVersion also have their policy as an object.
type inlinePolicy struct {
	RoleName, PolicyName string
	PolicyDocument       map[string]any
}

type policyVersion struct {
	iamtypes.PolicyVersion
	Document map[string]any
}

type attached struct{ AttachedPolicies []iamtypes.AttachedPolicy }

// shapes are the types that describe each file at its source. The AWS SDK's field names match
// the CLI's except for case.
var shapes = map[string]func() any{
	"cluster.json":                func() any { return &struct{ Cluster ekstypes.Cluster }{} },
	"instances.json":              func() any { return &ec2.DescribeInstancesOutput{} },
	"instance-status.json":        func() any { return &ec2.DescribeInstanceStatusOutput{} },
	"nodes.json":                  func() any { return &list[core.Node]{} },
	"leases.json":                 func() any { return &list[coordination.Lease]{} },
	"k8s-events.json":             func() any { return &list[core.Event]{} },
	"pods.json":                   func() any { return &list[core.Pod]{} },
	"poddisruptionbudgets.json":   func() any { return &list[disruption.PodDisruptionBudget]{} },
	"daemonsets.json":             func() any { return &list[apps.DaemonSet]{} },
	"endpointslices.json":         func() any { return &list[discovery.EndpointSlice]{} },
	"webhooks.json":               func() any { return &list[admission.ValidatingWebhookConfiguration]{} },
	"aws-auth.json":               func() any { return &core.ConfigMap{} },
	"access-entries.json":         func() any { return &struct{ AccessEntries []ekstypes.AccessEntry }{} },
	"instance-profiles.json":      func() any { return &struct{ InstanceProfiles []profile }{} },
	"roles.json":                  func() any { return &struct{ Roles []role }{} },
	"attached-policies.json":      func() any { return &map[string]attached{} },
	"role-policies.json":          func() any { return &map[string]struct{ PolicyNames []string }{} },
	"inline-policies.json":        func() any { return &struct{ RolePolicies []inlinePolicy }{} },
	"managed-policies.json":       func() any { return &struct{ Policies []iamtypes.Policy }{} },
	"policy-versions.json":        func() any { return &map[string]struct{ PolicyVersion policyVersion }{} },
	"serviceaccounts.json":        func() any { return &list[core.ServiceAccount]{} },
	"auto-scaling-instances.json": func() any { return &autoscaling.DescribeAutoScalingInstancesOutput{} },
	"auto-scaling-groups.json":    func() any { return &autoscaling.DescribeAutoScalingGroupsOutput{} },
	"scaling-activities.json":     func() any { return &autoscaling.DescribeScalingActivitiesOutput{} },
	"nodegroups.json":             func() any { return &struct{ Nodegroups []ekstypes.Nodegroup }{} },
	"launch-template-versions.json": func() any {
		return &ec2.DescribeLaunchTemplateVersionsOutput{}
	},
	"images.json":          func() any { return &ec2.DescribeImagesOutput{} },
	"subnets.json":         func() any { return &ec2.DescribeSubnetsOutput{} },
	"route-tables.json":    func() any { return &ec2.DescribeRouteTablesOutput{} },
	"security-groups.json": func() any { return &ec2.DescribeSecurityGroupsOutput{} },
	"network-acls.json":    func() any { return &ec2.DescribeNetworkAclsOutput{} },
	"vpc-endpoints.json":   func() any { return &ec2.DescribeVpcEndpointsOutput{} },
	"nat-gateways.json":    func() any { return &ec2.DescribeNatGatewaysOutput{} },
	"dhcp-options.json":    func() any { return &ec2.DescribeDhcpOptionsOutput{} },
	"vpc-attributes.json":  func() any { return &map[string]ec2.DescribeVpcAttributeOutput{} },
}

// unstructured are the files that none of our types describes: Karpenter's, which would need
// its module, and the ledger. They must be JSON.
var unstructured = []string{"nodeclaims.json", "nodepools.json", "ec2nodeclasses.json", "ledger.json"}

// A field that the real answer does not have would make an analyzer depend on it.
func TestTheFilesHaveTheShapesOfTheirSources(t *testing.T) {
	for _, c := range generate.All() {
		for name, text := range c.Files {
			if !strings.HasSuffix(name, ".json") || c.Name == "api-server-does-not-answer" && name == "nodes.json" {
				continue
			}
			if slices.Contains(unstructured, name) {
				expect.That(t, json.Valid(text), "%s: %s is no JSON", c.Name, name)
				continue
			}
			shape, ok := shapes[name]
			if !ok {
				t.Errorf("%s: %s is no file of a bundle", c.Name, name)
				continue
			}
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			err := d.Decode(shape())
			expect.That(t, err == nil, "%s: %s: %v", c.Name, name, err)
		}
	}
}

// Text that is called broken must be broken, and all other text must parse, whatever linters
// say of it.
func TestTheTextsThatDoNotParseAreThoseThatSaySo(t *testing.T) {
	for _, c := range generate.All() {
		broken := map[string]bool{}
		for _, f := range c.Expect.Findings {
			broken["aws-auth.json"] = broken["aws-auth.json"] || f.FirstDecisive == "AwsAuthUnparseable"
			broken["user-data/"+f.Instance+".txt"] = f.FirstDecisive == "UserDataUnparseable" || slices.Contains(f.AlsoDecisive, "UserDataUnparseable")
		}
		for _, name := range slices.Sorted(maps.Keys(c.Files)) {
			var err error
			switch {
			case name == "aws-auth.json":
				err = mapRoles(c.Files[name])
			case strings.HasPrefix(name, "user-data/") && !slices.Contains(foreign, c.Name) && !slices.Contains(refused, c.Name):
				err = userData(string(c.Files[name]), strings.Contains(c.Name, "bottlerocket"))
			default:
				continue
			}
			expect.That(t, (err != nil) == broken[name], "%s: %s: broken is %v: %v", c.Name, name, broken[name], err)
		}
	}
}

// foreign are cases whose user data is of a form that another system reads: the verdict is
// that it does not fit, whether it parses or not.
var foreign = []string{"toml-on-al2023", "bottlerocket-user-data-in-base64-twice"}

// refused are cases whose user data parses here, and which its reader on the instance refuses:
// a NodeConfig of a kind, version or type that nodeadm does not know or without a field that it
// needs, shell, a script that cloud-init does not know for one, and settings that Bottlerocket's
// API refuses.
var refused = []string{
	"nodeconfig-of-a-version-that-does-not-exist", "nodeconfig-of-a-version-that-does-not-exist-without-a-console", "nodeconfig-of-another-kind", "nodeconfig-whose-flags-are-a-text",
	"quote-that-swallows-the-bootstrap", "here-document-that-swallows-the-bootstrap", "lone-group-whose-script-does-not-parse",
	"script-without-its-first-line", "script-without-its-first-line-that-cloud-init-names", "script-without-its-first-line-in-a-mime-part",
	"bottlerocket-with-a-number-for-a-text", "bottlerocket-refuses-a-setting", "bottlerocket-without-its-authority",
	"own-ami-whose-nodeconfig-nothing-completes", "own-ami-whose-nodeconfig-lacks-its-cluster",
}

func mapRoles(text []byte) error {
	var m core.ConfigMap
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	var roles []map[string]any
	return yaml.Unmarshal([]byte(m.Data["mapRoles"]), &roles)
}

// userData parses the parts of user data that are not shell: TOML for Bottlerocket, and
// each NodeConfig.
func userData(text string, settings bool) error {
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
		text = string(decoded)
	}
	if r, err := gzip.NewReader(strings.NewReader(text)); err == nil {
		whole, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		text = string(whole)
	}
	if settings {
		return toml.Unmarshal([]byte(text), &map[string]any{})
	}
	if strings.Contains(text, "application/node.eks.aws") {
		return nodeConfigs(text)
	}
	for _, part := range strings.Split(text, "--//\n") {
		part = strings.TrimSuffix(part, "--//--\n")
		end := 0
		for _, line := range strings.SplitAfter(part, "\n") {
			if !header.MatchString(line) {
				break
			}
			end += len(line)
		}
		if head, body := part[:end], part[end:]; strings.HasPrefix(head, "Content-Type: ") && strings.TrimSpace(body) == "" {
			return fmt.Errorf("a part is nothing but a header: %q", head)
		}
	}
	return nil
}

// nodeConfigs reads a MIME document by the packages that nodeadm reads it with, which want an
// empty line behind each header.
func nodeConfigs(text string) error {
	document, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		return err
	}
	_, parameters, err := mime.ParseMediaType(document.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	parts := multipart.NewReader(document.Body, parameters["boundary"])
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		body, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(part.Header.Get("Content-Type"), "application/node.eks.aws") {
			continue
		}
		if err := yaml.Unmarshal(body, &map[string]any{}); err != nil {
			return err
		}
	}
}

// header matches a line that belongs to the header of a part as Python's email package has it,
// by which cloud-init reads MIME: without an empty line, the first line that is none of these
// begins the body (headerRE in Lib/email/feedparser.py).
var header = regexp.MustCompile(`^(From |[!-9;-~]*:|[\t ])`)
