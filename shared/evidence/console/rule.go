package console

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// rule recognizes a sign in a segment.
type rule struct {
	// needle is a text that every matching segment contains. Searching for it first keeps reading
	// cheap.
	needle string
	sign   Sign
	by     func(segment) bool // reports whether the writer is the right one; nil: any writer
	// says must match the message; nil: the needle is enough. A pattern that begins with ^ does not
	// match a program that quotes another one's message.
	says *pattern.Pattern
	not  *pattern.Pattern // must not match
	// detail is the sign's detail, in which $1 is the first group of says and {tag} the program.
	detail string
	// read returns the sign and its detail, or "". It replaces the fields above.
	read func(segment) (Sign, string)
	// traced reports whether the rule is about commands in a shell's trace, not about their output.
	traced bool
}

func (r rule) apply(s segment) (Sign, string) {
	if r.traced != s.trace || !strings.Contains(s.text, r.needle) || r.by != nil && !r.by(s) {
		return "", ""
	}
	detail := strings.ReplaceAll(r.detail, "{tag}", strings.ReplaceAll(s.tag, "$", "$$"))
	switch {
	case r.read != nil:
		return r.read(s)
	case r.not != nil && r.not.MatchString(s.message):
		return "", ""
	case r.says == nil:
		return r.sign, detail
	}
	m := r.says.FindStringSubmatchIndex(s.message)
	if m == nil {
		return "", ""
	}
	return r.sign, strings.TrimSpace(string(r.says.ExpandString(nil, detail, s.message, m)))
}

// TellsFullDisk reports whether a message says that a file on a disk could not be written for lack of space.
func TellsFullDisk(message string) bool {
	return noSpace.MatchString(message) && !noDisk.MatchString(message)
}

func kubelet(s segment) bool { return strings.HasPrefix(s.tag, "kubelet") }

