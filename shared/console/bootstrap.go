package console

import "strings"

const bootstrapPath = "/etc/eks/bootstrap.sh"

// bootstrapRules are about /etc/eks/bootstrap.sh of AL2 and of Ubuntu's AMIs for EKS,
// which user data calls, so that cloud-init prints what it says.
var bootstrapRules = []rule{
	{needle: bootstrapPath, read: bootstrapTraced, traced: true},
	{needle: "[eks-bootstrap] ", read: bootstrapSays},
	{needle: "Exited with error on line ", read: bootstrapEnded},
	{needle: bootstrapPath + ": ", read: bootstrapMissing},
	{needle: "bootstrap.sh has been removed from AL2023-based EKS AMIs", read: says(BootstrapRemoved, "")},
}

// bootstrapTraced: "+ /etc/eks/bootstrap.sh my-cluster ...", and not "+ cat ...".
func bootstrapTraced(s segment) (Sign, string) {
	command := strings.TrimLeft(s.message, "+ ")
	for _, shell := range []string{"sudo ", "bash ", "sh ", "/bin/bash ", "-x "} {
		command = strings.TrimPrefix(command, shell)
	}
	if !strings.HasPrefix(command, bootstrapPath) {
		return "", ""
	}
	return BootstrapRan, ""
}

// bootstrapSays: "2024-03-20T15:00:46+0000 [eks-bootstrap] ERROR: ...".
func bootstrapSays(s segment) (Sign, string) {
	_, rest, _ := strings.Cut(s.message, "[eks-bootstrap] ")
	if failure, ok := strings.CutPrefix(rest, "ERROR: "); ok {
		return BootstrapFailed, failure
	}
	return BootstrapRan, ""
}

// bootstrapEnded is what the script's trap prints.
func bootstrapEnded(s segment) (Sign, string) {
	rest, ok := strings.CutPrefix(s.message, "Exited with error on line ")
	if !ok || rest == "" || strings.Trim(rest, "0123456789") != "" {
		return "", ""
	}
	return BootstrapFailed, "line " + rest
}

func bootstrapMissing(s segment) (Sign, string) {
	_, rest, _ := strings.Cut(s.message, bootstrapPath+": ")
	if strings.HasPrefix(rest, "No such file or directory") || strings.HasPrefix(rest, "not found") {
		return BootstrapMissing, ""
	}
	return "", ""
}
