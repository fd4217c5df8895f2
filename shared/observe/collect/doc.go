// Package collect reads the evidence of a check: what AWS and the Kubernetes API report about the
// instances and nodes with findings. Package diagnose explains the findings with it.
//
// It reads only what the kinds of the findings need (needs.go). It reads each role, subnet, AMI,
// launch template, VPC and group once, even if many instances share it. Console output, user data
// and single nodes cost a call each, so it reads them for a sample (sample.go). The API quotas
// belong to the account, and Karpenter needs them too.
//
// Collecting never fails. What could not be read is an evidence.Fact with the reason, in the words
// of awserr and kube: a missing permission names the action. A missing permission, a throttle or a
// timeout would affect every call of the action, so the action is not called again. Calls of one
// action run one after the other, so that the result does not depend on timing. Different actions
// run in parallel, a few at a time.
//
// User data and console output stay in memory. Only what userdata.Boot and console.Log hold leaves
// the package.
package collect
