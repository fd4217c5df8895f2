package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"rollcall/shared/evidence/redact"
	"rollcall/shared/evidence/userdata"
	"rollcall/tests/harness/expect"
)

// Values of AWS and Kubernetes that look like secrets but are not. A diagnosis needs them.
func TestWhatIsNoSecretStays(t *testing.T) {
	der := bytes.Repeat([]byte{0x30, 0x82, 0x03, 0x19, 0xa0, 0xff, 0x7c}, 60)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	for name, v := range map[string]string{
		"data":                           ca,
		"caBundle":                       ca,
		"RoleId":                         "AROADBQP57FF2AEXAMPLE",
		"Id":                             "AIPAJQABLZS4A3QDU576Q",
		"HttpTokens":                     "required",
		"httpTokens":                     "optional",
		"authenticationMode":             "API_AND_CONFIG_MAP",
		"arn":                            "arn:aws:eks:eu-west-1:111122223333:access-entry/demo/role/111122223333/node/7ac5b1c8-0000-4f2e-9b1a-5f2d5b1c8a11",
		"issuer":                         "https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLED539D4633E53DE1B716D3041E",
		"endpoint":                       "https://0A1B2C3D4E5F60718293A4B5C6D7E8F9.gr7.eu-west-1.eks.amazonaws.com",
		"karpenter.sh/nodepool":          "default",
		"karpenter.k8s.aws/hash":         "1234567890123456789",
		"eks:cluster-name":               "demo",
		"aws:ec2launchtemplate:id":       "lt-0123456789abcdef0",
		"bootID":                         "9e1b6c1e-6a4d-4c7b-8a55-3c5d8c1f0b11",
		"image":                          "123456789012.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni@sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
		"message":                        "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
		"serviceAccountName":             "default",
		"secretName":                     "web-tls",
		"username":                       "system:node:{{EC2PrivateDNSName}}",
		"mapRoles":                       "- rolearn: arn:aws:iam::111122223333:role/demo-node\n  username: system:node:{{EC2PrivateDNSName}}\n  groups: [system:bootstrappers, system:nodes]\n",
		"kubernetes.io/service-name":     "token-reviewer",
		"node.kubernetes.io/exclude-for": "token",
	} {
		expect.Equal(t, redact.Named(name, v), v, "%s: %s became", name, v)
	}
}

// userDatas are user data in the encodings that cloud-init and EC2Launch read, or that only hide a text.
func userDatas(script string) map[string][]byte {
	mail := "Content-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: text/x-shellscript\n\n#!/bin/bash\necho kept\n--B\nContent-Type: application/gzip\nContent-Transfer-Encoding: binary\n\n"
	return map[string][]byte{
		"Latin-1":                       []byte("# caf\xe9\n" + script),
		"gzip in gzip":                  zip(zip([]byte(script))),
		"a raw gzip part":               []byte(mail + string(zip([]byte(script))) + "\n--B--\n"),
		"two raw gzip parts":            []byte(mail + string(zip([]byte("echo no\n"))) + "\n--B\n\n" + string(zip(zip([]byte(script)))) + "\n--B--\n"),
		"a part in base64":              []byte(mailOf([]byte(script))),
		"a part in base64 of gzip":      []byte(mailOf(zip([]byte(script)))),
		"a part in base64, in base64":   []byte(mailOf([]byte(mailOf([]byte(script))))),
		"UTF-16":                        toUTF16(script, binary.LittleEndian),
		"UTF-16 with a mark":            append([]byte{0xff, 0xfe}, toUTF16("# caf\u00e9\n"+script, binary.LittleEndian)...),
		"UTF-16, big end first":         toUTF16(script, binary.BigEndian),
		"UTF-16 with a mark, big first": append([]byte{0xfe, 0xff}, toUTF16(script, binary.BigEndian)...),
		"UTF-16 in gzip":                zip(toUTF16(script, binary.LittleEndian)),
	}
}

// mailOf returns a MIME document as Python's email package writes it, with a part in base64.
func mailOf(data []byte) string {
	return "Content-Type: multipart/mixed; boundary=\"B\"\nMIME-Version: 1.0\n\n--B\nContent-Type: text/x-shellscript; charset=\"utf-8\"\nContent-Transfer-Encoding: base64\nContent-Disposition: attachment; filename=\"x.sh\"\n\n" +
		string(wrapped(data)) + "\n\n--B--\n"
}

