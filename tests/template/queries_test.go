package template

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/shared/report/metric"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// The query syntax that the shipped queries use:
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html
var (
	commands  = []string{"fields", "filter", "stats", "sort", "limit", "dedup", "display"}
	functions = []string{"count", "count_distinct", "sum", "avg", "min", "max", "latest", "pct", "bin", "coalesce", "ispresent"}
	words     = []string{"as", "by", "and", "or", "not", "in", "like", "asc", "desc"}
	found     = []string{"@timestamp", "@message", "@log", "@logStream"}

	quoted = regexp.MustCompile(`"[^"]*"`)
	spell  = regexp.MustCompile(`/[^/ ]+/`)
	word   = regexp.MustCompile(`@?[A-Za-z_][A-Za-z0-9_]*\(?|[0-9]+[smhd]?`)
	alias  = regexp.MustCompile(`\bas ([A-Za-z][A-Za-z0-9]*)`)
	chosen = regexp.MustCompile(`\bmsg (?:= ("[^"]*")|in \[([^\]]*)\])`)
)

// logTables returns the tables of infra/MONITORING.md: the keys of each message, and the
// keys of every line.
func logTables(t *testing.T) (messages map[string][]string, everywhere []string) {
	t.Helper()
	names := regexp.MustCompile("`([^`]+)`")
	_, rows, _ := strings.Cut(text(t, "infra", "MONITORING.md"), "| message | level | function | keys | when |\n")
	messages = map[string][]string{}
	for line := range strings.Lines(rows) {
		cells := strings.Split(line, " | ")
		if len(cells) < 5 {
			break
		}
		message := names.FindStringSubmatch(cells[0])
		if message == nil {
			continue // the separator line below the header
		}
		messages[message[1]] = []string{}
		for _, m := range names.FindAllStringSubmatch(cells[3], -1) {
			messages[message[1]] = append(messages[message[1]], m[1])
		}
	}
	must.That(t, len(messages) >= 20, "found only the messages %v", messages)
	return messages, []string{"time", "level", "msg", "function"}
}

// measured returns the fields of a line of metrics.
func measured() (fields []string) {
	for _, s := range metric.Catalogue() {
		fields = append(fields, s.Name)
		for _, set := range slices.Concat(s.Sets, s.Detailed) {
			fields = append(fields, sorted(set)...)
		}
	}
	return fields
}

// sources splits the query of a widget into its log groups and the query itself.
func sources(query string) (groups []string, text string) {
	for {
		rest, ok := strings.CutPrefix(query, "SOURCE ")
		if !ok {
			return groups, query
		}
		group, after, _ := strings.Cut(rest, " | ")
		groups, query = append(groups, group), after
	}
}

// insights returns an error if a query uses an unknown command, function or field, or a
// field that none of the selected lines has.
func insights(t *testing.T, query string) error {
	t.Helper()
	messages, everywhere := logTables(t)
	fields := append(slices.Clone(everywhere), found...)
	var lines []string
	for line := range strings.Lines(query) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if selected := chosen.FindAllStringSubmatch(query, -1); len(selected) > 0 {
		for _, m := range selected {
			for _, q := range quoted.FindAllString(m[1]+m[2], -1) {
				keys, ok := messages[strings.Trim(q, `"`)]
				if !ok {
					return fmt.Errorf("no function logs %s", q)
				}
				fields = append(fields, keys...)
			}
		}
	} else if strings.Contains(query, "ispresent(") {
		fields = append(fields, measured()...)
	} else {
		for _, keys := range messages {
			fields = append(fields, keys...)
		}
	}
	for i, line := range lines {
		if i > 0 {
			rest, ok := strings.CutPrefix(line, "| ")
			if !ok {
				return fmt.Errorf("%q does not begin with a pipe", line)
			}
			line = rest
		}
		command, arguments, _ := strings.Cut(line, " ")
		if !slices.Contains(commands, command) || arguments == "" || strings.Contains(quoted.ReplaceAllString(arguments, ""), "|") {
			return fmt.Errorf("%q is no command", line)
		}
		for _, m := range alias.FindAllStringSubmatch(arguments, -1) {
			fields = append(fields, m[1])
		}
		bare := spell.ReplaceAllString(quoted.ReplaceAllString(arguments, ""), "")
		if strings.Count(bare, "(") != strings.Count(bare, ")") || strings.Count(bare, "[") != strings.Count(bare, "]") || strings.Contains(bare, `"`) {
			return fmt.Errorf("%q does not close what it opens", line)
		}
		for _, some := range word.FindAllString(bare, -1) {
			switch name, call := strings.CutSuffix(some, "("); {
			case call && !slices.Contains(functions, name):
				return fmt.Errorf("%q: there is no function %s", line, name)
			case call, some[0] >= '0' && some[0] <= '9', slices.Contains(words, some), slices.Contains(fields, some):
			default:
				return fmt.Errorf("%q: no line has %s", line, some)
			}
		}
	}
	return nil
}

type query struct {
	Name, QueryString string
	LogGroupNames     []string
}

func queries(t *testing.T) map[string]query {
	t.Helper()
	tmpl, all := read(t), map[string]query{}
	for _, id := range tmpl.ofType("AWS::Logs::QueryDefinition") {
		var q query
		must.Succeed(t, tmpl.properties(id, &q))
		for _, g := range q.LogGroupNames {
			expect.That(t, tmpl.Resources[strings.Trim(g, "${}")].Type == "AWS::Logs::LogGroup", "%s asks %s, which is no log group", id, g)
		}
		name, ok := strings.CutPrefix(q.Name, "Rollcall/"+Stack+"/")
		expect.That(t, ok && len(q.LogGroupNames) > 0, "%s is named %s and asks %v", id, q.Name, q.LogGroupNames)
		all[name] = q
	}
	return all
}

// A query for a field that no line has returns no result, which looks as if there were no
// problem.
func TestTheQueriesAskForWhatIsLogged(t *testing.T) {
	all := queries(t)
	expect.That(t, len(all) >= 8, "%d queries", len(all))
	page := text(t, "infra", "TROUBLESHOOTING.md")
	for name, q := range all {
		err := insights(t, q.QueryString)
		expect.That(t, err == nil, "%s: %v", name, err)
		expect.That(t, strings.Contains(page, "`"+name+"`"), "no page tells of the query %s", name)
		// A query that is run unedited must find nothing, rather than another instance.
		if strings.Contains(q.QueryString, `instance = "`) != strings.HasPrefix(q.QueryString, "# Put the id of the instance") {
			t.Errorf("%s does not say where the instance's id goes", name)
		}
	}
}

func TestAQueryThatIsNoneIsFound(t *testing.T) {
	for name, text := range map[string]string{
		"no such command":      "find @timestamp",
		"no arguments":         "filter msg = \"checked\"\n| limit",
		"no such field":        "filter msg = \"checked\"\n| fields cluster, kind",
		"a field of others":    "filter msg = \"swept\"\n| fields cluster",
		"no such message":      "filter msg = \"check done\"",
		"no such function":     "filter msg = \"checked\"\n| stats median(took)",
		"no pipe":              "filter msg = \"checked\"\nsort took",
		"an open parenthesis":  "filter msg = \"checked\"\n| stats max(took by cluster",
		"an open string":       "filter msg = \"checked",
		"two commands in one":  "filter msg = \"checked\" | sort took",
		"no such metric":       "filter ispresent(APICall)",
		"an alias before time": "filter msg = \"checked\"\n| sort slowest\n| stats max(took) as slowest by cluster",
	} {
		err := insights(t, text)
		expect.That(t, err != nil, "%s passes", name)
	}
}
