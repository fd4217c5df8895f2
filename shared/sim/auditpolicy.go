package sim

import (
	"cmp"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// This file reads a policy by its page, shared/policy/README.md, so that no fault of the product's reader is shared.

type mode int

const (
	mayObserve mode = iota
	mayNotify
	mayRemediate
)

var modeWords = []string{"observe", "notify", "remediate"}

func (m mode) String() string { return modeWords[m] }

// modeOf returns the mode of a word. An unknown word means observe: whoever wrote it wanted less.
func modeOf(word string) mode { return mode(max(slices.Index(modeWords, word), 0)) }

// documented has the defaults and the built-in presets, as the policy's page lists them.
const documented = `
apiVersion: rollcall/v1
mode: observe
stop: false
registration: {warnAfter: 5m, deadline: 15m}
initialization: {warnAfter: 5m, deadline: 15m, taints: []}
conditions:
  - {type: Ready, status: "False", tolerate: 15m}
  - {type: Ready, status: Unknown, tolerate: 30m}
  - {type: AcceleratedHardwareReady, status: "False", tolerate: 10m}
  - {type: StorageReady, status: "False", tolerate: 30m}
  - {type: NetworkingReady, status: "False", tolerate: 30m}
  - {type: KernelReady, status: "False", tolerate: 30m}
  - {type: ContainerRuntimeReady, status: "False", tolerate: 30m}
  - {type: MemoryPressure, status: "True", tolerate: 10m}
  - {type: DiskPressure, status: "True", tolerate: 10m}
  - {type: PIDPressure, status: "True", tolerate: 10m}
impaired: {tolerate: 5m}
scheduled: {lead: 24h}
launch: {tolerance: 5m, pending: 10m}
ghost: {tolerate: 5m}
orphaned: {tolerate: 15m}
stuck: {after: 1h}
ladders:
  Unregistered: [{do: tag}, {do: notify}, {do: terminate}]
  Uninitialized: [{do: tag}, {do: notify}, {do: cordon}, {do: drain}, {do: terminate}]
  NotReady: [{do: tag}, {do: notify}, {do: cordon}, {do: drain}, {do: terminate}]
  Unknown: [{do: tag}, {do: notify}, {do: reboot, once: true}, {do: terminate, after: 10m}]
  ConditionFailed: [{do: tag}, {do: notify}]
  Impaired: [{do: tag}, {do: notify}, {do: terminate, after: 10m}]
  Scheduled: [{do: tag}, {do: notify}, {do: cordon}, {do: drain}]
  Flapping: [{do: tag}, {do: notify}]
  Ghost: [{do: notify}, {do: delete-node}]
  Orphaned: [{do: tag}, {do: notify}, {do: terminate, after: 45m}]
  Stuck: [{do: notify}]
  Unlaunched: [{do: notify}]
repair: {accelerators: false}
drain: {timeout: 10m, force: never, budgetTimeout: 1h}
reboot: {wait: 10m}
silentNode: {doNotDisrupt: hold, budgets: hold, localVolumes: hold, outOfServiceTaint: false}
limits:
  unhealthy: 20%
  zone: 55%
  massSilence: 10%
  stormCooldown: 15m
  replacements: 2
  provenAfter: 1h
  withoutReplacement: hold
  causeOutside: hold
  replacementWait: 30m
  actionsPerCheck: 1
  actionsPerHour: 5
owners: {auto-mode: notify, karpenter: terminate, managed-nodegroup: terminate, autoscaling-group: terminate, cluster-api: notify, none: notify}
presets:
  gpu:
    registration: {warnAfter: 10m, deadline: 30m}
    initialization: {warnAfter: 10m, deadline: 30m}
  windows:
    registration: {warnAfter: 10m, deadline: 30m}
    initialization: {warnAfter: 10m, deadline: 30m}
    reboot: {wait: 30m}
    impaired: {tolerate: 30m}
  metal:
    registration: {warnAfter: 10m, deadline: 30m}
    initialization: {warnAfter: 10m, deadline: 30m}
    reboot: {wait: 40m}
    impaired: {tolerate: 40m}
`

// words has the allowed words of the settings whose values are words.
var words = map[string][]string{
	"mode": modeWords, "drain.force": {"never", "afterBudgetTimeout"},
	"silentNode.doNotDisrupt": {"hold", "ignore"}, "silentNode.budgets": {"hold", "ignore"}, "silentNode.localVolumes": {"hold", "ignore"},
	"limits.withoutReplacement": {"hold", "proceed"}, "limits.causeOutside": {"hold", "tryOnce"},
	"owners.auto-mode": {"notify"}, "owners.karpenter": {"notify", "terminate", "delete-nodeclaim"}, "owners.managed-nodegroup": {"notify", "terminate"},
	"owners.autoscaling-group": {"notify", "terminate"}, "owners.cluster-api": {"notify"}, "owners.none": {"notify", "terminate"},
}

type rung struct {
	Do, After string
	Once      bool
	Approve   *struct{ For, Then string } // asks for an approval of the steps that act after it
}

// settings holds one part of a policy.
type settings struct {
	values  map[string]string // by key, such as limits.unhealthy or conditions.Ready=False
	ladders map[string][]rung // by kind, or kind and cause
}

func newSettings() settings {
	return settings{values: map[string]string{}, ladders: map[string][]rung{}}
}

// over returns the settings, completed by those below for missing keys.
func (s settings) over(below settings) settings {
	out := newSettings()
	maps.Copy(out.values, below.values)
	maps.Copy(out.ladders, below.ladders)
	maps.Copy(out.values, s.values)
	maps.Copy(out.ladders, s.ladders)
	return out
}

type written struct {
	settings
	presets   map[string]settings
	overrides []overriding
}

type overriding struct {
	cluster, group, preset string // what the override matches
	settings
}

var (
	defaults = func() *written {
		d, ok := readPolicy(documented, nil)
		if !ok {
			panic("the documented policy cannot be read")
		}
		delete(d.values, "mode") // the default mode applies only where nothing else sets one
		return d
	}()
	durationForm = regexp.MustCompile(`^([0-9]+[hms])+$`)
)

// readPolicy reads a document; base has all keys and presets. A document with a fault is not used: it returns false.
func readPolicy(text string, base *written) (*written, bool) {
	var root yaml.Node
	if yaml.Unmarshal([]byte(text), &root) != nil || len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return nil, false
	}
	d := &written{settings: newSettings(), presets: map[string]settings{}}
	if base != nil {
		maps.Copy(d.presets, base.presets)
	}
	ok := false
	for key, value := range entriesOf(root.Content[0]) {
		switch key {
		case "apiVersion":
			ok = value.Value == "rollcall/v1"
		case "presets":
			for name, preset := range entriesOf(value) {
				s := newSettings()
				for key, value := range entriesOf(preset) {
					if !s.read(key, value, base) {
						return nil, false
					}
				}
				d.presets[name] = s.over(d.presets[name])
			}
		case "overrides":
		default:
			if !d.read(key, value, base) {
				return nil, false
			}
		}
	}
	for key, value := range entriesOf(root.Content[0]) {
		if key == "overrides" && !d.override(value, base) {
			return nil, false
		}
	}
	return d, ok
}

