package userdata

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/pelletier/go-toml/v2"
	"mvdan.cc/sh/v3/syntax"

	"rollcall/shared/roll/pattern"
)

// Fault is a fault in user data that stops a reader: this package, or a program on the instance. It
// holds no text of the user data.
type Fault struct {
	Part   string // which part, by position: "user data", "part 2", "write_files 3 in part 1"
	Format Format
	Reason Reason
	Line   int    // where it begins in the part's text, from 1, as near as the parser says; else 0
	Field  string // the field's path or the option's name, of those that the reader knows; "" for others
	By     Reader // the reader that fails
	Effect Effect // the effect on the part
}

// String returns the fault as a sentence without its full stop: "part 1, line 8 (nodeconfig) does
// not parse".
func (f Fault) String() string { return f.where() + " " + f.what() }

// Faulty returns what has to be fixed: "part 1, line 8 (nodeconfig), which does not parse".
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

// Reader is a reader of user data.
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

// Effect is the effect of a fault.
type Effect string

// The effects.
const (
	Unread  Effect = "not followed"           // in this package; it says nothing about the instance
	Fails   Effect = "stops with an error"    // the reader, on the instance
	Skipped Effect = "is passed over"         // without a visible error
	Depends Effect = "depends on the version" // some versions of the reader accept it
)

// Reason is what is wrong with a part.
type Reason string

// The reasons why a part is not read completely.
const (
	Unparseable Reason = "does not parse"
	Undecodable Reason = "is not valid base64 or gzip"
	Truncated   Reason = "ends before its closing boundary"
	TooLarge    Reason = "is too large to read"
	TooDeep     Reason = "is nested too deeply to read"
	TooComplex  Reason = "takes too much work to follow"
	Elsewhere   Reason = "refers to configuration that is not in the user data"
	Unsupported Reason = "has a form that is not read"
)

// The reasons why a reader on the instance fails.
const (
	EncodedAgain    Reason = "is base64 within the base64 that EC2 undoes"
	ByteOrderMark   Reason = "begins with a byte order mark"
	LeadingBlank    Reason = "begins with white space before its first line"
	NotHandled      Reason = "begins with no word by which cloud-init knows what it is"
	UnknownType     Reason = "has a Content-Type that cloud-init does not know"
	Replaced        Reason = "is replaced by that of another part"
	TooEarly        Reason = "is run before it is written"
	NoCommands      Reason = "is not a list of strings and lists, so cloud-init runs none of it"
	NoShebang       Reason = "is run as a script but does not begin with #!"
	JoinedWords     Reason = "has several words behind the interpreter in its #! line, which reach it as one"
	CarriageReturns Reason = "has lines that end in a carriage return"
	NoMIMEVersion   Reason = "has no MIME-Version header in its first 4096 bytes"
	BadContentType  Reason = "has a Content-Type header that nodeadm's parser refuses"
	Misplaced       Reason = "stands where its reader does not look for it"
	WrongKind       Reason = "has a kind or apiVersion that nodeadm does not know"
	WrongType       Reason = "has a value of the wrong type"
	UnknownField    Reason = "has a field that does not exist"
	ExtraDocument   Reason = "has more than one YAML document, of which nodeadm reads the first"
	MoreDocuments   Reason = "has more than one YAML document, of which cloud-init reads none"
	NoSettings      Reason = "has no settings table"
	NewerTOML       Reason = "has a form that only TOML 1.1 allows"
	UnknownSetting  Reason = "has a setting that no known version of Bottlerocket has"
	NoValue         Reason = "has an option without its value"
	UnknownOption   Reason = "has an option that bootstrap.sh does not have"
	UnclosedFlags   Reason = "opens a quote around the value of --kubelet-extra-args and never closes it"
	FlagForValue    Reason = "has a kubelet flag outside the quotes of --kubelet-extra-args"
	UnknownParam    Reason = "has a parameter that Start-EKSBootstrap.ps1 does not have"
	IgnoredArgument Reason = "has arguments that bootstrap.sh ignores"
)

// PassedOver are the reasons why a part that can be read does not take effect. What it would do is in no
// Join, only in a Trace.
var PassedOver = []Reason{UnknownType, Replaced, TooEarly, NoCommands}

// instanceReaders are the readers of a format on the instance. Unknown is compressed data that
// cannot be decompressed.
var instanceReaders = map[Format][]Reader{
	Shell: {ByShell}, CloudConfig: {CloudInit}, Archive: {CloudInit},
	Multipart: {CloudInit, ByNodeadm}, NodeConfig: {ByNodeadm}, Bottlerocket: {ByBottlerocket},
	Unknown: {CloudInit, ByNodeadm, ByBottlerocket},
}

// problem adds the reason why a part was not read. What does not parse here does not parse on the
// instance; any other reason is a limit of this package.
func (r *reader) problem(part string, f Format, why Reason) { r.problemAt(part, f, why, nil) }

// problemAt is problem with the parser's error, which may name a line.
func (r *reader) problemAt(part string, f Format, why Reason, err error) {
	r.boot.Unclear = true
	fault := Fault{Part: part, Format: f, Reason: why, Line: errorLine(err), By: Rollcall, Effect: Unread}
	switch {
	case why == Unparseable && f != PowerShell && f != Unknown, why == Undecodable, why == UnclosedFlags:
		for _, by := range instanceReaders[f] {
			fault.By, fault.Effect = by, Fails
			r.fault(fault)
		}
		return
	case why == Truncated && f == Multipart:
		// cloud-init still reads the last part; nodeadm's multipart.Reader ends with "unexpected
		// EOF".
		fault.By, fault.Effect = ByNodeadm, Fails
	}
	r.fault(fault)
}

// fault adds a fault. Its line is counted in the part's text without leading white space.
func (r *reader) fault(f Fault) {
	if f.Line > 0 {
		f.Line += r.cut[f.Part]
	}
	add(&r.boot.Faults, f, maxFaults)
}

// yamlLine matches yaml's errors, which have no type: "yaml: line 3: did not find ...". Errors of
// its parser count lines from 0, those of its scanner from 1 (yaml/v3, parserc.go; decode.go,
// parser.fail).
var yamlLine = pattern.New(`^yaml: line (\d+): (did not find expected (?:key|'-'|','|node content|<))?`)

// errorLine returns the line that a parser's error names, 0 if none. The rest of the error is not
// kept, because it may quote the text.
func errorLine(err error) int {
	if script, ok := errors.AsType[syntax.ParseError](err); ok {
		return int(script.Pos.Line()) //nolint:gosec // of a text of at most maxScript bytes
	}
	if table, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := table.Position()
		return line
	}
	if err == nil {
		return 0
	}
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // digits
	if m[2] != "" {
		n++
	}
	return n
}
