package redact

import (
	"sort"
	"strings"
)

// list is a command that is written as a list of its arguments, as for cloud-init's runcmd or in the
// programs that start another.
type list struct {
	args   []element
	joined string // its arguments, each as one word; "" until it is needed
}

// element is an argument, without its quotes.
type element struct{ from, to int }

// inLists checks a form of a command in the lists on the given lines: the argument with the secret is
// removed from there to its end.
func (s *scan) inLists(lines []int, f *form) {
	if len(lines) > 0 && !s.listed {
		s.listed, s.lists = true, [2][]list{s.itemLists(), s.bracketLists()}
	}
	for _, lists := range s.lists {
		next := 0
		for _, line := range lines {
			from, to := s.starts[line], s.endOf(line)
			next = max(next, sort.Search(len(lists), func(i int) bool { return lists[i].end() > from }))
			for ; next < len(lists) && lists[next].args[0].from < to; next++ {
				s.inList(&lists[next], f)
			}
		}
	}
}

func (l *list) end() int { return l.args[len(l.args)-1].to }

func (s *scan) inList(l *list, f *form) {
	if l.joined == "" {
		l.joined = s.joinedArgs(l.args)
	}
	for _, m := range f.pattern.FindAllStringSubmatchIndex(l.joined, -1) {
		begins, _ := group(m)
		at, args := 0, l.args // where the first of args is in joined
		for n := args[0].to - args[0].from; at+n < begins; n = args[0].to - args[0].from {
			at, args = at+n+1, args[1:]
		}
		if from, to := args[0].from+begins-at, args[0].to; !harmless(s.text[from:to], Password, true) {
			s.add(from, to, f.kind)
		}
	}
}

// joinedArgs returns the command with these arguments. A blank, a quote or a sign of the shell in one
// of them is only a character of it, and one that is itself a command is no name of one.
func (s *scan) joinedArgs(args []element) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		for _, c := range []byte(s.text[a.from:a.to]) {
			if isSpace(c) || isQuote(c) || strings.IndexByte(`|;\`, c) >= 0 {
				c = '_'
			}
			b.WriteByte(c)
		}
	}
	return b.String()
}

// itemLists returns the lists with an argument on each line: "- curl", "- -u".
func (s *scan) itemLists() (all []list) {
	var args []element
	end := func() {
		if len(args) > 1 {
			all = append(all, list{args: args})
		}
		args = nil
	}
	last := -1 // the column of the dash on the line before
	for line, start := range s.starts {
		from, to := s.content(line)
		column, dashes := -1, 0
		for s.at(from) == '-' && isBlank(s.at(from+1)) && from < to {
			column, dashes, from = from-start, dashes+1, min(s.blanks(from+1), to)
		}
		if column != last || dashes > 1 {
			end()
		}
		if last = column; column < 0 {
			continue
		}
		if lit, ok := s.quoted(from); ok && lit.end == to {
			from, to = lit.from, lit.to
		}
		args = append(args, element{from, to})
	}
	end()
	return all
}

// bracketLists returns the lists in brackets, and the arguments of calls, that have no brackets inside.
func (s *scan) bracketLists() (all []list) {
	for i := 0; i < len(s.text); i++ {
		if c := s.text[i]; c == '[' || c == '(' {
			if args, end := s.bracketList(i); len(args) > 1 {
				all = append(all, list{args: args})
				i = end
			}
		}
	}
	return all
}

// bracketList returns the arguments in the bracket at a position, and the position of the other one.
func (s *scan) bracketList(open int) (args []element, end int) {
	for p := open + 1; p < len(s.text) && p < open+maxNesting; p++ {
		p = s.spaces(p)
		var from, to int
		if lit, ok := s.quoted(p); ok {
			from, to, p = lit.from, lit.to, lit.end
		} else {
			start := p
			for p < len(s.text) && strings.IndexByte(",[](){}\"'\n", s.text[p]) < 0 {
				p++
			}
			from, to = s.trimmed(start, p)
		}
		if from < to {
			args = append(args, element{from, to})
		}
		switch p = s.spaces(p); s.at(p) {
		case ',':
		case ']', ')':
			return args, p
		default:
			return nil, 0
		}
	}
	return nil, 0
}

func (s *scan) spaces(i int) int {
	for i < len(s.text) && isSpace(s.text[i]) {
		i++
	}
	return i
}
