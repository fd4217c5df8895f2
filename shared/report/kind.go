package report

import (
	"strconv"
	"strings"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
	"rollcall/shared/roll/pattern"
)

// kindWords are the words for a kind of finding, about one instance or node or several; see numbered.
type kindWords struct {
	name     string // the headline
	means    string // what it means, a sentence
	state    string // said of one instance, before the duration; "" names the kind
	head     string // the subject of a notice
	whatOnly bool   // the kind implies the cause, so none is searched for
}

var either = pattern.New(`\(([^|()]*)\|([^|()]*)\)`)

// numbered returns a text about n things: of each (one|several) the words that fit, and n for %d.
func numbered(text string, n int) string {
	return strings.Replace(either.ReplaceAllString(text, roll.Plural(n, "$1", "$2")), "%d", strconv.Itoa(n), 1)
}

var kindTable = map[roll.Kind]kindWords{
	roll.Unregistered: {
		name: "(instance|instances) not joined", state: "has not joined CLUSTER",
		head:  "(node has|nodes have) not joined",
		means: "%d (instance was|instances were) launched for this cluster and (has|have) not registered as (a node|nodes).",
	},
	roll.Uninitialized: {
		name: "(node|nodes) never ready", state: "registered and has not become ready for work",
		head:  "(node|nodes) never became ready",
		means: "%d (node has|nodes have) registered and (has|have) not become ready for work: a startup taint remains, or (it was|they were) never Ready, or Karpenter has not marked (it|them) as registered and initialized.",
	},
	roll.NotReady: {
		name: "(node|nodes) not ready", state: "has not been ready",
		head:  "(node is|nodes are) not ready",
		means: "%d (node reports|nodes report) that (it is|they are) not ready (Ready=False).",
	},
	roll.Unknown: {
		name: "(node|nodes) silent", state: "has been silent",
		head:  "(node|nodes) stopped reporting",
		means: "%d (node has|nodes have) stopped reporting (Ready=Unknown).",
	},
	roll.ConditionFailed: {
		name: "(node|nodes) with a failed condition", whatOnly: true,
		head:  "(node has|nodes have) a failed condition",
		means: "%d (node reports|nodes report) a failed condition, beside Ready, that the policy does not tolerate.",
	},
	roll.Impaired: {
		name: "(instance|instances) impaired", state: "has failed a status check of EC2",
		head:  "(instance fails its|instances fail their) EC2 status checks",
		means: "%d (instance fails|instances fail) a status check of EC2.",
	},
	roll.Scheduled: {
		name: "(instance|instances) with a scheduled event", whatOnly: true,
		head:  "(instance has|instances have) a scheduled event",
		means: "EC2 has scheduled an event, such as a reboot or a retirement, for %d (instance|instances).",
	},
	roll.Flapping: {
		name:  "(node|nodes) flapping",
		head:  "(node is|nodes are) flapping",
		means: "%d (node|nodes) left Ready and came back " + flaps + " times or more within an hour.",
	},
	roll.Ghost: {
		name: "(node|nodes) without (its instance|their instances)", whatOnly: true,
		head:  "(node has|nodes have) lost (its instance|their instances)",
		means: "%d (node is|nodes are) not ready, and EC2 says that the (instance is|instances are) gone.",
	},
	roll.Orphaned: {
		name: "(instance|instances) orphaned", whatOnly: true,
		head:  "(instance is|instances are) orphaned",
		means: "%d (instance is|instances are) still running, and nothing owns (it|them) any more: the EKS cluster is gone, or no NodeClaim of Karpenter has (it|them).",
	},
	roll.Stuck: {
		name:  "(removal|removals) stuck",
		head:  "(removal is|removals are) stuck",
		means: "%d (Node|Nodes) or (NodeClaim was|NodeClaims were) deleted, and (is|are) still there: finalizers keep (it|them).",
	},
	roll.Unlaunched: {
		name:  "(launch|launches) failing",
		head:  "(launch fails|launches fail)",
		means: "A group of nodes should get another instance and gets none: its launches fail or do not happen, or an instance stays pending.",
	},
}

