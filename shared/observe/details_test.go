package observe

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

func suspects(from, to int, q roll.Question) []roll.Question {
	var out []roll.Question
	for n := from; n <= to; n++ {
		q.Instance = roll.InstanceID(instanceID(n))
		out = append(out, q)
	}
	return out
}

// look reads the details of a cluster's suspects with the account's observer.
func look(t *testing.T, a *account, questions []roll.Question) *roll.Snapshot {
	t.Helper()
	s := &roll.Snapshot{At: at, Cluster: roll.Cluster{ID: roll.ClusterID{Account: "111122223333", Region: "eu-west-1", Name: "demo"}}, Details: map[roll.InstanceID]roll.Detail{}}
	a.observer().Details(t.Context(), s, questions)
	return s
}

func (a *account) scale(n int, lifecycle string, protected bool) {
	a.scaling[instanceID(n)] = asgtypes.AutoScalingInstanceDetails{InstanceId: aws.String(instanceID(n)), LifecycleState: aws.String(lifecycle), ProtectedFromScaleIn: aws.Bool(protected), AutoScalingGroupName: aws.String("web")}
}

func TestAsksAutoScalingInBatchesOfFifty(t *testing.T) {
	a := newAccount(t)
	for n := 1; n <= 120; n++ {
		a.scale(n, "InService", n == 7)
	}
	a.scale(2, "Warmed:Stopped", false)
	delete(a.scaling, instanceID(3))
	s := look(t, a, suspects(1, 120, roll.Question{AutoScaling: true}))
	var sizes []int
	for _, b := range a.batches {
		sizes = append(sizes, len(b))
	}
	expect.That(t, slices.Equal(sizes, []int{50, 50, 20}) && len(s.Gaps) == 0 && len(s.Details) == 120, "batches of %v, gaps %+v, %d details", sizes, s.Gaps, len(s.Details))
	for n, want := range map[int]roll.Detail{
		1:   {LifecycleRead: roll.Yes, Lifecycle: "InService", ScaleInProtected: roll.No},
		2:   {LifecycleRead: roll.Yes, Lifecycle: "Warmed:Stopped", ScaleInProtected: roll.No},
		3:   {LifecycleRead: roll.No, ScaleInProtected: roll.No},
		7:   {LifecycleRead: roll.Yes, Lifecycle: "InService", ScaleInProtected: roll.Yes},
		120: {LifecycleRead: roll.Yes, Lifecycle: "InService", ScaleInProtected: roll.No},
	} {
		expect.Equal(t, s.Details[roll.InstanceID(instanceID(n))], want, "instance %d", n)
	}
}

func TestAfterABatchThatFailsTheRestIsUnreadable(t *testing.T) {
	a := newAccount(t)
	for n := 1; n <= 170; n++ {
		a.scale(n, "InService", false)
	}
	// A batch of 50 comes in two pages here. The second batch's second page fails.
	a.fail["autoscaling:DescribeAutoScalingInstances 4"] = apiError("Auto Scaling", "DescribeAutoScalingInstances", "AccessDenied", "User: "+principal+" is not authorized to perform: autoscaling:DescribeAutoScalingInstances because no identity-based policy allows the autoscaling:DescribeAutoScalingInstances action")
	s := look(t, a, suspects(1, 170, roll.Question{AutoScaling: true}))
	want := []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapDenied, Call: "autoscaling:DescribeAutoScalingInstances", Detail: "autoscaling:DescribeAutoScalingInstances was denied to " + principal + " because no identity-based policy allows the autoscaling:DescribeAutoScalingInstances action: allow autoscaling:DescribeAutoScalingInstances for that role"}}
	expect.That(t, slices.Equal(s.Gaps, want) && s.Whole(), "gaps\n got %+v\nwant %+v", s.Gaps, want)
	expect.That(t, len(a.batches) == 2, "%d batches, want none after the one that failed", len(a.batches))
	for n := 1; n <= 170; n++ {
		want := roll.Detail{LifecycleRead: roll.Unreadable, ScaleInProtected: roll.Unreadable}
		if n <= 50 {
			want = roll.Detail{LifecycleRead: roll.Yes, Lifecycle: "InService", ScaleInProtected: roll.No}
		}
		got := s.Details[roll.InstanceID(instanceID(n))]
		must.That(t, got == want, "instance %d: got %+v, want %+v", n, got, want)
	}
}

