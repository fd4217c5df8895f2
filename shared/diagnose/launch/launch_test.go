package launch

import (
	"slices"
	"strings"
	"testing"

	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func causesIn(message string) []cause.Code {
	return roll.Map(matching(message), func(r rule) cause.Code { return r.code })
}

func TestClassify(t *testing.T) {
	for message, want := range map[string][]cause.Code{
		"We currently do not have sufficient m5.large capacity in the Availability Zone you requested (eu-west-1a). Launching EC2 instance failed.":                                                                                                                                                  {cause.LaunchNoCapacity},
		"Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration. Launching EC2 instance failed.":                                                                                                                                      {cause.LaunchNoCapacity},
		"NodeClaim general-x7k2p event: creating instance, insufficient capacity, with fleet error(s), UnfulfillableCapacity: Unable to fulfill capacity":                                                                                                                                            {cause.LaunchNoCapacity},
		"NodeClaim general-x7k2p event: all requested instance types were unavailable during launch":                                                                                                                                                                                                 {cause.LaunchNoCapacity},
		"creating instance, insufficient capacity, with fleet error(s), VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket":                                                                                                  {cause.LaunchQuotaExceeded},
		"You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the specified instance type belongs to. Launching EC2 instance failed.":                                                                                                        {cause.LaunchQuotaExceeded},
		"MaxSpotInstanceCountExceeded: Max spot instance count exceeded":                                                                                                                                                                                                                             {cause.LaunchQuotaExceeded},
		"You've reached your quota for maximum Fleet Requests for this account. Launching EC2 instance failed.":                                                                                                                                                                                      {cause.LaunchQuotaExceeded},
		"Instance became unhealthy. Termination Reason: Client.VolumeLimitExceeded: Volume limit exceeded":                                                                                                                                                                                           {cause.LaunchQuotaExceeded},
		"You are not authorized to perform this operation. Encoded authorization failure message: 4GIOHlTkIaWHQD0Q0m6XSnuUMCm. Launching EC2 instance failed.":                                                                                                                                       {cause.LaunchDenied},
		"UnauthorizedOperation: You are not authorized to perform this operation. User: arn:aws:sts::111122223333:assumed-role/k/1 is not authorized to perform: ec2:RunInstances with an explicit deny in a service control policy":                                                                 {cause.LaunchDenied},
		"creating instance, with fleet error(s), AuthFailure.ServiceLinkedRoleCreationNotPermitted: The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.; UnfulfillableCapacity: Unable to fulfill capacity due to your request configuration.": {cause.LaunchDenied},
		"AuthFailure.ServiceLinkedRoleCreationNotPermitted: The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.; InsufficientInstanceCapacity: We currently do not have sufficient m5.large capacity":                                          {cause.LaunchDenied, cause.LaunchNoCapacity},
		"The image id '[ami-0d3b8c1f2a4e5d6f7]' does not exist. Launching EC2 instance failed.":                                                                                                                                                                                                      {cause.LaunchAmiInvalid},
		"InvalidAMIID.NotFound: The image id '[ami-0d3b8c1f2a4e5d6f7]' does not exist":                                                                                                                                                                                                               {cause.LaunchAmiInvalid},
		"There are not enough free addresses in subnet 'subnet-0123456789abcdef0' to satisfy the requested number of instances.":                                                                                                                                                                     {cause.SubnetIpsExhausted},
		"NodeClaim gpu-x7k2p event: creating instance, insufficient capacity, with fleet error(s), InvalidCapacityReservationState.Unavailable: The Capacity Reservation is not available":                                                                                                           {cause.LaunchNoCapacity},
		"InvalidCapacityReservationId.NotFound: The Capacity Reservation 'cr-0123456789abcdef0' does not exist":                                                                                                                                                                                      {cause.LaunchTemplateInvalid},
		"InsufficientFreeAddressesInSubnet: There are not enough free addresses":                                                                                                                                                                                                                     {cause.SubnetIpsExhausted},
		"LaunchFailed: creating instance, getting launch template configs, getting launch templates, no instance types satisfy requirements of amis [ami-0d3b8c1f2a4e5d6f7]":                                                                                                                         {cause.LaunchAmiInvalid},
		"LaunchFailed: creating instance, getting launch template configs, getting launch templates, no amis exist given constraints":                                                                                                                                                                {cause.LaunchAmiInvalid},
		"LaunchFailed: creating instance, getting launch template configs, getting launch templates, parsing custom UserData, malformed MIME header":                                                                                                                                                 {cause.LaunchTemplateInvalid},
		"LaunchFailed: creating instance, getting launch template configs, getting launch templates, invalid UserData toml: expected character =":                                                                                                                                                    {cause.LaunchTemplateInvalid},
		"You must use a valid fully-formed launch template. The parameter iamInstanceProfile is bad":                                                                                                                                                                                                 {cause.LaunchTemplateInvalid},
		"InvalidLaunchTemplateId.NotFound: The specified launch template, with template ID lt-0123456789abcdef0, does not exist.":                                                                                                                                                                    {cause.LaunchTemplateInvalid},
		"The key pair 'nodes' does not exist. Launching EC2 instance failed.":                                                                                                                                                                                                                        {cause.LaunchTemplateInvalid},
		"The security group 'sg-0123456789abcdef0' does not exist. Launching EC2 instance failed.":                                                                                                                                                                                                   {cause.LaunchTemplateInvalid},
		"Value (nodes) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name. Launching EC2 instance failed.":                                                                                                                                                          {cause.InstanceProfileMissing},
		"SpotMaxPriceTooLow: Your Spot request price of 0.01 is lower than the minimum required Spot request fulfillment price of 0.02.":                                                                                                                                                             {cause.LaunchSpotPriceTooLow},
		"Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Client.InternalError: Client error on launch":                                                                                                                                            {cause.LaunchKmsDenied},
		"Termination Reason: Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state":                                                                                                                                                                                       {cause.LaunchKmsDenied},
		"User: arn:aws:sts::111122223333:assumed-role/x/y is not authorized to perform: kms:CreateGrant on resource: arn:aws:kms:eu-west-1:111122223333:key/1":                                                                                                                                       {cause.LaunchKmsDenied},
		"InsufficientInstanceCapacity: We currently do not have sufficient capacity; UnauthorizedOperation: You are not authorized to perform this operation":                                                                                                                                        {cause.LaunchDenied, cause.LaunchNoCapacity},
		"'kubernetes.io/cluster/payments' is not a valid tag key. Tag keys must match pattern ([0-9a-zA-Z\\-_+=,.@:]{1,255}), and must not be a reserved name ('.', '..', '_index'). Launching EC2 instance failed.":                                                                                 {cause.LaunchTemplateInvalid},
		"Client.InternalError: Client error on launch":                                                                                                          {cause.LaunchKmsDenied},
		"Client.VolumeLimitExceeded: The limit on the number of volumes was exceeded":                                                                           {cause.LaunchQuotaExceeded},
		"Client.InvalidSnapshot.NotFound":                                                                                                                       {cause.LaunchSnapshotMissing},
		"InvalidSnapshot.NotFound: The snapshot 'snap-0123456789abcdef0' does not exist.":                                                                       {cause.LaunchSnapshotMissing},
		"Server.InternalError: Internal error on launch":                                                                                                        {cause.LaunchInternalError},
		"Server.InsufficientInstanceCapacity: Insufficient capacity to satisfy instance request":                                                                {cause.LaunchNoCapacity},
		"InvalidSubnetID.NotFound: The subnet ID 'subnet-0123456789abcdef0' does not exist":                                                                     {cause.LaunchSubnetInvalid},
		"Your requested instance type (m7g.large) is not supported in your requested Availability Zone (eu-west-1c). Launching EC2 instance failed.":            {cause.LaunchTypeUnavailable},
		"The architecture 'arm64' of the specified instance type does not match the architecture 'x86_64' of the specified AMI. Launching EC2 instance failed.": {cause.ArchitectureMismatch},
		"AccessDenied: User: arn:aws:sts::111122223333:assumed-role/x/y may not perform: kms:CreateGrant, with an explicit deny":                                {cause.LaunchKmsDenied},
		"UnauthorizedOperation: You are not authorized to use the launch template lt-0123456789abcdef0, or it does not exist":                                   {cause.LaunchDenied},
		"A launch by the launch template lt-0123456789abcdef0 failed":                                                                                           nil,
		"":                                      nil,
		"LaunchFailed: something else is amiss": nil,
		"token=hunter2hunter2 \x00\xff <!channel>": nil,
	} {
		expect.List(t, causesIn(message), want, "%q", message)
	}
}

func analyzed(message string, of roll.InstanceID) *cause.Sheet {
	s := &cause.Sheet{}
	f := roll.Finding{Instance: of, Group: roll.Group(of), Owner: roll.OwnerKarpenter, Kind: roll.Unlaunched, Launch: roll.Launch{Message: message, Source: "NodeClaim", Field: "Launched"}}
	Analyze(&evidence.Case{Evidence: &evidence.Evidence{Region: "eu-west-1"}, Finding: f}, s)
	return s
}

func TestHealthIssuesOfAManagedNodeGroup(t *testing.T) {
	const quota = "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your current vCPU limit of 32 allows."
	for name, tt := range map[string]struct {
		message string // of a scaling activity, "" for none
		issues  []roll.HealthIssue
		want    []cause.Code
	}{
		"a subnet that is gone":                     {"", []roll.HealthIssue{{Code: "Ec2SubnetNotFound", Message: "no"}}, []cause.Code{cause.LaunchSubnetInvalid}},
		"subnets without addresses":                 {"", []roll.HealthIssue{{Code: "InsufficientFreeAddresses", Message: "no"}}, []cause.Code{cause.SubnetIpsExhausted}},
		"a launch template that is gone":            {"", []roll.HealthIssue{{Code: "Ec2LaunchTemplateNotFound", Message: "no"}}, []cause.Code{cause.LaunchTemplateInvalid}},
		"an instance profile that is gone":          {"", []roll.HealthIssue{{Code: "IamInstanceProfileNotFound", Message: "no"}}, []cause.Code{cause.InstanceProfileMissing}},
		"a role that is gone":                       {"", []roll.HealthIssue{{Code: "IamNodeRoleNotFound", Message: "no"}}, []cause.Code{cause.InstanceProfileMissing}},
		"an Auto Scaling group that is gone":        {"", []roll.HealthIssue{{Code: "AutoScalingGroupNotFound", Message: "no"}}, []cause.Code{cause.OwnerGone}},
		"launches that fail for a quota":            {"", []roll.HealthIssue{{Code: "AsgInstanceLaunchFailures", Message: quota}}, []cause.Code{cause.LaunchQuotaExceeded}},
		"Auto Scaling and EKS say the same":         {quota, []roll.HealthIssue{{Code: "AsgInstanceLaunchFailures", Message: quota}}, []cause.Code{cause.LaunchQuotaExceeded}},
		"EKS says less than Auto Scaling":           {quota, []roll.HealthIssue{{Code: "AsgInstanceLaunchFailures", Message: "launches fail"}}, []cause.Code{cause.LaunchQuotaExceeded}},
		"launches that fail for what is new":        {"", []roll.HealthIssue{{Code: "AsgInstanceLaunchFailures", Message: "launches fail"}}, []cause.Code{cause.NodeGroupUnhealthy}},
		"a security group that is gone":             {"", []roll.HealthIssue{{Code: "Ec2SecurityGroupNotFound", Message: "no"}}, []cause.Code{cause.LaunchTemplateInvalid}},
		"a group that somebody edited":              {"", []roll.HealthIssue{{Code: "AutoScalingGroupInvalidConfiguration", Message: "no"}}, []cause.Code{cause.NodeGroupUnhealthy}},
		"what EKS does not know either":             {"", []roll.HealthIssue{{Code: "Unknown", Message: quota}}, []cause.Code{cause.LaunchQuotaExceeded}},
		"a code that nobody knows":                  {"", []roll.HealthIssue{{Code: "SomethingNew", Message: "no"}}, []cause.Code{cause.NodeGroupUnhealthy}},
		"two issues":                                {"", []roll.HealthIssue{{Code: "Ec2SubnetNotFound", Message: "no"}, {Code: "InternalFailure", Message: "no"}}, []cause.Code{cause.LaunchSubnetInvalid, cause.LaunchInternalError}},
		"the quota beside a code that nobody knows": {quota, []roll.HealthIssue{{Code: "SomethingNew", Message: "no"}}, []cause.Code{cause.LaunchQuotaExceeded, cause.NodeGroupUnhealthy}},
		"the quota beside another health issue":     {quota, []roll.HealthIssue{{Code: "AmiIdNotFound", Message: "no"}}, []cause.Code{cause.LaunchAmiInvalid, cause.LaunchQuotaExceeded}},
	} {
		l := roll.Launch{Owner: roll.OwnerManagedNodeGroup, Message: tt.message, Source: "scaling activity", Field: "StatusMessage", Status: "DEGRADED", Issues: tt.issues}
		if tt.message == "" {
			l.Source, l.Field, l.Message = "managed node group", healthIssues, tt.issues[0].Code+": "+tt.issues[0].Message
		}
		s := &cause.Sheet{}
		Analyze(&evidence.Case{Evidence: &evidence.Evidence{Region: "eu-west-1"}, Finding: roll.Finding{Instance: "nodegroup/blue", Group: "nodegroup/blue", Kind: roll.Unlaunched, Launch: l}}, s)
		var got []cause.Code
		for _, c := range s.Causes() {
			got = append(got, c.Code)
			expect.That(t, c.Confidence == roll.Decisive && c.Fix != "" && len(c.Evidence) == 1 && c.Evidence[0].Observed != "", "%s: %+v", name, c)
		}
		expect.List(t, got, tt.want, "%s", name)
	}
}

// An issue about instances that were launched says nothing of launches, and is proven by an
// instance in trouble alone.
func TestAnIssueOfWhatWasLaunched(t *testing.T) {
	for name, tt := range map[string]struct {
		code    string
		members []evidence.Member
		want    roll.Confidence
	}{
		"nodes that do not join":          {"NodeCreationFailure", []evidence.Member{{Instance: "i-1", Healthy: true}, {Instance: "i-2", Finding: roll.Unregistered}}, roll.Suggestive},
		"nodes that the API refuses":      {"AccessDenied", []evidence.Member{{Instance: "i-1", Finding: roll.Unregistered}}, roll.Decisive},
		"nodes that all work":             {"NodeCreationFailure", []evidence.Member{{Instance: "i-1", Healthy: true}, {Instance: "i-2", Healthy: true}}, roll.Suggestive},
		"an instance that is still young": {"ClusterUnreachable", []evidence.Member{{Instance: "i-1"}}, roll.Suggestive},
		"no instance":                     {"NodeCreationFailure", nil, roll.Suggestive},
		"an issue that is not known":      {"SomethingNew", []evidence.Member{{Instance: "i-1", Healthy: true}}, roll.Decisive},
	} {
		l := roll.Launch{Owner: roll.OwnerManagedNodeGroup, Source: "managed node group", Field: healthIssues, Status: "CREATE_FAILED", Issues: []roll.HealthIssue{{Code: tt.code, Message: "not authorized to perform"}}}
		l.Message = tt.code + ": not authorized to perform"
		e := &evidence.Evidence{Region: "eu-west-1", Groups: map[roll.Group]evidence.Group{"nodegroup/blue": {Members: tt.members}}}
		s := &cause.Sheet{}
		Analyze(&evidence.Case{Evidence: e, Finding: roll.Finding{Instance: "nodegroup/blue", Group: "nodegroup/blue", Kind: roll.Unlaunched, Launch: l}}, s)
		causes := s.Causes()
		if len(causes) != 1 || causes[0].Code != cause.NodeGroupUnhealthy || causes[0].Confidence != tt.want {
			t.Errorf("%s: %+v", name, causes)
			continue
		}
		launched := strings.Contains(causes[0].Summary, "were launched")
		expect.That(t, launched == (tt.code != "SomethingNew"), "%s: %s", name, causes[0].Summary)
	}
}

// Each code that names a cause by itself is one of EKS's.
func TestTheCodesOfHealthIssuesExist(t *testing.T) {
	for code := range issues {
		expect.That(t, slices.Contains(ekstypes.NodegroupIssueCode("").Values(), ekstypes.NodegroupIssueCode(code)), "EKS has no %s", code)
	}
}

func TestWhatIsSaidIsDecisive(t *testing.T) {
	pool := roll.SubjectID("nodepool", "general")
	for message, want := range map[string][]string{
		"UnauthorizedOperation: User: arn:aws:sts::111122223333:assumed-role/k/1 is not authorized to perform: ec2:RunInstances with an explicit deny in a service control policy arn:aws:organizations::111122223333:policy/o-abcdefghij/service_control_policy/p-12345678": {"ec2:RunInstances", "service control policy", "p-12345678"},
		"Encoded authorization failure message: abcdef": {"decode-authorization-message"},
		"VcpuLimitExceeded: g5.xlarge":                  {"L-DB2E81BA"},
		"VcpuLimitExceeded: m5.large":                   {"L-1216C47A"},
		"MaxSpotInstanceCountExceeded: p4d.24xlarge":    {"L-7212CCBC"},
		"VcpuLimitExceeded: of something":               {"list-service-quotas"},
		"VcpuLimitExceeded: trn1.32xlarge":              {"list-service-quotas"},
		"InvalidAMIID.NotFound: ami-0d3b8c1f2a4e5d6f7":  {"describe-images", "ami-0d3b8c1f2a4e5d6f7"},
		"AuthFailure.ServiceLinkedRoleCreationNotPermitted: The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.": {"aws iam create-service-linked-role --aws-service-name spot.amazonaws.com", "which the account lacks"},
		"The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances. Launching EC2 instance failed.":                     {"create-service-linked-role"},
		"AuthFailure.ServiceLinkedRoleCreationNotPermitted: The provided credentials do not have permission to create the service-linked role for EC2 Fleet.":          {"lookup-events"},
		"CreateFleetAuthCheckFailed: Controller isn't authorized to call ec2:CreateFleet":                                                                              {"the action ec2:CreateFleet", "AttributeValue=CreateFleet"},
		"RunInstancesAuthCheckFailed: Controller isn't authorized to call ec2:RunInstances":                                                                            {"the action ec2:RunInstances", "AttributeValue=RunInstances"},
		"CreateLaunchTemplateAuthCheckFailed: Controller isn't authorized to call ec2:CreateLaunchTemplate":                                                            {"the action ec2:CreateLaunchTemplate", "AttributeValue=CreateLaunchTemplate"},
		"Unauthorized: Error creating fleet request: User is not authorized to perform this operation because no identity-based policy allows it":                      {"AttributeValue=CreateFleet"},
		"Unauthorized: Error getting launch template configs: User is not authorized to perform this operation because no identity-based policy allows it":             {"AttributeValue=CreateLaunchTemplate"},
		"Unauthorized: User is not authorized to perform this operation because no identity-based policy allows it":                                                    {"AttributeValue=RunInstances"},
		"UnauthorizedOperation: User: arn:aws:sts::111122223333:assumed-role/k/1 is not authorized to perform: iam:PassRole on resource: x":                            {"the action iam:PassRole", "AttributeValue=RunInstances"},
		"RequestLimitExceeded: Error creating fleet request: Request limit exceeded":                                                                                   {"AttributeValue=CreateFleet"},
		"Client.MaxIOPSLimitExceeded":                       {"--service-code ebs"},
		"SpotMaxPriceTooLow":                                {"nodepools.karpenter.sh general"},
		"VcpuLimitExceeded: dl1.24xlarge":                   {"list-service-quotas"},
		"VcpuLimitExceeded: hpc7a.96xlarge":                 {"list-service-quotas"},
		"VcpuLimitExceeded: mac2.metal":                     {"list-service-quotas"},
		"VcpuLimitExceeded: u7i-12tb.224xlarge":             {"list-service-quotas"},
		"Client.VolumeLimitExceeded: too many":              {"--service-code ebs"},
		"Client.InvalidKMSKey.InvalidState: it is disabled": {"describe-key --region eu-west-1 --key-id KEY ", "get-key-policy --region eu-west-1 --key-id KEY_ID ", "the role of Karpenter"},
		"is not authorized to perform: kms:CreateGrant on resource: arn:aws:kms:eu-west-1:111122223333:key/mrk-0a1b2c3d because": {"describe-key --region eu-west-1 --key-id arn:aws:kms:eu-west-1:111122223333:key/mrk-0a1b2c3d ", "get-key-policy --region eu-west-1 --key-id arn:aws:kms:eu-west-1:111122223333:key/mrk-0a1b2c3d "},
		"User: arn:aws:sts::111122223333:assumed-role/x/y is not authorized to perform: kms:CreateGrant on resource: x":          {"the action kms:CreateGrant"},
		"PendingVerification: Your request for accessing resources in this region is being validated":                            {"AWS Support"},
		"InvalidAMIID.NotFound: it does not exist":                                        {"nodepools.karpenter.sh general"},
		"InvalidSnapshot.NotFound: The snapshot 'snap-0123456789abcdef0' does not exist.": {"describe-snapshots", "snap-0123456789abcdef0"},
		"UserDataSizeLimitExceeded":                                                       {"16384"},
		"RequestLimitExceeded":                                                            {"lookup-events"},
		"Your requested instance type (m7g.large) is not supported in your requested Availability Zone (eu-west-1c).": {"describe-instance-type-offerings", "m7g.large"},
		"InvalidInstanceType: it does not exist": {"nodepools.karpenter.sh general"},
		"InsufficientFreeAddressesInSubnet":      {"AvailableIpAddressCount"},
	} {
		causes := analyzed(message, pool).Causes()
		if len(causes) != 1 || causes[0].Confidence != roll.Decisive || causes[0].Subject != string(pool) {
			t.Errorf("%s: %+v", message, causes)
			continue
		}
		for _, w := range want {
			expect.That(t, strings.Contains(causes[0].Summary+causes[0].Fix, w), "%s: %q lacks %q", message, causes[0].Summary+"\n"+causes[0].Fix, w)
		}
	}
}

// A node pool that is not ready launches nothing, whatever the reason.
func TestANodePoolThatIsNotReady(t *testing.T) {
	for message, want := range map[string]cause.Code{
		"Ready is False (NodeClassNotReady): something else is amiss":                       cause.NodePoolNotReady,
		"SubnetsReady is False (SubnetsNotFound): SubnetSelector did not match any Subnets": cause.LaunchSubnetInvalid,
	} {
		s := &cause.Sheet{}
		f := roll.Finding{Instance: roll.SubjectID("nodepool", "general"), Group: "nodepool/general", Kind: roll.Unlaunched, Launch: roll.Launch{Message: message, Source: "NodePool", Field: "Ready", Unready: true}}
		Analyze(&evidence.Case{Evidence: &evidence.Evidence{Region: "eu-west-1"}, Finding: f}, s)
		causes, open := s.Causes(), len(s.Open()) > 0
		if len(causes) != 1 || causes[0].Code != want || !strings.Contains(causes[0].Summary, "launches nothing: ") || !strings.Contains(causes[0].Summary, message) || open != (want == cause.NodePoolNotReady) {
			t.Errorf("%+v, not checked %v", causes, s.Open())
		}
	}
}

// While Karpenter's own call fails, a condition stays Unknown without a reason, and only the log says why.
func TestOfWhatAwaitsReconciliationTheLogSaysWhy(t *testing.T) {
	const message = "InstanceProfileReady is Unknown (AwaitingReconciliation): object is awaiting reconciliation"
	for owner, want := range map[roll.Owner]bool{roll.OwnerKarpenter: true, roll.OwnerAutoMode: false} {
		s := &cause.Sheet{}
		f := roll.Finding{Instance: roll.SubjectID("nodepool", "general"), Group: "nodepool/general", Owner: owner, Kind: roll.Unlaunched, Launch: roll.Launch{Owner: owner, Message: message, Source: "EC2NodeClass default", Field: "Ready", Unready: true}}
		Analyze(&evidence.Case{Evidence: &evidence.Evidence{Region: "eu-west-1"}, Finding: f}, s)
		causes := s.Causes()
		must.That(t, len(causes) == 1 && causes[0].Code == cause.NodePoolNotReady, "%+v", causes)
		fix := causes[0].Fix
		expect.That(t, strings.Contains(fix, "kubectl describe ec2nodeclasses.karpenter.k8s.aws default") && strings.Contains(fix, " logs -l app.kubernetes.io/name=karpenter") == want, "%s: %s", owner, fix)
	}
}

func TestAnErrorThatIsNotExplainedOnlySuggestsTheKey(t *testing.T) {
	causes := analyzed("Client.InternalError: Client error on launch", roll.SubjectID("asg", "w")).Causes()
	expect.That(t, len(causes) == 1 && causes[0].Code == cause.LaunchKmsDenied && causes[0].Confidence == roll.Suggestive, "%+v", causes)
	expect.That(t, strings.Contains(causes[0].Fix, "AWSServiceRoleForAutoScaling"), "%s", causes[0].Fix)
}

// An unknown message is a hint that quotes it, and rules nothing out. Without a message there is
// nothing to quote.
func TestTheCauseIsNotGuessed(t *testing.T) {
	for message, want := range map[string]int{"": 0, "something else is amiss": 1} {
		s := analyzed(message, roll.SubjectID("asg", "w"))
		causes := s.Causes()
		if len(causes) != want || len(s.Clear()) != 0 || len(s.Open()) == 0 {
			t.Errorf("%q: %+v, %v", message, causes, s.Open())
		}
		for _, c := range causes {
			if c.Code != cause.LaunchRefused || c.Confidence != roll.Suggestive || !strings.Contains(c.Summary, message) || c.Evidence[0].Observed != message {
				t.Errorf("%q: %+v", message, c)
			}
		}
	}
}

// What EC2, Auto Scaling and Karpenter publish as texts of refused launches.
func TestPublishedRefusals(t *testing.T) {
	for want, messages := range map[cause.Code][]string{
		cause.UserDataTooLarge: {
			"User data is limited to 16384 bytes. Launching EC2 instance failed.",
			"InvalidUserData.Malformed: User data is limited to 16384 bytes",
			"UserDataSizeLimitExceeded: Rendered user data exceeds the EC2 user data size limit",
			"UserDataSizeLimitExceeded: ec2:CreateLaunchTemplate rejected the rendered user data as too large",
		},
		cause.LaunchThrottled: {
			"Client.RequestLimitExceeded: Request limit exceeded. Launching EC2 instance failed.",
			"RequestLimitExceeded: Request limit exceeded",
			"Throttling: Rate exceeded",
		},
		cause.LaunchDenied: {
			"Access denied when attempting to assume role arn:aws:iam::111122223333:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling. Validating load balancer configuration failed.",
			"You are not authorized to use launch template: lt-0123456789abcdef0. Launching EC2 instance failed.",
			"Unauthorized: User is not authorized to perform this operation because no identity-based policy allows it",
			"SpotSLRCreationFailed: User does not have sufficient permission to create the Spot ServiceLinkedRole to launch spot instances",
			"CreateFleetAuthCheckFailed: Controller isn't authorized to call ec2:CreateFleet",
			"RunInstancesAuthCheckFailed: Controller isn't authorized to call ec2:RunInstances",
			"CreateLaunchTemplateAuthCheckFailed: Controller isn't authorized to call ec2:CreateLaunchTemplate",
			"TagPolicyViolation: The tag policy does not allow the specified value for the following tag key: 'Team'.",
			"PendingVerification: Your request for accessing resources in this region is being validated, and you will not be able to launch additional resources in this region until the validation is complete.",
			"AccountPendingVerification: An instance launch was requested but the request for launching resources in this region is still being verified",
			"FreeTierIneligible: The specified instance type is not eligible for Free Tier",
			"InvalidParameterCombination: The specified instance type is not eligible for Free Tier. For a list of Free Tier instance types, run 'describe-instance-types'",
			"OptInRequired: You are not subscribed to this service.",
			"Your account is currently blocked. Please contact aws-verification@amazon.com if you have questions. Launching EC2 instance failed.",
		},
		cause.LaunchAmiInvalid: {
			"The AMI ID ami-0d3b8c1f2a4e5d6f7 does not exist. Launching EC2 instance failed.",
			"AMI ami-0d3b8c1f2a4e5d6f7 is pending, and cannot be run. Launching EC2 instance failed.",
			"AMINotFound: AMI used for instance launch either does not exist or you don't have permissions to use it",
			"AMIAuthorizationFailure: User is not authorized for AMI used in instance launch",
			"AuthFailure: Not authorized for images: [ami-0d3b8c1f2a4e5d6f7]",
			"OptInRequired: In order to use this AWS Marketplace product you need to accept terms and subscribe. To do so please visit https://aws.amazon.com/marketplace/pp?sku=x",
			"AMIsReady is False (AMINotFound): AMISelector did not match any AMIs",
			"Enhanced networking with the Elastic Network Adapter (ENA) is required for the 'm5.large' instance type. Ensure that your AMI is enabled for ENA. Launching EC2 instance failed.",
			"Non-Windows instances with a virtualization type of 'hvm' are currently not supported for this instance type. Launching EC2 instance failed.",
			"The instance type 't2.large' does not support an AMI with a boot mode of UEFI. Only instance types built on the Nitro System support UEFI.",
		},
		cause.InstanceProfileMissing: {
			"Invalid IamInstanceProfile: payments-node. Launching EC2 instance failed.",
			"InstanceProfileNameInvalid: Instance profile name used from EC2NodeClass status does not exist",
			"InvalidParameterValue: IAM Instance Profile \"arn:aws:iam::111122223333:instance-profile/nodes\" has no associated IAM Roles",
			"ValidationSucceeded is False (InstanceProfileNotFound): Instance profile \"nodes\" not found",
		},
		cause.LaunchTypeUnavailable: {
			"The requested configuration is currently not supported. Please check the documentation for supported configurations. Launching EC2 instance failed.",
			"Unsupported: The requested configuration is currently not supported. Please check the documentation for supported configurations.",
			"InvalidParameterValue: Invalid value 'm9.large' for InstanceType.",
			"InvalidInstanceType: The following supplied instance types do not exist: [m9.large]",
		},
		cause.LaunchSubnetInvalid: {
			"The requested Availability Zone is no longer supported. Please retry your request by not specifying an Availability Zone or choosing eu-west-1a. Launching EC2 instance failed.",
			"SubnetsReady is False (SubnetsNotFound): SubnetSelector did not match any Subnets",
			"NodeClassReady is False (UnhealthyDependents): SubnetsReady=False",
			"VPCIdNotSpecified: No default VPC for this user",
		},
		cause.LaunchTemplateInvalid: {
			"Security group sg-0123456789abcdef0 and subnet subnet-0123456789abcdef0 belong to different networks. Launching EC2 instance failed.",
			"SecurityGroupSubnetVPCMismatch: Security groups and subnets must be in the same VPC.",
			"SecurityGroupsReady is False (SecurityGroupsNotFound): SecurityGroupSelector did not match any SecurityGroups",
			"The security group 'nodes' does not exist in VPC 'vpc-0123456789abcdef0'. Launching EC2 instance failed.",
			"Could not launch Spot Instances. InvalidBlockDeviceMapping - Volume of size 22GB is smaller than  snapshot 'snap-0b5c5ea11d58e1fec', expect size >= 30GB. Launching EC2 instance failed.",
			"Client.InvalidParameterCombination: Could not create volume with size 50GiB and iops 32000 from snapshot 'snap-0b5c5ea11d58e1fec'",
			"Invalid device name /dev/sdx1. Launching EC2 instance failed.",
			"Value (ephemeral) for parameter virtualName is invalid. Expected format: 'ephemeralNUMBER'. Launching EC2 instance failed.",
			"EBS block device mappings not supported for instance-store AMIs. Launching EC2 instance failed.",
			"Placement groups may not be used with instances of type 'm1.large'. Launching EC2 instance failed.",
			"PlacementGroupReady is False (PlacementGroupNotFound): Placement group \"pg\" not found",
			"InvalidPlacementGroup.Unknown: The Placement Group 'pg' is unknown.",
			"Network interfaces and an instance-level subnet ID may not be specified on the same request. Launching EC2 instance failed.",
			"The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces. Launching EC2 instance failed.",
			"InvalidParameterCombination: EFA interfaces are not supported on c5.large",
			"AttachmentLimitExceeded: Interface count 5 exceeds the limit for m5.large",
			"InvalidCapacityReservationId.NotFound: The capacity reservation ID 'cr-0123456789abcdef0' does not exist",
			"LaunchTemplateNotFound: Launch template used for instance launch wasn't found",
			"ValidationSucceeded is False (TagValidationFailed): \"kubernetes.io/cluster/x\" tag does not pass tag validation requirements",
			"InvalidParameterValue: Duplicate tag key 'Name' specified.",
			"InvalidParameterCombination: something that EC2 added last week",
		},
		cause.SubnetIpsExhausted: {
			"InsufficientFreeAddressesInSubnet: There are not enough free IP addresses to launch an instance in this subnet",
			"InsufficientCidrBlocks: The specified subnet does not have enough free cidr blocks to satisfy the request.",
		},
		cause.LaunchQuotaExceeded: {
			"20 instance(s) are already running. Launching EC2 instance failed.",
			"Your quota allows for 0 more running instance(s). You requested at least 1. Launching EC2 instance failed.",
			"FleetQuotaExceeded: A fleet launch was requested but this would exceed your fleet request quota",
			"SpotQuotaExceeded: A spot instance launch was requested but this would exceed your spot instance quota",
			"VCPULimitExceeded: An instance was requested that would exceed your VCPU quota",
			"NetworkInterfaceLimitExceeded: You have reached the maximum number of network interfaces for the region.",
			"InsufficientInstanceCapacity: You've reached the limit of instances in this spread placement group. A spread placement group can have up to seven instances per Availability Zone.",
		},
		cause.LaunchNoCapacity: {
			"The requested reservation does not have sufficient compatible and available capacity for this request. Launching EC2 instance failed.",
			"Your Capacity Block reservation cr-0123456789abcdef0 is not active yet. Launching EC2 instance failed.",
			"Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Server.SpotInstanceTermination: Spot instance termination",
			"There is no Spot capacity available that matches your request. Launching EC2 instance failed.",
		},
		cause.LaunchInternalError: {"InternalError: An internal error has occurred", "ServiceUnavailable: The service is unavailable. Please try again shortly."},
		cause.NodePoolNotReady: {
			"NodeClassReady is False (NodeClassNotFound): NodeClass not found on cluster",
			"ValidationSucceeded is False (ClusterCIDRResolutionFailed): Failed to detect the cluster CIDR",
		},
	} {
		for _, message := range messages {
			got := causesIn(message)
			expect.That(t, slices.Equal(got, []cause.Code{want}), "%q: %v, want %v", message, got, want)
		}
	}
}

func TestOtherKindsAreNotAskedAboutLaunches(t *testing.T) {
	s := &cause.Sheet{}
	Analyze(&evidence.Case{Evidence: &evidence.Evidence{}, Finding: roll.Finding{Kind: roll.Unregistered}}, s)
	expect.That(t, len(s.Causes())+len(s.Clear())+len(s.Open()) == 0, "something is noted")
}