// entriesOf returns the keys and values of a mapping, in their order.
func entriesOf(n *yaml.Node) func(func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// override reads the overrides, once the presets are known.
func (d *written) override(list *yaml.Node, base *written) bool {
	for _, item := range list.Content {
		var o overriding
		own, applied := newSettings(), newSettings()
		for key, value := range entriesOf(item) {
			switch key {
			case "match":
				for what, pattern := range entriesOf(value) {
					into, known := map[string]*string{"cluster": &o.cluster, "group": &o.group, "preset": &o.preset}[what]
					if !known {
						return false
					}
					*into = pattern.Value
				}
			case "preset":
				preset, known := d.presets[value.Value]
				if !known {
					return false
				}
				applied = preset
			default:
				if !own.read(key, value, base) {
					return false
				}
			}
		}
		o.settings = own.over(applied)
		d.overrides = append(d.overrides, o)
	}
	return true
}

// read reads one section. It reports whether the section is valid.
func (s settings) read(section string, n *yaml.Node, base *written) bool {
	switch {
	case n.Kind == yaml.ScalarNode:
		return s.set(section, n.Value, base)
	case section == "conditions":
		for _, item := range n.Content {
			var c struct{ Type, Status, Tolerate string }
			if item.Decode(&c) != nil || !isDuration(c.Tolerate) {
				return false
			}
			s.values["conditions."+c.Type+"="+c.Status] = c.Tolerate
		}
		return true
	case section == "ladders":
		for kind, value := range entriesOf(n) {
			var ladder []rung
			if value.Decode(&ladder) != nil {
				return false
			}
			s.ladders[kind] = ladder
		}
		return true
	case n.Kind != yaml.MappingNode:
		return false
	}
	for key, value := range entriesOf(n) {
		text := value.Value
		if value.Kind == yaml.SequenceNode {
			var list []string
			if value.Decode(&list) != nil {
				return false
			}
			text = strings.Join(list, " ")
		}
		if !s.set(section+"."+key, text, base) {
			return false
		}
	}
	return true
}

// set sets one value. It reports whether the value has the same form as in base.
func (s settings) set(key, value string, base *written) bool {
	s.values[key] = value
	if base == nil {
		return true
	}
	if key == "mode" {
		return value == "ignore" || slices.Contains(modeWords, value)
	}
	if strings.HasPrefix(key, "repair.") && key != "repair.accelerators" {
		return slices.Contains([]string{"reboot", "replace", "hold"}, value)
	}
	like, known := base.values[key]
	_, count := strconv.Atoi(value)
	switch {
	case !known:
		return false
	case words[key] != nil:
		return slices.Contains(words[key], value)
	case isDuration(like):
		return isDuration(value)
	case strings.HasSuffix(like, "%"):
		n, err := strconv.Atoi(strings.TrimSuffix(value, "%"))
		return err == nil && n >= 0 && n <= 100 && strings.HasSuffix(value, "%")
	case like == "true" || like == "false":
		return value == "true" || value == "false"
	case like != "":
		return count == nil
	}
	return true
}

func isDuration(text string) bool { return durationForm.MatchString(text) }

// selection is what the policy is resolved for: a cluster, a group, or an instance with its tags.
type selection struct {
	cluster, clusterTag string
	permitted           mode
	group               string
	suggested           string // the preset that platform and type suggest
	deadlineTag         string // of the instance
}

type terms struct {
	settings
	mode mode
}

// terms resolves a selection, from the weakest source to the strongest.
func (d *written) terms(of selection) *terms {
	now := d.over(defaults.settings)
	preset := of.suggested
	if s, known := d.presets[preset]; !known {
		preset = ""
	} else {
		now = s.longer(now).over(now)
	}
	for _, named := range []bool{false, true} { // overrides that name a group take precedence
		for _, o := range d.overrides {
			if (o.group != "") == named && matches(o.cluster, of.cluster) && (o.group == "" || of.group != "" && matches(o.group, of.group)) && (o.preset == "" || o.preset == preset) {
				now = o.over(now)
			}
		}
	}
	if isDuration(of.deadlineTag) {
		now = settings{values: map[string]string{"registration.deadline": of.deadlineTag, "initialization.deadline": of.deadlineTag}}.over(now)
	}
	t := &terms{settings: now, mode: of.permitted}
	if said, ok := now.values["mode"]; ok {
		t.mode = min(t.mode, modeOf(said))
	}
	if preset != "" { // a preset lowers the mode of the group, and does not raise it
		t.mode = min(t.mode, d.terms(selection{cluster: of.cluster, clusterTag: of.clusterTag, permitted: of.permitted, group: of.group}).mode)
	}
	if of.clusterTag != "" {
		t.mode = min(t.mode, modeOf(of.clusterTag))
	}
	for _, part := range []string{"registration", "initialization"} {
		if t.duration(part+".warnAfter") > t.duration(part+".deadline") {
			t.values[part+".warnAfter"] = t.values[part+".deadline"]
		}
	}
	return t
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return pattern == "" || ok && err == nil
}

// longer returns only the times of a preset that are longer than those below.
func (s settings) longer(below settings) settings {
	times := maps.Clone(s.values)
	maps.DeleteFunc(times, func(key, value string) bool { return !isDuration(value) || s.duration(key) <= below.duration(key) })
	return settings{values: times}
}

func (s settings) duration(key string) time.Duration {
	d, _ := time.ParseDuration(s.values[key])
	return d
}

// count returns a whole number, or the percentage of a share.
func (s settings) count(key string) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(s.values[key], "%"))
	return n
}

