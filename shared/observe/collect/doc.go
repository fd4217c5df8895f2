// Package collect reads the evidence of a check: what AWS and the Kubernetes API tell
// about the instances and nodes with findings, for package diagnose to say why.
//
// It asks lazily: only what the kinds of the findings at hand are diagnosed by
// (needs.go), once for each distinct role, subnet, AMI, launch template, VPC and group,
// however many instances share them, and about few instances of many (sample.go):
// console output and user data, which cost a call for each instance, and what
// Kubernetes tells of single nodes. The quotas are the account's, and Karpenter and
// others live on them too.
//
// Collecting never fails. What could not be read is an evidence.Fact that says so, in
// the words of awserr and kube: a missing permission names the action. After a missing
// permission, a throttle or the end of time, which would meet every call of the action,
// it is not asked again. Calls of one action follow each other, so that what is read,
// and what is not, does not depend on who comes first; different actions run beside
// each other, a few at a time.
//
// User data and console output are read in memory. Nothing of their text leaves the
// package but what userdata.Boot and console.Log hold.
package collect
