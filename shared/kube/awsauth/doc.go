// Package awsauth reads the ConfigMap kube-system/aws-auth as the authenticator of EKS reads it. It
// calls the authenticator's own code to canonicalize ARNs
// (https://github.com/kubernetes-sigs/aws-iam-authenticator, pkg/arn). It decodes and checks entries
// as pkg/mapper/configmap and pkg/config do, and the tests compare it with these.
//
// That code behaves as follows:
//
//   - mapRoles, mapUsers and mapAccounts are read separately. If mapRoles is not YAML, or not a
//     list, no role is mapped at all; the users are.
//   - An entry without rolearn (and without sso), or with both, is dropped, and only that entry.
//     Nothing else is checked: a rolearn that is not an ARN is kept and matches nobody.
//   - A key of the wrong type counts as absent and its entry is kept: groups given as one text
//     instead of a list leave a mapping without groups. Keys of an entry are found in any case;
//     mapRoles itself is not.
//   - Mappings are kept by their ARN in lower case. Of two with the same ARN, the last in the
//     file counts, whatever it grants.
//   - The ARN is compared as written, in any case, with the caller's, and a caller's ARN never
//     has a path. A node comes as a session of its role
//     (arn:aws:sts::111122223333:assumed-role/my-role/i-...), in which STS omits the path and
//     which counts as arn:aws:iam::111122223333:role/my-role. A mapping with a path therefore
//     matches nobody
//     (https://docs.aws.amazon.com/eks/latest/userguide/security-iam-troubleshoot.html),
//     and neither does an instance profile's.
//
// The package calls no API. It is separate from the analyzers because of the imports of the
// authenticator's packages.
package awsauth
