package command

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// oneStack is a fake CloudFormation with one stack, or an error.
type oneStack struct {
	stack types.Stack
	err   error
}

func (s oneStack) DescribeStacks(_ context.Context, in *cloudformation.DescribeStacksInput, _ ...func(*cloudformation.Options)) (*cloudformation.DescribeStacksOutput, error) {
	switch {
	case s.err != nil:
		return nil, s.err
	case aws.ToString(in.StackName) != aws.ToString(s.stack.StackName):
		return nil, &smithy.GenericAPIError{Code: "ValidationError", Message: "Stack with id " + aws.ToString(in.StackName) + " does not exist"}
	}
	return &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{s.stack}}, nil
}

// stack returns a deployment in the form of template.yaml.
func stack() types.Stack {
	output := func(k, v string) types.Output {
		return types.Output{OutputKey: aws.String(k), OutputValue: aws.String(v)}
	}
	parameter := func(k, v string) types.Parameter {
		return types.Parameter{ParameterKey: aws.String(k), ParameterValue: aws.String(v)}
	}
	return types.Stack{
		StackName: aws.String("rollcall"), StackId: aws.String("arn:aws:cloudformation:eu-west-1:111122223333:stack/rollcall/0a1b2c3d"), StackStatus: types.StackStatusUpdateComplete,
		Outputs:    []types.Output{output("LedgerTableName", "rollcall-Ledger-1A2B"), output("PolicyParameterName", "/rollcall/policy"), output("EvidenceBucket", "rollcall-evidence"), output("NoticesTopicArn", "arn:aws:sns:eu-west-1:111122223333:rollcall"), output("Version", "1.2.0")},
		Parameters: []types.Parameter{parameter("Mode", "notify"), parameter("WarnAfter", "3m"), parameter("Deadline", "20m"), parameter("VpcIds", "")},
	}
}

func TestAStackTellsItsDeployment(t *testing.T) {
	d, err := readDeployment(t.Context(), oneStack{stack: stack()}, "rollcall", "eu-west-1", nobody)
	must.Succeed(t, err)
	s := d.settings
	if d.account != "111122223333" || d.region != "eu-west-1" || s.Table != "rollcall-Ledger-1A2B" || s.PolicyParameter != "/rollcall/policy" || s.EvidenceBucket != "rollcall-evidence" ||
		s.Mode != policy.Notify || s.WarnAfter != 3*time.Minute || s.Deadline != 20*time.Minute {
		t.Errorf("%+v", d)
	}
}

func TestTheVersionsOfToolAndDeployment(t *testing.T) {
	for name, tt := range map[string]struct {
		outputs int // of the stack, the last of which is the version
		want    string
	}{
		"a release":      {5, "rollcall 1.3.0\nstack rollcall in eu-west-1: 1.2.0, mode notify\n"},
		"without output": {4, "rollcall 1.3.0\nstack rollcall in eu-west-1: no version in its outputs, mode notify\n"},
	} {
		s := stack()
		s.Outputs = s.Outputs[:tt.outputs]
		d, err := readDeployment(t.Context(), oneStack{stack: s}, "rollcall", "eu-west-1", nobody)
		must.Succeed(t, err)
		var got strings.Builder
		if err := d.printVersions(&got, "1.3.0"); err != nil || got.String() != tt.want {
			t.Errorf("%s: %q (%v), want %q", name, &got, err, tt.want)
		}
	}
}

