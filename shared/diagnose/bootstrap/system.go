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

// title returns the family's name as people write it.
func (s system) title() string {
	return map[string]string{
		al2: "Amazon Linux 2", al2023: "Amazon Linux 2023", bottlerocket: "Bottlerocket", windows: "Windows", ubuntu: "Ubuntu",
	}[s.family]
}

// readSystem reads the AMI's name first: EKS's own AMIs name their system, and a copy keeps its
// original's name. Then it reads the console, and then the AMI type of a managed node group
// without a custom AMI, which cannot change.
func readSystem(c *evidence.Case) system {
	image, log, group := c.Image(), c.Instance().Console, c.Group().NodeGroup
	s := system{eks: image.Known() && image.Value.EKS}
	switch {
	case image.Known() && image.Value.Family != "":
		s.family, s.source, s.field, s.told = image.Value.Family, "AMI", "Name", image.Value.Name
	case c.Config().Known() && c.Config().Value.Platform == windows:
		s.family, s.source, s.field, s.told = windows, "EC2", "Platform", windows
	case log.Known() && log.Value.OS != "":
		s.family, s.source, s.field, s.told = log.Value.OS, "console", "operating system", log.Value.OS
	case group.Known() && familyOf(group.Value.AMIType) != "":
		s.family, s.source, s.field, s.told = familyOf(group.Value.AMIType), "node group", "amiType", group.Value.AMIType
	case !image.Settled():
		s.gap = image.Gap()
	default:
		s.gap = "neither the name of the AMI nor the console tells which operating system the instance runs"
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

// tools maps a family to what can join its instances to a cluster. A kubelet that the user data
// starts by itself can join anywhere except on Bottlerocket.
var tools = map[string][]userdata.Tool{
	al2:          {userdata.BootstrapScript, userdata.KubeletCommand},
	ubuntu:       {userdata.BootstrapScript, userdata.KubeletCommand},
	al2023:       {userdata.Nodeadm, userdata.NodeadmCommand, userdata.KubeletCommand},
	bottlerocket: {userdata.BottlerocketSettings},
	windows:      {userdata.WindowsScript, userdata.KubeletCommand},
}

// fits reports whether the tool exists on the system. On an unknown system any tool may.
func (s system) fits(t userdata.Tool) bool {
	return s.family == "" || slices.Contains(tools[s.family], t)
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
		return f.By == userdata.CloudInit && b.stops(f) && within(j.Part, f.Part)
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
