package kubeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const file = `
apiVersion: v1
kind: Config
current-context: shop
clusters:
- {name: "arn:aws:eks:eu-west-1:111122223333:cluster/shop", cluster: {server: "https://0A.gr7.eu-west-1.eks.amazonaws.com"}}
- {name: media.us-east-1.eksctl.io, cluster: {server: "https://0B.yl4.us-east-1.eks.amazonaws.com"}}
- {name: here, cluster: {server: "https://127.0.0.1:6443"}}
contexts:
- {name: shop, context: {cluster: "arn:aws:eks:eu-west-1:111122223333:cluster/shop", user: shop}}
- {name: media, context: {cluster: media.us-east-1.eksctl.io, user: media}}
- {name: by-arn, context: {cluster: "arn:aws:eks:eu-west-1:111122223333:cluster/shop", user: nobody}}
- {name: by-host, context: {cluster: media.us-east-1.eksctl.io, user: plain}}
- {name: kind, context: {cluster: here, user: certificate}}
users:
- name: shop
  user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws, interactiveMode: Never, args: [--region, eu-west-1, eks, get-token, --cluster-name, shop, --output, json, --role-arn, "arn:aws:iam::111122223333:role/ops"], env: [{name: AWS_PROFILE, value: prod}]}}
- name: media
  user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: /usr/local/bin/aws-iam-authenticator, interactiveMode: Never, args: [token, -i, media]}}
- name: plain
  user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: 'C:\Program Files\aws.exe', interactiveMode: Never, args: [eks, get-token, --cluster-name=media, --profile=dev]}}
- {name: certificate, user: {token: x}}
`

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestAContextNamesClusterRegionAndProfile(t *testing.T) {
	path := written(t, file)
	for name, want := range map[string]Context{
		"":        {"shop", "eu-west-1", "prod", "arn:aws:iam::111122223333:role/ops"},
		"media":   {"media", "us-east-1", "", ""},
		"by-arn":  {"shop", "eu-west-1", "", ""},
		"by-host": {"media", "us-east-1", "dev", ""},
	} {
		if got, err := Read(path, name); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", name, got, err, want)
		}
	}
}

func TestAContextThatNamesNoCluster(t *testing.T) {
	for name, tt := range map[string]struct{ file, context, want string }{
		"of another kind":     {written(t, file), "kind", `context "kind" names no EKS cluster`},
		"unknown":             {written(t, file), "shpo", `no context "shpo" (it has by-arn, by-host, kind, media, shop)`},
		"no current one":      {written(t, "apiVersion: v1\nkind: Config\n"), "", "no current context: name one with --context (it has none)"},
		"no file":             {filepath.Join(t.TempDir(), "none"), "", "no such file"},
		"no kubeconfig":       {written(t, "[1"), "", "read the kubeconfig"},
		"an empty kubeconfig": {written(t, ""), "shop", `no context "shop" (it has none)`},
	} {
		if got, err := Read(tt.file, tt.context); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v; want %q", name, got, err, tt.want)
		}
	}
}

// kubectl's own choice of files applies.
func TestTheFilesOfKubectl(t *testing.T) {
	t.Setenv("KUBECONFIG", written(t, file)+string(filepath.ListSeparator)+written(t, strings.ReplaceAll(strings.ReplaceAll(file, "name: shop", "name: other"), "current-context: shop", "")))
	names, err := Names("")
	expect.That(t, err == nil && strings.Join(names, " ") == "by-arn by-host kind media other shop", "%v, %v", names, err)
	if c, err := Read("", ""); err != nil || c.Cluster != "shop" {
		t.Errorf("%+v, %v", c, err)
	}
}
