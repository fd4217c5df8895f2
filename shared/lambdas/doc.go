// Package lambdas is what each function does when it is invoked: which messages it takes,
// what comes of them, and whether they come again. The mains below functions/ plug AWS in.
//
// Everything that invokes a function does so at least once. A second delivery changes
// nothing, and an error, or a message that is said to have failed, asks for a retry: only
// where one can help.
package lambdas
