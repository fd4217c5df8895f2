package userdata

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rollcall/tests/harness/expect"
)

// outline formats a Boot, with a line for each field that is not zero, so that a case shows in a
// few lines exactly what was found.
func outline(b Boot) string {
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	for name, set := range map[string]bool{"empty": b.Empty, "encoded twice": b.EncodedTwice} {
		if set {
			say("%s", name)
		}
	}
	for _, f := range b.Faults {
		say("fault: %s [%s %s]", f, f.By, f.Effect)
	}
	for _, j := range b.Joins {
		head := string(j.Tool)
		if j.Conditional {
			head += ", in a branch"
		}
		outlineJoin(say, j, fmt.Sprintf("%s by %s", j.Part, head))
		if len(j.Missing) > 0 {
			say("  missing: %s", strings.Join(j.Missing, " "))
		}
		if len(j.Karpenter) > 0 {
			say("  by Karpenter: %s", strings.Join(j.Karpenter, " "))
		}
	}
	if b.Proxy {
		say("proxy")
	}
	for _, e := range b.Edits {
		say("edit: %s", e)
	}
	for _, f := range b.Fetches {
		say("fetch: %+v", f)
	}
	return out.String()
}

// outlineJoin writes the usual cluster of the cases beside its head.
func outlineJoin(say func(string, ...any), c Join, head string) {
	if c.Cluster.Is("demo") {
		head, c.Cluster = head+", cluster demo", Setting{}
		if c.Endpoint.Is(apiServer) && c.CA == CertificateOf(exampleCA) {
			head, c.Endpoint, c.CA = head+", its endpoint and CA", Setting{}, Setting{}
		}
	}
	say("%s", head)
	set := func(name string, s Setting) {
		switch {
		case s.State == Given:
			say("  %s: %s", name, s.Value)
		case s.State != Absent:
			say("  %s: (%s)", name, s.State)
		}
	}
	set("cluster", c.Cluster)
	set("endpoint", c.Endpoint)
	if c.CA.State != Absent {
		say("  ca: %s %.8s", c.CA.State, c.CA.Value)
	}
	if c.InstanceIDName {
		say("  instance id name")
	}
	outlineKubelet(say, set, c.Kubelet)
}

func outlineKubelet(say func(string, ...any), set func(string, Setting), k Kubelet) {
	for _, f := range k.Flags {
		text := "  flag " + f.Name
		if f.State == Given {
			text += "=" + f.Value
		} else if f.State != Absent {
			text += fmt.Sprintf(" (%s)", f.State)
		}
		for _, a := range f.Anomalies {
			text += "; " + string(a)
		}
		if f.GoneBy > 0 {
			text += fmt.Sprintf("; gone by 1.%d", f.GoneBy)
		}
		say("%s", text)
	}
	if k.FlagsDynamic {
		say("  more flags, computed")
	}
	if k.Loss != "" {
		say("  lost: %s", k.Loss)
	}
	for _, t := range k.Taints {
		text := fmt.Sprintf("  taint %s=%s:%s by %s", t.Key, t.Value, t.Effect, t.Source)
		if t.Fault != "" {
			text += "; " + string(t.Fault)
		}
		if t.Dropped {
			text += "; dropped"
		}
		say("%s", text)
	}
	if k.TaintConflict {
		say("  taints in conflict")
	}
	if k.TaintsDynamic {
		say("  taints computed")
	}
	for _, l := range k.Labels {
		text := "  label " + l.Key + "=" + l.Value
		if l.Fault != "" {
			text += "; " + string(l.Fault)
		}
		say("%s", text)
	}
	set("hostname", k.HostnameOverride)
	set("fail cgroup v1", k.FailCgroupV1)
}

type bootCase struct {
	name string
	data string
	want string
}

func checkBoots(t *testing.T, cases []bootCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			want := strings.TrimPrefix(strings.ReplaceAll(tt.want, "\n\t\t\t\t", "\n"), "\n")
			diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(outline(Read([]byte(tt.data)))))
			expect.That(t, diff == "", "(-want +got)\n%s", diff)
		})
	}
}

