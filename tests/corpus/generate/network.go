package generate

import "fmt"

// zones are the region's zones, and the number of each in IDs and addresses.
var zones = map[string]int{"a": 1, "b": 2, "c": 3}

// subnet returns the ID of the private subnet in a zone.
func subnet(zone string) string { return fmt.Sprintf("subnet-0a1b2c3d4e5f6010%d", zones[zone]) }

func publicSubnet(zone string) string { return fmt.Sprintf("subnet-0a1b2c3d4e5f6020%d", zones[zone]) }

func natGateway(zone string) string { return fmt.Sprintf("nat-0a1b2c3d4e5f6030%d", zones[zone]) }

func routeTable(zone string) string { return fmt.Sprintf("rtb-0a1b2c3d4e5f6040%d", zones[zone]) }

const (
	publicTable = "rtb-0a1b2c3d4e5f60400"
	gateway     = "igw-0a1b2c3d4e5f60500"
	openACL     = "acl-0a1b2c3d4e5f60600"
	dhcpOptions = "dopt-0a1b2c3d4e5f6070"
)

// network adds a VPC with a private and a public subnet per zone, and a NAT gateway for each
// private subnet.
func (b *Bundle) network() {
	public := []string{}
	for _, z := range []string{"a", "b", "c"} {
		n := zones[z]
		b.addSubnet(subnet(z), z, fmt.Sprintf("10.0.%d.0/19", 32*n), 7800)
		b.addSubnet(publicSubnet(z), z, fmt.Sprintf("10.0.%d.0/24", n), 240)
		public = append(public, publicSubnet(z))
		b.RouteTables = append(b.RouteTables, table(routeTable(z), []string{subnet(z)}, route("NatGatewayId", natGateway(z))))
		b.addGateway(natGateway(z), publicSubnet(z), fmt.Sprintf("198.51.100.%d", 10+n))
	}
	b.RouteTables = append(b.RouteTables, table(publicTable, public, route("GatewayId", gateway)))
	b.ACLs = append(b.ACLs, acl(openACL, true, append(public, subnet("a"), subnet("b"), subnet("c")),
		aclRule(100, false, "-1", "allow", 0, 0), aclRule(100, true, "-1", "allow", 0, 0)))
	b.SecurityGroups = append(b.SecurityGroups,
		firewall(clusterGroup, "eks-cluster-sg-payments-1909614887", []object{fromGroup("-1", 0, clusterGroup), fromGroup("tcp", 443, legacyGroup)}, anywhere()),
		firewall(legacyGroup, "payments-legacy-nodes", []object{fromGroup("-1", 0, legacyGroup), fromGroup("-1", 0, clusterGroup)}, anywhere()))
	b.DHCP = append(b.DHCP, dhcp("AmazonProvidedDNS"))
	b.Attributes[vpc] = dns(true, true)
}

// resolvers makes the DHCP options name the company's resolvers, behind a transit gateway.
func (b *Bundle) resolvers() {
	b.DHCP = []object{dhcp("10.20.0.10", "10.20.1.10")}
	for _, t := range b.RouteTables {
		t["Routes"] = append(t["Routes"].([]object), toCompany("10.20.0.0/16"))
	}
}

// toCompany is a route to the company's network.
func toCompany(cidr string) object {
	return object{"DestinationCidrBlock": cidr, "TransitGatewayId": "tgw-0a1b2c3d4e5f60901", "Origin": "CreateRoute", "State": "active"}
}

func (b *Bundle) addSubnet(id, zone, cidr string, free int) object {
	s := object{
		"SubnetId": id, "VpcId": vpc, "State": "available", "CidrBlock": cidr, "AvailableIpAddressCount": free,
		"AvailabilityZone": Region + zone, "AvailabilityZoneId": fmt.Sprintf("euw1-az%d", zones[zone]),
		"MapPublicIpOnLaunch": false, "DefaultForAz": false, "OwnerId": Account,
	}
	b.Subnets = append(b.Subnets, s)
	return s
}

func (b *Bundle) addGateway(id, in, address string) {
	b.Gateways = append(b.Gateways, object{
		"NatGatewayId": id, "SubnetId": in, "VpcId": vpc, "State": "available", "ConnectivityType": "public",
		"NatGatewayAddresses": []object{{"PublicIp": address, "Status": "succeeded", "IsPrimary": true}},
	})
}

// table returns a route table. It always has the route within the VPC.
func table(id string, subnets []string, routes ...object) object {
	var associations []object
	for i, s := range subnets {
		associations = append(associations, object{
			"RouteTableAssociationId": fmt.Sprintf("rtbassoc-%s%d", id[len(id)-15:], i), "RouteTableId": id, "SubnetId": s,
			"Main": false, "AssociationState": object{"State": "associated"},
		})
	}
	local := object{"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local", "Origin": "CreateRouteTable", "State": "active"}
	return object{"RouteTableId": id, "VpcId": vpc, "OwnerId": Account, "Associations": associations, "Routes": append([]object{local}, routes...)}
}

// route returns a default route to a target, such as NatGatewayId or TransitGatewayId.
func route(target, id string) object {
	return object{"DestinationCidrBlock": "0.0.0.0/0", target: id, "Origin": "CreateRoute", "State": "active"}
}

