// Package kubeconfig reads which EKS cluster, region and AWS profile a context of a kubeconfig means.
// It runs no credential plugin and connects to nothing.
package kubeconfig

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"rollcall/shared/roll"
)

// Context is what a context says about an EKS cluster. Every field but Cluster may be "".
type Context struct {
	Account string // of the cluster, by its ARN
	Cluster string // name of the EKS cluster
	Region  string
	Profile string
	// Role is the ARN of the IAM role that the token is for, if it is not the caller's own.
	Role string
}

// Read returns a context: the current one if name is "". file is the kubeconfig, "" for the files in
// KUBECONFIG or else ~/.kube/config, as kubectl chooses them.
//
// The cluster comes from a cluster entry that is named by an ARN, or else from the exec stanza that aws eks
// update-kubeconfig or eksctl wrote, which for a local cluster on AWS Outposts names its id. The region comes from the
// ARN, or the host of the API server, or else the stanza: its region is that of STS, which may be another one.
// https://github.com/aws/aws-cli/blob/develop/awscli/customizations/eks/update_kubeconfig.py (get_user_entry)
func Read(file, name string) (Context, error) {
	all, err := load(file)
	if err != nil {
		return Context{}, err
	}
	name = cmp.Or(name, all.CurrentContext)
	if name == "" {
		return Context{}, fmt.Errorf("the kubeconfig has no current context: name one with --context (%s)", listed(all))
	}
	of, ok := all.Contexts[name]
	if !ok {
		return Context{}, fmt.Errorf("the kubeconfig has no context %q (%s)", name, listed(all))
	}
	c := Context{}
	if user := all.AuthInfos[of.AuthInfo]; user != nil && user.Exec != nil {
		c.exec(user.Exec)
	}
	if server := all.Clusters[of.Cluster]; server != nil {
		c.Region = cmp.Or(regionOf(server.Server), c.Region)
	}
	if id, ok := roll.ParseClusterARN(of.Cluster); ok {
		c.Account, c.Cluster, c.Region = id.Account, id.Name, id.Region
	}
	if c.Cluster == "" {
		return Context{}, fmt.Errorf("context %q names no EKS cluster: its user gets no token for the name of one from aws eks get-token or aws-iam-authenticator; give --cluster and --region instead", name)
	}
	return c, nil
}

// Names returns the names of the contexts, sorted. file is as for Read.
func Names(file string) ([]string, error) {
	all, err := load(file)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(all.Contexts)), nil
}

func load(file string) (*api.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.WarnIfAllMissing = file, false
	all, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return all, nil
}

func listed(all *api.Config) string {
	if len(all.Contexts) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(slices.Sorted(maps.Keys(all.Contexts)), ", ")
}

// exec reads the arguments and the environment of a credential plugin. Flags are written as
// "--flag value" or "--flag=value".
func (c *Context) exec(e *api.ExecConfig) {
	var flags map[string]*string
	switch strings.TrimSuffix(path.Base(strings.ReplaceAll(e.Command, `\`, "/")), ".exe") {
	case "aws": // aws eks get-token; update-kubeconfig abbreviates --role-arn
		flags = map[string]*string{"--cluster-name": &c.Cluster, "--region": &c.Region, "--profile": &c.Profile, "--role-arn": &c.Role, "--role": &c.Role}
	case "aws-iam-authenticator": // aws-iam-authenticator token
		flags = map[string]*string{"--cluster-id": &c.Cluster, "-i": &c.Cluster, "--region": &c.Region, "--role": &c.Role, "-r": &c.Role}
	default:
		return
	}
	for i, arg := range e.Args {
		name, value, whole := strings.Cut(arg, "=")
		if !whole && i+1 < len(e.Args) {
			value = e.Args[i+1]
		}
		if to := flags[name]; to != nil {
			*to = value
		}
	}
	for _, v := range e.Env {
		switch v.Name {
		case "AWS_PROFILE":
			c.Profile = cmp.Or(c.Profile, v.Value)
		case "AWS_REGION", "AWS_DEFAULT_REGION":
			c.Region = cmp.Or(c.Region, v.Value)
		}
	}
}

// regionOf returns the region in the host of an EKS API server, such as
// https://0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com or, of an IPv6 cluster,
// https://0123456789ABCDEF.gr7.eu-west-1.api.aws; "" for any other.
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
func regionOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	for _, domain := range []string{".eks.amazonaws.com", ".eks.amazonaws.com.cn", ".api.aws", ".api.amazonwebservices.com.cn"} {
		if before, ok := strings.CutSuffix(u.Hostname(), domain); ok {
			return before[strings.LastIndex(before, ".")+1:]
		}
	}
	return ""
}
