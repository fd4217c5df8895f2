package userdata

import (
	"slices"
	"strings"
)

// windowsParameters are those of Start-EKSBootstrap.ps1 in their order (EKS User
// Guide, Create nodes with optimized Windows AMIs, bootstrap script
// configuration parameters).
var windowsParameters = []string{
	windowsParameter, "-kubeletextraargs", "-kubeproxyextraargs", "-apiserverendpoint",
	"-base64clusterca", "-dnsclusterip", "-servicecidr", "-excludedsnatcidrs",
	"-containerruntime", "-region", "-endpoint",
}

// join reads the arguments of Start-EKSBootstrap.ps1.
func (p *powershell) join(args []psWord) {
	if p.r.full() {
		return
	}
	values := windowsArguments(args)
	j := Join{Tool: WindowsScript, Conditional: p.braces > 0}
	j.Part = p.part
	j.Cluster = setting(values[windowsParameter], validName)
	j.Endpoint = setting(values["-apiserverendpoint"], validEndpoint)
	j.CA = CertificateOf(values["-base64clusterca"])
	j.ClusterDNS = setting(values["-dnsclusterip"], validAddresses)
	j.ServiceCIDR = setting(values["-servicecidr"], validCIDR)
	// The script puts the text on the kubelet's command line, where Windows knows
	// double quotes only.
	words := splitWords(trace(values["-kubeletextraargs"]), `"`, false)
	j.Kubelet = newKubelet(words, func(int) string { return p.part }, kubeletConfig{})
	if j.Cluster.State == Absent {
		j.Missing = []string{"-EKSClusterName"}
	}
	p.r.join(j)
}

// windowsArguments gives the values by the parameters' full names. PowerShell
// takes a name in any case, shortened as far as it stays clear, with its value
// after a colon or in the next word; a word without a name is the first
// parameter that has no value yet.
func windowsArguments(args []psWord) map[string]string {
	values := map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, colon := strings.Cut(args[i].raw, ":")
		full, known := windowsName(asciiLower(name))
		switch {
		case known && colon && value != "":
			if strings.Contains(value, "$") {
				value = unknown
			}
			values[full] = strings.Trim(value, `'"`)
		case known && i+1 < len(args):
			i++
			values[full] = args[i].text
		case !strings.HasPrefix(args[i].raw, "-") && !isRedirect(args[i].raw):
			if j := slices.IndexFunc(windowsParameters, func(p string) bool { return values[p] == "" }); j >= 0 && args[i].text != "" {
				values[windowsParameters[j]] = args[i].text
			}
		}
	}
	return values
}

// isRedirect holds for 3>&1 and the like.
func isRedirect(raw string) bool { return strings.Contains(raw, ">") }

func windowsName(name string) (full string, known bool) {
	if len(name) < 2 || name[0] != '-' {
		return "", false
	}
	for _, p := range windowsParameters {
		if p == name {
			return p, true
		}
		if strings.HasPrefix(p, name) && full == "" {
			full = p
		}
	}
	return full, full != ""
}
