package console

// Sign is the meaning of one line. The source of each text is named at its sign.
type Sign string

// Trouble reported by the kernel (https://github.com/torvalds/linux).
const (
	// OutOfMemory: the instance ran out of memory, and the kernel killed a process, or panicked if it was
	// told to or found none to kill. Detail is what was killed. mm/oom_kill.c.
	OutOfMemory Sign = "OutOfMemory"
	// KernelPanic: the kernel panicked. Detail is its reason. kernel/panic.c.
	KernelPanic Sign = "KernelPanic"
	// CPUStuck: a processor did not schedule for many seconds: "soft lockup" of kernel/watchdog.c,
	// stalls of kernel/rcu. Detail is the task, if known. Seen on nodes that went silent:
	// https://github.com/awslabs/amazon-eks-ami/issues/454.
	CPUStuck Sign = "CPUStuck"
	// TaskHung: a task waited more than two minutes for the kernel, usually for a disk. Detail is
	// the task. kernel/hung_task.c.
	TaskHung Sign = "TaskHung"
	// FilesystemFailed: a file system was found damaged, shut down or made read-only.
	// Detail is the device, which can be a pod's volume. fs/ext4/super.c,
	// fs/xfs/xfs_fsops.c and xfs_message.c.
	FilesystemFailed Sign = "FilesystemFailed"
	// Xid: NVIDIA's driver reports an error of a GPU, or of an application that uses it. Detail is
	// its number.
	// https://docs.nvidia.com/deploy/xid-errors/introduction.html
	Xid Sign = "Xid"
)

// Trouble that several programs report in the words of the C library or Go.
const (
	// DiskFull: a write failed with "No space left on device". The same error about inotify
	// watches, control groups, devices or memory-backed files, such as those in /tmp of Amazon Linux 2023, is not
	// counted, because a larger disk does not fix it (https://github.com/systemd/systemd/issues/6030).
	// Detail is the program, if known.
	DiskFull Sign = "DiskFull"
	// ExecFormatError: a program is built for another architecture. Detail is its path.
	ExecFormatError Sign = "ExecFormatError"
	// EndpointUnreachable: a connection timed out or was refused. Detail is the host.
	EndpointUnreachable Sign = "EndpointUnreachable"
)

// Trouble with AWS, in the words of the AWS CLI and SDKs.
const (
	// AccessDenied: a call was denied. Detail is the operation and the error code, such as
	// "DescribeCluster: AccessDeniedException", and the kind of policy that denies it if AWS names one:
	// "EC2: DescribeInstances: UnauthorizedOperation with an explicit deny in a service control policy".
	AccessDenied Sign = "AccessDenied"
	// APIRetries: nodeadm tried a call for the fifth time or more. Detail is the call, such as
	// "EC2/DescribeInstances". It retries for about ten minutes before it reports why
	// (nodeadm/cmd/nodeadm/init/init.go);
	// https://github.com/awslabs/amazon-eks-ami/issues/2632.
	APIRetries Sign = "APIRetries"
	// IMDSFailed: the instance metadata service did not answer. Detail is the request, if known.
	IMDSFailed Sign = "IMDSFailed"
)

