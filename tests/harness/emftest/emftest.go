// Package emftest checks lines in embedded metric format against its specification, and
// against the limits of CloudWatch metrics. CloudWatch silently drops what it cannot read.
//
//   - https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
//   - https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDatum.html
//   - https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_Dimension.html
package emftest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// The limits.
const (
	maxBytes       = 1 << 20
	maxMetrics     = 100
	maxValues      = 100
	maxDimensions  = 30
	maxName        = 255
	maxDimension   = 250 // of a dimension's name; the API takes 255
	maxValue       = 1024
	oldest, newest = -14 * 24 * time.Hour, 2 * time.Hour // of a timestamp, from now
	smallest       = 8.515920e-109                       // except zero
	largest        = 1.174271e+108
)

var units = strings.Fields("Seconds Microseconds Milliseconds Bytes Kilobytes Megabytes Gigabytes Terabytes Bits Kilobits Megabits Gigabits Terabits Percent Count " +
	"Bytes/Second Kilobytes/Second Megabytes/Second Gigabytes/Second Terabytes/Second Bits/Second Kilobits/Second Megabits/Second Gigabits/Second Terabits/Second Count/Second None")

// Datum is one metric as CloudWatch reads it from a line.
type Datum struct {
	Namespace, Name, Unit string
	Dimensions            map[string]string
	Values                []float64
}

// Is reports whether the datum is of that metric and has exactly those dimensions, given in
// pairs of name and value.
func (d Datum) Is(name string, dimensions ...string) bool {
	if d.Name != name || len(d.Dimensions) != len(dimensions)/2 {
		return false
	}
	for i := 0; i < len(dimensions); i += 2 {
		if d.Dimensions[dimensions[i]] != dimensions[i+1] {
			return false
		}
	}
	return true
}

type directive struct {
	Namespace  *string
	Dimensions *[][]string
	Metrics    *[]struct {
		Name              *string
		Unit              *string
		StorageResolution *int
	}
}

// Read returns the data of one line of a log, or an error if the line violates the
// specification. A line without the member _aws has no data and is no error.
func Read(line []byte, now time.Time) ([]Datum, error) {
	var root map[string]json.RawMessage
	if err := decode(line, &root, false); err != nil {
		return nil, fmt.Errorf("no JSON object: %w", err)
	}
	if root["_aws"] == nil {
		return nil, nil
	}
	if len(line) > maxBytes {
		return nil, fmt.Errorf("%d bytes", len(line))
	}
	var meta struct {
		Timestamp         *int64
		CloudWatchMetrics *[]directive
	}
	if err := decode(root["_aws"], &meta, true); err != nil {
		return nil, fmt.Errorf("_aws: %w", err)
	}
	if meta.Timestamp == nil || meta.CloudWatchMetrics == nil {
		return nil, errors.New("_aws lacks a member")
	}
	if age := time.UnixMilli(*meta.Timestamp).Sub(now); age < oldest || age > newest {
		return nil, fmt.Errorf("dated %s from now", age)
	}
	var all []Datum
	for i, d := range *meta.CloudWatchMetrics {
		data, err := d.read(root)
		if err != nil {
			return nil, fmt.Errorf("directive %d: %w", i+1, err)
		}
		all = append(all, data...)
	}
	return all, nil
}

// decode reads JSON with nothing after it. With strict set, objects must have no members
// other than those defined.
func decode(data []byte, into any, strict bool) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind it")
	}
	return nil
}

