package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"

	"rollcall/shared/policy"
)

// simulatedPolicy is the policy of a file as the simulated account has it: as YAML with its
// sections on lines of their own, since faults of the simulation change its mode and stop it. It is
// in the given mode, or in its own; a document without one does what a deployment permits, which
// in the simulation is remediate.
func simulatedPolicy(path, mode string) (string, error) {
	var faults []error
	if mode != "" {
		if _, err := policy.ParseMode(mode); err != nil {
			faults = append(faults, fmt.Errorf("--mode: %w", err))
		}
		if path == "" {
			faults = append(faults, errors.New("--mode is of no use without --policy FILE"))
		}
	}
	if path == "" {
		return "", errors.Join(faults...)
	}
	if _, err := readPolicy(path); err != nil {
		return "", errors.Join(append(faults, err)...)
	}
	if len(faults) > 0 {
		return "", errors.Join(faults...)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("--policy: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return "", fmt.Errorf("--policy %s: %w", path, err)
	}
	root := doc.Content[0]
	root.Style = 0
	own := slices.IndexFunc(root.Content, func(n *yaml.Node) bool { return n.Value == "mode" })
	switch {
	case own >= 0 && own%2 == 0 && mode != "":
		root.Content[own+1].Value = mode
	case own < 0:
		if mode == "" {
			mode = string(policy.Remediate)
		}
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "mode"}, &yaml.Node{Kind: yaml.ScalarNode, Value: mode})
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return "", fmt.Errorf("--policy %s: %w", path, err)
	}
	return out.String(), nil
}
