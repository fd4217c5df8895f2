package roll

import "strings"

// SubjectID is the id of a finding that is about no instance.
func SubjectID(kind, name string) InstanceID { return InstanceID(kind + "/" + name) }

// IsInstance reports whether it is the id of an EC2 instance.
func (id InstanceID) IsInstance() bool { return strings.HasPrefix(string(id), "i-") }
