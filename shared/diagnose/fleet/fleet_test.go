package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/fleet"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const instance = roll.InstanceID("i-0123456789abcdef0")

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world returns a healthy cluster with one finding.
func world(kind roll.Kind, owner roll.Owner, group roll.Group) *evidence.Case {
	e := &evidence.Evidence{
		At: now, Region: "eu-west-1", ClusterID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "payments"},
		Groups: map[roll.Group]evidence.Group{group: {
			NodeGroup:   evidence.Read(evidence.NodeGroup{Name: "web", Status: "ACTIVE"}),
			AutoScaling: evidence.Read(evidence.AutoScalingGroup{Name: "workers"}),
			NodeClaims:  evidence.Read([]evidence.NodeClaim{{Name: "default-x7k2p", Instance: instance}}),
			Acts:        evidence.Read([]evidence.Act{}),
			Members: []evidence.Member{
				{Instance: instance, Finding: kind, Launched: now.Add(-20 * time.Minute), Image: "ami-1", LaunchTemplate: "lt-1", LaunchTemplateVersion: "1"},
				{Instance: "i-00000001", Healthy: true, Launched: now.Add(-48 * time.Hour), Image: "ami-1", LaunchTemplate: "lt-1", LaunchTemplateVersion: "1"},
			},
		}},
		Zones: []evidence.Zone{{Zone: "eu-west-1a", Nodes: 4}, {Zone: "eu-west-1b", Nodes: 4}},
	}
	e.Cluster.Config = evidence.Read(evidence.ClusterConfig{Name: "payments", Status: "ACTIVE"})
	e.Cluster.Webhooks = evidence.Read([]evidence.Webhook{})
	return &evidence.Case{Evidence: e, Finding: roll.Finding{Instance: instance, Kind: kind, Owner: owner, Group: group, Zone: "eu-west-1a", ZoneID: "euw1-az1", Began: now.Add(-40 * time.Minute)}}
}

func group(change func(*evidence.Group)) func(*wrapped) {
	return func(w *wrapped) {
		g := w.Groups[w.Finding.Group]
		change(&g)
		if w.Groups != nil {
			w.Groups[w.Finding.Group] = g
		}
	}
}

type wrapped struct{ *evidence.Case }

// do combines the changes of a world.
func do(steps ...func(*wrapped)) func(*wrapped) { return causetest.Do(steps...) }

// What Auto Scaling says of instances that it ended.
// https://repost.aws/knowledge-center/auto-scaling-instance-how-terminated
const (
	failedEC2 = "an instance was taken out of service in response to an EC2 instance status checks failure."
	failedELB = "an instance was taken out of service in response to an ELB system health check failure."
)

// activities makes the group have launched two instances before the case's, and terminated each
// 15 minutes later for that cause.
func activities(why string) func(*wrapped) {
	return group(func(g *evidence.Group) {
		var out []evidence.Activity
		for i, id := range []string{"i-00000008", "i-00000009"} {
			at := now.Add(-time.Duration(70-20*i) * time.Minute)
			out = append(out, evidence.Activity{Status: "Successful", Description: "Launching a new EC2 instance: " + id, At: at},
				evidence.Activity{Status: "Successful", Description: "Terminating EC2 instance: " + id, Cause: why, At: at.Add(15 * time.Minute)})
		}
		g.Activities = evidence.Read(out)
	})
}

func analyze(c *evidence.Case) *cause.Sheet {
	s := &cause.Sheet{}
	fleet.Analyze(c, s)
	return s
}

func silent(minutes ...int) (out []time.Time) {
	for _, m := range minutes {
		out = append(out, now.Add(-40*time.Minute).Add(time.Duration(m)*time.Minute))
	}
	return out
}

func webhook(change ...func(*evidence.Webhook)) evidence.Fact[[]evidence.Webhook] {
	w := evidence.Webhook{
		Configuration: "guard", Kind: "ValidatingWebhookConfiguration", Name: "nodes.guard.io", FailurePolicy: "Fail", Resources: []string{"nodes"}, Operations: []string{"CREATE", "UPDATE"},
		Namespace: "guard", Service: "guard", Endpoints: evidence.Read(0),
	}
	for _, c := range change {
		c(&w)
	}
	return evidence.Read([]evidence.Webhook{w})
}

