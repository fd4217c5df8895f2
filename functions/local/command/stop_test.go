package command

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/smithy-go"

	"rollcall/shared/lambdas/config"
	"rollcall/shared/policy"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// parameters is a fake Systems Manager with one parameter.
type parameters struct {
	value    string
	version  int64 // 0 means that there is none
	kind     types.ParameterType
	key      string
	advanced bool

	stale   int               // number of reads that still show the previous version
	between func(*parameters) // a concurrent change before a write
	fail    map[string]error  // by action
	puts    int
	old     types.Parameter
}

func holding(value string) *parameters {
	return &parameters{value: value, version: 3, kind: types.ParameterTypeString, fail: map[string]error{}}
}

var writtenAt = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func (p *parameters) now() types.Parameter {
	return types.Parameter{Name: aws.String("/rollcall/policy"), Value: aws.String(p.value), Version: p.version, Type: p.kind, LastModifiedDate: aws.Time(writtenAt.Add(time.Duration(p.version) * time.Minute))}
}

func (p *parameters) GetParameter(_ context.Context, in *ssm.GetParameterInput, _ ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	shown := p.now()
	if p.puts > 0 && p.stale > 0 {
		p.stale--
		shown = p.old
	}
	switch {
	case p.fail["GetParameter"] != nil:
		return nil, p.fail["GetParameter"]
	case shown.Version == 0 || aws.ToString(in.Name) != "/rollcall/policy":
		return nil, &types.ParameterNotFound{}
	case !aws.ToBool(in.WithDecryption):
		shown.Value = aws.String("AQICAHj")
	}
	return &ssm.GetParameterOutput{Parameter: &shown}, nil
}

func (p *parameters) GetParameterHistory(context.Context, *ssm.GetParameterHistoryInput, ...func(*ssm.Options)) (*ssm.GetParameterHistoryOutput, error) {
	if err := p.fail["GetParameterHistory"]; err != nil {
		return nil, err
	}
	return &ssm.GetParameterHistoryOutput{Parameters: []types.ParameterHistory{{Version: 1, KeyId: aws.String("alias/aws/ssm")}, {Version: p.version, KeyId: aws.String(p.key)}}}, nil
}

func (p *parameters) PutParameter(_ context.Context, in *ssm.PutParameterInput, _ ...func(*ssm.Options)) (*ssm.PutParameterOutput, error) {
	if p.between != nil {
		p.between(p)
	}
	value, overwrite := aws.ToString(in.Value), aws.ToBool(in.Overwrite)
	switch {
	case p.fail["PutParameter"] != nil:
		return nil, p.fail["PutParameter"]
	case p.version > 0 && !overwrite:
		return nil, &types.ParameterAlreadyExists{}
	case p.version == 0 && in.Type == "":
		return nil, &smithy.GenericAPIError{Code: "ValidationException", Message: "A parameter type is required when you create a parameter."}
	case p.advanced && in.Tier != types.ParameterTierAdvanced:
		return nil, &smithy.GenericAPIError{Code: "ValidationException", Message: "This parameter uses the advanced-parameter tier. You can't downgrade a parameter from the advanced-parameter tier to the standard-parameter tier."}
	case len(value) > 4096 && in.Tier != types.ParameterTierAdvanced, len(value) > 8192:
		return nil, &smithy.GenericAPIError{Code: "ValidationException", Message: "Standard tier parameters support a maximum parameter value of 4096 characters."}
	}
	if in.Type != "" {
		p.kind = in.Type
	}
	p.advanced = p.advanced || in.Tier == types.ParameterTierAdvanced
	p.key = aws.ToString(in.KeyId)
	p.old = p.now()
	p.value, p.version, p.puts = value, p.version+1, p.puts+1
	return &ssm.PutParameterOutput{Version: p.version}, nil
}

// turn stops or resumes, and returns the settings in force, the output and the error.
func (p *parameters) turn(t *testing.T, stop bool, permitted policy.Mode) (inForce, string, error) {
	t.Helper()
	s := policySwitch{api: p, name: "/rollcall/policy", region: "eu-west-1", stack: "rollcall", permitted: permitted, principal: nobody}
	turned := s.resume
	if stop {
		turned = s.stop
	}
	now, err := turned(t.Context())
	var b bytes.Buffer
	must.Succeed(t, now.print(Environment{Stdout: &b}, form{output: outputTable}))
	return now, b.String(), err
}

