package command

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rollcall/shared/report"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// secret is planted into the console output and the user data of the fake instance.
const secret = "hunter2-correct-horse"

// guarded is an account in mode remediate with one cluster, in which one instance never became a
// node. It refuses what it does not know, and fails the test at a call that is no read.
type guarded struct {
	t    *testing.T
	kube *httptest.Server

	mu    sync.Mutex
	calls map[string]bool
}

// guard points the SDK to the account.
func guard(t *testing.T) *guarded {
	t.Helper()
	noAWS(t)
	g := &guarded{t: t, calls: map[string]bool{}}
	g.kube = httptest.NewUnstartedServer(http.HandlerFunc(g.kubernetes))
	g.kube.Config.ErrorLog = log.New(io.Discard, "", 0) // a command may end during a handshake
	g.kube.StartTLS()
	aws := httptest.NewServer(http.HandlerFunc(g.aws))
	t.Cleanup(func() { g.kube.Close(); aws.Close() })
	useEndpoint(t, aws.URL)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	return g
}

// called records a call, and whether it only reads.
func (g *guarded) called(name string, reads bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls[name] = true
	expect.That(g.t, reads, "a tool called %s", name)
}

func (g *guarded) kubernetes(w http.ResponseWriter, r *http.Request) {
	g.called(r.Method+" "+r.URL.Path, r.Method == http.MethodGet)
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path != "/api/v1/nodes" {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403}`)
		return
	}
	_, _ = fmt.Fprint(w, `{"apiVersion":"v1","kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[]}`)
}

func (g *guarded) aws(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if operation == "" {
		operation = r.FormValue("Action")
	}
	if operation == "" { // REST
		g.called(r.Method+" "+r.URL.Path, r.Method == http.MethodGet)
		operation = r.URL.Path
	} else {
		g.called(operation, slices.ContainsFunc([]string{"Describe", "Get", "List", "Query"}, func(verb string) bool { return strings.HasPrefix(operation, verb) }))
	}
	if operation == "DescribeInstanceAttribute" {
		operation += " " + r.FormValue("Attribute")
	}
	encoded := base64.StdEncoding.EncodeToString
	const ec2 = `xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"`
	answers := map[string]string{
		"/clusters": `{"clusters":["shop"]}`,
		"/clusters/shop": fmt.Sprintf(`{"cluster":{"name":"shop","arn":"arn:aws:eks:eu-west-1:111122223333:cluster/shop","status":"ACTIVE","version":"1.36","endpoint":%q,"certificateAuthority":{"data":%q}}}`,
			g.kube.URL, encoded(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.kube.Certificate().Raw}))),
		"/clusters/shop/node-groups": `{"nodegroups":[]}`,
		"DescribeInstances": `<DescribeInstancesResponse ` + ec2 + `><reservationSet><item><ownerId>111122223333</ownerId><instancesSet><item><instanceId>` + failing + `</instanceId><instanceType>m6i.large</instanceType>` +
			`<instanceState><code>16</code><name>running</name></instanceState><launchTime>2026-03-02T10:00:00.000Z</launchTime><placement><availabilityZone>eu-west-1a</availabilityZone></placement>` +
			`<tagSet><item><key>kubernetes.io/cluster/shop</key><value>owned</value></item><item><key>karpenter.sh/nodepool</key><value>default</value></item></tagSet></item></instancesSet></item></reservationSet></DescribeInstancesResponse>`,
		"DescribeInstanceAttribute userData": `<DescribeInstanceAttributeResponse ` + ec2 + `><userData><value>` + encoded([]byte("#!/bin/bash\nexport DB_PASSWORD="+secret+"\n/etc/eks/bootstrap.sh shop --db-password="+secret+"\n")) + `</value></userData></DescribeInstanceAttributeResponse>`,
		"GetConsoleOutput":                   `<GetConsoleOutputResponse ` + ec2 + `><output>` + encoded([]byte("Kernel panic - not syncing: password="+secret+"\n")) + `</output></GetConsoleOutputResponse>`,
		"DescribeStacks":                     stackOf("rollcall-evidence"),
		"GetParameter":                       `{"Parameter":{"Name":"/rollcall/policy","Type":"String","Version":1,"Value":"apiVersion: rollcall/v1\nmode: remediate\n"}}`,
		"Query":                              `{"Items":[],"Count":0,"ScannedCount":0}`,
	}
	if answer, ok := answers[operation]; ok {
		_, _ = fmt.Fprint(w, answer)
		return
	}
	w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
	w.WriteHeader(http.StatusForbidden)
	_, _ = fmt.Fprint(w, `<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>You are not authorized to perform this operation.</Message></Error></Errors></Response>`)
}

func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// connect returns a client of the tools.
func connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	if _, err := toolServer(Environment{Now: noon, PageInterval: time.Nanosecond}).Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// use calls a tool, and returns its texts.
func use(t *testing.T, s *mcp.ClientSession, name string, input map[string]any) (texts []string, failed bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: input})
	must.That(t, err == nil, "%s: %v", name, err)
	for _, c := range r.Content {
		texts = append(texts, c.(*mcp.TextContent).Text)
	}
	return texts, r.IsError
}

