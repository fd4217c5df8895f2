package kube

import (
	"encoding/json"
	"maps"
	"slices"
)

// The fields of a container that are kept. The others include its environment, arguments, probes
// and mounts.
var containerFields = []string{"name", "image", "resources"}

// podAnnotations are the annotations of a pod that are kept: whether its owner prevents disruption,
// and whether it is a static pod.
var podAnnotations = []string{annotationDoNotDisrupt, annotationSafeToEvict, annotationMirror}

// Trim removes from an object of a kind, as JSON, what never leaves this package: see
// [Client.ReadEach]. Objects of most kinds stay unchanged.
func Trim(kind string, data json.RawMessage) (json.RawMessage, error) {
	trim := map[string]func(object) error{resourcePod.kind: trimPod, resourceDaemonSet.kind: trimDaemonSet, resourceBudget.kind: trimAnnotations, resourceVolume.kind: trimVolume}[kind]
	if trim == nil {
		return data, nil
	}
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	if err := trim(o); err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

// only removes all fields of an object except the given ones.
func only(o object, fields []string) {
	maps.DeleteFunc(o, func(field string, _ json.RawMessage) bool { return !slices.Contains(fields, field) })
}

// trimAnnotations removes the annotations of an object.
func trimAnnotations(o object) error {
	return alter(o, "metadata", func(m object) error {
		delete(m, "annotations")
		return nil
	})
}

// AnnotationRoleARN is the annotation of a service account with the IAM role that its pods assume.
// https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
const AnnotationRoleARN = "eks.amazonaws.com/role-arn"

// trimAccount keeps of a service account only the role that its pods assume: it also names secrets.
func trimAccount(account object) error {
	only(account, []string{"apiVersion", "kind", "metadata"})
	return alter(account, "metadata", func(m object) error {
		return alter(m, "annotations", func(a object) error {
			only(a, []string{AnnotationRoleARN})
			return nil
		})
	})
}

// trimVolume keeps of a PersistentVolume its claim and where it can be used. Sources name secrets
// and servers, so of these it keeps only that the volume is a disk of a node, or the name under
// which it is attached.
func trimVolume(volume object) error {
	if err := trimAnnotations(volume); err != nil {
		return err
	}
	return alter(volume, "spec", func(spec object) error {
		only(spec, []string{"local", "hostPath", "csi", "awsElasticBlockStore", "claimRef", "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName"})
		for _, source := range []string{"csi", "awsElasticBlockStore"} {
			err := alter(spec, source, func(s object) error {
				only(s, []string{"driver", "volumeHandle", "volumeID"})
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// trimDaemonSet keeps of a DaemonSet what it is called, what its pods run, on which nodes, and what
// of the host they mount.
func trimDaemonSet(set object) error {
	if err := trimAnnotations(set); err != nil {
		return err
	}
	return alter(set, "spec", func(spec object) error {
		only(spec, []string{"selector", "template"})
		return alter(spec, "template", func(template object) error {
			only(template, []string{"spec"})
			return alter(template, "spec", func(pod object) error {
				only(pod, []string{"hostNetwork", "nodeSelector", "affinity", "tolerations", "volumes", "containers", "initContainers"})
				for _, field := range []string{"containers", "initContainers"} {
					if err := alter(pod, field, trimContainers); err != nil {
						return err
					}
				}
				return alter(pod, "volumes", func(all []object) error {
					for _, v := range all {
						only(v, []string{"name", "hostPath"})
					}
					return nil
				})
			})
		})
	})
}

// trimPod removes from a pod what may hold a secret and does not concern its node.
func trimPod(pod object) error {
	err := alter(pod, "metadata", func(m object) error {
		err := alter(m, "annotations", func(a object) error {
			only(a, podAnnotations)
			return nil
		})
		if string(m["annotations"]) == "{}" {
			delete(m, "annotations")
		}
		return err
	})
	if err != nil {
		return err
	}
	err = alter(pod, "spec", func(spec object) error {
		if err := trimVolumes(spec); err != nil {
			return err
		}
		for _, field := range []string{"containers", "initContainers", "ephemeralContainers"} {
			if err := alter(spec, field, trimContainers); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return alter(pod, "status", func(status object) error {
		for _, field := range []string{"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"} {
			if err := alter(status, field, trimStatuses); err != nil {
				return err
			}
		}
		return nil
	})
}

// trimVolumes keeps only the claims of a pod: the attributes of a CSI or flex volume can be
// anything.
func trimVolumes(spec object) error {
	var claims []object
	err := alter(spec, "volumes", func(all []object) error {
		for _, v := range all {
			if _, made := v["ephemeral"]; made {
				v["ephemeral"] = json.RawMessage("{}") // the claim has the pod's name and its own
			} else if _, claimed := v["persistentVolumeClaim"]; !claimed {
				continue
			}
			only(v, []string{"name", "persistentVolumeClaim", "ephemeral"})
			claims = append(claims, v)
		}
		return nil
	})
	delete(spec, "volumes")
	if err != nil || len(claims) == 0 {
		return err
	}
	raw, err := json.Marshal(claims)
	spec["volumes"] = raw
	return err
}

func trimContainers(all []object) error {
	for _, c := range all {
		only(c, containerFields)
	}
	return nil
}

// trimStatuses removes what containers wrote when they terminated: the end of their logs, with
// terminationMessagePolicy FallbackToLogsOnError.
// https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/
func trimStatuses(all []object) error {
	for _, s := range all {
		for _, field := range []string{"state", "lastState"} {
			err := alter(s, field, func(state object) error {
				return alter(state, "terminated", func(end object) error {
					delete(end, "message")
					return nil
				})
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
