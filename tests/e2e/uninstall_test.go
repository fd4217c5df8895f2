package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rollcall/functions/local/command"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
	"rollcall/tests/testbed"
)

// From a deployment that acts to an account and a cluster in which nothing of it is left, and
// everything of others is.
func TestUninstallLeavesNothingOfRollcallAndEverythingElse(t *testing.T) {
	a := newAccount(t)
	deploy(t, "remediate")
	ids := a.fleet(5)
	sick, others := ids[0], ids[1]
	must.Succeed(t, bed.SetReady(t.Context(), sick, corev1.ConditionFalse, "KubeletNotReady", time.Now().Add(-time.Hour)))
	cordoned := true
	must.Succeed(t, bed.ChangeNode(t.Context(), others, testbed.NodeChange{Cordoned: &cordoned}))
	for range 2 {
		a.remediate()
		a.later(5 * time.Minute)
	}
	if n := node(t, sick); !n.Spec.Unschedulable || a.tags(sick)[roll.TagOrder] == "" {
		t.Fatalf("nothing was done: %+v, tags %v", n.Spec, a.tags(sick))
	}
	entries := []testbed.AccessEntry{
		{PrincipalARN: testbed.NodeRoleARN, Type: "EC2_LINUX"}, {PrincipalARN: testbed.ViewerRoleARN, KubernetesGroups: []string{testbed.ViewersGroup}},
		{PrincipalARN: testbed.RemediatorRoleARN, KubernetesGroups: []string{testbed.RemediatorsGroup}},
	}
	must.Succeed(t, bed.SetAccessEntries(t.Context(), testbed.ClusterName, entries...))
	must.Succeed(t, bed.SetAWSAuth(t.Context(), "- rolearn: "+testbed.Administrator.ARN+"\n  username: administrator\n  groups: [system:masters]\n"))
	t.Cleanup(func() { must.Succeed(t, bed.ApplyRBAC(context.Background())) }) // the other tests need it

	code, out, errs := a.run(testbed.Administrator, "uninstall", "--stack", "rollcall")
	expect.That(t, code == command.ExitFindings, "exit %d\n%s%s", code, out, errs)
	a.nothingWritten("without --yes")
	for _, want := range []string{"left     tags " + sick, "left     cordon demo " + sick, "left     rbac demo ClusterRole rollcall-viewer", "left     accessEntry demo " + testbed.ViewerRoleARN, "left     accessEntry demo " + testbed.RemediatorRoleARN} {
		expect.That(t, strings.Contains(out, want), "%q is not in\n%s", want, out)
	}
	for _, not := range []string{others, testbed.NodeRoleARN} {
		expect.That(t, !strings.Contains(out, not), "%q is in\n%s", not, out)
	}

	if code, out, errs := a.run(testbed.Administrator, "uninstall", "--stack", "rollcall", "--yes"); code != command.ExitOK {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	n := node(t, sick)
	expect.That(t, !n.Spec.Unschedulable && n.Annotations[roll.AnnotationCordoned] == "", "%s is cordoned: %+v, %v", sick, n.Spec, n.Annotations)
	expect.That(t, node(t, others).Spec.Unschedulable, "a person's cordon is lifted")
	for key := range a.tags(sick) {
		expect.That(t, !strings.HasPrefix(key, roll.TagPrefix), "%s has the tag %s", sick, key)
	}
	expect.That(t, a.tags(sick)["kubernetes.io/cluster/"+testbed.ClusterName] != "", "the cluster's tag is gone")
	roles, err := bed.Kube().RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	must.Succeed(t, err)
	for _, r := range roles.Items {
		expect.That(t, !strings.HasPrefix(r.Name, "rollcall"), "the ClusterRole %s is left", r.Name)
	}
	left, err := eks.NewFromConfig(bed.AWSConfigFor(testbed.Seeder)).ListAccessEntries(t.Context(), &eks.ListAccessEntriesInput{ClusterName: aws.String(testbed.ClusterName)})
	must.Succeed(t, err)
	same(t, "access entries", left.AccessEntries, []string{testbed.NodeRoleARN})

	code, out, errs = a.run(testbed.Administrator, "uninstall", "--stack", "rollcall")
	expect.That(t, code == command.ExitOK && strings.Contains(out, "nothing is left outside of the stack"), "exit %d\n%s%s", code, out, errs)
}

func node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	n, err := bed.Kube().CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	must.Succeed(t, err)
	return n
}
