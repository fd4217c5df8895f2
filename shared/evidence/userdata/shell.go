package userdata

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walk walks the statements of a script and the calls in them, in order, and runs nothing. What
// only the instance knows (the output of a command, a variable from elsewhere) is the text unknown,
// and so is a variable that is set to different values.
type walk struct {
	*reader
	script
	vars        map[string]string
	exported    map[string]bool // variables that programs inherit
	functions   map[string]*syntax.Stmt
	params      []string // $1 and on
	stdin       string
	piped       bool   // the output goes to a command that installs it
	depth       int    // of files and functions that run each other
	branch      int    // depth of statements that may not be reached, or run in a subshell
	conditional bool   // one of these depends on a test
	ended       string // the command that ends what is walked: exit or return
	dir         string // the working directory, "" if it is unknown
}

// maxCalls bounds the nesting of functions that call functions, and scripts that run scripts.
const maxCalls = 16

func newWalk(r *reader, s script) *walk {
	// cloud-init's units have no WorkingDirectory=, whose default is the root directory (systemd.exec).
	return &walk{reader: r, script: s, dir: "/", vars: map[string]string{}, exported: map[string]bool{}, functions: map[string]*syntax.Stmt{}}
}

func (w *walk) gap(why Reason) { w.problem(w.part, Shell, why) }

// run walks a script's text. Like a shell, it reaches the statements before one that does not
// parse.
func (w *walk) run(text string) {
	switch {
	case len(text) > maxScript, brackets(text, "({[`") > maxScriptBrackets:
		w.gap(TooLarge)
		return
	case w.depth > maxCalls:
		w.gap(TooDeep)
		return
	case !w.spend(len(text)):
		w.gap(TooComplex)
		return
	}
	// The loop never exits early: StmtsSeq of v3.14.1 may yield an error after the loop's body has
	// ended, which panics.
	broken, before := false, len(w.boot.Joins)
	var last *syntax.Stmt
	for stmt, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(text)) {
		switch {
		case broken || w.ended != "":
		case err != nil:
			broken = true
			why := Unparseable
			if unclosedFlags(text, err) {
				why = UnclosedFlags
			}
			if !w.own || w.depth > 0 {
				err = nil // its line is not a line of the part
			}
			w.problemAt(w.part, Shell, why, err)
		default:
			last, before = stmt, len(w.boot.Joins)
			w.stmt(stmt)
		}
	}
	if w.own && w.depth == 0 && !broken && w.ended == "" && last != nil && !last.Background && !last.Negated {
		if _, ok := last.Cmd.(*syntax.CallExpr); ok && len(w.boot.Joins) == before+1 {
			w.boot.Joins[before].Last = len(w.scripts) == 1
		}
	}
}

// unclosedFlags reports whether a script does not parse because of the quote before the value of
// --kubelet-extra-args.
func unclosedFlags(text string, err error) bool {
	script, ok := errors.AsType[syntax.ParseError](err)
	if !ok || !strings.Contains(script.Text, "without closing quote") {
		return false
	}
	before := text[:min(int(script.Pos.Offset()), len(text))] //nolint:gosec // of a text of at most maxScript bytes
	word := strings.TrimRight(before, " \t")
	return len(word) < len(before) && strings.HasSuffix(word, extraArgs)
}

// nested walks a function, a file or a text within another. If one of the words ends it, or it is
// itself in a branch, its end does not end the outer walk.
func (w *walk) nested(body func(), ends ...string) {
	branch := w.branch
	w.depth, w.branch = w.depth+1, 0
	body()
	w.depth, w.branch = w.depth-1, branch
	if branch > 0 || slices.Contains(ends, w.ended) {
		w.ended = ""
	}
}

// maybe walks statements that may not be reached, or run in a subshell.
func (w *walk) maybe(conditional bool, list ...*syntax.Stmt) (output string) {
	outer := w.conditional
	w.conditional = outer || conditional
	w.branch++
	output = w.stmts(list)
	w.branch--
	w.conditional = outer
	return output
}

// apart walks statements that run in a shell of their own, whose working directory is its own too.
func (w *walk) apart(list ...*syntax.Stmt) (output string) {
	dir := w.dir
	output = w.maybe(false, list...)
	w.dir = dir
	return output
}

// branched walks statements after which the working directory is unknown if they change it.
func (w *walk) branched(conditional bool, list ...*syntax.Stmt) {
	dir := w.dir
	w.maybe(conditional, list...)
	if w.dir != dir {
		w.dir = ""
	}
}

// ownVars returns a copy of the variables, for a walk whose changes must not affect the original.
func (w *walk) ownVars() map[string]string {
	if !w.spend(32 * len(w.vars)) {
		return map[string]string{}
	}
	return maps.Clone(w.vars)
}

// stmts walks statements. The output of several is not known, since that of most commands is not.
func (w *walk) stmts(list []*syntax.Stmt) (output string) {
	for _, st := range list {
		if text := w.stmt(st); text != "" {
			output = text
		}
	}
	if output != "" && len(list) > 1 {
		return unknown
	}
	return output
}

