// Command testbed runs a testbed with a small fleet, for manual use, until it is
// interrupted:
//
//	go run ./tests/testbed/cmd/testbed
//
// It prints the shell commands that set the environment for the bed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rollcall/tests/testbed"
)

func main() {
	rbac := flag.String("rbac", "infra/rbac.yaml", "Kubernetes manifests to apply, relative to the repository; empty for none")
	flag.Parse()
	if err := run(*rbac, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
		os.Exit(1)
	}
}

func run(rbac string, out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	bed, err := testbed.Start(ctx, testbed.Options{RBAC: rbac, Log: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}})
	if err != nil {
		return err
	}
	if err := seed(ctx, bed, time.Now()); err != nil {
		return closing(bed, err)
	}
	for _, line := range append(bed.Env(), "KUBECONFIG="+bed.Kubeconfig()) {
		if _, err := fmt.Fprintf(out, "export %s\n", line); err != nil {
			return closing(bed, fmt.Errorf("print the environment: %w", err))
		}
	}
	fmt.Fprintf(os.Stderr, `
Paste these lines into a shell; then, for example:
  go run ./functions/local check --cluster %s
  aws ec2 describe-instances
  kubectl get nodes
  curl -s %s/_rollcall/calls
Logs are in %s/logs. Interrupt to stop.
`, testbed.ClusterName, bed.AWSEndpoint(), bed.Dir())
	<-ctx.Done()
	return closing(bed, nil)
}

// closing stops the bed and returns err, or the error of stopping it.
func closing(bed *testbed.Bed, err error) error {
	if closeErr := bed.Close(); err == nil {
		return closeErr
	}
	return err
}

// seed creates a fleet with two faults: an instance that never registered, and a node that is not Ready.
func seed(ctx context.Context, bed *testbed.Bed, now time.Time) error {
	const group = "workers"
	member := testbed.InstanceSpec{Cluster: testbed.ClusterName, Group: group, LaunchedAgo: 3 * time.Hour}
	joined := now.Add(-3*time.Hour + 50*time.Second)
	for _, zone := range []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"} {
		healthy := member
		healthy.Name, healthy.Zone = "healthy", zone
		if err := join(ctx, bed, healthy, testbed.NodeSpec{ReadySince: joined, Created: joined}); err != nil {
			return err
		}
	}
	notReady := member
	notReady.Name = "not-ready"
	err := join(ctx, bed, notReady, testbed.NodeSpec{Ready: corev1.ConditionFalse, ReadySince: now.Add(-20 * time.Minute), Created: joined})
	if err != nil {
		return err
	}
	never := member
	never.Name, never.LaunchedAgo = "never-registered", 20*time.Minute
	if _, err := bed.RunInstance(ctx, never); err != nil {
		return err
	}
	// This instance is not meant to be a node, although it has the cluster tag.
	_, err = bed.RunInstance(ctx, testbed.InstanceSpec{Name: "bastion", Cluster: testbed.ClusterName, LaunchedAgo: 48 * time.Hour})
	return err
}

// join runs an instance and registers its node.
func join(ctx context.Context, bed *testbed.Bed, instance testbed.InstanceSpec, node testbed.NodeSpec) error {
	id, err := bed.RunInstance(ctx, instance)
	if err != nil {
		return err
	}
	node.InstanceID, node.Zone = id, instance.Zone
	_, err = bed.JoinNode(ctx, node)
	return err
}
