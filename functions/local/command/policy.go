package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/shared/policy"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

func policyCommand(env Environment) *cobra.Command {
	c := &cobra.Command{
		Use: "policy", Short: "Validate a policy file, or print the schema of policies", Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q of %s: it has check and schema", args[0], c.CommandPath())
			}
			return c.Help()
		},
	}
	c.AddCommand(policyCheckCommand(env), &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of policies",
		Args:  arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			_, err := env.Stdout.Write(policy.Schema())
			return err
		},
	})
	return c
}

type policyFlags struct {
	cluster, clusterMode string
	group, preset        string
	tags                 []string
	output               form
}

func policyCheckCommand(env Environment) *cobra.Command {
	var f policyFlags
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Validate a policy file, and show the settings in effect",
		Long: `Validates a policy file (- is standard input) and reports all errors at once, each with line
and key. For a valid file it prints the settings in effect and where each comes from: for the
cluster, group and instance that the flags name, or without flags for those that no override
matches.`,
		Example: `  rollcall policy check - < policy.yaml
  rollcall policy check FILE --cluster production --group nodepool/default
  rollcall policy check FILE --cluster production --cluster-mode notify
  rollcall policy check FILE --group asg/training --preset gpu \
      --instance-tag rollcall:deadline=45m`,
		Args: arguments(1, 1, "a policy FILE, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error { return policyCheck(env, f, args[0]) },
	}
	flags := c.Flags()
	flags.StringVar(&f.cluster, "cluster", "", "show the settings for the cluster of this `NAME`")
	flags.StringVar(&f.clusterMode, "cluster-mode", "", "`MODE`, the value of the EKS cluster's tag rollcall:mode")
	flags.StringVar(&f.group, "group", "", "show the settings for this `GROUP`, such as nodepool/default")
	flags.StringVar(&f.preset, "preset", "", "`NAME` of the preset that the instance's platform or type selects, such as gpu")
	flags.StringArrayVar(&f.tags, "instance-tag", nil, "tag of an instance as `KEY=VALUE`; repeat for several")
	outputFlag(c, &f.output, outputTable, outputJSON, outputYAML)
	values(c, "cluster-mode", fixed(modes...))
	return c
}

// selector parses the flags that select whose settings to show.
func (f policyFlags) selector() (roll.Selector, error) {
	s := roll.Selector{Group: roll.Group(f.group), Preset: f.preset}
	var faults []error
	if f.group != "" && !isGroup(f.group) {
		faults = append(faults, fmt.Errorf("--group %q: a group is nodepool/NAME, nodegroup/NAME, asg/NAME or none", f.group))
	}
	for _, tag := range f.tags {
		key, value, ok := strings.Cut(tag, "=")
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("--instance-tag %q: it takes KEY=VALUE", tag))
		case key == roll.TagDeadline:
			s.Deadline = value
		default:
			faults = append(faults, fmt.Errorf("--instance-tag %q: no policy depends on it; %s is the tag that counts", key, roll.TagDeadline))
		}
	}
	return s, errors.Join(faults...)
}

func isGroup(name string) bool {
	if roll.Group(name) == roll.GroupNone {
		return true
	}
	for _, prefix := range []roll.Group{roll.NodePoolGroup(""), roll.NodeGroupGroup(""), roll.AutoScalingGroup("")} {
		if rest, ok := strings.CutPrefix(name, string(prefix)); ok && rest != "" && !strings.Contains(rest, "/") {
			return true
		}
	}
	return false
}

func policyCheck(env Environment, f policyFlags, file string) error {
	of, wrong := f.selector()
	if err := errors.Join(f.output.check(), wrong); err != nil {
		return err
	}
	data, err := env.read(file)
	if err != nil {
		return fmt.Errorf("read the policy: %w", err)
	}
	if file == "-" {
		file = "standard input"
	}
	doc, err := policy.Parse(data)
	if err != nil {
		return invalidPolicy(env, f.output, file, err)
	}
	if err := fitsParameter(data); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(data) > standardParameter {
		_, _ = fmt.Fprintf(env.Stderr, "rollcall: %s has %d bytes, and a standard parameter holds %d: store it with aws ssm put-parameter --tier Advanced\n", file, len(data), standardParameter)
	}
	if f.preset != "" && !slices.Contains(doc.Presets(), f.preset) {
		return fmt.Errorf("--preset %s: the presets of %s are %s", f.preset, file, strings.Join(doc.Presets(), ", "))
	}
	if f.output.data() {
		return f.printData(env, doc, of)
	}
	return f.printTable(env, file, doc, of)
}

// Maximum sizes of an SSM parameter in bytes, by tier:
// https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-advanced-parameters.html
const standardParameter, advancedParameter = 4 << 10, 8 << 10

