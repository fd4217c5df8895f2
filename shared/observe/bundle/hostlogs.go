package bundle

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"rollcall/shared/evidence/hostlog"
	"rollcall/shared/evidence/redact"
)

// HasHostLogs reports whether the bundle has the logs of any host.
func (b *Bundle) HasHostLogs() bool { return tableOf[[]byte](b.c, folderHostLogs).held }

// commandInvocations returns the command that printed the logs of a host.
func (c *contents) commandInvocations(in *ssm.ListCommandInvocationsInput) (*ssm.ListCommandInvocationsOutput, error) {
	if _, err := c.document(folderHostLogs, in.InstanceId); err != nil {
		return nil, err
	}
	return &ssm.ListCommandInvocationsOutput{CommandInvocations: []types.CommandInvocation{{
		CommandId: in.InstanceId, InstanceId: in.InstanceId, Comment: aws.String(hostlog.Comment), Status: types.CommandInvocationStatusSuccess,
	}}}, nil
}

func (c *contents) commandOutput(in *ssm.GetCommandInvocationInput) (*ssm.GetCommandInvocationOutput, error) {
	text, err := c.document(folderHostLogs, in.InstanceId)
	return &ssm.GetCommandInvocationOutput{
		CommandId: in.CommandId, InstanceId: in.InstanceId, Comment: aws.String(hostlog.Comment), Status: types.CommandInvocationStatusSuccess,
		StandardOutputContent: aws.String(string(text)),
	}, err
}

// recordCommandOutput records what a command of Rollcall's printed, and nothing of other commands.
func (c *contents) recordCommandOutput(in *ssm.GetCommandInvocationInput, out *ssm.GetCommandInvocationOutput) {
	if aws.ToString(out.Comment) == hostlog.Comment && out.Status == types.CommandInvocationStatusSuccess {
		tableOf[[]byte](c, folderHostLogs).set(aws.ToString(in.InstanceId), []byte(redact.Log(aws.ToString(out.StandardOutputContent))))
	}
}
