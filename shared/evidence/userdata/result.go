package userdata

import (
	"fmt"
	"slices"
	"strings"
)

// Format is a form of user data, or of a part of it.
type Format string

// The forms that are told apart.
const (
	Shell        Format = "shell"                // #!/bin/bash and other POSIX shells, #cloud-boothook
	CloudConfig  Format = "cloud-config"         // #cloud-config
	Archive      Format = "cloud-config-archive" // #cloud-config-archive
	Multipart    Format = "mime"                 // MIME multipart
	NodeConfig   Format = "nodeconfig"           // node.eks.aws NodeConfig, for nodeadm (AL2023)
	Bottlerocket Format = "bottlerocket"         // TOML settings
	PowerShell   Format = "powershell"           // <powershell>, or EC2Launch v2 tasks
	Include      Format = "include"              // #include: addresses that are fetched at boot
	Unknown      Format = "unknown"              // none of these
)

// Reason says why a part did not give an answer.
type Reason string

// The reasons.
const (
	Unparseable Reason = "does not parse"
	Undecodable Reason = "is not valid base64 or gzip"
	Truncated   Reason = "ends before its closing boundary"
	TooLarge    Reason = "is too large to read"
	TooDeep     Reason = "is nested too deeply to read"
	TooComplex  Reason = "takes too much work to follow"
	Computed    Reason = "bootstraps a cluster whose name is computed on the instance"
	NoName      Reason = "bootstraps a node but gives no valid EKS cluster name"
	Unclear     Reason = "has an option before the cluster's name that bootstrap.sh does not have"
	Elsewhere   Reason = "refers to configuration that is not in the user data"
	Unsupported Reason = "has a form that is not read"
)

// Problem is a part that could not be read to the end. It never holds any of
// the user data's text.
type Problem struct {
	Part   string // which part, by position: "user data", "part 2", "write_files 3 in part 1"
	Format Format
	Reason Reason
}

// String is the problem as a sentence without its full stop.
func (p Problem) String() string {
	return fmt.Sprintf("%s (%s) %s", p.Part, p.Format, p.Reason)
}

// For reports whether the user data bootstraps a node of the named cluster.
// Cluster names are case-sensitive.
func (b Boot) For(cluster string) bool {
	return slices.Contains(b.Clusters, cluster)
}

// More than these would not be user data that anybody wrote; the bound keeps a
// result small whatever the input.
const (
	maxClusters = 16
	maxProblems = 16
)

func (r *reader) format(f Format) {
	if !slices.Contains(r.boot.Formats, f) {
		r.boot.Formats = append(r.boot.Formats, f)
	}
}

// unread keeps what stood in the way of knowing the clusters.
func (r *reader) unread(part string, f Format, why Reason) {
	p := Problem{Part: part, Format: f, Reason: why}
	if len(r.boot.Unreadable) < maxProblems && !slices.Contains(r.boot.Unreadable, p) {
		r.boot.Unreadable = append(r.boot.Unreadable, p)
	}
}

// cluster takes the name that a bootstrap call or document gives.
func (r *reader) cluster(name, part string, f Format) {
	switch {
	case strings.Contains(name, unknown):
		r.unread(part, f, Computed)
	case !validName(name):
		r.unread(part, f, NoName)
	case len(r.boot.Clusters) < maxClusters && !slices.Contains(r.boot.Clusters, name):
		r.boot.Clusters = append(r.boot.Clusters, name)
	}
}

// validName holds for what EKS accepts as a cluster's name: "only alphanumeric
// characters (case-sensitive), hyphens, and underscores", beginning with an
// alphanumeric character, at most 100 characters (eks:CreateCluster).
func validName(name string) bool {
	if name == "" || len(name) > 100 || name[0] == '-' || name[0] == '_' {
		return false
	}
	for _, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		digit := c >= '0' && c <= '9'
		if !letter && !digit && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
