package userdata

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"net/netip"
	"regexp"
	"strings"
)

// Certificate is what is told of a certificate authority. The bytes are no
// secret, but long.
type Certificate struct {
	State State // Malformed when it is not base64
	// SHA256 is of the certificates in it (DER, one after the other), in
	// hexadecimal, so that line breaks do not matter; of the decoded bytes where they
	// are no PEM certificates.
	SHA256 string
	PEM    bool // the decoded bytes hold PEM certificates, as EKS's do
}

// CertificateOf reads a certificate authority in base64, as eks:DescribeCluster
// and user data give it.
func CertificateOf(text string) Certificate {
	if strings.Contains(text, unknown) {
		return Certificate{State: Dynamic}
	}
	if strings.TrimSpace(text) == "" {
		return Certificate{}
	}
	data, ok := decodeBase64(text)
	if !ok || len(data) == 0 {
		return Certificate{State: Malformed}
	}
	c := Certificate{State: Given}
	h := sha256.New()
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			c.PEM = true
			h.Write(block.Bytes)
		}
	}
	if !c.PEM {
		h.Write(data)
	}
	c.SHA256 = hex.EncodeToString(h.Sum(nil))
	return c
}

// over is as Setting.over.
func (c Certificate) over(other Certificate) Certificate {
	if other.State != Absent {
		return other
	}
	return c
}

var (
	endpointForm = regexp.MustCompile(`^https://[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63}){1,8}(:[0-9]{1,5})?/?$`)
	numberForm   = regexp.MustCompile(`^[0-9]{1,9}$`)
	imageForm    = regexp.MustCompile(`^[a-z0-9][A-Za-z0-9._/:@-]{0,250}$`)
	hostForm     = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
)

func validEndpoint(s string) bool { return endpointForm.MatchString(s) }
func validNumber(s string) bool   { return numberForm.MatchString(s) }
func validImage(s string) bool    { return imageForm.MatchString(s) }
func validHost(s string) bool     { return hostForm.MatchString(s) }
func validBool(s string) bool     { return s == "true" || s == "false" }

func validCIDR(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil
}

// validAddresses holds for addresses separated by commas, without a zone: that
// would be free text.
func validAddresses(s string) bool {
	for one := range strings.SplitSeq(s, ",") {
		if a, err := netip.ParseAddr(strings.TrimSpace(one)); err != nil || a.Zone() != "" {
			return false
		}
	}
	return true
}

// oneOf holds for the values listed.
func oneOf(values ...string) func(string) bool {
	return func(s string) bool {
		for _, v := range values {
			if s == v {
				return true
			}
		}
		return false
	}
}
