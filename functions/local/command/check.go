package command

import (
	"context"
	"encoding/json"
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
)

// checkFlags are the flags of rollcall check, as given.
type checkFlags struct {
	clusters []string
	mode     string
	policy   string
	output   string
	ledger   string
	topic    string
	chat     string
	region   string
	evidence string
	html     string
	verbose  bool
	timeout  time.Duration
}

// parallel is the number of clusters that are checked in parallel. EC2 listings run one at
// a time anyway; only the waits for the Kubernetes APIs overlap.
const parallel = 8

func checkCommand(env Environment) *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check",
		Short: "Check the clusters of the region once",
		Long: `Checks every EKS cluster of the region once, or those that --cluster names, with your
AWS credentials (AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL, ...).

It only reads, unless --mode says otherwise:
  observe    check and report
  notify     also tag the instances found, and publish notices to --topic
  remediate  also act as the policy's ladders and limits allow: cordon, drain,
             reboot, terminate, delete Node objects and NodeClaims. Needs --ledger,
             since an act requires two checks at least 60 seconds apart, and
             --evidence, which is saved before an instance is terminated

A policy, or the cluster tag rollcall:mode, may lower the mode; it never raises it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return check(cmd.Context(), env, f) },
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.clusters, "cluster", nil, "cluster to check; repeat for several (default all of the region)")
	flags.StringVar(&f.mode, "mode", string(policy.Observe), "observe, notify or remediate")
	flags.StringVar(&f.policy, "policy", "", "policy file (default: the built-in policy; see rollcall policy schema)")
	flags.StringVarP(&f.output, "output", "o", string(outputTable), "table or json (one object per cluster)")
	flags.BoolVar(&f.verbose, "verbose", false, "also list instances within their tolerance, instances that are not nodes, and registration times")
	flags.StringVar(&f.html, "html", "", "also write a standalone HTML page to this file")
	flags.StringVar(&f.ledger, "ledger", "", "file that stores findings and acts between checks")
	flags.StringVar(&f.evidence, "evidence", "", "directory, or s3://BUCKET, for evidence: what was read about an instance, with secrets removed")
	flags.StringVar(&f.topic, "topic", "", "ARN of the SNS topic for notices")
	flags.StringVar(&f.chat, "chat-topic", "", "ARN of a second SNS topic, for notices in the format of Amazon Q Developer in chat; needs --topic")
	flags.StringVar(&f.region, "region", "", "AWS region (default from the environment or profile)")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "time limit for finding the credentials, for listing the clusters, for reading one cluster, for its diagnosis, and for one act")
	return c
}

// settings are the parsed flags of rollcall check.
type settings struct {
	mode   policy.Mode
	output output
	policy *policy.Document
	ledger ledger.Ledger
}

// settle parses the flags. Its error lists all faults at once.
func (f checkFlags) settle() (settings, error) {
	var s settings
	var faults []error
	keep := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	var err error
	s.mode, err = policy.ParseMode(f.mode)
	if err != nil {
		keep(fmt.Errorf("--mode: %w", err))
	}
	s.output, err = parseOutput(f.output)
	keep(err)
	keep(someTime(f.timeout))
	for flag, topic := range map[string]string{"--topic": f.topic, "--chat-topic": f.chat} {
		if a, err := arn.Parse(topic); topic != "" && (err != nil || a.Service != "sns" || a.Region == "" || a.AccountID == "" || strings.Contains(a.Resource, ":")) {
			keep(fmt.Errorf("%s %q: it takes the ARN of an SNS topic, such as arn:aws:sns:eu-west-1:111122223333:rollcall", flag, topic))
		}
	}
	if f.chat != "" && f.topic == "" {
		keep(errors.New("--chat-topic needs --topic: every notice is published there first"))
	}
	if slices.Contains(f.clusters, "") {
		keep(errors.New("--cluster: the name is empty"))
	}
	keep(placeable(f.html))
	s.policy, err = readPolicy(f.policy)
	keep(err)
	s.ledger = ledger.NewMemory()
	if f.ledger != "" {
		if file, err := ledger.OpenFile(f.ledger); err != nil {
			keep(fmt.Errorf("--ledger: %w", err))
		} else {
			s.ledger = file
		}
	} else if s.mode == policy.Remediate {
		keep(errors.New("--mode remediate needs --ledger FILE: an act requires an earlier check, and is recorded before it happens"))
	}
	if f.evidence == "" && s.mode == policy.Remediate {
		keep(errors.New("--mode remediate needs --evidence DIR: evidence is saved before an act can destroy it"))
	}
	return s, errors.Join(faults...)
}

// readPolicy reads a policy file; no file is the built-in policy.
func readPolicy(path string) (*policy.Document, error) {
	if path == "" {
		return policy.Default(), nil
	}
	doc, _, err := policyFile(path)
	return doc, err
}

// policyFile returns the policy in a file, and its text.
func policyFile(path string) (*policy.Document, []byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("--policy: %w", err)
	}
	doc, err := policy.Parse(data)
	if err != nil {
		return nil, nil, fmt.Errorf("--policy %s:\n%w", path, err)
	}
	return doc, data, nil
}

func check(ctx context.Context, env Environment, f checkFlags) error {
	s, err := f.settle()
	if err != nil {
		return err
	}
	p := newProgress(env)
	p.say("finding the credentials")
	defer p.clear()
	a, err := connect(ctx, env, place{f.region, f.evidence, f.timeout})
	if err != nil {
		return err
	}
	runner, err := a.runner(s, f, env.Now)
	if err != nil {
		return err
	}
	names := slices.Compact(slices.Sorted(slices.Values(f.clusters)))
	if len(names) == 0 {
		p.say("listing the clusters of " + a.region)
		if names, err = f.list(ctx, a); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		p.clear()
		_, _ = fmt.Fprintf(env.Stderr, "rollcall: no EKS clusters in %s\n", a.region)
		return nil
	}
	p.total = len(names)
	runner.Progress = p.tell
	results := checkAll(ctx, runner, names, env.Now)
	p.clear()
	if s.mode.Allows(policy.Notify) && f.topic == "" {
		_, _ = fmt.Fprintln(env.Stderr, "rollcall: no --topic given: notices are not published")
	}
	if err := f.show(env, s.output, results); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return interrupted(fmt.Sprintf("%d of %d clusters were checked", len(results), len(names)))
	}
	return verdict(results)
}

// list returns the clusters of the region.
func (f checkFlags) list(ctx context.Context, a *account) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	return a.view.Observer.Clusters(ctx)
}

// checkAll checks the clusters in parallel. After an interruption it returns the clusters
// that were checked by then, and those on which something was done.
func checkAll(ctx context.Context, runner *run.Runner, names []string, now func() time.Time) []report.Check {
	results := make([]report.Check, len(names))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, name := range names {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			c := runner.Check(ctx, name, now())
			if ctx.Err() == nil || len(c.Outcomes) > 0 {
				results[i] = c
			}
			return nil
		})
	}
	_ = group.Wait() // never fails: the faults of a check are part of its result
	return slices.DeleteFunc(results, func(c report.Check) bool { return c.Snapshot == nil })
}

// show prints the results, and writes them as a page. If one of the two fails, the other
// still reports what was done.
func (f checkFlags) show(env Environment, form output, results []report.Check) error {
	printed := print(env.Stdout, form, f.verbose, results)
	if f.html == "" {
		return printed
	}
	return errors.Join(printed, writePage(f.html, results))
}

func print(w io.Writer, form output, verbose bool, results []report.Check) error {
	if form == outputJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		for _, c := range results {
			if err := enc.Encode(c.Document()); err != nil {
				return fmt.Errorf("print: %w", err)
			}
		}
		return nil
	}
	if err := report.Tables(w, results, verbose); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// notDone reports whether an act failed, or its effect is unknown. A refusal after the
// second look is no failure: the act was not needed any more.
func notDone(o remediate.Outcome) bool {
	return o.Result == remediate.Failed || o.Result == remediate.Unclear
}

// verdict returns the exit code of the results as an error. An incomplete answer, or an act
// that was not done, takes precedence over findings: a caller that reads only the code must
// not take the list as complete.
func verdict(results []report.Check) error {
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
