// Package bundle reads and writes a look at a cluster as a directory of files, in the
// shapes that the AWS CLI and kubectl print, so that anyone can make one by hand.
//
// A [Bundle] answers the clients of the AWS SDK and of package kube in the place of the
// services, so observe and collect look at it as at an account. What differs is how it says no. A file that is not there, or
// empty, is an error of each call that needs it (awserr.NotCaptured, kube.ErrNotCaptured),
// never an empty answer; so is a thing that a file lacks which names things one by one,
// such as roles.json. Files that list all there is are taken at their word: an instance
// that instances.json lacks EC2 does not know, and likewise node groups, access entries,
// Auto Scaling groups, and every kind of Kubernetes object. A file that says itself that
// it is only a page (NextToken) is refused, and one thing by itself, where a list is
// printed even of one, tells of nothing else.
//
// Whatever is wrong with the files is told at once, with line and column; nothing is
// guessed. Accepted is what is unambiguous: byte order marks and UTF-16 of PowerShell,
// times of both versions of the AWS CLI, and what --query and jq make of a list. User data and console output are texts and cannot be wrong; user
// data may also stand there in base64, in gzip, or as describe-instance-attribute answers.
//
// A file of kubectl may hold a Status by which the API server said no: then the bundle
// says the same, which is how one tells of an API server that does not answer.
//
// Termination protection and zonal shifts, which no file made by hand can show, are taken
// to be off: a bundle answers "what if", and whoever acts reads both again.
//
// A [Recorder] sees what clients are answered, and writes it as a bundle, redacted. That answers the same questions in the same way;
// what failed is left out of it.
package bundle