func TestBootTellsWhatWasGiven(t *testing.T) {
	b := Read([]byte("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"))
	expect.That(t, b.Size == 39 && b.SHA256 == "935c1a86d1a661554acb5ce9d44e26a659b4382cb2dac251b8f56c810e5161ef" && !b.Empty, "got %+v", b)
	expect.That(t, b.Uses(BootstrapScript) && !b.Uses(Nodeadm) && !b.Unread(), "got %+v", b)
	unread := Read([]byte("#include\nhttps://example.com/x\n"))
	expect.That(t, unread.Unread() && !unread.Uses(BootstrapScript), "got %+v", unread)
}

func TestRegisteredTaintsAreThoseThatTheKubeletSees(t *testing.T) {
	b := Read([]byte(inMIME("application/node.eks.aws", nodeConfigHead+"  kubelet: {flags: ['--register-with-taints=a=b:NoSchedule,c:Never']}\n", "application/node.eks.aws", karpenterOwn)))
	got := b.Joins[0].Kubelet.Registered()
	want := []Taint{{Key: "a", Value: "b", Effect: "NoSchedule", Source: TaintFlag, Part: "part 1"}}
	expect.Same(t, got, want, "taints")
	if f, ok := b.Joins[0].Kubelet.Flag("register-with-taints"); !ok || f.Part != "part 1" || f.Has(Repeated) {
		t.Errorf("got %+v, %v", f, ok)
	}
	_, ok := b.Joins[0].Kubelet.Flag("max-pods")
	expect.That(t, !ok, "a flag that is not there")
}

func TestCertificatesAreComparedWithoutTheirLineBreaks(t *testing.T) {
	one := CertificateOf(exampleCA)
	other := CertificateOf(b64("-----BEGIN CERTIFICATE-----\r\nY2\r\nE=\r\n-----END CERTIFICATE-----"))
	expect.That(t, one == other && one.State == Given, "%+v differs from %+v", one, other)
	expect.That(t, CertificateOf("Y2E=") != CertificateOf("Y2I="), "what is no certificate is compared, too")
	for text, state := range map[string]State{"": Absent, " \n": Absent, "not base64!": Malformed, "Y2E=": Given, unknown: Dynamic} {
		got := CertificateOf(text)
		expect.That(t, got.State == state, "%q: got %+v, want %q", text, got, state)
	}
}

func TestACertificateOfABundleIsThatOfItsOwn(t *testing.T) {
	pem := func(body string) string {
		return "-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n"
	}
	one, other := CertificateOf(b64(pem("Y2E="))), CertificateOf(b64(pem("Y2I=")))
	both := CertificateOf(b64(pem("Y2E=") + "# a comment\n" + pem("Y2I=") + pem("Y2E=")))
	expect.Equal(t, both, Setting{Value: one.Value + " " + other.Value, State: Given}, "a bundle of two certificates, one of them twice")
	many := ""
	for i := range 2 * maxList {
		many += pem(b64(strconv.Itoa(i)))
	}
	expect.Equal(t, CertificateOf(b64(many)), Setting{State: Withheld}, "more certificates than are kept")
}

func TestSettingsThatAreNotGivenDoNotOverride(t *testing.T) {
	given := Setting{Value: "a", State: Given}
	if got := given.over(Setting{}); got != given || !got.Is("a") || got.Is("b") {
		t.Errorf("got %+v", got)
	}
	got := given.over(Setting{State: Dynamic})
	expect.That(t, got.State == Dynamic && !got.Is(""), "got %+v", got)
}

func TestFaultReadsAsASentence(t *testing.T) {
	f := Fault{Part: "part 2", Format: NodeConfig, Reason: UnknownField, Line: 6, Field: "spec.cluster", By: ByNodeadm, Effect: Skipped}
	expect.Equal(t, f.String(), "part 2, line 6 (nodeconfig) has a field that does not exist: spec.cluster", "f.String()")
}

