package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

func mcpCommand(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serve read-only tools to AI assistants, over standard input and output",
		Long: `Serves the tools check, findings, explain, evidence, lint and policy in the Model Context Protocol
(https://modelcontextprotocol.io), until standard input ends and all requests are answered. An MCP
client starts this command; the tools use the AWS credentials and the kubeconfig of its environment.

The tools only read. They return what rollcall check, explain, lint and policy check print with
--output json; findings and evidence return parts of it. An error, or an incomplete answer, is a
tool error with the text of the command line.`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			streams := &mcp.IOTransport{Reader: io.NopCloser(env.Stdin), Writer: unclosed{env.Stdout}}
			err := toolServer(env).Run(cmd.Context(), &answering{Transport: streams, most: answerTime})
			if err != nil {
				return fmt.Errorf("serve tools: %w", err)
			}
			return nil
		},
	}
}

// unclosed is a writer that stays open when the tools end.
type unclosed struct{ io.Writer }

// Close implements io.Closer.
func (unclosed) Close() error { return nil }

// answerTime is how long requests are still answered after standard input ended: a minute more
// than the default --timeout of any tool's command.
const answerTime = 6 * time.Minute

// answering is a transport that ends only when the requests that it read are answered, or most
// is over: a server cancels its pending requests when it can read no more.
type answering struct {
	mcp.Transport
	most time.Duration
}

// Connect implements mcp.Transport.
func (t *answering) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &answeringConnection{Connection: c, most: t.most, ended: ctx.Done(), answered: make(chan struct{}, 1), pending: map[jsonrpc.ID]bool{}}, err
}

type answeringConnection struct {
	mcp.Connection
	most     time.Duration
	ended    <-chan struct{} // that the command was interrupted
	answered chan struct{}   // receives after an answer

	mu      sync.Mutex
	pending map[jsonrpc.ID]bool // requests without an answer
}

// Read implements mcp.Connection.
func (c *answeringConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && r.Method != "subscriptions/listen" { // which has no answer until it is cancelled
		c.mu.Lock()
		c.pending[r.ID] = true
		c.mu.Unlock()
	}
	if errors.Is(err, io.EOF) {
		c.wait()
	}
	return m, err
}

// wait returns when no request is pending, most is over, or the command was interrupted.
func (c *answeringConnection) wait() {
	over := time.After(c.most)
	for c.waits() {
		select {
		case <-c.answered:
		case <-over:
			return
		case <-c.ended:
			return
		}
	}
}

func (c *answeringConnection) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) > 0
}

// Write implements mcp.Connection.
func (c *answeringConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.pending, r.ID)
		c.mu.Unlock()
		select {
		case c.answered <- struct{}{}:
		default: // wait counts again anyway
		}
	}
	return err
}

const instructions = `Rollcall finds EC2 instances of EKS clusters that are not healthy nodes, and says why. ` +
	`All tools only read. Start with findings; then ask explain about one instance or group. ` +
	`If a result has complete: false, something could not be read: do not take it as the whole list.`

// toolServer returns the server of the tools. None of their inputs raises the mode.
func toolServer(env Environment) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "rollcall", Title: "Rollcall", Version: version()},
		&mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	addTool[checkInput](s, env, "check", "Check clusters once: findings with their causes, what would be done or is held, registration times. One JSON document for each cluster.", nil)
	addTool[checkInput](s, env, "findings", "List the findings of clusters: what is wrong since when, each cause with its fix, without the evidence.", withoutEvidence)
	addTool[explainInput](s, env, "explain", "Explain one instance, group, NodeClaim or node: causes with evidence and fix, what was ruled out, what Rollcall does or why it does not act, and its history.", nil)
	addTool[explainInput](s, env, "evidence", "Show the evidence about one instance, group, NodeClaim or node: for each cause what was observed where and what was expected; what was ruled out; what could not be checked.", onlyEvidence)
	addTool[lintInput](s, env, "lint", "Find what would keep nodes from joining, before anything is launched: in launch templates, Karpenter's manifests, user data and role mappings.", nil)
	addTool[policyInput](s, env, "policy", "Validate a policy, and show the settings in effect and where each comes from.", nil)
	return s
}

