// Package console reads the console text of an instance, as ec2:GetConsoleOutput returns it,
// decoded. It finds signs of trouble or progress and the operating system.
//
// The console is the only source from inside an instance that never became a node, and a poor one:
//
//   - EC2 keeps the last 64 KB, so the beginning may be missing and the first line may be cut
//     (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html).
//   - Text printed after EC2 last took the output is missing.
//   - The kernel writes into the middle of systemd's lines, and logger into the login prompt.
//   - systemd colours its text and shortens unit names to fit 80 columns
//     ("Failed to start nodeadm-co…service - EKS Nodeadm Config.").
//
// Absence therefore proves nothing. A sign is only what one line says by itself, in the words of
// the program that wrote it: a false sign is worse than a missed one. Commands echoed by a script's
// trace ("+ ...") are not signs, except that they ran.
//
// A log can contain several boots. [Found.Boot] distinguishes them: a failure before the last boot
// may be over.
//
// All returned text has passed package redact and contains no control characters.
//
// The package is pure: no I/O, no clock. Its cost grows with the length of the text, of which at
// most [MaxBytes] are read.
package console
