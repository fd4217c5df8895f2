package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rollcall/shared/ledger"
	"rollcall/shared/plan"
	"rollcall/shared/roll"
)

// Memory is what was remembered of a cluster when a check of it began.
type Memory struct {
	From    string // whose memory it is, such as "the ledger of stack rollcall"
	Cluster roll.ClusterID
	State   ledger.State
	// PerHour is limits.actionsPerHour: of the cluster under "", and of relevant groups.
	PerHour map[roll.Group]int
	// Evidence is the folder of all evidence about the instance, "" if unknown.
	Evidence string
}

// Asked is the instance to explain, as EC2 describes it.
type Asked struct {
	ID roll.InstanceID
	// Known is No if EC2 does not know the instance any more. If it does, Instance is set.
	Known    roll.Answer
	Instance roll.Instance
}

// HistoryDocument is one entry of the history of an instance, its group or its cluster, in
// JSON.
type HistoryDocument struct {
	At time.Time `json:"at"`
	// What is, in the order of a usual life: began, not-ready, ready-again, pressed, relieved, rested,
	// announced, missed, seen, opened, told, joined, asked, approved, intended, ended, refused, over;
	// of the group remediate-on, group-good or group-act; of the cluster "cluster" or checked.
	What   string `json:"what"`
	Detail string `json:"detail"` // the same, a sentence for a person
	Kind   string `json:"kind,omitempty"`
	// Instance is another instance of the group, in entries about the group.
	Instance string `json:"instance,omitempty"`
	Action   string `json:"action,omitempty"`
	Order    string `json:"order,omitempty"`
	Result   string `json:"result,omitempty"` // of an act
	Reason   string `json:"reason,omitempty"`
	Cause    string `json:"cause,omitempty"`
	Incident string `json:"incident,omitempty"` // the incident whose notices report it
	Evidence string `json:"evidence,omitempty"` // where the evidence is stored
	Console  string `json:"console,omitempty"`  // the console page of the evidence
}

// groupMemory is how far back acts on a group are listed: as long as they count.
const groupMemory = 24 * time.Hour

// GroupOf returns the remembered group of an instance, false if there is none.
func GroupOf(s ledger.State, id roll.InstanceID) (roll.Group, bool) {
	for k, f := range s.Findings {
		if k.Instance == id {
			return f.Group, true
		}
	}
	for _, a := range slices.Backward(s.Actions) {
		if a.Instance == id {
			return a.Group, true
		}
	}
	for k, n := range s.Notices {
		if _, ok := n.Members[id]; ok {
			return k.Group, true
		}
	}
	return "", false
}

// History returns the history of an instance, its group and its cluster, ordered by time.
// group is the instance's; if it is "", the remembered one is used.
func (m Memory) History(id roll.InstanceID, group roll.Group, now time.Time) []HistoryDocument {
	h := history{State: m.State, region: m.Cluster.Region, id: id}
	h.node()
	h.findings()
	h.notices()
	h.questions()
	h.acts()
	h.refusals()
	if known, ok := GroupOf(m.State, id); ok && group == "" {
		group = known
	}
	h.group(group, now)
	h.cluster()
	slices.SortStableFunc(h.entries, func(a, b HistoryDocument) int { return a.At.Compare(b.At) })
	return h.entries
}

type history struct {
	ledger.State
	region  string
	id      roll.InstanceID
	entries []HistoryDocument
}

// add adds an entry, unless its time is unknown.
func (h *history) add(at time.Time, what string, e HistoryDocument, format string, args ...any) {
	if at.IsZero() {
		return
	}
	e.At, e.What, e.Detail = at.UTC(), what, fmt.Sprintf(format, args...)
	h.entries = append(h.entries, e)
}

