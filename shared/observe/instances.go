package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

const (
	callDescribeInstances = "ec2:DescribeInstances"
	// pageSize is the maximum page size of DescribeInstances.
	pageSize = 1000
	// lookupSize is how many ids one lookup names. A few hundred keep the request short enough for
	// every proxy.
	lookupSize = 200
	// lookupTries bounds how often a lookup is repeated without the ids that EC2 does not know: it
	// may name only some of them at a time.
	lookupTries = 10
)

// instancesOf asks for the instances with the cluster's tag key, with any value ("owned", "shared").
// One listing finds the nodes of every owner: EKS, Auto Mode, Karpenter, eksctl and the in-tree
// conventions all write this key. The other tags that name a cluster would each need a filter of
// another name, and EC2 joins those with AND. They decide between several claims, in roll.TagSet.
func instancesOf(cluster string, more ...types.Filter) *ec2.DescribeInstancesInput {
	return &ec2.DescribeInstancesInput{
		Filters:                 append([]types.Filter{{Name: aws.String("tag-key"), Values: []string{roll.ClusterTagPrefix + cluster}}}, more...),
		IncludeManagedResources: aws.Bool(true), // otherwise Auto Mode's instances are not listed
		MaxResults:              aws.Int32(pageSize),
	}
}

// listInstances adds the instances of a listing to the snapshot: all, or those that keep selects.
func (o *Observer) listInstances(ctx context.Context, s *roll.Snapshot, in *ec2.DescribeInstancesInput, keep func(*roll.Instance) bool) {
	o.listSome(ctx, s, in, keep, math.MaxInt)
}

// listSome adds the instances of a listing page by page until there are enough. Afterwards in asks
// for the next page; it has no token after the last.
func (o *Observer) listSome(ctx context.Context, s *roll.Snapshot, in *ec2.DescribeInstancesInput, keep func(*roll.Instance) bool, enough int) {
	p := new(projector)
	var seen map[roll.InstanceID]bool
	describe := limited(o, o.ec2.DescribeInstances)
	for page := 1; ; page++ {
		out, err := describe(ctx, in)
		if err != nil {
			g := o.gap(ctx, s.Cluster, roll.ScopeInstances, callDescribeInstances, err)
			if page > 1 {
				g.Detail = fmt.Sprintf("page %d of the instances of %s: %s", page, s.Cluster.ID.Name, g.Detail)
			}
			s.Gaps = append(s.Gaps, g)
			return
		}
		n := 0
		for _, r := range out.Reservations {
			n += len(r.Instances)
		}
		s.Instances = slices.Grow(s.Instances, n)
		if seen == nil { // the first page, and usually the only one
			seen = make(map[roll.InstanceID]bool, n)
		}
		for _, r := range out.Reservations {
			for i := range r.Instances {
				inst := p.instance(&r.Instances[i], s.Cluster.ID.Name)
				// A listing that changes while it is read may show one instance twice.
				if !inst.Unclaimed && !seen[inst.ID] && (keep == nil || keep(&inst)) && accepted(s, &inst, aws.ToString(r.OwnerId)) {
					seen[inst.ID] = true
					s.Instances = append(s.Instances, inst)
				}
			}
		}
		if !project.TurnPage(in, out) || len(s.Instances) >= enough {
			if n := len(s.Instances); cap(s.Instances)-n > n/8 {
				s.Instances = slices.Clone(s.Instances) // without spare capacity
			}
			return
		}
	}
}

// accepted reports whether an instance of that account may belong to the cluster: it must be in the
// cluster's own account. For a cluster that does not exist only a tag written by EKS or eksctl
// proves it, since other kinds of clusters write kubernetes.io/cluster/ too. The first such
// instance determines the account.
func accepted(s *roll.Snapshot, i *roll.Instance, account string) bool {
	if gone(s) {
		if !i.Named {
			return false
		}
		if s.Cluster.ID.Account == "" {
			s.Cluster.ID.Account = account
		}
	}
	return account == "" || account == s.Cluster.ID.Account
}

// readMissed looks up the instances of nodes that the listing lacks because they have no cluster tag,
// or another cluster's. They are marked as unclaimed: only a node names them, and a node reports whatever
// its kubelet is configured to report.
func (o *Observer) readMissed(ctx context.Context, s *roll.Snapshot) {
	if !s.Has(roll.ScopeInstances) {
		return // to look up what is missing in an incomplete listing would repeat the listing
	}
	listed := make(map[roll.InstanceID]bool, len(s.Instances))
	for i := range s.Instances {
		listed[s.Instances[i].ID] = true
	}
	var missed []string
	for i := range s.Nodes {
		if id := s.Nodes[i].Instance; id != "" && !listed[id] {
			missed = append(missed, string(id))
		}
	}
	slices.Sort(missed)
	missed = slices.Compact(missed)
	if err := o.lookUpInto(ctx, s, missed); err != nil {
		g := o.gap(ctx, s.Cluster, roll.ScopeInstances, callDescribeInstances, err)
		g.Detail = fmt.Sprintf("%d %s of %s that do not carry its tag: %s", len(missed), roll.Plural(len(missed), "node's instance", "nodes' instances"), s.Cluster.ID.Name, g.Detail)
		s.Gaps = append(s.Gaps, g)
	}
}