// fitsParameter returns an error if a policy is too large for any parameter.
func fitsParameter(text []byte) error {
	if len(text) <= advancedParameter {
		return nil
	}
	return fmt.Errorf("the policy has %d bytes, and an SSM parameter holds %d at most, in the advanced tier: shorten it, for example with patterns in match instead of a list", len(text), advancedParameter)
}

// invalidPolicy prints the faults of a file. The exit code is ExitError in either form.
func invalidPolicy(env Environment, form form, file string, err error) error {
	var faults policy.Faults
	if !form.data() || !errors.As(err, &faults) {
		return fmt.Errorf("%s:\n%w", file, err)
	}
	if err := form.print(env.Stdout, struct {
		Valid  bool          `json:"valid"`
		Faults policy.Faults `json:"faults"`
	}{false, faults}); err != nil {
		return err
	}
	return exit(ExitError)
}

func (f policyFlags) printData(env Environment, doc *policy.Document, of roll.Selector) error {
	type selected struct {
		Cluster      string            `json:"cluster,omitempty"`
		ClusterMode  string            `json:"clusterMode,omitempty"`
		Group        roll.Group        `json:"group,omitempty"`
		Preset       string            `json:"preset,omitempty"`
		InstanceTags map[string]string `json:"instanceTags,omitempty"`
	}
	tags := map[string]string{}
	if of.Deadline != "" {
		tags[roll.TagDeadline] = of.Deadline
	}
	return f.output.print(env.Stdout, struct {
		Valid    bool             `json:"valid"`
		For      selected         `json:"for"`
		Presets  []string         `json:"presets"`
		Warnings []policy.Fault   `json:"warnings"`
		Settings []policy.Setting `json:"settings"`
	}{
		Valid: true, Presets: doc.Presets(), Warnings: append([]policy.Fault{}, doc.Warnings()...),
		For:      selected{f.cluster, f.clusterMode, of.Group, of.Preset, tags},
		Settings: doc.Explain(f.cluster, f.clusterMode, of),
	})
}

func (f policyFlags) printTable(env Environment, file string, doc *policy.Document, of roll.Selector) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is valid\n", file)
	given := []string{
		roll.Behind("cluster ", f.cluster), roll.Behind("cluster tag "+roll.TagMode+"=", f.clusterMode), roll.Behind("group ", f.group),
		roll.Behind("preset ", f.preset), roll.Behind("instance tag "+roll.TagDeadline+"=", of.Deadline),
	}
	hanging(&b, "for ", strings.Join(slices.DeleteFunc(given, func(s string) bool { return s == "" }), ", "))
	for _, w := range doc.Warnings() {
		hanging(&b, "warning: ", w.String())
	}
	b.WriteByte('\n')
	settingsTable(&b, doc.Explain(f.cluster, f.clusterMode, of))
	_, err := io.WriteString(env.Stdout, b.String())
	return ofFlag("print", err)
}

// The columns of the table of settings, from 0.
const (
	valueAt = 33
	fromAt  = 48
)

// settingsTable writes settings under the names of their sections. A section of one
// setting has no line of its own.
func settingsTable(b *strings.Builder, settings []policy.Setting) {
	inSection := map[string]int{}
	for _, s := range settings {
		section, _, _ := strings.Cut(s.Key, ".")
		inSection[section]++
	}
	before := ""
	for _, s := range settings {
		section, key, _ := strings.Cut(s.Key, ".")
		if key == "" || inSection[section] == 1 {
			settingRow(b, s.Key, s.Value, s.From)
			continue
		}
		if section != before {
			b.WriteString(section + "\n")
		}
		before = section
		settingRow(b, "  "+key, s.Value, s.From)
	}
}

// settingRow writes one setting. If the value is too long for its column, the source
// follows it directly or, if that does not fit either, on the next line.
func settingRow(b *strings.Builder, key, value, from string) {
	sources := report.Wrapped(from, textWidth-fromAt)
	switch {
	case len([]rune(key)) < valueAt && len([]rune(value)) < fromAt-valueAt:
		row(b, key, value, sources[0])
		sources = sources[1:]
	case len([]rune(key)) < valueAt && valueAt+len([]rune(value+"  "+from)) <= textWidth:
		row(b, key, value+"  "+from, "")
		sources = nil
	default:
		for _, v := range report.Wrapped(value, textWidth-valueAt) {
			row(b, key, v, "")
			key = ""
		}
	}
	for _, s := range sources {
		row(b, "", "", s)
	}
}

func row(b *strings.Builder, key, value, from string) {
	line := pad(key, valueAt) + value
	if from != "" {
		line = pad(line, fromAt) + from
	}
	b.WriteString(line + "\n")
}
