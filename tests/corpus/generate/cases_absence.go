package generate

import "time"

// absenceCases are about what a bundle does not show, and about what only seems to speak
// against a cause.
func absenceCases() []Case {
	mapping := []string{"https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html", "https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html"}
	// moved gives a machine the profile and the role of another group.
	moved := func(b *Bundle, m *Machine, to Group) {
		b.identity(to)
		m.Instance["IamInstanceProfile"] = object{"Arn": "arn:aws:iam::" + Account + ":instance-profile/" + to.Profile(), "Id": "AIPA" + token(to.Profile())}
	}
	// unmapped is a node of the pool that fell silent, and whose role has no access entry.
	unmapped := func(b *Bundle) *Machine {
		m := b.joined(Batch, 5*day)
		b.silent(m, 45*time.Minute)
		b.unmap(Batch)
		return m
	}
	// newer is a later node of the pool that is well.
	newer := func(b *Bundle) *Machine {
		m := b.Launch(SickToo, "10.0.41.22", "a", Batch, 2*time.Hour)
		b.Join(m, 2*time.Hour-time.Minute)
		return m
	}
	return []Case{
		broken("old-role-of-the-pool-unmapped", "The EC2NodeClass got another role, and the access entry of the old one was deleted. The node that still has the old role went silent; a newer one of the pool is well, with the new role.",
			append(mapping, "https://karpenter.sh/docs/concepts/nodeclasses/#specrole"), func(b *Bundle) *verdict {
				m := unmapped(b)
				moved(b, newer(b), Workers)
				return finds(m, "Unknown", "NodeRoleNotMapped", "KubeletSilent").holds("")
			}),
		misleading("unmapped-role-with-which-another-of-the-pool-works", "The node went silent, and its role has no access entry; another node of the pool has the same role and reports, so the cluster knows the role still, or the entry was deleted a moment ago.",
			mapping, func(b *Bundle) *verdict {
				m := unmapped(b)
				newer(b)
				return finds(m, "Unknown", "KubeletSilent").suggests("NodeRoleNotMapped")
			}),
		misleading("unmapped-role-with-which-another-group-works", "The node is the only one of its group, and its role has no access entry; a node of another group has the same role and reports.",
			mapping, func(b *Bundle) *verdict {
				m := unmapped(b)
				moved(b, b.healthy.worker, Batch)
				return finds(m, "Unknown", "KubeletSilent").suggests("NodeRoleNotMapped")
			}),
	}
}
