package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/spf13/cobra"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/aws/tags"
	"rollcall/shared/diagnose/paste"
	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

type uninstallFlags struct {
	stackFlags
	yes bool
}

func uninstallCommand(env Environment) *cobra.Command {
	var f uninstallFlags
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "List, and with --yes remove, what a deployment left outside its stack",
		Long: `Lists what a deployment left in the account and in its clusters, outside its stack: Rollcall's
cordons, its tags on instances, the RBAC objects of infra/rbac.yaml, and the access entries of
its roles, former ones included. With --yes it removes them.

Run it before you delete the stack, which names the roles. First suspend all acts with
rollcall stop, so that nothing is cordoned again. It leaves the cordons of others, and all tags
but Rollcall's own five: your rollcall:hold and rollcall:ignore stay. It removes tags last, since
checks write them until they lose access to the clusters.

The RBAC objects and the tags are shared by all deployments of the account: leave them if
another deployment remains. An entry in the ConfigMap aws-auth is only reported, since the
roles of the nodes are in the same list. infra/README.md describes the whole procedure.

It needs cloudformation:DescribeStacks, eks:ListClusters, eks:DescribeCluster,
eks:ListAccessEntries and ec2:DescribeInstances, and an administrator's access in each
cluster; with --yes also eks:DeleteAccessEntry and ec2:DeleteTags.

Exit codes: 0 nothing is left; 2 something is left and was not removed; 1 something could not
be read or removed.`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return runUninstall(cmd.Context(), env, f) },
	}
	c.Flags().BoolVar(&f.yes, "yes", false, "remove what is listed")
	f.add(c, 5*time.Minute)
	return c
}

func runUninstall(ctx context.Context, env Environment, f uninstallFlags) error {
	return f.run(ctx, env, func(ctx context.Context, p *progress, a *account) error {
		p.say("reading the stack and the clusters")
		left, err := f.look(ctx, a)
		p.clear()
		if err != nil {
			return err
		}
		if err := left.print(env, f.output); err != nil {
			return err
		}
		switch {
		case len(left.Faults) > 0:
			return exit(ExitError)
		case slices.ContainsFunc(left.Items, func(i leftover) bool { return !i.Removed }):
			return exit(ExitFindings)
		}
		return nil
	})
}

// look finds what is left, and removes it if that was asked for.
func (f uninstallFlags) look(ctx context.Context, a *account) (leftovers, error) {
	d, err := a.deployment(ctx, f.stack)
	if err != nil {
		return leftovers{}, err
	}
	u := uninstaller{
		eks: eks.NewFromConfig(a.cfg), ec2: a.view.EC2, untag: tags.New(a.view.EC2, a.principal).Untag, stack: d.stack, roles: d.roles, remove: f.yes, principal: a.principal,
		open: func(cluster roll.Cluster) (inside, error) { return a.view.Kube.Dial(cluster) }, describe: a.view.Observer.Cluster, clusters: a.view.Observer.Clusters,
	}
	left := u.uninstall(ctx)
	left.Stack, left.Region, left.table, left.bucket, left.parameter = d.stack, d.region, d.settings.Table, d.settings.EvidenceBucket, d.settings.PolicyParameter
	return left, nil
}

type leftover struct {
	Kind    string `json:"kind"` // cordon, tags, rbac, accessEntry, aws-auth
	Cluster string `json:"cluster,omitempty"`
	Name    string `json:"name"`
	Removed bool   `json:"removed"`
}

// leftovers is everything that a deployment left, as far as it could be read.
type leftovers struct {
	Stack  string     `json:"stack"`
	Region string     `json:"region"`
	Items  []leftover `json:"items"`
	// Faults lists what could not be read or removed.
	Faults []string `json:"faults"`

	table, bucket, parameter string
}

// inside is a cluster; *kube.Client implements it.
type inside interface {
	Nodes(ctx context.Context, watch roll.Watch, yield func(roll.Node), restart func()) error
	Uncordon(ctx context.Context, node, uid, order string) error
	Grants(context.Context) ([]kube.Grant, error)
	Revoke(context.Context, kube.Grant) error
}

