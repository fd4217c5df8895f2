package kube

import (
	"errors"
	"net/http"

	"k8s.io/client-go/rest"
)

// ErrNotCaptured is wrapped by the error of a transport in memory that holds nothing about
// what it is asked for, so that this is not taken for "there is none". [Fault] tells the
// transport's own words.
var ErrNotCaptured = errors.New("it was not captured")

// NewClientOver makes a client that sends every request to rt and nowhere else: for a
// cluster that is not there, but in files. It can read; what it would change is up to rt.
//
// rt answers GET requests with JSON of Content-Type application/json. Bodies are the
// objects, or lists of the kind "List", as kubectl prints them, or "NodeList" and the
// like, as the API server does. Pages are asked for by limit and continue, but rt may
// answer with all at once. It selects by itself:
//
//	/api/v1/nodes
//	/api/v1/nodes/NAME
//	/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases
//	/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/NODE
//	/api/v1/namespaces/kube-system/configmaps/aws-auth
//	/api/v1/events?fieldSelector=involvedObject.kind=Node,involvedObject.name=NAME
//	/api/v1/events?fieldSelector=involvedObject.kind=NodeClaim,involvedObject.name=NAME
//	/api/v1/namespaces/NAMESPACE/events?fieldSelector=involvedObject.kind=Pod,involvedObject.name=NAME
//	/api/v1/pods?fieldSelector=spec.nodeName=NODE
//	/apis/karpenter.sh/v1/nodeclaims?labelSelector=karpenter.sh/nodepool=POOL
//	/apis/karpenter.sh/v1/nodeclaims?labelSelector=karpenter.sh/nodepool in (POOL,POOL)
//	/apis/karpenter.sh/v1/nodepools/NAME
//	/apis/karpenter.k8s.aws/v1/ec2nodeclasses/NAME
//	/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations
//	/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations
//	/apis/discovery.k8s.io/v1/namespaces/NAMESPACE/endpointslices?labelSelector=kubernetes.io/service-name=SERVICE
//	/apis
//
// The selectors stand unescaped here. The items of an answer are all of the kind and
// version in the path. An object that is certainly not there is a 404 with a Status:
//
//	{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "nodes \"NAME\" not found"}
//
// A 404 with anything else says that the path is not served; whether its API group is,
// /apis tells with an APIGroupList. For what it does not hold rt returns an error that
// wraps [ErrNotCaptured].
func NewClientOver(rt http.RoundTripper) (*Client, error) {
	return newClient(&rest.Config{
		Host:          "https://in-memory.invalid", // a name that is never looked up: RFC 2606
		Transport:     rt,
		ContentConfig: rest.ContentConfig{ContentType: applicationJSON, AcceptContentTypes: applicationJSON},
	})
}
