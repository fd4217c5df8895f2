package testbed

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// subnetList returns the subnet IDs in the form that an Auto Scaling group takes.
func (b *Bed) subnetList() string {
	ids := make([]string, 0, len(b.ground.Subnets))
	for _, id := range b.ground.Subnets {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return strings.Join(ids, ",")
}

// Reset empties the emulator (resources, call log, faults, page limit), deletes all nodes, leases, NodeClaims, pods and
// disruption budgets, and restores aws-auth. It creates the EKS cluster [ClusterName] again, with the bed's API server
// as its endpoint. What [Bed.Apply] applied remains.
func (b *Bed) Reset(ctx context.Context) error {
	b.beating.clear()
	if err := b.control(ctx, http.MethodPost, "reset", nil, nil); err != nil {
		return fmt.Errorf("reset the testbed: %w", err)
	}
	for _, step := range []func(context.Context) error{b.forgetNodes, b.forgetNodeClaims, b.forgetNodePools, b.ResetAWSAuth, b.seedAWS, b.ForgetCalls} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("reset the testbed: %w", err)
		}
	}
	return nil
}

// forgetNodes deletes the nodes, their leases, and the pods and disruption budgets of the default namespace, and waits
// until the nodes are gone.
func (b *Bed) forgetNodes(ctx context.Context) error {
	atOnce := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	core := b.kube.CoreV1()
	if err := core.Pods(metav1.NamespaceDefault).DeleteCollection(ctx, atOnce, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete all pods: %w", err)
	}
	budgets := b.kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault)
	if err := budgets.DeleteCollection(ctx, atOnce, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete all disruption budgets: %w", err)
	}
	if err := b.freeNodes(ctx); err != nil {
		return err
	}
	if err := core.Nodes().DeleteCollection(ctx, atOnce, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete all nodes: %w", err)
	}
	leases := b.kube.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if err := leases.DeleteCollection(ctx, atOnce, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete all node leases: %w", err)
	}
	return poll(ctx, 30*time.Second, 50*time.Millisecond, func(ctx context.Context) error {
		nodes, err := core.Nodes().List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return fmt.Errorf("list nodes: %w", err)
		}
		if len(nodes.Items) > 0 {
			return fmt.Errorf("node %s is still there", nodes.Items[0].Name)
		}
		return nil
	})
}

// freeNodes removes the finalizers of the nodes.
func (b *Bed) freeNodes(ctx context.Context) error {
	nodes, err := b.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, n := range nodes.Items {
		if len(n.Finalizers) == 0 {
			continue
		}
		if err := b.FinishNode(ctx, n.Name); err != nil {
			return err
		}
	}
	return nil
}

// seedAWS creates a cluster and the resources it needs.
func (b *Bed) seedAWS(ctx context.Context) error {
	cfg := b.AWSConfigFor(Seeder)
	b.ec2, b.autoscaling, b.eks = ec2.NewFromConfig(cfg), autoscaling.NewFromConfig(cfg), eks.NewFromConfig(cfg)
	b.sns, b.sqs = sns.NewFromConfig(cfg), sqs.NewFromConfig(cfg)

	if err := b.lay(ctx); err != nil {
		return err
	}
	return b.CreateCluster(ctx, ClusterName)
}
