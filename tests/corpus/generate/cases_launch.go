package generate

import (
	"fmt"
	"time"

	"rollcall/tests/corpus"
)

const (
	docScalingFailures = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-instancelaunchfailure.html"
	docCapacity        = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-capacity.html"
	docStateReason     = "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html"
	docFleetErrors     = "https://github.com/aws/karpenter-provider-aws/blob/main/pkg/errors/errors.go"
	docLaunch          = "https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/nodeclaim/lifecycle/launch.go"
)

const (
	docSpotRole = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html"
	noSpotRole  = "The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances."
)

// refusal returns a case in which EC2 refuses the launches of an Auto Scaling group for one
// cause.
func refusal(name, why, message, code, source string) Case {
	return broken(name, why, from(source), func(b *Bundle) *verdict {
		b.wants(Workers)
		b.failed(Workers, message)
		return launches(Workers, code).orders()
	})
}

// launchCases are about groups that get no instance.
func launchCases() []Case {
	return []Case{
		refusal("launch-of-an-ami-that-is-gone", "The AMI of a node group's template was deregistered.",
			"The image id '[ami-0d3b8c1f2a4e5d6f7]' does not exist. Launching EC2 instance failed.", "LaunchAmiInvalid", docScalingFailures),
		refusal("launch-template-that-is-gone", "Somebody deleted the launch template of a node group.",
			"The specified launch template, with template ID lt-0e2b0000000000000, does not exist. Launching EC2 instance failed.", "LaunchTemplateInvalid", docScalingFailures),
		refusal("launch-below-the-spot-price", "The template asks for Spot Instances at a price for which there are none.",
			"SpotMaxPriceTooLow: Your Spot request price of 0.01 is lower than the minimum required Spot request fulfillment price of 0.0412. Launching EC2 instance failed.", "LaunchSpotPriceTooLow", docCapacity),
		refusal("launch-with-a-disabled-key", "The KMS key of the encrypted root volume is disabled: EC2 ends each instance at once.",
			"Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state", "LaunchKmsDenied", docScalingFailures),
		broken("launch-that-is-cancelled-for-its-key", "The same, and Auto Scaling cancels such launches in place of failing them.",
			from(docScalingFailures), func(b *Bundle) *verdict {
				b.wants(Workers)
				b.failed(Workers, "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state")
				b.Activities[0]["StatusCode"] = "Cancelled"
				return launches(Workers, "LaunchKmsDenied").orders()
			}),
		well("launch-that-a-hook-gave-up", "Somebody's lifecycle hook abandoned a launch of a node group, which launches again. EC2 and the image are not to blame.",
			from(docScalingFailures, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/lifecycle-hooks.html"), func(b *Bundle) *verdict {
				b.wants(Workers)
				b.failed(Workers, "Lifecycle action was abandoned: the hook of the group answered ABANDON")
				b.Activities[0]["StatusCode"] = "Cancelled"
				return nothing()
			}),
		refusal("launch-of-a-type-that-is-not-offered", "The zone of a node group's subnet does not offer its instance type.",
			"Your requested instance type (m7g.xlarge) is not supported in your requested Availability Zone (eu-west-1c). Please retry your request by not specifying an Availability Zone or choosing eu-west-1a, eu-west-1b. Launching EC2 instance failed.", "LaunchTypeUnavailable", docScalingFailures),
		broken("node-group-that-was-never-created", "Somebody deleted a subnet while EKS created a managed node group: it has no Auto Scaling group, so EKS alone tells of it.",
			from("https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html"), func(b *Bundle) *verdict {
				g := Workers
				g.Name = "blue"
				b.nodeGroup(g)
				o := b.find(b.NodeGroups, "nodegroupName", g.Name)
				o["status"], o["resources"], o["createdAt"], o["modifiedAt"] = "CREATE_FAILED", object{}, b.eksTime(40*time.Minute), b.eksTime(20*time.Minute)
				o["health"] = object{"issues": []object{{"code": "Ec2SubnetNotFound", "message": "The subnet ID 'subnet-0dead000000000001' does not exist", "resourceIds": []string{"subnet-0dead000000000001"}}}}
				return launches(g, "LaunchSubnetInvalid").orders()
			}),
		ended("launch-with-a-deleted-snapshot", "A snapshot that the AMI of a node pool names was deleted: EC2 ends each instance at once, after Karpenter's launch succeeded.",
			"Client.InvalidSnapshot.NotFound", "Client.InvalidSnapshot.NotFound: The snapshot 'snap-0dead000000000001' does not exist.", "LaunchSnapshotMissing"),
		ended("launch-that-ec2-broke-off", "EC2 ended the instances of a node pool at their launch by a fault of its own.",
			"Server.InternalError", "Server.InternalError: Internal error on launch", "LaunchInternalError"),
		broken("pool-without-capacity", "EC2 has no capacity for a node pool. Karpenter deletes each NodeClaim at once, so that only the events of the last hour tell.",
			from(docLaunch, docKarpenter), func(b *Bundle) *verdict {
				b.pool(Batch)
				for i, age := range []time.Duration{31 * time.Minute, 17 * time.Minute, 3 * time.Minute} {
					b.refused(Batch, string(rune('b'+i)), "creating instance, insufficient capacity, with fleet error(s), UnfulfillableCapacity: Unable to fulfill capacity due to your request configuration. Please adjust your request and try again.", age)
				}
				return launches(Batch, "LaunchNoCapacity").orders()
			}),
		broken("pool-whose-subnet-has-no-address", "Every subnet of a node pool is full. Karpenter takes that for want of capacity and deletes each NodeClaim at once: only its events name the subnet.",
			from(docLaunch, docFleetErrors, docNetwork), func(b *Bundle) *verdict {
				b.pool(Batch)
				for i, age := range []time.Duration{21 * time.Minute, 9 * time.Minute} {
					b.refused(Batch, string(rune('b'+i)), "creating instance, insufficient capacity, with fleet error(s), InsufficientFreeAddressesInSubnet: There are not enough free addresses in subnet '"+subnet("a")+"' to satisfy the requested number of instances.", age)
				}
				return launches(Batch, "SubnetIpsExhausted").orders()
			}),
		misleading("one-of-two-pools-whose-names-begin-alike", "The quota is used up for the pool batch-gpu, whose NodeClaims are deleted at once. The pool batch launches as ever.",
			from(docLaunch, docFleetErrors), func(b *Bundle) *verdict {
				gpu := Batch
				gpu.Name = "batch-gpu"
				b.pool(Batch)
				b.pool(gpu)
				b.refused(gpu, "b", "creating instance, insufficient capacity, with fleet error(s), VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance bucket that the specified instance type belongs to.", 9*time.Minute)
				return launches(gpu, "LaunchQuotaExceeded").orders()
			}),
		misleading("pool-that-was-short-of-capacity-an-hour-ago", "The last NodeClaim that was refused is an hour old, and nothing asked for another since.",
			from(docLaunch, docKarpenter), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.refused(Batch, "b", "creating instance, insufficient capacity, with fleet error(s), UnfulfillableCapacity: Unable to fulfill capacity due to your request configuration. Please adjust your request and try again.", time.Hour)
				return nothing().orders()
			}),
		misleading("pool-that-was-short-of-capacity-and-launched-since", "A NodeClaim was refused ten minutes ago, and one that came after it was launched and became a node.",
			from(docLaunch, docKarpenter), func(b *Bundle) *verdict {
				b.refused(Batch, "b", "creating instance, insufficient capacity, with fleet error(s), UnfulfillableCapacity: Unable to fulfill capacity due to your request configuration. Please adjust your request and try again.", 10*time.Minute)
				b.joined(Batch, 8*time.Minute)
				return nothing().orders()
			}),
		broken("scp-denies-the-launch", "A service control policy denies ec2:RunInstances to Karpenter's controller: the NodeClaim says so, and waits.",
			from(docLaunch, "https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html"), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.waiting(Batch, "creating instance, with fleet error(s), UnauthorizedOperation: You are not authorized to perform this operation. User: arn:aws:sts::111122223333:assumed-role/KarpenterController/1 is not authorized to perform: ec2:RunInstances with an explicit deny in a service control policy: arn:aws:organizations::111122223333:policy/o-a1b2c3d4e5/service_control_policy/p-1a2b3c4d")
				return launches(Batch, "LaunchDenied").orders()
			}),
		broken("spot-role-that-karpenter-may-not-create", "The account never launched a Spot Instance, so it has no service-linked role for them, and Karpenter's controller may not create it. The fleet adds that it launched nothing.",
			from(docSpotRole, "https://github.com/aws/karpenter-provider-aws/issues/3413"), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.waiting(Batch, "creating instance, with fleet error(s), AuthFailure.ServiceLinkedRoleCreationNotPermitted: "+noSpotRole+"; UnfulfillableCapacity: Unable to fulfill capacity due to your request configuration. Please adjust your request and try again.")
				return launches(Batch, "LaunchDenied").says("service-linked role").orders()
			}),
		broken("spot-role-that-a-group-may-not-create", "The same of an Auto Scaling group, in its words.",
			from(docSpotRole, docScalingFailures), func(b *Bundle) *verdict {
				b.wants(Workers)
				b.failed(Workers, noSpotRole+" Launching EC2 instance failed.")
				return launches(Workers, "LaunchDenied").says("service-linked role").orders()
			}),
		misleading("spot-role-missing-and-no-capacity", "Beside the denial EC2 says that a type has no capacity, which is true for itself.",
			from(docSpotRole, docFleetErrors), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.waiting(Batch, "creating instance, with fleet error(s), AuthFailure.ServiceLinkedRoleCreationNotPermitted: "+noSpotRole+"; InsufficientInstanceCapacity: We currently do not have sufficient m6i.large capacity in the Availability Zone you requested (eu-west-1a).")
				v := launches(Batch, "LaunchDenied").orders()
				v.last().AlsoDecisive = []string{"LaunchNoCapacity"}
				return v
			}),
		misleading("capacity-of-a-role-that-is-there", "A fleet launched nothing for want of capacity. Its message speaks of a role and denies nothing.",
			from(docFleetErrors), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.waiting(Batch, "creating instance with the service-linked role for EC2 Spot Instances, with fleet error(s), UnfulfillableCapacity: Unable to fulfill capacity due to your request configuration. Please adjust your request and try again.")
				return launches(Batch, "LaunchNoCapacity").orders()
			}),
		broken("vcpu-quota-of-a-group", "An Auto Scaling group is to grow, and the account's quota on vCPUs is used up.",
			from(docScalingFailures, "https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html"), func(b *Bundle) *verdict {
				b.wants(Workers)
				b.failed(Workers, "You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit. Launching EC2 instance failed.")
				return launches(Workers, "LaunchQuotaExceeded").orders()
			}),
		misleading("launch-fails-for-what-nobody-knows", "A launch fails with a message that is in no list: the cause is not guessed.",
			from(docLaunch), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.waiting(Batch, "the fleet is not in the mood")
				v := launches(Batch, "").orders()
				v.last().NotChecked = []string{"LaunchNoCapacity", "LaunchDenied"}
				return v.suggests("LaunchRefused").says("the fleet is not in the mood")
			}),
		well("a-launch-succeeded-after-all", "A launch failed for capacity, the next one succeeded a minute ago in another zone, and the group waits for its last instance.",
			from(docCapacity), func(b *Bundle) *verdict {
				b.wants(Workers)
				b.failed(Workers, "We currently do not have sufficient m6i.xlarge capacity in the Availability Zone you requested (eu-west-1a). Launching EC2 instance failed.")
				b.activity(Workers, "i-0feed000000000001", time.Minute, "Launching a new EC2 instance", "an instance was started in response to a difference between desired and actual capacity, increasing the capacity from 1 to 2.")
				return nothing().orders()
			}),
		well("launches-are-suspended", "A group has fewer instances than it is to have, its launches failed before, and somebody has suspended Launch since.",
			from("https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-suspend-resume-processes.html"), func(b *Bundle) *verdict {
				b.wants(Workers)
				b.failed(Workers, "We currently do not have sufficient m6i.xlarge capacity in the Availability Zone you requested (eu-west-1a). Launching EC2 instance failed.")
				b.find(b.ScalingGroups, "AutoScalingGroupName", Workers.ASG())["SuspendedProcesses"] = []object{{"ProcessName": "Launch", "SuspensionReason": "User suspended at " + b.kubeTime(10*time.Minute)}}
				return nothing().orders()
			}),
	}
}

