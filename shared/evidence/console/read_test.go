package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// load reads a log of testdata, in which escape and carriage return are written as their symbols.
func load(t testing.TB, name string) string {
	t.Helper()
	b := must.Read(t, "testdata/"+name+".txt")
	return strings.NewReplacer("␛", "\x1b", "␍", "\r").Replace(string(b))
}

// brief formats a finding: "KernelPanic: Fatal exception".
func brief(f Found) string {
	return string(f.Sign) + roll.Behind(": ", f.Detail)
}

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		log   string
		want  Log
		found []string
	}{
		{
			log:  "al2-healthy",
			want: Log{Lines: 40, Boots: 1, OS: "al2", Arch: "amd64", KubeletVersion: "1.29.3"},
			found: []string{
				"24 BootstrapRan",
				"31 KubeletStarted: kubelet.service",
				"33 BootFinished: cloud-init",
				"35 BootFinished: multi-user.target",
				"40 BootFinished: login prompt",
			},
		},
		{
			log:  "al2-describe-timeout",
			want: Log{Lines: 20, OS: "al2", Arch: "arm64"},
			found: []string{
				"4 BootstrapRan",
				"8 EndpointUnreachable: eks.us-west-2.amazonaws.com",
				"9 BootstrapFailed: line 358",
				"10 UserScriptFailed: part-001: 255",
				"11 CloudInitFailed: scripts_user",
				"13 BootFinished: cloud-init",
				"14 CloudInitFailed: cloud-final.service",
				"20 BootFinished: login prompt",
			},
		},
		{
			log:  "al2-out-of-memory",
			want: Log{Lines: 17},
			found: []string{
				"11 OutOfMemory: stress-ng (big)",
				"12 TaskHung: kworker/u4:2",
				"15 CPUStuck: kubelet",
				"16 CPUStuck",
				"17 OutOfMemory: kubelet",
			},
		},
		{
			log:  "al2023-healthy",
			want: Log{Lines: 31, Boots: 1, OS: "al2023", Arch: "arm64", KubeletVersion: "1.30.2"},
			found: []string{
				"10 NodeadmRan",
				"21 BootFinished: cloud-init",
				"24 KubeletStarted: kubelet.service",
				"25 NodeadmDone",
				"26 BootFinished: multi-user.target",
				"31 BootFinished: login prompt",
			},
		},
		{
			log:  "al2023-no-egress",
			want: Log{Lines: 19, Boots: 1, OS: "al2023", Arch: "amd64", KubeletVersion: "1.33.7"},
			found: []string{
				"3 NodeadmRan",
				"12 APIRetries: EC2/DescribeInstances",
				"14 EndpointUnreachable: ec2.ap-south-1.amazonaws.com",
				"14 NodeadmFailed: operation error EC2: DescribeInstances, exceeded maximum number of attempts, 30, " +
					"https response error StatusCode: 0, RequestID: , request send failed, " +
					`Post "https://ec2.ap-south-1.amazonaws.com/": dial tcp 52.95.86.32:443: i/o timeout`,
				"15 NodeadmFailed: nodeadm-config.service",
				"17 DependencyFailed: nodeadm-run.service",
				"18 UnitFailed: amazon-cloudwatch-agent.service - Amazon CloudWatch Agent",
				"19 BootFinished: cloud-init",
			},
		},
		{
			log:  "al2023-old-user-data",
			want: Log{Lines: 13, OS: "al2023"},
			found: []string{
				"2 NodeadmFailed: nodeadm-config.service",
				"3 NodeadmRan",
				`3 NodeConfigInvalid: no kind "NodeConfig" is registered for version "node.eks.aws/v1alpha" in scheme "scheme.go:15"`,
				"4 NodeadmFailed: no config in chain",
				"4 NodeConfigMissing",
				"6 DependencyFailed: nodeadm-run.service",
				"7 BootstrapRan",
				"9 BootstrapRemoved",
				"11 CloudInitFailed: scripts_user",
				"12 BootFinished: cloud-init",
				"13 CloudInitFailed: cloud-final.service",
			},
		},
		{
			log:  "bottlerocket-healthy",
			want: Log{Lines: 16, Boots: 1, OS: "bottlerocket", KubeletVersion: "1.33"},
			found: []string{
				"5 BottlerocketBooted: aws-k8s-1.33",
				"15 KubeletStarted: kubelet.service",
				"16 BootFinished: multi-user.target",
			},
		},
		{
			log:  "bottlerocket-bad-toml",
			want: Log{Lines: 15, Boots: 1, OS: "bottlerocket", KubeletVersion: "1.28"},
			found: []string{
				"3 BottlerocketBooted: aws-k8s-1.28",
				"4 BottlerocketFailed: early-boot-config: Provider error: Error parsing TOML user data: " +
					"expected a table key, found a right bracket at line 1 column 1",
				"5 BottlerocketFailed: early-boot-config.service",
				"7 DependencyFailed: Bottlerocket â¦nd dynamic configuration complete",
				"9 ContainerdFailed: containerd.service",
				"10 DependencyFailed: kubelet.service",
				"12 UnitFailed: containerd runtime for host containers",
				"14 BottlerocketFailed: sundog: Setting generator 'schnauzer settings.host-containers.admin.source' " +
					"failed with exit code 1 - stderr: Failed to render template",
				"15 BottlerocketFailed: pluto.service",
			},
		},
		{
			log:  "bottlerocket-no-ec2",
			want: Log{Lines: 5, OS: "bottlerocket", KubeletVersion: "1.32"},
			found: []string{
				"1 BottlerocketBooted: aws-k8s-1.32-standard",
				"2 NetworkFailed: systemd-networkd-wait-online.service",
				"3 BottlerocketFailed: pluto: Timed out retrieving private DNS name from EC2: deadline has elapsed",
				"4 BottlerocketFailed: pluto.service",
			},
		},
		{
			log:  "ubuntu-no-bootstrap",
			want: Log{Lines: 13, Boots: 1, OS: "ubuntu", Arch: "amd64"},
			found: []string{
				"5 BootstrapMissing",
				"6 CloudInitFailed: scripts_user",
				"8 BootFinished: cloud-init",
				"9 CloudInitFailed: cloud-final.service",
				"13 BootFinished: login prompt",
			},
		},
		{
			log: "windows-ready",
			want: Log{
				Lines: 14, OS: "windows",
			},
			found: []string{"14 BootFinished: EC2Launch"},
		},
		{
			log:  "panic-and-reboot",
			want: Log{Lines: 11, Boots: 2, OS: "al2023", Arch: "amd64"},
			found: []string{
				"3 NodeadmRan",
				"4 FilesystemFailed: nvme0n1p1",
				"6 FilesystemFailed: nvme1n1",
				"7 KernelPanic: Fatal exception",
				"11 KernelPanic: VFS: Unable to mount root fs on unknown-block(0,0)",
			},
		},
		{log: "misleading", want: Log{Lines: 31}},
	} {
		t.Run(tc.log, func(t *testing.T) {
			text := load(t, tc.log)
			got := Read(text)
			var found []string
			for _, f := range got.Found {
				found = append(found, fmt.Sprintf("%d %s", f.Line, brief(f)))
				expect.That(t, f.Excerpt != "", "no excerpt: %+v", f)
			}
			expect.Same(t, found, tc.found, "found")
			got.Found, got.Up = nil, 0
			expect.Same(t, got, tc.want, "the signs")
		})
	}
}