// tolerance returns how long a condition may have a status, and whether the policy watches it.
func (t *terms) tolerance(condition, status string) (time.Duration, bool) {
	_, ok := t.values["conditions."+condition+"="+status]
	return t.duration("conditions." + condition + "=" + status), ok
}

// found returns the kinds of findings that a fault leads to. On a young node the kind is Uninitialized.
func (a ailment) found() []string {
	if kinds, ok := map[ailment][]string{
		neverJoins: {"Unregistered"}, neverReady: {"Uninitialized"}, silent: {"Unknown", "Uninitialized"}, impaired: {"Impaired", "Unknown", "Uninitialized"},
	}[a]; ok {
		return kinds
	}
	return []string{"NotReady", "Uninitialized"}
}

// found returns the kinds of findings that there may be about a machine.
func (m *machine) found() []string {
	kinds := m.ail.found()
	if n := m.node; n == nil || n.bare || n.provider != "" { // no Node has its id
		return append(kinds, "Unregistered")
	}
	return kinds
}

// laddersOf iterates over the ladders of kinds of findings, including those by cause.
func (t *terms) laddersOf(kinds ...string) iter.Seq[[]rung] {
	return func(yield func([]rung) bool) {
		for key, ladder := range t.ladders {
			if kind, _, _ := strings.Cut(key, "/"); slices.Contains(kinds, kind) && !yield(ladder) {
				return
			}
		}
	}
}