func TestAsksAutoScalingForAThousandSuspectsAtMost(t *testing.T) {
	a := newAccount(t)
	s := look(t, a, suspects(1, 1101, roll.Question{AutoScaling: true}))
	want := []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapLater, Call: "autoscaling:DescribeAutoScalingInstances", Detail: "1101 suspects, of which the first 1000 were looked up in their Auto Scaling groups; the rest is not acted on"}}
	expect.That(t, slices.Equal(s.Gaps, want) && len(a.batches) == 20, "gaps %+v after %d batches", s.Gaps, len(a.batches))
	expect.Equal(t, s.Details[roll.InstanceID(instanceID(1000))].LifecycleRead, roll.No, "the last that was asked about")
	got := s.Details[roll.InstanceID(instanceID(1001))].LifecycleRead
	expect.That(t, got == roll.Unreadable, "the first that was not: %d, want unreadable", got)
}

// A long hold on some suspects does not delay the others forever.
func TestReadsFiftyAttributesAtMostTheMostUrgentAndOthersInTurn(t *testing.T) {
	a := newAccount(t)
	for n := 1; n <= 40; n++ {
		a.protected[instanceID(n)] = n == 2
		a.userData[instanceID(n)] = encode("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n")
	}
	s := look(t, a, suspects(1, 40, roll.Question{UserData: true, Protection: true}))
	want := []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapLater, Call: "ec2:DescribeInstanceAttribute", Detail: "120 attributes of suspects were wanted and 50 read, those of the most urgent and others in turn; what is not known is not acted on"}}
	expect.That(t, slices.Equal(s.Gaps, want) && len(a.attributes) == 50, "gaps %+v after %d reads", s.Gaps, len(a.attributes))
	read := 0
	for n := 1; n <= 40; n++ {
		unread, known := roll.Detail{Bootstraps: roll.Unreadable, TerminationProtected: roll.Unreadable}, roll.Detail{Bootstraps: roll.Yes, TerminationProtected: roll.No}
		if n == 2 {
			known.TerminationProtected = roll.Yes
		}
		got := s.Details[roll.InstanceID(instanceID(n))]
		switch partly := (roll.Detail{Bootstraps: roll.Yes, TerminationProtected: roll.Unreadable}); {
		case got == known:
			read++
		case got != unread && got != partly || n <= 12:
			t.Errorf("instance %d: got %+v, want %+v", n, got, known)
		}
	}
	expect.That(t, read == 17, "%d instances are read, and 50 attributes are those of 17, of which one has termination protection", read)

	b := newAccount(t)
	for n := 1; n <= 25; n++ {
		b.protected[instanceID(n)] = false
	}
	if s := look(t, b, suspects(1, 25, roll.Question{Protection: true})); len(s.Gaps) != 0 || len(b.attributes) != 50 {
		t.Errorf("exactly 50: gaps %+v after %d reads", s.Gaps, len(b.attributes))
	}

	c := newAccount(t)
	for n := 1; n <= 50; n++ {
		c.protected[instanceID(n)] = true // so that its stop protection is not read
	}
	if s := look(t, c, suspects(1, 50, roll.Question{Protection: true})); len(s.Gaps) != 0 || len(c.attributes) != 50 {
		t.Errorf("100 at most, of which 50 are read, and enough: gaps %+v after %d reads", s.Gaps, len(c.attributes))
	}
}

