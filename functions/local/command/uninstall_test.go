package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/kube"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

const (
	inspectRole   = "arn:aws:iam::111122223333:role/inspect"
	remediateRole = "arn:aws:iam::111122223333:role/remediate"
	// The mode was lowered and raised again since.
	formerRole = "arn:aws:iam::111122223333:role/platform/rollcall-RemediateRole-1A2B3C4D5E6F"
	// Of the stack rollcall-dev.
	otherRole = "arn:aws:iam::111122223333:role/rollcall-dev-RemediateRole-1A2B3C4D5E6F"
)

// installed is a fake account with what a deployment leaves.
type installed struct {
	tags    map[string][]string // of instances
	entries map[string][]string // of clusters: principals
	mode    map[string]ekstypes.AuthenticationMode
	inside  map[string]*installedIn
	denied  error // of DeleteAccessEntry
	calls   []string
}

// installedIn is a fake cluster.
type installedIn struct {
	nodes  []roll.Node
	grants []kube.Grant
	down   error
}

func (c *installedIn) Nodes(_ context.Context, _ roll.Watch, yield func(roll.Node), _ func()) error {
	for _, n := range c.nodes {
		yield(n)
	}
	return c.down
}

func (c *installedIn) Uncordon(_ context.Context, node, uid, order string) error {
	for i, n := range c.nodes {
		if n.Name == node && n.UID == uid && n.CordonedBy == order {
			c.nodes[i].CordonedBy = ""
			return nil
		}
	}
	return errors.New("not Rollcall's")
}

func (c *installedIn) Grants(context.Context) ([]kube.Grant, error) { return c.grants, c.down }

func (c *installedIn) Revoke(_ context.Context, g kube.Grant) error {
	c.grants = slices.DeleteFunc(slices.Clone(c.grants), func(some kube.Grant) bool { return some == g })
	return nil
}

func (a *installed) DescribeInstances(_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	var out ec2.DescribeInstancesOutput
	for id, keys := range a.tags {
		i := ec2types.Instance{InstanceId: aws.String(id)}
		for _, k := range keys {
			i.Tags = append(i.Tags, ec2types.Tag{Key: aws.String(k)})
		}
		if slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(in.Filters[0].Values, k) }) {
			out.Reservations = append(out.Reservations, ec2types.Reservation{Instances: []ec2types.Instance{i}})
		}
	}
	return &out, nil
}

func (a *installed) DescribeCluster(_ context.Context, in *eks.DescribeClusterInput, _ ...func(*eks.Options)) (*eks.DescribeClusterOutput, error) {
	return &eks.DescribeClusterOutput{Cluster: &ekstypes.Cluster{AccessConfig: &ekstypes.AccessConfigResponse{AuthenticationMode: a.mode[aws.ToString(in.Name)]}}}, nil
}

// ListAccessEntries has one entry on a page.
func (a *installed) ListAccessEntries(_ context.Context, in *eks.ListAccessEntriesInput, _ ...func(*eks.Options)) (*eks.ListAccessEntriesOutput, error) {
	all := a.entries[aws.ToString(in.ClusterName)]
	at := 0
	if in.NextToken != nil {
		at = slices.Index(all, aws.ToString(in.NextToken))
	}
	var out eks.ListAccessEntriesOutput
	if at < len(all) {
		out.AccessEntries = []string{all[at]}
	}
	if at+1 < len(all) {
		out.NextToken = aws.String(all[at+1])
	}
	return &out, nil
}

func (a *installed) DeleteAccessEntry(_ context.Context, in *eks.DeleteAccessEntryInput, _ ...func(*eks.Options)) (*eks.DeleteAccessEntryOutput, error) {
	if a.denied != nil {
		return nil, a.denied
	}
	name := aws.ToString(in.ClusterName)
	a.entries[name] = slices.DeleteFunc(slices.Clone(a.entries[name]), func(p string) bool { return p == aws.ToString(in.PrincipalArn) })
	return &eks.DeleteAccessEntryOutput{}, nil
}

