package collect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/evidence/hostlog"
	"rollcall/shared/ledger"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// logsOf is what the script prints on a host whose kubelet does not start.
const logsOf = "\n==== rollcall: host logs of 2026-03-02T11:59:30Z ====\n\n==== rollcall: df ====\n/dev/nvme0n1p1 20959212 5000000 15959212 24% /\n\n==== rollcall: kubelet ====\n" +
	"Mar  2 11:59:01 ip-10-0-1-5 kubelet[2857]: E0302 11:59:01.199967    2857 run.go:74] \"command failed\" err=\"failed to parse kubelet flag: --token=hunter2hunter2\"\n"

// agents is an emulated SSM: agents by instance, and the commands sent to them.
type agents struct {
	*account
	online   map[string]ssmtypes.PingStatus
	prints   map[string]string // what each prints; one that is missing never answers
	commands []ssmtypes.CommandInvocation
}

func (a *account) withAgents() *agents {
	return &agents{account: a, online: map[string]ssmtypes.PingStatus{}, prints: map[string]string{}}
}

func (s *agents) SendCommand(_ context.Context, in *ssm.SendCommandInput, _ ...func(*ssm.Options)) (*ssm.SendCommandOutput, error) {
	if aws.ToString(in.DocumentName) != "logs" || aws.ToString(in.Comment) != hostlog.Comment || aws.ToInt32(in.TimeoutSeconds) < 30 || len(in.InstanceIds) != 1 {
		panic(fmt.Sprintf("not the command: %+v", in))
	}
	id := in.InstanceIds[0]
	if s.online[id] != ssmtypes.PingStatusOnline {
		return nil, apiError("InvalidInstanceId", "Instances not in a valid state for account")
	}
	return &ssm.SendCommandOutput{Command: &ssmtypes.Command{CommandId: s.sent(id, at)}}, nil
}

// sent adds a command that was sent at that time.
func (s *agents) sent(id string, at time.Time) *string {
	i := ssmtypes.CommandInvocation{
		CommandId: aws.String(fmt.Sprintf("c-%d", len(s.commands))), InstanceId: aws.String(id), Comment: aws.String(hostlog.Comment), DocumentName: aws.String("logs"),
		RequestedDateTime: aws.Time(at), Status: ssmtypes.CommandInvocationStatusInProgress, StatusDetails: aws.String("InProgress"),
	}
	if _, ok := s.prints[id]; ok {
		i.Status, i.StatusDetails = ssmtypes.CommandInvocationStatusSuccess, aws.String("Success")
	}
	s.commands = append(s.commands, i)
	return i.CommandId
}

func (s *agents) ListCommandInvocations(_ context.Context, in *ssm.ListCommandInvocationsInput, _ ...func(*ssm.Options)) (*ssm.ListCommandInvocationsOutput, error) {
	var found []ssmtypes.CommandInvocation
	for _, c := range s.commands {
		keep := aws.ToString(c.InstanceId) == aws.ToString(in.InstanceId)
		for _, f := range in.Filters {
			switch f.Key {
			case ssmtypes.CommandFilterKeyDocumentName:
				keep = keep && aws.ToString(c.DocumentName) == aws.ToString(f.Value)
			case ssmtypes.CommandFilterKeyInvokedAfter:
				after, err := time.Parse(time.RFC3339, aws.ToString(f.Value))
				keep = keep && err == nil && !c.RequestedDateTime.Before(after)
			}
		}
		if keep {
			found = append(found, c)
		}
	}
	out := &ssm.ListCommandInvocationsOutput{}
	out.CommandInvocations, out.NextToken = cut(found, in.NextToken, 1)
	return out, nil
}

func (s *agents) GetCommandInvocation(_ context.Context, in *ssm.GetCommandInvocationInput, _ ...func(*ssm.Options)) (*ssm.GetCommandInvocationOutput, error) {
	i := slices.IndexFunc(s.commands, func(c ssmtypes.CommandInvocation) bool {
		return aws.ToString(c.CommandId) == aws.ToString(in.CommandId) && aws.ToString(c.InstanceId) == aws.ToString(in.InstanceId)
	})
	if i < 0 {
		return nil, apiError("InvocationDoesNotExist", "The command ID and managed node ID you specified didn't match any invocations.")
	}
	c := s.commands[i]
	return &ssm.GetCommandInvocationOutput{CommandId: c.CommandId, InstanceId: c.InstanceId, Comment: c.Comment, Status: c.Status, StatusDetails: c.StatusDetails, StandardOutputContent: aws.String(s.prints[aws.ToString(c.InstanceId)])}, nil
}

