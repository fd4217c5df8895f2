package userdata

import (
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
// over, was meant to bootstrap a node of the named cluster. b is its Boot. It must name a tool that joins nodes. It must also name the cluster where such
// a tool takes its name, or the host of its API server, and no other cluster.
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