// rules are all rules. Each is tried on each segment. The sources of the texts are documented at
// the signs.
var rules = []rule{
	// Older kernels, such as 4.14, write "Kill process", newer ones "Killed process". The name may
	// contain parentheses. A control group that runs out of memory is not counted: the machine did
	// not.
	{needle: "ut of memory", sign: OutOfMemory, by: kernel, detail: "$1$2",
		says: pattern.New(`^Out of memory(?: \(oom_kill_allocating_task\))?: Kill(?:ed)? process (?:\d+ \((?:(.*?)\) (?:total-vm|score)|([^)]*)\)))?`)},
	{needle: "Kernel panic - not syncing", sign: KernelPanic, by: kernel, detail: "$1",
		says: pattern.New(`^(?:---\[ end )?Kernel panic - not syncing:?(.*?)(?:\]---.*)?$`), not: pattern.New(`not syncing: (?:Out of memory: |System is deadlocked on memory)`)},
	{needle: "Kernel panic - not syncing", sign: OutOfMemory, by: kernel, detail: "the whole system by a panic",
		says: pattern.New(`^Kernel panic - not syncing: (?:Out of memory: |System is deadlocked on memory)`)},
	{needle: "soft lockup - CPU#", sign: CPUStuck, by: kernel, detail: "$1",
		says: pattern.New(`^(?:NMI )?(?:watchdog: )?BUG: soft lockup - CPU#(?:.*?s! \[([^\]]*?)(?::[^:\]]*)?(?:\]|$))?`)},
	{needle: "INFO: rcu_", sign: CPUStuck, by: kernel, says: pattern.New(`^(?:rcu: )?INFO: rcu_.*stall`)},
	{needle: " blocked for more than ", sign: TaskHung, by: kernel, detail: "$1",
		says: pattern.New(`^INFO: task (.*):[^:]* blocked for more than .*seconds`)},
	{needle: "EXT4-fs ", sign: FilesystemFailed, by: kernel, detail: "$1$2",
		says: pattern.New(`^EXT4-fs (?:error \(device ([^)]*)|\((.*?)\): Remounting filesystem read-only)`)},
	{needle: "XFS (", sign: FilesystemFailed, by: kernel, detail: "$1",
		says: pattern.New(`^XFS \((.*?)\): (?:Corruption |Metadata (?:corruption|CRC error) detected|.*Shutting down filesystem|Filesystem has been shut down|(?i:log I/O error)|Internal error)`)},
	{needle: "NVRM: Xid (", sign: Xid, by: kernel, detail: "$1", says: pattern.New(`^NVRM: Xid \(.*?\): (\d+)(?:,|$)`)},

	{needle: "NVRM: ", sign: DriverRefused, by: kernel, detail: "$1",
		says: pattern.New(`^NVRM: (?:installed in this system )?(No NVIDIA GPU found|requires use of the NVIDIA open kernel modules)`)},

	{needle: "o space left on device", sign: DiskFull, detail: "{tag}", says: noSpace, not: noDisk},
	{needle: "xec format error", read: execFormat},
	{needle: "dial tcp", read: unreachable(`dial tcp (\S+): (?:i/o timeout|connect: (?:connection refused|no route to host|network is unreachable|connection timed out))`)},
	{needle: "Failed to connect to ", read: unreachable(`curl: \(.*Failed to connect to (\S+) port `)},
	{needle: " endpoint URL: ", read: unreachable(`(?:[Cc]onnect timeout on|Could not connect to the|Read timeout on) endpoint URL: (.*)`)},

	{needle: "An error occurred (", sign: AccessDenied, detail: "$2: $1",
		says: pattern.New(`An error occurred \((` + denials + `)\)(?: when calling the (\S*))?`)},
	{needle: "operation error ", read: sdkError},
	// Bottlerocket's pluto from March 2026 on; before, it only reports that the time was up. Its calls of
	// EKS are not counted: it does without them. sources/api/pluto/src/ec2.rs.
	{needle: "EC2 DescribeInstances attempt failed", sign: AccessDenied, by: bottlerocket, detail: "EC2: DescribeInstances: $1",
		says: pattern.New(`\[ERROR\] EC2 DescribeInstances attempt failed, will retry: code=(` + denials + `) `)},
	// nodeadm asks for the name of its instance for ten minutes, whatever EC2 answers, and then only
	// reports that the time is up. The SDK's log of the attempts has the answer, and not the name of
	// the call; nodeadm logs no other. nodeadm/internal/aws/ec2/instance_waiter.go.
	{needle: "request failed with unretryable error", sign: AccessDenied, by: func(s segment) bool { return s.tag == "nodeadm" }, detail: "EC2: DescribeInstances: $1",
		says: pattern.New(`request failed with unretryable error .*api error (` + denials + `):`)},
	// A healthy boot can need four attempts while the network comes up.
	{needle: " retrying request ", sign: APIRetries, detail: "$1", says: pattern.New(`SDK .* retrying request (\S+), attempt (?:[5-9]|\d\d)`)},
	{needle: "Giving up on md from ", sign: IMDSFailed, detail: "cloud-init"},
	{needle: "IMDS's HTTP endpoint is probably disabled", sign: IMDSFailed, detail: "cloud-init"},
	{needle: "IMDS request failed", sign: IMDSFailed, by: bottlerocket, detail: "{tag}"},

	systemd("FAILED", "Failed to start ", failedToStart),
	systemd(" TIME ", "Timed out waiting for device ", func(device string, _ unit, _ bool) (Sign, string) { return UnitFailed, "device " + device }),
	systemd("DEPEND", "Dependency failed for ", dependencyFailed),
	{needle: " running ", read: jobRuns},
	{needle: ": Failed with result '", read: failedWithResult},
	{needle: ": Failed at step ", read: failedAtStep},
	{needle: "rdering cycle", read: leftOut},
	systemd("  OK  ", "Started ", started),
	systemd("  OK  ", "Reached target ", multiUser),
	{needle: "emergency mode", sign: EmergencyMode, says: pattern.New(`^(?:You are in emergency mode|Welcome to emergency mode!|Entering emergency mode\.)`)},
	{needle: "kubelet is configured to not run on a host using cgroup v1", sign: CgroupV1Refused},
	// A containerd that answers and has no service for the kubelet has its plugin switched off, or left out for a
	// fault in its configuration: https://github.com/containerd/containerd/issues/14121.
	{needle: "command failed", sign: KubeletRefused, by: kubelet, detail: "$1",
		says: pattern.New(`"command failed" err="((?:` + refusals + `|unknown command |failed to run Kubelet: (?:running with swap on is not supported|validate service connection: .*unknown service runtime\.)).*?)"?$`), not: pattern.New(`cgroup v1`)},
	// An error of several lines, such as that about labels, begins on the line after "err=<"
	// (https://github.com/kubernetes/klog, internal/serialize).
	{needle: "failed to ", sign: KubeletRefused, by: kubelet, detail: "$1",
		says: pattern.New(`^\s*((?:` + refusals + `)[:,].*)$`), not: pattern.New(`cgroup v1`)},
	// Of what the container manager may fail at, only these lie in the configuration: sysctls that
	// protectKernelDefaults demands, and more reserved than there is. pkg/kubelet/cm/container_manager_linux.go
	// and node_container_manager_linux.go; https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3595.
	{needle: "Failed to start ContainerManager", sign: KubeletRefused, by: kubelet, detail: "$1",
		says: pattern.New(`"Failed to start ContainerManager" err="(\[?invalid (?:kernel flag: |Node Allocatable configuration).*?)"?$`)},

	{needle: " module ", by: warned, read: moduleFailed},
	{needle: "Failed running " + userScripts, sign: UserScriptFailed, by: warned, detail: "$1: $2",
		says: pattern.New(`Failed running .*?([^/]*) \[([^\]]*)\]`)},
	// Only cloud-init's own code: scripts print tracebacks too.
	{needle: "/cloudinit/", sign: CloudInitFailed, detail: "traceback", says: pattern.New(`^ *File "/usr/.*\.py", line `)},
	// status_wrapper of cloudinit/cmd/main.py.
	{needle: "failed ", sign: CloudInitFailed, detail: "stage $1", says: pattern.New(`^(?:.*\.py\[(?:WARNING|ERROR)\]: )?failed (?:run of )?stage (init-local|init|modules-config|modules-final)$`)},
	// With the last of its data sources, which is none, cloud-init goes on without any user data.
	// cloudinit/config/cc_final_message.py; https://github.com/canonical/cloud-init/issues/4082.
	{needle: "Datasource DataSourceNone", sign: CloudInitFailed, detail: NoDatasource, says: pattern.New(`^Cloud-init v\. .* finished at .*\. Datasource DataSourceNone\.`)},
	// cloudinit/user_data.py, _do_include. Newer versions raise an error instead, unless an image sets
	// ERROR_ON_USER_DATA_FAILURE, as those for Cluster API do.
	{needle: "user_data.py[WARNING]: ", sign: IncludeFailed, detail: "$1$2",
		says: pattern.New(`user_data\.py\[WARNING\]: (?:.* for url: (\S+?)\.?$|Fetching from (\S+) resulted in )`)},
	{needle: "Boothooks ", sign: UserScriptFailed, by: warned, detail: boothook + "$1", // cloudinit/handlers/boot_hook.py
		says: pattern.New(`Boothooks (?:script|unknown error when running) \S*?([^/\s]+)(?: execution error)?$`)},
	{needle: "Failed loading yaml blob", sign: CloudInitFailed, detail: "cloud-config"},
	{needle: "Unhandled ", sign: UserDataIgnored, by: warned, detail: "$1",
		says: pattern.New(`Unhandled (?:non-multipart|unknown content-type) \((.*?)\)`)},

	{needle: "nodeadm[", sign: NodeadmRan},
	{needle: "EKS Nodeadm ", read: nodeadmUnit},
	{needle: "Command failed", by: fatal, read: nodeadmFatal},
	{needle: "Command failed", by: fatal, read: nodeConfigMissing},
	{needle: "node config", read: nodeConfigUndecodable},
	{needle: " is missing in cluster configuration", by: fatal, read: func(s segment) (Sign, string) { return NodeConfigInvalid, errorField(s.text) }},

	{needle: bootstrapPath, sign: BootstrapRan, traced: true, says: pattern.New(`^[+ ]*(?:(?:sudo|bash|sh|/bin/bash|-x) )*` + bootstrapPath)},
	// What Canonical's bootstrap.sh of Ubuntu's images prints first and last.
	{needle: "Aliasing EKS k8s snap commands", sign: BootstrapRan},
	{needle: "Starting k8s kubelet daemon", sign: BootstrapRan},
	{needle: "[eks-bootstrap] ", sign: BootstrapRan, not: pattern.New(`\[eks-bootstrap\] ERROR: `)},
	{needle: "[eks-bootstrap] ", sign: BootstrapFailed, detail: "$1", says: pattern.New(`\[eks-bootstrap\] ERROR: (.*)`)},
	// Cluster API's script that fetches the bootstrap data of a machine.
	// https://github.com/kubernetes-sigs/cluster-api-provider-aws/tree/main/pkg/cloud/services/secretsmanager
	{needle: "aws.cluster.x-k8s.io encrypted cloud-init script", sign: BootstrapFailed, detail: "Cluster API's script, status $1", says: pattern.New(`encrypted cloud-init script \S+ exiting with status ([1-9]\d*)`)},
	{needle: "Exited with error on line ", sign: BootstrapFailed, detail: "line $1", says: pattern.New(`^Exited with error on line (\d+)$`)},
	{needle: bootstrapPath + ": ", sign: BootstrapMissing, says: pattern.New(bootstrapPath + `: (?:No such file or directory|not found)`)},
	{needle: "bootstrap.sh has been removed from AL2023-based EKS AMIs", sign: BootstrapRemoved},

	{needle: "Welcome to Bottlerocket", read: func(s segment) (Sign, string) {
		if !strings.HasPrefix(s.message, "Welcome to Bottlerocket") {
			return "", ""
		}
		return BottlerocketBooted, bottlerocketVariant(s.message)
	}},
	// How the messages of their error types begin (mod error in each main.rs). An empty commit
	// alone is not a failed boot; the unit's state shows that.
	{needle: "]: ", sign: BottlerocketFailed, by: bottlerocket, detail: "{tag}: $1", not: pattern.New(`Tried to commit with no pending changes`),
		says: pattern.New(`^((?:Error |Failed to |Unable to |Timed[ -]out |Provider (?:error: |')|Setting generator '|IMDS request failed|Missing |Invalid |No IP address found|TOML data |Data is not a TOML table).*)`)},

	{needle: " finished at ", sign: BootFinished, detail: "cloud-init", says: pattern.New(`^Cloud-init v\. `)},
	{needle: " login:", sign: BootFinished, detail: "login prompt", says: pattern.New(`^[\w.-]{1,128} login: *$`)},
	{needle: "Windows is Ready to use", sign: BootFinished, detail: "EC2Launch", says: pattern.New(`Message: Windows is Ready to use$`)},
}