func TestStopAndResumeChangeOneLine(t *testing.T) {
	const document = "# Ours.\napiVersion: rollcall/v1\nmode: notify # for now\noverrides:\n  - match: {cluster: \"prod-*\"}\n    mode: remediate\n"
	p := holding(document)
	now, printed, err := p.turn(t, true, policy.Remediate)
	if err != nil || !now.Stop || now.Acts || !now.Changed || p.puts != 1 || p.value != strings.Replace(document, "mode: notify", "stop: true\nmode: notify", 1) {
		t.Fatalf("%v, %+v\n%s", err, now, p.value)
	}
	if want := `stopped: no act begins from now on, in any cluster or group

  parameter  /rollcall/policy in eu-west-1, of stack rollcall
  version    4, since 2026-03-10 12:04:00Z
  stop       true
  mode       remediate at most; the stack permits remediate
`; printed != want {
		t.Errorf("printed\n%s\nwant\n%s", printed, want)
	}
	if now, printed, err = p.turn(t, true, policy.Remediate); err != nil || !now.Stop || now.Changed || p.puts != 1 || !strings.HasPrefix(printed, "stopped already: nothing was written\n") {
		t.Errorf("once more: %v, %+v\n%s", err, now, printed)
	}
	now, printed, err = p.turn(t, false, policy.Remediate)
	expect.That(t, err == nil && !now.Stop && now.Acts && now.Changed && p.puts == 2 && p.value == document, "resumed: %v, %+v\n%s", err, now, p.value)
	if !strings.HasPrefix(printed, "resumed: what was held as Stopped continues") || !strings.Contains(printed, "  stop       false\n") || !strings.Contains(printed, "version    5,") {
		t.Errorf("printed\n%s", printed)
	}
	now, printed, err = p.turn(t, false, policy.Remediate)
	expect.That(t, err == nil && !now.Changed && p.puts == 2 && strings.HasPrefix(printed, "not stopped: nothing was written\n"), "resumed again: %v, %+v\n%s", err, now, printed)
}

func TestWhatIsInForceIsPrintedWhateverThePolicyIs(t *testing.T) {
	for name, tt := range map[string]struct {
		before    *parameters
		permitted policy.Mode
		after     string // "" as before
		stop      bool
		acts      bool // after resume
		resumes   bool
		mode      policy.Mode
		printed   []string
	}{
		"the stack permits less":   {holding("apiVersion: rollcall/v1\nmode: remediate\n"), policy.Notify, "apiVersion: rollcall/v1\nstop: true\nmode: remediate\n", true, false, true, policy.Notify, []string{"notify at most; the stack permits notify"}},
		"nobody names a mode":      {holding("apiVersion: rollcall/v1\n"), policy.Remediate, "apiVersion: rollcall/v1\nstop: true\n", true, true, true, policy.Remediate, nil},
		"there is no policy":       {&parameters{}, policy.Remediate, "apiVersion: rollcall/v1\nmode: notify\nstop: true\n", true, false, true, policy.Notify, []string{"there was no policy", "version    1,", "mode: notify"}},
		"it says nothing":          {holding("# Nothing yet.\n"), policy.Remediate, "# Nothing yet.\napiVersion: rollcall/v1\nmode: notify\nstop: true\n", true, false, true, policy.Notify, []string{"there was no policy"}},
		"it is null":               {holding("null\n"), policy.Remediate, "apiVersion: rollcall/v1\nmode: notify\nstop: true\n", true, false, true, policy.Notify, []string{"there was no policy"}},
		"it is a mark":             {holding("---\n"), policy.Remediate, "---\napiVersion: rollcall/v1\nmode: notify\nstop: true\n", true, false, true, policy.Notify, []string{"there was no policy"}},
		"it has a fault":           {holding("apiVersion: rollcall/v1\nmdoe: observe\n"), policy.Remediate, "apiVersion: rollcall/v1\nstop: true\nmdoe: observe\n", true, false, false, policy.Notify, []string{"is invalid", "fault      line 3: mdoe: unknown key"}},
		"its stop is no stop":      {holding("apiVersion: rollcall/v1\nstop: yes\n"), policy.Remediate, "apiVersion: rollcall/v1\nstop: true\n", true, true, true, policy.Remediate, nil},
		"it is no YAML":            {holding("apiVersion: rollcall/v1\nmode: {\n"), policy.Remediate, "apiVersion: rollcall/v1\nstop: true\nmode: {\n", true, false, false, policy.Notify, []string{"is invalid", "not YAML"}},
		"it is an advanced one":    {&parameters{value: "apiVersion: rollcall/v1\n", version: 3, advanced: true, kind: types.ParameterTypeString}, policy.Remediate, "apiVersion: rollcall/v1\nstop: true\n", true, true, true, policy.Remediate, nil},
		"it becomes too long":      {holding("apiVersion: rollcall/v1\n#" + strings.Repeat("x", 4096-26) + "\n"), policy.Remediate, "apiVersion: rollcall/v1\nstop: true\n#" + strings.Repeat("x", 4096-26) + "\n", true, true, true, policy.Remediate, nil},
		"it is seen after a while": {&parameters{value: "apiVersion: rollcall/v1\n", version: 3, stale: 1, kind: types.ParameterTypeString}, policy.Remediate, "apiVersion: rollcall/v1\nstop: true\n", true, true, true, policy.Remediate, nil},
	} {
		p := tt.before
		now, printed, err := p.turn(t, true, tt.permitted)
		if err != nil || now.Stop != tt.stop || now.Acts || now.Mode != tt.mode || p.value != tt.after || p.puts != 1 || now.Version != p.version || p.kind != types.ParameterTypeString {
			t.Errorf("%s: %v, %+v\n%s", name, err, now, p.value)
		}
		for _, want := range tt.printed {
			expect.That(t, strings.Contains(printed, want), "%s: printed\n%swhich lacks %q", name, printed, want)
		}
		if now, _, err := p.turn(t, true, tt.permitted); err != nil || now.Changed || p.puts != 1 {
			t.Errorf("%s, stopped again: %v, %+v", name, err, now)
		}
		now, printed, err = p.turn(t, false, tt.permitted)
		expect.That(t, (err == nil) == tt.resumes && now.Acts == tt.acts && tt.resumes != now.Stop, "%s, resumed: %v, %+v\n%s", name, err, now, printed)
		if !tt.resumes && (p.puts != 1 || !strings.Contains(err.Error(), "\nline ") || !strings.Contains(printed, "nothing was written\n") || !strings.Contains(printed, "  fault ")) {
			t.Errorf("%s: %d writes, %v\n%s", name, p.puts, err, printed)
		}
	}
}