// A NodeConfig in a part in base64 is read from a bundle as from the account.
func TestAPartInBase64IsReadFromABundle(t *testing.T) {
	config := "---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: demo\n    apiServerEndpoint: https://EXAMPLE.gr7.eu-west-1.eks.amazonaws.com\n    certificateAuthority: Y2E=\n    cidr: 172.20.0.0/16\n  containerd:\n    config: |\n      password = \"" + secret + "\"\n"
	document := strings.Replace(mailOf([]byte(config)), `text/x-shellscript; charset="utf-8"`, "application/node.eks.aws", 1)
	clean, ok := scrubbed([]byte(document))
	want, got := userdata.Read([]byte(document)), userdata.Read(clean)
	expect.That(t, ok && len(got.Faults) == 0 && slices.Equal(got.Clusters, want.Clusters) && got.Joins[0].Endpoint == want.Joins[0].Endpoint, "%q is read as %+v", clean, got)
}

// shown returns all texts in user data.
func shown(data []byte) string {
	all := string(plain(data)) + "\n" + strings.ReplaceAll(string(data), "\x00", "") + inner(string(data))
	for at := 0; ; at++ {
		i := bytes.Index(data[at:], []byte{0x1f, 0x8b, 8})
		if i < 0 {
			return all
		}
		at += i
		if inner, _, ok := unzipFirst(data[at:]); ok {
			all += shown(inner)
		}
	}
}

// inner returns the content of the parts in base64.
func inner(data string) (all string) {
	for {
		header := base64Header.FindStringIndex(data)
		if header == nil {
			return all
		}
		body, rest, _ := strings.Cut(data[header[1]:], "\n--")
		plain, _ := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(body), ""))
		all, data = all+shown(plain), rest
	}
}

func TestUserDataInAnyEncodingIsRedacted(t *testing.T) {
	script := "export DB_PASSWORD=" + secret + "\n/etc/eks/bootstrap.sh demo\n"
	for name, data := range userDatas(script) {
		clean, ok := scrubbed(data)
		expect.That(t, ok && !strings.Contains(shown(clean), secret), "%s: the secret is in %q", name, shown(clean))
		expect.That(t, strings.Contains(shown(clean), "/etc/eks/bootstrap.sh demo"), "%s: too much is gone: %q", name, shown(clean))
		again, ok := scrubbed(clean)
		expect.That(t, ok && bytes.Equal(again, clean), "%s: not stable: %q becomes %q", name, clean, again)
		field, err := base64.StdEncoding.DecodeString(encoded(base64.StdEncoding.EncodeToString(data)))
		expect.That(t, err == nil && bytes.Equal(field, clean), "%s: in a field: %v %q", name, err, field)
	}
	for name, data := range userDatas("/etc/eks/bootstrap.sh demo\n") {
		clean, ok := scrubbed(data)
		expect.That(t, ok && shown(clean) == shown(data), "%s without a secret: %q became %q", name, data, clean)
	}
}

func TestUserDataThatCannotBeSearchedIsWithheld(t *testing.T) {
	deep := []byte("echo deep\n")
	for range 6 {
		deep = zip(deep)
	}
	for name, data := range map[string][]byte{
		"gzip that cannot be undone":         []byte("\x1f\x8bbroken"),
		"a part that cannot be undone":       []byte("#!/bin/bash\n\x1f\x8b\x08broken"),
		"gzip in gzip in gzip, and so on":    deep,
		"zeros in a text":                    []byte("#!/bin/bash\nexport DB_PASS\x00WORD=" + secret + "\n"),
		"a mark before a text that lacks it": []byte("\xff\xfeexport DB_PASS\x00WORD=" + secret + "\n"),
		"a text after a script of two bytes": append(toUTF16("ab", binary.LittleEndian), "DB_PASSWORD="+secret...),
	} {
		_, ok := scrubbed(data)
		expect.That(t, !ok, "%s was passed on", name)
		field, err := base64.StdEncoding.DecodeString(encoded(base64.StdEncoding.EncodeToString(data)))
		expect.That(t, err == nil && string(field) == withheld, "%s: in a field: %v %q", name, err, field)
	}
}

// A text that only looks like base64 is redacted as it is.
func TestUserDataThatIsNoBase64(t *testing.T) {
	for text, want := range map[string]string{
		"echoes": "echoes", "echo": "echo", "": "",
		"#!/bin/bash\nTOKEN=hunter2\n": "#!/bin/bash\nTOKEN=[redacted: token]\n",
	} {
		expect.Equal(t, encoded(text), want, "%q became", text)
	}
}
