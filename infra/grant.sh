#!/bin/sh
# Prints the commands that let Rollcall into a cluster, or into all of the region, and runs
# none of them: make grant [CLUSTER=NAME] [STACK=NAME]
#
# With a working aws command line it looks up the clusters and what applies to each; it only
# reads. Without one it prints both ways, with an example's ARNs. STACK is the name of the
# deployment, rollcall unless given. The region is the one that the aws command line uses.
set -eu

cluster=${1:-}
stack=${2:-rollcall}
case $cluster in
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

# The same of the region, if that is known.
there() {
	[ "$region" = REGION ] || ask "$@" --region "$region"
}

output() {
	there cloudformation describe-stacks --stack-name "$stack" --query "Stacks[0].Outputs[?OutputKey=='$1'].OutputValue | [0]"
}

region=${AWS_REGION:-${AWS_DEFAULT_REGION:-$(ask configure get region)}}
region=${region:-REGION}
case $region in
*[!A-Za-z0-9-]*)
	echo "\"$region\" cannot be the name of a region" >&2
	exit 2
	;;
esac

clusters=$cluster
if [ -z "$cluster" ]; then
	clusters=$(there eks list-clusters --query 'clusters[]')
	if [ -z "$clusters" ]; then
		if [ "$region" = REGION ]; then
			echo "the region is not known: set AWS_REGION, or name one cluster: make grant CLUSTER=NAME" >&2
		else
			echo "aws eks list-clusters --region $region lists no cluster, or failed: check credentials and region, or name one: make grant CLUSTER=NAME" >&2
		fi
		exit 2
	fi
fi
inspect=$(output InspectRoleArn)
remediate=$(output RemediateRoleArn)

if [ -n "$inspect" ]; then
	echo "# The roles are those of the stack $stack."
	if [ -z "$remediate" ]; then
		echo "# Its mode is not remediate, so only one reads the cluster. Run this again once Mode=remediate is set."
	fi
else
	inspect=arn:aws:iam::111122223333:role/ROLLCALL-INSPECT
	remediate=arn:aws:iam::111122223333:role/ROLLCALL-REMEDIATE
	echo "# The stack $stack could not be read: replace the two role ARNs by its outputs InspectRoleArn and RemediateRoleArn."
	echo "# Leave the second role out unless the stack's mode is remediate."
fi
if [ "$region" = REGION ]; then
	echo "# The region is not known: replace REGION, or set AWS_REGION and run this again."
fi

entry() {
	printf 'aws eks create-access-entry --region %s --cluster-name %s \\\n  --principal-arn %s \\\n  --type STANDARD --kubernetes-groups %s\n' "$region" "$cluster" "$1" "$2"
}

# The authenticator compares roles without their path.
mapped() {
	printf '    - rolearn: %s\n      username: %s\n      groups:\n        - %s\n' "${1%%:role/*}:role/${1##*/}" "$2" "$3"
}

for cluster in $clusters; do
	# A name of its own: an alias takes the place of a context that has it already.
	context=rollcall-$cluster
	mode=$(there eks describe-cluster --name "$cluster" --query cluster.accessConfig.authenticationMode)
	echo
	echo "# 1. A context for the cluster, so that nothing below happens in another one. It becomes kubectl's current context."
	echo "aws eks update-kubeconfig --region $region --name $cluster --alias $context"
	echo
	echo "# 2. What the groups may do in the cluster: viewers read nodes and what concerns them, remediators also act on them."
	echo "kubectl --context $context apply -f infra/rbac.yaml"
	echo

	if [ "$mode" != CONFIG_MAP ]; then
		if [ -n "$mode" ]; then
			echo "# 3. The groups, given to the roles. The cluster's authentication mode is $mode."
		else
			echo "# 3. The groups, given to the roles, if the cluster's authentication mode is API or API_AND_CONFIG_MAP:"
		fi
		entry "$inspect" rollcall:viewers
		[ -z "$remediate" ] || entry "$remediate" rollcall:remediators
	fi
	if [ "$mode" = CONFIG_MAP ] || [ -z "$mode" ]; then
		if [ -n "$mode" ]; then
			echo "# 3. The groups, given to the roles. The cluster's authentication mode is $mode."
		else
			echo
			echo "# 3. Or, if it is CONFIG_MAP:"
		fi
		echo "# Add this under mapRoles, and leave what is there as it is: the nodes' own roles are in the same list."
		echo "kubectl --context $context -n kube-system edit configmap aws-auth"
		echo
		mapped "$inspect" rollcall-inspect rollcall:viewers
		[ -z "$remediate" ] || mapped "$remediate" rollcall-remediate rollcall:remediators
	fi
done
