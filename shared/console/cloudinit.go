package console

import "strings"

// cloudInitRules are about cloud-init, which copies its warnings and what the scripts
// of the user data print to the console (https://github.com/canonical/cloud-init).
var cloudInitRules = []rule{
	{needle: "Failed to run module ", read: moduleFailed},
	{needle: ") failed", read: runningModuleFailed},
	{needle: "Failed running " + userScripts, read: scriptFailed},
	{needle: "/cloudinit/", read: traceback},
	{needle: "Failed loading yaml blob", read: says(CloudInitFailed, "cloud-config")},
	{needle: "Unhandled non-multipart (", read: unhandled},
	{needle: "Unhandled unknown content-type (", read: unhandled},
}

// warned reports whether cloud-init's log says it: "cc_scripts_user.py[WARNING]: ...".
func warned(s segment) bool {
	return strings.Contains(s.text, ".py[WARNING]: ") || strings.Contains(s.text, ".py[ERROR]: ") ||
		strings.Contains(s.text, ".py[CRITICAL]: ")
}

// moduleFailed: "Failed to run module scripts-user (scripts in ...)".
func moduleFailed(s segment) (Sign, string) {
	name, _ := between(s.text, "Failed to run module ", " ")
	if !warned(s) {
		return "", ""
	}
	return CloudInitFailed, module(name)
}

// runningModuleFailed: "Running module scripts-user (<module '...' from '...'>) failed".
func runningModuleFailed(s segment) (Sign, string) {
	name, ok := between(s.text, "Running module ", " (")
	if !ok || !warned(s) || !strings.HasSuffix(s.text, ") failed") {
		return "", ""
	}
	return CloudInitFailed, module(name)
}

// module is a module's name as newer versions write it.
func module(name string) string { return strings.ReplaceAll(name, "-", "_") }

// scriptFailed: "Failed running /var/lib/cloud/instance/scripts/part-001 [1]".
func scriptFailed(s segment) (Sign, string) {
	_, rest, _ := strings.Cut(s.text, "Failed running ")
	path, after, _ := strings.Cut(rest, " [")
	code, _, closed := strings.Cut(after, "]")
	if !warned(s) || !closed {
		return "", ""
	}
	return UserScriptFailed, path[strings.LastIndexByte(path, '/')+1:] + ": " + code
}

// traceback is a line of a traceback of Python through cloud-init's own code: scripts
// print theirs too.
func traceback(s segment) (Sign, string) {
	if !strings.HasPrefix(strings.TrimLeft(s.message, " "), `File "/usr/`) || !strings.Contains(s.message, ".py\", line ") {
		return "", ""
	}
	return CloudInitFailed, "traceback"
}

// nodeConfigType is the MIME type of nodeadm's configuration.
const nodeConfigType = "application/node.eks.aws"

func unhandled(s segment) (Sign, string) {
	_, rest, _ := strings.Cut(s.text, "Unhandled ")
	kind, _ := between(rest, " (", ")")
	if !warned(s) {
		return "", ""
	}
	return UserDataIgnored, kind
}
