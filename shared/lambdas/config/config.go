// Package config parses the environment of a function into typed settings. It reports all
// faults at once, each with the name of its variable. An unset variable and an empty one
// are different.
package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	awsarn "github.com/aws/aws-sdk-go-v2/aws/arn"

	"rollcall/shared/policy"
	"rollcall/shared/roll/pattern"
)

// The names of the variables. The template sets those that a function needs.
const (
	Mode            = "ROLLCALL_MODE"
	PolicyParameter = "ROLLCALL_POLICY_PARAMETER"
	Table           = "ROLLCALL_TABLE"
	Topic           = "ROLLCALL_TOPIC_ARN"
	ChatTopic       = "ROLLCALL_CHAT_TOPIC_ARN"
	ChecksQueueURL  = "ROLLCALL_CHECKS_QUEUE_URL"
	ChecksQueueARN  = "ROLLCALL_CHECKS_QUEUE_ARN"
	OrdersQueueURL  = "ROLLCALL_ORDERS_QUEUE_URL"
	ScheduleGroup   = "ROLLCALL_SCHEDULE_GROUP"
	ScheduleRole    = "ROLLCALL_SCHEDULE_ROLE_ARN"
	EventBus        = "ROLLCALL_EVENT_BUS"
	EvidenceBucket  = "ROLLCALL_EVIDENCE_BUCKET"
	SweepInterval   = "ROLLCALL_SWEEP_INTERVAL"
	VPCs            = "ROLLCALL_VPC_IDS"
	WarnAfter       = "ROLLCALL_WARN_AFTER"
	Deadline        = "ROLLCALL_DEADLINE"
	Stack           = "ROLLCALL_STACK"
	ReadSecrets     = "ROLLCALL_READ_SECRETS"
	HostLogs        = "ROLLCALL_HOST_LOGS_DOCUMENT"
	DetailedMetrics = "ROLLCALL_DETAILED_METRICS"
	KeepChecks      = "ROLLCALL_KEEP_CHECKS"
)

// Lookup returns the value of a variable and whether it is set, as os.LookupEnv does.
type Lookup func(name string) (string, bool)

// Settings are the settings of a function. Those that it did not request are zero.
type Settings struct {
	Mode            policy.Mode
	PolicyParameter string
	Table           string
	Topic           string
	ChatTopic       string // "" without a chat channel
	ChecksQueueURL  string
	ChecksQueueARN  string
	OrdersQueueURL  string
	ScheduleGroup   string
	ScheduleRole    string
	EventBus        string
	EvidenceBucket  string
	SweepInterval   time.Duration
	VPCs            []string
	// WarnAfter and Deadline are the stack's tolerances for a policy that has none; zero
	// leaves them to the built-in policy.
	WarnAfter, Deadline time.Duration
	// Tolerances is the reason why the stack's tolerances cannot be used; both are zero
	// then.
	Tolerances error
	Stack      string // of CloudFormation, for notices; "" outside of one
	// WithoutSecrets reports whether console output and user data are left unread.
	WithoutSecrets bool
	// HostLogs is the name of the SSM document that prints the logs of hosts; "" reads none.
	HostLogs string
	// DetailedMetrics writes each metric by all its dimensions.
	DetailedMetrics bool
	// KeepChecks keeps checks for rollcall replay.
	KeepChecks bool
}

// Account returns the account of the deployment and so of its clusters, as its queue of checks names
// it; "" for a function that has no queue of checks.
func (s Settings) Account() string {
	queue, _ := awsarn.Parse(s.ChecksQueueARN)
	return queue.AccountID
}

// shortest and longest bound the sweep interval. An EventBridge schedule has a resolution
// of one minute, and an hour is longer than any default tolerance.
const (
	shortestSweep = time.Minute
	longestSweep  = time.Hour
)

// ErrTolerances means that WarnAfter and Deadline of the stack cannot be used. A template
// cannot compare two durations, so a wrong pair must not keep a function from starting: the
// built-in tolerances apply then, and nothing is acted on.
var ErrTolerances = errors.New("the stack's WarnAfter and Deadline cannot be used, so the built-in tolerances hold and nothing is acted on")

