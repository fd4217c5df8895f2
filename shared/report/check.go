// Package report renders what a check found, did and held: JSON and tables for the command
// line, notices for SNS.
//
// Rendering is pure and is tested against golden files. Publishing is one small adapter.
package report

import (
	"encoding/json"
	"slices"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/roll"
)

// Check holds everything to report about one check of one cluster.
type Check struct {
	Snapshot   *roll.Snapshot
	Assessment assess.Assessment
	// Diagnoses are those of the findings that were diagnosed.
	Diagnoses map[roll.FindingKey]roll.Diagnosis
	// Evidence is where the evidence of the diagnosis is stored, "" if it is not.
	Evidence string
	Plan     plan.Plan
	Outcomes []remediate.Outcome
	Faults   []string // what went wrong while carrying out the plan
	Mode     policy.Mode
	// Overtaken: another check of the cluster had the notices, so this one wrote, sent and
	// ordered nothing, and its Plan is empty.
	Overtaken bool

	// Unremembered: no later check will know of this one.
	Unremembered bool
	// WhatIf: every finding counts as seen twice, and as opened after mode remediate was
	// turned on; see run.Runner's Look.
	WhatIf bool
	// Memory is what was remembered when the check began, nil unless requested.
	Memory *Memory
	// Asked is the instance to explain, nil for all.
	Asked *Asked
	// Subject is the subject to explain instead of an instance, such as nodepool/default, or "".
	Subject roll.InstanceID
	// beneath are the findings about instances of the subject, if that is a group; nil if none.
	beneath *beneath

	// stored is the document that the check was read from, nil for one that was made now.
	stored json.RawMessage
}

// Complete reports whether everything was read and carried out. Only then does an empty
// list of findings mean that all is well.
func (c Check) Complete() bool { return len(c.Snapshot.Gaps) == 0 && len(c.Faults) == 0 }

// Findings returns the findings that are past their warning time or tolerance.
func (c Check) Findings() []roll.Finding { return c.staged(false) }

// Watching returns the findings within their tolerance.
func (c Check) Watching() []roll.Finding { return c.staged(true) }

func (c Check) staged(watching bool) (out []roll.Finding) {
	all := c.Assessment.Findings
	for i := range all {
		if f := &all[i]; (f.Stage == roll.Watching) == watching {
			out = append(slices.Grow(out, len(all)-i), *f)
		}
	}
	return out
}

// Notes returns sentences for a reader: what could not be read or done, and facts that are
// no findings.
func (c Check) Notes() []string {
	notes := append([]string{}, c.gaps()...)
	notes = append(notes, c.Faults...)
	if c.Overtaken {
		notes = append(notes, "another check of the cluster reported its findings while this one was reading: nothing was written, reported or ordered; check again")
	}
	return append(notes, c.Assessment.Notes...)
}

// gaps says what could not be read.
func (c Check) gaps() []string {
	return roll.Map(c.Snapshot.Gaps, func(g roll.Gap) string { return g.Detail })
}

// Document is the JSON form of a check. Its field names are a contract; fields may
// be added.
type Document struct {
	At       time.Time         `json:"at"`
	Cluster  string            `json:"cluster"`
	Account  string            `json:"account,omitempty"` // 12 digits
	Region   string            `json:"region,omitempty"`
	Mode     policy.Mode       `json:"mode"`
	Complete bool              `json:"complete"`
	Notes    []string          `json:"notes"`
	Nodes    int               `json:"nodes"`
	Ready    int               `json:"ready"`
	Waiting  int               `json:"waiting"` // instances that still have time to register, and nodes to initialize
	Findings []FindingDocument `json:"findings"`
	Watching []FindingDocument `json:"watching"`
	Orders   []OrderDocument   `json:"orders"`
	Held     []plan.Held       `json:"held"`
	Outcomes []OutcomeDocument `json:"outcomes"`
	NotNodes []assess.NotNode  `json:"taggedNotNodes"`
	// Unjudged are the instances past their warning time that may or may not be failed nodes,
	// because something was unreadable.
	Unjudged []roll.InstanceID `json:"unjudged,omitempty"`
	// Registration has the registration times of the latest nodes of each group.
	Registration []RegistrationDocument `json:"registration"`
	Next         time.Time              `json:"nextCheck,omitzero"`
	// Evidence is where the evidence of the diagnoses is stored.
	Evidence string `json:"evidence,omitempty"`
}

// FindingDocument is a finding in JSON.
type FindingDocument struct {
	Instance  string `json:"instance"`          // also of an object that belongs to one; "" if there is none
	Subject   string `json:"subject,omitempty"` // the object, if the finding is about one and not about an instance, such as nodepool/general
	Node      string `json:"node"`
	Group     string `json:"group"`
	Owner     string `json:"owner"`
	Zone      string `json:"zone,omitempty"`
	Kind      string `json:"kind"`
	Condition string `json:"condition,omitempty"` // the node condition that failed, for that kind only
	// Event is what EC2 has scheduled, for that kind only.
	Event   *EventDocument `json:"event,omitempty"`
	Stage   string         `json:"stage"`
	Since   time.Time      `json:"since"`
	Due     time.Time      `json:"due"`
	Summary string         `json:"summary"`
	Next    *StepDocument  `json:"next,omitempty"`
	// Contradiction is what a second source says against it. A contradicted finding is only reported.
	Contradiction string `json:"contradiction,omitempty"`
	// Causes are in the order of roll.Diagnosis. RuledOut has the codes of the causes that were
	// checked and do not apply, NotChecked those that could not be checked. All three are empty
	// if no diagnosis was made.
	Causes     []roll.Cause      `json:"causes"`
	RuledOut   []string          `json:"ruledOut"`
	NotChecked []roll.NotChecked `json:"notChecked"`
}

