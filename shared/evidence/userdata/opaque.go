package userdata

import (
	"slices"
	"strings"
)

// usual are commands that scripts of user data use and that join no cluster, whatever their
// arguments are. Package managers are among them: packages of Amazon Linux join none.
var usual = []string{
	"[", "[[", ":", "awk", "basename", "cat", "cd", "chmod", "chown", "cp", "cut", "date", "declare", "dirname", "dnf", "echo", "exit", "export", "false", "grep",
	"growpart", "head", "hostname", "hostnamectl", "id", "install", "ip", "iptables", "jq", "ln", "local", "logger", "ls", "lsblk", "mkdir", "mkfs", "mkfs.ext4",
	"mkfs.xfs", "mkswap", "modprobe", "mount", "mv", "printf", "pwd", "read", "readlink", "resize2fs", "return", "rm", "sed", "seq", "service", "set", "shift", "sleep",
	"sort", "swapoff", "swapon", "sync", "sysctl", "systemctl", "tail", "tee", "test", "timedatectl", "touch", "tr", "trap", "true", "ulimit", "umask", "umount",
	"uname", "unset", "update-ca-trust", "useradd", "usermod", "wait", "wc", "xfs_growfs", "yum",
}

// opaque notes a command that may do anything.
func (s *shell) opaque(command string, args []field) {
	if slices.ContainsFunc(args, func(f field) bool { return addressForm.MatchString(f.text) }) || !slices.Contains(usual, command) && !s.followed(command, args) {
		s.r.boot.Opaque = true
	}
}

// followed reports whether what a command runs stands in the user data: the text behind -c, a
// file that the user data writes, or what comes in from a command before it.
func (s *shell) followed(command string, args []field) bool {
	if !isShell(command) && command != "source" && command != "." && command != "eval" {
		return false
	}
	for _, f := range args {
		if strings.HasPrefix(f.text, "-") && strings.Contains(f.text, "c") || command == "eval" {
			return true
		}
		if !strings.HasPrefix(f.text, "-") {
			_, known := s.r.files[f.text]
			return known
		}
	}
	return !strings.Contains(s.stdin, unknown)
}
