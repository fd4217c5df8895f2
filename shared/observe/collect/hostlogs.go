package collect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/hostlog"
	"rollcall/shared/observe/deadline"
	"rollcall/shared/roll"
	"rollcall/shared/roll/memo"
)

// HostLogs say whether and how the logs of hosts are read, through the SSM agents on them. The zero
// value reads none.
//
// By default, no collection waits for a host: it reads the output of an earlier command, or sends
// one whose output a later collection reads. Missing logs hold no act, since a host that does not
// answer needs one most.
type HostLogs struct {
	// Document is the name of the SSM document that prints the logs; "" reads none. Its output counts
	// only if the command has the comment hostlog.Comment.
	Document string
	// Ask sends a command to hosts without an output. Otherwise only the output of commands that
	// others sent is read.
	Ask bool
	// Parameters are those of the document.
	Parameters map[string][]string
	// Only is the one instance whose logs are read; "" reads those of the sample that are past
	// watching.
	Only roll.InstanceID
	// Wait is how long to wait for the output of the commands sent, by the system's clock.
	Wait time.Duration
}

const (
	// logsAgain is the time after which the logs are read again while a finding lasts. The script
	// prints the journal of that time.
	logsAgain = 3 * time.Hour
	// logsTime bounds the reading of all logs: the check has to go on, and to notify. If SSM is
	// unreachable, all of its calls take longer.
	logsTime = 15 * time.Second
	// logsSent is how many commands are sent per check.
	logsSent = 10
	// logsDelivery is the time in seconds within which a command must reach its agent.
	logsDelivery = 60
	// agentPages bounds the listing of up to sampleTotal agents, agentPage per page.
	agentPages, agentPage = 2, 50
)

// extra returns an action whose failures hold no act.
func (l *look) extra(name string) *action {
	a := l.secret(name)
	a.extra = true
	return a
}

// readHostLogs reads the logs of the sample's hosts as far as commands have printed them, and asks
// for the others.
func (l *look) readHostLogs() {
	if l.HostLogs.Document == "" {
		return
	}
	ctx, cancel := deadline.In(l.ctx, logsTime+l.HostLogs.Wait)
	defer cancel()
	l.ctx = ctx // this task is the last one
	list, get := l.extra("ssm:ListCommandInvocations"), l.extra("ssm:GetCommandInvocation")
	var unasked []roll.InstanceID
	for _, f := range l.logged() {
		if why := l.unlogged(f.Instance); why != "" {
			l.hostLogs(f.Instance, evidence.Skipped[hostlog.Log](why))
			continue
		}
		fact, ask := l.printed(list, get, f)
		l.hostLogs(f.Instance, fact)
		if ask && l.HostLogs.Ask {
			unasked = append(unasked, f.Instance)
		}
	}
	sent := l.askHosts(unasked)
	if l.HostLogs.Wait > 0 {
		l.await(get, sent)
	}
}

// logged returns a finding for each host whose logs are read.
func (l *look) logged() (out []*roll.Finding) {
	ids, skipped := l.sampledOf(needConsole)
	for _, f := range l.needing(needConsole) {
		wanted := f.Stage.Past(roll.Watching) || l.Free
		if l.HostLogs.Only != "" {
			wanted = f.Instance == l.HostLogs.Only
		}
		i := slices.Index(ids, f.Instance)
		if why, ok := skipped[f.Instance]; ok && wanted {
			l.hostLogs(f.Instance, evidence.Skipped[hostlog.Log](why))
		}
		if wanted && i >= 0 {
			out, ids = append(out, f), slices.Delete(slices.Clone(ids), i, i+1)
		}
	}
	return out
}

func (l *look) hostLogs(id roll.InstanceID, fact evidence.Fact[hostlog.Log]) {
	l.instance(id, func(i *evidence.Instance) { i.HostLogs = fact })
}

// unlogged returns why the script does not fit a host, "" if it does as far as is known. The agent of
// Bottlerocket runs in a container, which has neither the host's journal nor its programs.
// https://github.com/bottlerocket-os/bottlerocket-control-container
func (l *look) unlogged(id roll.InstanceID) string {
	c := l.config(id)
	switch {
	case !c.Known():
		return c.Missing("instance " + string(id))
	case l.Free:
		return ""
	case c.Value.State != "running":
		return fmt.Sprintf("%s is %s", id, c.Value.State)
	case c.Value.Platform == "windows":
		return "Windows has other logs, which are not read"
	case l.ev.Images[c.Value.Image].Value.Family == "bottlerocket":
		return "the SSM agent of Bottlerocket runs in a container, which has no access to the host's logs"
	}
	return ""
}

