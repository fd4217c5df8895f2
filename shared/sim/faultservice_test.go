package sim

import "testing"

// Each fault of AWS's own services really befalls something, and breaks no rule.
func TestFaultsOfServicesArise(t *testing.T) {
	for _, kind := range []FaultKind{FaultLostEvents, FaultMissedSweeps, FaultPartialPut, FaultRetries, FaultNotInvoked, FaultMemory} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			arose := 0
			for seed := uint64(1); seed <= 5; seed++ {
				sc := Random(Options{Seed: seed, Certain: []FaultKind{kind, FaultSpot}})
				for i := range sc.Faults {
					if sc.Faults[i].Kind == kind { // all the time, since events are few
						sc.Faults[i].At, sc.Faults[i].For, sc.Faults[i].Share = 0, sc.Storm, max(sc.Faults[i].Share, 0.4)
					}
				}
				r, err := Run(sc, Watch{Tell: func(e Event) {
					if e.Kind == EventArose && e.Stage == string(kind) {
						arose++
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Violations) > 0 {
					t.Errorf("seed %d breaks %s: %s", seed, r.Violations[0].Rule, r.Violations[0].Detail)
				}
			}
			if arose == 0 {
				t.Error("it befalls nothing")
			}
		})
	}
}

// A call that is throttled is tried again after a while, as its client does; what ends instances
// is sent once.
func TestThrottledCallsAreTriedAgain(t *testing.T) {
	tests := map[string]int{"ec2:DescribeInstances": 3, "dynamodb:Query": 3, "ec2:TerminateInstances": 1, "ec2:RebootInstances": 1, "kubernetes:list nodes": 10}
	for name, want := range tests {
		if r := retryOf(name); r.tries != want {
			t.Errorf("%s is tried %d times, want %d", name, r.tries, want)
		}
	}
}
