package network

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"rollcall/shared/evidence"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func prefix(t *testing.T, text string) netip.Prefix {
	t.Helper()
	p, ok := parsePrefix(text)
	must.That(t, ok, "%q is no prefix", text)
	return p
}

func TestSpaces(t *testing.T) {
	ten := space{prefix(t, "10.0.0.0/8")}
	for _, c := range []struct{ without, want string }{
		{"10.0.0.0/8", "[]"},
		{"0.0.0.0/0", "[]"},
		{"11.0.0.0/8", "[10.0.0.0/8]"},
		{"::/0", "[10.0.0.0/8]"},
		{"10.0.0.0/9", "[10.128.0.0/9]"},
		{"10.64.0.0/10", "[10.0.0.0/10 10.128.0.0/9]"},
		{"10.128.0.1", "[10.0.0.0/9 10.128.0.0/32 10.128.0.2/31 10.128.0.4/30]"},
	} {
		got := ten.minus(prefix(t, c.without))
		if c.without == "10.128.0.1" { // the first of many
			got = got[:4]
		}
		expect.That(t, fmt.Sprint(got) == c.want, "10.0.0.0/8 without %s is %s, want %s", c.without, got, c.want)
	}
	if got := ten.within(prefix(t, "0.0.0.0/0")); fmt.Sprint(got) != "[10.0.0.0/8]" {
		t.Errorf("within everything: %s", got)
	}
	if got := ten.within(prefix(t, "10.1.0.0/16")); fmt.Sprint(got) != "[10.1.0.0/16]" {
		t.Errorf("within a part: %s", got)
	}
	_, ok := parsePrefix("pl-6da54004")
	expect.That(t, !ok, "a prefix list is no prefix")
	got := (space{prefix(t, "2001:db8::/32")}).minus(prefix(t, "2001:db8::/33"))
	expect.That(t, fmt.Sprint(got) == "[2001:db8:8000::/33]", "IPv6: %s", got)
}

func TestTheInternetHasNoPrivateAddresses(t *testing.T) {
	for _, private := range []string{"10.1.2.3", "172.31.255.255", "192.168.0.1", "100.64.0.1", "169.254.169.254", "127.0.0.1"} {
		expect.That(t, len(internet4.within(prefix(t, private))) == 0, "%s is on the internet", private)
	}
	for _, public := range []string{"8.8.8.8", "172.32.0.0", "100.128.0.1", "3.0.0.1"} {
		expect.That(t, len(internet4.within(prefix(t, public))) != 0, "%s is not on the internet", public)
	}
}

// An ACL's verdict about a block equals checking every packet in it.
func TestACLsDecideAsPacketByPacket(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	for range 2000 {
		a := evidence.ACL{ID: "acl-0a1b2c3d"}
		for n := range 1 + random.IntN(6) {
			from := random.IntN(8)
			a.Rules = append(a.Rules, evidence.ACLRule{
				Number: 1 + (n*7)%5, Allow: random.IntN(2) == 0, Protocol: []string{"6", "-1", "17"}[random.IntN(3)],
				CIDR: fmt.Sprintf("10.0.0.%d/%d", random.IntN(16), 28+random.IntN(5)), From: from, To: from + random.IntN(8-from), AllPorts: random.IntN(4) == 0,
			})
		}
		f := flow{ports: portRange{2, 5}, to: space{prefix(t, "10.0.0.4/30"), prefix(t, "10.0.0.8/31")}, known: true, what: "the instance"}
		allowed, denied := packets(a, f)
		r := decide(a, f)
		want := unsure
		switch {
		case !denied:
			want = open
		case !allowed:
			want = closed
		}
		if r.state != want || r.partial != (allowed && denied) {
			t.Fatalf("%+v of %+v, want %d", r, a.Rules, want)
		}
	}
}

// packets evaluates the rules one packet at a time.
func packets(a evidence.ACL, f flow) (allowed, denied bool) {
	rules := slices.Clone(a.Rules)
	slices.SortStableFunc(rules, func(a, b evidence.ACLRule) int { return a.Number - b.Number })
	for _, p := range f.to {
		for at := p.Addr(); p.Contains(at); at = at.Next() {
			for port := f.ports.from; port <= f.ports.to; port++ {
				if passes(rules, at, port) {
					allowed = true
				} else {
					denied = true
				}
			}
		}
	}
	return allowed, denied
}

func passes(rules []evidence.ACLRule, at netip.Addr, port int) bool {
	for _, r := range rules {
		p := netip.MustParsePrefix(r.CIDR)
		ports := r.AllPorts || r.Protocol == "-1" || r.From <= port && port <= r.To
		if r.Protocol != "17" && p.Contains(at) && ports {
			return r.Allow
		}
	}
	return false
}

func TestFreeRuleNumbers(t *testing.T) {
	rules := func(egress bool, numbers ...int) (out []evidence.ACLRule) {
		for _, n := range numbers {
			out = append(out, evidence.ACLRule{Number: n, Egress: egress})
		}
		return out
	}
	for _, c := range []struct {
		name string
		d    denial
		want int
	}{
		{"before the rule that denies", denial{egress: true, rule: 90, rules: rules(true, 90, 100)}, 89},
		{"and before a neighbour", denial{egress: true, rule: 90, rules: rules(true, 88, 89, 90)}, 87},
		{"the other direction does not matter", denial{egress: true, rule: 90, rules: append(rules(true, 90), rules(false, 89)...)}, 89},
		{"where only the last rule denies", denial{rule: 32767, rules: rules(false, 100, 101, 32767)}, 102},
		{"where there is none", denial{}, 100},
		{"the first of all", denial{rule: 1, rules: rules(false, 1)}, 1},
	} {
		expect.Equal(t, free(c.d), c.want, "%s", c.name)
	}
}
