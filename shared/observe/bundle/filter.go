package bundle

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// attributes are what a thing can be filtered by: the values that it has under the name
// of a filter. A name that is not there is one that the bundle does not know.
type attributes map[string][]string

// matches reports whether a thing passes all filters, as EC2 joins them: one value of
// each must fit, in which * and ? stand for any characters.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html
func matches(filters []types.Filter, tags []types.Tag, has attributes) (bool, error) {
	for _, f := range filters {
		name := aws.ToString(f.Name)
		values, known := has[name]
		if !known {
			values, known = tagged(name, tags)
		}
		if !known {
			return false, fmt.Errorf("a bundle cannot be filtered by %q", name)
		}
		if !slices.ContainsFunc(values, func(v string) bool {
			return slices.ContainsFunc(f.Values, func(want string) bool { return fits(want, v) })
		}) {
			return false, nil
		}
	}
	return true, nil
}

func tagged(name string, tags []types.Tag) (values []string, known bool) {
	key, one := strings.CutPrefix(name, "tag:")
	if !one && name != "tag-key" {
		return nil, false
	}
	for _, t := range tags {
		switch {
		case !one:
			values = append(values, aws.ToString(t.Key))
		case aws.ToString(t.Key) == key:
			values = append(values, aws.ToString(t.Value))
		}
	}
	return values, true
}

// fits compares as EC2 does. Names in EC2 hold slashes, which path.Match does not cross.
func fits(want, v string) bool {
	if !strings.ContainsAny(want, "*?") {
		return want == v
	}
	plain := strings.NewReplacer("/", "\x00", "[", "\x01", "\\", "\x02")
	ok, err := path.Match(plain.Replace(want), plain.Replace(v))
	return err == nil && ok
}

func one(s *string) []string {
	if s == nil {
		return nil
	}
	return []string{*s}
}

func each[T any](all []T, of func(T) *string) []string {
	var out []string
	for _, v := range all {
		out = append(out, one(of(v))...)
	}
	return out
}

func instanceAttributes(i *instance) ([]types.Tag, attributes) {
	a := attributes{
		"instance-id": one(i.InstanceId), "vpc-id": one(i.VpcId), "subnet-id": one(i.SubnetId), "image-id": one(i.ImageId),
		"instance-type": {string(i.InstanceType)}, "private-dns-name": one(i.PrivateDnsName), "private-ip-address": one(i.PrivateIpAddress),
		"instance-state-name": nil, "availability-zone": nil,
	}
	if i.State != nil {
		a["instance-state-name"] = []string{string(i.State.Name)}
	}
	if i.Placement != nil {
		a["availability-zone"] = one(i.Placement.AvailabilityZone)
	}
	return i.Tags, a
}

func statusAttributes(s *types.InstanceStatus) attributes {
	a := attributes{"instance-status.status": nil, "system-status.status": nil, "attached-ebs-status.status": nil, "application-status.status": nil, "instance-state-name": nil, "availability-zone": one(s.AvailabilityZone), "event.code": nil}
	if s.InstanceStatus != nil {
		a["instance-status.status"] = []string{string(s.InstanceStatus.Status)}
	}
	if s.SystemStatus != nil {
		a["system-status.status"] = []string{string(s.SystemStatus.Status)}
	}
	if s.AttachedEbsStatus != nil {
		a["attached-ebs-status.status"] = []string{string(s.AttachedEbsStatus.Status)}
	}
	if s.ApplicationStatus != nil {
		a["application-status.status"] = []string{string(s.ApplicationStatus.Status)}
	}
	if s.InstanceState != nil {
		a["instance-state-name"] = []string{string(s.InstanceState.Name)}
	}
	for _, e := range s.Events {
		a["event.code"] = append(a["event.code"], string(e.Code))
	}
	return a
}

func routeTableAttributes(r *types.RouteTable) ([]types.Tag, attributes) {
	a := attributes{"route-table-id": one(r.RouteTableId), "vpc-id": one(r.VpcId), "association.main": nil}
	a["association.subnet-id"] = each(r.Associations, func(a types.RouteTableAssociation) *string { return a.SubnetId })
	a["association.gateway-id"] = each(r.Associations, func(a types.RouteTableAssociation) *string { return a.GatewayId })
	a["association.route-table-association-id"] = each(r.Associations, func(a types.RouteTableAssociation) *string { return a.RouteTableAssociationId })
	for _, association := range r.Associations {
		a["association.main"] = append(a["association.main"], fmt.Sprint(aws.ToBool(association.Main)))
	}
	return r.Tags, a
}

func aclAttributes(n *types.NetworkAcl) ([]types.Tag, attributes) {
	return n.Tags, attributes{
		"network-acl-id": one(n.NetworkAclId), "vpc-id": one(n.VpcId), "default": {fmt.Sprint(aws.ToBool(n.IsDefault))},
		"association.subnet-id": each(n.Associations, func(a types.NetworkAclAssociation) *string { return a.SubnetId }),
	}
}

func imageAttributes(i *types.Image) ([]types.Tag, attributes) {
	return i.Tags, attributes{"image-id": one(i.ImageId), "name": one(i.Name), "owner-id": one(i.OwnerId), "owner-alias": one(i.ImageOwnerAlias), "architecture": {string(i.Architecture)}, "state": {string(i.State)}}
}

func subnetAttributes(s *types.Subnet) ([]types.Tag, attributes) {
	return s.Tags, attributes{"subnet-id": one(s.SubnetId), "vpc-id": one(s.VpcId), "availability-zone": one(s.AvailabilityZone), "availability-zone-id": one(s.AvailabilityZoneId), "cidr-block": one(s.CidrBlock)}
}

func securityGroupAttributes(g *types.SecurityGroup) ([]types.Tag, attributes) {
	return g.Tags, attributes{"group-id": one(g.GroupId), "group-name": one(g.GroupName), "vpc-id": one(g.VpcId)}
}

func gatewayAttributes(g *types.NatGateway) ([]types.Tag, attributes) {
	return g.Tags, attributes{"nat-gateway-id": one(g.NatGatewayId), "vpc-id": one(g.VpcId), "subnet-id": one(g.SubnetId), "state": {string(g.State)}}
}

func endpointAttributes(v *types.VpcEndpoint) ([]types.Tag, attributes) {
	return v.Tags, attributes{"vpc-endpoint-id": one(v.VpcEndpointId), "vpc-id": one(v.VpcId), "service-name": one(v.ServiceName), "vpc-endpoint-type": {string(v.VpcEndpointType)}, "vpc-endpoint-state": {string(v.State)}}
}

func dhcpAttributes(o *types.DhcpOptions) ([]types.Tag, attributes) {
	return o.Tags, attributes{"dhcp-options-id": one(o.DhcpOptionsId)}
}

func vpcAttributes(v *types.Vpc) ([]types.Tag, attributes) {
	return v.Tags, attributes{"vpc-id": one(v.VpcId), "cidr": one(v.CidrBlock), "dhcp-options-id": one(v.DhcpOptionsId)}
}
