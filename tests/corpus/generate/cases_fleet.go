package generate

import (
	"fmt"
	"time"
)

// fleetCases are about faults of more than one machine: cluster, zone, group, template, owner.
func fleetCases() []Case {
	return []Case{
		broken("cluster-is-updating", "The cluster is being updated; a node is not ready meanwhile, and nobody should judge it now.",
			from("https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html", "https://docs.aws.amazon.com/eks/latest/APIReference/API_Cluster.html"), func(b *Bundle) *verdict {
				b.Cluster["status"] = "UPDATING"
				m := worker(b)
				b.notReady(m, runtimeDown, 20*time.Minute)
				return finds(m, "NotReady", "ClusterNotActive").holds("ClusterNotActive")
			}),
		broken("api-server-does-not-answer", "The API server answers 503 in place of nodes: of nodes nothing is said. EC2 still says that a host is impaired.",
			from("https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/", docStatusChecks), func(b *Bundle) *verdict {
				b.impaired(b.healthy.worker, "SystemStatus", 20*time.Minute)
				b.raw["nodes.json"] = string(document(object{
					"apiVersion": "v1", "kind": "Status", "metadata": object{}, "status": "Failure", "code": 503, "reason": "ServiceUnavailable",
					"message": "the server is currently unable to handle the request (get nodes)",
				}))
				b.Lacks("leases.json", "k8s-events.json", "nodeclaims.json", "nodepools.json", "ec2nodeclasses.json", "aws-auth.json", "pods.json", "endpointslices.json", "webhooks.json")
				return finds(b.healthy.worker, "Impaired", "SystemStatusImpaired", "ControlPlaneUnreachable").orders().incomplete()
			}),
		broken("zone-went-silent", "All nodes of one zone went silent within seconds, and those of the others are well.",
			from(docNodes, "https://docs.aws.amazon.com/eks/latest/userguide/zone-shift.html"), func(b *Bundle) *verdict {
				m := b.Launch(Sick, "10.0.73.21", "b", Workers, 5*day)
				other := b.Launch(SickToo, "10.0.73.22", "b", Default, 5*day)
				b.Join(m, 5*day-time.Minute)
				b.Join(other, 5*day-time.Minute)
				v := nothing()
				for i, silent := range []*Machine{m, other, b.healthy.legacy} {
					b.silent(silent, 45*time.Minute-time.Duration(i)*4*time.Second)
					v.and(silent, "Unknown", "ZoneOutage", "KubeletSilent")
				}
				return v.holds("ZoneOutage")
			}).whole(),
		misleading("two-silent-nodes-of-a-zone", "Two of a zone's nodes are silent, hours apart: two troubles, and no outage.",
			from(docNodes), func(b *Bundle) *verdict {
				m := b.Launch(Sick, "10.0.73.21", "b", Workers, 5*day)
				b.Join(m, 5*day-time.Minute)
				b.silent(m, 45*time.Minute)
				b.silent(b.healthy.legacy, 5*time.Hour)
				return finds(m, "Unknown", "KubeletSilent").and(b.healthy.legacy, "Unknown", "KubeletSilent")
			}).whole(),
		broken("replacements-fail-alike", "The third instance of the Auto Scaling group in an hour does not register; the two before were ended for the same. Nothing tells why, and a fourth will hardly do better.",
			from("https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-scaling-activities-view.html", "https://github.com/aws/karpenter-provider-aws/issues/7469"), func(b *Bundle) *verdict {
				return unregistered(b.third("an instance was taken out of service in response to an ELB system health check failure."), "ReplacementRepeats").holds("")
			}),
		misleading("two-before-it-ended-by-somebody", "Somebody terminated two young instances of the Auto Scaling group, which replaced them. Why is not known: they may have worked. The third does not register.",
			from("https://repost.aws/knowledge-center/auto-scaling-instance-how-terminated", "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-healthchecks.html"), func(b *Bundle) *verdict {
				return unregistered(b.third("an instance was taken out of service in response to an EC2 health check indicating it has been terminated or stopped."), "").orders("terminate")
			}),
		broken("replacements-fail-alike-for-a-role", "Karpenter launches again and again for a pool whose role is mapped nowhere, and says that registration is unhealthy.",
			from(docNodePools, "https://github.com/aws/karpenter-provider-aws/issues/6303"), unjoined(Batch, func(b *Bundle, m *Machine) *verdict {
				b.unmap(Batch)
				b.replaced(Batch, "")
				conditions := b.poolOf(Batch)["status"].(object)["conditions"].([]object)
				conditions[1] = object{"type": "NodeRegistrationHealthy", "status": "False", "reason": "RegistrationFailed", "message": "Failed to register node", "lastTransitionTime": b.kubeTime(20 * time.Minute)}
				return unregistered(m, "NodeRoleNotMapped", "ReplacementRepeats")
			})),
		misleading("new-template-version-does-not-join", "Both failing instances have version 4 of the template and its new AMI, and the nodes that work have version 3: a strong hint, and no proof.",
			from(docTemplates, "https://github.com/aws/karpenter-provider-aws/issues/6084", "https://github.com/awslabs/amazon-eks-ami/issues/1412"), func(b *Bundle) *verdict {
				b.template(Workers)["DefaultVersion"] = false
				g := Workers
				g.Version = 4
				g.Image.ID, g.Image.Name = "ami-0a23aaaaaaaaaaaa3", "amazon-eks-node-al2023-x86_64-standard-1.35-v20260308"
				m := b.Unregistered(g)
				other := b.Another(m)
				v := unregistered(m, "").suggests("LaunchTemplateDrift")
				return v.and(other, "Unregistered", "").suggests("LaunchTemplateDrift")
			}),
		broken("webhook-without-endpoints", "A webhook with failurePolicy Fail is asked about each new node, and its service has no endpoint: the API server refuses the node.",
			from("https://github.com/projectcapsule/capsule/issues/642", "https://github.com/kyverno/kyverno/issues/11122", "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/"), unjoined(Workers, func(b *Bundle, m *Machine) *verdict {
				b.webhook("Fail", "nodes", 0)
				return unregistered(m, "AdmissionWebhookBlocks")
			})),
		misleading("webhook-that-is-ignored-if-it-fails", "The same webhook with failurePolicy Ignore is no obstacle. The cluster's security group admits others only.",
			from("https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/", docFirewall), func(b *Bundle) *verdict {
				b.endpoint(false, true)
				m := b.Unregistered(BatchGroup)
				b.behind(m, []object{fromGroup("-1", 0, clusterGroup)}, anywhere())
				b.webhook("Ignore", "nodes", 0)
				return unregistered(m, "SecurityGroupBlocksApi")
			}),
		misleading("webhook-about-pods", "A webhook without endpoints that is asked about pods alone keeps no node away. No cause is shown.",
			from("https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/"), unjoined(Workers, func(b *Bundle, m *Machine) *verdict {
				b.webhook("Fail", "pods", 0)
				return unregistered(m, "")
			})),
		well("webhook-that-answers", "A webhook about nodes with failurePolicy Fail, whose service has two ready endpoints.",
			from("https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/"), func(b *Bundle) *verdict {
				b.webhook("Fail", "nodes", 2)
				return nothing()
			}),
		broken("nodeclaim-is-gone", "Karpenter's instance runs, and no NodeClaim has it: nobody will ever end it.",
			from("https://github.com/aws/karpenter-provider-aws/issues/2734", "https://github.com/kubernetes-sigs/karpenter/issues/1448"), func(b *Bundle) *verdict {
				m := b.Launch(Sick, "10.0.41.21", "a", Batch, 3*time.Hour)
				b.UserData[m.ID] = UserData(Batch)
				b.NodeClaims = b.NodeClaims[:len(b.NodeClaims)-1]
				return finds(m, "Orphaned", "OwnerGone")
			}),
		broken("node-group-is-gone", "The instance's tags name a node group and an Auto Scaling group that do not exist any more.",
			from(docNodegroupIssue, "https://docs.aws.amazon.com/eks/latest/userguide/delete-managed-node-group.html"), unjoined(BatchGroup, func(b *Bundle, m *Machine) *verdict {
				b.NodeGroups = without(b.NodeGroups, "nodegroupName", BatchGroup.Name)
				b.ScalingGroups = without(b.ScalingGroups, "AutoScalingGroupName", BatchGroup.ASG())
				b.Members = without(b.Members, "InstanceId", m.ID)
				return unregistered(m, "OwnerGone")
			})),
		broken("two-of-a-group-with-an-unmapped-role", "Two instances of an Auto Scaling group of one's own that never had a node, and their role has no access entry: only their user data shows that they are meant to be nodes.",
			from(docAccessEntries, repostJoin), func(b *Bundle) *verdict {
				b.access("API")
				m := b.Unregistered(Edge)
				return unregistered(m, "NodeRoleNotMapped").and(b.Another(m), "Unregistered", "NodeRoleNotMapped").holds("SharedCause")
			}),
		broken("one-of-two-without-its-user-data", "The same two, and the user data of the second was not captured: it is of the group of the first all the same, and what is not known of it speaks against an act on either.",
			from(docAccessEntries, repostJoin), func(b *Bundle) *verdict {
				b.access("API")
				m := b.Unregistered(Edge)
				other := b.Another(m)
				delete(b.UserData, other.ID)
				return unregistered(m, "NodeRoleNotMapped").and(other, "Unregistered", "NodeRoleNotMapped").holds("SharedCause").incomplete()
			}),
		broken("two-of-a-group-with-user-data-for-another-system", "Two instances of an Auto Scaling group of one's own call bootstrap.sh on AL2023: the template is at fault, and a third would fare no better.",
			from(docAL2023, docTemplates), unjoined(Edge, func(b *Bundle, m *Machine) *verdict {
				b.retext(m, bootstrapData(""))
				return unregistered(m, "UserDataWrongFormat").and(b.Another(m), "Unregistered", "UserDataWrongFormat").holds("SharedCause")
			})),
		broken("two-of-a-group-aside-from-every-route", "Two instances of an Auto Scaling group of one's own came into a subnet that has no way out.",
			from(docEndpoint, docNetwork), func(b *Bundle) *verdict { return twoAside(b, Edge) }),
		broken("two-of-a-group-without-an-instance-profile", "The launch template of an Auto Scaling group of one's own names no instance profile, and two instances came from it.",
			from(docNodeRole, docTroubleshooting), unjoined(Edge, func(b *Bundle, m *Machine) *verdict {
				other := b.Another(m)
				for _, each := range []*Machine{m, other} {
					delete(each.Instance, "IamInstanceProfile")
				}
				delete(b.template(Edge)["LaunchTemplateData"].(object), "IamInstanceProfile")
				return unregistered(m, "InstanceProfileMissing").and(other, "Unregistered", "InstanceProfileMissing").holds("SharedCause")
			})),
		broken("node-group-says-it-is-unwell", "The node group reports that its instances do not join, and nothing tells why, the console least.",
			from(docNodegroupIssue, repostNodeGroup), unjoined(Workers, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console(booted()...)
				b.unhealthyGroup(m, "NodeCreationFailure", "Instances failed to join the kubernetes cluster")
				return unregistered(m, "NodeGroupUnhealthy")
			})),
	}
}

