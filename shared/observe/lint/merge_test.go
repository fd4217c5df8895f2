package lint

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/evidence/userdata"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

var payments = &ekstypes.Cluster{
	Name: aws.String("payments"), Endpoint: aws.String("https://0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com"), CertificateAuthority: &ekstypes.Certificate{Data: aws.String("dW5rbm93bg==")},
}

// A cause about an instance profile names it by its ARN, which begins with the partition.
func TestAnInstanceProfileIsInThePartitionOfTheCluster(t *testing.T) {
	for cluster, want := range map[string]string{
		"arn:aws:eks:eu-west-1:111122223333:cluster/payments":            "arn:aws:iam::111122223333:instance-profile/workers",
		"arn:aws-cn:eks:cn-north-1:111122223333:cluster/payments":        "arn:aws-cn:iam::111122223333:instance-profile/workers",
		"arn:aws-us-gov:eks:us-gov-west-1:111122223333:cluster/payments": "arn:aws-us-gov:iam::111122223333:instance-profile/workers",
	} {
		p := &site{cluster: &ekstypes.Cluster{Arn: aws.String(cluster)}}
		expect.Equal(t, p.arn("instance-profile/workers"), want, "with %s", cluster)
	}
}

// What the owner adds lets the instance join, whatever its user data has besides.
func TestTheOwnersPartJoinsTheCluster(t *testing.T) {
	const mime = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript\n\n#!/bin/bash\necho hello\n--//--\n"
	for name, tt := range map[string]struct {
		family, own string
		want        userdata.Tool // "" if nothing joins
		keeps       string
	}{
		"AL2023 alone":           {familyAL2023, "", userdata.Nodeadm, ""},
		"AL2023 with parts":      {familyAL2023, mime, userdata.Nodeadm, "echo hello"},
		"AL2023 with NodeConfig": {familyAL2023, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n", userdata.Nodeadm, "spec: {}"},
		"AL2 with a script":      {familyAL2, "#!/bin/bash\necho hello\n", userdata.BootstrapScript, "echo hello"},
		"AL2 with cloud-config":  {familyAL2, "#cloud-config\nruncmd: []\n", userdata.BootstrapScript, "runcmd"},
		"Bottlerocket":           {familyBottlerocket, "[settings.kubernetes]\nmax-pods = 40\n", userdata.BottlerocketSettings, "max-pods"},
		"Bottlerocket alone":     {familyBottlerocket, "", userdata.BottlerocketSettings, ""},
		"broken settings":        {familyBottlerocket, "[settings\n", "", "[settings"},
		"broken parts":           {familyAL2023, strings.Replace(mime, "--//--", "", 1), "", "echo hello"},
		"Custom":                 {familyCustom, "#!/bin/bash\n", "", "#!/bin/bash"},
	} {
		t.Run(name, func(t *testing.T) {
			l := launch{userData: tt.own}
			l.merge(tt.family, payments, karpentersTaint)
			expect.That(t, strings.Contains(l.userData, tt.keeps), "lost %q:\n%s", tt.keeps, l.userData)
			boot := userdata.Read([]byte(l.userData))
			if tt.want == "" {
				expect.That(t, len(boot.Joins) == 0, "it joins: %+v", boot.Joins)
				return
			}
			must.That(t, len(boot.Joins) == 1 && boot.Joins[0].Tool == tt.want && boot.For("payments") && len(boot.Joins[0].Missing) == 0, "joins %+v by\n%s", boot.Joins, l.userData)
			taints := boot.Joins[0].Kubelet.Registered()
			expect.That(t, len(taints) == 1 && taints[0].Key == "karpenter.sh/unregistered", "registers with %+v", taints)
		})
	}
}

// A cluster that is read only in part is no other cluster.
func TestAClusterWithoutItsAuthority(t *testing.T) {
	for name, c := range map[string]*ekstypes.Cluster{"unknown": nil, "payments": {Name: payments.Name, Endpoint: payments.Endpoint}} {
		l := launch{}
		l.merge(familyAL2023, c, "")
		boot := userdata.Read([]byte(l.userData))
		expect.That(t, len(boot.Joins) == 1 && boot.For(name), "%s: joins %+v", name, boot.Joins)
	}
}

func TestTheFamilyOfUserData(t *testing.T) {
	for want, text := range map[string]string{
		familyAL2: "#!/bin/bash\n/etc/eks/bootstrap.sh payments\n", familyAL2023: nodeConfig("payments", "", "", ""),
		familyBottlerocket: "[settings.kubernetes]\ncluster-name = \"payments\"\n", "": "#!/bin/bash\necho hello\n",
	} {
		got := toolFamily(userdata.Read([]byte(text)))
		expect.That(t, got == want, "got %q, want %q of\n%s", got, want, text)
	}
	for name, want := range map[string]string{"al2023@latest": familyAL2023, "AL2_x86_64": familyAL2, "BOTTLEROCKET_ARM_64": familyBottlerocket, "WINDOWS_CORE_2022_x86_64": familyWindows, "CUSTOM": familyCustom, "": familyAL2023} {
		expect.Equal(t, familyOf(name, ""), want, "%s", name)
	}
	for name, want := range map[string]string{
		"resolve:ssm:/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/recommended/image_id": familyAL2023,
		"resolve:ssm:/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id":                familyAL2,
		"resolve:ssm:/aws/service/bottlerocket/aws-k8s-1.35/x86_64/latest/image_id":                              familyBottlerocket,
		"resolve:ssm:/payments/ami": "", "ami-0123456789abcdef0": "",
	} {
		expect.Equal(t, parameterFamily(name), want, "%s", name)
	}
}
