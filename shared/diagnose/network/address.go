package network

import (
	"net/netip"
	"strings"
)

// space is a set of addresses: prefixes of one family that do not overlap.
type space []netip.Prefix

// The whole of each family.
var (
	everything4 = space{netip.MustParsePrefix("0.0.0.0/0")}
	everything6 = space{netip.MustParsePrefix("::/0")}
)

// The addresses that are reached over the internet. A public endpoint has one of them.
// https://www.iana.org/assignments/iana-ipv4-special-registry
var (
	internet4 = without(everything4,
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
		"198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4")
	internet6 = space{netip.MustParsePrefix("2000::/3")}
)

func without(s space, prefixes ...string) space {
	for _, p := range prefixes {
		s = s.minus(netip.MustParsePrefix(p))
	}
	return s
}

// parsePrefix reads a CIDR or an address.
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

// isIPv6 reports the family of a prefix.
func isIPv6(p netip.Prefix) bool { return p.Addr().Is6() }

// covers reports that every address of inner is one of outer.
func covers(outer, inner netip.Prefix) bool {
	return outer.Bits() <= inner.Bits() && outer.Overlaps(inner)
}

// minus is the space without a prefix.
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

// within is the part of the space that a prefix covers.
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

// halves splits a prefix that is longer than one address.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	bits := p.Bits()
	bytes := p.Addr().AsSlice()
	bytes[bits/8] |= 0x80 >> (bits % 8)
	other, _ := netip.AddrFromSlice(bytes)
	return netip.PrefixFrom(p.Addr(), bits+1), netip.PrefixFrom(other, bits+1)
}

// String lists the prefixes.
func (s space) String() string {
	words := make([]string, len(s))
	for i, p := range s {
		words[i] = p.String()
	}
	return strings.Join(words, ", ")
}
