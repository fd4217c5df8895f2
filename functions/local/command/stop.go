package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/spf13/cobra"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/lambdas/config"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

type switchFlags struct {
	stackFlags
	parameter string
}

func stopCommand(env Environment) *cobra.Command {
	return switchCommand(env, true, &cobra.Command{
		Use:   "stop",
		Short: "Suspend all acts of a deployment, in every cluster and group",
		Long: `Writes stop: true into the policy of a deployment, and prints what is in force.

It suspends every act (cordon, uncordon, drain, reboot, terminate, out-of-service, and the
deletion of nodes and NodeClaims) in every cluster and group, whatever modes, overrides,
presets and tags say. The policy is read again right before each act, so no new act
begins. Checks, tags and notices continue; held acts have the reason Stopped.

The rest of the policy is not changed. stop also works on a policy that is invalid. If the
stack's parameter does not exist, stop creates one in mode notify, so that notices continue. A missing parameter that
--parameter names is an error: the name or the region may be wrong.

It needs ssm:GetParameter and ssm:PutParameter on the parameter, and
cloudformation:DescribeStacks unless --parameter is given; for a SecureString also
ssm:GetParameterHistory and the use of its key.

Exit codes: 0 all acts are suspended; 1 the policy could not be read or written, or differs
from what was written: what is in force is printed as far as it is known.`,
	})
}

func resumeCommand(env Environment) *cobra.Command {
	return switchCommand(env, false, &cobra.Command{
		Use:   "resume",
		Short: "Let a deployment act again, as its policy and stack allow",
		Long: `Removes stop: true from the policy of a deployment, and prints what is in force.

The next checks order the acts that were held as Stopped, within the limits and the mode.
To prevent that, lower the mode first.

The rest of the policy is not changed. An invalid policy is an error: correct it first.

It needs the same permissions as rollcall stop.

Exit codes: 0 acts are allowed again; 1 the policy could not be read or written, is missing,
or is invalid.`,
	})
}

func switchCommand(env Environment, stop bool, c *cobra.Command) *cobra.Command {
	var f switchFlags
	c.Args = arguments(0, 0, "")
	c.RunE = func(cmd *cobra.Command, _ []string) error { return f.turn(cmd.Context(), env, stop) }
	c.Flags().StringVar(&f.parameter, "parameter", "", "`NAME` of the SSM parameter that holds the policy (default: the stack's)")
	f.add(c, time.Minute)
	c.MarkFlagsMutuallyExclusive("stack", "parameter")
	return c
}

// turn stops or resumes, and prints the settings in force afterwards.
func (f switchFlags) turn(ctx context.Context, env Environment, stop bool) error {
	return f.run(ctx, env, func(ctx context.Context, p *progress, a *account) error {
		p.say("reading the policy")
		now, err := f.turned(ctx, a, stop)
		p.clear()
		return errors.Join(now.print(env, f.output), err)
	})
}

func (f switchFlags) turned(ctx context.Context, a *account, stop bool) (inForce, error) {
	s := policySwitch{api: ssm.NewFromConfig(a.cfg), name: f.parameter, region: a.region, permitted: policy.Remediate, principal: a.principal, settles: time.Second}
	if f.parameter == "" {
		d, err := a.deployment(ctx, f.stack)
		if err != nil {
			return inForce{}, fmt.Errorf("%w\n--parameter NAME does without the stack: /rollcall/policy, unless the stack was given another", err)
		}
		s.name, s.region, s.stack, s.permitted = d.settings.PolicyParameter, d.region, d.stack, d.settings.Mode
	}
	if stop {
		return s.stop(ctx)
	}
	return s.resume(ctx)
}

// parameterAPI is the part of Systems Manager that is used; *ssm.Client implements it.
type parameterAPI interface {
	GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
	GetParameterHistory(context.Context, *ssm.GetParameterHistoryInput, ...func(*ssm.Options)) (*ssm.GetParameterHistoryOutput, error)
	PutParameter(context.Context, *ssm.PutParameterInput, ...func(*ssm.Options)) (*ssm.PutParameterOutput, error)
}

// policySwitch writes and clears the stop in a policy parameter.
type policySwitch struct {
	api          parameterAPI
	name, region string
	stack        string      // "" if it was not read
	permitted    policy.Mode // mode that the stack permits; remediate if it was not read
	principal    func(context.Context) string
	settles      time.Duration // time between two reads after a write
}

// written is the content of the parameter.
type written struct {
	missing bool
	text    []byte
	version int64
	at      time.Time
	kind    types.ParameterType
}