// Each kubelet flag is in one list, so that it is known whether it takes a value.
func TestFlagListsAreDisjoint(t *testing.T) {
	for _, name := range booleanFlags {
		if slices.Contains(presentFlags, name) || slices.Contains(keptFlags, name) && !isKubeletFlag(name) {
			t.Errorf("%s takes a value and takes none", name)
		}
	}
	for _, name := range keptFlags {
		expect.That(t, isKubeletFlag(name) && KeptFlag(name), "%s is no flag of the kubelet, or its value is not kept", name)
	}
	for name := range goneFlags {
		expect.That(t, !slices.Contains(presentFlags, name), "%s is there and gone", name)
	}
}

// Excessive input leaves a Boot small.
func TestBootIsBounded(t *testing.T) {
	flags := strings.Repeat("--node-labels=a=b,c=d --register-with-taints=a=b:NoSchedule ", 100)
	for name, data := range map[string]string{
		"calls":         "#!/bin/bash\nX='" + flags + "'\nf() { /etc/eks/bootstrap.sh demo --kubelet-extra-args \"$X\"; }\n" + strings.Repeat("f\n", 5000),
		"taints":        "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args --register-with-taints=" + strings.Repeat("a=b:NoSchedule,", 3000) + "\n",
		"documents":     inMIME(slices.Repeat([]string{"application/node.eks.aws", nodeConfigHead + "  x: 1\n  kubelet: {flags: [--max-pods=1]}\n"}, 60)...),
		"unknown field": nodeConfigHead + strings.Repeat("  x: 1\n", 5000),
		"aliases":       nodeConfigHead + "  kubelet: {flags: &f [&a '" + flags + "'" + strings.Repeat(", *a", 5000) + "], config: {registerWithTaints: &t [" + strings.Repeat("{key: a}, ", 2000) + "]}}\n",
		"settings":      "[settings.kubernetes]\nnode-taints = {a = [" + strings.Repeat("'b:NoSchedule', ", 3000) + "]}\n",
		"fetches":       "#!/bin/bash\n" + strings.Repeat("curl https://example.com/amd64/a | sh\n", 1500),
	} {
		t.Run(name, func(t *testing.T) {
			r := newReader()
			r.read([]byte(data))
			b := r.finish([]byte(data))
			checkBounds(t, b)
			expect.That(t, len(b.Joins)+len(b.Fetches) != 0, "nothing was found")
		})
	}
}

// An unclosed quote includes the next flag, whose value may be a secret.
func TestWhatAnOpenQuoteSwallowsIsNotKept(t *testing.T) {
	const secret = "hunter2hunter2"
	b := Read([]byte("#!/bin/bash\n/etc/eks/bootstrap.sh payments --kubelet-extra-args '--node-labels=\"a=b --manifest-url-header=Authorization:" + secret + "'\n"))
	text := fmt.Sprintf("%+v", b)
	expect.That(t, !strings.Contains(text, secret), "it is kept: %s", text)
}

// If the only script fails, joining failed too where it is the script's last command.
func TestJoinThatComesLast(t *testing.T) {
	const call = "/etc/eks/bootstrap.sh demo"
	script := func(lines ...string) string { return "#!/bin/bash\n" + strings.Join(lines, "\n") + "\n" }
	const mime = "text/x-shellscript"
	for text, want := range map[string]bool{
		script("yum install -y agent", call):             true,
		script(call):                                     true,
		inMIME(mime, script(call)):                       true,
		script(call, "systemctl start agent"):            false,
		script(call + " &"):                              false,
		script("! " + call):                              false,
		script(call + " || true"):                        false,
		script("if test -f /go; then " + call + "; fi"):  false,
		script("join() { "+call+"; }", "join"):           true,
		script(call, "exit 0"):                           false,
		script("exit 0", call):                           false,
		script(call, "if"):                               false,
		inMIME(mime, script(call), mime, script("date")): false,
	} {
		b := Read([]byte(text))
		last := slices.ContainsFunc(b.Joins, func(j Join) bool { return j.Last })
		if last != want || want && len(b.Joins) != 1 {
			t.Errorf("%q: last %t, want %t, of %d ways to join", text, last, want, len(b.Joins))
		}
	}
}