func TestWhatIsFound(t *testing.T) {
	const (
		karpenter = roll.OwnerKarpenter
		managed   = roll.OwnerManagedNodeGroup
		scaled    = roll.OwnerAutoScalingGroup
	)
	replaced := func(kind roll.Kind, ago ...time.Duration) func(*wrapped) {
		return func(w *wrapped) {
			var acts []evidence.Act
			for _, a := range ago {
				acts = append(acts, evidence.Act{Instance: "i-00000009", Do: "terminate", Kind: kind, At: now.Add(-a), Done: true})
			}
			group(func(g *evidence.Group) { g.Acts = evidence.Read(acts) })(w)
		}
	}
	ill := func(code, message string) func(*wrapped) {
		return group(func(g *evidence.Group) { g.NodeGroup.Value.Issues = []roll.HealthIssue{{Code: code, Message: message}} })
	}
	tests := []struct {
		name  string
		kind  roll.Kind
		owner roll.Owner
		spoil func(*wrapped)
		want  string
	}{
		{"all is well", roll.Unregistered, karpenter, func(*wrapped) {}, ""},
		{"the cluster is being deleted", roll.Unregistered, karpenter, func(w *wrapped) { w.Cluster.Config.Value.Status = "DELETING" }, "ClusterNotActive"},
		{"the cluster is updating", roll.Unregistered, karpenter, func(w *wrapped) { w.Cluster.Config.Value.Status = "UPDATING" }, "ClusterNotActive"},
		{"the API server does not answer", roll.Unregistered, karpenter, func(w *wrapped) {
			w.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable, Call: "kubernetes: list nodes", Detail: "timeout"}}
		}, "ControlPlaneUnreachable"},
		{"the API server does not know us", roll.Unregistered, karpenter, func(w *wrapped) {
			w.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapUnauthorized, Call: "kubernetes: list nodes", Detail: "401"}}
		}, "ControlPlaneUnreachable"},
		{"the API server does not answer, and EC2's checks fail", roll.Impaired, karpenter, func(w *wrapped) {
			w.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapClusterUnreachable, Call: "kubernetes: list nodes", Detail: "timeout"}}
		}, "ControlPlaneUnreachable?"},
		{"one call about a suspect failed", roll.Unregistered, karpenter, func(w *wrapped) {
			w.Gaps = []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapClusterUnreachable, Call: roll.CallLease, Detail: "timeout"}}
		}, ""},
		{"a call was throttled", roll.Unregistered, karpenter, func(w *wrapped) { w.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapThrottled}} }, ""},
		{"STS is off", roll.Unregistered, karpenter, func(w *wrapped) {
			w.Cluster.Config.Value.Issues = []roll.HealthIssue{{Code: "StsRegionalEndpointDisabled", Message: "STS is not enabled"}}
		}, "ClusterUnhealthy"},
		{"STS is off, and the node registered before", roll.NotReady, karpenter, func(w *wrapped) {
			w.Cluster.Config.Value.Issues = []roll.HealthIssue{{Code: "StsRegionalEndpointDisabled", Message: "STS is not enabled"}}
		}, "ClusterUnhealthy?"},
		{"STS is off, and the instance is terminated", roll.Ghost, karpenter, func(w *wrapped) {
			w.Cluster.Config.Value.Issues = []roll.HealthIssue{{Code: "StsRegionalEndpointDisabled", Message: "STS is not enabled"}}
		}, ""},
		{"STS is off, and a node joined since", roll.Unregistered, karpenter, func(w *wrapped) {
			w.Cluster.Config.Value.Issues = []roll.HealthIssue{{Code: "StsRegionalEndpointDisabled", Message: "STS is not enabled"}}
			group(func(g *evidence.Group) { g.Members[1].Joined = now })(w)
		}, "ClusterUnhealthy?"},
		{"a key of the cluster is disabled", roll.Unregistered, karpenter, func(w *wrapped) { w.Cluster.Config.Value.Issues = []roll.HealthIssue{{Code: "KmsKeyDisabled"}} }, "ClusterUnhealthy?"},

		{"its zone is down", roll.Unknown, karpenter, func(w *wrapped) { w.Zones[0].Silent = silent(0, 1, 3) }, "ZoneOutage"},
		{"its zone is down, and EC2's checks fail", roll.Impaired, karpenter, func(w *wrapped) { w.Zones[0].Silent = silent(0, 1, 3) }, "ZoneOutage"},
		{"its zone was down last week, and it went silent today", roll.Unknown, karpenter, func(w *wrapped) { w.Zones[0].Silent = silent(-9999, -9998, -9996, 0) }, ""},
		{"just the share", roll.Unknown, karpenter, func(w *wrapped) {
			w.Zones[0].Nodes, w.Zones[0].Silent = 20, silent(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
		}, "ZoneOutage"},
		{"all of its zone, which are two", roll.Unknown, karpenter, func(w *wrapped) { w.Zones[0].Nodes, w.Zones[0].Silent = 2, silent(0, 1) }, ""},
		{"one of the other zones is down", roll.Unknown, karpenter, func(w *wrapped) {
			w.Zones[0].Silent, w.Zones[1].Silent = silent(0, 1, 3), silent(0, 1, 3)
			w.Zones = append(w.Zones, evidence.Zone{Zone: "eu-west-1c", Nodes: 4})
		}, ""},
		{"one short of it", roll.Unknown, karpenter, func(w *wrapped) { w.Zones[0].Silent = silent(0, 1) }, ""},
		{"less than the share", roll.Unknown, karpenter, func(w *wrapped) { w.Zones[0].Nodes, w.Zones[0].Silent = 6, silent(0, 1, 3) }, ""},
		{"not together", roll.Unknown, karpenter, func(w *wrapped) { w.Zones[0].Silent = silent(0, 11, 22) }, ""},
		{"the other zone is down", roll.Unknown, karpenter, func(w *wrapped) { w.Zones[1].Silent = silent(0, 1, 3) }, ""},
		{"all zones are down", roll.Unknown, karpenter, func(w *wrapped) { w.Zones[0].Silent, w.Zones[1].Silent = silent(0, 1, 3), silent(0, 1, 3) }, ""},
		{"there is no other zone", roll.Unknown, karpenter, func(w *wrapped) { w.Zones = w.Zones[:1]; w.Zones[0].Silent = silent(0, 1, 3) }, ""},
		{"its zone is down, and it never registered", roll.Unregistered, karpenter, func(w *wrapped) { w.Zones[0].Silent = silent(0, 1, 3) }, ""},

		{"no NodeClaim has it", roll.Orphaned, karpenter, group(func(g *evidence.Group) { g.NodeClaims = evidence.Read([]evidence.NodeClaim{{Instance: "i-00000002"}}) }), "OwnerGone"},
		{"no NodeClaim has it any more, and it is terminated", roll.Ghost, karpenter, group(func(g *evidence.Group) { g.NodeClaims = evidence.Read([]evidence.NodeClaim{{Instance: "i-00000002"}}) }),
			""},
		{"its node group is gone", roll.Unregistered, managed, group(func(g *evidence.Group) { g.NodeGroup = evidence.None[evidence.NodeGroup]() }), "OwnerGone"},
		{"its Auto Scaling group is gone", roll.Unregistered, scaled, group(func(g *evidence.Group) { g.AutoScaling = evidence.None[evidence.AutoScalingGroup]() }), "OwnerGone"},
		{"its cluster is gone", roll.Orphaned, managed, func(w *wrapped) {
			w.Gaps = []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapClusterGone}}
		}, "OwnerGone"},
		{"nobody owns it", roll.Unregistered, roll.OwnerNone, group(func(g *evidence.Group) { g.AutoScaling = evidence.None[evidence.AutoScalingGroup]() }), ""},

		{"its node group is ill", roll.Unregistered, managed,
			group(func(g *evidence.Group) {
				g.NodeGroup.Value.Issues = []roll.HealthIssue{{Code: "NodeCreationFailure", Message: "Instances failed to join"}}
			}), "NodeGroupUnhealthy"},
		{"its node group is ill, and a taint stays", roll.Uninitialized, managed, ill("NodeCreationFailure", "no"), "NodeGroupUnhealthy"},
		{"its node group was created without nodes, and this one joined later and is silent", roll.Unknown, managed, ill("NodeCreationFailure", "no"), "NodeGroupUnhealthy?"},
		{"its node group was created without nodes, and this one joined later and is not ready", roll.NotReady, managed, ill("NodeCreationFailure", "no"), "NodeGroupUnhealthy?"},
		{"its subnet assigns no public address", roll.Unregistered, managed, ill("Ec2SubnetInvalidConfiguration", "no"), "LaunchSubnetInvalid? NodeGroupUnhealthy"},
		{"its subnet assigns no public address, and it joined", roll.NotReady, managed, ill("Ec2SubnetInvalidConfiguration", "no"), "LaunchSubnetInvalid? NodeGroupUnhealthy?"},
		{"a label of the node group is invalid", roll.Unregistered, managed, ill("KubernetesLabelInvalid", "no"), "NodeGroupUnhealthy"},
		{"a label of the node group is invalid, and it joined", roll.Unknown, managed, ill("KubernetesLabelInvalid", "no"), "NodeGroupUnhealthy?"},
		{"somebody gave the Auto Scaling group other subnets", roll.Unregistered, managed, ill("AutoScalingGroupInvalidConfiguration", "no"), "NodeGroupUnhealthy?"},
		{"somebody gave the Auto Scaling group another template version", roll.Unknown, managed, ill("Ec2LaunchTemplateVersionMismatch", "no"), "LaunchTemplateInvalid? NodeGroupUnhealthy?"},
		{"aws-auth refuses the node group", roll.Unregistered, managed, ill("AccessDenied", "check the aws-auth ConfigMap"), "NodeRoleNotMapped NodeGroupUnhealthy"},
		{"the access entries refuse the node group", roll.Unregistered, managed, ill("AccessDenied", "check the access entries"), "NodeRoleNotMapped NodeGroupUnhealthy"},
		{"something refuses the node group", roll.Unregistered, managed, ill("AccessDenied", "denied"), "NodeRoleNotMapped? NodeGroupUnhealthy"},
		{"aws-auth refuses the node group, and the node registered", roll.NotReady, managed, ill("AccessDenied", "check the aws-auth ConfigMap"), "NodeRoleNotMapped? NodeGroupUnhealthy"},
		{"the role of the node group is gone", roll.Unregistered, managed, ill("IamNodeRoleNotFound", "no"), "InstanceProfileMissing NodeGroupUnhealthy"},
		{"the profile of the node group is gone", roll.Unregistered, managed, ill("IamInstanceProfileNotFound", "no"), "InstanceProfileMissing NodeGroupUnhealthy"},
		{"the subnets of the node group are full", roll.Unregistered, managed, ill("InsufficientFreeAddresses", "no"), "SubnetIpsExhausted? NodeGroupUnhealthy?"},
		{"EKS does not find the Auto Scaling group, which the instance has", roll.Unregistered, managed, ill("AutoScalingGroupNotFound", "no"), "NodeGroupUnhealthy"},
		{"a node group whose launches failed", roll.NotReady, managed, group(func(g *evidence.Group) {
			g.NodeGroup.Value.Issues = []roll.HealthIssue{{Code: "AsgInstanceLaunchFailures", Message: "Could not launch On-Demand Instances"}}
		}), "NodeGroupUnhealthy?"},
		{"a node group whose pods were not evicted", roll.NotReady, managed, ill("PodEvictionFailure", "no"), "NodeGroupUnhealthy?"},
		{"a node group that is refreshed", roll.Unknown, managed, ill("AutoScalingGroupInstanceRefreshActive", "no"), "NodeGroupUnhealthy?"},
		{"a node group whose AMI is gone", roll.NotReady, managed, ill("AmiIdNotFound", "no"), "LaunchAmiInvalid? NodeGroupUnhealthy?"},
		{"a node group with more than failed launches", roll.NotReady, managed, group(func(g *evidence.Group) {
			g.NodeGroup.Value.Issues = []roll.HealthIssue{{Code: "AsgInstanceLaunchFailures"}, {Code: "ClusterUnreachable"}}
		}), "ApiEndpointUnreachable? NodeGroupUnhealthy"},
		{"a ghost of an ill node group", roll.Ghost, managed, group(func(g *evidence.Group) { g.NodeGroup.Value.Issues = []roll.HealthIssue{{Code: "NodeCreationFailure"}} }), ""},

		{"replaced twice", roll.Unregistered, karpenter, replaced(roll.Unregistered, 40*time.Minute, 80*time.Minute), "ReplacementRepeats"},
		{"its NodeClaim was deleted twice", roll.Unregistered, karpenter, do(replaced(roll.Unregistered, 40*time.Minute, 80*time.Minute), group(func(g *evidence.Group) {
			g.Acts.Value[0].Do, g.Acts.Value[1].Do = "delete-nodeclaim", "delete-nodeclaim"
		})), "ReplacementRepeats"},
		{"replaced twice, and another one fails", roll.Unregistered, karpenter, do(replaced(roll.Unregistered, 40*time.Minute, 80*time.Minute), group(func(g *evidence.Group) {
			g.Members = append(g.Members, evidence.Member{Instance: "i-00000005", Finding: roll.Unregistered, Launched: now.Add(-10 * time.Minute)})
		})), "ReplacementRepeats"},
		{"launched before all that, and another one after", roll.Unregistered, karpenter, do(replaced(roll.Unregistered, 5*time.Minute, 10*time.Minute), group(func(g *evidence.Group) {
			g.Members = append(g.Members, evidence.Member{Instance: "i-00000005", Finding: roll.Unregistered, Launched: now.Add(-time.Minute)})
		})), ""},
		{"replaced twice, of no group", roll.Unregistered, roll.OwnerNone, replaced(roll.Unregistered, 40*time.Minute, 80*time.Minute), ""},
		{"replaced once", roll.Unregistered, karpenter, replaced(roll.Unregistered, 40*time.Minute), ""},
		{"replaced for something else", roll.Unregistered, karpenter, replaced(roll.Unknown, 40*time.Minute, 80*time.Minute), ""},
		{"launched before all that", roll.Unregistered, karpenter, replaced(roll.Unregistered, 5*time.Minute, 10*time.Minute), ""},
		{"one of the replacements works", roll.Unregistered, karpenter,
			do(replaced(roll.Unregistered, 40*time.Minute, 80*time.Minute), group(func(g *evidence.Group) { g.Members[1].Launched = now.Add(-30 * time.Minute) })), ""},
		{"one of the replacements worked, and is not looked at", roll.Unregistered, karpenter, func(w *wrapped) {
			replaced(roll.Unregistered, 40*time.Minute, 80*time.Minute)(w)
			w.Alone = true
			group(func(g *evidence.Group) { g.Members, g.Proven = g.Members[:1], now.Add(-70*time.Minute) })(w)
		}, ""},
		{"it worked itself for long", roll.Unknown, karpenter, func(w *wrapped) {
			replaced(roll.Unknown, 40*time.Hour, 80*time.Hour)(w)
			group(func(g *evidence.Group) {
				g.Members = g.Members[:1]
				g.Members[0].Launched = now.Add(-39 * time.Hour)
				g.Proven = g.Members[0].Launched
			})(w)
		}, ""},
		{"what worked was launched before", roll.Unregistered, karpenter,
			do(replaced(roll.Unregistered, 40*time.Minute, 80*time.Minute), group(func(g *evidence.Group) { g.Proven = now.Add(-90 * time.Minute) })), "ReplacementRepeats"},

		{"two before it failed the checks of EC2", roll.Unregistered, scaled, activities(failedEC2), "ReplacementRepeats"},
		{"two before it failed the checks of a load balancer", roll.Unregistered, scaled, activities(failedELB), "ReplacementRepeats"},
		{"two before it failed a person's own checks", roll.Unregistered, scaled, activities("an instance was taken out of service in response to a user health-check."), "ReplacementRepeats"},
		{"somebody else ended two before it, or EC2 took them, Spot Instances", roll.Unregistered, scaled, activities("an instance was taken out of service in response to an EC2 health check indicating it has been terminated or stopped."), ""},
		{"one was ended by somebody else, the other failed a check", roll.Unregistered, scaled, do(activities(failedEC2), group(func(g *evidence.Group) {
			g.Activities.Value[1].Cause = "an instance was taken out of service in response to an EC2 health check indicating it has been terminated or stopped."
		})), ""},
		{"two before it were ended at somebody's request", roll.Unregistered, scaled, activities("an instance was taken out of service in response to a user request."), ""},
		{"EC2 was to reboot two before it", roll.Unregistered, scaled, activities("an instance was taken out of service in response to an EC2 scheduled reboot."), ""},
		{"the group ended two that had run for an hour", roll.Unregistered, scaled, func(w *wrapped) {
			activities(failedEC2)(w)
			group(func(g *evidence.Group) {
				for i := 0; i < len(g.Activities.Value); i += 2 { // the launches
					g.Activities.Value[i].At = g.Activities.Value[i+1].At.Add(-time.Hour)
				}
			})(w)
		}, ""},
		{"the group ended two that were launched before its activities", roll.Unregistered, scaled, func(w *wrapped) {
			activities(failedEC2)(w)
			group(func(g *evidence.Group) {
				g.Activities.Value = slices.DeleteFunc(g.Activities.Value, func(a evidence.Activity) bool { return a.Cause == "" })
			})(w)
		}, ""},
		{"replaced once, and rebooted before", roll.Unregistered, karpenter,
			do(replaced(roll.Unregistered, 40*time.Minute, 80*time.Minute), group(func(g *evidence.Group) { g.Acts.Value[1].Do = "reboot" })), ""},
		{"replaced once, after an act that failed", roll.Unregistered, karpenter,
			do(replaced(roll.Unregistered, 40*time.Minute, 80*time.Minute), group(func(g *evidence.Group) { g.Acts.Value[1].Done = false })), ""},
		{"the group shrank twice", roll.Unregistered, scaled, activities("a difference between desired and actual capacity, shrinking the capacity"), ""},
		{"the group ended two before it, and one works", roll.Unregistered, scaled,
			do(activities(failedEC2), group(func(g *evidence.Group) { g.Members[1].Launched = now.Add(-30 * time.Minute) })), ""},

		{"the group ended two before it, and one works that it launched while the first ended", roll.Unregistered, scaled, func(w *wrapped) {
			activities(failedEC2)(w)
			group(func(g *evidence.Group) {
				for i := 1; i < len(g.Activities.Value); i += 2 { // the terminations, which a lifecycle hook delays
					a := &g.Activities.Value[i]
					a.Started, a.At = a.At, a.At.Add(12*time.Minute)
				}
				g.Members[1].Launched = now.Add(-54 * time.Minute)
			})(w)
		}, ""},
		{"another version of the launch template", roll.Unregistered, scaled, group(func(g *evidence.Group) { g.Members[0].LaunchTemplateVersion = "2" }), "LaunchTemplateDrift?"},
		{"another AMI", roll.Unregistered, scaled, group(func(g *evidence.Group) { g.Members[0].Image = "ami-2" }), "LaunchTemplateDrift?"},
		{"another AMI, and it flaps", roll.Flapping, scaled, group(func(g *evidence.Group) { g.Members[0].Image = "ami-2" }), "LaunchTemplateDrift?"},
		{"another AMI of a ghost", roll.Ghost, scaled, group(func(g *evidence.Group) { g.Members[0].Image = "ami-2" }), ""},
		{"another AMI, of no group", roll.Unregistered, roll.OwnerNone, group(func(g *evidence.Group) { g.Members[0].Image = "ami-2" }), ""},
		{"another AMI, and those of the healthy ones are not known", roll.Unregistered, scaled, group(func(g *evidence.Group) { g.Members[0].Image, g.Members[1].Image = "ami-2", "" }), ""},
		{"its AMI is not known", roll.Unregistered, scaled, group(func(g *evidence.Group) { g.Members[0].Image = "" }), ""},
		{"another version, and its AMI is not known", roll.Unregistered, scaled, group(func(g *evidence.Group) { g.Members[0].Image, g.Members[0].LaunchTemplateVersion = "", "2" }), "LaunchTemplateDrift?"},
		{"a launch template, and the healthy ones' is not known", roll.Unregistered, scaled, group(func(g *evidence.Group) { g.Members[1].LaunchTemplate, g.Members[1].LaunchTemplateVersion = "", "" }), ""},
		{"another AMI, and one that fails otherwise has the old one", roll.Unregistered, scaled, group(func(g *evidence.Group) {
			other := g.Members[0]
			other.Instance, other.Finding = "i-00000005", roll.Unknown
			g.Members[0].Image = "ami-2"
			g.Members = append(g.Members, other)
		}), "LaunchTemplateDrift?"},
		{"another version, and some failing have the old one", roll.Unregistered, scaled, group(func(g *evidence.Group) {
			g.Members[0].LaunchTemplateVersion = "2"
			other := g.Members[0]
			other.Instance, other.LaunchTemplateVersion = "i-00000005", "1"
			g.Members = append(g.Members, other)
		}), ""},
		{"another version, and a healthy one has it too", roll.Unregistered, scaled, group(func(g *evidence.Group) {
			g.Members[0].LaunchTemplateVersion = "2"
			other := g.Members[1]
			other.Instance, other.LaunchTemplateVersion = "i-00000005", "2"
			g.Members = append(g.Members, other)
		}), ""},

		{"nobody answers the webhook", roll.Unregistered, karpenter, func(w *wrapped) { w.Cluster.Webhooks = webhook() }, "AdmissionWebhookBlocks"},
		{"nobody answers it, and a node joined since", roll.Unregistered, karpenter, func(w *wrapped) {
			w.Cluster.Webhooks = webhook()
			group(func(g *evidence.Group) { g.Members[1].Joined = now })(w)
		}, "AdmissionWebhookBlocks?"},
		{"nobody answers it, for taints", roll.Uninitialized, karpenter, func(w *wrapped) { w.Cluster.Webhooks = webhook() }, "AdmissionWebhookBlocks"},
		{"the status is another resource", roll.NotReady, karpenter, func(w *wrapped) { w.Cluster.Webhooks = webhook() }, ""},
		{"the status is asked about too", roll.NotReady, karpenter, func(w *wrapped) {
			w.Cluster.Webhooks = webhook(func(h *evidence.Webhook) { h.Resources = []string{"*/*"} })
		}, "AdmissionWebhookBlocks"},
		{"it may be ignored", roll.Unregistered, karpenter, func(w *wrapped) {
			w.Cluster.Webhooks = webhook(func(h *evidence.Webhook) { h.FailurePolicy = "Ignore" })
		}, ""},
		{"somebody answers", roll.Unregistered, karpenter, func(w *wrapped) {
			w.Cluster.Webhooks = webhook(func(h *evidence.Webhook) { h.Endpoints = evidence.Read(1) })
		}, ""},
		{"it may not be meant", roll.Unregistered, karpenter, func(w *wrapped) { w.Cluster.Webhooks = webhook(func(h *evidence.Webhook) { h.Selective = true }) }, "AdmissionWebhookBlocks?"},
		{"it is asked about other verbs", roll.Unregistered, karpenter, func(w *wrapped) {
			w.Cluster.Webhooks = webhook(func(h *evidence.Webhook) { h.Operations = []string{"DELETE"} })
		}, ""},
		{"it is called by URL", roll.Unregistered, karpenter, func(w *wrapped) {
			w.Cluster.Webhooks = webhook(func(h *evidence.Webhook) { h.Service, h.Endpoints = "", evidence.Fact[int]{} })
		}, ""},
	}
	for _, tt := range tests {
		c := world(tt.kind, tt.owner, map[roll.Owner]roll.Group{karpenter: "nodepool/default", managed: "nodegroup/web", scaled: "asg/workers", roll.OwnerNone: roll.GroupNone}[tt.owner])
		tt.spoil(&wrapped{c})
		s := analyze(c)
		expect.Equal(t, causetest.Told(s), tt.want, "%s", tt.name)
		for _, found := range s.Causes() {
			expect.That(t, found.Summary != "" && found.Fix != "" && len(found.Evidence) != 0 && !strings.HasSuffix(found.Summary, "."), "%s: %+v", tt.name, found)
		}
	}
}

