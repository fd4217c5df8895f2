package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// EC2 is eventually consistent: API callers and the permission check see a change after a delay.
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
const (
	mostly  = 3 * time.Second
	atTimes = 10 * time.Second
	// staleLeast and staleMost bound the delay during a fault of EC2.
	staleLeast = time.Minute
	staleMost  = 5 * time.Minute
	remembered = time.Hour // about how long EC2 returns a terminated instance; it loses its tags before
)

// lag returns the delay until a change of a cluster's instance is shown, by the fault's own dice.
func (w *weather) lag(now time.Time, cluster string, d dice) time.Duration {
	switch {
	case slices.ContainsFunc(w.active(FaultStale, now), func(s *spell) bool { return s.meets(cluster) && d.nth(s.fault).chance(s.share) }):
		return d.of("stale").between(staleLeast, staleMost)
	case d.of("slow").chance(0.1):
		return d.between(mostly, atTimes)
	}
	return d.between(0, mostly)
}

// touch records a change of the machine. EC2 shows it after a delay, in order; what predates the run, at once.
func (m *machine) touch() {
	a := m.c.a
	state, tags, kind := m.state, m.tags, m.g.kind // a change of tags makes a new slice, so this one can be kept
	started, why := m.started, m.stateReason(m.state)
	if a.founding {
		if state != pending { // it is still being created
			m.show(state, tags, kind)
		}
		return
	}
	at := max(a.now+a.weather.lag(a.Now(), m.c.name, m.d.of("lag").nth(int(a.now))), m.shownAt)
	m.shownAt = at
	a.in(at-a.now, func() {
		m.show(state, tags, kind)
		m.showRest(state, started, why)
	})
}

// show sets what EC2 returns for the machine from now on. Earlier answers are not modified.
func (m *machine) show(state machineState, tags []tag, kind machineKind) {
	c := m.c
	if c.a.machines[m.id] != m {
		return // forgotten
	}
	var before machineState
	if m.shown != nil {
		before = machineState(m.shown.State.Name)
		if state == before && slices.Equal(tags, m.shownTags) {
			return
		}
	}
	next := new(types.Instance)
	if m.shown != nil {
		*next = *m.shown
	} else {
		*next = m.described(kind)
	}
	next.State, next.Tags = instanceStates[state], m.g.shownAs(tags)
	if state == shuttingDown || state == terminated {
		next.StateReason = userShutdown
		next.StateTransitionReason = aws.String(fmt.Sprintf("User initiated (%s GMT)", m.ended.UTC().Format(time.DateTime)))
		if m.taken {
			next.StateReason, next.StateTransitionReason = spotTaken, spotTaken.Message
		}
	}
	if m.brokenOff != nil && next.StateReason != nil {
		next.StateReason, next.StateTransitionReason = m.brokenOff, aws.String("")
	}
	if state == terminated {
		next.PrivateIpAddress, next.PrivateDnsName = nil, aws.String("")
		next.BlockDeviceMappings, next.NetworkInterfaces = nil, nil
		next.VpcId, next.SubnetId, next.SecurityGroups, next.IamInstanceProfile = nil, nil, nil, nil
	}
	if !slices.Equal(tags, m.shownTags) && !c.a.founding {
		m.tagsBefore, m.tagsChanged = m.shownTags, c.a.now
	}
	m.shown, m.shownTags, c.listed = next, tags, nil
	if state == terminated && before != terminated {
		c.a.in(m.d.of("untagged").between(time.Minute, 40*time.Minute), func() {
			m.tags = nil
			m.touch()
		})
		c.a.in(m.d.of("remembered").between(remembered-5*time.Minute, remembered+5*time.Minute), m.forget)
	}
}

// showRest updates what EC2 returns for a machine that was stopped or started again.
func (m *machine) showRest(state machineState, started time.Time, why *types.StateReason) {
	if m.shown == nil || started.IsZero() && why == nil || state == shuttingDown || state == terminated {
		return
	}
	next := *m.shown
	next.StateReason, next.StateTransitionReason = why, aws.String("")
	if why != nil && why != retirement {
		next.StateTransitionReason = aws.String(fmt.Sprintf("User initiated (%s GMT)", m.restedAt.UTC().Format(time.DateTime)))
	}
	if !started.IsZero() {
		next.LaunchTime = aws.Time(started.UTC().Truncate(time.Second))
	}
	m.shown, m.c.listed = &next, nil
}

