package corpus

import (
	"slices"
	"strings"
	"testing"
)

const (
	one = "i-0000000000000001a"
	two = "i-0000000000000002b"
)

func decisive(code string) Cause   { return Cause{Code: code, Confidence: Decisive} }
func suggestive(code string) Cause { return Cause{Code: code, Confidence: Suggestive} }

// told returns a document with one finding about the first instance.
func told(causes ...Cause) Document {
	return Document{Complete: true, Findings: []Observed{{Instance: one, Kind: "Unregistered", Causes: causes}}}
}

// wanted returns an expectation with that finding.
func wanted(f Finding) Expectation {
	f.Instance, f.Kind = one, "Unregistered"
	return Expectation{Findings: []Finding{f}}
}

func TestVerify(t *testing.T) {
	no := false
	ruled := told(decisive("A"))
	ruled.Findings[0].RuledOut, ruled.Findings[0].NotChecked = []string{"B"}, []Unchecked{{"C", "not captured"}}
	both := told(decisive("A"))
	both.Findings[0].RuledOut = []string{"A"}
	silent := told()
	silent.Findings[0].NotChecked = []Unchecked{{Code: "C"}}
	acted := told()
	acted.Orders, acted.Held = []Order{{one, "terminate"}}, []Held{{two, "SharedCause"}}
	said := func(text string) Document {
		d := told(decisive("A"))
		d.Findings[0].Causes[0].Summary = text
		return d
	}
	twice := told()
	twice.Findings = append(twice.Findings, twice.Findings[0])
	ghost := Document{Findings: []Observed{{Node: "ip-10-0-0-1", Kind: "Ghost"}}}
	withOrders := func(orders []Order, held ...Held) Expectation {
		e := wanted(Finding{})
		e.Orders, e.Held = &orders, held
		return e
	}
	incomplete := wanted(Finding{})
	incomplete.Complete = &no
	for name, tt := range map[string]struct {
		got  Document
		want Expectation
		says []string // parts of the differences, in order
	}{
		"the first cause is right":                   {told(decisive("A"), suggestive("B")), wanted(Finding{FirstDecisive: "A"}), nil},
		"a symptom behind it may be decisive":        {told(decisive("A"), decisive("B")), wanted(Finding{FirstDecisive: "A", AlsoDecisive: []string{"B"}}), nil},
		"the symptom first":                          {told(decisive("B"), decisive("A")), wanted(Finding{FirstDecisive: "A", AlsoDecisive: []string{"B"}}), []string{"first decisive cause is B, want A"}},
		"another cause first":                        {told(decisive("C")), wanted(Finding{FirstDecisive: "A"}), []string{"first decisive cause is C, want A"}},
		"a false one behind it":                      {told(decisive("A"), decisive("C")), wanted(Finding{FirstDecisive: "A"}), []string{"C is called decisive"}},
		"the right one is suggestive only":           {told(suggestive("A")), wanted(Finding{FirstDecisive: "A"}), []string{"no decisive cause, want A"}},
		"nothing is proven, and nothing is claimed":  {told(suggestive("A")), wanted(Finding{}), nil},
		"nothing is proven, and something claimed":   {told(decisive("A")), wanted(Finding{}), []string{"A is called decisive, and the evidence proves no cause"}},
		"nothing is proven but a symptom":            {told(decisive("B")), wanted(Finding{AlsoDecisive: []string{"B"}}), nil},
		"a suggestion is missing":                    {told(), wanted(Finding{Suggestive: []string{"A"}}), []string{"A is not among the causes"}},
		"a suggestion is there":                      {told(suggestive("A")), wanted(Finding{Suggestive: []string{"A"}}), nil},
		"a suggestion is called decisive":            {told(decisive("A")), wanted(Finding{Suggestive: []string{"A"}}), []string{"A is called decisive"}},
		"a suggestion before what is decisive":       {told(suggestive("B"), decisive("A")), wanted(Finding{FirstDecisive: "A"}), []string{"A stands behind B"}},
		"a suggested root before what shows it":      {told(suggestive("B"), decisive("KubeletSilent")), wanted(Finding{FirstDecisive: "KubeletSilent"}), nil},
		"what only shows it before the root":         {told(decisive("KubeletSilent"), decisive("A")), wanted(Finding{FirstDecisive: "KubeletSilent", AlsoDecisive: []string{"A"}}), []string{"A stands behind KubeletSilent"}},
		"a confidence that is none":                  {told(Cause{Code: "A", Confidence: "certain"}), wanted(Finding{}), []string{`confidence "certain"`}},
		"the words are there":                        {said("role x is gone"), wanted(Finding{FirstDecisive: "A", Says: []string{"role x"}, SaysNot: []string{"role y"}}), nil},
		"other words are there":                      {said("role y is gone"), wanted(Finding{FirstDecisive: "A", Says: []string{"role x"}, SaysNot: []string{"role y"}}), []string{`the first cause does not say "role x"`, `A says "role y"`}},
		"words of no cause":                          {told(), wanted(Finding{Says: []string{"role x"}}), []string{`the first cause does not say "role x"`}},
		"ruled out and not checked":                  {ruled, wanted(Finding{FirstDecisive: "A", RuledOut: []string{"B"}, NotChecked: []string{"C"}}), nil},
		"neither ruled out nor not checked":          {told(), wanted(Finding{RuledOut: []string{"B"}, NotChecked: []string{"C"}}), []string{"B is not among ruledOut", "C is not among notChecked"}},
		"a cause that is ruled out as well":          {both, wanted(Finding{FirstDecisive: "A"}), []string{"A is ruled out and told otherwise"}},
		"not checked without a reason":               {silent, wanted(Finding{}), []string{"no reason is given"}},
		"a finding is missing":                       {Document{}, wanted(Finding{}), []string{"found 0 times"}},
		"a finding twice":                            {twice, wanted(Finding{}), []string{"found 2 times"}},
		"a finding too many":                         {told(), Expectation{NoFindings: true}, []string{"nothing is wrong there"}},
		"a finding of a node without an instance":    {ghost, Expectation{NoFindings: true}, []string{"ip-10-0-0-1 Ghost"}},
		"nothing to find, nothing found":             {Document{}, Expectation{NoFindings: true}, nil},
		"orders that nobody asks about":              {acted, wanted(Finding{}), nil},
		"the right orders":                           {acted, withOrders([]Order{{one, "terminate"}}), nil},
		"an order too many":                          {acted, withOrders(nil), []string{"terminate is ordered, and must not be"}},
		"an order too few":                           {acted, withOrders([]Order{{one, "terminate"}, {two, "reboot"}}), []string{"reboot is not ordered"}},
		"held for the right reason":                  {acted, withOrders([]Order{{one, "terminate"}}, Held{two, "SharedCause"}), nil},
		"held for any reason":                        {acted, withOrders([]Order{{one, "terminate"}}, Held{Instance: two}), nil},
		"held for another reason":                    {acted, withOrders([]Order{{one, "terminate"}}, Held{two, "ZoneOutage"}), []string{"held for SharedCause, want ZoneOutage"}},
		"not held":                                   {acted, withOrders([]Order{{one, "terminate"}}, Held{Instance: one}), []string{"nothing is held"}},
		"complete where something could not be read": {told(), incomplete, []string{"complete is true, want false"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Verify(tt.got, tt.want)
			if len(got) != len(tt.says) || slices.ContainsFunc(tt.says, func(part string) bool {
				return !slices.ContainsFunc(got, func(d string) bool { return strings.Contains(d, part) })
			}) {
				t.Errorf("says %q, want %q", got, tt.says)
			}
		})
	}
}
