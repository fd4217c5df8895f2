package userdata

import (
	"slices"
	"strings"
)

// delivery is a document as the instance gets it.
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

// delivered finds where the readers on the instance are stricter than this one. The rules are
// those of cloud-init 19.3 (Amazon Linux 2), 22.2 (Amazon Linux 2023) and later:
// cloudinit/user_data.py, cloudinit/handlers, cloudinit/util.py
// (https://github.com/canonical/cloud-init).
func (r *reader) delivered(d delivery) {
	found := func(why Reason, by Reader, effect Effect) {
		r.fault(Fault{Problem: Problem{d.part, d.format, why}, By: by, Effect: effect})
	}
	if strings.HasPrefix(d.raw, byteOrderMark) {
		d.marked(found)
	} else if strings.IndexAny(d.raw[:1], " \t\r\n") == 0 {
		d.indented(found)
	}
	switch d.format {
	case Shell:
		d.script(found)
	case Multipart:
		// convert_string takes for MIME what says so early; all else is one document.
		if d.part == whole && !strings.Contains(strings.ToLower(d.raw[:min(len(d.raw), 4096)]), "mime-version:") {
			found(NoMIMEVersion, CloudInit, Skipped)
		}
	case NodeConfig:
		if d.misplaced() {
			found(Misplaced, ByNodeadm, Skipped)
		}
	case Bottlerocket:
		// It takes the whole user data for TOML (early-boot-config, settings.rs).
		if d.part != whole {
			found(Misplaced, ByBottlerocket, Fails)
		}
	}
}

type addFault func(Reason, Reader, Effect)

// marked judges a byte order mark. cloud-init looks for its first words at the very beginning
// (type_from_starts_with), where the mark stands. It runs a part that is declared a script all
// the same, and the kernel does not find the #!.
func (d delivery) marked(found addFault) {
	switch {
	case d.format == Shell && d.mediaType != "":
		found(ByteOrderMark, CloudInit, Fails)
	case slices.Contains([]Format{Shell, CloudConfig, Archive, Multipart, Include}, d.format) && d.mediaType == "":
		found(ByteOrderMark, CloudInit, Skipped)
	}
}

// indented judges white space before the first line. cloud-init ignores it to find the format,
// but writes it into the script that it runs: "Exec format error. Missing #! in script?"
// (subp.py). A header that begins with an empty line is no header. One that begins with a blank
// loses its first line, and nodeadm's parser refuses it (net/mail).
func (d delivery) indented(found addFault) {
	switch d.format {
	case Shell:
		// boot_hook.py trims what is left once it has cut its own first line.
		if d.mediaType != "text/cloud-boothook" || !strings.HasPrefix(d.text, "#!") {
			found(LeadingBlank, CloudInit, Fails)
		}
	case Multipart:
		found(LeadingBlank, ByNodeadm, Fails)
		_, second, _ := strings.Cut(d.raw, "\n")
		if strings.IndexAny(d.raw[:1], "\r\n") == 0 || strings.IndexAny(second, " \t") == 0 {
			found(LeadingBlank, CloudInit, Skipped)
		}
	}
}

// script judges what cloud-init runs as a script. It turns carriage returns into
// plain line ends if the first line has one (dos2unix).
func (d delivery) script(found addFault) {
	if strings.HasPrefix(d.mediaType, "text/x-shellscript") && !strings.HasPrefix(d.text, "#!") {
		effect := Fails
		if strings.HasPrefix(d.text, "#") && sniff(d.text) != Unknown {
			effect = Depends // later versions find the format by the text, whatever the media type
		}
		found(NoShebang, CloudInit, effect)
	}
	first, rest, _ := strings.Cut(d.raw, "\n")
	if strings.HasSuffix(first, "\r") {
		return
	}
	for line := range strings.Lines(rest) {
		if command := strings.TrimSpace(line); strings.HasSuffix(strings.TrimSuffix(line, "\n"), "\r") && command != "" && command[0] != '#' {
			found(CarriageReturns, ByShell, Fails)
			return
		}
	}
}

// misplaced reports whether nodeadm does not see the NodeConfig: it reads the whole user data,
// or the parts of a MIME document that have its media type, and no parts within parts
// (nodeadm/internal/configprovider/mime.go).
func (d delivery) misplaced() bool {
	within := strings.Contains(d.part, ".") || strings.Contains(d.part, " in ")
	return d.part != whole && (within || d.mediaType != nodeConfigMedia)
}

// encodedTwice notes which readers fail on what is still base64 once EC2 has undone its own.
// cloud-init undoes it from 23.3 on, and only if there is no white space in it
// (DataSourceEc2.crawl_metadata, util.maybe_b64decode); the images of Amazon Linux have older
// versions. nodeadm undoes it (configprovider/encoding.go), Bottlerocket does not.
func (r *reader) encodedTwice(raw, part string) {
	effect := Depends
	if part != whole || strings.ContainsAny(raw, " \t\r\n") {
		effect = Skipped
	}
	problem := Problem{part, Unknown, EncodedAgain}
	if part == whole {
		r.boot.EncodedTwice = true
		r.fault(Fault{Problem: problem, By: ByBottlerocket, Effect: Fails})
	}
	r.fault(Fault{Problem: problem, By: CloudInit, Effect: effect})
}
