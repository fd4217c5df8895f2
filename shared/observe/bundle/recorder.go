package bundle

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"rollcall/shared/evidence"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// Recorder remembers for a bundle what clients are answered. It changes no question and no
// answer, and may be used from several goroutines.
type Recorder struct {
	mu sync.Mutex
	c  *contents
	// torn are the files of which some answer is missing, and why: a file without it
	// would say that there is nothing.
	torn map[string]string
	// entries: all access entries were listed.
	entries bool
}

// NewRecorder makes a recorder of a capture that happens at a time.
func NewRecorder(at time.Time) *Recorder {
	r := &Recorder{c: newContents(), torn: map[string]string{}}
	r.c.at = at.UTC()
	return r
}

// Remember adds what an earlier check saw of the nodes, by their names.
func (r *Recorder) Remember(nodes map[string]evidence.Remembered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.c.remembered.held = true
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		r.c.remembered.put(remembered{name, nodes[name]})
	}
}

// Dialer makes clients of a cluster's Kubernetes API; *kube.Dialer is one.
type Dialer interface {
	Dial(roll.Cluster) (*kube.Client, error)
}

// RecordedKube makes clients whose readings are remembered.
type RecordedKube struct {
	r    *Recorder
	next Dialer
}

// Kube remembers what is read by kube.Client.Read. Listings by Nodes and NodeClaims,
// which cut objects down, are not: a capture reads kube.AllNodes beside them.
func (r *Recorder) Kube(next Dialer) *RecordedKube { return &RecordedKube{r, next} }

// Dial implements the dialers of observe and collect.
func (k *RecordedKube) Dial(c roll.Cluster) (*kube.Client, error) {
	client, err := k.next.Dial(c)
	if err != nil {
		return nil, err
	}
	return client.Noting(k.r.note), nil
}

// note remembers the objects that the Kubernetes API answered with.
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
		switch t := r.c.objects[file]; {
		case q.ByName() && file == fileNodes: // the list of all tells whether it is there
			if err == nil {
				r.objects(objects)
			}
		case none:
			t.held = true
		case err != nil:
			r.torn[file] = fmt.Sprintf("%s: %v", q, err)
			if file == fileNodes {
				r.c.refused[file] = refusal{code: codeOf(err)}
			}
		default:
			if file == fileNodes { // all of them, whatever failed before
				delete(r.torn, file)
				delete(r.c.refused, file)
			}
			t.held = true
			r.objects(objects)
		}
	}
}

// codeOf is the HTTP status by which an API server would have said the same.
func codeOf(err error) int {
	switch kind, _ := kube.Fault(roll.Cluster{}, err, ""); kind {
	case roll.GapUnauthorized:
		return http.StatusUnauthorized
	case roll.GapDenied:
		return http.StatusForbidden
	case roll.GapThrottled:
		return http.StatusTooManyRequests
	case roll.GapFailed:
		return http.StatusInternalServerError
	}
	return http.StatusServiceUnavailable
}

func servedAs(kind string) *resource {
	for i := range served {
		if served[i].kind == kind {
			return &served[i]
		}
	}
	return nil
}

// objects remembers objects by what they say that they are.
func (r *Recorder) objects(all []*kube.Item) {
	for _, one := range all {
		read, err := kube.Decode[item](one)
		if err != nil || read.Metadata.Name == "" {
			continue
		}
		i := *read
		i.raw, i.answered = one.JSON(), one
		if s := servedAs(i.Kind); s != nil {
			// A node that is read by its name after the list of all is in it already.
			r.c.objects[s.file].keep(i)
		}
	}
}

// keep is put without the claim that the file is whole.
func (t *table[T]) keep(row T) {
	held := t.held
	t.put(row)
	t.held = held
}

// Lacks tells of each file that Files leaves out because an answer is missing why that
// is, by the file's name.
func (r *Recorder) Lacks() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.torn)
}