func (a *installed) uninstall(t *testing.T, yes bool) leftovers {
	t.Helper()
	return uninstaller{
		eks: a, ec2: a, stack: "rollcall", roles: []string{inspectRole, remediateRole}, remove: yes, principal: nobody,
		untag: func(_ context.Context, instances []roll.InstanceID, keys []string) error {
			for _, id := range instances {
				a.calls = append(a.calls, fmt.Sprint("untag ", id, keys))
				a.tags[string(id)] = slices.DeleteFunc(slices.Clone(a.tags[string(id)]), func(k string) bool { return slices.Contains(keys, k) })
			}
			return nil
		},
		clusters: func(context.Context) ([]string, error) { return []string{"old", "prod"}, nil },
		describe: func(_ context.Context, name string) (roll.Cluster, *roll.Gap) {
			return roll.Cluster{ID: roll.ClusterID{Name: name}}, nil
		},
		open: func(c roll.Cluster) (inside, error) { return a.inside[c.ID.Name], nil },
	}.uninstall(t.Context())
}

func leaving() *installed {
	return &installed{
		tags:    map[string][]string{"i-1": {"Name", roll.TagFinding, roll.TagSince}, "i-2": {"Name"}, "i-3": {roll.TagHold}},
		entries: map[string][]string{"prod": {inspectRole, otherRole, remediateRole, formerRole, "arn:aws:iam::111122223333:role/person"}},
		mode:    map[string]ekstypes.AuthenticationMode{"prod": ekstypes.AuthenticationModeApi, "old": ekstypes.AuthenticationModeConfigMap},
		inside: map[string]*installedIn{
			"old":  {},
			"prod": {nodes: []roll.Node{{Name: "a", UID: "1", CordonedBy: "order-1"}, {Name: "b", UID: "2", Unschedulable: true}}, grants: []kube.Grant{{Kind: "ClusterRole", Name: "rollcall-viewer"}}},
		},
	}
}

func names(l leftovers, removed bool) (all []string) {
	for _, i := range l.Items {
		if i.Removed == removed {
			all = append(all, strings.TrimSpace(i.Kind+" "+i.Cluster+" "+i.Name))
		}
	}
	slices.Sort(all)
	return all
}

func TestUninstallListsAndRemovesNothingUnasked(t *testing.T) {
	a := leaving()
	got := names(a.uninstall(t, false), false)
	want := []string{
		"accessEntry prod " + inspectRole, "accessEntry prod " + formerRole, "accessEntry prod " + remediateRole, "aws-auth old look for " + inspectRole, "aws-auth old look for " + remediateRole,
		"cordon prod a", "rbac prod ClusterRole rollcall-viewer", "tags  i-1 rollcall:finding rollcall:since",
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	again := names(a.uninstall(t, false), false)
	expect.That(t, slices.Equal(again, want) && len(a.calls) == 0, "a listing changed something: %v", again)
}

func TestUninstallRemovesItsOwnAndNothingElse(t *testing.T) {
	a := leaving()
	if got := a.uninstall(t, true); len(got.Faults) > 0 || len(names(got, true)) != 6 {
		t.Errorf("%+v", got)
	}
	left := []string{"aws-auth old look for " + inspectRole, "aws-auth old look for " + remediateRole}
	expect.List(t, names(a.uninstall(t, true), false), left, "left")
	prod := a.inside["prod"]
	if fmt.Sprint(a.entries["prod"]) != "["+otherRole+" arn:aws:iam::111122223333:role/person]" || fmt.Sprint(a.tags) != "map[i-1:[Name] i-2:[Name] i-3:[rollcall:hold]]" || !prod.nodes[1].Unschedulable || len(prod.grants) != 0 {
		t.Errorf("%v, %v, %+v", a.entries, a.tags, prod)
	}
}

// What could not be read is not taken for gone, and keeps nothing else from being removed.
func TestUninstallSaysWhatItCouldNotReadOrRemove(t *testing.T) {
	a := leaving()
	a.inside["prod"].down, a.denied = errors.New("no answer"), errors.New("denied")
	got := a.uninstall(t, true)
	expect.That(t, len(got.Faults) == 5 && slices.Contains(names(got, false), "accessEntry prod "+inspectRole) && len(a.tags["i-1"]) == 1, "%+v", got)
	var b bytes.Buffer
	got.Stack, got.Region, got.table = "rollcall", "eu-west-1", "table-1"
	must.Succeed(t, got.print(Environment{Stdout: &b}, asTable))
	says(t, b.String(), "failed   prod: no answer", "removed  tags i-1", "left     accessEntry prod", "delete-stack --region eu-west-1 --stack-name rollcall", "delete-table --region eu-west-1 --table-name table-1")
}