// ended returns a case in which EC2 terminates the instances of a node pool at their launch.
func ended(name, why, code, message, first string) Case {
	return broken(name, why, from(docStateReason), func(b *Bundle) *verdict {
		for i, age := range []time.Duration{24 * time.Minute, 9 * time.Minute} {
			m := b.Launch(fmt.Sprintf("i-0dead00000000000%d", i+1), fmt.Sprintf("10.0.41.%d", 31+i), "a", Batch, age)
			m.Instance["State"] = object{"Code": 48, "Name": "terminated"}
			m.Instance["StateReason"] = object{"Code": code, "Message": message}
			b.Statuses = without(b.Statuses, "InstanceId", m.ID)
			b.NodeClaims = b.NodeClaims[:len(b.NodeClaims)-1]
		}
		return launches(Batch, first).orders()
	})
}

// launches returns the finding about a group whose launches fail.
func launches(g Group, first string) *verdict {
	v := nothing()
	id := "nodepool/" + g.Name
	switch g.Owner {
	case byNodeGroup:
		id = "nodegroup/" + g.Name
	case byASG:
		id = "asg/" + g.Name
	}
	v.expectation.Findings = append(v.expectation.Findings, corpus.Finding{Instance: id, Kind: "Unlaunched", FirstDecisive: first})
	return v
}