func TestAfterAnAttributeThatCannotBeReadNoneIsAskedFor(t *testing.T) {
	a := newAccount(t)
	for n := 1; n <= 60; n++ {
		a.protected[instanceID(n)] = false
	}
	a.fail["ec2:DescribeInstanceAttribute 3"] = apiError("EC2", "DescribeInstanceAttribute", "UnauthorizedOperation", "You are not authorized to perform this operation.")
	s := look(t, a, suspects(1, 60, roll.Question{Protection: true}))
	want := []roll.Gap{{Scope: roll.ScopeDetail, Kind: roll.GapDenied, Call: "ec2:DescribeInstanceAttribute", Detail: "ec2:DescribeInstanceAttribute was denied to " + principal + ": allow ec2:DescribeInstanceAttribute for that role"}}
	expect.That(t, slices.Equal(s.Gaps, want) && len(a.attributes) == 3, "gaps %+v after %d reads, want one gap after 3", s.Gaps, len(a.attributes))
	for n := 1; n <= 60; n++ {
		want := roll.Unreadable
		if n == 1 { // by two reads
			want = roll.No
		}
		expect.Equal(t, s.Details[roll.InstanceID(instanceID(n))].TerminationProtected, want, "instance %d", n)
	}
}

func TestOneGapForEachCallThatFails(t *testing.T) {
	a := newAccount(t)
	throttled := apiError("EC2", "DescribeInstanceAttribute", "RequestLimitExceeded", "no")
	a.fail["ec2:DescribeInstanceAttribute"], a.fail["autoscaling:DescribeAutoScalingInstances"] = throttled, throttled
	s := look(t, a, suspects(1, 200, roll.Question{UserData: true, Protection: true, AutoScaling: true}))
	var calls []string
	for _, g := range s.Gaps {
		calls = append(calls, g.Call)
		expect.That(t, g.Scope == roll.ScopeDetail && g.Kind == roll.GapThrottled, "gap %+v", g)
	}
	expect.List(t, calls, []string{"autoscaling:DescribeAutoScalingInstances", "ec2:DescribeInstanceAttribute"}, "gaps")
	for id, d := range s.Details {
		want := (roll.Detail{Bootstraps: roll.Unreadable, TerminationProtected: roll.Unreadable, ScaleInProtected: roll.Unreadable, LifecycleRead: roll.Unreadable})
		must.That(t, d == want, "%s: %+v", id, d)
	}
	expect.That(t, len(s.Details) == 200, "%d details: who is asked about must get an answer, or is asked about again", len(s.Details))
}

// A list with the same entry fifty times helps nobody.
func TestACallThatFailsForEverySuspectIsOneGap(t *testing.T) {
	a := newAccount(t)
	a.fail["ec2:DescribeInstanceAttribute"] = apiError("EC2", "DescribeInstanceAttribute", "InternalError", "An internal error has occurred")
	s := look(t, a, suspects(1, attributeReads/2, roll.Question{Protection: true}))
	expect.That(t, len(s.Gaps) == 1, "%d gaps, want 1; the first: %+v", len(s.Gaps), s.Gaps[0])
}

// Stop protection refuses a termination too, and DescribeInstances shows neither.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-stop-protection.html
func TestStopProtectionProtectsFromTermination(t *testing.T) {
	a := newAccount(t)
	for n := 1; n <= 4; n++ {
		a.protected[instanceID(n)], a.unstopped[instanceID(n)] = n%2 == 0, n > 2
	}
	a.protected[instanceID(5)] = false
	a.fail["ec2:DescribeInstanceAttribute 8"] = apiError("EC2", "DescribeInstanceAttribute", "InternalError", "An internal error has occurred")
	s := look(t, a, suspects(1, 5, roll.Question{Protection: true}))
	for n, want := range []roll.Detail{
		{TerminationProtected: roll.No}, {TerminationProtected: roll.Yes}, {TerminationProtected: roll.Yes, StopProtected: true}, {TerminationProtected: roll.Yes}, {TerminationProtected: roll.Unreadable},
	} {
		expect.Equal(t, s.Details[roll.InstanceID(instanceID(n+1))], want, "instance %d", n+1)
	}
}

