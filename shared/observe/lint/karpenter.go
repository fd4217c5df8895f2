package lint

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/kube"
	"rollcall/shared/roll"
)

// karpentersTaint is the taint with which Karpenter's nodes register.
const karpentersTaint = "karpenter.sh/unregistered:NoExecute"

// nodePool has the fields of a NodePool that decide what it launches.
type nodePool struct {
	Metadata struct{ Name string }
	Spec     struct {
		Template struct {
			Spec struct {
				NodeClassRef struct{ Kind, Name string }
			}
		}
	}
	from *Source
}

// nodeClass has the fields of an EC2NodeClass that decide how its instances are launched.
// https://karpenter.sh/docs/concepts/nodeclasses/
type nodeClass struct {
	Metadata struct{ Name string }
	Spec     struct {
		AMIFamily                  string
		AMISelectorTerms           []selector
		SubnetSelectorTerms        []selector
		SecurityGroupSelectorTerms []selector
		Role, InstanceProfile      string
		UserData                   string
		AssociatePublicIPAddress   *bool
		MetadataOptions            struct {
			HTTPEndpoint            string
			HTTPPutResponseHopLimit *int32
		}
	}
	Status struct {
		AMIs, Subnets, SecurityGroups []struct{ ID string }
		InstanceProfile               string
	}
	from *Source
}

type selector struct {
	ID, Alias, Name string
	Tags            map[string]string
}

// pools are the NodePools and EC2NodeClasses of the inputs, and those of the cluster that they
// need.
type pools struct {
	pools   []nodePool
	classes map[string]*nodeClass
}

// readPools reads the documents. client reads what the cluster has.
func readPools(ctx context.Context, sources []Source, client *kube.Client, all bool) (pools, error) {
	p := pools{classes: map[string]*nodeClass{}}
	for i := range sources {
		d := &sources[i]
		var err error
		switch d.Content {
		case NodePool:
			one := nodePool{from: d}
			err = json.Unmarshal(d.Data, &one)
			p.pools = append(p.pools, one)
		case NodeClass:
			p.classes[d.Name] = &nodeClass{from: d}
			err = json.Unmarshal(d.Data, p.classes[d.Name])
		}
		if err != nil {
			return p, fmt.Errorf("%s: %s %s: %w", d.File, d.Content, d.Name, err)
		}
	}
	p.complete(ctx, client, all)
	return p, nil
}

// complete adds the cluster's NodePools that use a given EC2NodeClass, or all of them, and the
// EC2NodeClasses of NodePools.
func (p *pools) complete(ctx context.Context, client *kube.Client, all bool) {
	if client == nil {
		return
	}
	items, _ := client.Read(ctx, kube.AllNodePools()) // without them a class is judged by itself
	for _, item := range items {
		one, err := kube.Decode[nodePool](item)
		given := err == nil && slices.ContainsFunc(p.pools, func(o nodePool) bool { return o.Metadata.Name == one.Metadata.Name })
		if err == nil && !given && (all || p.classes[one.class()] != nil) {
			p.pools = append(p.pools, *one)
		}
	}
	for _, pool := range p.pools {
		if name := pool.class(); name != "" && p.classes[name] == nil {
			if items, err := client.Read(ctx, kube.AnEC2NodeClass(name)); err == nil {
				if class, err := kube.Decode[nodeClass](items[0]); err == nil {
					p.classes[name] = class
				}
			}
		}
	}
}

// class returns the name of the pool's EC2NodeClass, "" if it has another kind of class.
func (p *nodePool) class() string {
	if ref := p.Spec.Template.Spec.NodeClassRef; ref.Kind == string(NodeClass) {
		return ref.Name
	}
	return ""
}

// launches returns the instances of each pool, and those of classes that no pool uses. A pool whose
// class is missing is in missing.
func (p *pools) launches(ctx context.Context, in *site) (out []*launch, missing []string) {
	used := map[string]bool{}
	for i := range p.pools {
		pool := &p.pools[i]
		ref := pool.Spec.Template.Spec.NodeClassRef
		class := p.classes[pool.class()]
		switch {
		case pool.class() == "":
			missing = append(missing, fmt.Sprintf("nodepool/%s was not judged: its node class is of the kind %q, and only EC2NodeClasses are", pool.Metadata.Name, ref.Kind))
			continue
		case class == nil:
			missing = append(missing, fmt.Sprintf("nodepool/%s was not judged: its EC2NodeClass %q is in no file, and was not read from a cluster", pool.Metadata.Name, ref.Name))
			continue
		}
		used[class.Metadata.Name] = true
		out = append(out, in.fromClass(ctx, class, pool.Metadata.Name, "nodepool/"+pool.Metadata.Name, class.from, pool.from)...)
	}
	for _, name := range slices.Sorted(maps.Keys(p.classes)) {
		if class := p.classes[name]; !used[name] {
			out = append(out, in.fromClass(ctx, class, name, "nodeclass/"+name, class.from)...)
		}
	}
	return out, missing
}