// stmt walks one statement and returns the known part of its output.
func (w *walk) stmt(st *syntax.Stmt) (output string) {
	if st == nil || w.ended != "" {
		return ""
	}
	if !w.spend(32) {
		w.gap(TooComplex)
		w.ended = "exit"
		return ""
	}
	stdin := w.stdin
	defer func() { w.stdin = stdin }()
	target, add := "", false
	for _, rd := range st.Redirs {
		switch rd.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			w.stdin = w.heredoc(rd)
		case syntax.WordHdoc:
			w.stdin = w.text(rd.Word) + "\n"
		case syntax.RdrIn:
			w.stdin = w.input(w.at(w.text(rd.Word)))
		case syntax.RdrOut, syntax.RdrClob, syntax.AppOut:
			if text := w.at(w.text(rd.Word)); rd.N == nil || rd.N.Value == "1" {
				target, add = text, rd.Op == syntax.AppOut
				w.changes(text)
			}
		default:
			w.text(rd.Word) // a process substitution in it runs
		}
	}
	output = w.command(st.Cmd)
	if target == "" {
		return output
	}
	if !strings.HasPrefix(target, "/dev/") {
		w.store(target, printed(st, output), add)
	}
	return ""
}

// printed returns what a statement prints. Of a command that is not followed, such as sed, it is unknown.
func printed(st *syntax.Stmt, output string) string {
	call, ok := st.Cmd.(*syntax.CallExpr)
	known := st.Cmd == nil || ok && (len(call.Args) == 0 || slices.Contains([]string{":", "cat", "echo", "exec", "printf", "true"}, call.Args[0].Lit()))
	if output == "" && !known {
		return unknown
	}
	return output
}

// input returns the text of a file that is a command's standard input.
func (w *walk) input(name string) string {
	text, known := w.files[name]
	switch {
	case name == "/dev/null":
		return ""
	case !known || !w.spend(len(text)):
		return unknown
	}
	return text
}

func (w *walk) command(cmd syntax.Command) (output string) {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		return w.callExpr(c)
	case *syntax.DeclClause:
		w.assign(c.Args)
		for _, a := range c.Args {
			if a.Name != nil && c.Variant.Value == "export" {
				w.exported[a.Name.Value] = true
			}
		}
	case *syntax.Block:
		return w.stmts(c.Stmts)
	case *syntax.Subshell:
		return w.apart(c.Stmts...)
	case *syntax.CoprocClause:
		w.apart(c.Stmt)
	case *syntax.TimeClause:
		return w.stmt(c.Stmt)
	case *syntax.FuncDecl:
		if c.Name != nil {
			w.functions[c.Name.Value] = c.Body
		}
	case *syntax.BinaryCmd:
		return w.binary(c)
	case *syntax.IfClause:
		w.ifClause(c)
	case *syntax.WhileClause:
		w.stmts(c.Cond)
		w.branched(false, c.Do...)
	case *syntax.ForClause:
		if iter, ok := c.Loop.(*syntax.WordIter); ok {
			w.vars[iter.Name.Value] = unknown
		}
		w.branched(false, c.Do...)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			w.branched(true, item.Stmts...)
		}
	}
	return ""
}

func (w *walk) binary(c *syntax.BinaryCmd) (output string) {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		w.stmt(c.X)
		if !isCall(c.X, "false") && c.Op == syntax.AndStmt || !isCall(c.X, "true") && c.Op == syntax.OrStmt {
			w.maybe(isTest(c.X), c.Y)
		}
		return ""
	}
	stdin, piped := w.stdin, w.piped
	w.piped = installs(c.Y)
	w.stdin, w.piped = printed(c.X, w.apart(c.X)), piped
	output = w.apart(c.Y)
	w.stdin = stdin
	return output
}

// ifClause walks both branches. "if false" is a common way to disable a block.
func (w *walk) ifClause(c *syntax.IfClause) {
	w.stmts(c.Cond)
	never := len(c.Cond) == 1 && isCall(c.Cond[0], "false")
	always := len(c.Cond) == 1 && isCall(c.Cond[0], "true") || len(c.Cond) == 0 // else
	if !never {
		w.branched(!always, c.Then...)
	}
	if c.Else != nil && !always {
		outer := w.conditional
		w.conditional = outer || !never
		w.ifClause(c.Else)
		w.conditional = outer
	}
}

// isTest reports whether a statement only tests something.
func isTest(st *syntax.Stmt) bool {
	switch c := st.Cmd.(type) {
	case *syntax.TestClause, *syntax.ArithmCmd:
		return true
	case *syntax.CallExpr:
		return len(c.Args) > 0 && slices.Contains([]string{"[", "test", "grep"}, c.Args[0].Lit())
	}
	return false
}

// isCall reports whether a statement is the bare word.
func isCall(st *syntax.Stmt, word string) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	return ok && !st.Negated && len(call.Args) == 1 && call.Args[0].Lit() == word
}

func (w *walk) assign(assigns []*syntax.Assign) {
	for _, a := range assigns {
		if a.Name == nil || a.Naked {
			continue
		}
		value := unknown
		if a.Array == nil && a.Index == nil && !a.Append {
			value = w.text(a.Value)
		}
		if had, ok := w.vars[a.Name.Value]; ok && had != value || len(value) > maxValue {
			value = unknown
		}
		w.vars[a.Name.Value] = value
		w.proxy(a.Name.Value)
	}
}

func (w *walk) callExpr(c *syntax.CallExpr) (output string) {
	args := w.fields(c.Args)
	if len(c.Args) == 0 {
		w.assign(c.Assigns)
		return ""
	}
	if len(c.Assigns) > 0 { // for the command only
		vars, exported := w.vars, w.exported
		defer func() { w.vars, w.exported = vars, exported }()
		w.vars, w.exported = w.ownVars(), maps.Clone(exported)
		w.assign(c.Assigns)
		for _, a := range c.Assigns {
			w.exported[a.Name.Value] = true
		}
	}
	return w.call(args)
}
