package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"rollcall/shared/assess"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/remediate"
	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/golden"
	"rollcall/tests/harness/must"
)

// checks returns realistic checks, by the name of their golden files.
func checks() map[string]Check {
	check := func(mode policy.Mode, nodes, ready int) Check {
		return Check{
			Snapshot:   &roll.Snapshot{At: now, Cluster: roll.Cluster{ID: cluster, Status: roll.ClusterActive}},
			Assessment: assess.Assessment{Nodes: nodes, Ready: ready},
			Plan:       plan.Plan{Steps: map[roll.FindingKey]plan.Step{}, Next: now.Add(3 * time.Minute)},
			Mode:       mode,
		}
	}
	all := map[string]Check{}

	c := check(policy.Observe, 3, 3)
	c.Plan.Next = time.Time{}
	all["healthy"] = c

	c = check(policy.Notify, 120, 120)
	c.Assessment.Waiting = 2
	all["starting"] = c

	c = check(policy.Notify, 120, 119)
	c.Assessment.Findings = []roll.Finding{silent(1, 10*time.Minute)}
	all["watching"] = c

	all["findings"] = findings(check(policy.Remediate, 48, 41))

	all["diagnosed"] = diagnosed(findings(check(policy.Remediate, 48, 41)))

	all["kinds"] = kinds(check(policy.Remediate, 48, 41))

	c = check(policy.Notify, 120, 120)
	c.Assessment.Registration = registrations(14)
	all["registration"] = c

	c = check(policy.Notify, 0, 0)
	f0 := orphaned(1)
	c.Assessment.Findings = []roll.Finding{f0}
	c.Snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeCluster, Kind: roll.GapClusterGone, Call: "eks:DescribeCluster", Detail: "there is no EKS cluster \"shop-production\" in this account and region: check the name, AWS_REGION and the profile (names are case-sensitive; aws eks list-clusters shows them)"}}
	c.Plan.Held = []plan.Held{held(f0, plan.ClusterNotActive, "EKS has no cluster shop-production in this account and region")}
	all["gone"] = c

	c = check(policy.Remediate, 0, 0)
	c.Snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeNodes, Kind: roll.GapUnauthorized, Call: "kubernetes: list nodes", Detail: "the Kubernetes API of shop-production refused the token of arn:aws:sts::111122223333:assumed-role/rollcall-inspect/rollcall (401 Unauthorized): the cluster has no access entry or aws-auth mapping for it; see infra/README.md"}}
	c.Plan.Next = time.Time{}
	all["unreadable"] = c

	c = check(policy.Remediate, 48, 47)
	c.Assessment.Waiting = 12
	f := silent(1, 50*time.Minute)
	c.Assessment.Findings = []roll.Finding{f}
	gap := "page 2 of the instances of shop-production: ec2:DescribeInstances was throttled (RequestLimitExceeded): the next check tries again"
	c.Snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeInstances, Kind: roll.GapThrottled, Call: "ec2:DescribeInstances", Detail: gap}}
	c.Plan.Held = []plan.Held{held(f, plan.SnapshotIncomplete, gap)}
	c.Faults = []string{"tag " + string(f.Instance) + ": ec2:CreateTags was denied to arn:aws:sts::111122223333:assumed-role/rollcall-inspect/rollcall: allow ec2:CreateTags for that role"}
	all["incomplete"] = c
	return all
}

func held(f roll.Finding, reason plan.Reason, detail string) plan.Held {
	return plan.Held{Instance: f.Instance, Node: f.Node, Group: f.Group, Kind: f.Kind, Action: plan.Terminate, Refusal: plan.Refusal{Reason: reason, Detail: detail}}
}

func order(f roll.Finding) plan.Order {
	return plan.Order{
		ID: fmt.Sprintf("%016x", 0xfeed<<16+len(f.Node)), ClusterID: cluster, Instance: f.Instance, Node: f.Node, Group: f.Group, Owner: f.Owner, Kind: f.Kind,
		Action: plan.Terminate, FirstSeen: f.Since.Add(time.Minute), Since: f.Since, At: now, Expires: now.Add(plan.OrderLife), Why: f.Summary,
	}
}

