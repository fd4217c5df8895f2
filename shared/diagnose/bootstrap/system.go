package bootstrap

import (
	"slices"
	"strings"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
)

// The families of AMIs, as evidence.Image and console.Log name them.
const (
	al2          = "al2"
	al2023       = "al2023"
	bottlerocket = "bottlerocket"
	windows      = "windows"
	ubuntu       = "ubuntu"
)

// system is the operating system of an instance, with its source.
type system struct {
	family string // "" if unknown
	eks    bool   // the AMI is one that AWS publishes for EKS nodes
	// source, field and told are the evidence.
	source, field, told string
	gap                 string // why family is unknown
}

// family is what is known about the AMIs of a family.
type family struct {
	title string // as people write it
	// reads is the user data that it reads; needs is the same for a cluster.
	reads, needs string
	// tools can join its instances to a cluster. A kubelet that the user data starts by itself can
	// join anywhere except on Bottlerocket.
	tools []userdata.Tool
	// readers find out which cluster to join. Shell scripts run up to the fault, so a fault in one
	// proves nothing.
	readers []userdata.Reader
	// foreign are the forms of user data that nothing on it reads. User data that has only these was
	// written for another system.
	foreign []userdata.Format
	alias   string // Karpenter's
}

// families has the families by name.
//
//   - Amazon Linux 2023 has nodeadm and no bootstrap.sh, Amazon Linux 2 the reverse:
//     https://docs.aws.amazon.com/eks/latest/userguide/al2023.html
//   - Bottlerocket parses the whole user data as TOML:
//     https://bottlerocket.dev/en/os/latest/concepts/api-driven/
//   - EC2Launch looks for <powershell> or tasks:
//     https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
//   - https://karpenter.sh/docs/concepts/nodeclasses/#alias
var families = map[string]family{
	al2:    withBootstrapScript("Amazon Linux 2"),
	ubuntu: withBootstrapScript("Ubuntu"),
	al2023: {
		title: "Amazon Linux 2023", reads: "a NodeConfig for nodeadm", needs: "a NodeConfig (node.eks.aws/v1alpha1) for ", alias: "al2023@latest",
		tools:   []userdata.Tool{userdata.Nodeadm, userdata.NodeadmCommand, userdata.KubeletCommand},
		readers: []userdata.Reader{userdata.ByNodeadm},
		foreign: []userdata.Format{userdata.Bottlerocket, userdata.PowerShell},
	},
	bottlerocket: {
		title: "Bottlerocket", reads: "TOML settings", needs: "TOML with settings.kubernetes.cluster-name, api-server and cluster-certificate of ", alias: "bottlerocket@latest",
		tools:   []userdata.Tool{userdata.BottlerocketSettings},
		readers: []userdata.Reader{userdata.ByBottlerocket},
		foreign: []userdata.Format{userdata.Shell, userdata.CloudConfig, userdata.Archive, userdata.Multipart, userdata.NodeConfig, userdata.PowerShell, userdata.Include},
	},
	windows: {
		title: "Windows", reads: "PowerShell", needs: "<powershell> that calls Start-EKSBootstrap.ps1 -EKSClusterName ",
		tools:   []userdata.Tool{userdata.WindowsScript, userdata.KubeletCommand},
		readers: []userdata.Reader{userdata.ByWindowsScript},
		foreign: []userdata.Format{userdata.Shell, userdata.CloudConfig, userdata.Archive, userdata.Multipart, userdata.NodeConfig, userdata.Bottlerocket},
	},
}

func withBootstrapScript(title string) family {
	const script = "a shell script that calls /etc/eks/bootstrap.sh"
	return family{
		title: title, reads: script, needs: script + " ",
		tools:   []userdata.Tool{userdata.BootstrapScript, userdata.KubeletCommand},
		readers: []userdata.Reader{userdata.CloudInit, userdata.ByShell},
		foreign: []userdata.Format{userdata.NodeConfig, userdata.Bottlerocket, userdata.PowerShell},
	}
}

// of returns what is known about the system's family, the zero value if the family is unknown.
func (s system) of() family { return families[s.family] }

// readSystem reads the AMI's name first: EKS's own AMIs name their system, and a copy keeps its
// original's name. Then it reads the console, and then the AMI type of a managed node group
// without a custom AMI, which cannot change.
func readSystem(c *evidence.Case) system {
	image, log, group := c.Image(), c.Instance().Console, c.Group().NodeGroup
	s := system{eks: image.Value.EKS}
	switch {
	case image.Value.Family != "":
		s.family, s.source, s.field, s.told = image.Value.Family, "AMI", "Name", image.Value.Name
	case c.Config().Value.Platform == windows:
		s.family, s.source, s.field, s.told = windows, "EC2", "Platform", windows
	case log.Value.OS != "":
		s.family, s.source, s.field, s.told = log.Value.OS, "console", "operating system", log.Value.OS
	case familyOf(group.Value.AMIType) != "":
		s.family, s.source, s.field, s.told = familyOf(group.Value.AMIType), "node group", "amiType", group.Value.AMIType
	case !image.Settled():
		s.gap = image.Gap()
	default:
		s.gap = "neither the name of the AMI nor the console shows which operating system the instance runs"
	}
	return s
}

// familyOf returns the family of a managed node group's AMI type, "" for CUSTOM.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html
func familyOf(amiType string) string {
	for _, f := range []struct{ prefix, family string }{
		{"AL2023_", al2023}, {"AL2_", al2}, {"BOTTLEROCKET_", bottlerocket}, {"WINDOWS_", windows},
	} {
		if strings.HasPrefix(amiType, f.prefix) {
			return f.family
		}
	}
	return ""
}

// fits reports whether the tool exists on the system. On an unknown system any tool may.
func (s system) fits(t userdata.Tool) bool {
	return s.family == "" || slices.Contains(s.of().tools, t)
}

// joins returns the ways of joining that the user data uses on this system. A part that its
// reader rejects or skips uses none.
func (b *start) joins() []userdata.Join {
	return slices.DeleteFunc(slices.Clone(b.data.Value.Joins), func(j userdata.Join) bool { return !b.os.fits(j.Tool) || b.neverRun(j) })
}

// neverRun reports whether the join is in a part that cloud-init does not run.
func (b *start) neverRun(j userdata.Join) bool {
	if j.Tool == userdata.Nodeadm || j.Tool == userdata.BottlerocketSettings {
		return false // they do not need cloud-init
	}
	return slices.ContainsFunc(b.data.Value.Faults, func(f userdata.Fault) bool {
		return f.By == userdata.CloudInit && b.stops(f) && within(j.Part, f.Part) && !slices.Contains(userdata.PassedOver, f.Reason)
	})
}

// stops reports whether the reader rejects the part on this system. cloud-init decodes a second
// base64 from 23.3 on; the AMIs of Amazon Linux 2 have older ones
// (https://github.com/canonical/cloud-init).
func (b *start) stops(f userdata.Fault) bool {
	return f.Effect == userdata.Fails || f.Effect == userdata.Skipped ||
		f.Effect == userdata.Depends && f.Reason == userdata.EncodedAgain && b.os.family == al2
}

// within reports whether a part of user data is the other one, or a part of it.
func within(part, other string) bool {
	return other == "user data" || part == other || strings.HasSuffix(part, " in "+other) ||
		strings.HasPrefix(part, other+".") || strings.Contains(part, " in "+other+".")
}
