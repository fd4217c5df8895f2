package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/policy"
	"rollcall/tests/harness/must"
)

func env(pairs ...string) Lookup {
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

func TestReadsWhatAFunctionAsksFor(t *testing.T) {
	got, err := Read(env(
		Mode, "notify", PolicyParameter, "/rollcall/policy", Table, "t", Topic, "arn:aws:sns:eu-west-1:111122223333:rollcall",
		ChecksQueueURL, "https://sqs.eu-west-1.amazonaws.com/111122223333/checks.fifo", SweepInterval, "5m", VPCs, "vpc-1, vpc-2", WarnAfter, "", EventBus, "default",
		EvidenceBucket, "rollcall-evidencebucket-1a2b3c4d5e6f", ChatTopic, "",
	), Mode, PolicyParameter, Table, Topic, ChatTopic, ChecksQueueURL, SweepInterval, VPCs, WarnAfter, Deadline, EvidenceBucket)
	must.Succeed(t, err)
	want := Settings{
		Mode: policy.Notify, PolicyParameter: "/rollcall/policy", Table: "t", Topic: "arn:aws:sns:eu-west-1:111122223333:rollcall",
		ChecksQueueURL: "https://sqs.eu-west-1.amazonaws.com/111122223333/checks.fifo", SweepInterval: 5 * time.Minute, VPCs: []string{"vpc-1", "vpc-2"},
		EvidenceBucket: "rollcall-evidencebucket-1a2b3c4d5e6f",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	const chat = "arn:aws:sns:eu-west-1:111122223333:rollcall-chat"
	if got, err = Read(env(ChatTopic, chat), ChatTopic); err != nil || got.ChatTopic != chat {
		t.Errorf("chat topic %q, %v", got.ChatTopic, err)
	}
}

func TestTheQueueOfChecksNamesTheAccount(t *testing.T) {
	for queue, want := range map[string]string{"arn:aws-cn:sqs:cn-north-1:111122223333:rollcall-checks.fifo": "111122223333", "": ""} {
		if got := (Settings{ChecksQueueARN: queue}).Account(); got != want {
			t.Errorf("%q: account %q, want %q", queue, got, want)
		}
	}
}

func TestEveryFaultAtOnceByName(t *testing.T) {
	_, err := Read(env(
		Mode, "destroy", Table, " ", Topic, "arn:aws:sqs:eu-west-1:111122223333:x", ChecksQueueURL, "checks", SweepInterval, "10s",
		VPCs, "vpc-1,subnet-2", ScheduleRole, "role", EvidenceBucket, "s3://evidence/",
	), Mode, PolicyParameter, Table, Topic, ChecksQueueURL, SweepInterval, VPCs, ScheduleRole, EvidenceBucket)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		Mode + ": ", PolicyParameter + " is not set", Table + " is empty", Topic + `: "arn:aws:sqs:eu-west-1:111122223333:x" is not an ARN of sns`,
		ChecksQueueURL + `: "checks" is not a URL`, SweepInterval + ": 10s is not between 1m0s and 1h0m0s", VPCs + `: "subnet-2" is not a VPC id`,
		ScheduleRole + `: "role" is not an ARN of iam`,
		EvidenceBucket + `: "s3://evidence/" is not the name of a bucket`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 9 {
		t.Errorf("%d faults, want 9:\n%v", n, err)
	}
}

// Orders have a queue in mode remediate only.
func TestOrdersNeedTheirQueueInModeRemediateOnly(t *testing.T) {
	for mode, ok := range map[string]bool{"observe": true, "notify": true, "remediate": false} {
		if _, err := Read(env(Mode, mode), Mode, OrdersQueueURL); (err == nil) != ok {
			t.Errorf("%s without a queue: %v", mode, err)
		}
		if _, err := Read(env(Mode, mode), Mode); err != nil {
			t.Errorf("a function that sends no orders, in %s: %v", mode, err)
		}
	}
}

func TestSecretsAreReadUnlessTheStackSaysNo(t *testing.T) {
	for value, want := range map[string]bool{"true": false, "": false, "false": true} {
		if got, err := Read(env(ReadSecrets, value), ReadSecrets); err != nil || got.WithoutSecrets != want {
			t.Errorf("%q: without secrets %v, %v", value, got.WithoutSecrets, err)
		}
	}
	if _, err := Read(env(ReadSecrets, "no"), ReadSecrets); err == nil {
		t.Error("\"no\" is taken for true")
	}
}

func TestChecksAreKeptIfTheStackSaysSo(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "": false, "false": false} {
		if got, err := Read(env(KeepChecks, value), KeepChecks); err != nil || got.KeepChecks != want {
			t.Errorf("%q: kept %v, %v", value, got.KeepChecks, err)
		}
	}
}

func TestBoundariesOfTheSweepInterval(t *testing.T) {
	for value, ok := range map[string]bool{"59s": false, "1m": true, "1h": true, "1h0m1s": false, "5": false, "-5m": false, "": false} {
		if _, err := Read(env(SweepInterval, value), SweepInterval); (err == nil) != ok {
			t.Errorf("%q: %v, want ok %v", value, err, ok)
		}
	}
}

func TestWhatABucketMayBeCalled(t *testing.T) {
	for value, ok := range map[string]bool{
		"abc": true, "rollcall-evidencebucket-1a2b3c4d5e6f": true, "a.b": true, strings.Repeat("a", 63): true,
		"ab": false, strings.Repeat("a", 64): false, "Evidence": false, "evidence/x": false, "-abc": false, "abc-": false, "a_b": false, "": false,
		"arn:aws:s3:::evidence": false,
	} {
		if _, err := Read(env(EvidenceBucket, value), EvidenceBucket); (err == nil) != ok {
			t.Errorf("%q: %v, want ok %v", value, err, ok)
		}
	}
	if _, err := Read(env(), EvidenceBucket); err == nil || !strings.Contains(err.Error(), EvidenceBucket+" is not set") {
		t.Errorf("not set: %v", err)
	}
}

// A template cannot compare two durations. A wrong pair must not keep a function from
// starting: no cluster would be checked then.
func TestWrongTolerancesAreNotUsedAndKeepNoFunctionFromStarting(t *testing.T) {
	for name, c := range map[string]struct{ warnAfter, deadline, want string }{
		"the wrong way round": {"20m", "15m", WarnAfter + ": 20m0s is after " + Deadline + " (15m0s)"},
		"too long":            {"5m", "721h", Deadline + ": 721h is not between 1s and 720h0m0s"},
		"no duration":         {"5", "15m", WarnAfter + `: "5" is not a duration`},
		"longer than ever":    {"5m", "99999999h", Deadline + `: "99999999h" is not a duration`},
	} {
		s, err := Read(env(WarnAfter, c.warnAfter, Deadline, c.deadline, Table, "t"), WarnAfter, Deadline, Table)
		if err != nil || s.Table != "t" || s.WarnAfter != 0 || s.Deadline != 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		if !errors.Is(s.Tolerances, ErrTolerances) || !strings.Contains(s.Tolerances.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, s.Tolerances, c.want)
		}
	}
	if s, err := Read(env(WarnAfter, "5m", Deadline, "720h"), WarnAfter, Deadline); err != nil || s.Tolerances != nil || s.Deadline != 720*time.Hour {
		t.Errorf("720h: %+v, %v", s, err)
	}
}