// EventDocument is an event that EC2 has scheduled, in JSON.
type EventDocument struct {
	ID        string    `json:"id,omitempty"`
	Code      string    `json:"code"` // such as instance-retirement
	NotBefore time.Time `json:"notBefore"`
	NotAfter  time.Time `json:"notAfter,omitzero"`
	Deadline  time.Time `json:"notBeforeDeadline,omitzero"`
}

// Scheduled returns the event of a finding, nil for other kinds than Scheduled.
func Scheduled(f roll.Finding) *EventDocument {
	if f.Kind != roll.Scheduled {
		return nil
	}
	e := f.Event
	return &EventDocument{ID: e.ID, Code: e.Code, NotBefore: e.NotBefore.UTC(), NotAfter: e.NotAfter.UTC(), Deadline: e.Deadline.UTC()}
}

// StepDocument is the next step for a finding if nothing changes, in JSON.
type StepDocument struct {
	Do string    `json:"do"`
	At time.Time `json:"at"`
	// Approve: it waits for a person's approval from then on.
	Approve bool `json:"approve,omitempty"`
}

// OrderDocument is an order in JSON.
type OrderDocument struct {
	ID       string    `json:"id"`
	Instance string    `json:"instance"`
	Node     string    `json:"node"`
	Claim    string    `json:"claim,omitempty"` // the NodeClaim to delete, for that act only
	Group    string    `json:"group"`
	Kind     string    `json:"kind"`
	Action   string    `json:"action"`
	At       time.Time `json:"at"`
	Expires  time.Time `json:"expires"`
}

// OutcomeDocument is the outcome of an order, in JSON.
type OutcomeDocument struct {
	Order    string `json:"order"`
	Instance string `json:"instance"`
	Action   string `json:"action"`
	Result   string `json:"result"`
	Reason   string `json:"reason,omitempty"`
	Detail   string `json:"detail"`
}

// Document returns the JSON form of the check. Every list is present, even if empty.
func (c Check) Document() Document {
	d := Document{
		At: c.Snapshot.At.UTC(), Cluster: c.Snapshot.Cluster.ID.Name, Account: c.Snapshot.Cluster.ID.Account, Region: c.Snapshot.Cluster.ID.Region, Mode: c.Mode,
		Complete: c.Complete(), Notes: c.Notes(),
		Nodes: c.Assessment.Nodes, Ready: c.Assessment.Ready, Waiting: c.Assessment.Waiting,
		Findings: c.findings(c.Findings()), Watching: c.findings(c.Watching()),
		Orders: []OrderDocument{}, Outcomes: []OutcomeDocument{},
		Held: append([]plan.Held{}, c.Plan.Held...), NotNodes: append([]assess.NotNode{}, c.Assessment.NotNodes...),
		Registration: Registration(c.Assessment), Next: c.Plan.Next.UTC(), Evidence: c.Evidence, Unjudged: c.Assessment.Unjudged,
	}
	for _, o := range c.Plan.Orders {
		d.Orders = append(d.Orders, OrderDocument{ID: o.ID, Instance: string(o.Instance), Node: o.Node, Claim: o.Claim, Group: string(o.Group), Kind: string(o.Kind), Action: string(o.Action), At: o.At.UTC(), Expires: o.Expires.UTC()})
	}
	for _, o := range c.Outcomes {
		d.Outcomes = append(d.Outcomes, OutcomeDocument{Order: o.Order.ID, Instance: string(o.Order.Instance), Action: string(o.Order.Action), Result: string(o.Result), Reason: string(o.Reason), Detail: o.Detail})
	}
	return d
}

func (c Check) findings(findings []roll.Finding) []FindingDocument {
	out := []FindingDocument{}
	for _, f := range findings {
		why := c.Diagnoses[f.Key()]
		d := FindingDocument{
			Node: f.Node, Group: string(f.Group), Owner: string(f.Owner), Zone: f.Zone,
			Kind: string(f.Kind), Condition: f.Condition, Event: Scheduled(f), Stage: string(f.Stage), Since: f.Since.UTC(), Due: f.Due.UTC(), Summary: f.Summary, Contradiction: f.Contradiction,
			Causes: listed(why.Causes), RuledOut: append([]string{}, why.RuledOut...), NotChecked: append([]roll.NotChecked{}, why.NotChecked...),
		}
		_, d.Subject = f.Instance.Named()
		d.Instance = string(f.Machine())
		if s := c.Plan.Steps[f.Key()]; s.Do != "" {
			d.Next = &StepDocument{Do: string(s.Do), At: s.At.UTC(), Approve: s.Approve.Needed()}
		}
		out = append(out, d)
	}
	return out
}
