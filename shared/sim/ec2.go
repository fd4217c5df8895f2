package sim

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/roll"
)

type ec2API struct{ v *env }

// DescribeInstances lists a cluster's instances by the key of its tag, page by page, or those that have a
// name, or returns instances by ID. An unknown ID in InstanceIds is an error; a filter by ID omits it.
func (e ec2API) DescribeInstances(ctx context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	const call = "ec2:DescribeInstances"
	if !aws.ToBool(in.IncludeManagedResources) {
		e.v.unsimulated(in)
	}
	if len(in.Filters) == 0 {
		if len(in.InstanceIds) == 0 || in.MaxResults != nil || in.NextToken != nil {
			e.v.unsimulated(in)
		}
		return e.lookUp(ctx, call, in.InstanceIds, true)
	}
	name, values := aws.ToString(in.Filters[0].Name), in.Filters[0].Values
	switch {
	case len(in.InstanceIds) > 0:
	case name == "instance-id" && len(in.Filters) == 1 && in.NextToken == nil && len(values) <= filterValues:
		return e.lookUp(ctx, call, values, false)
	case name == "tag-key" && len(values) == 1 && in.MaxResults != nil:
		cluster, ok := strings.CutPrefix(values[0], roll.ClusterTagPrefix)
		switch {
		case !ok:
		case len(in.Filters) == 1:
			return e.list(ctx, call, cluster, in)
		case len(in.Filters) == 2 && aws.ToString(in.Filters[1].Name) == "private-dns-name" && in.NextToken == nil:
			return e.named(ctx, call, cluster, in.Filters[1].Values)
		}
	}
	e.v.unsimulated(in)
	return nil, nil
}

const filterValues = 200 // the maximum number of values of one filter

func (e ec2API) list(ctx context.Context, call, cluster string, in *ec2.DescribeInstancesInput) (*ec2.DescribeInstancesOutput, error) {
	inv := e.v.inv
	out := new(ec2.DescribeInstancesOutput)
	var page []*types.Instance
	err := e.v.call(ctx, call, reads, "", func() error {
		var all []types.Instance
		if c := e.v.a.byName[cluster]; c != nil {
			all = c.list()
		}
		from := goesOn(all, in.NextToken)
		to := min(from+e.v.pageSize(int(*in.MaxResults), len(all)), len(all))
		for i := range all[from:to] {
			page = append(page, &all[from+i])
		}
		if to < len(all) {
			out.NextToken = aws.String(fmt.Sprintf("%d/%s", to, *all[to-1].InstanceId))
		}
		out.Reservations = reserved(all[from:to:to])
		return nil
	})
	inv.sawInstances(page, in.NextToken == nil, err == nil && out.NextToken == nil, err == nil)
	return answered(out, err)
}

// named returns the instances that carry a cluster's tag and have one of the names: few, on one page.
func (e ec2API) named(ctx context.Context, call, cluster string, names []string) (*ec2.DescribeInstancesOutput, error) {
	out := new(ec2.DescribeInstancesOutput)
	err := e.v.call(ctx, call, reads, "", func() error {
		if c := e.v.a.byName[cluster]; c != nil {
			out.Reservations = reserved(slices.DeleteFunc(slices.Clone(c.list()), func(i types.Instance) bool {
				return !slices.Contains(names, aws.ToString(i.PrivateDnsName))
			}))
		}
		return nil
	})
	return answered(out, err)
}

// list returns the instances that EC2 lists for the cluster. Earlier results are not modified.
func (c *cluster) list() []types.Instance {
	if c.listed == nil {
		c.listed = make([]types.Instance, 0, len(c.machines))
		key := roll.ClusterTagPrefix + c.name
		for _, m := range c.machines {
			if m.shown == nil {
				continue
			}
			if _, ok := get(m.shownTags, key); ok {
				c.listed = append(c.listed, *m.shown)
			}
		}
	}
	return c.listed
}

