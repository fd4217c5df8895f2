package sim

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// What follows is what Rollcall says, in the auditor's own words: what it sends is read as whoever
// gets it would, and not with what the product reads it with.

// order is an order as it stands in its queue.
type order struct {
	ID        string    `json:"id"`
	Cluster   string    `json:"cluster"`
	Instance  string    `json:"instance"`
	Node      string    `json:"node"`
	Claim     string    `json:"claim"`
	Group     string    `json:"group"`
	Owner     string    `json:"owner"`
	Kind      string    `json:"kind"`
	Action    string    `json:"action"`
	FirstSeen time.Time `json:"firstSeen"`
	Since     time.Time `json:"since"`
	At        time.Time `json:"at"`
	Expires   time.Time `json:"expires"`
	Why       string    `json:"why"`
	Incident  string    `json:"incident"`
}

// readOrder reads an order.
func readOrder(body string) (order, error) {
	var o order
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		return o, err
	}
	if o.ID == "" || o.Cluster == "" || o.Instance == "" || o.Action == "" || o.At.IsZero() || !o.Expires.After(o.At) {
		return o, errors.New("it lacks what it is about, or its times")
	}
	return o, nil
}

// gives reports an order that gives back what an act took, or follows one: nothing is ended by it.
func (o order) gives() bool {
	return o.Action == string(actUncordon) || o.Action == string(actOutOfService)
}

// acts are the acts as orders and the ledger name them, by what they do.
var acts = map[act]string{
	actTerminate: "terminate", actReboot: "reboot", actCordon: "cordon", actEvict: "drain", actDeleteNode: "delete-node", actDeleteClaim: "delete-nodeclaim",
}

// noticed is a notice, as a program that is subscribed reads it.
type noticed struct {
	Cluster   string            `json:"cluster"`
	Group     string            `json:"group"`
	Kind      string            `json:"kind"`
	Action    string            `json:"action"`
	News      []string          `json:"news"`
	Incident  *noticedIncident  `json:"incident"`
	Ordered   string            `json:"ordered"`
	Cause     string            `json:"cause"`
	Instances []noticedInstance `json:"instances"`
	Ended     []noticedEnded    `json:"ended"`
	Truncated int               `json:"truncated"`
}

type noticedIncident struct {
	ID string `json:"id"`
}

type noticedInstance struct {
	Instance string    `json:"instance"`
	Subject  string    `json:"subject"`
	Node     string    `json:"node"`
	Stage    string    `json:"stage"`
	New      bool      `json:"new"`
	Order    string    `json:"order"`
	Held     string    `json:"held"`
	Detail   string    `json:"detail"`
	Since    time.Time `json:"since"`
}

type noticedEnded struct {
	Instance string `json:"instance"`
	How      string `json:"how"`
	Spot     string `json:"spot"`
}

// about is what something is said of: an instance, or another subject, and a kind of finding.
type about struct{ instance, kind string }

// checkup is what a check came to, as it is published: what it found, holds and will do.
type checkup struct {
	cluster string
	whole   bool
	nodes   int            // that it found
	found   []about        // at any stage, and what is still starting
	kept    map[about]bool // what it could not see and remembers
	held    []withheld
	ordered []string // instances
	steps   []following
}

// withheld is an act that is held back.
type withheld struct {
	about
	node, group, action, reason, detail string
}

// following is what follows for an instance.
type following struct {
	instance, do string
	at           time.Time
}

// passes are the reasons that end without a person: by time, by the next check, or by what Rollcall
// does in its turn.
var passes = map[string]bool{
	"NotReadYet": true, "NotSeenTwice": true, "AlreadyBegun": true, "StormCooldown": true, "OtherFinding": true, "OneAtATime": true, "ActionFailed": true,
	"ActionsPerHour": true, "ActionsPerCheck": true, "ActionUnresolved": true, "ReplacementPending": true,
	// These end with the policy, of which the rules ask by themselves.
	"Stopped": true, "ModeObserve": true, "ModeNotify": true,
	// These are of an order, and end with the next one.
	"OrderExpired": true, "OrderUnmarked": true, "TargetUnreadable": true, "NotRecorded": true, "EvidenceNotStored": true, "PolicyUnreadable": true, "NoticeNotSent": true,
}

// leftName is the name of a volume or an interface that a subject is, false if it is none.
func leftName(subject string) (string, bool) {
	kind, name, _ := strings.Cut(subject, "/")
	return name, kind == "volume" || kind == "eni"
}

// keepsAsIs reports whether the tag rollcall:hold keeps an instance as it is: with true, or through a
// date.
func keepsAsIs(value string, now time.Time) bool {
	value = strings.TrimSpace(value)
	if day, err := time.Parse(time.DateOnly, value); err == nil {
		return now.Before(day.Add(24 * time.Hour))
	}
	if until, err := time.Parse(time.RFC3339, value); err == nil {
		return now.Before(until)
	}
	return !declines(value)
}

// declines reports the values of a tag by which a person says no.
func declines(value string) bool {
	value = strings.TrimSpace(value)
	return strings.EqualFold(value, "false") || strings.EqualFold(value, "no")
}