// contradicted are the words for contradicted findings of any kind.
var contradicted = kindWords{
	head:  "(instance is|instances are) described in two ways",
	means: "Two sources contradict each other about %d (instance|instances): one of them is wrong, so nothing is done.",
}

var flaps = strconv.Itoa(roll.FlapCount)

// wordsOf returns the words for a kind of finding. A kind of another version, which a ledger may still have, is
// called by its name.
func wordsOf(k roll.Kind) kindWords {
	if words, ok := kindTable[k]; ok {
		return words
	}
	return kindWords{name: string(k), head: string(k), means: "%d (instance is|instances are) " + string(k) + ".", whatOnly: true}
}

// troubled returns the headline of a kind of finding, of n instances or nodes.
func troubled(k roll.Kind, n int) string { return numbered("%d "+wordsOf(k).name, n) }

// headlined returns the subject of a notice: what is wrong with its instances or nodes. Only with
// a cause is it known that they cannot join.
func headlined(k roll.Kind, entries []plan.Entry, cause string) string {
	n, head := len(entries), wordsOf(k).head
	switch {
	case disputed(entries) == n:
		head = contradicted.head
	case k == roll.Unregistered && cause != "":
		head = "(node|nodes) can't join"
	}
	return numbered("%d "+head, n)
}

// explain returns a sentence that says what a kind of finding means, of n instances.
func explain(k roll.Kind, n int) string { return numbered(wordsOf(k).means, n) }

// disputed counts the entries with contradicted findings.
func disputed(entries []plan.Entry) (n int) {
	for _, e := range entries {
		if e.Finding.Contradiction != "" {
			n++
		}
	}
	return n
}

// explainOf says what the findings of a notice mean. Volumes and network interfaces that
// outlived an instance are of the kind Stuck too, but no finalizer keeps them.
func explainOf(k roll.Kind, entries []plan.Entry) string {
	switch n := disputed(entries); n {
	case 0:
	case len(entries):
		return numbered(contradicted.means, n)
	default:
		return explain(k, len(entries)-n) + " " + numbered(contradicted.means, n)
	}
	left := 0
	for _, e := range entries {
		if e.Finding.Left.ID != "" {
			left++
		}
	}
	if left == 0 {
		return explain(k, len(entries))
	}
	s := numbered("%d (volume or network interface outlived its instance, and is|volumes or network interfaces outlived their instances, and are) attached to nothing.", left)
	if others := len(entries) - left; others > 0 {
		s += " " + explain(k, others)
	}
	return s
}

// explain returns the command that explains an instance or another subject of a finding. It
// uses the memory of the deployment, or if there is none the current state in that mode.
func (from From) explain(id roll.ClusterID, instance roll.InstanceID, mode policy.Mode) string {
	if _, ok := roll.ParseSubject(string(instance)); !ok && !instance.IsInstance() {
		return paste.Format("rollcall check --region %s --cluster %s", id.Region, id.Name)
	}
	s := paste.Format("rollcall explain %s --region %s --cluster %s", string(instance), id.Region, id.Name)
	if from.Stack != "" {
		return s + paste.Format(" --stack %s", from.Stack)
	}
	return s + roll.Behind(" --mode ", string(mode))
}

