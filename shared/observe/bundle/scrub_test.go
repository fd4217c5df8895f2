package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"testing"

	"rollcall/shared/evidence/redact"
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
