package userdata

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"strings"

	"rollcall/shared/roll/pattern"
)

// CertificateOf reads a certificate authority in base64, as in eks:DescribeCluster and user data.
// The value is the SHA-256, in hexadecimal, of the certificates (DER, concatenated), so that line
// breaks do not matter. If they are not PEM certificates it is that of the decoded bytes. The state
// is Malformed if the text is not base64.
func CertificateOf(text string) Setting {
	if strings.TrimSpace(text) == "" || strings.Contains(text, unknown) {
		return setting(strings.TrimSpace(text), nil)
	}
	data, ok := decodeBase64(text)
	if !ok || len(data) == 0 {
		return Setting{State: Malformed}
	}
	var certificates []byte
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			certificates = append(certificates, block.Bytes...)
		}
	}
	if certificates == nil {
		certificates = data
	}
	sum := sha256.Sum256(certificates)
	return Setting{Value: hex.EncodeToString(sum[:]), State: Given}
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
