package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Namespace is the CloudWatch namespace of Rollcall's metrics.
const Namespace = "Rollcall"

// valuesPerLine is how many values of one metric a line may have.
const valuesPerLine = 100

// Metric is one value of a metric, or several.
type Metric struct {
	Name   string
	Unit   string // a CloudWatch unit: Count, Seconds, Milliseconds
	Value  float64
	Values []float64 // instead of Value, where there are several; never empty then
}

// Metrics writes values in CloudWatch's embedded metric format, as lines of a
// function's log: once without dimensions, for alarms over all clusters, and once by
// cluster if one is named. Several values of one metric take more than one line if they
// are many.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func Metrics(w io.Writer, at time.Time, cluster string, metrics ...Metric) error {
	for len(metrics) > 0 {
		var now, rest []Metric
		for _, m := range metrics {
			if len(m.Values) > valuesPerLine {
				more := m
				m.Values, more.Values = m.Values[:valuesPerLine], m.Values[valuesPerLine:]
				rest = append(rest, more)
			}
			now = append(now, m)
		}
		if err := metricLine(w, at, cluster, now); err != nil {
			return err
		}
		metrics = rest
	}
	return nil
}

func metricLine(w io.Writer, at time.Time, cluster string, metrics []Metric) error {
	type definition struct {
		Name string `json:"Name"`
		Unit string `json:"Unit"`
	}
	line := map[string]any{}
	definitions := make([]definition, 0, len(metrics))
	for _, m := range metrics {
		definitions = append(definitions, definition{Name: m.Name, Unit: m.Unit})
		line[m.Name] = m.Value
		if len(m.Values) > 0 {
			line[m.Name] = m.Values
		}
	}
	dimensions := [][]string{{}}
	if cluster != "" {
		dimensions = append(dimensions, []string{"Cluster"})
		line["Cluster"] = cluster
	}
	line["_aws"] = map[string]any{
		"Timestamp":         at.UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{"Namespace": Namespace, "Dimensions": dimensions, "Metrics": definitions}},
	}
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("encode metrics: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", data)
	return err
}
