package removal

import (
	"fmt"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// left names why what outlived its instance did, and how a person ends it: EC2 deletes with
// an instance what is marked so, by default the root volume and the interfaces of the launch.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/preserving-volumes-on-termination.html
func left(c *evidence.Case, s *cause.Sheet) {
	l := c.Finding.Left
	found := roll.Cause{
		Code: cause.VolumeLeft, Confidence: roll.Decisive,
		Summary: fmt.Sprintf("volume %s was not to be deleted with instance %s (DeleteOnTermination is false); it is attached to nothing, and no PersistentVolume claims it", l.ID, l.Instance),
		Evidence: []roll.Evidence{
			{Source: "instance " + string(l.Instance), Field: "BlockDeviceMappings.Ebs.DeleteOnTermination", Observed: "false", Expected: "true, or a PersistentVolume that claims " + l.ID},
			{Source: "volume", Field: "State", Observed: "available", Expected: "in-use, or no such volume"},
		},
		Fix: fmt.Sprintf("aws ec2 describe-volumes --region %[1]s --volume-ids %[2]s   # its tags tell whose it is\naws ec2 create-snapshot --region %[1]s --volume-id %[2]s   # if its data may be needed\naws ec2 delete-volume --region %[1]s --volume-id %[2]s", c.Region, l.ID),
	}
	clear := cause.InterfaceLeft
	if kind, _, _ := c.Finding.Instance.Subject(); kind == "eni" {
		clear = cause.VolumeLeft
		found.Code = cause.InterfaceLeft
		found.Summary = fmt.Sprintf("network interface %s was not to be deleted with instance %s (DeleteOnTermination is false), and is attached to nothing", l.ID, l.Instance)
		found.Evidence = []roll.Evidence{
			{Source: "instance " + string(l.Instance), Field: "NetworkInterfaces.Attachment.DeleteOnTermination", Observed: "false", Expected: "true"},
			{Source: "network interface", Field: "Status", Observed: "available", Expected: "in-use, or no such interface"},
		}
		found.Fix = fmt.Sprintf("aws ec2 describe-network-interfaces --region %[1]s --network-interface-ids %[2]s   # its tags and description tell whose it is\naws ec2 delete-network-interface --region %[1]s --network-interface-id %[2]s", c.Region, l.ID)
		if l.Public > 0 {
			found.Fix += fmt.Sprintf("\naws ec2 describe-addresses --region %s --filters Name=network-interface-id,Values=%s   # before: an Elastic IP address costs as much without it, until it is released", c.Region, l.ID)
		}
	}
	if c.Finding.Stage != roll.Overdue {
		s.NotChecked("EC2 is asked for it 3 h after the end of its instance", found.Code)
		return
	}
	s.RuledOut(clear)
	s.Found(found)
}
