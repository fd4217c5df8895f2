package generate

import "strings"

// console is a serial console's text: the boot of a machine, the lines, and how it goes
// on if it does.
func console(lines ...string) string {
	boot := []string{
		"[    0.000000] Linux version 6.12.68-92.122.amzn2023.x86_64 (mockbuild@ip-10-0-58-12) #1 SMP PREEMPT_DYNAMIC",
		"[    0.000000] Command line: BOOT_IMAGE=(hd0,gpt1)/boot/vmlinuz root=UUID=5d8b6c2a-1e0f-4b3a-9c7d-2f4e6a8b0c1d ro console=tty0 console=ttyS0,115200n8",
		"[    2.114512] systemd[1]: Detected virtualization amazon.",
		"[  OK  ] Reached target network.target - Network.",
	}
	return strings.Join(append(boot, lines...), "\n") + "\n"
}

// booted are the lines with which a boot ends well.
func booted() []string {
	return []string{
		"[   14.201337] cloud-init[1893]: Cloud-init v. 22.2.2 finished at Tue, 10 Mar 2026 11:21:02 +0000. Datasource DataSourceEc2.  Up 14.19 seconds",
		"",
		"Amazon Linux 2023.10.20260216",
		"Kernel 6.12.68-92.122.amzn2023.x86_64 on an x86_64 (-)",
		"",
		"localhost login: ",
	}
}

// joined are lines of an AL2023 boot whose nodeadm did its work.
func joined() []string {
	return []string{
		"[  OK  ] Finished nodeadm-config.service - EKS Nodeadm Config.",
		"[  OK  ] Finished nodeadm-run.service - EKS Nodeadm Run.",
		"[  OK  ] Started kubelet.service - Kubernetes Kubelet.",
	}
}
