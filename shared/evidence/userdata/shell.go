package userdata

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shell follows a script as a shell would, without running anything. What only
// the instance knows (the output of a command, a variable from elsewhere) is the
// text unknown. Branches are all followed; a variable that differs between them
// is unknown afterwards. A loop's body is followed once.
type shell struct {
	r         *reader
	part      string
	vars      map[string]string
	functions map[string]*syntax.Stmt
	params    []string // $1 and on
	stdin     string
	depth     int
	halted    halt
	own       bool     // the text is the part's own (script)
	branch    bool     // what is followed may not be reached
	given     []string // variables that stand before the command
}

// halt says that the statements that follow are not reached.
type halt int

const (
	running halt = iota
	returned
	exited
)

// maxCalls bounds functions that call functions, and scripts that run scripts.
const maxCalls = 16

func newShell(r *reader, part string) *shell {
	return &shell{r: r, part: part, vars: map[string]string{}, functions: map[string]*syntax.Stmt{}}
}

// child is a shell whose changes to variables do not come back.
func (s *shell) child() *shell {
	c := *s
	if s.r.spend(32 * len(s.vars)) {
		c.vars = maps.Clone(s.vars)
	} else {
		c.vars = map[string]string{}
	}
	return &c
}

// join makes s continue after branches of which exactly one was taken.
func (s *shell) join(branches ...*shell) {
	var open []*shell
	for _, b := range branches {
		if b.halted == running {
			open = append(open, b)
		}
	}
	if len(open) == 0 {
		s.halted = branches[0].halted
		return
	}
	s.vars = open[0].vars
	for _, b := range open[1:] {
		for name, value := range b.vars {
			if had, ok := s.vars[name]; !ok || had != value {
				s.vars[name] = unknown
			}
		}
		for name := range s.vars {
			if _, ok := b.vars[name]; !ok {
				s.vars[name] = unknown
			}
		}
	}
}

// run follows a script's text. Like a shell, it reaches the statements that
// stand before one that does not parse.
func (s *shell) run(text string) {
	if len(text) > maxScript || countAny(text, "({[`") > maxScriptBrackets {
		s.problem(TooLarge)
		return
	}
	if s.depth > maxCalls {
		s.problem(TooDeep)
		return
	}
	if !s.r.spend(len(text)) {
		s.problem(TooComplex)
		return
	}
	// The loop is never left early: StmtsSeq of v3.14.1 may yield an error after
	// the loop's body has ended, which panics.
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	broken := false
	for stmt, err := range parser.StmtsSeq(strings.NewReader(text)) {
		switch {
		case broken || s.halted != running:
		case err != nil:
			s.unparseable(err)
			broken = true
		default:
			s.stmt(stmt)
		}
	}
}

func (s *shell) problem(why Reason) {
	s.r.problem(s.part, Shell, why)
}

// unparseable keeps a syntax error, with its line if that is one of the part.
func (s *shell) unparseable(err error) {
	if !s.own || s.depth > 0 {
		err = nil
	}
	s.r.problemAt(s.part, Shell, Unparseable, err)
}

func (s *shell) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		if s.halted != running {
			return
		}
		s.stmt(st)
	}
}

// stmt follows one statement and gives what is known of its output.
func (s *shell) stmt(st *syntax.Stmt) (output string) {
	if st == nil || s.halted != running {
		return ""
	}
	if !s.r.spend(32) {
		s.problem(TooComplex)
		s.halted = exited
		return ""
	}
	stdin := s.stdin
	defer func() { s.stdin = stdin }()
	target, add := "", false
	for _, rd := range st.Redirs {
		switch rd.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			s.stdin = s.heredoc(rd)
		case syntax.WordHdoc:
			s.stdin = s.text(rd.Word) + "\n"
		case syntax.RdrOut, syntax.RdrClob, syntax.AppOut:
			if text := s.text(rd.Word); rd.N == nil || rd.N.Value == "1" {
				target, add = text, rd.Op == syntax.AppOut
				s.r.writes(text)
			}
		default:
			s.text(rd.Word) // a process substitution in it runs
		}
	}
	output = s.command(st.Cmd)
	if target != "" && output != "" {
		s.r.store(target, output, add)
		return ""
	}
	return output
}

