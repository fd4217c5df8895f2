package console

import (
	"encoding/json"
	"strings"
)

// nodeadmRules are about nodeadm, whose standard error goes to the console
// (StandardError=journal+console in templates/al2023/runtime/rootfs/etc/systemd/system of
// https://github.com/awslabs/amazon-eks-ami). It logs JSON, or since December 2025
// `fatal cli/main.go:46 Command failed {"error": "..."}`.
var nodeadmRules = []rule{
	{needle: "nodeadm[", read: says(NodeadmRan, "")},
	{needle: "EKS Nodeadm ", read: nodeadmUnit},
	{needle: "Command failed", read: nodeadmFailed},
	{needle: "Command failed", read: nodeConfigMissing},
	{needle: "node config", read: nodeConfigUndecodable},
	{needle: " is missing in cluster configuration", read: nodeConfigIncomplete},
}

// nodeadmUnit: "Starting nodeadm-config.service - EKS Nodeadm Config...",
// "[  OK  ] Finished nodeadm-run.service - EKS Nodeadm Run.".
func nodeadmUnit(s segment) (Sign, string) {
	if s.tag != "" && s.tag != "systemd" {
		return "", ""
	}
	if strings.Contains(s.message, "Finished ") && strings.HasSuffix(s.message, "EKS Nodeadm Run.") {
		return NodeadmDone, ""
	}
	if strings.Contains(s.message, "Starting ") || strings.Contains(s.message, "Finished ") {
		return NodeadmRan, ""
	}
	return "", ""
}

// fatal reports whether nodeadm gives up with this line.
func fatal(s segment) bool {
	return strings.Contains(s.text, `"level":"fatal"`) || strings.Contains(s.text, "fatal cli/main.go:")
}

func nodeadmFailed(s segment) (Sign, string) {
	if !fatal(s) {
		return "", ""
	}
	return NodeadmFailed, errorField(s.text)
}

func nodeConfigMissing(s segment) (Sign, string) {
	if !fatal(s) {
		return "", ""
	}
	e := errorField(s.text)
	if strings.Contains(e, "no config in chain") || strings.Contains(e, "could not find NodeConfig within UserData") {
		return NodeConfigMissing, ""
	}
	return "", ""
}

// nodeConfigUndecodable is told by a warning; nodeadm then goes on without that source.
func nodeConfigUndecodable(s segment) (Sign, string) {
	const failure = "failed to decode node config"
	if e := errorField(s.text); strings.HasPrefix(e, failure) {
		return NodeConfigInvalid, strings.TrimLeft(e[len(failure):], ", ")
	}
	return "", ""
}

func nodeConfigIncomplete(s segment) (Sign, string) {
	if !fatal(s) {
		return "", ""
	}
	return NodeConfigInvalid, errorField(s.text)
}

// errorField is the value of "error" in a line of JSON, also if the line is cut.
func errorField(text string) string {
	_, rest, ok := strings.Cut(text, `"error":`)
	rest = strings.TrimPrefix(rest, " ")
	if !ok || !strings.HasPrefix(rest, `"`) {
		return ""
	}
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			var s string
			if json.Unmarshal([]byte(rest[:i+1]), &s) == nil {
				return s
			}
			return rest[1:i]
		}
	}
	return rest[1:]
}
