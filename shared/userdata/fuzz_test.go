package userdata

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

var eksName = regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$`)

func FuzzBootstraps(f *testing.F) {
	for _, tt := range userDataCases(f) {
		f.Add([]byte(tt.data))
	}
	for _, found := range []string{ // by earlier runs
		"#!sh\n()0",
		"## template: jinja",
		"#!sh\n0<<-0& #00000000000000000\xff",
		"Content-TYpe:0\xcaBoundArY=",
	} {
		f.Add([]byte(found))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReader().read(data) // without the recover of Bootstraps
		if len(r.Clusters) > maxClusters || len(r.Unreadable) > maxProblems || len(r.Formats) > 9 {
			t.Errorf("unbounded result: %+v", r)
		}
		for _, name := range r.Clusters {
			if !eksName.MatchString(name) {
				t.Errorf("%q is not an EKS cluster name", name)
			}
			if !r.For(name) {
				t.Errorf("For(%q) is false", name)
			}
		}
		for _, p := range r.Unreadable {
			if len(p.Part) > 300 || p.Reason == "" || p.Format == "" {
				t.Errorf("problem %+v", p)
			}
		}
	})
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

// Each has a secret wherever people put one. The secrets are made to look like
// names of clusters, so that nothing but the position keeps them in.
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
			// Cut anywhere, so that every parser fails everywhere.
			for _, cut := range []int{len(text), rnd.IntN(len(text)), rnd.IntN(len(text))} {
				for _, form := range []string{text[:cut], b64(text[:cut]), zip(t, text[:cut])} {
					out := fmt.Sprintf("%+v %#v", Bootstraps([]byte(form)), Bootstraps([]byte(form)))
					if cut == len(text) && i < 6 && !strings.Contains(out, "demo") && i != 3 && i != 4 { // those do not parse
						t.Fatalf("template %d: the cluster was not found: %s", i, out)
					}
					_, err := Decode(form)
					out += fmt.Sprint(err)
					// A piece of a secret is a secret too.
					for at := 0; at+8 <= len(secret); at++ {
						if strings.Contains(out, secret[at:at+8]) {
							t.Fatalf("template %d cut at %d gives the secret away: %s", i, cut, out)
						}
					}
				}
			}
		}
	}
}
