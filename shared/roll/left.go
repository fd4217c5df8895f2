package roll

import "time"

// Leftover is an EBS volume or a network interface that outlived its instance.
type Leftover struct {
	ID       string     // vol-... or eni-...
	Instance InstanceID // that it was attached to
	Ended    time.Time  // when Rollcall terminated that instance, or first saw that it was gone
	// The fields below are what EC2 returns for it now.
	Zone string
	// Type is the type of the volume, such as gp3. Size is in GiB, Throughput in MiB/s. IOPS and
	// Throughput are zero if EC2 does not return them.
	Type                   string
	Size, IOPS, Throughput int
	// Subnet is the subnet of the interface. Public counts its public IPv4 addresses.
	Subnet string
	Public int
}

// LeftoverID returns the finding id for a volume or interface id; false for any other id.
func LeftoverID(id string) (InstanceID, bool) {
	switch {
	case len(id) > 4 && id[:4] == "vol-":
		return SubjectID("volume", id), true
	case len(id) > 4 && id[:4] == "eni-":
		return SubjectID("eni", id), true
	}
	return "", false
}

// Leftover returns the id of the volume or interface that a finding is about; false if it is about
// neither.
func (id InstanceID) Leftover() (string, bool) {
	kind, name, _ := id.Subject()
	return name, kind == "volume" || kind == "eni"
}

// PricesOf is the date of the prices below: us-east-1, in USD, without tax. Prices in other regions
// usually differ by about ten percent.
const (
	PricesOf     = "2025-01-01"
	PricesRegion = "us-east-1"
)

// A volume is charged for what is provisioned, whether it is attached or not.
// https://aws.amazon.com/ebs/pricing/
var storagePrices = map[string]float64{ // per GiB and month
	"gp2": 0.10, "gp3": 0.08, "io1": 0.125, "io2": 0.125, "st1": 0.045, "sc1": 0.015, "standard": 0.05,
}

const (
	gp3IOPS, gp3IOPSPrice             = 3000, 0.005 // per IOPS and month, above the first 3000
	gp3Throughput, gp3ThroughputPrice = 125, 0.04   // per MiB/s and month, above the first 125
	io1IOPSPrice                      = 0.065
	// addressPrice is the price of a public IPv4 address per hour, in use or idle.
	// https://aws.amazon.com/vpc/pricing/
	addressPrice  = 0.005
	hoursPerMonth = 730
)

// io2Prices are the prices per IOPS and month, each up to a number of IOPS.
var io2Prices = []struct {
	upTo  int
	price float64
}{{32_000, 0.065}, {64_000, 0.046}, {1 << 30, 0.032}}

// Monthly returns the approximate cost per month in USD, by the prices of PricesOf. It returns
// false for a type of volume without a price. The requests to volumes of type standard, which are
// rarely used, are not included.
func (l Leftover) Monthly() (float64, bool) {
	if l.Type == "" {
		return float64(l.Public) * addressPrice * hoursPerMonth, true
	}
	gib, ok := storagePrices[l.Type]
	cost := gib * float64(l.Size)
	switch l.Type {
	case "gp3":
		cost += gp3IOPSPrice*float64(max(0, l.IOPS-gp3IOPS)) + gp3ThroughputPrice*float64(max(0, l.Throughput-gp3Throughput))
	case "io1":
		cost += io1IOPSPrice * float64(l.IOPS)
	case "io2":
		from := 0
		for _, step := range io2Prices {
			cost += step.price * float64(max(0, min(l.IOPS, step.upTo)-from))
			from = step.upTo
		}
	}
	return cost, ok
}
