package generate

import "time"

// siblingCases are about what is unknown about one of two instances that share something, about
// contradictions, and about instances that a bundle does not list.
func siblingCases() []Case {
	join := []string{docAccessEntries, repostJoin}
	asg := "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-lifecycle.html"
	night := Edge // a second self-managed Auto Scaling group that never had a node
	night.Name, night.Template, night.Role, night.Version = "payments-night", "lt-0aa90000000000000", "payments-night-node", 1
	// alone removes a machine from its Auto Scaling group: somebody launched it by hand.
	alone := func(b *Bundle, m *Machine) {
		m.untag("aws:autoscaling:groupName")
		b.Members = without(b.Members, "InstanceId", m.ID)
	}
	// untold drops the launch template of that group from the bundle, and with it what its instances
	// are meant for.
	untold := func(b *Bundle) { b.Templates = without(b.Templates, "LaunchTemplateId", night.Template) }
	// stranger adds an instance of unknown origin, with nothing in common with another one.
	stranger := func(b *Bundle) *Machine {
		m := b.Launch(SickToo, "10.0.73.22", "b", night, 40*time.Minute)
		delete(b.UserData, m.ID)
		untold(b)
		return m
	}
	// panicked adds a node of the healthy group whose kernel panicked.
	panicked := func(b *Bundle) *Machine {
		m := silentWorker(b)
		b.prints(m, "[432012.471120] Kernel panic - not syncing: Fatal exception in interrupt")
		return m
	}
	// unlisted removes what EC2 reports about a machine.
	unlisted := func(b *Bundle, m *Machine) {
		b.Instances, b.Statuses = without(b.Instances, "InstanceId", m.ID), without(b.Statuses, "InstanceId", m.ID)
		b.Members = without(b.Members, "InstanceId", m.ID)
	}
	// nodeless deletes a machine's Node, and keeps its lease.
	nodeless := func(b *Bundle, m *Machine) {
		var kept []object
		for _, n := range b.Nodes {
			if n["metadata"].(object)["name"] != m.Name() {
				kept = append(kept, n)
			}
		}
		b.Nodes = kept
	}
	// ownLists makes the Auto Scaling groups themselves list their instances.
	ownLists := func(b *Bundle) {
		for _, g := range b.ScalingGroups {
			of := []object{}
			for _, m := range b.Members {
				if m["AutoScalingGroupName"] == g["AutoScalingGroupName"] {
					of = append(of, object{
						"InstanceId": m["InstanceId"], "InstanceType": m["InstanceType"], "AvailabilityZone": m["AvailabilityZone"],
						"LifecycleState": m["LifecycleState"], "HealthStatus": "Healthy", "ProtectedFromScaleIn": m["ProtectedFromScaleIn"],
					})
				}
			}
			g["Instances"] = of
		}
		b.Lacks("auto-scaling-instances.json")
	}
	// rests adds an instance of a self-managed group that its group keeps in a state.
	rests := func(b *Bundle, state string) *Machine {
		m := b.Launch(Sick, "10.0.41.21", "a", Legacy, 3*time.Hour)
		b.UserData[m.ID] = UserData(Legacy)
		m.Member["LifecycleState"] = state
		return m
	}
	return []Case{
		broken("one-of-two-with-user-data-that-is-cut", "Two instances of an Auto Scaling group of one's own whose role has no access entry; of the second one's user data a part was captured that joins nothing, and nothing of the template's.",
			join, func(b *Bundle) *verdict {
				b.access("API")
				m := b.Unregistered(Edge)
				other := b.Another(m)
				b.UserData[other.ID] = "#!/bin/bash\nset -o errexit\n"
				b.Lacks("launch-template-versions.json")
				return unregistered(m, "NodeRoleNotMapped").and(other, "Unregistered", "NodeRoleNotMapped", "UserDataWrongFormat").holds("SharedCause")
			}),
		broken("one-of-two-of-a-template-without-its-user-data", "Two instances that somebody launched from one version of a template, whose user data is for another system. The user data of the second was not captured.",
			from(docAL2023, docTemplates), unjoined(Edge, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, bootstrapData(""))
				other := b.Another(m)
				delete(b.UserData, other.ID)
				alone(b, m)
				alone(b, other)
				return unregistered(m, "UserDataWrongFormat").and(other, "Unregistered", "").holds("SharedCause").incomplete()
			})),
		broken("one-of-two-with-a-role-in-common-without-its-user-data", "The role of the first is mapped to nothing. A second one, of another group and template, has that role, and nobody knows what it is meant for: if it is a node, it has the same trouble.",
			join, func(b *Bundle) *verdict {
				b.access("API")
				m := b.Unregistered(Edge)
				same := night
				same.Role = Edge.Role
				b.Launch(SickToo, "10.0.73.22", "b", same, 40*time.Minute)
				untold(b)
				return unregistered(m, "NodeRoleNotMapped").holds("SharedCause").incomplete()
			}),
		broken("one-of-two-with-a-subnet-in-common-without-its-user-data", "The subnet of the first has no way out. A second one is in it, of another group, template and role, and nobody knows what it is meant for.",
			from(docEndpoint, docNetwork), func(b *Bundle) *verdict {
				b.endpoint(true, false)
				b.aside()
				m := b.UnregisteredAside(Edge)
				other := b.Launch(SickToo, "10.0.41.22", "a", night, 40*time.Minute)
				other.moved()
				untold(b)
				return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing").holds("SharedCause").incomplete()
			}),
		misleading("kernel-panic-beside-a-stranger", "The kernel of a node died. Of an instance that has nothing in common with it nobody knows what it is meant for: that is no reason to leave the node as it is.",
			from("https://docs.kernel.org/admin-guide/bug-hunting.html", docNodes), func(b *Bundle) *verdict {
				stranger(b)
				return finds(panicked(b), "Unknown", "KernelPanic", "KubeletSilent").orders("reboot").incomplete()
			}),
		misleading("role-unmapped-beside-a-stranger", "The role of the first is mapped to nothing, and what else could not be read has nothing in common with it: the cause is not shared, and lies outside all the same.",
			join, unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.unmap(BatchGroup)
				stranger(b)
				return unregistered(m, "NodeRoleNotMapped").holds("CauseOutside").incomplete()
			})),
		misleading("node-deleted-and-its-kubelet-goes-on", "Somebody deleted the Node. The instance is up, and its kubelet renews the lease: it is not simply unregistered.",
			from(docNodes, "https://kubernetes.io/docs/concepts/architecture/leases/"), on(worker, func(b *Bundle, m *Machine) *verdict {
				nodeless(b, m)
				return unregistered(m, "").holds("Conflicting")
			})),
		misleading("no-node-and-its-nodeclaim-is-initialized", "Karpenter has the NodeClaim initialized, and there is no such Node: one of the two is wrong.",
			from(docNodeClaims), func(b *Bundle) *verdict {
				m := b.joined(Batch, 3*day)
				nodeless(b, m)
				b.Leases = b.Leases[:len(b.Leases)-1]
				return unregistered(m, "").holds("Conflicting")
			}),
		misleading("node-deleted-and-its-kubelet-is-silent", "The Node was deleted, and the lease is three quarters of an hour old: nothing speaks for the kubelet, so the instance is unregistered. Why, nothing tells.",
			from(docNodes, "https://kubernetes.io/docs/concepts/architecture/leases/"), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				nodeless(b, m)
				return unregistered(m, "")
			})),
		misleading("no-node-and-its-nodeclaim-never-was-initialized", "The NodeClaim says that the node never came: that is no contradiction.",
			from(docNodeClaims), func(b *Bundle) *verdict {
				return unregistered(b.Unregistered(Batch), "")
			}),
		well("in-standby-by-the-groups-own-list", "The list of instances in Auto Scaling groups was not captured. The group itself tells that somebody put the instance into Standby.",
			from(asg, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-enter-exit-standby.html"), func(b *Bundle) *verdict {
				rests(b, "Standby")
				ownLists(b)
				return nothing()
			}),
		well("in-a-warm-pool-by-the-groups-own-list", "The same of an instance that runs in the warm pool of its group.",
			from(asg, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-warm-pools.html"), func(b *Bundle) *verdict {
				rests(b, "Warmed:Running")
				ownLists(b)
				return nothing()
			}),
		misleading("in-service-by-the-groups-own-list", "The group itself tells that the instance is in service, so it should be a node.",
			from(asg), func(b *Bundle) *verdict {
				m := rests(b, "InService")
				ownLists(b)
				return unregistered(m, "")
			}),
		misleading("in-no-list-of-a-group", "Neither the list of instances nor the group tells what the group does with the instance. If it does not rest it is unregistered; as it may, nothing is done.",
			from(asg), func(b *Bundle) *verdict {
				m := rests(b, "InService")
				b.Lacks("auto-scaling-instances.json")
				return unregistered(m, "").holds("ProtectionUnknown").incomplete()
			}),
		misleading("silent-and-its-instance-is-not-listed", "EC2 does not list the instance of a silent node. That it has no instance profile is not known of it, nor anything else.",
			from(docNodes), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				unlisted(b, m)
				return finds(m, "Unknown", "KubeletSilent").misses("InstanceProfileMissing", "NodeRoleNotMapped").orders()
			})),
		misleading("never-ready-and-its-instance-is-not-listed", "The same of a node that waits for its CNI.",
			from(docNodes), func(b *Bundle) *verdict {
				m := b.cniWaits(BatchGroup)
				unlisted(b, m)
				return finds(m, "Uninitialized", "CniNotReady").misses("RolePoliciesMissing", "VpcEndpointMissing").orders()
			}),
		misleading("silent-and-its-profile-was-not-captured", "The instance names its profile, of which nothing was captured, and so nothing of its role: nothing is concluded, and nothing done.",
			from(docNodeRole, docNodes), func(b *Bundle) *verdict {
				m := b.joined(Batch, 5*day)
				b.silent(m, 45*time.Minute)
				b.Profiles = without(b.Profiles, "InstanceProfileName", Batch.Profile())
				return finds(m, "Unknown", "").suggests("KubeletSilent").misses("InstanceProfileMissing", "NodeRoleNotMapped").holds("CauseNotChecked")
			}),
		broken("silent-and-its-profile-has-no-role", "Somebody took the role out of the instance profile that the instance has: the kubelet gets no token any more.",
			from(docNodeRole, docNodes), func(b *Bundle) *verdict {
				m := b.joined(Batch, 5*day)
				b.silent(m, 45*time.Minute)
				b.find(b.Profiles, "InstanceProfileName", Batch.Profile())["Roles"] = []object{}
				return finds(m, "Unknown", "InstanceProfileMissing", "KubeletSilent")
			}),
		broken("silent-and-its-profile-is-gone", "The instance that EC2 lists has no profile: it was taken off, and the kubelet gets no token any more.",
			from(docNodeRole, docNodes), func(b *Bundle) *verdict {
				m := b.joined(Batch, 5*day)
				b.silent(m, 45*time.Minute)
				delete(m.Instance, "IamInstanceProfile")
				return finds(m, "Unknown", "InstanceProfileMissing", "KubeletSilent")
			}),
	}
}
