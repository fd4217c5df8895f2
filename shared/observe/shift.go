package observe

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"

	"rollcall/shared/observe/deadline"
	"rollcall/shared/roll"
)

// shiftTime bounds the one call. ARC may be unreachable where the rest of AWS is reachable, behind the
// VPC endpoints of a private network.
const shiftTime = 10 * time.Second

// readShifts reads the zones that ARC shifts the cluster away from, if permitted. ARC lists the
// active shifts. Of those that a person or a practice run started only the applied one counts. All
// autoshifts count: they mean that AWS knows of trouble in the zone, even if another shift is
// applied.
// https://docs.aws.amazon.com/arc-zonal-shift/latest/api/API_GetManagedResource.html
func (o *Observer) readShifts(ctx context.Context, s *roll.Snapshot, arn string) {
	if !s.Cluster.ZonalShift {
		return
	}
	ctx, cancel := deadline.In(ctx, shiftTime)
	defer cancel()
	out, err := direct(o, o.zonalShift.GetManagedResource)(ctx, &arczonalshift.GetManagedResourceInput{ResourceIdentifier: aws.String(arn)})
	if err != nil {
		s.ShiftsRead = roll.Unreadable
		o.fail(ctx, s, roll.ScopeDetail, roll.CallZonalShift, err)
		return
	}
	s.ShiftsRead = roll.Yes
	for _, z := range out.ZonalShifts {
		if z.AppliedStatus == types.AppliedStatusApplied {
			s.Shifts = append(s.Shifts, roll.Shift{ZoneID: aws.ToString(z.AwayFrom), Expires: aws.ToTime(z.ExpiryTime).UTC()})
		}
	}
	s.Shifts = append(s.Shifts, roll.Map(out.Autoshifts, func(a types.AutoshiftInResource) roll.Shift { return roll.Shift{ZoneID: aws.ToString(a.AwayFrom)} })...)
}
