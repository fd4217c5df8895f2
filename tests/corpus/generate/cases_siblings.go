package generate

import "time"

// siblingCases are about what is not known of one of two instances that have something in
// common, about what contradicts itself, and about instances that a bundle does not list.
func siblingCases() []Case {
	join := []string{docAccessEntries, repostJoin}
	asg := "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-lifecycle.html"
	night := Edge // a second Auto Scaling group of one's own that never had a node
	night.Name, night.Template, night.Role, night.Version = "payments-night", "lt-0aa90000000000000", "payments-night-node", 1
	// alone takes a machine out of its Auto Scaling group: somebody launched it by hand.
	alone := func(b *Bundle, m *Machine) {
		m.untag("aws:autoscaling:groupName")
		b.Members = without(b.Members, "InstanceId", m.ID)
	}
	// stranger is an instance that nothing ties to another one, and of which nobody knows what it is.
	stranger := func(b *Bundle) *Machine {
		m := b.Launch(SickToo, "10.0.73.22", "b", night, 40*time.Minute)
		delete(b.UserData, m.ID)
		return m
	}
	// panicked is a node of the healthy group whose kernel died.
	panicked := func(b *Bundle) *Machine {
		m := worker(b)
		b.silent(m, 45*time.Minute)
		b.Console[m.ID] = console(append(booted(), "[432012.471120] Kernel panic - not syncing: Fatal exception in interrupt")...)
		return m
	}
	// unlisted drops what EC2 says of a machine.
	unlisted := func(b *Bundle, m *Machine) {
		b.Instances, b.Statuses = without(b.Instances, "InstanceId", m.ID), without(b.Statuses, "InstanceId", m.ID)
		b.Members = without(b.Members, "InstanceId", m.ID)
	}
	// nodeless deletes the Node of a machine, and leaves its lease.
	nodeless := func(b *Bundle, m *Machine) {
		var kept []object
		for _, n := range b.Nodes {
			if n["metadata"].(object)["name"] != m.Name() {
				kept = append(kept, n)
			}
		}
		b.Nodes = kept
	}
	// ownLists has the Auto Scaling groups themselves tell of their instances.
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
	// rests is an instance of a group of one's own that its group keeps in a state.
	rests := func(b *Bundle, state string) *Machine {
		m := b.Launch(Sick, "10.0.41.21", "a", Legacy, 3*time.Hour)
		b.UserData[m.ID] = UserData(Legacy)
		m.Member["LifecycleState"] = state
		return m
	}
	return []Case{
		{
			Name: "one-of-two-with-user-data-that-is-cut", Class: Broken,
			Why:     "Two instances of an Auto Scaling group of one's own whose role has no access entry; of the second one's user data a part was captured that joins nothing, and nothing of the template's.",
			Sources: join,
			Build: func(b *Bundle, _ healthy) *verdict {
				b.access("API")
				m := b.Unregistered(Edge)
				other := b.Another(m)
				b.UserData[other.ID] = "#!/bin/bash\nset -o errexit\n"
				b.Lacks("launch-template-versions.json")
				return unregistered(m, "NodeRoleNotMapped").and(other, "Unregistered", "NodeRoleNotMapped", "UserDataWrongFormat").holds("SharedCause")
			},
		},
		{
			Name: "one-of-two-of-a-template-without-its-user-data", Class: Broken,
			Why:     "Two instances that somebody launched from one version of a template, whose user data is for another system. The user data of the second was not captured.",
			Sources: []string{docAL2023, docTemplates},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(Edge)
				b.retext(m, bootstrapData(""))
				other := b.Another(m)
				delete(b.UserData, other.ID)
				alone(b, m)
				alone(b, other)
				return unregistered(m, "UserDataWrongFormat").and(other, "Unregistered", "").holds("SharedCause").incomplete()
			},
		},
		{
			Name: "one-of-two-with-a-role-in-common-without-its-user-data", Class: Broken,
			Why:     "The role of the first is mapped to nothing. A second one, of another group and template, has that role, and nobody knows what it is meant for: if it is a node, it has the same trouble.",
			Sources: join,
			Build: func(b *Bundle, _ healthy) *verdict {
				b.access("API")
				m := b.Unregistered(Edge)
				same := night
				same.Role = Edge.Role
				b.Launch(SickToo, "10.0.73.22", "b", same, 40*time.Minute)
				return unregistered(m, "NodeRoleNotMapped").holds("SharedCause").incomplete()
			},
		},
		{
			Name: "one-of-two-with-a-subnet-in-common-without-its-user-data", Class: Broken,
			Why:     "The subnet of the first has no way out. A second one is in it, of another group, template and role, and nobody knows what it is meant for.",
			Sources: []string{docEndpoint, docNetwork},
			Build: func(b *Bundle, _ healthy) *verdict {
				b.endpoint(true, false)
				b.aside()
				m := b.Unregistered(Edge)
				m.moved()
				other := b.Launch(SickToo, "10.0.41.22", "a", night, 40*time.Minute)
				other.moved()
				return unregistered(m, "ApiEndpointUnreachable", "VpcEndpointMissing").holds("SharedCause").incomplete()
			},
		},
		{
			Name: "kernel-panic-beside-a-stranger", Class: Misleading,
			Why:     "The kernel of a node died. Of an instance that has nothing in common with it nobody knows what it is meant for: that is no reason to leave the node as it is.",
			Sources: []string{"https://docs.kernel.org/admin-guide/bug-hunting.html", docNodes},
			Build: func(b *Bundle, _ healthy) *verdict {
				stranger(b)
				return finds(panicked(b), "Unknown", "KernelPanic", "KubeletSilent").orders("reboot").incomplete()
			},
		},
		{
			Name: "role-unmapped-beside-a-stranger", Class: Misleading,
			Why:     "The role of the first is mapped to nothing, and what else could not be read has nothing in common with it: the cause is not shared, and lies outside all the same.",
			Sources: join,
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Unregistered(BatchGroup)
				b.unmap(BatchGroup)
				stranger(b)
				return unregistered(m, "NodeRoleNotMapped").holds("CauseOutside").incomplete()
			},
		},
		{
			Name: "node-deleted-and-its-kubelet-goes-on", Class: Misleading,
			Why:     "Somebody deleted the Node. The instance is up, and its kubelet renews the lease: it is not simply unregistered.",
			Sources: []string{docNodes, "https://kubernetes.io/docs/concepts/architecture/leases/"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := worker(b)
				nodeless(b, m)
				return finds(m, "Conflict", "").holds("Conflicting")
			},
		},
		{
			Name: "no-node-and-its-nodeclaim-is-initialized", Class: Misleading,
			Why:     "Karpenter has the NodeClaim initialized, and there is no such Node: one of the two is wrong.",
			Sources: []string{docNodeClaims},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Batch, 3*day)
				b.Join(m, 3*day-time.Minute)
				nodeless(b, m)
				b.Leases = b.Leases[:len(b.Leases)-1]
				return finds(m, "Conflict", "").holds("Conflicting")
			},
		},
		{
			Name: "node-deleted-and-its-kubelet-is-silent", Class: Misleading,
			Why:     "The Node was deleted, and the lease is three quarters of an hour old: nothing speaks for the kubelet, so the instance is unregistered. Why, nothing tells.",
			Sources: []string{docNodes, "https://kubernetes.io/docs/concepts/architecture/leases/"},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := worker(b)
				b.silent(m, 45*time.Minute)
				nodeless(b, m)
				return unregistered(m, "")
			},
		},
		{
			Name: "no-node-and-its-nodeclaim-never-was-initialized", Class: Misleading,
			Why:     "The NodeClaim says that the node never came: that is no contradiction.",
			Sources: []string{docNodeClaims},
			Build: func(b *Bundle, _ healthy) *verdict {
				return unregistered(b.Unregistered(Batch), "")
			},
		},
		{
			Name: "in-standby-by-the-groups-own-list", Class: Well,
			Why:     "The list of instances in Auto Scaling groups was not captured. The group itself tells that somebody put the instance into Standby.",
			Sources: []string{asg, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-enter-exit-standby.html"},
			Build: func(b *Bundle, _ healthy) *verdict {
				rests(b, "Standby")
				ownLists(b)
				return nothing()
			},
		},
		{
			Name: "in-a-warm-pool-by-the-groups-own-list", Class: Well,
			Why:     "The same of an instance that runs in the warm pool of its group.",
			Sources: []string{asg, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-warm-pools.html"},
			Build: func(b *Bundle, _ healthy) *verdict {
				rests(b, "Warmed:Running")
				ownLists(b)
				return nothing()
			},
		},
		{
			Name: "in-service-by-the-groups-own-list", Class: Misleading,
			Why:     "The group itself tells that the instance is in service, so it should be a node.",
			Sources: []string{asg},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := rests(b, "InService")
				ownLists(b)
				return unregistered(m, "")
			},
		},
		{
			Name: "in-no-list-of-a-group", Class: Misleading,
			Why:     "Neither the list of instances nor the group tells what the group does with the instance. If it does not rest it is unregistered; as it may, nothing is done.",
			Sources: []string{asg},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := rests(b, "InService")
				b.Lacks("auto-scaling-instances.json")
				return unregistered(m, "").holds("ProtectionUnknown").incomplete()
			},
		},
		{
			Name: "silent-and-its-instance-is-not-listed", Class: Misleading,
			Why:     "EC2 does not list the instance of a silent node. That it has no instance profile is not known of it, nor anything else.",
			Sources: []string{docNodes},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := worker(b)
				b.silent(m, 45*time.Minute)
				unlisted(b, m)
				return finds(m, "Unknown", "KubeletSilent").misses("InstanceProfileMissing", "NodeRoleNotMapped").orders()
			},
		},
		{
			Name: "never-ready-and-its-instance-is-not-listed", Class: Misleading,
			Why:     "The same of a node that waits for its CNI.",
			Sources: []string{docNodes},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", BatchGroup, 26*time.Minute)
				b.Join(m, 25*time.Minute)
				b.neverReady(m)
				unlisted(b, m)
				return finds(m, "Uninitialized", "CniNotReady").misses("RolePoliciesMissing", "VpcEndpointMissing").orders()
			},
		},
		{
			Name: "silent-and-its-profile-was-not-captured", Class: Misleading,
			Why:     "The instance names its profile, of which nothing was captured, and so nothing of its role: nothing is concluded, and nothing done.",
			Sources: []string{docNodeRole, docNodes},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Batch, 5*day)
				b.Join(m, 5*day-time.Minute)
				b.silent(m, 45*time.Minute)
				b.Profiles = without(b.Profiles, "InstanceProfileName", Batch.Profile())
				return finds(m, "Unknown", "KubeletSilent").misses("InstanceProfileMissing", "NodeRoleNotMapped").holds("CauseNotChecked")
			},
		},
		{
			Name: "silent-and-its-profile-is-gone", Class: Broken,
			Why:     "The instance that EC2 lists has no profile: it was taken off, and the kubelet gets no token any more.",
			Sources: []string{docNodeRole, docNodes},
			Build: func(b *Bundle, _ healthy) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Batch, 5*day)
				b.Join(m, 5*day-time.Minute)
				b.silent(m, 45*time.Minute)
				delete(m.Instance, "IamInstanceProfile")
				return finds(m, "Unknown", "InstanceProfileMissing", "KubeletSilent")
			},
		},
	}
}
