package observe

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

func TestWhatOutlivesAnInstanceIsWhatIsNotDeletedWithIt(t *testing.T) {
	volume := func(id string, deleted *bool) types.InstanceBlockDeviceMapping {
		return types.InstanceBlockDeviceMapping{Ebs: &types.EbsInstanceBlockDevice{VolumeId: aws.String(id), DeleteOnTermination: deleted}}
	}
	network := func(id string, deleted *bool) types.InstanceNetworkInterface {
		return types.InstanceNetworkInterface{NetworkInterfaceId: aws.String(id), Attachment: &types.InstanceNetworkInterfaceAttachment{DeleteOnTermination: deleted}}
	}
	got := new(projector).instance(&types.Instance{
		BlockDeviceMappings: []types.InstanceBlockDeviceMapping{volume("vol-1", aws.Bool(true)), volume("vol-3", aws.Bool(false)), volume("vol-2", aws.Bool(false)), volume("vol-4", nil), {}},
		NetworkInterfaces:   []types.InstanceNetworkInterface{network("eni-1", aws.Bool(true)), network("eni-2", aws.Bool(false)), network("eni-3", nil), {}},
	}, "demo")
	expect.List(t, got.Outlives, []string{"eni-2", "vol-2", "vol-3"}, "got.Outlives")
}

func aVolume(id string, state types.VolumeState) types.Volume {
	return types.Volume{VolumeId: aws.String(id), State: state, VolumeType: types.VolumeTypeGp3, Size: aws.Int32(100), Iops: aws.Int32(3000), Throughput: aws.Int32(125), AvailabilityZone: aws.String("eu-west-1a")}
}

func anInterface(id string, change func(*types.NetworkInterface)) types.NetworkInterface {
	n := types.NetworkInterface{NetworkInterfaceId: aws.String(id), Status: types.NetworkInterfaceStatusAvailable, SubnetId: aws.String("subnet-1"), OwnerId: aws.String("111122223333")}
	change(&n)
	return n
}

