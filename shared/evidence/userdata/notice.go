package userdata

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"rollcall/shared/roll/pattern"
)

// proxy records that a variable sets a proxy. Programs read the names in either case.
func (r *reader) proxy(name string) { r.boot.Proxy = r.boot.Proxy || proxyName(name) }

var (
	proxyName       = form(`(?i)(https?|all)_proxy`)
	proxyAssignment = pattern.New(`(?i)\b(?:https?|all)_proxy\b["']?\s*[=:,]`)
)

// proxies finds the variables in text that is not a script, such as a systemd drop-in or
// /etc/environment.
func (r *reader) proxies(text string) {
	if r.spend(len(text)) && proxyAssignment.MatchString(withoutComments(text)) {
		r.boot.Proxy = true
	}
}

// dualStack reports whether one of the texts is about AWS's dual-stack endpoints. An API server's
// own address may be one too, and sets nothing.
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-endpoints.html
func (r *reader) dualStack() bool {
	for _, text := range slices.Concat(slices.Collect(maps.Values(r.texts)), slices.Collect(maps.Values(r.files))) {
		text = strings.ToLower(text)
		if strings.Contains(text, "dualstack") || strings.Contains(text, "endpoint_url") || serviceIPv6.MatchString(text) {
			return true
		}
	}
	return false
}

// serviceIPv6 matches the dual-stack endpoint of EC2.
var serviceIPv6 = pattern.New(`\bec2\.[a-z0-9-]+\.api\.aws\b`)

// changes records the writing of a file that the tools use.
func (r *reader) changes(path string) {
	switch {
	case path == bootstrapScript:
		add(&r.boot.Edits, EditsBootstrapScript, maxList)
	case strings.HasPrefix(path, "/etc/systemd/system/kubelet.service"), strings.HasPrefix(path, "/usr/lib/systemd/system/kubelet.service"):
		add(&r.boot.Edits, EditsKubeletUnit, maxList)
	case strings.HasPrefix(path, "/etc/kubernetes/kubelet/"), strings.HasPrefix(path, "/var/lib/kubelet/config"):
		add(&r.boot.Edits, EditsKubeletConfig, maxList)
	case nodeadmUnits(path):
		add(&r.boot.Edits, ChangesNodeadm, maxList)
	}
}

var (
	inPlace        = form(`(?s)-i.*|--in-place.*|--inplace.*|-p.*`)
	kubeletService = form(`kubelet|kubelet\.service|kubelet-eks`)
	nodeadmService = form(`nodeadm-(?:config|run)(?:\.service)?`)
	startsService  = form(`start|restart|enable|reload-or-restart|try-restart`)
	// nodeadmUnits matches the units of nodeadm, and the environment of all units, which takes effect when
	// the instance boots again. /lib is a link to /usr/lib.
	nodeadmUnits = form(`/(?:etc|(?:usr/(?:local/)?)?lib|run)/systemd/(?:system/(?:nodeadm-|service\.d/)|system\.conf).*`)
)

// notice records the effect of a command on the tools and on fetched files.
func (w *walk) notice(command string, args []field) {
	words := texts(args[1:])
	switch command {
	case "awk", "perl", "sed", "yq":
		if slices.ContainsFunc(words, inPlace) {
			for _, word := range words {
				w.changes(w.at(word))
				w.edited(w.at(word))
			}
		}
	case "cp", "mv", "install", "ln", "patch":
		if len(words) > 0 {
			words = targetLast(words)
			w.changes(w.at(words[len(words)-1]))
			w.copied(command, words)
		}
	case "systemctl", "service", "snap":
		switch starts := slices.ContainsFunc(words, startsService); {
		case starts && slices.ContainsFunc(words, kubeletService):
			add(&w.boot.Edits, RestartsKubelet, maxList)
		case starts && slices.ContainsFunc(words, nodeadmService):
			add(&w.boot.Edits, ChangesNodeadm, maxList)
		}
	}
	for _, f := range args {
		switch {
		case command == "curl" || command == "wget":
		case isAddress(f) && slices.Contains(installers, command):
			w.fetched(f.text, "", true)
		default:
			w.named[path.Base(f.text)] = true
		}
	}
}

