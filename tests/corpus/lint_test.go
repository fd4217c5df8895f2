package corpus_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"rollcall/functions/local/command"
	"rollcall/shared/diagnose/cause"
	"rollcall/shared/observe/bundle"
	"rollcall/shared/roll"
	"rollcall/tests/corpus/generate"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// object is a JSON object of a bundle.
type object = map[string]any

// objectsIn returns the objects in a file of a bundle.
func objectsIn(t *testing.T, files map[string][]byte, name, key string) []object {
	t.Helper()
	var all map[string]json.RawMessage
	if files[name] == nil {
		return nil
	}
	if err := json.Unmarshal(files[name], &all); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var out []object
	err := json.Unmarshal(all[key], &out)
	must.That(t, err == nil, "%s: %v", name, err)
	return out
}

// unlaunched takes an instance out of a bundle, with everything that it reported, and returns the
// launch template from which it would come.
func unlaunched(t *testing.T, files map[string][]byte, id string) []byte {
	t.Helper()
	var template object
	var rest []object
	for _, r := range objectsIn(t, files, "instances.json", "Reservations") {
		i := r["Instances"].([]any)[0].(object)
		if i["InstanceId"] == id {
			template = templateOf(i, like(t, files, i))
		} else {
			rest = append(rest, r)
		}
	}
	must.That(t, template != nil, "there is no %s", id)
	put(t, files, "instances.json", "Reservations", rest)
	for name, key := range map[string]string{
		"instance-status.json": "InstanceStatuses", "nodes.json": "items", "leases.json": "items", "k8s-events.json": "items", "nodeclaims.json": "items",
		"pods.json": "items", "auto-scaling-instances.json": "AutoScalingInstances", "scaling-activities.json": "Activities",
	} {
		put(t, files, name, key, slices.DeleteFunc(objectsIn(t, files, name, key), func(o object) bool {
			return bytes.Contains(marshalled(o), []byte(id))
		}))
	}
	delete(files, "user-data/"+id+".txt")
	delete(files, "console/"+id+".txt")
	return marshalled(object{"LaunchTemplateVersions": []object{template}})
}

// like returns the user data of the instance in the bundle, or of the launch template from which it
// came. Karpenter's own templates are in no bundle: it gives its healthy instances this.
func like(t *testing.T, files map[string][]byte, i object) []byte {
	id := i["InstanceId"].(string)
	if text, ok := files["user-data/"+id+".txt"]; ok {
		var answer struct{ UserData struct{ Value []byte } } // as the CLI prints it
		if json.Unmarshal(text, &answer) == nil {
			return answer.UserData.Value
		}
		return text
	}
	text := marshalled(i["Tags"])
	for _, v := range objectsIn(t, files, "launch-template-versions.json", "LaunchTemplateVersions") {
		if bytes.Contains(text, []byte(v["LaunchTemplateId"].(string))) {
			said, _ := v["LaunchTemplateData"].(object)["UserData"].(string)
			data, _ := base64.StdEncoding.DecodeString(said)
			return data
		}
	}
	group := generate.Default
	if i["ImageId"] == generate.System.Image.ID {
		group = generate.System
	}
	return []byte(generate.UserData(group))
}

func put(t *testing.T, files map[string][]byte, name, key string, all []object) {
	if files[name] == nil {
		return
	}
	var whole object
	must.Succeed(t, json.Unmarshal(files[name], &whole))
	whole[key] = append([]object{}, all...)
	files[name] = marshalled(whole)
}

