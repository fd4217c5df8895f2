package lint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rollcall/shared/observe/bundle"
	"rollcall/shared/observe/lint"
	"rollcall/shared/observe/view"
	"rollcall/shared/report"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// run judges files, in the bundle of a case, "" for none. lines are the findings and hints with
// their first place.
func run(t *testing.T, name string, files map[string]string, more ...func(*lint.Request)) (report.LintDocument, string) {
	t.Helper()
	in := lint.Request{At: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}
	if name != "" {
		b, err := bundle.OpenFS(generate.Named(t, name).FS())
		must.Succeed(t, err)
		in.View, in.Cluster = view.OfBundle(b), b.ClusterID().Name
	}
	for file, text := range files {
		docs, err := lint.Sources(file, []byte(text))
		must.Succeed(t, err)
		in.Sources = append(in.Sources, docs...)
	}
	for _, change := range more {
		change(&in)
	}
	out, err := lint.Run(t.Context(), in)
	must.Succeed(t, err)
	var lines []string
	for _, f := range out.Findings {
		lines = append(lines, fmt.Sprintf("%s %s", f.Code, f.LintPlace))
	}
	for _, f := range out.Hints {
		lines = append(lines, fmt.Sprintf("%s? %s", f.Code, f.LintPlace))
	}
	return out, strings.Join(lines, ", ")
}

const pool = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
`

// class has room for the subnet, the user data and what else there is.
const class = `apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  role: KarpenterNodeRole-payments
  subnetSelectorTerms: [{id: subnet-0a1b2c3d4e5f60101}]
  securityGroupSelectorTerms: [{id: sg-0c1c1c1c1c1c1c001}]