// registrations returns the registration times of n groups.
func registrations(n int) map[roll.Group]assess.RegistrationTimes {
	all := map[roll.Group]assess.RegistrationTimes{}
	for i := range n {
		g := roll.NodeGroupGroup(fmt.Sprintf("web-%02d", i+1))
		all[g] = assess.RegistrationTimes{Count: 10 * (i + 1), P50: 41 * time.Second, P95: time.Duration(60+i) * time.Second, P99: time.Duration(70+7*i) * time.Second}
	}
	all["nodepool/gpu"] = assess.RegistrationTimes{Count: 4, P50: 3*time.Minute + 400*time.Millisecond, P95: 12 * time.Minute, P99: time.Hour + 5*time.Minute}
	return all
}

// kinds adds a finding of every kind to a check, and what is done about them.
func kinds(c Check) Check {
	all := []roll.Finding{silent(1, 45*time.Minute), uninitialized(2), notReady(3), conditionFailed(4), impaired(5), flapping(6), ghost(7), orphaned(8), conflict(9), missing(10, 17*time.Minute)}
	all[9].Group, all[9].Owner = "nodepool/default", roll.OwnerKarpenter
	soon, rebooting, deleting, watched, resting := notReady(11), silent(12, 31*time.Minute), ghost(16), impaired(13), orphaned(14)
	soon.Since, soon.Due, soon.Stage = now.Add(-12*time.Minute), now.Add(3*time.Minute), roll.Watching
	watched.Since, watched.Due, watched.Stage, watched.Node = now.Add(-time.Minute), now.Add(4*time.Minute), roll.Watching, ""
	resting.Since, resting.Due, resting.Stage = now.Add(-5*time.Minute), now.Add(10*time.Minute), roll.Watching
	c.Assessment.Findings = append(all, rebooting, deleting, scheduled(18), stuck(19), unlaunched(), soon, watched, resting)
	act := func(f roll.Finding, a plan.Action) plan.Order {
		o := order(f)
		o.Action = a
		return o
	}
	c.Outcomes = []remediate.Outcome{
		{Order: act(all[0], plan.Reboot), Result: remediate.Acted, Detail: "rebooted " + string(instanceID(1)), News: true},
		{Order: act(all[1], plan.Cordon), Result: remediate.Acted, Detail: "cordoned node " + nodeName(2), News: true},
		{Order: act(all[2], plan.Drain), Result: remediate.Ongoing, Detail: "draining node " + nodeName(3) + ": 12 pods evicted just now, 1 pod not to be evicted (shop/cart-0: its PodDisruptionBudget allows no eviction now)"},
		{Order: act(all[6], plan.DeleteNode), Result: remediate.Acted, Detail: "deleted node " + nodeName(7), News: true},
		{Order: act(all[9], plan.DeleteNodeClaim), Result: remediate.Acted, Detail: "deleted NodeClaim default-x7k2p", News: true},
		{Order: act(silent(15, time.Hour), plan.Uncordon), Result: remediate.Acted, Detail: "uncordoned node " + nodeName(15), News: true},
	}
	for i := range c.Outcomes {
		if o := &c.Outcomes[i].Order; o.Action == plan.DeleteNodeClaim {
			o.Claim = "default-x7k2p"
		}
		c.Plan.Orders = append(c.Plan.Orders, c.Outcomes[i].Order)
	}
	back := held(all[8], plan.Conflicting, all[8].Summary+": one of the two is wrong, so nothing is done")
	back.Action = plan.DeleteNode
	c.Plan.Held = []plan.Held{
		held(all[4], plan.OwnerWillAct, "nodegroup/web-blue replaces instances whose status checks fail"),
		held(all[7], plan.ReplacementRepeats, "2 acts on nodepool/default since 2026-03-02 10:40:00Z, and no node launched since then works"),
		back,
	}
	c.Plan.Steps[rebooting.Key()] = plan.Step{Do: policy.DoReboot, At: now.Add(9 * time.Minute)}
	c.Plan.Steps[deleting.Key()] = plan.Step{Do: policy.DoDeleteNode, At: now.Add(9 * time.Minute)} // the longest word
	c.Assessment.Registration = registrations(1)
	return c
}

