package userdata

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// windowsScript joins a Windows node.
const windowsScript = "start-eksbootstrap.ps1"

// windowsParameters are those of windowsScript in their order (EKS User Guide, Create
// nodes with optimized Windows AMIs, bootstrap script configuration parameters).
var windowsParameters = []string{
	"-eksclustername", "-kubeletextraargs", "-kubeproxyextraargs", "-apiserverendpoint",
	"-base64clusterca", "-dnsclusterip", "-servicecidr", "-excludedsnatcidrs",
	"-containerruntime", "-region", "-endpoint",
}

// windows reads what EC2Launch reads: scripts in <powershell> tags, or the YAML
// of EC2Launch v2 with a task executeScript.
func (r *reader) windows(text, part string) {
	const open, end = "<powershell>", "</powershell>"
	lower := asciiLower(text)
	if text[0] != '<' && !strings.Contains(lower, open) {
		for _, doc := range r.documents(text, part, PowerShell) {
			for i, task := range items(lookup(doc, "tasks")) {
				if scalar(lookup(task, "task")) != "executeScript" {
					continue
				}
				for _, input := range items(lookup(task, "inputs")) {
					if strings.EqualFold(scalar(lookup(input, "type")), "powershell") {
						r.powershell(scalar(lookup(input, "content")), fmt.Sprintf("task %d", i+1))
					}
				}
			}
		}
		return
	}
	for {
		i := strings.Index(lower, open)
		if i < 0 {
			return
		}
		text, lower = text[i+len(open):], lower[i+len(open):]
		n := strings.Index(lower, end)
		if n < 0 {
			r.problem(part, PowerShell, Truncated)
			n = len(text)
		}
		r.powershell(text[:n], part)
		text, lower = text[n:], lower[n:]
	}
}

func (r *reader) powershell(text, part string) {
	if len(text) > maxScript {
		r.problem(part, PowerShell, TooLarge)
		return
	}
	for line := range strings.Lines(text) {
		if strings.Contains(asciiLower(line), "setenvironmentvariable") {
			r.proxies(line)
		}
	}
	text = psHereString.ReplaceAllString(text, "$$()")
	p := powershell{r: r, part: part, vars: map[string]string{}}
	p.statements(strings.ReplaceAll(text, "`\n", " "), 0)
}

// powershell reads a script statement by statement. It knows strings, variables,
// comments and calls; a block counts as if it were run.
type powershell struct {
	r      *reader
	part   string
	braces int
	vars   map[string]string
}

var (
	psHereString = regexp.MustCompile(`(?s)@'\n.*?\n'@|@"\n.*?\n"@`)
	// psToken is a comment, a separator, or a word, which may be put together of texts in
	// quotes, groups in brackets and plain characters.
	psToken = regexp.MustCompile("(?s)<#.*?#>|#[^\n]*|[\n;|{}]|(?:" + psText + "|" + psGroup + "|`.|\\$\\{[^}\n]*\\}|[^\\s;|{}\"'()])+")
	psPiece = regexp.MustCompile("(?s)" + psText + "|" + psGroup + "|[^\"'(]+|.")
	// psReference is an escaped character, a variable, or a command within a text.
	psReference = regexp.MustCompile("(?s)`(.)|\\$(?:\\(.*\\)|\\{([^}]*)\\}|((?:\\w+:)?\\w+))")
	psAssign    = regexp.MustCompile(`(?s)^(?:\[[^\]]*\])?\$([\w:]+)(=?)(.*)$`)
)

const (
	psText  = "\"(?:[^\"`]|`.|\"\")*\"|'(?:[^']|'')*'"
	psGroup = `\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)`
)

func (p *powershell) statements(text string, depth int) {
	var words []string
	for _, t := range append(psToken.FindAllString(text, -1), "\n") {
		switch {
		case !p.r.spend(len(t)):
			p.r.problem(p.part, PowerShell, TooComplex)
			return
		case strings.HasPrefix(t, "#"), strings.HasPrefix(t, "<#"):
		case strings.Contains("\n;|{}", t):
			p.statement(words)
			words = nil
			p.braces += strings.Count(t, "{") - strings.Count(t, "}")
		default:
			if t[0] == '(' && depth < maxDepth {
				p.statements(t[1:len(t)-1], depth+1)
			}
			words = append(words, t)
		}
	}
}

