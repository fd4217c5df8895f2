package userdata

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"rollcall/shared/roll/memo"
	"rollcall/shared/roll/pattern"
)

const (
	// maxDepth bounds the nesting of parts, and of scripts that run scripts.
	maxDepth = 8
	// maxWork bounds the cost of walking scripts: about one unit for each byte parsed or produced
	// by an expansion. Typical user data takes some ten thousand.
	maxWork = 4 << 20
	// The parsers recurse once for each nesting, and a Go stack that exceeds its limit ends the
	// process. A nested bracket costs mvdan.cc/sh up to 12 KB of stack. toml refuses a depth of 10,000.
	maxScript         = 64 << 10
	maxScriptBrackets = 4096
	maxYAML           = 256 << 10
	maxTOML           = 64 << 10
	maxTOMLBrackets   = 1024
)

// Read reads user data as the instance gets it from EC2: the result of Decode. It also accepts user
// data that is still in base64, or already decompressed. It never fails: a part that it could not
// read is a Fault. The result is shared by all callers for the same user data and must not be
// changed.
func Read(data []byte) Boot {
	return boots.Get(memo.Of(data), func() Boot {
		_, boot := readAnew(data)
		return boot
	})
}

// boots caches the latest results: the instances of one template share user data.
var boots = memo.Memo[memo.Key, Boot]{Most: 256}

func readAnew(data []byte) (r *reader, boot Boot) {
	r = newReader()
	defer func() {
		// The parsers are third-party and the input is untrusted. One instance's user data must not
		// end the check of a whole cluster.
		if recover() != nil {
			r.problem(whole, Unknown, Unparseable)
			boot = r.finish(data)
		}
	}()
	return r, r.read(data)
}

// whole names the part that is the whole user data.
const whole = "user data"

type reader struct {
	boot Boot // the result so far
	room int  // bytes of text that may still be read
	work int  // see maxWork

	files   map[string]string // what the user data writes on the instance's disk
	scripts []script          // what it runs there

	nodeConfigs []nodeDocument // those that nodeadm merges
	merged      string         // cluster of the merged NodeConfig

	cut     map[string]int    // lines cut from the beginning of a part
	texts   map[string]string // of the parts, by their names
	fetches []fetch           // what curl and wget fetch
	named   map[string]bool   // files that commands name, without their directories

	configs    map[string][]entry // the lists of the merged cloud-configs, by their keys
	mergeTypes map[string]string  // the headers Merge-Type, by parts
	fileNames  map[string]string  // of attachments, by parts
	attached   map[string]string  // parts with scripts, by their files
	writings   []writing          // the files that write_files has still to write

	handlers bool // a part handles other media types

	hinted          bool            // a tool is named where it may run, in a form that is not followed
	searched, names bool            // see namesAny
	copies          map[string]bool // of bootstrap.sh
}

// script is a script that runs on the instance. own reports whether it is the part's own text, so
// that the line numbers are the same.
type script struct {
	text, part string
	own        bool
	early      bool // it runs before write_files: bootcmd or a boothook
}

func newReader() *reader {
	return &reader{
		room: MaxText, work: maxWork, files: map[string]string{}, cut: map[string]int{}, texts: map[string]string{}, named: map[string]bool{},
		configs: map[string][]entry{}, mergeTypes: map[string]string{},
		fileNames: map[string]string{}, attached: map[string]string{}, copies: map[string]bool{},
	}
}

func (r *reader) read(data []byte) Boot {
	r.document(data, "", whole, 0)
	r.configure()
	// Whatever the order of the parts, cloud-init runs boothooks while it reads them, then bootcmd,
	// writes every file, and runs the other scripts at the end (cloudinit/handlers/boot_hook.py;
	// config/cloud.cfg.tmpl, cloud_init_modules and cloud_final_modules).
	r.runScripts(true)
	for _, f := range r.writings {
		r.store(f.path, f.text, f.add)
	}
	r.writings = nil
	r.runScripts(false)
	r.dropIns()
	r.trace()
	r.units()
	if r.merged != "" {
		r.cluster(r.merged)
	}
	return r.finish(data)
}

// runScripts walks the scripts that run before write_files, or those that run after it.
func (r *reader) runScripts(early bool) {
	for _, s := range r.scripts {
		if s.early == early {
			newWalk(r, s).run(s.text)
		}
	}
}