func TestUpIsOfTheLastBoot(t *testing.T) {
	const first = "[    0.000000] Linux version 6.12.68 (gcc)\n[90000.250000] eth0: up\n"
	for text, want := range map[string]time.Duration{
		first: 90000*time.Second + 250*time.Millisecond,
		first + "[    0.000000] Linux version 6.12.68 (gcc)\n[    7.500000] eth0: up\nip-10-0-1-5 login: \n": 7500 * time.Millisecond,
		"[90000.250000] eth0: up\n[   81.000000] an older line, printed again\n":                             90000*time.Second + 250*time.Millisecond,
		"ip-10-0-1-5 login: \ndmesg[7]: [90000.250000] eth0: up\n":                                           0,
	} {
		expect.Equal(t, Read(text).Up, want, "%s", text)
	}
}

func TestLatestIsOfTheLastLineWithTheSign(t *testing.T) {
	const killed = "[%s] Out of memory: Killed process 4711 (%s) total-vm:1kB\n"
	text := "[    0.000000] Linux version 6.12.68\n" + fmt.Sprintf(killed, "   81.200000", "java") + fmt.Sprintf(killed, "10000.500000", "node") + fmt.Sprintf(killed, "20000.250000", "java")
	found := Read(text).Found
	must.That(t, len(found) == 2, "got %d findings, want one of each program", len(found))
	for _, f := range found {
		expect.Equal(t, f.Latest, 20000*time.Second+250*time.Millisecond, "%s", f.Detail)
	}
	for _, f := range Read(text + "Out of memory: Killed process 4711 (java) total-vm:1kB\n").Found {
		expect.That(t, f.Latest == 0, "%s: got %s for a line without a timestamp", f.Detail, f.Latest)
	}
}

// /tmp is a part of the root disk, except on Amazon Linux 2023.
func TestAFullTmpIsAFullDiskWhereItIsOnADisk(t *testing.T) {
	const (
		al2023 = "[    0.000000] Linux version 6.1.94-99.176.amzn2023.x86_64 (mockbuild@ip-10-0-0-1)\n"
		al2    = "[    0.000000] Linux version 5.10.219-208.866.amzn2.x86_64 (mockbuild@ip-10-0-0-1)\n"
	)
	for _, tt := range []struct {
		system, line string
		full         bool
	}{
		{al2023, "cloud-init[2103]: cp: error writing '/tmp/agent.tar.gz': No space left on device", false},
		{al2023, "cloud-init[2103]: OSError: [Errno 28] No space left on device: '/tmp/tmp4k2'", false},
		{al2023, "cloud-init[2103]: tee: /tmp/x.log: No space left on device", false},
		{al2023, "cloud-init[2103]: cp: error writing '/var/tmp/agent.tar.gz': No space left on device", true},
		{al2023, "cloud-init[2103]: tee: /var/log/x.log: No space left on device", true},
		{al2, "cloud-init[2103]: cp: error writing '/tmp/agent.tar.gz': No space left on device", true},
		{"", "cloud-init[2103]: cp: error writing '/tmp/agent.tar.gz': No space left on device", true},
	} {
		expect.Equal(t, Read(tt.system+tt.line+"\n").Has(DiskFull), tt.full, "%s%s", tt.system, tt.line)
	}
}
