// Command demo shows Rollcall at work in an account, from the first look until it is gone. The node role
// of a small fleet is removed from aws-auth, so that what is launched cannot join. A person looks;
// Rollcall is deployed; its notice says what is wrong, what it holds and the fix; the fix is made.
// Then a node becomes silent, which is repaired without a person. In the end Rollcall is removed, and nothing
// of it is left.
//
// The Kubernetes control plane and the authentication are real, the functions are the compiled ones,
// the AWS account is emulated. The demo's own clock skips the waiting hours.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/functions/local/command"
	"rollcall/tests/serverless"
	"rollcall/tests/template"
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
	w     io.Writer
	err   error // the first failure to write
	bed   *testbed.Bed
	stack *serverless.Stack
	// deploy deploys the functions.
	deploy func(context.Context) error
	before []string // what the account and the cluster hold without Rollcall
	told   int      // the calls whose notices were shown
	scenes int
}

// say writes to the person who watches.
func (s *show) say(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}

// scene begins a part of the demo.
func (s *show) scene(text string) {
	s.scenes++
	line := strings.Repeat("=", 80)
	s.say("\n%s\n%d. %s\n%s\n\n", line, s.scenes, text, line)
}

func run(ctx context.Context, w io.Writer) (err error) {
	began := time.Now()
	s := &show{w: w}
	dir, err := os.MkdirTemp("", "rollcall-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the functions: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s.say("Compiling the four functions, reading template.yaml, and starting a Kubernetes control\nplane and an emulated AWS account ...\n")
	if err := serverless.Build(ctx, ".", dir); err != nil {
		return err
	}
	tmpl, err := template.Read(ctx, ".", map[string]string{"Mode": "remediate"})
	if err != nil {
		return err
	}
	bed, err := testbed.Start(ctx, testbed.Options{
		RBAC: "infra/rbac.yaml", Identities: serverless.Identities(), Viewers: serverless.Viewers(), Remediators: serverless.Remediators(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	s.bed = bed
	s.deploy = func(ctx context.Context) (err error) {
		s.stack, err = serverless.Deploy(ctx, bed, tmpl, dir, dir)
		return err
	}
	defer func() {
		if s.stack != nil {
			s.stack.Close()
		}
	}()
	if err := s.become(testbed.Operator); err != nil {
		return err
	}
	if err := s.play(ctx); err != nil {
		return err
	}
	s.say("\nNothing of Rollcall is left. The demo took %.0f s.\n", time.Since(began).Seconds())
	return s.err
}

func (s *show) play(ctx context.Context) error {
	silent, err := s.fleet(ctx)
	if err != nil {
		return err
	}
	late, err := s.strand(ctx)
	if err != nil {
		return err
	}
	if s.before, err = s.bed.Holdings(ctx); err != nil {
		return err
	}
	for _, part := range []func() error{
		func() error {
			s.scene("One look, read-only, with a person's credentials. Two instances have been up for\n7 minutes and are no nodes yet. The bastion carries the cluster's tag and is left alone.")
			return s.check(ctx)
		},
		func() error {
			s.scene("Rollcall is deployed, with Mode=remediate. EC2's events say that the instances run,\nand the first mail arrives.")
			return s.meet(ctx, late)
		},
		func() error {
			s.scene("Ten minutes later the deadline has passed. What replaced the instances could not join\neither, so nothing is terminated, and a person is asked.")
			return s.advance(ctx, 10*time.Minute, whole)
		},
		func() error {
			s.scene("The person runs the command of the mail. The instances join, and when they have been\nnodes for ten minutes, a mail says that it is over.")
			return s.fix(ctx, late)
		},
		func() error {
			s.scene("At night the kubelet of " + silent + " goes silent. The real node lifecycle\ncontroller turns the node Unknown. After 30 minutes its instance is rebooted, once; ten\nminutes later it is terminated; and the Node object that nobody removes is deleted.")
			s.bed.Silence(silent)
			if err := s.bed.WaitUnknown(ctx, silent); err != nil {
				return err
			}
			return s.advance(ctx, time.Hour, subjects)
		},
		func() error {
			s.scene("Every call that changed anything in the account or in the cluster, and the role that made it.")
			return s.changes(ctx)
		},
		func() error {
			s.scene("The administrator removes Rollcall: first what is outside of its stack, then the stack.")
			return s.remove(ctx)
		},
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// fleet runs four nodes that are in order, and a bastion. It returns the node that will become silent.
func (s *show) fleet(ctx context.Context) (last string, err error) {
	for i := range 4 {
		launched := time.Now().Add(-6*time.Hour - time.Duration(i)*time.Minute)
		if last, err = s.bed.RunInstance(ctx, worker(launched)); err != nil {
			return "", err
		}
		if err := s.join(ctx, last, launched.Add(time.Duration(45+5*i)*time.Second)); err != nil {
			return "", err
		}
	}
	_, err = s.bed.RunInstance(ctx, testbed.InstanceSpec{Name: "bastion", Cluster: testbed.ClusterName, LaunchedAgo: 48 * time.Hour})
	return last, err
}

// strand removes the node role from aws-auth and launches two instances, which then cannot join.
func (s *show) strand(ctx context.Context) (late []string, err error) {
	if err := s.bed.UnmapNodes(ctx); err != nil {
		return nil, err
	}
	for range 2 {
		id, err := s.bed.RunInstance(ctx, worker(time.Now().Add(-7*time.Minute)))
		if err != nil {
			return nil, err
		}
		late = append(late, id)
	}
	return late, nil
}

// worker describes a member of the demo's group.
func worker(launched time.Time) testbed.InstanceSpec {
	return testbed.InstanceSpec{Cluster: testbed.ClusterName, Group: "workers", LaunchTime: launched}
}

// join creates the node of an instance, Ready at once.
func (s *show) join(ctx context.Context, id string, at time.Time) error {
	_, err := s.bed.JoinNode(ctx, testbed.NodeSpec{InstanceID: id, Ready: corev1.ConditionTrue, ReadySince: at, Created: at})
	return err
}

// become gives a person's credentials to the commands that follow.
func (s *show) become(who testbed.Identity) error {
	for _, pair := range s.bed.EnvFor(who) {
		name, value, _ := strings.Cut(pair, "=")
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}

// check runs rollcall check.
func (s *show) check(ctx context.Context) error { return s.person(ctx, time.Now, "check") }

// person runs rollcall as a person would.
func (s *show) person(ctx context.Context, now func() time.Time, args ...string) error {
	s.say("$ rollcall %s\n\n", strings.Join(args, " "))
	var stderr bytes.Buffer
	if code := command.Run(ctx, args, command.Environment{Stdout: s.w, Stderr: &stderr, Now: now}); code == command.ExitError {
		return fmt.Errorf("rollcall %s exited with %d: %s", strings.Join(args, " "), code, stderr.String())
	}
	return nil
}

// remove follows "Uninstall" of infra/README.md, and shows what is left.
func (s *show) remove(ctx context.Context) error {
	administrator := testbed.AccessEntry{PrincipalARN: testbed.Administrator.ARN, Policies: []string{testbed.AdminPolicy}}
	if err := errors.Join(s.bed.Admit(ctx, append(granted(), joining, administrator)...), s.become(testbed.Administrator)); err != nil {
		return err
	}
	for _, args := range [][]string{{"stop", "--stack", "rollcall"}, {"uninstall", "--stack", "rollcall"}, {"uninstall", "--stack", "rollcall", "--yes"}} {
		if err := s.person(ctx, s.stack.Now, args...); err != nil {
			return err
		}
		s.say("\n")
	}
	s.say("$ aws cloudformation delete-stack --stack-name rollcall\n\n")
	if err := s.stack.Delete(ctx); err != nil {
		return err
	}
	before := append(s.before, "access entry "+joining.PrincipalARN, "access entry "+administrator.PrincipalARN)
	kept, err := s.added(ctx, before)
	if err != nil {
		return err
	}
	s.say("What the account and the cluster have now and had not before, and is deleted as uninstall says:\n\n  %s\n", strings.Join(kept, "\n  "))
	if err := s.stack.Discard(ctx); err != nil {
		return err
	}
	left, err := s.added(ctx, before)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("of Rollcall there are left %s", strings.Join(left, ", "))
	}
	return err
}

// added returns what the account and the cluster hold now and did not before.
func (s *show) added(ctx context.Context, before []string) ([]string, error) {
	now, err := s.bed.Holdings(ctx)
	return slices.DeleteFunc(now, func(one string) bool { return slices.Contains(before, one) }), err
}

// joining lets nodes in.
var joining = testbed.AccessEntry{PrincipalARN: testbed.NodeRoleARN, Type: "EC2_LINUX"}

// granted returns the access entries that make grant prints.
func granted() []testbed.AccessEntry {
	return []testbed.AccessEntry{
		{PrincipalARN: serverless.Viewers()[0], KubernetesGroups: []string{testbed.ViewersGroup}},
		{PrincipalARN: serverless.Remediators()[0], KubernetesGroups: []string{testbed.RemediatorsGroup}},
	}
}

// meet deploys Rollcall and sends it the events of the instances.
func (s *show) meet(ctx context.Context, ids []string) error {
	if err := errors.Join(s.deploy(ctx), s.bed.SetAccessEntries(ctx, testbed.ClusterName, granted()...)); err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.bed.EmitStateChange(ctx, id, "running"); err != nil {
			return err
		}
	}
	return s.advance(ctx, time.Minute, whole)
}

// fix gives the node role the access entry that the mail asks for, and has the instances join.
func (s *show) fix(ctx context.Context, ids []string) error {
	if err := s.bed.SetAccessEntries(ctx, testbed.ClusterName, append(granted(), joining)...); err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.join(ctx, id, s.stack.Now()); err != nil {
			return err
		}
	}
	return s.advance(ctx, 16*time.Minute, whole)
}

// How much of a mail is shown.
const (
	subjects = false
	whole    = true
)

// advance lets time pass, and shows the mails that arrive.
func (s *show) advance(ctx context.Context, d time.Duration, text bool) error {
	if err := s.stack.Advance(ctx, d); err != nil {
		return err
	}
	calls, err := s.bed.Calls(ctx)
	if err != nil {
		return err
	}
	for _, c := range calls[s.told:] {
		if c.Action != "Publish" || c.Params["TopicArn"] != s.stack.Topic {
			continue
		}
		var message struct{ Email string }
		if err := json.Unmarshal([]byte(c.Params["Message"]), &message); err != nil {
			return fmt.Errorf("a notice is no JSON document: %w", err)
		}
		s.say("  | Subject: %s\n", c.Params["Subject"])
		if !text {
			continue
		}
		s.say("  |\n")
		for line := range strings.Lines(strings.TrimSpace(message.Email)) {
			s.say("  | %s\n", strings.TrimRight(line, "\n"))
		}
		s.say("\n")
	}
	s.told = len(calls)
	return nil
}

// changes shows every write outside of Rollcall's own stores.
func (s *show) changes(ctx context.Context) error {
	calls, err := s.bed.Calls(ctx)
	if err != nil {
		return err
	}
	role := map[string]string{}
	for _, id := range serverless.Identities() {
		role[id.AccessKeyID] = id.ARN[strings.LastIndex(id.ARN, "/")+1:]
	}
	for _, c := range calls {
		if c.Service == "ec2" && !strings.HasPrefix(c.Action, "Describe") && !strings.HasPrefix(c.Action, "Get") {
			s.say("  %-20s ec2:%s %s\n", role[c.AccessKeyID], c.Action, strings.Join(instances(c.Resources), " "))
		}
	}
	inCluster, err := s.bed.KubeCalls(ctx)
	if err != nil {
		return err
	}
	for _, c := range testbed.Changing(inCluster) {
		s.say("  %-20s %s %s %s\n", c.User, c.Verb, c.Resource, c.Name)
	}
	return nil
}

// instances returns the ids of instances among the ids of resources.
func instances(resources []string) (ids []string) {
	for _, r := range resources {
		if strings.HasPrefix(r, "i-") {
			ids = append(ids, r)
		}
	}
	return ids
}
