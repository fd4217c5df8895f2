package removal

import (
	"fmt"

	"rollcall/shared/diagnose/cause"
	"rollcall/shared/roll"
)

// left explains why something outlived its instance, and how a person ends it: EC2 deletes
// with an instance what is marked so, by default the root volume and the interfaces of the
// launch.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/preserving-volumes-on-termination.html
func (l *look) left() {
	code, other, found := cause.VolumeLeft, cause.InterfaceLeft, l.volumeLeft()
	if kind, _, _ := l.Finding.Instance.Subject(); kind == "eni" {
		code, other, found = cause.InterfaceLeft, cause.VolumeLeft, l.interfaceLeft()
	}
	if l.Finding.Stage != roll.Overdue {
		l.NotChecked("EC2 is asked for it 3 h after the end of its instance", code)
		return
	}
	l.RuledOut(other)
	l.Note(code, found)
}

func (l *look) volumeLeft() cause.Verdict {
	v := l.Finding.Left
	return cause.Decisive().
		Says("volume %s was not to be deleted with instance %s (DeleteOnTermination is false); it is attached to nothing, and no PersistentVolume claims it", v.ID, v.Instance).
		Saw("instance "+string(v.Instance), "BlockDeviceMappings.Ebs.DeleteOnTermination", "false", "true, or a PersistentVolume that claims "+v.ID).
		Saw("volume", "State", "available", "in-use, or no such volume").
		Fix(fmt.Sprintf("aws ec2 describe-volumes --region %[1]s --volume-ids %[2]s   # its tags show whose it is\naws ec2 create-snapshot --region %[1]s --volume-id %[2]s   # if its data may be needed\naws ec2 delete-volume --region %[1]s --volume-id %[2]s", l.Region, v.ID))
}

func (l *look) interfaceLeft() cause.Verdict {
	i := l.Finding.Left
	address := ""
	if i.Public > 0 {
		address = fmt.Sprintf("aws ec2 describe-addresses --region %s --filters Name=network-interface-id,Values=%s   # before: an Elastic IP address costs as much without it, until it is released", l.Region, i.ID)
	}
	return cause.Decisive().
		Says("network interface %s was not to be deleted with instance %s (DeleteOnTermination is false), and is attached to nothing", i.ID, i.Instance).
		Saw("instance "+string(i.Instance), "NetworkInterfaces.Attachment.DeleteOnTermination", "false", "true").
		Saw("network interface", "Status", "available", "in-use, or no such interface").
		Fix(fmt.Sprintf("aws ec2 describe-network-interfaces --region %[1]s --network-interface-ids %[2]s   # its tags and description show whose it is\naws ec2 delete-network-interface --region %[1]s --network-interface-id %[2]s", l.Region, i.ID), address)
}
