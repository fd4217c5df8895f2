package template

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// dashboard is the body of a dashboard, with the fields that CloudWatch documents:
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
type dashboard struct {
	Start          string   `json:"start"`
	PeriodOverride string   `json:"periodOverride"`
	Widgets        []widget `json:"widgets"`
}

type widget struct {
	Type       string          `json:"type"`
	X          *int            `json:"x"`
	Y          *int            `json:"y"`
	Width      int             `json:"width"`
	Height     int             `json:"height"`
	Properties json.RawMessage `json:"properties"`
}

type textWidget struct {
	Markdown string `json:"markdown"`
}

type alarmWidget struct {
	Title  string   `json:"title"`
	Alarms []string `json:"alarms"`
}

type logWidget struct {
	Title  string `json:"title"`
	Region string `json:"region"`
	View   string `json:"view"`
	Query  string `json:"query"`
}

type metricWidget struct {
	Title   string  `json:"title"`
	Region  string  `json:"region"`
	View    string  `json:"view"`
	Stat    string  `json:"stat"`
	Period  int     `json:"period"`
	Stacked bool    `json:"stacked"`
	Metrics [][]any `json:"metrics"`
	YAxis   struct {
		Left, Right *struct {
			Label     string
			Min, Max  *float64
			ShowUnits *bool
		}
	} `json:"yAxis"`
}

// rendering holds the options of a widget's metric, or an expression.
type rendering struct {
	Expression string `json:"expression"`
	ID         string `json:"id"`
	Label      string `json:"label"`
	Stat       string `json:"stat"`
	Period     int    `json:"period"`
	YAxis      string `json:"yAxis"`
	Color      string `json:"color"`
	Visible    *bool  `json:"visible"`
}

// strictly decodes JSON and refuses members that are not documented.
func strictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// graph is one line of a graph, or one search for several: a metric, its dimensions, and
// its statistic.
type graph struct {
	namespace, name, statistic string
	dimensions, values         []string
}

// graphs returns the lines of a metric widget.
func (w metricWidget) graphs() ([]graph, error) {
	if w.Region == "" || w.Title == "" || len(w.Metrics) == 0 || len(w.Metrics) > 500 || w.Period < 60 || w.Period%60 != 0 {
		return nil, fmt.Errorf("region %q, title %q, %d metrics, period %d", w.Region, w.Title, len(w.Metrics), w.Period)
	}
	if !slices.Contains([]string{"timeSeries", "singleValue", "bar", "pie", "table"}, w.View) { // a gauge requires its axis
		return nil, fmt.Errorf("view %q", w.View)
	}
	var all []graph
	var last []string
	ids := map[string]bool{}
	for _, m := range w.Metrics {
		var r rendering
		if options, ok := m[len(m)-1].(map[string]any); ok {
			data, err := json.Marshal(options)
			if err == nil {
				err = strictly(data, &r)
			}
			if err != nil {
				return nil, err
			}
			m = m[:len(m)-1]
		}
		if r.ID != "" && (ids[r.ID] || !regexp.MustCompile(`^[a-z][A-Za-z0-9_]*$`).MatchString(r.ID)) {
			return nil, fmt.Errorf("id %q", r.ID)
		}
		ids[r.ID] = true
		if r.Expression != "" {
			g, err := search(r.Expression)
			if err != nil || len(m) > 0 {
				return nil, fmt.Errorf("%q beside %v: %w", r.Expression, m, err)
			}
			all = append(all, g)
			continue
		}
		names, err := written(m, last)
		if err != nil {
			return nil, err
		}
		last = names
		g := graph{namespace: names[0], name: names[1], statistic: r.Stat}
		if g.statistic == "" {
			g.statistic = w.Stat
		}
		for i := 2; i < len(names); i += 2 {
			g.dimensions, g.values = append(g.dimensions, names[i]), append(g.values, names[i+1])
		}
		all = append(all, g)
	}
	return all, nil
}

// written returns a metric in full: a dot stands for the value at the same place in the
// last one.
func written(m []any, last []string) ([]string, error) {
	if len(m) < 2 || len(m)%2 != 0 {
		return nil, fmt.Errorf("%v is no metric", m)
	}
	var names []string
	for i, some := range m {
		name, ok := some.(string)
		if name == "." && i < len(last) {
			name = last[i]
		}
		if !ok || name == "" || name == "." {
			return nil, fmt.Errorf("%v is no metric after %v", m, last)
		}
		names = append(names, name)
	}
	return names, nil
}

// searched matches a search for every metric of a name with exactly these dimensions, or the
// sum of its results.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/search-expression-syntax.html
var searched = regexp.MustCompile(`^(SUM\()?SEARCH\('\{([A-Za-z]+)((?:,[A-Za-z]+)+)\} MetricName="([A-Za-z]+)"', '([A-Za-z0-9.]+)', (\d+)\)(\))?$`)

