#!/bin/sh
# Prints the commands that let Rollcall into a cluster, and runs none of
# them: make grant CLUSTER=NAME [STACK=NAME]
#
# With a working aws command line it looks up what applies to the cluster; it only
# reads. Without one it prints both ways, with an example's ARNs.
set -eu

cluster=${1:-}
stack=${2:-rollcall}
case $cluster in
'')
	echo "say which cluster: make grant CLUSTER=NAME" >&2
	exit 2
	;;
*[!A-Za-z0-9_-]* | [!A-Za-z0-9]*)
	echo "\"$cluster\" cannot be the name of an EKS cluster" >&2
	exit 2
	;;
esac
case $stack in
*[!A-Za-z0-9-]* | [!A-Za-z]*)
	echo "\"$stack\" cannot be the name of a stack" >&2
	exit 2
	;;
esac

# The answer to a read-only question, or nothing.
ask() {
	command -v aws >/dev/null 2>&1 || return 0
	answer=$(aws "$@" --output text 2>/dev/null) || return 0
	[ "$answer" = None ] || printf '%s' "$answer"
}

output() {
	ask cloudformation describe-stacks --stack-name "$stack" --query "Stacks[0].Outputs[?OutputKey=='$1'].OutputValue | [0]"
}

mode=$(ask eks describe-cluster --name "$cluster" --query cluster.accessConfig.authenticationMode)
inspect=$(output InspectRoleArn)
remediate=$(output RemediateRoleArn)

if [ -n "$inspect" ] && [ -n "$remediate" ]; then
	echo "# The roles are those of the stack $stack."
else
	inspect=arn:aws:iam::111122223333:role/ROLLCALL-INSPECT
	remediate=arn:aws:iam::111122223333:role/ROLLCALL-REMEDIATE
	echo "# The stack $stack could not be looked up: put the values of its outputs InspectRoleArn and RemediateRoleArn in."
fi
echo "# Leave the second role out unless the stack's mode is remediate."
echo
echo "# 1. What the groups may do in the cluster: viewers read nodes and what concerns them, remediators also act on them."
echo "kubectl apply -f infra/rbac.yaml"
echo

entry() {
	printf 'aws eks create-access-entry --cluster-name %s \\\n  --principal-arn %s \\\n  --type STANDARD --kubernetes-groups %s\n' "$cluster" "$1" "$2"
}

mapped() {
	printf '    - rolearn: %s\n      username: %s\n      groups:\n        - %s\n' "$1" "$2" "$3"
}

if [ "$mode" != CONFIG_MAP ]; then
	if [ -n "$mode" ]; then
		echo "# 2. The groups, given to the roles. The cluster's authentication mode is $mode."
	else
		echo "# 2. The groups, given to the roles, if the cluster's authentication mode is API or API_AND_CONFIG_MAP:"
	fi
	entry "$inspect" rollcall:viewers
	entry "$remediate" rollcall:remediators
fi
if [ "$mode" = CONFIG_MAP ] || [ -z "$mode" ]; then
	if [ -n "$mode" ]; then
		echo "# 2. The groups, given to the roles. The cluster's authentication mode is $mode."
	else
		echo
		echo "# 2. Or, if it is CONFIG_MAP:"
	fi
	echo "# Add this under mapRoles, and leave what is there as it is: the nodes' own roles are in the same list."
	echo "kubectl -n kube-system edit configmap aws-auth"
	echo
	mapped "$inspect" rollcall-inspect rollcall:viewers
	mapped "$remediate" rollcall-remediate rollcall:remediators
fi
