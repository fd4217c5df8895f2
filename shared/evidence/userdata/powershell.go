package userdata

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// windowsScript joins a Windows node.
const windowsScript = "start-eksbootstrap.ps1"

// The parameters of windowsScript in the order of its param block, some of which the EKS User Guide leaves
// out (Create nodes with optimized Windows AMIs, bootstrap script configuration parameters), and
// PowerShell's common parameters, which such a script also accepts
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_commonparameters).
var (
	windowsParameters = strings.Fields(`-eksclustername -kubeletextraargs -kubeproxyextraargs -endpoint -apiserverendpoint
		-base64clusterca -dnsclusterip -servicecidr -excludedsnatcidrs -containerruntime -region`)
	commonFlags      = strings.Fields("-debug -db -verbose -vb -whatif -wi -confirm -cf")
	commonParameters = strings.Fields(`-erroraction -ea -errorvariable -ev -warningaction -wa -warningvariable -wv
		-informationaction -infa -informationvariable -iv -outvariable -ov -outbuffer -ob -pipelinevariable -pv
		-progressaction -proga`)
)

const (
	psQuoted = "'(?:[^']|'')*'|\"(?:[^\"`]|`.|\"\")*\""
	psGroup  = `\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)`
)

var (
	batchTag      = pattern.New(`(?is)<script>(.*?)(?:</script>|\z)`)
	powershellTag = pattern.New(`(?is)<powershell>(.*?)(</powershell>|\z)`)
	// What is opened and never closed ends with the text, or is short: looking for its end again and again
	// would take a time that grows with the square of the length.
	psHereString = pattern.New(`(?s)@'\n.*?(?:\n'@|\z)|@"\n.*?(?:\n"@|\z)`)
	// psToken matches a comment, a separator, or a word. A word may consist of texts in quotes,
	// groups in brackets and plain characters.
	psToken = pattern.New("(?s)<#.*?(?:#>|\\z)|#[^\n]*|[\n;|{}]|(?:" + psQuoted + "|" + psGroup + "|`.|\\$\\{[^}\n]{0,99}\\}|[^\\s;|{}\"'()])+")
	// psReference matches an escaped character, a command within a text, or a variable.
	psReference = pattern.New("(?s)`(.)|\\$(?:\\(.*\\)|\\{([^}]{0,99})\\}|((?:\\w+:)?\\w+))")
	psAssign    = pattern.New(`(?s)^(?:\[[^\]]*\] ?)?\$([\w:]+) ?([-+*/%]?)= ?(.*)$`)
	psProxy     = pattern.New(`(?i)^netsh winhttp \S+ proxy`)
	psParameter = pattern.New(`^-[A-Za-z_?]`) // a negative number is not a parameter
	psSplat     = pattern.New(`^@\w`)
)

// windows reads what EC2Launch reads: scripts in <powershell> tags and, only for the name of the
// joining script, in <script> tags, or the YAML of EC2Launch v2 with a task executeScript.
func (r *reader) windows(text, part string) {
	for _, m := range batchTag.FindAllStringSubmatch(text, -1) {
		r.batch(m[1])
	}
	tags := powershellTag.FindAllStringSubmatch(text, -1)
	for _, m := range tags {
		if m[2] == "" {
			r.problem(part, PowerShell, Truncated)
		}
		r.powershell(m[1], part)
	}
	if len(tags) > 0 || text[0] == '<' {
		return
	}
	root, _ := r.yaml(text, part, PowerShell)
	for i, task := range items(lookup(root, "tasks")) {
		if scalar(lookup(task, "task")) != "executeScript" {
			continue
		}
		for _, input := range items(lookup(task, "inputs")) {
			switch content := scalar(lookup(input, "content")); strings.ToLower(scalar(lookup(input, "type"))) {
			case "powershell":
				r.powershell(content, fmt.Sprintf("task %d", i+1))
			case "batch":
				r.batch(content)
			}
		}
	}
}

// batch notes that a batch file names the joining script, except in a comment or an echo.
func (r *reader) batch(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.ToLower(line), " \t@")
		quiet := slices.ContainsFunc([]string{"rem", "::", "echo"}, func(word string) bool { return strings.HasPrefix(line, word) })
		r.hinted = r.hinted || !quiet && r.spend(len(line)) && namesTool(line)
	}
}

// powershell reads a script statement by statement. It recognizes texts, variables, comments and
// calls. A block is read as if it were run.
type powershell struct {
	*reader
	part   string
	braces int
	depth  int // of texts that are run as commands
	vars   map[string]string
}