// findings adds everything that a check can show.
func findings(c Check) Check {
	acted, refused, failed, unclear := missing(1, 20*time.Minute), silent(2, 45*time.Minute), silent(3, 44*time.Minute), silent(4, 43*time.Minute)
	share, hold, soon, karpenter, warned, watched := silent(5, 3*time.Hour+5*time.Minute), silent(6, 49*time.Hour), silent(7, 31*time.Minute), missing(8, 17*time.Minute), missing(9, 6*time.Minute), silent(10, 90*time.Second)
	karpenter.Group, karpenter.Owner = "nodepool/default", roll.OwnerKarpenter
	c.Assessment.Findings = []roll.Finding{hold, share, refused, failed, unclear, soon, acted, karpenter, warned, watched}
	c.Assessment.Waiting = 1
	c.Assessment.NotNodes = []assess.NotNode{
		{Instance: instanceID(20), Name: "bastion", Why: "nothing shows that it is meant to be a node: no node pool or node group owns it, no node came from its Auto Scaling group or launch template, and its user data bootstraps no node of this cluster"},
		{Instance: instanceID(21), Why: "its Auto Scaling group keeps it in Warmed:Running"},
	}
	c.Assessment.Notes = []string{"node " + nodeName(30) + ": its instance " + string(instanceID(30)) + " is stopped; it is not judged"}
	c.Plan.Held = []plan.Held{
		held(share, plan.UnhealthyShare, "11 of 48 nodes of cluster shop-production are past their tolerance, more than the 10 that limits.unhealthy (20%) allows: the fault is probably not in the instances"),
		held(hold, plan.InstanceHeld, string(hold.Instance)+" carries rollcall:hold=2026-03-05; it keeps costing until the tag is removed"),
		held(karpenter, plan.OwnerNotifyOnly, "owner is karpenter: this version only notifies"),
	}
	for _, f := range []roll.Finding{acted, refused, failed, unclear} {
		c.Plan.Orders = append(c.Plan.Orders, order(f))
	}
	c.Outcomes = []remediate.Outcome{
		{Order: order(acted), Result: remediate.Acted, Detail: "terminated " + string(acted.Instance), News: true},
		{Order: order(refused), Result: remediate.Refused, Reason: plan.VerdictChanged, Detail: "node " + refused.Node + " of " + string(refused.Instance) + " is registered and Ready now", News: true},
		{Order: order(failed), Result: remediate.Failed, Detail: "ec2:TerminateInstances was denied to arn:aws:sts::111122223333:assumed-role/rollcall-remediate/rollcall: allow ec2:TerminateInstances for that role", News: true},
		{Order: order(unclear), Result: remediate.Unclear, Detail: "ec2:TerminateInstances got no answer in time; a later check will see from the instance whether it took effect; until then it is not repeated", News: true},
	}
	for f, s := range map[*roll.Finding]plan.Step{
		&hold: {Do: policy.DoTerminate, At: now.Add(-48 * time.Hour)}, &share: {Do: policy.DoTerminate, At: now.Add(-2 * time.Hour)},
		&soon: {Do: policy.DoTerminate, At: now.Add(9 * time.Minute)}, &warned: {Do: policy.DoTerminate, At: now.Add(9 * time.Minute)},
	} {
		c.Plan.Steps[f.Key()] = s
	}
	return c
}

func table(t *testing.T, c ...Check) string { return tables(t, c, false) }

func tables(t *testing.T, checks []Check, everything bool) string {
	t.Helper()
	return drawn(t, Layout{Columns: 80, Everything: everything}, checks...)
}

// drawn returns the tables in a layout.
func drawn(t *testing.T, l Layout, checks ...Check) string {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, Tables(&b, checks, l))
	return b.String()
}

func TestTables(t *testing.T) {
	for name, c := range checks() {
		t.Run(name, func(t *testing.T) {
			golden.File(t, "testdata/table-"+name+".golden", table(t, c))
			golden.File(t, "testdata/verbose-"+name+".golden", tables(t, []Check{c}, true))
		})
	}
}

// Without a memory there is no next check.
func TestWithoutAMemoryNoNextCheckIsPromised(t *testing.T) {
	c := checks()["diagnosed"]
	must.That(t, strings.Contains(table(t, c), "next check at"), "the table tells of no next check in any case")
	c.Unremembered = true
	expect.That(t, !strings.Contains(table(t, c), "next check at"), "it promises another check")
}

// account returns the checks of an account: those of checks() under distinct names, and some
// with nothing to do.
func account() []Check {
	var out []Check
	all := checks()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, named(all[name], name))
	}
	for n := range 3 {
		out = append(out, named(all["healthy"], fmt.Sprintf("calm-%d", n+1)))
	}
	return out
}

func named(c Check, name string) Check {
	s := *c.Snapshot
	s.Cluster.ID.Name = name
	c.Snapshot = &s
	return c
}