func (s *agents) DescribeInstanceInformation(_ context.Context, in *ssm.DescribeInstanceInformationInput, _ ...func(*ssm.Options)) (*ssm.DescribeInstanceInformationOutput, error) {
	if n := aws.ToInt32(in.MaxResults); n < 5 || n > 50 {
		panic("pages of 5 to 50")
	}
	out := &ssm.DescribeInstanceInformationOutput{}
	for _, id := range in.Filters[0].Values {
		if status, ok := s.online[id]; ok {
			out.InstanceInformationList = append(out.InstanceInformationList, ssmtypes.InstanceInformation{InstanceId: aws.String(id), PingStatus: status, LastPingDateTime: aws.Time(at.Add(-time.Hour)), PlatformType: ssmtypes.PlatformTypeLinux})
		}
	}
	return out, nil
}

// readLogs reads the logs of the host of an instance that never registered.
func readLogs(t *testing.T, s *agents, in Input, change func(*HostLogs)) (evidence.Fact[hostlog.Log], *evidence.Evidence) {
	t.Helper()
	h := HostLogs{Document: "logs", Ask: true}
	if change != nil {
		change(&h)
	}
	c := New(Options{AWS: s.answers(s), Kube: s.account, HostLogs: h})
	e := c.Collect(t.Context(), in)
	return e.Instances[instanceID(1)].HostLogs, e
}

func late() (*agents, Input) {
	a := healthy()
	a.launch(1, pool)
	f := found(1, roll.Unregistered, pool)
	f.Since = at.Add(-time.Hour)
	return a.withAgents(), Input{Snapshot: seen(f), Findings: []roll.Finding{f}}
}

// A check asks and goes on. The next one reads the answer, and asks no more.
func TestHostLogsAreAskedForAndReadByALaterCheck(t *testing.T) {
	s, in := late()
	id := string(instanceID(1))
	s.online[id], s.prints[id] = ssmtypes.PingStatusOnline, logsOf
	first, _ := readLogs(t, s, in, nil)
	expect.That(t, first.State == evidence.NotAsked && strings.Contains(first.Why, "not read yet") && s.calls["ssm:SendCommand"] == 1, "the first check: %+v, %v", first, s.calls)
	second, _ := readLogs(t, s, in, nil)
	f, ok := second.Value.Console.First(console.KubeletRefused)
	expect.That(t, second.Known() && ok && f.From == "kubelet" && s.calls["ssm:SendCommand"] == 1, "the second check: %+v, %v", second, s.calls)
	expect.That(t, !strings.Contains(fmt.Sprintf("%+v", second), "hunter2"), "a secret in %+v", second)
}