// A webhook without endpoints that must approve new pods keeps a node's network plugin from getting
// its pod.
func TestAWebhookThatKeepsTheNetworkPluginAway(t *testing.T) {
	const pending = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
	pods := func(change ...func(*evidence.Webhook)) evidence.Fact[[]evidence.Webhook] {
		return webhook(append([]func(*evidence.Webhook){func(h *evidence.Webhook) { h.Resources = []string{"pods"} }}, change...)...)
	}
	for name, tt := range map[string]struct {
		message string
		pods    evidence.Fact[[]evidence.Pod]
		hooks   evidence.Fact[[]evidence.Webhook]
		want    string // "open" for not checked
	}{
		"nobody answers":                 {pending, evidence.Read([]evidence.Pod{{Owner: "DaemonSet/kube-proxy"}}), pods(), "AdmissionWebhookBlocks"},
		"it is asked about everything":   {pending, evidence.Read([]evidence.Pod{}), webhook(func(h *evidence.Webhook) { h.Resources = []string{"*"} }), "AdmissionWebhookBlocks"},
		"it may not be meant":            {pending, evidence.Read([]evidence.Pod{}), pods(func(h *evidence.Webhook) { h.Selective = true }), "AdmissionWebhookBlocks?"},
		"it is asked of changes alone":   {pending, evidence.Read([]evidence.Pod{}), pods(func(h *evidence.Webhook) { h.Operations = []string{"UPDATE"} }), ""},
		"somebody answers":               {pending, evidence.Read([]evidence.Pod{}), pods(func(h *evidence.Webhook) { h.Endpoints = evidence.Read(1) }), ""},
		"its service was not read":       {pending, evidence.Read([]evidence.Pod{}), pods(func(h *evidence.Webhook) { h.Endpoints = evidence.Failed[int]("denied") }), "open"},
		"the plugin has its pod":         {pending, evidence.Read([]evidence.Pod{{Owner: "DaemonSet/aws-node"}}), pods(), ""},
		"the node has another trouble":   {"PLEG is not healthy", evidence.Read([]evidence.Pod{}), pods(), ""},
		"the node does not say why":      {"", evidence.Read([]evidence.Pod{}), pods(), "open"},
		"its pods were not read":         {pending, evidence.Failed[[]evidence.Pod]("denied"), pods(), "open"},
		"the webhooks were not read":     {pending, evidence.Read([]evidence.Pod{}), evidence.Failed[[]evidence.Webhook]("denied"), "open"},
		"there is none":                  {pending, evidence.Read([]evidence.Pod{}), evidence.Read([]evidence.Webhook{}), ""},
		"it is about nodes' subresource": {pending, evidence.Read([]evidence.Pod{}), webhook(func(h *evidence.Webhook) { h.Resources = []string{"nodes/*"} }), ""},
	} {
		for _, kind := range []roll.Kind{roll.NotReady, roll.Uninitialized} {
			c := world(kind, roll.OwnerManagedNodeGroup, "nodegroup/web")
			c.Finding.Node = "n"
			c.Nodes = map[string]evidence.Node{"n": {Pods: tt.pods, Object: evidence.Read(evidence.NodeObject{Name: "n", Conditions: []evidence.Condition{{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: tt.message}}})}}
			c.Cluster.PodWebhooks = tt.hooks
			s := analyze(c)
			open := s.Noted(cause.AdmissionWebhookBlocks) && !s.Decided(cause.AdmissionWebhookBlocks)
			if got := causetest.Told(s); open != (tt.want == "open") || !open && got != tt.want {
				t.Errorf("%s: %s: %q, not checked: %t, want %q", name, kind, got, open, tt.want)
			}
		}
	}
}