func TestTheTablesOfAnAccount(t *testing.T) {
	golden.File(t, "testdata/tables.golden", table(t, account()...))
}

// Clusters that could not be judged come first, then those with overdue findings, by age.
func TestTheMostUrgentComesFirst(t *testing.T) {
	all := checks()
	younger := named(all["kinds"], "younger")
	younger.Assessment.Findings = []roll.Finding{silent(1, 40*time.Minute)}
	warned := named(all["kinds"], "warned")
	warned.Assessment.Findings = []roll.Finding{missing(1, 6*time.Minute)}
	partial := named(all["healthy"], "partial")
	partial.Faults = []string{"a tag was not written"}
	order := []Check{named(all["unreadable"], "unreadable"), named(all["findings"], "oldest"), younger, partial, warned, named(all["healthy"], "a"), named(all["watching"], "b")}
	for range 20 {
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		got := table(t, order...)
		at := -1
		for _, name := range []string{"unreadable", "oldest", "younger", "partial", "warned", "a", "b"} {
			i := strings.Index("\n"+got, "\n"+name+" (")
			must.That(t, i > at, "%s is not in its place:\n%s", name, got)
			at = i
		}
	}
}

func TestNothingToDoIsOneLine(t *testing.T) {
	all := checks()
	var calm []Check
	for i, name := range []string{"healthy", "starting", "watching", "registration"} {
		c := named(all[name], fmt.Sprintf("%d-%s", i, name))
		calm = append(calm, c)
		got := table(t, c)
		expect.That(t, strings.Count(got, "\n") == 1 && strings.Contains(got, "nothing to do"), "%s:\n%s", name, got)
	}
	if got := table(t, calm...); strings.Count(got, "\n") != len(calm) {
		t.Errorf("%d clusters:\n%s", len(calm), got)
	}
	huge := named(all["watching"], strings.Repeat("long-name-", 10))
	huge.Snapshot.Cluster.ID.Region = "ap-northeast-1"
	huge.Assessment.Nodes, huge.Assessment.Ready, huge.Assessment.Waiting = 100_000, 99_999, 10_000
	got := table(t, huge)
	expect.That(t, strings.Count(got, "\n") == 1 && strings.Contains(got, "99999 of 100000 nodes ready, 10000 starting, 1 watched"), "a large one:\n%s", got)
}

// A note is no finding, but must be shown.
func TestANoteIsToldAlsoOfAClusterWithNothingToDo(t *testing.T) {
	c := checks()["healthy"]
	c.Assessment.Notes = []string{"2 instances of Auto Mode are hidden; they are not judged"}
	got := table(t, c, named(checks()["healthy"], "z"))
	if !strings.Contains(got, "nothing to do") || !strings.Contains(got, "they are not judged") {
		t.Error(got)
	}
}

func TestDocuments(t *testing.T) {
	for name, c := range checks() {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(c.Document())
			must.Succeed(t, err)
			golden.File(t, "testdata/document-"+name+".golden", indented(t, data))
		})
	}
}

// The JSON form has empty lists, not nulls.
func TestEveryListOfADocumentIsThere(t *testing.T) {
	data, err := json.Marshal(Check{Snapshot: &roll.Snapshot{At: now}}.Document())
	must.Succeed(t, err)
	expect.That(t, !bytes.Contains(data, []byte("null")), "got %s", data)
	var d map[string]any
	must.Succeed(t, json.Unmarshal(data, &d))
	for _, list := range []string{"notes", "findings", "watching", "orders", "held", "outcomes", "taggedNotNodes", "registration"} {
		got, ok := d[list].([]any)
		expect.That(t, ok && len(got) == 0, "%s: %v", list, d[list])
	}
}

