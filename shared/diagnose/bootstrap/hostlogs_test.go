package bootstrap_test

import (
	"testing"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/console"
)

// What a line of the host's logs says counts as on the console. What follows from what a text lacks
// follows from the console alone: the logs are tails.
func TestTheHostsLogsAreTails(t *testing.T) {
	config := nodeConfig(name, endpoint, ca)
	unread := func(s *scene) *scene {
		return s.update(func(i *evidence.Instance) { i.Console = evidence.Failed[console.Log]("why") })
	}
	unit := "Mar 10 11:20:30 ip-10-0-0-1 systemd[1]: nodeadm-config.service: Failed with result 'exit-code'."
	ended := "Mar 10 11:20:37 ip-10-0-0-1 cloud-init[990]: Cloud-init v. 22.2.2 finished at Tue, 10 Mar 2026 11:20:37 +0000. Datasource DataSourceEc2.  Up 17.80 seconds"
	check(t, []example{
		{"the boot ended by the logs, and the console has no end", healthyWith(amiOwn, config).console(lines(bootAL2023)...).printed("cloud-init", ended), ""},
		{"the boot ended by the logs alone", unread(healthyWith(amiOwn, config)).printed("cloud-init", ended), ""},
		{"a whole console without a trace, and logs without one", healthyWith(amiOwn, config).console(lines(bootAL2023, finished)...).printed("cloud-init", ended), "AmiWithoutKubernetes"},
		{"a whole console without a trace, and logs with one", healthyWith(amiOwn, config).console(lines(bootAL2023, finished)...).printed("nodeadm", "Mar 10 11:20:30 ip-10-0-0-1 nodeadm[1619]: {}"), ""},
		{"nodeadm failed by the logs alone", unread(nodeadm()).printed("nodeadm", unit), "NodeadmFailed"},
		{"nodeadm failed by the logs, and no cause of it is in the tail", unread(healthyWith(amiOwn, config).without()).printed("nodeadm", unit), "UserDataEmpty? NodeadmFailed"},
		{"nodeadm failed, and the kubelet started later", unread(nodeadm()).printed("nodeadm", unit, "Mar 10 11:20:39 ip-10-0-0-1 systemd[1]: Started kubelet.service - Kubernetes Kubelet."), ""},
		{"nodeadm failed on the console, and the kubelet started by the logs", nodeadm().console("[FAILED] Failed to start nodeadm-config.service - EKS Nodeadm Config.").printed("kubelet", "Mar 10 11:20:39 ip-10-0-0-1 systemd[1]: Started kubelet.service - Kubernetes Kubelet."), ""},
	})
}