// text is what a word stands for.
func (p *powershell) text(word string) string {
	var b strings.Builder
	for _, piece := range psPiece.FindAllString(word, -1) {
		switch inner := piece[min(1, len(piece)-1):max(1, len(piece)-1)]; {
		case piece[0] == '(':
			return unknown
		case len(piece) > 1 && piece[0] == '\'':
			b.WriteString(strings.ReplaceAll(inner, "''", "'"))
		case len(piece) > 1 && piece[0] == '"':
			b.WriteString(p.expand(strings.ReplaceAll(inner, `""`, `"`)))
		case piece != `"` && piece != "'":
			b.WriteString(p.expand(piece))
		}
	}
	if b.Len() > maxValue || !p.r.spend(b.Len()) {
		return unknown
	}
	return b.String()
}

// expand puts the values of variables into a text.
func (p *powershell) expand(s string) string {
	room := maxValue
	return psReference.ReplaceAllStringFunc(s, func(ref string) string {
		m := psReference.FindStringSubmatch(ref)
		value, ok := p.vars[asciiLower(m[2]+m[3])]
		switch {
		case m[1] != "":
			return m[1]
		case !ok || len(value) > room:
			return unknown
		}
		room -= len(value)
		return value
	})
}

// statement reads one statement: an assignment, or a call.
func (p *powershell) statement(words []string) {
	if len(words) > 1 && words[0][0] == '[' && words[1][0] == '$' {
		words = words[1:] // a type, as in [string] $Name
	}
	if len(words) == 0 {
		return
	}
	if m := psAssign.FindStringSubmatch(words[0]); m != nil && (m[2] == "=" || m[3] == "" && len(words) > 1 && words[1] == "=") {
		words = words[1:]
		if m[2] == "" {
			words = words[1:]
		}
		if m[3] != "" {
			words = append([]string{m[3]}, words...)
		}
		p.assign(asciiLower(m[1]), words)
	}
	// A string on its own is a value; only an operator or a bare word calls.
	called := false
	for len(words) > 0 && (words[0] == "&" || words[0] == ".") {
		called, words = true, words[1:]
	}
	if len(words) > 0 && len(words[0]) > 1 && words[0][0] == '&' {
		called, words = true, append([]string{words[0][1:]}, words[1:]...)
	}
	if len(words) == 0 || !called && strings.IndexByte(`"'$(`, words[0][0]) >= 0 {
		return
	}
	switch command := p.command(words[0]); {
	case command == "netsh" && len(words) > 3 && strings.EqualFold(words[1], "winhttp") && strings.EqualFold(words[3], "proxy"):
		p.r.proxy("https_proxy")
	case command == windowsScript:
		p.join(words[1:])
	case slices.Contains([]string{"powershell", "powershell.exe", "pwsh", "pwsh.exe"}, command):
		for i, w := range words[:len(words)-1] {
			if strings.EqualFold(w, "-File") && p.command(words[i+1]) == windowsScript {
				p.join(words[i+2:])
				return
			}
		}
	}
}

func (p *powershell) assign(name string, words []string) {
	value := unknown
	if len(words) == 1 {
		value = p.text(words[0])
	}
	p.r.proxy(strings.TrimPrefix(name, "env:"))
	// In a block the assignment may or may not happen.
	if had, ok := p.vars[name]; ok && had != value && p.braces > 0 {
		value = unknown
	}
	p.vars[name] = value
}

// command is the name of what a word calls, without its directory.
func (p *powershell) command(word string) string {
	name := asciiLower(p.text(word))
	return name[strings.LastIndexAny(name, `\/`)+1:]
}