// longest returns a check whose parts are as long as they may be. Names of clusters have at
// most 100 characters, of Auto Scaling groups 255, and the tag Name may contain any text.
func longest() Check {
	c := checks()["findings"]
	c.Snapshot.Cluster.ID.Name = strings.Repeat("long-name-", 10)
	c.Snapshot.Gaps = []roll.Gap{{Scope: roll.ScopeInstances, Detail: "what is missing"}}
	c.Assessment.Nodes, c.Assessment.Ready, c.Assessment.Waiting = 100_000, 99_999, 10_000
	for i := range c.Assessment.Findings {
		c.Assessment.Findings[i].Group = roll.AutoScalingGroup(strings.Repeat("gruppe-ä-", 28))
	}
	c.Assessment.Findings = append(c.Assessment.Findings, conditionFailed(40))
	c.Assessment.Findings[len(c.Assessment.Findings)-1].Condition = strings.Repeat("VeryReady", 30)
	c.Assessment.Registration = registrations(12)
	c.Assessment.Registration[roll.AutoScalingGroup(strings.Repeat("gruppe-ä-", 28))] = assess.RegistrationTimes{Count: 100_000, P50: 100 * time.Hour, P95: 200 * time.Hour, P99: 277*time.Hour + 59*time.Minute + 59*time.Second}
	c.Assessment.NotNodes[0].Name = strings.Repeat("the bastion of the shop, ", 10)
	return c
}

func TestTablesAreAtMostEightyColumnsWide(t *testing.T) {
	all := checks()
	all["longest"] = longest()
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			narrow(t, c)
		})
	}
}

// narrow checks the width of every line. A command, or a word that is longer than a line,
// such as an ARN, stays whole on a line of its own, because people copy it.
func narrow(t *testing.T, c Check) {
	t.Helper()
	for _, everything := range []bool{false, true} {
		for line := range strings.Lines(tables(t, []Check{c}, everything)) {
			line = strings.TrimSuffix(line, "\n")
			if n := columns(line); n > 80 && len(strings.Fields(line)) > 1 && !strings.Contains(fixes(c), strings.TrimSpace(line)) {
				t.Errorf("%d columns:\n%s", n, line)
			}
			expect.That(t, strings.TrimRight(line, " ") == line, "blanks at the end of %q", line)
		}
	}
}

// alphabet has characters of names, including wide, zero-width and hostile ones.
var alphabet = []rune("abcXYZ019-_./:=äßÉ日本語ｗ한👩\u0301\u200d\u202e\x1b\x00\t\u200b\ufeff")