// A webhook that selects namespaces by their names is asked about the pods of those in which a network
// plugin has its DaemonSet.
func TestTheNamespacesOfAWebhook(t *testing.T) {
	plugin := func(namespaces ...string) evidence.Fact[[]evidence.DaemonSet] {
		sets := []evidence.DaemonSet{{Namespace: "monitoring", Name: "node-exporter"}}
		for _, n := range namespaces {
			sets = append(sets, evidence.DaemonSet{Namespace: n, Name: "calico-node"})
		}
		return evidence.Read(sets)
	}
	but := func(operator string, namespaces ...string) evidence.Requirement {
		return evidence.Requirement{Key: "kubernetes.io/metadata.name", Operator: operator, Values: namespaces}
	}
	for name, tt := range map[string]struct {
		sets evidence.Fact[[]evidence.DaemonSet]
		in   evidence.Requirement
		want string
	}{
		"all but its own":                {plugin("kube-system"), but("NotIn", "kyverno"), "AdmissionWebhookBlocks"},
		"that of the plugin":             {plugin("calico-system"), but("In", "calico-system"), "AdmissionWebhookBlocks"},
		"all but that of the plugin":     {plugin("calico-system"), but("NotIn", "calico-system"), ""},
		"another one":                    {plugin("kube-system"), but("In", "team"), ""},
		"that of one of two plugins":     {plugin("kube-system", "calico-system"), but("In", "kube-system"), "AdmissionWebhookBlocks?"},
		"the DaemonSets were not read":   {evidence.Failed[[]evidence.DaemonSet]("denied"), but("NotIn", "kyverno"), "AdmissionWebhookBlocks?"},
		"nor is kube-system one of them": {evidence.Failed[[]evidence.DaemonSet]("denied"), but("NotIn", "kube-system"), ""},
	} {
		c := world(roll.Uninitialized, roll.OwnerManagedNodeGroup, "nodegroup/web")
		c.Finding.Node = "n"
		c.Nodes = map[string]evidence.Node{"n": {Pods: evidence.Read([]evidence.Pod{}), Object: evidence.Read(evidence.NodeObject{Name: "n", Conditions: []evidence.Condition{{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: "NetworkReady=false reason:NetworkPluginNotReady"}}})}}
		c.Cluster.DaemonSets = tt.sets
		c.Cluster.PodWebhooks = webhook(func(h *evidence.Webhook) { h.Resources, h.Namespaces = []string{"pods"}, []evidence.Requirement{tt.in} })
		s := analyze(c)
		expect.Equal(t, causetest.Told(s), tt.want, "%s", name)
		for _, found := range s.Causes() {
			unsettled := found.Unsettled != ""
			expect.That(t, unsettled == (tt.sets.State == evidence.Unreadable), "%s: unsettled %q", name, found.Unsettled)
		}
	}
}

