package bundle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/hostlog"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/observe/collect"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// agent is SSM with one command that printed a text.
type agent struct {
	text, comment string
	status        types.CommandInvocationStatus
}

func (p *agent) GetCommandInvocation(context.Context, *ssm.GetCommandInvocationInput, ...func(*ssm.Options)) (*ssm.GetCommandInvocationOutput, error) {
	return &ssm.GetCommandInvocationOutput{Status: p.status, Comment: aws.String(p.comment), StandardOutputContent: aws.String(p.text)}, nil
}

// keyLine is a line of a private key, whose beginning the logs lack.
const keyLine = "MIIEpAIBAAKCAQEA7bq2Yd1rmBqfWqQ0mY8o1VJkq9Zp2x5sT4u6v7w8x9y0zAAA"

// plantedLogs are the logs of a host in which each line of a key, and a password, are secret.
var plantedLogs = "\n==== rollcall: host logs of 2026-03-02T11:58:00Z ====\n\n==== rollcall: df ====\n/dev/nvme0n1p1 20959212 20959212 0 100% /\n\n==== rollcall: cloud-init ====\n" +
	"Mar  2 11:20:10 ip-10-0-1-5 cloud-init[99]: " + keyLine + "\n" +
	"Mar  2 11:20:10 ip-10-0-1-5 cloud-init[99]: " + keyLine + "\n" +
	"Mar  2 11:20:10 ip-10-0-1-5 cloud-init[99]: -----END RSA PRIVATE KEY-----\n" +
	"Mar  2 11:20:11 ip-10-0-1-5 cloud-init[99]: + export DB_PASSWORD=" + secret + "\n" +
	"Mar  2 11:20:12 ip-10-0-1-5 cloud-init[99]: " + token + "\n\n==== rollcall: kubelet ====\n" +
	"Mar  2 11:58:00 ip-10-0-1-5 kubelet[7]: E0302 11:58:00.1 7 run.go:74] \"command failed\" err=\"failed to parse kubelet flag: --token=" + secret + "\"\n"

func TestHostLogsAreWrittenWithoutSecretsAndReadAgain(t *testing.T) {
	const id = "i-0f100000000000001"
	record := func(p *agent) map[string][]byte {
		r := NewRecorder(captured)
		client := ssm.NewFromConfig(r.AWS(apistats.Intercept(aws.Config{}, apistats.Methods(p))))
		if _, err := client.GetCommandInvocation(t.Context(), &ssm.GetCommandInvocationInput{InstanceId: aws.String(id), CommandId: aws.String("c")}); err != nil {
			t.Fatal(err)
		}
		kept := fmt.Sprintf("%s", tableOf[[]byte](r.c, folderHostLogs).rows)
		expect.That(t, !leaks([]byte(kept)) && !strings.Contains(kept, keyLine), "the recorder holds %s", kept)
		return written(t, r)
	}
	file := documentName(folderHostLogs, id)
	for name, other := range map[string]*agent{
		"another command": {plantedLogs, "", types.CommandInvocationStatusSuccess}, "one that failed": {plantedLogs, hostlog.Comment, types.CommandInvocationStatusFailed},
	} {
		_, ok := record(other)[file]
		expect.That(t, !ok, "%s was recorded", name)
	}
	text := record(&agent{plantedLogs, hostlog.Comment, types.CommandInvocationStatusSuccess})[file]
	expect.That(t, !leaks(text) && !strings.Contains(string(text), keyLine) && strings.Count(string(text), "\n") == strings.Count(plantedLogs, "\n"), "written:\n%s", text)
	fsys := small(t)
	fsys[file] = asFS(map[string][]byte{file: text})[file]
	b := opened(t, fsys)
	if !b.HasHostLogs() || slices.Contains(b.Ignored(), folderHostLogs) {
		t.Errorf("the bundle ignores %v", b.Ignored())
	}
	s := &roll.Snapshot{At: captured, Cluster: roll.Cluster{ID: b.ClusterID()}}
	e := collect.New(collect.Options{AWS: b.AWS(), Kube: b.Kube(), Free: true, HostLogs: collect.HostLogs{Document: "host-logs"}}).Collect(t.Context(), collect.Input{
		Snapshot: s, Whole: true, Findings: []roll.Finding{{Kind: roll.Unregistered, Instance: id}, {Kind: roll.Unknown, Instance: "i-0f200000000000001", Node: node}},
	})
	logs := e.Instances[id].HostLogs
	want, _ := hostlog.Read(plantedLogs)
	expect.That(t, logs.Known() && fmt.Sprint(logs.Value) == fmt.Sprint(want) && len(want.Disks) == 1 && len(want.Console.Found) == 1 && !leaks([]byte(fmt.Sprintf("%+v", logs))), "read %+v, want %+v", logs, want)
	other := e.Instances["i-0f200000000000001"].HostLogs
	expect.That(t, other.State == evidence.Unreadable && strings.Contains(other.Why, "is not in the bundle"), "without a file: %+v", other)
	for why := range e.Unread {
		expect.That(t, !strings.Contains(why, "host-logs"), "an act may be held for %q", why)
	}
	plain := opened(t, small(t))
	expect.That(t, !plain.HasHostLogs(), "it has logs without the folder")
}
