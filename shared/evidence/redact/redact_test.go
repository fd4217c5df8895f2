package redact

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// ecr is ECR's authorization token for a day, as aws ecr get-login-password prints it.
var ecr = b64(`{"payload":"CZTVpSHzFNE5NIMHt8qxFw3SkU2F1GAFP1Y808QlNegrUWx0Cb7Kq9+Zr2/hVtT5mEj4wLs8dNfQoXyA3uBi6GkRvCpHe1Jl","datakey":"AQEBAHh3zYtrq7Vw5mJ8s2K4nRfLcPgXb9DeTuQyWvHaBkZjNi6Ex0Ao1","version":"2","type":"DATA_KEY","expiration":1766000000}`)

func wrap(s string, width int) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + "\n")
		s = s[width:]
	}
	return b.String() + s
}

func zip(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func utf16le(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

func utf16be(s string) string {
	b := []byte(utf16le(s))
	for i := 0; i+1 < len(b); i += 2 {
		b[i], b[i+1] = b[i+1], b[i]
	}
	return string(b)
}

// A text in these cases is the input. The text between « and » is the secret: it must not be in the
// result, and the lines around it must be.
var positive = []struct{ name, text string }{
	// by form
	{"access key id", "found AKIAIOSFODNN7EXAMPLE here"},
	{"aws credentials file", "[default]\naws_access_key_id = «AKIAIOSFODNN7EXAMPLE»\naws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY»\nregion = eu-west-1\n"},
	{"aws secret key alone", "keys AKIA... «wJalrXUtnFEMI/K7MDENG8bPxRfiCYEXAMPLEKEY» seen"},
	{"aws session token", "export AWS_SESSION_TOKEN=«IQoJb3JpZ2luX2VjEBYaCXVzLWVhc3QtMSJHMEUCIQDxyz»\n"},
	{"eks token", "token: «k8s-aws-v1.aHR0cHM6Ly9zdHMuZXUtd2VzdC0xLmFtYXpvbmF3cy5jb20v»\n"},
	{"jwt", "saw «eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P» in a log"},
	{"github", "git clone https://«ghp_16C7e42F292c6912E7710c838347Ae178B4a»@github.com/acme/x.git"},
	{"gitlab", "echo «glpat-abcDEF123456ghiJKL78» | tee /x"},
	{"slack", "xoxb: «xoxb-123456789012-abcdefGHIJKL»"},
	{"slack webhook", "curl -d x https://hooks.slack.com/«services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX»"},
	{"npm", "//registry.npmjs.org/:_authToken=«npm_abcdefghijklmnopqrstuvwxyz0123456789»"},
	{"docker", "docker login -u me -p «dckr_pat_abcdefghijklmnopqrstuvwxyz0»"},
	{"kubeadm", "kubeadm join 10.0.0.1:6443 --token «abcdef.0123456789abcdef» --discovery-token-ca-cert-hash sha256:8cb2de97839780a412b93877f8507ad6c94f73add17d5d7058e91741c9d5ec78"},
	{"bootstrap token alone", "[preflight] using «07401b.f395accd246ae52d»"},
	{"bearer", `curl -H "Authorization: Bearer «0b79bab50daca910b000d4f1a2b675d604257e42»" https://x`},
	{"basic", `curl -H 'Authorization: Basic «dXNlcjpodW50ZXIy»' https://x`},
	{"basic in text", "sent Basic «dXNlcjpodW50ZXIy» to it"},
	{"hash", "usermod -p '«$6$rounds=4096$aQ7jGd$3m8QbI0m1R8yAjv0kz9f1gD4vWn7cM2x5L6s»' root"},
	{"hash in shadow", "root:«$6$aQ7jGdxx$3m8QbI0m1R8yAjv0kz9f1gD4vWn7cM2x5L6s»:19000:0:99999:7:::"},
	{"url", "export DATABASE=postgres://app:«s3cr/t@p4ss»@db.internal:5432/app?sslmode=require"},
	{"redis url", "redis://:«hunter22»@cache:6379/0"},
	{"proxy", "HTTPS_PROXY=http://svc:«Pr0xyPw!»@proxy.corp:3128"},
	{"proxy without a scheme", `http_proxy=u:«hunter2»@proxy:3128`},
	{"proxy without a scheme, to a service", `Environment="HTTPS_PROXY=u:«hunter2»@proxy.corp:3128" "NO_PROXY=10.0.0.0/8"`},
	{"proxy without a scheme, of bottlerocket", `https-proxy = "u:«hunter2»@proxy:80"`},
	{"proxy without a scheme, in yaml", `httpProxy: CORP\u:«hun/ter@2»@proxy.corp`},
	{"proxy without a scheme, of apt", `Acquire::http::Proxy "u:«hunter2»@proxy:80/";`},
	{"proxy without a scheme, a flag", `pip install --proxy u:«hunter2»@proxy.corp:3128 x`},
	{"proxy without a scheme, in a list", `["pip", "--proxy", "u:«hunter2»@proxy.corp:3128"]`},
	{"proxy without a scheme, of curl", `curl -sSx u:«hunter2»@proxy.corp:3128 https://x`},
	{"dsn", "DSN='root:«hunter22»@tcp(db:3306)/app'"},
	{"ecr token printed", "+ aws ecr get-login-password\n«" + ecr + "»\n"},
	{"ecr token cut", "[   12.345678] cloud-init[1234]: «" + ecr[:205] + "»\n"},
	{"ecr token of ctr, traced", "+ ctr -n k8s.io images pull --user AWS:«" + ecr + "» 123456789012.dkr.ecr.eu-west-1.amazonaws.com/app:1\n"},
	{"ecr token in docker's auth", "registry 123456789012.dkr.ecr.eu-west-1.amazonaws.com «" + b64("AWS:"+ecr) + "»\n"},
	{"docker's auth under another name", "mirror: «" + b64("admin:sunflowerking") + "»\n"},
	{"json token under another name", "cloudflared service install «" + b64(`{"a":"0f1e2d3c4b5a69788796a5b4c3d2e1f0","t":"7b0c1c2e-3f4a-4b5c-8d6e-9f0a1b2c3d4e","s":"x"}`) + "»\n"},
	{"ctr --user", "ctr -n k8s.io images pull --user admin:«hunter2» registry.corp/app:1\n"},
	{"ctr -u of a list", "- ctr\n- image\n- pull\n- -u\n- admin:«hunter2»\n- registry.corp/app:1\n"},
	{"curl -u with a key in place of the user", "curl -s -u \"«7b0c1c2e-3f4a-4b5c»:\" https://api.corp/v2\n"},
	{"pem", "before\n«-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7b\nabc\n-----END RSA PRIVATE KEY-----»\nafter\n"},
	{"pem indented in yaml", "write_files:\n- path: /etc/ssl/x.pem\n  permissions: '0600'\n  content: |\n    «-----BEGIN OPENSSH PRIVATE KEY-----\n    b3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n    -----END OPENSSH PRIVATE KEY-----»\n  owner: root\n"},
	{"pem in json", `{"private_key": "«-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n»", "client_id": "1"}`},
	{"pem cut off", "«-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY/PuoAoGCCqGSM49\nAwEHoUQDQgAEPR3tU2Fta9ktY»"},
	{"pem without its beginning", "«AwEHoUQDQgAEPR3tU2Fta9ktY7zxyPuoAoGCCqGSM49AwEHoUQDQgAEPR3tU2Ft\nAwEHoUQDQgAEPR3tU2Fta9kt\n-----END EC PRIVATE KEY-----»\nnext"},
	{"der", "key: «" + b64("\x30\x82\x04\xa4\x02\x01\x00\x02\x82\x01\x01\x00"+strings.Repeat("k", 90)) + "»"},

	// shell
	{"plain", "DB_PASSWORD=«hunter2»\n"},
	{"export, double quotes", "export API_KEY=\"«a b c $d»\"\n"},
	{"single quotes", "token='«it has spaces; and | more»'\n"},
	{"concatenated", "SECRET=«'abc'\"'\"'def'»\n"},
	{"before a command", "PGPASSWORD=«hunter2» psql -h db.internal -U app\n"},
	{"docker -e", "docker run -e \"MYSQL_ROOT_PASSWORD=«hunter2»\" -e TZ=UTC mysql:8\n"},
	{"flag", "app --password «hunter2» --port 80\n"},
	{"flag with equals", "app --client-secret=«hunter2» --port 80\n"},
	{"flag in quotes", "app --password \"«hunter two»\" --port 80\n"},
	{"flag on the next line", "app --token \\\n  «hunter2» \\\n  --port 80\n"},
	{"default of a variable", "P=${DB_PASSWORD:-«hunter2»}\n"},
	{"command with it", "export TOKEN=«$(echo aHVudGVyMg== | base64 -d)»\n"},
	{"command that makes a hash of it", `PASSWORD=«$(openssl passwd -6 hunter2)»`},
	{"command that makes a hash of it, by path", `PASSWORD=«$(/usr/bin/openssl passwd -1 -salt x 'hunter2')»`},
	{"command that prints it", `PASSWORD=«$(python3 -c 'print("hunter2")')»`},
	{"command that decodes it", `PASSWORD=«$(python -c "import base64; print(base64.b64decode('aHVudGVyMg=='))")»`},
	{"command that prints it, in awk", `PASSWORD=«$(awk 'BEGIN {print "hunter2"}')»`},
	{"command that prints a variable with it", `PASSWORD=«$(gawk 'BEGIN {p = "hunter2"} END {print p}')»`},
	{"sh -c", "bash -c 'export TOKEN=«hunter2»; run'\n"},
	{"json in shell", "curl -d '{\"user\":\"me\",\"password\":\"«hunter2»\"}' https://x\n"},
	{"escaped json", "curl -d \"{\\\"user\\\":\\\"me\\\",\\\"password\\\":\\\"«hunter2»\\\",\\\"a\\\":1}\" https://x\n"},
	{"header", "curl -H \"X-Vault-Token: «s.abcdef hunter2»\" https://x\n"},
	{"curl -u", "curl -fsSL -u admin:«hunter2» https://x/y\n"},
	{"curl -u among other flags", "curl -sSLu admin:«hunter2» https://x/y\n"},
	{"curl -u without a blank", "curl -sSLuadmin:«hunter2» https://x/y\n"},
	{"curl -u, double quotes", "curl -u \"admin:hun «ter2»\" https://x/y\n"},
	{"curl -u, single quotes", "curl -u 'admin:hun\"ter «two»' https://x/y\n"},
	{"curl -u, the password in quotes", "curl --user admin:'hun «ter2»' https://x/y\n"},
	{"curl -u, escaped quotes", "bash -c \"curl -u \\\"admin:hun «ter2»\\\" https://x/y\"\n"},
	{"curl -u of a list", "subprocess.run(['curl','-u','me:hun «ter2»', url])\n"},
	{"curl -u of a call", "exec.Command(\"curl\", \"-su\", \"me:hun «ter2»\", url)\n"},
	{"curl -u of a list with lines", "command: [\n  \"curl\",\n  \"-u\",\n  \"me:hun «ter2»\"\n]\n"},
	{"curl -u of a list with an argument a line", "args:\n- curl\n- -u\n- me:«hunter2»\n- https://x\n"},
	{"docker login of a list", "runcmd:\n- [docker, login, -u, me, -p, «hunter2», registry.corp]\n- [reboot]\n"},
	{"openssl of a list", `["openssl", "pkcs12", "-passin", "pass:«hunter2»", "-in", "x"]`},
	{"bearer after a quote", "curl -H 'Authorization: Bearer '\"«abc0b79bab50daca910b»\" https://x\n"},
	{"a header's value after a quote", "curl -H 'X-Vault-Token: '\"«abc0b79bab50daca910b»\" https://x\n"},
	{"mysql -p", "mysql -uroot -p«hunter2» app < x.sql\n"},
	{"chpasswd", "echo \"«root:hunter2»\" | sudo chpasswd\n"},
	{"passwd", "echo «hunter2» | passwd --stdin ec2-user\n"},
	{"vault's token after an escaped line break", `echo "login\n«s.VVqc0Wf3LoXEI7sjXI9XZMS8»"`},
	{"the command that takes it on a later line", "echo «root:hunter2 \\»\n  | sudo -n \\\n  chpasswd\necho done\n"},
	{"the command that takes it after a pipe", "echo «root:hunter2» |\n  chpasswd\necho done\n"},
	{"the command on the line before", "'«hunter2»' |\n  ConvertTo-SecureString -AsPlainText -Force\n"},
	{"vault's token after an escaped line break", `echo "login\n«s.VVqc0Wf3LoXEI7sjXI9XZMS8»"`},
	{"docker login", "echo «hunter2» | docker login --username me --password-stdin registry.corp\n"},
	{"heredoc", "chpasswd <<EOF\n«root:hunter2\nec2-user:hunter3»\nEOF\necho done\n"},
	{"heredoc into a variable", "TOKEN=$(cat <<'EOF'\n«hunter2\nhunter3»\nEOF\n)\n/etc/eks/bootstrap.sh demo\n"},
	{"heredoc into a file", "cat > /root/.docker-credentials <<-EOF\n\t«hunter2»\n\tEOF\nnext\n"},
	{"heredoc, redirected after", "cat <<EOF >/etc/app/db-password\n«hunter2»\nEOF\n"},
	{"read", "read -r -d '' PRIVATE_KEY <<EOF\n«hunter2»\nEOF\n"},
	{"echo into a file", "echo -n '«hunter2»' > /etc/app/token\n"},
	{"array", "TOKENS=( «hunter2» '«hunter3»' )\n"},
	{"set -x", "[   21.515151] cloud-init[1522]: + export DB_PASSWORD=«hunter2»\n"},
	{"config set", "aws configure set aws_secret_access_key «abcdefgh» --profile x\n"},
	{"ssm parameter", "aws ssm put-parameter --name /app/db --type SecureString --value «hunter2»\n"},
	{"secret literal", "kubectl create secret generic x --from-literal=password=«hunter2»\n"},
	{"netrc", "machine git.corp login me password «hunter2x»\n"},
	{"ssm activation", "amazon-ssm-agent -register -code \"«abcdefghij»\" -id 6b1e -region eu-west-1\n"},

	{"sql", "psql -c \"ALTER USER app WITH PASSWORD '«hunter2»';\"\nmysql -e \"CREATE USER a IDENTIFIED BY '«hunter3»'\"\n"},
	{"sed", "sed -i 's/api_key:.*/api_key: «0123456789abcdef0123456789abcdef»' /etc/datadog-agent/datadog.yaml\n"},
	{"systemd", "[Service]\nEnvironment=\"DB_PASSWORD=«hunter2»\" \"A=b\"\nEnvironment='KUBELET_EXTRA_ARGS=--max-pods=20'\n"},
	{"signed url", "curl 'https://b.s3.amazonaws.com/k?X-Amz-Credential=«AKIAIOSFODNN7EXAMPLE%2F20130524»&X-Amz-Signature=«aeeed9bbccd4d02e»&x=1'\n"},
	{"vault login", "vault login «s.abcdefg123456»\n"},

	// of programs that encrypt, join and log in
	{"docker login without a blank", "docker login -u me -p«hunter2» registry.corp\n"},
	{"useradd without a blank", "useradd -p«hunter2» ops\n"},
	{"unzip without a blank", "unzip -q -P«hunter2» x.zip\n"},
	{"ldapsearch without a blank", "ldapsearch -x -D cn=admin -w«hunter2» -b dc=corp\n"},
	{"disk encryption", "echo -n \"«hunter2»\" | cryptsetup luksFormat /dev/nvme1n1 -\nmount /dev/mapper/data /data\n"},
	{"disk encryption, here-string", "cryptsetup luksOpen /dev/nvme1n1 data --key-file=- <<< «hunter2»\n"},
	{"disk encryption, heredoc", "cryptsetup -q luksFormat /dev/nvme1n1 <<EOF\n«hunter2»\nEOF\necho done\n"},
	{"disk encryption, file of a command", "cryptsetup luksOpen /dev/nvme1n1 data --key-file <(echo -n «hunter2»)\n"},
	{"password file of a command", "ansible-vault decrypt --vault-password-file <(printf %s «hunter2») x.yml\n"},
	{"gpg", "echo '«hunter2»' | gpg --batch --passphrase-fd 0 -d x.gpg\n"},
	{"bind password of LDAP", "uri ldaps://ldap.corp\nbinddn cn=nodes,dc=corp\nbindpw «hunter2»\n"},
	{"bind password of LDAP, a word", "binddn cn=nodes,dc=corp\nbindpw «swordfish»\nbase dc=corp\n"},
	{"bind password of sssd", "[domain/corp]\nldap_default_authtok_type = password\nldap_default_authtok = «hunter2»\nldap_uri = ldaps://x\n"},
	{"root password of LDAP", "rootdn cn=admin,dc=corp\nrootpw «hunter2»\n"},
	{"secure string without quotes", "$p = ConvertTo-SecureString «hunter2» -AsPlainText -Force\n"},
	{"secure string after its flags", "$p = ConvertTo-SecureString -AsPlainText -Force -String «hunter2»\n"},
	{"key of Consul's gossip", "server = false\nencrypt = \"«pUqJrVyVRj5jsiYEkM/tFQ==»\"\nretry_join = [\"10.0.0.4\"]\n"},
	{"key of Consul's gossip in JSON", `{"server": false, "encrypt": "«cg8StVXbQJ0gPvMd9o7yrg0fLAbYJmzGb5n1Xe4bVxE=»"}`},
	{"key of Nomad's gossip", "nomad agent -encrypt «pUqJrVyVRj5jsiYEkM/tFQ==» -join 10.0.0.4\n"},
	{"key of IPsec", "cat > /tmp/x <<EOF\n10.0.0.1 %any : PSK \"«hunter2»\"\nops : XAUTH '«hunter3»'\n: PSK 0s«aHVudGVyMg==»\nEOF\n"},
	{"key of a tunnel", "[Peer]\nPresharedKey = «hunter2»\nAllowedIPs = 10.0.0.0/8\n"},
	{"key to join a network", "netbird up --setup-key «1a2b3c4d-0000-4000-8000-00000000beef»\n"},
	{"token of a tunnel", "cloudflared service install «hunter2»\n"},
	{"user of a broker", "rabbitmqctl add_user ops «hunter2»\nrabbitmqctl change_password ops «hunter3»\n"},
	{"user of a database", "mysqladmin -u root password «hunter2»\n"},
	{"user of a database in SQL", "ALTER USER 'root'@'%' IDENTIFIED WITH mysql_native_password BY '«hunter2»';\nSET PASSWORD FOR 'a'@'%' = PASSWORD('«hunter3»');\n"},
	{"user of SNMP", "createUser ops SHA «hunter2 AES hunter3»\ncom2sec readers default «hunter4»\n"},
	{"customer of CrowdStrike", "& .\\WindowsSensor.exe /install /quiet CID=«0123456789ABCDEF0123456789ABCDEF-12»\n"},
	{"placeholder that sed fills in", "sed -i \"s|__DB_PASSWORD__|«hunter2»|g; s#{{API_TOKEN}}#«hunter3»#\" /etc/app.conf\n"},

	// as the documentation of vendors has it, where neither name nor form is known
	{"key of a vendor", "export ACME_KEY=«0123456789abcdef0123456789abcdef»\n"},
	{"key of a vendor in yaml", "acme:\n  key: «d2AerXD1dxwH2XslBTTKJYjX0AiaHc2i»\n  site: eu\n"},
	{"key of a vendor in json", `{"acme": {"key": "«d2AerXD1dxwH2XslBTTKJYjX0AiaHc2i»", "site": "eu"}}`},
	{"key of a vendor in the environment of a container", "env:\n- name: ACME_KEY\n  value: «d2AerXD1dxwH2XslBTTKJYjX0AiaHc2i»\n- name: TZ\n  value: UTC\n"},
	{"key in a query", "curl 'https://acme.example/x?key=«d2AerXD1dxwH2XslBTTKJYjX»&b=1'\n"},
	{"license", "acme-agent install --license «d2AerXD1dxwH2Xsl.BTTKJYjX» --quiet\n"},
	{"issuer in a token", "./install.sh «acme_tkn_Yjgn2KMlqhlqKC5qztC1R2O7wyYZJyx»\n"},
	{"token in place of a user", "git clone https://«d2AerXD1dxwH2XslBTTKJYjX»:x-oauth-basic@github.com/acme/x.git\n"},
	{"token with dots in place of a user", "pip install -i https://«pat.VCez4F2h7gWxXctP09u9a1.TZdbdwUC»@pypi.corp/simple x\n"},
	{"gh", "echo «hunter2» | gh auth login --with-token\n"},
	{"docker secret", "printf '%s' '«hunter2»' | docker secret create db -\n"},
	{"aws configure", "printf 'AKIAIOSFODNN7EXAMPLE\\n«hunter2»\\neu-west-1\\n\\n' | aws configure\n"},
	{"literal of a neutral name", "kubectl -n x create secret generic acme --from-literal=acme=«hunter2»\n"},
	{"vault kv", "vault kv put kv/acme site=eu db=«hunter2»\n"},
	{"rejected", "[   12.1] agent[1]: ERROR invalid api key \"«d2AerXD1dxwH2XslBTTKJYjX»\"\n"},
	{"like a version", "git config --global http.extraHeader 'PRIVATE-TOKEN: «v1.0-bf519583614022efc08e17f5-4a3ec43132d8bdaa16f22f1d»'\n"},

	// YAML
	{"yaml", "db:\n  host: db.internal\n  password: «hunter2 hunter3»\n  port: 5432\n"},
	{"yaml quoted", "password: \"«hunter2\\\" more»\" # note\n"},
	{"yaml quoted, single", "password: '«it''s»'\n"},
	{"yaml in a list", "- name: x\n- password: «hunter2»\n"},
	{"yaml literal", "token: |\n  «hunter2\n\n    hunter3»\nnext: 1\n"},
	{"yaml folded", "a:\n  client_secret: >-\n    «hunter2\n    hunter3»\n  b: 1\n"},
	{"yaml flow", "db: {user: me, password: «hunter2», port: 1}\n"},
	{"yaml nested flow", "credentials: {prod: «hunter2», user: me}\n"},
	{"yaml nested", "credentials:\n  prod: «hunter2»\n  username: me\n"},
	{"yaml list", "tokens:\n- «hunter2»\n- «hunter3»\nnext: 1\n"},
	{"yaml on the next line", "password:\n  «hunter2»\nnext: 1\n"},
	{"yaml continued", "password: «hunter2\n  hunter3»\nnext: 1\n"},
	{"yaml tag", "password: !!str «hunter2»\n"},
	{"yaml arguments", "args:\n- --token\n- «hunter2»\n- --port\n"},
	{"yaml env", "env:\n- name: DB_PASSWORD\n  value: «hunter2»\n- name: TZ\n  value: UTC\n"},
	{"yaml env, the other way", "env:\n- value: «hunter2»\n  name: DB_PASSWORD\n"},
	{"cloud-init command", "runcmd:\n- [\"docker\",\"login\",\"--password\",\"«hunter2»\"]\n- [reboot]\n"},
	{"cloud-init command, single quotes", "runcmd:\n- [app, '--token', '«hunter2»']\n- [reboot]\n"},
	{"cloud-init command without quotes", "runcmd:\n- [app, --password, «hunter2»]\n- [reboot]\n"},
	{"cloud-init command with a blank before the comma", "runcmd:\n- [ app , --password , «hunter2» , --port, 1 ]\n- [reboot]\n"},
	{"cloud-init command of several lines", "runcmd:\n- [\"app\", \"--token\",\n   \"«hunter2»\"]\n- [reboot]\n"},
	{"cloud-init command of several lines, without quotes", "runcmd:\n- [app,\n   --token,\n   «hunter2»]\n- [reboot]\n"},
	{"cloud-init command, one argument a line", "runcmd:\n- - curl\n  - -u\n  - admin:hun «ter2»\n  - https://x\n- [reboot]\n"},
	{"cloud-init chpasswd", "#cloud-config\nssh_pwauth: true\nchpasswd:\n  expire: false\n  list: |\n    «root:hunter2\n    ec2-user:hunter3»\n"},
	{"cloud-init users", "users:\n- name: ops\n  lock_passwd: false\n  passwd: «$6$abcdefgh$ijklmnopqrstuvwxyz0123»\n  ssh_authorized_keys:\n  - ssh-rsa AAAAB3NzaC1yc2E ops\n"},
	{"cloud-init file", "write_files:\n- path: /etc/app/token\n  content: «hunter2»\n- path: /etc/motd\n  content: hello\n"},
	{"cloud-init file, path last", "write_files:\n- content: |\n    «hunter2»\n  path: /etc/app/token\n"},
	{"secret manifest", "apiVersion: v1\nkind: Secret\ndata:\n  a: «aHVudGVyMg==»\n---\nkind: ConfigMap\ndata:\n  a: b\n"},

	// JSON
	{"json", "{\n  \"user\": \"me\",\n  \"apiKey\": \"«hunter2»\",\n  \"port\": 1\n}\n"},
	{"json list", `{"tokens": ["«hunter2»", "«hunter3»"], "n": 1}`},
	{"json nested", `{"credentials": {"prod": "«hunter2»"}, "n": "x"}`},
	{"json arguments", `["app", "--token", "«hunter2»", "--port", "1"]`},
	{"json env", `{"name": "DB_PASSWORD", "value": "«hunter2»"}`},
	{"docker config", `{"auths": {"https://index.docker.io/v1/": {"auth": "«bWU6aHVudGVyMg==»"}}}`},

	// TOML and INI
	{"toml", "[settings.x]\napi-key = \"«hunter2»\"\nname = \"x\"\n"},
	{"toml multi-line", "token = '''\n«hunter2\nhunter3»\n'''\nname = \"x\"\n"},
	{"bottlerocket credentials", "[[settings.container-registry.credentials]]\nregistry = \"gcr.io\"\nauth = \"«bWU6aHVudGVyMg==»\"\n"},
	{"toml table", "[app.secrets]\nprod = \"«hunter2»\"\n\n[app.other]\nprod = \"fine\"\n"},
	{"toml table in a here-document", "cat > /etc/containerd/config.toml <<-'EOF'\n[plugins.\"io.containerd.grpc.v1.cri\".registry.configs.\"registry.corp\".auth]\n  username = \"«bob»\"\n  x = \"«hunter2»\"\nEOF\n/etc/eks/bootstrap.sh demo\n"},
	{"ini table in a here-string", "@'\n[auth]\nx = «hunter2»\n'@ | Out-File C:\\x.ini\n& $EKSBootstrapScriptFile -EKSClusterName demo\n"},
	{"toml table in yaml", "spec:\n  containerd:\n    config: |\n      [registry.auth]\n        x = \"«hunter2»\"\n      y = \"«hunter3»\"\n  kubelet:\n    flags: [--max-pods=20]\n"},
	{"toml table with values further left", "  [registry.auth]\nx = \"«hunter2»\"\n"},
	{"ini", "password = «hunter2»\nuser = x\n"},
	{"properties", "spring.datasource.password=«hunter2 hunter3»\n"},

	// Windows
	{"powershell", "$env:DB_PASSWORD = '«hunter2»'\n"},
	{"powershell here-string", "$secret = @'\n«hunter2»\n'@\n$x = 1\n"},
	{"powershell flag", "New-LocalUser -Name ops -Password (ConvertTo-SecureString \"«hunter2»\" -AsPlainText -Force)\n"},
	{"powershell variable", "$pw = ConvertTo-SecureString -String '«hunter2»' -AsPlainText -Force\n"},
	{"powershell hash", "$c = @{ User = 'me'; Password = '«hunter2»' }\n"},
	{"SetEnvironmentVariable", "[Environment]::SetEnvironmentVariable(\"API_KEY\", \"«hunter2»\", \"Machine\")\n"},
	{"cmd", "set DB_PASSWORD=«hunter2»\r\nsetx API_KEY \"«hunter3»\"\r\n"},
	{"net user", "net user Administrator «hunter2» /add\r\n"},
	{"SetPassword", `$user.SetPassword('«hunter2»')`},
	{"ChangePassword", `$user.psbase.ChangePassword( "«hunter1»" , "«hunter2»" )`},
	{"Set-Item", `Set-Item Env:DB_PASSWORD -Value '«hunter2»'`},
	{"New-Item", `New-Item -Force -Path Env:\DB_PASSWORD -Value «hunter2»`},
	{"Set-Content", `Set-Content -Path C:\app\password.txt -Value '«hunter2»'`},
	{"Set-ItemProperty", `Set-ItemProperty 'HKLM:\SOFTWARE\Winlogon' DefaultPassword -Value '«hunter2»'`},
	{"value before the path", `Set-Item -Value '«hunter2»' -Path Env:DB_PASSWORD`},
	{"reg add", `reg add "HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Winlogon" /v DefaultPassword /t REG_SZ /d «hunter2» /f`},
	{"reg.exe add", `reg.exe ADD HKLM\x /d "«hunter 2»" /v "DB_PASSWORD" /f`},
	{"cmdkey", `cmdkey /add:srv /user:u /pass:«hunter2»`},
	{"cmdkey, quotes", `cmdkey /add:srv /user:u /pass:"«hun ter2»"`},
	{"netdom", `netdom join x /domain:d /userd:u /passwordd:«pw1»`},
	{"schtasks", `schtasks.exe /create /tn x /ru u /rp «hunter2»`},
	{"net use", `net use Z: \\srv\share /user:u «hunter2»`},
	{"net use, the password first", `net.exe use Z: \\srv\share «hunter2» /user:u`},
	{"net.exe user", `net.exe user ops «hunter2» /add`},
	{"xml", "<unattend><Password><Value>«hunter2»</Value><PlainText>true</PlainText></Password><Name>x</Name></unattend>"},
	{"xml attribute", `<add key="ApiKey" value="«hunter2»" />`},

	// encoded
	{"base64", "echo «" + b64("#!/bin/bash\nexport DB_PASSWORD=hunter2\n") + "» | base64 -d | bash\n"},
	{"base64 of base64", "x: «" + b64("echo "+b64("DB_PASSWORD=hunter2 and more")+" | base64 -d") + "»\n"},
	{"base64, wrapped", "Content-Transfer-Encoding: base64\n\n«" + wrap(b64("#!/bin/bash\necho a long line of some text, so that it needs more than a line\nexport DB_PASSWORD=hunter2\n"), 76) + "»\n\n--B--\n"},
	{"base64 of gzip", "encoding: gz+b64\ncontent: «" + b64(zip("#!/bin/bash\nexport DB_PASSWORD=hunter2\n")) + "»\n"},
	{"base64 of gzip in gzip", "content: «" + b64(zip(zip("#!/bin/bash\nexport DB_PASSWORD=hunter2\n"))) + "»\n"},
	{"base64 of more gzip than is undone", "content: «" + b64(zip(zip(zip(zip(zip("#!/bin/bash\nexport X=1\n")))))) + "»\n"},
	{"base64 of an archive", "content: «" + b64(zip("etc/x\x00\x00\x00\x00DB_PASSWORD=hunter2\n\x00\x00")) + "»\n"},
	{"base64 of latin-1", "content: «" + b64("# caf\xe9\nexport DB_PASSWORD=hunter2\n") + "»\n"},
	{"base64 of UTF-16 with a mark", "content: «" + b64("\xff\xfe"+utf16le("$env:DB_PASSWORD = 'hunter2'")) + "»\n"},
	{"base64 of UTF-16, big end first", "content: «" + b64(utf16be("$env:DB_PASSWORD = 'hunter2'")) + "»\n"},
	{"base64 of UTF-16 with a mark, big end first", "content: «" + b64("\xfe\xff"+utf16be("# caf\u00e9\n$env:DB_PASSWORD = 'hunter2'")) + "»\n"},
	{"encoded command", "powershell -EncodedCommand «" + b64(utf16le("$env:DB_PASSWORD = 'hunter2'")) + "»\n"},

	// console
	{"log", "2024-01-02T03:04:05Z Generated password: «xK3!pq9Z»\n"},
	{"syslog", "Jan  2 03:04:05 ip-10-0-0-1 cloud-init[99]: password: «hunter2»\n"},
	{"logfmt", "level=info token=«hunter2» node=ip-10-0-0-1\n"},
}

// onNodes are lines with which agents and clients are installed and used on nodes, in the same form.
var onNodes = []string{
	`curl -H 'X-Insert-Key: «SECRET»' https://x`, `curl -H "x-functions-key: «SECRET»"`, `curl -H "X-JFrog-Art-Api: «SECRET»"`, `curl -H "Ocp-Apim-Subscription-Key: «HASH»"`,
	`curl --user 'bob':'«SECRET»' https://x`, `curl -b "session=«SECRET»" https://x`, `wget --user=bob --password=«SECRET» https://x`,
	`DD_API_KEY=«HASH» DD_SITE="datadoghq.eu" bash -c "$(curl -L https://x)"`, `sed -i "s/api_key:.*/api_key: «HASH»/" /etc/datadog-agent/datadog.yaml`,
	`/opt/CrowdStrike/falconctl -s --cid=«HASH-A1»`, `echo "license_key: «SECRET»" >> /etc/newrelic-infra.yml`, `splunk enable listen -auth admin:«SECRET»`,
	`qualys-cloud-agent.sh ActivationId=«UUID» CustomerId=x`, `dsa_control -a dsm://x:443/ "tenantID:x" "token:«UUID»"`, `sentinelctl management token set «SECRET»`,
	`elastic-agent install --url=https://x --enrollment-token=«SECRET»`, `pro attach «SECRET»`, `SUSEConnect -r «SECRET»`, `subscription-manager register --org=1 --activationkey=«SECRET»`,
	`cloud_agent --customer-key=«SECRET»`, `puppet agent -t --psk «SECRET»`,
	`echo '«SECRET»' | realm join -U admin corp.example.com`, `realm join -U admin corp.example.com <<< '«SECRET»'`, `echo -n «SECRET» | adcli join --stdin-password corp`, `net ads join -U admin%«SECRET»`,
	`ipa-client-install -p bob -w «SECRET» --unattended`, `mount -t cifs //x/y /z -o username=bob,password=«SECRET»`, `rocommunity «SECRET»`, `wpa_passphrase ssid «SECRET»`,
	`openssl enc -d -k «SECRET» -in x`, `unzip -P «SECRET» x.zip`, `7z x -p«SECRET» x.7z`, `lftp -u bob,«SECRET» ftp://x`, `mongo -u bob -p «SECRET»`, `sqlplus bob/«SECRET»@db`,
	`vault write auth/approle/login role_id=x secret_id=«UUID»`, `vault operator unseal «SECRET»`, `rclone config create r s3 secret_access_key «SECRET»`, `mc alias set m https://x AKIAIOSFODNN7EXAMPLE «SECRET»`,
	`azcopy copy "https://x.blob.core.windows.net/c?sv=2020-08-04&sig=«SECRET»" /x`, `TEAMS=https://x.webhook.office.com/webhookb2/«UUID@UUID/IncomingWebhook/HASH/UUID»`,
	`./install.sh «dt0c01.ST2EY72KQINMH574WMNVI7YN.G3DFPBEJYMODIDAEX454M7YWBUVEFOWKPRVMWFASS64NFH52PX6BNDVFFM572RZM»`, `./install.sh «AKCp8SECRETSECRET»`,
	`./install.sh «ops_eyJSECRETSECRET»`, `./install.sh «l2Zil7I57E0Zfe.atlasv1.SECRETSECRETSECRET»`, `./install.sh «abc8Q~SECRETSECRETSECRET»`, `./install.sh «s.VVqc0Wf3LoXEI7sjXI9XZMS8»`, `./install.sh «ABSKSECRETSECRET»`,
}

func TestWhatAgentsAreInstalledWithGoes(t *testing.T) {
	values := strings.NewReplacer("SECRET", "Zq7TxW9kLm3Vb8Rn2Yc5", "HASH", "9f86d081884c7d659a2feaa0c55ad015", "UUID", "6ba7b810-9dad-11d1-80b4-00c04fd430c8")
	for _, line := range onNodes {
		line = values.Replace(line)
		_, after, _ := strings.Cut(line, "«")
		secret, _, _ := strings.Cut(after, "»")
		text := "#!/bin/bash\n" + strings.NewReplacer("«", "", "»", "").Replace(line) + "\nsystemctl start kubelet\n"
		clean := Text(text)
		expect.That(t, !strings.Contains(clean, secret) && strings.Contains(clean, "systemctl start kubelet"), "%q becomes %q", text, clean)
		stable(t, text, clean)
	}
}

// takesItsNeighbours are the cases in which lines without a secret are also removed: the rest of a
// command, of a block or of a table.
var takesItsNeighbours = map[string]bool{
	"flag on the next line": true, "heredoc into a variable": true, "yaml nested": true,
	"cloud-init chpasswd": true, "bottlerocket credentials": true,
}

func TestSecretsGoAndTheOtherLinesStay(t *testing.T) {
	for _, tc := range positive {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.NewReplacer("«", "", "»", "").Replace(tc.text)
			clean := Text(text)
			must.That(t, clean != text, "nothing is gone from %q", text)
			left := note.ReplaceAllString(clean, "")
			for rest := tc.text; ; {
				_, after, ok := strings.Cut(rest, "«")
				if !ok {
					break
				}
				secret, next, _ := strings.Cut(after, "»")
				for line := range strings.Lines(secret) {
					if v := strings.TrimSpace(line); len(v) > 2 && strings.Contains(left, v) {
						t.Errorf("%q is left in %q", v, clean)
					}
				}
				rest = next
			}
			inside := !strings.Contains(tc.text, "«") || takesItsNeighbours[tc.name]
			for line := range strings.SplitSeq(strings.ReplaceAll(tc.text, "\r", ""), "\n") {
				marked := strings.ContainsAny(line, "«»")
				if !inside && !marked && !strings.Contains(left, line) {
					t.Errorf("%q is gone from %q", line, clean)
				}
				if marked && !takesItsNeighbours[tc.name] {
					inside = strings.LastIndex(line, "«") > strings.LastIndex(line, "»")
				}
			}
			stable(t, text, clean)
		})
	}
}

