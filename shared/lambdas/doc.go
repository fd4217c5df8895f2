// Package lambdas implements the handlers of inspect and remediate. The mains below functions/
// supply the AWS clients. The handlers of the other functions are in separate packages below it,
// without the Kubernetes client, which would be half of their code.
//
// Every source invokes a function at least once. A second delivery changes nothing. An
// error, or a message that is reported as failed, requests a retry; handlers return one
// only where a retry can help.
package lambdas
