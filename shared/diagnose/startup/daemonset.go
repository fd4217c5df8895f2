package startup

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// refusal says why a DaemonSet gets no pod on the node, "" if nothing speaks against one: the
// DaemonSet controller creates pods only on nodes that the DaemonSet selects and whose taints it
// tolerates.
// https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations
func refusal(d evidence.DaemonSet, n evidence.NodeObject) (why string, seen []roll.Evidence, fix string) {
	name, of := d.Namespace+"/"+d.Name, "spec.template.spec."
	if !d.Selects(n) {
		why = fmt.Sprintf("the DaemonSet %s gets no pod there, since it selects other nodes (%s)", name, d.Asks())
		seen = []roll.Evidence{{Source: "DaemonSets", Field: name + "." + of + "nodeSelector, affinity", Observed: d.Asks(), Expected: "what node " + n.Name + " has"}}
		return why, seen, paste.Kubectl("-n", d.Namespace, "get", "daemonset", d.Name, "-o", "jsonpath={.spec.template.spec.nodeSelector}{.spec.template.spec.affinity}{\"\\n\"}") + "\n" +
			paste.Kubectl("get", "node", n.Name, "--show-labels")
	}
	if refused := d.Untolerated(n); len(refused) > 0 {
		why = fmt.Sprintf("the DaemonSet %s gets no pod there, since it does not tolerate %s", name, all(refused))
		seen = []roll.Evidence{{Source: "DaemonSets", Field: name + "." + of + "tolerations", Observed: "none for " + all(refused), Expected: "tolerations of the node's taints"}}
		return why, seen, tolerate(d, refused)
	}
	return "", nil, ""
}

// tolerate returns the command that lets a DaemonSet tolerate taints as well.
func tolerate(d evidence.DaemonSet, taints []evidence.Taint) string {
	type toleration struct {
		Key      string `json:"key"`
		Operator string `json:"operator"`
		Effect   string `json:"effect"`
	}
	const path = "/spec/template/spec/tolerations"
	var steps []map[string]any
	if len(d.Tolerations) == 0 {
		steps = append(steps, map[string]any{"op": "add", "path": path, "value": []toleration{}})
	}
	for _, t := range taints {
		steps = append(steps, map[string]any{"op": "add", "path": path + "/-", "value": toleration{t.Key, "Exists", t.Effect}})
	}
	return paste.Kubectl("-n", d.Namespace, "patch", "daemonset", d.Name, "--type", "json", "-p", paste.JSON(steps)) + "   # and in the chart or the add-on that it comes from"
}

// setOf returns such a DaemonSet. Of several it returns one that selects the node.
func (l *look) setOf(n evidence.NodeObject, such like) (evidence.DaemonSet, bool) {
	var found evidence.DaemonSet
	ok := false
	for _, d := range l.Cluster.DaemonSets.Value {
		switch {
		case !such(d.Name, d.Labels):
		case d.Selects(n):
			return d, true
		case !ok:
			found, ok = d, true
		}
	}
	return found, ok
}

// unknownAgent checks for what may remove a startup taint that no known agent removes: a DaemonSet
// that tolerates it by its key, or else those that the taint keeps off the node.
func (l *look) unknownAgent(n evidence.NodeObject, t evidence.Taint) (who string, seen []roll.Evidence, fix string) {
	sets, pods := l.Cluster.DaemonSets, l.Node().Pods
	if !sets.Known() || !pods.Known() {
		return "", nil, ""
	}
	for _, d := range sets.Value {
		if !slices.ContainsFunc(d.Tolerations, func(o evidence.Toleration) bool { return o.Key == t.Key && o.Tolerates(t) }) {
			continue
		}
		if p, ok := roll.Find(pods.Value, d.Owns); ok {
			return fmt.Sprintf(". The DaemonSet %s/%s tolerates it by its key, and its pod on the node %s", d.Namespace, d.Name, condition(p)), []roll.Evidence{shown(p)}, inspect(p)
		}
		if why, seen, fix := refusal(d, n); why != "" {
			return ". It is tolerated by its key, and " + why, seen, fix
		}
	}
	return l.keptOff(n, t)
}

// keptOff returns the DaemonSets that have no pod on the node because of one taint.
func (l *look) keptOff(n evidence.NodeObject, t evidence.Taint) (who string, seen []roll.Evidence, fix string) {
	var off []evidence.DaemonSet
	var names []string
	for _, d := range l.Cluster.DaemonSets.Value {
		refused := d.Untolerated(n)
		if d.Selects(n) && len(refused) == 1 && refused[0] == t && !slices.ContainsFunc(l.Node().Pods.Value, d.Owns) {
			off, names = append(off, d), append(names, d.Namespace+"/"+d.Name)
		}
	}
	if len(off) == 0 {
		return "", nil, ""
	}
	for i, d := range off[:min(3, len(off))] {
		seen = append(seen, roll.Evidence{Source: "DaemonSets", Field: names[i] + ".spec.template.spec.tolerations", Observed: "none for " + told(t), Expected: "a toleration, if it removes the taint"})
		fix = paste.Lines(fix, tolerate(d, []evidence.Taint{t}))
	}
	text := strings.Join(names[:min(3, len(names))], ", ")
	if more := len(names) - 3; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf(". It keeps pods of %s off the node, which do not tolerate it: what one of them should remove stays", text), seen,
		"# only where it is one of these that removes the taint:\n" + fix
}
