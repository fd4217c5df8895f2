package generate

import "time"

const (
	docNodeClassStatus = "https://karpenter.sh/docs/concepts/nodeclasses/#statusconditions"
	docNodePoolStatus  = "https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/nodepool/readiness/controller.go"
	docNodeClassChecks = "https://github.com/aws/karpenter-provider-aws/blob/main/pkg/controllers/nodeclass/validation.go"
)

// unreadyCases are about refused launches that name a fault of the request, and node pools for which
// Karpenter launches nothing.
func unreadyCases() []Case {
	return []Case{
		broken("launch-with-user-data-over-16-kb", "The new version of a group's template has user data that EC2 does not take.",
			from("https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html", docScalingFailures), func(b *Bundle) *verdict {
				b.wants(Legacy)
				b.failed(Legacy, "User data is limited to 16384 bytes. Launching EC2 instance failed.")
				return launches(Legacy, "UserDataTooLarge").says("16 KB").orders()
			}).whole(),
		broken("karpenter-renders-user-data-over-16-kb", "The same of an EC2NodeClass, in the words of Karpenter's condition, which end in LimitExceeded and are about no quota.",
			from(docFleetErrors), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.launchFails(Batch, "UserDataSizeLimitExceeded", "Rendered user data exceeds the EC2 user data size limit")
				return launches(Batch, "UserDataTooLarge").orders()
			}),
		misleading("launch-that-is-throttled", "EC2 throttles the account's requests. The code ends in LimitExceeded and is about no quota that can be raised.",
			from("https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html", docFleetErrors), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.launchFails(Batch, "RequestLimitExceeded", "Request limit exceeded")
				return launches(Batch, "LaunchThrottled").rulesOut("LaunchQuotaExceeded").orders()
			}),
		misleading("launch-of-a-full-spread-placement-group", "EC2's code speaks of capacity, and its message of the limit of a spread placement group, which waiting does not change.",
			from("https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html#placement-groups-limitations-spread", docFleetErrors), func(b *Bundle) *verdict {
				b.wants(Workers)
				b.failed(Workers, "You've reached the limit of instances in this spread placement group. A spread placement group can have up to seven instances per Availability Zone. Launching EC2 instance failed.")
				return launches(Workers, "LaunchQuotaExceeded").says("spread placement group").rulesOut("LaunchNoCapacity").orders()
			}),
		broken("launch-with-a-volume-smaller-than-its-snapshot", "The root volume of a template is smaller than the snapshot of the new AMI.",
			from("https://github.com/DNXLabs/terraform-aws-ecs/pull/24", docScalingFailures), func(b *Bundle) *verdict {
				b.wants(Workers)
				b.failed(Workers, "Could not launch Spot Instances. InvalidBlockDeviceMapping - Volume of size 22GB is smaller than  snapshot 'snap-0b5c5ea11d58e1fec', expect size >= 30GB. Launching EC2 instance failed.")
				return launches(Workers, "LaunchTemplateInvalid").says("volume").rulesOut("LaunchSnapshotMissing").orders()
			}),
		broken("launch-with-groups-of-another-vpc", "The security group of a template belongs to another VPC than the group's subnets.",
			from(docScalingFailures, docFleetErrors), func(b *Bundle) *verdict {
				b.wants(Workers)
				b.failed(Workers, "Security group sg-0123456789abcdef0 and subnet "+subnet("a")+" belong to different networks. Launching EC2 instance failed.")
				return launches(Workers, "LaunchTemplateInvalid").says("another VPC").rulesOut("LaunchSubnetInvalid").orders()
			}),
		broken("launch-in-a-capacity-block-before-its-time", "A Capacity Block that a template targets begins later: there is nothing to correct.",
			from(docCapacity, "https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks.html"), func(b *Bundle) *verdict {
				b.wants(Workers)
				b.failed(Workers, "Your Capacity Block reservation cr-0123456789abcdef0 is not active yet. Launching EC2 instance failed.")
				return launches(Workers, "LaunchNoCapacity").says("capacity reservation").orders()
			}),
		broken("launch-with-efa-on-a-type-without", "A template asks for an EFA interface, which its instance type does not have.",
			from("https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html", docScalingFailures), func(b *Bundle) *verdict {
				b.wants(Workers)
				b.failed(Workers, "EFA interfaces are not supported on m5.large. Launching EC2 instance failed.")
				return launches(Workers, "LaunchTemplateInvalid").says("network interfaces").orders()
			}),
		broken("ami-that-was-shared-no-more", "The owner of a shared AMI withdrew it: EC2 calls that an authorization failure, and no policy of the account is to blame.",
			from(docFleetErrors, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-ami.html"), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.waiting(Batch, "creating instance, with fleet error(s), AuthFailure: Not authorized for images: [ami-0d3b8c1f2a4e5d6f7]")
				return launches(Batch, "LaunchAmiInvalid").rulesOut("LaunchDenied").orders()
			}),

		broken("node-class-selects-no-subnet", "The tag by which an EC2NodeClass selects subnets was renamed: Karpenter launches nothing for its NodePool, and creates no NodeClaim.",
			from(docNodeClassStatus, docNodePoolStatus), func(b *Bundle) *verdict {
				b.unready(Batch, 95*time.Minute, "SubnetsReady", "SubnetsNotFound", "SubnetSelector did not match any Subnets")
				return launches(Batch, "LaunchSubnetInvalid").says("SubnetsReady is False", "did not match any Subnets").orders()
			}),
		broken("node-class-selects-no-ami", "An EC2NodeClass selects an AMI by a name that does not exist.",
			from(docNodeClassStatus, "https://github.com/aws/karpenter-provider-aws/issues/5382"), func(b *Bundle) *verdict {
				b.unready(Batch, 40*time.Minute, "AMIsReady", "AMINotFound", "AMISelector did not match any AMIs")
				return launches(Batch, "LaunchAmiInvalid").orders()
			}),
		broken("node-class-that-karpenter-may-not-launch", "An SCP denies Karpenter's dry run of RunInstances: the EC2NodeClass is not ready.",
			from(docNodeClassChecks), func(b *Bundle) *verdict {
				b.unready(Batch, 40*time.Minute, "ValidationSucceeded", "RunInstancesAuthCheckFailed", "Controller isn't authorized to call ec2:RunInstances")
				return launches(Batch, "LaunchDenied").orders()
			}),
		broken("node-pool-without-its-node-class", "The EC2NodeClass of a NodePool was deleted.",
			from(docNodePoolStatus), func(b *Bundle) *verdict {
				b.unready(Batch, 40*time.Minute, "", "NodeClassNotFound", "NodeClass not found on cluster")
				b.NodeClasses = b.NodeClasses[:len(b.NodeClasses)-1]
				return launches(Batch, "NodePoolNotReady").says("NodeClass not found on cluster").orders()
			}),
		broken("node-class-that-cannot-be-read", "The same condition of the subnets, and the EC2NodeClasses were not captured: the NodePool itself says what it waits for.",
			from(docNodePoolStatus), func(b *Bundle) *verdict {
				b.unready(Batch, 40*time.Minute, "SubnetsReady", "SubnetsNotFound", "SubnetSelector did not match any Subnets")
				b.Lacks("ec2nodeclasses.json")
				return launches(Batch, "LaunchSubnetInvalid").orders()
			}),
		misleading("node-pool-whose-nodes-do-not-register", "Karpenter marks the NodePool as unhealthy, since its last nodes did not register; it is ready, and launches go on.",
			from("https://karpenter.sh/docs/concepts/nodepools/#statusconditions"), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.poolOf(Batch)["status"] = object{"conditions": []object{
					b.claimCondition("Ready", "True", "Ready", "", 9*day),
					b.claimCondition("NodeClassReady", "True", "NodeClassReady", "", 9*day),
					b.claimCondition("NodeRegistrationHealthy", "False", "RegistrationFailed", "Failed to register node", 40*time.Minute),
				}}
				return nothing().orders()
			}),
		misleading("node-class-that-is-not-ready-for-a-minute", "Somebody has just changed an EC2NodeClass: it is watched, and nobody is told yet.",
			from(docNodeClassStatus), func(b *Bundle) *verdict {
				b.unready(Batch, time.Minute, "SubnetsReady", "SubnetsNotFound", "SubnetSelector did not match any Subnets")
				return launches(Batch, "LaunchSubnetInvalid").orders()
			}),
		misleading("node-pool-that-is-deleted-with-its-node-class", "Somebody deletes a NodePool, whose EC2NodeClass is gone already. Nothing is to be launched for it.",
			from(docNodePoolStatus), func(b *Bundle) *verdict {
				b.unready(Batch, 40*time.Minute, "", "NodeClassNotFound", "NodeClass not found on cluster")
				b.deleted(b.poolOf(Batch), 30*time.Minute, "foregroundDeletion")
				return nothing().orders()
			}),
		misleading("node-class-that-was-not-ready-an-hour-ago", "Its event of the subnets is an hour old. The conditions say that all is well since.",
			from(docNodeClassStatus), func(b *Bundle) *verdict {
				b.pool(Batch)
				b.Events = append(b.Events, object{
					"apiVersion": "v1", "kind": "Event", "metadata": object{"name": "batch.18b", "namespace": "default", "creationTimestamp": b.kubeTime(time.Hour)},
					"involvedObject": object{"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "name": Batch.Name},
					"type":           "Warning", "reason": "SubnetsNotFound", "message": "SubnetSelector did not match any Subnets",
					"firstTimestamp": b.kubeTime(time.Hour), "lastTimestamp": b.kubeTime(time.Hour), "count": 1, "source": object{"component": "karpenter"},
				})
				return nothing().orders()
			}),
	}
}