// printed returns the logs that a command printed for the finding, and whether to send another
// command.
func (l *look) printed(list, get *action, f *roll.Finding) (fact evidence.Fact[hostlog.Log], ask bool) {
	since := l.onset(f)
	in := &ssm.ListCommandInvocationsInput{InstanceId: aws.String(string(f.Instance)), Filters: []types.CommandFilter{
		{Key: types.CommandFilterKeyDocumentName, Value: aws.String(l.HostLogs.Document)},
		{Key: types.CommandFilterKeyInvokedAfter, Value: aws.String(since.UTC().Format(time.RFC3339))},
	}}
	all, end := pages(list, maxPages, l.ssm.ListCommandInvocations, in, func(out *ssm.ListCommandInvocationsOutput) []types.CommandInvocation { return out.CommandInvocations })
	if end.err != nil {
		return evidence.Failed[hostlog.Log](end.why), false
	}
	all = slices.DeleteFunc(all, func(i types.CommandInvocation) bool {
		return aws.ToString(i.Comment) != hostlog.Comment || !l.Free && aws.ToTime(i.RequestedDateTime).Before(since)
	})
	slices.SortStableFunc(all, func(a, b types.CommandInvocation) int {
		return aws.ToTime(b.RequestedDateTime).Compare(aws.ToTime(a.RequestedDateTime))
	})
	if len(all) == 0 {
		return evidence.Skipped[hostlog.Log]("no command has been sent for them yet"), true
	}
	ask = l.ev.At.Sub(aws.ToTime(all[0].RequestedDateTime)) >= logsAgain
	if i := slices.IndexFunc(all, func(i types.CommandInvocation) bool { return i.Status == types.CommandInvocationStatusSuccess }); i >= 0 {
		return l.output(get, f.Instance, aws.ToString(all[i].CommandId)), ask
	}
	return unprinted(f.Instance, all[0].Status, aws.ToString(all[0].StatusDetails), aws.ToTime(all[0].RequestedDateTime)), ask
}

// onset returns when the fault began, or when its instance was rebooted for it since; at most a day
// ago.
func (l *look) onset(f *roll.Finding) time.Time {
	at := cmp.Or(f.Began, f.Since)
	if launched := l.config(f.Instance).Value.Launched; f.Kind == roll.Unregistered && !launched.IsZero() {
		at = launched
	}
	for _, a := range l.in.State.Actions {
		if a.Instance == f.Instance && a.Do == "reboot" && a.At.After(at) {
			at = a.At
		}
	}
	if day := l.ev.At.Add(-24 * time.Hour); day.After(at) {
		return day
	}
	return at
}

// unprinted returns why a command has printed nothing: its agent has not run it yet, or did not.
func unprinted(id roll.InstanceID, status types.CommandInvocationStatus, details string, at time.Time) evidence.Fact[hostlog.Log] {
	why := fmt.Sprintf("they were asked of the SSM agent of %s at %s: %s", id, roll.Clock(at), cmp.Or(details, string(status)))
	switch status {
	case types.CommandInvocationStatusPending, types.CommandInvocationStatusInProgress, types.CommandInvocationStatusDelayed:
		return evidence.Skipped[hostlog.Log](why + ", not read yet")
	}
	return evidence.Failed[hostlog.Log](why)
}

// output reads what a command printed. It may hold secrets: only what hostlog.Log keeps leaves this
// function.
func (l *look) output(get *action, id roll.InstanceID, command string) evidence.Fact[hostlog.Log] {
	in := &ssm.GetCommandInvocationInput{CommandId: aws.String(command), InstanceId: aws.String(string(id))}
	return one(get, l.ssm.GetCommandInvocation, in, func(out *ssm.GetCommandInvocationOutput) evidence.Fact[hostlog.Log] {
		if out.Status != types.CommandInvocationStatusSuccess {
			return unprinted(id, out.Status, aws.ToString(out.StatusDetails), l.ev.At)
		}
		text := aws.ToString(out.StandardOutputContent)
		read := hostLogsRead.Get(memo.Of(text), func() *hostlog.Log {
			if log, ok := hostlog.Read(text); ok {
				return &log
			}
			return nil
		})
		if read == nil {
			return evidence.Failed[hostlog.Log](fmt.Sprintf("what the command %s printed on %s has no logs: it may have no systemd", command, id))
		}
		return evidence.Read(*read)
	})
}

