// Package generate builds the corpus: a healthy account, and one change to it per case.
package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// object is a JSON object as the AWS CLI or kubectl prints it.
type object = map[string]any

// Bundle is a bundle under construction: the content of its files, still as values.
type Bundle struct {
	At      time.Time
	Cluster object
	healthy healthy

	Instances, Statuses                                   []object
	Nodes, Leases, Events, Pods, Slices                   []object
	NodeClaims, NodePools, NodeClasses                    []object
	Entries, Profiles, Roles                              []object
	Policies                                              map[string][]object // by role name
	Inline, Managed, Accounts                             []object            // written only where a case has some
	Versions                                              object              // of Managed, by ARN
	Members, ScalingGroups, Activities, NodeGroups        []object
	Templates, Images                                     []object
	Subnets, RouteTables, SecurityGroups, ACLs, Endpoints []object
	Gateways, DHCP                                        []object
	Attributes, Ledger                                    object
	Mutating, Validating, Budgets                         []object
	DaemonSets                                            []object // written only where a case has a list of them

	// MapRoles are the entries of aws-auth's mapRoles; a non-empty RawMapRoles is its text
	// instead.
	MapRoles    []string
	RawMapRoles string

	UserData, Console map[string]string // by instance ID
	absent            map[string]bool
	raw               map[string]string
}

// Lacks omits files, as if reading their content had been denied.
func (b *Bundle) Lacks(names ...string) {
	for _, n := range names {
		b.absent[n] = true
	}
}

// Files returns the files of the bundle with their content.
func (b *Bundle) Files() map[string][]byte {
	files := map[string][]byte{
		"at.txt":                        []byte(b.At.Format(time.RFC3339) + "\n"),
		"cluster.json":                  document(object{"cluster": b.Cluster}),
		"instances.json":                document(object{"Reservations": b.reservations()}),
		"nodes.json":                    kubernetes(b.Nodes),
		"instance-status.json":          document(object{"InstanceStatuses": b.Statuses}),
		"leases.json":                   kubernetes(b.Leases),
		"k8s-events.json":               kubernetes(b.Events),
		"nodeclaims.json":               kubernetes(b.NodeClaims),
		"nodepools.json":                kubernetes(b.NodePools),
		"ec2nodeclasses.json":           kubernetes(b.NodeClasses),
		"aws-auth.json":                 document(b.awsAuth()),
		"access-entries.json":           document(object{"accessEntries": b.Entries}),
		"instance-profiles.json":        document(object{"InstanceProfiles": b.Profiles}),
		"roles.json":                    document(object{"Roles": b.Roles}),
		"attached-policies.json":        document(b.policies()),
		"auto-scaling-instances.json":   document(object{"AutoScalingInstances": b.Members}),
		"auto-scaling-groups.json":      document(object{"AutoScalingGroups": b.ScalingGroups}),
		"scaling-activities.json":       document(object{"Activities": b.Activities}),
		"nodegroups.json":               document(object{"nodegroups": b.NodeGroups}),
		"launch-template-versions.json": document(object{"LaunchTemplateVersions": b.Templates}),
		"images.json":                   document(object{"Images": b.Images}),
		"subnets.json":                  document(object{"Subnets": b.Subnets}),
		"route-tables.json":             document(object{"RouteTables": b.RouteTables}),
		"security-groups.json":          document(object{"SecurityGroups": b.SecurityGroups}),
		"network-acls.json":             document(object{"NetworkAcls": b.ACLs}),
		"vpc-endpoints.json":            document(object{"VpcEndpoints": b.Endpoints}),
		"nat-gateways.json":             document(object{"NatGateways": b.Gateways}),
		"dhcp-options.json":             document(object{"DhcpOptions": b.DHCP}),
		"vpc-attributes.json":           document(b.Attributes),
		"pods.json":                     kubernetes(b.Pods),
		"endpointslices.json":           kubernetes(b.Slices),
		"webhooks.json":                 kubernetes(append(slices.Clone(b.Mutating), b.Validating...)),
	}
	if len(b.Budgets) > 0 {
		files["poddisruptionbudgets.json"] = kubernetes(b.Budgets)
	}
	if b.DaemonSets != nil {
		files["daemonsets.json"] = kubernetes(b.DaemonSets)
	}
	b.controllers(files)
	if b.Ledger != nil {
		files["ledger.json"] = document(b.Ledger)
	}
	for id, text := range b.UserData {
		files["user-data/"+id+".txt"] = []byte(text)
	}
	for id, text := range b.Console {
		if slices.ContainsFunc(b.Instances, func(i object) bool { return i["InstanceId"] == id && i["ImageId"] == imageAL2.ID }) {
			text = asAL2.Replace(text)
		}
		files["console/"+id+".txt"] = []byte(text)
	}
	for name, text := range b.raw {
		files[name] = []byte(text)
	}
	for name := range b.absent {
		delete(files, name)
	}
	return files
}

