package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/spf13/cobra"

	"rollcall/shared/assess"
	"rollcall/shared/aws/awserr"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/evidence/archive"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/lambdas/run"
	"rollcall/shared/ledger"
	"rollcall/shared/observe"
	"rollcall/shared/observe/bundle"
	"rollcall/shared/observe/view"
	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/report/page"
	"rollcall/shared/roll"
)

type explainFlags struct {
	access
	bundle, at, cluster, mode, policy, ledger, stack, html string
	output                                                 form
	again                                                  []string // the flags that explain something else from the same source
}

func explainCommand(env Environment) *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain [INSTANCE | KIND/NAME]",
		Short: "Explain why an instance is not a healthy node, and why Rollcall acted on it or did not",
		Long: `Explains one instance: what is wrong, each cause with its evidence and the fix to paste, what
could not be checked, and what Rollcall does, or why it does not act. -o json also lists the
causes that were ruled out.
explain only reads. With --host-logs it also runs a read-only command on INSTANCE.

INSTANCE is an EC2 instance id. nodepool/NAME, nodegroup/NAME, asg/NAME, nodeclaim/NAME and
node/NAME explain that object: why a group gets no instance, or what blocks a deletion.

With --stack NAME, the CloudFormation stack of a deployment, or --ledger FILE, the answer
uses the history recorded there, also for an instance that is gone. --stack also uses the
deployment's mode and policy, unless --mode or --policy are given.

Without them the answer is "what if": as if two checks had seen the finding after mode
remediate was turned on; all other limits apply. With --mode remediate it shows the acts
that would be ordered. --bundle DIR answers from files alone: those of rollcall capture, or
written with the AWS CLI and kubectl. Then INSTANCE is optional: without it, every finding
is explained.

Exit codes: 0 nothing is wrong, or the instance is gone and its history is shown; 1 error;
2 something is wrong.`,
		Example: `  rollcall explain i-0123456789abcdef0
  rollcall explain nodegroup/workers --context payments
  rollcall explain i-0123456789abcdef0 --stack rollcall --region eu-west-1
  rollcall explain --bundle DIR`,
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error { return explain(cmd.Context(), env, f, args) },
	}
	flags := c.Flags()
	flags.StringVar(&f.bundle, "bundle", "", "`DIR` written by rollcall capture, to use instead of the account")
	flags.StringVar(&f.at, "at", "", "`TIME` of the capture, RFC 3339 (default at.txt of the bundle)")
	flags.StringVar(&f.cluster, "cluster", "", "`NAME` of the instance's cluster (default: from its tags, or from the ledger)")
	flags.StringVar(&f.mode, "mode", "", "`MODE`, observe, notify or remediate: explain what would happen in this mode (default observe, or the stack's)")
	flags.StringVar(&f.policy, "policy", "", "policy `FILE` (default: the built-in policy, or the stack's)")
	outputFlag(c, &f.output, outputTable, outputJSON, outputYAML)
	flags.StringVar(&f.ledger, "ledger", "", "ledger `FILE` of rollcall check; it is only read")
	flags.StringVar(&f.stack, "stack", "", "`NAME` of the CloudFormation stack of a deployment, whose ledger and policy to use")
	f.hostLogsFlag(c, "INSTANCE")
	flags.StringVar(&f.html, "html", "", "also write a standalone HTML page to this `FILE`")
	f.clusterFlags(c, env, 3*time.Minute)
	values(c, "mode", fixed(modes...))
	_ = c.MarkFlagDirname("bundle") // it is there
	c.ValidArgsFunction = f.subjects
	return c
}

// question holds the parsed flags and arguments.
type question struct {
	instance roll.InstanceID  // the instance or other subject, "" for all
	mode     policy.Mode      // "" uses the stack's mode
	policy   *policy.Document // nil uses the stack's policy
	at       time.Time        // zero uses the time of the bundle, or the clock
	bundle   *bundle.Bundle
}