// waiting adds a NodeClaim whose launch failed, and for which no instance comes.
func (b *Bundle) waiting(g Group, message string) {
	const age = 9 * time.Minute
	b.NodeClaims = append(b.NodeClaims, object{
		"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
		"metadata": object{"name": g.Name + "-w8t4k", "uid": uid("nodeclaim", g.Name+"-w8t4k"), "creationTimestamp": b.kubeTime(age), "generation": 1, "labels": object{"karpenter.sh/nodepool": g.Name}},
		"status": object{"conditions": []object{
			{"type": "Launched", "status": "Unknown", "reason": "LaunchFailed", "message": message, "lastTransitionTime": b.kubeTime(age - 2*time.Second)},
		}},
	})
}

// refused adds the event of a NodeClaim that Karpenter deleted at once.
func (b *Bundle) refused(g Group, letter, message string, age time.Duration) {
	claim := g.Name + "-" + letter + letter + letter + letter + letter
	b.Events = append(b.Events, object{
		"apiVersion": "v1", "kind": "Event", "metadata": object{"name": claim + ".18a", "namespace": "default", "creationTimestamp": b.kubeTime(age)},
		"involvedObject": object{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": claim},
		"type":           "Warning", "reason": "InsufficientCapacityError", "message": "NodeClaim " + claim + " event: " + message,
		"firstTimestamp": b.kubeTime(age), "lastTimestamp": b.kubeTime(age), "count": 1, "source": object{"component": "karpenter"},
	})
}

// wants raises the group's desired capacity by one instance, which is missing.
func (b *Bundle) wants(g Group) {
	asg := b.find(b.ScalingGroups, "AutoScalingGroupName", g.ASG())
	asg["DesiredCapacity"] = asg["DesiredCapacity"].(int) + 1
	if g.Owner == byNodeGroup {
		asg["Tags"] = append(asg["Tags"].([]object), object{"Key": "eks:nodegroup-name", "Value": g.Name, "PropagateAtLaunch": true, "ResourceId": g.ASG(), "ResourceType": "auto-scaling-group"})
	}
}

// failed adds a launch of the group that failed 12 minutes ago.
func (b *Bundle) failed(g Group, message string) {
	const age = 12 * time.Minute
	b.Activities = append([]object{{
		"ActivityId": uid("activity", message), "AutoScalingGroupName": g.ASG(), "Description": "Launching a new EC2 instance.  Status Reason: " + message,
		"Cause":     "At " + b.kubeTime(age) + " an instance was started in response to a difference between desired and actual capacity, increasing the capacity from 1 to 2.",
		"StartTime": b.eksTime(age), "EndTime": b.ec2Time(age - time.Second), "StatusCode": "Failed", "StatusMessage": message, "Progress": 100,
	}}, b.Activities...)
}