// Before a node is ready, the cloud controller and some network plugins change it.
func TestAWebhookThatKeepsNodesFromBeingPrepared(t *testing.T) {
	const waiting = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady"
	taints := []evidence.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: "NoSchedule"}}
	for name, tt := range map[string]struct {
		taints  []evidence.Taint
		message string
		hooks   evidence.Fact[[]evidence.Webhook]
		want    string
	}{
		"the cloud controller waits":         {taints, waiting, webhook(), "AdmissionWebhookBlocks"},
		"the cloud controller waits alone":   {taints, "PLEG is not healthy", webhook(), "AdmissionWebhookBlocks"},
		"a network plugin may wait":          {nil, waiting, webhook(), "AdmissionWebhookBlocks?"},
		"the node was prepared":              {nil, "PLEG is not healthy", webhook(), ""},
		"it is asked about new nodes alone":  {taints, waiting, webhook(func(h *evidence.Webhook) { h.Operations = []string{"CREATE"} }), ""},
		"somebody answers":                   {taints, waiting, webhook(func(h *evidence.Webhook) { h.Endpoints = evidence.Read(1) }), ""},
		"the webhook may not mean this node": {taints, waiting, webhook(func(h *evidence.Webhook) { h.Selective = true }), "AdmissionWebhookBlocks?"},
	} {
		c := world(roll.NotReady, roll.OwnerManagedNodeGroup, "nodegroup/web")
		c.Finding.Node = "n"
		c.Nodes = map[string]evidence.Node{"n": {Pods: evidence.Read([]evidence.Pod{}), Object: evidence.Read(evidence.NodeObject{Name: "n", Taints: tt.taints, Conditions: []evidence.Condition{{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: tt.message}}})}}
		c.Cluster.Webhooks = tt.hooks
		expect.Equal(t, causetest.Told(analyze(c)), tt.want, "%s", name)
	}
}

