package template

import (
	"fmt"
	"regexp"
	"slices"

	"rollcall/shared/report/metric"
)

// published maps the AWS metrics in the template to the sets of dimensions by which each can be read:
//
//   - https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
//   - https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
//   - https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
var published = map[string]map[string][]string{
	"AWS/SQS": {
		"ApproximateNumberOfMessagesVisible": {"QueueName"},
		"ApproximateAgeOfOldestMessage":      {"QueueName"},
	},
	"AWS/Lambda": {
		"Errors":    {"FunctionName"},
		"Throttles": {"FunctionName"},
		"Duration":  {"FunctionName"},
	},
	"AWS/DynamoDB": {
		"ReadThrottleEvents":  {"TableName"},
		"WriteThrottleEvents": {"TableName"},
	},
}

var percentile = regexp.MustCompile(`^p(\d{1,2}(\.\d+)?|100)$`)

// readable returns an error if a metric with these dimensions cannot be read by that
// statistic, because nothing writes it or the result would be meaningless.
func readable(namespace, name string, dimensions []string, statistic string) error {
	slices.Sort(dimensions)
	if namespace != metric.Namespace {
		if want, ok := published[namespace][name]; !ok || !slices.Equal(want, dimensions) {
			return fmt.Errorf("AWS publishes no %s %s by %v", namespace, name, dimensions)
		}
		return nil
	}
	for _, s := range metric.Catalogue() {
		if s.Name != name {
			continue
		}
		if !slices.ContainsFunc(s.Sets, func(set []metric.Dimension) bool { return slices.Equal(sorted(set), dimensions) }) {
			return fmt.Errorf("%s is not written by %v", name, dimensions)
		}
		means := map[metric.Form]bool{
			metric.Counter: statistic == "Sum", metric.Gauge: statistic == "Maximum",
			metric.Distribution: statistic == "Average" || statistic == "Maximum" || percentile.MatchString(statistic),
		}
		if !means[s.Form] {
			return fmt.Errorf("%s is a %s: its %s means nothing", name, s.Form, statistic)
		}
		return nil
	}
	return fmt.Errorf("no function writes %s", name)
}

func sorted(set []metric.Dimension) (names []string) {
	for _, d := range set {
		names = append(names, string(d))
	}
	slices.Sort(names)
	return names
}
