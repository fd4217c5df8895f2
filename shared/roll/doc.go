// Package roll is Rollcall's vocabulary: what an instance, a node, an owner, a
// group, a finding and a snapshot are, and how an instance and a node are paired.
//
// The words are those of EC2 and Kubernetes. An instance is launched for a
// cluster; it answers the roll by registering as a node that carries its
// instance id in spec.providerID. A member is one line of the roll: an instance,
// the node that belongs to it, or one of the two without the other.
//
// Everything here is a value. The package performs no I/O, reads no clock and
// knows neither the AWS SDK nor a Kubernetes client; adapters translate into it.
package roll
