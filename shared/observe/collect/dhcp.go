package collect

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// noDHCPOptions is the id in a VPC that uses no set of DHCP options.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateDhcpOptions.html
const noDHCPOptions = "default"

func (l *look) readDHCP() {
	vpcs := l.vpcIDs()
	sets := byID(l.action("ec2:DescribeVpcs"), vpcs, describedSize, l.ec2.DescribeVpcs,
		func(ids []string) *ec2.DescribeVpcsInput { return &ec2.DescribeVpcsInput{VpcIds: ids} },
		func(out *ec2.DescribeVpcsOutput) []types.Vpc { return out.Vpcs }, func(v *types.Vpc) *string { return v.VpcId }, func(v *types.Vpc) vpcSettings {
			return vpcSettings{options: aws.ToString(v.DhcpOptionsId), cidr: aws.ToString(v.CidrBlock)}
		})
	var ids []string
	for _, id := range vpcs {
		if set := sets[id].Value.options; set != noDHCPOptions {
			ids = append(ids, set)
		}
	}
	options := byID(l.action("ec2:DescribeDhcpOptions"), distinct(ids), describedSize, l.ec2.DescribeDhcpOptions,
		func(ids []string) *ec2.DescribeDhcpOptionsInput {
			return &ec2.DescribeDhcpOptionsInput{DhcpOptionsIds: ids}
		},
		func(out *ec2.DescribeDhcpOptionsOutput) []types.DhcpOptions { return out.DhcpOptions }, func(o *types.DhcpOptions) *string { return o.DhcpOptionsId }, dhcp)
	for _, id := range vpcs {
		fact := dhcpOf(sets[id], options)
		l.vpc(id, func(v *evidence.VPC) { v.DHCP, v.CIDR = fact, sets[id].Value.cidr })
	}
}

// vpcSettings are the id of a VPC's DHCP options and its primary IPv4 block.
type vpcSettings struct{ options, cidr string }

func dhcpOf(set evidence.Fact[vpcSettings], options map[string]evidence.Fact[evidence.DHCPOptions]) evidence.Fact[evidence.DHCPOptions] {
	return evidence.Then(set, func(v vpcSettings) evidence.Fact[evidence.DHCPOptions] {
		switch v.options {
		case noDHCPOptions:
			return evidence.None[evidence.DHCPOptions]()
		case "":
			return evidence.Failed[evidence.DHCPOptions]("ec2:DescribeVpcs names no DHCP options")
		}
		return options[v.options]
	})
}

func dhcp(o *types.DhcpOptions) evidence.DHCPOptions {
	out := evidence.DHCPOptions{ID: aws.ToString(o.DhcpOptionsId)}
	for _, c := range o.DhcpConfigurations {
		values := roll.Map(c.Values, func(v types.AttributeValue) string { return aws.ToString(v.Value) })
		switch aws.ToString(c.Key) {
		case "domain-name-servers":
			out.NameServer = values
		case "domain-name":
			if len(values) > 0 {
				out.DomainName = values[0]
			}
		}
	}
	return out
}
