// Package sim is a simulated account with a clock of its own: EC2, Auto Scaling, EKS, IAM,
// the Kubernetes API of each cluster, SQS, EventBridge Scheduler, SNS, Systems Manager
// and the ledger's DynamoDB table, behind the very interfaces that the real clients
// satisfy. In it live machines whose kubelets register, report and fail, and owners that
// replace what is ended. The functions that run in it are the real ones: only what they
// talk to, and when it is, is simulated.
//
// # Vocabulary
//
// A Scenario is what a run is made from: clusters with their groups, and Faults, each
// with its time. A run has an account; its machines are EC2 instances together with what
// runs on them; a machine may be ill of one ailment, of which its group's template, its
// zone or chance is the cause. An invocation is one run of a function. The auditor looks at
// every call that an invocation makes, and at what the account is really like, and
// notes each Violation of the rules that must never be broken. What happened is told by
// a History, which is what the demo shows.
//
// # Reproducible
//
// The same scenario makes the same run, byte for byte. One thing happens at a time:
// invocations are goroutines of which one runs at any moment, and each call takes time in
// which other things happen, other invocations included. Chance is not drawn from a
// stream but computed from the seed and the name of what it decides (which machine, which
// call of which invocation), so that a fault that is taken out of a scenario leaves all
// other decisions as they were: that is what lets a failing run be made small.
//
// # What is not simulated
//
// Contexts keep real time, so the functions' own time limits on parts of their work are
// not reached; a call that hangs returns its timeout after the simulated time, and the
// function's own end is simulated. Encodings of AWS are left out. The retries of its SDK are a
// part of a call: what a client is told is what it would be told after them, and after as long.
package sim