func TestTablesAreNarrowWhateverNamesHold(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	name := func(most int) string {
		var b strings.Builder
		for range r.IntN(most + 1) {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		return b.String()
	}
	sentence := func() string {
		words := make([]string, r.IntN(40))
		for i := range words {
			words[i] = name(30)
		}
		return strings.Join(words, " ")
	}
	for range 300 {
		all := checks()
		c := all[slices.Sorted(maps.Keys(all))[r.IntN(len(all))]]
		c.Snapshot.Cluster.ID.Name, c.Snapshot.Cluster.ID.Region = name(100), name(14)
		c.Assessment.Nodes, c.Assessment.Ready, c.Assessment.Waiting = r.IntN(200_000), r.IntN(200_000), r.IntN(20_000)
		for i := range c.Assessment.Findings {
			f := &c.Assessment.Findings[i]
			f.Group, f.Node, f.Condition, f.Summary = roll.Group(name(255)), name(253), name(300), sentence()
			f.Since = now.Add(-time.Duration(r.Int64N(int64(5000 * time.Hour))))
		}
		for i := range c.Plan.Held {
			c.Plan.Held[i].Detail = sentence()
		}
		for i := range c.Outcomes {
			c.Outcomes[i].Detail = sentence()
		}
		c.Assessment.NotNodes = append(c.Assessment.NotNodes, assess.NotNode{Instance: instanceID(77), Name: name(255), Why: sentence()})
		c.Assessment.Notes = append(c.Assessment.Notes, sentence())
		c.Assessment.Registration = map[roll.Group]assess.RegistrationTimes{roll.Group(name(255)): {Count: r.IntN(257), P99: time.Duration(r.Int64N(int64(200 * time.Hour)))}}
		narrow(t, c)
		got := tables(t, []Check{c}, true)
		must.That(t, !strings.ContainsFunc(got, roll.Misleads), "what misleads a terminal is in the table:\n%q", got)
		if t.Failed() {
			return
		}
	}
}

func TestALongTableIsCutAndSaysSo(t *testing.T) {
	c := checks()["findings"]
	c.Assessment.Findings, c.Plan.Held = nil, nil
	for n := range 200 {
		f := silent(n+1, 3*time.Hour)
		c.Assessment.Findings = append(c.Assessment.Findings, f)
		c.Plan.Held = append(c.Plan.Held, held(f, plan.InstanceHeld, string(f.Instance)+" carries rollcall:hold=true"))
	}
	got := table(t, c)
	for _, want := range []string{"and 140 more findings", "and 140 more; --verbose"} {
		expect.That(t, strings.Contains(got, want), "nothing of %q:\n%s", want, got)
	}
	all := tables(t, []Check{c}, true)
	expect.That(t, strings.Count(all, " 3h ") == 200 && !strings.Contains(all, "--verbose"), "--verbose does not tell all")
}

func TestWhatIsHeldForOneReasonIsToldOnce(t *testing.T) {
	c := checks()["findings"]
	for i := range c.Plan.Held {
		c.Plan.Held[i].Group, c.Plan.Held[i].Kind = "asg/a", roll.Unknown
		c.Plan.Held[i].Reason, c.Plan.Held[i].Detail = plan.UnhealthyShare, "too many"
	}
	got := strings.Join(strings.Fields(table(t, c)), " ")
	if strings.Count(got, "too many") != 1 || !strings.Contains(got, "i-00000000000000005, i-00000000000000006 and 1 more: UnhealthyShare") {
		t.Error(got)
	}
}

// Only a complete check without findings may report that all is well.
func TestNothingIsCalledFineThatWasNotRead(t *testing.T) {
	for name, c := range checks() {
		calm := strings.Contains(table(t, c), "nothing to do")
		expect.Equal(t, calm, c.Complete() && len(c.Findings()) == 0, "%s: says that nothing is to be done", name)
		if d := c.Document(); d.Complete != c.Complete() || d.Complete == (len(c.Snapshot.Gaps)+len(c.Faults) > 0) {
			t.Errorf("%s: complete %v with %d gaps and %d faults", name, d.Complete, len(c.Snapshot.Gaps), len(c.Faults))
		}
	}
}

// ends checks how the lines of instances end.
func ends(t *testing.T, table string, wanted map[int]string) {
	t.Helper()
	for instance, want := range wanted {
		found := false
		for line := range strings.Lines(table) {
			found = found || strings.Contains(line, string(instanceID(instance))) && strings.HasSuffix(strings.TrimSpace(line), " "+want)
		}
		expect.That(t, found, "no line of instance %d ends in %q:\n%s", instance, want, table)
	}
}

func TestATableSaysWhatFollowsOrCame(t *testing.T) {
	ends(t, table(t, checks()["findings"]), map[int]string{1: "terminated", 2: "refused", 3: "failed", 4: "unclear", 5: "held", 6: "held", 7: "terminate 12:09Z", 8: "held", 9: "terminate 12:09Z"})
}

func TestATableSaysWhatBecameOfEveryAct(t *testing.T) {
	got := table(t, checks()["kinds"])
	ends(t, got, map[int]string{1: "rebooted", 2: "cordoned", 3: "draining", 4: "-", 5: "held", 6: "-", 7: "node deleted", 8: "held", 9: "held", 10: "claim deleted", 12: "reboot 12:09Z", 16: "delete-node 12:09Z"})
	for _, k := range roll.Kinds() {
		expect.That(t, strings.Contains(got, "\n  "+string(k)+" "), "no line begins with %s:\n%s", k, got)
	}
}

// A table shows ten groups, the slowest first, and counts the rest. The JSON form has all.
func TestRegistrationTimesAreTheSlowestFirst(t *testing.T) {
	c := checks()["registration"]
	got := tables(t, []Check{c}, true)
	if !strings.Contains(got, "and 5 more groups") || strings.Index(got, "nodepool/gpu") > strings.Index(got, "nodegroup/web-14") || strings.Contains(got, "nodegroup/web-01") {
		t.Errorf("%s", got)
	}
	d := c.Document()
	want := (RegistrationDocument{Group: "nodepool/gpu", Count: 4, P50: 180, P95: 720, P99: 3900})
	expect.That(t, len(d.Registration) == 15 && d.Registration[0] == want, "got %d, the first %+v, want %+v", len(d.Registration), d.Registration[0], want)
	c.Assessment.Registration = registrations(9)
	if got := tables(t, []Check{c}, true); strings.Contains(got, "more") {
		t.Errorf("ten groups are not cut:\n%s", got)
	}
}

func TestAgesHaveOneOrTwoUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 999 * time.Millisecond: "0s", 45 * time.Second: "45s", 119 * time.Second: "119s", 2 * time.Minute: "2m",
		119 * time.Minute: "119m", 2 * time.Hour: "2h", 3*time.Hour + 5*time.Minute: "3h5m", 47*time.Hour + 59*time.Minute: "47h59m", 48 * time.Hour: "2d", 1000 * 24 * time.Hour: "1000d",
	} {
		expect.Equal(t, Age(d), want, "Age(%v)", d)
	}
}