// launchFails adds a NodeClaim whose launch failed for a reason that Karpenter knows.
func (b *Bundle) launchFails(g Group, reason, message string) {
	b.waiting(g, message)
	claim := b.NodeClaims[len(b.NodeClaims)-1]
	claim["status"].(object)["conditions"].([]object)[0]["reason"] = reason
}

// unready adds a group's NodePool and EC2NodeClass that have not been ready for this long, for a
// condition of the EC2NodeClass, or of the NodePool if its name is "".
func (b *Bundle) unready(g Group, since time.Duration, condition, reason, message string) {
	b.pool(g)
	because := b.claimCondition("NodeClassReady", "False", reason, message, since)
	if condition != "" {
		because = b.claimCondition("NodeClassReady", "False", "UnhealthyDependents", condition+"=False", since)
		var conditions []object
		for _, c := range []string{"AMIsReady", "InstanceProfileReady", "SecurityGroupsReady", "SubnetsReady", "ValidationSucceeded"} {
			switch c {
			case condition:
				conditions = append(conditions, b.claimCondition(c, "False", reason, message, since))
			case "ValidationSucceeded":
				conditions = append(conditions, b.claimCondition(c, "False", "DependenciesNotReady", "Awaiting AMI, Instance Profile, Security Group, and Subnet resolution", since))
			default:
				conditions = append(conditions, b.claimCondition(c, "True", c, "", 9*day))
			}
		}
		b.NodeClasses[len(b.NodeClasses)-1]["status"] = object{"instanceProfile": g.Profile(), "conditions": append(conditions, b.claimCondition("Ready", "False", "UnhealthyDependents", condition+"=False", since))}
	}
	b.poolOf(g)["status"] = object{"conditions": []object{
		because, b.claimCondition("ValidationSucceeded", "True", "ValidationSucceeded", "", 9*day),
		b.claimCondition("Ready", "False", "UnhealthyDependents", "NodeClassReady=False", since),
	}}
}
