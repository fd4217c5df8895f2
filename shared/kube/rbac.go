package kube

import (
	"context"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Grant is an RBAC object of infra/rbac.yaml.
type Grant struct {
	Kind, Namespace, Name string
	uid                   string
}

// String returns the kind and the name: Role kube-system/rollcall-viewer.
func (g Grant) String() string {
	if g.Namespace != "" {
		return g.Kind + " " + g.Namespace + "/" + g.Name
	}
	return g.Kind + " " + g.Name
}

func (g Grant) path() string {
	of := resource{group: "rbac.authorization.k8s.io", version: "v1", plural: strings.ToLower(g.Kind) + "s"}
	return of.path(g.Namespace, g.Name)
}

// manifest lists the objects of infra/rbac.yaml. Bindings come first: once one is gone, nobody has
// its role.
var manifest = []Grant{
	{Kind: "ClusterRoleBinding", Name: "rollcall-remediator"},
	{Kind: "ClusterRoleBinding", Name: "rollcall-viewer"},
	{Kind: "RoleBinding", Namespace: "kube-node-lease", Name: "rollcall-viewer"},
	{Kind: "RoleBinding", Namespace: "kube-system", Name: "rollcall-viewer"},
	{Kind: "ClusterRole", Name: "rollcall-remediator"},
	{Kind: "ClusterRole", Name: "rollcall-viewer"},
	{Kind: "Role", Namespace: "kube-node-lease", Name: "rollcall-viewer"},
	{Kind: "Role", Namespace: "kube-system", Name: "rollcall-viewer"},
}

// Grants returns the objects of infra/rbac.yaml that the cluster has, in the order in which to
// remove them. The errors are those of the API server.
func (c *Client) Grants(ctx context.Context) ([]Grant, error) {
	var there []Grant
	for _, g := range manifest {
		op := operation{what: "get " + g.String(), noun: "reading of " + g.String(), verb: "get", target: "rbac.authorization.k8s.io"}
		var object metav1.PartialObjectMetadata
		switch err := met(c.getObject(ctx, g.path(), &object)); {
		case errors.Is(err, ErrGone):
		case err != nil:
			return there, op.failed(err)
		default:
			g.uid = string(object.UID)
			there = append(there, g)
		}
	}
	return there, nil
}

// Revoke deletes an object that Grants returned. The errors are ErrChanged, ErrGone and those of the
// API server.
func (c *Client) Revoke(ctx context.Context, g Grant) error {
	op := operation{what: "delete " + g.String(), noun: "deletion of " + g.String(), verb: "delete", target: "rbac.authorization.k8s.io", writes: true}
	return op.failed(remove(ctx, c.rest.Delete().AbsPath(g.path()).SetHeader("Accept", applicationJSON), g.Name, g.uid))
}
