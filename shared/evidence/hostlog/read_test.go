package hostlog_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/hostlog"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func TestSignsNameTheirSection(t *testing.T) {
	log, ok := hostlog.Read(string(must.Read(t, "testdata/al2023-full-disk.txt")))
	if want := time.Date(2026, 3, 10, 11, 58, 2, 0, time.UTC); !ok || !log.At.Equal(want) {
		t.Errorf("%v, of %s, want %s", ok, log.At, want)
	}
	got := roll.Map(log.Console.Found, func(f console.Found) string {
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", f.From, f.Sign, f.Detail))
	})
	want := []string{
		"kernel OutOfMemory java",
		"nodeadm NodeadmRan", "nodeadm NodeadmDone",
		"containerd DiskFull containerd",
		"kubelet KubeletFailed kubelet.service", "kubelet KubeletStarted kubelet.service",
	}
	expect.That(t, slices.Equal(got, want), "got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	if f := log.Console.Found[0]; f.Where() != "kernel log" {
		t.Errorf("the line is in the %s", f.Where())
	}
}

// The journal's lines have no year, and are in UTC.
func TestSignsAreDated(t *testing.T) {
	for _, tt := range []struct{ printed, line, want string }{
		{"2026-03-10T11:58:02Z", "Mar 10 11:31:07", "2026-03-10T11:31:07Z"},
		{"2026-01-01T00:20:00Z", "Dec 31 23:50:00", "2025-12-31T23:50:00Z"},
		{"2028-02-29T11:58:02Z", "Feb 29 11:31:07", "2028-02-29T11:31:07Z"},
		{"2026-03-10T11:58:02Z", "Mar  9 23:59:59", "2026-03-09T23:59:59Z"},
		{"2026-03-10T11:58:02Z", "Mar 10 12:31:07", ""}, // of another time zone
		{"", "Mar 10 11:31:07", ""},
	} {
		log, _ := hostlog.Read("==== rollcall: host logs of " + tt.printed + " ====\n==== rollcall: kernel ====\n" + tt.line + " ip-10-0-1-5 kernel: Out of memory: Killed process 4821 (java) total-vm:1kB\n")
		want, _ := time.Parse(time.RFC3339, tt.want)
		must.That(t, len(log.Console.Found) == 1, "%+v", log)
		expect.That(t, log.Console.Found[0].At.Equal(want), "%s, printed at %s: %s", tt.line, tt.printed, log.Console.Found[0].At)
	}
}

func TestDisks(t *testing.T) {
	const gib = 1 << 30
	for _, tt := range []struct {
		name, df, inodes string
		full, out        bool
	}{
		{"space", "/dev/nvme0n1p1 20959212 5000000 15959212 24% /", "/dev/nvme0n1p1 10485760 90000 10395760 1% /", false, false},
		{"none left", "/dev/nvme0n1p1 20959212 20959212 0 100% /", "/dev/nvme0n1p1 180 90 90 50% /", true, true},
		{"a little below", "/dev/nvme0n1p1 20959212 20942829 16383 100% /", "", true, false},
		{"as much as is enough", "/dev/nvme0n1p1 20959212 20942828 16384 100% /", "", false, false},
		{"none left but for root", "/dev/root 20145724 19121340 0 100% /", "", false, false},
		{"none left for root either", "/dev/root 20145724 20129341 0 100% /", "", true, false},
		{"no inodes", "/dev/nvme0n1p1 20959212 5000000 15959212 24% /", "/dev/nvme0n1p1 1310720 1310620 100 100% /\n/dev/nvme1n1 1310720 1310621 99 100% /var/lib/containerd", false, true},
		{"just enough inodes", "/dev/nvme0n1p1 20959212 5000000 15959212 24% /", "/dev/nvme0n1p1 1310720 1310620 100 100% /", false, false},
		{"one of two", "/dev/nvme0n1p1 20959212 20959212 0 100% /\n/dev/nvme1n1 20959212 5000000 15959212 24% /var/lib/containerd", "/dev/nvme0n1p1 1310720 1310621 99 100% /\n/dev/nvme1n1 1310720 90000 1220720 7% /var/lib/containerd", true, true},
		{"without numbers", "/dev/nvme0n1p1 20959212 20959212 - - /\n/dev/nvme1n1 - - 0 - /var/lib/containerd", "", false, false},
		{"not mounted", "/dev/nvme0n1p1 20959212 20959212 0 100% -", "", false, false},
		{"inodes without a limit", "/dev/nvme0n1p1 20959212 5000000 15959212 24% /", "/dev/nvme0n1p1 0 0 0 - /", false, false},
		{"not a row", "df: /var/lib/kubelet: Transport endpoint is not connected\n/dev/nvme0n1p1 20959212 209", "", false, false},
	} {
		log, ok := hostlog.Read("==== rollcall: df ====\nFilesystem 1024-blocks Used Available Capacity Mounted on\n" + tt.df + "\n\n==== rollcall: df-i ====\nFilesystem Inodes IUsed IFree IUse% Mounted on\n" + tt.inodes + "\n")
		if got := slices.ContainsFunc(log.Disks, hostlog.Disk.Full); !ok || got != tt.full {
			t.Errorf("%s: full %v, want %v: %+v", tt.name, got, tt.full, log.Disks)
		}
		got := slices.ContainsFunc(log.Disks, hostlog.Disk.OutOfInodes)
		expect.That(t, got == tt.out, "%s: out of inodes %v, want %v: %+v", tt.name, got, tt.out, log.Disks)
		if tt.name == "space" && (len(log.Disks) != 1 || log.Disks[0].Size/gib != 19 || log.Disks[0].Mount != "/") {
			t.Errorf("%+v", log.Disks)
		}
	}
}