func (f *explainFlags) settle(env Environment, args []string) (question, error) {
	var q question
	var faults []error
	f.again = f.sameSource()                                 // before a context fills in the names
	keep := func(err error) { faults = append(faults, err) } // errors.Join leaves out nil
	if len(args) > 0 {
		var ok bool
		if q.instance, ok = roll.ParseInstanceID(args[0]); !ok {
			q.instance, ok = roll.ParseSubject(args[0])
		}
		if !ok {
			keep(fmt.Errorf("%q is neither an EC2 instance id (i- and 8 or 17 hexadecimal digits) nor nodepool/NAME, nodegroup/NAME, asg/NAME, nodeclaim/NAME or node/NAME", args[0]))
		}
	}
	var err error
	if f.mode != "" || f.stack == "" {
		q.mode, err = policy.ParseMode(cmp.Or(f.mode, string(policy.Observe)))
		keep(ofFlag("--mode", err))
	}
	keep(f.output.check())
	keep(placeable(f.html))
	if f.policy != "" || f.stack == "" {
		q.policy, err = readPolicy(env, f.policy)
		keep(err)
	}
	if f.stack != "" && f.ledger != "" {
		keep(errors.New("--ledger cannot be combined with --stack, which has its own ledger"))
	}
	f.current = f.current && f.bundle == ""
	f.cluster, err = f.access.settle(f.cluster)
	keep(err)
	if f.at != "" {
		q.at, err = bundle.ParseAt(f.at)
		keep(ofFlag("--at", err))
	}
	switch {
	case f.bundle != "":
		keep(f.besideBundle(f.cluster, [2]string{"--ledger", f.ledger}, [2]string{"--stack", f.stack}))
		q.bundle, err = env.openBundle(f.bundle)
		keep(err)
	case len(args) == 0:
		keep(errors.New("name an INSTANCE or KIND/NAME, or give --bundle DIR"))
	case f.at != "":
		keep(errors.New("--at needs --bundle: an account can only be read as it is now"))
	}
	switch {
	case f.hostLogs && f.bundle != "":
		keep(errors.New("--host-logs cannot be combined with --bundle: a bundle has the logs in its folder host-logs, or has none"))
	case f.hostLogs && !q.instance.IsInstance():
		keep(errors.New("--host-logs: name the INSTANCE on which to run a command"))
	}
	if q.bundle != nil && q.at.IsZero() {
		if at, ok := q.bundle.At(); ok {
			q.at = at
		} else {
			keep(fmt.Errorf("--bundle %s has no at.txt: give the time of the capture with --at", f.bundle))
		}
	}
	return q, errors.Join(faults...)
}

func explain(ctx context.Context, env Environment, f explainFlags, args []string) error {
	q, err := f.settle(env, args)
	if err != nil {
		return err
	}
	f.logsOf = q.instance
	var c report.Check
	err = f.within(ctx, env, func(ctx context.Context, p *progress) (err error) {
		runner := &run.Runner{Policy: q.policy, Permitted: q.mode, Clock: env.Now, ReadTime: f.readTime(), Progress: p.tell}
		if q.bundle != nil {
			c, err = f.ofBundle(ctx, runner, q)
		} else {
			c, err = f.live(ctx, env, p, runner, q)
		}
		return err
	})
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return err // an interrupted check is no answer
	}
	if err := writePage(f.html, "explain", func() page.Document { return report.Page([]report.Check{c}) }); err != nil {
		return err
	}
	return f.print(env, c)
}

// sameSource returns the flags that were given, except those about one instance or the output.
func (f explainFlags) sameSource() (args []string) {
	for _, flag := range [][2]string{
		{"--bundle", f.bundle}, {"--at", f.at}, {"--stack", f.stack}, {"--ledger", f.ledger}, {"--mode", f.mode}, {"--policy", f.policy}, {"--cluster", f.cluster},
		{"--region", strings.Join(f.regions, "")}, {"--context", f.context}, {"--kubeconfig", f.kubeconfig}, {"--profile", f.profile},
	} {
		if flag[1] != "" {
			args = append(args, flag[:]...)
		}
	}
	return args
}

// toExplain returns the command that explains an instance from the same source; of a bundle, that
// explains all.
func (f explainFlags) toExplain(id roll.InstanceID) string {
	words := []string{"rollcall", "explain", string(id)}
	if f.bundle != "" {
		words = words[:2]
	}
	return paste.Command(append(words, f.again...)...)
}

