package userdata

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"rollcall/shared/roll"
)

// bootstrapScript joins a node on Amazon Linux 2 and on EKS's Ubuntu images.
const bootstrapScript = "/etc/eks/bootstrap.sh"

// call walks what a command runs, and returns the known part of its output. An unknown command is
// skipped and makes the script opaque.
func (w *walk) call(args []field) (output string) {
	if len(args) == 0 || w.depth > maxCalls {
		return ""
	}
	name, rest := args[0].text, args[1:]
	command := path.Base(name)
	w.notice(command, args)
	where := name
	if strings.Contains(name, "/") { // else it is looked up in PATH
		where = w.at(name)
	}
	text, written := w.files[where]
	switch body := w.functions[name]; {
	case body != nil:
		params := w.params
		w.params = texts(rest)
		w.nested(func() { output = w.stmt(body) }, "return")
		w.params = params
		return output
	case where == bootstrapScript:
		w.bootstrap(rest)
		return ""
	case written && (text != unknown || !isProgram(command)):
		w.file(text, rest)
		return ""
	case w.tooEarly(where):
		return ""
	case (command == "su" || command == "runuser") && w.su(rest):
		return ""
	}
	if _, ok := wrappers[command]; ok {
		if output, ok = w.wrapped(command, rest); ok {
			return output
		}
	}
	switch command {
	case "exit", "return":
		if w.branch == 0 {
			w.ended = command
		}
	case "set":
		if i := slices.Index(texts(rest), "--"); i >= 0 {
			w.params = texts(rest[i+1:])
		}
	case "shift":
		if len(rest) == 0 && len(w.params) > 0 {
			w.params = w.params[1:]
		}
	case "read", "unset", "mapfile", "readarray":
		for _, f := range rest {
			w.vars[f.text] = unknown
		}
	case "cd", "pushd":
		w.dir = w.directory(texts(rest))
	case "popd":
		w.dir = ""
	case "eval":
		w.include(strings.Join(texts(rest), " "))
	case "source", ".":
		w.source(rest)
	case "cat", "echo", "printf", "tee":
		return w.write(command, rest)
	case "nodeadm":
		w.nodeadm(rest)
	case "kubelet":
		w.kubelet(rest)
	case "curl", "wget":
		w.fetch(command, rest)
	default:
		if isShell(command) {
			w.shell(rest)
		}
	}
	open := !slices.Contains(usual, command) && !w.followed(command, rest)
	if slices.ContainsFunc(args, isAddress) || open {
		w.boot.Opaque = true
	}
	if open || command == "trap" {
		w.hint(args)
	}
	return ""
}

// at returns the path of a file that a command names. It stays relative if the directory is unknown.
func (w *walk) at(name string) string {
	switch {
	case strings.HasPrefix(name, "/"):
		return path.Clean(name)
	case w.dir == "" || name == "" || name[0] == '~' || name[0] == '-' || strings.Contains(name, unknown):
		return name
	}
	return path.Join(w.dir, name)
}

// directory returns the directory that cd changes to, "" if it is unknown.
func (w *walk) directory(args []string) string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		args = args[1:]
	}
	if len(args) != 1 || args[0] == "-" {
		return ""
	}
	if dir := w.at(args[0]); strings.HasPrefix(dir, "/") && !strings.Contains(dir, unknown) {
		return dir
	}
	return ""
}

// source walks a file that runs in this shell. Without arguments it sees those of the script.
func (w *walk) source(args []field) {
	if len(args) == 0 || slices.Contains(harmless, args[0].text) {
		return
	}
	switch name := w.at(args[0].text); {
	case name == bootstrapScript && len(args) == 1:
		w.bootstrap(roll.Map(w.params, plain))
	case name == bootstrapScript:
		w.bootstrap(args[1:])
	case !w.tooEarly(name):
		w.include(w.files[name])
	}
}

// harmless are files of the image that set no variable that scripts name a cluster in.
var harmless = []string{"/etc/profile", "/etc/environment", "/etc/os-release", "/etc/bashrc"}

// include walks text that runs in this shell. Unknown text may set any variable.
func (w *walk) include(text string) {
	if text == "" || strings.Contains(text, unknown) {
		for name := range w.vars {
			w.vars[name] = unknown
		}
	}
	w.nested(func() { w.run(text) }, "return")
}

