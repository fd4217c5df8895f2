package command

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/spf13/cobra"

	"rollcall/shared/observe/bundle"
	"rollcall/shared/observe/project"
	"rollcall/shared/observe/view"
	"rollcall/shared/roll"
)

// completionTime limits what is read for a completion: a person waits with the finger on the
// key.
const completionTime = 3 * time.Second

// values registers the completion of a flag's values. Whatever fails, nothing is completed.
func values(c *cobra.Command, flag string, of func(context.Context) []string) {
	if c.Flags().Lookup(flag) == nil {
		return
	}
	_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) { // registered once
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		return of(ctx), cobra.ShellCompDirectiveNoFileComp
	})
}

// fixed returns the same values each time.
func fixed[S ~string](all ...S) func(context.Context) []string {
	return func(context.Context) []string { return roll.Map(all, func(v S) string { return string(v) }) }
}

// profiles returns the names of the AWS profiles.
// https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html
func profiles(context.Context) (names []string) {
	home, _ := os.UserHomeDir() // the files are then not found
	for _, file := range []string{
		cmp.Or(os.Getenv("AWS_CONFIG_FILE"), filepath.Join(home, ".aws", "config")), cmp.Or(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, ".aws", "credentials")),
	} {
		data, _ := os.ReadFile(file) // without one it has no names
		for line := range strings.Lines(string(data)) {
			section, ok := strings.CutPrefix(strings.TrimSpace(line), "[")
			section, _, closed := strings.Cut(section, "]")
			if name := strings.TrimSpace(strings.TrimPrefix(section, "profile ")); ok && closed && !strings.HasPrefix(section, "sso-session ") && !strings.HasPrefix(section, "services ") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (a *access) namesOfRegions(ctx context.Context) []string {
	cfg, err := a.load(ctx)
	if err != nil {
		return nil
	}
	names, _ := enabledRegions(ctx, cfg) // nothing to complete
	return names
}

// here returns the accounts of the regions, without a word; none if that fails.
func (a access) here(ctx context.Context) []*account {
	if _, err := a.settle(""); err != nil {
		return nil
	}
	all, _ := a.connect(ctx, Environment{}, newProgress(Environment{}), "") // nothing to complete
	return all
}

func (a *access) namesOfClusters(ctx context.Context) (names []string) {
	for _, in := range a.here(ctx) {
		found, _ := in.view.Observer.Clusters(ctx) // nothing to complete
		names = append(names, found...)
	}
	return names
}

// tagged finds the instances with the tag of any cluster.
var tagged = []types.Filter{
	{Name: aws.String("tag-key"), Values: roll.ClusterTagKeys()},
	{Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped", "shutting-down"}},
}

// instances returns the ids of instances of clusters that begin with a text, each with what
// a person knows it by. One page is enough for a completion.
func (a *access) instances(ctx context.Context, begin string) (out []string) {
	for _, in := range a.here(ctx) {
		page, err := in.view.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: tagged, MaxResults: aws.Int32(1000)})
		if err != nil {
			continue
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				if id := aws.ToString(i.InstanceId); strings.HasPrefix(id, begin) {
					out = append(out, id+"\t"+described(i))
				}
			}
		}
	}
	return out
}

func described(i types.Instance) string {
	tags := project.Tags(&i)
	words := []string{string(i.InstanceType)}
	if i.State != nil {
		words = append(words, string(i.State.Name))
	}
	if tags.Name != "" {
		words = append(words, tags.Name)
	}
	return strings.Join(append(tags.Clusters(), words...), ", ")
}

// subjects completes what explain is asked about.
func (f *explainFlags) subjects(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(c.Context(), completionTime)
	defer cancel()
	var out []string
	if f.bundle != "" {
		if b, err := bundle.Open(f.bundle); err == nil {
			at, _ := b.At() // no age matters here
			s := view.OfBundle(b).Observer.Snapshot(ctx, b.ClusterID().Name, at, roll.Watch{})
			out = roll.Map(s.Instances, func(i roll.Instance) string { return string(i.ID) })
		}
	} else if begin == "" || strings.HasPrefix(begin, "i-") {
		out = f.instances(ctx, begin)
	}
	if strings.HasPrefix(begin, "i-") {
		return out, none
	}
	return append(out, "nodepool/", "nodegroup/", "asg/", "nodeclaim/", "node/"), none | cobra.ShellCompDirectiveNoSpace
}
