package archive

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"time"

	"rollcall/shared/roll"
)

// StageWarned is, or begins, the stage of evidence that is kept at a finding's warning
// time. That of evidence which is kept before an act is the order's id.
const StageWarned = "warned"

// Key says whose evidence it is and what it is for.
type Key struct {
	Cluster  roll.ClusterID
	Instance roll.InstanceID
	Kind     roll.Kind
	// At is when the finding was first seen, or when the order was given; never when the
	// evidence was read, which differs from one delivery to the next.
	At    time.Time
	Stage string // StageWarned with or without more, or the id of an order
}

// timestamp is RFC 3339 without its separators: a colon has to be escaped in many places.
const timestamp = "20060102T150405Z"

// part is what a key or a file name may be made of: nothing that leads out of its
// folder, hides, or has to be escaped in an object key, an URL or a shell.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
var part = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Path is <account>/<region>/<cluster>/<instance>/<time in UTC>-<kind>-<stage>. A key
// with a part that is missing, or that could lead elsewhere, has none.
func (k Key) Path() (string, error) {
	var faults []error
	for _, p := range []struct{ name, value string }{
		{"account", k.Cluster.Account}, {"region", k.Cluster.Region}, {"cluster", k.Cluster.Name},
		{"instance", place(k.Instance)}, {"kind", string(k.Kind)}, {"stage", k.Stage},
	} {
		if !part.MatchString(p.value) {
			faults = append(faults, fmt.Errorf("%q cannot be its %s", p.value, p.name))
		}
	}
	if k.At.IsZero() {
		faults = append(faults, errors.New("it has no time"))
	}
	if len(faults) > 0 {
		return "", fmt.Errorf("no place for this evidence: %w", errors.Join(faults...))
	}
	slot := k.At.UTC().Format(timestamp) + "-" + string(k.Kind) + "-" + k.Stage
	return path.Join(Folder(k.Cluster, k.Instance), slot), nil
}

// Folder is what all evidence about an instance lies in.
func Folder(cluster roll.ClusterID, id roll.InstanceID) string {
	return path.Join(cluster.Account, cluster.Region, cluster.Name, place(id))
}

// place is the instance's id, or nodepool-NAME of what is about no instance. Of a name that
// no key can hold it is the kind alone.
func place(id roll.InstanceID) string {
	kind, name, ok := id.Subject()
	if !ok {
		return string(id)
	}
	if !part.MatchString(name) {
		return kind
	}
	return kind + "-" + name
}
