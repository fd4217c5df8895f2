package userdata

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walk goes through the statements of a script and the calls in them, in order. It runs
// nothing. What only the instance knows (the output of a command, a variable from elsewhere)
// is the text unknown, and so is a variable that a branch sets, once the branch is over.
type walk struct {
	*reader
	part        string
	own         bool // the text is the part's own (script)
	vars        map[string]string
	exported    map[string]bool // variables that reach the programs that are run
	functions   map[string]*syntax.Stmt
	params      []string // $1 and on
	stdin       string
	depth       int    // of files and functions that run each other
	conditional bool   // what is walked may not be reached
	ended       string // the command that ends what is walked: exit or return
}

// maxCalls bounds functions that call functions, and scripts that run scripts.
const maxCalls = 16

func newWalk(r *reader, s script) *walk {
	return &walk{
		reader: r, part: s.part, own: s.own,
		vars: map[string]string{}, exported: map[string]bool{}, functions: map[string]*syntax.Stmt{},
	}
}

func (w *walk) gap(why Reason) { w.problem(w.part, Shell, why) }

// run walks a script's text. Like a shell, it reaches the statements that
// stand before one that does not parse.
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
	// The loop is never left early: StmtsSeq of v3.14.1 may yield an error after
	// the loop's body has ended, which panics.
	broken := false
	for stmt, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(text)) {
		switch {
		case broken || w.ended != "":
		case err != nil:
			broken = true
			if !w.own || w.depth > 0 {
				err = nil // its line is none of the part's
			}
			w.problemAt(w.part, Shell, Unparseable, err)
		default:
			w.stmt(stmt)
		}
	}
}

// nested walks a function, a file or a text in another one. What ends it with one of the
// words ends nothing else.
func (w *walk) nested(body func(), ends ...string) {
	w.depth++
	body()
	w.depth--
	if slices.Contains(ends, w.ended) {
		w.ended = ""
	}
}

// branches walks bodies of which one is taken, or in a shell of its own. Variables that they
// set are unknown afterwards.
func (w *walk) branches(conditional bool, bodies ...func()) {
	before, outer, params := w.vars, w.conditional, w.params
	after, paramsAfter, ended := w.copyOf(before), params, 0
	for _, body := range bodies {
		w.vars, w.params, w.conditional = w.copyOf(before), params, outer || conditional
		body()
		if w.ended != "" {
			ended++
			w.ended = ""
			continue
		}
		for name, value := range w.vars {
			if had, ok := before[name]; !ok || had != value {
				after[name] = unknown
			}
		}
		if len(w.params) != len(params) {
			paramsAfter = slices.Repeat([]string{unknown}, len(params))
		}
	}
	w.vars, w.params, w.conditional = after, paramsAfter, outer
	if ended == len(bodies) {
		w.ended = "exit"
	}
}

func (w *walk) copyOf(vars map[string]string) map[string]string {
	if !w.spend(32 * len(vars)) {
		return map[string]string{}
	}
	return maps.Clone(vars)
}

func nothing() {}

func (w *walk) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		w.stmt(st)
	}
}

// stmt walks one statement and returns what is known of its output.
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
		case syntax.RdrOut, syntax.RdrClob, syntax.AppOut:
			if text := w.text(rd.Word); rd.N == nil || rd.N.Value == "1" {
				target, add = text, rd.Op == syntax.AppOut
				w.changes(text)
			}
		default:
			w.text(rd.Word) // a process substitution in it runs
		}
	}
	output = w.command(st.Cmd)
	if target != "" && output != "" {
		w.store(target, output, add)
		return ""
	}
	return output
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
		w.stmts(c.Stmts)
	case *syntax.Subshell:
		w.branches(false, func() { w.stmts(c.Stmts) }, nothing)
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
		w.branches(false, func() { w.stmts(c.Do) }, nothing)
	case *syntax.ForClause:
		w.branches(false, func() { w.forClause(c) }, nothing)
	case *syntax.CaseClause:
		bodies := []func(){nothing} // no pattern may match
		for _, item := range c.Items {
			bodies = append(bodies, func() { w.stmts(item.Stmts) })
		}
		w.branches(true, bodies...)
	}
	return ""
}

// forClause walks the loop's body once.
func (w *walk) forClause(c *syntax.ForClause) {
	if iter, ok := c.Loop.(*syntax.WordIter); ok {
		w.vars[iter.Name.Value] = unknown
		if f := w.fields(iter.Items); len(f) == 1 {
			w.vars[iter.Name.Value] = f[0].text
		}
	}
	w.stmts(c.Do)
}

func (w *walk) binary(c *syntax.BinaryCmd) (output string) {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		w.stmt(c.X)
		if !isCall(c.X, "false") && c.Op == syntax.AndStmt || !isCall(c.X, "true") && c.Op == syntax.OrStmt {
			w.branches(isTest(c.X), func() { w.stmt(c.Y) }, nothing)
		}
		return ""
	}
	before, stdin := len(w.fetches), w.stdin
	w.branches(false, func() { output = w.stmt(c.X) }, nothing)
	if installs(c.Y) {
		w.installed(before)
	}
	w.stdin = output
	w.branches(false, func() { output = w.stmt(c.Y) }, nothing)
	w.stdin = stdin
	return output
}

func (w *walk) ifClause(c *syntax.IfClause) {
	w.stmts(c.Cond)
	if w.ended != "" {
		return
	}
	then := func() { w.stmts(c.Then) }
	otherwise := func() {
		switch {
		case c.Else != nil && len(c.Else.Cond) > 0:
			w.ifClause(c.Else)
		case c.Else != nil:
			w.stmts(c.Else.Then)
		}
	}
	// "if false" is how people switch a block off.
	switch {
	case len(c.Cond) == 1 && isCall(c.Cond[0], "false"):
		otherwise()
	case len(c.Cond) == 1 && isCall(c.Cond[0], "true"):
		then()
	default:
		w.branches(true, then, otherwise)
	}
}

// isTest reports whether a statement only asks something.
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
		if a.Array == nil && a.Index == nil {
			value = w.text(a.Value)
			if a.Append {
				value = w.value(a.Name.Value) + value
			}
		}
		if len(value) > maxValue {
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
		w.vars, w.exported = w.copyOf(vars), maps.Clone(exported)
		w.assign(c.Assigns)
		for _, a := range c.Assigns {
			w.exported[a.Name.Value] = true
		}
	}
	return w.call(args)
}
