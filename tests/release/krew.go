package release

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Krew returns the manifest by which krew installs the command line as kubectl rollcall, from the
// archives in a folder. url is where they can be downloaded from; with "" krew only takes them by
// its flag --archive. https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
func Krew(dir, version, url string, targets []Target) ([]byte, error) {
	type object = map[string]any
	platforms := []object{}
	for _, t := range targets {
		if t.Function != "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, t.Archive(version)))
		if err != nil {
			return nil, fmt.Errorf("manifest of krew: %w", err)
		}
		uri := t.Archive(version)
		if url != "" {
			uri = strings.TrimSuffix(url, "/") + "/" + uri
		}
		platforms = append(platforms, object{
			"selector": object{"matchLabels": object{"os": t.OS, "arch": t.Arch}},
			"uri":      uri, "sha256": fmt.Sprintf("%x", sha256.Sum256(data)), "bin": t.Program(),
		})
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(object{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": object{"name": "rollcall"},
		"spec": object{
			"version": "v" + version, "shortDescription": "Explain why EKS instances are not healthy nodes", "platforms": platforms,
			"description": "Finds EC2 instances of an EKS cluster that never became nodes, and nodes that\nstopped being healthy. Names the cause of each with its evidence and its fix.\n",
			"caveats":     "It reads EC2, EKS and IAM with your AWS credentials, and the cluster of the current\ncontext, whose user must get its tokens from aws or aws-iam-authenticator.\n",
		},
	})
	if err != nil {
		return nil, fmt.Errorf("manifest of krew: %w", err)
	}
	return b.Bytes(), nil
}