// inForce describes the settings in force in a deployment, for a person and as JSON.
type inForce struct {
	Parameter string `json:"parameter"`
	Region    string `json:"region"`
	Stack     string `json:"stack,omitempty"`
	// Version is the parameter's version, and Since the time when it was written.
	Version int64     `json:"version,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Stop    bool      `json:"stop"`
	// Mode is the highest mode of any cluster or group. Permitted is the mode that the
	// stack permits, "" if it was not read.
	Mode      policy.Mode `json:"mode"`
	Permitted policy.Mode `json:"permitted,omitempty"`
	// Acts reports whether anything may be acted on.
	Acts bool `json:"acts"`
	// Changed reports whether the parameter was written.
	Changed bool `json:"changed"`
	// Faults lists the faults of a policy that does not validate.
	Faults []string `json:"faults"`

	headline string
	notes    []string
}

// otherwise says how to stop if the policy cannot be written.
const otherwise = "to stop without the policy: aws lambda update-event-source-mapping --no-enabled --uuid UUID, where UUID is the stack's output RemediateEventSource"

// stop sets stop: true in the policy.
func (s policySwitch) stop(ctx context.Context) (inForce, error) {
	before, err := s.read(ctx)
	if err != nil {
		return inForce{}, fmt.Errorf("nothing was written: %w\n%s", err, otherwise)
	}
	now := s.look(before)
	now.headline = "not stopped: nothing was written"
	if before.missing && s.stack == "" {
		// The name may be mistyped, or the region wrong: the deployment reads its own
		// parameter, and would continue to act.
		return now, fmt.Errorf("not stopped: there is no parameter %s in %s\ncorrect --parameter or --region; or name the deployment by --stack, whose parameter is written also if it is missing\n%s", s.name, s.region, otherwise)
	}
	text, anew, err := policy.WithStop(before.text)
	if err != nil {
		return now, fmt.Errorf("the policy in parameter %s: %w\n%s", s.name, err, otherwise)
	}
	now, err = s.write(ctx, before, text)
	switch {
	case err != nil && !now.Changed:
		now.headline = "not stopped: nothing was written"
		return now, fmt.Errorf("%w\n%s", err, otherwise)
	case err != nil:
	case !now.Changed:
		now.headline = "stopped already: nothing was written"
	default:
		now.headline = "stopped: no act begins from now on, in any cluster or group"
	}
	switch {
	case len(now.Faults) > 0:
		now.notes = append(now.notes, "the policy is invalid, so no act begins in any case; the stop still holds when the policy is corrected")
	case anew:
		now.notes = append(now.notes, "there was no policy: this one says mode: notify, which rollcall resume leaves as it is")
	}
	return now, err
}

// resume removes the stop from the policy.
func (s policySwitch) resume(ctx context.Context) (inForce, error) {
	before, err := s.read(ctx)
	if err != nil {
		return inForce{}, fmt.Errorf("nothing was written: %w", err)
	}
	now := s.look(before)
	if now.headline = "nothing was written"; before.missing {
		return now, fmt.Errorf("there is no SSM parameter %s in %s: without one Rollcall does not act; write the policy first", s.name, s.region)
	}
	text, err := policy.WithoutStop(before.text)
	if err != nil {
		return now, fmt.Errorf("the policy in parameter %s is not changed, and nothing is acted on under it:\n%w", s.name, err)
	}
	now, err = s.write(ctx, before, text)
	switch {
	case err != nil:
	case !now.Changed:
		now.headline = "not stopped: nothing was written"
	case now.Acts:
		now.headline = "resumed: what was held as Stopped continues with the next checks, within the limits"
	default:
		now.headline = "resumed: nothing is stopped any more, and no mode allows an act"
	}
	return now, err
}

func (s policySwitch) read(ctx context.Context) (written, error) {
	if s.name == config.BuiltIn {
		return written{}, errors.New("the stack has PolicyParameter=none, so its functions read no parameter: set its Mode to notify, or give it a parameter")
	}
	out, err := s.api.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(s.name), WithDecryption: aws.Bool(true)})
	switch {
	case awserr.IsNotFound(err):
		return written{missing: true}, nil
	case err != nil:
		return written{}, errors.New(awserr.Describe(err, "ssm:GetParameter", s.principal(ctx)))
	case out.Parameter == nil:
		return written{}, fmt.Errorf("SSM returned no value for parameter %s", s.name)
	}
	p := out.Parameter
	return written{text: []byte(aws.ToString(p.Value)), version: p.Version, at: aws.ToTime(p.LastModifiedDate), kind: p.Type}, nil
}

// write writes a text if it differs from the one before, and returns the settings in force
// afterwards.
func (s policySwitch) write(ctx context.Context, before written, text []byte) (inForce, error) {
	unchanged := s.look(before)
	unchanged.headline = "nothing was written"
	if !before.missing && bytes.Equal(before.text, text) {
		return unchanged, nil
	}
	version, err := s.put(ctx, before, text)
	if err != nil {
		return unchanged, fmt.Errorf("nothing was written: %w", err)
	}
	now, err := s.readBack(ctx, version)
	if err != nil {
		found := s.look(written{text: text, version: version, kind: before.kind})
		found.Changed, found.headline = true, "written, and not seen to be in force"
		return found, err
	}
	found := s.look(now)
	found.Changed, found.headline = true, "written"
	switch {
	case now.version != version:
		return found, fmt.Errorf("somebody wrote version %d of parameter %s right after this: check what it says now", now.version, s.name)
	case version != before.version+1 && !before.missing:
		return found, fmt.Errorf("somebody wrote version %d of parameter %s in between, and this replaced it: %s has it", version-1, s.name, paste.Command("aws", "ssm", "get-parameter-history", "--name", s.name))
	}
	return found, nil
}

// put writes a text into the parameter, and returns its version. An existing parameter
// keeps its type, key and tier.
func (s policySwitch) put(ctx context.Context, before written, text []byte) (int64, error) {
	if err := fitsParameter(text); err != nil {
		return 0, fmt.Errorf("parameter %s: %w", s.name, err)
	}
	in := &ssm.PutParameterInput{Name: aws.String(s.name), Value: aws.String(string(text)), Overwrite: aws.Bool(!before.missing)}
	switch {
	case before.missing:
		in.Type = types.ParameterTypeString
	case before.kind == types.ParameterTypeSecureString:
		key, err := s.key(ctx)
		if err != nil {
			return 0, err
		}
		in.Type, in.KeyId = types.ParameterTypeSecureString, key
	}
	out, err := s.api.PutParameter(ctx, in)
	if awserr.IsInvalid(err) {
		// Without a tier the account's default applies, which is the standard one. An advanced
		// parameter cannot become a standard one, and a standard one takes at most 4 KiB:
		// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
		in.Tier = types.ParameterTierAdvanced
		out, err = s.api.PutParameter(ctx, in)
	}
	if err != nil {
		return 0, errors.New(awserr.Describe(err, "ssm:PutParameter", s.principal(ctx)))
	}
	return out.Version, nil
}

// key returns the key of a SecureString. If it is written without one, it gets the
// account's default key.
func (s policySwitch) key(ctx context.Context) (key *string, err error) {
	pages := ssm.NewGetParameterHistoryPaginator(s.api, &ssm.GetParameterHistoryInput{Name: aws.String(s.name)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, errors.New(awserr.Describe(err, "ssm:GetParameterHistory", s.principal(ctx)))
		}
		for _, version := range page.Parameters { // the latest comes last
			key = version.KeyId
		}
	}
	return key, nil
}

// looks is the maximum number of reads until the parameter shows what was written.
const looks = 5

// readBack reads the parameter after a version was written.
func (s policySwitch) readBack(ctx context.Context, version int64) (now written, err error) {
	for look := range looks {
		if look > 0 {
			pause(ctx, s.settles)
		}
		if now, err = s.read(ctx); err == nil && now.version >= version {
			return now, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("parameter %s does not show version %d yet: run this again", s.name, version)
	}
	return now, err
}

// pause waits for the duration, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// look returns the settings in force with the content of the parameter.
func (s policySwitch) look(w written) inForce {
	f := inForce{Parameter: s.name, Region: s.region, Stack: s.stack, Version: w.version, Since: w.at.UTC(), Faults: []string{}}
	if s.stack != "" {
		f.Permitted = s.permitted
	}
	doc, err := policy.Parse(w.text)
	switch {
	case w.missing:
		f.Mode = policy.Lower(s.permitted, policy.Notify)
		f.Faults = append(f.Faults, "there is no such SSM parameter")
	case err != nil:
		// The functions continue with the last good policy, in mode notify at most.
		f.Stop, f.Mode = policy.Stops(w.text), policy.Lower(s.permitted, policy.Notify)
		f.Faults = strings.Split(err.Error(), "\n")
	default:
		f.Stop, f.Mode = doc.Stopped(), doc.Highest(s.permitted)
		f.Acts = !f.Stop && f.Mode.Allows(policy.Remediate)
	}
	return f
}

func (f inForce) print(env Environment, form form) error {
	switch {
	case f.Parameter == "":
		return nil
	case form.data():
		return form.print(env.Stdout, f)
	}
	place := f.Parameter + " in " + f.Region + roll.Behind(", of stack ", f.Stack)
	version := "there is none"
	if f.Version > 0 {
		version = fmt.Sprintf("%d", f.Version)
		if !f.Since.IsZero() {
			version += ", since " + roll.Clock(f.Since)
		}
	}
	mode := string(f.Mode) + " at most; what the stack permits was not asked"
	if f.Permitted != "" {
		mode = string(f.Mode) + " at most; the stack permits " + string(f.Permitted)
	}
	fields := [][2]string{{"parameter", place}, {"version", version}, {"stop", fmt.Sprint(f.Stop)}, {"mode", mode}}
	for _, fault := range f.Faults {
		fields = append(fields, [2]string{"fault", fault})
	}
	var b strings.Builder
	sheet(&b, f.headline, fields)
	for _, note := range f.notes {
		b.WriteByte('\n')
		hanging(&b, "", note)
	}
	_, err := io.WriteString(env.Stdout, b.String())
	return ofFlag("print", err)
}
