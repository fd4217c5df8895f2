// Package lambdas implements the handlers of inspect and remediate: which messages they take,
// what they do with them, and which they ask to have redelivered. The mains below functions/
// supply the AWS clients. The other two functions have packages of their own below it, since
// they know no Kubernetes, whose client would be half of their code.
//
// Every source invokes a function at least once. A second delivery changes nothing. An
// error, or a message that is reported as failed, requests a retry; handlers return one
// only where a retry can help.
package lambdas
