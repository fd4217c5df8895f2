package userdata

import (
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// wrapper is a command that runs the command behind its own arguments (the manual pages of sudo,
// coreutils, util-linux, systemd and findutils).
type wrapper struct {
	letters  string // options that take the next word
	long     string // the same, as long options
	operands int    // words before the command
}

var wrappers = map[string]wrapper{
	"builtin":        {},
	"chrt":           {letters: "TPD", operands: 1},
	"cloud-init-per": {operands: 2}, // its frequency and name
	"command":        {},
	"doas":           {letters: "uC"},
	"env":            {letters: "uC", long: "--unset --chdir"},
	"exec":           {letters: "a"},
	"flock":          {letters: "wE", long: "--timeout --wait --conflict-exit-code", operands: 1},
	"ionice":         {letters: "cnpPu", long: "--class --classdata"},
	"nice":           {letters: "n", long: "--adjustment"},
	"nohup":          {},
	"runuser":        {letters: "ugG", long: "--user --group --supp-group"},
	"setsid":         {},
	"stdbuf":         {letters: "ioe", long: "--input --output --error"},
	"sudo":           {letters: "ugChDpRrtTU", long: "--user --group --close-from --host --chdir --prompt --chroot --role --type --other-user"},
	"systemd-run": {letters: "upEHM", long: "--unit --property --description --slice --uid --gid --nice --working-directory --setenv --service-type " +
		"--host --machine --on-active --on-boot --on-startup --on-unit-active --on-unit-inactive --on-calendar --timer-property"},
	"taskset": {operands: 1},
	"time":    {letters: "fo", long: "--format --output"},
	"timeout": {letters: "ks", long: "--kill-after --signal", operands: 1},
	"xargs":   {letters: "aEdILnPs", long: "--arg-file --delimiter --max-lines --max-args --max-procs --max-chars --replace"},
}

var assignment = form(`(?s)\w+=.*`)

// unwrap returns the command that a wrapper runs.
func (x wrapper) unwrap(args []field) []field {
	drop := func(n int) { args = args[min(n, len(args)):] }
	for len(args) > 0 {
		option := args[0].text
		switch {
		case option == "--":
			drop(1)
			drop(x.operands)
			return args
		case strings.HasPrefix(option, "--"):
			drop(1)
			if slices.Contains(strings.Fields(x.long), option) {
				drop(1)
			}
		case strings.HasPrefix(option, "-"):
			drop(1)
			if i := strings.IndexAny(option[1:], x.letters); i >= 0 && i == len(option)-2 {
				drop(1)
			}
		case assignment(option): // of env and sudo
			drop(1)
		default:
			drop(x.operands)
			return args
		}
	}
	return nil
}

// wrapped walks the command that a wrapper runs. ok is false if there is none.
func (w *walk) wrapped(name string, args []field) (output string, ok bool) {
	rest := wrappers[name].unwrap(args)
	switch {
	case name == "command" && len(args) > 0 && slices.Contains([]string{"-v", "-V"}, args[0].text):
		return "", true // it says where the command is
	case name == "flock" && len(rest) > 1 && slices.Contains([]string{"-c", "--command"}, rest[0].text):
		w.file(rest[1].text, nil)
		return "", true
	case name == "xargs":
		rest = w.xargs(args, rest)
	}
	if len(rest) == 0 {
		return "", name == "exec"
	}
	if !w.spend(len(rest)) {
		w.gap(TooComplex)
		return "", true
	}
	output = w.call(rest)
	if name == "exec" && w.branch == 0 {
		w.ended = "exit"
	}
	return output, true
}

// xargs returns the command that xargs runs, with the words of its standard input: behind it, or in
// place of the text after -I.
func (w *walk) xargs(args, command []field) []field {
	if len(command) == 0 {
		return nil
	}
	input := w.stdin
	w.stdin = ""
	replace := ""
	for i, f := range args[:len(args)-len(command)] {
		switch {
		case f.text == "-I" && i+1 < len(args):
			replace = args[i+1].text
		case strings.HasPrefix(f.text, "-I"):
			replace = f.text[2:]
		case f.text == "-a" || strings.HasPrefix(f.text, "--arg-file"):
			input = ""
		}
	}
	words := roll.Map(strings.Fields(input), plain)
	if len(words) == 0 || strings.Contains(input, unknown) {
		words = []field{{unknown, true}}
	}
	if replace == "" {
		return slices.Concat(command, words)
	}
	line := strings.TrimSpace(input)
	if line == "" || strings.Contains(line, "\n") {
		line = unknown
	}
	return roll.Map(command, func(f field) field {
		if long := len(f.text) + strings.Count(f.text, replace)*len(line); long <= maxValue && w.spend(long) {
			f.text = strings.ReplaceAll(f.text, replace, line)
		}
		return f
	})
}

// su walks the text that su and runuser give to a shell: after -c, or on standard input. ok is false if there
// is none.
func (w *walk) su(args []field) (ok bool) {
	for i, f := range args {
		value, joined := strings.CutPrefix(f.text, "--command=")
		short := strings.HasPrefix(f.text, "-") && !strings.HasPrefix(f.text, "--") && strings.HasSuffix(f.text, "c")
		switch {
		case joined:
		case (short || f.text == "--command") && i+1 < len(args):
			value = args[i+1].text
		default:
			continue
		}
		w.file(value, nil)
		return true
	}
	if w.stdin == "" {
		return false
	}
	w.file(w.stdin, nil)
	return true
}
