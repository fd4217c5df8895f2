package serverless

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/functions/local/command"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// README.md, infra/REMEDIATE.md and "Uninstall" of infra/README.md, followed: from an account and a
// cluster in which Rollcall never was, by each mode to remediate, and back until nothing of it is left.
func TestFromNothingToRemediateAndBackToNothing(t *testing.T) {
	must.Succeed(t, bed.Reset(t.Context()))
	must.Succeed(t, bed.Unapply(t.Context()))
	t.Cleanup(func() { must.Succeed(t, bed.ApplyRBAC(context.Background())) })
	others := []testbed.AccessEntry{{PrincipalARN: testbed.NodeRoleARN, Type: "EC2_LINUX"}, {PrincipalARN: testbed.Administrator.ARN, Policies: []string{testbed.AdminPolicy}}}
	viewer := testbed.AccessEntry{PrincipalARN: identity(Inspect).ARN, KubernetesGroups: []string{testbed.ViewersGroup}}
	remediator := testbed.AccessEntry{PrincipalARN: identity(Remediate).ARN, KubernetesGroups: []string{testbed.RemediatorsGroup}}
	must.Succeed(t, bed.Admit(t.Context(), others...))
	cordoned := true
	must.Succeed(t, bed.ChangeNode(t.Context(), fleet(t, 14)[0], testbed.NodeChange{Cordoned: &cordoned})) // by a person
	backlog, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{Cluster: testbed.ClusterName, Group: "workers", LaunchedAgo: time.Hour})
	must.Succeed(t, err)
	before := holdings(t)

	// Mode observe: first without access to the cluster, then with what make grant prints.
	s, err := Create(t.Context(), bed, inMode(t, "observe"), binaries, t.TempDir())
	must.Succeed(t, err)
	watch(t, s)
	s.Step = 2 * time.Minute
	must.Succeed(t, s.Advance(t.Context(), 6*time.Minute))
	if out := s.functions[Inspect].output.all(); !strings.Contains(out, "401 Unauthorized") || strings.Contains(out, backlog) {
		t.Errorf("without access:\n%s", out)
	}
	must.Succeed(t, bed.ApplyRBAC(t.Context()))
	must.Succeed(t, bed.Admit(t.Context(), append(others, viewer)...))
	must.Succeed(t, s.Advance(t.Context(), 6*time.Minute))
	if out := s.functions[Inspect].output.all(); !strings.Contains(out, `"msg":"finding opened"`) || !strings.Contains(out, backlog) {
		t.Errorf("in mode observe:\n%s", out)
	}
	deeds := []string{"CreateTags", "Publish", "RebootInstances", "TerminateInstances"}
	same(t, "in mode observe", acts(t, deeds...), nil)

	must.Succeed(t, s.Update(t.Context(), inMode(t, "notify")))
	must.Succeed(t, s.Advance(t.Context(), 6*time.Minute))
	same(t, "in mode notify", acts(t, "CreateTags", "RebootInstances", "TerminateInstances"), []string{"CreateTags " + backlog})
	same(t, "notices in mode notify", notices(t, s), []string{"critical none"})

	// Mode remediate: the backlog is left alone, what begins later is not.
	must.Succeed(t, s.Policy(t.Context(), "apiVersion: rollcall/v1\n"))
	must.Succeed(t, s.Update(t.Context(), inMode(t, "remediate")))
	must.Succeed(t, bed.Admit(t.Context(), append(others, viewer, remediator)...))
	must.Succeed(t, s.Advance(t.Context(), 10*time.Minute))
	same(t, "the backlog", acts(t, "RebootInstances", "TerminateInstances"), nil)
	first := s.launch(t)
	sick := worn(t, corev1.ConditionFalse, -s.ahead)
	serve(t, sick, 0) // so that it stays cordoned
	must.Succeed(t, s.Advance(t.Context(), 28*time.Minute))
	same(t, "what began in mode remediate", acts(t, "RebootInstances", "TerminateInstances"), []string{"TerminateInstances " + first})
	got := changes(t)
	expect.That(t, slices.Contains(got, "patch nodes "+sick), "in the cluster: %q", got)
	_, err = bed.JoinNode(t.Context(), testbed.NodeSpec{InstanceID: s.launch(t), Ready: corev1.ConditionTrue, ReadySince: s.Now(), Created: s.Now()}) // in its place
	must.Succeed(t, err)

	person(t, s, command.ExitOK, "stop", "--stack", "rollcall")
	second := s.launch(t)
	must.Succeed(t, s.Advance(t.Context(), 20*time.Minute))
	same(t, "stopped", acts(t, "RebootInstances", "TerminateInstances"), []string{"TerminateInstances " + first})
	out := s.functions[Inspect].output.all()
	expect.That(t, strings.Contains(out, `"Stopped":`), "nothing is held for the stop:\n%s", out)
	person(t, s, command.ExitOK, "resume", "--stack", "rollcall")
	must.Succeed(t, s.Advance(t.Context(), 10*time.Minute))
	same(t, "resumed", acts(t, "RebootInstances", "TerminateInstances"), []string{"TerminateInstances " + first, "TerminateInstances " + second})

	// Whatever is neither the stack's nor was there before is listed, removed, and does not come back.
	person(t, s, command.ExitOK, "stop", "--stack", "rollcall")
	outside := outsideOfTheStack(added(before, holdings(t)))
	for _, kind := range []string{"tag", "cordon", "annotation", "access entry", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"} {
		expect.That(t, slices.ContainsFunc(outside, func(one string) bool { return strings.HasPrefix(one, kind+" ") }), "no %s is left to be removed: %q", kind, outside)
	}
	list := person(t, s, command.ExitFindings, "uninstall", "--stack", "rollcall")
	for _, one := range outside {
		name := one[strings.LastIndexAny(one, " /")+1:]
		if kind, of, _ := strings.Cut(one, " "); kind == "annotation" {
			name, _, _ = strings.Cut(of, " ") // it goes with the cordon of its node
		}
		expect.That(t, strings.Contains(list, name), "%s is not listed:\n%s", one, list)
	}
	same(t, "after the list", outsideOfTheStack(added(before, holdings(t))), outside)
	person(t, s, command.ExitOK, "uninstall", "--stack", "rollcall", "--yes")
	same(t, "removed", outsideOfTheStack(added(before, holdings(t))), nil)
	must.Succeed(t, bed.Admit(t.Context(), others...)) // the entries that are left
	must.Succeed(t, s.Advance(t.Context(), 10*time.Minute))
	same(t, "after two more sweeps", outsideOfTheStack(added(before, holdings(t))), nil)
	end := person(t, s, command.ExitOK, "uninstall", "--stack", "rollcall")

	must.Succeed(t, s.Delete(t.Context()))
	kept := []string{"bucket " + s.Evidence, "parameter /rollcall/policy", "table " + s.Table}
	same(t, "what outlives the stack", added(before, holdings(t)), kept)
	for _, one := range kept {
		_, name, _ := strings.Cut(one, " ")
		expect.That(t, strings.Contains(end, name), "nobody tells how to delete the %s:\n%s", one, end)
	}
	must.Succeed(t, s.Discard(t.Context()))
	same(t, "in the end", holdings(t), before)
}