// document reads one document. mediaType is that of the MIME part, "" elsewhere.
func (r *reader) document(data []byte, mediaType, part string, depth int) {
	if depth > maxDepth {
		r.problem(part, Unknown, TooDeep)
		return
	}
	data, why := r.inflate(data)
	if why != "" {
		r.problem(part, Unknown, why)
		return
	}
	raw := string(data)
	text, indent := r.text(data, part)
	if text == "" {
		if mediaType == nodeConfigMedia {
			r.fault(Fault{Part: part, Format: NodeConfig, Reason: WrongKind, By: ByNodeadm, Effect: Fails})
		}
		return
	}
	r.texts[part] = text
	format, ok := formatOf[mediaType]
	if !ok {
		format = sniff(text)
	}
	if format == Unknown || format == NodeConfig {
		// User data may have been encoded twice, and nodeadm decodes it too.
		if inner, ok := decodeBase64(text); ok && len(inner) > 0 {
			before := len(r.boot.Formats)
			r.document(inner, mediaType, part, depth+1)
			if slices.ContainsFunc(r.boot.Formats[before:], func(f Format) bool { return f != Unknown }) {
				r.encodedTwice(raw, part)
			}
			return
		}
	}
	add(&r.boot.Formats, format, maxList)
	if !ok && !sniffed(mediaType) && slices.Contains(ofCloudInit, format) {
		r.unhandled(part, format)
		return
	}
	arrived := delivery{raw: raw, text: text, format: format, mediaType: mediaType, part: part}
	r.delivered(arrived)
	switch format {
	case Shell:
		early := mediaType == "text/cloud-boothook" || strings.HasPrefix(text, "#cloud-boothook")
		if !early {
			r.overwrite(part, mediaType)
		}
		r.shellScript(text, part, early)
	case CloudConfig:
		r.cloudConfig(text, part)
	case Archive:
		r.archive(text, part, depth)
	case Multipart:
		r.multipart(text, part, depth)
	case NodeConfig:
		r.merge(r.nodeDocument(indent+text, part, !arrived.misplaced(), true)) // YAML that is indented as a whole is valid
	case Bottlerocket:
		r.bottlerocket(text, part)
	case PowerShell:
		r.windows(text, part)
	case Include:
		r.problem(part, format, Elsewhere)
	default:
		r.unknown(text, mediaType, part)
	}
}

// unhandled notes a part that cloud-init passes over because of its media type, whatever its text
// is: "Unhandled unknown content-type" (cloudinit/handlers/__init__.py, walker_callback). A part
// handler of the user data may handle any type.
func (r *reader) unhandled(part string, format Format) {
	if r.handlers {
		r.problem(part, format, Unsupported)
		return
	}
	r.fault(Fault{Part: part, Format: format, Reason: UnknownType, By: CloudInit, Effect: Skipped})
}

// unknown reads a text of no known form. cloud-init passes over what begins with none of its
// words.
// https://docs.cloud-init.io/en/latest/explanation/format.html
func (r *reader) unknown(text, mediaType, part string) {
	handler := strings.HasPrefix(text, "#part-handler") || mediaType == "text/part-handler"
	if handler || strings.HasPrefix(text, "#upstart-job") {
		r.handlers = r.handlers || handler
		r.problem(part, Unknown, Unsupported)
		return
	}
	r.boot.Unclear = true
	r.fault(Fault{Part: part, Format: sniff(text), Reason: NotHandled, By: CloudInit, Effect: Skipped})
}

// text returns a document's text without what precedes its first line, and the indent of that line.
func (r *reader) text(data []byte, part string) (text, indent string) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	// A carriage return would become part of a value. Such a script fails on the instance, but its
	// purpose is the same.
	all := strings.ReplaceAll(string(data), "\r\n", "\n")
	text = strings.TrimLeft(all, " \t\r\n")
	if strings.HasPrefix(text, "## template: jinja") {
		_, text, _ = strings.Cut(text, "\n")
	}
	before := all[:len(all)-len(text)]
	r.cut[part] = strings.Count(before, "\n")
	return text, before[strings.LastIndexByte(before, '\n')+1:]
}

// formatOf maps the media types that cloud-init and nodeadm handle.
var formatOf = map[string]Format{
	"text/x-shellscript":              Shell,
	"text/x-shellscript-per-boot":     Shell,
	"text/x-shellscript-per-instance": Shell,
	"text/x-shellscript-per-once":     Shell,
	"text/cloud-config":               CloudConfig,
	"text/cloud-config-archive":       Archive,
	"text/cloud-boothook":             Shell,
	"text/x-include-url":              Include,
	"text/x-include-once-url":         Include,
	nodeConfigMedia:                   NodeConfig,
}

// ofCloudInit are the formats that cloud-init reads.
var ofCloudInit = []Format{Shell, CloudConfig, Archive, Multipart, Include}

// sniffedTypes are the other media types of parts that cloud-init reads: plain text and compressed
// data, of which the content decides, and those whose content begins with a word that it knows
// (cloudinit/user_data.py, TYPE_NEEDED and DECOMP_TYPES; cloudinit/handlers).
var sniffedTypes = strings.Fields(`
	text/plain text/x-not-multipart text/jinja2 text/cloud-config-jsonp text/part-handler text/upstart-job
	application/gzip application/gzip-compressed application/gzipped application/x-compress
	application/x-compressed application/x-gunzip application/x-gzip application/x-gzip-compressed`)

// sniffed reports whether the content decides what cloud-init makes of a part. To Python's parser, a
// type that is not two words around a slash is text/plain, and a message within a message is read
// (email.message, get_content_type and walk).
func sniffed(mediaType string) bool {
	return strings.Count(mediaType, "/") != 1 || strings.HasPrefix(mediaType, "message/") || slices.Contains(sniffedTypes, mediaType)
}