func (r *reader) powershell(text, part string) {
	if len(text) > maxScript || !r.spend(len(text)) {
		r.problem(part, PowerShell, TooLarge)
		return
	}
	for line := range strings.Lines(text) {
		if strings.Contains(strings.ToLower(line), "setenvironmentvariable") {
			r.proxies(line)
		}
	}
	text = psHereString.ReplaceAllString(text, "$$()")
	p := powershell{reader: r, part: part, vars: map[string]string{}}
	p.run(text)
}

// within reads a text, or a group in brackets, that a statement runs.
func (p *powershell) within(text string) {
	if p.depth >= maxDepth || !p.spend(len(text)) {
		p.problem(p.part, PowerShell, TooDeep)
		return
	}
	braces := p.braces
	p.depth++
	p.run(text)
	p.depth--
	p.braces = braces
}

func (p *powershell) run(text string) {
	var words []string
	for _, token := range append(psToken.FindAllString(strings.ReplaceAll(text, "`\n", " "), -1), "\n") {
		switch {
		case strings.HasPrefix(token, "#"), strings.HasPrefix(token, "<#"):
		case strings.Contains("\n;|{}", token):
			p.statement(words)
			words = nil
			p.braces += strings.Count(token, "{") - strings.Count(token, "}")
		default:
			words = append(words, token)
		}
	}
}

func (p *powershell) text(word string) string {
	if len(word) > 1 && word[0] == '\'' && word[len(word)-1] == '\'' {
		return strings.ReplaceAll(word[1:len(word)-1], "''", "'")
	}
	if len(word) > 1 && word[0] == '"' && word[len(word)-1] == '"' {
		return p.expand(strings.ReplaceAll(word[1:len(word)-1], `""`, `"`))
	}
	if strings.ContainsAny(word, "'(") {
		return unknown
	}
	return p.expand(strings.ReplaceAll(word, `"`, ""))
}

// expand replaces the variables in a text with their values.
func (p *powershell) expand(s string) string {
	closed := strings.LastIndexByte(s, ')') + 1
	if i := strings.Index(s[closed:], "$("); i >= 0 {
		s = s[:closed+i] + unknown // never closed
	}
	room := maxValue - len(s)
	value := psReference.ReplaceAllStringFunc(s, func(ref string) string {
		m := psReference.FindStringSubmatch(ref)
		value, ok := p.vars[strings.ToLower(m[2]+m[3])]
		switch {
		case m[1] != "":
			return m[1]
		case !ok || len(value) > room:
			return unknown
		}
		room -= len(value)
		return value
	})
	if !p.spend(len(value)) {
		return unknown
	}
	return value
}

// statement reads one statement: an assignment, or a call.
func (p *powershell) statement(words []string) {
	line := strings.Join(words, " ")
	if psProxy.MatchString(line) {
		p.boot.Proxy = true
	}
	if m := psAssign.FindStringSubmatch(line); m != nil {
		words = psToken.FindAllString(m[3], -1)
		p.assign(strings.ToLower(m[1]), m[2], words)
	}
	for _, word := range words {
		if i := strings.IndexByte(word, '('); i >= 0 && strings.HasSuffix(word, ")") && !strings.ContainsAny(word[:i], `"'`) {
			p.within(word[i+1 : len(word)-1])
		}
	}
	// A text alone is a value. Only an operator or a bare word is a call.
	called := false
	for len(words) > 0 && strings.Trim(words[0][:1], "&.") == "" {
		called = true
		if words[0] = words[0][1:]; words[0] == "" {
			words = words[1:]
		}
	}
	if len(words) == 0 || !called && strings.IndexByte(`"'$(`, words[0][0]) >= 0 {
		return
	}
	isScript := func(word string) bool { return p.command(word) == windowsScript }
	command := p.command(words[0])
	switch command {
	case windowsScript:
		p.bootstrap(words[1:])
	case "powershell", "powershell.exe", "pwsh", "pwsh.exe":
		if i := slices.IndexFunc(words, isScript); i >= 0 {
			p.bootstrap(words[i+1:])
		} else {
			p.commands(words[1:])
		}
	case "invoke-expression", "iex":
		p.commands(words[1:])
	}
	p.hint(command, words)
}

// commands reads the texts in quotes and variables that a command runs as commands.
func (p *powershell) commands(words []string) {
	for _, word := range words {
		if strings.IndexByte(`"'$`, word[0]) < 0 {
			continue
		}
		if text := p.text(word); namesTool(text) {
			p.within(text)
		}
	}
}

