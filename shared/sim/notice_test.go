package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"rollcall/shared/report"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// kept has the notices that the functions of a run sent.
type kept struct {
	mu  sync.Mutex
	all []report.Message
}

// keeping is a publisher that keeps what it passes on.
type keeping struct {
	to Notices
	k  *kept
}

func (p keeping) Publish(ctx context.Context, m report.Message) error {
	p.k.mu.Lock()
	p.k.all = append(p.k.all, m)
	p.k.mu.Unlock()
	return p.to.Publish(ctx, m)
}

// Everything that happens in the demo's day, and in random accounts, is reported in the published form,
// in words that mail and chat systems accept.
func TestNoticesHaveThePublishedFormWhateverHappens(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "events", "notice.schema.json"))
	must.Succeed(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	must.Succeed(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	must.Succeed(t, c.AddResource("notice.schema.json", doc))
	schema, err := c.Compile("notice.schema.json")
	must.Succeed(t, err)
	for name, sc := range map[string]Scenario{
		"the day": Day(),
		"a storm": Random(Options{Seed: 6, Hours: 12, Clusters: 2, Nodes: 20, Faults: 40}),
	} {
		var k kept
		if _, err := Run(sc, Watch{Guards: Guards{Notices: func(to Notices) Notices { return keeping{to, &k} }}}); err != nil {
			t.Fatal(err)
		}
		expect.That(t, len(k.all) >= 10, "%s: only %d notices", name, len(k.all))
		news := map[string]int{}
		for _, m := range k.all {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(m.JSON))
			if err == nil {
				err = schema.Validate(v)
			}
			expect.That(t, err == nil, "%s: %q: %v", name, m.Subject, err)
			var chat report.ChatMessage
			if err := json.Unmarshal(m.Chat, &chat); err != nil || chat.Content.Title == "" || len(chat.Content.Description) > 3000 {
				t.Errorf("%s: %q in a chat: %v, %d bytes", name, m.Subject, err, len(chat.Content.Description))
			}
			n := len(m.Subject)
			expect.That(t, n < 100 && n != 0, "%s: a subject of %d characters: %q", name, n, m.Subject)
			expect.That(t, strings.Contains(m.Text, "\nWhere: ") && !slices.Contains(strings.Split(m.Text, "\n"), "Incident: "), "%s: %q: the text is not whole:\n%s", name, m.Subject, m.Text)
			news[m.Attributes.News]++
		}
		for _, n := range []string{"opened", "resolved"} {
			expect.That(t, news[n] != 0, "%s: nothing is %s: %v", name, n, news)
		}
	}
}