func (m *machine) forget() {
	c := m.c
	if c.a.machines[m.id] != m {
		return
	}
	delete(c.a.machines, m.id)
	if i := slices.Index(c.machines, m); i >= 0 {
		c.machines = slices.Delete(c.machines, i, i+1)
	}
	m.shown, m.shownTags, c.listed = nil, nil, nil
}

// instanceStates holds the states as EC2 returns them. All instances share them.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceState.html
var instanceStates = map[machineState]*types.InstanceState{
	pending:      {Code: aws.Int32(0), Name: types.InstanceStateNamePending},
	running:      {Code: aws.Int32(16), Name: types.InstanceStateNameRunning},
	stopping:     {Code: aws.Int32(64), Name: types.InstanceStateNameStopping},
	shuttingDown: {Code: aws.Int32(32), Name: types.InstanceStateNameShuttingDown},
	terminated:   {Code: aws.Int32(48), Name: types.InstanceStateNameTerminated},
	stopped:      {Code: aws.Int32(80), Name: types.InstanceStateNameStopped},
}

var (
	spotTaken     = reasonOf("Server.SpotInstanceTermination", "Spot instance termination")
	retirement    = reasonOf("Server.ScheduledStop", "Stopped due to scheduled retirement")
	userShutdown  = reasonOf("Client.UserInitiatedShutdown", "User initiated shutdown")
	userHibernate = reasonOf("Client.UserInitiatedHibernate", "User initiated hibernate")
	linux         = aws.String("Linux/UNIX")
	// metadata holds the options of the instance metadata service, as EKS sets them.
	metadata = &types.InstanceMetadataOptionsResponse{
		HttpEndpoint: types.InstanceMetadataEndpointStateEnabled, HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(2),
		State: types.InstanceMetadataOptionsStateApplied,
	}
)

func reasonOf(code, text string) *types.StateReason {
	return &types.StateReason{Code: &code, Message: aws.String(code + ": " + text)}
}

func (m *machine) described(kind machineKind) types.Instance {
	out := m.g.pattern(m.zone)
	out.InstanceId, out.ImageId, out.InstanceType, out.Architecture = &m.id, &m.template.ami, types.InstanceType(kind.Type), architecture(kind.Arch)
	m.g.shaped(&out)
	out.LaunchTime, out.PrivateDnsName, out.PrivateIpAddress = aws.Time(m.launched.UTC().Truncate(time.Second)), &m.dnsName, &m.address
	return out
}

// pattern returns the fields that all machines of the group in a zone share, which keeps listings fast.
func (g *group) pattern(zone string) types.Instance {
	if _, ok := g.patterns[zone]; !ok {
		c := g.c
		g.patterns[zone] = types.Instance{
			PlatformDetails: linux, Hypervisor: types.HypervisorTypeXen, MetadataOptions: metadata,
			Placement: &types.Placement{AvailabilityZone: aws.String(zone), AvailabilityZoneId: aws.String(zoneID(zone)), Tenancy: types.TenancyDefault},
			VpcId:     aws.String(c.vpc()), SubnetId: aws.String(c.subnet(zone)),
			SecurityGroups:     []types.GroupIdentifier{{GroupId: aws.String(c.securityGroup()), GroupName: aws.String(c.securityGroupName())}},
			IamInstanceProfile: &types.IamInstanceProfile{Arn: aws.String(profileARN(g.role)), Id: aws.String(uniqueID("AIPA", g.role))},
		}
	}
	return g.patterns[zone]
}

// shownAs returns tags in EC2's form. The group's launch tags share one slice.
func (g *group) shownAs(tags []tag) []types.Tag {
	if l := &g.tagged; len(l.tags) > 0 && len(tags) == len(l.tags) && &tags[0] == &l.tags[0] {
		return l.shown
	}
	return tagsOf(tags)
}

func architecture(arch string) types.ArchitectureValues {
	if arch == "amd64" {
		return types.ArchitectureValuesX8664
	}
	return types.ArchitectureValues(arch)
}

// tagsOf returns tags in EC2's form, which point into the slice.
func tagsOf(tags []tag) []types.Tag {
	out := make([]types.Tag, len(tags))
	for i := range tags {
		out[i] = types.Tag{Key: &tags[i].key, Value: &tags[i].value}
	}
	return out
}
