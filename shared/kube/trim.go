package kube

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"rollcall/shared/roll"
)

// trimming is what is removed from an object. Missing fields stay missing.
type trimming struct {
	only []string            // the fields that are kept; nil keeps all
	drop string              // a field that is removed
	in   map[string]trimming // from the objects in these fields
	each map[string]trimming // from each object of the lists in these fields
	also func(object) error  // what else is done; may be nil
}

func (t trimming) object(o object) error {
	if t.only != nil {
		maps.DeleteFunc(o, func(field string, _ any) bool { return !slices.Contains(t.only, field) })
	}
	delete(o, t.drop) // no field is called ""
	for _, field := range slices.Sorted(maps.Keys(t.in)) {
		inner, err := as[object](o[field])
		if err == nil {
			err = t.in[field].object(inner)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(t.each)) {
		if err := eachObject(o[field], t.each[field].object); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	if t.also == nil {
		return nil
	}
	return t.also(o)
}

func eachObject(list any, change func(object) error) error {
	all, err := as[[]any](list)
	for i := range all {
		one, err := as[object](all[i])
		if err == nil {
			err = change(one)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// as returns the value as a T, empty for null. A value of another type might hold what is to be
// removed.
func as[T any](value any) (T, error) {
	v, ok := value.(T)
	if !ok && value != nil {
		return v, fmt.Errorf("it is a %T, not a %T", value, v)
	}
	return v, nil
}

// Trim returns an object, given as JSON, without what never leaves this package: see [Client.Read].
// Objects of most kinds stay unchanged. Numbers are [json.Number].
func Trim(data json.RawMessage) (map[string]any, error) {
	var o object
	if err := unmarshal(data, &o); err != nil {
		return nil, err
	}
	kind, _ := o["kind"].(string)
	return o, trimmings[kind].object(o)
}

// AnnotationRoleARN is the annotation of a service account with the IAM role that its pods assume.
// https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
const AnnotationRoleARN = "eks.amazonaws.com/role-arn"

// trimmings are what is removed from objects of a kind.
var trimmings = map[string]trimming{
	resourcePod.kind: trimPod, resourceDaemonSet.kind: trimDaemonSet, resourceBudget.kind: trimBudget, resourceVolume.kind: trimVolume, resourceAccount.kind: trimAccount,
	resourceNodeClaim.kind: {in: map[string]trimming{"spec": {also: trimRequirements}}},
}

var (
	// trimTidy removes what says how an object was written.
	trimTidy = trimming{in: map[string]trimming{"metadata": {drop: "managedFields", in: map[string]trimming{"annotations": {drop: annotationLastApplied}}}}}

	// unannotated is metadata without annotations.
	unannotated = trimming{drop: "annotations"}

	trimBudget = trimming{in: map[string]trimming{"metadata": unannotated}}

	// Of a service account only the role that its pods assume is kept: it also names secrets.
	trimAccount = trimming{
		only: []string{"apiVersion", "kind", "metadata"},
		in:   map[string]trimming{"metadata": {in: map[string]trimming{"annotations": {only: []string{AnnotationRoleARN}}}}},
	}

	// Of a PersistentVolume its claim is kept, and where it can be used. Sources name secrets and
	// servers, so of these only that the volume is a disk of a node is kept, or the name under which
	// it is attached.
	trimVolume = trimming{in: map[string]trimming{
		"metadata": unannotated,
		"spec": {
			only: []string{"local", "hostPath", "csi", "awsElasticBlockStore", "claimRef", "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName"},
			in:   map[string]trimming{"csi": trimSource, "awsElasticBlockStore": trimSource},
		},
	}}
	trimSource = trimming{only: []string{"driver", "volumeHandle", "volumeID"}}

	// Of a DaemonSet its name is kept, what its pods run, on which nodes, and what of the host they
	// mount.
	trimDaemonSet = trimming{in: map[string]trimming{
		"metadata": unannotated,
		"spec": {only: []string{"selector", "template"}, in: map[string]trimming{
			"template": {only: []string{"spec"}, in: map[string]trimming{
				"spec": {
					only: []string{"hostNetwork", "nodeSelector", "affinity", "tolerations", "volumes", "containers", "initContainers"},
					each: map[string]trimming{"containers": trimContainer, "initContainers": trimContainer, "volumes": {only: []string{"name", "hostPath"}}},
				},
			}},
		}},
	}}

	// A container's environment, arguments, probes and mounts, among others, are removed.
	trimContainer = trimming{only: []string{"name", "image", "resources"}}

	// The annotations of a pod that are kept: whether its owner prevents disruption, and whether it
	// is a static pod.
	podAnnotations = []string{roll.AnnotationDoNotDisrupt, roll.AnnotationSafeToEvict, annotationMirror}

	// Of a pod what may hold a secret and does not concern its node is removed.
	trimPod = trimming{in: map[string]trimming{
		"metadata": {in: map[string]trimming{"annotations": {only: podAnnotations}}, also: withoutEmptyAnnotations},
		"spec":     {each: map[string]trimming{"containers": trimContainer, "initContainers": trimContainer, "ephemeralContainers": trimContainer}, also: trimVolumes},
		"status":   {each: map[string]trimming{"containerStatuses": trimStatus, "initContainerStatuses": trimStatus, "ephemeralContainerStatuses": trimStatus}},
	}}

	// What a container wrote when it terminated is removed: the end of its log, with
	// terminationMessagePolicy FallbackToLogsOnError.
	// https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/
	trimStatus = trimming{in: map[string]trimming{"state": trimState, "lastState": trimState}}
	trimState  = trimming{in: map[string]trimming{"terminated": {drop: "message"}}}
)

func withoutEmptyAnnotations(metadata object) error {
	if a, ok := metadata["annotations"].(object); ok && len(a) == 0 {
		delete(metadata, "annotations")
	}
	return nil
}

// requiredValues is how many values a requirement of a NodeClaim may list and be kept.
const requiredValues = 50

// trimRequirements removes the requirements that allow many values. Karpenter lists up to 600 instance types in each
// NodeClaim that it creates; its labels have the one that was launched.
// https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go
func trimRequirements(spec object) error {
	kept := []any{}
	err := eachObject(spec["requirements"], func(r object) error {
		values, err := as[[]any](r["values"])
		if len(values) <= requiredValues {
			kept = append(kept, r)
		}
		return err
	})
	if _, there := spec["requirements"]; there {
		spec["requirements"] = kept
	}
	return err
}

// The names of the volumes that EKS adds to the pods of a service account with an IAM role. With RoleToken
// they ask STS for that role, with IdentityToken the EKS Pod Identity Agent of their node.
// https://github.com/aws/amazon-eks-pod-identity-webhook
const (
	RoleToken     = "aws-iam-token"
	IdentityToken = "eks-pod-identity-token"
)

// trimVolumes keeps only the claims of a pod, and that it has the token for a role: the attributes of
// a CSI or flex volume can be anything.
func trimVolumes(spec object) error {
	volumes, claims := spec["volumes"], []any{}
	delete(spec, "volumes")
	err := eachObject(volumes, func(v object) error {
		_, made := v["ephemeral"]
		if made {
			v["ephemeral"] = object{} // the claim has the pod's name and its own
		}
		if _, claimed := v["persistentVolumeClaim"]; made || claimed || v["name"] == RoleToken || v["name"] == IdentityToken {
			claims = append(claims, v)
		}
		return trimming{only: []string{"name", "persistentVolumeClaim", "ephemeral"}}.object(v)
	})
	if len(claims) > 0 {
		spec["volumes"] = claims
	}
	return err
}