// cures reports whether each ladder for a machine's fault terminates it, and how much later than by default.
func (t *terms) cures(m *machine) (longer time.Duration, ok bool) {
	if t.count("limits.replacements") == 0 {
		return 0, false // nothing is replaced
	}
	for ladder := range t.laddersOf(m.found()...) {
		if len(ladder) == 0 || ladder[len(ladder)-1].Do != "terminate" {
			return 0, false
		}
		var steps time.Duration
		drains, reboots := false, false
		for _, r := range ladder {
			after, _ := time.ParseDuration(r.After)
			steps += after
			if a := r.Approve; a != nil {
				if a.Then != "go" {
					return 0, false
				}
				wait, _ := time.ParseDuration(a.For)
				steps += wait
			}
			if r.Do == "reboot" {
				steps, reboots = steps+t.duration("reboot.wait"), true
			}
			if r.Do == "drain" {
				steps, drains = steps+t.duration("drain.timeout"), true
				if t.values["drain.force"] != "never" {
					steps += t.duration("drain.budgetTimeout")
				}
			}
		}
		if drains && reboots { // it is silent while it boots: if it is not ready after that, the ladder begins anew
			steps += steps + nodeRepair
		}
		longer = max(longer, steps)
	}
	tolerated := time.Duration(0)
	for _, key := range []string{"registration.deadline", "initialization.deadline", "conditions.Ready=False", "conditions.Ready=Unknown", "impaired.tolerate"} {
		tolerated = max(tolerated, t.duration(key)-defaults.duration("conditions.Ready=Unknown"))
	}
	return longer + tolerated, true
}

// tells reports whether every ladder of a kind sends a notice.
func (t *terms) tells(kind string) bool {
	for ladder := range t.laddersOf(kind) {
		if !slices.ContainsFunc(ladder, func(r rung) bool { return r.Do == "notify" || r.Do == "warn" }) {
			return false
		}
	}
	return true
}

// repair returns the repair of a failed accelerator: what the policy says of its reason, or AWS's table.
func (t *terms) repair(gpu string) string {
	if own := t.values["repair."+gpuSays[gpu][0]]; own != "" {
		return own
	}
	return cmp.Or(map[string]string{gpuReboots: "reboot", gpuAgain: "reboot", gpuReplaced: "replace"}[gpu], "hold")
}

// repairs reports whether the policy repairs a failed accelerator with that reason.
func (t *terms) repairs(reason string) bool {
	switch t.values["repair."+reason] {
	case "reboot", "replace":
		return true
	case "hold":
		return false
	}
	return t.values["repair.accelerators"] == "true"
}

func (t *terms) owner(of ownerKind) string { return t.values["owners."+string(of)] }

// keptBy has, by why a pod must not be terminated, the setting that then holds acts on its silent node.
var keptBy = map[string]string{
	keptAnnotated: "doNotDisrupt", keptUnsafe: "doNotDisrupt", keptNode: "doNotDisrupt", keptNodeSafe: "doNotDisrupt",
	keptBudget: "budgets", keptUncounted: "budgets", keptLocal: "localVolumes",
}

// spares reports whether a pod holds acts on its node while it is silent.
func (t *terms) spares(p *pod) bool {
	return p.keep != "" && t.spared(keptBy[p.keep]) || p.guarded && t.spared("budgets")
}

