// Command demo shows Rollcall's main task. In a small fleet one instance never registers
// and one node becomes silent. The demo runs from the first check to the reboot that does
// not help, the terminations, and the Node object that remains.
//
// The Kubernetes control plane and the authentication are real; the AWS account is
// emulated. The demo's own clock skips the waiting hours.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/functions/local/command"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/testbed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// show is a running demo.
type show struct {
	w      io.Writer
	err    error // the first failure to write
	bed    *testbed.Bed
	clock  time.Duration // how far the demo's clock is ahead
	ledger string
	// evidence is the folder for evidence.
	evidence string
	topic    string
	read     func(context.Context) ([]testbed.Notice, error)
}

// say writes to the person who watches.
func (s *show) say(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}

func run(ctx context.Context, w io.Writer) (err error) {
	s := &show{w: w}
	s.say("Starting a Kubernetes control plane and an emulated AWS account ...\n")
	bed, err := testbed.Start(ctx, testbed.Options{RBAC: "infra/rbac.yaml"})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := bed.Close(); err == nil {
			err = closeErr
		}
	}()
	dir, err := os.MkdirTemp("", "rollcall-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the ledger and the evidence: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, pair := range bed.EnvFor(testbed.Operator) {
		name, value, _ := strings.Cut(pair, "=")
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	s.bed, s.ledger, s.evidence = bed, filepath.Join(dir, "ledger.json"), filepath.Join(dir, "evidence")
	if s.topic, s.read, err = bed.Topic(ctx); err != nil {
		return err
	}
	// Rollcall has watched the cluster since yesterday, so no finding counts as older than its
	// checks.
	file, err := ledger.OpenFile(s.ledger)
	if err != nil {
		return err
	}
	cluster := roll.ClusterID{Account: testbed.AccountID, Region: testbed.Region, Name: testbed.ClusterName}
	if err := file.Record(ctx, cluster, ledger.Changes{Put: ledger.State{First: time.Now().Add(-24 * time.Hour)}}); err != nil {
		return err
	}
	return errors.Join(s.play(ctx), s.err)
}

func (s *show) play(ctx context.Context) error {
	silent, err := s.seed(ctx)
	if err != nil {
		return err
	}
	observe := []string{"--mode", "observe"}
	remediate := []string{"--mode", "remediate", "--ledger", s.ledger, "--evidence", s.evidence, "--topic", s.topic}
	scenes := []struct {
		after time.Duration
		say   string
		args  []string
		do    func() error
	}{
		{0, "One look, read-only. One instance of the group has been up for 7 minutes and is\nno node yet: a warning. The bastion carries the cluster's tag and is left alone.", observe, nil},
		{0, "The same look with everything allowed: the instance is tagged, and a notice goes\nout. Nothing is terminated within the tolerance of 15 minutes.", remediate, nil},
		{9 * time.Minute, "Nine minutes later the deadline has passed, and two looks more than a minute\napart have seen the same. Its tag, a notice, the intent on record, then the act.", remediate, nil},
		{5 * time.Minute, "Five minutes later the group has launched a replacement, and its node is Ready.\nThere is nothing to do or to say.", remediate, func() error {
			_, err := s.join(ctx, s.clock-3*time.Minute, s.clock-2*time.Minute)
			return err
		}},
		{0, "Now the kubelet of " + silent + " goes silent. The real node\nlifecycle controller turns the node Unknown (this takes some seconds) ...", remediate, func() error {
			s.bed.Silence(silent)
			return s.bed.WaitUnknown(ctx, silent)
		}},
		// The demo's clock is 14 minutes ahead of the clock by which the node became silent.
		{17 * time.Minute, "After 30 minutes of silence the node is past its tolerance. A silent node cannot\nbe drained, and what it runs may still be at work: its instance is rebooted, once.\nThe first trouble is long over, which a notice says.", remediate, nil},
		{10 * time.Minute, "The reboot has not brought it back within ten minutes. The last step of its\nladder: the instance is terminated. Its group works, so nothing else is in the way.", remediate, nil},
		{2 * time.Minute, "EC2 says that the instance is terminated. Its node is left over, which is\nno news for the first minutes.", remediate, nil},
		{6 * time.Minute, "Six minutes later nobody has deleted it, not even the cluster's own controller:\nit is a Ghost, and Rollcall deletes the Node object.", remediate, nil},
	}
	for i, scene := range scenes {
		s.clock += scene.after
		s.say("\n%s\n%d. %s\n%s\n", strings.Repeat("=", 80), i+1, scene.say, strings.Repeat("=", 80))
		if scene.do != nil {
			if err := scene.do(); err != nil {
				return err
			}
		}
		if err := s.check(ctx, scene.args); err != nil {
			return err
		}
	}
	return s.calls(ctx)
}

