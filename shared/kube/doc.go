// Package kube calls the Kubernetes API of an EKS cluster from outside. It turns AWS credentials
// into a token, reads nodes and Karpenter's NodeClaims as values of roll, and changes single nodes:
// cordon, drain, delete. It is the only package that imports a Kubernetes client.
//
// Nodes are read as protobuf in pages of 500, and each page is reduced at once: a Node has 16 to 18
// KB, mostly image names, of which a verdict needs less than one. NodeClaims are read as JSON. A
// diagnosis reads one object or one node at a time, as the JSON that kubectl prints; bundles hold
// the same JSON. A bundle replaces a cluster as a Store, package sim as pages in memory.
//
// Every change names the uid of its object, so that it never changes a later object of the same
// name. The package deletes no pods: it evicts them.
package kube
