package console

import "strings"

// bottlerocketRules are about the programs that make Bottlerocket's settings. Their
// units send standard error to the console (packages/os/*.service of
// https://github.com/bottlerocket-os/bottlerocket-core-kit), and they write nothing but
// errors there.
var bottlerocketRules = []rule{
	{needle: "Welcome to Bottlerocket", read: welcomeBottlerocket},
	{needle: "]: ", read: bottlerocketError},
}

var bottlerocketTags = map[string]bool{
	"early-boot-config": true, "sundog": true, "pluto": true, "thar-be-settings": true, "settings-committer": true,
	"storewolf": true, "migrator": true, "bootstrap-commands": true,
}

// failures begin the messages of their error types (mod error in each main.rs).
var failures = []string{
	"Error ", "Failed to ", "Unable to ", "Timed out ", "Timed-out ", "Provider error: ", "Provider '", "Setting generator '",
	"IMDS request failed", "Missing ", "Invalid ", "No IP address found", "TOML data ", "Data is not a TOML table",
}

func bottlerocketError(s segment) (Sign, string) {
	if !bottlerocketTags[s.tag] {
		return "", ""
	}
	// The commit of nothing is no failure of the boot by itself: its unit tells.
	if strings.Contains(s.message, "Tried to commit with no pending changes") {
		return "", ""
	}
	for _, f := range failures {
		if strings.HasPrefix(s.message, f) {
			return BottlerocketFailed, s.tag + ": " + s.message
		}
	}
	return "", ""
}

// welcomeBottlerocket: "Welcome to Bottlerocket OS 1.18.0 (aws-k8s-1.28)!".
func welcomeBottlerocket(s segment) (Sign, string) {
	if !strings.HasPrefix(s.message, "Welcome to Bottlerocket") {
		return "", ""
	}
	return BottlerocketBooted, bottlerocketVariant(s.message)
}

// bottlerocketVariant is the variant in the words of welcome, or "".
func bottlerocketVariant(message string) string {
	i := strings.LastIndexByte(message, '(')
	if i < 0 {
		return ""
	}
	variant, _, ok := strings.Cut(message[i+1:], ")")
	if !ok || !strings.Contains(variant, "-") || !word(variant) {
		return ""
	}
	return variant
}
