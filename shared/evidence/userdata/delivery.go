package userdata

import (
	"slices"
	"strings"
)

// delivery is a document as the instance gets it, beside what is read of it here.
type delivery struct {
	raw       string // after gzip and base64
	text      string // without what stands before its first line, and no carriage returns
	format    Format
	mediaType string
	part      string
}

const (
	byteOrderMark   = "\ufeff"
	nodeConfigMedia = "application/node.eks.aws"
)

// delivered tells where the readers on the instance are stricter than this one.
// The rules are those of cloud-init 19.3 (Amazon Linux 2), 22.2 (Amazon Linux
// 2023) and later: cloudinit/user_data.py, cloudinit/handlers, cloudinit/util.py
// (https://github.com/canonical/cloud-init).
func (r *reader) delivered(d delivery) {
	tell := func(why Reason, by Reader, effect Effect) {
		r.fault(Fault{Problem: Problem{d.part, d.format, why}, By: by, Effect: effect})
	}
	if strings.HasPrefix(d.raw, byteOrderMark) {
		d.marked(tell)
	} else if strings.IndexAny(d.raw[:1], " \t\r\n") == 0 {
		d.indented(tell)
	}
	switch d.format {
	case Shell:
		d.script(tell)
	case Multipart:
		// convert_string takes for MIME what says so early; all else is one document.
		if d.part == whole && !strings.Contains(asciiLower(d.raw[:min(len(d.raw), 4096)]), "mime-version:") {
			tell(NoMIMEVersion, CloudInit, Skipped)
		}
	case NodeConfig:
		if d.misplaced() {
			tell(Misplaced, ByNodeadm, Skipped)
		}
	case Bottlerocket:
		// It takes the whole user data for TOML (early-boot-config, settings.rs).
		if d.part != whole {
			tell(Misplaced, ByBottlerocket, Fails)
		}
	}
}

type teller func(Reason, Reader, Effect)

// marked judges a byte order mark. cloud-init compares the first characters
// with those that it knows and takes the mark for one of them
// (type_from_starts_with). What it was told to be a script runs nevertheless,
// and the kernel does not find the #!.
func (d delivery) marked(tell teller) {
	switch {
	case d.format == Shell && d.mediaType != "":
		tell(ByteOrderMark, CloudInit, Fails)
	case slices.Contains([]Format{Shell, CloudConfig, Archive, Multipart, Include}, d.format) && d.mediaType == "":
		tell(ByteOrderMark, CloudInit, Skipped)
	}
}

// indented judges white space before the first line. cloud-init cuts it when it
// asks what a document is, but writes it into the script that it runs, which
// ends in "Exec format error. Missing #! in script?" (subp.py). A header that
// begins with an empty line is no header; one that begins with a blank loses
// its first line, and nodeadm's parser refuses it (net/mail).
func (d delivery) indented(tell teller) {
	switch d.format {
	case Shell:
		// boot_hook.py cuts what is left once it has cut its own first line.
		if d.mediaType != "text/cloud-boothook" || !strings.HasPrefix(d.text, "#!") {
			tell(LeadingBlank, CloudInit, Fails)
		}
	case Multipart:
		tell(LeadingBlank, ByNodeadm, Fails)
		_, second, _ := strings.Cut(d.raw, "\n")
		if strings.IndexAny(d.raw[:1], "\r\n") == 0 || strings.IndexAny(second, " \t") == 0 {
			tell(LeadingBlank, CloudInit, Skipped)
		}
	}
}

// script judges what cloud-init runs as a script. It turns carriage returns into
// plain line ends if the first line has one (dos2unix).
func (d delivery) script(tell teller) {
	if strings.HasPrefix(d.mediaType, "text/x-shellscript") && !strings.HasPrefix(d.text, "#!") {
		effect := Fails
		if strings.HasPrefix(d.text, "#") && sniff(d.text) != Unknown {
			effect = Depends // later versions look into the part, whatever it is said to be
		}
		tell(NoShebang, CloudInit, effect)
	}
	_, rest, _ := strings.Cut(d.raw, "\n")
	if !firstLineEndsIn(d.raw, "\r") && commandEndsIn(rest, "\r") {
		tell(CarriageReturns, ByShell, Fails)
	}
}

func firstLineEndsIn(text, end string) bool {
	first, _, ok := strings.Cut(text, "\n")
	return ok && strings.HasSuffix(first, end)
}

// commandEndsIn reports whether a line that is neither empty nor a comment ends
// in end.
func commandEndsIn(text, end string) bool {
	for line := range strings.Lines(text) {
		command := strings.TrimSpace(line)
		if strings.HasSuffix(strings.TrimSuffix(line, "\n"), end) && command != "" && command[0] != '#' {
			return true
		}
	}
	return false
}

// misplaced reports whether nodeadm does not see the NodeConfig: it reads the
// whole user data, or those parts of a MIME document that have its media type,
// and no parts within parts (nodeadm/internal/configprovider/mime.go).
func (d delivery) misplaced() bool {
	within := strings.Contains(d.part, ".") || strings.Contains(d.part, " in ")
	return d.part != whole && (within || d.mediaType != nodeConfigMedia)
}

// encodedTwice tells who reads what is still base64 once EC2 has undone its own.
// cloud-init does from 23.3 on, and only if there is no white space in it
// (DataSourceEc2.crawl_metadata, util.maybe_b64decode); the images of Amazon
// Linux have older ones. nodeadm does (configprovider/encoding.go), Bottlerocket
// does not.
func (r *reader) encodedTwice(raw, part string) {
	effect := Depends
	if part != whole || strings.ContainsAny(raw, " \t\r\n") {
		effect = Skipped
	}
	if part == whole {
		r.boot.EncodedTwice = true
		r.fault(Fault{Problem: Problem{part, Unknown, EncodedAgain}, By: ByBottlerocket, Effect: Fails})
	}
	r.fault(Fault{Problem: Problem{part, Unknown, EncodedAgain}, By: CloudInit, Effect: effect})
}