// launch is the function of that name, at the stack's time.
func (s *Stack) launch(t *testing.T) string {
	t.Helper()
	id, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{Cluster: testbed.ClusterName, Group: "workers", LaunchTime: s.Now()})
	must.Succeed(t, err)
	must.Succeed(t, bed.EmitStateChange(t.Context(), id, "running"))
	return id
}

func holdings(t *testing.T) []string {
	t.Helper()
	all, err := bed.Holdings(t.Context())
	must.Succeed(t, err)
	return all
}

// added returns what was not there before.
func added(before, now []string) (more []string) {
	for _, one := range now {
		if !slices.Contains(before, one) {
			more = append(more, one)
		}
	}
	return more
}

// outsideOfTheStack returns those holdings that no stack makes.
func outsideOfTheStack(all []string) (out []string) {
	for _, one := range all {
		switch kind, _, _ := strings.Cut(one, " "); kind {
		case "tag", "cordon", "annotation", "access", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
			out = append(out, one)
		}
	}
	return out
}

// person runs rollcall as the administrator, and returns what it prints.
func person(t *testing.T, s *Stack, want int, args ...string) string {
	t.Helper()
	for _, pair := range bed.EnvFor(testbed.Administrator) {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	var out, errs bytes.Buffer
	code := command.Run(t.Context(), args, command.Environment{Stdout: &out, Stderr: &errs, Now: s.Now})
	if code != want {
		t.Errorf("rollcall %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, want, &out, &errs)
	}
	return out.String()
}
