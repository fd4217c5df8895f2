package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The ways in which a machine of another cluster looks like one of this cluster.
const (
	tagsForeignLast  = "tags"      // eksctl's tag names this cluster, EKS's tag the other one
	tagsForeignFirst = "tags-back" // the same in the other order
	userDataForeign  = "user-data" // only the user data shows it
)

// foreignTags: working nodes of another cluster carry the cluster's tags, from an Auto Scaling group or a launch
// template that its nodes use.
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

// bastionUnread is the form with unreadable user data, in the version of a node that does not join. It is not drawn.
const bastionUnread = "unread"

// bastion: a machine is launched from a version of the nodes' template that was made for it.
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

// newStrays creates a group of machines that are not nodes, in an own or the nodes' Auto Scaling group, or in none.
func (c *cluster) newStrays(name string, f Fault, d dice, count int) *group {
	var nodes *group
	for _, g := range c.groups {
		if (g.owner == autoScaling || g.owner == nodeGroup) && !g.stray {
			nodes = g
		}
	}
	owner := oneOf(d.of("owner"), autoScaling, autoScaling, nobody)
	g := c.newGroup(GroupSpec{Name: fmt.Sprintf("%s-%d", name, f.ID), Owner: owner, Type: "m5.large", Desired: count})
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

func leaveStrays(a *account, f Fault, _ dice) {
	for _, c := range a.of(f) {
		for _, g := range slices.Clone(c.groups) {
			if g.stray && strings.HasSuffix(g.name, fmt.Sprintf("-%d", f.ID)) {
				g.atEase()
			}
		}
	}
}

// The kinds of other nodes of a cluster.
const (
	besideAuto    = "auto-mode"
	besideCAPI    = "cluster-api"
	besideFargate = "fargate"
	besideHybrid  = "hybrid"
	besideWindows = "windows"
)

// besideNodes: nodes of another owner stop reporting for hours, or are Windows nodes, which boot in two stages.
var besideNodes = faultType{
	kind: FaultBeside, weight: 2, need: 2 * time.Hour, least: 100 * time.Minute, most: 4 * time.Hour, count: 2,
	values: []string{besideAuto, besideCAPI, besideFargate, besideHybrid, besideWindows},
	shape:  []GroupSpec{managedNodes(5), scaledNodes(5)},
	strike: eachCluster(func(c *cluster, f Fault, d dice) {
		switch f.Value {
		case besideFargate, besideHybrid:
			for i := range f.Count {
				c.guest(f, d.nth(i))
			}
		default:
			c.joinBeside(f, d)
		}
	}),
	relent: eachCluster(func(c *cluster, f Fault, _ dice) {
		c.guestsLeave()
		for _, g := range c.groups {
			if g.beside != "" && g.by == f.ID {
				g.leaves()
			}
		}
	}),
}

func (c *cluster) joinBeside(f Fault, d dice) {
	a := c.a
	owner := nobody
	if f.Value == besideWindows {
		owner = autoScaling
	}
	g := c.newGroup(GroupSpec{Name: fmt.Sprintf("%s-%d", f.Value, f.ID), Owner: owner, Type: "m5.large", Desired: f.Count})
	g.beside, g.by = f.Value, f.ID
	switch f.Value {
	case besideAuto:
		g.launchedWith = []tag{c.owns(), {"eks:eks-cluster-name", c.name}, {"eks:kubernetes-node-pool-name", "general-purpose"}}
		g.labels = map[string]string{"eks.amazonaws.com/compute-type": "auto", "karpenter.sh/nodepool": "general-purpose", "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
	case besideCAPI:
		g.launchedWith = []tag{c.owns(), {"sigs.k8s.io/cluster-api-provider-aws/cluster/" + c.name, "owned"}, {"sigs.k8s.io/cluster-api-provider-aws/role", "node"}}
	case besideWindows:
		g.kind.Boots = d.of("boots").between(12*time.Minute, 22*time.Minute)
		g.labels = map[string]string{"kubernetes.io/os": "windows"}
		g.template.ami, g.template.amiName = "ami-0"+shortID(g.d.of("windows"), 16), "Windows_Server-2022-English-Core-EKS_Optimized-"+kubernetesVersion+"-2026.02.11"
		g.template.userData = fmt.Sprintf("<powershell>\n[string]$EKSBootstrapScriptFile = \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\"\n& $EKSBootstrapScriptFile -EKSClusterName %q -APIServerEndpoint %q -Base64ClusterCA %q 3>&1 4>&1 5>&1 6>&1\n</powershell>\n", c.name, c.endpoint(), c.authority())
	}
	c.groups = append(c.groups, g)
	c.mapRoles()
	c.changed()
	for len(g.members) < g.desired {
		m := g.launch(g.zone())
		g.active(true, "Launching a new EC2 instance: "+m.id)
		if f.Value == besideWindows {
			a.arose(f, c, m, "a Windows machine, which boots for "+g.kind.Boots.Round(time.Second).String())
			continue
		}
		a.in(d.of("ails").nth(len(g.members)).between(5*time.Minute, 20*time.Minute), func() {
			m.fall(oneOf(d.of("ail").nth(len(g.members)), silent, notReady), false, false)
			a.arose(f, c, m, string(m.ail)+", and of "+g.beside)
		})
	}
}

func (g *group) leaves() {
	g.desired = 0
	for _, m := range slices.Clone(g.members) {
		m.end(g.beside + ": it is not needed any more")
	}
}

// guest creates a node of a Fargate pod or a machine on premises, which stops reporting after a while.
func (c *cluster) guest(f Fault, d dice) {
	a := c.a
	address := fmt.Sprintf("10-%d-%d-%d", 200+c.index(), d.of("third").below(250), d.of("fourth").below(250)+4)
	zone := oneOf(d.of("zone"), zones...)
	name := "fargate-ip-" + address + "." + region + ".compute.internal"
	n := &node{
		c: c, name: name, uid: uid(d.of("node")), created: c.stamp(), bootID: uid(d.of("boot")), guest: f.Value, annotations: map[string]string{},
		provider: "aws:///" + zone + "/" + shortID(d.of("eni"), 10) + "-" + shortID(d.of("eni2"), 32) + "/" + name,
		labels: map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "eks.amazonaws.com/compute-type": f.Value,
			"topology.kubernetes.io/zone": zone, "topology.k8s.aws/zone-id": zoneID(zone),
		},
	}
	if f.Value == besideHybrid {
		n.name = "mi-0" + shortID(d.of("machine"), 16)
		n.labels["kubernetes.io/hostname"] = n.name
		n.provider = "eks-hybrid:///" + region + "/" + c.name + "/" + n.name
		delete(n.labels, "topology.k8s.aws/zone-id")
		delete(n.labels, "topology.kubernetes.io/zone")
	}
	n.conditions, n.works = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: metav1.NewTime(n.created)}}, true
	c.addNode(n)
	a.in(d.of("silent").between(5*time.Minute, 25*time.Minute), func() {
		if c.byNode[n.name] == n {
			n.turn(corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
			a.arose(f, c, nil, n.name+" is silent, and of "+n.guest)
		}
	})
}

func (c *cluster) guestsLeave() {
	for _, n := range slices.Clone(c.nodes) {
		if n.guest != "" {
			c.removeNode(n)
		}
	}
}

// shaped sets the fields of EC2's description that depend on what the group's machines are.
func (g *group) shaped(i *types.Instance) {
	if g.spot {
		i.InstanceLifecycle, i.SpotInstanceRequestId = types.InstanceLifecycleTypeSpot, aws.String("sir-"+shortID(g.d.of("spot request"), 8))
	}
	switch g.beside {
	case besideAuto:
		i.Operator = &types.OperatorResponse{Managed: aws.Bool(true), Principal: aws.String("eks.amazonaws.com")}
	case besideWindows:
		i.Platform, i.PlatformDetails = types.PlatformValuesWindows, aws.String("Windows")
	}
}
