package archive

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"time"

	"rollcall/shared/roll"
)

// StageWarned is the stage, or the beginning of the stage, of evidence kept at a finding's warning
// time. The stage of evidence kept before an act is the order's id.
const StageWarned = "warned"

// Key identifies evidence by its subject and its purpose.
type Key struct {
	Cluster  roll.ClusterID
	Instance roll.InstanceID
	Kind     roll.Kind
	// At is when the finding was first seen, or when the order was given. It is never when the
	// evidence was read, which differs between deliveries.
	At    time.Time
	Stage string // StageWarned, with or without a suffix, or the id of an order
}

// timestamp is RFC 3339 without separators, because colons need escaping in many places.
const timestamp = "20060102T150405Z"

// part is the pattern for parts of keys and file names. It allows nothing that leads out of the
// folder, hides a file, or needs escaping in an object key, a URL or a shell.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
var part = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Path returns <account>/<region>/<cluster>/<instance>/<time in UTC>-<kind>-<stage>. It returns an
// error if a part is missing or could lead elsewhere.
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

// Folder returns the folder that holds all evidence about an instance.
func Folder(cluster roll.ClusterID, id roll.InstanceID) string {
	return path.Join(cluster.Account, cluster.Region, cluster.Name, place(id))
}

// place returns the instance's id, or nodepool-NAME for a finding about no instance. For a name
// that no key can hold it returns the kind alone.
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
