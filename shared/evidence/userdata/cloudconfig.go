package userdata

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"rollcall/shared/roll/pattern"
)

// cloudConfig reads the cloud-init modules that can bootstrap a node: bootcmd and runcmd are
// commands, write_files writes scripts that those call (cloud-init, module reference).
func (r *reader) cloudConfig(text, part string) {
	root := r.yaml(text, part, CloudConfig)
	for i, file := range items(lookup(root, "write_files")) {
		r.writeFile(file, fmt.Sprintf("write_files %d in %s", i+1, part))
	}
	for _, module := range []string{"bootcmd", "runcmd"} {
		if commands := commandLines(items(lookup(root, module))); commands != "" {
			r.scripts = append(r.scripts, script{text: commands, part: module + " in " + part})
		}
	}
}

// commandLines combines commands as cloud-init does: into one script, in which a string is a line
// and a list is one command with its arguments.
func commandLines(commands []*yaml.Node) string {
	var b strings.Builder
	for _, c := range commands {
		b.WriteString(scalar(c))
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

func (r *reader) writeFile(file *yaml.Node, part string) {
	path := scalar(lookup(file, "path"))
	content := []byte(scalar(lookup(file, "content")))
	encoding := strings.ToLower(scalar(lookup(file, "encoding")))
	why := Reason("")
	if strings.HasSuffix(encoding, "b64") || strings.HasSuffix(encoding, "base64") {
		decoded, ok := decodeBase64(string(content))
		if content = decoded; !ok {
			why = Undecodable
		}
	}
	switch {
	case why != "":
	case strings.HasPrefix(encoding, "gz"):
		content, why = r.inflate(content)
	case len(content) > r.room:
		why = TooLarge
	default:
		r.room -= len(content)
	}
	if why != "" {
		r.problem(part, CloudConfig, why)
		return
	}
	if first, _, _ := strings.Cut(string(content), "\n"); strings.HasPrefix(first, "#!") && strings.HasSuffix(first, "\r") {
		// write_files writes the content unchanged: "bad interpreter".
		r.fault(Fault{Part: part, Format: Shell, Reason: CarriageReturns, By: ByShell, Effect: Fails})
	}
	text := strings.ReplaceAll(string(content), "\r\n", "\n")
	r.store(path, text, truth(lookup(file, "append")) == "true")
	if runByCloudInit.MatchString(path) {
		r.shellScript(text, part)
	}
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
	for i, item := range items(r.yaml(text, part, Archive)) {
		if i >= maxParts {
			r.problem(part, Archive, TooComplex)
			return
		}
		content := scalar(item)
		if content == "" {
			content = scalar(lookup(item, "content"))
		}
		name := fmt.Sprintf("part %d in %s", i+1, part)
		r.document([]byte(content), strings.ToLower(scalar(lookup(item, "type"))), name, depth+1)
	}
}
