package sim

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
)

// newCluster creates a cluster of the account, with its groups and without machines.
func (a *account) newCluster(s ClusterSpec) *cluster {
	d := a.d.of("cluster").of(s.Name)
	c := &cluster{
		a: a, d: d, name: s.Name, status: "ACTIVE", spec: s, mode: s.Mode, created: a.Now().Add(-90 * 24 * time.Hour),
		byNode: map[string]*node{},
	}
	if !a.sc.Quiet {
		c.skew = d.of("skew").between(-3*time.Second, 3*time.Second)
		if d.of("unplaced").chance(0.3) {
			c.unplaced = 2
		}
	}
	a.clusters = append(a.clusters, c)
	a.byName[c.name] = c
	for _, of := range s.Groups {
		g := c.newGroup(of)
		g.spec = of
		c.groups = append(c.groups, g)
	}
	c.mapRoles()
	return c
}

var nodeGroups = []string{"system:bootstrappers", "system:nodes"} // the Kubernetes groups of a node's role

const nodeUser = "system:node:{{EC2PrivateDNSName}}" // the user name of a node in aws-auth

// mapRoles maps the roles of all groups to nodes, or the controller's role in place of an unmapped one.
func (c *cluster) mapRoles() {
	c.mapped = nil
	for _, g := range c.groups {
		role := g.role
		if g.unmapped {
			role = c.controllerRole()
		}
		if !c.maps(role) {
			c.mapped = append(c.mapped, role)
		}
	}
}

func (c *cluster) controllerRole() string { return "KarpenterControllerRole-" + c.name }

func (c *cluster) maps(role string) bool {
	return slices.Contains(c.mapped, role)
}

func (c *cluster) endpoint() string {
	return fmt.Sprintf("https://%s.gr7.%s.eks.amazonaws.com", strings.ToUpper(shortID(c.d.of("endpoint"), 32)), region)
}

// authority returns the cluster's certificate authority, in base64. It signs nothing.
func (c *cluster) authority() string {
	return base64.StdEncoding.EncodeToString([]byte("certificate authority of " + c.name))
}

func (c *cluster) group(name string) *group {
	return find(c.groups, func(g *group) bool { return g.name == name })
}

func (c *cluster) delete() {
	if !c.exists() {
		return
	}
	c.deleted = c.a.Now()
	for _, g := range c.groups {
		g.suspended = true
	}
	c.nodes, c.byNode, c.claims = nil, map[string]*node{}, nil
	for _, m := range c.machines {
		m.node, m.claim, m.reporting = nil, nil, false
	}
	c.changed()
}
