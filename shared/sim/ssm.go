package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

type ssmAPI struct{ v *env }

// GetParameter reads the policy document.
func (s ssmAPI) GetParameter(ctx context.Context, in *ssm.GetParameterInput, _ ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	var document string
	err := s.v.call(ctx, "ssm:GetParameter", reads, "", func() error {
		if aws.ToString(in.Name) == policyParameter {
			document = s.v.a.dep.policy
		}
		return nil
	})
	s.v.inv.sawPolicy(document, err == nil)
	switch {
	case err != nil:
		return nil, err
	case document == "":
		return nil, &types.ParameterNotFound{Message: aws.String("Parameter " + aws.ToString(in.Name) + " not found.")}
	}
	return &ssm.GetParameterOutput{Parameter: &types.Parameter{Name: in.Name, Value: aws.String(document)}}, nil
}

const hostLogsDocument = "rollcall-HostLogsDocument-1A2B3C4D5E6F" // the name of the stack's document, if the scenario has host logs

// agent is how a machine's SSM agent behaves, whatever its kubelet does.
type agent string

const (
	agentAnswers agent = "answers"
	agentHangs   agent = "hangs" // online, and commands never end
	agentLost    agent = "lost"
	agentAbsent  agent = "absent"
)

func (m *machine) agent() agent {
	switch d := m.d.of("agent"); {
	case d.chance(0.6):
		return agentAnswers
	case d.chance(0.75):
		return agentHangs
	case d.chance(0.9):
		return agentLost
	}
	return agentAbsent
}

type command struct {
	id       string
	m        *machine
	at, done time.Time // done is zero if it never ends
	comment  string
}

func (c command) status(now time.Time) types.CommandInvocationStatus {
	switch {
	case c.done.IsZero() && now.Sub(c.at) > 2*time.Minute:
		return types.CommandInvocationStatusTimedOut
	case c.done.IsZero() || now.Before(c.done):
		return types.CommandInvocationStatusInProgress
	}
	return types.CommandInvocationStatusSuccess
}

// agentsAPI is Systems Manager as far as it runs commands. Sending one changes nothing on a machine.
type agentsAPI struct{ v *env }

// DescribeInstanceInformation returns the agents of the instances.
func (s agentsAPI) DescribeInstanceInformation(in *ssm.DescribeInstanceInformationInput, out *ssm.DescribeInstanceInformationOutput) error {
	for _, id := range in.Filters[0].Values {
		m := s.v.a.machines[id]
		if m == nil || m.state != running || m.agent() == agentAbsent {
			continue
		}
		i := types.InstanceInformation{InstanceId: aws.String(id), PingStatus: types.PingStatusOnline, LastPingDateTime: aws.Time(s.v.a.Now())}
		if m.agent() == agentLost {
			i.PingStatus, i.LastPingDateTime = types.PingStatusConnectionLost, aws.Time(m.launched)
		}
		out.InstanceInformationList = append(out.InstanceInformationList, i)
	}
	return nil
}

// SendCommand sends the stack's document to one instance; nothing else is allowed.
func (s agentsAPI) SendCommand(in *ssm.SendCommandInput, out *ssm.SendCommandOutput) error {
	if s.v.fn != inspect || aws.ToString(in.DocumentName) != hostLogsDocument || len(in.InstanceIds) != 1 || len(in.Parameters) > 0 {
		s.v.unsimulated(in)
	}
	m := s.v.a.machines[in.InstanceIds[0]]
	if m == nil || m.state != running {
		return badRequest("InvalidInstanceId", "Instances [%s] not in a valid state for account %s", in.InstanceIds[0], accountID)
	}
	a := s.v.a
	c := command{id: fmt.Sprintf("c-%d", len(a.commands)), m: m, at: a.Now(), comment: aws.ToString(in.Comment)}
	if m.agent() == agentAnswers {
		c.done = c.at.Add(m.d.of("command").nth(len(a.commands)).between(time.Second, 30*time.Second))
	}
	a.commands = append(a.commands, c)
	out.Command = &types.Command{CommandId: aws.String(c.id)}
	return nil
}

// ListCommandInvocations returns the commands sent to an instance.
func (s agentsAPI) ListCommandInvocations(in *ssm.ListCommandInvocationsInput, out *ssm.ListCommandInvocationsOutput) error {
	for _, c := range s.v.a.commands {
		if c.m.id == aws.ToString(in.InstanceId) {
			status := c.status(s.v.a.Now())
			out.CommandInvocations = append(out.CommandInvocations, types.CommandInvocation{CommandId: aws.String(c.id), InstanceId: in.InstanceId, Comment: aws.String(c.comment), RequestedDateTime: aws.Time(c.at), Status: status, StatusDetails: aws.String(string(status))})
		}
	}
	return nil
}

// GetCommandInvocation returns what a command printed.
func (s agentsAPI) GetCommandInvocation(in *ssm.GetCommandInvocationInput, out *ssm.GetCommandInvocationOutput) error {
	i := slices.IndexFunc(s.v.a.commands, func(c command) bool { return c.id == aws.ToString(in.CommandId) })
	if i < 0 {
		return badRequest("InvocationDoesNotExist", "The command ID and managed node ID you specified didn't match any invocations.")
	}
	c := s.v.a.commands[i]
	out.CommandId, out.InstanceId, out.Comment, out.Status = in.CommandId, in.InstanceId, aws.String(c.comment), c.status(s.v.a.Now())
	out.StatusDetails = aws.String(string(out.Status))
	if out.Status == types.CommandInvocationStatusSuccess {
		out.StandardOutputContent = aws.String(c.m.logs(c.done))
	}
	return nil
}

func (m *machine) logs(at time.Time) string {
	var out strings.Builder
	mark := func(name string) { fmt.Fprintf(&out, "\n==== rollcall: %s ====\n", name) }
	line := func(by, text string) {
		fmt.Fprintf(&out, "%s ip-%s %s: %s\n", at.UTC().Format(time.Stamp), shortID(m.d.of("host"), 8), by, text)
	}
	mark("host logs of " + at.UTC().Format(time.RFC3339))
	mark("df")
	out.WriteString("Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/nvme0n1p1 20959212 9000000 11959212 43% /\n")
	mark("kernel")
	if !m.pressure.IsZero() && m.ail == silent {
		line("kernel", "Out of memory: Killed process 48213 (java) total-vm:9183204kB, anon-rss:7214060kB, file-rss:0kB")
	}
	mark("kubelet")
	line("kubelet[2857]", "I0310 11:21:04.199967    2857 kubelet.go:2461] \"SyncLoop\"")
	return out.String()
}
