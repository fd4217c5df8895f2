package collect

import (
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestEachSubnetThatMattersHasItsTableAndItsACL(t *testing.T) {
	a := healthy()
	a.launch(1, pool)
	n := checked(t, a, roll.Unregistered, pool, 1).Network
	tables := n.RouteTables
	expect.That(t, tables[subnetB].Value.ID == id("rtb", 2) && tables[subnetNAT].Value.ID == id("rtb", 1), "%+v", tables)
	expect.Equal(t, n.Subnets[subnetB].Value.Owner, "111122223333", "the subnet belongs to")
	want := []evidence.Route{{Destination: "10.0.0.0/16", Target: "local"}, {Destination: "0.0.0.0/0", Target: nat}}
	got := n.RouteTables[subnetB].Value.Routes
	expect.That(t, reflect.DeepEqual(got, want), "got %+v, want %+v", got, want)
	acl := n.ACLs[subnetB].Value
	expect.That(t, len(acl.Rules) == 2 && acl.Rules[0] == (evidence.ACLRule{Number: 100, Egress: true, Allow: true, Protocol: "6", CIDR: "0.0.0.0/0", From: 443, To: 443}) && acl.Rules[1].AllPorts && !acl.Rules[1].Allow, "%+v", acl)
	if g := n.NATGateways[nat].Value; g.State != "available" || g.PublicIPs[0] != "203.0.113.7" || g.Private {
		t.Errorf("%+v", g)
	}
	v := n.VPCs[vpc]
	if e := v.Endpoints.Value[0]; e.State != "available" || e.SecurityGroups[0] != endpointG || !e.PrivateDNS || !v.DNSSupport.Value || v.CIDR != "10.0.0.0/16" || v.DHCP.Value.NameServer[0] != "AmazonProvidedDNS" || v.DHCP.Value.DomainName == "" {
		t.Errorf("%+v", v)
	}
	g := n.SecurityGroups[clusterSG].Value
	expect.That(t, !g.Ingress[0].AllPorts && g.Ingress[0].From == 443 && g.Egress[0].AllPorts && len(g.Egress[0].CIDRs) == 2, "%+v", g)
}

func TestASubnetWithBlockPublicAccess(t *testing.T) {
	s := subnet(&types.Subnet{BlockPublicAccessStates: &types.BlockPublicAccessStates{InternetGatewayBlockMode: types.BlockPublicAccessModeBlockIngress}})
	expect.Equal(t, s.InternetBlock, "block-ingress", "mode")
}

func TestRegionalNATGatewayIsInNoSubnet(t *testing.T) {
	a := healthy()
	a.launch(1, pool)
	a.gateways[0].SubnetId, a.gateways[0].AvailabilityMode = nil, types.AvailabilityModeRegional
	g := checked(t, a, roll.Unregistered, pool, 1).Network.NATGateways[nat].Value
	expect.That(t, g.Regional && g.Subnet == "" && g.PublicIPs[0] == "203.0.113.7", "%+v", g)
}

func TestAnEndpointWhoseNameIsForInboundResolversAlone(t *testing.T) {
	on := &types.VpcEndpoint{PrivateDnsEnabled: aws.Bool(true), DnsOptions: &types.DnsOptions{PrivateDnsOnlyForInboundResolverEndpoint: aws.Bool(true)}}
	if e := endpoint(on); !e.PrivateDNS || !e.InboundOnly {
		t.Errorf("%+v", e)
	}
	on.DnsOptions.PrivateDnsOnlyForInboundResolverEndpoint = aws.Bool(false)
	expect.That(t, !endpoint(on).InboundOnly, "it is for the VPC's instances too")
}

func TestNoRouteTableIsNotAnEmptyOne(t *testing.T) {
	a := healthy()
	a.launch(1, pool)
	a.tables, a.acls = nil, nil
	n := checked(t, a, roll.Unregistered, pool, 1).Network
	expect.That(t, n.RouteTables[subnetB].State == evidence.Unreadable && n.ACLs[subnetB].State == evidence.Unreadable, "%+v %+v", n.RouteTables, n.ACLs)
}

func TestAVPCWithoutDHCPOptions(t *testing.T) {
	a := healthy()
	a.launch(1, pool)
	a.vpcs[0].DhcpOptionsId = aws.String("default")
	d := checked(t, a, roll.Unregistered, pool, 1).Network.VPCs[vpc].DHCP
	expect.That(t, d.State == evidence.Absent && a.calls["ec2:DescribeDhcpOptions"] == 0, "%+v", d)
}

func TestRoutesLeadToWhatTheyName(t *testing.T) {
	text := aws.String
	table := routeTable(&types.RouteTable{Routes: []types.Route{
		{DestinationIpv6CidrBlock: text("::/0"), EgressOnlyInternetGatewayId: text("eigw-1")},
		{DestinationPrefixListId: text("pl-1"), GatewayId: text("vpce-1")},
		{DestinationCidrBlock: text("0.0.0.0/0"), InstanceId: text("i-1"), NetworkInterfaceId: text("eni-1"), State: types.RouteStateBlackhole},
		{DestinationCidrBlock: text("10.0.0.0/8"), TransitGatewayId: text("tgw-1")},
		{DestinationCidrBlock: text("10.1.0.0/16"), VpcPeeringConnectionId: text("pcx-1")},
	}})
	want := []evidence.Route{
		{Destination: "::/0", Target: "eigw-1"}, {Destination: "pl-1", Target: "vpce-1"}, {Destination: "0.0.0.0/0", Target: "eni-1", Blackhole: true},
		{Destination: "10.0.0.0/8", Target: "tgw-1"}, {Destination: "10.1.0.0/16", Target: "pcx-1"},
	}
	expect.That(t, reflect.DeepEqual(table.Routes, want), "got %+v, want %+v", table.Routes, want)
}