// firstWords are the first lines by which cloud-init detects a document's format.
var firstWords = []struct {
	prefix string
	format Format
}{
	{"#!", Shell},
	{"#cloud-boothook", Shell},
	{"#cloud-config-archive", Archive}, // before the prefix of it that follows
	{"#cloud-config", CloudConfig},
	{"#include", Include},
	{"#part-handler", Unknown},
	{"#upstart-job", Unknown},
}

// begins returns the format that cloud-init detects by the first word, in letters of any case
// (cloudinit/handlers/__init__.py, type_from_starts_with).
func begins(text string) (format Format, ok bool) {
	head := strings.ToLower(text[:min(len(text), 32)])
	for _, w := range firstWords {
		if strings.HasPrefix(head, w.prefix) {
			return w.format, true
		}
	}
	return "", false
}

// sniff returns the format of a text, detected as by cloud-init, nodeadm, Bottlerocket and
// EC2Launch.
func sniff(text string) Format {
	if format, ok := begins(text); ok {
		return format
	}
	head := strings.ToLower(text[:min(len(text), 1024)])
	switch {
	case strings.HasPrefix(head, "content-type:"), strings.HasPrefix(head, "mime-version:"),
		strings.HasPrefix(head, "from ") && strings.Contains(head, "\ncontent-type:"):
		return Multipart
	case text[0] == '<', powershellTag.MatchString(text), strings.Contains(head, "version:") && strings.Contains(head, "tasks:"):
		return PowerShell
	case ignition.MatchString(text):
		return Ignition
	case talosMachine.MatchString(text):
		return TalosConfig
	case strings.Contains(text, nodeConfigGroup):
		return NodeConfig
	case strings.Contains(text, "[settings"), strings.Contains(text, "settings."):
		return Bottlerocket
	}
	return Unknown
}

// The configurations of systems without cloud-init:
//   - https://coreos.github.io/ignition/specs/, in JSON
//   - https://docs.siderolabs.com/talos/v1.11/reference/configuration/v1alpha1/config
var (
	ignition     = pattern.New(`^\{[\s\S]*"ignition"\s*:\s*\{[\s\S]*"version"`)
	talosMachine = pattern.New(`(?m)^version:\s*"?v1alpha1"?\s[\s\S]*^machine:\s`)
)

// shellScript adds a script to run. Other interpreters are not followed.
func (r *reader) shellScript(text, part string, early bool) {
	if line, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(line, "#!") {
		words := strings.Fields(line[2:])
		if joinsWords(words) {
			r.fault(Fault{Part: part, Format: Shell, Reason: JoinedWords, By: CloudInit, Effect: Fails})
		}
		if len(words) > 0 && path.Base(words[0]) == "env" {
			words = slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") })
		}
		if len(words) == 0 || !isShell(words[0]) {
			r.problem(part, Shell, Unsupported)
			return
		}
	}
	r.scripts = append(r.scripts, script{text: text, part: part, own: true, early: early})
}

// overwrite drops an earlier script whose file cloud-init overwrites with that of a part: it writes all
// of them, by the names of the attachments, before it runs any. It names parts without one by their numbers
// (cloudinit/handlers/shell_script.py; handlers/__init__.py, walk).
func (r *reader) overwrite(part, mediaType string) {
	name := r.fileNames[part]
	if name == "" {
		return
	}
	if strings.HasPrefix(mediaType, "text/x-shellscript-per-") {
		name = mediaType + "/" + name // a directory of its own
	}
	old, given := r.attached[name]
	r.attached[name] = part
	if !given {
		return
	}
	r.scripts = slices.DeleteFunc(r.scripts, func(s script) bool { return s.part == old })
	if r.texts[old] != r.texts[part] {
		r.fault(Fault{Part: old, Format: Shell, Reason: Replaced, By: CloudInit, Effect: Skipped})
	}
}

// cleanName returns a file's name as cloud-init writes it (cloudinit/util.py, clean_filename).
func cleanName(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '/':
			return '_'
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', strings.ContainsRune("-_.()", c):
			return c
		}
		return -1
	}, name)
}

// joinsWords reports whether the interpreter of a #! line fails because the kernel joins the words
// behind it into one argument: the shell knows no such option and env no such program. env splits them
// itself after -S, from coreutils 8.30 on.
//   - https://man7.org/linux/man-pages/man2/execve.2.html, Interpreter scripts
//   - https://www.gnu.org/software/coreutils/manual/html_node/env-invocation.html
func joinsWords(words []string) bool {
	if len(words) < 3 {
		return false
	}
	switch path.Base(words[0]) {
	case "bash", "dash", "sh":
		return true
	case "env":
		return !splitsWords(words[1])
	}
	return false
}

// splitsWords matches the options of env that end with -S or have its text behind it.
var splitsWords = form(`-[0iv]*S.*|--split-string.*`)

// spend spends n units of work and reports whether that many were left.
func (r *reader) spend(n int) bool {
	r.work -= n
	return r.work >= 0
}

// brackets returns the number of characters in a text that open a nesting.
func brackets(text, opening string) int {
	n := 0
	for _, c := range []byte(opening) {
		n += strings.Count(text, string(rune(c)))
	}
	return n
}