// A node becomes Ready only by a status that the API server accepts. A webhook that is asked about the
// status alone lets the kubelet register, and renew its lease.
func TestAWebhookThatRefusesTheStatusOfNodes(t *testing.T) {
	lease := func(age time.Duration) evidence.Fact[evidence.Lease] {
		return evidence.Read(evidence.Lease{Renewed: now.Add(-age)})
	}
	status := func(change ...func(*evidence.Webhook)) evidence.Fact[[]evidence.Webhook] {
		return webhook(append([]func(*evidence.Webhook){func(h *evidence.Webhook) { h.Resources = []string{"nodes/*"} }}, change...)...)
	}
	const blocks = "AdmissionWebhookBlocks"
	for name, tt := range map[string]struct {
		kind  roll.Kind
		ready roll.ConditionStatus
		lease evidence.Fact[evidence.Lease]
		hooks evidence.Fact[[]evidence.Webhook]
		want  string
	}{
		"its kubelet lives":                       {roll.Unknown, roll.ConditionUnknown, lease(20 * time.Second), status(), blocks},
		"its kubelet is silent":                   {roll.Unknown, roll.ConditionUnknown, lease(40 * time.Minute), status(), ""},
		"its kubelet has no lease":                {roll.Unknown, roll.ConditionUnknown, evidence.None[evidence.Lease](), status(), ""},
		"its lease was not read":                  {roll.Unknown, roll.ConditionUnknown, evidence.Failed[evidence.Lease]("denied"), status(), blocks + "?"},
		"its lease was not read, and all answers": {roll.Unknown, roll.ConditionUnknown, evidence.Failed[evidence.Lease]("denied"), webhook(), ""},
		"it lives, and somebody answers":          {roll.Unknown, roll.ConditionUnknown, lease(20 * time.Second), status(func(h *evidence.Webhook) { h.Endpoints = evidence.Read(1) }), ""},
		"it lives, and is not asked about":        {roll.Unknown, roll.ConditionUnknown, lease(20 * time.Second), webhook(), ""},
		"it was never ready":                      {roll.Uninitialized, roll.ConditionFalse, lease(20 * time.Second), status(), blocks},
		"it is Ready, and has a taint left":       {roll.Uninitialized, roll.ConditionTrue, lease(20 * time.Second), status(), ""},
		"it says why it is not ready":             {roll.NotReady, roll.ConditionFalse, lease(20 * time.Second), status(), blocks},
	} {
		c := world(tt.kind, roll.OwnerManagedNodeGroup, "nodegroup/web")
		c.Finding.Node = "n"
		c.Nodes = map[string]evidence.Node{"n": {
			Pods: evidence.Read([]evidence.Pod{}), Lease: tt.lease,
			Object: evidence.Read(evidence.NodeObject{Name: "n", Conditions: []evidence.Condition{{Type: "Ready", Status: string(tt.ready), Message: "why"}}}),
		}}
		c.Cluster.Webhooks = tt.hooks
		s := analyze(c)
		expect.Equal(t, causetest.Told(s), tt.want, "%s", name)
		for _, found := range s.Causes() {
			unsettled := found.Unsettled != ""
			expect.That(t, unsettled == (tt.lease.State == evidence.Unreadable), "%s: unsettled %q", name, found.Unsettled)
		}
	}
}

// A webhook that is asked about leases too silences all kubelets at once.
func TestAWebhookThatSilencesAllNodes(t *testing.T) {
	const blocks = "AdmissionWebhookBlocks"
	all := []evidence.Zone{{Zone: "eu-west-1a", Nodes: 2, Silent: silent(0, 1)}, {Zone: "eu-west-1b", Nodes: 1, Silent: silent(1)}}
	everything := func(change ...func(*evidence.Webhook)) evidence.Fact[[]evidence.Webhook] {
		return webhook(append([]func(*evidence.Webhook){func(h *evidence.Webhook) { h.Resources, h.Leases = []string{"*/*"}, true }}, change...)...)
	}
	for name, tt := range map[string]struct {
		zones []evidence.Zone
		hooks evidence.Fact[[]evidence.Webhook]
		want  string
	}{
		"no node is heard":             {all, everything(), blocks},
		"one node is heard":            {[]evidence.Zone{all[0], {Zone: "eu-west-1b", Nodes: 1}}, everything(), ""},
		"there is one node":            {all[1:], everything(), ""},
		"the nodes were not counted":   {nil, everything(), ""},
		"it is asked of leases alone":  {all, everything(func(h *evidence.Webhook) { h.Resources = []string{"*"} }), "ruled out"},
		"it is asked of nodes alone":   {all, everything(func(h *evidence.Webhook) { h.Leases = false }), ""},
		"of some namespaces by label":  {all, everything(func(h *evidence.Webhook) { h.LeasesIf = true }), blocks + "?"},
		"somebody answers":             {all, everything(func(h *evidence.Webhook) { h.Endpoints = evidence.Read(1) }), "ruled out"},
		"one is heard, all answer":     {all[1:], everything(func(h *evidence.Webhook) { h.Endpoints = evidence.Read(1) }), "ruled out"},
		"it is ignored":                {all, everything(func(h *evidence.Webhook) { h.FailurePolicy = "Ignore" }), "ruled out"},
		"its endpoints were not read":  {all, everything(func(h *evidence.Webhook) { h.Endpoints = evidence.Failed[int]("denied") }), "open"},
		"the webhooks were not read":   {all, evidence.Failed[[]evidence.Webhook]("denied"), "open"},
		"the cluster has no such hook": {all, evidence.Read([]evidence.Webhook{}), "ruled out"},
	} {
		c := world(roll.Unknown, roll.OwnerManagedNodeGroup, "nodegroup/web")
		c.Finding.Node, c.Zones, c.Cluster.Webhooks = "n", tt.zones, tt.hooks
		c.Nodes = map[string]evidence.Node{"n": {
			Lease:  evidence.Read(evidence.Lease{Renewed: now.Add(-40 * time.Minute)}),
			Object: evidence.Read(evidence.NodeObject{Name: "n", Conditions: []evidence.Condition{{Type: "Ready", Status: "Unknown", Reason: "NodeStatusUnknown"}}}),
		}}
		s := analyze(c)
		got := causetest.Told(s)
		switch {
		case s.Noted(cause.AdmissionWebhookBlocks) && !s.Decided(cause.AdmissionWebhookBlocks):
			got = "open"
		case s.Noted(cause.AdmissionWebhookBlocks) && got == "":
			got = "ruled out"
		}
		expect.Equal(t, got, tt.want, "%s", name)
	}
}

