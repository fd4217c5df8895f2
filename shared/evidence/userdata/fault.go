package userdata

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"mvdan.cc/sh/v3/syntax"
)

// Fault is something in user data that stops a reader: this package, or the one
// on the instance.
type Fault struct {
	Problem
	Line   int    // where it begins in the part's own text, from 1, as near as the parser tells; else 0
	Field  string // the field's path or the option's name, of those that the reader knows; "" for others
	By     Reader // who stumbles
	Effect Effect // what becomes of the part
}

// String is the fault as a sentence without its full stop: "part 1, line 8 (nodeconfig)
// does not parse".
func (f Fault) String() string { return f.where() + " " + f.what() }

// Faulty is what is to be mended: "part 1, line 8 (nodeconfig), which does not parse".
func (f Fault) Faulty() string { return f.where() + ", which " + f.what() }

func (f Fault) where() string {
	text := f.Part
	if f.Line > 0 {
		text += fmt.Sprintf(", line %d", f.Line)
	}
	return text + fmt.Sprintf(" (%s)", f.Format)
}

func (f Fault) what() string {
	if f.Field != "" {
		return string(f.Reason) + ": " + f.Field
	}
	return string(f.Reason)
}

// Reader reads user data.
type Reader string

// The readers.
const (
	Rollcall        Reader = "this reader"
	CloudInit       Reader = "cloud-init"
	ByShell         Reader = "the shell"
	ByBootstrap     Reader = "bootstrap.sh"
	ByNodeadm       Reader = "nodeadm"
	ByBottlerocket  Reader = "Bottlerocket"
	ByWindowsScript Reader = "Start-EKSBootstrap.ps1"
)

// Effect is what a fault does.
type Effect string

// The effects.
const (
	Unread  Effect = "not followed"           // here; it says nothing about the instance
	Fails   Effect = "stops with an error"    // the reader, on the instance
	Skipped Effect = "is passed over"         // without an error that anybody would see
	Depends Effect = "depends on the version" // some versions of the reader cope
)

// The reasons of what a reader on the instance stumbles over.
const (
	EncodedAgain    Reason = "is base64 within the base64 that EC2 undoes"
	ByteOrderMark   Reason = "begins with a byte order mark"
	LeadingBlank    Reason = "begins with white space before its first line"
	NoShebang       Reason = "is run as a script but does not begin with #!"
	CarriageReturns Reason = "has lines that end in a carriage return"
	NoMIMEVersion   Reason = "has no MIME-Version header in its first 4096 bytes"
	BadContentType  Reason = "has a Content-Type header that nodeadm's parser refuses"
	Misplaced       Reason = "stands where its reader does not look for it"
	WrongKind       Reason = "has a kind or apiVersion that nodeadm does not know"
	WrongType       Reason = "has a value of the wrong type"
	UnknownField    Reason = "has a field that does not exist"
	ExtraDocument   Reason = "has more than one YAML document, of which nodeadm reads the first"
	NoSettings      Reason = "has no settings table"
	NoValue         Reason = "has an option without its value"
	UnknownOption   Reason = "has an option that bootstrap.sh does not have"
	FlagForValue    Reason = "has a kubelet flag outside the quotes of --kubelet-extra-args"
	UnknownParam    Reason = "has a parameter that Start-EKSBootstrap.ps1 does not have"
	IgnoredArgument Reason = "has arguments that bootstrap.sh ignores"
)

// whoFails says who reads a format on the instance. Unknown stands for what is
// compressed and cannot be expanded.
var whoFails = map[Format][]Reader{
	Shell: {ByShell}, CloudConfig: {CloudInit}, Archive: {CloudInit},
	Multipart: {CloudInit, ByNodeadm}, NodeConfig: {ByNodeadm}, Bottlerocket: {ByBottlerocket},
	Unknown: {CloudInit, ByNodeadm, ByBottlerocket},
}

// problem keeps what stands in the way of an answer. What does not parse here
// does not parse there; everything else is a limit of this package.
func (r *reader) problem(part string, f Format, why Reason) {
	r.problemAt(part, f, why, nil)
}

// problemAt is problem with the parser's error, which may name a line.
func (r *reader) problemAt(part string, f Format, why Reason, err error) {
	r.unread(part, f, why)
	fault := Fault{Problem: Problem{Part: part, Format: f, Reason: why}, Line: errorLine(err)}
	switch {
	case why == Unclear || why == NoName || why == Computed:
		// A Join tells more exactly.
	case why == Unparseable && f != PowerShell && f != Unknown, why == Undecodable:
		for _, by := range whoFails[f] {
			fault.By, fault.Effect = by, Fails
			r.fault(fault)
		}
	case why == Truncated && f == Multipart:
		// cloud-init reads the last part all the same; nodeadm's multipart.Reader
		// ends with "unexpected EOF".
		fault.By, fault.Effect = ByNodeadm, Fails
		r.fault(fault)
	default:
		fault.By, fault.Effect = Rollcall, Unread
		r.fault(fault)
	}
}

// fault keeps a fault. Its line is counted from what was left of the part's text
// once leading white space was cut.
func (r *reader) fault(f Fault) {
	if f.Line > 0 {
		f.Line += r.cut[f.Part]
	}
	if len(r.boot.Faults) < maxFaults && !slices.Contains(r.boot.Faults, f) {
		r.boot.Faults = append(r.boot.Faults, f)
	}
}

// errorLine is the line that a parser's error names, 0 if it names none. Only
// the number is taken: the rest of the error may quote the text.
func errorLine(err error) int {
	var script syntax.ParseError
	if errors.As(err, &script) {
		return int(script.Pos.Line()) //nolint:gosec // of a text of at most maxScript bytes
	}
	var table toml.ParseError
	if errors.As(err, &table) {
		return table.Position.Line
	}
	if err == nil {
		return 0
	}
	// yaml has no type for it: "yaml: line 3: ...".
	text, ok := strings.CutPrefix(err.Error(), "yaml: line ")
	if !ok {
		return 0
	}
	digits, message, _ := strings.Cut(text, ": ")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return 0
	}
	// Where the tokens are fine but stand in no order, it counts lines from 0.
	if slices.ContainsFunc(disorder, func(s string) bool { return strings.HasPrefix(message, s) }) {
		n++
	}
	return n
}

// disorder is how yaml's messages begin that come from its parser and not from
// its scanner (yaml/v3, parserc.go; decode.go, parser.fail).
var disorder = []string{
	"did not find expected key", "did not find expected '-'", "did not find expected ','",
	"did not find expected node content", "did not find expected <",
}
