package report

import (
	"fmt"

	"rollcall/shared/diagnose/paste"
	"rollcall/shared/plan"
	"rollcall/shared/policy"
	"rollcall/shared/roll"
)

// explain says in a sentence what a kind of finding means, of n instances.
func explain(k roll.Kind, n int) string {
	one := func(singular, plural string) string { return roll.Plural(n, singular, plural) }
	switch k {
	case roll.Unregistered:
		return fmt.Sprintf("%d %s launched for this cluster and %s not registered as %s.", n, one("instance was", "instances were"), one("has", "have"), one("a node", "nodes"))
	case roll.Uninitialized:
		return fmt.Sprintf("%d %s registered and %s not become ready for work: a startup taint remains, or %s never Ready, or Karpenter has not marked %s as registered and initialized.",
			n, one("node has", "nodes have"), one("has", "have"), one("it was", "they were"), one("it", "them"))
	case roll.NotReady:
		return fmt.Sprintf("%d %s that %s not ready (Ready=False).", n, one("node reports", "nodes report"), one("it is", "they are"))
	case roll.Unknown:
		return fmt.Sprintf("%d %s stopped reporting (Ready=Unknown).", n, one("node has", "nodes have"))
	case roll.ConditionFailed:
		return fmt.Sprintf("%d %s a failed condition, beside Ready, that the policy does not tolerate.", n, one("node reports", "nodes report"))
	case roll.Impaired:
		return fmt.Sprintf("%d %s a status check of EC2.", n, one("instance fails", "instances fail"))
	case roll.Scheduled:
		return fmt.Sprintf("EC2 has scheduled an event, such as a reboot or a retirement, for %d %s.", n, one("instance", "instances"))
	case roll.Flapping:
		return fmt.Sprintf("%d %s Ready and came back %d times or more within an hour.", n, one("node left", "nodes left"), roll.FlapCount)
	case roll.Ghost:
		return fmt.Sprintf("%d %s not ready, and EC2 says that the %s gone.", n, one("node is", "nodes are"), one("instance is", "instances are"))
	case roll.Orphaned:
		return fmt.Sprintf("%d %s on, and nothing owns %s any more: the EKS cluster is gone, or no NodeClaim of Karpenter has %s.", n, one("instance runs", "instances run"), one("it", "them"), one("it", "them"))
	case roll.Conflict:
		return fmt.Sprintf("EC2 and Kubernetes contradict each other about %d %s: one of the two is wrong.", n, one("instance", "instances"))
	case roll.Stuck:
		return fmt.Sprintf("%d %s, and %s still there: finalizers keep %s.", n, one("Node or NodeClaim was deleted", "Nodes or NodeClaims were deleted"), one("is", "are"), one("it", "them"))
	case roll.Unlaunched:
		return "A group of nodes is to have an instance more, and gets none: its launches fail or do not come about, or an instance stays pending."
	}
	return fmt.Sprintf("%d %s %s.", n, one("instance is", "instances are"), k)
}

// explainOf says what the findings of a notice mean. What outlived an instance is of the
// kind Stuck, and no finalizer keeps it.
func explainOf(k roll.Kind, entries []plan.Entry) string {
	left := 0
	for _, e := range entries {
		if e.Finding.Left.ID != "" {
			left++
		}
	}
	if left == 0 {
		return explain(k, len(entries))
	}
	s := fmt.Sprintf("%d %s %s, and %s attached to nothing.", left, roll.Plural(left, "volume or network interface", "volumes or network interfaces"), roll.Plural(left, "outlived its instance", "outlived their instances"), roll.Plural(left, "is", "are"))
	if others := len(entries) - left; others > 0 {
		s += " " + explain(k, others)
	}
	return s
}

// hasCauses reports kinds that say what is wrong, and not why.
func hasCauses(k roll.Kind) bool {
	switch k {
	case roll.Unregistered, roll.Uninitialized, roll.NotReady, roll.Unknown, roll.Impaired, roll.Flapping, roll.Stuck, roll.Unlaunched:
		return true
	}
	return false
}

