package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/roll"
)

// Recorder records the answers that clients receive, for a bundle. It changes neither requests nor
// answers, and is safe for concurrent use.
type Recorder struct {
	mu sync.Mutex
	c  *contents
	// torn are the files with a missing answer, and why it is missing. Without the answer, the file
	// would mean that there is nothing.
	torn map[string]string
}

// NewRecorder returns a recorder for a capture at the given time.
func NewRecorder(at time.Time) *Recorder {
	r := &Recorder{c: newContents(), torn: map[string]string{}}
	r.c.at = at.UTC()
	return r
}

// Remember adds what an earlier check saw of the nodes, by name.
func (r *Recorder) Remember(nodes map[string]evidence.Remembered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := tableOf[evidence.Remembered](r.c, fileLedger)
	t.held = true
	for name, seen := range nodes {
		t.set(name, seen)
	}
}

// AWS returns a configuration whose clients' calls about the captured cluster are recorded. What is
// recorded has no terminated instances and no names of other clusters.
func (r *Recorder) AWS(cfg aws.Config) aws.Config {
	return apistats.Intercept(cfg, func(ctx context.Context, in any, next apistats.Call) (any, error) {
		out, err := next(ctx, in)
		r.mu.Lock()
		defer r.mu.Unlock()
		o := operations[reflect.TypeOf(in)]
		whole := o.whole != nil && o.whole(in)
		switch {
		case err == nil && o.record != nil:
			o.record(r.c, in, out)
		case err != nil && whole && !awserr.IsNotFound(err):
			r.torn[o.file] = awserr.Describe(err, apistats.Action(ctx), "")
		case err != nil && whole && o.file == fileNodeGroups: // a missing group is an answer too
			r.c.nodeGroups().held = true
		}
		return out, err
	})
}

// Dialer creates clients of a cluster's Kubernetes API; *kube.Dialer is one.
type Dialer interface {
	Dial(roll.Cluster) (*kube.Client, error)
}

// DialerFunc is a function that implements Dialer.
type DialerFunc func(roll.Cluster) (*kube.Client, error)

// Dial implements Dialer.
func (d DialerFunc) Dial(c roll.Cluster) (*kube.Client, error) { return d(c) }

// Kube returns a dialer that records what is read with kube.Client.Read. Listings by Nodes and
// NodeClaims, which reduce objects, are not recorded: a capture also reads kube.AllNodes.
func (r *Recorder) Kube(next Dialer) DialerFunc {
	return func(c roll.Cluster) (*kube.Client, error) {
		client, err := next.Dial(c)
		if err != nil {
			return nil, err
		}
		return client.Noting(r.note), nil
	}
}

func (r *Recorder) note(q kube.Question, objects []*kube.Item, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var files []string
	for _, kind := range q.Kinds() {
		if s := servedAs(kind); s != nil && !slices.Contains(files, s.file) {
			files = append(files, s.file)
		}
	}
	none := errors.Is(err, kube.ErrGone) || errors.Is(err, kube.ErrNoNodeClaims) || errors.Is(err, kube.ErrNoEC2NodeClasses)
	for _, file := range files {
		switch t := r.c.objects(file); {
		case q.ByName() && file == fileNodes: // the list of all shows whether it exists
			if err == nil {
				r.objects(objects)
			}
		case none:
			t.held = true
		case err != nil:
			r.torn[file] = fmt.Sprintf("%s: %v", q, err)
			if file == fileNodes {
				kind, _ := kube.Fault(roll.Cluster{}, err, "")
				r.c.refused[file] = refusal{code: cmp.Or(codes[kind], http.StatusServiceUnavailable)}
			}
		default:
			if file == fileNodes { // all of them, so earlier failures do not matter
				delete(r.torn, file)
				delete(r.c.refused, file)
			}
			t.held = true
			r.objects(objects)
		}
	}
}

// codes are the HTTP statuses with which an API server reports errors.
var codes = map[roll.GapKind]int{
	roll.GapUnauthorized: http.StatusUnauthorized, roll.GapDenied: http.StatusForbidden,
	roll.GapThrottled: http.StatusTooManyRequests, roll.GapFailed: http.StatusInternalServerError,
}

func servedAs(kind string) *resource {
	for i := range served {
		if served[i].kind == kind {
			return &served[i]
		}
	}
	return nil
}

func (r *Recorder) objects(all []*kube.Item) {
	for _, one := range all {
		read, err := kube.Decode[item](one)
		if err != nil || read.Metadata.Name == "" {
			continue
		}
		i := *read
		i.object = one
		if s := servedAs(i.Kind); s != nil {
			// A node that is read by name after the list of all is already in it.
			r.c.objects(s.file).keep(i)
		}
	}
}

// keep is put without marking the file as complete.
func (t *table[T]) keep(row T) {
	held := t.held
	t.put(row)
	t.held = held
}

// Lacks returns, by file name, why an answer is missing in each file that Files leaves out.
func (r *Recorder) Lacks() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.torn)
}