func TestASecureStringKeepsItsKey(t *testing.T) {
	p := holding("apiVersion: rollcall/v1\n")
	p.kind, p.key = types.ParameterTypeSecureString, "alias/policies"
	if now, _, err := p.turn(t, true, policy.Remediate); err != nil || !now.Stop || p.key != "alias/policies" || p.kind != types.ParameterTypeSecureString {
		t.Errorf("%v, %+v, key %s, %s", err, now, p.key, p.kind)
	}
	p.fail["GetParameterHistory"] = denied("ssm:GetParameterHistory")
	if _, printed, err := p.turn(t, false, policy.Remediate); err == nil || !strings.Contains(err.Error(), "allow ssm:GetParameterHistory") || p.puts != 1 || !strings.Contains(printed, "nothing was written") || !strings.Contains(printed, "stop       true") {
		t.Errorf("%v, %d writes\n%s", err, p.puts, printed)
	}
}

func denied(action string) error {
	return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "User: arn:aws:iam::111122223333:user/jo is not authorized to perform: " + action + " on resource: arn:aws:ssm:eu-west-1:111122223333:parameter/rollcall/policy because no identity-based policy allows the " + action + " action"}
}

func TestWhatIsInTheWayIsNamed(t *testing.T) {
	const document = "apiVersion: rollcall/v1\n"
	for name, tt := range map[string]struct {
		spoil func(*parameters)
		want  []string
		puts  int
	}{
		"may not read":       {func(p *parameters) { p.fail["GetParameter"] = denied("ssm:GetParameter") }, []string{"nothing was written", "allow ssm:GetParameter on arn:aws:ssm:eu-west-1:111122223333:parameter/rollcall/policy", "update-event-source-mapping"}, 0},
		"may not write":      {func(p *parameters) { p.fail["PutParameter"] = denied("ssm:PutParameter") }, []string{"nothing was written", "allow ssm:PutParameter", "update-event-source-mapping"}, 0},
		"no place for it":    {func(p *parameters) { p.value = "- a list\n" }, []string{"by hand", "update-event-source-mapping"}, 0},
		"too long in any":    {func(p *parameters) { p.value += "#" + strings.Repeat("x", 8192-len(document)-2) + "\n" }, []string{"an SSM parameter holds 8192 at most", "nothing was written", "update-event-source-mapping"}, 0},
		"never seen":         {func(p *parameters) { p.stale = looks }, []string{"does not show version 4 yet"}, 1},
		"somebody was first": {func(p *parameters) { p.between = func(p *parameters) { p.version++ } }, []string{"somebody wrote version 4", "get-parameter-history"}, 1},
	} {
		p := holding(document)
		tt.spoil(p)
		_, printed, err := p.turn(t, true, policy.Remediate)
		if err == nil || p.puts != tt.puts {
			t.Errorf("%s: %v, %d writes", name, err, p.puts)
			continue
		}
		for _, want := range tt.want {
			expect.That(t, strings.Contains(err.Error(), want), "%s: %v, want %q", name, err, want)
		}
		// What was read is printed, whether or not it could be changed.
		if (printed != "") != (name != "may not read") || printed != "" && tt.puts == 0 && !strings.HasPrefix(printed, "not stopped: nothing was written\n") {
			t.Errorf("%s: printed\n%s", name, printed)
		}
	}
	p := &parameters{}
	if now, printed, err := p.turn(t, false, policy.Remediate); err == nil || !strings.Contains(err.Error(), "there is no SSM parameter /rollcall/policy in eu-west-1") || p.puts != 0 || now.Acts || !strings.Contains(printed, "there is none") {
		t.Errorf("nothing to resume: %v, %+v\n%s", err, now, printed)
	}
	// A name given by a person may be mistyped: the deployment would continue to act.
	p = &parameters{}
	s := policySwitch{api: p, name: "/rollcall/polciy", region: "eu-west-1", permitted: policy.Remediate, principal: nobody}
	if now, err := s.stop(t.Context()); err == nil || !strings.Contains(err.Error(), "not stopped: there is no parameter /rollcall/polciy in eu-west-1\n") || !strings.Contains(err.Error(), "update-event-source-mapping") || p.puts != 0 || now.Changed || now.Stop || now.headline != "not stopped: nothing was written" {
		t.Errorf("mistyped: %v, %+v, %d writes", err, now, p.puts)
	}
	// A concurrent write by a person during the creation is not overwritten.
	p = &parameters{between: func(p *parameters) { p.value, p.version = "apiVersion: rollcall/v1\n", 1 }}
	_, _, err := p.turn(t, true, policy.Remediate)
	expect.That(t, err != nil && p.puts == 0, "created meanwhile: %v, %d writes", err, p.puts)
}

