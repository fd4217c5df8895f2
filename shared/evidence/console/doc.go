// Package console reads the console text of an instance, as ec2:GetConsoleOutput
// gives it, decoded: which signs of trouble or of progress stand in it, on what system.
//
// It is the only word from inside an instance that never became a node, and it is a
// poor one. EC2 keeps the last 64 KB, so the beginning may be missing and the first
// line may be cut
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html);
// what is printed later than the last look of EC2 is not there yet. The kernel writes
// into the middle of what systemd writes; systemd colours its words and shortens the
// names of units to fit 80 columns ("Failed to start nodeadm-co…service - EKS Nodeadm
// Config."). So absence proves nothing, and a sign is only what one line says by
// itself, in the words of the program that wrote it: a false sign is worse than a
// missed one. Commands that a script's trace echoes ("+ ...") are no signs, but that
// they ran.
//
// A log can hold several boots. [Found.Boot] tells them apart: what failed before the
// last boot may be over.
//
// What is handed on has passed package redact, and has no control characters.
//
// The package is pure: no I/O, no clock. Its cost grows with the text's length, of
// which at most [MaxBytes] are read.
package console
