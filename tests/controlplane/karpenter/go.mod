module rollcall/tests/controlplane/karpenter

go 1.26.5

// For the custom resource definitions in pkg/apis/crds, which "make testbed-deps" copies into .build. Nothing imports it,
// so "go mod tidy" here would drop it.
require sigs.k8s.io/karpenter v1.14.0
