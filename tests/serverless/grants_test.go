package serverless

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rollcall/tests/template"
)

// called holds the AWS actions that each function called in all tests of the package.
var called = map[string]map[string]bool{}

// remember records the calls since the bed was emptied.
func remember(ctx context.Context) error {
	calls, err := bed.Calls(ctx)
	if err != nil {
		return err
	}
	for _, c := range calls {
		for _, name := range []string{StateChange, Sweep, Inspect, Remediate} {
			if c.AccessKeyID != identity(name).AccessKeyID {
				continue
			}
			if called[name] == nil {
				called[name] = map[string]bool{}
			}
			called[name][c.Service+":"+c.Action] = true
		}
	}
	return nil
}

// needed maps a call to the actions it needs, where they differ from its name.
var needed = map[string][]string{
	// A transaction needs the permission of each of its parts, and none of its own.
	"dynamodb:TransactWriteItems": nil,
	// The event bus is called events in IAM, and its calls are signed so too.
}

// unused lists grants that the call log cannot show, with the reason.
var unused = map[string]string{
	"logs:CreateLogStream":   "Lambda writes the log with the function's role",
	"logs:PutLogEvents":      "Lambda writes the log with the function's role",
	"sqs:ReceiveMessage":     "Lambda receives with the function's role",
	"sqs:DeleteMessage":      "Lambda deletes with the function's role",
	"sqs:GetQueueAttributes": "Lambda looks at the queue with the function's role",
	"ec2:DescribeTags":       "inspect reads clusters of more than a thousand instances by their tags",
	"iam:PassRole":           "a permission that CreateSchedule checks, not a call",
	"dynamodb:PutItem":       "a part of a transaction",
	"dynamodb:DeleteItem":    "a part of a transaction",
}

// leastPrivilege compares the calls with the statements of the template's roles: every
// call is granted to the function that made it, and every grant is used.
func leastPrivilege() error {
	var faults []string
	tmpl, err := template.Resolve(written, map[string]string{"Mode": "remediate"})
	if err != nil {
		return err
	}
	for name, id := range template.Functions {
		if _, there := tmpl.Resources[id]; !there {
			continue // it is off by default
		}
		f, err := tmpl.Function(name)
		if err != nil {
			return err
		}
		granted := map[string]bool{}
		for _, s := range f.Statements {
			if s.Effect == "Allow" {
				for _, a := range s.Actions {
					granted[a] = true
				}
			}
		}
		for call := range called[name] {
			if _, other := needed[call]; !other && !granted[call] {
				faults = append(faults, fmt.Sprintf("%s calls %s, which its role does not grant", name, call))
			}
		}
		for action := range granted {
			if _, fine := unused[action]; !fine && !called[name][action] {
				faults = append(faults, fmt.Sprintf("the role of %s grants %s, which it never calls", name, action))
			}
		}
	}
	if len(faults) > 0 {
		slices.Sort(faults)
		return fmt.Errorf("least privilege: %s", strings.Join(faults, "; "))
	}
	return nil
}
