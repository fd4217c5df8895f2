package corpus_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"rollcall/tests/corpus"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// everything drops every file and field of every case instead of a sample, which takes half an
// hour; part runs one of several parts of that, each with every nth case:
//
//	go test ./tests/corpus -run TestWhatIsNotKnownProvesNothing -timeout 2h -everything
//	go test ./tests/corpus -run TestWhatIsNotKnownProvesNothing -everything -part 3/10
var (
	everything = flag.Bool("everything", false, "drop every file and every field of every case")
	part       = flag.String("part", "1/1", "the part of the cases, such as 3/10")
)

// The sample drops one in filesIn of the files and one in fieldsIn of the fields.
const filesIn, fieldsIn = 8, 150

// loss is a file or a field that is missing from a bundle.
type loss struct {
	file, field string // field "" is the whole file
	text        []byte
}

func (l loss) String() string { return strings.TrimSpace(l.file + " " + l.field) }

// losses returns all losses of a case.
func losses(files map[string][]byte) (out []loss) {
	for _, file := range slices.Sorted(maps.Keys(files)) {
		out = append(out, loss{file: file})
		var v any
		if !strings.HasSuffix(file, ".json") || json.Unmarshal(files[file], &v) != nil {
			continue
		}
		walk(v, "", func(path string, without func() func()) {
			restore := without()
			text, err := json.Marshal(v)
			restore()
			if err == nil {
				out = append(out, loss{file, path, text})
			}
		})
	}
	return out
}

// walk visits every field below a value. without removes the field, and the function that it
// returns restores it.
func walk(at any, path string, visit func(path string, without func() func())) {
	switch at := at.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(at)) {
			inner, kept := strings.TrimPrefix(path+"."+key, "."), at[key]
			visit(inner, func() func() {
				delete(at, key)
				return func() { at[key] = kept }
			})
			walk(kept, inner, visit)
		}
	case []any:
		for i := range at {
			walk(at[i], fmt.Sprintf("%s[%d]", path, i), visit)
		}
	}
}

// allowed are losses after which a cause may still be found or ruled out: what is left does not
// show that something is missing.
var allowed = []struct{ what, why string }{
	{`^instances\.json .*\.IamInstanceProfile$`, "EC2 prints it of instances that have one alone"},
	{`^nodes\.json [^ ]*\]\.spec(\.providerID)?$`, "a node that nobody's controller has taken for its own yet looks like that"},
	{`^nodes\.json .*\.metadata\.labels`, "a label that is not there is what some causes are"},
	{`^nodes\.json .*\.spec\.taints$`, "a node without taints has no such list"},
	{`^aws-auth\.json data(\.mapRoles)?$`, "without mappings there is no such text"},
	{`^pods\.json .*\.spec\.volumes(\[\d+\]\.name)?$`, "a pod that mounts nothing has no such list, and a volume without a name is none"},
	{`^roles\.json .*\.Condition$`, "a statement without any has none"},
	{`^route-tables\.json .*\.Routes\[\d+\]\.State$`, "whoever writes a bundle by hand leaves it out of a route that works"},
	{`^(instances|nat-gateways)\.json .*\.(ImageId|SubnetId|VpcId)$`, "whoever writes a bundle by hand may leave it out; EC2 prints it of every instance and NAT gateway"},
	{`^instances\.json .*\.Platform$`, "EC2 prints it of Windows alone"},
	{`^pods\.json .*\.(spec\.nodeName$|metadata\.ownerReferences|status\.)`, "a pod that is not scheduled, that nobody owns, or that has not started, has none"},
	{`metadata\.(deletionTimestamp|finalizers)$`, "what nobody deletes, or waits for, has none"},
	{`^node(pools|claims)\.json .*\.(spec|requirements)(\[\d+\]\..*)?$`, "what was not asked for is in no list"},
	{`^nodeclaims\.json items\[\d+\]\.status$`, "a claim that Karpenter has not looked at yet has none"},
	{`^vpc-endpoints\.json VpcEndpoints\[0\]\.PolicyDocument$`, "where no endpoint shows its policy, the file was cut by hand, and the policy is taken for the one that is given by default"},
	{`^daemonsets\.json .*\.volumes(\[\d+\].*)?$`, "pods that mount nothing have no such list, and of the volumes only those of the host are kept"},
	{`startupTaints$`, "a node pool without any has no such list"},
	{`^webhooks\.json .*Selector\.`, "a selector that asks for nothing selects everything"},
	{`^webhooks\.json .*\.(webhooks|rules)$`, "a configuration without any has no such list"},
	{`^instances\.json .*\.(PublicIpAddress|Ipv6Address|Tags)$`, "an instance without any has no such field"},
	{`^launch-template-versions\.json .*\.UserData$`, "a template without user data has no such field"},
	{`^ledger\.json`, "what nobody remembers nobody knows"},
	{`^console/`, "the console may be empty at any time"},
	{`^k8s-events\.json items\[\d+\]\.message$`, "the API server takes an event without a message, which says nothing but its reason, and kubectl prints none then"},
	{`^images\.json .*\.ImageOwnerAlias$`, "only images of AWS and its marketplace have it"},
}

// anyAllowed matches whatever one of the rows of allowed matches.
var anyAllowed = sync.OnceValue(func() *regexp.Regexp {
	var rows []string
	for _, a := range allowed {
		rows = append(rows, "(?:"+a.what+")")
	}
	return regexp.MustCompile(strings.Join(rows, "|"))
})

