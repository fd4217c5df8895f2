package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// ChatMessage is a custom notification for Amazon Q Developer in chat applications. Its
// texts are cut to what a chat shows; the mail has the whole.
// https://docs.aws.amazon.com/chatbot/latest/adminguide/custom-notifs.html
type ChatMessage struct {
	Version  string       `json:"version"` // 1.0
	Source   string       `json:"source"`  // custom
	Content  ChatContent  `json:"content"`
	Metadata ChatMetadata `json:"metadata"`
}

// ChatContent is the visible content of a ChatMessage.
type ChatContent struct {
	TextType    string   `json:"textType"` // client-markdown
	Title       string   `json:"title"`
	Description string   `json:"description"`
	NextSteps   []string `json:"nextSteps,omitempty"`
	Keywords    []string `json:"keywords,omitempty"`
}

// ChatMetadata is the context of a message. Messages with the same ThreadID form a thread
// if the channel's preferences allow that.
type ChatMetadata struct {
	ThreadID          string            `json:"threadId"`
	Summary           string            `json:"summary"`
	EventType         string            `json:"eventType"`
	RelatedResources  []string          `json:"relatedResources,omitempty"`
	AdditionalContext map[string]string `json:"additionalContext,omitempty"`
}

// Limits of the parts, in bytes, with some margin: Slack takes 3,000 characters in a block.
const (
	chatTitle       = 250
	chatDescription = 2500
	chatSummary     = 300
	chatStep        = 350
	chatKeyword     = 75
	chatMembers     = 5
	chatFact        = 300
	chatCause       = 700 // of its summary, and of its fix, which is left out rather than cut
)

// lamps are the symbols of severities in titles.
var lamps = map[Severity]string{SeverityInfo: "🟢", SeverityWarning: "🟡", SeverityCritical: "🔴"}

// chatMessage renders a notice for a chat.
func chatMessage(d NoticeDocument, subject string, l letter) ([]byte, error) {
	m := ChatMessage{
		Version: "1.0", Source: "custom",
		Content: ChatContent{
			TextType: "client-markdown", Title: clip(harmless(lamps[d.Severity]+" "+subject), chatTitle),
			Description: l.markdown(), NextSteps: l.steps(),
		},
		Metadata: ChatMetadata{
			ThreadID: d.thread(), Summary: clip(harmless(l.headline), chatSummary), EventType: "Rollcall " + d.Kind,
			AdditionalContext: map[string]string{
				"account": d.Account, "region": d.Region, "cluster": d.Cluster, "group": d.Group, "kind": d.Kind,
				"severity": string(d.Severity), "action": d.Action, "news": strings.Join(d.News, " "),
			},
		},
	}
	for _, k := range []string{d.Cluster, d.Group, d.Kind, d.Cause, string(d.Severity)} {
		if k = clip(harmless(k), chatKeyword); k != "" && !slices.Contains(m.Content.Keywords, k) {
			m.Content.Keywords = append(m.Content.Keywords, k)
		}
	}
	id := roll.ClusterID{Account: d.Account, Region: d.Region, Name: d.Cluster}
	m.Metadata.RelatedResources = []string{id.ARN()}
	for _, i := range d.Instances[:min(len(d.Instances), chatMembers)] {
		if i.Instance != "" {
			m.Metadata.RelatedResources = append(m.Metadata.RelatedResources, id.InstanceARN(roll.InstanceID(i.Instance)))
		}
	}
	for name, value := range map[string]string{"approve": d.asksFor(), "cause": d.Cause, "evidence": d.Evidence} {
		if value != "" {
			m.Metadata.AdditionalContext[name] = value
		}
	}
	for name, value := range m.Metadata.AdditionalContext {
		m.Metadata.AdditionalContext[name] = harmless(value)
	}
	data, err := encoded(m)
	if err != nil {
		return nil, fmt.Errorf("encode a notice for a chat: %w", err)
	}
	return data, nil
}