// goesOn returns the index at which a listing continues: after the last instance of the previous page.
func goesOn(all []types.Instance, token *string) int {
	if token == nil {
		return 0
	}
	number, last, _ := strings.Cut(*token, "/")
	from, err := strconv.Atoi(number)
	if err != nil {
		panic("a token that EC2 did not give: " + *token)
	}
	if from <= len(all) && *all[from-1].InstanceId == last {
		return from
	}
	if i := slices.IndexFunc(all, func(i types.Instance) bool { return *i.InstanceId == last }); i >= 0 {
		return i + 1
	}
	return 0 // EC2 forgot that instance: repeating instances is better than omitting some
}

func reserved(instances []types.Instance) []types.Reservation {
	if len(instances) == 0 {
		return nil
	}
	return []types.Reservation{{OwnerId: aws.String(accountID), Instances: instances}}
}

func (e ec2API) lookUp(ctx context.Context, call string, ids []string, all bool) (*ec2.DescribeInstancesOutput, error) {
	inv := e.v.inv
	var found []types.Instance
	var unknown []string
	err := e.v.call(ctx, call, reads, "", func() error {
		found = make([]types.Instance, 0, len(ids))
		for _, id := range ids {
			if m, ok := e.v.a.known(id); ok {
				found = append(found, *m.shown)
			} else {
				unknown = append(unknown, id)
			}
		}
		return nil
	})
	if err != nil {
		for _, id := range ids {
			inv.sawInstance(id, nil, false)
		}
		return nil, err
	}
	for _, id := range unknown {
		inv.sawInstance(id, nil, true)
	}
	if all && len(unknown) > 0 {
		return nil, notInstances(unknown)
	}
	for i := range found {
		inv.sawInstance(*found[i].InstanceId, &found[i], true)
	}
	return &ec2.DescribeInstancesOutput{Reservations: reserved(found)}, nil
}

func (a *account) known(id string) (*machine, bool) {
	m := a.machines[id]
	return m, m != nil && m.shown != nil
}

// notInstances returns EC2's error for unknown IDs. It looks at their form first.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func notInstances(ids []string) error {
	for _, id := range ids {
		if !roll.InstanceID(id).IsInstance() {
			return badRequest("InvalidInstanceID.Malformed", "Invalid id: %q", id)
		}
	}
	return awserr.UnknownInstances(ids)
}

func (a *account) allKnown(ids []string) ([]*machine, error) {
	return picked(ids, a.known, notInstances)
}

const statusIDs = 100 // the maximum number of IDs of DescribeInstanceStatus

// DescribeInstanceStatus returns the status of instances by ID, or of the running ones, optionally by a filter.
func (e ec2API) DescribeInstanceStatus(in *ec2.DescribeInstanceStatusInput, out *ec2.DescribeInstanceStatusOutput) error {
	byID := len(in.InstanceIds) > 0 && len(in.InstanceIds) <= statusIDs && in.MaxResults == nil && in.NextToken == nil
	listed := len(in.InstanceIds) == 0 && in.MaxResults != nil && !aws.ToBool(in.IncludeAllInstances)
	tells := true // only about what EC2 has something to report of
	for name, values := range valuesOf(in.Filters) {
		tells = len(in.Filters) == 1 && listed && (name == "event.code" || slices.Contains(statusFilters, name) && slices.Contains(values, string(types.SummaryStatusImpaired)))
	}
	if !tells || !byID && !listed {
		e.v.unsimulated(in)
	}
	if byID {
		machines, err := e.v.a.allKnown(in.InstanceIds)
		for _, m := range machines {
			if m.runs() || aws.ToBool(in.IncludeAllInstances) {
				out.InstanceStatuses = append(out.InstanceStatuses, m.status())
			}
		}
		return err
	}
	all := e.v.a.running()
	if len(in.Filters) > 0 {
		f := in.Filters[0]
		all = e.v.a.said(func(m *machine) bool { return slices.Contains(f.Values, m.statusBy(aws.ToString(f.Name))) })
	}
	all, out.NextToken = cut(all, in.NextToken, in.MaxResults)
	out.InstanceStatuses = roll.Map(all, (*machine).status)
	return nil
}

