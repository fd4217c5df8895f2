// Package hostlog reads the logs of a host, as [Script] prints them: signs of trouble or progress,
// as package console finds them, and file systems without space or inodes.
//
// The logs are tails. Absence therefore proves nothing, as with a console. The systemd journal of the
// kubelet, the container runtime and the kernel goes back at most three hours: older lines are not
// about trouble that was found just now. What happens at boot is in it whatever its age, since the
// current boot.
//
// The order of the sections is that of a boot, since the readers of signs judge what came later.
//
// All returned text has passed package redact.
//
// The package is pure: no I/O, no clock.
package hostlog
