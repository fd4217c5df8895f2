package redact

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"rollcall/tests/harness/expect"
)

// ca is base64 of a certificate in PEM, in the form of EKS.
var ca = func() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return b64(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
}()

func caPEM() string {
	data, _ := decode(ca)
	return string(data)
}

// kept are texts that a diagnosis needs unchanged.
func kept() map[string]string {
	return map[string]string{
		"bootstrap.sh": `#!/bin/bash
set -ex
exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1
B64_CLUSTER_CA=` + ca + `
API_SERVER_URL=https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com
K8S_CLUSTER_DNS_IP=172.20.0.10
TOKEN=$(curl -s -X PUT "http://169.254.169.254/latest/api/token" -H "X-aws-ec2-metadata-token-ttl-seconds: 21600")
INSTANCE_ID=$(curl -s -H "X-aws-ec2-metadata-token: $TOKEN" http://169.254.169.254/latest/meta-data/instance-id)
/etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=eks.amazonaws.com/nodegroup-image=ami-0123456789abcdef0,eks.amazonaws.com/capacityType=ON_DEMAND,eks.amazonaws.com/nodegroup=ng-1 --max-pods=110 --register-with-taints=dedicated=gpu:NoSchedule,karpenter.sh/unregistered:NoExecute --authentication-token-webhook=true --authorization-mode=Webhook --anonymous-auth=false --client-ca-file=/etc/kubernetes/pki/ca.crt --image-credential-provider-config=/etc/eks/image-credential-provider/config.json --image-credential-provider-bin-dir=/etc/eks/image-credential-provider' --b64-cluster-ca $B64_CLUSTER_CA --apiserver-endpoint $API_SERVER_URL --dns-cluster-ip $K8S_CLUSTER_DNS_IP --use-max-pods false
aws ecr get-login-password --region eu-west-1 | docker login --username AWS --password-stdin 123456789012.dkr.ecr.eu-west-1.amazonaws.com
DB_PASSWORD=$(aws secretsmanager get-secret-value --secret-id prod/db --query SecretString --output text)
export API_KEY="${API_KEY}" VAULT_TOKEN="$(cat /var/run/secrets/token)"
SECRET_ARN=arn:aws:secretsmanager:eu-west-1:111122223333:secret:prod/db-AbCdEf
if [ -z "$TOKEN" ]; then echo "no token: $TOKEN"; exit 1; fi
aws ec2 describe-instances --instance-ids i-0123456789abcdef0 --filters Name=subnet-id,Values=subnet-0123456789abcdef0
`,
		"errors of AWS": `AuthFailure: AWS was not able to validate the provided access credentials
AuthFailure.ServiceLinkedRoleCreationNotPermitted: The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.
Launched=creating instance, with fleet error(s), AuthFailure.ServiceLinkedRoleCreationNotPermitted: The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.; UnfulfillableCapacity: Unable to fulfill capacity
ExpiredToken: The security token included in the request is expired
InvalidSignatureException: Signature expired: 20260310T112034Z is now earlier than 20260310T112534Z
SignatureDoesNotMatch: The request signature we calculated does not match the signature you provided.
InvalidAccessKeyId: The AWS Access Key Id you provided does not exist in our records.
`,
		"commands that take no password": `sed -i 's/^#\?PasswordAuthentication.*/PasswordAuthentication no/' /etc/ssh/sshd_config
sed -i "s|__CLUSTER_NAME__|demo|; s/__API_TOKEN__/$API_TOKEN/" /etc/app.conf
ldapsearch -x -W -b dc=corp
unzip -p x.zip app.conf > /etc/app.conf
cryptsetup luksOpen /dev/nvme1n1 data --key-file /root/luks.bin
$p = ConvertTo-SecureString $value -AsPlainText -Force
encrypt = true
encrypt /var/lib/app/data
psk: none
ldap_default_authtok_type = password
`,
		"nodeconfig": `MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="BOUNDARY"

--BOUNDARY
Content-Type: application/node.eks.aws

---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: demo
    apiServerEndpoint: https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com
    certificateAuthority: ` + ca + `
    cidr: 172.20.0.0/16
  kubelet:
    config:
      maxPods: 110
      clusterDNS: [172.20.0.10]
      authentication:
        anonymous:
          enabled: false
        webhook:
          cacheTTL: 2m0s
          enabled: true
        x509:
          clientCAFile: /etc/kubernetes/pki/ca.crt
      authorization:
        mode: Webhook
        webhook:
          cacheAuthorizedTTL: 5m0s
      serverTLSBootstrap: true
      rotateCertificates: true
      tokens: required
      registerWithTaints:
      - key: dedicated
        value: gpu
        effect: NoSchedule
    flags:
    - --node-labels=karpenter.sh/capacity-type=on-demand,karpenter.sh/nodepool=default
    - --register-with-taints=karpenter.sh/unregistered:NoExecute

--BOUNDARY--
`,
		"bottlerocket": `[settings.kubernetes]
api-server = "https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com"
cluster-certificate = "` + ca + `"
cluster-name = "demo"
max-pods = 110
authentication-mode = "aws"
server-tls-bootstrap = false

[settings.kubernetes.node-labels]
"karpenter.sh/nodepool" = "default"

[settings.kubernetes.node-taints]
dedicated = ["gpu:NoSchedule"]

[settings.kubernetes.credential-providers.ecr-credential-provider]
enabled = true
cache-duration = "30m"
image-patterns = ["*.dkr.ecr.*.amazonaws.com", "public.ecr.aws"]

[settings.host-containers.admin]
enabled = true
user-data = "` + b64(`{"ssh":{"authorized-keys":["ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7 ops"]}}`) + `"
`,
		"windows": `<powershell>
[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"
$token = Invoke-RestMethod -Headers @{"X-aws-ec2-metadata-token-ttl-seconds" = "21600"} -Method PUT -Uri http://169.254.169.254/latest/api/token
& $EKSBootstrapScriptFile -EKSClusterName "demo" -APIServerEndpoint "https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com" -Base64ClusterCA "` + ca + `" -DNSClusterIP "172.20.0.10" -KubeletExtraArgs "--node-labels=a=b --max-pods=20" 3>&1 4>&1 5>&1 6>&1
$Secret = (Get-SECSecretValue -SecretId prod/db).SecretString
</powershell>
`,
		"cloud-config": `#cloud-config
ssh_pwauth: false
disable_root: true
users:
- name: ops
  lock_passwd: true
  sudo: ALL=(ALL) NOPASSWD:ALL
  ssh_authorized_keys:
  - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY ops@example
write_files:
- path: /etc/kubernetes/pki/ca.crt
  encoding: b64
  content: ` + ca + `
- path: /etc/eks/kubelet.env
  content: |
    API_SERVER_URL=https://EXAMPLE.gr7.eu-west-1.eks.amazonaws.com
    CLUSTER_NAME=demo
runcmd:
- [/etc/eks/bootstrap.sh, demo]
`,
		"kubeconfig": `apiVersion: v1
kind: Config
clusters:
- name: kubernetes
  cluster:
    certificate-authority-data: ` + ca + `
    server: https://EXAMPLE.gr7.eu-west-1.eks.amazonaws.com
users:
- name: kubelet
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: /usr/bin/aws-iam-authenticator
      args: [token, -i, demo, --region, eu-west-1]
`,
		"certificates": "ca: |\n  x\n" + caPEM() + "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n-----BEGIN SSH HOST KEY KEYS-----\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIrYSSNQ root@ip-10-0-0-1\n-----END SSH HOST KEY KEYS-----\n",
		"manifests": `apiVersion: v1
kind: ConfigMap
metadata:
  name: aws-auth
data:
  mapRoles: |
    - rolearn: arn:aws:iam::111122223333:role/secret-token-role
      username: system:node:{{EC2PrivateDNSName}}
      groups: [system:bootstrappers, system:nodes]
---
spec:
  serviceAccountName: aws-node
  automountServiceAccountToken: true
  containers:
  - image: 123456789012.dkr.ecr.eu-west-1.amazonaws.com/eks/secret-sync:v1.2.3
    env:
    - name: DB_PASSWORD
      valueFrom:
        secretKeyRef:
          name: db
          key: password
    - name: CLUSTER_NAME
      value: demo
`,
		"console": `[    0.000000] Linux version 6.1.102-108.177.amzn2023.x86_64
[    0.512345] Loaded X.509 cert 'Amazon.com: Amazon Linux Kernel Signing Key: 9ee5f2a1b7c4d8e0f1a2b3c4d5e6f708192a3b4c'
[    1.000000] Key type dns_resolver registered
[    2.345678] systemd[1]: Started systemd-ask-password-console.path - Dispatch Password Requests to Console Directory Watch.
[    2.345678] systemd[1]: systemd-ask-password-wall.path: Deactivated successfully.
[    9.000000] cloud-init[1600]: Cloud-init v. 22.2.2 running 'modules:final' at Mon, 01 Jan 2024 00:00:00 +0000. Up 9.00 seconds.
ci-info: no authorized SSH keys fingerprints found for user ec2-user.
nodeadm[1700]: {"level":"info","ts":1704067200.1,"caller":"init/init.go:49","msg":"Checking user is root.."}
E0101 00:00:10.123456    1800 kubelet_node_status.go:92] "Unable to register node with API server" err="Unauthorized" node="ip-10-0-1-2.eu-west-1.compute.internal"
E0101 00:00:10.123456    1800 reflector.go:138] k8s.io/client-go/informers/factory.go:134: Failed to watch *v1.Secret: failed to list *v1.Secret: secrets "db" is forbidden: User "system:node:ip-10-0-1-2.eu-west-1.compute.internal" cannot list resource
error: You must be logged in to the server (the server has asked for the client to provide credentials)
could not get token: AccessDenied: User: arn:aws:sts::111122223333:assumed-role/node/i-0123456789abcdef0 is not authorized to perform: sts:GetCallerIdentity
failed to refresh cached credentials, no EC2 IMDS role found, operation error ec2imds: GetMetadata, http response error StatusCode: 404
NoCredentialProviders: no valid providers in chain. Deprecated.
Failed to pull image "123456789012.dkr.ecr.eu-west-1.amazonaws.com/eks/pause:3.5": pull access denied, authorization failed: no basic auth credentials
x509: certificate signed by unknown authority; invalid bearer token
MountVolume.SetUp failed for volume "kube-api-access-abcde" : failed to fetch token: serviceaccounts "aws-node" not found
Flag --cloud-provider has been deprecated, will be removed in 1.25 or later
pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=10.0.0.1
error: error getting credentials - err: exit status 1, out: ` + "`credentials not found in native keychain`" + `
Warning: token ` + "`abc`" + ` was not needed
amazon-ssm-agent[1]: 2024-01-01 00:00:00 INFO [CredentialRefresher] Next credential rotation will be in 29.9 minutes
cloud-init[1]: util.py[WARNING]: Failed to set passwd for user: root
level=error msg="failed to get token" error="token: expired at 2024-01-01"
ip-10-0-1-2 login:
commit 1b4f0e9851971998e732078544c96b36c3d01ced
sha256:8cb2de97839780a412b93877f8507ad6c94f73add17d5d7058e91741c9d5ec78
`,
		"iam":                     `{"Statement":[{"Effect":"Allow","Action":["secretsmanager:GetSecretValue","ssm:GetParameter"],"Resource":"arn:aws:secretsmanager:eu-west-1:111122223333:secret:db-AbCdEf"}]}`,
		"metadata options":        `{"HttpTokens": "required", "HttpPutResponseHopLimit": 1, "KeyName": "ops", "SecurityGroupIds": ["sg-0123456789abcdef0"], "IamInstanceProfile": {"Arn": "arn:aws:iam::111122223333:instance-profile/x", "Id": "AIPAIOSFODNN7EXAMPLE"}}`,
		"images":                  "image: auth:v1.2.3\ndocker run -d token-server:1.2.3\ncrictl pull public.ecr.aws/eks/secret:latest\n",
		"encoded without secrets": "echo " + b64("#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '--max-pods=20'\n") + " | base64 -d | bash\n",
		"encoded public data": "x: " + b64(`{"apiVersion":"node.eks.aws/v1alpha1","kind":"NodeConfig","spec":{"cluster":{"name":"demo","apiServerEndpoint":"https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com","certificateAuthority":"`+ca+`","role":"arn:aws:iam::111122223333:role/eksctl-payments-NodeInstanceRole-AbCdEf012345"}}}`) + "\ny: " + b64("registry.corp.example:5000") + "\nz: " + b64("https://registry.corp.example/v2/") + "\n" +
			"ctr -n k8s.io images pull --user AWS:$TOKEN 123456789012.dkr.ecr.eu-west-1.amazonaws.com/eks/pause:3.10\nctr -n k8s.io images import /x.tar\ncurl -u \"$API_KEY_OF_CI:\" https://x\n",
		"encoded without secrets, in other ways": "a: " + b64(zip(zip("#!/bin/bash\necho hello to everyone\n"))) + "\nb: " + b64("\xff\xfe"+utf16le("Write-Host hello to everyone")) + "\nc: " + b64("# caf\xe9\necho hello to everyone here\n") + "\n",
		"switches":                               "auth: true\ntoken: \"\"\npassword: null\nsecret:\ncookie: ~\nauth_mode: iam\ntoken_ttl: 300\nsecretName: db\npassword_file: /etc/x\n--token-ttl 5\n--auth none\n",
		"keys that are no secrets": "License: Apache-2.0\nSPDX-License-Identifier: MIT\nLicense: Unicode-DFS-2016\napt-key adv --recv-keys 9DC858229FC7DD38854AE2D88D81803C0EBFCD88\nKMS_KEY=1234abcd-12ab-34cd-56ef-1234567890ab\n" +
			"key: releases/2024-01-02/kubelet-v1.33.1\ncache-key: v1-linux-0123456789abcdef0123456789abcdef/go\nSSH_KEY=ops-2024-laptop\naws s3 cp \"s3://b/x?key=eu-west-1\" .\nhttp://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com:443/x\n" +
			"eksctl-payments-nodegroup-NodeInstanceRole-AbCdEf012345\nintegrity: sha512-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCd\n",
		"lists of arguments": "runcmd:\n- [app, --password, $PASSWORD, --token-ttl, 5]\n- [app, '--token', '$TOKEN']\n- [curl, -sSLo, /x, https://x:443/y]\n- yum install -y curl\n- docker run -u 1000:1000 x\n" +
			"- curl\n- docker run -u 1000:1000 x\npackages: [curl, mysql, zip]\nusage: app [--password, -p PASSWORD] [--token, the token] [12.1] --token, 0a1b2c3d\n",
		"curl": "curl -fsSL -u \"$USER:$PASS\" https://x:443/y\ncurl -sSLo /x https://x:443/y\ncurl -XPUT https://x:443/\ncurl -H 'Authorization: Bearer '$TOKEN https://x\ncurl -H 'Authorization: Bearer '\"$TOKEN\" https://x\nh = \"Authorization: Bearer \" + token\ncurl -H 'X-Vault-Token: '\"$TOKEN\" https://x\n",
		"proxies": "image: eks/kube-proxy:v1.33@sha256:8cb2de97839780a412b93877f8507ad6c94f73add17d5d7058e91741c9d5ec78\nstarting kube-proxy nginx:1.2@sha256:8cb2de97839780a412b93877f8507ad6c94f73add17d5d7058e91741c9d5ec78\n" +
			"ProxyJump ops@bastion:22\nno_proxy=localhost,10.0.0.0/8,169.254.169.254\nhttps_proxy=proxy.corp:3128\nhttp_proxy=$USER:$PASS@proxy:3128\nhttp-proxy = \"http://proxy:80\"\n",
		"values on windows": "$user.SetPassword($new)\n$user.SetPassword(\"$new\")\n$x = Get-Secret('prod/db')\nSet-Item Env:CLUSTER -Value demo\nSet-ItemProperty HKLM:\\x MaxTokenSize -Value 65535\nNew-Item -Path Env:DB_PASSWORD -Value $new\n" +
			"reg add HKLM\\x /v Start /t REG_DWORD /d 4 /f\nnet use Z: \\\\srv\\share\nnet use * /delete\nnet use\nGET /token HTTP/1.1\ndocker run -v /secret:/secret:ro x\nlocation /auth:8080\ncmdkey /list:x /pass:$new\n",
		"commands that fetch": "TOKEN=$(awk '{print $2}' /etc/x)\nTOKEN=$(awk -F= '/^x/ {printf \"%s\", $2}' /etc/x)\nTOKEN=$(curl -s https://x | python3 -c 'import sys')\nTOKEN=$(python3 /opt/x.py)\nPASSWORD=$(openssl rand -hex 16)\nPASSWORD=$(openssl passwd -6 \"$NEW\")\nPASSWORD=$(openssl passwd -6 -stdin)\n",
		"windows line ends":   "set CLUSTER=demo\r\n\r\necho done\r\n",
		"not text":            "\x00\x01\xff\xfe secret \xc3\x28 \x80",
	}
}

func TestWhatADiagnosisNeedsStays(t *testing.T) {
	for name, text := range kept() {
		t.Run(name, func(t *testing.T) {
			clean := Text(text)
			was, is := strings.Split(text, "\n"), strings.Split(clean, "\n")
			for i := range was {
				expect.That(t, was[i] == is[i], "line %d\nwas %.300q\nis  %.300q", i+1, was[i], is[i])
			}
		})
	}
}

// What stands behind the code of an error and is no sentence is judged as behind any other name.
func TestTheCodeOfAnErrorKeepsNoSecret(t *testing.T) {
	for _, text := range []string{"AuthFailure: hunter2-Xk29dQpL7", "ExpiredToken: Xk29dQpL7vRt", "InvalidToken: The Xk29dQpL7vRt"} {
		clean := Text(text)
		expect.That(t, clean != text, "%q is kept as %q", text, clean)
	}
}
