package command

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
)

func TestAPluginOfKubectlNamesItselfAsItIsCalled(t *testing.T) {
	for name, plugin := range map[string]bool{
		"/home/jo/.krew/bin/kubectl-rollcall": true, "kubectl-rollcall.exe": true, "kubectl-nodes": true,
		"rollcall": false, "/opt/kubectl-plugins/rollcall": false, "": false,
	} {
		for _, tt := range []struct{ args, want string }{
			{"--help", "\n  [rollcall] [command]\n"},
			{"--help", "  [rollcall] explain i-0123456789abcdef0 "},
			{"check --help", "see [rollcall] policy schema)"},
			{"explain --help", "those of [rollcall] capture"},
			{"explain --help", "  [rollcall] explain i-0123456789abcdef0 --stack rollcall --region eu-west-1\n"},
			{"policy check --help", "\n  [rollcall] policy check - < policy.yaml\n"},
			{"chekc", `unknown command "chekc" for "[rollcall]"`},
		} {
			_, stdout, stderr := startedAs(t, name, strings.Fields(tt.args)...)
			call := "rollcall"
			if plugin {
				call = "kubectl rollcall"
			}
			want := strings.ReplaceAll(tt.want, "[rollcall]", call)
			expect.That(t, strings.Contains(stdout+stderr, want), "%s %s: no %q in\n%s%s", name, tt.args, want, stdout, stderr)
		}
	}
}

// Where no flag names a cluster or a region, the current context does.
func TestAPluginOfKubectlUsesTheCurrentContext(t *testing.T) {
	const plugin = "kubectl-rollcall"
	for name, tt := range map[string]struct {
		program, args string
		want          string // in the output
		key           string // the only one used, "" for none
	}{
		"check":             {plugin, "check", "shop (us-east-1)", "fromprofile"},
		"with a profile":    {plugin, "check --profile other", "shop (us-east-1)", "fromother"},
		"a cluster":         {plugin, "check --cluster media", "media (eu-west-1)", "fromenvironment"},
		"a region":          {plugin, "check --region us-east-1", "shop (us-east-1)", "fromenvironment"},
		"all regions":       {plugin, "check --all-regions", "media (eu-west-1)", "fromenvironment"},
		"a bundle":          {plugin, "explain --bundle " + unmapped, "payments (eu-west-1)", ""},
		"lint":              {plugin, "lint", "shop", "fromprofile"},
		"lint of files":     {plugin, "lint {home}/.kube/config", "nothing was judged", ""},
		"explain":           {plugin, "explain " + failing, "shop (us-east-1)", "fromprofile"},
		"capture":           {plugin, "capture --out {home}/bundle", `no EKS cluster "shop"`, "fromprofile"},
		"capture, a region": {plugin, "capture --out {home}/bundle --region eu-west-1", "--cluster: name the cluster, or give --context", ""},
		"another context":   {plugin, "check --context kind", `context "kind" names no EKS cluster`, ""},
		"no plugin":         {"rollcall", "check", "media (eu-west-1)", "fromenvironment"},
	} {
		t.Run(name, func(t *testing.T) {
			w := twoRegions()
			w.serve(t)
			dir := home(t, map[string]string{
				".aws/config":  awsConfig + "[profile other]\naws_access_key_id = fromother\naws_secret_access_key = x\n",
				".kube/config": strings.ReplaceAll(shopContext, "contexts: [", "contexts: [{name: kind, context: {cluster: c, user: nobody}}, "),
			})
			t.Setenv("KUBECONFIG", filepath.Join(dir, ".kube/config"))
			_, stdout, stderr := startedAs(t, tt.program, strings.Fields(strings.ReplaceAll(tt.args, "{home}", dir))...)
			slices.Sort(w.keys)
			keys := strings.Join(slices.Compact(w.keys), " ")
			expect.That(t, keys == tt.key && strings.Contains(stdout+stderr, tt.want), "key %q: %s%swant %q and key %q", keys, stdout, stderr, tt.want, tt.key)
		})
	}
}