func search(expression string) (graph, error) {
	m := searched.FindStringSubmatch(expression)
	if m == nil || (m[1] == "") != (m[7] == "") || m[6] != "300" && m[6] != "3600" {
		return graph{}, errors.New("this is no search for a metric")
	}
	if m[1] != "" && m[5] != "Sum" {
		return graph{}, errors.New("only what is counted can be added up")
	}
	return graph{namespace: m[2], name: m[4], dimensions: strings.Split(m[3][1:], ","), statistic: m[5]}, nil
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	p := whole(t).Resources["Dashboard"].Properties
	body, _ := p["DashboardBody"].(string)
	err := strictly([]byte(body), &d)
	must.That(t, err == nil, "%v\n%s", err, body)
	name := fmt.Sprint(p["DashboardName"])
	expect.That(t, name == "rollcall-rollcall-eu-west-1", "it is named %s: dashboards of two regions share their names", name)
	return d
}

// In a mode in which nothing acts, what acts is left out of the dashboard, and the rest is the same.
func TestTheDashboardIsReadableInEveryMode(t *testing.T) {
	for _, mode := range modes {
		body, _ := read(t, "Mode", mode).Resources["Dashboard"].Properties["DashboardBody"].(string)
		var d dashboard
		err := strictly([]byte(body), &d)
		expect.That(t, err == nil && len(d.Widgets) == len(readDashboard(t).Widgets), "mode %s: %d widgets, %v", mode, len(d.Widgets), err)
		expect.Equal(t, strings.Contains(body, "RemediateFunction"), mode == "remediate", "mode %s shows the function that acts", mode)
	}
}

func TestTheStepsToRemediateNameWidgets(t *testing.T) {
	titles := map[string]bool{}
	for _, w := range readDashboard(t).Widgets {
		var of struct {
			Title string `json:"title"`
		}
		must.Succeed(t, json.Unmarshal(w.Properties, &of))
		titles[of.Title] = true
	}
	named := regexp.MustCompile(`(?m)^   - \*([^*]+)\*:`).FindAllStringSubmatch(text(t, "infra", "REMEDIATE.md"), -1)
	expect.That(t, len(named) >= 6, "infra/REMEDIATE.md names only %d widgets", len(named))
	for _, m := range named {
		expect.That(t, titles[m[1]], "infra/REMEDIATE.md names the widget %q, which the dashboard does not have", m[1])
	}
}

func TestTheDashboardHasItsPlacesOnTheGrid(t *testing.T) {
	d := readDashboard(t)
	if d.Start != "-PT12H" || d.PeriodOverride != "inherit" || len(d.Widgets) < 15 || len(d.Widgets) > 500 {
		t.Errorf("%s, %s, %d widgets", d.Start, d.PeriodOverride, len(d.Widgets))
	}
	taken := map[[2]int]string{}
	for n, w := range d.Widgets {
		name := fmt.Sprintf("widget %d (%s)", n+1, w.Type)
		if w.X == nil || w.Y == nil || *w.X < 0 || *w.Y < 0 || w.Width < 1 || w.Height < 1 || w.Height > 1000 || *w.X+w.Width > 24 {
			t.Errorf("%s does not lie on the grid", name)
			continue
		}
		for x := *w.X; x < *w.X+w.Width; x++ {
			for y := *w.Y; y < *w.Y+w.Height; y++ {
				other, ok := taken[[2]int{x, y}]
				must.That(t, !ok, "%s covers %s", name, other)
				taken[[2]int{x, y}] = name
			}
		}
	}
	bottom := 0
	for place := range taken {
		bottom = max(bottom, place[1]+1)
	}
	expect.That(t, len(taken) == 24*bottom, "%d of %d places are empty", 24*bottom-len(taken), 24*bottom)
}

