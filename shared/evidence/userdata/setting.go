package userdata

import (
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"strings"

	"rollcall/shared/roll/pattern"
)

// CertificateOf reads a certificate authority in base64, as in eks:DescribeCluster and user data. It may be
// a bundle of several: a kubelet trusts each of them.
// The value has the SHA-256, in hexadecimal, of each certificate (DER), so that line breaks do not matter,
// with a blank between them. If they are not PEM certificates it is that of the decoded bytes. The state
// is Malformed if the text is not base64, and Withheld if there are too many to keep.
func CertificateOf(text string) Setting {
	if strings.TrimSpace(text) == "" || strings.Contains(text, unknown) {
		return setting(strings.TrimSpace(text), nil)
	}
	data, ok := decodeBase64(text)
	if !ok || len(data) == 0 {
		return Setting{State: Malformed}
	}
	var sums []string
	note := func(certificate []byte) { add(&sums, fmt.Sprintf("%x", sha256.Sum256(certificate)), maxList+1) }
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			note(block.Bytes)
		}
	}
	switch len(sums) {
	case 0:
		note(data)
	case maxList + 1:
		return Setting{State: Withheld}
	}
	return Setting{Value: strings.Join(sums, " "), State: Given}
}

var (
	// EKS names: "only alphanumeric characters (case-sensitive), hyphens, and underscores",
	// beginning with an alphanumeric character, at most 100 characters (eks:CreateCluster).
	validName     = form(`[A-Za-z0-9][A-Za-z0-9_-]{0,99}`)
	validEndpoint = form(`https://[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63}){1,8}(:[0-9]{1,5})?/?`)
	validHost     = form(`[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?`)
	validRegion   = form(`[a-z]{2,4}(-[a-z]{2,12}){1,3}-[0-9]{1,2}`)
	validBool     = form(`true|false`)
)

// form returns a function that reports whether a whole text matches the expression.
func form(expression string) func(string) bool {
	return pattern.New(`\A(?:` + expression + `)\z`).MatchString
}