// asAL2 turns the lines of an Amazon Linux 2023 boot into those of Amazon Linux 2.
var asAL2 = strings.NewReplacer("6.12.68-92.122.amzn2023", "5.10.245-241.978.amzn2", "Amazon Linux 2023.10.20260216", "Amazon Linux 2")

// controllers adds the files that show the owner of a role that no node has.
func (b *Bundle) controllers(files map[string][]byte) {
	if b.Inline != nil {
		names := object{}
		for _, p := range b.Inline {
			role := p["RoleName"].(string)
			names[role] = object{"PolicyNames": []string{p["PolicyName"].(string)}}
		}
		files["role-policies.json"], files["inline-policies.json"] = document(names), document(object{"RolePolicies": b.Inline})
	}
	if b.Managed != nil {
		files["managed-policies.json"], files["policy-versions.json"] = document(object{"Policies": b.Managed}), document(b.Versions)
	}
	if b.Accounts != nil {
		files["serviceaccounts.json"] = kubernetes(b.Accounts)
	}
}

// reservations returns one reservation per instance.
func (b *Bundle) reservations() []object {
	var out []object
	for _, i := range b.Instances {
		out = append(out, object{
			"ReservationId": "r" + strings.TrimPrefix(i["InstanceId"].(string), "i"),
			"OwnerId":       Account, "Groups": []any{}, "Instances": []object{i},
		})
	}
	return out
}

func (b *Bundle) awsAuth() object {
	roles := b.RawMapRoles
	if roles == "" {
		roles = strings.Join(b.MapRoles, "")
	}
	return object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": object{"name": "aws-auth", "namespace": "kube-system", "creationTimestamp": "2025-06-02T08:20:00Z"},
		"data":     object{"mapRoles": roles},
	}
}

func (b *Bundle) policies() object {
	out := object{}
	for role, attached := range b.Policies {
		out[role] = object{"AttachedPolicies": attached}
	}
	return out
}

// kubernetes returns a list as `kubectl get -o json` prints it.
func kubernetes(items []object) []byte {
	return document(object{"apiVersion": "v1", "kind": "List", "items": items, "metadata": object{"resourceVersion": ""}})
}

// document prints an object with one line for each key and each list item: short JSON in which
// a diff still shows what changed.
func document(o object) []byte {
	var out bytes.Buffer
	out.WriteString("{\n")
	keys := slices.Sorted(maps.Keys(o))
	for i, k := range keys {
		fmt.Fprintf(&out, "    %s: %s", compact(k), value(o[k]))
		if i < len(keys)-1 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
	}
	out.WriteString("}\n")
	return out.Bytes()
}

func value(v any) string {
	var open, closing string
	var lines []string
	switch v := v.(type) {
	case []object:
		open, closing = "[", "]"
		for _, item := range v {
			lines = append(lines, compact(item))
		}
	case object:
		open, closing = "{", "}"
		for _, k := range slices.Sorted(maps.Keys(v)) {
			lines = append(lines, compact(k)+": "+compact(v[k]))
		}
	default:
		return compact(v)
	}
	if len(lines) == 0 {
		return open + closing
	}
	return open + "\n        " + strings.Join(lines, ",\n        ") + "\n    " + closing
}

// compact prints a value on one line. A value that cannot be printed is a fault of a case.
func compact(v any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("a bundle's value has no JSON: %v", err))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// Each service prints times in its own format.

func (b *Bundle) ago(d time.Duration) time.Time { return b.At.Add(-d) }

// ec2Time returns a time as EC2 and IAM print it.
func (b *Bundle) ec2Time(d time.Duration) string {
	return b.ago(d).Format("2006-01-02T15:04:05+00:00")
}

// eksTime returns a time as EKS and Auto Scaling print it.
func (b *Bundle) eksTime(d time.Duration) string {
	return b.ago(d).Format("2006-01-02T15:04:05.000000+00:00")
}

// kubeTime returns a time as Kubernetes prints it.
func (b *Bundle) kubeTime(d time.Duration) string { return b.ago(d).Format("2006-01-02T15:04:05Z") }

func (b *Bundle) microTime(d time.Duration) string {
	return b.ago(d).Format("2006-01-02T15:04:05.000000Z")
}