// fromClass returns an instance of a node class for each of its subnets.
func (p *site) fromClass(ctx context.Context, c *nodeClass, pool, name string, from ...*Source) []*launch {
	base := launch{name: name, from: slices.DeleteFunc(from, func(d *Source) bool { return d == nil }), userData: c.Spec.UserData, role: c.Spec.Role}
	i := &base.instance
	i.Tags = []types.Tag{tag("karpenter.sh/nodepool", pool), tag("karpenter.k8s.aws/ec2nodeclass", c.Metadata.Name)}
	if p.cluster != nil {
		i.Tags = append(i.Tags, tag("kubernetes.io/cluster/"+aws.ToString(p.cluster.Name), "owned"))
	}
	hops := c.Spec.MetadataOptions.HTTPPutResponseHopLimit
	if hops == nil {
		hops = aws.Int32(1)
	}
	i.MetadataOptions = &types.InstanceMetadataOptionsResponse{HttpEndpoint: types.InstanceMetadataEndpointState(c.Spec.MetadataOptions.HTTPEndpoint), HttpPutResponseHopLimit: hops}
	family := c.Spec.AMIFamily
	image, alias := "", len(c.Spec.AMISelectorTerms) == 0
	for _, t := range c.Spec.AMISelectorTerms {
		image = cmp.Or(image, t.ID)
		family = cmp.Or(family, t.Alias)
		alias = alias || t.Alias != ""
	}
	if image == "" && len(c.Status.AMIs) > 0 {
		image = c.Status.AMIs[0].ID
	}
	imaged(i, p.image(ctx, image))
	family = familyOf(family, base.userData)
	base.merge(family, p.cluster, karpentersTaint)
	if alias { // an AMI that is selected by its tags or its name may be any
		p.standIn(i, family)
	}
	if base.role != "" {
		base.ownProfile = true
		base.profile(p.arn("instance-profile/" + cmp.Or(c.Status.InstanceProfile, "karpenter-"+c.Metadata.Name)))
	} else if profile := cmp.Or(c.Spec.InstanceProfile, c.Status.InstanceProfile); profile != "" {
		base.profile(p.arn("instance-profile/" + profile))
	}
	i.SecurityGroups = grouped(p.selected(ctx, c.Spec.SecurityGroupSelectorTerms, ids(c.Status.SecurityGroups), p.groupsLike))
	subnets := p.subnets
	if len(subnets) == 0 {
		subnets = p.selected(ctx, c.Spec.SubnetSelectorTerms, ids(c.Status.Subnets), p.subnetsLike)
	}
	return base.into(p.in(ctx, subnets), c.Spec.AssociatePublicIPAddress)
}

func ids(all []struct{ ID string }) []string {
	return roll.Map(all, func(one struct{ ID string }) string { return one.ID })
}

// selected returns the ids of the objects that the terms select; those of the status if the terms
// select none, as far as can be read.
func (p *site) selected(ctx context.Context, terms []selector, status []string, like func(context.Context, []types.Filter) []string) (out []string) {
	for _, t := range terms {
		var filters []types.Filter
		for key, value := range t.Tags {
			if value == "*" {
				filters = append(filters, types.Filter{Name: aws.String("tag-key"), Values: []string{key}})
			} else {
				filters = append(filters, types.Filter{Name: aws.String("tag:" + key), Values: []string{value}})
			}
		}
		if t.Name != "" { // of a security group
			filters = append(filters, types.Filter{Name: aws.String("group-name"), Values: []string{t.Name}})
		}
		if t.ID != "" {
			out = append(out, t.ID)
		} else if len(filters) > 0 {
			out = append(out, like(ctx, filters)...)
		}
	}
	if len(out) == 0 {
		return status
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (p *site) subnetsLike(ctx context.Context, filters []types.Filter) []string {
	found, err := p.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: filters})
	if err != nil {
		return nil
	}
	return roll.Map(found.Subnets, func(s types.Subnet) string { return aws.ToString(s.SubnetId) })
}

func (p *site) groupsLike(ctx context.Context, filters []types.Filter) []string {
	found, err := p.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: filters})
	if err != nil {
		return nil
	}
	return roll.Map(found.SecurityGroups, func(g types.SecurityGroup) string { return aws.ToString(g.GroupId) })
}
