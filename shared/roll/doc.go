// Package roll holds the types that all packages share: instances, nodes, owners, groups, findings
// and snapshots. It also pairs instances with nodes.
//
// The names are those of EC2 and Kubernetes. An instance is launched for a cluster. It registers as
// a node that carries its instance id in spec.providerID. A member is an instance and its node, or
// one of the two without the other.
//
// All types are values. The package performs no I/O, reads no clock and imports neither the AWS SDK
// nor a Kubernetes client. Adapters convert API objects into these types.
package roll
