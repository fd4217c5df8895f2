package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rollcall/shared/policy"
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
	), Mode, PolicyParameter, Table, Topic, ChecksQueueURL, SweepInterval, VPCs, WarnAfter, Deadline)
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Mode: policy.Notify, PolicyParameter: "/rollcall/policy", Table: "t", Topic: "arn:aws:sns:eu-west-1:111122223333:rollcall",
		ChecksQueueURL: "https://sqs.eu-west-1.amazonaws.com/111122223333/checks.fifo", SweepInterval: 5 * time.Minute, VPCs: []string{"vpc-1", "vpc-2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestEveryFaultAtOnceByName(t *testing.T) {
	_, err := Read(env(
		Mode, "destroy", Table, " ", Topic, "arn:aws:sqs:eu-west-1:111122223333:x", ChecksQueueURL, "checks", SweepInterval, "10s",
		VPCs, "vpc-1,subnet-2", WarnAfter, "20m", Deadline, "15m", ScheduleRole, "role",
	), Mode, PolicyParameter, Table, Topic, ChecksQueueURL, SweepInterval, VPCs, WarnAfter, Deadline, ScheduleRole)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		Mode + ": ", PolicyParameter + " is not set", Table + " is empty", Topic + `: "arn:aws:sqs:eu-west-1:111122223333:x" is not an ARN of sns`,
		ChecksQueueURL + `: "checks" is not a URL`, SweepInterval + ": 10s is not between 1m0s and 1h0m0s", VPCs + `: "subnet-2" is not a VPC id`,
		WarnAfter + ": 20m0s is after " + Deadline, ScheduleRole + `: "role" is not an ARN of iam`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 9 {
		t.Errorf("%d faults, want 9:\n%v", n, err)
	}
}

func TestBoundariesOfTheSweepInterval(t *testing.T) {
	for value, ok := range map[string]bool{"59s": false, "1m": true, "1h": true, "1h0m1s": false, "5": false, "-5m": false, "": false} {
		if _, err := Read(env(SweepInterval, value), SweepInterval); (err == nil) != ok {
			t.Errorf("%q: %v, want ok %v", value, err, ok)
		}
	}
}