const (
	bootstrapPath = "/etc/eks/bootstrap.sh"
	// userScripts is the directory where cloud-init keeps the scripts of the user data.
	userScripts = "/var/lib/cloud/instance"
	// boothook begins the detail of a boothook that failed.
	boothook = "boothook "
	// cycle ends the detail of a unit that systemd did not start.
	cycle = ": left out to break an ordering cycle"
	// bootHookUnit begins the detail of the failures of nodeadm's boot hook.
	bootHookUnit = "nodeadm-boot-hook.service"
	// nodeConfigType is the MIME type of nodeadm's configuration.
	nodeConfigType = "application/node.eks.aws"
	// refusals begin the errors with which the kubelet exits before it runs, for its flags or configuration.
	// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubelet/app/server.go, NewKubeletCommand
	refusals = `failed to (?:parse kubelet flag|set feature gates from initial flags-based config|validate kubelet (?:flags|configuration)|load kubelet config file|merge kubelet configs)`
	// denials are the error codes with which AWS denies a call.
	denials = `AccessDenied|AccessDeniedException|UnauthorizedOperation|AuthFailure|UnrecognizedClientException|` +
		`InvalidClientTokenId|ExpiredToken|ExpiredTokenException|SignatureDoesNotMatch|OptInRequired`
)

