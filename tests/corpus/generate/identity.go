package generate

import (
	"fmt"
	"strings"
)

// identity gives a group its role, with the policies and the mapping that a node needs.
func (b *Bundle) identity(g Group) {
	if has(b.Profiles, "InstanceProfileName", g.Profile()) {
		return
	}
	role := b.role(g.Role, g.path(), "ec2.amazonaws.com")
	b.Profiles = append(b.Profiles, object{
		"InstanceProfileName": g.Profile(), "InstanceProfileId": "AIPA" + token(g.Profile()), "Path": "/",
		"Arn": "arn:aws:iam::" + Account + ":instance-profile/" + g.Profile(), "CreateDate": "2025-06-01T08:30:00+00:00", "Roles": []object{role},
	})
	if _, known := b.Policies[g.Role]; known {
		return
	}
	b.Policies[g.Role] = policies("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly")
	if g.InAwsAuth {
		b.MapRoles = append(b.MapRoles, mapNode(g.RoleARN()))
	} else {
		kind := "EC2_LINUX"
		if g.Image.OS == windows {
			kind = "EC2_WINDOWS"
		}
		b.Entries = append(b.Entries, entry(g.RoleARN(), kind))
	}
}

// role adds a role that a service may assume.
func (b *Bundle) role(name, path, service string) object {
	for _, r := range b.Roles {
		if r["RoleName"] == name {
			return r
		}
	}
	r := object{
		"RoleName": name, "RoleId": "AROA" + token(name), "Path": path, "Arn": "arn:aws:iam::" + Account + ":role" + path + name,
		"CreateDate": "2025-06-01T08:00:00+00:00", "MaxSessionDuration": 3600, "AssumeRolePolicyDocument": trust(service),
	}
	b.Roles = append(b.Roles, r)
	return r
}

// trust returns a policy that lets a service assume a role.
func trust(service string) object {
	return object{"Version": "2012-10-17", "Statement": []object{{"Effect": "Allow", "Principal": object{"Service": service}, "Action": "sts:AssumeRole"}}}
}

func policies(names ...string) []object {
	out := []object{}
	for _, n := range names {
		out = append(out, object{"PolicyName": n, "PolicyArn": "arn:aws:iam::aws:policy/" + n})
	}
	return out
}

// entry returns an access entry as `aws eks describe-access-entry` prints it.
func entry(role, kind string) object {
	name := role[strings.LastIndex(role, "/")+1:]
	e := object{
		"clusterName": Cluster, "principalArn": role, "type": kind, "username": "system:node:{{EC2PrivateDNSName}}", "kubernetesGroups": []string{"system:nodes"},
		"accessEntryArn": "arn:aws:eks:eu-west-1:" + Account + ":access-entry/payments/role/" + Account + "/" + name + "/6ecb5a3c-1d2e-4f60-8a7b-9c0d1e2f3a4b",
		"createdAt":      "2025-06-02T08:30:00.000000+00:00", "modifiedAt": "2025-06-02T08:30:00.000000+00:00", "tags": object{},
	}
	if kind == "STANDARD" {
		e["username"] = fmt.Sprintf("arn:aws:sts::%s:assumed-role/%s/{{SessionName}}", Account, name)
		e["kubernetesGroups"] = []string{}
	}
	return e
}

// entryOf returns the access entry of a group's role.
func (b *Bundle) entryOf(g Group) object { return b.find(b.Entries, "principalArn", g.RoleARN()) }

// unmap removes the access entry of a group's role.
func (b *Bundle) unmap(g Group) { b.Entries = without(b.Entries, "principalArn", g.RoleARN()) }

// mapRole returns an entry of aws-auth's mapRoles.
func mapRole(arn, username string, groups ...string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "- rolearn: %s\n  username: %s\n  groups:\n", arn, username)
	for _, g := range groups {
		fmt.Fprintf(&out, "  - %s\n", g)
	}
	return out.String()
}

// mapNode returns the entry of a node role, as in AWS's documentation.
func mapNode(arn string) string {
	return mapRole(arn, "system:node:{{EC2PrivateDNSName}}", "system:bootstrappers", "system:nodes")
}