// namesListed is the maximum number of names in an error.
const namesListed = 20

// concern reduces a check to the subject of the question. It returns an error if the
// subject has no findings, is not in the ledger, and does not exist.
func (f explainFlags) concern(ctx context.Context, o *observe.Observer, q question, c report.Check) (report.Check, error) {
	switch {
	case q.instance == "":
		return c, nil
	case q.instance.IsInstance():
		return c.Only(q.instance), nil
	}
	found, err := o.Subject(ctx, c.Snapshot, q.instance)
	c = c.Concerning(q.instance, found.Related, f.toExplain)
	if found.Exists || len(c.Assessment.Findings)+len(c.Assessment.Starting) > 0 || c.Memory != nil && c.Memory.State.Knows(q.instance) {
		return c, nil
	}
	cluster := c.Snapshot.Cluster.ID.Name
	kind, name, _ := q.instance.Subject()
	if err != nil {
		return c, fmt.Errorf("whether %s has a %s %q could not be read: %w", cluster, kind, name, err)
	}
	if len(found.Names) == 0 {
		return c, fmt.Errorf("%s has no %s %q: it has none at all", cluster, kind, name)
	}
	return c, fmt.Errorf("%s has no %s %q: it has %s", cluster, kind, name, roll.Few(found.Names, namesListed))
}

// ofBundle checks the cluster in a bundle.
func (f explainFlags) ofBundle(ctx context.Context, runner *run.Runner, q question) (report.Check, error) {
	look := view.OfBundle(q.bundle)
	runner.Observer, runner.Why = look.Observer, look.Explain
	runner.Memory = func(s *roll.Snapshot) ledger.State { return memory(s, q.bundle) }
	runner.Clock = func() time.Time { return q.at }
	c := runner.Look(ctx, q.bundle.ClusterID().Name, q.instance, q.at)
	for _, name := range q.bundle.Ignored() {
		c.Assessment.Notes = append(c.Assessment.Notes, fmt.Sprintf("%s is not a file of a bundle, and was not read: is it misnamed?", name))
	}
	return f.concern(ctx, look.Observer, q, c)
}

// live checks the account: with the ledger if there is one, and otherwise as "what if".
func (f explainFlags) live(ctx context.Context, env Environment, p *progress, runner *run.Runner, q question) (report.Check, error) {
	a, err := f.only(ctx, env, p)
	if err != nil {
		return report.Check{}, err
	}
	runner.Observer, runner.Why, runner.Ledger = a.view.Observer, a.view.Explain, ledger.NewMemory()
	p.say("finding the cluster")
	past, err := f.remember(ctx, a, runner, q)
	if err != nil {
		return report.Check{}, err
	}
	cluster, err := f.clusterOf(ctx, a, past, q.instance)
	if err != nil {
		return report.Check{}, err
	}
	if past == nil {
		c := runner.Look(ctx, cluster, q.instance, runner.Clock())
		c.Assessment.Notes = append(c.Assessment.Notes, "this is a single check without a memory: --stack NAME or --ledger FILE adds what Rollcall remembers and has done")
		return f.concern(ctx, a.view.Observer, q, c)
	}
	runner.Ledger = past.ledger
	about := run.Subject{Cluster: roll.ClusterID{Account: past.account, Region: past.region, Name: cluster}, Instance: q.instance, From: past.from}
	c, err := runner.Review(ctx, about, runner.Clock())
	if err != nil {
		return c, past.fault(err)
	}
	if past.bucket != "" {
		c.Memory.Evidence = "s3://" + past.bucket + "/" + archive.Folder(c.Memory.Cluster, q.instance) + "/"
	}
	c.Faults = append(c.Faults, past.faults...)
	c.Assessment.Notes = append(c.Assessment.Notes, c.Memory.Unchecked(c.Snapshot.At)...)
	return f.concern(ctx, a.view.Observer, q, c)
}

// past is the memory of the account's clusters.
type past struct {
	ledger          ledger.OfClusters
	from            string // describes the source to a person
	account, region string
	bucket          string            // bucket of the evidence, "" if unknown
	fault           func(error) error // wraps an error of reading it
	faults          []string          // faults of the deployment
}