var (
	// marks match what Slack reads as a mention or a link, also in code.
	// https://docs.slack.dev/messaging/formatting-message-text
	marks = regexp.MustCompile(`<(?:[!@#/]|[A-Za-z][A-Za-z0-9.+-]*:)`)
	// links match where markdown makes a link of a bracket, which may show another address
	// than it leads to. https://spec.commonmark.org/0.31.2/#links
	links = regexp.MustCompile(`\]([(\[:])`)
)

// harmless disarms the marks and links in a text for a chat, and the backticks, which would end the code that a name
// stands in. Otherwise the name of a group or a tag could notify a whole channel. A text needs no angle bracket, of
// which Teams makes elements too.
func harmless(s string) string {
	return links.ReplaceAllString(disarmed.Replace(s), "] $1")
}

var disarmed = strings.NewReplacer("<", "‹", "`", "'")

// pasteable reports whether a chat shows a command as it is. Another one is left out, because
// what is changed or not shown as code would be another command.
func pasteable(command string) bool {
	return !marks.MatchString(command) && !strings.Contains(command, "`")
}

// asksFor returns the id of the only order that the notice asks to approve, "" if it asks for none or
// several: a button of a chat has one value.
func (d NoticeDocument) asksFor() (order string) {
	for _, i := range d.Instances {
		switch {
		case i.Approve == nil:
		case order != "":
			return ""
		default:
			order = i.Approve.Order
		}
	}
	return order
}

// thread returns the ThreadID that the messages of one incident share. The outcome of an
// order that no notice announced has a thread of its own.
func (d NoticeDocument) thread() string {
	switch {
	case d.Incident != nil:
		return "rollcall-" + d.Incident.ID
	case len(d.Instances) > 0 && d.Instances[0].Order != "":
		return "rollcall-" + d.Instances[0].Order
	}
	return strings.Join([]string{"rollcall", d.Account, d.Region, d.Cluster, d.Group, d.Kind}, "-")
}

// markdown lays out the letter for a chat, in markdown that both Slack and Teams render, in the
// order of the mail.
func (l letter) markdown() string {
	parts := []string{clip(harmless(l.headline), chatCause)}
	for _, w := range l.why {
		parts = append(parts, w.says("*"+harmless(w.code)+"*", clip(harmless(w.summary), chatCause)))
	}
	if l.run != nil {
		s := strings.Join(l.run.Commands, "\n")
		if len(s) <= chatCause && pasteable(s) {
			s = "```\n" + s + "\n```"
		} else {
			s = "The command is in the mail."
		}
		parts = append(parts, "*"+harmless(l.run.Title)+":*\n"+s)
	}
	var facts []string
	for _, f := range slices.Concat(l.facts, l.sequel) {
		facts = append(facts, "*"+harmless(f.name)+"* "+clip(harmless(f.value), chatFact))
	}
	for _, s := range l.next {
		facts = append(facts, "*Next* "+clip(harmless(s), chatCause))
	}
	if names := l.names(); names != "" {
		facts = append(facts, "*Instances* "+clip(harmless(names), chatFact))
	}
	return clip(strings.Join(append(parts, strings.Join(facts, "\n")), "\n\n"), chatDescription)
}

// steps returns what a person can do next. A command that is too long is left out, because
// cutting it would change it.
func (l letter) steps() (out []string) {
	for _, r := range []*Recipe{l.stop, l.rest} {
		if r == nil {
			continue
		}
		for _, c := range r.Commands {
			if s := r.Title + ": `" + c + "`"; pasteable(c) && len(s) <= chatStep {
				out = append(out, s)
			}
		}
	}
	for _, f := range l.link {
		if s := f.name + ": " + f.value; len(s) <= chatStep {
			out = append(out, s)
		}
	}
	return out
}

// clip shortens a text to at most n bytes, at the end.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[:n-len("…")]
	return strings.ToValidUTF8(s, "") + "…"
}