// seed runs the fleet and returns the node that will become silent.
func (s *show) seed(ctx context.Context) (string, error) {
	var last string
	for i := range 4 {
		var err error
		launched := -6*time.Hour - time.Duration(i)*time.Minute
		if last, err = s.join(ctx, launched, launched+time.Duration(45+5*i)*time.Second); err != nil {
			return "", err
		}
	}
	if _, err := s.bed.RunInstance(ctx, worker(-7*time.Minute)); err != nil {
		return "", err
	}
	_, err := s.bed.RunInstance(ctx, testbed.InstanceSpec{Name: "bastion", Cluster: testbed.ClusterName, LaunchedAgo: 48 * time.Hour})
	return last, err
}

// worker describes a member of the demo's group, launched at a time relative to now.
func worker(launched time.Duration) testbed.InstanceSpec {
	return testbed.InstanceSpec{Cluster: testbed.ClusterName, Group: "workers", LaunchTime: time.Now().Add(launched)}
}

// join runs a worker whose node is created, and Ready at once, at a time relative to now.
func (s *show) join(ctx context.Context, launched, joined time.Duration) (string, error) {
	at := time.Now().Add(joined)
	id, err := s.bed.RunInstance(ctx, worker(launched))
	if err != nil {
		return "", err
	}
	_, err = s.bed.JoinNode(ctx, testbed.NodeSpec{InstanceID: id, Ready: corev1.ConditionTrue, ReadySince: at, Created: at})
	return id, err
}

// check runs rollcall check as a person would, and shows what it published.
func (s *show) check(ctx context.Context, args []string) error {
	s.say("\n$ rollcall check %s\n\n", strings.NewReplacer(s.ledger, "ledger.json", s.evidence, "evidence", s.topic, "arn:aws:sns:eu-west-1:123456789012:rollcall").Replace(strings.Join(args, " ")))
	var stderr bytes.Buffer
	code := command.Run(ctx, append([]string{"check"}, args...), command.Environment{
		Stdout: s.w, Stderr: &stderr, Now: func() time.Time { return time.Now().Add(s.clock) },
	})
	if code == command.ExitError {
		return fmt.Errorf("rollcall check exited with %d: %s", code, stderr.String())
	}
	notices, err := s.read(ctx)
	if err != nil {
		return err
	}
	for _, n := range notices {
		s.say("\n  notice: %s\n", n.Subject)
	}
	return nil
}

// calls shows all writes in the account.
func (s *show) calls(ctx context.Context) error {
	calls, err := s.bed.Calls(ctx)
	if err != nil {
		return err
	}
	s.say("\n%s\nEvery call that changed anything in the account:\n\n", strings.Repeat("=", 80))
	for _, c := range calls {
		if strings.HasPrefix(c.Action, "Describe") || strings.HasPrefix(c.Action, "List") || strings.HasPrefix(c.Action, "Get") {
			continue
		}
		about := ""
		for _, r := range c.Resources {
			if strings.HasPrefix(r, "i-") {
				about = " " + r
			}
		}
		s.say("  %s:%s%s\n", c.Service, c.Action, about)
	}
	return nil
}
