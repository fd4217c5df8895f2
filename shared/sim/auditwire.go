package sim

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// This file reads what Rollcall sends as a recipient would, without the product's types.

type order struct {
	ID, Cluster, Instance, Node, Group, Kind, Action, Why string
	FirstSeen, At, Expires                                time.Time
}

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

var acts = map[act]string{
	actTerminate: "terminate", actReboot: "reboot", actCordon: "cordon", actEvict: "drain", actDeleteNode: "delete-node", actDeleteClaim: "delete-nodeclaim",
}

type noticed struct {
	Cluster, Group, Kind, Action, Ordered, Cause string
	News                                         []string
	Incident                                     *noticedIncident
	Nodes                                        *struct{ All, Ready int }
	Instances                                    []noticedInstance
	Ended                                        []noticedEnded
	Truncated                                    int
}

type noticedIncident struct{ ID string }

type noticedInstance struct {
	Instance, Subject, Node, Stage, Order, Held, Detail string
	New                                                 bool
	Since                                               time.Time
	Approve                                             *struct {
		Order string
		Acts  []string
		Until time.Time
	}
}

type noticedEnded struct{ Instance, How, After, Spot string }

// about identifies a finding: an instance or another subject, and the kind.
type about struct{ instance, kind string }

// checkup is the published result of a check: what it found, holds and will do.
type checkup struct {
	cluster string
	whole   bool
	nodes   int            // nodes found
	found   []about        // at any stage, and what is still starting
	opened  []about        // past the first stage
	kept    map[about]bool // what it could not observe and remembers
	causes  []caused       // the decisive causes of what it found
	open    []about        // what is overdue, and of which no decisive cause is known
	held    []withheld
	ordered []string // instances
	steps   []following
	trouble string // of the cluster as a whole, as the check records it
}

type withheld struct {
	about
	node, group, action, reason, detail string
	question                            string // the order that awaits an approval
}

type following struct {
	instance, do string
	at           time.Time
}

// passes has the reasons that end by time, by the next check, or by Rollcall's next act.
var passes = map[string]bool{
	"NotReadYet": true, "NotSeenTwice": true, "AlreadyBegun": true, "StormCooldown": true, "CauseEnded": true, "OtherFinding": true, "OneAtATime": true, "ActionFailed": true,
	"ActionsPerHour": true, "ActionsPerCheck": true, "ActionUnresolved": true, "ReplacementPending": true, "ApprovalUnrecorded": true,
	// These end with the policy, which other rules check.
	"Stopped": true, "ModeObserve": true, "ModeNotify": true,
	// These concern an order, and end with the next one.
	"OrderExpired": true, "OrderUnmarked": true, "TargetUnreadable": true, "NotRecorded": true, "EvidenceNotStored": true, "PolicyUnreadable": true, "NoticeNotSent": true,
}

// leftName returns the name of the volume or interface that a subject is, and false if it is neither.
func leftName(subject string) (string, bool) {
	kind, name, _ := strings.Cut(subject, "/")
	return name, kind == "volume" || kind == "eni"
}

// keepsAsIs reports whether rollcall:hold holds an instance: until a date, or by a value that does not mean no.
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

func declines(value string) bool {
	value = strings.TrimSpace(value)
	return strings.EqualFold(value, "false") || strings.EqualFold(value, "no")
}
