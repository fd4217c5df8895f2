package fleet

import (
	"cmp"
	"fmt"
	"time"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// When a zone as a whole is down: this share of its nodes, and so many, went silent
// within so long of each other. The Kubernetes node lifecycle controller takes a zone
// for disrupted by the same numbers (--unhealthy-zone-threshold).
// https://kubernetes.io/docs/concepts/architecture/nodes/#node-eviction-rate-limits
const (
	outShare = 55 // per cent
	outLeast = 3
	together = 10 * time.Minute
)

// out reports whether a zone's nodes went silent together.
func out(z evidence.Zone) bool {
	n := atOnce(z.Silent)
	return n >= outLeast && n*100 >= outShare*z.Nodes
}

// atOnce is the largest number of times that lie together; they are in order.
func atOnce(times []time.Time) int {
	most, from := 0, 0
	for to := range times {
		for times[to].Sub(times[from]) > together {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

// zone looks at whether the finding is one of many in its zone, while other zones are well.
// An instance that fails EC2's checks where its zone went silent has the same trouble.
func (l *look) zone() cause.Verdict {
	if l.Finding.Kind != roll.Unknown && l.Finding.Kind != roll.Impaired || l.Finding.Zone == "" {
		return cause.Verdict{}
	}
	var own evidence.Zone
	others, well := 0, true
	for _, z := range l.Zones {
		if z.Zone == l.Finding.Zone {
			own = z
			continue
		}
		others += z.Nodes
		well = well && !out(z)
	}
	switch {
	case len(l.Zones) == 0:
		return cause.NotChecked("the nodes of the cluster were not counted by zone")
	case !out(own) || others == 0 || !well:
		return cause.RuledOut
	}
	zoneID := cmp.Or(l.Finding.ZoneID, "ID_OF_"+own.Zone)
	return cause.Decisive().In("zone/"+own.Zone).
		Says("%d of %d nodes in zone %s went silent within %.0f min of each other, while the other zones are well: it is the zone, not its nodes", atOnce(own.Silent), own.Nodes, own.Zone, together.Minutes()).
		Saw("nodes", "Ready by zone", fmt.Sprintf("%d of %d of %s silent", len(own.Silent), own.Nodes, own.Zone), fmt.Sprintf("fewer than %d%%", outShare)).
		Fix(fmt.Sprintf("aws health describe-events --region us-east-1 --filter 'services=EC2,availabilityZones=%[1]s,eventStatusCodes=open'   # needs a support plan; or look at the Health Dashboard\n"+
			"aws arc-zonal-shift start-zonal-shift --region %[2]s --resource-identifier arn:aws:eks:%[2]s:%[3]s:cluster/%[4]s --away-from %[5]s --expires-in 2h --comment 'nodes silent'", own.Zone, l.Region, l.ClusterID.Account, l.ClusterID.Name, zoneID))
}
