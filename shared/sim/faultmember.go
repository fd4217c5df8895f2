package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The ways in which a machine of another cluster looks like one of this cluster.
const (
	tagsForeignLast  = "tags"      // eksctl's tag names this cluster, EKS's tag the other one
	tagsForeignFirst = "tags-back" // the same in the other order
	userDataForeign  = "user-data" // only the user data shows it
)

// foreignTags: machines are launched that carry the cluster's tags. They come from an Auto Scaling
// group, or from a launch template that its nodes also use. They are working nodes of another
// cluster.
var foreignTags = faultType{
	kind: FaultForeignTags, weight: 1, need: time.Hour, least: 50 * time.Minute, most: 4 * time.Hour, count: 2,
	values: []string{tagsForeignLast, tagsForeignFirst, userDataForeign},
	shape:  groupsScaled,
	strike: eachCluster(func(c *cluster, f Fault, d dice) {
		const other = "legacy"
		g := c.newStrays("legacy", f, d, f.Count)
		g.template.userData = strings.ReplaceAll(strings.ReplaceAll(g.template.userData, "name: "+c.name, "name: "+other), c.endpoint(), "https://"+strings.ToUpper(shortID(d.of("endpoint"), 32))+".gr7."+region+".eks.amazonaws.com")
		tags := []tag{c.owns(), {"Name", other + "-node"}, {"aws:ec2launchtemplate:id", g.template.id}, {"aws:ec2launchtemplate:version", fmt.Sprint(g.template.version)}}
		switch f.Value {
		case tagsForeignLast:
			tags = append(tags, tag{"alpha.eksctl.io/cluster-name", c.name}, tag{"aws:eks:cluster-name", other})
		case tagsForeignFirst:
			tags = append(tags, tag{"aws:eks:cluster-name", other}, tag{"alpha.eksctl.io/cluster-name", c.name})
		}
		g.launchedWith = g.scaledTags(tags)
		c.a.joinStrays(c, g, f)
	}),
	relent: leaveStrays,
}

// bastionUnread is the form in which the bastion is launched from the same version as a node that does not
// join, with user data of its own that cannot be read. Random scenarios do not have it.
const bastionUnread = "unread"

// bastion: a machine is launched from the nodes' launch template. Its template version was made
// for it, without their user data.
var bastion = faultType{
	kind: FaultBastion, weight: 1, need: time.Hour, least: 50 * time.Minute, most: 4 * time.Hour,
	fits:  fitsScaled,
	shape: groupsScaled,
	strike: func(a *account, f Fault, d dice) {
		all := a.targets(f)
		if len(all) == 0 {
			return
		}
		nodes, c := all[0], all[0].c
		g := c.newStrays("bastion", f, d, 1)
		g.known = "" // it is in no group of nodes
		g.template.id, g.template.version = nodes.template.id, nodes.template.version+100+f.ID
		if f.Value == bastionUnread {
			nodes.template.version++
			nodes.unlucky, nodes.ill = 1, neverJoins
			nodes.rotate(1)
			g.template.version, g.unread = nodes.template.version, unreadDenied
		}
		g.template.userData = oneOf(d.of("script"), "", "#!/bin/bash\ndnf install -y postgresql15\n", "#cloud-config\npackages: [tmux]\n")
		g.launchedWith = g.scaledTags([]tag{
			c.owns(), {"Name", c.name + "-bastion"}, {"aws:ec2launchtemplate:id", g.template.id}, {"aws:ec2launchtemplate:version", fmt.Sprint(g.template.version)},
		})
		a.joinStrays(c, g, f)
	},
	relent: leaveStrays,
}

// newStrays creates a group of machines that are not nodes of the cluster: in their own Auto
// Scaling group, in one of nodes, or without an owner.
func (c *cluster) newStrays(name string, f Fault, d dice, count int) *group {
	var nodes *group
	for _, g := range c.groups {
		if (g.owner == autoScaling || g.owner == nodeGroup) && !g.stray {
			nodes = g
		}
	}
	owner := oneOf(d.of("owner"), autoScaling, autoScaling, nobody)
	g := c.newGroup(GroupSpec{Name: fmt.Sprintf("%s-%d", name, f.ID), Owner: string(owner), Type: "m5.large", Desired: count})
	g.stray = true
	if nodes != nil {
		g.template.id, g.template.version = nodes.template.id, nodes.template.version+100+f.ID
		if nodes.owner == autoScaling && owner == autoScaling && d.of("known").chance(0.5) {
			g.known = nodes.name
		}
	}
	return g
}

// scaledTags returns the tags, with that of the group's Auto Scaling group if it has one.
func (g *group) scaledTags(tags []tag) []tag {
	if g.asgName() != "" {
		tags = append(tags, tag{"aws:autoscaling:groupName", g.asgName()})
	}
	return tags
}

// joinStrays launches the machines of a group that are not nodes of the cluster.
func (a *account) joinStrays(c *cluster, g *group, f Fault) {
	c.groups = append(c.groups, g)
	for len(g.members) < g.desired {
		g.add()
	}
	a.in(10*time.Minute, func() {
		if m := find(g.members, func(m *machine) bool { return m.state == running }); m != nil {
			m.arose(f, "it is no node of "+c.name+", and runs")
		}
	})
}

// leaveStrays terminates them on behalf of whoever launched them.
func leaveStrays(a *account, f Fault, _ dice) {
	for _, c := range a.of(f) {
		for _, g := range slices.Clone(c.groups) {
			if g.stray && strings.HasSuffix(g.name, fmt.Sprintf("-%d", f.ID)) {
				g.atEase()
			}
		}
	}
}