func TestShortKeepsBothEnds(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"nodepool/default", 17, "nodepool/default"},
		{"nodepool/exactly1", 17, "nodepool/exactly1"},
		{"asg/web-workers-20260114", 17, "asg/web-…20260114"},
		{"größenwahnsinnig", 8, "grö…nnig"},
		{"", 4, ""},
	} {
		got := short(tt.in, tt.n)
		expect.That(t, got == tt.want && utf8.RuneCountInString(got) <= tt.n, "short(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
	}
}

type full struct{ left int }

func (w *full) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

func TestAFailedWriteIsTold(t *testing.T) {
	for lines := range 5 {
		err := Tables(&full{lines}, []Check{checks()["findings"]}, Layout{Columns: 80})
		expect.That(t, err != nil, "the write after line %d failed, and nobody is told", lines)
	}
}

// long returns a check with names that fit no usual terminal.
func long() Check {
	c := checks()["findings"]
	for i := range c.Assessment.Findings {
		f := &c.Assessment.Findings[i]
		f.Group = "nodegroup/workers-for-the-payments-of-the-northern-region-2026"
		f.Zone = "eu-west-1b"
	}
	return c
}

func TestATableIsAsWideAsTheTerminal(t *testing.T) {
	for columns, tt := range map[int]struct{ whole, beside bool }{60: {}, 80: {}, 100: {}, 120: {}, 130: {whole: true}, 160: {whole: true}, 250: {whole: true, beside: true}} {
		text := drawn(t, Layout{Columns: columns}, long())
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); len([]rune(line)) > max(columns, 70) && !strings.Contains(line, "arn:") {
				t.Errorf("%d columns: %q", columns, line)
			}
		}
		whole := strings.Contains(text, "nodegroup/workers-for-the-payments-of-the-northern-region-2026")
		expect.That(t, whole == tt.whole, "%d columns: the group is whole: %t\n%s", columns, whole, text)
		beside := strings.Contains(text, "INSTANCE            NODE")
		expect.That(t, beside == tt.beside, "%d columns: the nodes are beside: %t\n%s", columns, beside, text)
	}
}

// Programs read the lines: a name is whole, and one line has everything about a finding.
func TestNothingIsCutWhereThereIsNoTerminal(t *testing.T) {
	c := long()
	for i := range 2 * tableRows {
		c.Assessment.Findings = append(c.Assessment.Findings, silent(100+i, time.Hour))
	}
	for _, l := range []Layout{{}, {Columns: 80, Wide: true}} {
		text := drawn(t, l, c)
		expect.That(t, !strings.Contains(text, "…") && !strings.Contains(text, "more findings"), "it is cut:\n%s", text)
		row := regexp.MustCompile(`(?m)^ +Unknown +i-00000000000000006 +ip-10-0-12-6.eu-west-1.compute.internal +nodegroup/workers-for-the-payments-of-the-northern-region-2026 +2d +held`)
		expect.That(t, row.MatchString(text), "no row of its own in\n%s", text)
	}
	text := drawn(t, Layout{Columns: 80}, c)
	expect.That(t, strings.Contains(text, "more findings; --verbose lists all of them"), "a terminal is flooded")
}

func TestWideHasZonesAndCauses(t *testing.T) {
	text := drawn(t, Layout{Wide: true}, checks()["diagnosed"])
	for _, want := range []string{"ZONE", "CAUSE", " NodeRoleNotMapped\n", " LaunchTemplateDrift (perhaps)\n"} {
		expect.That(t, strings.Contains(text, want), "no %q in\n%s", want, text)
	}
}

func TestColorsOnlyIfAskedFor(t *testing.T) {
	for _, c := range []Check{checks()["findings"], checks()["healthy"]} {
		plainly, painted := drawn(t, Layout{Columns: 80}, c), drawn(t, Layout{Columns: 80, Color: true}, c)
		expect.That(t, !strings.Contains(plainly, "\x1b") && strings.Contains(painted, "\x1b["), "without colors %q, with them %q", plainly, painted)
		stripped := regexp.MustCompile(`\x1b\[\d*m`).ReplaceAllString(painted, "")
		expect.That(t, stripped == plainly, "colors change the text:\n%s", stripped)
	}
}