// An instance that vanished means nothing for the others, unlike a missing permission.
func TestASuspectThatVanishedKeepsNobodyElseFromBeingRead(t *testing.T) {
	a := newAccount(t)
	for n := 1; n <= 3; n++ {
		a.protected[instanceID(n)] = false
	}
	a.fail["ec2:DescribeInstanceAttribute 1"] = apiError("EC2", "DescribeInstanceAttribute", "InvalidInstanceID.NotFound", "The instance ID '"+instanceID(1)+"' does not exist")
	s := look(t, a, suspects(1, 3, roll.Question{Protection: true}))
	for n, want := range []roll.Answer{roll.Unreadable, roll.No, roll.No} {
		expect.Equal(t, s.Details[roll.InstanceID(instanceID(n+1))].TerminationProtected, want, "instance %d", n+1)
	}
}

func TestAsksOnlyWhatIsAskedAndKeepsWhatIsKnown(t *testing.T) {
	a := newAccount(t)
	a.protected[instanceID(1)] = true
	s := &roll.Snapshot{Details: map[roll.InstanceID]roll.Detail{roll.InstanceID(instanceID(1)): {Bootstraps: roll.Yes, Lifecycle: "InService", LifecycleRead: roll.Yes, ScaleInProtected: roll.No}}}
	o := a.observer()
	o.Details(t.Context(), s, nil)
	expect.That(t, len(a.log) == 0, "nothing was asked, and %v was called", a.log)
	o.Details(t.Context(), s, suspects(1, 1, roll.Question{Protection: true}))
	want := roll.Detail{Bootstraps: roll.Yes, Lifecycle: "InService", LifecycleRead: roll.Yes, ScaleInProtected: roll.No, TerminationProtected: roll.Yes}
	got := s.Details[roll.InstanceID(instanceID(1))]
	expect.That(t, got == want, "got %+v, want %+v", got, want)
	expect.That(t, len(a.attributes) == 1 && a.attributes[0].Attribute == types.InstanceAttributeNameDisableApiTermination && len(a.batches) == 0, "calls %v", a.log)
}

// Where an instance's user data cannot be read, the template with which its Auto Scaling group
// launched it shows what it is meant for. That is not asked of an instance of no group.
func TestTheTemplateOfAGroupTellsWhatItsInstancesAreMeantFor(t *testing.T) {
	for name, tt := range map[string]struct {
		asg, value string
		fails      bool
		want       bool
	}{
		"a node of the cluster":        {"web", encode("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"), false, true},
		"a node of another cluster":    {"web", encode("#!/bin/bash\n/etc/eks/bootstrap.sh other\n"), false, false},
		"no node":                      {"web", encode("#!/bin/bash\nyum install -y haproxy\n"), false, false},
		"a template that is not there": {"web", encode("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"), true, false},
		"an instance of no group":      {"", encode("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"), false, false},
	} {
		a := newAccount(t)
		a.userData["lt-1:3"] = tt.value
		a.fail["ec2:DescribeInstanceAttribute"] = apiError("EC2", "DescribeInstanceAttribute", "UnauthorizedOperation", "no")
		if tt.fails {
			a.fail["ec2:DescribeLaunchTemplateVersions"] = apiError("EC2", "DescribeLaunchTemplateVersions", "InvalidLaunchTemplateId.NotFound", "no")
		}
		id := roll.InstanceID(instanceID(1))
		s := &roll.Snapshot{Cluster: roll.Cluster{ID: roll.ClusterID{Name: "demo"}}, Details: map[roll.InstanceID]roll.Detail{}, Instances: []roll.Instance{{ID: id, ASG: tt.asg, LaunchTemplate: "lt-1:3"}}}
		a.observer().Details(t.Context(), s, []roll.Question{{Instance: id, UserData: true}})
		d := s.Details[id]
		expect.That(t, d.Bootstraps == roll.Unreadable && d.TemplateBootstraps == tt.want, "%s: got %+v", name, d)
	}
}

