package network

import (
	"maps"
	"slices"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
)

// boot is what the instance's user data says: its own, that of its launch template's
// version, or that of another instance of its group launched from the same version,
// since user data is read of a few of many alike.
func (l *look) boot() evidence.Fact[userdata.Boot] {
	own, _ := l.UserData()
	if own.Settled() || own.State == evidence.Unreadable || l.i.LaunchTemplate == "" || l.i.LaunchTemplateVersion == "" {
		return own
	}
	if t := l.Templates[l.i.LaunchTemplate+":"+l.i.LaunchTemplateVersion]; t.Known() && t.Value.UserData.Settled() {
		return t.Value.UserData
	}
	for _, id := range slices.Sorted(maps.Keys(l.Instances)) {
		other := l.Instances[id]
		o := other.Config.Value
		if o.LaunchTemplate == l.i.LaunchTemplate && o.LaunchTemplateVersion == l.i.LaunchTemplateVersion && o.Group == l.i.Group && other.UserData.Settled() {
			return other.UserData
		}
	}
	return own
}

// proxied tells whether the node goes through a proxy, which then decides on the way
// out. It certainly does not (closed) if the console shows it dial the API server itself,
// or if nothing can have set a proxy: all of the user data was followed and it runs
// nothing that it fetches, or it is EKS's own.
func (l *look) proxied() (s state, why string) {
	if _, ok := l.timedOut(); ok {
		return closed, ""
	}
	boot := l.boot()
	switch {
	case boot.State == evidence.Absent:
		return closed, ""
	case boot.Known() && boot.Value.Proxy.Any():
		return open, "user data sets a proxy, and the way to it and beyond is not read"
	case boot.Known() && !boot.Value.Unread() && len(boot.Value.Fetches) == 0:
		return closed, ""
	case boot.Known():
		return unsure, "user data runs what was not followed, which may set a proxy"
	}
	if g := l.Group().NodeGroup; g.Known() && g.Value.LaunchTemplate == "" {
		return closed, "" // without a launch template of one's own, EKS writes all of the user data
	}
	if n := l.Group().NodeClass; n.Known() && !n.Value.UserData && n.Value.AMIFamily != "Custom" && (n.Value.AMIFamily != "" || n.Value.AMIAlias != "") {
		return closed, "" // likewise Karpenter, for the families that it knows
	}
	return unsure, boot.Missing("user data")
}
