// Package bundle reads and writes an observation of a cluster as a directory of files. The files
// have the formats that the AWS CLI and kubectl print, so anyone can write them by hand.
//
// A [Bundle] answers the clients of the AWS SDK and of package kube in place of the services.
// Packages observe and collect therefore read it like an account. It differs in how it reports
// missing data:
//
//   - A missing or empty file is an error of each call that needs it (awserr.NotCaptured,
//     kube.ErrNotCaptured), never an empty answer.
//   - Some files name things one by one, such as roles.json. A thing that is missing in such a
//     file is an error too.
//   - Other files list all there is. An instance that is missing in instances.json does not
//     exist. The same holds for node groups, access entries, Auto Scaling groups and Kubernetes
//     objects.
//   - A file that says that it is only a page (NextToken) is rejected. A single thing where the
//     tools print a list says nothing about other things.
//
// All faults of all files are reported together, with line and column. Nothing is guessed. Accepted
// are byte order marks and the UTF-16 of PowerShell, the times of both versions of the AWS CLI, and
// what --query and jq make of a list. User data and console output are plain texts. User data may
// also be base64, gzip, or the answer of describe-instance-attribute.
//
// A file of kubectl may hold a Status with which the API server refused. The bundle then refuses in
// the same way. This is how a bundle shows an API server that does not answer.
//
// No file made by hand can show termination protection or zonal shifts, so both count as off. A
// bundle answers "what if": whoever acts reads both again.
//
// A [Recorder] records the answers that clients receive and writes them as a redacted bundle. That
// bundle gives the same answers. Calls that failed are left out of it.
package bundle
