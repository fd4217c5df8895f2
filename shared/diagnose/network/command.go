package network

import (
	"encoding/json"
	"strings"

	"rollcall/shared/diagnose/paste"
)

// quote is a word that a shell reads as the text; a variable is left to the shell.
func quote(word string) string {
	if name, ok := strings.CutPrefix(word, "$"); ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
		return `"` + word + `"`
	}
	return paste.Word(word)
}

func command(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// aws is a command of the AWS CLI in the cluster's region.
func (l *look) aws(words ...string) string {
	if l.Region != "" {
		words = append(words, "--region", l.Region)
	}
	return command(append([]string{"aws"}, words...)...)
}

// jsonText is a value as JSON, for the options of the AWS CLI that take some.
func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}" // maps and slices of strings and booleans always marshal
	}
	return string(b)
}

// privateAccess turns the cluster's private endpoint on and leaves the public one as it is.
func (l *look) privateAccess() string {
	return l.aws("eks", "update-cluster-config", "--name", l.clusterName(), "--resources-vpc-config", jsonText(map[string]any{"endpointPrivateAccess": true}))
}

func (l *look) clusterName() string {
	if l.ClusterID.Name != "" {
		return l.ClusterID.Name
	}
	return l.k.Name
}