// unhealthyGroup makes the machine's node group report an issue about it.
func (b *Bundle) unhealthyGroup(m *Machine, code, message string) {
	g := b.find(b.NodeGroups, "nodegroupName", m.Group.Name)
	g["status"] = "DEGRADED"
	g["health"] = object{"issues": []object{{"code": code, "message": message, "resourceIds": []string{m.ID}}}}
}

// third adds an instance that does not register, after two that were terminated for the reason that Auto Scaling gives.
func (b *Bundle) third(why string) *Machine {
	m := b.Launch(Sick, "10.0.41.21", "a", Edge, 20*time.Minute)
	b.UserData[m.ID] = UserData(Edge)
	b.Console[m.ID] = console(booted()...)
	b.replaced(Edge, why)
	b.activity(Edge, m.ID, 20*time.Minute, "Launching a new EC2 instance", "an instance was started in response to a difference between desired and actual capacity, increasing the capacity from 0 to 1.")
	return m
}

// replaced adds two earlier instances of a group that were terminated, for the reason that Auto Scaling gives.
func (b *Bundle) replaced(g Group, why string) {
	for i, launched := range []time.Duration{58 * time.Minute, 39 * time.Minute} {
		m := b.Launch(fmt.Sprintf("i-0dead00000000000%d", i+1), fmt.Sprintf("10.0.41.%d", 31+i), "a", g, launched)
		m.Instance["State"] = object{"Code": 48, "Name": "terminated"}
		m.Instance["StateTransitionReason"] = "User initiated (" + b.ago(launched-16*time.Minute).Format("2006-01-02 15:04:05 GMT") + ")"
		b.Statuses = without(b.Statuses, "InstanceId", m.ID)
		b.Members = without(b.Members, "InstanceId", m.ID)
		if m.Claim != nil {
			b.NodeClaims = b.NodeClaims[:len(b.NodeClaims)-1]
			b.claimEvent(m, "Terminated", "Terminated NodeClaim", "Normal", launched-16*time.Minute)
			continue
		}
		asg := b.find(b.ScalingGroups, "AutoScalingGroupName", g.ASG())
		asg["DesiredCapacity"] = asg["DesiredCapacity"].(int) - 1
		b.activity(g, m.ID, launched, "Launching a new EC2 instance", "an instance was started in response to a difference between desired and actual capacity, increasing the capacity from 0 to 1.")
		b.activity(g, m.ID, launched-16*time.Minute, "Terminating EC2 instance", why)
	}
}

