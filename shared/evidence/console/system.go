package console

import (
	"strings"

	"rollcall/shared/roll/pattern"
)

// facts reads facts about the system from a segment.
func (r *reader) facts(s segment) {
	if v := kubeletVersion(s); v != "" {
		r.log.KubeletVersion = v
	}
	if s.trace || !s.kernel() && s.tag != "systemd" {
		return
	}
	r.boots(s)
	if r.log.OS == "" {
		r.log.OS = first(systems, s.message)
	}
	if r.log.Arch == "" {
		r.log.Arch = first(architectures, s.message)
	}
	if r.log.KubeletVersion == "" && strings.HasPrefix(s.message, "Welcome to Bottlerocket") {
		r.log.KubeletVersion = version.FindString(strings.TrimPrefix(bottlerocketVariant(s.message), "aws-k8s-"))
	}
}

// boots counts the starts of a boot: the kernel's first message, or the boot manager's if the
// kernel is quiet.
func (r *reader) boots(s segment) {
	switch {
	case strings.HasPrefix(strings.TrimLeft(s.message, " "), "Booting `"):
		r.log.Boots++
		r.bootmgr = true
	case strings.HasPrefix(s.message, "Linux version ") && strings.Contains(s.message, " ("):
		if !r.bootmgr {
			r.log.Boots++
		}
		r.bootmgr = false
	}
}

// hint is what a message that contains a needle shows.
type hint struct {
	needle string
	says   *pattern.Pattern
	shows  string
}

func first(hints []hint, message string) string {
	for _, h := range hints {
		if strings.Contains(message, h.needle) && h.says.MatchString(message) {
			return h.shows
		}
	}
	return ""
}

var ofKernel = pattern.New(`^(?:Welcome to )?(?:Linux version |Kernel )`)

// systems are recognized by systemd's welcome, by the login prompt or the kernel's version, such as
// "6.1.94-99.176.amzn2023.x86_64", or by EC2Launch.
var systems = []hint{
	{"Amazon Linux 2023", pattern.New(`^(?:Welcome to )?Amazon`), "al2023"},
	{".amzn2023.", ofKernel, "al2023"},
	{"Amazon Linux 2", pattern.New(`^(?:Welcome to )?Amazon Linux 2!?$`), "al2"},
	{".amzn2.", ofKernel, "al2"},
	{"Bottlerocket", pattern.New(`^(?:Welcome to )?(?:Bottlerocket OS |Bottlerocket \(EKS Auto|Booting .Bottlerocket)`), "bottlerocket"},
	{"-bottlerocket-linux-gnu", ofKernel, "bottlerocket"},
	{"Ubuntu ", pattern.New(`^Welcome to Ubuntu |^Ubuntu .* ttyS`), "ubuntu"},
	{"(Ubuntu ", ofKernel, "ubuntu"},
	{"Windows ", pattern.New(`Z: OS: Microsoft Windows |Z: OsProductName: Windows `), "windows"},
}

var ofKernelOrLogin = pattern.New(`^(?:Linux version |Kernel .* on an )`)

// architectures are recognized by systemd's message, the kernel's first line, or the login prompt.
var architectures = []hint{
	{"x86-64", pattern.New(`^Detected architecture x86-64`), "amd64"},
	{"x86_64", ofKernelOrLogin, "amd64"},
	{"arm64", pattern.New(`^Detected architecture arm64`), "arm64"},
	{"aarch64", ofKernelOrLogin, "arm64"},
	{"Booting Linux on physical CPU 0x", pattern.New(`^Booting`), "arm64"},
}

// version matches a version of two or three numbers.
var version = pattern.New(`^\d{1,4}\.\d{1,4}(?:\.\d{1,4})?`)

// kubeletSays matches `Fetched kubelet version {"version": "v1.33.4"}` of nodeadm and "Using
// kubelet version 1.29.0" of bootstrap.sh.
var kubeletSays = pattern.New(`Fetched kubelet version.*"version":[ "]*v?([\d.]+)|\[eks-bootstrap\] INFO: Using kubelet version v?([\d.]+)`)

func kubeletVersion(s segment) string {
	if !strings.Contains(s.text, "kubelet version") {
		return ""
	}
	m := kubeletSays.FindStringSubmatch(s.text)
	if m == nil {
		return ""
	}
	return version.FindString(m[1] + m[2])
}
