// Package lambdas implements the handler of each function: which messages it takes, what it
// does with them, and which it asks to have redelivered. The mains below functions/ supply
// the AWS clients.
//
// Every source invokes a function at least once. A second delivery changes nothing. An
// error, or a message that is reported as failed, requests a retry; handlers return one
// only where a retry can help.
package lambdas
