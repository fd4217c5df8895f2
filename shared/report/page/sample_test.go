package page

import (
	"fmt"
	"time"

	"rollcall/shared/roll"
)

var midnight = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// after returns a time of the day that the samples are about.
func after(d time.Duration) time.Time { return midnight.Add(d) }

func instance(n int) string { return fmt.Sprintf("i-%017x", 0x0bad0000000+n) }

const (
	minute = time.Minute
	hour   = time.Hour
)

// lived returns the lane of an instance that was launched and became ready.
func lived(n int, group string, launch time.Duration) Lane {
	l := Lane{Label: instance(n), Sub: group}
	if launch > 0 {
		l.Marks = append(l.Marks, Mark{after(launch), MarkLaunch, ""})
		l.Spans = append(l.Spans,
			Span{after(launch), after(launch + 50*time.Second), StateLaunching, ""},
			Span{after(launch + 50*time.Second), after(launch + 80*time.Second), StateInitializing, ""})
		launch += 80 * time.Second
	}
	l.Spans = append(l.Spans, Span{From: after(launch), State: StateReady})
	return l
}

// never returns the lane of an instance that never registered and was terminated.
func never(n int, group string, launch time.Duration, fault string) Lane {
	return Lane{Label: instance(n), Sub: group,
		Spans: []Span{
			{after(launch), after(launch + 15*minute), StateLaunching, ""},
			{after(launch + 15*minute), after(launch + 21*minute), StateMissing, "no node carries its id"},
			{From: after(launch + 21*minute), State: StateTerminated},
		},
		Marks: []Mark{
			{after(launch), MarkLaunch, "by Karpenter"},
			{after(launch), MarkFault, fault},
			{after(launch + 5*minute), MarkFinding, "Unregistered, warned"},
			{after(launch + 15*minute), MarkFinding, "Unregistered, overdue"},
			{after(launch + 15*minute), MarkNotice, "1 instance of nodepool/default has not registered"},
			{after(launch + 16*minute), MarkHeld, "terminate: OwnerWillAct"},
			{after(launch + 20*minute), MarkOrder, "terminate"},
			{after(launch + 21*minute), MarkAct, "terminated"},
			{after(launch + 40*minute), MarkResolved, "Unregistered"},
		}}
}

// silent returns the lane of a node that stopped reporting and came back after a reboot.
func silent(n int, group string, at time.Duration) Lane {
	return Lane{Label: instance(n), Sub: group,
		Spans: []Span{
			{midnight.Add(-3 * hour), after(at), StateReady, ""},
			{after(at), after(at + 33*minute), StateUnknown, "NodeStatusUnknown"},
			{after(at + 33*minute), after(at + 36*minute), StateNotReady, "KubeletNotReady"},
			{From: after(at + 36*minute), State: StateReady},
		},
		Marks: []Mark{
			{after(at), MarkFault, "the kubelet hangs"},
			{after(at + 31*minute), MarkFinding, "Unknown, overdue"},
			{after(at + 31*minute), MarkNotice, "1 node of nodegroup/web has stopped reporting"},
			{after(at + 32*minute), MarkOrder, "reboot"},
			{after(at + 33*minute), MarkAct, "rebooted"},
			{after(at + 47*minute), MarkResolved, "Unknown"},
		}}
}

// worn returns the lane of a node whose acts are held for hours.
func worn(n int, group string, at time.Duration) Lane {
	l := Lane{Label: instance(n), Sub: group,
		Spans: []Span{
			{midnight.Add(-3 * hour), after(at), StateReady, ""},
			{after(at), after(at + 4*hour), StateNotReady, "KubeletNotReady"},
			{after(at + 4*hour), after(at + 4*hour + 9*minute), StateDraining, "3 pods left"},
			{From: after(at + 4*hour + 9*minute), State: StateTerminated},
		},
		Marks: []Mark{{after(at + 15*minute), MarkFinding, "NotReady, overdue"}},
	}
	for d := 20 * minute; d < 4*hour; d += 5 * minute {
		l.Marks = append(l.Marks, Mark{after(at + d), MarkHeld, "drain: UnhealthyShare"})
	}
	l.Marks = append(l.Marks, Mark{after(at + 4*hour), MarkOrder, "drain"}, Mark{after(at + 4*hour + 9*minute), MarkAct, "drained, terminated"})
	return l
}

func registration(p50 time.Duration, counts ...int) *Registration {
	r := &Registration{P50: p50, P95: 2 * p50, P99: 3*p50 + 4*time.Second, Deadline: 15 * minute}
	bounds := []time.Duration{15 * time.Second, 30 * time.Second, 45 * time.Second, minute, 90 * time.Second, 2 * minute, 3 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, 0}
	for i, n := range counts {
		r.Buckets = append(r.Buckets, Bucket{bounds[i], n})
		r.Count += n
	}
	return r
}

