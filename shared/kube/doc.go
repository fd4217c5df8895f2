// Package kube reaches the Kubernetes API of an EKS cluster from outside: it turns
// AWS credentials into a token, and nodes into roll.Node values. It is the only
// package that imports a Kubernetes client.
//
// Nodes are read as protobuf in pages of 500, and each page is cut down at once: a
// Node is 16 to 18 KB, mostly names of images, of which a verdict needs less than
// one.
package kube