// remap replaces the entry of a group's role in aws-auth.
func (b *Bundle) remap(g Group, entries ...string) {
	var kept []string
	for _, e := range b.MapRoles {
		if e != mapNode(g.RoleARN()) {
			kept = append(kept, e)
		}
	}
	b.MapRoles = append(kept, entries...)
}

// configMapOnly makes the cluster use aws-auth only, and moves the entries of healthy groups
// there.
func (b *Bundle) configMapOnly() {
	b.access("CONFIG_MAP")
	for _, g := range []Group{Default, Workers} {
		b.MapRoles = append(b.MapRoles, mapNode(g.RoleARN()))
	}
	b.Entries = nil
	b.Lacks("access-entries.json") // EKS refuses to list them then
}

// controllerRole is the role of Karpenter itself. No node needs it mapped.
const controllerRole = "KarpenterControllerRole-payments"

// controller adds that role, as EKS Pod Identity uses it, and returns its ARN.
func (b *Bundle) controller() string {
	b.role(controllerRole, "/", "pods.eks.amazonaws.com")
	return "arn:aws:iam::" + Account + ":role/" + controllerRole
}

// Controllers' and similar roles, under names that reveal nothing.
const (
	namelessRole = "pay-7f3a91c2"
	oidcIssuer   = "oidc.eks." + Region + ".amazonaws.com/id/6ECB5A3C1D2E4F608A7B9C0D1E2F3A4B"
)

// assumed adds a role that a principal other than EC2 may assume, and returns its ARN.
func (b *Bundle) assumed(name string, statement object) string {
	r := b.role(name, "/", "ec2.amazonaws.com")
	statement["Effect"] = "Allow"
	r["AssumeRolePolicyDocument"] = object{"Version": "2012-10-17", "Statement": []object{statement}}
	return "arn:aws:iam::" + Account + ":role/" + name
}

// webIdentity lets the pods of a service account assume a role through the cluster's OIDC
// provider.
func webIdentity(account string) object {
	return object{
		"Principal": object{"Federated": "arn:aws:iam::" + Account + ":oidc-provider/" + oidcIssuer}, "Action": "sts:AssumeRoleWithWebIdentity",
		"Condition": object{"StringEquals": object{oidcIssuer + ":aud": "sts.amazonaws.com", oidcIssuer + ":sub": "system:serviceaccount:" + account}},
	}
}

// byAccount lets whoever the account permits assume a role.
func byAccount() object {
	return object{"Principal": object{"AWS": "arn:aws:iam::" + Account + ":root"}, "Action": "sts:AssumeRole"}
}

// may adds an inline policy to a role.
func (b *Bundle) may(role string, actions ...string) {
	b.Policies[role] = []object{}
	b.Inline = append(b.Inline, object{"RoleName": role, "PolicyName": "own", "PolicyDocument": allowing(actions...)})
}

// mayToo attaches a customer managed policy to a role.
func (b *Bundle) mayToo(role, name string, actions ...string) {
	arn := "arn:aws:iam::" + Account + ":policy/" + name
	b.Policies[role] = append(b.Policies[role], object{"PolicyName": name, "PolicyArn": arn})
	b.Managed = append(b.Managed, object{"PolicyName": name, "PolicyId": "ANPA" + token(name), "Arn": arn, "Path": "/", "DefaultVersionId": "v2", "AttachmentCount": 1, "IsAttachable": true})
	if b.Versions == nil {
		b.Versions = object{}
	}
	b.Versions[arn] = object{"PolicyVersion": object{"VersionId": "v2", "IsDefaultVersion": true, "Document": allowing(actions...)}}
}

func allowing(actions ...string) object {
	return object{"Version": "2012-10-17", "Statement": []object{{"Effect": "Allow", "Action": actions, "Resource": "*"}}}
}

// account adds Karpenter's service account, whose pods assume a role.
func (b *Bundle) account(role string) {
	b.Accounts = append(b.Accounts, object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{
		"name": "karpenter", "namespace": "kube-system", "uid": uid("serviceaccount", "karpenter"), "creationTimestamp": "2025-07-01T09:50:00Z",
		"annotations": object{"eks.amazonaws.com/role-arn": role},
	}})
}
