package roll_test

import (
	"fmt"
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestWhatIsLeftCosts(t *testing.T) {
	for name, tt := range map[string]struct {
		l    roll.Leftover
		want string
	}{
		"gp2":                            {roll.Leftover{Type: "gp2", Size: 100, IOPS: 300}, "10.00"},
		"gp3 as it comes":                {roll.Leftover{Type: "gp3", Size: 100, IOPS: 3000, Throughput: 125}, "8.00"},
		"gp3, of which little is told":   {roll.Leftover{Type: "gp3", Size: 100}, "8.00"},
		"gp3 with more IOPS":             {roll.Leftover{Type: "gp3", Size: 100, IOPS: 4000, Throughput: 125}, "13.00"},
		"gp3 with more throughput":       {roll.Leftover{Type: "gp3", Size: 100, IOPS: 3000, Throughput: 225}, "12.00"},
		"io1":                            {roll.Leftover{Type: "io1", Size: 100, IOPS: 1000}, "77.50"},
		"io2 up to the first step":       {roll.Leftover{Type: "io2", Size: 100, IOPS: 32_000}, "2092.50"},
		"io2 above the first step":       {roll.Leftover{Type: "io2", Size: 100, IOPS: 32_001}, "2092.55"},
		"io2 above the second":           {roll.Leftover{Type: "io2", Size: 100, IOPS: 64_100}, "3567.70"},
		"st1":                            {roll.Leftover{Type: "st1", Size: 500}, "22.50"},
		"sc1":                            {roll.Leftover{Type: "sc1", Size: 500}, "7.50"},
		"standard":                       {roll.Leftover{Type: "standard", Size: 100}, "5.00"},
		"an unknown type":                {roll.Leftover{Type: "gp9", Size: 100}, "unknown"},
		"an interface":                   {roll.Leftover{Subnet: "subnet-1"}, "0.00"},
		"an interface with an address":   {roll.Leftover{Public: 1}, "3.65"},
		"an interface with two of those": {roll.Leftover{Public: 2}, "7.30"},
	} {
		usd, ok := tt.l.Monthly()
		got := fmt.Sprintf("%.2f", usd)
		if !ok {
			got = "unknown"
		}
		expect.Equal(t, got, tt.want, "%s", name)
	}
}

func TestWhatMayBeLeftIsAVolumeOrAnInterface(t *testing.T) {
	for id, want := range map[string]roll.InstanceID{"vol-0123": "volume/vol-0123", "eni-0123": "eni/eni-0123", "i-0123": "", "vol-": "", "": ""} {
		subject, ok := roll.LeftoverID(id)
		expect.That(t, subject == want && ok == (want != ""), "%q: %q, %v", id, subject, ok)
		if name, ok := subject.Leftover(); ok != (want != "") || ok && name != id {
			t.Errorf("%q is about %q, %v", subject, name, ok)
		}
	}
	for _, id := range []roll.InstanceID{"i-0123", "nodeclaim/vol-1", "node/ip-1"} {
		_, ok := id.Leftover()
		expect.That(t, !ok, "%s is no volume", id)
	}
}