// spared reports whether the policy holds acts on a silent node for doNotDisrupt, budgets or localVolumes.
func (t *terms) spared(what string) bool { return t.values["silentNode."+what] == "hold" }

// suggests returns the preset that an instance's platform and type suggest, or "".
func suggests(platform, instanceType string) string {
	family, size, _ := strings.Cut(instanceType, ".")
	switch {
	case strings.EqualFold(platform, "windows"):
		return "windows"
	case size == "metal" || strings.HasPrefix(size, "metal-"):
		return "metal"
	case acceleratedType.MatchString(family):
		return "gpu"
	}
	return ""
}

var acceleratedType = regexp.MustCompile(`^(p|g|gr|inf|trn|dl|f|vt)[0-9]`) // matches the families of https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html

// standing reports whether a policy is missing or empty, and whether it stops Rollcall, whatever else it
// says. Any value of stop but false does, even in a document with a fault. So does a policy that is gone.
func standing(text string) (gone, stops bool) {
	var root yaml.Node
	if yaml.Unmarshal([]byte(text), &root) != nil {
		for line := range strings.Lines(text) {
			value, ok := strings.CutPrefix(line, "stop:")
			stops = stops || ok && strings.TrimSpace(value) != "false"
		}
		return false, stops
	}
	if len(root.Content) == 0 || root.Content[0].Kind == yaml.MappingNode && len(root.Content[0].Content) == 0 || root.Content[0].ShortTag() == "!!null" {
		return true, true
	}
	for key, value := range entriesOf(root.Content[0]) {
		stops = stops || key == "stop" && value.Value != "false"
	}
	return false, stops
}

// policies has what the auditor has read of documents, and their resolved terms.
type policies struct {
	documents map[string]document
	terms     map[question]*terms
}

// document is a policy document, nil if it is gone or has a fault.
type document struct {
	*written
	gone, stops bool
}

type question struct {
	text string
	of   selection
}

func newPolicies() policies {
	return policies{documents: map[string]document{}, terms: map[question]*terms{}}
}

func (p *policies) document(text string) document {
	d, known := p.documents[text]
	if !known {
		d.gone, d.stops = standing(text)
		if w, ok := readPolicy(text, defaults); ok && !d.gone {
			d.written = w
		}
		p.documents[text] = d
	}
	return d
}

// find resolves a document for a selection. Without a usable document it returns the defaults.
func (p *policies) find(text string, of selection) *terms {
	key := question{text, of}
	t, ok := p.terms[key]
	if !ok {
		d := p.document(text).written
		if d == nil {
			d = &written{settings: newSettings()}
		}
		t = d.terms(of)
		p.terms[key] = t
	}
	return t
}

// policyNow returns what applies to a group, or to the cluster if it is nil, by the current document, read or not.
// A document that is gone or has a fault allows nothing but observing.
func (u *auditor) policyNow(c *cluster, g *group) *terms {
	text, of := u.a.dep.policy, u.selects(c, "")
	if g != nil {
		of.group, of.suggested = g.groupName(), g.suggested()
	}
	switch d := u.policies.document(text); {
	case d.written == nil:
		of.permitted = mayObserve
	case d.stops:
		of.permitted = min(of.permitted, mayNotify)
	}
	return u.policies.find(text, of)
}

// selects returns the selection of a group, or of the cluster if group is "".
func (u *auditor) selects(c *cluster, group string) selection {
	of := selection{cluster: c.name, clusterTag: c.mode, permitted: modeOf(u.a.sc.Permitted), group: group}
	if !c.exists() {
		of.clusterTag = "" // the tag was deleted with the cluster
	}
	return of
}

// policy returns what applies to a group according to what an invocation read: the cluster's tag, and the
// document, or the last valid one with at most mode notify. An invocation that has read none only observes.
func (u *auditor) policy(inv *invocation, c *cluster, group string) *terms {
	return u.selected(inv, u.selects(c, group))
}

func (u *auditor) selected(inv *invocation, of selection) *terms {
	if inv.seen.tagged == of.cluster {
		of.clusterTag = inv.seen.mode // it may have changed since
	}
	p := &inv.v.policy
	switch {
	case p.read:
		return u.policies.find(p.text, of)
	case p.had:
		of.permitted = min(of.permitted, mayNotify)
	default:
		of.permitted = mayObserve
	}
	return u.policies.find(p.good, of)
}
