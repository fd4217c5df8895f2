// Package awstest holds what AWS answers to the requests of Rollcall. moto and the simulated account are both held to it:
// to the error codes, the IDs in error messages, and the fields that Rollcall reads.
package awstest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"rollcall/shared/aws/awserr"
)

// Act is what people and other programs do to an instance. Rollcall sees only how the instance looks afterwards.
type Act string

// The acts. Standby and Drop lower the group's desired capacity.
const (
	Nothing Act = ""
	Protect Act = "is protected from termination"
	Impair  Act = "fails its instance status check"
	Retire  Act = "has a scheduled retirement"
	Stop    Act = "is stopped"
	Start   Act = "is started again"
	Shield  Act = "is protected from scale-in"
	Standby Act = "is put into Standby"
	Return  Act = "is put back into service"
	Drop    Act = "is terminated in its group"
	Forget  Act = "is forgotten by EC2"
)

// Account is an AWS account with what the questions are about.
type Account struct {
	Config aws.Config
	// Names are the IDs, names, ARNs and URLs in the account by what the questions call them, such as Single.
	Names map[string]string
	// Do makes an act, and waits until the APIs show it.
	Do func(act Act, instance string)
	// Moto reports whether moto answers.
	Moto bool
}

// The names of a cluster, its managed node groups, and an Auto Scaling group of two instances.
const (
	Cluster   = "demo"
	NodeGroup = "general"
	Spare     = "spare"
	Group     = "workers"
)

// What has another ID in each account. None of the instances but the members is in an Auto Scaling group; all carry the
// tag of the cluster and of an order.
const (
	Member    = "a member" // of the Auto Scaling group
	Other     = "the other member"
	Single    = "a single one"
	Sleeper   = "the sleeper"
	Guarded   = "the guarded one"
	Ill       = "the ill one"
	Gone      = "the gone one"
	Template  = "the template" // a launch template
	Checks    = "the checks"   // the URL of a FIFO queue, which deduplicates by content
	Orders    = "the orders"   // of one that does not
	Target    = "the target"   // the ARN of the checks
	Topic     = "the topic"
	Schedules = "the schedules" // a schedule group
	Role      = "the role"      // with which a schedule sends to the checks
)

// question is a request and its answer.
type question struct {
	name string
	ask  func(context.Context) (any, error)
	want string
	// moto is what moto answers instead, contrary to the source, or crashes.
	moto, source string
}

// crashes is moto's answer to a question that it cannot be asked.
const crashes = "crashes"

// Contract asks one question after the other and compares the answers.
func Contract(t *testing.T, a Account) {
	t.Helper()
	for _, q := range a.questions() {
		if a.Moto && q.moto == crashes {
			continue
		}
		answer, err := q.ask(t.Context())
		got, want := a.written(answer, err), q.want
		if a.Moto {
			want = cmp.Or(q.moto, want)
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", q.name, got, want)
		}
	}
}

// written writes an answer, or the code of an error and the IDs in its message. Names of the account are replaced by
// what the questions call them.
func (a Account) written(answer any, err error) string {
	text := fmt.Sprint(answer)
	if err != nil {
		text = err.Error() // no service's
		if api, ok := errors.AsType[smithy.APIError](err); ok {
			text = api.ErrorCode()
		}
		for _, id := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(awserr.InvalidInstanceIDs(err), awserr.MissingIDs(err))))) {
			text += " " + id
		}
		if awserr.IsTerminationProtected(err) {
			text += ", protected"
		}
	}
	var pairs []string
	names := slices.SortedFunc(maps.Keys(a.Names), func(x, y string) int { return cmp.Compare(len(a.Names[y]), len(a.Names[x])) })
	for _, name := range names {
		pairs = append(pairs, a.Names[name], name)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// after makes an act before it asks.
func (a Account) after(act Act, instance string, ask func(context.Context) (any, error)) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		a.Do(act, a.Names[instance])
		return ask(ctx)
	}
}