// join reads the arguments of windowsScript.
func (p *powershell) join(args []string) {
	values := p.arguments(args)
	p.r.cluster(values["-eksclustername"], p.part, PowerShell)
	if p.r.full() {
		return
	}
	j := Join{Tool: WindowsScript, Conditional: p.braces > 0}
	j.Part = p.part
	j.Cluster = setting(values["-eksclustername"], validName)
	j.Endpoint = setting(values["-apiserverendpoint"], validEndpoint)
	j.CA = CertificateOf(values["-base64clusterca"])
	j.ClusterDNS = setting(values["-dnsclusterip"], validAddresses)
	j.ServiceCIDR = setting(values["-servicecidr"], validCIDR)
	// The script puts the text on the kubelet's command line, where Windows knows
	// double quotes only.
	words := splitWords(trace(values["-kubeletextraargs"]), `"`, false)
	j.Kubelet = newKubelet(words, func(int) string { return p.part }, kubeletConfig{})
	if j.Cluster.State == Absent {
		j.Missing = []string{"-EKSClusterName"}
	}
	p.r.join(j)
}

// arguments gives the values by the parameters' full names. PowerShell takes a name in
// any case, shortened as far as it stays clear, with its value after a colon or in the
// next word; a word without a name is the first parameter that has no value yet.
func (p *powershell) arguments(args []string) map[string]string {
	values := map[string]string{}
	free := func(full string) bool { return values[full] == "" }
	for i := 0; i < len(args); i++ {
		name, value, _ := strings.Cut(args[i], ":")
		full := windowsParameter(asciiLower(name))
		switch common := commonParameter(asciiLower(name)); {
		case full == "" && common == valued && value == "":
			i++
		case full == "" && common != "":
		case full == "" && len(name) > 1 && name[0] == '-' && psName.MatchString(name):
			p.r.fault(Fault{Problem: Problem{p.part, PowerShell, UnknownParam}, By: ByWindowsScript, Effect: Fails})
			if value == "" && i+1 < len(args) && args[i+1][0] != '-' {
				i++
			}
		case full != "" && value != "":
			values[full] = p.text(value)
		case full != "" && i+1 < len(args):
			i++
			values[full] = p.text(args[i])
		case full == "" && args[i][0] != '-' && (strings.IndexByte(`"'`, args[i][0]) >= 0 || !strings.Contains(args[i], ">")): // 3>&1 is none
			if j := slices.IndexFunc(windowsParameters, free); j >= 0 {
				values[windowsParameters[j]] = p.text(args[i])
			}
		}
	}
	return values
}

// psName is how PowerShell tells a parameter's name from a value: a negative number is none.
var psName = regexp.MustCompile(`^-[A-Za-z_?]`)

// valued and a flag are the sorts of PowerShell's common parameters, which a script with
// parameters of that kind has beside its own.
// https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_commonparameters
const (
	valued = "valued"
	aFlag  = "flag"
)

var commonParameters = map[string]string{
	"-debug": aFlag, "-db": aFlag, "-verbose": aFlag, "-vb": aFlag, "-whatif": aFlag, "-wi": aFlag, "-confirm": aFlag, "-cf": aFlag,
	"-erroraction": valued, "-ea": valued, "-errorvariable": valued, "-ev": valued, "-warningaction": valued, "-wa": valued, "-warningvariable": valued, "-wv": valued,
	"-informationaction": valued, "-infa": valued, "-informationvariable": valued, "-iv": valued, "-outvariable": valued, "-ov": valued,
	"-outbuffer": valued, "-ob": valued, "-pipelinevariable": valued, "-pv": valued, "-progressaction": valued, "-proga": valued,
}

// commonParameter is the sort of the common parameter that a name, which may be shortened,
// stands for; "" if for none.
func commonParameter(name string) string {
	if sort, ok := commonParameters[name]; ok {
		return sort
	}
	if len(name) < 4 {
		return ""
	}
	for full, sort := range commonParameters {
		if strings.HasPrefix(full, name) {
			return sort
		}
	}
	return ""
}

func windowsParameter(name string) string {
	i := slices.IndexFunc(windowsParameters, func(p string) bool { return p == name })
	if i < 0 && len(name) > 1 {
		i = slices.IndexFunc(windowsParameters, func(p string) bool { return strings.HasPrefix(p, name) })
	}
	if i < 0 {
		return ""
	}
	return windowsParameters[i]
}

// asciiLower is strings.ToLower that never changes the length.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