// acl returns a network ACL; what no rule matches is denied.
func acl(id string, standard bool, subnets []string, rules ...object) object {
	associations := []object{}
	for i, s := range subnets {
		associations = append(associations, object{"NetworkAclAssociationId": fmt.Sprintf("aclassoc-%s%d", id[len(id)-15:], i), "NetworkAclId": id, "SubnetId": s})
	}
	rules = append(rules, aclRule(32767, false, "-1", "deny", 0, 0), aclRule(32767, true, "-1", "deny", 0, 0))
	return object{"NetworkAclId": id, "VpcId": vpc, "OwnerId": Account, "IsDefault": standard, "Associations": associations, "Entries": rules}
}

// aclRule returns a network ACL rule for all addresses. Protocol 6 is TCP, -1 is all.
func aclRule(number int, egress bool, protocol, action string, from, to int) object {
	r := object{"RuleNumber": number, "Egress": egress, "Protocol": protocol, "RuleAction": action, "CidrBlock": "0.0.0.0/0"}
	if protocol == "6" {
		r["PortRange"] = object{"From": from, "To": to}
	}
	return r
}

func firewall(id, name string, in, out []object) object {
	return object{"GroupId": id, "GroupName": name, "VpcId": vpc, "OwnerId": Account, "Description": name, "IpPermissions": in, "IpPermissionsEgress": out}
}

// anywhere returns rules that let everything out, as a new security group has.
func anywhere() []object { return []object{toEverybody("-1", 0)} }

func toEverybody(protocol string, port int) object {
	p := permission(protocol, port)
	p["IpRanges"] = []object{{"CidrIp": "0.0.0.0/0"}}
	return p
}

// fromGroup returns a rule for the members of a security group, in or out.
func fromGroup(protocol string, port int, id string) object {
	p := permission(protocol, port)
	p["UserIdGroupPairs"] = []object{{"GroupId": id, "UserId": Account}}
	return p
}

func permission(protocol string, port int) object {
	p := object{"IpProtocol": protocol, "IpRanges": []object{}, "Ipv6Ranges": []object{}, "PrefixListIds": []object{}, "UserIdGroupPairs": []object{}}
	if protocol != "-1" {
		p["FromPort"], p["ToPort"] = port, port
	}
	return p
}

func dhcp(servers ...string) object {
	var values []object
	for _, s := range servers {
		values = append(values, object{"Value": s})
	}
	return object{
		"DhcpOptionsId": dhcpOptions, "OwnerId": Account,
		"DhcpConfigurations": []object{
			{"Key": "domain-name", "Values": []object{{"Value": "eu-west-1.compute.internal"}}},
			{"Key": "domain-name-servers", "Values": values},
		},
	}
}

func dns(support, hostnames bool) object {
	return object{"EnableDnsSupport": object{"Value": support}, "EnableDnsHostnames": object{"Value": hostnames}}
}

// aside is a private subnet of zone a that no healthy node uses, with its own routes and
// network ACL.
const (
	asideSubnet = "subnet-0a1b2c3d4e5f60199"
	asideTable  = "rtb-0a1b2c3d4e5f60499"
	asideACL    = "acl-0a1b2c3d4e5f60699"
)

// aside adds that subnet; without routes it is cut off from everything outside the VPC.
func (b *Bundle) aside(routes ...object) object {
	s := b.addSubnet(asideSubnet, "a", "10.0.160.0/20", 4000)
	b.RouteTables = append(b.RouteTables, table(asideTable, []string{asideSubnet}, routes...))
	b.asideRules(aclRule(100, false, "-1", "allow", 0, 0), aclRule(100, true, "-1", "allow", 0, 0))
	return s
}

// asideRules sets the rules of the subnet's own network ACL.
func (b *Bundle) asideRules(rules ...object) {
	b.ACLs = append(b.ACLs[:1:1], acl(asideACL, false, []string{asideSubnet}, rules...))
}

// privateEndpoint adds an interface endpoint, such as ecr.api, in the subnet aside and
// behind a security group.
func (b *Bundle) privateEndpoint(group string, services ...string) {
	for _, s := range services {
		id := fmt.Sprintf("vpce-0a1b2c3d4e5f608%02d", len(b.Endpoints))
		e := object{
			"VpcEndpointId": id, "VpcEndpointType": "Interface", "VpcId": vpc, "ServiceName": "com.amazonaws.eu-west-1." + s,
			"State": "available", "SubnetIds": []string{asideSubnet}, "PrivateDnsEnabled": true,
			"Groups": []object{{"GroupId": group, "GroupName": "payments-endpoints"}}, "RouteTableIds": []string{},
			"PolicyDocument": `{"Statement": [{"Action": "*", "Effect": "Allow", "Principal": "*", "Resource": "*"}]}`, // the default policy of an endpoint
		}
		if s == "s3" {
			e["VpcEndpointType"], e["PrivateDnsEnabled"] = "Gateway", false
			e["SubnetIds"], e["Groups"], e["RouteTableIds"] = []string{}, []object{}, []string{asideTable}
			t := b.find(b.RouteTables, "RouteTableId", asideTable)
			t["Routes"] = append(t["Routes"].([]object), object{"DestinationPrefixListId": "pl-6da54004", "GatewayId": id, "Origin": "CreateRoute", "State": "active"})
		}
		b.Endpoints = append(b.Endpoints, e)
	}
}
