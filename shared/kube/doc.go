// Package kube reaches the Kubernetes API of an EKS cluster from outside: it turns
// AWS credentials into a token, nodes and Karpenter's NodeClaims into values of roll,
// and acts on single nodes: cordon, drain, delete. It is the only package that imports a
// Kubernetes client.
//
// Nodes are read as protobuf in pages of 500, and each page is cut down at once: a
// Node is 16 to 18 KB, mostly names of images, of which a verdict needs less than
// one. NodeClaims come in JSON, of suspects' node pools only. What a diagnosis asks, about
// one object or one node at a time, is answered with JSON as kubectl prints it, and goes
// into bundles so; a bundle can stand in for a cluster again, by a transport in memory. So
// can package sim, which plays the API server, speaks its types, and imports no client.
//
// Every change names the uid of the object that it is meant for, so that it never meets
// a later one of the same name. Nothing here deletes a pod: pods are evicted.
package kube
