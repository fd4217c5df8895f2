package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/testbed"
)

// call is a line of the call log: one changing request of Rollcall.
type call struct {
	at   time.Time
	line string
}

// changes returns the changing requests since the log was emptied, in order and in the notation of README.md. The error
// names requests that Rollcall must not make in any scenario.
func (w *world) changes(ctx context.Context) (lines []string, err error) {
	var all []call
	var faults []string
	aws, err := w.bed.Calls(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range aws {
		if reading(c.Action) {
			continue
		}
		all = append(all, call{c.Time, w.awsLine(c)})
		faults = append(faults, forbidden(c)...)
	}
	kubernetes, err := w.bed.KubeCalls(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range kubernetes {
		if c.Code == http.StatusForbidden {
			faults = append(faults, fmt.Sprintf("infra/rbac.yaml does not let %s %s %s %s", c.User, c.Verb, c.Resource, c.Name))
		}
	}
	for _, c := range testbed.Changing(kubernetes) {
		all = append(all, call{c.Time, w.kubeLine(c)})
		if c.User != "rollcall-remediator" {
			faults = append(faults, fmt.Sprintf("%s %s %s was asked for by %s", c.Verb, c.Resource, c.Name, c.User))
		}
	}
	slices.SortStableFunc(all, func(a, b call) int { return a.at.Compare(b.at) })
	for _, c := range all {
		lines = append(lines, c.line)
	}
	if len(faults) > 0 {
		return lines, fmt.Errorf("calls that Rollcall must not make: %s", strings.Join(faults, "; "))
	}
	return lines, nil
}

// reading reports whether a call changes nothing.
func reading(action string) bool {
	return strings.HasPrefix(action, "Describe") || strings.HasPrefix(action, "List") || strings.HasPrefix(action, "Get")
}

func (w *world) awsLine(c testbed.Call) string {
	words := []string{c.Action}
	if c.Action == "Publish" {
		for _, name := range []string{"kind", "severity", "action"} {
			words = append(words, cmp.Or(attribute(c, name), "-"))
		}
	} else {
		for _, r := range c.Resources {
			if strings.HasPrefix(r, "i-") {
				words = append(words, w.named(r))
			}
		}
	}
	if c.ErrorCode != "" {
		words = append(words, c.ErrorCode)
	}
	return strings.Join(words, " ")
}

// attribute returns a message attribute of an sns:Publish call.
func attribute(c testbed.Call, name string) string {
	for key, value := range c.Params {
		if entry, ok := strings.CutSuffix(key, ".Name"); ok && value == name {
			return c.Params[entry+".Value.StringValue"]
		}
	}
	return ""
}

func (w *world) kubeLine(c testbed.KubeCall) string {
	line := fmt.Sprintf("%s %s %s", c.Verb, strings.TrimSuffix(c.Resource, "s"), w.named(c.Name))
	if c.Subresource == "eviction" {
		line = "evict pod " + c.Name
	}
	if c.Code >= http.StatusBadRequest {
		line += fmt.Sprintf(" %d", c.Code)
	}
	return line
}

// forbidden returns faults that no scenario may expect: a tag that is not Rollcall's, and a change by the role that
// only reads.
func forbidden(c testbed.Call) (faults []string) {
	switch c.Action {
	case "CreateTags", "DeleteTags":
		named := false
		for key, value := range c.Params {
			if !strings.HasPrefix(key, "Tag.") || !strings.HasSuffix(key, ".Key") {
				continue
			}
			named = true
			if !slices.Contains(roll.MarkKeys(), value) {
				faults = append(faults, fmt.Sprintf("%s of %s", c.Action, value))
			}
		}
		if !named {
			faults = append(faults, c.Action+" of every tag")
		}
	case "Publish":
	default:
		if c.AccessKeyID != testbed.RemediatorAccessKeyID {
			faults = append(faults, fmt.Sprintf("%s by %s", c.Action, c.AccessKeyID))
		}
	}
	return faults
}