// invocation is the input of a tool.
type invocation interface {
	// command returns the arguments of the command line, and its standard input.
	command() (args []string, stdin string)
}

// addTool adds a tool that runs a command and returns what it prints. excerpt reduces each
// finding of the printed documents; nil returns all that is printed.
func addTool[In invocation](s *mcp.Server, env Environment, name, description string, excerpt func(finding map[string]any)) {
	tool := &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	mcp.AddTool(s, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		var out, errs bytes.Buffer
		args, stdin := in.command()
		quiet := env
		quiet.Stdin, quiet.Stdout, quiet.Stderr, quiet.Terminal = strings.NewReader(stdin), &out, &errs, false
		result := &mcp.CallToolResult{IsError: Run(ctx, args, quiet) == ExitError}
		if excerpt != nil {
			var err error
			if out, err = reduce(&out, excerpt); err != nil {
				return nil, nil, err
			}
		}
		for _, text := range []string{out.String(), errs.String()} {
			if text != "" {
				result.Content = append(result.Content, &mcp.TextContent{Text: text})
			}
		}
		return result, nil, nil
	})
}

// reduce returns the head and the findings of each document, with each finding reduced.
func reduce(documents io.Reader, excerpt func(finding map[string]any)) (out bytes.Buffer, err error) {
	for dec := json.NewDecoder(documents); dec.More(); {
		var d struct {
			At             string           `json:"at"`
			Cluster        string           `json:"cluster"`
			Region         string           `json:"region,omitempty"`
			Complete       bool             `json:"complete"`
			Notes          []string         `json:"notes"`
			Findings       []map[string]any `json:"findings"`
			EvidenceFolder string           `json:"evidenceFolder,omitempty"`
		}
		if err := dec.Decode(&d); err != nil {
			return out, fmt.Errorf("read the result: %w", err)
		}
		for _, f := range d.Findings {
			excerpt(f)
		}
		if err := (form{output: outputJSON}).print(&out, d); err != nil {
			return out, err
		}
	}
	return out, nil
}

func withoutEvidence(finding map[string]any) {
	delete(finding, "ruledOut")
	delete(finding, "notChecked")
	causes, _ := finding["causes"].([]any)
	for _, c := range causes {
		if cause, ok := c.(map[string]any); ok {
			delete(cause, "evidence")
		}
	}
}

func onlyEvidence(finding map[string]any) {
	maps.DeleteFunc(finding, func(field string, _ any) bool {
		return !slices.Contains([]string{"instance", "subject", "node", "kind", "summary", "causes", "ruledOut", "notChecked"}, field)
	})
}

// flagged returns the argument for the value of a flag, nothing for "".
func flagged(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{"--" + name + "=" + value}
}

// repeated returns an argument for each value of a flag that may be repeated.
func repeated(name string, values []string) (args []string) {
	for _, v := range values {
		args = append(args, "--"+name+"="+v)
	}
	return args
}

// accountInput is the input that selects an account and a cluster.
type accountInput struct {
	Profile string `json:"profile,omitempty" jsonschema:"name of the AWS profile (default AWS_PROFILE)"`
	Context string `json:"context,omitempty" jsonschema:"name of a kubeconfig context, which names the cluster, its region and the profile"`
	Policy  string `json:"policy,omitempty" jsonschema:"the policy, as YAML or JSON (default the built-in policy, or that of the stack)"`
}

func (in accountInput) flags() []string {
	args := slices.Concat(flagged("profile", in.Profile), flagged("context", in.Context))
	if in.Policy != "" {
		args = append(args, "--policy=-") // a path would let a client read any file by what is wrong with it
	}
	return args
}

