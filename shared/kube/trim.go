package kube

import (
	"encoding/json"
	"maps"
	"slices"
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
		maps.DeleteFunc(o, func(field string, _ json.RawMessage) bool { return !slices.Contains(t.only, field) })
	}
	if t.drop != "" {
		delete(o, t.drop)
	}
	for _, field := range slices.Sorted(maps.Keys(t.in)) {
		if err := alter(o, field, t.in[field].object); err != nil {
			return err
		}
	}
	for _, field := range slices.Sorted(maps.Keys(t.each)) {
		if err := alter(o, field, t.each[field].list); err != nil {
			return err
		}
	}
	if t.also == nil {
		return nil
	}
	return t.also(o)
}

func (t trimming) list(all []object) error {
	for _, o := range all {
		if err := t.object(o); err != nil {
			return err
		}
	}
	return nil
}

// trimmed returns an object, as JSON, without what the trimming removes.
func (t trimming) trimmed(data json.RawMessage) (json.RawMessage, error) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	if err := t.object(o); err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

// Trim removes from an object of a kind, as JSON, what never leaves this package: see
// [Client.Read]. Objects of most kinds stay unchanged.
func Trim(kind string, data json.RawMessage) (json.RawMessage, error) {
	t := map[string]*trimming{resourcePod.kind: trimPod, resourceDaemonSet.kind: trimDaemonSet, resourceBudget.kind: trimBudget, resourceVolume.kind: trimVolume}[kind]
	if t == nil {
		return data, nil
	}
	return t.trimmed(data)
}

// AnnotationRoleARN is the annotation of a service account with the IAM role that its pods assume.
// https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
const AnnotationRoleARN = "eks.amazonaws.com/role-arn"

var (
	// unannotated is metadata without annotations.
	unannotated = trimming{drop: "annotations"}

	trimBudget = &trimming{in: map[string]trimming{"metadata": unannotated}}

	// Of a service account only the role that its pods assume is kept: it also names secrets.
	trimAccount = &trimming{
		only: []string{"apiVersion", "kind", "metadata"},
		in:   map[string]trimming{"metadata": {in: map[string]trimming{"annotations": {only: []string{AnnotationRoleARN}}}}},
	}

	// Of a PersistentVolume its claim is kept, and where it can be used. Sources name secrets and
	// servers, so of these only that the volume is a disk of a node is kept, or the name under which
	// it is attached.
	trimVolume = &trimming{in: map[string]trimming{
		"metadata": unannotated,
		"spec": {
			only: []string{"local", "hostPath", "csi", "awsElasticBlockStore", "claimRef", "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName"},
			in:   map[string]trimming{"csi": trimSource, "awsElasticBlockStore": trimSource},
		},
	}}
	trimSource = trimming{only: []string{"driver", "volumeHandle", "volumeID"}}

	// Of a DaemonSet its name is kept, what its pods run, on which nodes, and what of the host they
	// mount.
	trimDaemonSet = &trimming{in: map[string]trimming{
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
	podAnnotations = []string{annotationDoNotDisrupt, annotationSafeToEvict, annotationMirror}

	// Of a pod what may hold a secret and does not concern its node is removed.
	trimPod = &trimming{in: map[string]trimming{
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
	if string(metadata["annotations"]) == "{}" {
		delete(metadata, "annotations")
	}
	return nil
}

// RoleToken is the name of the volume that EKS adds to the pods of a service account with an IAM role:
// they ask STS for that role.
// https://github.com/aws/amazon-eks-pod-identity-webhook
const RoleToken = "aws-iam-token"

// trimVolumes keeps only the claims of a pod, and that it has the token for a role: the attributes of
// a CSI or flex volume can be anything.
func trimVolumes(spec object) error {
	var claims []object
	err := alter(spec, "volumes", func(all []object) error {
		for _, v := range all {
			if _, made := v["ephemeral"]; made {
				v["ephemeral"] = json.RawMessage("{}") // the claim has the pod's name and its own
			} else if _, claimed := v["persistentVolumeClaim"]; !claimed && string(v["name"]) != `"`+RoleToken+`"` {
				continue
			}
			claims = append(claims, v)
		}
		return trimming{only: []string{"name", "persistentVolumeClaim", "ephemeral"}}.list(claims)
	})
	delete(spec, "volumes")
	if err != nil || len(claims) == 0 {
		return err
	}
	raw, err := json.Marshal(claims)
	spec["volumes"] = raw
	return err
}
