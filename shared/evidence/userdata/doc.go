// Package userdata reads EC2 user data: which EKS cluster it bootstraps a node of, what it
// says about that node, and where the programs that read it on the instance will fail. An
// instance whose user data bootstraps a cluster was meant to be a node (DESIGN.md, node
// intent); a bastion that only carries the cluster's tag was not.
//
// The package reads what cloud-init, nodeadm, Bottlerocket and EC2Launch read. It walks the
// calls of a script and runs nothing: a cluster in a comment, in an echo, or given to
// aws eks update-kubeconfig is not bootstrapped. What the walk cannot know is unknown and
// never a verdict.
//
// User data may hold secrets. Only what Boot names leaves the package, and each value has the
// form of what it is meant to be. A Problem and a Fault use this package's own words.
//
// The package is pure: no I/O, no clock. Its cost is bounded whatever the input.
package userdata
