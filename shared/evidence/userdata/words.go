package userdata

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unknown stands in a text for what only the instance knows. No cluster's name
// contains it.
const unknown = "\ufffc"

// maxValue bounds a variable's value, which expansions could otherwise double
// without end.
const maxValue = 8 << 10

// field is one argument after expansion.
type field struct {
	text  string
	loose bool // an unquoted unknown in it may be any number of arguments
}

// fields expands words into arguments.
func (s *shell) fields(words []*syntax.Word) []field {
	var e expansion
	for _, w := range words {
		if isAllParams(w) {
			for _, p := range s.params {
				e.out = append(e.out, field{text: p})
			}
			continue
		}
		e.add(s, w.Parts, false)
		e.end()
	}
	return e.out
}

// text expands a word without splitting it, as an assignment does.
func (s *shell) text(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var e expansion
	e.whole = true
	e.add(s, w.Parts, false)
	return e.cur.String()
}

// isAllParams reports whether a word is "$@" or $@.
func isAllParams(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	p, ok := part.(*syntax.ParamExp)
	return ok && p.Param != nil && p.Param.Value == "@" && p.Exp == nil && p.Slice == nil && p.Repl == nil
}

// expansion collects the arguments that words expand to.
type expansion struct {
	out   []field
	cur   strings.Builder
	begun bool // cur is an argument even if it is empty
	loose bool
	whole bool // no splitting
}

func (e *expansion) end() {
	if e.begun || e.cur.Len() > 0 {
		e.out = append(e.out, field{text: e.cur.String(), loose: e.loose})
	}
	e.cur.Reset()
	e.begun, e.loose = false, false
}

func (e *expansion) add(s *shell, parts []syntax.WordPart, quoted bool) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			e.cur.WriteString(unescape(p.Value, quoted))
		case *syntax.SglQuoted:
			e.begun = true
			if p.Dollar && strings.Contains(p.Value, `\`) {
				e.cur.WriteString(unknown)
			} else {
				e.cur.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			e.begun = true
			e.add(s, p.Parts, true)
		case *syntax.ParamExp:
			e.insert(s, s.param(p), quoted)
		case *syntax.CmdSubst:
			s.child().stmts(p.Stmts)
			e.insert(s, unknown, quoted)
		case *syntax.ProcSubst:
			s.child().stmts(p.Stmts)
			e.insert(s, unknown, true)
		default:
			e.insert(s, unknown, quoted)
		}
	}
}

// insert puts an expansion's value in, which the shell splits at white space
// unless it is quoted.
func (e *expansion) insert(s *shell, value string, quoted bool) {
	if !s.r.spend(len(value)) {
		value = unknown
	}
	if quoted || e.whole {
		e.cur.WriteString(value)
		return
	}
	e.loose = e.loose || strings.Contains(value, unknown)
	for i, piece := range strings.Fields(value) {
		if i > 0 || e.cur.Len() > 0 && strings.IndexAny(value[:1], " \t\n") == 0 {
			e.end()
		}
		e.cur.WriteString(piece)
	}
	if value != "" && strings.IndexAny(value[len(value)-1:], " \t\n") == 0 {
		e.end()
	}
}

// unescape removes the backslashes that quote. Between double quotes they quote
// less, and in a here-document less still, where the difference does not matter.
func unescape(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		next := text[i+1]
		switch {
		case next == '\n':
			i++
		case !quoted || strings.IndexByte("$`\"\\", next) >= 0:
			b.WriteByte(next)
			i++
		default:
			b.WriteByte('\\')
		}
	}
	return b.String()
}

// value is a variable's value. One that the script never set may come from the
// environment.
func (s *shell) value(name string) string {
	if value, ok := s.vars[name]; ok {
		return value
	}
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		if i := int(name[0] - '1'); i < len(s.params) {
			return s.params[i]
		}
		return ""
	}
	return unknown
}

// param expands $name, ${name} and the forms with a default. cloud-init gives
// scripts hardly any environment, so the default is what applies to a variable
// that the script does not set.
func (s *shell) param(p *syntax.ParamExp) string {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.IsSet || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 {
		return unknown
	}
	value := s.value(p.Param.Value)
	if p.Exp == nil {
		return value
	}
	_, set := s.vars[p.Param.Value]
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if set && value != "" || !set && value != unknown && value != "" {
			return value
		}
		return s.text(p.Exp.Word)
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return value
	}
	return unknown
}

// heredoc is the text of a here-document. One whose delimiter is quoted is not
// expanded.
func (s *shell) heredoc(rd *syntax.Redirect) string {
	if rd.Hdoc == nil {
		return ""
	}
	var text string
	if rd.Word.Lit() != "" && !strings.Contains(rd.Word.Lit(), `\`) {
		var e expansion
		e.whole = true
		e.add(s, rd.Hdoc.Parts, true)
		text = e.cur.String()
	} else {
		for _, part := range rd.Hdoc.Parts {
			if lit, ok := part.(*syntax.Lit); ok {
				text += lit.Value
			}
		}
	}
	if rd.Op == syntax.DashHdoc {
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		text = strings.Join(lines, "\n")
	}
	return text
}
