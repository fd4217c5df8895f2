package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"github.com/spf13/cobra"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/aws/tags"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence/archive"
	"rollcall/shared/evidence/hostlog"
	"rollcall/shared/kube/kubeconfig"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/observe/collect"
	"rollcall/shared/observe/view"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// access says whose account to use and which regions of it, and how long the command may take.
type access struct {
	profile             string
	regions             []string // none: the environment's, or the profile's
	allRegions          bool
	context, kubeconfig string
	current             bool   // the current context counts where the flags name neither cluster nor region
	role                string // that the context's tokens are for, "" for the caller's own
	account             string // of the context's cluster, "" if it does not say
	timeout             time.Duration
	hostLogs            bool            // commands print the logs of hosts
	logsOf              roll.InstanceID // the one instance whose logs are wanted, "" for all with a finding
}

// accountFlags adds the flags that every command has which reads an account.
func (a *access) accountFlags(c *cobra.Command, timeout time.Duration) {
	c.Flags().StringVar(&a.profile, "profile", "", "`NAME` of the AWS profile (default AWS_PROFILE)")
	c.Flags().DurationVar(&a.timeout, "timeout", timeout, "time limit of the whole command")
	values(c, "profile", profiles)
	values(c, "region", a.namesOfRegions)
}

// runShellScript is the SSM document of AWS that runs the commands in its parameters. A deployment
// uses its own document, with fixed commands.
const runShellScript = "AWS-RunShellScript"

// logsWait is how long to wait for the logs of hosts. An agent that is online answers within
// seconds.
const logsWait = 20 * time.Second

func (a *access) hostLogsFlag(c *cobra.Command, where string) {
	c.Flags().BoolVar(&a.hostLogs, "host-logs", false, "run a command on "+where+", through its SSM agent: it prints the ends of the host's logs and changes nothing")
}

func (a *access) oneRegion(c *cobra.Command) {
	c.Flags().VarP(one{&a.regions}, "region", "", "`NAME` of the AWS region (default from the environment or profile)")
}

// clusterFlags adds the flags of a command about one cluster, which --cluster or a context names.
func (a *access) clusterFlags(c *cobra.Command, env Environment, timeout time.Duration) {
	a.oneRegion(c)
	a.contextFlags(c, env)
	a.accountFlags(c, timeout)
	values(c, "cluster", a.namesOfClusters)
}