`

const taint = "  userData: |\n    apiVersion: node.eks.aws/v1alpha1\n    kind: NodeConfig\n    spec:\n      kubelet:\n        flags: [--register-with-taints=node.cilium.io/agent-not-ready=true:NoExecute]\n"

func TestWhatIsFoundInFiles(t *testing.T) {
	auth := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: aws-auth, namespace: kube-system}\ndata:\n  mapRoles: |\n    - rolearn: %s\n      username: %s\n      groups: [system:bootstrappers, system:nodes]\n"
	const role = "arn:aws:iam::111122223333:role/KarpenterNodeRole-payments"
	for name, tt := range map[string]struct {
		bundle string
		files  map[string]string
		want   string
	}{
		"a sound node class":                     {"all-is-well", map[string]string{"k.yaml": pool + "---\n" + class}, ""},
		"without context":                        {"", map[string]string{"k.yaml": pool + "---\n" + class}, ""},
		"a class whose pool the cluster has":     {"all-is-well", map[string]string{"class.yaml": class}, ""},
		"a taint that the pool does not declare": {"all-is-well", map[string]string{"pool.yaml": pool, "class.yaml": class + taint}, "UndeclaredStartupTaint pool.yaml:6, UserDataTaintConflict? class.yaml:9"},
		"the same without context":               {"", map[string]string{"pool.yaml": pool, "class.yaml": class + taint}, "UndeclaredStartupTaint pool.yaml:6, UserDataTaintConflict? class.yaml:9"},
		"a taint that it declares":               {"all-is-well", map[string]string{"pool.yaml": pool + "      startupTaints: [{key: node.cilium.io/agent-not-ready, effect: NoExecute}]\n", "class.yaml": class + taint}, "UserDataTaintConflict? class.yaml:9"},
		"a role that no entry maps": {"all-is-well", map[string]string{"k.yaml": class, "entries.json": `{"accessEntries": [{"principalArn": "arn:aws:iam::111122223333:role/other", "type": "EC2_LINUX"}]}`},
			"NodeRoleNotMapped entries.json:1"},
		"aws-auth beside entries": {"all-is-well", map[string]string{"k.yaml": class, "entries.json": `{"accessEntries": []}`, "auth.yaml": fmt.Sprintf(auth, role, "system:node:{{SessionName}}x")},
			"AwsAuthWrongUsername auth.yaml:7"},
		"a security group that the API server does not admit": {"all-is-well", map[string]string{"k.yaml": strings.Replace(class, "sg-0c1c1c1c1c1c1c001", "sg-00000000000000000", 1)}, "SecurityGroupBlocksApi k.yaml:1"},
		"settings that do not parse":                          {"", map[string]string{"k.yaml": strings.Replace(class, "al2023", "bottlerocket", 1) + "  userData: |\n    [settings\n"}, "UserDataUnparseable k.yaml:9"},
		"a security group by its name":                        {"all-is-well", map[string]string{"k.yaml": strings.Replace(class, "{id: sg-0c1c1c1c1c1c1c001}", "{name: eks-cluster-sg-payments-1909614887}", 1)}, ""},
		"a script with a quote that never ends":               {"", map[string]string{"user-data.sh": "#!/bin/bash\n\n/etc/eks/bootstrap.sh payments 'a\n"}, "UserDataUnparseable user-data.sh:3"},
		"settings of a managed node group or a NodeClass":     {"", map[string]string{"user-data.yaml": "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config: {shutdownGracePeriod: 30s}\n", "user-data.toml": "[settings.host-containers.admin]\nenabled = true\n[settings.kubernetes]\nmax-pods = 30\n"}, ""},
		"settings that name their cluster":                    {"", map[string]string{"user-data.yaml": "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: {name: payments}\n"}, "UserDataUnparseable user-data.yaml:1"},
		"a script for another cluster":                        {"all-is-well", map[string]string{"user-data.sh": "#!/bin/bash\n\n/etc/eks/bootstrap.sh staging\n"}, "UserDataClusterMismatch user-data.sh:3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := run(t, tt.bundle, tt.files)
			expect.That(t, got == tt.want, "got %q, want %q", got, tt.want)
		})
	}
}

// Without context the network and the role are not checked, and the document says so.
func TestWhatHasNoContextIsNotChecked(t *testing.T) {
	out, _ := run(t, "", map[string]string{"k.yaml": class})
	reasons := ""
	for _, g := range out.NotChecked {
		reasons += strings.Join(g.Codes, " ") + ": " + g.Reason + "\n"
	}
	for _, want := range []string{"--cluster NAME or --bundle DIR", "nodeclass/default does not show the VPC", "NodeRoleNotMapped", "ApiEndpointUnreachable"} {
		expect.That(t, strings.Contains(reasons, want), "%q is not among\n%s", want, reasons)
	}
}

func TestALaunchTemplateOfTheBundle(t *testing.T) {
	for _, name := range []string{generate.Legacy.Template, generate.Legacy.Template + ":7"} {
		out, got := run(t, "all-is-well", nil, func(r *lint.Request) { r.Templates = []string{name} })
		expect.That(t, got == "" && len(out.Launches) == 1 && out.Launches[0] == "launch template "+generate.Legacy.Template+":7", "%s: %s, %v", name, got, out.Launches)
	}
}

func TestAPoolWithoutItsClassIsNotJudged(t *testing.T) {
	out, got := run(t, "", map[string]string{"pool.yaml": pool})
	expect.That(t, got == "" && len(out.Notes) == 2 && strings.Contains(out.Notes[0], "nodepool/default was not judged"), "%s, %v", got, out.Notes)
}

// A hook is given files of which none launches anything.
func TestWithoutALaunchNothingIsJudged(t *testing.T) {
	out, got := run(t, "", map[string]string{"auth.yaml": "kind: ConfigMap\nmetadata: {name: aws-auth}\n", "other.yaml": "a: b\n"})
	expect.That(t, got == "" && len(out.Launches) == 0 && len(out.Notes) == 1, "%s, %+v", got, out)
}

func TestAnObjectThatIsThereTwiceIsAnError(t *testing.T) {
	var in lint.Request
	for _, file := range []string{"blue.yaml", "green.yaml"} {
		docs, err := lint.Sources(file, []byte(pool+"---\n"+class))
		must.Succeed(t, err)
		in.Sources = append(in.Sources, docs...)
	}
	_, err := lint.Run(t.Context(), in)
	for _, want := range []string{"NodePool default is in blue.yaml and in green.yaml", "EC2NodeClass default"} {
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%v lacks %q", err, want)
	}
}

// What is quoted of user data is without its secrets, as in an explanation.
func TestSecretsAreNotPrinted(t *testing.T) {
	const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	out, got := run(t, "all-is-well", map[string]string{"user-data.sh": "#!/bin/bash\nexport AWS_SECRET_ACCESS_KEY=" + secret + "\n/etc/eks/bootstrap.sh staging --kubelet-extra-args '--node-labels=\"password=" + secret + "\"'\n"})
	expect.That(t, got != "" && !strings.Contains(fmt.Sprintf("%+v", out), secret), "%s\n%+v", got, out)
}

// What is proven for one kind of trouble is no hint for the other as well.
func TestWhatIsProvenIsNoHintBesides(t *testing.T) {
	script := "#!/bin/bash\n/etc/eks/bootstrap.sh payments --kubelet-extra-args \"--register-with-taints=a=b:NoScheduel\"\n"
	_, got := run(t, "", map[string]string{"user-data.sh": script})
	expect.That(t, got == "UserDataMalformedFlags user-data.sh:1", "got %s", got)
}
