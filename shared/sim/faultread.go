package sim

import (
	"encoding/base64"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// The results of reading a machine's user data.
const (
	unreadDenied  = "denied"
	unreadFailing = "failing"
	unreadRemoved = "removed"
	unreadCut     = "cut"
	unreadGarbled = "garbled"
	// unreadByHand: a machine that a person launched has the group's unmapped role, and is unreadable. It is not drawn.
	unreadByHand = "by hand"
)

// unreadSibling: a new template version breaks two machines, and one's user data is unreadable.
var unreadSibling = faultType{
	kind: FaultUnreadSibling, weight: 2, need: 100 * time.Minute, least: 90 * time.Minute, most: 4 * time.Hour,
	values: []string{unreadDenied, unreadFailing, unreadRemoved, unreadCut, unreadGarbled},
	fits:   fitsActedOnSoon,
	shape:  groupsOfSix,
	strike: eachGroup(func(g *group, f Fault, d dice) {
		switch {
		case !actedOnSoon(g.spec):
		case f.Value == unreadByHand:
			g.shareUnmapped(f)
		default:
			g.unread = f.Value
			detail := "its user data cannot be read (" + f.Value + "), and it fails for what others of its group do"
			g.rollsOut(f, oneOf(d.of("break"), FaultTemplate, FaultTaint), 2, 10*time.Minute, detail, func(m *machine) bool {
				return m.unread != "" && count(g.members, func(m *machine) bool { return m.stays }) > 1
			})
		}
	}),
	relent: eachGroup(func(g *group, _ Fault, _ dice) {
		if g.unread != "" {
			g.unread = ""
			g.mend()
		}
	}),
}

// shareUnmapped unmaps the group's role, with which it launches a machine and a person another.
func (g *group) shareUnmapped(f Fault) {
	g.unmap(true)
	g.grow(1)
	other := g.c.newGroup(GroupSpec{Name: fmt.Sprintf("by-hand-%d", f.ID), Owner: nobody, Type: "m5.large", Desired: 1})
	other.role, other.unread = g.role, unreadDenied
	g.c.groups = append(g.c.groups, other)
	other.unmap(true)
	other.add()
}

// loneCause: a new template version breaks one machine, and its user data shows why.
var loneCause = faultType{
	kind: FaultLoneCause, weight: 2, need: 100 * time.Minute, least: 90 * time.Minute, most: 4 * time.Hour,
	values: []string{string(FaultTemplate), string(FaultTaint)},
	fits:   fitsActedOnSoon,
	shape:  groupsOfSix,
	strike: eachGroup(func(g *group, f Fault, _ dice) {
		if actedOnSoon(g.spec) {
			g.rollsOut(f, FaultKind(f.Value), 1, 40*time.Minute, "it fails for its template, as its user data shows", func(m *machine) bool {
				return m.template.version == g.plain && m.stays && m.c.a.Now().Sub(m.launched) > 30*time.Minute
			})
			g.plain = g.template.version
		}
	}),
	relent: eachGroup(func(g *group, _ Fault, _ dice) {
		if g.plain != 0 {
			g.plain = 0
			g.mend()
		}
	}),
}

func (m *machine) readUserData(call string) (*types.AttributeValue, error) {
	text := m.template.userData
	switch m.unread {
	case unreadDenied:
		return nil, notAllowed(call)
	case unreadFailing:
		return nil, awsFault(faultServer, call)
	case unreadRemoved:
		text = ""
	case unreadCut:
		text = text[:len(text)/4]
	case unreadGarbled:
		return &types.AttributeValue{Value: aws.String(base64.StdEncoding.EncodeToString([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 0x13, 0x37, 0xfe, 0xed}))}, nil
	}
	return &types.AttributeValue{Value: inBase64(text)}, nil
}

// What Karpenter does not register.
const (
	refusedNode  = "a node without its taint"
	refusedEmpty = "nothing"
)

// refused: Karpenter registers no machine of a new version, terminates each after 15 minutes, and launches another.
var refused = faultType{
	kind: FaultRefused, weight: 2, need: 100 * time.Minute, least: time.Hour, most: 4 * time.Hour,
	values: []string{refusedNode, refusedEmpty},
	fits:   fitsKarpenter,
	shape:  []GroupSpec{managedNodes(4), pooledNodes(4)},
	strike: eachGroup(func(g *group, f Fault, _ dice) {
		if g.owner != karpenter {
			return
		}
		g.rollsOut(f, FaultTemplate, 1, 10*time.Minute, "it is not registered, and Karpenter ends it soon", func(m *machine) bool {
			return m.stays && m.claim != nil && m.claim.registered.IsZero()
		})
		if f.Value == refusedNode { // the next machine is launched later
			g.template.refused, g.template.breaks, g.template.userData, g.template.console = true, neverReady, g.spare.userData, ""
		}
	}),
	relent: eachGroup(func(g *group, _ Fault, _ dice) {
		if g.owner == karpenter {
			g.mend()
		}
	}),
}
