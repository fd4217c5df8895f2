package testbed

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Holdings returns what the account and the cluster have of the kinds that a deployment of Rollcall makes or marks, each
// as its kind and name, sorted: a deployment that is gone leaves the holdings of before. The queues of [Bed.Subscribe]
// are omitted.
func (b *Bed) Holdings(ctx context.Context) ([]string, error) {
	var all []string
	if err := b.control(ctx, http.MethodGet, "holdings", nil, &all); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(one string) bool { return strings.HasPrefix(one, "queue "+subscriber) })
	rbac, err := b.rbac(ctx)
	if err != nil {
		return nil, err
	}
	for _, object := range rbac {
		all = append(all, object.kind+" "+strings.TrimPrefix(object.namespace+"/"+object.name, "/"))
	}
	nodes, err := b.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for _, n := range nodes.Items {
		if n.Spec.Unschedulable {
			all = append(all, "cordon "+n.Name)
		}
		for key := range n.Annotations {
			all = append(all, "annotation "+n.Name+" "+key)
		}
	}
	slices.Sort(all)
	return all, nil
}

// rbacObject is an object of the API group rbac.authorization.k8s.io.
type rbacObject struct{ kind, namespace, name string }

// rbac returns all of them but those that Kubernetes and the bed's other parts make.
func (b *Bed) rbac(ctx context.Context) (all []rbacObject, err error) {
	add := func(kind string, o metav1.ObjectMeta) {
		if !strings.HasPrefix(o.Name, "system:") {
			all = append(all, rbacObject{kind, o.Namespace, o.Name})
		}
	}
	api := b.kube.RbacV1()
	clusterRoles, err := api.ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list cluster roles: %w", err)
	}
	for _, o := range clusterRoles.Items {
		add("ClusterRole", o.ObjectMeta)
	}
	clusterBindings, err := api.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list cluster role bindings: %w", err)
	}
	for _, o := range clusterBindings.Items {
		add("ClusterRoleBinding", o.ObjectMeta)
	}
	roles, err := api.Roles("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list roles: %w", err)
	}
	for _, o := range roles.Items {
		add("Role", o.ObjectMeta)
	}
	bindings, err := api.RoleBindings("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list role bindings: %w", err)
	}
	for _, o := range bindings.Items {
		add("RoleBinding", o.ObjectMeta)
	}
	return all, nil
}

// Unapply deletes the RBAC objects of the file that [Options.RBAC] names, all of which are called rollcall-something.
func (b *Bed) Unapply(ctx context.Context) error {
	all, err := b.rbac(ctx)
	if err != nil {
		return err
	}
	api := b.kube.RbacV1()
	for _, o := range all {
		if !strings.HasPrefix(o.name, "rollcall-") {
			continue
		}
		switch o.kind {
		case "ClusterRole":
			err = api.ClusterRoles().Delete(ctx, o.name, metav1.DeleteOptions{})
		case "ClusterRoleBinding":
			err = api.ClusterRoleBindings().Delete(ctx, o.name, metav1.DeleteOptions{})
		case "Role":
			err = api.Roles(o.namespace).Delete(ctx, o.name, metav1.DeleteOptions{})
		case "RoleBinding":
			err = api.RoleBindings(o.namespace).Delete(ctx, o.name, metav1.DeleteOptions{})
		}
		if err != nil {
			return fmt.Errorf("delete %s %s: %w", o.kind, o.name, err)
		}
	}
	return nil
}