func TestAStackThatTellsNoDeployment(t *testing.T) {
	for name, tt := range map[string]struct {
		name  string
		spoil func(*types.Stack)
		err   error
		want  []string
	}{
		"there is none":        {"another", nil, nil, []string{`no CloudFormation stack "another" in eu-west-1`}},
		"not allowed to look":  {"rollcall", nil, &smithy.GenericAPIError{Code: "AccessDenied", Message: "User: arn:aws:iam::111122223333:user/jo is not authorized to perform: cloudformation:DescribeStacks on resource: arn:aws:cloudformation:eu-west-1:111122223333:stack/rollcall/*"}, []string{"cloudformation:DescribeStacks was denied to arn:aws:iam::111122223333:user/jo", "stack/rollcall/*"}},
		"another program's":    {"rollcall", func(s *types.Stack) { s.Outputs, s.Parameters = nil, nil }, nil, []string{"UPDATE_COMPLETE", "output LedgerTableName, output PolicyParameterName, output EvidenceBucket, parameter Mode", "not a deployment of Rollcall"}},
		"an earlier version's": {"rollcall", func(s *types.Stack) { s.Outputs = s.Outputs[:2] }, nil, []string{"has no output EvidenceBucket"}},
		"an unknown mode":      {"rollcall", func(s *types.Stack) { s.Parameters[0].ParameterValue = aws.String("destroy") }, nil, []string{"stack rollcall", "destroy"}},
		"an id of no form":     {"rollcall", func(s *types.Stack) { s.StackId = aws.String("rollcall") }, nil, []string{"is not an ARN"}},
	} {
		s := stack()
		if tt.spoil != nil {
			tt.spoil(&s)
		}
		_, err := readDeployment(t.Context(), oneStack{s, tt.err}, tt.name, "eu-west-1", nobody)
		for _, want := range tt.want {
			expect.That(t, err != nil && strings.Contains(err.Error(), want) && strings.HasPrefix(err.Error(), "--stack: "), "%s: %v, want %q", name, err, want)
		}
	}
}

// shelf is a ledger that lists its clusters, and fails to read one of them.
type shelf struct {
	*ledger.Memory
	clusters []roll.ClusterID
	torn     string
}

func (s shelf) Clusters(context.Context, string, string) ([]roll.ClusterID, error) {
	return s.clusters, nil
}

func (s shelf) Read(ctx context.Context, id roll.ClusterID) (ledger.State, error) {
	if id.Name == s.torn {
		return ledger.State{}, errors.New("torn")
	}
	return s.Memory.Read(ctx, id)
}

func TestAnInstanceIsFoundByWhatIsRemembered(t *testing.T) {
	s := shelf{Memory: ledger.NewMemory()}
	for _, name := range []string{"a", "b", "c"} {
		id := roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: name}
		s.clusters = append(s.clusters, id)
		if name != "a" {
			must.Succeed(t, s.Record(t.Context(), id, ledger.Changes{Put: ledger.State{Missing: map[roll.InstanceID]time.Time{roll.InstanceID("i-0000000" + name): time.Now(), "i-00000000": time.Now()}}}))
		}
	}
	for id, want := range map[roll.InstanceID]string{"i-0000000b": "b", "i-00000000": "b c", "i-0000000a": ""} {
		knowing, all, err := find(t.Context(), s, "111122223333", "eu-west-1", id)
		got := strings.Join(knowing, " ")
		expect.That(t, err == nil && got == want && all == 3, "%s: %q of %d, %v; want %q", id, got, all, err, want)
	}
	// The instance may be in the memory that could not be read.
	s.torn = "a"
	_, _, err := find(t.Context(), s, "111122223333", "eu-west-1", "i-0000000b")
	expect.That(t, err != nil, "a memory that could not be read is taken for an empty one")
}

func TestWhatADeploymentCombinesWith(t *testing.T) {
	noAWS(t)
	for want, args := range map[string][]string{
		"--ledger cannot be combined with --stack": {"explain", failing, "--stack", "rollcall", "--ledger", "ledger.json"},
		"--stack cannot be combined with --bundle": {"explain", "--bundle", unmapped, "--stack", "rollcall"},
		"name an INSTANCE":                         {"explain", "--stack", "rollcall"},
		"--mode: destroy is not":                   {"explain", failing, "--stack", "rollcall", "--mode", "destroy"},
		"no such file or directory":                {"explain", failing, "--stack", "rollcall", "--policy", "no/such/policy"},
	} {
		refused(t, args, want)
	}
}

// nobody returns "" for an unknown principal.
func nobody(context.Context) string { return "" }