func kernel(s segment) bool { return s.kernel() }

// bottlerocket reports whether the segment is from a program that applies Bottlerocket's settings.
// These write only errors to the console.
func bottlerocket(s segment) bool {
	return slices.Contains([]string{
		"early-boot-config", "sundog", "pluto", "thar-be-settings", "settings-committer", "storewolf", "migrator", "bootstrap-commands",
	}, s.tag)
}

// warned reports whether the segment is a warning in cloud-init's log:
// "cc_scripts_user.py[WARNING]: ...".
func warned(s segment) bool { return pyWarning.MatchString(s.text) }

// fatal reports whether nodeadm exits with this line.
func fatal(s segment) bool {
	return strings.Contains(s.text, `"level":"fatal"`) || strings.Contains(s.text, "fatal cli/main.go:")
}

var (
	pyWarning = pattern.New(`\.py\[(?:WARNING|ERROR|CRITICAL)\]: `)
	// An error follows what failed and is not in the middle of a sentence.
	noSpace = pattern.New(`(?:^|: |\] |\(|'|")[Nn]o space left on device`)
	// noDisk matches what has the same error number for another limit, or for what is no file on a disk: whoever
	// overwrites a whole volume, as to initialize it, always ends with that error.
	//
	//   - https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/disk-performance.html
	//   - https://github.com/Irqbalance/irqbalance/issues/303
	//   - https://man7.org/linux/man-pages/man2/semget.2.html
	noDisk = pattern.New(`(?i)watch|notify|cgroup|control group|cpuset|tmpfs|/run/|(?:^|[^\w.])/(?:dev/(?:nvme|xvd|sd|vd|md|dm-|mapper/|disk/|loop|zram|shm|mqueue|hugepages)|proc/(?:[^s\d]|sys/)|sys/)|irq \d+ affinity|rtnetlink|semaphore|shared memory|mount\(2\)`)

	execError  = pattern.New(`(?:^|: |\] |\(|'|")[Ee]xec format error(?:: b?['"(]*([^\s'",:)]+))?`)
	lastPath   = pattern.New(`^.*(?:^|[\s'",:;(])(\.?/[^\s'",:;()]*)`)
	moduleName = pattern.New(`Failed to run module (\S*)|Running module (\S*) \(.*\) failed$`)
	denied     = pattern.New(`api error (` + denials + `):`)
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
	policyKind = pattern.New(` (?:with an explicit deny in an? [A-Za-z -]{0,30}?(?:policy|boundary)|because no [A-Za-z -]{0,30}?(?:policy|boundary) allows)`)
	hostForm   = pattern.New(`^[\w.:-]{1,253}$`)
)