// targetLast moves the directory that an option names to the end, where it is without the option.
func targetLast(words []string) []string {
	for i, word := range words {
		if dir, ok := strings.CutPrefix(word, "--target-directory="); ok {
			return append(slices.Delete(words, i, i+1), dir)
		}
		if word == "-t" && i+1 < len(words) {
			dir := words[i+1]
			return append(slices.Delete(words, i, i+2), dir)
		}
	}
	return words
}

// edited notes that a command changes files in place, so that their text is no longer known.
func (w *walk) edited(pattern string) {
	if !w.spend(32 * len(w.files)) {
		w.gap(TooComplex)
		return
	}
	for name := range w.files {
		if ok, _ := path.Match(pattern, name); ok || name == pattern {
			w.files[name] = unknown
		}
	}
}

// fetch is a Fetch that may not be used yet.
type fetch struct {
	Fetch
	path string // its path on the instance
	used bool
}

// installers are commands whose arguments are programs to install, or archives of programs.
var installers = []string{
	"apt", "apt-get", "bash", "chmod", "cp", "dnf", "dpkg", "gunzip", "install", "ln", "mv",
	"rpm", "sh", "tar", "unzip", "yum", "zypper",
}

// usedFetches returns the fetches that a pipe installs, or that other commands name.
func (r *reader) usedFetches() []Fetch {
	var out []Fetch
	for _, f := range r.fetches {
		if f.used || r.named[path.Base(f.path)] {
			add(&out, f.Fetch, maxFetches)
		}
	}
	return out
}

// installs reports whether a statement that reads a pipe installs a program.
func installs(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	return ok && slices.ContainsFunc(call.Args[:min(3, len(call.Args))], func(arg *syntax.Word) bool {
		return slices.Contains(installers, path.Base(arg.Lit()))
	})
}

var (
	validFile = form(`[A-Za-z0-9][A-Za-z0-9._+~-]{0,79}`)
	archForm  = pattern.New(`(?i)\b(?:(amd64|x86[ -]64)|(arm64|aarch64))\b`)
	// outputOption matches the option that names the output file, in the same word or in the next.
	outputOption = map[string]*pattern.Pattern{
		"curl": pattern.New(`^(?:-[a-zA-Z]*o|--output(?:=(.*))?)$`),
		"wget": pattern.New(`^(?:-[a-zA-Z]*O|--output-document(?:=(.*))?)$`),
	}
)

func isAddress(f field) bool {
	return strings.HasPrefix(f.text, "http://") || strings.HasPrefix(f.text, "https://")
}

// fetch records what curl or wget fetches, and where to.
func (w *walk) fetch(command string, args []field) {
	var urls []string
	file := ""
	for i, f := range args {
		m := outputOption[command].FindStringSubmatch(f.text)
		switch {
		case isAddress(f):
			urls = append(urls, f.text)
		case m != nil && m[1] != "":
			file = m[1]
		case m != nil && i+1 < len(args):
			file = args[i+1].text
		}
	}
	for _, url := range urls {
		w.fetched(url, file, w.piped)
	}
}

// fetched records an address that names one architecture.
func (w *walk) fetched(url, file string, used bool) {
	arch := archOf(url)
	if arch == "" || len(w.fetches) >= 4*maxFetches {
		return
	}
	address, _, _ := strings.Cut(url, "?")
	name := path.Base(address)
	file = cmp.Or(file, name)
	if !validFile(name) {
		name = ""
	}
	w.fetches = append(w.fetches, fetch{Fetch: Fetch{Name: name, Arch: arch, Part: w.part, Conditional: w.conditional}, path: file, used: used})
}

// archOf returns the architecture that an address names, "" for none or several.
func archOf(url string) string {
	found := ""
	for _, m := range archForm.FindAllStringSubmatch(strings.ReplaceAll(url, "_", " "), -1) {
		arch := "arm64"
		if m[1] != "" {
			arch = "amd64"
		}
		if found != "" && found != arch {
			return ""
		}
		found = arch
	}
	return found
}
