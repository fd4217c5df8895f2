package serverless

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	corev1 "k8s.io/api/core/v1"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/template"
	"rollcall/tests/testbed"
)

var (
	bed      *testbed.Bed
	binaries string
	written  []byte // the transformed template
)

func TestMain(m *testing.M) { os.Exit(start(m)) }

// touch reads the metadata of every source file of the functions. They are built here and
// not imported, so without this the go command would reuse a cached result after a
// change.
func touch(roots ...string) error {
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("look at the sources of the functions: %w", err)
		}
	}
	return nil
}

func start(m *testing.M) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "rollcall-functions-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := touch(filepath.Join("..", "..", "shared"), filepath.Join("..", "..", "functions")); err != nil {
		return fail(err)
	}
	if err := Build(context.Background(), filepath.Join("..", ".."), dir); err != nil {
		return fail(err)
	}
	binaries = dir
	if written, err = template.Transform(context.Background(), filepath.Join("..", ".."), "template.yaml"); err != nil {
		return fail(err)
	}
	options := testbed.Options{RBAC: "infra/rbac.yaml", Identities: Identities(), Viewers: Viewers(), Remediators: Remediators(), Grace: time.Hour}
	return testbed.Main(m, options, func(b *testbed.Bed) { bed = b }, func() error {
		if flag.Lookup("test.run").Value.String() != "" {
			return nil // a subset of the tests uses only a part of what is granted
		}
		return leastPrivilege()
	})
}

// deploy empties the bed and deploys the functions on it, with further variables.
func deploy(t *testing.T, mode string, env ...string) *Stack {
	t.Helper()
	must.Succeed(t, bed.Reset(t.Context()))
	s, err := Deploy(t.Context(), bed, inMode(t, mode), binaries, t.TempDir(), env...)
	must.Succeed(t, err)
	watch(t, s)
	return s
}

// inMode returns the template for a mode.
func inMode(t *testing.T, mode string) *template.Template {
	t.Helper()
	tmpl, err := template.Resolve(written, map[string]string{"Mode": mode})
	must.Succeed(t, err)
	return tmpl
}

// watch ends the functions with the test, and looks at what they wrote and called.
func watch(t *testing.T, s *Stack) {
	t.Helper()
	t.Cleanup(func() {
		s.Close()
		for name, f := range s.functions {
			for _, fault := range illegible(name, f.output.all()) {
				t.Errorf("%s wrote %s", name, fault)
			}
		}
		expect.Succeed(t, remember(context.Background()))
		if t.Failed() {
			for _, l := range s.Log {
				t.Log(l)
			}
			for name, f := range s.functions {
				t.Logf("%s wrote:\n%s", name, f.output)
				for line := range strings.Lines(f.output.all()) {
					if strings.Contains(line, `"msg":"checked"`) || strings.Contains(line, `"msg":"act held"`) {
						t.Log(strings.TrimSpace(line)) // from the beginning: what follows is long
					}
				}
			}
		}
		unexpected, err := bed.Unexpected(context.Background())
		expect.That(t, err == nil && len(unexpected) == 0, "the emulator gave answers that AWS would not give: %+v, %v", unexpected, err)
	})
}

// launch runs a member of an Auto Scaling group and sends the event that it runs.
func launch(t *testing.T) string {
	t.Helper()
	id, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{Cluster: testbed.ClusterName, Group: "workers"})
	must.Succeed(t, err)
	must.Succeed(t, bed.EmitStateChange(t.Context(), id, "running"))
	return id
}

// fleet runs members with ready nodes.
func fleet(t *testing.T, n int) (ids []string) {
	t.Helper()
	for range n {
		id, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{Cluster: testbed.ClusterName, Group: "workers", LaunchedAgo: 5 * time.Hour})
		must.Succeed(t, err)
		joined := time.Now().Add(-5*time.Hour + time.Minute)
		_, err = bed.JoinNode(t.Context(), testbed.NodeSpec{InstanceID: id, Ready: corev1.ConditionTrue, ReadySince: joined, Created: joined})
		must.Succeed(t, err)
		ids = append(ids, id)
	}
	return ids
}