func TestUserDataAnswersWhetherItBootstrapsTheCluster(t *testing.T) {
	for name, tt := range map[string]struct {
		value   string
		want    roll.Answer
		other   string
		unnamed bool // it bootstraps a node of a cluster that it does not name
	}{
		"a script for the cluster":          {encode("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"), roll.Yes, "", false},
		"a NodeConfig for the cluster":      {encode("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: demo\n"), roll.Yes, "", false},
		"a script for another cluster":      {encode("#!/bin/bash\n/etc/eks/bootstrap.sh other\n"), roll.No, "other", false},
		"a script for both":                 {encode("#!/bin/bash\n/etc/eks/bootstrap.sh other || /etc/eks/bootstrap.sh demo\n"), roll.Yes, "", false},
		"another cluster, and what is open": {encode("#!/bin/bash\n/etc/eks/bootstrap.sh other\n/etc/eks/bootstrap.sh $(cat /name)\n"), roll.Unreadable, "", false},
		"a script that bootstraps nothing":  {encode("#!/bin/bash\nyum install -y haproxy\n"), roll.No, "", false},
		"a script in a form not followed":   {encode("#!/bin/bash\nunshare /etc/eks/bootstrap.sh demo\n"), roll.Unreadable, "", false},
		"a script that is called elsewhere": {encode("#!/bin/bash\ncd /etc/eks && ./bootstrap.sh demo\n"), roll.Yes, "", false},
		"a script that is only mentioned":   {encode("#!/bin/bash\necho /etc/eks/bootstrap.sh demo\n"), roll.No, "", false},
		"a batch file that calls the tool":  {encode("<script>\npowershell -File Start-EKSBootstrap.ps1 -EKSClusterName demo\n</script>\n"), roll.Unreadable, "", false},
		"a runcmd that is replaced":         {encode("#cloud-config-archive\n- \"#cloud-config\\nruncmd: [/etc/eks/bootstrap.sh demo]\"\n- \"#cloud-config\\nruncmd: [date]\"\n"), roll.Yes, "", false},
		"another cluster's, replaced":       {encode("#cloud-config-archive\n- \"#cloud-config\\nruncmd: [/etc/eks/bootstrap.sh other]\"\n- \"#cloud-config\\nruncmd: [date]\"\n"), roll.Unreadable, "", false},
		"nothing":                           {"", roll.No, "", false},
		"what is not base64":                {"%%%", roll.Unreadable, "", false},
		"a reference to what is elsewhere":  {encode("#include\nhttps://example.com/bootstrap.sh\n"), roll.Unreadable, "", false},
		"a name that is computed":           {encode("#!/bin/bash\n/etc/eks/bootstrap.sh $(cat /name)\n"), roll.Unreadable, "", true},
		"a name for what is fetched":        {encode("#!/bin/bash\ncurl -s https://example.com/join.sh | bash -s -- $(cat /name)\n"), roll.No, "", false},
	} {
		a := newAccount(t)
		a.userData[instanceID(1)] = tt.value
		s := look(t, a, suspects(1, 1, roll.Question{UserData: true}))
		if got := s.Details[roll.InstanceID(instanceID(1))]; got.Bootstraps != tt.want || got.OtherCluster != tt.other || got.BootstrapsUnnamed != tt.unnamed || len(s.Gaps) != 0 {
			t.Errorf("%s: got %+v, want %d, %q and %v; gaps %+v", name, got, tt.want, tt.other, tt.unnamed, s.Gaps)
		}
	}
	expect.That(t, isOn(&types.AttributeBooleanValue{}) == roll.Unreadable, "an attribute without a value is an answer")
	a := newAccount(t) // without user data the API shows no value
	s := look(t, a, suspects(1, 1, roll.Question{UserData: true, Protection: true}))
	want := roll.Detail{Bootstraps: roll.No, TerminationProtected: roll.Unreadable}
	expect.Equal(t, s.Details[roll.InstanceID(instanceID(1))], want, "instance 1")
}