type entriesAPI interface {
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
	eks.ListAccessEntriesAPIClient
	DeleteAccessEntry(context.Context, *eks.DeleteAccessEntryInput, ...func(*eks.Options)) (*eks.DeleteAccessEntryOutput, error)
}

// uninstaller finds what a deployment left, and removes it if remove is set.
type uninstaller struct {
	eks       entriesAPI
	ec2       ec2.DescribeInstancesAPIClient
	untag     func(ctx context.Context, instances []roll.InstanceID, keys []string) error
	clusters  func(context.Context) ([]string, error)
	describe  func(ctx context.Context, name string) (roll.Cluster, *roll.Gap)
	open      func(roll.Cluster) (inside, error)
	stack     string
	roles     []string
	remove    bool
	principal func(context.Context) string
}

// uninstall goes through each cluster, then through the account: once no check can read a cluster, none
// tags its instances anew. In a cluster the access goes last, since the rest needs it where a person
// shares a role.
func (u uninstaller) uninstall(ctx context.Context) leftovers {
	out := &leftovers{Items: []leftover{}, Faults: []string{}}
	names, err := u.clusters(ctx)
	if err != nil {
		out.Faults = append(out.Faults, err.Error())
	}
	for _, name := range names {
		cluster, gap := u.describe(ctx, name)
		if gap != nil {
			out.Faults = append(out.Faults, name+": "+gap.Detail)
		} else if c, err := u.open(cluster); err != nil {
			out.Faults = append(out.Faults, name+": "+err.Error())
		} else {
			u.cordons(ctx, name, c, out)
			u.rbac(ctx, name, c, out)
		}
		u.access(ctx, name, out)
	}
	u.tags(ctx, out)
	return *out
}

func (u uninstaller) found(out *leftovers, item leftover, remove func() error) {
	if u.remove && remove != nil {
		if err := remove(); err != nil && !errors.Is(err, kube.ErrGone) {
			out.Faults = append(out.Faults, strings.TrimPrefix(item.Cluster+": ", ": ")+err.Error())
		} else {
			item.Removed = true
		}
	}
	out.Items = append(out.Items, item)
}

func (u uninstaller) tags(ctx context.Context, out *leftovers) {
	pages := ec2.NewDescribeInstancesPaginator(u.ec2, &ec2.DescribeInstancesInput{
		Filters: []types.Filter{{Name: aws.String("tag-key"), Values: roll.MarkKeys()}}, MaxResults: aws.Int32(1000), IncludeManagedResources: aws.Bool(true),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			out.Faults = append(out.Faults, awserr.Describe(err, "ec2:DescribeInstances", u.principal(ctx)))
			return
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				var keys []string
				for _, t := range i.Tags {
					if key := aws.ToString(t.Key); slices.Contains(roll.MarkKeys(), key) {
						keys = append(keys, key)
					}
				}
				slices.Sort(keys)
				if len(keys) == 0 || i.State != nil && i.State.Name == types.InstanceStateNameTerminated {
					continue // it goes by itself
				}
				id := aws.ToString(i.InstanceId)
				u.found(out, leftover{Kind: "tags", Name: id + " " + strings.Join(keys, " ")}, func() error { return u.untag(ctx, []roll.InstanceID{roll.InstanceID(id)}, keys) })
			}
		}
	}
}

func (u uninstaller) cordons(ctx context.Context, cluster string, c inside, out *leftovers) {
	var own []roll.Node
	err := c.Nodes(ctx, roll.Watch{}, func(n roll.Node) {
		if n.CordonedBy != "" {
			own = append(own, n)
		}
	}, func() { own = nil })
	if err != nil {
		out.Faults = append(out.Faults, cluster+": "+err.Error())
		return
	}
	for _, n := range own {
		u.found(out, leftover{Kind: "cordon", Cluster: cluster, Name: n.Name}, func() error { return c.Uncordon(ctx, n.Name, n.UID, n.CordonedBy) })
	}
}

