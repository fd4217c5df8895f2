// Package launch finds why a group gets no instance, from what Karpenter, EC2 Auto Scaling, EKS
// or EC2 says about the failed launch.
//
// The package is pure.
package launch

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// rule is one cause and the words in messages that name it, in lower case: EC2's error codes,
// Auto Scaling's sentences, and the reasons of Karpenter's conditions. A cause may have several
// rules, each with its own words for people.
//
// - https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
// - https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html
// - https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-instancelaunchfailure.html
// - https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-ami.html
// - https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-capacity.html
// - https://github.com/aws/karpenter-provider-aws/blob/main/pkg/errors/errors.go
// - https://github.com/aws/karpenter-provider-aws/blob/main/pkg/controllers/nodeclass/validation.go
type rule struct {
	code  cause.Code
	words []string
	says  string
	vague bool // its words also appear in messages that another rule explains better
}

// restricted are the words with which EC2 refuses an account.
var restricted = []string{"pendingverification", "pending verification", "still being verified", "in this region is being validated", "optinrequired", "account is currently blocked", "not eligible for free tier", "freetierineligible"}

var rules = []rule{
	// EC2 terminates an instance whose encrypted volume it cannot open. Auto Scaling then only
	// says "Client error on launch", for which the key is the usual reason.
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-instancelaunchfailure.html
	{code: cause.LaunchKmsDenied, words: []string{"invalidkmskey", "kms key", "client.internalerror", "kms:creategrant", "kms:decrypt", "kms:generatedatakey", "kms:reencrypt"}, says: "the KMS key of an encrypted volume cannot be used"},
	{code: cause.LaunchDenied, words: []string{"unauthorizedoperation", "not authorized to", "accessdenied", "access denied", "authfailure", "authorization failure", "explicit deny", "authcheckfailed", withoutRole, "spotslrcreationfailed"}, says: "a permission for the launch is denied"},
	{code: cause.LaunchDenied, words: []string{"tagpolicyviolation", "the tag policy does not allow"}, says: "a tag policy of the organization refuses a tag of the instance"},
	{code: cause.LaunchDenied, words: restricted, says: "AWS has not enabled the account for it"},
	{code: cause.UserDataTooLarge, words: []string{"user data is limited to", "userdatasizelimitexceeded", "at 'userdata' failed to satisfy constraint"}, says: "the user data is larger than the 16 KB that EC2 takes"},
	{code: cause.LaunchAmiInvalid, words: []string{"invalidami", "aminotfound", "the image id '", "the ami id ", "ami is invalid", "no amis found", "amis not found", "no amis exist given", "ami cannot be described", "is pending, and cannot be run", "amiauthorizationfailure", "not authorized for images", "amiselector did not match", "amisready is false", "amisready=false", "unsupportedalias"}, says: "the AMI does not exist, or may not be used"},
	{code: cause.LaunchAmiInvalid, words: []string{"you need to accept terms and subscribe"}, says: "the account has not subscribed to the AWS Marketplace product of the AMI"},
	{code: cause.LaunchAmiInvalid, words: []string{"does not support an ami with a boot mode", "(ena) is required", "virtualization type"}, says: "the AMI does not run on the instance type"},
	// The architecture of the AMI, or an accelerator that it is for, excludes each instance type that is left.
	// https://github.com/aws/karpenter-provider-aws/blob/main/pkg/providers/amifamily/resolver.go
	// https://github.com/aws/karpenter-provider-aws/issues/7211
	{code: cause.LaunchAmiInvalid, words: []string{"no instance types satisfy requirements of ami"}, says: "none of its AMIs runs on the instance types that it may use"},
	{code: cause.InstanceProfileMissing, words: []string{"invalid iam instance profile", "invalid iaminstanceprofile", "iaminstanceprofile.name is invalid", "iaminstanceprofile.arn is invalid", "instance profile not found", "instanceprofilenotfound", "instanceprofilenameinvalid", "has no associated iam roles", "instanceprofileready is false", "instanceprofileready=false"}, says: "the instance profile does not exist, or may not be used"},
	{code: cause.LaunchSnapshotMissing, words: []string{"invalidsnapshot", "the snapshot '"}, says: "a snapshot of the AMI or the launch template does not exist"},
	{code: cause.ArchitectureMismatch, words: []string{"does not match the architecture"}, says: "the AMI is for another architecture than the instance type"},
	{code: cause.LaunchTypeUnavailable, words: []string{"your requested instance type (", "invalidinstancetype", "for instancetype", "instance types do not exist", "unsupportedinstancetypeonhost"}, says: "the region or the zone does not offer the instance type"},
	{code: cause.LaunchTypeUnavailable, words: []string{"requested configuration is currently not supported"}, says: "EC2 does not offer the instance type with these options in the zone"},
	{code: cause.LaunchSubnetInvalid, words: []string{"invalidsubnet", "the subnet id '", "subnetselector did not match", "subnetsnotfound", "subnetsready is false", "subnetsready=false"}, says: "the subnet does not exist, or cannot be used"},
	{code: cause.LaunchSubnetInvalid, words: []string{"invalidavailabilityzone", "zonesmismatched", "availability zone is no longer supported", "no default subnet for availability zone", "no default vpc", "vpcidnotspecified", "vpcresourcenotspecified"}, says: "the zone or the VPC cannot be used"},
	{code: cause.LaunchTemplateInvalid, words: []string{"belong to different networks", "securitygroupsubnetvpcmismatch", "belong to different vpcs"}, says: "its security groups belong to another VPC than its subnets"},
	{code: cause.LaunchTemplateInvalid, words: []string{"invalidgroup.", "invalidgroupid", "invalidsecuritygroup", "the security group '", "the security group \"", "the security group sg-", "security groups provided in the launch", "securitygroupselector did not match", "securitygroupsnotfound", "securitygroupsready is false", "securitygroupsready=false"}, says: "a security group does not exist, or cannot be used"},
	{code: cause.LaunchTemplateInvalid, words: []string{"invalidkeypair", "the key pair "}, says: "the key pair does not exist"},
	{code: cause.LaunchTemplateInvalid, words: []string{"invalidblockdevicemapping", "is smaller than snapshot", "invalid device name", "parameter virtualname is invalid", "block device mappings not supported", "could not create volume", "iops to volume size", "iops is not supported", "volumetypenotavailable", "encryptedvolumesnotsupported"}, says: "a volume that it asks for is not possible"},
	{code: cause.LaunchTemplateInvalid, words: []string{"network interfaces and an instance-level", "associatepublicipaddress", "invalidnetworkinterface", "efa interfaces are not supported", "does not support efa", "exceeds the limit for", "attachmentlimitexceeded", "invalidipaddress"}, says: "the network interfaces that it asks for are not possible"},
	{code: cause.LaunchTemplateInvalid, words: []string{"invalidplacementgroup", "placement groups may not be used", "placementgroupnotfound", "placementgroupresolutionfailed", "placementgroupready is false", "placementgroupready=false", "unsupportedtenancy", "invalidtenancy", "invalidhostid"}, says: "the placement that it asks for is not possible"},
	{code: cause.LaunchTemplateInvalid, words: []string{"invalidcapacityreservation", "capacityreservationsready is false", "capacityreservationsready=false"}, says: "the capacity reservation does not exist, or cannot be used"},
	{code: cause.LaunchTemplateInvalid, words: []string{"parsing custom user", "invalid userdata "}, says: "the user data of its node class cannot be read"},
	{code: cause.LaunchTemplateInvalid, words: []string{"is not a valid tag key", "duplicate tag key", "tagvalidationfailed", "taglimitexceeded"}, says: "a tag that it gives to instances is not valid"},
	{code: cause.LaunchTemplateInvalid, words: []string{"invalidlaunchtemplate", "launch template", "launchtemplate", "unsupported hibernation", "unsupportedhibernation"}, says: "the launch template, or something that it names, is not valid"},
	{code: cause.SubnetIpsExhausted, words: []string{"insufficientfreeaddresses", "not enough free addresses", "insufficient free addresses", "insufficientcidrblocks", "not enough free ip addresses"}, says: "the subnet has no free address"},
	{code: cause.LaunchThrottled, words: []string{"requestlimitexceeded", "request limit exceeded", "rate exceeded", "throttling"}, says: "AWS throttles the requests of the account"},
	{code: cause.LaunchQuotaExceeded, words: []string{"limit of instances in this spread placement group"}, says: "the spread placement group has as many instances in the zone as it may have"},
	{code: cause.LaunchQuotaExceeded, words: []string{"vcpulimitexceeded", "vcpu limit of", "instancelimitexceeded", "maxspotinstancecountexceeded", "max spot instance count exceeded", "maxfleetcountexceeded", "volumelimitexceeded", "volume limit exceeded", "limitexceeded", "resourcecountexceeded", "your quota for", "your quota allows for", "quota exceeded", "quotaexceeded", "instance(s) are already running"}, says: "a quota of the account is used up"},
	{code: cause.LaunchSpotPriceTooLow, words: []string{"spotmaxpricetoolow", "spot price is lower than", "spot request price"}, says: "the highest price for Spot Instances is below the price"},
	{code: cause.LaunchNoCapacity, words: []string{"reservation does not have sufficient", "reservationcapacityexceeded", "is not active yet", reclaimed}, says: "the capacity reservation has no free instance now"},
	{code: cause.LaunchNoCapacity, words: []string{"server.spotinstancetermination", "server.spotinstanceshutdown"}, says: "EC2 reclaimed the Spot Instance at once"},
	{code: cause.LaunchNoCapacity, words: []string{"insufficientinstancecapacity", "insufficientcapacity", "unfulfillablecapacity", "do not have sufficient", "no spot capacity available", "insufficienthostcapacity", "insufficientreservedinstancecapacity", "insufficientvolumecapacity", "insufficientaddresscapacity", "unavailablehostrequirements", "insufficient capacity", "all requested instance types were unavailable"}, says: "EC2 has no capacity for it"},
	{code: cause.LaunchInternalError, words: []string{"server.internalerror", "internal error has occurred", "internalfailure", "serviceunavailable", "service unavailable"}, says: "the service itself failed"},
	{code: cause.LaunchTemplateInvalid, words: []string{"invalidparameter", "missingparameter", "invaliduserdata", "unsupportedoperation", "validationerror"}, says: "EC2 refuses a parameter of it", vague: true},
	{code: cause.LaunchTypeUnavailable, words: []string{"unsupported: ", "unsupported - "}, says: "EC2 does not offer the instance type with these options", vague: true},
	notReady,
}