func (h *history) node() {
	if n, ok := h.NotReady[h.id]; ok {
		h.add(n.Since, "not-ready", HistoryDocument{}, "its node left Ready; its last recorded status is %s", n.Status)
	}
	for _, t := range h.Flips[h.id] {
		h.add(t, "ready-again", HistoryDocument{}, "its node left Ready and came back")
	}
	if p, ok := h.Pressures[h.id]; ok {
		h.add(p.Since, "pressed", HistoryDocument{}, "its node reported %s", strings.Join(p.Types, ", "))
		h.add(p.Until, "relieved", HistoryDocument{}, "its node no longer reported %s", strings.Join(p.Types, ", "))
	}
	h.add(h.Rests[h.id].Left, "rested", HistoryDocument{}, "it left the warm pool, or Standby")
	if event, at := h.Announced(h.id); event != "" {
		h.add(at, "announced", HistoryDocument{}, "EC2 announced for the Spot Instance: %s", event)
	}
	h.add(h.Missing[h.id], "missed", HistoryDocument{}, "EC2 no longer knew it, or called it gone, while its node was Ready")
}

func (h *history) findings() {
	for _, k := range slices.SortedFunc(maps.Keys(h.Findings), func(a, b roll.FindingKey) int { return strings.Compare(string(a.Kind), string(b.Kind)) }) {
		f := h.Findings[k]
		if k.Instance != h.id {
			continue
		}
		what := string(k.Kind) + inBrackets(f.Condition)
		e := HistoryDocument{Kind: string(k.Kind)}
		h.add(f.Since, "began", e, "the trouble began: %s", what)
		h.add(f.FirstSeen, "seen", e, "a check first saw it: %s", what)
		e.Evidence, e.Console = f.Evidence, evidencePage(h.region, f.Evidence)
		h.add(f.Opened, "opened", e, "the finding was opened: %s; it is %s", what, f.Stage)
	}
}

func (h *history) notices() {
	for _, k := range slices.SortedFunc(maps.Keys(h.Notices), ledger.NoticeKey.Compare) {
		n := h.Notices[k]
		memory, ok := n.Members[h.id]
		if !ok {
			continue
		}
		of := fmt.Sprintf("%s in %s%s", k.Kind, k.Group, roll.Behind(", ", k.Cause))
		e := HistoryDocument{Kind: string(k.Kind), Cause: k.Cause, Incident: n.Incident.ID}
		if told := memory.Told; told != (ledger.Statement{}) {
			e.Reason = told.Held
			h.add(n.SentAt, "told", e, "the latest notice of %s, which said: %s", of, statementWords(told))
		} else {
			h.add(n.Incident.First, "joined", e, "the first notice of %s; no notice named this instance, which joined later (%s)", of, statementWords(memory.Last))
		}
		e.Reason = ""
		h.add(n.Over, "over", e, "%s was over for every instance that the notices named", of)
	}
}

// statementWords returns what a notice says about an instance, in short.
func statementWords(s ledger.Statement) string {
	switch {
	case s.Held != "":
		return "held, " + s.Held
	case s.Order != "":
		return "ordered, by order " + s.Order
	case s.Asked != "":
		return "approval needed, order " + s.Asked
	case s.Drain != "":
		return "cordoned and drained"
	}
	return string(s.Stage)
}

func (h *history) questions() {
	for _, order := range slices.Sorted(maps.Keys(h.Questions)) {
		q := h.Questions[order]
		if q.Instance != h.id {
			continue
		}
		acts := strings.Join(q.Acts, ", ")
		e := HistoryDocument{Kind: string(q.Kind), Action: q.Acts[0], Order: order, Cause: q.Cause}
		h.add(q.At, "asked", e, "a notice asked to approve %s until %s, order %s", acts, roll.Clock(q.Until), order)
		if a, ok := h.Approvals[order]; ok {
			h.add(a.At, "approved", e, "%s approved by %s, by %s", acts, a.By, a.How)
		}
	}
}

func (h *history) acts() {
	for _, a := range h.Actions {
		if a.Instance != h.id {
			continue
		}
		e := HistoryDocument{
			Kind: string(a.Kind), Action: a.Do, Order: a.ID,
			Cause: a.Cause, Evidence: a.Evidence, Console: evidencePage(h.region, a.Evidence),
		}
		by := ""
		if a.Approved != nil {
			by = ", approved by " + a.Approved.By
		}
		h.add(a.At, "intended", e, "%s was begun, order %s%s%s", a.Do, a.ID, by, roll.Behind(": ", a.Why))
		if o := a.Outcome; o != nil {
			e = HistoryDocument{Kind: e.Kind, Action: a.Do, Order: a.ID, Result: string(o.Result)}
			h.add(o.At, "ended", e, "%s %s%s", a.Do, o.Result, roll.Behind(": ", o.Detail))
		}
	}
}