// file walks a script that runs in its own shell.
func (w *walk) file(text string, args []field) {
	own := *w
	own.params, own.functions = texts(args), map[string]*syntax.Stmt{}
	for name, body := range w.functions {
		if w.exported[name] {
			own.functions[name] = body
		}
	}
	own.vars = w.ownVars()
	own.nested(func() { own.run(text) })
}

// shell walks what bash and similar shells run: -c and a text, a file, or standard input.
func (w *walk) shell(args []field) {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		option := args[0].text
		args = args[1:]
		switch {
		case !strings.HasPrefix(option, "--") && strings.Contains(option, "c"):
			if len(args) > 0 {
				w.file(args[0].text, args[min(2, len(args)):])
			}
			return
		case strings.HasSuffix(option, "o"): // -eo pipefail
			args = args[min(1, len(args)):]
		}
	}
	switch {
	case len(args) == 0:
		w.file(w.stdin, nil)
	case w.at(args[0].text) == bootstrapScript:
		w.bootstrap(args[1:])
	case w.tooEarly(w.at(args[0].text)):
	default:
		w.file(w.files[w.at(args[0].text)], args[1:])
	}
}

// write returns the text that a command writes.
func (w *walk) write(command string, args []field) (output string) {
	if command == "echo" {
		return echo(texts(args))
	}
	var names []string
	add := false
	for _, f := range args {
		if strings.HasPrefix(f.text, "-") && len(f.text) > 1 {
			add = add || f.text == "-a" || f.text == "--append"
		} else {
			names = append(names, f.text)
		}
	}
	switch {
	case command == "printf":
		if len(names) != 1 || strings.ContainsAny(names[0], `%\`) {
			return unknown
		}
		return names[0]
	case command == "tee":
		for _, name := range names {
			w.store(w.at(name), w.stdin, add)
		}
		return w.stdin
	case len(names) == 0:
		return w.stdin
	}
	for _, name := range names {
		text := w.input(w.at(name))
		if text == unknown {
			return unknown
		}
		output += text
	}
	return output
}

var echoOption = form(`-[neE]+`)

// echo returns what echo prints. Its options come first.
func echo(args []string) string {
	end, escapes := "\n", false
	for len(args) > 0 && echoOption(args[0]) {
		if strings.Contains(args[0], "n") {
			end = ""
		}
		escapes = escapes || strings.Contains(args[0], "e")
		args = args[1:]
	}
	text := strings.Join(args, " ") + end
	if escapes && strings.Contains(text, `\`) {
		return unknown
	}
	return text
}

// usual are commands that scripts of user data use and that join no cluster with any arguments.
// They include package managers: packages of Amazon Linux join none.
var usual = strings.Fields(`
	[ [[ : awk basename cat cd chmod chown command cp cut date declare dirname dnf echo exit export false grep
	growpart head hostname hostnamectl id install ip iptables jq ln local logger ls lsblk mkdir mkfs mkfs.ext4
	mkfs.xfs mkswap modprobe mount mv popd printf pushd pwd read readlink resize2fs return rm sed seq service set shift sleep
	sort swapoff swapon sync sysctl systemctl tail tee test timedatectl touch tr trap true ulimit umask umount
	uname unset update-ca-trust useradd usermod wait wc xfs_growfs yum`)

// followed reports whether what a command runs is in the user data: the text after -c, a file that
// the user data writes, or the output of a command before it.
func (w *walk) followed(command string, args []field) bool {
	if command == "eval" {
		return len(args) > 0
	}
	if !isShell(command) && command != "source" && command != "." {
		return false
	}
	for _, f := range args {
		if strings.HasPrefix(f.text, "-") && strings.Contains(f.text, "c") {
			return true
		}
		if !strings.HasPrefix(f.text, "-") {
			_, known := w.files[w.at(f.text)]
			return known
		}
	}
	return !strings.Contains(w.stdin, unknown)
}

// isProgram reports whether a command is known by its name, so that a copy of it, or a link to it, is no
// script.
func isProgram(command string) bool {
	return command == "nodeadm" || command == "kubelet" || isShell(command) || slices.Contains(usual, command) || slices.Contains(quiet, command)
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, path.Base(name))
}

func texts(args []field) []string {
	return roll.Map(args, func(f field) string { return f.text })
}
