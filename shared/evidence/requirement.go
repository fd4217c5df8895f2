package evidence

import (
	"slices"
	"strconv"
	"strings"
)

// Requirement is a requirement of a Karpenter NodePool or NodeClaim on a node's label.
// https://karpenter.sh/docs/concepts/nodepools/#spectemplatespecrequirements
type Requirement struct {
	Key      string
	Operator string // In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte
	Values   []string
}

// Allows reports whether a node with that label value meets the requirement, by the rules of
// Karpenter and the scheduler. Bounds are whole numbers; a value that is not one meets none. An
// unknown operator counts as met.
// https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#operators
// https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/scheduling/requirement.go
func (r Requirement) Allows(value string) bool {
	switch r.Operator {
	case "In":
		return slices.Contains(r.Values, value)
	case "NotIn":
		return !slices.Contains(r.Values, value)
	case "DoesNotExist":
		return false
	case "Gt", "Lt", "Gte", "Lte":
		return r.bounds(value)
	}
	return true
}

func (r Requirement) bounds(value string) bool {
	if len(r.Values) == 0 {
		return true
	}
	bound, err := strconv.Atoi(r.Values[0])
	if err != nil {
		return true
	}
	n, err := strconv.Atoi(value)
	return err == nil && map[string]bool{"Gt": n > bound, "Lt": n < bound, "Gte": n >= bound, "Lte": n <= bound}[r.Operator]
}

// String returns the requirement for display, such as "In [arm64]".
func (r Requirement) String() string {
	if len(r.Values) == 0 {
		return r.Operator
	}
	return r.Operator + " [" + strings.Join(r.Values, ", ") + "]"
}