func (l loss) allowed() bool { return anyAllowed().MatchString(l.String()) }

// What is removed from a bundle proves nothing: no cause becomes decisive by it, no act is
// ordered by it, and a cause that is no longer found is not ruled out but not checked.
func TestWhatIsNotKnownProvesNothing(t *testing.T) {
	type job struct {
		c    generate.Made
		base corpus.Document
		l    loss
	}
	jobs, asked := make(chan job), 0
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for j := range jobs {
				proves(t, j.c, j.base, j.l)
			}
		})
	}
	var one, of int
	if _, err := fmt.Sscanf(*part, "%d/%d", &one, &of); err != nil || one < 1 || one > of {
		t.Fatalf("-part %s is no part such as 3/10", *part)
	}
	least := 1000
	if testing.Short() && of == 1 {
		of, least = 6, least/6
	}
	for i, c := range generate.All() {
		if i%of != one-1 {
			continue
		}
		base, err := explained(t.Context(), c)
		must.Succeed(t, err)
		for _, l := range losses(c.Files) {
			if !*everything && !chosen(c.Name, l) || l.allowed() {
				continue
			}
			asked++
			jobs <- job{c, base, l}
		}
	}
	close(jobs)
	wg.Wait()
	expect.That(t, asked >= least, "only %d losses were tried", asked)
	t.Logf("%d losses", asked)
}

// chosen reports whether a loss is in the sample.
func chosen(name string, l loss) bool {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, name, l)
	if l.field == "" {
		return h.Sum32()%filesIn == 0
	}
	return h.Sum32()%fieldsIn == 0
}

// proves compares the diagnosis of a bundle with the diagnosis without a part of it.
func proves(t *testing.T, c generate.Made, base corpus.Document, l loss) {
	got, err := explained(t.Context(), without(c, hiding{file: l.file, hide: func([]byte) []byte { return l.text }}))
	if err != nil {
		if !strings.Contains(err.Error(), ".json") && !strings.Contains(err.Error(), "at.txt") { // refused, with the place
			t.Errorf("%s without %s: %v", c.Name, l, err)
		}
		return
	}
	for _, f := range got.Findings {
		for _, cause := range f.Causes {
			if cause.Confidence == corpus.Decisive && !was(base, f.Kind, cause.Code) && !freed(base, f, cause.Code) {
				t.Errorf("%s without %s: %s is decisive of %s %s", c.Name, l, cause.Code, f.Kind, f.Instance)
			}
		}
	}
	for _, o := range got.Orders {
		held := of(base.Held, o.Instance)
		turn := slices.Contains(held, "OneAtATime") || slices.Contains(held, "ActionsPerCheck")
		// Whatever the status checks say, the node is silent: another act is due, not none.
		turn = turn || l.file == "instance-status.json" && slices.Contains(held, "OwnerDidNotAct")
		if !slices.Contains(base.Orders, o) && !turn {
			t.Errorf("%s without %s: %s of %s is ordered, which is held by the whole bundle: %q", c.Name, l, o.Action, o.Instance, held)
		}
	}
	for _, b := range base.Findings {
		f, found := same(got, b)
		for _, cause := range b.Causes {
			other := slices.Contains(mapped, cause.Code) && was(got, b.Kind, cause.Code)
			if found && !other && slices.Contains(f.RuledOut, cause.Code) {
				t.Errorf("%s without %s: %s of %s %s is ruled out", c.Name, l, cause.Code, b.Kind, b.Instance)
			}
		}
	}
}

// mapped are the codes of one defect: the nodes' role is not mapped, and perhaps the
// controller's is in its place.
var mapped = []string{"NodeRoleNotMapped", "ControllerRoleMapped"}

// was reports whether the cause was decisive in a finding of the kind, or is the same defect.
func was(d corpus.Document, kind, code string) bool {
	return slices.ContainsFunc(d.Findings, func(f corpus.Observed) bool {
		return f.Kind == kind && slices.ContainsFunc(f.Causes, func(c corpus.Cause) bool {
			// EKS reports it itself, and only what was removed contradicts it.
			said := c.Code == "NodeGroupUnhealthy" && code == "NodeRoleNotMapped"
			// Karpenter says it itself, and what was removed said why.
			said = said || kind == "Unlaunched" && code == "NodePoolNotReady"
			return c.Confidence == corpus.Decisive && (said || c.Code == code || slices.Contains(mapped, c.Code) && slices.Contains(mapped, code))
		})
	})
}

// freed reports whether the cause says how the finding shows, the whole bundle had a hint at what would
// explain it, and the hint is named as not checked now. Such a cause is decisive for itself.
func freed(base corpus.Document, f corpus.Observed, code string) bool {
	b, found := same(base, f)
	return code == "KubeletSilent" && found && slices.ContainsFunc(b.Causes, func(hint corpus.Cause) bool {
		return hint.Code != code && slices.ContainsFunc(f.NotChecked, func(n corpus.Unchecked) bool { return n.Code == hint.Code })
	})
}

// same returns the document's finding about the same subject as the given one.
func same(d corpus.Document, f corpus.Observed) (corpus.Observed, bool) {
	i := slices.IndexFunc(d.Findings, func(g corpus.Observed) bool {
		return g.About() == f.About() && g.Kind == f.Kind && (f.About() != "" || g.Node == f.Node)
	})
	if i < 0 {
		return corpus.Observed{}, false
	}
	return d.Findings[i], true
}
