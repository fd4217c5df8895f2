package awsauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"rollcall/shared/evidence"
)

// The keys of the ConfigMap under which roles and users are mapped. They are case-sensitive.
const (
	mapRoles = "mapRoles"
	mapUsers = "mapUsers"
)

// Parse reads the data of the ConfigMap: which roles are mapped, to what, and which parts of
// mapRoles the authenticator rejects. It never fails and prints nothing: faults are in the result.
// Data without mapRoles maps no role.
func Parse(data map[string]string) evidence.AwsAuth {
	list, unparseable := entries(data[mapRoles])
	result := evidence.AwsAuth{Unparseable: unparseable, Users: users(data[mapUsers])}
	for i, entry := range list {
		var m roleMapping
		decoding := json.Unmarshal(entry, &m) // a value of the wrong type leaves its key empty
		if err := m.fault(); err != nil {
			result.Rejected = append(result.Rejected, evidence.RejectedMapping{Index: i, ARN: m.RoleARN, Why: why(entry, err, decoding)})
			continue
		}
		canonical := m.key()
		result.Roles = append(result.Roles, evidence.RoleMapping{
			Index: i, ARN: m.RoleARN, Username: m.Username, Groups: m.Groups,
			Canonical: canonical, Path: hasPath(canonical), InstanceProfile: isInstanceProfile(canonical),
		})
	}
	effective(result.Roles)
	return result
}

// users returns the ARNs that mapUsers maps. Unreadable parts, and entries without an ARN, map nobody
// and do not affect nodes.
func users(text string) (arns []string) {
	list, _ := entries(text)
	for _, entry := range list {
		var m struct {
			UserARN string `json:"userarn"`
		}
		if _ = json.Unmarshal(entry, &m); m.UserARN != "" {
			arns = append(arns, strings.ToLower(m.UserARN))
		}
	}
	return arns
}

// entries splits the text of a key into its mappings, as ParseMap of the authenticator does, or
// returns why none can be read. ParseMap itself would link the clients of every API group of
// Kubernetes; FuzzParse compares with it.
func entries(text string) (list []json.RawMessage, unparseable string) {
	switch strings.TrimSpace(text) {
	case "", "``", `""`, "''": // skipped without a word
		return nil, ""
	}
	asJSON, err := utilyaml.ToJSON([]byte(text))
	if err != nil {
		return nil, shortened(err.Error())
	}
	if err := json.Unmarshal(asJSON, &list); err != nil {
		return nil, notAList(err)
	}
	return list, ""
}

// notAList returns what mapRoles is instead of a list.
func notAList(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "it is not a list of mappings but " + inWords(wrong.Value)
	}
	// A text that begins with a brace is read as JSON, not as YAML.
	return shortened("it begins with { and is not JSON: " + err.Error())
}

// why returns one sentence, without its full stop, on why an entry is dropped: what is invalid
// about it, and the key of a wrong type that may be the cause.
func why(entry json.RawMessage, invalid, decoding error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](decoding)
	switch {
	case ok && entry[0] != '{':
		return "it is not a mapping but " + inWords(wrong.Value)
	case ok:
		return shortened(fmt.Sprintf("%v (%s is %s)", invalid, wrong.Field, inWords(wrong.Value)))
	}
	return shortened(invalid.Error())
}

// inWords returns the YAML term for the kind of a JSON value.
func inWords(kind string) string {
	switch kind {
	case "object":
		return "a mapping"
	case "array":
		return "a list"
	case "string":
		return "text"
	case "bool":
		return "true or false"
	}
	return "a number" // "number", or with its digits
}

// maxWhy is the maximum length, in bytes, of a parser's message that is passed on.
const maxWhy = 300

func shortened(message string) string {
	if len(message) > maxWhy {
		message = message[:maxWhy] + " ..."
	}
	return strings.ToValidUTF8(message, "")
}

// effective marks the mappings that no later one replaces.
func effective(roles []evidence.RoleMapping) {
	last := make(map[string]int, len(roles))
	for i, m := range roles {
		last[m.Canonical] = i
	}
	for _, i := range last {
		roles[i].Effective = true
	}
}
