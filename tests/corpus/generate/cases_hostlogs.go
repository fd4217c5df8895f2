package generate

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	docRunCommand = "https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetCommandInvocation.html"
	docDf         = "https://www.gnu.org/software/coreutils/manual/html_node/df-invocation.html"
)

// section is one section of the logs of a host.
type section struct {
	name  string
	lines []string
}

// logs makes the SSM agent of a machine have printed the logs of its host two minutes before the
// capture, with as much space and as many inodes free, in KiB and files, and these sections.
func (b *Bundle) logs(m *Machine, space, inodes string, more ...section) {
	var out strings.Builder
	mark := func(name string, lines ...string) {
		out.WriteString("\n==== rollcall: " + name + " ====\n" + strings.Join(append(lines, ""), "\n"))
	}
	mark("host logs of " + b.At.Add(-2*time.Minute).Format(time.RFC3339))
	const size = 20959212
	free, err := strconv.Atoi(space)
	if err != nil {
		panic(err)
	}
	mark("df", "Filesystem     1024-blocks     Used Available Capacity Mounted on", fmt.Sprintf("/dev/nvme0n1p1    %d  %d  %d      %d%% /", size, size-free, free, (size-free+size/100)*100/size))
	mark("df-i", "Filesystem      Inodes IUsed   IFree IUse% Mounted on", "/dev/nvme0n1p1 1310720 90211 "+inodes+"    7% /")
	for _, s := range more {
		for i := range s.lines {
			s.lines[i] = "Mar 10 11:3" + string(rune('0'+i)) + ":07 " + m.Name() + " " + s.lines[i]
		}
		mark(s.name, s.lines...)
	}
	b.raw["host-logs/"+m.ID+".txt"] = out.String()
}

// The usual free space and free inodes.
const space, inodes = "11959212", "1220509"

// hostLogCases are about what only the host's own logs show.
func hostLogCases() []Case {
	return []Case{
		broken("df-shows-a-full-disk", "The kubelet is silent and nothing is on the console; the host still answers, and its disk is full.",
			from(docDf, docRunCommand), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console(booted()...)
				b.logs(m, "0", inodes)
				return finds(m, "Unknown", "DiskFull", "KubeletSilent").says("the disk at / is full")
			})),
		broken("df-shows-no-inodes", "containerd is down, half of the disk is free, and the disk can hold no more files.",
			from(docDf, "https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#eviction-signals"), on(worker, func(b *Bundle, m *Machine) *verdict {
				b.notReady(m, runtimeDown, 20*time.Minute)
				b.logs(m, space, "0")
				return finds(m, "NotReady", "DiskFull").says("can hold no more files")
			})),
		broken("kubelet-log-of-a-silent-console", "Nobody captured the console; the kubelet's own log shows that it exits because of a flag.",
			from("https://github.com/awslabs/amazon-eks-ami/issues/1398", docRunCommand), unjoined(Reports, func(b *Bundle, m *Machine) *verdict {
				b.logs(m, space, inodes, section{"kubelet", []string{
					"systemd[1]: Started Kubernetes Kubelet.",
					`kubelet[2857]: E0310 11:31:04.199967    2857 run.go:74] "command failed" err="failed to parse kubelet flag: unknown flag: --container-runtime"`,
					"systemd[1]: kubelet.service: Failed with result 'exit-code'.",
				}})
				return unregistered(m, "CloudInitFailed").says("the kubelet log", "unknown flag: --container-runtime")
			})),
		broken("kubelet-log-of-a-node-that-registered", "The node registered and was never Ready. The kubelet's log shows that it exits with every start, since more memory is reserved than there is.",
			from("https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3595", "https://github.com/aws/karpenter-provider-aws/issues/4740", docRunCommand), func(b *Bundle) *verdict {
				m := b.cniWaits(BatchGroup)
				b.says(m, "Ready", "False", "KubeletNotReady", kubeletUnstarted, 25*time.Minute)
				b.pod(m, "aws-node", "ContainerCreating", "")
				b.logs(m, space, inodes, section{"kubelet", []string{
					"systemd[1]: Started Kubernetes Kubelet.",
					`kubelet[2857]: E0310 11:31:04.199967    2857 kubelet.go:1688] "Failed to start ContainerManager" err="invalid Node Allocatable configuration. Resource \"memory\" has a reservation of {{12766414848 0} {<nil>}  BinarySI} but capacity of {{3999997952 0} {<nil>} 3906248Ki BinarySI}. Expected capacity >= reservation."`,
					"systemd[1]: kubelet.service: Failed with result 'exit-code'.",
				}})
				return finds(m, "Uninitialized", "CloudInitFailed").says("the kubelet log", "invalid Node Allocatable configuration").holds("CauseOutside")
			}),
		broken("kernel-log-of-a-silent-node", "The console is from the boot, days ago; the kernel's log of the last hours shows the kill that came before the silence.",
			from("https://docs.kernel.org/admin-guide/sysctl/vm.html", docRunCommand), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console(booted()...)
				b.logs(m, space, inodes, section{"kernel", []string{"kernel: Out of memory: Killed process 4821 (java) total-vm:9216004kB, anon-rss:7340112kB"}})
				return finds(m, "Unknown", "OutOfMemory", "KubeletSilent", "MemoryPressurePreceded").says("the kernel log")
			})),
		misleading("volume-of-a-pod-that-is-full", "The kubelet's log quotes a pod whose volume is full; the node's own disk has space.",
			from(docDf, "https://kubernetes.io/docs/concepts/storage/persistent-volumes/"), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console(booted()...)
				b.logs(m, space, inodes, section{"kubelet", []string{`kubelet[2857]: E0310 11:31:04.199967    2857 remote_runtime.go:343] "ExecSync failed" err="write /data/wal/0001: no space left on device"`}})
				return finds(m, "Unknown", "", "KubeletSilent").misses("DiskFull")
			})),
		misleading("tail-of-a-boot-that-ended", "The ends of the logs show the end of the boot and no failure, which may be in what they lack: nothing is ruled out.",
			from(docRunCommand), unjoined(Workers, func(b *Bundle, m *Machine) *verdict {
				b.logs(m, space, inodes, section{"cloud-init", []string{"cloud-init[1990]: Cloud-init v. 22.2.2 finished at Tue, 10 Mar 2026 11:30:12 +0000. Datasource DataSourceEc2.  Up 21.80 seconds"}})
				return unregistered(m, "").misses("CloudInitFailed", "NodeadmFailed", "DiskFull")
			})),
		misleading("logs-from-before-the-silence", "The host printed its logs an hour before its node went silent; the disk that was full then may be empty since.",
			from(docRunCommand), on(silentWorker, func(b *Bundle, m *Machine) *verdict {
				b.Console[m.ID] = console(booted()...)
				b.logs(m, "0", inodes)
				file := "host-logs/" + m.ID + ".txt"
				b.raw[file] = strings.Replace(b.raw[file], b.At.Add(-2*time.Minute).Format(time.RFC3339), b.At.Add(-2*time.Hour).Format(time.RFC3339), 1)
				return finds(m, "Unknown", "", "KubeletSilent").misses("DiskFull")
			})),
	}
}
