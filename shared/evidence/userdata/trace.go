package userdata

import (
	"path"
	"slices"
	"strings"

	"rollcall/shared/roll/pattern"
)

// Trace is a joining tool named in text that does not parse, or that its reader passes over.
type Trace struct {
	Part string // which part, by position, as in Fault
	Tool Tool
}

type toolWord struct {
	tool Tool
	word string
}

// toolWords are the words by which a text shows which tool it was meant for, even if no reader
// parses it.
var toolWords = []toolWord{
	{BootstrapScript, bootstrapScript},
	{Nodeadm, nodeConfigGroup},
	{NodeadmCommand, "nodeadm init"},
	{WindowsScript, "start-eksbootstrap"},
	{BottlerocketSettings, "settings.kubernetes"},
}

// spoilt are the reasons why a text is not read completely, or not at all.
var spoilt = slices.Concat([]Reason{Unparseable, MoreDocuments, UnclosedFlags, Truncated, WrongKind, NotHandled}, PassedOver)

// trace finds tools in the texts that are not read.
func (r *reader) trace() {
	for _, f := range r.boot.Faults {
		if !slices.Contains(spoilt, f.Reason) || f.Reason == UnknownType && f.Effect == Depends {
			continue
		}
		text := strings.ToLower(withoutComments(r.texts[f.Part]))
		if !r.spend(len(text)) {
			return
		}
		for _, t := range toolWords {
			if strings.Contains(text, t.word) {
				add(&r.boot.Traces, Trace{f.Part, t.tool}, maxFaults)
				r.hinted = r.hinted || slices.Contains(PassedOver, f.Reason)
			}
		}
	}
}

// withoutComments removes lines that are comments in every format of user data.
func withoutComments(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// MeantFor reports whether user data that does not parse, or of which the part that joins is passed
// over, was meant to bootstrap a node of the named cluster. b is its Boot. It must name a tool that joins nodes. It
// must also name the cluster where such a tool takes its name, or the host of its API server, and no other cluster.
func MeantFor(data []byte, b Boot, cluster, endpoint string) bool {
	if len(b.Traces) == 0 || len(b.Clusters) > 0 {
		return false
	}
	host := strings.ToLower(strings.TrimPrefix(endpoint, "https://"))
	r, _ := readAnew(data)
	for _, t := range b.Traces {
		text := strings.ReplaceAll(withoutComments(r.texts[t.Part]), "\\\n", " ")
		if host != "" && strings.Contains(strings.ToLower(text), host) {
			return true
		}
		for line := range strings.Lines(text) {
			if m := nameGiven.FindStringSubmatch(line); m != nil && slices.Contains(m[1:], cluster) {
				return true
			}
		}
	}
	return false
}

// nameGiven matches where a text gives the cluster's name: to a script, in a field or in a
// variable.
var nameGiven = pattern.New(`(?i)` +
	`(?:/etc/eks/bootstrap\.sh|start-eksbootstrap\S*)["']?\s+(?:-eksclustername\s+)?["']?([\w-]+)` +
	`|-eksclustername\s+["']?([\w-]+)` +
	`|(?:^|[\s"'{,])(?:name|cluster-name|cluster_?name|cluster)["']?\s*[:=]\s*["']?([\w-]+)`)

// A tool may be named in a form that is not followed: behind a command that is not known, in text for another
// interpreter, in a unit of systemd. Whether it joins is open then. A tool that a comment names, or a
// command that only prints or copies, joins nothing.

// namesTool reports whether a text names a joining tool outside comments.
func namesTool(text string) bool {
	text = strings.ToLower(withoutComments(text))
	return slices.ContainsFunc(toolWords, func(w toolWord) bool { return strings.Contains(text, w.word) })
}

// namesAny reports whether any part names a joining tool, so that text that is computed may.
func (r *reader) namesAny() bool {
	if !r.searched {
		r.searched = true
		for _, text := range r.texts {
			r.names = r.names || r.spend(len(text)) && namesTool(text)
		}
	}
	return r.names
}

// quiet are commands beside the usual ones that run none of their arguments on the instance.
var quiet = []string{"aws", "curl", "git", "wget"}

// hint notes that a command that is not followed gets the name of a tool: in its arguments, in a file
// that they name, or on its standard input.
func (w *walk) hint(args []field) {
	if w.hinted || slices.Contains(quiet, path.Base(args[0].text)) {
		return
	}
	given := slices.ContainsFunc(args, func(f field) bool { return slices.Contains(ownOptions, f.text) })
	for _, f := range args {
		text, written := w.files[w.at(f.text)]
		w.hinted = w.hinted || w.isTool(f.text, given) || written && w.spend(len(text)) && namesTool(text)
	}
	line := strings.Join(texts(args), " ") + "\n" + w.stdin
	w.hinted = w.hinted || w.spend(len(line)) && namesTool(line) || strings.Contains(args[0].text+w.stdin, unknown) && w.namesAny()
}

// isTool reports whether a word may be the path of bootstrap.sh. Where the directory is not known, the
// user data must name that of the tool, or the command be given options of the tool.
func (w *walk) isTool(word string, given bool) bool {
	where := w.at(word)
	if path.Base(word) != path.Base(bootstrapScript) {
		return w.copies[where]
	}
	known := strings.HasPrefix(where, "/") && !strings.Contains(where, unknown) && strings.Contains(word, "/")
	return where == bootstrapScript || w.copies[where] || given ||
		!known && w.spend(len(w.script.text)) && strings.Contains(w.script.text, path.Dir(bootstrapScript))
}

// copied records copies of files, or links to them: the last word is their name, or their directory. Words
// before them may be the values of options.
func (w *walk) copied(command string, words []string) {
	to := w.at(words[len(words)-1])
	for _, word := range words[:len(words)-1] {
		from := w.at(word)
		if command == "patch" || strings.HasPrefix(word, "-") {
			continue
		}
		if from == bootstrapScript {
			w.copies[to], w.copies[path.Join(to, path.Base(from))] = true, true
		}
		text := w.input(from)
		w.store(to, text, false)
		w.store(path.Join(to, path.Base(from)), text, false)
		if command == "mv" && w.branch == 0 {
			delete(w.files, from)
		}
	}
}

// ownOptions are options that other scripts of the name do not have.
var ownOptions = []string{"--apiserver-endpoint", "--b64-cluster-ca", extraArgs}

// startedBySystem matches the files that systemd, cron or cloud-init run what is in.
var startedBySystem = pattern.New(`^(?:/(?:etc|lib|run|usr/lib)/systemd/system/|/etc/(?:cron|rc\.|init\.d/)|/var/spool/cron/|/var/lib/cloud/scripts/)`)

// units finds tools in the files that systemd or cron run, and in those that these name.
func (r *reader) units() {
	var units strings.Builder
	for name, text := range r.files {
		if startedBySystem.MatchString(name) && r.spend(len(text)) {
			units.WriteString(withoutComments(text) + "\n")
		}
	}
	started := units.String()
	if started == "" {
		return
	}
	r.hinted = r.hinted || namesTool(started) || strings.Contains(started, unknown) && r.namesAny()
	for name, text := range r.files {
		r.hinted = r.hinted || r.spend(len(started)) && strings.Contains(started, name) && r.spend(len(text)) && namesTool(text)
	}
}