// Trouble at boot.
const (
	// KubeletFailed: kubelet.service failed. Detail is the unit.
	KubeletFailed Sign = "KubeletFailed"
	// ContainerdFailed: containerd.service failed. Detail is the unit.
	ContainerdFailed Sign = "ContainerdFailed"
	// KubeletRefused: the kubelet exits because of its flags, its configuration, swap space or sysctls
	// that it does not allow, or a containerd without the service that it needs. Detail is its error.
	// cmd/kubelet/app/server.go; https://github.com/awslabs/amazon-eks-ami/issues/1398;
	// https://github.com/awslabs/amazon-eks-ami/pull/1958.
	KubeletRefused Sign = "KubeletRefused"
	// CgroupV1Refused: the kubelet does not start on a host with cgroup v1.
	// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/apis/config/validation/validation_linux.go
	CgroupV1Refused Sign = "CgroupV1Refused"
	// NetworkFailed: the network was not configured in time. Detail is the unit.
	// https://github.com/bottlerocket-os/bottlerocket/issues/3726.
	NetworkFailed Sign = "NetworkFailed"
	// EmergencyMode: systemd stopped booting and waits for an operator.
	EmergencyMode Sign = "EmergencyMode"
	// CloudInitFailed: cloud-init failed, as a unit, in a stage, in a module or in its own code, or systemd
	// left the unit out. Detail is the unit, such as "stage init" the stage, the module, or what could not be read.
	// cloudinit/cmd/main.py, cloudinit/config/modules.py, cloudinit/util.py.
	CloudInitFailed Sign = "CloudInitFailed"
	// UserScriptFailed: a script of the user data exited with an error. Detail is the script and
	// its exit code, such as "part-001: 1", or such as "boothook part-001". cloudinit/subp.py.
	UserScriptFailed Sign = "UserScriptFailed"
	// IncludeFailed: cloud-init could not read what the user data includes, and goes on without it.
	// Detail is the URL. Not reported if cloud-init read the user data again later in the same boot:
	// Cluster API's boothook restarts it once the included file is there.
	// https://github.com/kubernetes-sigs/cluster-api-provider-aws/issues/5449
	IncludeFailed Sign = "IncludeFailed"
	// UserDataIgnored: cloud-init does not recognize the user data and ignores it. Detail is the
	// type. cloudinit/handlers/__init__.py. Not reported if nodeadm, which reads what cloud-init
	// does not, is on the machine.
	UserDataIgnored Sign = "UserDataIgnored"
	// NodeadmFailed: nodeadm, or one of its units, failed, or systemd left the unit out to break an ordering
	// cycle. Detail is its error or the unit; of the boot hook the unit comes first. https://github.com/awslabs/amazon-eks-ami, nodeadm/internal/cli/main.go.
	NodeadmFailed Sign = "NodeadmFailed"
	// NodeConfigMissing: nodeadm failed because there is no NodeConfig.
	// nodeadm/internal/configprovider/chain.go, userdata.go.
	NodeConfigMissing Sign = "NodeConfigMissing"
	// NodeConfigInvalid: nodeadm failed, and its NodeConfig does not decode or a field is missing.
	// Detail is the error. nodeadm/internal/api/bridge/decode.go, validation.go.
	NodeConfigInvalid Sign = "NodeConfigInvalid"
	// BootstrapFailed: /etc/eks/bootstrap.sh failed. Detail is its error, or the line where it
	// exited. templates/al2/runtime/bootstrap.sh, in the repository until March 2026.
	BootstrapFailed Sign = "BootstrapFailed"
	// BootstrapMissing: user data calls /etc/eks/bootstrap.sh, which the AMI does not have.
	// https://github.com/terraform-aws-modules/terraform-aws-eks/issues/1179.
	BootstrapMissing Sign = "BootstrapMissing"
	// BootstrapRemoved: user data calls /etc/eks/bootstrap.sh on AL2023, where it only prints that
	// it was removed. templates/al2023/runtime/rootfs/etc/eks/bootstrap.sh.
	BootstrapRemoved Sign = "BootstrapRemoved"
	// UnitFailed: a unit failed, or a device did not appear, for which there is no other sign. Detail is
	// its name or description.
	// By itself it says nothing: most units do not matter to a node.
	UnitFailed Sign = "UnitFailed"
	// DependencyFailed: systemd did not start what leads to the kubelet, because something that it
	// requires failed. Detail is what was not started. src/core/job.c.
	DependencyFailed Sign = "DependencyFailed"
	// JobRuns: systemd waits for a unit to start, for ten minutes or more. Detail is the unit and the
	// minutes, such as "cloud-final.service: 38". src/core/manager.c, manager_print_jobs_in_progress.
	// Only the last such line of a boot counts.
	JobRuns Sign = "JobRuns"
	// DriverRefused: NVIDIA's driver does not fit the machine: there is no GPU that it knows. Detail is
	// its message. https://github.com/bottlerocket-os/bottlerocket/issues/4889.
	DriverRefused Sign = "DriverRefused"
	// BottlerocketFailed: one of the programs or units that turn Bottlerocket's user data
	// into settings failed. Detail is its error or the unit.
	// https://github.com/bottlerocket-os/bottlerocket-core-kit, packages/os/*.service.
	BottlerocketFailed Sign = "BottlerocketFailed"
)

// NoDatasource is the detail of CloudInitFailed if cloud-init found no source of user data.
const NoDatasource = "no data source, so no user data"

// Progress.
const (
	// BootFinished: the system is up. Detail is the evidence: cloud-init, multi-user.target, login
	// prompt or EC2Launch.
	BootFinished Sign = "BootFinished"
	// NodeadmRan: nodeadm was started.
	NodeadmRan Sign = "NodeadmRan"
	// NodeadmDone: nodeadm started the kubelet and exited without error.
	NodeadmDone Sign = "NodeadmDone"
	// BootstrapRan: /etc/eks/bootstrap.sh was started, that of AL2 or of Ubuntu's images for EKS.
	BootstrapRan Sign = "BootstrapRan"
	// BottlerocketBooted: Bottlerocket's systemd was started.
	BottlerocketBooted Sign = "BottlerocketBooted"
	// KubeletStarted: systemd started the kubelet's unit. It may have stopped since.
	KubeletStarted Sign = "KubeletStarted"
)