var (
	// psQuiet matches the commands and keywords that run none of their arguments.
	psQuiet = form(`(?:write|out|test|get|copy|move|remove|rename|select|import|split|join|resolve|unblock)-.*|` +
		`aws|cat|copy|cp|del|dir|echo|else|elseif|exit|if|ls|move|mv|return|rm|switch|throw|type|while`)
	// psRuns matches those that run a text or a program.
	psRuns = form(`invoke-(?:command|expression|item)|iex|icm|ii|start-(?:process|job|threadjob)|saps|start|sajb|(?:cmd|powershell|pwsh|schtasks)(?:\.exe)?|(?:new|register)-scheduled.*`)
)

// hint notes that a command that is not followed gets the joining script's name, or runs what is
// computed.
func (p *powershell) hint(command string, words []string) {
	if p.hinted || psQuiet(command) {
		return
	}
	line := p.expand(strings.Join(words, " "))
	p.hinted = namesTool(line) || psRuns(command) && strings.Contains(line, unknown) && p.namesAny()
}

// assign sets a variable, or appends a text in quotes to it; what other operators compute is unknown. In a
// block the assignment may or may not run.
// https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_assignment_operators
func (p *powershell) assign(name, operator string, words []string) {
	value := unknown
	if len(words) == 1 {
		value = p.text(words[0])
	}
	p.proxy(strings.TrimPrefix(name, "env:"))
	had, ok := p.vars[name]
	switch {
	case operator == "":
	case operator == "+" && ok && len(words) == 1 && strings.IndexByte(`"'`, words[0][0]) >= 0 && len(had)+len(value) <= maxValue:
		value = had + value
	default:
		value = unknown
	}
	if ok && had != value && p.braces > 0 {
		value = unknown
	}
	p.vars[name] = value
}

// command returns the name of the command that a word calls, without its directory.
func (p *powershell) command(word string) string {
	name := strings.ToLower(p.text(word))
	return name[strings.LastIndexAny(name, `\/`)+1:]
}

// bootstrap adds a call of windowsScript.
func (p *powershell) bootstrap(args []string) {
	values := p.arguments(arrays(args))
	j := Join{Tool: WindowsScript, Part: p.part, Conditional: p.braces > 0}
	j.Cluster = setting(values["-eksclustername"], validName)
	j.Endpoint = setting(values["-apiserverendpoint"], validEndpoint)
	j.CA = CertificateOf(values["-base64clusterca"])
	// The script puts the text on the kubelet's command line, where Windows recognizes double
	// quotes only.
	j.Kubelet = newKubelet(splitWords(values["-kubeletextraargs"], `"`, false), p.part)
	j.needs("-EKSClusterName", j.Cluster.State != Absent)
	p.join(j)
	p.cluster(values["-eksclustername"])
}

// arguments returns the values by the parameters' full names. PowerShell accepts a name in any case
// and in any unambiguous short form, with its value after a colon or in the next word. A word
// without a name is the first parameter that has no value yet. A variable after @ is a table of parameters
// and their values, any of which it may give
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_splatting).
func (p *powershell) arguments(args []string) map[string]string {
	values, more := map[string]string{}, ""
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], ":")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		skip := 0
		if !joined {
			skip = 1
		}
		lower := strings.ToLower(name)
		switch full := parameter(lower, windowsParameters, 2); {
		case psSplat.MatchString(name):
			more = unknown
		case full != "":
			values[full] = p.text(value)
			i += skip
		case parameter(lower, commonFlags, 4) != "":
		case parameter(lower, commonParameters, 4) != "":
			i += skip
		case psParameter.MatchString(name):
			p.fault(Fault{Part: p.part, Format: PowerShell, Reason: UnknownParam, By: ByWindowsScript, Effect: Fails})
			if !strings.HasPrefix(value, "-") {
				i += skip
			}
		case name[0] != '-' && (strings.IndexByte(`"'`, name[0]) >= 0 || !strings.Contains(args[i], ">")): // 3>&1 is not an argument
			if j := slices.IndexFunc(windowsParameters, func(full string) bool { return values[full] == "" }); j >= 0 {
				values[windowsParameters[j]] = p.text(args[i])
			}
		}
	}
	for _, full := range windowsParameters {
		values[full] = cmp.Or(values[full], more)
	}
	return values
}

// arrays joins the words that a comma makes one argument, with blanks around it or none, into an array,
// which is not read.
// https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_arrays
func arrays(words []string) []string {
	var out []string
	open := false
	for _, word := range words {
		continues := len(out) > 0 && (open || word[0] == ',')
		open = strings.HasSuffix(word, ",")
		if continues {
			out[len(out)-1] = "@()"
			continue
		}
		out = append(out, word)
	}
	return out
}

// parameter returns the first of the names that equals name or begins with it; "" if there is none.
func parameter(name string, names []string, shortest int) string {
	full, _ := roll.Find(names, func(full string) bool {
		return full == name || len(name) >= shortest && strings.HasPrefix(full, name)
	})
	return full
}
