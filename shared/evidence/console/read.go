package console

import (
	"slices"
	"strings"

	"rollcall/shared/evidence/redact"
	"rollcall/shared/roll/pattern"
)

// Read reads a console's text. It never fails: if nothing is recognized, the log has no signs.
func Read(text string) Log {
	r := reader{log: Log{Truncated: Cut(text)}}
	if len(text) > MaxBytes {
		dropped := text[:len(text)-MaxBytes]
		r.skipped = strings.Count(dropped, "\n")
		text = text[len(dropped):]
	}
	r.text = redact.Printable(text) // before matching and redaction, so that no text escapes them by being split
	r.lines = strings.Split(strings.TrimSuffix(r.text, "\n"), "\n")
	if text == "" {
		return r.log
	}
	r.log.Lines = r.skipped + len(r.lines)
	for i, line := range r.lines {
		r.line(i, line)
	}
	r.log.Found = r.settle(r.log.Found)
	return r.log
}

type reader struct {
	text    string    // without control characters
	lines   []string  // of text, which may end in a line break
	skipped int       // lines before text that are not read
	clean   []string  // lines, redacted; nil until one is needed
	detail  [2]string // cache: the last detail passed to presentable, and its result
	bootmgr bool      // the boot manager printed the last beginning of a boot
	log     Log
}

// line reads one line, which can hold several messages.
func (r *reader) line(i int, line string) {
	var seen []Sign
	for _, s := range segments(line) {
		boots := r.log.Boots
		r.facts(s)
		if r.log.Boots != boots {
			r.log.Up = 0
		}
		r.log.Up = max(r.log.Up, uptime(s.raw))
		r.readAgain(s)
		for _, rule := range rules {
			if sign, _ := rule.apply(s); sign != "" && !slices.Contains(seen, sign) && (sign != DiskFull || !r.inMemory(s)) {
				seen = append(seen, sign)
			}
		}
	}
	if len(seen) > 0 {
		r.redacted(i, seen)
	}
}

// inMemory reports whether the message names a file below /tmp, which is no part of a disk on Amazon Linux 2023.
// https://docs.aws.amazon.com/linux/al2023/ug/filesystem-slash-tmp.html
func (r *reader) inMemory(s segment) bool {
	return r.log.OS == "al2023" && belowTmp.MatchString(s.message)
}

var belowTmp = pattern.New(`(?:^|[\s'"=:(])/tmp/`)

// readAgain drops what failed when cloud-init read the user data, if it begins to read it again.
func (r *reader) readAgain(s segment) {
	if s.trace || !strings.HasPrefix(s.message, "Cloud-init v. ") || !strings.Contains(s.message, " running 'init' at ") {
		return
	}
	r.log.Found = slices.DeleteFunc(r.log.Found, func(f Found) bool {
		return f.Boot == r.log.Boots && (f.Sign == IncludeFailed || f.Sign == CloudInitFailed && f.Detail == "stage init" || f.IsBoothook())
	})
}

// redacted adds the signs seen in a line. Their text is taken from the redacted line, with the
// whole text as context, so that it contains no secret. If redaction removed what identified a
// sign, the sign is added without a detail.
func (r *reader) redacted(i int, seen []Sign) {
	if r.clean == nil {
		r.clean = strings.Split(redact.Text(r.text), "\n")
	}
	var told []Sign
	for _, s := range segments(r.clean[i]) {
		for _, rule := range rules {
			if sign, detail := rule.apply(s); slices.Contains(seen, sign) {
				if sign == AccessDenied {
					detail += deniedBy(s.message)
				}
				r.add(i, sign, s.raw, detail)
				told = append(told, sign)
			}
		}
	}
	for _, sign := range seen {
		if !slices.Contains(told, sign) {
			r.add(i, sign, strings.ReplaceAll(r.clean[i], "\r", " "), "")
		}
	}
}

// add adds a finding, unless it is a duplicate or there are too many of its sign.
func (r *reader) add(i int, sign Sign, said, detail string) {
	detail = r.presentable(detail)
	if sign == JobRuns {
		r.log.Found = slices.DeleteFunc(r.log.Found, func(f Found) bool { return f.Sign == JobRuns && f.Boot == r.log.Boots })
	}
	n, again, latest, at := 0, false, uptime(said), dated(said)
	for i := range r.log.Found {
		f := &r.log.Found[i]
		if f.Sign != sign {
			continue
		}
		if f.Boot == r.log.Boots {
			f.Latest, f.At, again = latest, at, again || f.Detail == detail
		}
		n++
	}
	if again || n >= maxPerSign {
		return
	}
	r.log.Found = append(r.log.Found, Found{
		Sign: sign, Line: r.skipped + i + 1, Boot: r.log.Boots,
		Excerpt: redact.Excerpt(head(said)), Detail: detail, Latest: latest, At: at,
	})
}

// head returns the beginning of a redacted text. No more of it is shown.
func head(s string) string { return s[:min(len(s), 4<<10)] }

// presentable returns a detail as it is shown: in one line, of limited length, and redacted again
// because it may have been unquoted.
func (r *reader) presentable(detail string) string {
	if detail == r.detail[0] { // as at the start, where both are empty
		return r.detail[1]
	}
	if detail == "" {
		return ""
	}
	clean := redact.Text(strings.Join(strings.Fields(redact.Printable(head(detail))), " "))
	if runes := []rune(clean); len(runes) > maxDetail {
		clean = string(runes[:maxDetail]) + " ..."
	}
	r.detail = [2]string{detail, clean}
	return clean
}

// settle removes, in place, the findings that other lines, or the system, contradict.
func (r *reader) settle(found []Found) []Found {
	failed, ran := r.log.Has(NodeadmFailed), r.log.Has(NodeadmRan)
	return slices.DeleteFunc(found, func(f Found) bool {
		switch f.Sign {
		case NodeConfigInvalid:
			return !failed // it had another configuration to continue with
		case UserDataIgnored:
			return r.log.OS == "al2023" || ran || strings.Contains(f.Detail, nodeConfigType) && r.log.OS == ""
		}
		return false
	})
}
