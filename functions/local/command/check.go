package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/report"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
)

type checkFlags struct {
	access
	clusters []string
	mode     string
	policy   string
	output   form
	ledger   string
	topic    string
	chat     string
	evidence string
	html     string
	verbose  bool
	watch    time.Duration
}

// parallel is the number of clusters that are checked in parallel. EC2 listings of a region
// run one at a time anyway; only the waits for the Kubernetes APIs overlap.
const parallel = 8

// leastWatch is the shortest time between two checks of --watch. Tests shorten it.
var leastWatch = 10 * time.Second

func checkCommand(env Environment) *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check",
		Short: "Check the clusters of the region once",
		Long: `Checks every EKS cluster of the region once, or those that --cluster names, with your
AWS credentials (--profile, AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL, ...).

It only reads, unless --mode says otherwise:
  observe    check and report
  notify     also tag the instances found, and publish notices to --topic
  remediate  also act as the policy's ladders and limits allow: cordon, drain,
             reboot, terminate, delete Node objects and NodeClaims. Needs --ledger,
             since an act requires two checks at least 60 seconds apart, and
             --evidence, which is saved before an instance is terminated

A policy, or the cluster tag rollcall:mode, may lower the mode; it never raises it. A policy
may leave out clusters (mode: ignore), unless --cluster names them.

Exit codes: 0 nothing found, 1 something could not be read or done, 2 findings,
130 interrupted.`,
		Example: `  rollcall check
  rollcall check --profile prod --all-regions
  rollcall check --context payments --watch
  rollcall check --cluster payments -o wide`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return check(cmd.Context(), env, f) },
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.clusters, "cluster", nil, "`NAME` of a cluster to check; repeat for several (default all of the region)")
	flags.StringArrayVar(&f.regions, "region", nil, "`NAME` of an AWS region; repeat for several (default from the environment or profile)")
	flags.BoolVar(&f.allRegions, "all-regions", false, "check every region that is enabled for the account")
	flags.StringVar(&f.mode, "mode", string(policy.Observe), "`MODE`: observe, notify or remediate")
	flags.StringVar(&f.policy, "policy", "", "policy `FILE` (default: the built-in policy; see rollcall policy schema)")
	outputFlag(c, &f.output, outputTable, outputWide, outputJSON, outputYAML)
	flags.BoolVar(&f.verbose, "verbose", false, "also list instances within their tolerance, instances that are not nodes, and registration times")
	flags.DurationVarP(&f.watch, "watch", "w", 0, "check again every minute, or as often as --watch=`DURATION` says (10s or more), until interrupted")
	flags.Lookup("watch").NoOptDefVal = "1m"
	flags.StringVar(&f.html, "html", "", "also write a standalone HTML page to this `FILE`")
	flags.StringVar(&f.ledger, "ledger", "", "`FILE` that stores findings and acts between checks")
	flags.StringVar(&f.evidence, "evidence", "", "`DIR`, or s3://BUCKET, for evidence: what was read about an instance, with secrets removed")
	flags.StringVar(&f.topic, "topic", "", "`ARN` of the SNS topic for notices")
	flags.StringVar(&f.chat, "chat-topic", "", "`ARN` of a second SNS topic, for notices in the format of Amazon Q Developer in chat; needs --topic")
	f.contextFlags(c, env)
	f.accountFlags(c, 5*time.Minute)
	flags.Lookup("timeout").Usage = "time limit of each check; with --watch, of each round"
	values(c, "mode", fixed(modes...))
	values(c, "cluster", f.namesOfClusters)
	return c
}

var modes = []policy.Mode{policy.Observe, policy.Notify, policy.Remediate}

// settings are the parsed flags of rollcall check.
type settings struct {
	mode   policy.Mode
	policy *policy.Document
	ledger ledger.Ledger
}