// role is the cause that two instances of a cluster share.
var role = roll.Cause{
	Code: "ControllerRoleMapped", Confidence: "decisive", Subject: "role/payments-batch-node",
	Summary: "payments maps KarpenterControllerRole-payments, the role of the Karpenter controller, for nodes; the nodes have payments-batch-node, which is not in aws-auth",
	Evidence: []roll.Evidence{
		{Source: "aws-auth", Field: "mapRoles[3].rolearn", Observed: "arn:aws:iam::111122223333:role/KarpenterControllerRole-payments", Expected: "arn:aws:iam::111122223333:role/payments-batch-node"},
		{Source: "instance profile", Field: "roles[0].arn", Observed: "arn:aws:iam::111122223333:role/payments-batch-node"},
	},
	Fix: "eksctl create iamidentitymapping --region eu-west-1 --cluster payments \\\n  --arn arn:aws:iam::111122223333:role/payments-batch-node \\\n  --username 'system:node:{{EC2PrivateDNSName}}' --group system:bootstrappers --group system:nodes\n",
}

// day returns a document in which everything is set: a day of two clusters.
func day() Document {
	shop := Cluster{
		Name: "shop-production", Place: "eu-west-1, account 111122223333", Mode: "remediate", Version: "Kubernetes 1.36", Tone: ToneGood,
		Summary: "Two nodes were replaced and one was rebooted; an outage of eu-west-1b was sat out.",
		Nodes:   24, Ready: 24, Starting: 1,
		Notes: []string{"The API server did not answer from 14:00 to 14:20; nothing was concluded about nodes in that time."},
		Timeline: &Timeline{From: midnight, To: after(24 * hour), Caption: "24 instances, of which 14 had news; the other 10 were ready all day and are not drawn.",
			Marks: []Mark{{after(9 * hour), MarkFault, "eu-west-1b goes down"}, {after(9*hour + 12*minute), MarkHeld, "ZoneOutage"}, {after(9*hour + 15*minute), MarkNotice, "eu-west-1b: 6 of 8 nodes are unreachable"}, {after(14 * hour), MarkFault, "the API server stops answering"}},
			Bands: []Band{
				{after(9 * hour), after(10*hour + 30*minute), "outage of eu-west-1b"},
				{after(14 * hour), after(14*hour + 20*minute), "API server down"},
				{From: after(23 * hour), Label: "zonal shift away from eu-west-1c"},
			}},
		Held: []Withheld{
			{From: after(9*hour + 12*minute), To: after(10*hour + 30*minute), Instance: instance(7), Group: "nodegroup/web", Kind: "Unknown", Action: "reboot", Reason: "ZoneOutage", Detail: "6 of the 8 nodes in eu-west-1b are unreachable; that is the zone, not its instances"},
			{From: after(3*hour + 16*minute), Instance: instance(3), Group: "nodepool/default", Kind: "Unregistered", Action: "terminate", Reason: "OwnerWillAct", Detail: "Karpenter ends an instance that does not register 20 minutes after its launch"},
		},
		Acts: []Act{
			{At: after(3*hour + 21*minute), Instance: instance(3), Group: "nodepool/default", Kind: "Unregistered", Action: "terminate", Result: "done", Tone: ToneGood, Detail: "its replacement was Ready 2 minutes later"},
			{At: after(7*hour + 33*minute), Instance: instance(11), Node: "ip-10-0-12-30.eu-west-1.compute.internal", Group: "nodegroup/web", Kind: "Unknown", Action: "reboot", Result: "done", Tone: ToneGood, Detail: "the node was Ready 3 minutes later"},
			{At: after(16 * hour), Instance: instance(12), Node: "ip-10-0-12-31.eu-west-1.compute.internal", Group: "nodegroup/web", Kind: "NotReady", Action: "drain", Result: "refused", Tone: ToneWarn, Detail: "DrainUnfinished: a PodDisruptionBudget allows no eviction of shop/cart-0"},
		},
		Groups: []Group{
			{Name: "nodegroup/web", Owner: "managed-nodegroup", Nodes: 12, Ready: 12, Registration: registration(47*time.Second, 0, 4, 31, 122, 64, 20, 5, 2, 0, 0, 0, 0)},
			{Name: "nodepool/default", Owner: "karpenter", Nodes: 11, Ready: 11, Note: "one never registered", Tone: ToneWarn, Registration: registration(58*time.Second, 0, 0, 12, 40, 38, 20, 9, 3, 1, 0, 2, 1)},
			{Name: "asg/gpu-trainers-20260114", Owner: "autoscaling-group", Nodes: 1, Ready: 1, Registration: registration(6*minute, 0, 0, 0, 0, 0, 0, 1, 4, 9, 2)},
		},
		Zones: []Zone{{"eu-west-1a", 8, 8, "", ""}, {"eu-west-1b", 8, 8, "was down for 1h30m", ToneWarn}, {"eu-west-1c", 8, 8, "a zonal shift leads away from it", ""}},
	}
	t := shop.Timeline
	for _, s := range []struct {
		at           time.Duration
		ready, total int
	}{{0, 22, 22}, {3 * hour, 22, 23}, {3*hour + 25*minute, 23, 23}, {7 * hour, 22, 23}, {7*hour + 36*minute, 23, 23}, {9 * hour, 17, 23}, {10*hour + 30*minute, 23, 23}, {12 * hour, 23, 23}, {12*hour + 15*minute, 22, 23}, {14*hour + 20*minute, 22, 23}, {16*hour + 15*minute, 23, 23}, {20 * hour, 24, 24}} {
		t.Ready = append(t.Ready, Sample{At: after(s.at), Ready: s.ready, Total: s.total})
	}
	t.Ready = append(t.Ready[:9:9], append([]Sample{{At: after(14 * hour), Unknown: true}}, t.Ready[9:]...)...)
	t.Lanes = []Lane{never(3, "nodepool/default", 3*hour, "its subnet has no route"), lived(4, "nodepool/default", 3*hour+23*minute), lived(5, "nodepool/default", 20*hour)}
	for n := 6; n < 11; n++ {
		l := Lane{Label: instance(n), Sub: "nodegroup/web", Spans: []Span{
			{midnight.Add(-hour), after(9 * hour), StateReady, ""}, {after(9 * hour), after(10*hour + 30*minute), StateUnknown, "in eu-west-1b"}, {From: after(10*hour + 30*minute), State: StateReady}}}
		l.Marks = []Mark{{after(9*hour + 31*minute), MarkFinding, "Unknown, overdue"}, {after(9*hour + 31*minute), MarkHeld, "reboot: ZoneOutage"}, {after(10*hour + 40*minute), MarkResolved, "Unknown"}}
		t.Lanes = append(t.Lanes, l)
	}
	t.Lanes = append(t.Lanes, silent(11, "nodegroup/web", 7*hour), worn(12, "nodegroup/web", 12*hour+15*minute))
	for n := 13; n < 19; n++ {
		t.Lanes = append(t.Lanes, lived(n, "asg/gpu-trainers-20260114", time.Duration(n)*hour))
	}

	payments := Cluster{
		Name: "payments", Place: "eu-west-1, account 111122223333", Mode: "observe", Version: "Kubernetes 1.35", Tone: ToneBad,
		Summary: "Two instances of nodepool/batch never registered: their role is not mapped.",
		Nodes:   5, Ready: 4,
		Timeline: &Timeline{From: midnight, To: after(24 * hour), Ready: []Sample{{At: midnight, Ready: 5, Total: 5}, {At: after(22 * hour), Ready: 4, Total: 5}},
			Lanes: []Lane{silent(101, "nodegroup/api", 2*hour)}},
		Findings: []Finding{
			{Instance: instance(102), Node: "", Group: "nodepool/batch", Owner: "karpenter", Zone: "eu-west-1a", Kind: "Unregistered", Stage: "overdue", Tone: ToneBad,
				Since: after(22 * hour), For: "2h", Due: after(22*hour + 15*minute), Summary: "instance " + instance(102) + " has not registered as a node since its launch at 2026-03-02 22:00:00Z",
				Next: "held", Causes: []roll.Cause{role, {Code: "SecurityGroupBlocksAPI", Confidence: "suggestive", Summary: "no outbound rule of sg-0a1b2c3d4e5f60718 allows port 443 to the API server"}},
				NotChecked: []roll.NotChecked{{Code: "KernelPanic", Reason: "the console of " + instance(102) + " is not there yet"}, {Code: "DiskFull", Reason: "the console of " + instance(102) + " is not there yet"}},
				Kept:       "s3://rollcall-evidence-111122223333/payments/2026-03-02/"},
			{Instance: instance(103), Group: "nodepool/batch", Owner: "karpenter", Zone: "eu-west-1b", Kind: "Unregistered", Stage: "overdue", Tone: ToneBad,
				Since: after(23 * hour), For: "60m", Due: after(23*hour + 15*minute), Next: "held", Causes: []roll.Cause{role}},
			{Instance: instance(104), Node: "ip-10-0-31-7.eu-west-1.compute.internal", Group: "nodegroup/api", Owner: "managed-nodegroup", Zone: "eu-west-1b", Kind: "ConditionFailed", Condition: "KernelReady", Stage: "overdue", Tone: ToneWarn,
				Since: after(21 * hour), For: "3h", Due: after(21*hour + 30*minute), Until: after(23 * hour), Next: "only told", Summary: "condition KernelReady of node ip-10-0-31-7.eu-west-1.compute.internal is False since 2026-03-02 21:00:00Z (AppBlocked)"},
		},
		Watching: []Finding{{Instance: instance(105), Group: "nodegroup/api", Owner: "managed-nodegroup", Zone: "eu-west-1a", Kind: "NotReady", Stage: "watching", Since: after(23*hour + 55*minute), Due: after(24*hour + 10*minute), For: "5m"}},
		Held: []Withheld{
			{From: after(22*hour + 20*minute), To: after(24 * hour), Instance: instance(102), Group: "nodepool/batch", Kind: "Unregistered", Action: "terminate", Reason: "SharedCause", Detail: "2 instances have ControllerRoleMapped in role/payments-batch-node; a replacement would have it too"},
		},
		NotNodes: []NotNode{{instance(199), "bastion", "its user data bootstraps no node, and nothing that has nodes launched it"}},
		Next:     "A verdict can change at 2026-03-03 00:05:00Z.",
	}
	legacy := Cluster{Name: "legacy", Place: "eu-west-1, account 123456789012", Mode: "notify", Tone: ToneWarn, Summary: "could not be checked", Unread: "the API server does not know the principal; see infra/README.md", Notes: []string{"list nodes of legacy: Unauthorized"}}

	return Document{
		Title: "A day in the life of an account", Subtitle: "Three clusters, every failure of the catalogue, on a clock of its own.", Tag: "simulated",
		From: midnight, To: after(24 * hour),
		Figures: []Figure{
			{Label: "Nodes", Value: "29", Note: "28 ready"}, {"Findings", "14", "9 over by themselves", ToneWarn}, {"Acts", "3", "of 5 ordered", ToneGood},
			{"Held back", "17", "most for a zone", ToneHeld}, {"Not judged", "1 cluster", "the principal is not known", ToneBad}, {Label: "Reads", Value: "8,412", Note: "at 2.1 cents"},
		},
		Answers: []Answer{
			{Question: "Worst cluster", Tone: ToneBad, Lines: []Line{{"payments", "2 instances never registered."}}},
			{Question: "Needs a person", Tone: ToneBad, Lines: []Line{{"payments", "ControllerRoleMapped (2 instances)"}, {"elsewhere", "a cluster that is not on the page"}, {Text: "and 3 more, below."}}},
			{Question: "Happens by itself", Tone: ToneGood, Lines: []Line{{Text: "Nothing."}}},
		},
		Notes:    []string{"Instances that were ready all day are counted, and not drawn."},
		Clusters: []Cluster{shop, payments, legacy},
		Notices: []Notice{
			{after(3*hour + 15*minute), "shop-production", "nodepool/default", "Unregistered", "RouteMissing", "shop-production: 1 instance of nodepool/default has not registered", "What\n  " + instance(3) + " runs for 15 minutes and is no node.\n\nWhy\n  RouteMissing\n    subnet-0a1b2c3d has no route to the API server\n\nWhat happens now\n  terminate at 03:20:00Z\n", ToneBad},
			{after(7*hour + 47*minute), "shop-production", "nodegroup/web", "Unknown", "", "shop-production: resolved: 1 node of nodegroup/web reports again", "It was rebooted at 07:33:00Z and is Ready since 07:36:00Z.\n", ToneGood},
		},
		Tables: []Table{{Title: "Costs", Caption: "What a month of this would cost, at list prices of eu-west-1", Columns: []Column{{"Service", false}, {"Use", true}, {"USD", true}},
			Rows: [][]string{{"Lambda", "26,784 requests", "1.02"}, {"DynamoDB", "312,000 writes", "0.44"}, {"Total", "", "1.46"}}}},
		Footer: []string{"rollcall demo --seed 7 --html day.html"},
	}
}

// glance returns a document of one check of one cluster.
func glance() Document {
	c := day().Clusters[1]
	c.Timeline, c.Held[0].To = nil, time.Time{}
	c.Groups = day().Clusters[0].Groups
	c.Zones = day().Clusters[0].Zones
	return Document{Title: "payments", Subtitle: "One look at one cluster.", To: after(24 * hour), Clusters: []Cluster{c}}
}