// execFormat recognizes "part-001: line 5: ./agent: cannot execute binary file: Exec format error"
// of bash, "Failed at step EXEC spawning /usr/bin/agent: Exec format error" of systemd, and "[Errno
// 8] Exec format error: b'/usr/bin/agent'" of Python. For a script of the user data it means that
// the script is not a program, not that the architecture is wrong.
func execFormat(s segment) (Sign, string) {
	m := execError.FindStringSubmatchIndex(s.message)
	if m == nil || strings.Contains(s.message, "Missing #! in script?") || strings.Contains(s.message, "exec user process") { // a container's
		return "", ""
	}
	path := ""
	if m[2] >= 0 {
		path = strings.TrimRight(s.message[m[2]:m[3]], ".")
	} else if p := lastPath.FindStringSubmatch(s.message[:m[0]]); p != nil {
		path = p[1]
	}
	if strings.HasPrefix(path, userScripts) {
		return "", ""
	}
	return ExecFormatError, path
}

// unreachable returns the host of the URL in a message, or else the address that the pattern finds.
// Addresses of the machine itself are not endpoints, and the metadata service has its own sign.
func unreachable(expression string) func(segment) (Sign, string) {
	re := pattern.New(expression)
	return func(s segment) (Sign, string) {
		m := re.FindStringSubmatch(s.message)
		if m == nil {
			return "", ""
		}
		host := cmp.Or(urlHost(s.message), hostname(m[1]))
		if host == "169.254.169.254" || host == "fd00:ec2::254" {
			return IMDSFailed, ""
		}
		ip, err := netip.ParseAddr(host)
		if host == "" || host == "localhost" || err == nil && (ip.IsLoopback() || ip.IsLinkLocalUnicast()) {
			return "", ""
		}
		return EndpointUnreachable, host
	}
}

// urlHost returns the host of the first URL in a text, or "".
func urlHost(s string) string {
	_, rest, ok := strings.Cut(s, "://")
	if !ok {
		return ""
	}
	if end := strings.IndexAny(rest, "/?# \t\"'\\<>,)"); end >= 0 {
		rest = rest[:end]
	}
	return hostname(rest[strings.LastIndexByte(rest, '@')+1:]) // the part before it is redacted, and is not a host
}

