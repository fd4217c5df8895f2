package userdata

import (
	"slices"
	"strings"

	"rollcall/shared/roll/pattern"
)

// delivery is a document as the instance receives it.
type delivery struct {
	raw       string // after gzip and base64
	text      string // without what precedes its first line, and without carriage returns
	format    Format
	mediaType string
	part      string
}

const (
	byteOrderMark   = "\ufeff"
	nodeConfigMedia = "application/node.eks.aws"
)

// delivered finds faults where the readers on the instance are stricter than this one. The rules
// are those of cloud-init 19.3 (Amazon Linux 2), 22.2 (Amazon Linux 2023) and later:
// cloudinit/user_data.py, cloudinit/handlers, cloudinit/util.py
// (https://github.com/canonical/cloud-init).
func (r *reader) delivered(d delivery) {
	script, mime, declared := d.format == Shell, d.format == Multipart, d.mediaType != ""
	marked := strings.HasPrefix(d.raw, byteOrderMark)
	blank := strings.IndexAny(d.raw[:1], " \t\r\n") == 0
	first, rest, _ := strings.Cut(d.raw, "\n")
	perFrequency := strings.HasPrefix(d.mediaType, "text/x-shellscript-per-")
	noShebang := (d.mediaType == "text/x-shellscript" || perFrequency) && !strings.HasPrefix(d.text, "#!")
	otherFormat := strings.HasPrefix(d.text, "#") && sniff(d.text) != Unknown

	for _, rule := range []struct {
		holds  bool
		why    Reason
		by     Reader
		effect Effect
	}{
		// cloud-init looks for the format's first words at the very beginning
		// (type_from_starts_with), where the mark is. It still runs a part that is declared a
		// script, and the kernel does not find the #!.
		{marked && script && declared, ByteOrderMark, CloudInit, Fails},
		{marked && slices.Contains(ofCloudInit, d.format) && !declared, ByteOrderMark, CloudInit, Skipped},
		// cloud-init ignores white space when it detects the format, but writes it into the script
		// that it runs: "Exec format error. Missing #! in script?" (subp.py). boot_hook.py trims
		// the text after it has cut its own first line.
		{blank && script && (d.mediaType != "text/cloud-boothook" || !strings.HasPrefix(d.text, "#!")), LeadingBlank, CloudInit, Fails},
		// A header that begins with an empty line is not a header. One that begins with a blank
		// loses its first line, and nodeadm's parser rejects it (net/mail).
		{blank && mime, LeadingBlank, ByNodeadm, Fails},
		{blank && mime && (strings.Trim(first, "\r") == "" || strings.IndexAny(rest, " \t") == 0), LeadingBlank, CloudInit, Skipped},
		// Later versions detect the format of such a part by its text.
		{noShebang && otherFormat, NoShebang, CloudInit, Depends},
		{noShebang && !otherFormat, NoShebang, CloudInit, Fails},
		// Version 22.1 was the first with these types (shell_script_by_frequency.py).
		{perFrequency && script, UnknownType, CloudInit, Depends},
		// cloud-init converts carriage returns to plain line ends if the first line has one
		// (dos2unix).
		{script && !strings.HasSuffix(first, "\r") && returned.MatchString(rest), CarriageReturns, ByShell, Fails},
		// convert_string treats text as MIME if it contains this early enough, and any other text
		// as one document.
		{mime && d.part == whole && !strings.Contains(strings.ToLower(d.raw[:min(len(d.raw), 4096)]), "mime-version:"), NoMIMEVersion, CloudInit, Skipped},
		{d.format == NodeConfig && d.misplaced(), Misplaced, ByNodeadm, Skipped},
		// Bottlerocket parses the whole user data as TOML (early-boot-config, settings.rs).
		{d.format == Bottlerocket && d.part != whole, Misplaced, ByBottlerocket, Fails},
	} {
		if rule.holds {
			r.fault(Fault{Part: d.part, Format: d.format, Reason: rule.why, By: rule.by, Effect: rule.effect})
		}
	}
}

// returned matches a line with a carriage return that is neither empty nor a comment.
var returned = pattern.New(`(?m)^[ \t]*[^#\s][^\n]*\r$`)

// misplaced reports whether nodeadm does not see the NodeConfig: it reads the whole user data,
// or the parts of a MIME document that have its media type, and no parts within parts
// (nodeadm/internal/configprovider/mime.go).
func (d delivery) misplaced() bool {
	within := strings.Contains(d.part, ".") || strings.Contains(d.part, " in ")
	return d.part != whole && (within || d.mediaType != nodeConfigMedia)
}

// encodedTwice notes which readers fail on text that is still base64 after EC2 has decoded its own.
// cloud-init decodes it from 23.3 on, and only if it contains no white space
// (DataSourceEc2.crawl_metadata, util.maybe_b64decode); the images of Amazon Linux have older
// versions. nodeadm decodes it (configprovider/encoding.go), Bottlerocket does not.
func (r *reader) encodedTwice(raw, part string) {
	effect := Depends
	if part != whole || strings.ContainsAny(raw, " \t\r\n") {
		effect = Skipped
	}
	if part == whole {
		r.boot.EncodedTwice = true
		r.fault(Fault{Part: part, Format: Unknown, Reason: EncodedAgain, By: ByBottlerocket, Effect: Fails})
	}
	r.fault(Fault{Part: part, Format: Unknown, Reason: EncodedAgain, By: CloudInit, Effect: effect})
}