// explain is the command that tells everything about an instance, or about what else a finding
// is about: by what the deployment remembers, or where there is none as things are in that mode.
func (from From) explain(id roll.ClusterID, instance roll.InstanceID, mode policy.Mode) string {
	if _, ok := roll.ParseSubject(string(instance)); !ok && !instance.IsInstance() {
		return fmt.Sprintf("rollcall check --region %s --cluster %s", id.Region, id.Name)
	}
	s := fmt.Sprintf("rollcall explain %s --region %s --cluster %s", paste.Word(string(instance)), id.Region, id.Name)
	if from.Stack != "" {
		return s + " --stack " + from.Stack
	}
	return s + orNothing(" --mode ", string(mode))
}

// look lists the commands by which a person sees more of an entry.
func look(id roll.ClusterID, e plan.Entry) []string {
	f := e.Finding
	console := fmt.Sprintf("aws ec2 get-console-output --region %s --instance-id %s --latest --output text", id.Region, f.Instance)
	instance := func(query string) string {
		return fmt.Sprintf("aws ec2 describe-instances --region %s --instance-ids %s --query 'Reservations[].Instances[].%s'", id.Region, f.Instance, query)
	}
	var commands []string
	switch f.Kind {
	case roll.Unregistered:
		commands = []string{console, fmt.Sprintf("aws eks describe-cluster --region %s --name %s --query cluster.accessConfig", id.Region, id.Name)}
	case roll.Scheduled:
		commands = []string{fmt.Sprintf("aws ec2 describe-instance-status --region %s --instance-ids %s --query 'InstanceStatuses[].Events'", id.Region, f.Instance)}
	case roll.Impaired:
		commands = []string{fmt.Sprintf("aws ec2 describe-instance-status --region %s --instance-ids %s", id.Region, f.Instance), console}
	case roll.Ghost, roll.Conflict:
		commands = []string{instance("[State,StateTransitionReason]")}
	case roll.Orphaned:
		commands = []string{instance("[LaunchTime,Tags]"), fmt.Sprintf("aws eks describe-cluster --region %s --name %s --query cluster.status", id.Region, id.Name)}
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
	commands = append(commands, "kubectl describe node "+f.Node)
	switch {
	case e.Held != nil && e.Held.Reason == plan.DrainUnfinished:
		commands = append(commands, podsLeft(f.Node)...)
	case f.Kind == roll.Flapping || f.Kind == roll.Uninitialized:
		commands = append(commands, podsOn(f.Node))
	}
	return commands
}

// lookAtStuck lists the commands by which a person sees what keeps an object.
func lookAtStuck(id roll.ClusterID, f roll.Finding) (commands []string) {
	switch kind, name, _ := f.Instance.Subject(); kind {
	case "volume":
		return []string{fmt.Sprintf("aws ec2 describe-volumes --region %s --volume-ids %s", id.Region, name), "kubectl get persistentvolumes"}
	case "eni":
		return []string{fmt.Sprintf("aws ec2 describe-network-interfaces --region %s --network-interface-ids %s", id.Region, name)}
	}
	if f.Removal.Claim != "" {
		commands = append(commands, "kubectl describe nodeclaim "+f.Removal.Claim)
	}
	if f.Node != "" {
		commands = append(append(commands, "kubectl describe node "+f.Node), podsLeft(f.Node)...)
	}
	return commands
}

// launches are the commands that show the launches of a group.
func launches(id roll.ClusterID, f roll.Finding) []string {
	switch kind, name, _ := f.Instance.Subject(); kind {
	case "nodepool":
		return []string{"kubectl get nodeclaims -o wide -l karpenter.sh/nodepool=" + name, "kubectl get events -A --field-selector involvedObject.kind=NodeClaim"}
	case "nodegroup":
		return []string{fmt.Sprintf("aws eks describe-nodegroup --region %s --cluster-name %s --nodegroup-name %s --query nodegroup.[status,health]", id.Region, id.Name, name)}
	case "asg":
		return []string{fmt.Sprintf("aws autoscaling describe-scaling-activities --region %s --auto-scaling-group-name %s --max-items 5", id.Region, paste.Word(name))}
	}
	return []string{fmt.Sprintf("aws ec2 describe-instances --region %s --instance-ids %s --query 'Reservations[].Instances[].[State,StateReason]'", id.Region, f.Instance)}
}

func podsOn(node string) string {
	return "kubectl get pods --all-namespaces --field-selector spec.nodeName=" + node
}

// podsLeft lists the commands by which a person sees why a drain does not finish.
func podsLeft(node string) []string {
	return []string{podsOn(node), "kubectl get poddisruptionbudgets --all-namespaces"}
}
