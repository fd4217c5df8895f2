package userdata

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// proxy keeps that a variable of a proxy is set. Programs take the names in
// either case.
func (r *reader) proxy(name string) {
	switch asciiLower(name) {
	case "http_proxy":
		r.boot.Proxy.HTTP = true
	case "https_proxy", "all_proxy":
		r.boot.Proxy.HTTPS = true
	case "no_proxy":
		r.boot.Proxy.No = true
	}
}

var proxyAssignment = regexp.MustCompile(`(?i)\b((?:https?|all|no)_proxy)\b["']?\s*[=:,]`)

// proxies looks for the variables in text that is no script, such as a systemd
// drop-in or /etc/environment.
func (r *reader) proxies(text string) {
	if !r.spend(len(text)) {
		return
	}
	for one := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(one), "#") {
			continue
		}
		for _, m := range proxyAssignment.FindAllStringSubmatch(one, 4) {
			r.proxy(m[1])
		}
	}
}

// writes keeps what is written over that the tools use.
func (r *reader) writes(path string) {
	switch {
	case path == bootstrapScript:
		r.edit(EditsBootstrapScript)
	case strings.HasPrefix(path, "/etc/systemd/system/kubelet.service"), strings.HasPrefix(path, "/usr/lib/systemd/system/kubelet.service"):
		r.edit(EditsKubeletUnit)
	case strings.HasPrefix(path, "/etc/kubernetes/kubelet/"), strings.HasPrefix(path, "/var/lib/kubelet/config"):
		r.edit(EditsKubeletConfig)
	}
}

// notice keeps what a command does to the tools and to fetched files.
func (s *shell) notice(args []field) {
	r := s.r
	command, rest := base(args[0].text), args[1:]
	switch command {
	case "sed", "perl":
		if slices.ContainsFunc(rest, func(f field) bool {
			return strings.HasPrefix(f.text, "-i") || strings.HasPrefix(f.text, "--in-place") || command == "perl" && strings.HasPrefix(f.text, "-p")
		}) {
			for _, f := range rest {
				r.writes(f.text)
			}
		}
	case "cp", "mv", "install", "ln", "patch":
		if len(rest) > 0 {
			r.writes(rest[len(rest)-1].text)
		}
	case "systemctl", "service", "snap":
		r.service(rest)
	}
	for i, f := range args {
		installs := slices.Contains(installers, command)
		if installs && addressForm.MatchString(f.text) {
			s.fetched(f.text, "")
			r.installed(len(r.fetches) - 1)
		}
		if i == 0 || installs {
			r.runs(f.text)
		}
	}
}

func (r *reader) service(args []field) {
	has := func(words ...string) bool {
		return slices.ContainsFunc(args, func(f field) bool { return slices.Contains(words, f.text) })
	}
	if has("kubelet", "kubelet.service", "kubelet-eks") && has("start", "restart", "enable", "reload-or-restart", "try-restart") {
		r.edit(RestartsKubelet)
	}
}

// Fetch is a program for one architecture that the user data fetches and
// installs or runs.
type Fetch struct {
	Name string // the file's name, without its address
	// Arch is amd64 or arm64, from the words of the address.
	Arch        string
	Part        string
	Conditional bool // in a branch, which may ask for the architecture
}

// fetch is a Fetch that may not be used yet.
type fetch struct {
	Fetch
	path string // what it is called on the instance
	used bool
}

// installers are commands whose arguments are programs that are put in place, or
// archives of them.
var installers = []string{
	"apt", "apt-get", "bash", "chmod", "cp", "dnf", "dpkg", "gunzip", "install", "ln", "mv",
	"rpm", "sh", "tar", "unzip", "yum", "zypper",
}

// runs marks what was fetched to the path as used. A package manager is given
// addresses too.
func (r *reader) runs(path string) {
	name := base(path)
	for i, f := range r.fetches {
		if path == f.path || name == base(f.path) && f.path != "" && !strings.Contains(path, "://") {
			r.fetches[i].used = true
		}
	}
}

// installed marks what was fetched since as used.
func (r *reader) installed(since int) {
	for i := max(since, 0); i < len(r.fetches); i++ {
		r.fetches[i].used = true
	}
}

func (r *reader) used() []Fetch {
	var out []Fetch
	for _, f := range r.fetches {
		if f.used && len(out) < maxFetches && !slices.Contains(out, f.Fetch) {
			out = append(out, f.Fetch)
		}
	}
	return out
}

// installs reports whether a statement that reads a pipe puts a program in place.
func installs(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	for _, arg := range call.Args[:min(3, len(call.Args))] {
		if name := base(arg.Lit()); slices.Contains(installers, name) {
			return true
		}
	}
	return false
}

var (
	addressForm = regexp.MustCompile(`^https?://`)
	fileForm    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~-]{0,79}$`)
	archForm    = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])(amd64|x86_64|x86-64|arm64|aarch64)(?:$|[^a-z0-9])`)
)

// fetch follows curl and wget as far as to say what is fetched, and where it goes.
func (s *shell) fetch(command string, args []field) {
	var urls []string
	path := ""
	for i := 0; i < len(args); i++ {
		text := args[i].text
		if to, ok := outputOption(command, text); ok && to != "" {
			path = to
		} else if ok && i+1 < len(args) {
			i++
			path = args[i].text
		} else if addressForm.MatchString(text) {
			urls = append(urls, text)
		}
	}
	for _, url := range urls {
		s.fetched(url, path)
	}
}

// outputOption reports whether an argument says where the output goes: in the
// same word, or in the next.
func outputOption(command, arg string) (value string, ok bool) {
	long, letter := "--output", "o"
	if command == "wget" {
		long, letter = "--output-document", "O"
	}
	if rest, found := strings.CutPrefix(arg, long); found && (rest == "" || rest[0] == '=') {
		return strings.TrimPrefix(rest, "="), true
	}
	return "", strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, letter)
}

func (s *shell) fetched(url, path string) {
	arch := archOf(url)
	if arch == "" || len(s.r.fetches) >= 4*maxFetches {
		return
	}
	address, _, _ := strings.Cut(url, "?")
	name := base(address)
	if path == "" {
		path = name
	}
	if !fileForm.MatchString(name) {
		name = ""
	}
	f := Fetch{Name: name, Arch: arch, Part: s.part, Conditional: s.branch}
	s.r.fetches = append(s.r.fetches, fetch{Fetch: f, path: path})
}

// archOf is the architecture that an address names, "" for none or several.
func archOf(url string) string {
	arch := ""
	for rest := url; ; {
		m := archForm.FindStringSubmatchIndex(rest)
		if m == nil {
			return arch
		}
		one := "amd64"
		if word := asciiLower(rest[m[2]:m[3]]); word == "arm64" || word == "aarch64" {
			one = "arm64"
		}
		if arch != "" && arch != one {
			return ""
		}
		arch, rest = one, rest[m[3]:]
	}
}
