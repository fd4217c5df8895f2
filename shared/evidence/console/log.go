package console

import (
	"strings"
	"time"

	"rollcall/shared/roll"
)

// MaxBytes is the maximum number of bytes read, from the end of the text, which is the newest. EC2
// keeps less than a tenth of it.
const MaxBytes = 1 << 20

const (
	// kept is approximately how many bytes of a console EC2 keeps. A text that long has lost its
	// beginning.
	kept = 64_000
	// maxPerSign is the maximum number of findings of one sign with different details.
	maxPerSign = 8
	// maxDetail is the maximum number of characters of a detail.
	maxDetail = 300
)

// Cut reports whether a text is so long that EC2 dropped its beginning. Its first line is then the rest of
// one, where the name that announces a secret may be missing.
func Cut(text string) bool { return len(text) >= kept }

// Log is what was found in a console text.
type Log struct {
	// Found are the signs in the order of the lines. A sign with the same detail in the same boot
	// appears once, with its first line. There are at most 8 of a sign.
	Found []Found
	// Lines is the number of lines of the text; 0 if it is empty.
	Lines int
	// Truncated reports whether the text is incomplete: its beginning is missing, or it is so long
	// that only its end was read. A sign missing from Found may have been in the part not read.
	Truncated bool
	// Boots is the number of boots whose beginning was seen.
	Boots int
	// Up is how long after the beginning of the last boot its last line with a timestamp was written; 0 if
	// none has one.
	Up time.Duration
	// OS is al2, al2023, bottlerocket, ubuntu or windows; "" if it is unknown or another.
	OS string
	// Arch is amd64 or arm64, "" if unknown.
	Arch string
	// KubeletVersion is the version as far as it is known, without v: 1.33.4 from nodeadm and
	// bootstrap.sh, 1.33 from the variant of Bottlerocket; "" if unknown.
	KubeletVersion string
}

// Found is a sign and its position.
type Found struct {
	Sign Sign
	Line int // counted from 1
	// From is the section of the host's logs that has the line, such as kubelet; "" if it is on the
	// console.
	From string
	// Boot is the boot that it belongs to, counted from 1; 0 if the beginning of that boot was not
	// seen.
	Boot int
	// Excerpt is the text of the line, redacted. It has at most redact.MaxWidth characters and a
	// mark if it was cut.
	Excerpt string
	// Detail is as documented for Sign, redacted, at most 300 characters; "" if the line has none.
	Detail string
	// Latest is how long after the beginning of the boot a line with the sign was last written, with
	// whatever detail; 0 if that line does not tell.
	Latest time.Duration
	// At is the date of that line, zero if it has none. A log has no years: it is of the year 0, unless
	// package hostlog, which knows the year, read it.
	At time.Time
}

// Where names the text that has the line, as in "the console of".
func (f Found) Where() string {
	if f.From == "" {
		return "console"
	}
	return f.From + " log"
}

// IsBoothook reports whether a boothook failed, which cloud-init runs when it has read the user data.
func (f Found) IsBoothook() bool {
	return f.Sign == UserScriptFailed && strings.HasPrefix(f.Detail, boothook)
}

// LeftOut returns the unit that systemd did not start, to break a cycle of units that wait for each other.
func (f Found) LeftOut() (unit string, ok bool) { return strings.CutSuffix(f.Detail, cycle) }

// First returns the first finding of a sign in the last boot, or else the first of all, and whether
// there is any.
func (l Log) First(s Sign) (Found, bool) {
	such := func(f Found) bool { return f.Sign == s }
	if f, ok := l.InLastBoot(such); ok {
		return f, true
	}
	return roll.Find(l.Found, such)
}

// InLastBoot returns the first finding of the last boot for which such returns true, and whether there
// is any.
func (l Log) InLastBoot(such func(Found) bool) (Found, bool) {
	return roll.Find(l.Found, func(f Found) bool { return f.Boot == l.Boots && such(f) })
}

// Has reports whether a sign was found, in any boot.
func (l Log) Has(s Sign) bool {
	_, ok := l.First(s)
	return ok
}
