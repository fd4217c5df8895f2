package generate

import (
	"encoding/base64"
	"time"
)

// The account and the cluster.
const (
	Account  = "111122223333"
	Region   = "eu-west-1"
	Cluster  = "payments"
	Endpoint = "https://A1B2C3D4E5F60718293A4B5C6D7E8F90.gr7.eu-west-1.eks.amazonaws.com"

	clusterARN = "arn:aws:eks:eu-west-1:111122223333:cluster/payments"
	vpc        = "vpc-0a1b2c3d4e5f60001"
)

// Security groups of the account.
const (
	clusterGroup = "sg-0c1c1c1c1c1c1c001" // eks-cluster-sg-payments, created by EKS
	legacyGroup  = "sg-0c1c1c1c1c1c1c002" // of the self-managed nodes
	batchGroup   = "sg-0c1c1c1c1c1c1c003" // of some broken ones
)

// CA is the cluster's certificate authority, and OtherCA another cluster's.
var (
	CA      = authority("payments")
	OtherCA = authority("payments-staging")
)

// authority returns the base64 of a PEM block that looks like EKS's and certifies nothing.
func authority(name string) string {
	body := base64.StdEncoding.EncodeToString([]byte("not a certificate; certificate authority of " + name))
	return base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n"))
}

// rotated is the cluster's certificate authority with the successor that EKS has added to it.
var rotated = together(CA, authority("the successor of payments"))

// together returns several authorities as a bundle.
func together(authorities ...string) string {
	var all []byte
	for _, a := range authorities {
		pem, _ := base64.StdEncoding.DecodeString(a)
		all = append(all, pem...)
	}
	return base64.StdEncoding.EncodeToString(all)
}

const day = 24 * time.Hour

// now is the time of every bundle.
var now = time.Date(2026, time.March, 10, 12, 0, 0, 0, time.UTC)

// healthy holds the healthy machines; all but worker are nil unless the account is whole.
type healthy struct{ karpenter, worker, legacy, system *Machine }

func (h healthy) all() []*Machine {
	if h.legacy == nil {
		return []*Machine{h.worker}
	}
	return []*Machine{h.worker, h.system, h.karpenter, h.legacy}
}

// Healthy returns the healthy account, with nodes that have been Ready for days: one of every
// owner if it is whole, otherwise one of a node group.
func Healthy(whole bool) *Bundle {
	b := &Bundle{
		At: now, Attributes: object{}, Policies: map[string][]object{},
		UserData: map[string]string{}, Console: map[string]string{},
		absent: map[string]bool{}, raw: map[string]string{},
		MapRoles: []string{mapRole("arn:aws:iam::"+Account+":role/PlatformAdmin", "platform-admin", "system:masters")},
	}
	b.cluster()
	b.network()
	b.healthy.worker = b.Launch("i-0e2b0000000000001", "10.0.40.21", "a", Workers, 9*day)
	if whole {
		b.healthy.system = b.Launch("i-0b4d0000000000001", "10.0.104.41", "c", System, 5*day)
		b.healthy.karpenter = b.Launch("i-0d1a0000000000001", "10.0.40.11", "a", Default, 3*day)
		b.healthy.legacy = b.Launch("i-0f3c0000000000001", "10.0.72.31", "b", Legacy, 40*day)
	}
	for _, m := range b.healthy.all() {
		b.Join(m, m.Age-time.Minute)
	}
	return b
}

// cluster writes what `aws eks describe-cluster` prints.
func (b *Bundle) cluster() {
	b.Cluster = object{
		"name": Cluster, "arn": clusterARN, "status": "ACTIVE", "version": "1.35", "platformVersion": "eks.4",
		"createdAt": "2025-06-02T08:11:42.512000+00:00", "endpoint": Endpoint,
		"roleArn":              "arn:aws:iam::111122223333:role/payments-cluster",
		"certificateAuthority": object{"data": CA},
		"accessConfig":         object{"authenticationMode": "API_AND_CONFIG_MAP"},
		"resourcesVpcConfig": object{
			"vpcId": vpc, "subnetIds": []string{subnet("a"), subnet("b"), subnet("c")},
			"clusterSecurityGroupId": clusterGroup, "securityGroupIds": []string{},
			"endpointPublicAccess": true, "endpointPrivateAccess": true, "publicAccessCidrs": []string{"0.0.0.0/0"},
		},
		"kubernetesNetworkConfig": object{"serviceIpv4Cidr": "172.20.0.0/16", "ipFamily": "ipv4"},
		"health":                  object{"issues": []any{}},
		"computeConfig":           object{"enabled": false},
		"tags":                    object{"team": "payments"},
	}
}

// access sets the cluster's authentication mode.
func (b *Bundle) access(mode string) { b.Cluster["accessConfig"] = object{"authenticationMode": mode} }

// endpoint sets the access to the API server: public, private, and the public addresses
// admitted.
func (b *Bundle) endpoint(public, private bool, from ...string) {
	c := b.Cluster["resourcesVpcConfig"].(object)
	c["endpointPublicAccess"], c["endpointPrivateAccess"] = public, private
	if len(from) > 0 {
		c["publicAccessCidrs"] = from
	}
}