// stable checks what must hold for every text.
func stable(t *testing.T, text, clean string) {
	t.Helper()
	again := Text(clean)
	expect.That(t, again == clean, "not stable: %q\nbecomes     %q", clean, again)
	a, b := strings.Count(text, "\n"), strings.Count(clean, "\n")
	expect.That(t, a == b, "%d line breaks became %d: %q", a, b, clean)
	expect.That(t, len(clean) <= 16*len(text)+64, "%d bytes became %d", len(text), len(clean))
}

func TestSaysTheKind(t *testing.T) {
	clean := Text("a\nDB_PASSWORD=hunter2\nkey AKIAIOSFODNN7EXAMPLE\n-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\ntoken: xyz12345\n")
	want := "a\nDB_PASSWORD=[redacted: password]\nkey [redacted: aws-access-key-id]\n[redacted: private-key]\n\n\ntoken: [redacted: token]\n"
	expect.Same(t, clean, want, "clean")
	for _, k := range Kinds {
		if note.FindString(k.note()) != k.note() {
			t.Errorf("%s is not known as a note", k.note())
		}
	}
	if clean := Text("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"); clean != "aws_secret_access_key = [redacted: aws-secret-key]" {
		t.Error(clean)
	}
}

func TestATextThatWouldNotSettleGoesAsAWhole(t *testing.T) {
	clean := everyLine("a\n\n b\n")
	expect.Equal(t, clean, "[redacted: text]\n\n[redacted: text]\n", "clean")
	stable(t, "a\n\n b\n", clean)
}