// templateOf returns the launch template version of an instance.
func templateOf(i object, userData []byte) object {
	id, version := "lt-0f00000000000000f", 1
	var tags []object
	for _, tag := range i["Tags"].([]any) {
		switch value := tag.(object)["Value"].(string); tag.(object)["Key"] {
		case "aws:ec2launchtemplate:id":
			id = value
		case "aws:ec2launchtemplate:version":
			_, _ = fmt.Sscan(value, &version)
		default:
			tags = append(tags, tag.(object))
		}
	}
	var groups []string
	for _, g := range i["SecurityGroups"].([]any) {
		groups = append(groups, g.(object)["GroupId"].(string))
	}
	network := object{"DeviceIndex": 0, "SubnetId": i["SubnetId"], "Groups": groups, "AssociatePublicIpAddress": i["PublicIpAddress"] != nil}
	if i["Ipv6Address"] != nil || bytes.Contains(marshalled(i["NetworkInterfaces"]), []byte("Ipv6Address\"")) {
		network["Ipv6AddressCount"] = 1
	}
	data := object{
		"ImageId": i["ImageId"], "InstanceType": i["InstanceType"], "NetworkInterfaces": []object{network},
		"TagSpecifications": []object{{"ResourceType": "instance", "Tags": tags}},
	}
	if len(userData) > 0 {
		data["UserData"] = base64.StdEncoding.EncodeToString(userData)
	}
	if p, ok := i["IamInstanceProfile"].(object); ok {
		data["IamInstanceProfile"] = object{"Arn": p["Arn"]}
	}
	if m, ok := i["MetadataOptions"].(object); ok {
		data["MetadataOptions"] = object{"HttpEndpoint": m["HttpEndpoint"], "HttpPutResponseHopLimit": m["HttpPutResponseHopLimit"]}
	}
	return object{"LaunchTemplateId": id, "VersionNumber": version, "LaunchTemplateData": data}
}

func marshalled(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}

// linted is what rollcall lint prints.
type linted struct {
	Findings, Hints []struct{ Code, Summary string }
	NotChecked      []struct {
		Codes  []string
		Reason string
	}
}

// lint runs the tool's lint on a launch template, in the bundle.
func lint(t *testing.T, files map[string][]byte, args ...string) linted {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: text}
	}
	var out, fault bytes.Buffer
	code := command.Run(t.Context(), append([]string{"lint", "--bundle", "b", "--output", "json"}, args...), command.Environment{
		Stdout: &out, Stderr: &fault, Now: time.Now,
		OpenBundle: func(string) (*bundle.Bundle, error) { return bundle.OpenFS(fs.FS(fsys)) },
	})
	var found linted
	err := json.Unmarshal(out.Bytes(), &found)
	must.That(t, err == nil, "exit %d: %s%v", code, fault.String(), err)
	expect.That(t, (len(found.Findings) > 0) == (code == command.ExitFindings), "exit %d with %d findings", code, len(found.Findings))
	return found
}

// Why lint cannot prove the first cause of a case before the launch.
const (
	ofTheConsole = "only the console proves it; at most a hint without"
	ofPods       = "only pods and their events prove it; at most a hint without"
	ofTheNode    = "only the node, its NodeClaim or its instance shows it"
	ofEKS        = "EKS gives the instances of a node group what this one lacks"
	alike        = "another cause of the same instance is before it in the catalogue"
)

// notLinted are the cases whose first cause lint cannot prove by nature.
var notLinted = map[string][]string{
	ofTheConsole: {
		"kubelet-1-35-on-cgroup-v1", "own-ami-whose-nodeconfig-nothing-completes", "own-ami-whose-nodeconfig-lacks-its-cluster", "own-ami-whose-nodeadm-says-that-it-finds-nothing",
		"own-ami-whose-nodeadm-finds-nothing", "own-ami-without-user-data-and-an-empty-console", "private-endpoint-of-ec2-without-its-name", "endpoint-of-ec2-takes-what-the-nat-gateway-could", "nodeadm-may-not-describe-its-cluster",
		"nodeadm-may-not-describe-its-instance", "nodeadm-may-not-describe-its-instance-with-the-minimal-policy", "bottlerocket-refuses-a-setting", "ubuntu-given-a-nodeconfig", "ubuntu-given-a-nodeconfig-and-a-script",
		"shell-alone-on-an-image-of-ones-own", "cloud-config-alone-on-an-image-of-ones-own", "image-without-kubernetes", "user-data-fetches-a-binary-for-amd64",
	},
	ofPods: {
		"cni-of-another-maker-with-a-role-and-no-endpoint-of-sts", "subnet-full-and-the-cni-says-so", "cni-with-a-role-and-no-endpoint-of-sts", "endpoint-policy-shuts-out-the-layers",
		"no-endpoint-of-ecr", "cni-with-pod-identity-and-no-endpoint-of-eks-auth", "no-token-for-the-sandbox", "no-registry-for-the-sandbox", "ipv6-cni-may-not-describe-its-type", "no-layer-and-no-endpoint-of-s3",
		"no-token-and-no-endpoint-of-ecr-api", "cni-may-not-assign-ipv6-addresses", "no-contiguous-prefix-in-the-subnet", "cni-missing-and-no-endpoint-for-its-image",
	},
	ofTheNode: {
		"registered-and-the-label-taken-off", "arm64-node-whose-labels-were-replaced", "initialized-and-the-label-taken-off", "taint-of-the-user-data-undeclared", "unknown-taint-undeclared",
		"cilium-taint-declared-with-another-effect", "cilium-taint-undeclared", "instance-without-the-clusters-tag", "ipv4-node-in-a-cluster-of-ipv6", "startup-taint-quoted-once-and-refused",
		"startup-taint-quoted-twice-and-refused", "custom-image-without-the-startup-taint", "taints-in-flag-and-file",
	},
	ofEKS: {"here-document-that-ends"},
	alike: {"windows-role-mapped-as-linux"},
}

