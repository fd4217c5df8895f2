package evidence

import "strings"

// Network is what was read of the network. Each map is keyed by the resource's id. A missing key
// was not read.
type Network struct {
	Subnets map[string]Fact[Subnet]
	// RouteTables and ACLs are keyed by the subnet they serve. Each is the one associated with the
	// subnet, or else the VPC's main table or default ACL.
	RouteTables    map[string]Fact[RouteTable]
	ACLs           map[string]Fact[ACL]
	SecurityGroups map[string]Fact[SecurityGroup]
	NATGateways    map[string]Fact[NATGateway]
	VPCs           map[string]VPC
}

// VPC is what was read of one VPC.
type VPC struct {
	CIDR         string // its primary IPv4 block; "" if not read
	DNSSupport   Fact[bool]
	DNSHostnames Fact[bool]
	DHCP         Fact[DHCPOptions] // Absent: the VPC uses the set named "default", which sets nothing
	Endpoints    Fact[[]VPCEndpoint]
}

// Subnet is a subnet.
type Subnet struct {
	Owner         string // the account that it belongs to; "" if unknown
	CIDR          string
	FreeAddresses int // AvailableIpAddressCount
	// InternetBlock is the mode of VPC Block Public Access: off or "", block-ingress,
	// block-bidirectional. Exclusions are not read.
	InternetBlock string
}

// RouteTable is the route table of a subnet.
type RouteTable struct {
	ID     string
	Routes []Route
}

// Route is one route.
type Route struct {
	Destination string // CIDR, IPv4 or IPv6, or the id of a prefix list
	// Target is the id of the route's target: igw-, nat-, tgw-, pcx-, vgw-, eni-, i-, eigw-, vpce-,
	// lgw-, cagw- or local.
	Target    string
	Blackhole bool // its target is gone
}

// Kind returns the kind of the target: the part of its id before the first hyphen, or local.
func (r Route) Kind() string {
	kind, _, _ := strings.Cut(r.Target, "-")
	return kind
}

// ACL is the network ACL of a subnet.
type ACL struct {
	ID    string
	Rules []ACLRule
}

// ACLRule is a rule of a network ACL. The matching rule with the lowest number applies.
type ACLRule struct {
	Number   int
	Egress   bool
	Allow    bool
	Protocol string // -1 all, 6 TCP, 17 UDP...
	CIDR     string // IPv4 or IPv6
	// From and To are its ports. Both are 0 with AllPorts.
	From, To int
	AllPorts bool
}

// SecurityGroup is a security group.
type SecurityGroup struct {
	Ingress, Egress []Permission
}

// Permission is a rule of a security group.
type Permission struct {
	Protocol    string // -1 all, tcp, udp, icmp or a number
	From, To    int    // ports; -1 or 0 with AllPorts
	AllPorts    bool
	CIDRs       []string // IPv4 and IPv6
	Groups      []string // ids of security groups
	PrefixLists []string
}

// NATGateway is a NAT gateway.
type NATGateway struct {
	ID, VPC, Subnet string
	State           string   // available, pending, failed, deleting, deleted
	PublicIPs       []string // empty for a private one
	Private         bool
	// Regional: it is in no subnet, serves all zones of its VPC, and has a route table of its own.
	Regional bool
}

// VPCEndpoint is an interface or gateway endpoint.
type VPCEndpoint struct {
	ID             string
	Service        string // such as com.amazonaws.eu-west-1.ec2
	Type           string // Interface or Gateway
	State          string // available, pending...
	PrivateDNS     bool
	InboundOnly    bool // its private name is for inbound resolver endpoints, and not for the VPC's instances
	Subnets        []string
	SecurityGroups []string
	RouteTables    []string // of a gateway endpoint
	Policy         string   // JSON; "" allows everything
}

// DHCPOptions is a set of DHCP options.
type DHCPOptions struct {
	ID         string
	NameServer []string // domain-name-servers: addresses, or AmazonProvidedDNS
	DomainName string
}
