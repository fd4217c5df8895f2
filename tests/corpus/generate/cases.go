package generate

import (
	"slices"
	"time"

	"rollcall/tests/corpus"
)

// Class is the purpose of a case.
type Class string

// The classes.
const (
	// Broken: something is wrong, and the bundle shows what.
	Broken Class = "broken"
	// Misleading: something looks wrong and is not, or is wrong and explains nothing.
	Misleading Class = "misleading"
	// Well: nothing is wrong.
	Well Class = "healthy"
)

// FieldReport names a report from the field from which Rollcall grew, by its topic.
type FieldReport string

const (
	// quotedFlags: a startup taint in the kubelet's flags with one level of quotes too many.
	quotedFlags FieldReport = "quotes in flags"
	// slowStart: a Cilium taint that no node pool declared, kubelets that restarted, and a node
	// that was launched twice.
	slowStart FieldReport = "startup taint"
	// onARM: instances of arm64 that did not register.
	onARM FieldReport = "arm64"
	// wrongRole: the controller's role is mapped in place of the nodes'.
	wrongRole FieldReport = "controller's role"
	// silence: short of memory, then silent.
	silence FieldReport = "memory, then silence"
)

// FieldReports lists all field reports.
var FieldReports = []FieldReport{quotedFlags, slowStart, onARM, wrongRole, silence}

// Case is one bundle and its verdict.
type Case struct {
	Name    string
	Class   Class
	Report  FieldReport // of which it is a variant; "" if of none
	Why     string
	Sources []string
	account bool // it needs the whole account; healthy cases have it anyway
	// build changes the healthy account and returns the expected verdict.
	build func(*Bundle) *verdict
}

func broken(name, why string, sources []string, build func(*Bundle) *verdict) Case {
	return Case{Name: name, Class: Broken, Why: why, Sources: sources, build: build}
}

func misleading(name, why string, sources []string, build func(*Bundle) *verdict) Case {
	return Case{Name: name, Class: Misleading, Why: why, Sources: sources, build: build}
}

func well(name, why string, sources []string, build func(*Bundle) *verdict) Case {
	return Case{Name: name, Class: Well, Why: why, Sources: sources, build: build}
}

// of marks the case as a variant of a report.
func (c Case) of(report FieldReport) Case {
	c.Report = report
	return c
}

// whole gives the case the whole account.
func (c Case) whole() Case {
	c.account = true
	return c
}

// from returns the pages and reports on which a case is based.
func from(sources ...string) []string { return sources }

// Cases returns all cases, by topic.
func Cases() []Case {
	return slices.Concat(identityCases(), controllerCases(), mappingCases(), bootstrapCases(), quotingCases(), imageCases(),
		networkCases(), endpointCases(), startupCases(), labelCases(), hostCases(), hostLogCases(), silentCases(), fleetCases(), removalCases(), drainCases(), launchCases(), unreadyCases(), publishedCases(), rootCases(), intentCases(), reachCases(), registryCases(), siblingCases(), fellowCases(), absenceCases(), systemCases(), bootCases(), flappingCases(), readerCases(), webhookCases(), ownImageCases(), reportCases(), pluginCases(), tolerationCases(), accountCases(), wellCases())
}

// All builds all cases.
func All() []Made {
	var out []Made
	for _, c := range Cases() {
		out = append(out, c.Make())
	}
	return out
}

// Made is a case with its bundle and its expectation.
type Made struct {
	Case
	Expect corpus.Expectation
	Files  map[string][]byte // of the bundle, by name
}

// Make builds a case.
func (c Case) Make() Made {
	b := Healthy(c.account || c.Class == Well)
	expect := c.build(b).expectation
	expect.Why, expect.Sources = c.Why, c.Sources
	if expect.Findings == nil {
		expect.Findings, expect.NoFindings = []corpus.Finding{}, true
	}
	return Made{Case: c, Expect: expect, Files: b.Files()}
}

// verdict is what a case expects.
type verdict struct{ expectation corpus.Expectation }

// nothing returns the verdict that nothing is wrong.
func nothing() *verdict { return &verdict{} }

// finds returns a finding about a machine. first is the code of the decisive cause that comes
// first, "" if nothing proves one; also lists those that may be decisive too.
func finds(m *Machine, kind, first string, also ...string) *verdict {
	return nothing().and(m, kind, first, also...)
}

func unregistered(m *Machine, first string, also ...string) *verdict {
	return finds(m, "Unregistered", first, also...)
}

func (v *verdict) and(m *Machine, kind, first string, also ...string) *verdict {
	v.expectation.Findings = append(v.expectation.Findings, corpus.Finding{Instance: m.ID, Kind: kind, FirstDecisive: first, AlsoDecisive: also})
	return v
}

func (v *verdict) last() *corpus.Finding {
	return &v.expectation.Findings[len(v.expectation.Findings)-1]
}

// suggests adds codes that the last finding must mention.
func (v *verdict) suggests(codes ...string) *verdict {
	v.last().Suggestive = codes
	return v
}

// rulesOut adds codes that must be reported as ruled out.
func (v *verdict) rulesOut(codes ...string) *verdict {
	v.last().RuledOut = codes
	return v
}

// misses adds codes that must be reported as not checked.
func (v *verdict) misses(codes ...string) *verdict {
	v.last().NotChecked = codes
	return v
}

// says adds words that the first cause of the last finding must have, and saysNot words that none may
// have.
func (v *verdict) says(words ...string) *verdict {
	v.last().Says = append(v.last().Says, words...)
	return v
}

func (v *verdict) saysNot(words ...string) *verdict {
	v.last().SaysNot = append(v.last().SaysNot, words...)
	return v
}

// holds expects an act on every instance of the verdict to be held for a reason; "" is any
// reason.
func (v *verdict) holds(reason string) *verdict {
	for _, f := range v.expectation.Findings {
		if h := (corpus.Held{Instance: f.Instance, Reason: reason}); !slices.Contains(v.expectation.Held, h) {
			v.expectation.Held = append(v.expectation.Held, h)
		}
	}
	return v.orders()
}

// orders expects these acts on the first instance, and no others on any.
func (v *verdict) orders(actions ...string) *verdict {
	orders := []corpus.Order{}
	for _, a := range actions {
		orders = append(orders, corpus.Order{Instance: v.expectation.Findings[0].Instance, Action: a})
	}
	v.expectation.Orders = &orders
	return v
}

// incomplete expects the document to report itself as incomplete.
func (v *verdict) incomplete() *verdict {
	no := false
	v.expectation.Complete = &no
	return v
}

// joined adds a node to a group. It was launched this long ago, and registered a minute later.
func (b *Bundle) joined(g Group, age time.Duration) *Machine {
	m := b.Launch(Sick, "10.0.41.21", "a", g, age)
	b.Join(m, age-time.Minute)
	return m
}

// cniWaits adds such a node that has waited for its CNI from the start.
func (b *Bundle) cniWaits(g Group) *Machine {
	m := b.joined(g, 26*time.Minute)
	b.neverReady(m)
	return m
}

// worker adds a node to the node group workers that was healthy for days.
func worker(b *Bundle) *Machine { return b.joined(Workers, 5*day) }

// silentWorker adds one that went silent 45 minutes ago.
func silentWorker(b *Bundle) *Machine {
	m := worker(b)
	b.silent(m, 45*time.Minute)
	return m
}

// texted builds a case in which an instance of a group has other user data.
func texted(g Group, code, text string) func(*Bundle) *verdict {
	return func(b *Bundle) *verdict {
		m := b.Unregistered(g)
		b.retext(m, text)
		return unregistered(m, code)
	}
}