// worksAnyway has a node class that gives an AMI of Amazon Linux 2023 the user data of Amazon Linux 2.
// Its node works by means that no input shows.
const worksAnyway = "startup-taint-quoted-twice-on-a-node-that-works"

// linting returns the code that lint must find in a case, and about which instance; "" if its first
// cause lies in no input. StartupTaintNotRemoved is such a cause: the taint is meant, and only the
// pods of its agent show why it stays. So is what keeps a group from launching.
func linting(c generate.Made) (code, instance string) {
	for _, f := range c.Expect.Findings {
		if cause.CureOf(f.FirstDecisive) == roll.CureChange && !cause.Symptom(f.FirstDecisive) && strings.HasPrefix(f.Instance, "i-") {
			return f.FirstDecisive, f.Instance
		}
	}
	return "", ""
}

// What explain proves of an instance that runs, lint finds in what launches it.
func TestLintFindsTheCauseBeforeTheLaunch(t *testing.T) {
	why := map[string]string{}
	for reason, names := range notLinted {
		for _, name := range names {
			why[name] = reason
		}
	}
	found, all := 0, generate.All()
	for _, c := range all {
		want, instance := linting(c)
		if want == "" {
			continue
		}
		found++
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			files := maps.Clone(c.Files)
			template := filepath.Join(t.TempDir(), "template.json")
			must.Succeed(t, os.WriteFile(template, unlaunched(t, files, instance), 0o600))
			got := lint(t, files, template)
			same := len(got.Findings) > 0 && got.Findings[0].Code == want
			reason := why[c.Name]
			expect.That(t, same != (reason != ""), "want %s, found %v, hints %v, listed as %q", want, got.Findings, got.Hints, reason)
		})
	}
	expect.That(t, found >= 150, "%d cases, want 150", found)
	for name := range why {
		expect.That(t, slices.ContainsFunc(all, func(c generate.Made) bool { return c.Name == name }), "%s is listed, and is no case", name)
	}
}

// A launch template from which healthy nodes come, and a healthy node pool, have no cause.
func TestLintFindsNothingInWhatWorks(t *testing.T) {
	for _, c := range generate.All() {
		if c.Class != generate.Well {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if got := lint(t, c.Files); len(got.Findings) > 0 && c.Name != worksAnyway {
				t.Errorf("the node pools: %v", got.Findings)
			}
			for _, r := range objectsIn(t, c.Files, "instances.json", "Reservations") {
				files := maps.Clone(c.Files)
				id := r["Instances"].([]any)[0].(object)["InstanceId"].(string)
				if !bytes.Contains(c.Files["nodes.json"], []byte(id)) {
					continue // what is no node of the cluster need not launch one
				}
				template := filepath.Join(t.TempDir(), id+".json")
				must.Succeed(t, os.WriteFile(template, unlaunched(t, files, id), 0o600))
				got := lint(t, files, template)
				expect.That(t, len(got.Findings) == 0, "%s: %v", id, got.Findings)
			}
		})
	}
}