func (s *shell) command(cmd syntax.Command) (output string) {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		return s.callExpr(c)
	case *syntax.DeclClause:
		s.assign(c.Args)
		if c.Variant.Value == "export" {
			s.export(c.Args)
		}
	case *syntax.Block:
		s.stmts(c.Stmts)
	case *syntax.Subshell:
		s.child().stmts(c.Stmts)
	case *syntax.TimeClause:
		return s.stmt(c.Stmt)
	case *syntax.CoprocClause:
		s.child().stmt(c.Stmt)
	case *syntax.FuncDecl:
		if c.Name != nil {
			s.functions[c.Name.Value] = c.Body
		}
	case *syntax.BinaryCmd:
		return s.binary(c)
	case *syntax.IfClause:
		s.ifClause(c)
	case *syntax.WhileClause:
		s.stmts(c.Cond)
		s.maybe(func(b *shell) { b.stmts(c.Do) })
	case *syntax.ForClause:
		s.maybe(func(b *shell) {
			if iter, ok := c.Loop.(*syntax.WordIter); ok {
				value := unknown
				if f := s.fields(iter.Items); len(f) == 1 {
					value = f[0].text
				}
				b.vars[iter.Name.Value] = value
			}
			b.stmts(c.Do)
		})
	case *syntax.CaseClause:
		branches := []*shell{s.child()} // no pattern may match
		for _, item := range c.Items {
			b := s.child()
			b.branch = true
			b.stmts(item.Stmts)
			branches = append(branches, b)
		}
		s.join(branches...)
	}
	return ""
}

// maybe follows what may happen or not.
func (s *shell) maybe(body func(*shell)) {
	done, skipped := s.child(), s.child()
	body(done)
	s.join(skipped, done)
}

func (s *shell) binary(c *syntax.BinaryCmd) (output string) {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		s.stmt(c.X)
		if isCall(c.X, "false") && c.Op == syntax.AndStmt || isCall(c.X, "true") && c.Op == syntax.OrStmt {
			return ""
		}
		s.maybe(func(b *shell) {
			b.branch = b.branch || isTest(c.X)
			b.stmt(c.Y)
		})
		return ""
	}
	before := len(s.r.fetches)
	output = s.child().stmt(c.X)
	if installs(c.Y) {
		s.r.installed(before)
	}
	right := s.child()
	right.stdin = output
	return right.stmt(c.Y)
}

func (s *shell) ifClause(c *syntax.IfClause) {
	s.stmts(c.Cond)
	if s.halted != running {
		return
	}
	var then, otherwise *shell
	// "if false" is how people switch a block off.
	if len(c.Cond) != 1 || !isCall(c.Cond[0], "false") {
		then = s.branchOff(c.Cond)
		then.stmts(c.Then)
	}
	if len(c.Cond) != 1 || !isCall(c.Cond[0], "true") {
		otherwise = s.branchOff(c.Cond)
		if c.Else != nil && len(c.Else.Cond) > 0 {
			otherwise.ifClause(c.Else)
		} else if c.Else != nil {
			otherwise.stmts(c.Else.Then)
		}
	}
	switch {
	case then == nil:
		s.join(otherwise)
	case otherwise == nil:
		s.join(then)
	default:
		s.join(then, otherwise)
	}
}

// branchOff is a child in a branch, unless its condition is plain true or false.
func (s *shell) branchOff(cond []*syntax.Stmt) *shell {
	b := s.child()
	b.branch = b.branch || len(cond) != 1 || !isCall(cond[0], "true") && !isCall(cond[0], "false")
	return b
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

func (s *shell) assign(assigns []*syntax.Assign) {
	for _, a := range assigns {
		if a.Name == nil || a.Naked {
			continue
		}
		value := unknown
		if a.Array == nil && a.Index == nil {
			value = s.text(a.Value)
			if a.Append {
				value = s.value(a.Name.Value) + value
			}
		}
		if len(value) > maxValue {
			value = unknown
		}
		s.vars[a.Name.Value] = value
		s.r.proxy(a.Name.Value)
	}
}

// export makes variables reach the programs that are run.
func (s *shell) export(assigns []*syntax.Assign) {
	for _, a := range assigns {
		if a.Name != nil {
			s.r.exported[a.Name.Value] = true
		}
	}
}

func (s *shell) callExpr(c *syntax.CallExpr) (output string) {
	args := s.fields(c.Args)
	if len(c.Args) == 0 {
		s.assign(c.Assigns)
		return ""
	}
	if len(c.Assigns) > 0 { // for the command only
		before, given := s.vars, s.given
		s.vars = s.child().vars
		s.assign(c.Assigns)
		s.given = nil
		for _, a := range c.Assigns {
			s.given = append(s.given, a.Name.Value)
		}
		defer func() { s.vars, s.given = before, given }()
	}
	return s.call(args)
}
