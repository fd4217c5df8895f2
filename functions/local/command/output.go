package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"rollcall/shared/report"
	"rollcall/shared/roll"
)

type output string

const (
	outputTable output = "table"
	outputWide  output = "wide"
	outputJSON  output = "json"
	outputYAML  output = "yaml"
)

// form is the value of --output, one of a few.
type form struct {
	output
	all []output
}

// outputFlag adds --output with the forms that a command has, the first as the default.
func outputFlag(c *cobra.Command, to *form, all ...output) {
	to.output, to.all = all[0], all
	c.Flags().StringVarP((*string)(&to.output), "output", "o", string(all[0]), "`FORM`: "+roll.OneOf(all))
	values(c, "output", fixed(all...))
}

// check returns an error if the form is none of those that the command has.
func (f form) check() error {
	if slices.Contains(f.all, f.output) {
		return nil
	}
	return fmt.Errorf("--output %q: it takes %s", f.output, roll.OneOf(f.all))
}

func (f form) data() bool { return f.output == outputJSON || f.output == outputYAML }

// answer prints the document of a result as data, or else its text.
func answer[D any](f form, env Environment, document func() D, text func(io.Writer, report.Layout) error) error {
	if f.data() {
		return f.print(env.Stdout, document())
	}
	return ofFlag("print", text(env.Stdout, env.layout()))
}

// print writes values as JSON or YAML, which has the fields of the JSON in its order.
func (f form) print(w io.Writer, values ...any) error {
	for _, v := range values {
		text, err := json.MarshalIndent(v, "", "  ")
		if err == nil && f.output == outputYAML {
			text, err = toYAML(text, len(values) > 1)
		}
		if err == nil {
			_, err = w.Write(append(bytes.TrimRight(text, "\n"), '\n'))
		}
		if err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// toYAML returns JSON, which is YAML already, in the style that people read.
func toYAML(text []byte, several bool) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	plain(&doc)
	var out bytes.Buffer
	if several {
		out.WriteString("---\n")
	}
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err := enc.Encode(&doc)
	return out.Bytes(), err
}

// plain removes the style of JSON. The encoder quotes what would change its type.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plain(c)
	}
}

// textWidth is the width of texts that are not laid out for a terminal.
const textWidth = 80

// sheet writes a headline, and below it fields with their values, in two columns.
func sheet(b *strings.Builder, headline string, fields [][2]string) {
	widest := 0
	for _, f := range fields {
		widest = max(widest, len(f[0]))
	}
	hanging(b, "", headline)
	b.WriteByte('\n')
	for _, f := range fields {
		hanging(b, pad("  "+f[0], 2+widest+2), f[1])
	}
}

// pad pads a text with spaces up to a column, with at least one.
func pad(s string, column int) string {
	return s + strings.Repeat(" ", max(1, column-len([]rune(s))))
}

// hanging writes a text after a word, with its further lines indented; nothing if the text is empty.
func hanging(b *strings.Builder, word, text string) {
	for _, line := range report.Wrapped(text, textWidth-len(word)) {
		b.WriteString(word + line + "\n")
		word = strings.Repeat(" ", len(word))
	}
}
