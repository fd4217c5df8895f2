package console

import "strings"

// facts reads from a segment what system it is.
func (r *reader) facts(s segment) {
	if v := kubeletVersion(s); v != "" {
		r.log.KubeletVersion = v
	}
	if s.trace || !s.kernel() && s.tag != "systemd" {
		return
	}
	r.boots(s)
	if r.log.OS == "" {
		r.log.OS = system(s.message)
	}
	if r.log.Arch == "" {
		r.log.Arch = architecture(s.message)
	}
	if r.log.Variant == "" {
		r.variant(s.message)
	}
}

// boots counts the beginnings of a boot: the kernel's first words, or those of the
// boot manager, where the kernel is quiet.
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

// system is the OS that systemd welcomes to, that the login prompt or the kernel's
// version names, or that EC2Launch reports; "" if the text says none of that.
func system(message string) string {
	m := strings.TrimPrefix(message, "Welcome to ")
	switch {
	case strings.HasPrefix(m, "Amazon Linux 2023"):
		return "al2023"
	case m == "Amazon Linux 2" || m == "Amazon Linux 2!":
		return "al2"
	case strings.HasPrefix(m, "Bottlerocket OS ") || strings.HasPrefix(m, "Bottlerocket (EKS Auto") ||
		strings.HasPrefix(m, "Booting `Bottlerocket"):
		return "bottlerocket"
	case strings.HasPrefix(m, "Ubuntu ") && (m != message || strings.Contains(m, " ttyS")):
		return "ubuntu"
	case strings.HasPrefix(m, "Linux version ") || strings.HasPrefix(m, "Kernel "):
		return kernelOf(m)
	case strings.Contains(m, "Z: OS: Microsoft Windows ") || strings.Contains(m, "Z: OsProductName: Windows "):
		return "windows"
	}
	return ""
}

// kernelOf is the OS whose kernel it is: "6.1.94-99.176.amzn2023.x86_64".
func kernelOf(m string) string {
	switch {
	case strings.Contains(m, ".amzn2023."):
		return "al2023"
	case strings.Contains(m, ".amzn2."):
		return "al2"
	case strings.Contains(m, "-bottlerocket-linux-gnu"):
		return "bottlerocket"
	case strings.Contains(m, "(Ubuntu "):
		return "ubuntu"
	}
	return ""
}

// architecture is what the kernel's first line, systemd's, or the login prompt's tells.
func architecture(m string) string {
	switch {
	case strings.HasPrefix(m, "Detected architecture x86-64"):
		return "amd64"
	case strings.HasPrefix(m, "Detected architecture arm64"), strings.HasPrefix(m, "Booting Linux on physical CPU 0x"):
		return "arm64"
	case strings.HasPrefix(m, "Linux version "), strings.HasPrefix(m, "Kernel ") && strings.Contains(m, " on an "):
		switch {
		case strings.Contains(m, "x86_64"):
			return "amd64"
		case strings.Contains(m, "aarch64"):
			return "arm64"
		}
	}
	return ""
}

// variant reads Bottlerocket's variant, and from it the minor version of the kubelet,
// or the name of a Windows AMI.
func (r *reader) variant(m string) {
	if strings.HasPrefix(m, "Welcome to Bottlerocket") {
		r.log.Variant = bottlerocketVariant(m)
		if rest, ok := strings.CutPrefix(r.log.Variant, "aws-k8s-"); ok && r.log.KubeletVersion == "" {
			r.log.KubeletVersion = version(rest)
		}
	}
	if _, name, ok := strings.Cut(m, "Z: AMI Origin Name: "); ok && word.MatchString(name) {
		r.log.Variant = name
	}
}

// kubeletVersion: `Fetched kubelet version {"version": "v1.33.4"}` of nodeadm, "Using
// kubelet version 1.29.0" of bootstrap.sh.
func kubeletVersion(s segment) string {
	if _, rest, ok := strings.Cut(s.text, "Fetched kubelet version"); ok {
		if v, ok := between(rest, `"version":`, "}"); ok {
			return version(strings.Trim(v, ` "`))
		}
	}
	if _, rest, ok := strings.Cut(s.text, "[eks-bootstrap] INFO: Using kubelet version "); ok {
		return version(rest)
	}
	return ""
}

// version is the version that s begins with, of two or three numbers, or "".
func version(s string) string {
	s = strings.TrimPrefix(s, "v")
	end := 0
	for end < len(s) && end < 16 && (isDigit(s[end]) || s[end] == '.') {
		end++
	}
	v := strings.TrimRight(s[:end], ".")
	if n := strings.Count(v, "."); n != 1 && n != 2 || strings.HasPrefix(v, ".") || strings.Contains(v, "..") {
		return ""
	}
	return v
}