func TestExcerpt(t *testing.T) {
	for text, want := range map[string]string{
		"password: hunter2\nnext":        "password: [redacted: password]",
		strings.Repeat("é", 200) + "\n":  strings.Repeat("é", MaxWidth) + cut,
		strings.Repeat("é", MaxWidth):    strings.Repeat("é", MaxWidth),
		"one\ntwo":                       "one",
		"one \t\r\n":                     "one",
		"\x1b[31mred\x1b[0m and\tblue\n": "[31mred[0m and\tblue",
		"":                               "",
	} {
		expect.Equal(t, Excerpt(text), want, "%q", text)
	}
}

// A line that only the following ones show to be secret is not in an excerpt.
func TestExcerptOfTheMiddleOfASecret(t *testing.T) {
	expect.Equal(t, Excerpt("AAAA\nBBBB\nCCCC\n-----END RSA PRIVATE KEY-----\nnext\n"), "[redacted: private-key]", "excerpt")
}

func BenchmarkText(b *testing.B) {
	console := strings.Repeat("[   21.515151] cloud-init[1522]: + /etc/eks/bootstrap.sh demo --b64-cluster-ca "+ca[:64]+" --kubelet-extra-args '--node-labels=a=b'\n", 1000)[:64<<10]
	boot := ""
	files, err := filepath.Glob("../console/testdata/*.txt")
	must.Succeed(b, err)
	for _, file := range files {
		boot += string(must.Read(b, file))
	}
	texts := map[string]string{
		"console": console,
		"boot":    strings.Repeat(boot, 64<<10/len(boot)),
		"noise":   strings.Repeat("0123456789abcdef ABCDEF +/=\x00\n", 4000)[:64<<10],
		"clean":   strings.Repeat("I0102 03:04:05.678901    1234 server.go:415] \"Kubelet version\" kubeletVersion=\"v1.33.1-eks-abcdef0\"\n", 1000)[:64<<10],
		"secrets": strings.Repeat("export DB_PASSWORD=hunter2 token: 'abc' https://u:p@h\n", 2000)[:64<<10],
		"base64":  strings.Repeat(b64(strings.Repeat("plain text ", 6))+" ", 1000)[:64<<10],
		"one run": strings.Repeat("passwordtokenkey", 4096),
	}
	for _, a := range adversarial {
		texts["adversarial "+fmt.Sprintf("%.12q", a)] = strings.Repeat(a, 64<<10/len(a))
	}
	var names []string
	for n := range texts {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		b.Run(n, func(b *testing.B) {
			b.SetBytes(int64(len(texts[n])))
			for b.Loop() {
				Text(texts[n])
			}
		})
	}
}

