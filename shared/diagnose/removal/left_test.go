package removal_test

import (
	"strings"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/removal"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

func TestWhatOutlivedAnInstanceHasItsCause(t *testing.T) {
	for _, tt := range []struct {
		left  roll.Leftover
		stage roll.Stage
		want  cause.Code
		fix   string
	}{
		{roll.Leftover{ID: "vol-1", Type: "gp3"}, roll.Overdue, cause.VolumeLeft, "delete-volume --region eu-west-1 --volume-id vol-1"},
		{roll.Leftover{ID: "eni-1", Subnet: "subnet-1"}, roll.Overdue, cause.InterfaceLeft, "delete-network-interface --region eu-west-1 --network-interface-id eni-1"},
		{roll.Leftover{ID: "eni-1", Public: 1}, roll.Overdue, cause.InterfaceLeft, "describe-addresses"},
		{roll.Leftover{ID: "vol-1"}, roll.Watching, "", ""},
	} {
		tt.left.Instance = "i-0bad0000000000001"
		subject, _ := roll.LeftoverID(tt.left.ID)
		s := &cause.Sheet{}
		removal.Analyze(&evidence.Case{
			Evidence: &evidence.Evidence{At: at, Region: "eu-west-1"},
			Finding:  roll.Finding{Kind: roll.Stuck, Instance: subject, Stage: tt.stage, Left: tt.left},
		}, s)
		found := s.Causes()
		if tt.want == "" {
			if len(found) != 0 || len(s.Open()) != 1 {
				t.Errorf("%s %s: found %+v, open %+v", tt.left.ID, tt.stage, found, s.Open())
			}
			continue
		}
		if len(found) != 1 || found[0].Code != tt.want || found[0].Confidence != roll.Decisive || !strings.Contains(found[0].Fix, tt.fix) || len(found[0].Evidence) != 2 || !strings.Contains(found[0].Summary, "i-0bad0000000000001") {
			t.Errorf("%s: %+v", tt.left.ID, found)
		}
	}
}
