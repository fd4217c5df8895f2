// Package metric lists Rollcall's CloudWatch metrics and writes them in embedded metric format.
package metric

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rollcall/shared/roll"
)

// Namespace is the CloudWatch namespace of Rollcall's metrics.
const Namespace = "Rollcall"

// Limits of one line.
const (
	valuesPerMetric = 100
	metricsPerLine  = 100
)

// Write writes samples in CloudWatch embedded metric format, as lines of a function's log.
// Samples with the same dimension values share a line. Many values of one metric take
// several lines. A line has all dimensions of its samples as fields, for queries of the log; as
// metrics of their own it has the detailed sets only if detailed is set. It returns an error for a
// sample whose dimensions do not fit its metric, and errors of w.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func Write(w io.Writer, at time.Time, detailed bool, samples ...Sample) error {
	lines, err := arrange(samples, detailed)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if err := l.write(w, at); err != nil {
			return err
		}
	}
	return nil
}

// line is a line of metrics with the same dimension sets, and the same values of all dimensions.
type line struct {
	sets    [][]Dimension
	values  map[Dimension]string
	metrics []Sample // with distinct names
}

// arrange groups samples into lines.
func arrange(samples []Sample, detailed bool) ([]*line, error) {
	var lines []*line
	open := map[string][]*line{} // by dimensions; a line that has the metric already is skipped
	for _, s := range samples {
		if !s.fits() {
			return nil, fmt.Errorf("metric %s cannot be told apart by %v", s.Of.Name, s.By)
		}
		sets := s.of(s.Of.Sets)
		if detailed {
			sets = append(sets, s.of(s.Of.Detailed)...)
		}
		if len(sets) == 0 {
			continue
		}
		values := map[Dimension]string{}
		for d := range s.By {
			values[d] = s.value(d)
		}
		key := fmt.Sprint(sets, values)
		for _, part := range parts(s) {
			i := slices.IndexFunc(open[key], func(l *line) bool { return l.takes(part) })
			if i < 0 {
				i = len(open[key])
				l := &line{sets: sets, values: values}
				open[key], lines = append(open[key], l), append(lines, l)
			}
			open[key][i].metrics = append(open[key][i].metrics, part)
		}
	}
	return lines, nil
}

func (l *line) takes(s Sample) bool {
	return len(l.metrics) < metricsPerLine && !slices.ContainsFunc(l.metrics, func(m Sample) bool { return m.Of.Name == s.Of.Name })
}

func parts(s Sample) []Sample {
	if len(s.Values) <= valuesPerMetric {
		return []Sample{s}
	}
	var out []Sample
	for some := range slices.Chunk(s.Values, valuesPerMetric) {
		part := s
		part.Values = some
		out = append(out, part)
	}
	return out
}

func (l *line) write(w io.Writer, at time.Time) error {
	type definition struct {
		Name string `json:"Name"`
		Unit string `json:"Unit"`
	}
	root := map[string]any{}
	for d, v := range l.values {
		root[string(d)] = v
	}
	definitions := make([]definition, 0, len(l.metrics))
	for _, m := range l.metrics {
		definitions = append(definitions, definition{Name: m.Of.Name, Unit: m.Of.Unit})
		root[m.Of.Name] = m.Value
		if len(m.Values) > 0 {
			root[m.Of.Name] = m.Values
		}
	}
	root["_aws"] = map[string]any{
		"Timestamp":         at.UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{"Namespace": Namespace, "Dimensions": l.sets, "Metrics": definitions}},
	}
	data, err := json.Marshal(root)
	if err != nil {
		names := roll.Map(l.metrics, func(s Sample) string { return s.Of.Name })
		return fmt.Errorf("encode metrics %s: %w", strings.Join(names, ", "), err)
	}
	_, err = fmt.Fprintf(w, "%s\n", data)
	return err
}
