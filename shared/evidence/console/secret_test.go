package console

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"rollcall/tests/harness/must"
)

// carriers are lines that are signs and may contain a secret, in forms that package redact promises
// to find.
var carriers = []string{
	"[FAILED] Failed to start app --password=%s.service.",
	"[    9.000001] cloud-init[7]: write config: db_password='%s': No space left on device",
	`nodeadm[7]: fatal cli/main.go:46 Command failed {"error": "bad kubelet flags: --token=%s"}`,
	`nodeadm[7]: {"level":"fatal","msg":"Command failed","error":"x {\"secret_access_key\": \"%s\"} y"}`,
	"[    9.000001] cloud-init[7]: 2024-03-20T15:00:46+0000 [eks-bootstrap] ERROR: --kubelet-extra-args='--auth-token=%s'",
	"early-boot-config[7]: Error parsing TOML user data: password = \"%s\"",
	`cloud-init[7]: Could not connect to the endpoint URL: "https://user:%s@proxy.example.com/x"`,
	"[    9.000001] Kernel panic - not syncing: api_key=%s",
	"x[7]: failed to pull image \"https://aws:%s@111122223333.dkr.ecr.eu-west-1.amazonaws.com/x:1\"",
	"[FAILED] Failed to start \x1b[0;1;39mexport MY_SECRET=%s\x1b[0m.",
}

func secretOf(r *rand.Rand) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	b := make([]byte, 12+r.IntN(24))
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	b[0], b[len(b)-1] = 'q', '7'
	return string(b)
}

func TestNoSecretIsInAnExcerptOrADetail(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := strings.Split(load(t, "al2023-no-egress"), "\n")
	for range 300 {
		secret := secretOf(r)
		var lines []string
		for _, c := range carriers {
			lines = append(lines, noise[r.IntN(len(noise))], fmt.Sprintf(c, secret))
		}
		// A key block, whose lines are secret because of the first. Its body is a sign.
		lines = append(lines, "-----BEGIN RSA PRIVATE KEY-----", "[FAILED] Failed to start "+secret+".", "-----END RSA PRIVATE KEY-----")
		got := Read(strings.Join(lines, "\n"))
		must.That(t, len(got.Found) >= len(carriers)/2, "only %d signs", len(got.Found))
		for _, f := range got.Found {
			must.That(t, !strings.Contains(f.Excerpt, secret) && !strings.Contains(f.Detail, secret), "%s in %+v", secret, f)
		}
	}
}