var statusFilters = []string{"instance-status.status", "system-status.status", "attached-ebs-status.status", "application-status.status"} // the filters by a status, besides event.code

// statusBy returns what the machine has under a status filter. Volumes and applications always work.
func (m *machine) statusBy(filter string) string {
	instance, system := m.checks()
	switch {
	case filter == "instance-status.status":
		return string(instance)
	case filter == "system-status.status":
		return string(system)
	case filter != "event.code":
		return string(types.SummaryStatusOk)
	case m.event != nil:
		return string(m.event.code)
	}
	return ""
}

func valuesOf(filters []types.Filter) map[string][]string {
	out := map[string][]string{}
	for _, f := range filters {
		out[aws.ToString(f.Name)] = f.Values
	}
	return out
}

// cut returns a page of a list and the token of the next page, which is its index.
func cut[T any](all []T, token *string, size *int32) ([]T, *string) {
	from, _ := strconv.Atoi(aws.ToString(token))
	from = min(from, len(all))
	to := len(all)
	if size != nil {
		to = min(from+int(*size), to)
	}
	if to == len(all) {
		return all[from:], nil
	}
	return all[from:to:to], aws.String(strconv.Itoa(to))
}

func (m *machine) runs() bool {
	return m.shown != nil && runs(m.shown)
}

func (a *account) running() (all []*machine) {
	for _, c := range a.clusters {
		all = append(all, slices.DeleteFunc(slices.Clone(c.machines), func(m *machine) bool { return !m.runs() })...)
	}
	return all
}

// said returns the running machines that match a filter, among those with a failing check or an event.
func (a *account) said(filter func(*machine) bool) []*machine {
	a.reported = slices.DeleteFunc(a.reported, func(m *machine) bool { return m.ail != impaired && m.event == nil && !m.booting || m.shown == nil })
	return slices.DeleteFunc(slices.Clone(a.reported), func(m *machine) bool { return !m.runs() || !filter(m) })
}

func (a *account) report(m *machine) {
	if !slices.Contains(a.reported, m) {
		a.reported = append(a.reported, m)
	}
}

// failsCheck reports whether EC2 shows failing status checks for the machine.
func (m *machine) failsCheck() bool {
	return m.ail == impaired && m.state == running && m.runs()
}

const checking = 2 * time.Minute // how long the first status checks take

// The parts of EC2's answers that all instances share. They are read-only.
var (
	volumesWork      = &types.EbsStatusSummary{Status: types.SummaryStatusOk}
	applicationWorks = &types.ApplicationStatusSummary{Status: types.SummaryStatusOk}
	performs         = &types.PerformanceStatusSummary{Status: types.SummaryStatusOk}
	passed           = reachability(types.SummaryStatusOk, types.StatusTypePassed)
	started          = reachability(types.SummaryStatusInitializing, types.StatusTypeInitializing)
	noData           = reachability(types.SummaryStatusInsufficientData, types.StatusTypeInsufficientData)
)

func reachability(s types.SummaryStatus, d types.StatusType) *types.InstanceStatusSummary {
	return &types.InstanceStatusSummary{Status: s, Details: []types.InstanceStatusDetails{{Name: types.StatusNameReachability, Status: d}}}
}

// checks returns the results of a running instance's instance and system status checks.
func (m *machine) checks() (instance, system types.SummaryStatus) {
	const ok, failed = types.SummaryStatusOk, types.SummaryStatusImpaired
	first := ok
	if now := m.c.a.Now(); now.Sub(m.launched) < checking || now.Sub(m.started) < checking {
		first = types.SummaryStatusInitializing
	}
	switch {
	case !m.failsCheck() && m.restarting():
		return failed, first
	case !m.failsCheck():
		return first, first
	case m.unchecked():
		return types.SummaryStatusInsufficientData, types.SummaryStatusInsufficientData
	case m.checkFails == checksSystem:
		return first, failed
	case m.checkFails == checksBoth:
		return failed, failed
	}
	return failed, ok
}