// LookUp reads instances by id into the snapshot, unless it already has them: those that the ledger
// needs. An instance that EC2 does not know is noted as not found.
func (o *Observer) LookUp(ctx context.Context, s *roll.Snapshot, ids []roll.InstanceID) {
	wanted := make(map[roll.InstanceID]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	for i := range s.Instances {
		if !s.Instances[i].Vouched {
			delete(wanted, s.Instances[i].ID)
		}
	}
	if err := o.readWhole(ctx, s, slices.Collect(maps.Keys(wanted))); err != nil {
		o.fail(ctx, s, roll.ScopeDetail, callDescribeInstances, err)
		for i := range s.Instances {
			delete(wanted, s.Instances[i].ID)
		}
		for id := range wanted { // EC2 may have left them out before
			setDetail(s, id, func(d *roll.Detail) { d.WholeRead = roll.Unreadable })
		}
	}
}

// readWhole reads instances in full, which the snapshot has not, or only as a node shows them. After
// an error it has what it had.
func (o *Observer) readWhole(ctx context.Context, s *roll.Snapshot, wanted []roll.InstanceID) error {
	ids := roll.Map(wanted, func(id roll.InstanceID) string { return string(id) })
	slices.Sort(ids)
	apart := &roll.Snapshot{At: s.At, Cluster: s.Cluster, Gaps: s.Gaps, NotFound: maps.Clone(s.NotFound)}
	if err := o.lookUpInto(ctx, apart, ids); err != nil {
		return err
	}
	s.Cluster, s.NotFound = apart.Cluster, apart.NotFound
	whole := make(map[roll.InstanceID]bool, len(wanted))
	for _, id := range wanted {
		whole[id] = true
	}
	s.Instances = slices.DeleteFunc(s.Instances, func(i roll.Instance) bool { return i.Vouched && whole[i.ID] })
	s.Instances = append(s.Instances, apart.Instances...)
	return nil
}

func (o *Observer) lookUpInto(ctx context.Context, s *roll.Snapshot, ids []string) error {
	p := new(projector)
	for batch := range slices.Chunk(ids, lookupSize) {
		found, unknown, err := o.lookup(ctx, batch)
		if err != nil {
			return err
		}
		for _, r := range found {
			for i := range r.Instances {
				inst := p.instance(&r.Instances[i], s.Cluster.ID.Name)
				if accepted(s, &inst, aws.ToString(r.OwnerId)) {
					s.Instances = append(s.Instances, inst)
				}
			}
		}
		// Only an instance that EC2 reports as unknown is not found. During a disruption of a zone
		// EC2 may omit instances that exist.
		for _, id := range unknown {
			if s.NotFound == nil {
				s.NotFound = map[roll.InstanceID]bool{}
			}
			s.NotFound[roll.InstanceID(id)] = true
		}
	}
	return nil
}

// lookup describes instances by id and leaves out those that EC2 does not know. EC2 rejects the
// whole request for one unknown id, so the unknown ids are dropped and the request is repeated.
func (o *Observer) lookup(ctx context.Context, ids []string) (found []types.Reservation, unknown []string, err error) {
	ids = slices.Clone(ids)
	for try := 1; len(ids) > 0; try++ {
		found = nil
		in := &ec2.DescribeInstancesInput{InstanceIds: ids, IncludeManagedResources: aws.Bool(true)}
		err := project.EachPage(ctx, limited(o, o.ec2.DescribeInstances), in, func(out *ec2.DescribeInstancesOutput) { found = append(found, out.Reservations...) })
		if err == nil {
			return found, unknown, nil
		}
		named := awserr.InvalidInstanceIDs(err)
		left := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(named, id) })
		if len(left) == len(ids) || try == lookupTries {
			return nil, nil, err
		}
		unknown = append(unknown, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(left, id) })...)
		ids = left
	}
	return nil, unknown, nil
}

// ErrNoInstance means that EC2 does not know the instance, or no longer.
var ErrNoInstance = errors.New("EC2 knows no instance")

