package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"rollcall/shared/assess"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/roll"
)

// Stored returns the checks whose JSON documents a file holds, one after the other, as rollcall check
// prints them. Its error names the file and the line; the checks before it are returned.
func Stored(name string, data []byte) ([]Check, error) {
	var checks []Check
	documents := json.NewDecoder(bytes.NewReader(data))
	for {
		from := documents.InputOffset()
		from += int64(len(data[from:]) - len(bytes.TrimLeft(data[from:], " \t\r\n")))
		var document json.RawMessage
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) && len(checks) > 0 {
			return checks, nil
		}
		var c Check
		switch {
		case err == nil:
			c, err = stored(document)
		case errors.Is(err, io.EOF):
			err = errors.New("it is empty")
		default:
			from = 0 // the offset of a syntax error counts from the beginning
		}
		if err != nil {
			return checks, fmt.Errorf("%s:%d: not a result of rollcall check --output json: %w", name, 1+bytes.Count(data[:faultAt(err, from, len(data))], []byte("\n")), err)
		}
		checks = append(checks, c)
	}
}

// faultAt returns the offset of a fault in a file. Those in a document count from its start.
func faultAt(err error, start int64, size int) int64 {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		start += syntax.Offset - 1
	}
	if of, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		start += of.Offset - 1
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return int64(size)
	}
	return min(max(start, 0), int64(size))
}

func stored(document json.RawMessage) (Check, error) {
	var d struct {
		Document
		Answers json.RawMessage `json:"answers"` // only explain has them
	}
	err := json.Unmarshal(document, &d)
	switch {
	case err != nil:
		return Check{}, err
	case d.Answers != nil:
		return Check{}, errors.New("it is one of rollcall explain, which may be about a part of the cluster")
	case d.At.IsZero() || d.Cluster == "" || d.Mode == "" || d.Findings == nil:
		return Check{}, errors.New("at, cluster, mode or findings is missing")
	}
	c := d.check()
	c.stored = document
	return c, nil
}

// check returns the check that the document describes, as far as it says. A cluster that was not
// read completely and has no nodes counts as not judged.
func (d Document) check() Check {
	c := Check{
		Snapshot: &roll.Snapshot{At: d.At, Cluster: roll.Cluster{ID: roll.ClusterID{Account: d.Account, Region: d.Region, Name: d.Cluster}}},
		Assessment: assess.Assessment{
			Nodes: d.Nodes, Ready: d.Ready, Waiting: d.Waiting, NotNodes: d.NotNodes, Unjudged: d.Unjudged, Notes: d.Notes,
		},
		Diagnoses: map[roll.FindingKey]roll.Diagnosis{},
		Evidence:  d.Evidence,
		Plan:      plan.Plan{Held: d.Held, Steps: map[roll.FindingKey]plan.Step{}, Next: d.Next},
		Mode:      d.Mode,
	}
	if !d.Complete {
		gap := roll.Gap{Scope: roll.ScopeInstances, Detail: "the result says that it is incomplete"}
		if len(d.Notes) > 0 {
			gap.Detail, c.Assessment.Notes = d.Notes[0], d.Notes[1:]
		}
		if d.Nodes == 0 {
			gap.Scope = roll.ScopeNodes
		}
		c.Snapshot.Gaps = []roll.Gap{gap}
	}
	for _, f := range slices.Concat(d.Findings, d.Watching) {
		c.add(f)
	}
	for _, o := range d.Orders {
		c.Plan.Orders = append(c.Plan.Orders, plan.Order{
			ID: o.ID, ClusterID: c.Snapshot.Cluster.ID, Instance: roll.InstanceID(o.Instance), Node: o.Node, Claim: o.Claim,
			Group: roll.Group(o.Group), Kind: roll.Kind(o.Kind), Action: plan.Action(o.Action), At: o.At, Expires: o.Expires,
		})
	}
	for _, o := range d.Outcomes {
		out := remediate.Outcome{Result: remediate.Result(o.Result), Reason: plan.Reason(o.Reason), Detail: o.Detail}
		out.Order = plan.Order{ID: o.Order, Instance: roll.InstanceID(o.Instance), Action: plan.Action(o.Action)}
		for _, ordered := range c.Plan.Orders {
			if ordered.ID == out.Order.ID && ordered.Instance == out.Order.Instance {
				out.Order = ordered
			}
		}
		c.Outcomes = append(c.Outcomes, out)
	}
	return c
}

func (c *Check) add(d FindingDocument) {
	f := roll.Finding{
		Instance: roll.InstanceID(cmp.Or(d.Subject, d.Instance)), Node: d.Node, Group: roll.Group(d.Group), Owner: roll.Owner(d.Owner), Zone: d.Zone,
		Kind: roll.Kind(d.Kind), Condition: d.Condition, Stage: roll.Stage(d.Stage), Since: d.Since, Due: d.Due, Summary: d.Summary, Contradiction: d.Contradiction,
	}
	c.Assessment.Findings = append(c.Assessment.Findings, f)
	if len(d.Causes)+len(d.RuledOut)+len(d.NotChecked) > 0 {
		c.Diagnoses[f.Key()] = roll.Diagnosis{Causes: d.Causes, RuledOut: d.RuledOut, NotChecked: d.NotChecked}
	}
	if d.Next != nil {
		step := plan.Step{Do: policy.Do(d.Next.Do), At: d.Next.At}
		if d.Next.Approve {
			step.Approve.Rung = 1
		}
		c.Plan.Steps[f.Key()] = step
	}
}

// Latest returns the latest check of each cluster, and the number of older ones. Clusters of unknown
// accounts may be different ones, even with the same name.
func Latest(checks []Check) (latest []Check, older int) {
	at := map[roll.ClusterID]int{}
	for _, c := range checks {
		i, known := at[c.Snapshot.Cluster.ID]
		switch {
		case !known || c.Snapshot.Cluster.ID.Account == "":
			at[c.Snapshot.Cluster.ID] = len(latest)
			latest = append(latest, c)
		case c.Snapshot.At.After(latest[i].Snapshot.At):
			latest[i] = c
		}
	}
	return latest, len(checks) - len(latest)
}

// oldestOf returns the time of the first of checks.
func oldestOf(checks []Check) (first time.Time) {
	for _, c := range checks {
		first = roll.Earlier(first, c.Snapshot.At)
	}
	return first
}
