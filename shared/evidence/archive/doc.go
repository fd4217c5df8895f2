// Package archive keeps the evidence of a finding where it outlives the instance: in an
// S3 bucket, or in a folder for the command line.
//
// What is kept under one key is written once and never again. A key is told by the
// finding and by what the evidence is for, and not by when it was written: whoever is
// handed the same work twice puts the same key twice, and the second time is a success
// that changes nothing.
//
// Nothing is redacted here. What is put must be free of secrets already: package redact.
package archive