// remember opens the memory that the flags name, nil if they name none. For a deployment it
// also gives the runner the policy and the mode.
func (f explainFlags) remember(ctx context.Context, a *account, runner *run.Runner, q question) (*past, error) {
	switch {
	case f.stack != "":
		return f.deployed(ctx, a, runner, q)
	case f.ledger == "":
		return nil, nil
	}
	if _, err := os.Stat(f.ledger); err != nil {
		return nil, fmt.Errorf("--ledger: %w", err)
	}
	file, err := ledger.OpenFile(f.ledger)
	if err != nil {
		return nil, fmt.Errorf("--ledger: %w", err)
	}
	p := &past{ledger: file, from: "the ledger " + f.ledger, region: a.region, fault: func(err error) error { return ofFlag("--ledger", err) }}
	if who, err := arn.Parse(a.principal(ctx)); err == nil {
		p.account = who.AccountID
	}
	return p, nil
}

type onlooker struct{ *ledger.Dynamo }

// SeePolicy does nothing: the command must not write.
func (onlooker) SeePolicy(context.Context, string) error { return nil }

// deployed opens the ledger of a deployment, and reads its policy as its functions do.
func (f explainFlags) deployed(ctx context.Context, a *account, runner *run.Runner, q question) (*past, error) {
	d, err := a.deployment(ctx, f.stack)
	if err != nil {
		return nil, err
	}
	table := ledger.NewDynamo(dynamodb.NewFromConfig(a.cfg), d.settings.Table)
	p := &past{ledger: table, from: "the ledger of stack " + d.stack, account: d.account, region: d.region, bucket: d.settings.EvidenceBucket, fault: func(err error) error {
		return fmt.Errorf("the ledger of stack %s, table %s: %s", d.stack, d.settings.Table, awserr.Describe(err, "dynamodb:Query", a.principal(ctx)))
	}}
	if q.mode == "" {
		runner.Permitted = d.settings.Mode
	}
	if q.policy != nil {
		return p, nil
	}
	store := config.NewPolicyStore(ssm.NewFromConfig(a.cfg), d.settings).Remembering(onlooker{table})
	doc, permitted, err := store.Usable(ctx, runner.Permitted, runner.Clock(), 0)
	if _, invalid := errors.AsType[policy.Faults](err); err != nil && !invalid && !errors.Is(err, config.ErrNoPolicy) && !errors.Is(err, config.ErrTolerances) {
		return nil, fmt.Errorf("the policy of stack %s, parameter %s: %w; pass the policy with --policy FILE", d.stack, d.settings.PolicyParameter, err)
	}
	if err != nil {
		p.faults = append(p.faults, fmt.Sprintf("without a valid policy nothing is done: its functions go on with the last good one in mode notify at most, or observe by the built-in one, as this answer does: %v", err))
	}
	runner.Policy, runner.Permitted = doc, permitted
	return p, nil
}

// clusterOf returns the cluster of the subject; --cluster takes precedence.
func (f explainFlags) clusterOf(ctx context.Context, a *account, p *past, id roll.InstanceID) (string, error) {
	switch {
	case f.cluster != "":
		return f.cluster, nil
	case id.IsInstance():
		return f.clusterOfInstance(ctx, a, p, id)
	}
	if p != nil && p.account != "" {
		knowing, _, err := find(ctx, p.ledger, p.account, p.region, id)
		switch {
		case err != nil:
			return "", p.fault(err)
		case len(knowing) == 1:
			return knowing[0], nil
		}
	}
	clusters, err := a.view.Observer.Clusters(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("the cluster of %s is unknown, name it with --cluster: %w", id, err)
	case len(clusters) == 0:
		return "", fmt.Errorf("there is no EKS cluster in %s", a.region)
	case len(clusters) > 1:
		return "", fmt.Errorf("the cluster of %s is unknown: name it with --cluster (%s)", id, strings.Join(clusters, ", "))
	}
	return clusters[0], nil
}

