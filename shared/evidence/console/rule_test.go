package console

import (
	"slices"
	"strings"
	"testing"

	"rollcall/shared/evidence/redact"
	"rollcall/tests/harness/expect"
)

// said is one line with its expected signs: "Sign: detail" each, nothing if there are none.
var said = []struct {
	line string
	want string
}{
	// The kernel.
	{"[ 9.000001] Out of memory: Kill process 3410 (kubelet) score 900 or sacrifice child", "OutOfMemory: kubelet"},
	{"[ 9.000001] Out of memory: Killed process 1 (a) b) total-vm:1kB, anon-rss:1kB", "OutOfMemory: a) b"},
	{"[ 9.000001][    T1] Out of memory: Killed process 34", "OutOfMemory"},
	{"[ 9.000001] Out of memory (oom_kill_allocating_task): Killed process 34 (x) total-vm:1kB", "OutOfMemory: x"},
	{"Out of memory: Killed process 34 (x) total-vm:1kB", "OutOfMemory: x"},
	{"Sep 18 17:02:19 ip-10-0-0-1 kernel: Out of memory: Killed process 34 (x) total-vm:1kB", "OutOfMemory: x"},
	{"[ 9.000001] Memory cgroup out of memory: Kill process 34 (x) score 1980 or sacrifice child", ""},
	{`[   24.0] kubelet[3622]: E0310 run.go:72] "command failed" err="failed to validate kubelet configuration, error: kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported"`, "CgroupV1Refused"},
	{"[   24.0] kubelet[3622]: W0310 cgroup v1 support is in maintenance mode, please migrate to cgroup v2", ""},
	{"[ 9.000001] Out of memory and no killable processes...", ""},
	{"[ 9.000001] my app ran Out of memory: Killed process 34 (x) total-vm", ""},
	{"[ 9.000001] app[34]: Out of memory: Killed process 34 (x) total-vm", ""},
	{"         Startin[  224.805139] Out of memory: Killed process 34 (x) total-vm:1kB", "OutOfMemory: x"},
	{"[ 9.000001] Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b", "KernelPanic: Attempted to kill init! exitcode=0x0000000b"},
	{"[ 9.000001] ---[ end Kernel panic - not syncing: sysrq triggered crash ]---", "KernelPanic: sysrq triggered crash"},
	{"[ 9.000001] app[1]: Kernel panic - not syncing: x", ""},
	{"[ 9.000001] Kernel panic - not syncing: Out of memory: system-wide panic_on_oom is enabled", "OutOfMemory: the whole system by a panic"},
	{"[ 9.000001] Kernel panic - not syncing: System is deadlocked on memory", "OutOfMemory: the whole system by a panic"},
	{"see what Kernel panic - not syncing means", ""},
	{"[ 9.000001] NMI watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [VM Thread:4054]", "CPUStuck: VM Thread"},
	{"[ 9.000001] INFO: rcu_sched detected stalls on CPUs/tasks:", "CPUStuck"},
	{"[ 9.000001] INFO: rcu_tasks enabled", ""},
	{"[ 9.000001] INFO: task jbd2/nvme0n1p1-8:211 blocked for more than 120 seconds.", "TaskHung: jbd2/nvme0n1p1-8"},
	{"[ 9.000001] app[1]: INFO: task x:1 blocked for more than 120 seconds.", ""},
	{"[ 9.000001] EXT4-fs error (device nvme0n1p1): ext4_find_entry:1446: inode #2: comm x", "FilesystemFailed: nvme0n1p1"},
	{"[ 9.000001] XFS (nvme1n1): Metadata corruption detected at xfs_agf_read_verify", "FilesystemFailed: nvme1n1"},
	{"[ 9.000001] XFS (nvme1n1): Metadata I/O Error (0x1) detected at xfs_trans_read_buf_map+0x1b0/0x2e0 [xfs] (fs/xfs/xfs_trans_buf.c:302).  Shutting down filesystem.", "FilesystemFailed: nvme1n1"},
	{"[ 9.000001] XFS (nvme1n1): Block device removal (0x20) detected at fs_bdev_mark_dead+0x62/0x90 (fs/super.c:1487).  Shutting down filesystem.", "FilesystemFailed: nvme1n1"},
	{"[ 9.000001] XFS (nvme1n1): I/O Error Detected. Shutting down filesystem", "FilesystemFailed: nvme1n1"},
	{"[ 9.000001] XFS (nvme1n1): metadata I/O error in \"xfs_read_agf\" at daddr 0x1 len 1 error 5", ""}, // it may have been read again
	{"[ 9.000001] XFS (nvme1n1): Unmounting Filesystem", ""},
	{"[ 9.000001] NVRM: Xid (PCI:0000:10:1c): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "Xid: 79"},
	{"[ 9.000001] NVRM: Xid (PCI:0000:10:1c): 13, pid=1896, Graphics SM Warp Exception on (GPC 7, TPC 0, SM 1)", "Xid: 13"},
	{"[ 9.000001] NVRM: Xid (PCI:0000:10:1c): see the log, 79", ""},
	{"[ 9.000001] app[7]: NVRM: Xid (PCI:0000:10:1c): 79, pid=1", ""},
	{"[ 9.000001] NVRM: GPU 0000:10:1c: RmInitAdapter failed!", ""},
	{"[ 9.000001] NVRM: No NVIDIA GPU found.", "DriverRefused: No NVIDIA GPU found"},
	{"[ 9.000001] NVRM: installed in this system requires use of the NVIDIA open kernel modules.", "DriverRefused: requires use of the NVIDIA open kernel modules"},

	// Several programs.
	{"[ 9.000001] cloud-init[7]: tee: /var/log/x.log: No space left on device", "DiskFull: cloud-init"},
	{"[ 9.000001] cloud-init[7]: OSError: [Errno 28] No space left on device: '/var/lib/x'", "DiskFull: cloud-init"},
	{`[ 9.000001] app[7]: {"err":"write /var/log/x: no space left on device"}`, "DiskFull: app"},
	{"[ 9.000001] app[7]: write /dev/stdout: no space left on device", "DiskFull: app"}, // a file, if redirected
	{"[ 9.000001] app[7]: write /proc/self/fd/2: no space left on device", "DiskFull: app"},
	{"[ 9.000001] app[7]: write /dev/shm/x: no space left on device", ""},
	{"[ 9.000001] cloud-init[7]: cp: error writing '/opt/dev/x': No space left on device", "DiskFull: cloud-init"},
	{"[ 9.000001] cloud-init[7]: dd: error writing '/dev/nvme1n1': No space left on device", ""},
	{"[ 9.000001] cloud-init[7]: dd: writing to ‘/dev/xvdb’: No space left on device", ""},
	{"[ 9.000001] cloud-init[7]: tee: /dev/sdc: No space left on device", ""},
	{"[ 9.000001] cloud-init[7]: tee: /proc/irq/27/smp_affinity: No space left on device", ""},
	{"[ 9.000001] cloud-init[7]: tee: /sys/class/net/eth0/device/sriov_numvfs: No space left on device", ""},
	{"[ 9.000001] irqbalance[7]: Cannot change IRQ 27 affinity: No space left on device", ""},
	{"[ 9.000001] cloud-init[7]: RTNETLINK answers: No space left on device", ""},
	{"[ 9.000001] cloud-init[7]: mount: /mnt/x: mount(2) system call failed: No space left on device.", ""},
	{"[ 9.000001] db[7]: could not create semaphores: No space left on device", ""},
	{"[ 9.000001] cloud-init[7]: part-001: line 5: /usr/local/bin/agent: cannot execute binary file: Exec format error", "ExecFormatError: /usr/local/bin/agent"},
	{"[ 9.000001] (agent)[7]: agent.service: Failed at step EXEC spawning /usr/bin/agent: Exec format error", "ExecFormatError: /usr/bin/agent"},
	{"[ 9.000001] cloud-init[7]: fork/exec ./agent: exec format error", "ExecFormatError: ./agent"},
	{"[ 9.000001] cloud-init[7]: OSError: [Errno 8] Exec format error: b'/usr/bin/agent'", "ExecFormatError: /usr/bin/agent"},
	{"[ 9.000001] cloud-init[7]: OSError: [Errno 8] Exec format error: b'/var/lib/cloud/instance/scripts/part-001'", ""},
	{"[ 9.000001] cloud-init[7]: Exec format error. Missing #! in script?", ""},
	{"[ 9.000001] x[7]: exec user process caused: exec format error", ""},
	{"[ 9.000001] cloud-init[7]: curl: (6) Could not resolve host: repo.example.com", ""},
	{"[ 9.000001] cloud-init[7]: getaddrinfo: Temporary failure in name resolution", ""},
	{"[ 9.000001] a[7]: Get \"https://x.example.com/\": dial tcp: lookup x.example.com on 10.0.0.2:53: no such host", ""},
	{"[ 9.000001] a[7]: dial tcp: lookup x.example.com on 10.0.0.2:53: read udp 10.0.0.9:4->10.0.0.2:53: i/o timeout", ""},
	{"[ 9.000001] a[7]: dial tcp 10.0.0.1:443: connect: connection refused", "EndpointUnreachable: 10.0.0.1"},
	{"[ 9.000001] a[7]: dial tcp [2600:1f14::1]:443: i/o timeout", "EndpointUnreachable: 2600:1f14::1"},
	{"[ 9.000001] a[7]: dial tcp 127.0.0.1:443: i/o timeout", ""},
	{"[ 9.000001] a[7]: dial tcp 169.254.169.254:80: i/o timeout", "IMDSFailed"},
	{"[ 9.000001] cloud-init[7]: curl: (28) Failed to connect to repo.example.com port 443 after 130000 ms: Connection timed out", "EndpointUnreachable: repo.example.com"},
	{"[ 9.000001] cloud-init[7]: Could not connect to the endpoint URL: \"https://eks.eu-west-1.amazonaws.com/clusters/x\"", "EndpointUnreachable: eks.eu-west-1.amazonaws.com"},
	{"[ 9.000001] a[7]: Post \"https://ec2.eu-west-1.amazonaws.com/\": net/http: TLS handshake timeout", ""},
	{"[ 9.000001] a[7]: tls: failed to verify certificate: x509: certificate signed by unknown authority\"}", ""},
	{"[ 9.000001] Loading compiled-in X.509 certificates", ""},

	// AWS.
	{"cloud-init[7]: An error occurred (AccessDeniedException) when calling the DescribeCluster operation: User: x", "AccessDenied: DescribeCluster: AccessDeniedException"},
	{"nodeadm[7]: fatal cli/main.go:46 Command failed {\"error\": \"operation error EC2: DescribeInstances, https response error StatusCode: 403, RequestID: x, api error UnauthorizedOperation: You are not authorized\"}",
		"NodeadmFailed: operation error EC2: DescribeInstances, https response error StatusCode: 403, RequestID: x, api error UnauthorizedOperation: You are not authorized" +
			" | AccessDenied: EC2: DescribeInstances: UnauthorizedOperation | NodeadmRan"},
	{"nodeadm[7]: SDK 2026/02/19 07:56:59 DEBUG request failed with unretryable error https response error StatusCode: 403, RequestID: x, api error UnauthorizedOperation: You are not authorized to perform this operation. User: x is not authorized to perform: ec2:DescribeInstances because no identity-based policy allows the ec2:DescribeInstances action",
		"AccessDenied: EC2: DescribeInstances: UnauthorizedOperation because no identity-based policy allows it | NodeadmRan"},
	{"nodeadm[7]: SDK 2026/02/19 07:56:59 DEBUG request failed with unretryable error https response error StatusCode: 403, RequestID: x, api error UnauthorizedOperation: You are not authorized to perform this operation. User: x is not authorized to perform: ec2:DescribeInstances with an explicit deny in a service control policy: arn:aws:organizations::111122223333:policy/o-a1b2c3d4e5/service_control_policy/p-12345678",
		"AccessDenied: EC2: DescribeInstances: UnauthorizedOperation with an explicit deny in a service control policy | NodeadmRan"},
	{"cloud-init[7]: An error occurred (AccessDeniedException) when calling the DescribeCluster operation: User: x is not authorized to perform: eks:DescribeCluster on resource: y because no permissions boundary allows the eks:DescribeCluster action",
		"AccessDenied: DescribeCluster: AccessDeniedException because no permissions boundary allows it"},
	{"pluto[7]: 22:20:05 [ERROR] EC2 DescribeInstances attempt failed, will retry: code=UnauthorizedOperation message=You are not authorized to perform this operation. User: x is not authorized to perform: ec2:DescribeInstances because no VPC endpoint policy allows the ec2:DescribeInstances action",
		"AccessDenied: EC2: DescribeInstances: UnauthorizedOperation because no VPC endpoint policy allows it"},
	{"nodeadm[7]: SDK 2026/02/19 07:56:59 DEBUG request failed with unretryable error https response error StatusCode: 403, RequestID: x, api error AuthFailure: AWS was not able to validate the provided access credentials",
		"AccessDenied: EC2: DescribeInstances: AuthFailure | NodeadmRan"},
	{"nodeadm[7]: SDK 2026/02/19 07:56:59 DEBUG request failed with unretryable error https response error StatusCode: 400, RequestID: x, api error InvalidInstanceID.NotFound: The instance ID 'i-x' does not exist", "NodeadmRan"},
	{"agent[7]: SDK 2026/02/19 07:56:59 DEBUG request failed with unretryable error https response error StatusCode: 403, RequestID: x, api error AccessDenied: Access Denied", ""},
	{"cloud-init[7]: An error occurred (ResourceNotFoundException) when calling the DescribeCluster operation: No cluster found for name: my-cluster.", ""},
	{"cloud-init[7]: Unable to locate credentials. You can configure credentials by running \"aws configure\".", ""},
	{"a[7]: operation error EC2: DescribeInstances, get identity: get credentials: no EC2 IMDS role found, operation error ec2imds: GetMetadata", ""},
	{"a[7]: operation error ec2imds: GetMetadata, http response error StatusCode: 404, request to EC2 IMDS failed", ""},
	{"a[7]: operation error ec2imds: GetUserData, request canceled", "IMDSFailed: GetUserData"},
	{"nodeadm-x[7]: SDK 2026/02/19 07:57:30 DEBUG retrying request EC2/DescribeInstances, attempt 5", "APIRetries: EC2/DescribeInstances"},
	{"nodeadm-x[7]: SDK 2026/02/19 07:57:30 DEBUG retrying request EC2/DescribeInstances, attempt 4", ""},
	{"cloud-init[7]: 2025-01-29 08:27:44,539 - DataSourceEc2.py[CRITICAL]: Giving up on md from ['http://169.254.169.254/'] after 240 seconds", "IMDSFailed: cloud-init"},
	{"cloud-init[7]: 2025-01-29 08:27:44,539 - DataSourceEc2.py[WARNING]: IMDS's HTTP endpoint is probably disabled", "IMDSFailed: cloud-init"},
	{"pluto[7]: 22:20:05 [ERROR] EC2 DescribeInstances attempt failed, will retry: code=UnauthorizedOperation message=You are not authorized to perform this operation.", "AccessDenied: EC2: DescribeInstances: UnauthorizedOperation"},
	{"pluto[7]: 22:20:05 [ERROR] EC2 DescribeInstances attempt failed, will retry: code= message=", ""},
	{"pluto[7]: 22:20:05 [ERROR] EKS DescribeCluster attempt failed: code=AccessDeniedException message=User is not authorized", ""},
	{"pluto[7]: IMDS request failed: No 'local-ipv4' found", "IMDSFailed: pluto | BottlerocketFailed: pluto: IMDS request failed: No 'local-ipv4' found"},
	{"x[7]: failed to pull image \"123456789012.dkr.ecr.eu-west-1.amazonaws.com/eks/pause:3.5\": i/o", ""},

	// systemd.
	{"[FAILED] Failed to start Kubernetes Kubelet.", "KubeletFailed: kubelet.service"},
	{"[FAILED] Failed to start Kubelet.", "KubeletFailed: kubelet.service"},
	{"[FAILED] Failed to start cloud-init-main.service - Cloud-init: Single Process.", "CloudInitFailed: cloud-init-main.service"},
	{"[FAILED] Failed to start Kubelet Housekeeping.", "UnitFailed: Kubelet Housekeeping"},
	{"[FAILED] Failed to start snap.kubelet-eks.daemon.service - Service for snap application kubelet-eks.daemon.", "KubeletFailed: snap.kubelet-eks.daemon.service"},
	{"systemd[1]: Failed to start containerd container runtime.", "ContainerdFailed: containerd.service"},
	{"systemd[1]: kubelet.service: Failed with result 'exit-code'.", "KubeletFailed: kubelet.service"},
	{"[FAILED] Failed to start Initial cloud-in…b (metadata service crawler).", "CloudInitFailed: cloud-init.service"},
	{"[FAILED] Failed to start …service.", "UnitFailed: …service"},
	{"[FAILED] Failed to start Cloud-init…", "UnitFailed: Cloud-init…"},
	{"[ ***  ] A start job is running for Execute cloud user/final scripts (38min 3s / no limit)", "JobRuns: cloud-final.service: 38"},
	{"[*     ] (1 of 2) Job cloud-final.service/start running (1h 2min 3s / no limit)", "JobRuns: cloud-final.service: 62"},
	{"[ ***  ] A start job is running for bootstrap container agents (12min 3s / no limit)", "JobRuns: bootstrap-containers@agents.service: 12"},
	{"[ ***  ] A start job is running for Execute cloud user/final scripts (9min 59s / no limit)", ""},
	{"[ ***  ] A start job is running for Execute cloud user/final scripts (59s / no limit)", ""},
	{"[ ***  ] A start job is running for /dev/xvdb (38min 3s / no limit)", ""},
	{"app[3]: [ ***  ] A start job is running for Execute cloud user/final scripts (38min 3s / no limit)", ""},
	{`kubelet[2857]: E0707 08:17:04.199967    5604 run.go:74] "command failed" err="failed to parse kubelet flag: unknown flag: --container-runtime"`, "KubeletRefused: failed to parse kubelet flag: unknown flag: --container-runtime"},
	{`kubelet[2857]: E0707 08:17:04.199967    5604 run.go:74] "command failed" err="failed to run Kubelet: validate service connection: rpc error"`, ""},
	{`kubelet[2857]: E0707 08:17:04.199967    5604 run.go:72] "command failed" err="failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint \"unix:///run/containerd/containerd.sock\": rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService"`, `KubeletRefused: failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint \"unix:///run/containerd/containerd.sock\": rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService`},
	{`kubelet[2857]: E0707 08:17:04.199967    5604 run.go:72] "command failed" err="failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint \"unix:///run/containerd/containerd.sock\": rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: no such file or directory\""`, ""},
	{`kubelet[2857]: E0707 08:17:04.199967    5604 run.go:74] "command failed" err="failed to run Kubelet: running with swap on is not supported, please disable swap or set --fail-swap-on flag to false"`, "KubeletRefused: failed to run Kubelet: running with swap on is not supported, please disable swap or set --fail-swap-on flag to false"},
	{`kubelet[2857]: E0707 08:17:04.199967    5604 run.go:72] "command failed" err=<`, ""},
	{"kubelet[2857]: \tfailed to validate kubelet flags: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [node-role.kubernetes.io/worker]", "KubeletRefused: failed to validate kubelet flags: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [node-role.kubernetes.io/worker]"},
	{"kubelet[2857]: \tthe pod failed to validate kubelet flags: no", ""},
	{"app[2857]: \tfailed to validate kubelet flags: no", ""},
	{"kubelet[2857]: \tfailed to validate kubelet configuration, error: kubelet is configured to not run on a host using cgroup v1", "CgroupV1Refused"},
	{`app[2857]: E0707 run.go:74] "command failed" err="failed to parse kubelet flag: unknown flag: --x"`, ""},
	{`kubelet[2857]: E0707 08:17:04.199967    5604 run.go:74] "command failed" err="failed to set feature gates from initial flags-based config: unrecognized feature gate: KubeletCredentialProviders"`, "KubeletRefused: failed to set feature gates from initial flags-based config: unrecognized feature gate: KubeletCredentialProviders"},
	{`kubelet[2857]: E0707 08:17:04.199967    5604 run.go:74] "command failed" err="failed to merge kubelet configs: failed to unmarshal merged JSON into kubelet configuration: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32"`, "KubeletRefused: failed to merge kubelet configs: failed to unmarshal merged JSON into kubelet configuration: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32"},
	{`kubelet[2857]: E0707 08:17:04.199967    5604 run.go:74] "command failed" err="unknown command --max-pods=20"`, "KubeletRefused: unknown command --max-pods=20"},
	{`kubelet[2857]: E0707 08:17:04.199967    5604 run.go:74] "command failed" err="failed to construct kubelet dependencies: unable to load client CA file /etc/kubernetes/pki/ca.crt: open /etc/kubernetes/pki/ca.crt: no such file or directory"`, ""},
	{"kubelet[2857]:         failed to merge kubelet configs: failed to walk through kubelet dropin directory \"/etc/kubernetes/kubelet/config.json.d\": failed to load kubelet dropin file, path: /etc/kubernetes/kubelet/config.json.d/00-nodeadm.conf, error: Object 'Kind' is missing in '{", "KubeletRefused: failed to merge kubelet configs: failed to walk through kubelet dropin directory \"/etc/kubernetes/kubelet/config.json.d\": failed to load kubelet dropin file, path: /etc/kubernetes/kubelet/config.json.d/00-nodeadm.conf, error: Object 'Kind' is missing in '{"},
	{`kubelet[2857]: E0310 11:21:04.199967    2857 kubelet.go:1703] "Failed to start ContainerManager" err="[invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0, invalid kernel flag: kernel/panic, expected value: 10, actual value: 5]"`, "KubeletRefused: [invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0, invalid kernel flag: kernel/panic, expected value: 10, actual value: 5]"},
	{`kubelet[2857]: E0310 11:21:04.199967    2857 kubelet.go:1688] "Failed to start ContainerManager" err="invalid Node Allocatable configuration. Resource \"memory\" has a reservation of {{12766414848 0} {<nil>}  BinarySI} but capacity of {{3999997952 0} {<nil>}  BinarySI}. Expected capacity >= reservation."`, `KubeletRefused: invalid Node Allocatable configuration. Resource \"memory\" has a reservation of {{12766414848 0} {<nil>} BinarySI} but capacity of {{3999997952 0} {<nil>} BinarySI}. Expected capacity >= reservation.`},
	{`kubelet[2857]: E0310 11:21:04.199967    2857 kubelet.go:1703] "Failed to start ContainerManager" err="failed to initialize top level QOS containers: root container [kubepods] doesn't exist"`, ""},
	{`app[2857]: "Failed to start ContainerManager" err="[invalid kernel flag: kernel/panic, expected value: 10, actual value: 5]"`, ""},
	{"[DEPEND] Dependency failed for kubelet.service - Kubelet.", "DependencyFailed: kubelet.service"},
	{"[DEPEND] Dependency failed for Bottlerocket initial configuration complete.", "DependencyFailed: Bottlerocket initial configuration complete"},
	{"[DEPEND] Dependency failed for configured.target - Bottlerocket final configuration complete.", "DependencyFailed: Bottlerocket final configuration complete"},
	{"systemd[1]: Dependency failed for Activate configured.target.", "DependencyFailed: Activate configured.target"},
	{"[DEPEND] Dependency failed for Bottlerocket data store metrics.", ""},
	{"[DEPEND] Dependency failed for Mark the need to relabel after reboot.", ""},
	{"app[3]: [DEPEND] Dependency failed for kubelet.service - Kubelet.", ""},
	{"[ SKIP ] Ordering cycle found, skipping nodeadm-run.service - EKS Nodeadm Run", "NodeadmFailed: nodeadm-run.service: left out to break an ordering cycle"},
	{"[ SKIP ] Ordering cycle found, skipping Execute cloud user/final scripts", "CloudInitFailed: cloud-final.service: left out to break an ordering cycle"},
	{"[ SKIP ] Ordering cycle found, skipping cloud-init.service", "CloudInitFailed: cloud-init.service: left out to break an ordering cycle"},
	{"[ SKIP ] Ordering cycle found, skipping systemd-networkd-wait-online.service", ""},
	{"[    3.104221] systemd[1]: multi-user.target: Job nodeadm-run.service/start deleted to break ordering cycle starting with multi-user.target/start", "NodeadmFailed: nodeadm-run.service: left out to break an ordering cycle"},
	{"[    3.104221] systemd[1]: Job cloud-init.service/start is deleted to break ordering cycle starting with basic.target/start", "CloudInitFailed: cloud-init.service: left out to break an ordering cycle"},
	{"[    3.104221] systemd[1]: multi-user.target: Found ordering cycle on nodeadm-run.service/start", ""},
	{"[    3.104221] systemd[1]: multi-user.target: Job nodeadm-run.service/stop deleted to break ordering cycle starting with multi-user.target/start", ""},
	{"app[3]: multi-user.target: Job nodeadm-run.service/start deleted to break ordering cycle", ""},
	{"[FAILED] Failed to start bootstrap container my-setup.", "BottlerocketFailed: bootstrap-containers@my-setup.service"},
	{"[FAILED] Failed to mount /data.", ""},
	{"[ TIME ] Timed out waiting for device /dev/xvdb.", "UnitFailed: device /dev/xvdb"},
	{"[DEPEND] Dependency failed for Prepare Var Directory (/var).", "DependencyFailed: Prepare Var Directory (/var)"},
	{"app[3]: [FAILED] Failed to start my job", ""},
	{"You are in emergency mode. After logging in, type \"journalctl -xb\" to view", "EmergencyMode"},
	{"(nodeadm)[1493]: nodeadm-config.service: Failed at step EXEC spawning /usr/bin/nodeadm: Permission denied",
		"NodeadmFailed: nodeadm-config.service: Failed at step EXEC spawning /usr/bin/nodeadm: Permission denied"},

	// cloud-init.
	{"cloud-init[7]: Mar 20 15:04:47 cloud-init[7]: util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/runcmd [1]", "UserScriptFailed: runcmd: 1"},
	{"cloud-init[7]:   File \"/usr/lib/python3.9/site-packages/cloudinit/util.py\", line 875, in runparts", "CloudInitFailed: traceback"},
	{"cloud-init[7]: failed run of stage init", "CloudInitFailed: stage init"},
	{"[    9.740000] cloud-init[3778]: Cloud-init v. 22.2.2 finished at Mon, 04 May 2026 03:42:07 +0000. Datasource DataSourceNone.  Up 9.74 seconds", "CloudInitFailed: no data source, so no user data | BootFinished: cloud-init"},
	{"cloud-init[7]: DataSourceNone.py[WARNING]: Datasource DataSourceNone.", ""},
	{"cloud-init[7]: 2025-01-29 08:27:44,539 - main.py[ERROR]: failed stage modules-final", "CloudInitFailed: stage modules-final"},
	{"my-app[7]: deploy: failed stage init", ""},
	{"cloud-init[7]: 2025-01-29 08:27:44,539 - user_data.py[WARNING]: [Errno 2] No such file or directory: '/etc/secret-userdata.txt' for url: file:///etc/secret-userdata.txt", "IncludeFailed: file:///etc/secret-userdata.txt"},
	{"cloud-init[7]: 2025-01-29 08:27:44,539 - user_data.py[WARNING]: Fetching from http://x.example.com/a resulted in a invalid http code of 404", "IncludeFailed: http://x.example.com/a"},
	{"cloud-init[7]: 2025-01-29 08:27:44,539 - util.py[WARNING]: Boothooks script /var/lib/cloud/instances/i-0bad0000000000001/boothooks/part-001 execution error", "UserScriptFailed: boothook part-001"},
	{"cloud-init[7]: 2025-01-29 08:27:44,539 - util.py[WARNING]: Boothooks unknown error when running /var/lib/cloud/instance/boothooks/part-001", "UserScriptFailed: boothook part-001"},
	{"cloud-init[7]: 2025-01-29 08:27:44,539 - util.py[WARNING]: Failed loading yaml blob. Invalid format at line 3", "CloudInitFailed: cloud-config"},
	{"cloud-init[7]: 2025-01-29 08:27:44,539 - __init__.py[WARNING]: Unhandled non-multipart (text/x-not-multipart) userdata: '/etc/eks/bootstrap.sh ek...'", "UserDataIgnored: text/x-not-multipart"},
	{"cloud-init[7]: 2025-01-29 08:27:44,539 - __init__.py[WARNING]: Unhandled unknown content-type (application/node.eks.aws) userdata: 'b'---'...'", ""},

	// nodeadm.
	{`nodeadm-x[7]: {"level":"fatal","caller":"cli/main.go:36","msg":"Command failed","error":"Apiserver endpoint is missing in cluster configuration"}`,
		"NodeadmFailed: Apiserver endpoint is missing in cluster configuration | NodeConfigInvalid: Apiserver endpoint is missing in cluster configuration"},
	{`nodeadm-x[7]: {"level":"fatal","msg":"Command failed","error":"a \"quoted\" one, cut he`, `NodeadmFailed: a \"quoted\" one, cut he`},
	{`nodeadm-x[7]: {"level":"warn","msg":"x","error":"failed to decode node config, yaml: line 2"}`, ""},
	{`nodeadm-internal[7]: fatal cli/main.go:35 Command failed {"error": "context deadline exceeded"}`, "NodeadmFailed: nodeadm-boot-hook.service: context deadline exceeded"},
	{`nodeadm-internal[7]: {"level":"fatal","msg":"Command failed"}`, "NodeadmFailed: nodeadm-boot-hook.service"},
	{`my-tool[7]: Command failed {"error": "x"}`, ""},

	// bootstrap.sh.
	{"cloud-init[7]: !!! [2026-03-10T11:20:34+00:00] aws.cluster.x-k8s.io encrypted cloud-init script /var/lib/cloud/instance/boothooks/part-001 exiting with status 1", "BootstrapFailed: Cluster API's script, status 1"},
	{"cloud-init[7]: !!! [2026-03-10T11:20:34+00:00] aws.cluster.x-k8s.io encrypted cloud-init script /var/lib/cloud/instance/boothooks/part-001 exiting with status 0", ""},
	{"cloud-init[7]: 2024-03-20T15:00:46+0000 [eks-bootstrap] ERROR: Exhausted retries while describing cluster!", "BootstrapFailed: Exhausted retries while describing cluster!"},
	{"cloud-init[7]: ++ bash -x /etc/eks/bootstrap.sh x", "BootstrapRan"},
	// What logger -s prints for a script.
	{"<13>Feb  8 20:21:18 user-data: Exited with error on line 489", "BootstrapFailed: line 489"},
	{"<13>Feb  8 20:21:18 user-data: + /etc/eks/bootstrap.sh x", "BootstrapRan"},
	{"<13>Feb  8 20:21:18 user-data[71]: ++ bash -x /etc/eks/bootstrap.sh x", "BootstrapRan"},
	{"[    9.100001] cloud-init[7]: <13>Feb  8 20:21:18 root: + /etc/eks/bootstrap.sh x", "BootstrapRan"},
	{`<13>Feb  8 20:21:18 user-data: Connect timeout on endpoint URL: "https://ec2.us-gov-east-1.amazonaws.com/"`, "EndpointUnreachable: ec2.us-gov-east-1.amazonaws.com"},
	{"<13>Feb 18 20:21:18 user-data: tar: x: Cannot write: No space left on device", "DiskFull: user-data"},
	{"<13>Feb 18 20:21:18 user-data: + echo 'x: No space left on device'", ""},
	{"<13>Feb 18 20:21:18 user-data: + grep 'curl: (28) Failed to connect to x.example.com port 443' /var/log/x", ""},
	{"<13>Feb 18 20:21:18 user-data: [FAILED] Failed to start kubelet.service", ""},
	{"<13>Feb 18 20:21:18 user-data: Out of memory: Killed process 34 (x) total-vm:1kB", ""},
	{"ip-10-0-50-176 login: <13>Feb  8 20:21:18 user-data: + echo 'x: No space left on device'", "BootFinished: login prompt"},
	{"<13>Feb 18 20:21:18 user-da[    9.000001] Kernel panic - not syncing: x", "KernelPanic: x"},
	{"+ logger '<13>Feb 18' x: No space left on device", ""},
	{"+ grep '<13>Feb 18 20:21:18 user-data: tar: x: Cannot write: No space left on device' /var/log/x", ""},
	{"<13>Feb 18 20:21:18 user-data: + grep '<13>Feb 18 20:21:18 user-data: tar: x: Cannot write: No space left on device' /var/log/x", ""},
	{"cloud-init[990]: Aliasing EKS k8s snap commands", "BootstrapRan"},
	{"cloud-init[990]: Starting k8s kubelet daemon", "BootstrapRan"},
	{"cloud-init[990]: + echo 'Starting k8s kubelet daemon'", ""},
	{"cloud-init[7]: Exited with error on line x", ""},

	// Bottlerocket.
	{"early-boot-config[7]: Error 400 when PATCHing '/settings?tx=bottlerocket-launch': Json deserialize error: unknown field `x`",
		"BottlerocketFailed: early-boot-config: Error 400 when PATCHing '/settings?tx=bottlerocket-launch': Json deserialize error: unknown field `x`"},
	{"settings-committer[7]: Error sending POST to /tx/commit?tx=bottlerocket-launch: Tried to commit with no pending changes", ""},
	{"pluto[7]: 07:42:00 [INFO] Committing settings.", ""},
}

func TestSigns(t *testing.T) {
	for _, tc := range said {
		var got []string
		for _, f := range Read("\n" + tc.line + "\n").Found {
			expect.Equal(t, f.Line, 2, "%q: line", tc.line)
			got = append(got, brief(f))
		}
		var want []string
		if tc.want != "" {
			want = strings.Split(tc.want, " | ")
		}
		slices.Sort(got)
		slices.Sort(want)
		expect.List(t, got, want, "%q", tc.line)
	}
}

// Each rule is matched by one of the lines above or by one of the logs.
func TestNoRuleIsDead(t *testing.T) {
	var text strings.Builder
	for _, tc := range said {
		text.WriteString(tc.line + "\n")
	}
	for _, name := range []string{"al2-healthy", "al2-describe-timeout", "al2023-old-user-data", "al2023-healthy", "ubuntu-no-bootstrap", "bottlerocket-no-ec2", "windows-ready"} {
		text.WriteString(load(t, name))
	}
	told := make([]bool, len(rules))
	for line := range strings.Lines(redact.Printable(text.String())) {
		for _, s := range segments(strings.TrimSuffix(line, "\n")) {
			for i, r := range rules {
				sign, _ := r.apply(s)
				told[i] = told[i] || sign != ""
			}
		}
	}
	for i, ok := range told {
		expect.That(t, ok, "no line for rule %d: %s, %q", i, rules[i].sign, rules[i].needle)
	}
}
