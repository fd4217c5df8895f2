package collect

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
	"rollcall/shared/roll"
	"rollcall/shared/roll/memo"
)

// readConsoles reads the console output of the sample, with one call per instance, or two for the
// first instance of a type that does not support the latest output.
func (l *look) readConsoles() {
	a := l.secret("ec2:GetConsoleOutput")
	ids, skipped := l.sampledOf(needConsole)
	for id, why := range skipped {
		l.instance(id, func(i *evidence.Instance) { i.Console = evidence.Skipped[console.Log](why) })
	}
	without := map[string]bool{} // types of instances
	for _, id := range ids {
		kind := l.config(id).Value.Type
		out, end := l.console(a, id, !without[kind])
		if awserr.IsUnsupported(end.err) {
			without[kind] = true
			out, end = l.console(a, id, false)
		}
		fact, at := consoleLog(id, out, end)
		l.instance(id, func(i *evidence.Instance) { i.Console, i.ConsoleAt = fact, at })
	}
}

func (l *look) console(a *action, id roll.InstanceID, latest bool) (*ec2.GetConsoleOutputOutput, outcome) {
	in := &ec2.GetConsoleOutputInput{InstanceId: aws.String(string(id))}
	if latest {
		in.Latest = aws.Bool(true)
	}
	return ask(a, l.ec2.GetConsoleOutput, in)
}

func consoleLog(id roll.InstanceID, out *ec2.GetConsoleOutputOutput, end outcome) (evidence.Fact[console.Log], time.Time) {
	switch {
	case end.gone:
		return evidence.None[console.Log](), time.Time{}
	case end.err != nil:
		return evidence.Failed[console.Log](end.why), time.Time{}
	}
	text, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(aws.ToString(out.Output)), ""))
	if err != nil {
		return evidence.Failed[console.Log](fmt.Sprintf("ec2:GetConsoleOutput of %s: the output is not valid base64", id)), time.Time{}
	}
	return evidence.Read(consoleLogs.Get(memo.Of(text), func() console.Log { return console.Read(string(text)) })), aws.ToTime(out.Timestamp).UTC()
}

// consoleLogs caches the logs of recently read console output, which changes at boot and rarely
// later.
var consoleLogs = memo.Memo[memo.Key, console.Log]{Most: 256}