// restarting reports whether the machine's instance status check fails while it reboots.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-system-instance-status-check.html
func (m *machine) restarting() bool {
	return m.booting && m.rebooted == m.boots && m.state == running && m.runs() && m.d.of("checked").nth(m.boots).chance(0.6)
}

// unchecked reports whether EC2 has no result of failing checks for a while: not every failing host gives one.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceStatusSummary.html
func (m *machine) unchecked() bool {
	const long = 2 * time.Minute
	return m.checkFails != "" && m.checkFails != checksInstance && m.d.of("unchecked").nth(int(m.c.a.now/long)).chance(0.1)
}

// summary returns a status check summary. A failing check is impaired since the ailment or the reboot began.
func (m *machine) summary(s types.SummaryStatus) *types.InstanceStatusSummary {
	switch s {
	case types.SummaryStatusOk:
		return passed
	case types.SummaryStatusInitializing:
		return started
	case types.SummaryStatusInsufficientData:
		return noData
	}
	since := m.bootedAt
	if m.ail == impaired {
		since = m.since
	}
	failed := reachability(s, types.StatusTypeFailed)
	failed.Details[0].ImpairedSince = aws.Time(since.UTC().Truncate(time.Second))
	return failed
}

func (m *machine) status() types.InstanceStatus {
	out := types.InstanceStatus{
		InstanceId: m.shown.InstanceId, InstanceState: m.shown.State, AvailabilityZone: m.shown.Placement.AvailabilityZone, AvailabilityZoneId: m.shown.Placement.AvailabilityZoneId,
	}
	if !m.runs() {
		none := &types.InstanceStatusSummary{Status: types.SummaryStatusNotApplicable}
		out.InstanceStatus, out.SystemStatus = none, none
		return out
	}
	out.AttachedEbsStatus, out.ApplicationStatus, out.PerformanceStatus = volumesWork, applicationWorks, performs
	if m.event != nil {
		out.Events = []types.InstanceStatusEvent{m.event.told()}
	}
	instance, system := m.checks()
	out.InstanceStatus, out.SystemStatus = m.summary(instance), m.summary(system)
	return out
}

// DescribeInstanceAttribute returns the user data of an instance, or whether it is protected.
func (e ec2API) DescribeInstanceAttribute(in *ec2.DescribeInstanceAttributeInput, out *ec2.DescribeInstanceAttributeOutput) error {
	protections := []types.InstanceAttributeName{types.InstanceAttributeNameDisableApiTermination, types.InstanceAttributeNameDisableApiStop}
	if in.Attribute != types.InstanceAttributeNameUserData && !slices.Contains(protections, in.Attribute) {
		e.v.unsimulated(in)
	}
	out.InstanceId = in.InstanceId
	of, err := e.v.a.allKnown([]string{aws.ToString(in.InstanceId)})
	on := func(m *machine) *types.AttributeBooleanValue {
		return &types.AttributeBooleanValue{Value: aws.Bool(m.protected && m.protection() == in.Attribute)}
	}
	switch {
	case err != nil:
	case in.Attribute == types.InstanceAttributeNameDisableApiTermination:
		out.DisableApiTermination = on(of[0])
	case in.Attribute == types.InstanceAttributeNameDisableApiStop:
		out.DisableApiStop = on(of[0])
	default:
		out.UserData, err = of[0].readUserData("ec2:DescribeInstanceAttribute")
	}
	return err
}

// inBase64 returns a text in base64, as EC2 does; nil for an empty one.
func inBase64(text string) *string {
	if text == "" {
		return nil
	}
	return aws.String(base64.StdEncoding.EncodeToString([]byte(text)))
}