// contextFlags adds the flags that name a cluster by its kubeconfig context. A plugin of kubectl
// uses the current one, as kubectl does.
func (a *access) contextFlags(c *cobra.Command, env Environment) {
	a.current = env.plugin()
	usage := "`NAME` of a context of your kubeconfig, which names the cluster, its region and the profile"
	if a.current {
		usage += " (default the current one, unless a flag names a cluster or regions)"
	}
	c.Flags().StringVar(&a.context, "context", "", usage)
	c.Flags().StringVar(&a.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` to read the context from (default KUBECONFIG, or ~/.kube/config)")
	values(c, "context", func(context.Context) []string {
		names, _ := kubeconfig.Names(a.kubeconfig) // nothing to complete
		return names
	})
}

// one is a flag that is given once, in a list.
type one struct{ list *[]string }

// Set implements pflag.Value.
func (o one) Set(s string) error { *o.list = []string{s}; return nil }

// Type implements pflag.Value.
func (o one) Type() string { return "string" }

// String implements pflag.Value.
func (o one) String() string {
	if o.list == nil {
		return ""
	}
	return strings.Join(*o.list, ",")
}

// byContext reports whether a kubeconfig context names the cluster.
func (a *access) byContext(cluster string) bool {
	return a.context != "" || a.kubeconfig != "" || a.current && cluster == "" && len(a.regions) == 0 && !a.allRegions
}

// settle checks the flags, and fills in what the kubeconfig context says: flags take
// precedence. It returns the context's cluster, "" without one. Its error lists all faults.
func (a *access) settle(cluster string) (string, error) {
	var faults []error
	if a.timeout <= 0 {
		faults = append(faults, fmt.Errorf("--timeout %s: it must be more than zero", a.timeout))
	}
	if slices.Contains(a.regions, "") {
		faults = append(faults, errors.New("--region: the name is empty"))
	}
	byContext := a.byContext(cluster)
	switch {
	case a.allRegions && len(a.regions) > 0:
		faults = append(faults, errors.New("--all-regions cannot be combined with --region"))
	case byContext && (a.allRegions || len(a.regions) > 1):
		faults = append(faults, errors.New("--context means one region: leave out --all-regions and further --region"))
	case byContext && cluster != "":
		faults = append(faults, errors.New("--context cannot be combined with --cluster: it names the cluster"))
	case byContext:
		of, err := kubeconfig.Read(a.kubeconfig, a.context)
		if err != nil {
			faults = append(faults, fmt.Errorf("--context: %w", err))
			break
		}
		cluster, a.profile, a.role, a.account = of.Cluster, cmp.Or(a.profile, of.Profile), of.Role, of.Account
		if len(a.regions) == 0 && of.Region != "" {
			a.regions = []string{of.Region}
		}
	}
	return cluster, errors.Join(faults...)
}

// besideBundle returns an error for each flag that has no effect with a bundle: those of the
// account, and the given ones, each a name with its value.
func (a access) besideBundle(cluster string, others ...[2]string) error {
	var faults []error
	for _, flag := range append([][2]string{{"--cluster", cluster}, {"--region", strings.Join(a.regions, "")}, {"--profile", a.profile}}, others...) {
		if flag[1] != "" {
			faults = append(faults, fmt.Errorf("%s cannot be combined with --bundle, which contains it", flag[0]))
		}
	}
	return errors.Join(faults...)
}

// within runs a part of a command within the time limit, and shows its progress. If the
// limit ends it, the error says what it was waiting for.
func (a access) within(ctx context.Context, env Environment, do func(context.Context, *progress) error) error {
	p := newProgress(env)
	limited, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	err := do(limited, p)
	p.clear()
	if _, printed := errors.AsType[exit](err); err == nil || printed || limited.Err() == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("--timeout %s is over while %s: %s", a.timeout, cmp.Or(p.doing, "beginning"), strings.ReplaceAll(err.Error(), ": the next check tries again", "")) // no check follows
}

// readTime limits the reading of one cluster. If an API server hangs, the rest of the time is
// for the diagnosis of what was read, and for notices.
func (a access) readTime() time.Duration { return a.timeout * 3 / 4 }

// attemptTime limits one attempt of a call, so that an answer that is lost leaves time for
// another attempt.
const attemptTime = 30 * time.Second

// connect loads the AWS configuration, and returns an account for each region.
func (a access) connect(ctx context.Context, env Environment, p *progress, evidence string) ([]*account, error) {
	p.say("finding the credentials")
	cfg, err := a.ready(ctx)
	if err != nil {
		return nil, err
	}
	principal := principalOf(ctx, sts.NewFromConfig(cfg))
	if err := a.foreign(ctx, principal); err != nil {
		return nil, err
	}
	regions := a.regions
	if a.allRegions {
		p.say("listing the regions")
		if regions, err = enabledRegions(ctx, cfg); err != nil {
			return nil, fmt.Errorf("--all-regions: %s", awserr.Describe(err, "ec2:DescribeRegions", principal(ctx)))
		}
	}
	if len(regions) == 0 {
		regions = []string{cfg.Region}
	}
	slices.Sort(regions)
	var all []*account
	for _, region := range slices.Compact(regions) {
		here := cfg.Copy()
		here.Region = region
		one, err := a.open(here, env, evidence, principal)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// foreign returns an error if the context's cluster is in another account than the credentials, which may have a
// cluster of the same name. kubectl would reach the context's own: its token may come from any account, while
// eks:DescribeCluster returns clusters of the caller's alone.
func (a access) foreign(ctx context.Context, principal func(context.Context) string) error {
	if a.account == "" {
		return nil
	}
	who := principal(ctx)
	if of, err := arn.Parse(who); err != nil || of.AccountID == a.account {
		return nil
	}
	return fmt.Errorf("--context: its cluster is in account %s, and the credentials are those of %s: give --profile NAME of that account", a.account, who)
}

// ready loads the AWS configuration and checks that there are a region and credentials, so that
// missing ones are reported once and not for each call.
func (a access) ready(ctx context.Context) (aws.Config, error) {
	cfg, err := a.load(ctx)
	if err != nil {
		return cfg, err
	}
	// A call in vain would be retried; with other regions this one may be none.
	if cfg.Region == "" && !a.allRegions {
		return cfg, fmt.Errorf("no AWS region: give --region, set AWS_REGION, or run aws configure set region REGION%s", a.forProfile())
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return cfg, a.credentialsFault(err)
	}
	return cfg, nil
}

func (a access) load(ctx context.Context) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(attemptTime)),
		config.WithLogger(logging.Nop{}), // what goes wrong is returned
	}
	if a.profile != "" {
		options = append(options, config.WithSharedConfigProfile(a.profile))
	}
	if len(a.regions) > 0 {
		options = append(options, config.WithRegion(a.regions[0]))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if _, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		return cfg, fmt.Errorf("there is no AWS profile %q: aws configure list-profiles shows those that there are", a.profileName())
	}
	if err != nil {
		return cfg, fmt.Errorf("load the AWS configuration: %w", err)
	}
	return cfg, nil
}

// profileName returns the profile in use, "" for the default one.
func (a access) profileName() string { return cmp.Or(a.profile, os.Getenv("AWS_PROFILE")) }

// forProfile returns the option of an aws command for the profile in use.
func (a access) forProfile() string {
	if name := a.profileName(); name != "" {
		return " --profile " + paste.Word(name)
	}
	return ""
}

// credentialsFault says in one line why there are no credentials, and what to do.
func (a access) credentialsFault(err error) error {
	of := "the default profile"
	if name := a.profileName(); name != "" {
		of = "profile " + name
	}
	switch {
	case awserr.IsTimeout(err), errors.Is(err, context.Canceled):
		return errors.New("the credentials did not come in time")
	case awserr.IsExpiredCredentials(err) && strings.Contains(err.Error(), "SSO"):
		return fmt.Errorf("the AWS login of %s has expired, or there was none: aws sso login%s", of, a.forProfile())
	case awserr.IsNoCredentials(err):
		return fmt.Errorf("no AWS credentials for %s: give --profile NAME or set AWS_PROFILE (aws configure list-profiles shows them), set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in with aws sso login", of)
	case awserr.IsExpiredCredentials(err):
		return fmt.Errorf("the AWS credentials of %s have expired: log in again, or renew AWS_SESSION_TOKEN", of)
	}
	return fmt.Errorf("no AWS credentials for %s: %s", of, awserr.Describe(err, "", ""))
}

func enabledRegions(ctx context.Context, cfg aws.Config) ([]string, error) {
	cfg.Region = cmp.Or(cfg.Region, "us-east-1")
	out, err := ec2.NewFromConfig(cfg).DescribeRegions(ctx, &ec2.DescribeRegionsInput{})
	if err != nil {
		return nil, err
	}
	return roll.Map(out.Regions, func(r types.Region) string { return aws.ToString(r.RegionName) }), nil
}

// The pages that a person's single look requests at once, and the time between further ones.
// EC2 lets an account make 100 such requests at once, and 20 more each second:
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
// A fifth of the first and a quarter of the second leave the rest to Karpenter and others.
const (
	pageBurst    = 20
	pageInterval = 200 * time.Millisecond
)

// open returns the account in the region of the configuration.
func (a access) open(cfg aws.Config, env Environment, evidence string, principal func(context.Context) string) (*account, error) {
	store, err := evidenceIn(cfg, evidence)
	if err != nil {
		return nil, err
	}
	o := view.Options{Principal: principal, Store: store, PageInterval: cmp.Or(env.PageInterval, pageInterval), PageBurst: pageBurst}
	if a.role != "" {
		tokens := cfg.Copy()
		tokens.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), a.role))
		o.Tokens = &tokens
	}
	if a.hostLogs {
		o.HostLogs = collect.HostLogs{
			Document: runShellScript, Ask: true, Only: a.logsOf, Wait: logsWait,
			Parameters: map[string][]string{"commands": {hostlog.Script}, "executionTimeout": {"60"}},
		}
	}
	return &account{region: cfg.Region, cfg: cfg, view: view.Open(cfg, "rollcall/"+version(), o), principal: principal}, nil
}

// only returns the account of a command that reads one region.
func (a access) only(ctx context.Context, env Environment, p *progress) (*account, error) {
	all, err := a.connect(ctx, env, p, "")
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// inOne is [access.within] for a command that reads one region.
func (a access) inOne(ctx context.Context, env Environment, do func(context.Context, *progress, *account) error) error {
	return a.within(ctx, env, func(ctx context.Context, p *progress) error {
		one, err := a.only(ctx, env, p)
		if err != nil {
			return err
		}
		return do(ctx, p, one)
	})
}

// account is the AWS account and region that the ambient credentials reach.
type account struct {
	region    string
	cfg       aws.Config
	view      *view.Account
	principal func(context.Context) string
}

// identityTime limits the call that reads the caller's identity, which only serves
// messages, and [access.foreign].
const identityTime = 5 * time.Second

// principalOf returns a function that returns the principal of the credentials, "" if
// unknown. It is read once, with the context of the whole command, since the first caller's
// context may be about to expire. A caller whose context has expired does not need the
// answer: its error was not a denial.
func principalOf(whole context.Context, api *sts.Client) func(context.Context) string {
	ask := sync.OnceValue(func() string {
		ctx, cancel := context.WithTimeout(whole, identityTime)
		defer cancel()
		out, err := api.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		if err != nil {
			return "" // only messages lose detail
		}
		return aws.ToString(out.Arn)
	})
	return func(ctx context.Context) string {
		if ctx.Err() != nil {
			return ""
		}
		return ask()
	}
}

// evidenceIn returns the evidence store: a folder, or an S3 bucket as s3://BUCKET; nil for
// no store.
func evidenceIn(cfg aws.Config, place string) (view.Store, error) {
	bucket, inS3 := strings.CutPrefix(place, "s3://")
	switch {
	case place == "":
		return nil, nil
	case !inS3:
		return archive.NewDir(place), nil
	case bucket == "" || strings.Contains(strings.TrimSuffix(bucket, "/"), "/"):
		return nil, fmt.Errorf("--evidence %s: it takes a folder, or a bucket alone as s3://BUCKET", place)
	}
	return archive.NewS3(s3.NewFromConfig(cfg), strings.TrimSuffix(bucket, "/")), nil
}

// runner returns a runner for the account. It has only the parts that the mode allows.
func (a *account) runner(s settings, f checkFlags, now func() time.Time) (*run.Runner, error) {
	r := &run.Runner{
		Observer: a.view.Observer, Why: a.view.Check, Ledger: s.ledger, Policy: s.policy, Permitted: s.mode, Clock: now, Unremembered: f.ledger == "",
		ReadTime: f.readTime(),
		Tags:     tags.New(a.view.EC2, a.principal),
	}
	if s.mode.Allows(policy.Notify) && f.topic != "" {
		r.Notices = report.NewTopic(sns.NewFromConfig(a.cfg), f.topic, f.chat, a.principal).From(version())
	}
	if s.mode.Allows(policy.Remediate) {
		remediator, err := remediate.New(remediate.Options{
			Targets: a.view.Observer, EC2: a.view.EC2, Kube: a.view.Kube, Why: a.view.Act, Ledger: s.ledger, Permitted: s.mode, Principal: a.principal, Clock: now,
			// Read again before each act: stop: true in it stops the next one.
			Policy: func(context.Context) (*policy.Document, error) { return readPolicy(Environment{}, f.policy) },
		})
		if err != nil {
			return nil, err
		}
		r.Orders = remediator
	}
	return r, nil
}
