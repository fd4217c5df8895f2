package sim

import "time"

// Day returns the scenario of the demo: one day of an account with the field reports that Rollcall was built for, a
// zone outage, a broken launch template and a deleted cluster.
func Day() Scenario {
	at := func(h, m int) time.Duration { return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute }
	return Scenario{
		Seed: 20260302, Start: began, Storm: 20 * time.Hour, Calm: 2 * time.Hour, Healed: 2 * time.Hour, Sweep: 5 * time.Minute, Permitted: "remediate", Quiet: true,
		Policy: "apiVersion: rollcall/v1\nmode: remediate\n",
		Clusters: []ClusterSpec{
			{Name: "orders", Groups: []GroupSpec{
				{Name: "default", Owner: "karpenter", Type: "m5.xlarge", Desired: 14},
				{Name: "golden", Owner: "autoscaling-group", Type: "m5.large", Desired: 8},
				managedNodes(4),
			}},
			{Name: "search", Groups: []GroupSpec{
				{Name: "cilium", Owner: "karpenter", Type: "c5.xlarge", Desired: 8},
				{Name: "arm", Owner: "karpenter", Type: "m6g.large", Desired: 6},
				{Name: "core", Owner: "managed-nodegroup", Type: "m5.large", Desired: 4},
			}},
			{Name: "payments", Groups: []GroupSpec{
				{Name: "batch", Owner: "karpenter", Type: "m5.large", Desired: 3},
				{Name: "api", Owner: "managed-nodegroup", Type: "m5.xlarge", Desired: 9},
				{Name: "memory", Owner: "autoscaling-group", Type: "r5.xlarge", Desired: 6},
			}},
			{Name: "sandbox", Groups: []GroupSpec{
				{Name: "spare", Owner: "autoscaling-group", Type: "m5.large", Desired: 9},
			}},
		},
		Faults: []Fault{
			{ID: 1, Kind: FaultPressure, At: at(1, 10), Cluster: "payments", Group: "memory", Count: 1, Bare: true, Says: "an instance of the memory group runs short of memory"},
			{ID: 2, Kind: FaultPressure, At: at(3, 20), Cluster: "payments", Group: "memory", Count: 1, Value: lasting, Says: "another one runs short of memory, and a reboot will not cure it"},
			{ID: 3, Kind: FaultTaint, At: at(4, 40), For: at(3, 0), Cluster: "orders", Group: "golden", Count: 2, Says: "a new golden AMI, whose startup taint has one pair of quotes too many"},
			{ID: 4, Kind: FaultCilium, At: at(6, 5), For: at(2, 0), Cluster: "search", Group: "cilium", Count: 1, Says: "a Cilium taint that the node pool does not declare, and kubelets that restart"},
			{ID: 5, Kind: FaultArchitect, At: at(8, 30), For: at(2, 20), Cluster: "search", Group: "arm", Count: 2, Says: "the pool switches to arm64, and its user data fetches an amd64 program"},
			{ID: 6, Kind: FaultRole, At: at(10, 15), For: at(1, 50), Cluster: "payments", Group: "batch", Count: 2, Bare: true, Says: "aws-auth maps the controller's role, not the nodes'"},
			{ID: 7, Kind: FaultNotReady, At: at(11, 30), Cluster: "orders", Group: "system", Count: 1, Says: "a kubelet reports that it is not ready"},
			{ID: 8, Kind: FaultNoJoin, At: at(12, 20), Cluster: "payments", Group: "api", Count: 1, Says: "one new instance never joins"},
			{ID: 9, Kind: FaultZone, At: at(13, 0), For: 40 * time.Minute, Zone: zones[1], Says: "a zone loses its network"},
			{ID: 10, Kind: FaultTemplate, At: at(15, 10), For: at(2, 30), Cluster: "payments", Group: "api", Count: 2, Says: "a new launch template that nodeadm cannot read"},
			{ID: 11, Kind: FaultThrottle, At: at(16, 0), For: 30 * time.Minute, Share: 0.7, Says: "EC2 throttles"},
			{ID: 12, Kind: FaultDeleted, At: at(17, 30), Cluster: "sandbox", Says: "the cluster is deleted, its instances are left running"},
			{ID: 13, Kind: FaultSilence, At: at(18, 40), Cluster: "orders", Group: "default", Count: 1, Says: "a kubelet falls silent"},
		},
	}
}

// Untended returns the same scenario with a Rollcall that only observes: the day without Rollcall.
func (sc Scenario) Untended() Scenario {
	sc.Permitted = "observe"
	return sc
}
