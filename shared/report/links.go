package report

import (
	"net/url"
	"strings"

	"rollcall/shared/roll"
)

// NoticeLinks are pages of the AWS console. A link is "" if the object is not in AWS, or in a
// partition whose console is unknown.
type NoticeLinks struct {
	Instance string `json:"instance,omitempty"` // the first instance of the notice
	Group    string `json:"group,omitempty"`    // the Auto Scaling group, or the node group
	Cluster  string `json:"cluster,omitempty"`
	Evidence string `json:"evidence,omitempty"`
}

// linksTo returns the pages of an instance, its group and cluster, and the evidence.
func linksTo(id roll.ClusterID, instance roll.InstanceID, g roll.Group, evidence string) NoticeLinks {
	base := roll.Console(id.Region)
	if base == "" {
		return NoticeLinks{}
	}
	region := "region=" + id.Region
	l := NoticeLinks{Cluster: roll.ClusterPage(id.Region, id.Name)}
	if instance.IsInstance() {
		l.Instance = roll.InstancePage(id.Region, instance)
	}
	switch kind, name, _ := strings.Cut(string(g), "/"); kind {
	case "asg":
		l.Group = base + "/ec2/home?" + region + "#AutoScalingGroupDetails:id=" + url.PathEscape(name) + ";view=activity"
	case "nodegroup":
		l.Group = base + "/eks/clusters/" + url.PathEscape(id.Name) + "/nodegroups/" + url.PathEscape(name) + "?" + region
	}
	l.Evidence = evidencePage(id.Region, evidence)
	return l
}

// first returns the page that a letter links to, the zero value if there is none.
func (l NoticeLinks) first() link {
	for _, k := range []link{{"Evidence", l.Evidence}, {"Instance", l.Instance}, {"Group", l.Group}, {"Cluster", l.Cluster}} {
		if k.url != "" {
			return k
		}
	}
	return link{}
}