// notReady is the cause of what Karpenter does not launch for, whatever its conditions say.
var notReady = rule{code: cause.NodePoolNotReady, words: []string{"nodeclassready is", "validationsucceeded is"}, says: "it, or its node class, is not ready", vague: true}

// issues maps the codes of a managed node group's health issues to the causes that they name.
// Any other code is NodeGroupUnhealthy.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
var issues = map[string]cause.Code{
	"AmiIdNotFound":                            cause.LaunchAmiInvalid,
	"AutoScalingGroupNotFound":                 cause.OwnerGone,
	"AutoScalingGroupOptInRequired":            cause.LaunchDenied,
	"AutoScalingGroupRateLimitExceeded":        cause.LaunchThrottled,
	"Ec2InstanceTypeDoesNotExist":              cause.LaunchTypeUnavailable,
	"Ec2LaunchTemplateInvalidConfiguration":    cause.LaunchTemplateInvalid,
	"Ec2LaunchTemplateMaxLimitExceeded":        cause.LaunchQuotaExceeded,
	"Ec2LaunchTemplateNotFound":                cause.LaunchTemplateInvalid,
	"Ec2LaunchTemplateVersionMaxLimitExceeded": cause.LaunchQuotaExceeded,
	"Ec2LaunchTemplateVersionMismatch":         cause.LaunchTemplateInvalid,
	"Ec2SecurityGroupNotFound":                 cause.LaunchTemplateInvalid,
	"Ec2SubnetInvalidConfiguration":            cause.LaunchSubnetInvalid,
	"Ec2SubnetListTooLong":                     cause.LaunchSubnetInvalid,
	"Ec2SubnetMissingIpv6Assignment":           cause.LaunchSubnetInvalid,
	"Ec2SubnetNotFound":                        cause.LaunchSubnetInvalid,
	"IamInstanceProfileNotFound":               cause.InstanceProfileMissing,
	"IamLimitExceeded":                         cause.LaunchQuotaExceeded,
	"IamNodeRoleNotFound":                      cause.InstanceProfileMissing,
	"IamThrottling":                            cause.LaunchThrottled,
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

// OfIssue returns the cause for the code of a node group's health issue; false if there is none.
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
// message. Of several about one code the sheet keeps the first of the surest.
func causesOf(l roll.Launch) (out []reported) {
	if l.Field != healthIssues {
		for _, r := range matching(l.Message) {
			out = append(out, reported{rule: r, source: l.Source, field: l.Field, message: l.Message})
		}
	}
	if l.Unready && len(out) == 0 {
		out = append(out, reported{rule: notReady, source: l.Source, field: l.Field, message: l.Message})
	}
	for _, i := range l.Issues {
		t := reported{source: "managed node group", field: healthIssues, message: i.Code + ": " + i.Message}
		code, known := issues[i.Code]
		switch found := matching(i.Message); {
		case known:
			t.rule = ruleOf(code, i, found)
			out = append(out, t)
		case slices.Contains(byMessage, i.Code) && len(found) > 0:
			for _, r := range found {
				t.rule = r
				out = append(out, t)
			}
		case i.Code != launchFailures || len(out) == 0:
			t.rule, t.after = ruleOf(cause.NodeGroupUnhealthy, i, nil), slices.Contains(afterLaunch, i.Code)
			t.repeats = i.Code == creationFailure
			out = append(out, t)
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

// byMessage are the issues whose code names no cause, and whose message may.
var byMessage = []string{launchFailures, "AutoScalingGroupInvalidConfiguration", "Unknown"}

// ruleOf returns the rule of the cause that an issue's code names: the one that its message matches
// too, or one that repeats the code.
func ruleOf(code cause.Code, i roll.HealthIssue, found []rule) rule {
	if n := slices.IndexFunc(found, func(r rule) bool { return r.code == code }); n >= 0 {
		return found[n]
	}
	switch code {
	case cause.OwnerGone:
		return rule{code: code, says: "its Auto Scaling group does not exist"}
	case cause.NodeGroupUnhealthy:
		return rule{code: code, says: "EKS reports a health issue"}
	}
	return rule{code: code, says: fmt.Sprintf("EKS reports %s (%s)", i.Code, strings.TrimSuffix(i.Message, "."))}
}

// matching returns the rules that a message names, in their order: none for a message without a known
// word.
func matching(message string) (out []rule) {
	m := strings.ToLower(strings.Join(strings.Fields(message), " "))
	// Karpenter calls each of these failures InsufficientCapacityError, followed by EC2's own
	// message.
	m = strings.ReplaceAll(m, "insufficientcapacityerror", "")
	m = strings.ReplaceAll(m, "insufficient capacity, with fleet error", "with fleet error")
	for _, r := range rules {
		if r.vague && len(out) > 0 {
			continue
		}
		if slices.ContainsFunc(r.words, func(w string) bool { return strings.Contains(m, w) && !shadowed(r.code, w, m) }) {
			out = append(out, r)
		}
	}
	return out
}

// reclaimed is the code of a launch into an interruptible capacity reservation that its owner is taking back. Karpenter
// counts it as missing capacity.
// https://github.com/aws/karpenter-provider-aws/blob/v1.15.1/pkg/errors/errors.go
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/interruptible-capacity-reservations.html
const reclaimed = "invalidcapacityreservationstate.unavailable"

// awaits is the reason of a condition that is Unknown: Karpenter has not set it yet, or the call that it needs for
// that fails, such as one of IAM or SSM. Then only its log says why.
// https://github.com/aws/karpenter-provider-aws/blob/v1.15.1/pkg/controllers/nodeclass/instanceprofile.go
// https://github.com/aws/karpenter-provider-aws/issues/8720
const awaits = "(AwaitingReconciliation)"

// withoutRole is the denial to create the role by which EC2 launches Spot Instances, which an
// account lacks until its first one.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
const withoutRole = "do not have permission to create the service-linked role"

// shadowed reports whether a message of another cause contains the word too, such as that of a missing
// permission for a key or a launch template.
func shadowed(code cause.Code, word, m string) bool {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(m, w) })
	}
	switch word {
	case "launch template", "launchtemplate":
		return !has("valid", "does not exist", "notfound") || has("not authorized", "isn't authorized", "unauthorized", "invalidami", "user data", "invalid userdata ")
	case "authfailure":
		return has("kms:", "not authorized for images")
	case "optinrequired":
		return has("accept terms and subscribe")
	case "limitexceeded":
		// These limit the rate of requests, the length of user data and what one launch asks for.
		for _, other := range []string{"requestlimitexceeded", "userdatasizelimitexceeded", "taglimitexceeded", "attachmentlimitexceeded"} {
			m = strings.ReplaceAll(m, other, "")
		}
		return !has(word)
	case "invalidcapacityreservation":
		return !strings.Contains(strings.ReplaceAll(m, reclaimed, ""), word)
	case "unfulfillablecapacity":
		return has(withoutRole) // a fleet's summary of what was denied
	case "insufficientinstancecapacity":
		return has("limit of instances in this spread placement group")
	}
	return code == cause.LaunchDenied && has("kms:")
}

// codes returns the codes that the rules can find.
func codes() []cause.Code { return roll.Map(rules, func(r rule) cause.Code { return r.code }) }

// Analyze notes why the launches of the finding's group fail. What Karpenter, Auto Scaling, EKS
// or EC2 says is decisive. An unknown message is a hint that quotes it.
func Analyze(c *evidence.Case, s *cause.Sheet) {
	if c.Finding.Kind != roll.Unlaunched {
		return
	}
	l := c.Finding.Launch
	if l.Message == "" && len(l.Issues) == 0 {
		s.NotChecked("no message says yet why no launch succeeds", codes()...)
		return
	}
	found := causesOf(l)
	if len(found) == 0 {
		s.NotChecked("the message about the launch is none of the known reasons: read it in the finding", codes()...)
		s.Note(cause.LaunchRefused, cause.Suggestive().In(string(c.Finding.Group)).
			Says("launches of %s fail for a reason that Rollcall does not know: %s", c.Finding.Group, l.Message).
			Saw(l.Source, l.Field, l.Message, "a launch that succeeds").Fix(show(c)))
		return
	}
	if found[0].code == cause.NodePoolNotReady {
		s.NotChecked("no condition of it that was read says why", codes()...) // unless it is found
	} else {
		s.RuledOut(append(codes(), cause.LaunchRefused)...)
	}
	for _, t := range found {
		// The key is the usual reason for an unexplained error on launch, and not the only one.
		sure := t.code != cause.LaunchKmsDenied || strings.Contains(strings.ToLower(t.message), "kms")
		what := "launches of %s fail: %s%s"
		if l.Unready {
			what = "%s launches nothing: %s%s"
		}
		if t.after {
			sure, what = troubled(c) && !t.repeats, "instances of %s were launched, and %s%s"
		}
		s.Note(t.code, cause.DecisiveIf(sure).In(string(c.Finding.Group)).
			Says(what, c.Finding.Group, t.says, named(t.code, t.message, l.Unready)).
			Saw(t.source, t.field, t.message, "a launch that succeeds").Fix(fix(c, t.code, t.message)))
	}
}

var (
	action       = pattern.New(`\b(?:perform(?: this operation)?:? ?|action:? ?|to call )([a-z0-9-]+:[A-Za-z]+)`)
	policyARN    = pattern.New(`arn:aws[a-z-]*:organizations::[0-9]{12}:policy/[a-zA-Z0-9/_-]+|\bp-[a-z0-9]{8,}\b`)
	byPolicy     = pattern.New(`(?i)explicit deny in an? ([a-z -]+policy|permissions boundary)`)
	instanceType = pattern.New(`\b([a-z]+)[0-9]+[a-z0-9-]*\.(?:nano|micro|small|medium|metal[a-z0-9-]*|[0-9]*x?large)\b`)
)

// named returns the action that is denied and what denies it, as far as the message says.
func named(code cause.Code, message string, quoted bool) string {
	switch {
	case quoted, code == cause.NodeGroupUnhealthy:
		return " (" + message + ")"
	case code == cause.LaunchDenied, code == cause.LaunchKmsDenied:
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
		if m := strings.ToLower(message); slices.ContainsFunc(restricted, func(w string) bool { return strings.Contains(m, w) }) {
			return paste.Lines("# AWS writes about it to the address of the account, and AWS Support knows more", show(c))
		}
		if strings.Contains(strings.ToLower(message), "encoded authorization failure") {
			return paste.Lines("# the encoded message stands behind \"Encoded authorization failure message:\"", paste.Command("aws", "sts", "decode-authorization-message", "--encoded-message", "MESSAGE", "--query", "DecodedMessage", "--output", "text"))
		}
		if forSpot(message) {
			return paste.Command("aws", "iam", "create-service-linked-role", "--aws-service-name", "spot.amazonaws.com")
		}
		return calls(region, message)
	case cause.LaunchKmsDenied:
		return usesKey(c, message)
	case cause.NodePoolNotReady:
		if strings.Contains(message, awaits) && c.Finding.Owner == roll.OwnerKarpenter {
			log := paste.Karpenter("logs", "-l", paste.KarpentersPods, "--tail=200")
			return paste.Lines(show(c), log+" | grep nodeclass   # which of its calls fails, and why")
		}
	case cause.LaunchAmiInvalid:
		if id := pattern.New(`ami-[0-9a-f]{8,17}`).FindString(message); id != "" {
			return paste.Command("aws", "ec2", "describe-images", "--region", region, "--image-ids", id)
		}
	case cause.LaunchSnapshotMissing:
		if id := pattern.New(`snap-[0-9a-f]{8,17}`).FindString(message); id != "" {
			return paste.Command("aws", "ec2", "describe-snapshots", "--region", region, "--snapshot-ids", id)
		}
	case cause.UserDataTooLarge:
		return paste.Lines("# at most 16384 bytes before base64: compress it with gzip, or fetch the rest of it at boot", show(c))
	case cause.LaunchThrottled:
		return paste.Lines("# whose calls use up the rate, in CloudTrail by their user agents", calls(region, message))
	case cause.LaunchTypeUnavailable:
		if t := instanceType.FindString(strings.ToLower(message)); t != "" {
			return paste.Command("aws", "ec2", "describe-instance-type-offerings", "--region", region, "--location-type", "availability-zone", "--filters", "Name=instance-type,Values="+t)
		}
	case cause.SubnetIpsExhausted:
		return paste.Command("aws", "ec2", "describe-subnets", "--region", region, "--query", "Subnets[].[SubnetId,AvailabilityZone,AvailableIpAddressCount]", "--output", "table")
	}
	return show(c)
}

// calls returns the command that lists the latest calls of the kind that the message is about. Karpenter creates a
// launch template, then a fleet. What is denied to the fleet is denied as RunInstances, with all that RunInstances
// needs besides, such as iam:PassRole.
// https://github.com/aws/karpenter-provider-aws/blob/main/pkg/providers/instance/instance.go
// https://github.com/kubernetes-sigs/karpenter/issues/2813
func calls(region, message string) string {
	event, m := "RunInstances", strings.ToLower(message)
	switch {
	case strings.Contains(m, "ec2:createlaunchtemplate"), strings.Contains(m, "getting launch template configs"):
		event = "CreateLaunchTemplate"
	case strings.Contains(m, "ec2:createfleet"), strings.Contains(m, "creating fleet request"):
		event = "CreateFleet"
	}
	return paste.Command("aws", "cloudtrail", "lookup-events", "--region", region, "--lookup-attributes", "AttributeKey=EventName,AttributeValue="+event, "--max-items", "5")
}

// usesKey returns how to see whether the group's launches may use the key of a volume. The policy of a key is
// not found by an alias.
//
// - https://docs.aws.amazon.com/kms/latest/APIReference/API_GetKeyPolicy.html
// - https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html
func usesKey(c *evidence.Case, message string) string {
	role := "AWSServiceRoleForAutoScaling"
	if kind, _, _ := c.Finding.Instance.Subject(); kind == "nodepool" {
		role = "the role of Karpenter"
	}
	key, id, what := "KEY", "KEY_ID", "KEY is that of the volume, by id, ARN or alias: it "
	if arn := pattern.New(`arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[a-zA-Z0-9-]+`).FindString(message); arn != "" {
		key, id, what = arn, arn, "the key "
	}
	return paste.Lines(
		paste.Command("aws", "kms", "describe-key", "--region", c.Region, "--key-id", key, "--query", "KeyMetadata.[KeyId,KeyState]", "--output", "text")+"   # "+what+"must be Enabled",
		paste.Command("aws", "kms", "get-key-policy", "--region", c.Region, "--key-id", id, "--policy-name", "default", "--output", "text")+"   # must let "+role+" use the key and create grants")
}

// show returns the command that shows what the group launches, or what its EC2NodeClass says.
func show(c *evidence.Case) string {
	if name, ok := strings.CutPrefix(c.Finding.Launch.Source, "EC2NodeClass "); ok {
		return paste.Command("kubectl", "describe", "ec2nodeclasses.karpenter.k8s.aws", name)
	}
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
	if m := strings.ToLower(message); strings.Contains(m, "volume") || strings.Contains(m, "maxiops") {
		return paste.Command("aws", "service-quotas", "list-service-quotas", "--region", region, "--service-code", "ebs", "--query", "Quotas[].[QuotaCode,QuotaName,Value]", "--output", "table")
	}
	m := instanceType.FindStringSubmatch(strings.ToLower(message))
	list := paste.Command("aws", "service-quotas", "list-service-quotas", "--region", region, "--service-code", "ec2", "--query", "Quotas[?contains(QuotaName,'Instance') || contains(QuotaName,'instances')].[QuotaCode,QuotaName,Value]", "--output", "table")
	if m == nil {
		return list
	}
	codes, ok := quotas[m[1]]
	if !ok && strings.Contains("acdhimrtz", m[1][:1]) && m[1] != "trn" && m[1] != "dl" && m[1] != "hpc" && m[1] != "mac" {
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