// clusterOfInstance returns the instance's cluster, from its tags or, if it has none any
// more, from the memory.
func (f explainFlags) clusterOfInstance(ctx context.Context, a *account, p *past, id roll.InstanceID) (string, error) {
	clusters, err := a.view.Observer.ClustersOf(ctx, id)
	if err != nil && (p == nil || !errors.Is(err, observe.ErrNoInstance)) {
		return "", err
	}
	if len(clusters) == 0 && p != nil {
		return f.recall(ctx, p, id, err)
	}
	switch len(clusters) {
	case 0:
		return "", fmt.Errorf("the tags of %s name no cluster: name it with --cluster", id)
	case 1:
		return clusters[0], nil
	}
	return "", fmt.Errorf("the tags of %s name several clusters (%s): name it with --cluster", id, strings.Join(clusters, ", "))
}

// recall returns the cluster of an instance from the memory, where EC2 does not name it.
// unknown is the error that EC2 does not know the instance, nil if only its tags name no
// cluster.
func (f explainFlags) recall(ctx context.Context, p *past, id roll.InstanceID, unknown error) (string, error) {
	if p.account == "" {
		return "", fmt.Errorf("the cluster of %s is unknown, because the account id could not be read: name it with --cluster", id)
	}
	knowing, all, err := find(ctx, p.ledger, p.account, p.region, id)
	switch {
	case err != nil:
		return "", p.fault(err)
	case len(knowing) == 1:
		return knowing[0], nil
	case len(knowing) > 1:
		return "", fmt.Errorf("several clusters remember %s (%s): name it with --cluster", id, strings.Join(knowing, ", "))
	}
	why := fmt.Sprintf("the tags of %s name no cluster", id)
	if unknown != nil {
		why = unknown.Error()
	}
	return "", fmt.Errorf("%s; and %s remembers nothing of it in %d %s: nothing was found wrong with it in the end, or that is more than %d days ago",
		why, p.from, all, roll.Plural(all, "cluster", "clusters"), int(ledger.ActionRetention.Hours())/24)
}

// memory returns the state that the ledger.json of a bundle describes: the pressures of
// nodes, and when they became Ready again.
func memory(s *roll.Snapshot, b *bundle.Bundle) ledger.State {
	state := ledger.NewState()
	nodes, ok := b.Remembered()
	if !ok {
		return state
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		r, ok := nodes[n.Name]
		if !ok || n.Instance == "" {
			continue
		}
		if len(r.ReadyFlips) > 0 {
			state.Flips[n.Instance] = slices.SortedFunc(slices.Values(r.ReadyFlips), time.Time.Compare)
		}
		if p, ok := pressure(r); ok {
			state.Pressures[n.Instance] = p
		}
		// The longer of two absences counts: Unknown and False alternate.
		if c, ok := r.Condition("Ready"); ok && c.Status != string(roll.ConditionTrue) && c.Since.Before(n.Ready.Since) && n.Ready.Status != roll.ConditionTrue {
			known := ledger.NotReady{Since: c.Since, Status: roll.ConditionStatus(c.Status), Transition: c.Since, Known: true}
			if assess.SameAbsence(n, known.Status, r.At) {
				known.Status, known.Transition = n.Ready.Status, n.Ready.Since
			}
			state.NotReady[n.Instance] = known
		}
	}
	return state
}

// pressure returns the pressure that was recorded for a node.
func pressure(r evidence.Remembered) (ledger.Pressure, bool) {
	var p ledger.Pressure
	for _, kind := range []string{roll.DiskPressure, roll.MemoryPressure, roll.PIDPressure} {
		c, ok := r.Condition(kind)
		if !ok || c.Status != string(roll.ConditionTrue) {
			continue
		}
		p.Types = append(p.Types, kind)
		p.Since = roll.Earlier(p.Since, c.Since)
	}
	return p, len(p.Types) > 0
}

func (f explainFlags) print(env Environment, c report.Check) error {
	if err := answer(f.output, env, c.Explanation, c.Explain); err != nil {
		return err
	}
	switch {
	case len(c.Explained()) > 0:
		return exit(ExitFindings)
	case !c.Snapshot.Whole() || len(c.Faults) > 0 || c.Asked != nil && len(c.Answers()) == 1 && c.Answers()[0].Answer == report.AnswerUnknown:
		return exit(ExitError)
	}
	return nil
}
