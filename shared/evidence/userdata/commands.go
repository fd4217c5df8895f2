package userdata

import (
	"slices"
	"strings"
)

// bootstrapScript joins a node on Amazon Linux 2 and on EKS's Ubuntu images.
const bootstrapScript = "/etc/eks/bootstrap.sh"

// bootstrapOptions are the options of bootstrapScript; each takes a value
// (awslabs/amazon-eks-ami, templates/al2/runtime/bootstrap.sh). The first
// argument that is neither is the cluster's name.
var bootstrapOptions = []string{
	"--apiserver-endpoint", "--aws-api-retry-attempts", "--b64-cluster-ca", "--cluster-id",
	"--container-runtime", "--containerd-config-file", "--dns-cluster-ip", "--docker-config-json",
	"--enable-docker-bridge", "--enable-local-outpost", "--ip-family", "--kubelet-extra-args",
	"--local-disks", "--mount-bpf-fs", "--pause-container-account", "--pause-container-version",
	"--service-ipv4-cidr", "--service-ipv6-cidr", "--use-max-pods",
}

// call follows a command with its arguments and gives what is known of its
// output. A command that is not known does nothing.
func (s *shell) call(args []field) (output string) {
	if len(args) == 0 || s.depth > maxCalls {
		return ""
	}
	name, rest := args[0].text, args[1:]
	s.notice(args)
	if body, ok := s.functions[name]; ok {
		params := s.params
		s.params = texts(rest)
		s.depth++
		output = s.stmt(body)
		s.depth--
		s.params = params
		if s.halted == returned {
			s.halted = running
		}
		return output
	}
	if name == bootstrapScript {
		s.bootstrap(rest)
		return ""
	}
	if text, ok := s.r.files[name]; ok {
		s.script(text, rest)
		return ""
	}
	if wrapped, ok := unwrap(base(name), rest); ok {
		if base(name) == "exec" && len(wrapped) > 0 {
			defer func() { s.halted = exited }()
		}
		return s.call(wrapped)
	}
	switch command := base(name); command {
	case "exit", "return":
		s.halted = exited
		if command == "return" {
			s.halted = returned
		}
	case "shift":
		if len(rest) == 0 && len(s.params) > 0 {
			s.params = s.params[1:]
		}
	case "set":
		if i := slices.IndexFunc(rest, func(f field) bool { return f.text == "--" }); i >= 0 {
			s.params = texts(rest[i+1:])
		}
	case "read", "unset", "mapfile", "readarray":
		for _, f := range rest {
			if _, ok := s.vars[f.text]; ok {
				s.vars[f.text] = unknown
			}
		}
	case "eval":
		s.depth++
		s.run(strings.Join(texts(rest), " "))
		s.depth--
	case "source", ".":
		if len(rest) > 0 {
			if text, ok := s.r.files[rest[0].text]; ok {
				s.depth++
				s.run(text)
				s.depth--
			}
		}
	case "cat", "echo", "printf", "tee":
		return s.write(command, rest)
	case "nodeadm":
		s.nodeadm(rest)
	case "kubelet":
		s.kubelet(rest)
	case "curl", "wget":
		s.fetch(command, rest)
	default:
		if isShell(command) {
			s.shell(rest)
		}
	}
	s.opaque(base(name), rest)
	return ""
}

// bootstrap reads the arguments of bootstrap.sh.
func (s *shell) bootstrap(args []field) {
	s.bootstrapJoin(args)
	strange := false
	for i := 0; i < len(args); i++ {
		switch arg := args[i].text; {
		case arg == "-h" || arg == "--help":
			return
		case slices.Contains(bootstrapOptions, arg):
			i++
			// A bare flag as the value was meant to have more in its quotes, and
			// what follows it belongs to that flag.
			strange = strange || i < len(args) && strings.HasPrefix(args[i].text, "-") && !strings.ContainsAny(args[i].text, "= ")
		case strings.HasPrefix(arg, "-") && strings.Contains(arg, "="):
			// bootstrap.sh takes it for the name and fails; the intent is plain.
		case strings.HasPrefix(arg, "-"):
			strange = true
		case strange:
			// This may be the value of that option, and a value may be a secret.
			s.problem(Unclear)
			return
		case args[i].loose:
			s.problem(Computed)
			return
		default:
			s.r.cluster(arg, s.part, Shell)
			return
		}
	}
	s.problem(NoName)
}