// hostname returns a host or address without its port, or "" if it is neither.
func hostname(s string) string {
	s = strings.TrimRight(strings.Trim(s, `"'();,`), ":.")
	if inner, _, ok := strings.Cut(strings.TrimPrefix(s, "["), "]"); ok && strings.HasPrefix(s, "[") {
		s = inner
	} else if strings.Count(s, ":") == 1 {
		s, _, _ = strings.Cut(s, ":")
	}
	return hostForm.FindString(s)
}

// sdkError recognizes "operation error EC2: DescribeInstances, ... api error CODE: ...".
func sdkError(s segment) (Sign, string) {
	_, operation, _ := strings.Cut(s.message, "operation error ")
	operation, _, _ = strings.Cut(operation, ",")
	if asked, ok := strings.CutPrefix(operation, "ec2imds: "); ok {
		if strings.Contains(s.message, "StatusCode: 404") { // the service answered: there is no such item
			return "", ""
		}
		return IMDSFailed, asked
	}
	if m := denied.FindStringSubmatch(s.message); m != nil {
		return AccessDenied, operation + ": " + m[1]
	}
	return "", ""
}

// deniedBy returns what AWS says about the kind of policy that denies a call, "" if it says nothing.
func deniedBy(message string) string {
	by := policyKind.FindString(message)
	if strings.HasSuffix(by, " allows") {
		by += " it"
	}
	return by
}

// moduleFailed recognizes "Failed to run module scripts-user (scripts in ...)" and "Running module
// scripts-user (<module '...' from '...'>) failed". Newer versions write underscores.
func moduleFailed(s segment) (Sign, string) {
	m := moduleName.FindStringSubmatch(s.message)
	if m == nil {
		return "", ""
	}
	return CloudInitFailed, strings.ReplaceAll(m[1]+m[2], "-", "_")
}

// nodeadmUnit recognizes "Starting nodeadm-config.service - EKS Nodeadm Config..." and "[  OK  ]
// Finished nodeadm-run.service - EKS Nodeadm Run.".
func nodeadmUnit(s segment) (Sign, string) {
	finished := strings.Contains(s.message, "Finished ")
	switch {
	case s.tag != "" && s.tag != "systemd":
	case finished && strings.HasSuffix(s.message, "EKS Nodeadm Run."):
		return NodeadmDone, ""
	case finished || strings.Contains(s.message, "Starting "):
		return NodeadmRan, ""
	}
	return "", ""
}

// nodeadmFatal recognizes the last line of nodeadm, and that of its boot hook, a program of its own:
// nodeadm/cmd/nodeadm-internal. The unit tells them apart.
func nodeadmFatal(s segment) (Sign, string) {
	e := errorField(s.text)
	if s.tag == "nodeadm-internal" {
		return NodeadmFailed, bootHookUnit + roll.Behind(": ", e)
	}
	return NodeadmFailed, e
}

func nodeConfigMissing(s segment) (Sign, string) {
	e := errorField(s.text)
	if strings.Contains(e, "no config in chain") || strings.Contains(e, "could not find NodeConfig within UserData") {
		return NodeConfigMissing, ""
	}
	return "", ""
}

// nodeConfigUndecodable recognizes a warning, after which nodeadm continues without that source.
func nodeConfigUndecodable(s segment) (Sign, string) {
	if failure, ok := strings.CutPrefix(errorField(s.text), "failed to decode node config"); ok {
		return NodeConfigInvalid, strings.TrimLeft(failure, ", ")
	}
	return "", ""
}

// errorField returns the value of "error" in a line of JSON, even if the line is cut.
func errorField(text string) string {
	_, rest, ok := strings.Cut(text, `"error":`)
	rest = strings.TrimPrefix(rest, " ")
	if !ok || !strings.HasPrefix(rest, `"`) {
		return ""
	}
	var s string
	if json.NewDecoder(strings.NewReader(rest)).Decode(&s) == nil {
		return s
	}
	return rest[1:]
}

// bottlerocketVariant returns the variant from the welcome message, "Welcome to Bottlerocket OS
// 1.18.0 (aws-k8s-1.28)!", or "".
func bottlerocketVariant(message string) string {
	variant, _, ok := strings.Cut(message[strings.LastIndexByte(message, '(')+1:], ")")
	if !ok || !strings.Contains(variant, "-") || !word.MatchString(variant) {
		return ""
	}
	return variant
}

var word = pattern.New(`^[\w.-]{1,128}$`)