// printed returns what the command line prints.
func printed(t *testing.T, stdin string, args ...string) (code int, texts []string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), args, Environment{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Now: noon, PageInterval: time.Nanosecond})
	return code, slices.DeleteFunc([]string{out.String(), errs.String()}, func(s string) bool { return s == "" })
}

type input = map[string]any

const remediating = "apiVersion: rollcall/v1\nmode: remediate\n"

// toolCall is a call of a tool, and the command line that prints the same; no arguments where the
// tool returns a part of what is printed.
type toolCall struct {
	in    input
	args  []string
	stdin string
}

// toolCalls returns calls of each tool, by its name.
func toolCalls(t *testing.T) map[string][]toolCall {
	file := write(t, secret) // which no tool reads
	script := write(t, "#!/bin/bash\nexport DB_PASSWORD="+secret+"\n/etc/eks/bootstrap.sh shop --kubelet-extra-args '--node-labels=password="+secret+"\n")
	return map[string][]toolCall{
		"check": {
			{in: input{}, args: []string{"check"}},
			{in: input{"clusters": []string{"shop"}, "regions": []string{"eu-west-1"}, "policy": remediating}, stdin: remediating, args: []string{"check", "--cluster", "shop", "--policy", "-"}},
			{in: input{"policy": file}, stdin: file, args: []string{"check", "--policy", "-"}},
			{in: input{"clusters": []string{"shpo"}}, args: []string{"check", "--cluster", "shpo"}},
			{in: input{"clusters": []string{""}}, args: []string{"check", "--cluster", ""}},
			{in: input{"clusters": []string{"--mode=remediate"}}, args: []string{"check", "--cluster", "--mode=remediate"}},
			{in: input{"allRegions": true}, args: []string{"check", "--all-regions"}},
			{in: input{"profile": "prod"}, args: []string{"check", "--profile", "prod"}},
			{in: input{"context": "shop"}, args: []string{"check", "--context", "shop"}},
		},
		"findings": {{in: input{"policy": remediating}}},
		"explain": {
			{in: input{"subject": failing}, args: []string{"explain", failing}},
			{in: input{"subject": failing, "cluster": "shop", "region": "eu-west-1", "mode": "remediate", "policy": remediating}, stdin: remediating, args: []string{"explain", failing, "--cluster", "shop", "--mode", "remediate", "--policy", "-"}},
			{in: input{"subject": failing, "stack": "rollcall"}, args: []string{"explain", failing, "--stack", "rollcall"}},
			{in: input{"bundle": unmapped, "mode": "remediate"}, args: []string{"explain", "--bundle", unmapped, "--mode", "remediate"}},
			{in: input{"subject": "--mode=remediate"}, args: []string{"explain", "--", "--mode=remediate"}},
			{in: input{}, args: []string{"explain"}},
		},
		"evidence": {{in: input{"subject": failing, "mode": "remediate"}}},
		"lint": {
			{in: input{"files": []string{script}}, args: []string{"lint", script}},
			{in: input{"files": []string{script}, "bundle": unmapped}, args: []string{"lint", script, "--bundle", unmapped}},
			{in: input{"files": []string{"--mode=remediate"}}, args: []string{"lint", "--", "--mode=remediate"}},
			{in: input{"launchTemplates": []string{"lt-0123456789abcdef0"}, "cluster": "shop", "region": "eu-west-1"}, args: []string{"lint", "--launch-template", "lt-0123456789abcdef0", "--cluster", "shop"}},
			{in: input{"cluster": "shop"}, args: []string{"lint", "--cluster", "shop"}},
			{in: input{}, args: []string{"lint"}},
		},
		"policy": {
			{in: input{"text": remediating, "cluster": "shop", "clusterMode": "notify", "group": "nodepool/default", "preset": "gpu"}, stdin: remediating,
				args: []string{"policy", "check", "-", "--cluster", "shop", "--cluster-mode", "notify", "--group", "nodepool/default", "--preset", "gpu"}},
			{in: input{"text": "mode: on\n"}, args: []string{"policy", "check", "-"}, stdin: "mode: on\n"},
			{in: input{"text": ""}, args: []string{"policy", "check", "-"}},
		},
	}
}

func TestToolsPrintWhatTheCommandLineDoesAndOnlyRead(t *testing.T) {
	g := guard(t)
	s := connect(t)
	calls := toolCalls(t)
	list, err := s.ListTools(t.Context(), nil)
	must.Succeed(t, err)
	for _, tool := range list.Tools {
		expect.That(t, len(calls[tool.Name]) != 0, "%s is not called", tool.Name)
		for _, c := range calls[tool.Name] {
			got, failed := use(t, s, tool.Name, c.in)
			expect.That(t, !strings.Contains(strings.Join(got, ""), secret), "%s %v: the secret is in %s", tool.Name, c.in, got)
			if c.args == nil {
				continue
			}
			code, want := printed(t, c.stdin, slices.Insert(c.args, 1, "--output=json")...)
			diff := cmp.Diff(want, got)
			expect.That(t, diff == "" && failed == (code == ExitError), "%s %v: exit %d, failed %t (-want +got)\n%s", tool.Name, c.in, code, failed, diff)
		}
	}
	for _, want := range []string{"GET /api/v1/nodes", "DescribeRegions", "DescribeInstanceAttribute", "GetConsoleOutput", "DescribeStacks", "GetParameter", "Query"} {
		expect.That(t, g.calls[want], "nothing called %s", want)
	}
}