// Protection is read by the same call, and without it every act would be held.
func TestUserDataCanBeLeftUnreadAndProtectionIsStillRead(t *testing.T) {
	a := newAccount(t)
	a.userData[instanceID(1)] = encode("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n")
	a.protected[instanceID(1)] = true
	o := a.observer()
	o.WithoutUserData = true
	s := &roll.Snapshot{Details: map[roll.InstanceID]roll.Detail{}}
	o.Details(t.Context(), s, suspects(1, 1, roll.Question{UserData: true, Protection: true}))
	want := roll.Detail{Bootstraps: roll.Unreadable, TerminationProtected: roll.Yes}
	got := s.Details[roll.InstanceID(instanceID(1))]
	expect.That(t, got == want && len(s.Gaps) == 0, "got %+v, want %+v; gaps %+v", got, want, s.Gaps)
	for _, in := range a.attributes {
		expect.That(t, in.Attribute != types.InstanceAttributeNameUserData, "user data was read")
	}
}

// User data may hold secrets.
func TestNothingOfUserDataIsKept(t *testing.T) {
	a := newAccount(t)
	a.userData[instanceID(1)] = encode("#!/bin/bash\nexport DB_PASSWORD=hunter2\n/etc/eks/bootstrap.sh $(cat /name)\n")
	s := look(t, a, suspects(1, 1, roll.Question{UserData: true}))
	for _, g := range s.Gaps {
		expect.That(t, !strings.Contains(g.Detail, "hunter2"), "gap %+v", g)
	}
}

// User data that is never read costs no other suspect its turn.
func TestWithoutUserDataProtectionIsReadOfAll(t *testing.T) {
	a := newAccount(t)
	o := a.observer()
	o.WithoutUserData = true
	for n := 1; n <= attributeReads/2; n++ {
		a.protected[instanceID(n)] = false
	}
	s := &roll.Snapshot{At: at, Details: map[roll.InstanceID]roll.Detail{}}
	o.Details(t.Context(), s, suspects(1, attributeReads/2, roll.Question{UserData: true, Protection: true}))
	expect.That(t, len(a.attributes) == attributeReads && len(s.Gaps) == 0, "%d reads, gaps %+v", len(a.attributes), s.Gaps)
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// Each check reads the user data of so many of hundreds of tagged instances that are no nodes that all of
// them are known after some. It changes only while the instance is stopped.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
func TestUserDataIsReadOnceForEachStartOfAnInstance(t *testing.T) {
	a := newAccount(t)
	o, launched := a.observer(), at.Add(-time.Hour)
	reads := func() (n int, s *roll.Snapshot) {
		before := len(a.attributes)
		s = &roll.Snapshot{At: at, Cluster: roll.Cluster{ID: roll.ClusterID{Name: "demo"}}, Details: map[roll.InstanceID]roll.Detail{}}
		questions := suspects(1, 70, roll.Question{UserData: true})
		for _, q := range questions {
			a.userData[string(q.Instance)] = encode("#!/bin/bash\n/etc/eks/bootstrap.sh other\n")
			s.Instances = append(s.Instances, roll.Instance{ID: q.Instance, Launched: launched})
		}
		o.Details(t.Context(), s, questions)
		return len(a.attributes) - before, s
	}
	first, _ := reads()
	second, s := reads()
	third, _ := reads()
	expect.That(t, first == 50 && second == 20 && third == 0 && len(s.Gaps) == 0, "%d, %d and %d reads, %+v", first, second, third, s.Gaps)
	for id, d := range s.Details {
		expect.That(t, d.Bootstraps == roll.No && d.OtherCluster == "other", "%s: %+v", id, d)
	}
	launched = launched.Add(time.Minute)
	again, _ := reads()
	expect.That(t, again == 50, "%d reads after they were started again", again)

	// What could not be read is not remembered.
	b := newAccount(t)
	b.fail["ec2:DescribeInstanceAttribute 1"] = apiError("EC2", "DescribeInstanceAttribute", "InternalError", "no")
	o, a = b.observer(), b
	_, s = reads()
	expect.That(t, len(s.Gaps) > 0 && s.Details[roll.InstanceID(instanceID(1))].Bootstraps == roll.Unreadable, "%+v", s.Gaps)
	_, s = reads()
	expect.That(t, s.Details[roll.InstanceID(instanceID(1))].Bootstraps == roll.No, "%+v", s.Details)
}
