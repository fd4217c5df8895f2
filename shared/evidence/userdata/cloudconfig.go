package userdata

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// cloudConfig reads the three modules of cloud-init that can bootstrap a node:
// bootcmd and runcmd are commands, write_files are scripts that those call
// (cloud-init, module reference).
func (r *reader) cloudConfig(text, part string) {
	docs := r.documents(text, part, CloudConfig)
	if len(docs) == 0 {
		return
	}
	root := docs[0]
	for i, file := range items(lookup(root, "write_files")) {
		r.writeFile(file, fmt.Sprintf("write_files %d in %s", i+1, part))
	}
	for _, module := range []string{"bootcmd", "runcmd"} {
		if commands := commandLines(items(lookup(root, module))); commands != "" {
			r.scripts = append(r.scripts, script{text: commands, part: module + " in " + part})
		}
	}
}

// commandLines puts commands together as cloud-init does: into one script, in
// which a string is a line and a list is one command with its arguments.
func commandLines(commands []*yaml.Node) string {
	var b strings.Builder
	for _, c := range commands {
		if args := items(c); args != nil {
			for _, arg := range args {
				if b.Len() > maxScript { // aliases can repeat a long text at no cost
					break
				}
				b.WriteString(" '" + strings.ReplaceAll(scalar(arg), "'", `'\''`) + "'")
			}
		} else {
			b.WriteString(scalar(c))
		}
		b.WriteByte('\n')
		if b.Len() > maxScript {
			break // run refuses it
		}
	}
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

func (r *reader) writeFile(file *yaml.Node, part string) {
	path := scalar(lookup(file, "path"))
	content := []byte(scalar(lookup(file, "content")))
	encoding := strings.ToLower(scalar(lookup(file, "encoding")))
	why := Reason("")
	switch encoding {
	case "b64", "base64", "gz+b64", "gz+base64", "gzip+b64", "gzip+base64":
		decoded, ok := decodeBase64(string(content))
		if !ok {
			why = Undecodable
		}
		content = decoded
	}
	if why == "" && strings.HasPrefix(encoding, "gz") {
		content, why = inflate(content, r.room)
	}
	if why == "" && len(content) > r.room {
		why = TooLarge
	}
	if why != "" {
		r.problem(part, CloudConfig, why)
		return
	}
	r.room -= len(content)
	if strings.HasPrefix(string(content), "#!") && firstLineEndsIn(string(content), "\r") {
		// write_files writes what it is given: "bad interpreter".
		r.fault(Fault{Problem: Problem{part, Shell, CarriageReturns}, By: ByShell, Effect: Fails})
	}
	text := strings.ReplaceAll(string(content), "\r\n", "\n")
	r.store(path, text, scalar(lookup(file, "append")) == "true")
	if runsByItself(path) {
		r.shellScript(text, part)
	}
}

// store keeps what is written to a file on the instance.
func (r *reader) store(path, text string, add bool) {
	r.writes(path)
	r.proxies(text)
	if add {
		text = r.files[path] + text
	}
	if r.spend(len(text)) {
		r.files[path] = text
	}
}

// runsByItself holds for the directories whose scripts cloud-init runs without
// being told to.
func runsByItself(path string) bool {
	for _, dir := range []string{"per-boot", "per-instance", "per-once"} {
		if strings.HasPrefix(path, "/var/lib/cloud/scripts/"+dir+"/") {
			return true
		}
	}
	return false
}

// archive reads a list of documents, each a string or {type, content}.
func (r *reader) archive(text, part string, depth int) {
	docs := r.documents(text, part, Archive)
	if len(docs) == 0 {
		return
	}
	for i, item := range items(docs[0]) {
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
