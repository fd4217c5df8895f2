// Package userdata reads EC2 user data: which EKS cluster it bootstraps a node of, what it says
// about that node, and where the programs that read it on the instance will fail. An instance whose
// user data bootstraps a cluster was meant to be a node (DESIGN.md, node intent). A bastion that
// only carries the cluster's tag was not.
//
// The package reads what cloud-init, nodeadm, Bottlerocket and EC2Launch read. It walks the calls
// of a script and runs nothing: a cluster in a comment, in an echo, or given to aws eks
// update-kubeconfig is not bootstrapped. A tool that is named in a form that is not followed may
// join: the answer is open. What the walk cannot determine is unknown and never leads to a verdict.
//
// User data may contain secrets. Only what Boot names leaves the package, and only in the expected
// form. A Fault uses this package's own words.
//
// The package is pure: no I/O, no clock. Its cost is bounded for any input.
package userdata