func claimedVolume(name, phase, source string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{%s},"status":{"phase":%q}}`, name, source, phase)
}

// askLeft reads which of the ids are left in the account.
func askLeft(t *testing.T, a *account, p *podAPI, ids ...string) *roll.Snapshot {
	t.Helper()
	var subjects []roll.InstanceID
	for _, id := range ids {
		subject, ok := roll.LeftoverID(id)
		if !ok {
			t.Fatal(id)
		}
		subjects = append(subjects, subject)
	}
	s := &roll.Snapshot{At: at, Cluster: roll.Cluster{ID: roll.ClusterID{Account: "111122223333"}}}
	New(Options{AWS: a.aws(), Kube: p, PageInterval: time.Nanosecond}).Left(t.Context(), s, subjects)
	return s
}

func leftIDs(s *roll.Snapshot) string {
	var out []string
	for _, subject := range slices.Sorted(maps.Keys(s.Left)) {
		out = append(out, s.Left[subject].ID)
	}
	return strings.Join(out, " ")
}

func TestAVolumeIsLeftIfNothingHasItAndNobodyClaimsIt(t *testing.T) {
	a := newAccount(t)
	managed := aVolume("vol-5", types.VolumeStateAvailable)
	managed.Operator = &types.OperatorResponse{Managed: aws.Bool(true)}
	a.volumes = []types.Volume{
		aVolume("vol-1", types.VolumeStateAvailable), aVolume("vol-2", types.VolumeStateInUse), aVolume("vol-3", types.VolumeStateAvailable), aVolume("vol-4", types.VolumeStateAvailable),
		managed, aVolume("vol-6", types.VolumeStateDeleting), aVolume("vol-7", types.VolumeStateAvailable), aVolume("vol-8", types.VolumeStateAvailable),
		aVolume("vol-other", types.VolumeStateAvailable),
	}
	p := &podAPI{items: strings.Join([]string{
		claimedVolume("a", "Bound", `"csi":{"driver":"ebs.csi.aws.com","volumeHandle":"vol-3"}`),
		claimedVolume("b", "Bound", `"awsElasticBlockStore":{"volumeID":"aws://eu-west-1a/vol-4"}`),
		claimedVolume("c", "Bound", `"csi":{"driver":"efs.csi.aws.com","volumeHandle":"fs-1"}`),
		claimedVolume("d", "Released", `"persistentVolumeReclaimPolicy":"Retain","csi":{"driver":"ebs.csi.aws.com","volumeHandle":"vol-7"}`),
		claimedVolume("e", "Released", `"persistentVolumeReclaimPolicy":"Delete","csi":{"driver":"ebs.csi.aws.com","volumeHandle":"vol-8"}`),
	}, ",")}
	s := askLeft(t, a, p, "vol-1", "vol-2", "vol-3", "vol-4", "vol-5", "vol-6", "vol-7", "vol-8", "vol-gone")
	got := leftIDs(s)
	expect.That(t, got == "vol-1 vol-8" && len(s.LeftRead) == 9 && len(s.Gaps) == 0, "left %q, read %v, gaps %v", got, s.LeftRead, s.Gaps)
	want := (roll.Leftover{ID: "vol-1", Zone: "eu-west-1a", Type: "gp3", Size: 100, IOPS: 3000, Throughput: 125})
	expect.That(t, s.Left["volume/vol-1"] == want, "%+v", s.Left["volume/vol-1"])
}

func TestTheClaimsAreReadOnlyIfThereIsAVolumeToAskAbout(t *testing.T) {
	a, p := newAccount(t), &podAPI{}
	a.volumes = []types.Volume{aVolume("vol-1", types.VolumeStateInUse)}
	s := askLeft(t, a, p, "vol-1", "eni-1")
	expect.That(t, len(p.asked) == 0 && s.LeftRead["volume/vol-1"] == roll.Yes && len(s.Left) == 0, "asked %v, read %v, left %v", p.asked, s.LeftRead, s.Left)
}

func TestWithoutTheClaimsNoVolumeIsLeft(t *testing.T) {
	for name, p := range map[string]*podAPI{"denied": {fails: map[string]int{"/api/v1/persistentvolumes": 403}}, "out of reach": {cannot: errors.New("no route")}} {
		a := newAccount(t)
		a.volumes = []types.Volume{aVolume("vol-1", types.VolumeStateAvailable), aVolume("vol-2", types.VolumeStateInUse)}
		s := askLeft(t, a, p, "vol-1", "vol-2", "vol-3")
		expect.That(t, len(s.Left) == 0 && s.LeftRead["volume/vol-1"] == roll.NotAsked && s.LeftRead["volume/vol-2"] == roll.Yes && s.LeftRead["volume/vol-3"] == roll.Yes, "%s: left %v, read %v", name, s.Left, s.LeftRead)
		expect.That(t, len(s.Gaps) == 1 && s.Gaps[0].Call == roll.CallVolumes && s.Gaps[0].Scope == roll.ScopeDetail && s.Whole(), "%s: %+v", name, s.Gaps)
	}
}

func TestAnInterfaceIsLeftIfItIsTheAccountsOwnAndNothingHasIt(t *testing.T) {
	a := newAccount(t)
	association := &types.NetworkInterfaceAssociation{PublicIp: aws.String("198.51.100.7")}
	a.interfaces = []types.NetworkInterface{
		anInterface("eni-1", func(*types.NetworkInterface) {}),
		anInterface("eni-2", func(n *types.NetworkInterface) {
			n.Association = association
			n.PrivateIpAddresses = []types.NetworkInterfacePrivateIpAddress{{}, {Association: &types.NetworkInterfaceAssociation{PublicIp: aws.String("198.51.100.7")}}, {Association: association}}
		}),
		anInterface("eni-3", func(n *types.NetworkInterface) { n.Status = types.NetworkInterfaceStatusInUse }),
		anInterface("eni-4", func(n *types.NetworkInterface) { n.Attachment = &types.NetworkInterfaceAttachment{} }),
		anInterface("eni-5", func(n *types.NetworkInterface) { n.OwnerId = aws.String("123456789012") }),
		anInterface("eni-6", func(n *types.NetworkInterface) { n.RequesterManaged = aws.Bool(true) }),
		anInterface("eni-7", func(n *types.NetworkInterface) { n.Operator = &types.OperatorResponse{Managed: aws.Bool(true)} }),
		anInterface("eni-8", func(n *types.NetworkInterface) { n.Association = association }),
	}
	s := askLeft(t, a, &podAPI{}, "eni-1", "eni-2", "eni-3", "eni-4", "eni-5", "eni-6", "eni-7", "eni-8", "eni-gone")
	got := leftIDs(s)
	expect.That(t, got == "eni-1 eni-2 eni-8" && len(s.LeftRead) == 9, "left %q, read %v", got, s.LeftRead)
	expect.That(t, s.Left["eni/eni-1"].Public == 0 && s.Left["eni/eni-2"].Public == 2 && s.Left["eni/eni-8"].Public == 1 && s.Left["eni/eni-1"].Subnet == "subnet-1", "%+v", s.Left)
}

func TestWithoutThePermissionNothingIsLeftAndTheGapIsNamedOnce(t *testing.T) {
	for call, operation := range map[string]string{"ec2:DescribeVolumes": "DescribeVolumes", "ec2:DescribeNetworkInterfaces": "DescribeNetworkInterfaces", "ec2:DescribeVolumes 2": "DescribeVolumes"} {
		a := newAccount(t)
		a.fail[call] = apiError("EC2", operation, "UnauthorizedOperation", "You are not authorized to perform this operation.")
		a.volumes = []types.Volume{aVolume("vol-1", types.VolumeStateAvailable), aVolume("vol-2", types.VolumeStateAvailable)}
		a.interfaces = []types.NetworkInterface{anInterface("eni-1", func(*types.NetworkInterface) {})}
		s := askLeft(t, a, &podAPI{}, "vol-1", "vol-2", "eni-1")
		want := map[string]string{"DescribeVolumes": "eni-1", "DescribeNetworkInterfaces": "vol-1 vol-2"}[operation]
		expect.Equal(t, leftIDs(s), want, "%s: left", call)
		expect.That(t, len(s.Gaps) == 1 && s.Gaps[0].Kind == roll.GapDenied && s.Gaps[0].Call == "ec2:"+operation && s.Whole(), "%s: %+v", call, s.Gaps)
	}
}
