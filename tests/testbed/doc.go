// Package testbed runs the parts that Rollcall talks to, on one machine and without an AWS account.
//
// The Kubernetes control plane (etcd, API server, node lifecycle controller) is real. It has Karpenter's custom
// resource definitions, and the real aws-iam-authenticator authenticates its users through the aws-auth ConfigMap. AWS
// is emulated (moto behind tests/emulator/emulator.py). Both sides log every call: see [Bed.Calls] and [Bed.KubeCalls].
//
// A test package starts one bed in its TestMain and empties it between tests:
//
//	bed, err := testbed.Start(ctx, testbed.Options{RBAC: "infra/rbac.yaml"})
//	defer bed.Close()
//	...
//	if err := bed.Reset(ctx); err != nil { ... }
//	id, err := bed.RunInstance(ctx, testbed.InstanceSpec{Cluster: testbed.ClusterName, LaunchedAgo: 20 * time.Minute})
//	_, err = bed.JoinNode(ctx, testbed.NodeSpec{InstanceID: id, Name: "ip-10-0-0-1.eu-west-1.compute.internal"})
//
// Binaries come from .build/bin and Python from .venv, both made by "make testbed-deps".
package testbed