// What a webhook asks about was cut out of its answer: that it blocks is only suggested, and not
// settled, so that nothing is terminated for want of it.
func TestAWebhookThatLacksASelectorIsUnsettled(t *testing.T) {
	c := world(roll.Unregistered, roll.OwnerKarpenter, "nodepool/batch")
	c.Cluster.Webhooks = webhook(func(h *evidence.Webhook) { h.Selective, h.Lacks = true, "objectSelector" })
	s := analyze(c)
	if got := s.Causes(); causetest.Told(s) != "AdmissionWebhookBlocks?" || !strings.HasPrefix(got[0].Unsettled, evidence.AnswerOf) || !strings.HasSuffix(got[0].Unsettled, " lacks its objectSelector") {
		t.Errorf("%+v", got)
	}
}

// A notice reports what several instances share once, if it is said of all in the same words. A
// subject would hold their termination, which nothing here forbids.
func TestAnOwnerThatIsGoneIsOneCauseOfAllItLeft(t *testing.T) {
	gone := func(id roll.InstanceID, owner roll.Owner, group roll.Group, spoil func(*wrapped)) roll.Cause {
		c := world(roll.Orphaned, owner, group)
		c.Finding.Instance = id
		spoil(&wrapped{c})
		causes := analyze(c).Causes()
		must.That(t, len(causes) == 1 && causes[0].Code == cause.OwnerGone, "%s: %+v", group, causes)
		return roll.Cause{Summary: causes[0].Summary, Subject: causes[0].Subject, Evidence: causes[0].Evidence, Fix: causes[0].Fix}
	}
	for _, tt := range []struct {
		owner roll.Owner
		group roll.Group
		spoil func(*wrapped)
		want  string
	}{
		{roll.OwnerKarpenter, "nodepool/batch", func(w *wrapped) { w.Cluster.Config = evidence.None[evidence.ClusterConfig]() },
			"the EKS cluster payments, which should own the instance, does not exist: nothing terminates or replaces the instance any more"},
		{roll.OwnerAutoScalingGroup, "asg/workers", func(w *wrapped) {
			w.Cluster.Config = evidence.None[evidence.ClusterConfig]()
			group(func(g *evidence.Group) { g.AutoScaling = evidence.None[evidence.AutoScalingGroup]() })(w)
		},
			"the EKS cluster payments, which should own the instance, does not exist: nothing terminates or replaces the instance any more"},
		{roll.OwnerManagedNodeGroup, "nodegroup/web", group(func(g *evidence.Group) { g.NodeGroup = evidence.None[evidence.NodeGroup]() }),
			"the node group web, which should own the instance, does not exist: nothing terminates or replaces the instance any more"},
	} {
		for _, id := range []roll.InstanceID{"i-00000021", "i-00000022"} {
			c := gone(id, tt.owner, tt.group, tt.spoil)
			expect.That(t, c.Summary == tt.want && c.Subject == "", "%s: %q in %q, want %q", id, c.Summary, c.Subject, tt.want)
			expect.That(t, slices.ContainsFunc(c.Evidence, func(e roll.Evidence) bool { return e.Observed == string(id) }), "%s is not in the evidence %+v", id, c.Evidence)
			line := "\n# aws ec2 terminate-instances --region eu-west-1 --instance-ids " + string(id)
			expect.That(t, strings.Contains(c.Fix, line), "%q is not in the fix\n%s", line, c.Fix)
		}
	}
}

// EKS deletes a cluster that has self-managed groups, and Auto Scaling keeps their size: it replaces what is
// terminated.
// https://docs.aws.amazon.com/eks/latest/userguide/delete-cluster.html
func TestAGroupThatOutlivedItsClusterIsEmptied(t *testing.T) {
	for name, spoil := range map[string]func(*wrapped){
		"read":   func(*wrapped) {},
		"unread": group(func(g *evidence.Group) { g.AutoScaling = evidence.Fact[evidence.AutoScalingGroup]{} }),
	} {
		w := &wrapped{world(roll.Orphaned, roll.OwnerAutoScalingGroup, "asg/workers")}
		w.Cluster.Config = evidence.None[evidence.ClusterConfig]()
		spoil(w)
		c := analyze(w.Case).Causes()[0]
		expect.That(t, c.Code == cause.OwnerGone && strings.HasSuffix(c.Summary, "does not exist: its Auto Scaling group workers, which outlived the cluster, replaces what is terminated"), "%s: %s", name, c.Summary)
		expect.That(t, strings.Contains(c.Fix, "--auto-scaling-group-name workers --min-size 0 --max-size 0 --desired-capacity 0") && !strings.Contains(c.Fix, "terminate-instances"), "%s: %s", name, c.Fix)
	}
}

func TestASoundClusterHasAllRuledOut(t *testing.T) {
	s := analyze(world(roll.Unregistered, roll.OwnerManagedNodeGroup, "nodegroup/web"))
	want := []cause.Code{cause.ClusterNotActive, cause.ClusterUnhealthy, cause.OwnerGone, cause.AdmissionWebhookBlocks, cause.LaunchTemplateDrift, cause.ReplacementRepeats, cause.NodeGroupUnhealthy}
	expect.List(t, s.Clear(), want, "ruled out")
	if s = analyze(world(roll.Unknown, roll.OwnerKarpenter, "nodepool/default")); !slices.Contains(s.Clear(), cause.ZoneOutage) {
		t.Errorf("ruled out: %v", s.Clear())
	}
}

// What was not read is never ruled out.
func TestWhatWasNotReadIsNotChecked(t *testing.T) {
	noNode := func(w *wrapped) {
		w.Finding.Node, w.Nodes = "n", map[string]evidence.Node{"n": {Object: evidence.Failed[evidence.NodeObject]("denied")}}
	}
	for name, tt := range map[string]struct {
		kind  roll.Kind
		spoil func(*wrapped)
		code  cause.Code
	}{
		"webhooks":                 {roll.Unregistered, func(w *wrapped) { w.Cluster.Webhooks = evidence.Failed[[]evidence.Webhook]("denied") }, cause.AdmissionWebhookBlocks},
		"the node, for its plugin": {roll.NotReady, noNode, cause.AdmissionWebhookBlocks},
		"zones":                    {roll.Unknown, func(w *wrapped) { w.Zones = nil }, cause.ZoneOutage},
		"activities":               {roll.Unregistered, group(func(g *evidence.Group) { g.Activities = evidence.Failed[[]evidence.Activity]("denied") }), cause.ReplacementRepeats},
		"acts":                     {roll.Unregistered, group(func(g *evidence.Group) { g.Acts = evidence.Failed[[]evidence.Act]("denied") }), cause.ReplacementRepeats},
		"acts, and there are activities": {roll.Unregistered, group(func(g *evidence.Group) {
			g.Acts, g.Activities = evidence.Failed[[]evidence.Act]("denied"), evidence.Read([]evidence.Activity{})
		}), cause.ReplacementRepeats},
		"the node group":            {roll.Unregistered, group(func(g *evidence.Group) { g.NodeGroup = evidence.Failed[evidence.NodeGroup]("denied") }), cause.NodeGroupUnhealthy},
		"no healthy instance":       {roll.Unregistered, group(func(g *evidence.Group) { g.Members = g.Members[:1] }), cause.LaunchTemplateDrift},
		"the instance":              {roll.Unregistered, group(func(g *evidence.Group) { g.Members = g.Members[1:] }), cause.LaunchTemplateDrift},
		"the instance's own launch": {roll.Unregistered, group(func(g *evidence.Group) { g.Members[0].Image, g.Members[0].LaunchTemplate = "", "" }), cause.LaunchTemplateDrift},
	} {
		c := world(tt.kind, roll.OwnerManagedNodeGroup, "nodegroup/web")
		tt.spoil(&wrapped{c})
		causetest.NotChecked(t, name, analyze(c), "", tt.code)
	}
	c := world(roll.Unknown, roll.OwnerKarpenter, "nodepool/default")
	c.Finding.Zone = ""
	expect.That(t, !slices.Contains(analyze(c).Clear(), cause.ZoneOutage), "the outage of an unknown zone is ruled out")
}

