// Package userdata reads EC2 user data. Which EKS cluster does it bootstrap a node of?
// That is one of the ways in which an instance shows that it was meant to be a node
// (DESIGN.md, node intent); a bastion that only carries the cluster's tag shows nothing of
// the kind. What does it say about that node, and where will the programs that read it on
// the instance stumble?
//
// It reads what cloud-init, nodeadm, Bottlerocket and EC2Launch read, and it
// follows a script the way a shell would, as far as that is possible without
// running anything: a cluster that is mentioned in a comment, echoed, or given
// to aws eks update-kubeconfig is not bootstrapped. Where the text leaves the
// answer open, the answer is no, and a Problem says what stood in the way.
//
// User data may hold secrets. Nothing of the text leaves the package but what
// Boot names, and the names of clusters, each of which has the form of what it is
// meant to be; a Problem and a Fault are made of this package's own words.
//
// The package is pure: no I/O, no clock. Its cost is bounded whatever the input.
package userdata
