package demo

import (
	"fmt"
	"time"

	"rollcall/shared/report/page"
	"rollcall/shared/sim"
)

// figures returns the totals of the day, beside the same day in mode observe.
func (s *story) figures(r, untended sim.Result) []page.Figure {
	n := s.tallied()
	saved := untended.Cost.Wasted - r.Cost.Wasted
	own := ownCost(r.Usage)
	return []page.Figure{
		{Label: "findings", Value: fmt.Sprint(n.findings)},
		{Label: "notices", Value: fmt.Sprint(r.Counts[sim.EventNotice])},
		{Label: "instances terminated and rebooted", Value: fmt.Sprintf("%d and %d", n.acts["terminate"], n.acts["reboot"]), Note: fmt.Sprintf("nodes cordoned: %d, drained: %d, uncordoned: %d", n.acts["cordon"], n.acts["evict"], n.acts["uncordon"])},
		{Label: "acts held", Value: fmt.Sprint(n.held), Note: "without those that end by themselves"},
		{Label: "sick time of all instances", Value: hours(r.Cost.SickHours), Note: "in mode observe: " + hours(untended.Cost.SickHours)},
		{Label: "paid for sick instances", Value: dollars(r.Cost.Wasted), Note: fmt.Sprintf("in mode observe: %s; all instances of the day: %s", dollars(untended.Cost.Wasted), dollars(r.Cost.Machines))},
		{Label: "saved", Value: dollars(saved), Note: "the lost work of sick instances is not counted"},
		{Label: "Rollcall's own cost", Value: dollars(own), Note: s.usage(r.Usage)},
	}
}

type numbers struct {
	findings, held int
	acts           map[string]int // number of instances per act
}

func (s *story) tallied() numbers {
	n := numbers{acts: map[string]int{}}
	findings, met := map[string]bool{}, map[string]bool{}
	for _, e := range s.events {
		switch e.Kind {
		case sim.EventFinding:
			findings[e.Cluster+e.Instance+e.Finding] = true
		case sim.EventAct:
			if key := e.Cluster + " " + e.Instance + " " + e.Action; !met[key] {
				met[key] = true
				n.acts[e.Action]++
			}
		}
	}
	n.findings = len(findings)
	for _, h := range s.lasting() {
		n.held += len(h.instances)
	}
	return n
}

func hours(h float64) string {
	d := time.Duration(h * float64(time.Hour)).Round(time.Minute)
	return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
}

func dollars(x float64) string { return fmt.Sprintf("$%.2f", x) }

// Prices of the services that Rollcall uses, in US dollars, on demand, in us-east-1. A
// function has a quarter or half a GB of memory. The monthly free tier is not deducted.
const (
	lambdaGBSecond = 0.0000133334 // arm64, https://aws.amazon.com/lambda/pricing/
	lambdaRequest  = 0.20 / 1e6
	memoryGB       = 0.5
	sqsRequest     = 0.50 / 1e6   // FIFO, https://aws.amazon.com/sqs/pricing/
	dynamoWrite    = 2 * 0.625e-6 // a transaction writes twice, https://aws.amazon.com/dynamodb/pricing/on-demand/
	dynamoRead     = 0.125e-6
	schedule       = 1.00 / 1e6 // https://aws.amazon.com/eventbridge/pricing/
	s3Put          = 0.005 / 1e3
	event          = 1.00 / 1e6
	snsPublish     = 0.50 / 1e6
)

// ownCost returns the cost of the stack's use of AWS, in US dollars.
func ownCost(u sim.Usage) float64 {
	cost := u.Busy.Seconds() * memoryGB * lambdaGBSecond
	for _, n := range u.Invocations {
		cost += float64(n) * (lambdaRequest + 3*sqsRequest) // send, receive, delete
	}
	for name, price := range map[string]float64{
		"dynamodb:Query": 4 * dynamoRead, "dynamodb:TransactWriteItems": 4 * dynamoWrite, "scheduler:CreateSchedule": schedule,
		"s3:PutObject": s3Put, "events:PutEvents": event, "sns:Publish": snsPublish,
	} {
		cost += float64(u.Calls[name]) * price
	}
	return cost
}

func (s *story) usage(u sim.Usage) string {
	return fmt.Sprintf("%d invocations, %s of functions, %d API calls", total(u.Invocations), u.Busy.Round(time.Second), total(u.Calls))
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}