func TestWhyHostLogsAreNotRead(t *testing.T) {
	id := string(instanceID(1))
	online := func(s *agents) { s.online[id] = ssmtypes.PingStatusOnline }
	ended := func(status ssmtypes.CommandInvocationStatus, ago time.Duration) func(*agents, *Input) {
		return func(s *agents, _ *Input) {
			online(s)
			s.sent(id, at.Add(-ago))
			s.commands[0].Status, s.commands[0].StatusDetails = status, aws.String(string(status))
		}
	}
	for _, tt := range []struct {
		name   string
		make   func(*agents, *Input)
		change func(*HostLogs)
		state  evidence.State
		why    string
		sends  int
	}{
		{"the setting is off", func(s *agents, _ *Input) { online(s) }, func(h *HostLogs) { *h = HostLogs{} }, evidence.NotAsked, "", 0},
		{"without an agent", func(*agents, *Input) {}, nil, evidence.Absent, "", 0},
		{"the agent is silent", func(s *agents, _ *Input) { s.online[id] = ssmtypes.PingStatusConnectionLost }, nil, evidence.Unreadable, "does not answer (ConnectionLost", 0},
		{"before an act", func(s *agents, _ *Input) { online(s) }, func(h *HostLogs) { h.Ask = false }, evidence.NotAsked, "no command has been sent", 0},
		{"the host hangs", func(s *agents, _ *Input) { online(s); s.sent(id, at.Add(-5*time.Minute)) }, nil, evidence.NotAsked, "InProgress, not read yet", 0},
		{"the host hangs for hours", func(s *agents, in *Input) {
			online(s)
			s.sent(id, at.Add(-4*time.Hour))
			s.instances[0].LaunchTime = aws.Time(at.Add(-5 * time.Hour))
		}, nil, evidence.NotAsked, "not read yet", 1},
		{"it timed out", ended(ssmtypes.CommandInvocationStatusTimedOut, 10*time.Minute), nil, evidence.Unreadable, "TimedOut", 0},
		{"it failed", ended(ssmtypes.CommandInvocationStatusFailed, 10*time.Minute), nil, evidence.Unreadable, "Failed", 0},
		{"a command from before the launch", func(s *agents, _ *Input) {
			online(s)
			s.prints[id] = logsOf
			s.sent(id, at.Add(-2*time.Hour))
		}, nil, evidence.NotAsked, "not read yet", 1},
		{"a command from before a reboot", func(s *agents, in *Input) {
			online(s)
			s.prints[id] = logsOf
			s.sent(id, at.Add(-20*time.Minute))
			in.State.Actions = []ledger.Action{{Do: "reboot", Instance: instanceID(1), At: at.Add(-10 * time.Minute)}}
		}, nil, evidence.NotAsked, "not read yet", 1},
		{"a command from after its reboot, and before other acts", func(s *agents, in *Input) {
			online(s)
			s.prints[id] = logsOf
			s.sent(id, at.Add(-20*time.Minute))
			in.State.Actions = []ledger.Action{
				{Do: "reboot", Instance: instanceID(1), At: at.Add(-25 * time.Minute)}, {Do: "cordon", Instance: instanceID(1), At: at.Add(-10 * time.Minute)},
				{Do: "reboot", Instance: instanceID(2), At: at.Add(-10 * time.Minute)},
			}
		}, nil, evidence.Known, "", 0},
		{"somebody else's command", func(s *agents, _ *Input) {
			online(s)
			s.prints[id] = "secrets"
			s.sent(id, at.Add(-20*time.Minute))
			s.commands[0].Comment = aws.String("")
		}, nil, evidence.NotAsked, "not read yet", 1},
		{"another output", func(s *agents, _ *Input) {
			online(s)
			s.prints[id] = "bash: not found"
			s.sent(id, at.Add(-20*time.Minute))
		}, nil, evidence.Unreadable, "has no logs", 0},
		{"without the permission to ask", func(s *agents, _ *Input) { online(s); s.fail["ssm:SendCommand"] = denied("ssm:SendCommand") }, nil, evidence.Unreadable, "ssm:SendCommand", 1},
		{"without the permission to list", func(s *agents, _ *Input) {
			online(s)
			s.fail["ssm:ListCommandInvocations"] = denied("ssm:ListCommandInvocations")
		}, nil, evidence.Unreadable, "ssm:ListCommandInvocations", 0},
		{"without the permission to read", func(s *agents, _ *Input) {
			online(s)
			s.prints[id] = logsOf
			s.sent(id, at.Add(-20*time.Minute))
			s.fail["ssm:GetCommandInvocation"] = denied("ssm:GetCommandInvocation")
		}, nil, evidence.Unreadable, "ssm:GetCommandInvocation", 0},
		{"without the permission to see agents", func(s *agents, _ *Input) {
			online(s)
			s.fail["ssm:DescribeInstanceInformation"] = denied("ssm:DescribeInstanceInformation")
		}, nil, evidence.Unreadable, "ssm:DescribeInstanceInformation", 0},
		{"still watched", func(s *agents, in *Input) { online(s); in.Findings[0].Stage, in.Whole = roll.Watching, true }, nil, evidence.NotAsked, "", 0},
		{"watched, and asked for by name", func(s *agents, in *Input) { online(s); in.Findings[0].Stage, in.Whole = roll.Watching, true }, func(h *HostLogs) { h.Only = instanceID(1) }, evidence.NotAsked, "not read yet", 1},
		{"another one is asked for", func(s *agents, _ *Input) { online(s) }, func(h *HostLogs) { h.Only = instanceID(2) }, evidence.NotAsked, "", 0},
		{"Windows", func(s *agents, _ *Input) { online(s); s.instances[0].Platform = "windows" }, nil, evidence.NotAsked, "Windows", 0},
		{"Bottlerocket", func(s *agents, _ *Input) {
			online(s)
			s.images[0].Name = aws.String("bottlerocket-aws-k8s-1.36-x86_64-v1.55.0-abcdef")
		}, nil, evidence.NotAsked, "Bottlerocket", 0},
		{"stopped", func(s *agents, _ *Input) { online(s); s.instances[0].State.Name = "stopped" }, nil, evidence.NotAsked, "is stopped", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, in := late()
			tt.make(s, &in)
			got, e := readLogs(t, s, in, tt.change)
			if got.State != tt.state || !strings.Contains(got.Why, tt.why) || tt.why == "" && got.Why != "" {
				t.Errorf("%s: %q, want %s: %q", got.State, got.Why, tt.state, tt.why)
			}
			n := s.calls["ssm:SendCommand"]
			expect.That(t, n == tt.sends, "%d commands were sent, want %d", n, tt.sends)
			for why := range e.Unread {
				t.Errorf("an act may be held for %q", why)
			}
		})
	}
}

