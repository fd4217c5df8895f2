package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Namespace is the CloudWatch namespace of Rollcall's metrics.
const Namespace = "Rollcall"

// Metric is one value of a metric.
type Metric struct {
	Name  string
	Unit  string // a CloudWatch unit: Count, Seconds, Milliseconds
	Value float64
}

// Metrics writes values in CloudWatch's embedded metric format, as one line of a
// function's log: once without dimensions, for alarms over all clusters, and once by
// cluster if one is named.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func Metrics(w io.Writer, at time.Time, cluster string, metrics ...Metric) error {
	type definition struct {
		Name string `json:"Name"`
		Unit string `json:"Unit"`
	}
	line := map[string]any{}
	definitions := make([]definition, 0, len(metrics))
	for _, m := range metrics {
		definitions = append(definitions, definition{Name: m.Name, Unit: m.Unit})
		line[m.Name] = m.Value
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