// hostLogsRead caches what was read of recent outputs, nil for one without logs: each check reads the same.
var hostLogsRead = memo.Memo[memo.Key, *hostlog.Log]{Most: 256}

// askHosts sends the command to hosts whose SSM agents are online, and returns the commands by
// instance.
func (l *look) askHosts(ids []roll.InstanceID) map[roll.InstanceID]string {
	sent := map[roll.InstanceID]string{}
	if len(ids) == 0 {
		return sent
	}
	names := roll.Map(ids, func(id roll.InstanceID) string { return string(id) })
	in := &ssm.DescribeInstanceInformationInput{MaxResults: aws.Int32(agentPage), Filters: []types.InstanceInformationStringFilter{{Key: aws.String("InstanceIds"), Values: names}}}
	agents, end := pages(l.extra("ssm:DescribeInstanceInformation"), agentPages, l.ssm.DescribeInstanceInformation, in,
		func(out *ssm.DescribeInstanceInformationOutput) []types.InstanceInformation {
			return out.InstanceInformationList
		})
	for _, id := range ids {
		i := slices.IndexFunc(agents, func(a types.InstanceInformation) bool { return aws.ToString(a.InstanceId) == string(id) })
		switch {
		case end.err != nil:
			l.unanswered(id, evidence.Failed[hostlog.Log](end.why))
		case i < 0:
			l.unanswered(id, evidence.None[hostlog.Log]())
		case agents[i].PingStatus != types.PingStatusOnline:
			l.unanswered(id, evidence.Failed[hostlog.Log](fmt.Sprintf("the SSM agent of %s does not answer (%s since %s)", id, agents[i].PingStatus, roll.Clock(aws.ToTime(agents[i].LastPingDateTime)))))
		case len(sent) >= logsSent:
			l.unanswered(id, evidence.Skipped[hostlog.Log](fmt.Sprintf("the logs of %d hosts are asked for per check", logsSent)))
		default:
			if command := l.askHost(id); command != "" {
				sent[id] = command
			}
		}
	}
	return sent
}

// askHost sends the command to one host and returns its id. A role may be allowed to send it to some
// hosts only, so each is a call of its own.
func (l *look) askHost(id roll.InstanceID) string {
	out, end := ask(l.extra("ssm:SendCommand"), l.ssm.SendCommand, &ssm.SendCommandInput{
		DocumentName: aws.String(l.HostLogs.Document), InstanceIds: []string{string(id)}, Comment: aws.String(hostlog.Comment),
		TimeoutSeconds: aws.Int32(logsDelivery), Parameters: l.HostLogs.Parameters,
	})
	if end.err != nil {
		l.unanswered(id, evidence.Failed[hostlog.Log](end.why))
		return ""
	}
	l.unanswered(id, evidence.Skipped[hostlog.Log](fmt.Sprintf("they were asked of the SSM agent of %s at %s, not read yet", id, roll.Clock(l.ev.At))))
	if out.Command == nil {
		return ""
	}
	return aws.ToString(out.Command.CommandId)
}

// unanswered records why the logs are unknown, unless an earlier command printed them.
func (l *look) unanswered(id roll.InstanceID, fact evidence.Fact[hostlog.Log]) {
	l.instance(id, func(i *evidence.Instance) {
		if !i.HostLogs.Known() {
			i.HostLogs = fact
		}
	})
}

// await waits for the commands and reads what they printed.
func (l *look) await(get *action, sent map[roll.InstanceID]string) {
	ctx, cancel := deadline.In(l.ctx, l.HostLogs.Wait)
	defer cancel()
	waiter := ssm.NewCommandExecutedWaiter(l.ssm, func(o *ssm.CommandExecutedWaiterOptions) { o.MinDelay, o.MaxDelay = time.Second, 2*time.Second })
	for id, command := range sent {
		in := &ssm.GetCommandInvocationInput{CommandId: aws.String(command), InstanceId: aws.String(string(id))}
		if waiter.Wait(ctx, in, l.HostLogs.Wait) == nil || context.Cause(ctx) == nil {
			l.hostLogs(id, l.output(get, id, command))
		}
	}
}