func (u uninstaller) rbac(ctx context.Context, cluster string, c inside, out *leftovers) {
	there, err := c.Grants(ctx)
	if err != nil {
		out.Faults = append(out.Faults, cluster+": "+err.Error())
	}
	for _, g := range there {
		u.found(out, leftover{Kind: "rbac", Cluster: cluster, Name: g.String()}, func() error { return c.Revoke(ctx, g) })
	}
}

// access finds the access entries of the deployment's roles. A cluster that knows only the ConfigMap
// aws-auth has none.
func (u uninstaller) access(ctx context.Context, cluster string, out *leftovers) {
	described, err := u.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(cluster)})
	if err != nil {
		out.Faults = append(out.Faults, cluster+": "+awserr.Describe(err, "eks:DescribeCluster", u.principal(ctx)))
		return
	}
	if c := described.Cluster; c != nil && (c.AccessConfig == nil || c.AccessConfig.AuthenticationMode == "CONFIG_MAP") {
		for _, role := range u.roles {
			u.found(out, leftover{Kind: "aws-auth", Cluster: cluster, Name: "look for " + role}, nil)
		}
		return
	}
	var own []string
	pages := eks.NewListAccessEntriesPaginator(u.eks, &eks.ListAccessEntriesInput{ClusterName: aws.String(cluster)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			out.Faults = append(out.Faults, cluster+": "+awserr.Describe(err, "eks:ListAccessEntries", u.principal(ctx)))
			return
		}
		for _, role := range page.AccessEntries {
			if slices.Contains(u.roles, role) || u.had(role) {
				own = append(own, role)
			}
		}
	}
	for _, role := range own {
		u.found(out, leftover{Kind: "accessEntry", Cluster: cluster, Name: role}, func() error {
			_, err := u.eks.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: aws.String(cluster), PrincipalArn: aws.String(role)})
			if err != nil && !awserr.IsNotFound(err) {
				return errors.New(awserr.Describe(err, "eks:DeleteAccessEntry", u.principal(ctx)))
			}
			return nil
		})
	}
}

// had reports whether the stack once made a role, by the name that CloudFormation generates. An access
// entry outlives its role, and a stack forgets the role of a mode that was lowered.
func (u uninstaller) had(role string) bool {
	name := roll.LastPart(role)
	return strings.HasPrefix(name, u.stack+"-InspectRole-") || strings.HasPrefix(name, u.stack+"-RemediateRole-")
}

func (l leftovers) print(env Environment, form form) error {
	if form.data() {
		return form.print(env.Stdout, l)
	}
	var b strings.Builder
	for _, i := range l.Items {
		state := "left"
		if i.Removed {
			state = "removed"
		}
		hanging(&b, pad("  "+state, len("  removed  ")), strings.TrimSpace(strings.Join([]string{i.Kind, i.Cluster, i.Name}, " ")))
	}
	if len(l.Items) == 0 && len(l.Faults) == 0 {
		b.WriteString("nothing is left outside of the stack\n")
	}
	for _, f := range l.Faults {
		hanging(&b, "  failed   ", f)
	}
	b.WriteString("\nThen delete the stack. What it keeps, and what it never owned, is deleted by hand:\n  " +
		paste.Format("aws cloudformation delete-stack --region %s --stack-name %s", l.Region, l.Stack) + "\n")
	for _, line := range []struct{ value, command string }{
		{l.table, "aws dynamodb delete-table --region %s --table-name %s"}, {l.bucket, "aws s3 rb --region %s s3://%s    # after it was emptied"},
		{l.parameter, "aws ssm delete-parameter --region %s --name %s"},
	} {
		if line.value != "" {
			b.WriteString("  " + paste.Format(line.command, l.Region, line.value) + "\n")
		}
	}
	_, err := fmt.Fprint(env.Stdout, b.String())
	return err
}
