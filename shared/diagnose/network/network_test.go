package network_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/diagnose/network"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
	"rollcall/tests/harness/causetest"
)

// scenario is a world with one change, and the result.
type scenario struct {
	name   string
	change func(*world)
	// decisive and hint are the codes that are found, each with its confidence; no others may
	// be. open are among those not checked, clear among those ruled out.
	decisive, hint, open, clear []cause.Code
	// says are words of the summaries, subjects, evidence and fixes.
	says []string
}

func run(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			w := healthy()
			c.change(w)
			s := &cause.Sheet{}
			full := w.finish()
			network.Analyze(full, s)
			decisive, hint := split(s)
			if !slices.Equal(decisive, c.decisive) || !slices.Equal(hint, c.hint) {
				t.Errorf("found %v and the hints %v, want %v and %v\n%s", decisive, hint, c.decisive, c.hint, tell(s))
			}
			for _, code := range c.clear {
				if !slices.Contains(s.Clear(), code) {
					t.Errorf("%s is not ruled out\n%s", code, tell(s))
				}
			}
			causetest.NotChecked(t, c.name, s, "", c.open...)
			for _, word := range c.says {
				if !strings.Contains(tell(s), word) {
					t.Errorf("nothing says %q\n%s", word, tell(s))
				}
			}
			causetest.Whole(t, c.name, s)
			partial(t, full, s)
		})
	}
}

func split(s *cause.Sheet) (decisive, hint []cause.Code) {
	for _, c := range s.Causes() {
		if c.Confidence == roll.Decisive {
			decisive = append(decisive, c.Code)
		} else {
			hint = append(hint, c.Code)
		}
	}
	return decisive, hint
}

func tell(s *cause.Sheet) string {
	var b strings.Builder
	for _, c := range s.Causes() {
		fmt.Fprintf(&b, "%s (%s) %s [%s]\n", c.Code, c.Confidence, c.Summary, c.Subject)
		for _, e := range c.Evidence {
			fmt.Fprintf(&b, "  %s %s: %s, expected %s\n", e.Source, e.Field, e.Observed, e.Expected)
		}
		fmt.Fprintln(&b, c.Fix)
	}
	for _, u := range s.Open() {
		fmt.Fprintf(&b, "not checked %s: %s\n", u.Code, u.Reason)
	}
	return b.String() + fmt.Sprint("ruled out ", s.Clear())
}

func codes(all ...cause.Code) []cause.Code { return all }

func TestNothingIsFoundWhereAllIsWell(t *testing.T) {
	run(t, []scenario{
		{
			name: "both endpoints", change: func(*world) {},
			clear: codes(cause.ApiEndpointUnreachable, cause.PublicAccessCidrBlocked, cause.SecurityGroupBlocksApi, cause.NaclBlocksApi, cause.DnsDisabled,
				cause.DhcpOptionsWrong, cause.VpcEndpointMissing, cause.SubnetIpsExhausted, cause.WrongVpc, cause.ImdsDisabled),
		},
		{
			name: "public endpoint alone", change: publicOnly(),
			clear: codes(cause.ApiEndpointUnreachable, cause.PublicAccessCidrBlocked, cause.SecurityGroupBlocksApi, cause.NaclBlocksApi, cause.DnsDisabled),
		},
		{name: "a node that fell silent", change: kind(roll.Unknown, hour), clear: codes(cause.ApiEndpointUnreachable, cause.SecurityGroupBlocksApi, cause.NaclBlocksApi, cause.ImdsDisabled)},
	})
}

func TestWithoutAnInstanceNothingIsChecked(t *testing.T) {
	run(t, []scenario{
		{
			name: "unreadable",
			change: func(w *world) {
				w.instance(func(i *evidence.Instance) {
					i.Config = evidence.Failed[evidence.InstanceConfig]("ec2:DescribeInstances: no")
				})
			},
			open: codes(cause.ApiEndpointUnreachable, cause.WrongVpc, cause.ImdsDisabled, cause.ClusterTagMissing),
			says: []string{"ec2:DescribeInstances: no"},
		},
		{
			name:   "the cluster unreadable",
			change: func(w *world) { w.Cluster.Config = evidence.Failed[evidence.ClusterConfig]("eks:DescribeCluster: no") },
			open: codes(cause.ApiEndpointUnreachable, cause.PublicAccessCidrBlocked, cause.SecurityGroupBlocksApi, cause.NaclBlocksApi, cause.DnsDisabled,
				cause.VpcEndpointMissing, cause.WrongVpc),
			clear: codes(cause.SubnetIpsExhausted, cause.ImdsDisabled, cause.DhcpOptionsWrong),
		},
	})
}

func TestKindsThatTheNetworkDoesNotExplain(t *testing.T) {
	for _, k := range []roll.Kind{roll.Ghost, roll.Orphaned, roll.Impaired, roll.Flapping, roll.ConditionFailed} {
		w := healthy()
		kind(k, 0)(w)
		publicOnly()(w)
		routes()(w)
		s := &cause.Sheet{}
		network.Analyze(w.finish(), s)
		if len(s.Causes())+len(s.Open())+len(s.Clear()) != 0 {
			t.Errorf("%s: %s", k, tell(s))
		}
	}
}

// A node that reports has shown that the way is open, whatever the configuration looks like.
func TestANodeThatReportsHasAWay(t *testing.T) {
	path := codes(cause.ApiEndpointUnreachable, cause.PublicAccessCidrBlocked, cause.SecurityGroupBlocksApi, cause.NaclBlocksApi, cause.DnsDisabled, cause.DhcpOptionsWrong)
	broken := func(k roll.Kind) func(*world) {
		return do(kind(k, 5e9), publicOnly("203.0.113.0/24"), routes(), egress(), acl(nodeSubnet), func(w *world) {
			w.vpc.DNSSupport = evidence.Read(false)
			w.vpc.DHCP = evidence.Read(evidence.DHCPOptions{NameServer: []string{"10.20.0.10"}})
		})
	}
	run(t, []scenario{
		{name: "Ready=False", change: broken(roll.NotReady), clear: path},
		{name: "a fresh lease", change: broken(roll.Uninitialized), clear: path},
	})
}
