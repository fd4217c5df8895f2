package collect

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
)

// noDHCPOptions is the id that a VPC names which uses no set of DHCP options.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateDhcpOptions.html
const noDHCPOptions = "default"

// readDHCP reads which DHCP options the VPCs hand out.
func (l *look) readDHCP() {
	vpcs := l.vpcIDs()
	sets := byID(l.action("ec2:DescribeVpcs"), vpcs, networkSize, func(ctx context.Context, ids []string) (map[string]string, error) {
		out, err := l.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: slices.Clone(ids)})
		if err != nil {
			return nil, err
		}
		found := map[string]string{}
		for _, v := range out.Vpcs {
			found[aws.ToString(v.VpcId)] = aws.ToString(v.DhcpOptionsId)
		}
		return found, nil
	})
	var ids []string
	for _, id := range vpcs {
		if set := sets[id].Value; set != noDHCPOptions {
			ids = append(ids, set)
		}
	}
	options := byID(l.action("ec2:DescribeDhcpOptions"), distinct(ids), networkSize, l.describeDHCP)
	for _, id := range vpcs {
		fact := dhcpOf(sets[id], options)
		l.vpc(id, func(v *evidence.VPC) { v.DHCP = fact })
	}
}

func (l *look) describeDHCP(ctx context.Context, ids []string) (map[string]evidence.DHCPOptions, error) {
	out, err := l.ec2.DescribeDhcpOptions(ctx, &ec2.DescribeDhcpOptionsInput{DhcpOptionsIds: slices.Clone(ids)})
	if err != nil {
		return nil, err
	}
	found := map[string]evidence.DHCPOptions{}
	for i := range out.DhcpOptions {
		d := dhcp(&out.DhcpOptions[i])
		found[d.ID] = d
	}
	return found, nil
}

func dhcpOf(set evidence.Fact[string], options map[string]evidence.Fact[evidence.DHCPOptions]) evidence.Fact[evidence.DHCPOptions] {
	switch {
	case !set.Known():
		return evidence.Fact[evidence.DHCPOptions]{State: set.State, Why: set.Why}
	case set.Value == noDHCPOptions:
		return evidence.None[evidence.DHCPOptions]()
	case set.Value == "":
		return evidence.Failed[evidence.DHCPOptions]("ec2:DescribeVpcs names no DHCP options")
	}
	return options[set.Value]
}

func dhcp(o *types.DhcpOptions) evidence.DHCPOptions {
	out := evidence.DHCPOptions{ID: aws.ToString(o.DhcpOptionsId)}
	for _, c := range o.DhcpConfigurations {
		var values []string
		for _, v := range c.Values {
			values = append(values, aws.ToString(v.Value))
		}
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
