package mutate

import "rollcall/shared/sim"

// asking is a policy that asks for an approval of each act on nodes that are not ready.
const asking = `apiVersion: rollcall/v1
mode: remediate
ladders:
  NotReady: [{do: tag}, {do: notify}, {approve: {for: 1h}}, {do: cordon}, {do: drain}, {do: terminate}]
`

// approved returns mutations that take approvals wrongly.
func approved() []Mutation {
	const approval, climb = "shared/plan/approval.go", "shared/plan/ladder.go"
	all := []Mutation{
		{
			Name: "what is asked is taken for approved", File: approval,
			Old: "approval, ok := p.State.Approvals[q.Order]", New: "approval, ok := p.State.Approvals[q.Order]; ok = true",
			Harm: "machines are ended that a person was to decide about",
		},
		{
			Name: "a ladder goes on whatever follows without an approval", File: approval,
			Old: "case asks.ThenGo:", New: "case asks.For > 0:",
			Harm: "machines are ended although nobody approved",
		},
		{
			Name: "any tag approves", File: approval,
			Old: "i.Approve == q.Order", New: "i.Approve != \"\"",
			Harm: "a tag that was copied from another machine ends this one",
		},
	}
	for i := range all {
		all[i].Rules = rules(sim.RuleApproval)
	}
	all = append(all, []Mutation{
		{
			Name: "an approval begins nothing", File: approval,
			Old: "ok && (p.Now.Before(q.Until) || p.begunBy(f, q)) {", New: "ok && p.begunBy(f, q) {",
			Harm: "what a person approved is never done", Rules: rules(sim.RuleTruth),
		},
		{
			Name: "no tag approves", File: approval,
			Old: "i.Approve == q.Order", New: "i.Approve == \"yes\"",
			Harm: "what a person approved by the tag is never done", Rules: rules(sim.RuleTruth),
		},
		{
			Name: "what is approved is left to whoever approved it", File: climb,
			Old: "if ended.IsZero() {\n", New: "if _, ok := p.State.Approvals[p.orderID(f, act)]; ok && ended.IsZero() {\n\t\t\treturn\n\t\t}\n\t\tif ended.IsZero() {\n",
			Harm: "what a person approved is never done", Rules: rules(sim.RuleCure),
		},
	}...)
	for i := range all {
		all[i].Policy, all[i].Faults = asking, faults(sim.FaultNotReady)
	}
	return all
}
