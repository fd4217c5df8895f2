package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence/userdata"
	"rollcall/shared/observe/project"
	"rollcall/shared/roll"
)

const (
	// attributeReads bounds the calls of DescribeInstanceAttribute per round, each of which returns
	// one attribute of one instance. Attributes beyond it are unknown, and hold acts until another
	// check reads them.
	attributeReads = 50
	// templateReads bounds the launch template versions that are asked per round.
	templateReads = 10
	// autoScalingBatch is the maximum number of ids that DescribeAutoScalingInstances takes.
	autoScalingBatch = 50
	// autoScalingReads bounds those calls per round.
	autoScalingReads = 20
)

// Details reads the details in question about suspects into the snapshot, the most urgent first.
// What could not be read is marked unreadable and reported in a gap.
func (o *Observer) Details(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	o.readVouched(ctx, s, questions)
	o.readAutoScaling(ctx, s, questions)
	o.readNodeClaims(ctx, s, questions)
	o.readLeases(ctx, s, questions)
	o.readGroups(ctx, s, questions)
	o.readAttributes(ctx, s, questions)
	o.readPods(ctx, s, questions)
	o.readWaiting(ctx, s, questions)
}

// readVouched reads in full the suspects of which the snapshot has only what a node shows.
func (o *Observer) readVouched(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	ids := roll.Map(wanting(questions, func(q roll.Question) bool { return q.Whole }), func(q roll.Question) roll.InstanceID { return q.Instance })
	if len(ids) == 0 {
		return
	}
	answer := roll.Yes
	if err := o.readWhole(ctx, s, ids); err != nil {
		answer = roll.Unreadable
		o.fail(ctx, s, roll.ScopeDetail, callDescribeInstances, err)
	}
	for _, id := range ids {
		setDetail(s, id, func(d *roll.Detail) { d.WholeRead = answer })
	}
}

func setDetail(s *roll.Snapshot, id roll.InstanceID, change func(*roll.Detail)) {
	d := s.Details[id]
	change(&d)
	if s.Details == nil { // nobody asked for any before
		s.Details = map[roll.InstanceID]roll.Detail{}
	}
	s.Details[id] = d
}

func (o *Observer) readAutoScaling(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	ids := roll.Map(wanting(questions, func(q roll.Question) bool { return q.AutoScaling }), func(q roll.Question) string { return string(q.Instance) })
	for _, id := range ids {
		setDetail(s, roll.InstanceID(id), func(d *roll.Detail) { d.LifecycleRead, d.ScaleInProtected = roll.Unreadable, roll.Unreadable })
	}
	const most = autoScalingReads * autoScalingBatch
	for batch := range slices.Chunk(ids[:min(len(ids), most)], autoScalingBatch) {
		known, err := o.autoScalingInstances(ctx, batch)
		if err != nil {
			o.fail(ctx, s, roll.ScopeDetail, roll.CallAutoScalingInstances, err)
			return
		}
		for _, id := range batch {
			i, ok := known[id]
			setDetail(s, roll.InstanceID(id), func(d *roll.Detail) {
				d.LifecycleRead, d.Lifecycle, d.ScaleInProtected = answer(ok), aws.ToString(i.LifecycleState), answer(aws.ToBool(i.ProtectedFromScaleIn))
			})
		}
	}
	if len(ids) > most {
		unknown(s, roll.CallAutoScalingInstances, roll.GapLater, fmt.Sprintf("%d suspects, of which the first %d were looked up in their Auto Scaling groups; the rest is not acted on", len(ids), most))
	}
}

func answer(yes bool) roll.Answer {
	if yes {
		return roll.Yes
	}
	return roll.No
}

// autoScalingInstances describes at most autoScalingBatch instances as members of their groups.
// Instances in no group are left out.
func (o *Observer) autoScalingInstances(ctx context.Context, ids []string) (map[string]asgtypes.AutoScalingInstanceDetails, error) {
	known := map[string]asgtypes.AutoScalingInstanceDetails{}
	in := &autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: ids}
	err := project.EachPage(ctx, direct(o, o.autoScaling.DescribeAutoScalingInstances), in, func(out *autoscaling.DescribeAutoScalingInstancesOutput) {
		for _, i := range out.AutoScalingInstances {
			known[aws.ToString(i.InstanceId)] = i
		}
	})
	return known, err
}

