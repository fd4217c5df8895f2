package sim

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"
)

// zonalShiftAPI is ARC's zonal shift.
type zonalShiftAPI struct{ v *env }

// GetManagedResource returns a cluster and its active zonal shifts.
func (s zonalShiftAPI) GetManagedResource(in *arczonalshift.GetManagedResourceInput, out *arczonalshift.GetManagedResourceOutput) error {
	*out = arczonalshift.GetManagedResourceOutput{Arn: in.ResourceIdentifier, AppliedWeights: map[string]float32{}}
	for _, c := range s.v.a.clusters {
		if c.exists() && c.arn() == aws.ToString(in.ResourceIdentifier) {
			out.Name = aws.String(c.name)
			out.ZonalShifts = c.shifts()
			return nil
		}
	}
	return noSuch("ResourceNotFoundException", "%s is not a managed resource", aws.ToString(in.ResourceIdentifier))
}

// shifts returns the cluster's active zonal shifts, at most one.
func (c *cluster) shifts() []types.ZonalShiftInResource {
	if c.shifted == "" {
		return nil
	}
	from, to := c.shift()
	return []types.ZonalShiftInResource{{
		AppliedStatus: types.AppliedStatusApplied, AwayFrom: aws.String(zoneID(c.shifted)), ResourceIdentifier: aws.String(c.arn()),
		StartTime: aws.Time(from), ExpiryTime: aws.Time(to), Comment: aws.String("trouble in the zone"), ZonalShiftId: aws.String(uid(c.d.of("shift").of(from.String()))),
	}}
}

// shift returns when the active shift began and when it ends, from the scenario.
func (c *cluster) shift() (from, to time.Time) {
	for _, f := range c.a.sc.Faults {
		if f.Kind != FaultShift || f.Zone != c.shifted || f.Cluster != "" && f.Cluster != c.name || c.a.start.Add(f.At).After(c.a.Now()) {
			continue
		}
		from, to = c.a.start.Add(f.At), c.a.start.Add(c.a.sc.Storm+c.a.sc.Calm)
		if f.For > 0 {
			to = from.Add(f.For)
		}
	}
	return from, to
}