func join(t *testing.T, id string) {
	t.Helper()
	_, err := bed.JoinNode(t.Context(), testbed.NodeSpec{InstanceID: id, Ready: corev1.ConditionTrue, ReadySince: time.Now()})
	must.Succeed(t, err)
}

// worn runs a member of a managed node group, with an old node that has had a condition for some time.
func worn(t *testing.T, ready corev1.ConditionStatus, lasts time.Duration) string {
	t.Helper()
	must.Succeed(t, bed.SetNodeGroup(t.Context(), testbed.ClusterName, "managed", testbed.NodeGroupChange{}))
	shift := true // so that the zone calls are made
	must.Succeed(t, bed.SetCluster(t.Context(), testbed.ClusterName, testbed.ClusterChange{ZonalShift: &shift}))
	id, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{
		Cluster: testbed.ClusterName, Group: "eks-managed", LaunchedAgo: 5 * time.Hour,
		Tags: map[string]string{"eks:nodegroup-name": "managed", "eks:cluster-name": testbed.ClusterName},
	})
	must.Succeed(t, err)
	_, err = bed.JoinNode(t.Context(), testbed.NodeSpec{
		InstanceID: id, Ready: ready, ReadySince: time.Now().Add(-lasts), Created: time.Now().Add(-5*time.Hour + time.Minute),
		Labels: map[string]string{"eks.amazonaws.com/nodegroup": "managed"}, Silent: ready == corev1.ConditionUnknown,
	})
	must.Succeed(t, err)
	return id
}

// changes returns the requests that changed something in the cluster, in order, each as
// "verb resource name". Only remediate makes any.
func changes(t *testing.T) (out []string) {
	t.Helper()
	calls, err := bed.KubeCalls(t.Context())
	must.Succeed(t, err)
	for _, c := range testbed.Changing(calls) {
		resource := c.Resource
		if c.Subresource != "" {
			resource += "/" + c.Subresource
		}
		line := c.Verb + " " + resource + " " + c.Name
		if c.Code >= 300 {
			line += fmt.Sprintf(" %d", c.Code)
		}
		out = append(out, line)
	}
	return out
}

// bare runs an instance without an owner whose user data bootstraps a node.
func bare(t *testing.T) string {
	t.Helper()
	id, err := bed.RunInstance(t.Context(), testbed.InstanceSpec{Cluster: testbed.ClusterName, UserData: "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"})
	must.Succeed(t, err)
	must.Succeed(t, bed.EmitStateChange(t.Context(), id, "running"))
	return id
}

// drop discards all events in the queue.
func (s *Stack) drop(t *testing.T) {
	t.Helper()
	_, err := s.sqs.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: aws.String(s.eventsURL)})
	must.Succeed(t, err)
}

// acts returns the calls that tag or destroy, in order.
func acts(t *testing.T, actions ...string) (out []string) {
	t.Helper()
	calls, err := bed.Calls(t.Context())
	must.Succeed(t, err)
	for _, c := range calls {
		if !slices.Contains(actions, c.Action) || c.Status >= 300 {
			continue
		}
		line := c.Action
		for _, r := range c.Resources {
			if strings.HasPrefix(r, "i-") {
				line += " " + r
			}
		}
		out = append(out, line)
	}
	return out
}

func notices(t *testing.T, s *Stack) (out []string) {
	t.Helper()
	all, err := s.Notices(t.Context())
	must.Succeed(t, err)
	for _, n := range all {
		expect.Equal(t, n.Attributes["release"], "development", "a notice names the release")
		out = append(out, n.Attributes["severity"]+" "+n.Attributes["action"])
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	expect.List(t, got, want, "%s", what)
}