func (o *Observer) readAttributes(ctx context.Context, s *roll.Snapshot, questions []roll.Question) {
	reads, later := 0, false
	f := &faults{o: o, s: s, call: roll.CallInstanceAttribute}
	// read returns nil for an attribute that was not read.
	read := func(id roll.InstanceID, attribute types.InstanceAttributeName) *ec2.DescribeInstanceAttributeOutput {
		if f.over || reads >= attributeReads {
			later = true
			return nil
		}
		reads++
		out, err := direct(o, o.ec2.DescribeInstanceAttribute)(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: aws.String(string(id)), Attribute: attribute})
		if err != nil {
			f.note(ctx, err)
			return nil
		}
		return out
	}
	questions, data := o.userDataRead(s, questions)
	asked := 0
	for _, q := range questions {
		if q.UserData && !o.WithoutUserData {
			asked++
		}
		if q.Protection {
			asked += 2
		}
	}
	if asked > attributeReads {
		questions = roll.InTurn(wanting(questions, func(q roll.Question) bool { return q.UserData || q.Protection }), attributeReads/4, s.At)
	}
	templates := map[string]bool{}
	for _, q := range questions {
		d := s.Details[q.Instance]
		if q.UserData {
			d.Bootstraps = roll.Unreadable
		}
		if q.UserData && !o.WithoutUserData {
			if out := read(q.Instance, types.InstanceAttributeNameUserData); out == nil {
				d.TemplateBootstraps = o.ofTemplate(ctx, s, q.Instance, templates)
			} else {
				boots := bootstraps(out.UserData, s.Cluster)
				boots.keep(&d)
				if of, ok := data[q.Instance]; ok {
					o.userData.Put(of, boots)
				}
			}
		}
		if q.Protection {
			d.TerminationProtected = roll.Unreadable
			if out := read(q.Instance, types.InstanceAttributeNameDisableApiTermination); out != nil {
				d.TerminationProtected = isOn(out.DisableApiTermination)
			}
			// Stop protection refuses a termination too.
			// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-stop-protection.html
			if d.TerminationProtected == roll.No {
				d.TerminationProtected = roll.Unreadable
				if out := read(q.Instance, types.InstanceAttributeNameDisableApiStop); out != nil {
					d.TerminationProtected = isOn(out.DisableApiStop)
					d.StopProtected = d.TerminationProtected == roll.Yes
				}
			}
		}
		s.Details[q.Instance] = d
	}
	if !f.over && later {
		unknown(s, roll.CallInstanceAttribute, roll.GapLater, fmt.Sprintf("%d attributes of suspects were wanted and %d read, those of the most urgent and others in turn; what is not known is not acted on", asked, attributeReads))
	}
}

// userDataOf is the user data of an instance, as a cluster's checks read it. It changes only while the
// instance is stopped.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
type userDataOf struct {
	cluster  roll.ClusterID
	endpoint string
	instance roll.InstanceID
	launched int64 // or started, in seconds
}

// whatBoots is what the user data of an instance bootstraps: see roll.Detail.
type whatBoots struct {
	ours    roll.Answer
	other   string
	unnamed bool
}

func (w whatBoots) keep(d *roll.Detail) {
	d.Bootstraps, d.OtherCluster, d.BootstrapsUnnamed = w.ours, w.other, w.unnamed
}

// userDataRead answers the questions about user data that an earlier check read, and returns the others:
// a cluster may have hundreds of instances that are no nodes. data are the instances in question.
func (o *Observer) userDataRead(s *roll.Snapshot, questions []roll.Question) (rest []roll.Question, data map[roll.InstanceID]userDataOf) {
	wanted := map[roll.InstanceID]bool{}
	for _, q := range questions {
		if q.UserData && !o.WithoutUserData {
			wanted[q.Instance] = true
		}
	}
	data = make(map[roll.InstanceID]userDataOf, len(wanted))
	for n := range s.Instances {
		if i := &s.Instances[n]; wanted[i.ID] && !i.Launched.IsZero() {
			data[i.ID] = userDataOf{s.Cluster.ID, s.Cluster.Endpoint, i.ID, i.Launched.Unix()}
		}
	}
	for _, q := range questions {
		if known, ok := o.userData.Find(data[q.Instance]); ok && q.UserData {
			setDetail(s, q.Instance, known.keep)
			q.UserData = false
		}
		rest = append(rest, q)
	}
	return rest, data
}

// ofTemplate reports whether the launch template version of a member of an Auto Scaling group
// bootstraps a node of this cluster. The group gives its instances no other user data, so this shows
// what they are meant for where their own could not be read.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-templates.html
func (o *Observer) ofTemplate(ctx context.Context, s *roll.Snapshot, id roll.InstanceID, known map[string]bool) bool {
	i := s.Instance(id)
	if i == nil || i.ASG == "" || i.LaunchTemplate == "" {
		return false
	}
	template := i.LaunchTemplate
	if _, ok := known[template]; ok || len(known) >= templateReads {
		return known[template]
	}
	name, version, _ := strings.Cut(template, ":")
	out, err := direct(o, o.ec2.DescribeLaunchTemplateVersions)(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String(name), Versions: []string{version}, IncludeManagedResources: aws.Bool(true)})
	known[template] = err == nil && len(out.LaunchTemplateVersions) == 1 && out.LaunchTemplateVersions[0].LaunchTemplateData != nil
	if known[template] {
		boots := bootstraps(&types.AttributeValue{Value: out.LaunchTemplateVersions[0].LaunchTemplateData.UserData}, s.Cluster)
		known[template] = boots.ours == roll.Yes
	}
	return known[template]
}

// bootstraps reads user data in memory, since it may hold secrets. It keeps only the name of the
// cluster that the user data bootstraps a node of, if that is another one. A text that does not
// parse bootstraps none, but may still show that it was meant to.
func bootstraps(given *types.AttributeValue, cluster roll.Cluster) whatBoots {
	if given == nil || aws.ToString(given.Value) == "" {
		return whatBoots{ours: roll.No}
	}
	data, err := userdata.Decode(aws.ToString(given.Value))
	if err != nil {
		return whatBoots{ours: roll.Unreadable}
	}
	found := userdata.Read(data)
	switch {
	case found.For(cluster.ID.Name), found.Reaches(cluster.Endpoint), userdata.MeantFor(data, found, cluster.ID.Name, cluster.Endpoint):
		return whatBoots{ours: roll.Yes}
	case found.Unclear:
		return whatBoots{ours: roll.Unreadable, unnamed: len(found.Joins) > 0 && len(found.Clusters) == 0}
	case len(found.Clusters) > 0:
		return whatBoots{ours: roll.No, other: found.Clusters[0]}
	}
	return whatBoots{ours: roll.No}
}

func isOn(v *types.AttributeBooleanValue) roll.Answer {
	if v == nil || v.Value == nil {
		return roll.Unreadable
	}
	return answer(*v.Value)
}
