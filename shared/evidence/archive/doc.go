// Package archive keeps the evidence of a finding where it outlives the instance: in an S3 bucket,
// or in a folder for the command line.
//
// Evidence under a key is written once and never overwritten. A key depends on the finding and on
// the purpose of the evidence, not on the time of writing. If the same work is delivered twice, the
// second Put of the same key succeeds and changes nothing.
//
// The package redacts nothing. Callers must remove secrets first, with package redact.
package archive
