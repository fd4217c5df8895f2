// Package awsauth reads the ConfigMap kube-system/aws-auth as the authenticator of
// EKS reads it, with the authenticator's own code: what it parses, drops, keeps and
// compares is asked of it and not written down here a second time
// (https://github.com/kubernetes-sigs/aws-iam-authenticator, pkg/mapper/configmap,
// pkg/config and pkg/arn).
//
// What follows from that code, and is worth knowing:
//
//   - mapRoles, mapUsers and mapAccounts are read apart from each other. Where
//     mapRoles is not YAML, or not a list, no role is mapped at all; the users are.
//   - An entry without rolearn (and without sso), or with both, is dropped alone.
//     Nothing else is checked: a rolearn that is no ARN is kept and matches nobody.
//   - A key of the wrong type is taken as absent and its entry is kept: groups as one
//     text instead of a list leaves a mapping without groups. Keys of an entry are
//     found in any case; mapRoles itself is not.
//   - Mappings are kept by their ARN in lower case. Of two with the same, the last in
//     the file counts, whatever it grants.
//   - The ARN is compared as it is written, in any case, with the caller's, and a
//     caller's never has a path: a node comes as a session of its role
//     (arn:aws:sts::111122223333:assumed-role/my-role/i-...), in which STS leaves the
//     path out, and which is taken for arn:aws:iam::111122223333:role/my-role. So a
//     mapping with a path matches nobody
//     (https://docs.aws.amazon.com/eks/latest/userguide/security-iam-troubleshoot.html),
//     and neither does an instance profile's.
//
// The package reads no API. It is apart from the analyzers because of what the
// authenticator's packages import.
package awsauth