type checkInput struct {
	accountInput
	Clusters   []string `json:"clusters,omitempty" jsonschema:"names of clusters (default all of the region)"`
	Regions    []string `json:"regions,omitempty" jsonschema:"names of AWS regions (default from the environment or profile)"`
	AllRegions bool     `json:"allRegions,omitempty" jsonschema:"check every region that is enabled for the account"`
}

func (in checkInput) command() (args []string, stdin string) {
	args = slices.Concat([]string{"check", "--output=json"}, in.flags(), repeated("cluster", in.Clusters), repeated("region", in.Regions))
	if in.AllRegions {
		args = append(args, "--all-regions")
	}
	return args, in.Policy
}

type explainInput struct {
	accountInput
	Subject string `json:"subject,omitempty" jsonschema:"EC2 instance id, or nodepool/NAME, nodegroup/NAME, asg/NAME, nodeclaim/NAME or node/NAME; optional with bundle"`
	Cluster string `json:"cluster,omitempty" jsonschema:"name of the cluster (default from the instance's tags)"`
	Region  string `json:"region,omitempty" jsonschema:"name of the AWS region (default from the environment or profile)"`
	Stack   string `json:"stack,omitempty" jsonschema:"name of the CloudFormation stack of a deployment, whose history, mode and policy to use"`
	Bundle  string `json:"bundle,omitempty" jsonschema:"directory written by rollcall capture, to read instead of the account"`
	Mode    string `json:"mode,omitempty" jsonschema:"observe, notify or remediate: explain what would happen in this mode; nothing is done"`
}

func (in explainInput) command() (args []string, stdin string) {
	args = slices.Concat([]string{"explain", "--output=json"}, in.flags(), flagged("cluster", in.Cluster), flagged("region", in.Region),
		flagged("stack", in.Stack), flagged("bundle", in.Bundle), flagged("mode", in.Mode))
	if in.Subject != "" {
		args = append(args, "--", in.Subject)
	}
	return args, in.Policy
}

type lintInput struct {
	Files     []string `json:"files,omitempty" jsonschema:"files to judge: launch template versions as the AWS CLI prints them, Karpenter manifests, user data, aws-auth, access entries"`
	Templates []string `json:"launchTemplates,omitempty" jsonschema:"launch templates of the account, as ID or ID:VERSION"`
	Cluster   string   `json:"cluster,omitempty" jsonschema:"name of the cluster that the nodes would join; alone, its node pools are judged"`
	Region    string   `json:"region,omitempty" jsonschema:"name of the AWS region (default from the environment or profile)"`
	Profile   string   `json:"profile,omitempty" jsonschema:"name of the AWS profile (default AWS_PROFILE)"`
	Context   string   `json:"context,omitempty" jsonschema:"name of a kubeconfig context, which names the cluster, its region and the profile"`
	Bundle    string   `json:"bundle,omitempty" jsonschema:"directory written by rollcall capture, to read instead of the account"`
}

func (in lintInput) command() (args []string, stdin string) {
	return slices.Concat([]string{"lint", "--output=json"}, flagged("profile", in.Profile), flagged("context", in.Context), flagged("cluster", in.Cluster),
		flagged("region", in.Region), flagged("bundle", in.Bundle), repeated("launch-template", in.Templates), []string{"--"}, in.Files), ""
}

type policyInput struct {
	Text        string `json:"text" jsonschema:"the policy, as YAML or JSON"`
	Cluster     string `json:"cluster,omitempty" jsonschema:"show the settings for this cluster"`
	ClusterMode string `json:"clusterMode,omitempty" jsonschema:"value of the EKS cluster's tag rollcall:mode"`
	Group       string `json:"group,omitempty" jsonschema:"show the settings for this group, such as nodepool/default"`
	Preset      string `json:"preset,omitempty" jsonschema:"name of a preset, such as gpu"`
}

func (in policyInput) command() (args []string, stdin string) {
	return slices.Concat([]string{"policy", "check", "--output=json"}, flagged("cluster", in.Cluster), flagged("cluster-mode", in.ClusterMode),
		flagged("group", in.Group), flagged("preset", in.Preset), []string{"--", "-"}), in.Text
}