func (h *history) refusals() {
	for _, k := range slices.SortedFunc(maps.Keys(h.Refusals), func(a, b ledger.RefusalKey) int { return strings.Compare(a.Order+a.Reason, b.Order+b.Reason) }) {
		r := h.Refusals[k]
		if r.Instance != h.id {
			continue
		}
		e := HistoryDocument{Kind: string(r.Kind), Action: r.Do, Order: k.Order, Reason: k.Reason}
		h.add(r.At, "refused", e, "the order to %s was refused at the last look: %s", r.Do, k.Reason)
	}
}

func (h *history) group(g roll.Group, now time.Time) {
	if g == "" {
		return
	}
	h.add(h.RemediateSince[g], "remediate-on", HistoryDocument{}, "the first check with mode remediate on for %s", g)
	if g == roll.GroupNone {
		return
	}
	h.add(h.Groups[g].Good, "group-good", HistoryDocument{}, "the latest launch of %s that became a Ready node", g)
	for _, a := range h.ActsOf(g, now.Add(-groupMemory)) {
		if a.Instance == h.id {
			continue
		}
		e := HistoryDocument{Kind: string(a.Kind), Instance: string(a.Instance), Action: a.Do, Order: a.ID, Cause: a.Cause}
		became := "no outcome yet"
		if a.Outcome != nil {
			e.Result = string(a.Outcome.Result)
			became = e.Result
		}
		h.add(a.At, "group-act", e, "also in %s: %s of %s, %s", g, a.Do, a.Instance, became)
	}
}

func (h *history) cluster() {
	if t := h.Trouble; t != nil {
		h.add(t.Since, "cluster", HistoryDocument{Reason: t.Reason}, "the whole cluster was in trouble (%s), last at %s", t.Reason, roll.Clock(t.Last))
	}
	h.add(h.Checked, "checked", HistoryDocument{}, "the last check that read the whole cluster, to the minute")
}

// checkedLate is how long ago the last complete check of a cluster may be before Unchecked
// reports it: three sweeps at their usual pace. Very large clusters are swept less often.
const checkedLate = 15 * time.Minute

// Unchecked returns a warning if the cluster has not been checked lately, because then
// nothing is found, reported or done. Otherwise it returns nil.
func (m Memory) Unchecked(now time.Time) []string {
	switch at := m.State.Checked; {
	case at.IsZero():
		return []string{fmt.Sprintf("%s has no record of a check that read the whole of %s: is it one of its clusters, and can its functions read it?", m.From, m.Cluster.Name)}
	case now.Sub(at) >= checkedLate:
		return []string{fmt.Sprintf("the last check that read the whole of %s was at %s, %s ago: without one, Rollcall finds, reports and does nothing", m.Cluster.Name, roll.Clock(at), Age(now.Sub(at)))}
	}
	return nil
}

// BudgetDocument is the use of an hourly limit of acts, in JSON.
type BudgetDocument struct {
	Of   string `json:"of"` // the cluster's name, or a group
	Used int    `json:"used"`
	Max  int    `json:"max"`
}

// Budgets returns the use of the hourly limits of acts, the cluster's first.
func (m Memory) Budgets(now time.Time) []BudgetDocument {
	var out []BudgetDocument
	for _, g := range slices.Sorted(maps.Keys(m.PerHour)) {
		b := ledger.Budget{Max: m.PerHour[g], Since: now.Add(-plan.Hour)}
		of, acts := m.Cluster.Name, m.State.Actions
		if g != "" {
			of, acts = string(g), m.State.ActsOf(g, b.Since)
		}
		out = append(out, BudgetDocument{Of: of, Used: b.Spent(acts, ""), Max: b.Max})
	}
	return out
}

// evidencePage returns the S3 console page of the evidence, "" if there is none.
func evidencePage(region, where string) string {
	place, inS3 := strings.CutPrefix(where, "s3://")
	bucket, prefix, ok := strings.Cut(place, "/")
	if !inS3 || !ok {
		return ""
	}
	return roll.BucketPage(region, bucket, prefix)
}
