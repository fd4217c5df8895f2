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
- {name: dual, cluster: {server: "https://0C.gr7.eu-north-1.api.aws"}}
- {name: beijing, cluster: {server: "https://0D.yl4.cn-north-1.api.amazonwebservices.com.cn"}}
- {name: "arn:aws:eks:us-west-2:444455556666:cluster/factory", cluster: {server: "https://0E.gr7.us-west-2.eks.amazonaws.com"}}
contexts:
- {name: shop, context: {cluster: "arn:aws:eks:eu-west-1:111122223333:cluster/shop", user: shop}}
- {name: media, context: {cluster: media.us-east-1.eksctl.io, user: media}}
- {name: by-arn, context: {cluster: "arn:aws:eks:eu-west-1:111122223333:cluster/shop", user: nobody}}
- {name: by-host, context: {cluster: media.us-east-1.eksctl.io, user: plain}}
- {name: kind, context: {cluster: here, user: certificate}}
- {name: dual, context: {cluster: dual, user: plain}}
- {name: beijing, context: {cluster: beijing, user: plain}}
- {name: outpost, context: {cluster: "arn:aws:eks:us-west-2:444455556666:cluster/factory", user: outpost}}
- {name: outpost-renamed, context: {cluster: here, user: outpost}}
users:
- name: shop
  user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws, interactiveMode: Never, args: [--region, eu-west-1, eks, get-token, --cluster-name, shop, --output, json, --role, "arn:aws:iam::111122223333:role/ops"], env: [{name: AWS_PROFILE, value: prod}]}}
- name: outpost
  user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws, interactiveMode: Never, args: [--region, us-west-2, eks, get-token, --cluster-id, 8ee9f1a4-52d6-4d2e-a6a5-0a1b2c3d4e5f, --output, json]}}
- name: media
  user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: /usr/local/bin/aws-iam-authenticator, interactiveMode: Never, args: [token, -i, media, --region, us-west-2]}}
- name: plain
  user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: 'C:\Program Files\aws.exe', interactiveMode: Never, args: [eks, get-token, --cluster-name=media, --profile=dev, --role-arn=ops]}}
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
		"":        {Account: "111122223333", Cluster: "shop", Region: "eu-west-1", Profile: "prod", Role: "arn:aws:iam::111122223333:role/ops"},
		"media":   {Cluster: "media", Region: "us-east-1"}, // which asks STS of another region
		"by-arn":  {Account: "111122223333", Cluster: "shop", Region: "eu-west-1"},
		"by-host": {Cluster: "media", Region: "us-east-1", Profile: "dev", Role: "ops"},
		"dual":    {Cluster: "media", Region: "eu-north-1", Profile: "dev", Role: "ops"},
		"beijing": {Cluster: "media", Region: "cn-north-1", Profile: "dev", Role: "ops"},
		"outpost": {Account: "444455556666", Cluster: "factory", Region: "us-west-2"},
	} {
		if got, err := Read(path, name); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", name, got, err, want)
		}
	}
}

func TestTheRegionOfAnAPIServer(t *testing.T) {
	for server, want := range map[string]string{
		"https://0A.gr7.eu-west-1.eks.amazonaws.com":             "eu-west-1",
		"https://0A.gr7.eu-west-1.eks.amazonaws.com:443":         "eu-west-1",
		"https://0A.yl4.cn-north-1.eks.amazonaws.com.cn":         "cn-north-1",
		"https://0A.gr7.eu-west-1.api.aws":                       "eu-west-1",
		"https://0A.yl4.cn-north-1.api.amazonwebservices.com.cn": "cn-north-1",
		"https://k8s.api.awsome.example.com":                     "",
		"https://k8s.api.aws.example.com":                        "",
		"https://k8s.eks.amazonaws.com.example.com":              "",
		"https://127.0.0.1:6443":                                 "",
	} {
		expect.Equal(t, regionOf(server), want, "the region of %s", server)
	}
}

func TestAContextThatNamesNoCluster(t *testing.T) {
	for name, tt := range map[string]struct{ file, context, want string }{
		"of another kind":     {written(t, file), "kind", `context "kind" names no EKS cluster`},
		"by an id alone":      {written(t, file), "outpost-renamed", `context "outpost-renamed" names no EKS cluster`},
		"unknown":             {written(t, file), "shpo", `no context "shpo" (it has beijing, by-arn, by-host, dual, kind, media, outpost, outpost-renamed, shop)`},
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
	expect.That(t, err == nil && strings.Join(names, " ") == "beijing by-arn by-host dual kind media other outpost outpost-renamed shop", "%v, %v", names, err)
	if c, err := Read("", ""); err != nil || c.Cluster != "shop" {
		t.Errorf("%+v, %v", c, err)
	}
}
