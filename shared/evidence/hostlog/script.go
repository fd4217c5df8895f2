package hostlog

// MaxChars is how much of a command's output SSM returns: more is cut off.
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetCommandInvocation.html
const MaxChars = 24_000

// Comment is the comment of the commands that run the script, by which they are found again.
const Comment = "Rollcall reads the logs of this host"

// Script is the shell script that prints the logs: the commands of the template's SSM document. It
// takes no input and changes nothing. Each program is stopped after 8 seconds. All tails together
// are shorter than MaxChars.
//
// A tail begins in the middle of a line, where the name that announces a secret may be cut off.
// Its first line is therefore left out.
const Script = `export LC_ALL=C
mark() { printf '\n==== rollcall: %s ====\n' "$1"; }
tail_of() { mark "$1"; bytes=$2; shift 2; timeout 8 "$@" 2>&1 | tail -c "$bytes" | sed 1d; }
journal() { name=$1; bytes=$2; shift 2; tail_of "$name" "$bytes" journalctl -q -b --no-pager -o short --utc "$@"; }
mark "host logs of $(date -u +%Y-%m-%dT%H:%M:%SZ)"
if [ ! -d /run/systemd/system ]; then mark "no systemd"; exit 0; fi
mark df; timeout 8 df -P / /var/log /var/lib/kubelet /var/lib/containerd 2>/dev/null | head -c 800
mark df-i; timeout 8 df -Pi / /var/log /var/lib/kubelet /var/lib/containerd 2>/dev/null | head -c 800
journal kernel 4000 -k --since=-3h
journal cloud-init 3500 -u cloud-init-main -u cloud-init-local -u cloud-init -u cloud-init-network -u cloud-config -u cloud-final
journal nodeadm 3000 -u nodeadm-config -u nodeadm-run -u nodeadm-boot-hook
journal containerd 3000 --since=-3h -u containerd
journal kubelet 8000 --since=-3h -u kubelet -u snap.kubelet-eks.daemon
exit 0
`
