package userdata

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"rollcall/shared/roll"
)

// unknown replaces a text that only the instance knows. No cluster's name contains it.
const unknown = "\ufffc"

// maxValue bounds the length of a variable's value, which expansions could otherwise double without
// end.
const maxValue = 8 << 10

// field is one argument of a call.
type field struct {
	text  string
	loose bool // text has an unknown outside quotes, which may be any number of arguments
}

// fields expands words into arguments.
func (w *walk) fields(words []*syntax.Word) []field {
	var out []field
	for _, word := range words {
		text, loose := w.expand(word.Parts, false)
		switch name, quoted := onlyParam(word); {
		case loose && text == "":
		case name == "@":
			out = append(out, roll.Map(w.params, plain)...)
		case loose && strings.Contains(text, unknown):
			out = append(out, field{text, true})
		case name != "" && !quoted: // $NAME becomes one argument for each of its words
			out = append(out, roll.Map(strings.Fields(text), plain)...)
		case loose && strings.ContainsAny(text, " \t\n"):
			out = append(out, field{unknown, true}) // how the shell splits it is not followed
		default:
			out = append(out, plain(text))
		}
	}
	return out
}

func plain(text string) field { return field{text: text} }

// onlyParam returns the variable or parameter that is the whole word, "" if there is more to it.
func onlyParam(word *syntax.Word) (name string, quoted bool) {
	parts := word.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok {
			parts, quoted = q.Parts, true
		}
	}
	if len(parts) == 1 {
		if p, ok := parts[0].(*syntax.ParamExp); ok && p.Param != nil && p.Slice == nil && p.Repl == nil {
			return p.Param.Value, quoted
		}
	}
	return "", quoted
}

// text expands a word without splitting it, as an assignment does.
func (w *walk) text(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	text, _ := w.expand(word.Parts, false)
	return text
}

// expand joins the parts of a word. loose reports whether one of them may be any number of
// arguments.
func (w *walk) expand(parts []syntax.WordPart, quoted bool) (text string, loose bool) {
	var b strings.Builder
	for _, part := range parts {
		value := unknown
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value, quoted))
			continue
		case *syntax.SglQuoted:
			if !p.Dollar || !strings.Contains(p.Value, `\`) {
				value = p.Value
			}
			b.WriteString(value)
			continue
		case *syntax.DblQuoted:
			value, many := w.expand(p.Parts, true)
			b.WriteString(value)
			loose = loose || many
			continue
		case *syntax.ParamExp:
			value = w.param(p)
			loose = loose || p.Index != nil || p.Slice != nil // an array is many arguments
		case *syntax.CmdSubst:
			w.apart(p.Stmts...)
		case *syntax.ProcSubst:
			w.apart(p.Stmts...)
		}
		if !w.spend(len(value)) {
			value = unknown
		}
		b.WriteString(value)
		loose = loose || !quoted
	}
	return b.String(), loose
}

// unescape removes the backslashes that quote. Between double quotes they quote fewer characters,
// and in a here-document even fewer, where the difference does not matter.
func unescape(text string, quoted bool) string {
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

// value returns a variable's value. A variable that the script never set may come from the
// environment.
func (w *walk) value(name string) string {
	if value, ok := w.vars[name]; ok {
		return value
	}
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		if i := int(name[0] - '1'); i < len(w.params) {
			return w.params[i]
		}
		return ""
	}
	return unknown
}

// param expands $NAME, ${NAME} and ${NAME:-default}. cloud-init passes hardly any environment to
// scripts, so the default applies to a variable that the script does not set.
func (w *walk) param(p *syntax.ParamExp) string {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.IsSet || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 {
		return unknown
	}
	value := w.value(p.Param.Value)
	if p.Exp == nil {
		return value
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if _, set := w.vars[p.Param.Value]; value == "" || !set && value == unknown {
			return w.text(p.Exp.Word)
		}
		return value
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return value
	}
	return unknown
}

// heredoc returns the text of a here-document. If the delimiter is quoted, the text is not
// expanded.
func (w *walk) heredoc(rd *syntax.Redirect) string {
	if rd.Hdoc == nil {
		return ""
	}
	var text string
	if rd.Word.Lit() != "" && !strings.Contains(rd.Word.Lit(), `\`) {
		text, _ = w.expand(rd.Hdoc.Parts, true)
	} else {
		text = rd.Hdoc.Lit()
	}
	if rd.Op == syntax.DashHdoc {
		lines := roll.Map(strings.Split(text, "\n"), func(l string) string { return strings.TrimLeft(l, "\t") })
		text = strings.Join(lines, "\n")
	}
	return text
}