// A program may print lines that look like those of the script. The journal indents what follows the
// first line of a message.
func TestALogCannotPretendToBeAnotherSection(t *testing.T) {
	const mark = "==== rollcall: %s ====\n"
	log, _ := hostlog.Read(fmt.Sprintf(mark+mark+mark+mark+mark, "host logs of 2026-03-10T11:58:02Z", "df", "kernel", "cloud-init", "df") +
		"/dev/nvme0n1p1 20959212 20959212 0 100% /\n" +
		fmt.Sprintf("      "+mark+mark, "kubelet", "host logs of 2020-01-01T00:00:00Z") +
		"[FAILED] Failed to start kubelet.service - Kubernetes Kubelet.\n")
	expect.That(t, len(log.Disks) == 0 && log.At.Year() == 2026, "%+v", log)
	f, ok := log.Console.First(console.KubeletFailed)
	expect.That(t, ok && f.From == "cloud-init", "%+v", log.Console.Found)
}

func TestOtherTextHasNoLogs(t *testing.T) {
	for _, text := range []string{"", "sh: syntax error\n", "\n==== rollcall: host logs of 2026-03-10T11:58:02Z ====\n\n==== rollcall: no systemd ====\n"} {
		_, ok := hostlog.Read(text)
		expect.That(t, !ok, "%q has logs", text)
	}
}

// carriers are lines with signs in which a secret may be.
var carriers = []string{
	"Mar 10 11:00:00 ip-10-0-1-5 cloud-init[1990]: write config: db_password='%s': No space left on device",
	`Mar 10 11:00:01 ip-10-0-1-5 nodeadm[1619]: {"level":"fatal","msg":"Command failed","error":"x {\"secret_access_key\": \"%s\"} y"}`,
	`Mar 10 11:00:02 ip-10-0-1-5 kubelet[2857]: E0310 11:21:04.199967    2857 run.go:74] "command failed" err="failed to parse kubelet flag: --auth-token=%s"`,
	"Mar 10 11:00:03 ip-10-0-1-5 kernel: Kernel panic - not syncing: api_key=%s",
	`Mar 10 11:00:04 ip-10-0-1-5 cloud-init[1990]: Could not connect to the endpoint URL: "https://user:%s@proxy.example.com/x"`,
}

func TestNoSecretIsInWhatIsRead(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		secret := fmt.Sprintf("q%dX%dz7", r.Uint64(), r.Uint64())
		text := "==== rollcall: cloud-init ====\n"
		for _, c := range carriers {
			text += fmt.Sprintf(c, secret) + "\n"
		}
		log, _ := hostlog.Read(text)
		must.That(t, len(log.Console.Found) >= 4, "%+v", log)
		all := fmt.Sprintf("%+v", log)
		must.That(t, !strings.Contains(all, secret), "%s in %s", secret, all)
	}
}

// The script runs with programs that print much, fail, or are missing, and its output is shorter than
// what SSM returns.
func TestTheScriptFitsIntoWhatSSMReturns(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil { // the script's condition: see below
		t.Log("this host has no systemd, so the script's condition is left out")
	}
	script := strings.Replace(hostlog.Script, "[ ! -d /run/systemd/system ]", "false", 1)
	must.That(t, script != hostlog.Script, "the script has another condition")
	run := func(programs map[string]string) string {
		dir := t.TempDir()
		for name, body := range programs {
			must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700))
		}
		c := exec.CommandContext(t.Context(), shell, "-c", script)
		c.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
		out, err := c.Output()
		must.Succeed(t, err)
		return string(out)
	}
	const much = `i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo "Mar 10 11:00:00 ip-10-0-1-5 kubelet[7]: line $i of $*"; done`
	for name, programs := range map[string]map[string]string{
		"much": {"journalctl": much, "df": much}, "failures": {"journalctl": "echo broken >&2; exit 1", "df": "exit 1"},
	} {
		out := run(programs)
		log, ok := hostlog.Read(out)
		n := utf8.RuneCountInString(out)
		expect.That(t, n < hostlog.MaxChars && ok && !log.At.IsZero(), "%s: %d characters, %v, of %s", name, n, ok, log.At)
		if name != "much" {
			continue
		}
		for _, want := range []string{"line 3000 of -q -b --no-pager -o short --utc -k --since=-3h\n", "line 3000 of -q -b --no-pager -o short --utc -u cloud-init-main -u cloud-init-local -u cloud-init -u cloud-init-network -u cloud-config -u cloud-final\n", "line 3000 of -q -b --no-pager -o short --utc --since=-3h -u kubelet -u snap.kubelet-eks.daemon\n"} {
			expect.That(t, strings.Contains(out, want), "the end %q is missing", want)
		}
		for line := range strings.Lines(out) {
			if strings.HasSuffix(line, "\n") && strings.Contains(line, "line") && !strings.HasPrefix(line, "Mar 10") {
				t.Errorf("a line without its beginning: %q", line)
			}
		}
	}
	if out, err := exec.CommandContext(t.Context(), shell, "-c", strings.Replace(hostlog.Script, "! -d /run/systemd/system", "1", 1)).Output(); err != nil || !strings.HasSuffix(string(out), "\n==== rollcall: no systemd ====\n") {
		t.Errorf("without systemd it prints %q: %v", out, err)
	}
	expect.That(t, !strings.Contains(hostlog.Script, "{{"), "SSM replaces what is in double braces")
}