// nodeadm follows nodeadm init. Without a source, or from the instance's user
// data, it reads the NodeConfig that is found on its own.
func (s *shell) nodeadm(args []field) {
	if len(args) == 0 || args[0].text != "init" {
		return
	}
	var docs []nodeDocument
	defer func() { s.nodeadmJoin(docs) }()
	for i := 1; i < len(args); i++ {
		source, ok := "", false
		switch option, value, eq := strings.Cut(args[i].text, "="); {
		case option != "-c" && option != "--config-source":
		case eq:
			source, ok = value, true
		case i+1 < len(args):
			source, ok = args[i+1].text, true
		}
		if !ok || strings.HasPrefix(source, "imds:") {
			continue
		}
		text, ok := s.r.files[strings.TrimPrefix(source, "file://")]
		if !ok || !s.r.spend(len(text)) {
			s.problem(Elsewhere)
			continue
		}
		doc := s.r.nodeDocument(text, s.part, false, true)
		if doc.ok {
			docs = append(docs, doc)
		}
		if doc.cluster != "" {
			s.r.cluster(doc.cluster, s.part, NodeConfig)
		}
	}
}

// script runs a file in a shell of its own.
func (s *shell) script(text string, args []field) {
	c := s.child()
	c.depth++
	c.params = texts(args)
	c.functions = newShell(s.r, s.part).functions
	c.run(text)
}

// shell follows bash and its like: -c and a text, a file, or standard input.
func (s *shell) shell(args []field) {
	for len(args) > 0 {
		arg := args[0].text
		if arg == "" || arg[0] != '-' && arg[0] != '+' {
			break
		}
		args = args[1:]
		switch {
		case strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "c"):
			if len(args) > 0 {
				s.script(args[0].text, args[min(2, len(args)):])
			}
			return
		case strings.HasSuffix(arg, "o") || arg == "--rcfile" || arg == "--init-file": // -eo pipefail
			args = args[min(1, len(args)):]
		}
	}
	switch {
	case len(args) == 0:
		s.script(s.stdin, nil)
	case args[0].text == bootstrapScript:
		s.bootstrap(args[1:])
	default:
		if text, ok := s.r.files[args[0].text]; ok {
			s.script(text, args[1:])
		}
	}
}

// write follows the commands with which scripts write files.
func (s *shell) write(command string, args []field) (output string) {
	var names []string
	add := false
	for _, f := range args {
		if strings.HasPrefix(f.text, "-") && len(f.text) > 1 {
			add = add || f.text == "-a" || f.text == "--append"
		} else {
			names = append(names, f.text)
		}
	}
	switch command {
	case "echo":
		return strings.Join(names, " ") + "\n"
	case "printf":
		if len(names) != 1 || strings.ContainsAny(names[0], `%\`) {
			return unknown
		}
		return names[0]
	case "tee":
		for _, name := range names {
			s.r.store(name, s.stdin, add)
		}
		return s.stdin
	}
	if len(names) == 0 || len(names) == 1 && names[0] == "-" {
		return s.stdin
	}
	for _, name := range names {
		text, ok := s.r.files[name]
		if !ok || !s.r.spend(len(text)) {
			return unknown
		}
		output += text
	}
	return output
}

// wrappers run the command that follows their options. The value lists the
// options that take a value, and how many arguments come before the command.
var wrappers = map[string]struct {
	valued []string
	skip   int
}{
	"sudo":           {valued: []string{"-u", "-g", "-h", "-p", "-C", "-r", "-t"}},
	"env":            {valued: []string{"-u", "-C"}},
	"exec":           {valued: []string{"-a"}},
	"nice":           {valued: []string{"-n"}},
	"timeout":        {valued: []string{"-k", "-s"}, skip: 1},
	"stdbuf":         {valued: []string{"-i", "-o", "-e"}},
	"nohup":          {},
	"command":        {},
	"builtin":        {},
	"setsid":         {},
	"time":           {},
	"cloud-init-per": {skip: 2},
}

// unwrap gives the command that a wrapper runs.
func unwrap(command string, args []field) ([]field, bool) {
	w, ok := wrappers[command]
	if !ok {
		return nil, false
	}
	skip := w.skip
	for len(args) > 0 {
		switch arg := args[0].text; {
		case slices.Contains(w.valued, arg):
			args = args[min(2, len(args)):]
		case strings.HasPrefix(arg, "-"):
			if command == "command" && (arg == "-v" || arg == "-V") {
				return nil, true // only asks where it is
			}
			args = args[1:]
		case (command == "env" || command == "sudo") && strings.Contains(arg, "="):
			args = args[1:]
		case skip > 0:
			skip--
			args = args[1:]
		default:
			return args, true
		}
	}
	return nil, true
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, base(name))
}

func texts(args []field) []string {
	out := make([]string, len(args))
	for i, f := range args {
		out[i] = f.text
	}
	return out
}
