package command

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"rollcall/shared/policy"
)

// simulatedPolicy returns the policy in a file for the simulated account. It is YAML with
// its sections on lines of their own, since simulated faults change its mode and stop it.
// The mode is the given one, or else the document's; a document without one gets the mode
// that a deployment permits, which is remediate in the simulation.
func simulatedPolicy(path, mode string) (string, error) {
	var faults []error
	if mode != "" {
		_, err := policy.ParseMode(mode)
		faults = append(faults, ofFlag("--mode", err))
		if path == "" {
			faults = append(faults, errors.New("--mode needs --policy FILE"))
		}
	}
	if path == "" {
		return "", errors.Join(faults...)
	}
	_, data, err := policyFile(path)
	if err := errors.Join(append(faults, err)...); err != nil {
		return "", err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return "", fmt.Errorf("--policy %s: %w", path, err)
	}
	root := doc.Content[0]
	root.Style = 0
	var own *yaml.Node
	for i := 0; i < len(root.Content); i += 2 { // keys and values alternate
		if root.Content[i].Value == "mode" {
			own = root.Content[i+1]
		}
	}
	if own == nil {
		own = &yaml.Node{Kind: yaml.ScalarNode, Value: string(policy.Remediate)}
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "mode"}, own)
	}
	own.Value = cmp.Or(mode, own.Value)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return "", fmt.Errorf("--policy %s: %w", path, err)
	}
	return out.String(), nil
}