// ClustersOf returns the clusters that the tags of an instance may mean, for a caller that knows
// only its id. For an instance that EC2 does not know the error is ErrNoInstance.
func (o *Observer) ClustersOf(ctx context.Context, id roll.InstanceID) ([]string, error) {
	found, unknown, err := o.lookup(ctx, []string{string(id)})
	switch {
	case err != nil:
		return nil, errors.New(awserr.Describe(err, callDescribeInstances, o.Principal(ctx)))
	case len(unknown) > 0:
		return nil, fmt.Errorf("%w %s in %s: check the id, the region and the profile", ErrNoInstance, id, o.AWS.Region)
	}
	var tags roll.TagSet
	for _, r := range found {
		for i := range r.Instances {
			tags = project.Tags(&r.Instances[i])
		}
	}
	return tags.Clusters(), nil
}

// endedAtLaunch reports whether EC2 terminated an instance during its launch, by the code of its state reason.
// The codes that API_StateReason lists are examples: others are EC2's error codes for what it finds out only while
// it creates the volumes, such as Client.InvalidParameterCombination and Client.InvalidKMSKey.InvalidState.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html
// https://github.com/hashicorp/terraform/pull/14479
func endedAtLaunch(code string) bool {
	return code == "Server.InternalError" || code == "Client.InternalError" || strings.HasPrefix(code, "Server.Insufficient") ||
		strings.HasPrefix(code, "Client.Invalid") || strings.HasPrefix(code, "Client.") && strings.HasSuffix(code, "LimitExceeded")
}

// launchFailure returns the message of such an instance. It usually begins with the code, or with a more exact one:
// a volume's key that cannot be used is the code Server.InternalError, with the message "Client.InternalError: ...".
// https://github.com/aws/karpenter-provider-aws/issues/1407
func launchFailure(code, message string) string {
	switch {
	case strings.HasPrefix(message, "Client."), strings.HasPrefix(message, "Server."):
		return harmless(message)
	case message == "":
		return code
	}
	return harmless(code + ": " + message)
}

// projector reduces instances to what is needed. Texts shared by many are stored once.
type projector struct {
	texts roll.Texts
}

// instance reads what a verdict needs of an instance, and whether it belongs to the cluster.
func (p *projector) instance(i *types.Instance, cluster string) roll.Instance {
	tags := project.Tags(i)
	belongs := tags.Belonging(cluster)
	out := roll.Instance{
		ID:             roll.InstanceID(aws.ToString(i.InstanceId)),
		Launched:       aws.ToTime(i.LaunchTime).UTC(),
		LaunchTemplate: p.texts.One(tags.LaunchTemplate()),
		Subnet:         p.texts.One(aws.ToString(i.SubnetId)),
		VPC:            p.texts.One(aws.ToString(i.VpcId)),
		ASG:            p.texts.One(tags.ASG),
		Name:           tags.Name, // mostly unique: a shared copy would keep them all in memory
		Ambiguous:      belongs == roll.BelongsAmbiguous,
		Unclaimed:      belongs == roll.BelongsNot,
		PrivateDNS:     aws.ToString(i.PrivateDnsName),
		Named:          tags.NamedBy(cluster),
		Scaled:         tags.ScaledBy(cluster),
		OtherCluster:   p.texts.One(tags.OtherCluster(cluster)),
		Hold:           p.texts.One(tags.Hold),
		ClusterAPIRole: tags.ClusterAPIRole,
		ControlPlane:   tags.ControlPlane,
		Ignore:         tags.Ignore,
		Replace:        tags.Replace,
		Approve:        tags.Approve,
		Marks:          tags.Marks,
		DeadlineTag:    p.texts.One(tags.Deadline),
		Preset:         roll.PresetOf(string(i.Platform), string(i.InstanceType)),
		CapacityBlock:  i.InstanceLifecycle == types.InstanceLifecycleTypeCapacityBlock,
	}
	if i.IamInstanceProfile != nil {
		out.Profile = p.texts.One(aws.ToString(i.IamInstanceProfile.Arn))
	}
	if i.State != nil {
		out.State = roll.InstanceState(p.texts.One(string(i.State.Name)))
	}
	if i.StateReason != nil {
		// Only the first three of these concern instances that ran.
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html
		// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html
		switch code := aws.ToString(i.StateReason.Code); {
		case code == "Server.SpotInstanceTermination", code == "Server.SpotInstanceShutdown":
			out.SpotTaken = true
		case code == "Client.UserInitiatedHibernate":
			out.Hibernated = out.State == roll.StateStopped || out.State == roll.StateStopping
		case !out.State.Gone():
		case endedAtLaunch(code):
			out.LaunchFailure = p.texts.One(launchFailure(code, aws.ToString(i.StateReason.Message)))
		}
	}
	if i.Placement != nil {
		out.Zone = p.texts.One(aws.ToString(i.Placement.AvailabilityZone))
		out.ZoneID = p.texts.One(aws.ToString(i.Placement.AvailabilityZoneId))
	}
	out.Outlives = outlives(i)
	out.Owner, out.Group = tags.Owner(project.Operator(i))
	out.Group = roll.Group(p.texts.One(string(out.Group)))
	return out
}