// settle parses the flags. Its error lists all faults at once.
func (f *checkFlags) settle(env Environment) (settings, error) {
	var s settings
	var faults []error
	keep := func(err error) { faults = append(faults, err) } // errors.Join leaves out nil
	var err error
	s.mode, err = policy.ParseMode(f.mode)
	keep(ofFlag("--mode", err))
	keep(f.output.check())
	if f.watch != 0 && f.watch < leastWatch {
		keep(fmt.Errorf("--watch=%s: it takes %s or more", f.watch, leastWatch))
	}
	for _, t := range []struct{ flag, topic string }{{"--topic", f.topic}, {"--chat-topic", f.chat}} {
		if a, err := arn.Parse(t.topic); t.topic != "" && (err != nil || a.Service != "sns" || a.Region == "" || a.AccountID == "" || strings.Contains(a.Resource, ":")) {
			keep(fmt.Errorf("%s %q: it takes the ARN of an SNS topic, such as arn:aws:sns:eu-west-1:111122223333:rollcall", t.flag, t.topic))
		}
	}
	if f.chat != "" && f.topic == "" {
		keep(errors.New("--chat-topic needs --topic: every notice is published there first"))
	}
	if slices.Contains(f.clusters, "") {
		keep(errors.New("--cluster: the name is empty"))
	}
	named, err := f.access.settle(strings.Join(f.clusters, ","))
	keep(err)
	if len(f.clusters) == 0 && named != "" {
		f.clusters = []string{named}
	}
	keep(placeable(f.html))
	s.policy, err = readPolicy(env, f.policy)
	keep(err)
	s.ledger, err = openLedger(f.ledger)
	keep(err)
	if f.ledger == "" && s.mode == policy.Remediate {
		keep(errors.New("--mode remediate needs --ledger FILE: an act requires an earlier check, and is recorded before it happens"))
	}
	if f.policy == "-" && s.mode == policy.Remediate {
		keep(errors.New("--policy -: name a file in mode remediate, which reads it again before each act"))
	}
	if f.evidence == "" && s.mode == policy.Remediate {
		keep(errors.New("--mode remediate needs --evidence DIR: evidence is saved before an act can destroy it"))
	}
	return s, errors.Join(faults...)
}

// ofFlag names the flag to which an error belongs, or what failed, if there is an error.
func ofFlag(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// openLedger opens the ledger in a file; no file is one in memory.
func openLedger(path string) (ledger.Ledger, error) {
	if path == "" {
		return ledger.NewMemory(), nil
	}
	file, err := ledger.OpenFile(path)
	return file, ofFlag("--ledger", err)
}

// readPolicy reads a policy file; no file is the built-in policy.
func readPolicy(env Environment, path string) (*policy.Document, error) {
	if path == "" {
		return policy.Default(), nil
	}
	doc, _, err := policyFile(env, path)
	return doc, err
}

// policyFile returns the policy in a file, and its text.
func policyFile(env Environment, path string) (*policy.Document, []byte, error) {
	data, err := env.read(path)
	if err != nil {
		return nil, nil, fmt.Errorf("--policy: %w", err)
	}
	doc, err := policy.Parse(data)
	if err != nil {
		return nil, nil, fmt.Errorf("--policy %s:\n%w", path, err)
	}
	return doc, data, nil
}

// read reads a file, or standard input for the name -.
func (e Environment) read(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(e.Stdin)
	}
	return os.ReadFile(file)
}

// check checks once, or again and again.
func check(ctx context.Context, env Environment, f checkFlags) error {
	s, err := f.settle(env)
	if err != nil {
		return err
	}
	for round := 0; ; round++ {
		began := time.Now()
		err := f.once(ctx, env, s, round)
		if f.watch == 0 || ctx.Err() != nil {
			return err
		}
		if _, seen := errors.AsType[exit](err); err != nil && !seen {
			if round == 0 {
				return err // it is the person's: the credentials, the region
			}
			complain(env, err)
		}
		pause(ctx, f.watch-time.Since(began))
		if ctx.Err() != nil {
			return interrupted(fmt.Sprintf("%d %s done", round+1, roll.Plural(round+1, "check was", "checks were")))
		}
	}
}

func (f checkFlags) once(ctx context.Context, env Environment, s settings, round int) error {
	var results []report.Check
	var jobs []job
	var faults []error
	err := f.within(ctx, env, func(ctx context.Context, p *progress) error {
		accounts, err := f.connect(ctx, env, p, f.evidence)
		if err != nil {
			return err
		}
		if jobs, faults, err = f.jobs(ctx, env, s, p, accounts); err != nil || len(jobs) == 0 {
			return err
		}
		results = checkAll(ctx, p, jobs, env.Now)
		return nil
	})
	for _, fault := range faults {
		complain(env, fault)
	}
	switch {
	case err != nil:
		return err
	case len(jobs) == 0 && len(faults) > 0:
		return exit(ExitError)
	case len(jobs) == 0:
		return nil
	}
	if s.mode.Allows(policy.Notify) && f.topic == "" {
		_, _ = fmt.Fprintln(env.Stderr, "rollcall: no --topic given: notices are not published")
	}
	if f.watch > 0 && !f.output.data() {
		env.again(round, f.watch)
	}
	if err := f.show(env, results); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return interrupted(fmt.Sprintf("%d of %d clusters were checked", len(results), len(jobs)))
	}
	if err := f.missing(len(results), len(jobs)); err != nil {
		complain(env, err)
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return exit(ExitError)
	}
	return verdict(results)
}

// missing returns an error if the time limit ended before all clusters were checked.
func (a access) missing(checked, all int) error {
	if checked == all {
		return nil
	}
	return fmt.Errorf("--timeout %s is over: %d of %d clusters were not checked", a.timeout, all-checked, all)
}

type job struct {
	runner  *run.Runner
	cluster string
}

