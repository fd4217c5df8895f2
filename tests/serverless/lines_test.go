package serverless

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// lines holds the messages of infra/MONITORING.md: the keys that each has, and those it may
// have.
var lines = sync.OnceValues(func() (map[string][2][]string, error) {
	page, err := os.ReadFile("../../infra/MONITORING.md")
	if err != nil {
		return nil, err
	}
	_, table, _ := strings.Cut(string(page), "| message | level | function | keys | when |\n")
	key := regexp.MustCompile("(\\(?)`([^`]+)`")
	out := map[string][2][]string{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		if len(cells) < 5 {
			break
		}
		var always, ever []string
		for _, m := range key.FindAllStringSubmatch(cells[3], -1) {
			if ever = append(ever, m[2]); m[1] == "" {
				always = append(always, m[2])
			}
		}
		out[strings.Trim(cells[0], "| `")] = [2][]string{always, ever}
	}
	if len(out) < 20 {
		return nil, fmt.Errorf("the page has only the messages %v", out)
	}
	return out, nil
})

// illegible returns the lines of a function that a query could not read. Each line must be a
// JSON object: metrics, or a message of infra/MONITORING.md with its keys.
func illegible(function, output string) (faults []string) {
	known, err := lines()
	if err != nil {
		return []string{err.Error()}
	}
	for line := range strings.Lines(output) {
		fault := func(format string, arguments ...any) {
			faults = append(faults, fmt.Sprintf(format, arguments...)+": "+strings.TrimSpace(line))
		}
		if !strings.HasSuffix(line, "\n") {
			continue // its process was killed while writing
		}
		var said map[string]any
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			fault("no JSON object (%v)", err)
			continue
		}
		if said["_aws"] != nil {
			continue
		}
		message, _ := said["msg"].(string)
		keys, ok := known[message]
		if !ok || said["function"] != function || said["time"] == nil || said["level"] == nil {
			fault("a line that the page does not have")
			continue
		}
		for _, k := range keys[0] {
			if said[k] == nil {
				fault("no %s", k)
			}
		}
		for k := range said {
			if !slices.Contains(append([]string{"time", "level", "msg", "function"}, keys[1]...), k) {
				fault("a key %s", k)
			}
		}
		if scope, ok := said["scope"]; ok && !slices.Contains([]any{"cluster", "instances", "nodes", "detail"}, scope) {
			fault("a scope %v", scope)
		}
	}
	return faults
}