// adversarial are texts that cost the most when repeated.
var adversarial = []string{
	"token=$(", "token:\"", "secret:{", "<<A\n", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n",
	"password: |\n", "password:\n - ", "https://a:", "<password>", "name: token\nvalue: x\n", "token=$token=", "echo ",
	"echo a>token ", "curl -u ", "Authorization: ", "\\\"password\\\":\\\"", "value=", "$6$a$", "kind: Secret\ndata:\n",
	"chpasswd<<", "token=`", "-----END PRIVATE KEY-----\n", "a\\\n", "echo x | chpasswd ", "eyJ", "token='a'", "\"token\":[",
	"data:\n ", "token=@'\n", "content: x\n", "token = (\"", "--value x ", "\"kind\":\"Secret\"", "token=${", "AAAA\n", "@tcp(", "mysql -p ", "convertto-securestring ",
	"=|| password", "=| # password", "password=|| eval ", "- curl\n", "['curl','-u',", "[curl, -u ", "[--token, ", "- - curl\n",
	"- curl\n- \n", "[@\"\n", "- curl\n- @\"\n",
}

// The limit is loose, since the machines that run tests are busy. A cost that grew with the square
// of the length would far exceed it.
func TestCostIsBounded(t *testing.T) {
	const size = 64 << 10
	for _, a := range adversarial {
		for _, text := range []string{"curl " + strings.Repeat(a, size/len(a)) + "\n\"@\n", strings.Repeat(a, size/len(a)), strings.Repeat(a+"\n", size/(len(a)+1)), "\"" + strings.Repeat(a+" ", size/(len(a)+1))} {
			began := time.Now()
			clean := Text(text)
			took := time.Since(began)
			expect.That(t, took <= 2*time.Second, "%d bytes of %q took %s", size, a, took)
			expect.That(t, len(clean) <= 16*len(text), "%d bytes of %q became %d", size, a, len(clean))
		}
	}
}

func TestANameThatAnnouncesASecretDropsTheWholeValue(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"DB_PASSWORD", "hunter2", "[redacted: password]"},
		{"DB_PASSWORD", `"hunter2" and more`, "[redacted: password]"},
		{"password", "\n  hunter2\n", "[redacted: password]"},
		{"Name", "web", "web"},
		{"Name", "token: xyz12345", "token: [redacted: token]"},
		{"said password=hunter2", "payments", "payments"},
		{"password", "true", "true"},
		{"password", "[redacted: token]", "[redacted: token]"},
	} {
		expect.Equal(t, Named(tt.name, tt.value), tt.want, "%s: %q became", tt.name, tt.value)
	}
}
