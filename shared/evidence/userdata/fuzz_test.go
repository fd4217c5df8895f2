package userdata

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var eksName = regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$`)

// planted contains a character that no kept value has, so that it must not appear anywhere in a
// Boot, wherever it was in the text.
const planted = "hunter2!Tr0ub4dor"

func FuzzRead(f *testing.F) {
	for _, tt := range userDataCases(f) {
		f.Add([]byte(tt.data), uint16(len(tt.data)/2))
	}
	for _, text := range slices.Concat(withSecrets, withMoreSecrets) {
		f.Add([]byte(text), uint16(20))
	}
	for _, found := range []string{ // by earlier runs
		"#!sh\n()0",
		"## template: jinja",
		inMIME("text/cloud-config\nMerge-Type: list(append)+dict(recurse_array)", "#cloud-config\nruncmd: [a]\n", "text/cloud-config", "#cloud-config\nruncmd: [b]\nmerge_how: [{name: list, settings: [prepend]}]\n"),
		"#!/bin/bash\ncd /etc/eks\nsu -c 'flock /x -c ./bootstrap.sh'\necho a | xargs -I{} setsid . bootstrap.sh {}\n",
		"<powershell>\n(iex \"& 'Start-EKSBootstrap.ps1' a\")\n</powershell><script>\nStart-EKSBootstrap.ps1\n</script>",
		"#cloud-config\nwrite_files: [{path: /a, content: b}]\nbootcmd: [/a, . /a, bash /a]\n",
		"#!sh\n0<<-0& #00000000000000000\xff",
		"Content-TYpe:0\xcaBoundArY=",
	} {
		f.Add([]byte(found), uint16(0))
	}
	f.Add([]byte(inMIME("application/node.eks.aws", karpenterOwn)), uint16(400))
	f.Fuzz(func(t *testing.T, data []byte, at uint16) {
		for _, text := range [][]byte{data, plant(data, int(at))} {
			r := newReader()
			b := r.read(text) // without the recover of Read
			checkBounds(t, b)
			if out := fmt.Sprintf("%+v", b); !bytes.Contains(data, []byte("hunter2")) && strings.Contains(out, "hunter2") {
				t.Errorf("%q gives the secret away: %s", text, out)
			}
		}
	})
}

// plant replaces a word that may be there with the secret.
func plant(data []byte, at int) []byte {
	at = min(at, len(data))
	end := at
	for end < len(data) && isWordByte(data[end]) {
		end++
	}
	return slices.Concat(data[:at], []byte(planted), data[end:])
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func checkBounds(t *testing.T, b Boot) {
	t.Helper()
	expect.That(t, len(b.Faults) <= maxFaults && len(b.Joins) <= maxJoins && len(b.Fetches) <= maxFetches && len(b.Edits) <= 4 && len(b.Formats) <= 9, "unbounded: %+v", b)
	for _, j := range b.Joins {
		expect.That(t, len(j.Karpenter) <= maxDocuments && len(j.Missing) <= 4, "unbounded: %+v", j)
		k := j.Kubelet
		expect.That(t, len(k.Flags) <= maxFlags && len(k.Taints) <= maxTaints && len(k.Labels) <= maxLabels, "unbounded: %+v", k)
		if j.Cluster.State == Given && !eksName.MatchString(j.Cluster.Value) || j.Cluster.State != Given && j.Cluster.Value != "" {
			t.Errorf("cluster %+v", j.Cluster)
		}
	}
	expect.That(t, len(b.Clusters) <= maxList, "unbounded: %+v", b)
	for _, name := range b.Clusters {
		expect.That(t, eksName.MatchString(name) && b.For(name), "cluster %q", name)
	}
	for _, f := range b.Faults {
		expect.That(t, f.Reason != "" && f.Format != "" && f.By != "" && f.Effect != "" && f.Line >= 0 && len(f.Part) <= 300, "fault %+v", f)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("IyEvYmluL3NoCg==")
	f.Fuzz(func(t *testing.T, s string) {
		data, err := Decode(s)
		if len(data) > MaxRaw || err != nil && data != nil {
			t.Errorf("%d bytes, error %v", len(data), err)
		}
	})
}

// Each has secrets in the usual places. The secrets look like names of clusters, so that only their
// position keeps them in.
var withSecrets = []string{
	"#!/bin/bash\n# SECRET\nexport TOKEN=SECRET\nmysql -pSECRET -u SECRET\ncurl -H \"Authorization: SECRET\" https://SECRET\n" +
		"/etc/eks/bootstrap.sh demo --kubelet-extra-args \"--token=$TOKEN\" --b64-cluster-ca SECRET SECRET\n" +
		"/etc/eks/bootstrap.sh --b64-cluster-ca SECRET --docker-config-json \"{\\\"auths\\\": \\\"SECRET\\\"}\" demo\n" +
		"/etc/eks/bootstrap.sh --secret SECRET demo\n/etc/eks/bootstrap.sh --kubelet-extra-args --secret SECRET demo\n" +
		"echo SECRET | tee /etc/SECRET\nsource /etc/SECRET\naws eks update-kubeconfig --name SECRET\ncat <<EOF >/root/x\nSECRET ${TOKEN}\nEOF\n",
	"#cloud-config\npassword: SECRET\nchpasswd: {list: [\"root:SECRET\"]}\nwrite_files:\n- path: /etc/SECRET\n  encoding: b64\n  content: SECRET!\n- path: /etc/SECRET.env\n  content: |\n    PASSWORD=SECRET\nruncmd:\n- export PW=SECRET\n- [mysql, -p, SECRET]\n- /etc/eks/bootstrap.sh demo --kubelet-extra-args SECRET\n",
	"MIME-Version: 1.0\nSubject: SECRET\nContent-Type: multipart/mixed; boundary=\"SECRET\"\n\nSECRET\n--SECRET\nContent-Type: text/SECRET; name=SECRET\nContent-Disposition: attachment; filename=\"SECRET\"\nContent-Transfer-Encoding: base64\n\nSECRET!\n--SECRET\nContent-Type: text/x-shellscript\n\n#!/bin/bash\nPASSWORD=SECRET\n/etc/eks/bootstrap.sh demo\n--SECRET--\nSECRET\n",
	nodeConfig + "  kubelet:\n    flags: [--SECRET]\n    config: {SECRET: SECRET}\n  instance: {SECRET: SECRET}\nSECRET\n",
	"[settings.kubernetes]\ncluster-name = 'demo'\nbootstrap-token = 'SECRET'\n[settings.host-containers.admin]\nuser-data = 'SECRET'\n[settings.SECRET]\nSECRET = 'SECRET'\nSECRET\n",
	"<powershell>\n# SECRET\nnet user Administrator SECRET\n$pw = \"SECRET\"\n$c = ConvertTo-SecureString 'SECRET' -AsPlainText\n& \"C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1\" -EKSClusterName demo -KubeletExtraArgs \"--token=$pw\" -Base64ClusterCA SECRET SECRET\n</powershell>\n<powershellArguments>SECRET</powershellArguments>\n",
	"{\"password\": \"SECRET\", \"apiVersion\": \"node.eks.aws/SECRET\"}\n",
	"SECRET",
}

// Other text that is read, with secrets where values are not kept.
var withMoreSecrets = []string{
	"#!/bin/bash\nexport HTTPS_PROXY=http://user:SECRET@proxy:3128\nhttp_proxy=SECRET\ncurl -u SECRET -o /tmp/SECRET 'https://SECRET@example.com/SECRET/amd64/tool?sig=SECRET'\nchmod +x /tmp/SECRET\n" +
		"/etc/eks/bootstrap.sh demo --apiserver-endpoint https://SECRET@example.com/SECRET --dns-cluster-ip SECRET --ip-family SECRET --use-max-pods SECRET --container-runtime SECRET --service-ipv4-cidr SECRET " +
		"--kubelet-extra-args '--manifest-url-header=SECRET --storage-driver-password SECRET --SECRET=x --SECRET SECRET -SECRET=SECRET --max-pods=SECRET! --node-labels=a=SECRET! --register-with-taints=SECRET!:NoSchedule --node-ip=SECRET! --v=SECRET!'\n" +
		"KUBELET_EXTRA_ARGS='SECRET' /etc/eks/bootstrap.sh --SECRET\nkubelet --SECRET SECRET\necho \"HTTPS_PROXY=SECRET\" > /etc/systemd/system/kubelet.service.d/SECRET.conf\n",
	nodeConfig + "  SECRET: SECRET\n  kubelet:\n    config: {registerWithTaints: [{key: SECRET!, value: SECRET!, effect: SECRET}, SECRET], maxPods: SECRET, clusterDNS: [SECRET], failCgroupV1: SECRET}\n    flags: ['--storage-driver-password=SECRET', '--node-labels=\"SECRET!', SECRET]\n" +
		"  instance: {environment: {SECRET: {HTTPS_PROXY: 'http://u:SECRET@x', SECRET: SECRET}}}\n  featureGates: {SECRET: SECRET}\n",
	"[settings.kubernetes]\ncluster-name = 'demo'\napi-server = 'https://SECRET@x'\ncluster-dns-ip = 'SECRET'\nauthentication-mode = 'SECRET'\nbootstrap-token = 'SECRET'\nhostname-override = 'SECRET'\nmax-pods = 'SECRET'\n" +
		"node-labels = {SECRET = 1, 'SECRET!' = 'x', a = 'SECRET!'}\nnode-taints = {a = 'SECRET', b = 'x:SECRET', 'SECRET!' = 'x:NoSchedule'}\n[settings.network]\nhttps-proxy = 'http://u:SECRET@x'\n",
}

func TestSecretsStayOutOfABoot(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for i, template := range slices.Concat(withSecrets, withMoreSecrets) {
		for range 5 {
			secret := randomSecret(rnd)
			text := strings.ReplaceAll(template, "SECRET", secret)
			for _, cut := range []int{len(text), rnd.IntN(len(text)), rnd.IntN(len(text))} {
				for _, form := range []string{text[:cut], b64(text[:cut]), zip(t, text[:cut])} {
					out := fmt.Sprintf("%+v %#v", Read([]byte(form)), Read([]byte(form)))
					must.That(t, !sharesPiece(out, secret), "template %d cut at %d gives %q away: %s", i, cut, secret, out)
				}
			}
		}
	}
}

func randomSecret(rnd *rand.Rand) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	var b strings.Builder
	for range 20 + rnd.IntN(20) {
		b.WriteByte(alphabet[rnd.IntN(len(alphabet))])
	}
	return b.String()
}

// sharesPiece reports whether a piece of the secret is in the text. A piece is a secret too.
func sharesPiece(text, secret string) bool {
	for at := 0; at+8 <= len(secret); at++ {
		if strings.Contains(text, secret[at:at+8]) {
			return true
		}
	}
	return false
}

func TestSecretsStayInside(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var b strings.Builder
		for range 20 + rnd.IntN(20) {
			b.WriteByte(alphabet[rnd.IntN(len(alphabet))])
		}
		secret := b.String()
		for i, template := range withSecrets {
			text := strings.ReplaceAll(template, "SECRET", secret)
			// Cut at any point, so that every parser fails at every point.
			for _, cut := range []int{len(text), rnd.IntN(len(text)), rnd.IntN(len(text))} {
				for _, form := range []string{text[:cut], b64(text[:cut]), zip(t, text[:cut])} {
					out := fmt.Sprintf("%+v %#v", Read([]byte(form)), Read([]byte(form)))
					if cut == len(text) && i < 6 && !strings.Contains(out, "demo") && i != 3 && i != 4 { // those do not parse
						t.Fatalf("template %d: the cluster was not found: %s", i, out)
					}
					_, err := Decode(form)
					out += fmt.Sprint(err)
					// A piece of a secret is a secret too.
					for at := 0; at+8 <= len(secret); at++ {
						must.That(t, !strings.Contains(out, secret[at:at+8]), "template %d cut at %d gives the secret away: %s", i, cut, out)
					}
				}
			}
		}
	}
}