// What EKS reports about a node group yields to what was found or ruled out.
func TestWhatEKSReportsYieldsToWhatIsKnown(t *testing.T) {
	for name, tt := range map[string]struct {
		issue string
		known func(*cause.Sheet)
		want  string
	}{
		"the wrong groups":         {"AccessDenied", func(s *cause.Sheet) { s.Note(cause.AwsAuthWrongGroups, cause.Decisive()) }, "AwsAuthWrongGroups NodeGroupUnhealthy"},
		"perhaps the wrong groups": {"AccessDenied", func(s *cause.Sheet) { s.Note(cause.AwsAuthWrongGroups, cause.Suggestive()) }, "NodeRoleNotMapped NodeGroupUnhealthy AwsAuthWrongGroups?"},
		"something else":           {"AccessDenied", func(s *cause.Sheet) { s.Note(cause.WrongVpc, cause.Decisive()) }, "NodeRoleNotMapped WrongVpc NodeGroupUnhealthy"},
		"the profile is there":     {"IamInstanceProfileNotFound", func(s *cause.Sheet) { s.RuledOut(cause.InstanceProfileMissing) }, "NodeGroupUnhealthy"},
	} {
		c, s := world(roll.Unregistered, roll.OwnerManagedNodeGroup, "nodegroup/web"), &cause.Sheet{}
		group(func(g *evidence.Group) {
			g.NodeGroup.Value.Issues = []roll.HealthIssue{{Code: tt.issue, Message: "check aws-auth"}}
		})(&wrapped{c})
		tt.known(s)
		fleet.Analyze(c, s)
		expect.Equal(t, causetest.Told(s), tt.want, "%s", name)
	}
}

// Of several issues the summary names one that explains the instance.
func TestTheIssueThatExplainsIsNamed(t *testing.T) {
	c := world(roll.Uninitialized, roll.OwnerManagedNodeGroup, "nodegroup/web")
	group(func(g *evidence.Group) {
		g.NodeGroup.Value.Issues = []roll.HealthIssue{{Code: "AsgInstanceLaunchFailures", Message: "no capacity"}, {Code: "NodeCreationFailure", Message: "not joined"}}
	})(&wrapped{c})
	found := analyze(c).Causes()
	expect.That(t, len(found) == 1 && strings.Contains(found[0].Summary, "NodeCreationFailure (not joined)") && len(found[0].Evidence) == 2, "%+v", found)
}

// What failed before a launch that worked is not counted among the failures since.
func TestOnlyFailuresSinceTheLastLaunchThatWorkedCount(t *testing.T) {
	c := world(roll.Unregistered, roll.OwnerKarpenter, "nodepool/default")
	group(func(g *evidence.Group) {
		g.Proven = now.Add(-90 * time.Minute)
		g.Acts = evidence.Read(roll.Map([]time.Duration{40 * time.Minute, 80 * time.Minute, 50 * time.Hour}, func(ago time.Duration) evidence.Act {
			return evidence.Act{Instance: "i-00000009", Do: "terminate", Kind: roll.Unregistered, At: now.Add(-ago), Done: true}
		}))
	})(&wrapped{c})
	found := analyze(c).Causes()
	expect.That(t, len(found) == 1 && strings.HasPrefix(found[0].Summary, "2 instances of nodepool/default failed"), "%+v", found)
}

// A zone may have a NAT gateway or a node role of its own: what is proven about them is nearer to the root.
func TestAZonesOutageYieldsToItsProvenCause(t *testing.T) {
	for code, want := range map[cause.Code]string{
		cause.ApiEndpointUnreachable: "ApiEndpointUnreachable ZoneOutage?", cause.NodeRoleNotMapped: "NodeRoleNotMapped ZoneOutage?", cause.KernelPanic: "ZoneOutage KernelPanic",
	} {
		c, s := world(roll.Unknown, roll.OwnerKarpenter, "nodepool/default"), &cause.Sheet{}
		c.Zones[0].Silent = silent(0, 1, 3)
		s.Note(code, cause.Decisive())
		fleet.Analyze(c, s)
		expect.Equal(t, causetest.Told(s), want, "%s", code)
	}
}

func TestAZoneIsShiftedAwayFromInEveryPartition(t *testing.T) {
	c := world(roll.Unknown, roll.OwnerKarpenter, "nodepool/default")
	c.ClusterID.Region, c.Zones[0].Silent = "us-gov-west-1", silent(0, 1, 3)
	causes := analyze(c).Causes()
	want := "--resource-identifier arn:aws-us-gov:eks:us-gov-west-1:111122223333:cluster/payments "
	expect.That(t, len(causes) == 1 && strings.Contains(causes[0].Fix, want), "%q is not in %+v", want, causes)
}

func TestWhatIsHiddenIsNeverAFault(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	hide := []func(*wrapped){
		func(w *wrapped) { w.Cluster.Config = evidence.Failed[evidence.ClusterConfig]("why") },
		func(w *wrapped) { w.Cluster.Webhooks = evidence.Failed[[]evidence.Webhook]("why") },
		func(w *wrapped) { w.Zones = nil },
		func(w *wrapped) { w.Groups = nil },
		group(func(g *evidence.Group) { g.NodeClaims = evidence.Skipped[[]evidence.NodeClaim]("why") }),
		group(func(g *evidence.Group) {
			g.NodeGroup, g.AutoScaling = evidence.Fact[evidence.NodeGroup]{}, evidence.Fact[evidence.AutoScalingGroup]{}
		}),
		group(func(g *evidence.Group) { g.Acts = evidence.Failed[[]evidence.Act]("why") }),
		group(func(g *evidence.Group) { g.Members = nil }),
	}
	owners := []roll.Owner{roll.OwnerKarpenter, roll.OwnerManagedNodeGroup, roll.OwnerAutoScalingGroup}
	for n := range 600 {
		c := world(roll.Kinds()[n%len(roll.Kinds())], owners[n%3], "nodegroup/web")
		if n%2 == 0 {
			c.Cluster.Webhooks = webhook()
		}
		before := causetest.Told(analyze(c))
		for _, h := range hide {
			if rng.IntN(3) == 0 {
				h(&wrapped{c})
			}
		}
		s := analyze(c)
		for _, found := range s.Causes() {
			must.That(t, strings.Contains(before, found.Code), "case %d: %s appears once facts are hidden; before %q", n, found.Code, before)
		}
		causetest.Reasons(t, fmt.Sprintf("case %d", n), s)
	}
}