// jobs returns the clusters to check. Regions that cannot be listed are faults, if another
// one can.
func (f checkFlags) jobs(ctx context.Context, env Environment, s settings, p *progress, accounts []*account) (jobs []job, faults []error, err error) {
	several := len(accounts) > 1
	names := make([][]string, len(accounts))
	failed := make([]error, len(accounts))
	if len(f.clusters) > 0 && !several {
		names[0] = f.clusters
	} else {
		p.say("listing the clusters of " + regions(accounts))
		var group errgroup.Group
		for i, a := range accounts {
			group.Go(func() error {
				names[i], failed[i] = a.view.Observer.Clusters(ctx)
				return nil
			})
		}
		_ = group.Wait() // each has its own error
	}
	var ignored []string
	found := map[string]bool{}
	for i, a := range accounts {
		if failed[i] != nil {
			faults = append(faults, fmt.Errorf("%s: %w", a.region, failed[i]))
			continue
		}
		runner, err := a.runner(s, f, env.Now)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(names[i]))) {
			if len(f.clusters) > 0 && !slices.Contains(f.clusters, name) {
				continue
			}
			if len(f.clusters) == 0 && s.policy.Ignores(name) {
				ignored = append(ignored, name)
				continue
			}
			found[name] = true
			label := name
			if several {
				label += " in " + a.region
			}
			runner.Progress = func(_, doing string) { p.tell(label, doing) }
			one := *runner
			jobs = append(jobs, job{&one, name})
		}
	}
	if len(faults) > 0 && len(jobs) == 0 {
		return nil, nil, failed[slices.IndexFunc(failed, func(err error) bool { return err != nil })]
	}
	for _, name := range f.clusters {
		if !found[name] {
			faults = append(faults, fmt.Errorf("there is no EKS cluster %q in %s", name, regions(accounts)))
		}
	}
	if len(ignored) > 0 {
		p.clear()
		_, _ = fmt.Fprintf(env.Stderr, "rollcall: the policy ignores %s: name it with --cluster to check it\n", strings.Join(slices.Compact(slices.Sorted(slices.Values(ignored))), ", "))
	} else if len(jobs) == 0 && len(faults) == 0 {
		p.clear()
		_, _ = fmt.Fprintf(env.Stderr, "rollcall: there is no EKS cluster in %s: --all-regions checks every region\n", regions(accounts))
	}
	return jobs, faults, nil
}

func regions(accounts []*account) string {
	const most = 3
	if len(accounts) > most {
		return fmt.Sprintf("%d regions", len(accounts))
	}
	return strings.Join(roll.Map(accounts, func(a *account) string { return a.region }), ", ")
}

// checkAll checks the clusters in parallel. After an interruption it returns the clusters
// that were checked by then, and those on which something was done. After the time limit it
// also returns those that were begun: they say what was not read.
func checkAll(ctx context.Context, p *progress, jobs []job, now func() time.Time) []report.Check {
	p.total = len(jobs)
	results := make([]report.Check, len(jobs))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, j := range jobs {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			c := j.runner.Check(ctx, j.cluster, now())
			if !errors.Is(ctx.Err(), context.Canceled) || len(c.Outcomes) > 0 {
				results[i] = c
			}
			return nil
		})
	}
	_ = group.Wait() // never fails: the faults of a check are part of its result
	p.clear()
	return slices.DeleteFunc(results, func(c report.Check) bool { return c.Snapshot == nil })
}

// show prints the results, and writes them as a page. If one of the two fails, the other
// still reports what was done.
func (f checkFlags) show(env Environment, results []report.Check) error {
	return errors.Join(f.print(env, results), writePage(f.html, "check", func() page.Document { return report.Page(results) }))
}

func (f checkFlags) print(env Environment, results []report.Check) error {
	if f.output.data() {
		return f.output.print(env.Stdout, roll.Map(results, func(c report.Check) any { return c.Document() })...)
	}
	layout := env.layout()
	layout.Everything, layout.Wide = f.verbose, f.output.output == outputWide
	return ofFlag("print", report.Tables(env.Stdout, results, layout))
}

// verdict returns the exit code of the results as an error. An incomplete answer, or an act
// that was not done, takes precedence over findings: a caller that reads only the code must
// not take the list as complete.
func verdict(results []report.Check) error {
	// A refusal after the second look is no failure: the act was not needed any more.
	notDone := func(o remediate.Outcome) bool { return o.Result == remediate.Failed || o.Result == remediate.Unclear }
	code := ExitOK
	for _, c := range results {
		if !c.Complete() || slices.ContainsFunc(c.Outcomes, notDone) {
			return exit(ExitError)
		}
		if len(c.Findings()) > 0 {
			code = ExitFindings
		}
	}
	if code == ExitOK {
		return nil
	}
	return exit(code)
}
