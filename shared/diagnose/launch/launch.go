// Package launch finds why a group gets no instance, from what Karpenter, EC2 Auto Scaling, EKS
// or EC2 says about the failed launch.
//
// The package is pure.
package launch

import (
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// rule is one cause and the words in messages that name it, in lower case: EC2's error codes
// and Auto Scaling's sentences.
//
// - https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
// - https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-instancelaunchfailure.html
// - https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-ami.html
// - https://github.com/aws/karpenter-provider-aws/blob/main/pkg/errors/errors.go
type rule struct {
	code  cause.Code
	words []string
	says  string
}

var rules = []rule{
	// EC2 terminates an instance whose encrypted volume it cannot open. Auto Scaling then only
	// says "Client error on launch", for which the key is the usual reason.
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-instancelaunchfailure.html
	{cause.LaunchKmsDenied, []string{"invalidkmskey", "kms key", "client.internalerror", "kms:creategrant", "kms:decrypt", "kms:generatedatakey"}, "the KMS key of an encrypted volume cannot be used"},
	{cause.LaunchDenied, []string{"unauthorizedoperation", "not authorized to perform", "accessdenied", "authfailure", "encoded authorization failure", withoutRole}, "a permission for the launch is denied"},
	{cause.LaunchAmiInvalid, []string{"invalidamiid", "the image id '", "ami is invalid", "no amis found", "amis not found", "ami cannot be described"}, "the AMI does not exist, or may not be used"},
	{cause.InstanceProfileMissing, []string{"invalid iam instance profile", "iaminstanceprofile.name is invalid", "iaminstanceprofile.arn is invalid", "instance profile not found"}, "the instance profile does not exist, or may not be used"},
	{cause.LaunchSnapshotMissing, []string{"invalidsnapshot", "the snapshot '"}, "a snapshot of the AMI or the launch template does not exist"},
	{cause.ArchitectureMismatch, []string{"does not match the architecture"}, "the AMI is for another architecture than the instance type"},
	{cause.LaunchTypeUnavailable, []string{"your requested instance type (", "invalidinstancetype"}, "the region or the zone does not offer the instance type"},
	{cause.LaunchSubnetInvalid, []string{"invalidsubnet", "the subnet id '"}, "the subnet does not exist, or cannot be used"},
	{cause.LaunchTemplateInvalid, []string{"invalidlaunchtemplate", "launch template", "launchtemplate", "invalidkeypair", "the key pair '", "invalidgroup.notfound", "the security group '", "unsupported hibernation", "invalidblockdevicemapping", "is not a valid tag key"}, "the launch template, or something that it names, is not valid"},
	{cause.SubnetIpsExhausted, []string{"insufficientfreeaddresses", "not enough free addresses", "insufficient free addresses"}, "the subnet has no free address"},
	{cause.LaunchQuotaExceeded, []string{"vcpulimitexceeded", "vcpu limit of", "instancelimitexceeded", "maxspotinstancecountexceeded", "max spot instance count exceeded", "volumelimitexceeded", "volume limit exceeded", "limitexceeded", "your quota for", "quota exceeded"}, "a quota of the account is used up"},
	{cause.LaunchSpotPriceTooLow, []string{"spotmaxpricetoolow", "spot price is lower than", "spot request price"}, "the highest price for Spot Instances is below the price"},
	{cause.LaunchNoCapacity, []string{"insufficientinstancecapacity", "insufficientcapacity", "unfulfillablecapacity", "do not have sufficient", "no spot capacity available", "insufficienthostcapacity", "insufficientreservedinstancecapacity", "reservationcapacityexceeded", "insufficient capacity", "all requested instance types were unavailable"}, "EC2 has no capacity for it"},
	{cause.LaunchInternalError, []string{"server.internalerror", "internal error has occurred"}, "the service itself failed"},
}

// issues maps the codes of a managed node group's health issues to the causes that they name.
// Any other code is NodeGroupUnhealthy.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
var issues = map[string]cause.Code{
	"AmiIdNotFound":                            cause.LaunchAmiInvalid,
	"AutoScalingGroupNotFound":                 cause.OwnerGone,
	"Ec2InstanceTypeDoesNotExist":              cause.LaunchTypeUnavailable,
	"Ec2LaunchTemplateInvalidConfiguration":    cause.LaunchTemplateInvalid,
	"Ec2LaunchTemplateMaxLimitExceeded":        cause.LaunchQuotaExceeded,
	"Ec2LaunchTemplateNotFound":                cause.LaunchTemplateInvalid,
	"Ec2LaunchTemplateVersionMaxLimitExceeded": cause.LaunchQuotaExceeded,
	"Ec2LaunchTemplateVersionMismatch":         cause.LaunchTemplateInvalid,
	"Ec2SubnetInvalidConfiguration":            cause.LaunchSubnetInvalid,
	"Ec2SubnetListTooLong":                     cause.LaunchSubnetInvalid,
	"Ec2SubnetMissingIpv6Assignment":           cause.LaunchSubnetInvalid,
	"Ec2SubnetNotFound":                        cause.LaunchSubnetInvalid,
	"IamInstanceProfileNotFound":               cause.InstanceProfileMissing,
	"IamLimitExceeded":                         cause.LaunchQuotaExceeded,
	"IamNodeRoleNotFound":                      cause.InstanceProfileMissing,
	"InstanceLimitExceeded":                    cause.LaunchQuotaExceeded,
	"InsufficientFreeAddresses":                cause.SubnetIpsExhausted,
	"InternalFailure":                          cause.LaunchInternalError,
	"LimitExceeded":                            cause.LaunchQuotaExceeded,
	"SourceEc2LaunchTemplateNotFound":          cause.LaunchTemplateInvalid,
}

// afterLaunch are the health issues about instances that were launched. EKS may report one long
// after the nodes have joined, or for what joining does not need.
var afterLaunch = []string{"AccessDenied", "ClusterUnreachable", creationFailure}

// creationFailure is the issue that instances do not join or are not healthy, without a reason. It
// repeats what the findings of those instances say.
const creationFailure = "NodeCreationFailure"

// troubled reports whether an instance of the finding's group is in trouble itself.
func troubled(c *evidence.Case) bool {
	return slices.ContainsFunc(c.Group().Members, func(m evidence.Member) bool { return m.Finding != "" })
}

// OfIssue returns the cause that the code of a node group's health issue names, and false if it
// names none.
func OfIssue(code string) (cause.Code, bool) {
	c, ok := issues[code]
	return c, ok
}

// reported is one cause with what reported it.
type reported struct {
	rule
	source, field, message string
	after, repeats         bool // it is about instances that were launched; it names no reason
}

// causesOf returns the causes of failed launches: those of the message, then those of a managed
// node group's health issues. An issue that only says that launches fail is classified by its
// message.
func causesOf(l roll.Launch) (out []reported) {
	add := func(t reported) {
		if !slices.ContainsFunc(out, func(o reported) bool { return o.code == t.code }) {
			out = append(out, t)
		}
	}
	if l.Field != healthIssues {
		for _, r := range matching(l.Message) {
			add(reported{rule: r, source: l.Source, field: l.Field, message: l.Message})
		}
	}
	for _, i := range l.Issues {
		t := reported{source: "managed node group", field: healthIssues, message: i.Code + ": " + i.Message}
		code, known := issues[i.Code]
		switch found := matching(i.Message); {
		case known:
			t.rule = ruleOf(code)
			add(t)
		case i.Code == launchFailures && len(found) > 0:
			for _, r := range found {
				t.rule = r
				add(t)
			}
		case i.Code != launchFailures || len(out) == 0:
			t.rule, t.after = ruleOf(cause.NodeGroupUnhealthy), slices.Contains(afterLaunch, i.Code)
			t.repeats = i.Code == creationFailure
			add(t)
		}
	}
	return out
}

const (
	// healthIssues is the field with EKS's health issues of a managed node group.
	healthIssues = "health.issues"
	// launchFailures is the issue that repeats what Auto Scaling says.
	launchFailures = "AsgInstanceLaunchFailures"
)

// ruleOf returns the rule of a cause, or a rule for a cause that only EKS names.
func ruleOf(code cause.Code) rule {
	if i := slices.IndexFunc(rules, func(r rule) bool { return r.code == code }); i >= 0 {
		return rules[i]
	}
	if code == cause.OwnerGone {
		return rule{code: code, says: "its Auto Scaling group does not exist"}
	}
	return rule{code: code, says: "EKS reports a health issue"}
}

// Classify returns the causes that a message names, in the order of the rules. It returns none
// for a message without a known word.
func Classify(message string) (out []cause.Code) {
	for _, r := range matching(message) {
		out = append(out, r.code)
	}
	return out
}

func matching(message string) (out []rule) {
	m := strings.ToLower(message)
	// Karpenter calls each of these failures InsufficientCapacityError, followed by EC2's own
	// message.
	m = strings.ReplaceAll(m, "insufficientcapacityerror", "")
	m = strings.ReplaceAll(m, "insufficient capacity, with fleet error", "with fleet error")
	for _, r := range rules {
		for _, w := range r.words {
			if strings.Contains(m, w) && !shadowed(r.code, w, m) {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

// withoutRole is the denial to create the role by which EC2 launches Spot Instances, which an
// account lacks until its first one.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
const withoutRole = "do not have permission to create the service-linked role"

// shadowed reports whether a message of another cause contains the word too: a missing
// permission for a key or a launch template is a denial, and a volume's quota is no fault of
// the key.
func shadowed(code cause.Code, word, m string) bool {
	switch {
	case code == cause.LaunchKmsDenied && word == "client.internalerror":
		return strings.Contains(m, "volumelimitexceeded")
	case code == cause.LaunchTemplateInvalid && (word == "launch template" || word == "launchtemplate"):
		return !strings.Contains(m, "valid") && !strings.Contains(m, "does not exist") && !strings.Contains(m, "notfound") || strings.Contains(m, "not authorized") || strings.Contains(m, "unauthorized") || strings.Contains(m, "invalidamiid")
	case code == cause.LaunchDenied:
		return strings.Contains(m, "kms:")
	case code == cause.LaunchNoCapacity && word == "unfulfillablecapacity":
		return strings.Contains(m, withoutRole) // a fleet's summary of what was denied
	}
	return false
}

// codes returns all codes that the rules can find.
func codes() (out []cause.Code) {
	for _, r := range rules {
		out = append(out, r.code)
	}
	return out
}

// Analyze notes why the launches of the finding's group fail. What Karpenter, Auto Scaling, EKS
// or EC2 says is decisive. It notes nothing about an unknown message, which is reported
// verbatim.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	if c.Finding.Kind != roll.Unlaunched {
		return
	}
	l := c.Finding.Launch
	if l.Message == "" && len(l.Issues) == 0 {
		s.NotChecked("nothing says yet why no launch succeeds", codes()...)
		return
	}
	found := causesOf(l)
	if len(found) == 0 {
		s.NotChecked("what was said of the launch is none of the known reasons: read it in the finding", codes()...)
		return
	}
	s.RuledOut(codes()...) // unless it is found
	for _, t := range found {
		// The key is the usual reason for an unexplained error on launch, and not the only one.
		sure := t.code != cause.LaunchKmsDenied || strings.Contains(strings.ToLower(t.message), "kms")
		what := "launches of %s fail: %s%s"
		if t.after {
			sure, what = troubled(c) && !t.repeats, "instances of %s were launched, and %s%s"
		}
		s.Note(t.code, cause.DecisiveIf(sure).In(string(c.Finding.Group)).
			Says(what, c.Finding.Group, t.says, named(t.code, t.message)).
			Saw(t.source, t.field, t.message, "a launch that succeeds").Fix(fix(c, t.code, t.message)))
	}
}

var (
	action       = pattern.New(`\b(?:perform(?: this operation)?:? ?|action:? ?)([a-z0-9-]+:[A-Za-z]+)`)
	policyARN    = pattern.New(`arn:aws[a-z-]*:organizations::[0-9]{12}:policy/[a-zA-Z0-9/_-]+|\bp-[a-z0-9]{8,}\b`)
	byPolicy     = pattern.New(`(?i)explicit deny in an? ([a-z -]+policy|permissions boundary)`)
	instanceType = pattern.New(`\b([a-z]+)[0-9]+[a-z0-9-]*\.(?:nano|micro|small|medium|metal[a-z0-9-]*|[0-9]*x?large)\b`)
)

// named returns the action that is denied and what denies it, as far as the message says.
func named(code cause.Code, message string) string {
	switch code {
	case cause.NodeGroupUnhealthy:
		return " (" + message + ")"
	case cause.LaunchDenied, cause.LaunchKmsDenied:
	default:
		return ""
	}
	if forSpot(message) {
		return ", to create the service-linked role for EC2 Spot Instances, which the account lacks"
	}
	out := ""
	if m := action.FindStringSubmatch(message); m != nil {
		out += ", the action " + m[1]
	}
	if m := byPolicy.FindStringSubmatch(message); m != nil {
		out += ", by an explicit deny in a " + strings.ToLower(m[1])
	}
	if id := policyARN.FindString(message); id != "" {
		out += " (" + id + ")"
	}
	return out
}

// forSpot reports whether a launch failed for want of the service-linked role for Spot Instances.
func forSpot(message string) bool {
	m := strings.ToLower(message)
	return strings.Contains(m, withoutRole) && strings.Contains(m, "spot")
}

func fix(c *evidence.Case, code cause.Code, message string) string {
	region := c.Region
	switch code {
	case cause.LaunchQuotaExceeded:
		return quota(region, message)
	case cause.LaunchDenied:
		if strings.Contains(strings.ToLower(message), "encoded authorization failure") {
			return paste.Lines("# the encoded message stands behind \"Encoded authorization failure message:\"", paste.Command("aws", "sts", "decode-authorization-message", "--encoded-message", "MESSAGE", "--query", "DecodedMessage", "--output", "text"))
		}
		if forSpot(message) {
			return paste.Command("aws", "iam", "create-service-linked-role", "--aws-service-name", "spot.amazonaws.com")
		}
		return paste.Command("aws", "cloudtrail", "lookup-events", "--region", region, "--lookup-attributes", "AttributeKey=EventName,AttributeValue=RunInstances", "--max-items", "5")
	case cause.LaunchKmsDenied:
		return paste.Lines("# the key's policy must let the role that launches create grants; ALIAS is the key of the volume", paste.Command("aws", "kms", "get-key-policy", "--region", region, "--key-id", "ALIAS", "--policy-name", "default", "--output", "text"))
	case cause.LaunchAmiInvalid:
		if id := pattern.New(`ami-[0-9a-f]{8,17}`).FindString(message); id != "" {
			return paste.Command("aws", "ec2", "describe-images", "--region", region, "--image-ids", id)
		}
	case cause.LaunchSnapshotMissing:
		if id := pattern.New(`snap-[0-9a-f]{8,17}`).FindString(message); id != "" {
			return paste.Command("aws", "ec2", "describe-snapshots", "--region", region, "--snapshot-ids", id)
		}
	case cause.LaunchTypeUnavailable:
		if t := instanceType.FindString(strings.ToLower(message)); t != "" {
			return paste.Command("aws", "ec2", "describe-instance-type-offerings", "--region", region, "--location-type", "availability-zone", "--filters", "Name=instance-type,Values="+t)
		}
	case cause.SubnetIpsExhausted:
		return paste.Command("aws", "ec2", "describe-subnets", "--region", region, "--query", "Subnets[].[SubnetId,AvailabilityZone,AvailableIpAddressCount]", "--output", "table")
	}
	return show(c)
}

// show returns the command that shows what the group launches.
func show(c *evidence.Case) string {
	switch kind, name, _ := c.Finding.Instance.Subject(); kind {
	case "nodepool":
		return paste.Command("kubectl", "get", "nodepools.karpenter.sh", name, "-o", "yaml")
	case "nodegroup":
		return paste.Command("aws", "eks", "describe-nodegroup", "--region", c.Region, "--cluster-name", c.ClusterID.Name, "--nodegroup-name", name)
	case "asg":
		return paste.Command("aws", "autoscaling", "describe-auto-scaling-groups", "--region", c.Region, "--auto-scaling-group-names", name)
	}
	return ""
}

// The vCPU quotas by instance family: On-Demand, then Spot.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
var quotas = map[string][2]string{
	"standard": {"L-1216C47A", "L-34B43A08"},
	"f":        {"L-74FC7D96", "L-88CF9481"},
	"g":        {"L-DB2E81BA", "L-3819A6DF"},
	"vt":       {"L-DB2E81BA", "L-3819A6DF"},
	"inf":      {"L-1945791B", "L-B5D1601B"},
	"p":        {"L-417A185B", "L-7212CCBC"},
	"x":        {"L-7295265B", "L-E3A00192"},
}

// quota returns the command that raises the quota of the message's instance type, or that lists
// the possible quotas.
func quota(region, message string) string {
	if strings.Contains(strings.ToLower(message), "volume") {
		return paste.Command("aws", "service-quotas", "list-service-quotas", "--region", region, "--service-code", "ebs", "--query", "Quotas[].[QuotaCode,QuotaName,Value]", "--output", "table")
	}
	m := instanceType.FindStringSubmatch(strings.ToLower(message))
	list := paste.Command("aws", "service-quotas", "list-service-quotas", "--region", region, "--service-code", "ec2", "--query", "Quotas[?contains(QuotaName,'Instance') || contains(QuotaName,'instances')].[QuotaCode,QuotaName,Value]", "--output", "table")
	if m == nil {
		return list
	}
	codes, ok := quotas[m[1]]
	if !ok && len(m[1]) > 0 && strings.Contains("acdhimrtz", m[1][:1]) && m[1] != "inf" && m[1] != "trn" && m[1] != "dl" && m[1] != "hpc" && m[1] != "mac" {
		codes, ok = quotas["standard"], true
	}
	if !ok {
		return list
	}
	code := codes[0]
	if strings.Contains(strings.ToLower(message), "spot") {
		code = codes[1]
	}
	return paste.Lines(
		paste.Command("aws", "service-quotas", "get-service-quota", "--region", region, "--service-code", "ec2", "--quota-code", code),
		"# N is the number of vCPUs that is to be allowed",
		paste.Command("aws", "service-quotas", "request-service-quota-increase", "--region", region, "--service-code", "ec2", "--quota-code", code, "--desired-value", "N"))
}