// activity adds a scaling activity about an instance, this long ago.
func (b *Bundle) activity(g Group, id string, age time.Duration, what, cause string) {
	b.Activities = append([]object{{
		"ActivityId": uid("activity", id+what), "AutoScalingGroupName": g.ASG(), "Description": what + ": " + id,
		"Cause":     "At " + b.kubeTime(age) + " " + cause,
		"StartTime": b.eksTime(age), "EndTime": b.ec2Time(age - 30*time.Second), "StatusCode": "Successful", "Progress": 100,
		"Details": `{"Subnet ID":"` + subnet("a") + `","Availability Zone":"eu-west-1a"}`,
	}}, b.Activities...)
}

// webhook adds a validating webhook about a resource, with this number of ready endpoints.
func (b *Bundle) webhook(policy, resource string, endpoints int) {
	b.Validating = append(b.Validating, object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": object{"name": "capsule-validating-webhook-configuration"},
		"webhooks": []object{{
			"name": resource + ".capsule.clastix.io", "failurePolicy": policy, "matchPolicy": "Equivalent", "sideEffects": "None", "timeoutSeconds": 30,
			"admissionReviewVersions": []string{"v1"}, "namespaceSelector": object{}, "objectSelector": object{},
			"clientConfig": object{"service": object{"name": "capsule-webhook-service", "namespace": "capsule-system", "path": "/" + resource, "port": 443}},
			"rules":        []object{{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE", "UPDATE"}, "resources": []string{resource}, "scope": "*"}},
		}},
	})
	ready := []object{}
	for i := range endpoints {
		ready = append(ready, object{"addresses": []string{fmt.Sprintf("10.0.40.%d", 101+i)}, "conditions": object{"ready": true, "serving": true, "terminating": false}})
	}
	b.Slices = append(b.Slices, object{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": ready,
		"metadata": object{"name": "capsule-webhook-service-x7k2p", "namespace": "capsule-system", "labels": object{"kubernetes.io/service-name": "capsule-webhook-service"}},
		"ports":    []object{{"name": "", "port": 9443, "protocol": "TCP"}},
	})
}
