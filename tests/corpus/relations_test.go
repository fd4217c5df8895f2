package corpus_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"rollcall/tests/corpus"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// relations are changes of a bundle by which nothing else is wrong than before. rename applies the
// change to the ids in the answer.
var relations = []struct {
	name   string
	change func(c, other generate.Made) generate.Made
	rename func(string) string
}{
	{"lists in another order", shuffled, unchanged},
	{"ids in the reverse order", renamed(otherIDs), otherIDs},
	{"another region", renamed(otherRegion), otherRegion},
	{"weeks earlier", renamed(earlier), unchanged},
	{"beside another cluster", besideOrders, unchanged},
}

// What is found, ordered and held does not depend on the order of lists, on names, on the date, or
// on other clusters in the account. Each relation is tried on one case in five.
func TestOnlyTheFaultMatters(t *testing.T) {
	for nth, r := range relations {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			all := generate.All()
			for i, c := range all {
				if i%len(relations) != nth || slices.Contains(sized, c.Name) {
					continue
				}
				as, err := explained(t.Context(), c)
				must.Succeed(t, err)
				got, err := explained(t.Context(), r.change(c, all[(i+37)%len(all)]))
				must.Succeed(t, err)
				diff := cmp.Diff(judged(as, r.rename), judged(got, unchanged))
				expect.That(t, diff == "", "%s (-as it is +changed)\n%s", c.Name, diff)
			}
		})
	}
}

// sized are cases in which the bytes of the user data matter: compressed, it cannot be renamed.
var sized = []string{"user-data-in-gzip"}

// judged lists what a document says, without its sentences: they may list things in another order.
func judged(d corpus.Document, rename func(string) string) (out []string) {
	for _, f := range d.Findings {
		about := rename(fmt.Sprint(f.Kind, " ", f.Instance, " ", f.Subject, " ", f.Node))
		for _, c := range f.Causes {
			out = append(out, fmt.Sprint(about, ": ", c.Code, " ", c.Confidence))
		}
		for _, code := range f.RuledOut {
			out = append(out, about+": "+code+" ruled out")
		}
		for _, n := range f.NotChecked {
			out = append(out, about+": "+n.Code+" not checked")
		}
	}
	for _, o := range d.Orders {
		out = append(out, rename(fmt.Sprintf("ordered: %+v", o)))
	}
	for _, h := range d.Held {
		out = append(out, rename(fmt.Sprintf("held: %+v", h)))
	}
	slices.Sort(out)
	return out
}

// inOrder are the files and lists whose order means something.
var inOrder = regexp.MustCompile(`^(scaling-activities|ledger)\.json|\.(initContainers|command|args)$`)

// shuffled returns the case with all lists in another order.
func shuffled(c, _ generate.Made) generate.Made {
	r := rand.New(rand.NewPCG(1, uint64(len(c.Name))))
	var shuffle func(path string, v any)
	shuffle = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				shuffle(path+"."+key, v[key])
			}
		case []any:
			for _, inner := range v {
				shuffle(path, inner)
			}
			if !inOrder.MatchString(path) {
				r.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
			}
		}
	}
	return edited(c, func(name string, v map[string]any) { shuffle(name, v) })
}

// edited returns the case with its JSON files changed.
func edited(c generate.Made, edit func(name string, v map[string]any)) generate.Made {
	c.Files = maps.Clone(c.Files)
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		var v map[string]any
		if !strings.HasSuffix(name, ".json") || json.Unmarshal(c.Files[name], &v) != nil {
			continue
		}
		edit(name, v)
		c.Files[name], _ = json.Marshal(v)
	}
	return c
}

var inBase64 = regexp.MustCompile(`[A-Za-z0-9+/]{40,}={0,2}`)

// renamed returns a change of a case that renames in the names of its files, and in their texts, also
// in base64.
func renamed(rename func(string) string) func(c, _ generate.Made) generate.Made {
	return func(c, _ generate.Made) generate.Made {
		files := map[string][]byte{}
		for name, text := range c.Files {
			files[rename(name)] = []byte(rename(inBase64.ReplaceAllStringFunc(string(text), func(s string) string {
				raw, err := base64.StdEncoding.DecodeString(s)
				if err != nil || !utf8.Valid(raw) {
					return s
				}
				return base64.StdEncoding.EncodeToString([]byte(rename(string(raw))))
			})))
		}
		c.Files = files
		return c
	}
}

func unchanged(s string) string { return s }

func otherRegion(s string) string {
	return strings.NewReplacer("eu-west-1", "ap-southeast-2", "euw1-az", "apse2-az").Replace(s)
}

var (
	hexID = regexp.MustCompile(`\b([a-z]+-[0-9a-f]{8,17}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b`)
	stamp = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d`)
	// dated begins the lines of a journal, which have no year.
	dated = regexp.MustCompile(`\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d\b`)
)

// otherIDs gives ids of EC2, and UUIDs, their complement: they sort the other way round.
func otherIDs(s string) string {
	return hexID.ReplaceAllStringFunc(s, func(id string) string {
		prefix, digits, _ := strings.Cut(id, "-")
		if len(prefix) == 8 {
			prefix, digits = "", id
		} else {
			prefix += "-"
		}
		return prefix + strings.Map(func(c rune) rune {
			const hex = "0123456789abcdef"
			if d := strings.IndexRune(hex, c); d >= 0 {
				return rune(hex[15-d])
			}
			return c
		}, digits)
	})
}

func earlier(s string) string {
	shift := func(s string, stamps *regexp.Regexp, layout string, year int) string { // year is that of stamps without one
		return stamps.ReplaceAllStringFunc(s, func(text string) string {
			at, err := time.Parse(layout, text)
			if err != nil {
				return text
			}
			return at.AddDate(year, 0, 0).Add(-1000 * time.Hour).Format(layout)
		})
	}
	return shift(shift(s, stamp, "2006-01-02T15:04:05", 0), dated, time.Stamp, 2026)
}

// perAccount are the files that list things of other clusters too. Without the VPC's own file, DHCP
// options are taken for those of the VPC only if there are no others.
var perAccount = []string{
	"attached-policies", "auto-scaling-groups", "auto-scaling-instances", "images", "instance-profiles", "instance-status", "instances", "launch-template-versions",
	"nat-gateways", "network-acls", "roles", "route-tables", "scaling-activities", "security-groups", "subnets", "vpc-attributes", "vpc-endpoints",
}

var ordersCluster = renamed(func(s string) string {
	return strings.NewReplacer("payments", "orders", "10.0.", "10.9.", "10-0-", "10-9-").Replace(otherIDs(s))
})

// besideOrders returns the case with the cluster of another case in the same account, in a VPC of its own.
func besideOrders(c, other generate.Made) generate.Made {
	other = ordersCluster(other, other)
	return edited(c, func(name string, v map[string]any) {
		var more map[string]any
		if !slices.Contains(perAccount, strings.TrimSuffix(name, ".json")) || json.Unmarshal(other.Files[name], &more) != nil {
			return
		}
		for key, theirs := range more {
			ours, ok := v[key].([]any)
			if list, isList := theirs.([]any); ok && isList {
				v[key] = append(ours, list...)
			} else if v[key] == nil {
				v[key] = theirs
			}
		}
	})
}