// look returns the commands to investigate an entry.
func look(id roll.ClusterID, e plan.Entry) []string {
	f := e.Finding
	console := paste.Format("aws ec2 get-console-output --region %s --instance-id %s --latest --output text", id.Region, string(f.Instance))
	instance := func(query string) string {
		return paste.Format("aws ec2 describe-instances --region %s --instance-ids %s --query %s", id.Region, string(f.Instance), "Reservations[].Instances[]."+query)
	}
	var commands []string
	switch f.Kind {
	case roll.Unregistered:
		if f.Contradiction != "" {
			return []string{instance("[State,PrivateDnsName]"), "kubectl get nodes -o wide", "kubectl get leases -n kube-node-lease"}
		}
		commands = []string{console, paste.Format("aws eks describe-cluster --region %s --name %s --query cluster.accessConfig", id.Region, id.Name)}
	case roll.Scheduled:
		commands = []string{paste.Format("aws ec2 describe-instance-status --region %s --instance-ids %s --query 'InstanceStatuses[].Events'", id.Region, string(f.Instance))}
	case roll.Impaired:
		commands = []string{paste.Format("aws ec2 describe-instance-status --region %s --instance-ids %s", id.Region, string(f.Instance)), console}
	case roll.Ghost:
		commands = []string{instance("[State,StateTransitionReason]")}
	case roll.Orphaned:
		commands = []string{instance("[LaunchTime,Tags]"), paste.Format("aws eks describe-cluster --region %s --name %s --query cluster.status", id.Region, id.Name)}
		if f.Owner == roll.OwnerKarpenter && (e.Held == nil || e.Held.Reason != plan.ClusterNotActive) {
			commands = append(commands, "kubectl get nodeclaims -o wide")
		}
	case roll.NotReady, roll.Unknown:
		commands = []string{console}
	case roll.Stuck:
		return lookAtStuck(id, f)
	case roll.Unlaunched:
		commands = launches(id, f)
	}
	if f.Node == "" {
		return commands
	}
	commands = append(commands, paste.Kubectl("describe", "node", f.Node))
	switch {
	case e.Held != nil && e.Held.Reason == plan.DrainUnfinished:
		commands = append(commands, podsLeft(f.Node)...)
	case f.Kind == roll.Flapping || f.Kind == roll.Uninitialized:
		commands = append(commands, podsOn(f.Node))
	}
	return commands
}

// lookAtStuck returns the commands that show what blocks the removal of an object.
func lookAtStuck(id roll.ClusterID, f roll.Finding) (commands []string) {
	switch kind, name, _ := f.Instance.Subject(); kind {
	case "volume":
		return []string{paste.Format("aws ec2 describe-volumes --region %s --volume-ids %s", id.Region, name), "kubectl get persistentvolumes"}
	case "eni":
		return []string{paste.Format("aws ec2 describe-network-interfaces --region %s --network-interface-ids %s", id.Region, name)}
	}
	if f.Removal.Claim != "" {
		commands = append(commands, paste.Kubectl("describe", "nodeclaim", f.Removal.Claim))
	}
	if f.Node != "" {
		commands = append(append(commands, paste.Kubectl("describe", "node", f.Node)), podsLeft(f.Node)...)
	}
	return commands
}

// launches returns the commands that show the launches of a group.
func launches(id roll.ClusterID, f roll.Finding) []string {
	switch kind, name, _ := f.Instance.Subject(); kind {
	case "nodepool":
		if f.Launch.Unready {
			class := "ec2nodeclasses.karpenter.k8s.aws"
			if f.Owner == roll.OwnerAutoMode {
				class = "nodeclasses.eks.amazonaws.com"
			}
			return []string{paste.Kubectl("describe", "nodepools.karpenter.sh", name), paste.Kubectl("describe", class)}
		}
		return []string{paste.Kubectl("get", "nodeclaims", "-o", "wide", "-l", "karpenter.sh/nodepool="+name), "kubectl get events -A --field-selector involvedObject.kind=NodeClaim"}
	case "nodegroup":
		return []string{paste.Format("aws eks describe-nodegroup --region %s --cluster-name %s --nodegroup-name %s --query 'nodegroup.[status,health]'", id.Region, id.Name, name)}
	case "asg":
		return []string{paste.Format("aws autoscaling describe-scaling-activities --region %s --auto-scaling-group-name %s --max-items 5", id.Region, name)}
	}
	return []string{paste.Format("aws ec2 describe-instances --region %s --instance-ids %s --query 'Reservations[].Instances[].[State,StateReason]'", id.Region, string(f.Instance))}
}

func podsOn(node string) string {
	return paste.Kubectl("get", "pods", "--all-namespaces", "--field-selector", "spec.nodeName="+node)
}

// podsLeft returns the commands that show why a drain does not finish.
func podsLeft(node string) []string {
	return []string{podsOn(node), "kubectl get poddisruptionbudgets --all-namespaces"}
}
