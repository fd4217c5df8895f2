package lint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"rollcall/shared/evidence/userdata"
	"rollcall/shared/ledger"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/observe/bundle"
	"rollcall/shared/observe/collect"
	"rollcall/shared/observe/view"
	"rollcall/shared/report"
	"rollcall/shared/roll"
)

// Request is what is judged, and where.
type Request struct {
	Sources []Source
	// Skipped says what of the files was not judged, and why.
	Skipped []string
	// Templates are launch templates of the account, as ID or ID:VERSION.
	Templates []string
	// Subnets are those in which the instances are launched, if no source names others.
	Subnets []string
	// View is the account or the bundle that gives context; nil gives none.
	View *view.View
	// Cluster is the name of the cluster, "" without context.
	Cluster string
	At      time.Time
}

// Run diagnoses what would be launched. What could not be read of the account or bundle is reported
// as not checked.
func Run(ctx context.Context, in Request) (report.LintDocument, error) {
	out := report.LintDocument{At: in.At, Cluster: in.Cluster, Launches: []string{}, Findings: []report.LintFinding{}, Hints: []report.LintFinding{}, NotChecked: []report.LintGap{}, Notes: append([]string{}, in.Skipped...)}
	if err := in.duplicates(); err != nil {
		return out, err
	}
	place, err := in.context()
	if err != nil {
		return out, err
	}
	s := &roll.Snapshot{At: in.At}
	if in.Cluster != "" {
		s = place.Observer.Snapshot(ctx, in.Cluster, in.At, roll.Watch{})
		if len(s.Gaps) > 0 && s.Cluster.Endpoint == "" {
			return out, errors.New(s.Gaps[0].Detail)
		}
		out.Notes = append(out.Notes, roll.Map(s.Gaps, func(g roll.Gap) string { return g.Detail })...)
	}
	o, missing, err := in.launches(ctx, place, s)
	if err != nil {
		return out, err
	}
	out.Notes = append(out.Notes, missing...)
	if len(o.launches) == 0 {
		out.Notes = append(out.Notes, "nothing was judged: there is no launch template, NodePool, EC2NodeClass or user data")
		return out, nil
	}
	part, err := bundle.OpenPart(o.files(in.Sources))
	if err != nil {
		return out, err
	}
	if first(in.Sources, AccessEntries) != nil {
		o.entries = apistats.Methods(eks.NewFromConfig(part.AWS()))
	}
	objects, err := part.Kube().Dial(s.Cluster)
	if err != nil {
		return out, err
	}
	look := place.Before(o.intercept, objects)
	look.Observer.LookUp(ctx, s, slices.Collect(maps.Keys(o.launches)))
	findings := o.hypothetical(s)
	found := look.Inquire(ctx, collect.Input{Snapshot: s, Findings: findings, State: ledger.NewState(), Whole: true}, false).Diagnoses
	p := &printer{in, &out}
	for pair := range slices.Chunk(findings, 2) { // see hypothetical
		p.add(o.launches[pair[0].Instance], found[pair[0].Key()], found[pair[1].Key()])
	}
	return out, ctx.Err()
}

// duplicates returns an error for each object that two sources contain, since it is unknown which
// one applies.
func (r *Request) duplicates() error {
	var faults []error
	in := map[string]string{} // file by object
	for _, d := range r.Sources {
		if d.Content == LaunchTemplates || d.Content == UserData {
			continue
		}
		name := strings.TrimSpace(string(d.Content) + " " + d.Name)
		if other, ok := in[name]; ok {
			faults = append(faults, fmt.Errorf("%s is in %s and in %s: lint the files of each cluster by themselves", name, other, d.File))
		}
		in[name] = d.File
	}
	return errors.Join(faults...)
}

// context returns the view of the account or the bundle; without one a view that can read nothing.
func (r *Request) context() (*view.View, error) {
	if r.View != nil {
		return r.View, nil
	}
	nothing, err := bundle.OpenPart(nil)
	return view.OfBundle(nothing), err
}

// hypothetical returns two findings about each launch: that it did not register, and that it did not
// become ready.
func (o *overlay) hypothetical(s *roll.Snapshot) (out []roll.Finding) {
	for i := range s.Instances {
		m := roll.Member{Instance: &s.Instances[i]}
		l := o.launches[m.ID()]
		if l == nil {
			continue
		}
		f := roll.Finding{
			Instance: m.ID(), Group: m.Group(), Selector: m.Selector(), Owner: m.Owner(), Zone: m.Zone(), ZoneID: m.ZoneID(),
			Kind: roll.Unregistered, Stage: roll.Overdue, Since: s.At, Began: s.At, Due: s.At,
		}
		registered := f
		registered.Kind, registered.Node = roll.Uninitialized, l.node()
		out = append(out, f, registered)
	}
	return out
}

