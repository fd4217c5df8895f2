package console

import (
	"net/netip"
	"strings"
)

// commonRules are about errors that many programs report in the same words: those of
// the C library, of Go, of curl.
var commonRules = []rule{
	{needle: "o space left on device", read: diskFull},
	{needle: "xec format error", read: execFormat},
	{needle: "Could not resolve host", read: curlResolve},
	{needle: "no such host", read: goLookup},
	{needle: "server misbehaving", read: goLookup},
	{needle: "Temporary failure in name resolution", read: resolverFailed},
	{needle: "dial tcp", read: goDial},
	{needle: "Failed to connect to ", read: curlConnect},
	{needle: "TLS handshake timeout", read: tlsTimeout},
	{needle: "x509: certificate ", read: certificate},
}

// diskFull: the same error number is also that of other limits.
func diskFull(s segment) (Sign, string) {
	if !reported(s.message, "o space left on device") {
		return "", ""
	}
	low := strings.ToLower(s.message)
	for _, other := range []string{"watch", "notify", "cgroup", "control group", "cpuset", "/dev/shm", "tmpfs", "/run/"} {
		if strings.Contains(low, other) {
			return "", ""
		}
	}
	return DiskFull, s.tag
}

// reported reports whether an error, without its first letter, is said as an error is,
// after what failed, and not in the middle of a sentence.
func reported(message, tail string) bool {
	i := strings.Index(message, tail)
	if i <= 0 {
		return false
	}
	before := message[:i-1]
	for _, end := range []string{": ", "] ", "(", "'", `"`} {
		if strings.HasSuffix(before, end) {
			return true
		}
	}
	return before == ""
}

// userScripts is where cloud-init keeps the scripts of the user data.
const userScripts = "/var/lib/cloud/instance"

// execFormat: "part-001: line 5: ./agent: cannot execute binary file: Exec format
// error" of bash, "Failed at step EXEC spawning /usr/bin/agent: Exec format error" of
// systemd, "[Errno 8] Exec format error: b'/usr/bin/agent'" of Python.
func execFormat(s segment) (Sign, string) {
	const tail = "xec format error"
	if strings.Contains(s.message, "Missing #! in script?") {
		return ScriptNotExecutable, ""
	}
	if !reported(s.message, tail) || strings.Contains(s.message, "exec user process") { // a container's
		return "", ""
	}
	i := strings.Index(s.message, tail)
	before, after := s.message[:i-1], s.message[i+len(tail):]
	path := ""
	if rest, ok := strings.CutPrefix(after, ": "); ok {
		path = strings.Trim(strings.TrimPrefix(firstWord(rest), "b"), `'",.:)`)
	}
	if path == "" {
		path = lastPath(before)
	}
	if strings.HasPrefix(path, userScripts) {
		return ScriptNotExecutable, path
	}
	return ExecFormatError, path
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// lastPath is the last word of a text that is a path, or "".
func lastPath(s string) string {
	words := strings.Fields(s)
	for i := len(words) - 1; i >= 0; i-- {
		w := strings.Trim(words[i], `'",:;()`)
		if strings.HasPrefix(w, "/") || strings.HasPrefix(w, "./") {
			return w
		}
	}
	return ""
}

func curlResolve(s segment) (Sign, string) {
	host, ok := between(s.message, "Could not resolve host: ", " ")
	if !ok {
		return "", ""
	}
	return DNSFailed, hostname(host)
}

// resolverFailed is the C library's error. Daemons that start before the network does
// report it in a healthy boot, so only what user data runs counts.
func resolverFailed(s segment) (Sign, string) {
	if s.tag != "cloud-init" {
		return "", ""
	}
	return DNSFailed, ""
}

// goLookup: "dial tcp: lookup NAME on 10.0.0.2:53: no such host".
func goLookup(s segment) (Sign, string) {
	host, ok := between(s.message, "lookup ", " ")
	if !ok {
		return "", ""
	}
	return DNSFailed, hostname(host)
}

// goDial: "dial tcp 10.0.0.1:443: i/o timeout", "dial tcp: lookup NAME: i/o timeout".
func goDial(s segment) (Sign, string) {
	_, rest, _ := strings.Cut(s.message, "dial tcp")
	if strings.HasPrefix(rest, ": lookup ") {
		if strings.Contains(rest, "i/o timeout") {
			return goLookup(s)
		}
		return "", ""
	}
	address, failure, _ := strings.Cut(strings.TrimPrefix(rest, " "), ": ")
	for _, f := range []string{
		"i/o timeout", "connect: connection refused", "connect: no route to host", "connect: network is unreachable",
		"connect: connection timed out",
	} {
		if strings.HasPrefix(failure, f) {
			return unreachable(s.message, address)
		}
	}
	return "", ""
}

// curlConnect: "curl: (28) Failed to connect to HOST port 443 after 130000 ms: ...".
func curlConnect(s segment) (Sign, string) {
	_, rest, _ := strings.Cut(s.message, "Failed to connect to ")
	host, after, _ := strings.Cut(rest, " ")
	if !strings.Contains(s.message, "curl: (") || !strings.HasPrefix(after, "port ") {
		return "", ""
	}
	return unreachable("", host)
}

// unreachable names the host of the URL that a message is about, else its address.
// What listens on the machine itself is no endpoint, and the metadata service has a
// sign of its own.
func unreachable(message, address string) (Sign, string) {
	host := urlHost(message)
	if host == "" {
		host = hostname(address)
	}
	if host == "169.254.169.254" || host == "fd00:ec2::254" {
		return IMDSFailed, ""
	}
	ip, err := netip.ParseAddr(host)
	if host == "" || host == "localhost" || err == nil && (ip.IsLoopback() || ip.IsLinkLocalUnicast()) {
		return "", ""
	}
	return EndpointUnreachable, host
}

func tlsTimeout(s segment) (Sign, string) { return TLSTimeout, urlHost(s.message) }

// certificate: Go's messages, which begin with the package's name.
func certificate(s segment) (Sign, string) {
	_, reason, _ := strings.Cut(s.message, "x509: ")
	reason, _, _ = strings.Cut(reason, `"`)
	for _, r := range []string{
		"certificate signed by unknown authority", "certificate has expired or is not yet valid", "certificate is valid for ",
		"certificate is not valid for any names", "certificate relies on legacy Common Name field",
		"certificate is not authorized to sign",
	} {
		if strings.HasPrefix(reason, r) {
			return CertificateRejected, strings.TrimRight(reason, `\ .,`)
		}
	}
	return "", ""
}

// urlHost is the host of the first URL in a text, or "".
func urlHost(s string) string {
	_, rest, ok := strings.Cut(s, "://")
	if !ok {
		return ""
	}
	end := strings.IndexAny(rest, "/?# \t\"'\\<>,)")
	if end >= 0 {
		rest = rest[:end]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 { // redacted, and no host
		rest = rest[i+1:]
	}
	return hostname(rest)
}

// hostname is a host or address without its port, or "" if it is neither.
func hostname(s string) string {
	s = strings.TrimRight(strings.Trim(s, `"'();,`), ":.")
	if inner, _, ok := strings.Cut(strings.TrimPrefix(s, "["), "]"); ok && strings.HasPrefix(s, "[") {
		s = inner
	} else if strings.Count(s, ":") == 1 {
		s, _, _ = strings.Cut(s, ":")
	}
	if s == "" || len(s) > 253 {
		return ""
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !isDigit(c) && c != '.' && c != '-' && c != ':' && c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') {
			return ""
		}
	}
	return s
}