// Read reads the variables that a function needs.
func Read(lookup Lookup, names ...string) (Settings, error) {
	var s Settings
	var faults, tolerances []error
	for _, name := range names {
		value, set := lookup(name)
		if !set {
			if !optional(name) {
				faults = append(faults, fmt.Errorf("%s is not set", name))
			}
			continue
		}
		if value = strings.TrimSpace(value); value == "" {
			if !optional(name) {
				faults = append(faults, fmt.Errorf("%s is empty", name))
			}
			continue
		}
		err := s.take(name, value)
		switch {
		case err == nil:
		case name == WarnAfter || name == Deadline:
			tolerances = append(tolerances, fmt.Errorf("%s: %w", name, err))
		default:
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	if s.Mode == policy.Remediate && s.OrdersQueueURL == "" && slices.Contains(names, OrdersQueueURL) {
		faults = append(faults, fmt.Errorf("%s is not set, and the mode is %s", OrdersQueueURL, s.Mode))
	}
	if s.WarnAfter > 0 && s.Deadline > 0 && s.WarnAfter > s.Deadline {
		tolerances = append(tolerances, fmt.Errorf("%s: %s is after %s (%s)", WarnAfter, s.WarnAfter, Deadline, s.Deadline))
	}
	if len(tolerances) > 0 {
		s.WarnAfter, s.Deadline = 0, 0
		s.Tolerances = fmt.Errorf("%w: %w", ErrTolerances, errors.Join(tolerances...))
	}
	return s, errors.Join(faults...)
}

// optional are the variables that may be missing or empty: then all clusters, the built-in
// tolerances, no chat and no logs of hosts apply. There is a queue of orders in mode remediate only.
func optional(name string) bool {
	return slices.Contains([]string{VPCs, WarnAfter, Deadline, ChatTopic, Stack, OrdersQueueURL, ReadSecrets, HostLogs, DetailedMetrics, KeepChecks}, name)
}

func (s *Settings) take(name, value string) (err error) {
	switch name {
	case Mode:
		s.Mode, err = policy.ParseMode(value)
	case PolicyParameter:
		s.PolicyParameter = value
	case Table:
		s.Table = value
	case Stack:
		s.Stack = value
	case DetailedMetrics:
		s.DetailedMetrics, err = yes(value)
	case KeepChecks:
		s.KeepChecks, err = yes(value)
	case ReadSecrets:
		var read bool
		read, err = yes(value)
		s.WithoutSecrets = err == nil && !read
	case HostLogs:
		s.HostLogs = value
	case Topic:
		s.Topic, err = arn(value, "sns")
	case ChatTopic:
		s.ChatTopic, err = arn(value, "sns")
	case ChecksQueueURL:
		s.ChecksQueueURL, err = webAddress(value)
	case ChecksQueueARN:
		s.ChecksQueueARN, err = arn(value, "sqs")
	case OrdersQueueURL:
		s.OrdersQueueURL, err = webAddress(value)
	case ScheduleGroup:
		s.ScheduleGroup = value
	case ScheduleRole:
		s.ScheduleRole, err = arn(value, "iam")
	case EventBus:
		s.EventBus = value
	case EvidenceBucket:
		s.EvidenceBucket, err = bucket(value)
	case SweepInterval:
		s.SweepInterval, err = duration(value, shortestSweep, longestSweep)
	case VPCs:
		s.VPCs, err = vpcs(value)
	case WarnAfter:
		s.WarnAfter, err = duration(value, time.Second, 30*24*time.Hour)
	case Deadline:
		s.Deadline, err = duration(value, time.Second, 30*24*time.Hour)
	default:
		return errors.New("no such setting")
	}
	return err
}

// yes parses the value of a parameter that is true or false.
func yes(value string) (bool, error) {
	if value != "true" && value != "false" {
		return false, fmt.Errorf("%q is neither true nor false", value)
	}
	return value == "true", nil
}

func arn(value, service string) (string, error) {
	parts := strings.SplitN(value, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != service || parts[5] == "" {
		return "", fmt.Errorf("%q is not an ARN of %s", value, service)
	}
	return value, nil
}

// bucketName is the pattern of names of general purpose buckets:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
var bucketName = pattern.New(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

func bucket(value string) (string, error) {
	if !bucketName.MatchString(value) {
		return "", fmt.Errorf("%q is not the name of a bucket", value)
	}
	return value, nil
}

func webAddress(value string) (string, error) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return "", fmt.Errorf("%q is not a URL", value)
	}
	return value, nil
}

func duration(value string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration such as 5m", value)
	}
	if d < least || d > most {
		return 0, fmt.Errorf("%s is not between %s and %s", value, least, most)
	}
	return d, nil
}

func vpcs(value string) ([]string, error) {
	var ids []string
	for id := range strings.SplitSeq(value, ",") {
		if id = strings.TrimSpace(id); !strings.HasPrefix(id, "vpc-") {
			return nil, fmt.Errorf("%q is not a VPC id such as vpc-0123456789abcdef0", id)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