// A stack with the built-in policy reads no parameter, so a stop in one would have no effect.
func TestAStackWithTheBuiltInPolicyIsNotStoppedByAParameter(t *testing.T) {
	p := &parameters{}
	s := policySwitch{api: p, name: config.BuiltIn, region: "eu-west-1", stack: "rollcall", permitted: policy.Remediate}
	_, err := s.stop(t.Context())
	expect.That(t, err != nil && p.puts == 0 && strings.Contains(err.Error(), "update-event-source-mapping"), "%v, %d writes", err, p.puts)
}

func TestWhatIsInForceAsJSON(t *testing.T) {
	now, _, err := holding("apiVersion: rollcall/v1\n").turn(t, true, policy.Notify)
	must.Succeed(t, err)
	var b bytes.Buffer
	must.Succeed(t, now.print(Environment{Stdout: &b}, form{output: outputJSON}))
	var got map[string]any
	must.Succeed(t, json.Unmarshal(b.Bytes(), &got))
	for key, want := range map[string]any{"parameter": "/rollcall/policy", "region": "eu-west-1", "stack": "rollcall", "version": 4.0, "since": "2026-03-10T12:04:00Z", "stop": true, "mode": "notify", "permitted": "notify", "acts": false, "changed": true} {
		expect.Equal(t, got[key], want, "%s", key)
	}
	faults, ok := got["faults"].([]any)
	expect.That(t, ok && len(faults) == 0, "faults %v", got["faults"])
}

func TestFlagsOfStopAndResume(t *testing.T) {
	noAWS(t)
	for _, command := range []string{"stop", "resume"} {
		for want, args := range map[string][]string{
			"--output": {"--output", "xml"}, "AWS_REGION": nil, "AWS_PROFILE": {"--region", "eu-west-1"},
			"none of the others can be": {"--stack", "a", "--parameter", "/b"}, "unexpected argument": {"now"},
		} {
			refused(t, append([]string{command}, args...), want)
		}
	}
}
