package command

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

func policyCommand(env Environment) *cobra.Command {
	c := &cobra.Command{Use: "policy", Short: "Validate a policy file, or print the schema of policies"}
	c.AddCommand(policyCheckCommand(env), &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of policies",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := env.Stdout.Write(policy.Schema())
			return err
		},
	})
	return c
}

func policyCheckCommand(env Environment) *cobra.Command {
	var cluster, group, form string
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Validate a policy file and show what it comes to",
		Long: `Validates a policy file: every fault at once, with its line and key. A valid one
is shown with the settings that take effect, and where each comes from; --cluster
and --group choose for what.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := parseOutput(form)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("read the policy: %w", err)
			}
			doc, err := policy.Parse(data)
			if err != nil {
				return fmt.Errorf("%s:\n%w", args[0], err)
			}
			return showPolicy(env, o, args[0], doc, cluster, roll.Group(group))
		},
	}
	c.Flags().StringVar(&cluster, "cluster", "", "show the settings for this cluster")
	c.Flags().StringVar(&group, "group", "", "show the settings for this group, such as nodepool/default")
	c.Flags().StringVar(&form, "output", string(outputTable), "table or json")
	return c
}

func showPolicy(env Environment, form output, file string, doc *policy.Document, cluster string, group roll.Group) error {
	settings := doc.Explain(cluster, "", roll.GroupSelector(group))
	if form == outputJSON {
		type setting struct {
			Key   string `json:"key"`
			Value string `json:"value"`
			From  string `json:"from"`
		}
		type warning struct {
			Line    int    `json:"line"`
			Key     string `json:"key"`
			Problem string `json:"problem"`
		}
		out := struct {
			Valid    bool      `json:"valid"`
			Warnings []warning `json:"warnings"`
			Settings []setting `json:"settings"`
		}{Valid: true, Warnings: []warning{}, Settings: []setting{}}
		for _, w := range doc.Warnings() {
			out.Warnings = append(out.Warnings, warning{Line: w.Line, Key: w.Key, Problem: w.Problem})
		}
		for _, s := range settings {
			out.Settings = append(out.Settings, setting{Key: s.Key, Value: s.Value, From: s.From})
		}
		enc := json.NewEncoder(env.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(out)
	}
	if _, err := fmt.Fprintf(env.Stdout, "%s is valid\n", file); err != nil {
		return err
	}
	for _, w := range doc.Warnings() {
		if _, err := fmt.Fprintf(env.Stdout, "warning: %s\n", w); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(env.Stdout); err != nil {
		return err
	}
	for _, s := range settings {
		if _, err := fmt.Fprintf(env.Stdout, "%-42s %-26s %s\n", s.Key, s.Value, s.From); err != nil {
			return err
		}
	}
	return nil
}
