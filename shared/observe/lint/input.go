package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Content is what a document holds.
type Content string

// The kinds of documents.
const (
	LaunchTemplates Content = "launch template versions" // as aws ec2 describe-launch-template-versions prints them
	AccessEntries   Content = "access entries"           // as aws eks describe-access-entry prints each
	NodePool        Content = "NodePool"
	NodeClass       Content = "EC2NodeClass"
	AwsAuth         Content = "aws-auth"
	UserData        Content = "user data"
)

// Source is one document of a file.
type Source struct {
	Content Content
	File    string // as the user named it
	Name    string // metadata.name of an object
	Data    []byte // the text of user data, otherwise JSON
	text    string // of the document in its file
	line    int    // of its beginning in the file, from 1
}

// Sources returns the documents of a file that lint reads; none if the file has no such document.
// The error says why the file cannot be read.
func Sources(file string, data []byte) ([]Source, error) {
	text := string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if userDataBegins(text) {
		return []Source{UserDataOf(file, data)}, nil
	}
	var out []Source
	decoder := yaml.NewDecoder(strings.NewReader(text)) // JSON is YAML
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil && !meant.MatchString(text):
			return nil, nil // some other file
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		found, err := documentsIn(&node, text)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", file, node.Line, err)
		}
		for _, d := range found {
			if d.Content == UserData { // a NodeConfig by itself
				return []Source{UserDataOf(file, data)}, nil
			}
			d.File, d.text = file, text
			out = append(out, d)
		}
	}
}

// UserDataOf returns the document of a file with user data.
func UserDataOf(file string, data []byte) Source {
	return Source{Content: UserData, File: file, Data: data, text: string(data), line: 1}
}

// userDataBegins reports whether a text begins as user data does that is neither YAML nor JSON.
func userDataBegins(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	begins := []string{"#!", "#cloud-", "#include", "mime-version:", "content-type:", "<powershell>", "<script>", "[settings"}
	return slices.ContainsFunc(begins, func(begin string) bool { return strings.HasPrefix(text, begin) })
}

// meant matches what names something that lint reads, in YAML or JSON.
var meant = regexp.MustCompile(`"?LaunchTemplateVersions"?\s*:|"?accessEntries"?\s*:|"?kind"?\s*:\s*"?(EC2NodeClass|NodePool|NodeConfig)\b|"?name"?\s*:\s*"?aws-auth\b`)

// header is what is read of any object to know what it is.
type header struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Items                  []yaml.Node `yaml:"items"`
	LaunchTemplateVersions yaml.Node   `yaml:"LaunchTemplateVersions"`
	AccessEntries          yaml.Node   `yaml:"accessEntries"`
}

// documentsIn returns the documents in a YAML or JSON document of a text: itself, or the items of a
// list.
func documentsIn(node *yaml.Node, text string) ([]Source, error) {
	var o header
	if err := node.Decode(&o); err != nil {
		if node.Kind == yaml.DocumentNode && node.Content[0].Kind == yaml.MappingNode && meant.MatchString(text) {
			return nil, err // such as a key that is there twice
		}
		return nil, nil // a list, or a chart's template: nothing that lint reads
	}
	if node.Kind == yaml.DocumentNode {
		node = node.Content[0] // the document itself begins at its ---
	}
	d := Source{Name: o.Metadata.Name, line: node.Line}
	switch {
	case o.LaunchTemplateVersions.Kind != 0:
		d.Content = LaunchTemplates
	case o.AccessEntries.Kind != 0:
		d.Content = AccessEntries
	case o.Kind == "NodeConfig" && strings.HasPrefix(o.APIVersion, "node.eks.aws/"):
		d.Content = UserData
	case o.Kind == "NodePool" && strings.HasPrefix(o.APIVersion, "karpenter.sh/"), o.Kind == "EC2NodeClass":
		d.Content = Content(o.Kind)
	case o.Kind == "ConfigMap" && o.Metadata.Name == "aws-auth":
		d.Content = AwsAuth
	case strings.HasSuffix(o.Kind, "List"):
		var out []Source
		for i := range o.Items {
			if o.Items[i].Kind != yaml.MappingNode { // an alias may contain itself
				return nil, fmt.Errorf("line %d: items[%d] is no object", o.Items[i].Line, i)
			}
			some, err := documentsIn(&o.Items[i], "")
			if err != nil {
				return nil, err
			}
			out = append(out, some...)
		}
		return out, nil
	default:
		return nil, nil
	}
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, err
	}
	var err error
	d.Data, err = json.Marshal(value)
	return []Source{d}, err
}

// kinds are all kinds of the API groups that only nodes use, also those that lint does not read.
var kinds = map[string][]string{
	"karpenter.sh":      {"NodePool", "NodeClaim", "NodeOverlay", "Provisioner", "Machine"},
	"karpenter.k8s.aws": {"EC2NodeClass", "AWSNodeTemplate"},
	"node.eks.aws":      {"NodeConfig"},
}

// Misnamed says of each document of a file that its API group has no such kind, if the group is one
// that lint reads: it is most likely a typo, and lint does not judge the document.
func Misnamed(data []byte) (faults []string) {
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	for {
		var node yaml.Node
		if decoder.Decode(&node) != nil {
			return faults // the end, or Sources has the error
		}
		faults = append(faults, misnamedIn(&node)...)
	}
}

func misnamedIn(node *yaml.Node) (faults []string) {
	var o header
	if node.Decode(&o) != nil {
		return nil
	}
	if node.Kind == yaml.DocumentNode {
		node = node.Content[0]
	}
	for i := range o.Items {
		if o.Items[i].Kind == yaml.MappingNode { // an alias may contain itself
			faults = append(faults, misnamedIn(&o.Items[i])...)
		}
	}
	group, _, _ := strings.Cut(o.APIVersion, "/")
	if known := kinds[group]; known != nil && !slices.Contains(known, strings.TrimSuffix(o.Kind, "List")) {
		faults = append(faults, fmt.Sprintf("line %d: %s has no kind %q", node.Line, o.APIVersion, o.Kind))
	}
	return faults
}
