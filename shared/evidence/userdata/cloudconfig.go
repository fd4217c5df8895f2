package userdata

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// cloudConfig reads the cloud-init modules that can bootstrap a node: bootcmd and runcmd are
// commands, write_files writes scripts that those call (cloud-init, module reference).
func (r *reader) cloudConfig(text, part string) {
	if strings.HasPrefix(text, "#cloud-config-jsonp") { // a JSON patch of the others
		r.problem(part, CloudConfig, Unsupported)
		return
	}
	root, read := r.yaml(text, part, CloudConfig)
	m, ok := mergingOf(root, r.mergeTypes[part])
	if !ok {
		r.problem(part, CloudConfig, Unsupported)
	}
	if !ok || !read { // cloud-init rejects it; what it means still shows
		m = merging{dict: true, recurse: true, lists: "append"}
	}
	r.mergeConfig(root, m, part)
}

// configure reads what is left of the cloud-configs after they were merged.
func (r *reader) configure() {
	for _, e := range r.configs["write_files"] {
		r.writeFile(e.node, fmt.Sprintf("write_files %d in %s", e.n, e.part))
	}
	for _, module := range []string{"bootcmd", "runcmd"} {
		refused := slices.ContainsFunc(r.configs[module], func(e entry) bool { return e.n == 0 || !isCommand(e.node) })
		for list := range byPart(r.configs[module]) {
			commands, part := r.textOf(module, list), module+" in "+list[0].part
			switch {
			case commands == "":
			case refused:
				r.texts[part] = commands
				r.fault(Fault{Part: part, Format: CloudConfig, Reason: NoCommands, By: CloudInit, Effect: Skipped})
			default:
				r.scripts = append(r.scripts, script{text: commands, part: part, early: module == "bootcmd"})
			}
		}
	}
}

// isCommand reports whether cloud-init takes the entry of a list of commands. One that it does not take, such
// as a text with a colon and a blank that YAML reads as a mapping, keeps the whole list from running
// (cloudinit/util.py, shellify).
func isCommand(n *yaml.Node) bool {
	n = resolve(n)
	return n.Kind == yaml.SequenceNode || n.Kind == yaml.ScalarNode && !slices.Contains([]string{"!!bool", "!!float", "!!int", "!!timestamp"}, n.ShortTag())
}

// commandLines combines commands as cloud-init does: into one script, in which a string is a line
// and a list is one command with its arguments.
func commandLines(commands []*yaml.Node) string {
	var b strings.Builder
	for _, c := range commands {
		b.WriteString(scalar(c))
		if c = resolve(c); c.Kind == yaml.MappingNode { // it never runs, but shows what was meant
			b.WriteString(strings.Join(scalars(&yaml.Node{Kind: yaml.SequenceNode, Content: c.Content}), ": "))
		}
		for _, arg := range items(c) {
			if b.Len() <= maxScript { // aliases can repeat a long text at no cost
				b.WriteString(" '" + strings.ReplaceAll(scalar(arg), "'", `'\''`) + "'")
			}
		}
		b.WriteByte('\n')
		if b.Len() > maxScript {
			break // run refuses it
		}
	}
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

// runByCloudInit matches the directories whose scripts cloud-init runs by itself.
var runByCloudInit = pattern.New(`^/var/lib/cloud/scripts/per-(?:boot|instance|once)/`)

// writing is a file that write_files writes.
type writing struct {
	path, text, part string
	add              bool
}

func (r *reader) writeFile(file *yaml.Node, part string) {
	content, why := r.content(file)
	if why != "" {
		r.problem(part, CloudConfig, why)
		return
	}
	if first, _, _ := strings.Cut(string(content), "\n"); strings.HasPrefix(first, "#!") && strings.HasSuffix(first, "\r") {
		// write_files writes the content unchanged: "bad interpreter".
		r.fault(Fault{Part: part, Format: Shell, Reason: CarriageReturns, By: ByShell, Effect: Fails})
	}
	f := writing{path: path.Join("/", scalar(lookup(file, "path"))), text: strings.ReplaceAll(string(content), "\r\n", "\n"), part: part}
	f.add = truth(lookup(file, "append")) == "true"
	r.writings = append(r.writings, f)
	if runByCloudInit.MatchString(f.path) {
		r.shellScript(f.text, part, false)
	}
}

// content returns the content of a file that write_files writes, or why it is not known.
func (r *reader) content(file *yaml.Node) (content []byte, why Reason) {
	content = []byte(scalar(lookup(file, "content")))
	encoding := strings.ToLower(scalar(lookup(file, "encoding")))
	if strings.HasSuffix(encoding, "b64") || strings.HasSuffix(encoding, "base64") {
		decoded, ok := decodeBase64(string(content))
		if !ok {
			return nil, Undecodable
		}
		content = decoded
	}
	if strings.HasPrefix(encoding, "gz") {
		return r.inflate(content)
	}
	if len(content) > r.room {
		return nil, TooLarge
	}
	r.room -= len(content)
	return content, ""
}

// tooEarly reports whether a file is one that write_files writes only after what is walked ran. On the
// first boot it is not there.
func (w *walk) tooEarly(name string) bool {
	if !w.spend(len(w.writings)) {
		return false
	}
	f, ok := roll.Find(w.writings, func(f writing) bool { return f.path == name })
	if _, there := w.files[name]; there || !ok {
		return false
	}
	switch {
	case w.conditional: // it may wait for the file
		w.hinted = w.hinted || w.spend(len(f.text)) && namesTool(f.text)
	default:
		w.texts[f.part] = f.text
		w.fault(Fault{Part: f.part, Format: Shell, Reason: TooEarly, By: ByShell, Effect: Fails})
	}
	return true
}

// store records the content of a file written on the instance.
func (r *reader) store(path, text string, add bool) {
	r.changes(path)
	r.proxies(text)
	if add {
		text = r.files[path] + text
	}
	if r.spend(len(text)) {
		r.files[path] = text
	}
}

// archive reads a list of documents, each a string or {type, content}.
func (r *reader) archive(text, part string, depth int) {
	root, _ := r.yaml(text, part, Archive)
	for i, item := range items(root) {
		if i >= maxParts {
			r.problem(part, Archive, TooComplex)
			return
		}
		content := scalar(item)
		if content == "" {
			content = scalar(lookup(item, "content"))
		}
		name := fmt.Sprintf("part %d in %s", i+1, part)
		r.mergeTypes[name] = cmp.Or(scalar(lookup(item, "Merge-Type")), scalar(lookup(item, "X-Merge-Type")))
		r.fileNames[name] = cleanName(scalar(lookup(item, "filename")))
		mediaType := strings.ToLower(scalar(lookup(item, "type")))
		if start := strings.TrimSpace(content); mediaType == "" && !strings.HasPrefix(start, "## template: jinja") {
			if _, ok := begins(start); !ok {
				mediaType = "text/cloud-config" // cloudinit/user_data.py, ARCHIVE_UNDEF_TYPE
			}
		}
		r.document([]byte(content), mediaType, name, depth+1)
	}
}