// files returns the sources, and the nodes that the launches would become, as the files of a bundle.
func (o *overlay) files(sources []Source) map[string][]byte {
	lists := map[string][]any{}
	out := map[string][]byte{}
	for _, d := range sources {
		switch d.Content {
		case NodePool:
			lists["nodepools.json"] = append(lists["nodepools.json"], json.RawMessage(d.Data))
		case NodeClass:
			lists["ec2nodeclasses.json"] = append(lists["ec2nodeclasses.json"], json.RawMessage(d.Data))
		case AwsAuth:
			out["aws-auth.json"] = d.Data
		case AccessEntries:
			out["access-entries.json"] = d.Data
		}
	}
	for _, l := range o.launches {
		lists["nodes.json"] = append(lists["nodes.json"], l.nodeObject())
		lists["leases.json"] = append(lists["leases.json"], bundle.Lease(l.node(), *l.instance.LaunchTime))
	}
	for name, list := range lists {
		out[name], _ = json.Marshal(list) // maps, and what was JSON before
	}
	return out
}

// launches returns what the sources launch, and which sources are missing.
func (r *Request) launches(ctx context.Context, v *view.View, s *roll.Snapshot) (o *overlay, missing []string, err error) {
	p := newSite(ctx, v.AWS(), r.Cluster, r.Subnets)
	o = &overlay{launches: map[roll.InstanceID]*launch{}}
	all := len(r.Templates) == 0
	for i := range r.Sources {
		d := &r.Sources[i]
		all = all && !d.launches()
		switch d.Content {
		case LaunchTemplates:
			versions, err := versionsIn(ctx, d)
			if err != nil {
				return nil, nil, err
			}
			for i := range versions {
				o.add(s.At, p.fromTemplate(ctx, &versions[i], d)...)
			}
			o.templates = append(o.templates, versions...)
		case UserData:
			l := &launch{name: d.File, from: []*Source{d}, userData: string(d.Data), onlyUserData: true}
			boot := userdata.Read(d.Data)
			family := toolFamily(boot)
			if l.part = namesNoCluster(boot); l.part {
				l.merge(family, p.cluster, "")
			}
			p.standIn(&l.instance, family)
			o.add(s.At, l)
		}
	}
	for _, name := range r.Templates {
		v, err := p.version(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		o.add(s.At, p.fromTemplate(ctx, v)...)
	}
	client, err := v.Dial(s.Cluster)
	if err != nil {
		client = nil // the snapshot has the reason
	}
	found, err := readPools(ctx, r.Sources, client, all)
	if err != nil {
		return nil, nil, err
	}
	pools, missing := found.launches(ctx, p)
	o.add(s.At, pools...)
	o.images = p.images
	return o, missing, nil
}

func (o *overlay) add(at time.Time, all ...*launch) {
	for _, l := range all {
		l.instance.InstanceId = aws.String(fmt.Sprintf("i-0%016x", len(o.launches)+1))
		l.instance.LaunchTime, l.instance.State = &at, &types.InstanceState{Name: types.InstanceStateNameRunning}
		o.launches[roll.InstanceID(l.id())] = l
	}
}

func (d *Source) launches() bool { return d.Content != AwsAuth && d.Content != AccessEntries }

func versionsIn(ctx context.Context, d *Source) ([]types.LaunchTemplateVersion, error) {
	part, err := bundle.OpenPart(map[string][]byte{"launch-template-versions.json": d.Data})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.File, err)
	}
	out, err := ec2.NewFromConfig(part.AWS()).DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.File, err)
	}
	return out.LaunchTemplateVersions, nil
}

// version reads a launch template version of the account: ID:VERSION, or the default one of ID.
func (p *site) version(ctx context.Context, name string) (*types.LaunchTemplateVersion, error) {
	id, version, _ := strings.Cut(name, ":")
	out, err := p.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{cmp.Or(version, "$Default")}})
	if err != nil {
		return nil, fmt.Errorf("read launch template %s: %w", name, err)
	}
	if len(out.LaunchTemplateVersions) == 0 {
		return nil, fmt.Errorf("read launch template %s: there is no such version", name)
	}
	return &out.LaunchTemplateVersions[0], nil
}