func (d directive) read(root map[string]json.RawMessage) ([]Datum, error) {
	switch {
	case d.Namespace == nil || d.Dimensions == nil || d.Metrics == nil:
		return nil, errors.New("it lacks a member")
	case !named(*d.Namespace, maxName):
		return nil, fmt.Errorf("namespace %q", *d.Namespace)
	case len(*d.Dimensions) == 0:
		return nil, errors.New("it has no set of dimensions")
	case len(*d.Metrics) == 0 || len(*d.Metrics) > maxMetrics:
		return nil, fmt.Errorf("it has %d metrics", len(*d.Metrics))
	}
	sets, err := dimensions(*d.Dimensions, root)
	if err != nil {
		return nil, err
	}
	var all []Datum
	seen := map[string]bool{}
	for _, m := range *d.Metrics {
		if m.Name == nil || !named(*m.Name, maxName) || seen[*m.Name] {
			return nil, fmt.Errorf("a metric is named %v, or another is", m.Name)
		}
		seen[*m.Name] = true
		if m.Unit != nil && !slices.Contains(units, *m.Unit) {
			return nil, fmt.Errorf("metric %s: unit %q", *m.Name, *m.Unit)
		}
		if m.StorageResolution != nil && *m.StorageResolution != 1 && *m.StorageResolution != 60 {
			return nil, fmt.Errorf("metric %s: storage resolution %d", *m.Name, *m.StorageResolution)
		}
		values, err := numbers(root[*m.Name])
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", *m.Name, err)
		}
		for _, set := range sets {
			datum := Datum{Namespace: *d.Namespace, Name: *m.Name, Unit: "None", Dimensions: set, Values: values}
			if m.Unit != nil {
				datum.Unit = *m.Unit
			}
			all = append(all, datum)
		}
	}
	return all, nil
}

// dimensions returns the values of the sets. Two equal sets are an error, because each value
// would count twice.
func dimensions(sets [][]string, root map[string]json.RawMessage) ([]map[string]string, error) {
	var all []map[string]string
	seen := map[string]bool{}
	for _, names := range sets {
		if names == nil || len(names) > maxDimensions {
			return nil, fmt.Errorf("a set of %d dimensions", len(names))
		}
		worth := map[string]string{}
		for _, name := range names {
			var value string
			switch {
			case !named(name, maxDimension) || worth[name] != "":
				return nil, fmt.Errorf("dimension %q", name)
			case root[name] == nil:
				return nil, fmt.Errorf("dimension %s is not worth anything", name)
			case json.Unmarshal(root[name], &value) != nil || !printable(value, maxValue):
				return nil, fmt.Errorf("dimension %s is worth %s", name, root[name])
			}
			worth[name] = value
		}
		key := fmt.Sprint(slices.Sorted(slices.Values(names)))
		if seen[key] {
			return nil, fmt.Errorf("the set %s is there twice", key)
		}
		seen[key] = true
		all = append(all, worth)
	}
	return all, nil
}

func numbers(raw json.RawMessage) ([]float64, error) {
	if raw == nil {
		return nil, errors.New("it is not on the root")
	}
	var values []*float64
	if one := new(float64); json.Unmarshal(raw, &one) == nil && one != nil {
		values = []*float64{one}
	} else if err := json.Unmarshal(raw, &values); err != nil || len(values) == 0 || len(values) > maxValues {
		return nil, fmt.Errorf("it is neither a number nor 1 to %d of them: %.60s", maxValues, raw)
	}
	out := make([]float64, 0, len(values))
	for _, v := range values {
		if v == nil {
			return nil, errors.New("a value is null")
		}
		if size := math.Abs(*v); size != 0 && (size < smallest || size > largest) {
			return nil, fmt.Errorf("the value %g", *v)
		}
		out = append(out, *v)
	}
	return out, nil
}

// named reports whether s may be a name. CloudWatch reserves names that begin with a colon.
func named(s string, most int) bool { return printable(s, most) && !strings.HasPrefix(s, ":") }

// printable reports whether s is ASCII without control characters, and not blank.
func printable(s string, most int) bool {
	for _, c := range s {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return strings.TrimSpace(s) != "" && len(s) <= most
}

// Writer parses the lines written to it with Read, and passes them on.
type Writer struct {
	Next io.Writer // nil to discard
	Now  func() time.Time
	Data []Datum // of all lines
}

// Write parses whole lines and passes them on. It returns errors of Read and of Next.
func (w *Writer) Write(lines []byte) (int, error) {
	for line := range bytes.Lines(lines) {
		data, err := Read(bytes.TrimSuffix(line, []byte("\n")), w.Now())
		if err != nil {
			return 0, fmt.Errorf("%w: %.400s", err, line)
		}
		w.Data = append(w.Data, data...)
	}
	if w.Next == nil {
		return len(lines), nil
	}
	return w.Next.Write(lines)
}

// Sum returns the sum of the values of a metric with those dimensions, given in pairs of name
// and value.
func (w *Writer) Sum(name string, dimensions ...string) (sum float64) {
	for _, d := range w.Data {
		if d.Is(name, dimensions...) {
			for _, v := range d.Values {
				sum += v
			}
		}
	}
	return sum
}
