package network

import (
	"net/netip"
	"strings"
)

// space is a set of addresses: prefixes of one family that do not overlap.
type space []netip.Prefix

// All addresses of each family.
var (
	everything4 = space{netip.MustParsePrefix("0.0.0.0/0")}
	everything6 = space{netip.MustParsePrefix("::/0")}
)

// The public addresses of each family. A public endpoint has one of them.
// https://www.iana.org/assignments/iana-ipv4-special-registry
var (
	internet4 = everything4.without(prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
		"198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"))
	internet6 = space{netip.MustParsePrefix("2000::/3")}
)

func internet(v6 bool) space {
	if v6 {
		return internet6
	}
	return internet4
}

// prefixes returns the space of a list of CIDRs and omits what is not a CIDR.
func prefixes(cidrs ...string) (s space) {
	for _, c := range cidrs {
		if p, ok := parsePrefix(c); ok {
			s = append(s.minus(p), p)
		}
	}
	return s
}

// without returns the space minus another space.
func (s space) without(other space) space {
	for _, p := range other {
		s = s.minus(p)
	}
	return s
}

// parsePrefix parses a CIDR or an address.
func parsePrefix(text string) (netip.Prefix, bool) {
	text = strings.TrimSpace(text)
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), true
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	return netip.Prefix{}, false
}

// isIPv6 reports whether the prefix is IPv6.
func isIPv6(p netip.Prefix) bool { return p.Addr().Is6() }

// covers reports whether outer contains every address of inner.
func covers(outer, inner netip.Prefix) bool {
	return outer.Bits() <= inner.Bits() && outer.Overlaps(inner)
}

func (s space) minus(p netip.Prefix) space {
	var out space
	for _, own := range s {
		switch {
		case !own.Overlaps(p):
			out = append(out, own)
		case covers(p, own):
		default: // p is a part of own
			low, high := halves(own)
			out = append(out, space{low, high}.minus(p)...)
		}
	}
	return out
}

// within returns the part of the space that a prefix covers.
func (s space) within(p netip.Prefix) space {
	var out space
	for _, own := range s {
		switch {
		case covers(p, own):
			out = append(out, own)
		case own.Overlaps(p):
			out = append(out, p)
		}
	}
	return out
}

// halves splits a prefix that holds more than one address.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	bits := p.Bits()
	bytes := p.Addr().AsSlice()
	bytes[bits/8] |= 0x80 >> (bits % 8)
	other, _ := netip.AddrFromSlice(bytes)
	return netip.PrefixFrom(p.Addr(), bits+1), netip.PrefixFrom(other, bits+1)
}

// single returns a CIDR to allow for the space: its own if it is one, otherwise all of its
// family.
func (s space) single() string {
	if len(s) == 1 {
		return s[0].String()
	}
	return defaultRoute(len(s) > 0 && isIPv6(s[0]))
}