// A graph of a metric that nothing writes stays empty, and nobody notices.
func TestTheDashboardShowsMetricsThatAreWritten(t *testing.T) {
	tmpl, shown, kinds := whole(t), map[string]bool{}, map[string]int{}
	for n, w := range readDashboard(t).Widgets {
		fault := func(format string, arguments ...any) {
			t.Errorf("widget %d: %s", n+1, fmt.Sprintf(format, arguments...))
		}
		kinds[w.Type]++
		switch w.Type {
		case "text":
			if p := new(textWidget); strictly(w.Properties, p) != nil || p.Markdown == "" {
				fault("%s", w.Properties)
			}
		case "alarm":
			p := new(alarmWidget)
			if err := strictly(w.Properties, p); err != nil || p.Title == "" {
				fault("%v", err)
			}
			var want []string
			for _, id := range tmpl.ofType("AWS::CloudWatch::Alarm") {
				want = append(want, "${"+id+".Arn}")
			}
			slices.Sort(p.Alarms)
			if !slices.Equal(p.Alarms, want) {
				fault("alarms %v, want %v", p.Alarms, want)
			}
		case "log":
			p := new(logWidget)
			if err := strictly(w.Properties, p); err != nil || p.Title == "" || p.Region != Region || p.View != "table" {
				fault("%v: %+v", err, p)
			}
			groups, text := sources(p.Query)
			if err := insights(t, text); err != nil || len(groups) == 0 {
				fault("%v", err)
			}
			for _, g := range groups {
				if tmpl.Resources[strings.Trim(g, "'${}")].Type != "AWS::Logs::LogGroup" {
					fault("there is no log group %s", g)
				}
			}
		case "metric":
			p := new(metricWidget)
			if err := strictly(w.Properties, p); err != nil || p.Region != Region {
				fault("%v: %+v", err, p)
			}
			graphs, err := p.graphs()
			if err != nil {
				fault("%s: %v", p.Title, err)
			}
			for _, g := range graphs {
				shown[g.namespace+" "+g.name] = true
				if err := readable(g.namespace, g.name, g.dimensions, g.statistic); err != nil {
					fault("%s: %v", p.Title, err)
				}
				for _, v := range g.values {
					if id, _, _ := strings.Cut(strings.Trim(v, "${}"), "."); tmpl.Resources[id].Type == "" {
						fault("%s: there is no %s", p.Title, v)
					}
				}
			}
		default:
			fault("type %q", w.Type)
		}
	}
	expect.That(t, kinds["text"] == 1 && kinds["alarm"] == 1 && kinds["log"] >= 2, "widgets %v", kinds)
	// The dashboard shows the metric of each alarm.
	for _, id := range tmpl.ofType("AWS::CloudWatch::Alarm") {
		var a alarm
		must.Succeed(t, tmpl.properties(id, &a))
		for _, of := range a.watches() {
			expect.That(t, shown[of], "%s rings for %s, which the dashboard does not show: %v", id, of, slices.Sorted(maps.Keys(shown)))
		}
	}
}

// The checks above must be able to fail.
func TestWhatIsNoWidgetIsFound(t *testing.T) {
	for name, text := range map[string]string{
		"no such view":       `{"title":"t","region":"r","view":"lines","period":300,"metrics":[["N","M"]]}`,
		"a gauge":            `{"title":"t","region":"r","view":"gauge","period":300,"metrics":[["N","M"]]}`,
		"no region":          `{"title":"t","view":"bar","period":300,"metrics":[["N","M"]]}`,
		"a period of 90 s":   `{"title":"t","region":"r","view":"bar","period":90,"metrics":[["N","M"]]}`,
		"no metrics":         `{"title":"t","region":"r","view":"bar","period":300,"metrics":[]}`,
		"half a dimension":   `{"title":"t","region":"r","view":"bar","period":300,"metrics":[["N","M","D"]]}`,
		"a dot for nothing":  `{"title":"t","region":"r","view":"bar","period":300,"metrics":[["N","."]]}`,
		"an id that is none": `{"title":"t","region":"r","view":"bar","period":300,"metrics":[["N","M",{"id":"1"}]]}`,
		"an id twice":        `{"title":"t","region":"r","view":"bar","period":300,"metrics":[["N","M",{"id":"a"}],["N","L",{"id":"a"}]]}`,
		"no such option":     `{"title":"t","region":"r","view":"bar","period":300,"metrics":[["N","M",{"statistic":"Sum"}]]}`,
		"half a search":      `{"title":"t","region":"r","view":"bar","period":300,"metrics":[[{"expression":"SEARCH('{N,D} MetricName=\"M\"', 'Sum')"}]]}`,
		"a sum of maxima":    `{"title":"t","region":"r","view":"bar","period":300,"metrics":[[{"expression":"SUM(SEARCH('{N,D} MetricName=\"M\"', 'Maximum', 300))"}]]}`,
	} {
		var w metricWidget
		err := strictly([]byte(text), &w)
		if err == nil {
			_, err = w.graphs()
		}
		expect.That(t, err != nil, "%s passes", name)
	}
	for name, m := range map[string]graph{
		"no such metric":         {namespace: "Rollcall", name: "Finding", statistic: "Sum"},
		"no such dimension":      {namespace: "Rollcall", name: "Findings", dimensions: []string{"Kind"}, statistic: "Maximum"},
		"a gauge added up":       {namespace: "Rollcall", name: "Findings", dimensions: []string{"Cluster"}, statistic: "Sum"},
		"the mean of a count":    {namespace: "Rollcall", name: "ChecksCompleted", statistic: "Average"},
		"no such percentile":     {namespace: "Rollcall", name: "CheckDuration", statistic: "p500"},
		"a metric AWS lacks":     {namespace: "AWS/SQS", name: "NumberOfMessages", dimensions: []string{"QueueName"}, statistic: "Sum"},
		"a dimension AWS lacks":  {namespace: "AWS/Lambda", name: "Errors", dimensions: []string{"Function"}, statistic: "Sum"},
		"AWS without dimensions": {namespace: "AWS/SQS", name: "ApproximateNumberOfMessagesVisible", statistic: "Maximum"},
	} {
		err := readable(m.namespace, m.name, m.dimensions, m.statistic)
		expect.That(t, err != nil, "%s passes", name)
	}
}
