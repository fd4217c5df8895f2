package userdata

import (
	"path"
	"slices"
	"strings"

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
	text, written := w.files[name]
	switch body := w.functions[name]; {
	case body != nil:
		params := w.params
		w.params = texts(rest)
		w.nested(func() { output = w.stmt(body) }, "return")
		w.params = params
		return output
	case name == bootstrapScript:
		w.bootstrap(rest)
		return ""
	case written:
		w.file(text, rest)
		return ""
	case w.tooEarly(name):
		return ""
	case slices.Contains(wrappers, command):
		wrapped := unwrap(command, rest)
		output = w.call(wrapped)
		if command == "exec" && len(wrapped) > 0 {
			w.ended = "exit"
		}
		return output
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
	case "eval":
		w.include(strings.Join(texts(rest), " "))
	case "source", ".":
		if len(rest) > 0 && !slices.Contains(harmless, rest[0].text) && !w.tooEarly(rest[0].text) {
			w.include(w.files[rest[0].text])
		}
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
	if slices.ContainsFunc(args, isAddress) || !slices.Contains(usual, command) && !w.followed(command, rest) {
		w.boot.Opaque = true
	}
	return ""
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
	own.params, own.functions = texts(args), newWalk(w.reader, script{}).functions
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
	case args[0].text == bootstrapScript:
		w.bootstrap(args[1:])
	case w.tooEarly(args[0].text):
	default:
		w.file(w.files[args[0].text], args[1:])
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
			w.store(name, w.stdin, add)
		}
		return w.stdin
	case len(names) == 0:
		return w.stdin
	}
	for _, name := range names {
		text, ok := w.files[name]
		if !ok || !w.spend(len(text)) {
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

// wrappers run the command that follows their own arguments.
var wrappers = []string{"sudo", "env", "exec", "nice", "timeout", "nohup", "cloud-init-per"}

var wrapperArgument = form(`(?s)-.*|\w+=.*|[0-9]+[smhd]?`)

// unwrap returns the command that a wrapper runs.
func unwrap(wrapper string, args []field) []field {
	if wrapper == "cloud-init-per" { // its frequency and name
		return args[min(2, len(args)):]
	}
	for len(args) > 0 && wrapperArgument(args[0].text) {
		if wrapper == "sudo" && (args[0].text == "-u" || args[0].text == "-g") {
			args = args[min(1, len(args)):]
		}
		args = args[min(1, len(args)):]
	}
	return args
}

// usual are commands that scripts of user data use and that join no cluster with any arguments.
// They include package managers: packages of Amazon Linux join none.
var usual = strings.Fields(`
	[ [[ : awk basename cat cd chmod chown command cp cut date declare dirname dnf echo exit export false grep
	growpart head hostname hostnamectl id install ip iptables jq ln local logger ls lsblk mkdir mkfs mkfs.ext4
	mkfs.xfs mkswap modprobe mount mv printf pwd read readlink resize2fs return rm sed seq service set shift sleep
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
			_, known := w.files[f.text]
			return known
		}
	}
	return !strings.Contains(w.stdin, unknown)
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, path.Base(name))
}

func texts(args []field) []string {
	return roll.Map(args, func(f field) string { return f.text })
}