// What was read once is used while the answer to a later question is missing.
func TestHostLogsAreAskedForAgainWhileAFindingLasts(t *testing.T) {
	s, in := late()
	id := string(instanceID(1))
	s.instances[0].LaunchTime = aws.Time(at.Add(-5 * time.Hour))
	s.online[id], s.prints[id] = ssmtypes.PingStatusOnline, logsOf
	s.sent(id, at.Add(-logsAgain))
	got, _ := readLogs(t, s, in, nil)
	expect.That(t, got.Known() && s.calls["ssm:SendCommand"] == 1, "%+v, %v", got, s.calls)
	s.commands[1].Status = ssmtypes.CommandInvocationStatusInProgress
	if got, _ := readLogs(t, s, in, nil); !got.Known() || s.calls["ssm:SendCommand"] != 1 {
		t.Errorf("while the second command runs: %+v, %v", got, s.calls)
	}
	s.online[id] = ssmtypes.PingStatusConnectionLost
	s.commands = s.commands[:1]
	if got, _ := readLogs(t, s, in, nil); !got.Known() {
		t.Errorf("while the agent is silent: %+v", got)
	}
}

func TestACheckAsksFewHosts(t *testing.T) {
	a, in := manyUnregistered(60, [2]roll.Group{pool, "nodepool/batch"})
	s := a.withAgents()
	for n, f := range in.Findings {
		s.online[string(f.Instance)] = ssmtypes.PingStatusOnline
		f.Group = roll.Group(fmt.Sprintf("nodepool/p%d", n%20)) // each is a sample of its own
		in.Findings[n] = f
	}
	_, e := readLogs(t, s, in, nil)
	n := s.calls["ssm:SendCommand"]
	expect.That(t, n == logsSent, "%d commands were sent, want %d", n, logsSent)
	for _, f := range in.Findings {
		l := e.Instances[f.Instance].HostLogs
		expect.That(t, !l.Known() && l.Why != "", "%s: %+v", f.Instance, l)
	}
}

// SSM that never answers costs a check a few seconds, and nothing of its other evidence.
func TestAHangingSSMDelaysACheckLittle(t *testing.T) {
	for _, action := range []string{"ssm:ListCommandInvocations", "ssm:DescribeInstanceInformation", "ssm:SendCommand"} {
		synctest.Test(t, func(t *testing.T) {
			s, in := late()
			s.online[string(instanceID(1))] = ssmtypes.PingStatusOnline
			s.silent = map[string]bool{action: true}
			began := time.Now()
			got, e := readLogs(t, s, in, nil)
			took := time.Since(began)
			expect.That(t, took <= logsTime, "%s: it took %s", action, took)
			expect.That(t, got.State == evidence.Unreadable && len(e.Unread) == 0, "%s: %+v, %v", action, got, e.Unread)
			i := e.Instances[instanceID(1)]
			expect.That(t, i.Console.Known() && i.UserData.Known(), "%s: %+v", action, i)
		})
	}
}

// On the command line the answer is waited for, and no longer than said.
func TestHostLogsCanBeWaitedFor(t *testing.T) {
	id := string(instanceID(1))
	for _, answers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, in := late()
			s.online[id] = ssmtypes.PingStatusOnline
			s.heard = func(what string) {
				<-time.After(10 * time.Millisecond) // of the test's own clock
				if answers && what == "ssm:GetCommandInvocation "+id && s.calls["ssm:GetCommandInvocation"] == 3 {
					s.prints[id] = logsOf
					s.commands[0].Status = ssmtypes.CommandInvocationStatusSuccess
				}
			}
			began := time.Now()
			got, _ := readLogs(t, s, in, func(h *HostLogs) { h.Wait = 20 * time.Second })
			expect.That(t, got.Known() == answers && time.Since(began) <= 35*time.Second, "answers %v: %+v after %s", answers, got, time.Since(began))
		})
	}
}
