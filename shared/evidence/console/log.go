package console

// MaxBytes is the most of a text that is read: its end, which is the newest. EC2 keeps
// less than a tenth of it.
const MaxBytes = 1 << 20

const (
	// kept is about what EC2 keeps of a console. A text as long as that has lost its
	// beginning.
	kept = 64_000
	// maxPerSign is the most findings of one sign with different details.
	maxPerSign = 8
	// maxDetail is the most characters of a detail.
	maxDetail = 300
)

// Log is what a console shows.
type Log struct {
	// Found are the signs in the order of the lines. A sign with the same detail in the
	// same boot stands here once, with its first line. There are at most 8 of a sign.
	Found []Found
	// Lines is how many lines the text has; 0 if it is empty.
	Lines int
	// Truncated: the text is not the whole console. Its beginning is missing, or it is so
	// long that only its end was read. What Found lacks may have stood there.
	Truncated bool
	// Boots is how many beginnings of a boot were seen.
	Boots int
	// OS is al2, al2023, bottlerocket, ubuntu, windows, or "" if the text does not tell
	// or it is another.
	OS string
	// Arch is amd64 or arm64, "" if not told.
	Arch string
	// KubeletVersion is as much as is told, without v: 1.33.4 by nodeadm and bootstrap.sh,
	// 1.33 by the variant of Bottlerocket; "" if not told.
	KubeletVersion string
}

// Found is a sign and where it stands.
type Found struct {
	Sign Sign
	Line int // counted from 1
	// Boot is the boot that it belongs to, counted from 1; 0 if the beginning of that
	// boot was not seen.
	Boot int
	// Excerpt is what the line says, redacted, at most redact.MaxWidth characters and a
	// mark that more was there.
	Excerpt string
	// Detail is what Sign's documentation says, redacted, at most 300 characters; "" if
	// the line does not tell.
	Detail string
}

// First is the first finding of a sign in the last boot, or else the first of all, and
// whether there is any.
func (l Log) First(s Sign) (Found, bool) {
	var any Found
	for _, f := range l.Found {
		if f.Sign != s {
			continue
		}
		if f.Boot == l.Boots {
			return f, true
		}
		if any.Sign == "" {
			any = f
		}
	}
	return any, any.Sign != ""
}

// Has reports whether a sign was found, in whichever boot.
func (l Log) Has(s Sign) bool {
	_, ok := l.First(s)
	return ok
}
