package lambdas

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"rollcall/shared/plan"
	"rollcall/shared/report"
	"rollcall/shared/report/emit"
	"rollcall/shared/report/metric"
	"rollcall/shared/roll"
)

const (
	// heldLines limits the lines about held acts in one check. The next checks log the rest.
	heldLines = 100
	// heldAgain is the interval at which a held act is logged again, so that nobody has to
	// search back to its beginning.
	heldAgain = time.Hour
	// changeLines limits the lines of each message about changes in one check.
	changeLines = 1000
)

// say logs a check: changes, held acts, and a summary line. The volume depends on what
// happens in the cluster, not on the number of findings.
func (h *Inspect) say(log *slog.Logger, events []emit.Event, result report.Check, took time.Duration) {
	unread(log, result)
	if a := result.Plan.Alarm; a != nil {
		log.Warn("cluster troubled", "reason", a.Reason, "since", a.Since, "over", a.Over, "detail", a.Detail)
	}
	changed(log, events)
	for _, held := range h.held.due(result.Snapshot.Cluster.ID.Name, result.Plan.Held, result.Snapshot.At) {
		log.Info("act held", "instance", held.Instance, "node", held.Node, "group", held.Group, "kind", held.Kind,
			"action", held.Action, "reason", held.Reason, "detail", held.Detail)
	}
	for _, o := range result.Outcomes {
		log.Info("act ordered", "order", o.Order.ID, "instance", o.Order.Instance, "node", o.Order.Node, "group", o.Order.Group, "kind", o.Order.Kind,
			"action", o.Order.Action, "result", o.Result, "reason", o.Reason, "detail", o.Detail)
	}
	findings, reasons, kinds := result.Findings(), map[plan.Reason]int{}, map[roll.Kind]int{}
	for _, held := range result.Plan.Held {
		reasons[held.Reason]++
	}
	for _, f := range findings {
		kinds[f.Kind]++
	}
	log = log.With("complete", result.Complete(), "mode", result.Mode, "nodes", result.Assessment.Nodes, "ready", result.Assessment.Ready, "waiting", result.Assessment.Waiting,
		"findings", len(findings), "kinds", kinds, "oldest", int(oldest(findings, result.Snapshot)), "orders", len(result.Plan.Orders), "held", len(result.Plan.Held), "heldFor", reasons, "took", took.Milliseconds())
	if next := result.Plan.Next; !next.IsZero() {
		log = log.With("next", next.UTC())
	}
	log.Info("checked")
}

// unread logs what a check could not read or do, and its remarks.
func unread(log *slog.Logger, result report.Check) {
	gaps, left := first(result.Snapshot.Gaps, heldLines)
	for _, g := range gaps {
		log.Warn("not read", "scope", g.Scope.String(), "reason", g.Kind, "call", g.Call, "detail", g.Detail)
	}
	leftOut(log, "not read", left)
	faults, left := first(result.Faults, heldLines)
	for _, f := range faults {
		log.Error("not done", "error", f)
	}
	leftOut(log, "not done", left)
	if why := result.Snapshot.Relisted; why != "" {
		log.Warn("listed in full", "detail", why)
	}
	remarks, left := first(result.Assessment.Notes, heldLines)
	for _, r := range remarks {
		log.Info("remark", "detail", r)
	}
	leftOut(log, "remark", left)
}

// changed logs findings that opened, escalated or ended, and acts whose outcome this check
// settled.
func changed(log *slog.Logger, events []emit.Event) {
	lines := map[string]int{}
	for _, e := range events {
		text, keys := line(e)
		if text == "" {
			continue
		}
		if lines[text]++; lines[text] <= changeLines {
			log.LogAttrs(context.Background(), slog.LevelInfo, text, keys...)
		}
	}
	for _, text := range []string{opened, escalated, resolved, settled} {
		leftOut(log, text, lines[text]-changeLines)
	}
}

// Messages of the lines about changes.
const (
	opened    = "finding opened"
	escalated = "finding escalated"
	resolved  = "finding resolved"
	settled   = "act settled"
)

// line returns the log line of an event; "" for none.
func line(e emit.Event) (text string, keys []slog.Attr) {
	switch d := e.Detail.(type) {
	case emit.Finding:
		text = opened
		if e.DetailType == emit.FindingEscalated {
			text = escalated
		}
		keys = append(about(d.Subject), slog.String("stage", d.Stage), slog.Time("since", d.Since), slog.Time("deadline", d.Due), slog.String("detail", d.Summary),
			slog.String("cause", cmp.Or(d.Cause, metric.NoCause)), slog.String("why", d.Why), slog.String("evidence", d.Evidence))
	case emit.Resolved:
		text = resolved
		keys = append(about(d.Subject), slog.String("stage", d.Stage), slog.Time("since", d.Since), slog.String("how", string(d.How)))
	case emit.Action:
		if d.Order == "" {
			return "", nil // the act is held; see "act held"
		}
		text = settled
		keys = append(about(d.Subject), slog.String("order", d.Order), slog.String("action", d.Action), slog.String("result", string(d.Result)),
			slog.String("reason", d.Reason), slog.String("detail", d.Detail))
	}
	return text, keys
}

func about(s emit.Subject) []slog.Attr {
	return []slog.Attr{slog.String("instance", s.Instance), slog.String("node", s.Node), slog.String("group", s.Group), slog.String("kind", s.Kind)}
}

// first returns up to most elements of a list, and how many are left.
func first[T any](all []T, most int) (some []T, left int) {
	n := min(len(all), most)
	return all[:n], len(all) - n
}

func leftOut(log *slog.Logger, text string, lines int) {
	if lines > 0 {
		log.Warn("lines left out", "line", text, "lines", lines)
	}
}

// heldBook records which held acts were logged, per environment. A new environment logs them
// again.
type heldBook map[string]map[heldAct]saidHeld

type heldAct struct {
	instance roll.InstanceID
	kind     roll.Kind
	action   plan.Action
}

type saidHeld struct {
	reason plan.Reason
	at     time.Time // when it was logged; zero if it was not
}

// due returns the held acts of a cluster to log now, at most heldLines. New ones and those
// with a changed reason come first, then those that were logged longest ago.
func (b *heldBook) due(cluster string, held []plan.Held, now time.Time) []plan.Held {
	if *b == nil {
		*b = heldBook{}
	}
	before, after := (*b)[cluster], map[heldAct]saidHeld{}
	(*b)[cluster] = after // acts that are no longer held are dropped
	said := func(h plan.Held) time.Time {
		if s := before[act(h)]; s.reason == h.Reason {
			return s.at
		}
		return time.Time{}
	}
	var due []plan.Held
	for _, h := range held {
		after[act(h)] = saidHeld{reason: h.Reason, at: said(h)}
		if now.Sub(said(h)) >= heldAgain {
			due = append(due, h)
		}
	}
	slices.SortStableFunc(due, func(a, b plan.Held) int { return said(a).Compare(said(b)) })
	due, _ = first(due, heldLines)
	for _, h := range due {
		after[act(h)] = saidHeld{reason: h.Reason, at: now}
	}
	return due
}

func act(h plan.Held) heldAct { return heldAct{h.Instance, h.Kind, h.Action} }