// DescribeTags lists instance tags by a prefix of their keys, or the roll of a cluster: its instances' own and
// Rollcall's.
func (e ec2API) DescribeTags(ctx context.Context, in *ec2.DescribeTagsInput, _ ...func(*ec2.Options)) (*ec2.DescribeTagsOutput, error) {
	const call = "ec2:DescribeTags"
	out := new(ec2.DescribeTagsOutput)
	keys, of := valuesOf(in.Filters)["key"], valuesOf(in.Filters)["resource-type"]
	switch {
	case len(in.Filters) != 2 || !slices.Equal(of, []string{"instance"}):
		e.v.unsimulated(in)
	case len(keys) == 1 && strings.HasSuffix(keys[0], "*"):
		return answered(out, e.v.call(ctx, call, reads, "", func() error {
			size := cmp.Or(aws.ToInt32(in.MaxResults), 1000)
			page, next := cut(e.v.a.tagged(strings.TrimSuffix(keys[0], "*")), in.NextToken, &size)
			out.Tags, out.NextToken = roll.Map(page, shownTag.description), next
			return nil
		}))
	case len(keys) != 2 || keys[1] != roll.TagPrefix+"*" || !strings.HasPrefix(keys[0], roll.ClusterTagPrefix):
		e.v.unsimulated(in)
	}
	cluster := strings.TrimPrefix(keys[0], roll.ClusterTagPrefix)
	inv, key := e.v.inv, roll.ClusterTagPrefix+cluster
	var page []*types.Instance
	err := e.v.call(ctx, call, reads, "", func() error {
		var all []shownTag
		if c := e.v.a.byName[cluster]; c != nil {
			for _, m := range c.enrolled(e.v.a.d.of("omitted").nth(int(e.v.a.now / time.Minute))) {
				told := m.tagsTold()
				for j := range told {
					if t := &told[j]; t.key == key || strings.HasPrefix(t.key, roll.TagPrefix) {
						all = append(all, shownTag{m, t})
					}
				}
			}
		}
		size := aws.Int32(int32(e.v.pageSize(int(*in.MaxResults), len(all))))
		all, out.NextToken = cut(all, in.NextToken, size)
		out.Tags = roll.Map(all, shownTag.description)
		for _, of := range all { // an instance's tags may be on several pages
			if of.t.key == key {
				page = append(page, of.m.shown)
			}
		}
		return nil
	})
	inv.sawInstances(page, in.NextToken == nil, err == nil && out.NextToken == nil, err == nil)
	return answered(out, err)
}

// enrolled returns the machines whose cluster tag DescribeTags shows, which may omit one for a moment.
func (c *cluster) enrolled(d dice) (all []*machine) {
	key := roll.ClusterTagPrefix + c.name
	for i, m := range c.machines {
		if m.shown == nil {
			continue
		}
		if !c.a.sc.Quiet && d.nth(i).chance(0.002) {
			m.omitted = c.a.Now()
			continue
		}
		if _, ok := get(m.tagsTold(), key); ok {
			all = append(all, m)
		}
	}
	return all
}

// tagsTold returns the tags that DescribeTags shows: those of up to half a minute ago.
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
func (m *machine) tagsTold() []tag {
	const longest = 30 * time.Second
	if age := m.c.a.now - m.tagsChanged; !m.c.a.sc.Quiet && age < longest && age < m.d.of("tags").nth(int(m.tagsChanged)).between(0, longest) {
		return m.tagsBefore
	}
	return m.shownTags
}

type shownTag struct {
	m *machine
	t *tag
}

func (s shownTag) description() types.TagDescription {
	return types.TagDescription{Key: &s.t.key, Value: &s.t.value, ResourceId: &s.m.id, ResourceType: types.ResourceTypeInstance}
}

func (a *account) tagged(prefix string) (all []shownTag) {
	for _, c := range a.clusters {
		for _, m := range c.machines {
			for i := range m.shownTags {
				if t := &m.shownTags[i]; strings.HasPrefix(t.key, prefix) {
					all = append(all, shownTag{m, t})
				}
			}
		}
	}
	return all
}
