package sim

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	"rollcall/shared/ledger"
	"rollcall/shared/roll"
)

// What outlives a machine, and what happens to it afterwards.
const (
	leftVolume    = "volume"    // an EBS volume that nobody needs
	leftInterface = "interface" // a network interface that nobody needs
	leftClaimed   = "claimed"   // a volume of a PersistentVolume that is bound
	leftAttached  = "attached"  // a volume that is attached to another machine within the hour
	leftDeleted   = "deleted"   // a volume that is deleted within the hour
	leftOrphan    = "orphan"    // a volume of an orphan, which a person terminates if Rollcall does not
)

// leftBehind: machines with a resource that outlives them fail for good, or become orphans.
var leftBehind = faultType{
	kind: FaultLeft, weight: 1, need: 5 * time.Hour, count: 2,
	values: []string{leftVolume, leftInterface, leftClaimed, leftAttached, leftDeleted, leftOrphan},
	fits:   func(g GroupSpec, value string) bool { return value != leftOrphan || g.Owner == karpenter },
	shape:  []GroupSpec{managedNodes(5), pooledNodes(5)},
	strike: eachVictim(func(m *machine, f Fault, d dice) {
		if m.leaves != nil || m.shown == nil {
			return
		}
		m.keep(f, d)
		m.fall(silent, false, false)
		if f.Value != leftOrphan {
			return
		}
		m.c.removeNode(m.node)
		if m.claim != nil {
			m.c.dropClaim(m.claim)
		}
		m.c.a.in(d.between(50*time.Minute, 80*time.Minute), func() { m.end("a person: nothing owned it") })
	}),
}

// leftover is a volume or a network interface that outlives its machine.
type leftover struct {
	a       *account
	id      string
	value   string
	machine *machine
	state   leftState
	changed time.Time // when it last entered its state
	ended   time.Time // when its machine was terminated, zero while the machine exists
	acted   bool      // Rollcall terminated its machine, or knew it as an orphan before
	since   time.Time // when nothing prevented its report any more
	told    bool
}

type leftState int

const (
	leftInUse leftState = iota // attached to a machine
	leftFree                   // not attached
	leftGone                   // deleted
)

func (l *leftover) becomes(s leftState) { l.state, l.changed = s, l.a.Now() }

func (l *leftover) isInterface() bool { return l.value == leftInterface }

// wanted reports whether the leftover is still in use, and so must never be reported.
func (l *leftover) wanted() bool { return l.value == leftClaimed }

// keep gives the machine a resource that outlives it, which EC2 shows from now on.
func (m *machine) keep(f Fault, d dice) {
	a := m.c.a
	l := &leftover{a: a, id: "vol-0" + shortID(d.of("volume"), 16), value: f.Value, machine: m}
	next := *m.shown
	if l.isInterface() {
		l.id = "eni-0" + shortID(d.of("interface"), 16)
		next.NetworkInterfaces = []types.InstanceNetworkInterface{{NetworkInterfaceId: &l.id, Attachment: &types.InstanceNetworkInterfaceAttachment{DeleteOnTermination: aws.Bool(false), DeviceIndex: aws.Int32(1)}}}
	} else {
		next.BlockDeviceMappings = []types.InstanceBlockDeviceMapping{{DeviceName: aws.String("/dev/xvdb"), Ebs: &types.EbsInstanceBlockDevice{VolumeId: &l.id, DeleteOnTermination: aws.Bool(false)}}}
	}
	m.shown, m.c.listed = &next, nil
	m.leaves, a.left = l, append(a.left, l)
}

func (l *leftover) outlive(by string) {
	a, m := l.a, l.machine
	l.ended, l.since = a.Now(), a.Now()
	state := a.dep.state(m.c.name)
	orphan := state.Findings[roll.FindingKey{Instance: roll.InstanceID(m.id), Kind: roll.Orphaned}]
	l.acted = by == rollcall || !orphan.FirstSeen.IsZero() && l.ended.Sub(orphan.FirstSeen) > 10*time.Minute ||
		slices.ContainsFunc(state.Actions, func(a ledger.Action) bool {
			return string(a.Instance) == m.id && a.Do == acts[actDeleteClaim] && a.Outcome != nil && a.Outcome.Result == ledger.Done
		})
	if l.acted {
		a.arose(Fault{Kind: FaultLeft, Value: l.value}, m.c, m, l.id+" outlives it")
	}
	a.in(time.Minute, func() { l.becomes(leftFree) })
	after := m.d.of("left").between(30*time.Minute, time.Hour)
	switch l.value {
	case leftAttached:
		a.in(after, func() { l.becomes(leftInUse) })
	case leftDeleted:
		a.in(after, func() { l.becomes(leftGone) })
	default: // a person deletes it eventually
		a.in(6*time.Hour, func() { l.becomes(leftGone) })
	}
}

// outlived returns the existing leftovers with these IDs.
func (a *account) outlived(ids []string, interfaces bool) []*leftover {
	return slices.DeleteFunc(slices.Clone(a.left), func(l *leftover) bool {
		return l.state == leftGone || l.isInterface() != interfaces || !slices.Contains(ids, l.id)
	})
}

// DescribeVolumes returns volumes by a filter of their IDs.
func (e ec2API) DescribeVolumes(in *ec2.DescribeVolumesInput, out *ec2.DescribeVolumesOutput) error {
	for _, l := range e.v.a.outlived(e.filtered(in, "volume-id", in.Filters, in.VolumeIds, in.NextToken), false) {
		v := types.Volume{
			VolumeId: &l.id, VolumeType: types.VolumeTypeGp3, Size: aws.Int32(100), Iops: aws.Int32(3000), Throughput: aws.Int32(125),
			AvailabilityZone: &l.machine.zone, State: types.VolumeStateAvailable,
		}
		if l.state == leftInUse {
			v.State, v.Attachments = types.VolumeStateInUse, []types.VolumeAttachment{{VolumeId: &l.id, State: types.VolumeAttachmentStateAttached}}
		}
		out.Volumes = append(out.Volumes, v)
	}
	return nil
}

// DescribeNetworkInterfaces returns network interfaces by a filter of their IDs.
func (e ec2API) DescribeNetworkInterfaces(in *ec2.DescribeNetworkInterfacesInput, out *ec2.DescribeNetworkInterfacesOutput) error {
	for _, l := range e.v.a.outlived(e.filtered(in, "network-interface-id", in.Filters, in.NetworkInterfaceIds, in.NextToken), true) {
		n := types.NetworkInterface{
			NetworkInterfaceId: &l.id, AvailabilityZone: &l.machine.zone, SubnetId: aws.String(l.machine.c.subnet(l.machine.zone)), OwnerId: aws.String(accountID),
			Status: types.NetworkInterfaceStatusAvailable,
		}
		if l.state == leftInUse {
			n.Status, n.Attachment = types.NetworkInterfaceStatusInUse, &types.NetworkInterfaceAttachment{Status: types.AttachmentStatusAttached}
		}
		out.NetworkInterfaces = append(out.NetworkInterfaces, n)
	}
	return nil
}

// listLeft lists the PersistentVolumes of volumes that outlive their machines.
func (c *cluster) listLeft(to *kubeList) {
	for _, l := range c.a.left {
		if l.machine.c != c || !l.wanted() || l.state == leftGone {
			continue
		}
		source := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: l.id}}
		to.object(boundVolume("pvc-"+l.id[4:], l.machine.launched, source, "gp3", "data-"+l.id[4:]))
	}
}