// Only explain and evidence take a mode: they explain what would happen in it.
func TestWhatToolsTake(t *testing.T) {
	s := connect(t)
	list, err := s.ListTools(t.Context(), nil)
	must.Succeed(t, err)
	got := map[string]string{}
	for _, tool := range list.Tools {
		properties, _ := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
		got[tool.Name] = strings.Join(slices.Sorted(maps.Keys(properties)), " ")
		expect.That(t, tool.Annotations.ReadOnlyHint && tool.Description != "", "%s: %+v, %q", tool.Name, tool.Annotations, tool.Description)
		texts, failed := use(t, s, tool.Name, input{"text": "", "ledger": "ledger.json"})
		expect.That(t, failed && strings.Contains(texts[0], "unexpected additional properties"), "%s takes anything: %q", tool.Name, texts)
	}
	const ofCheck, ofExplain = "allRegions clusters context policy profile regions", "bundle cluster context mode policy profile region stack subject"
	want := map[string]string{"check": ofCheck, "findings": ofCheck, "explain": ofExplain, "evidence": ofExplain, "policy": "cluster clusterMode group preset text",
		"lint": "bundle cluster context files launchTemplates profile region"}
	expect.Same(t, got, want, "parts")
}

func TestPartsOfAnAnswer(t *testing.T) {
	guard(t)
	s := connect(t)
	for name, want := range map[string]struct {
		in        input
		has, lack []string
	}{
		"findings": {input{}, []string{failing, "Unregistered", "causes", "fix", "since"}, []string{"evidence", "ruledOut", "notChecked"}},
		"evidence": {input{"subject": failing}, []string{failing, "KernelPanic", "evidence", "observed", "ruledOut", "notChecked"}, []string{"since", "answers"}},
	} {
		texts, _ := use(t, s, name, want.in)
		var d report.Document
		err := json.Unmarshal([]byte(texts[0]), &d)
		expect.That(t, err == nil && d.Cluster == "shop" && len(d.Findings) == 1, "%s: %v, %+v", name, err, d)
		for _, word := range want.has {
			expect.That(t, strings.Contains(texts[0], `"`+word+`"`), "%s lacks %s:\n%s", name, word, texts[0])
		}
		for _, word := range want.lack {
			expect.That(t, !strings.Contains(texts[0], `"`+word+`"`), "%s has %s:\n%s", name, word, texts[0])
		}
	}
}

// A client may close the standard input right after its last request.
func TestPendingRequestsAreAnsweredAfterTheInputEnds(t *testing.T) {
	guard(t)
	requests := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"check","arguments":{}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"explain","arguments":{"subject":"` + failing + `"}}}
`
	code, texts := printed(t, requests, "mcp")
	all := strings.Join(texts, "")
	says(t, all, `"id":1,`, `"id":2,`, `"id":3,`, "Unregistered")
	expect.That(t, code == ExitOK && !strings.Contains(all, "canceled"), "exit %d: %s", code, all)
}

// A request that takes too long, or that an interrupt ends, is not waited for.
func TestTheWaitForAnswersEnds(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		most time.Duration
	}{"in time": {t.Context(), time.Nanosecond}, "by an interrupt": {interrupted, time.Hour}} {
		streams := &mcp.IOTransport{Reader: io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")), Writer: unclosed{io.Discard}}
		c, err := (&answering{streams, tt.most}).Connect(tt.ctx)
		must.Succeed(t, err)
		_, err = c.Read(t.Context())
		must.That(t, err == nil, "%s: %v", name, err)
		_, err = c.Read(t.Context())
		expect.That(t, errors.Is(err, io.EOF), "%s: %v", name, err)
	}
}

// stackOf returns what CloudFormation answers about the stack of a deployment with that bucket.
func stackOf(bucket string) string {
	return `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member><StackName>rollcall</StackName><StackStatus>UPDATE_COMPLETE</StackStatus>` +
		`<StackId>arn:aws:cloudformation:eu-west-1:111122223333:stack/rollcall/0a1b2c3d</StackId><Outputs>` +
		`<member><OutputKey>LedgerTableName</OutputKey><OutputValue>rollcall-Ledger</OutputValue></member><member><OutputKey>PolicyParameterName</OutputKey><OutputValue>/rollcall/policy</OutputValue></member>` +
		`<member><OutputKey>EvidenceBucket</OutputKey><OutputValue>` + bucket + `</OutputValue></member></Outputs><Parameters><member><ParameterKey>Mode</ParameterKey><ParameterValue>remediate</ParameterValue></member>` +
		`<member><ParameterKey>WarnAfter</ParameterKey><ParameterValue>5m</ParameterValue></member><member><ParameterKey>Deadline</ParameterKey><ParameterValue>15m</ParameterValue></member></Parameters>` +
		`</member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
}
