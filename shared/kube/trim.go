package kube

import (
	"encoding/json"
	"maps"
	"slices"
)

// The fields of a container that are told. The others are its environment, arguments,
// probes and mounts.
var containerFields = []string{"name", "image", "resources"}

// trimPod takes from a pod what may hold a secret and tells nothing about its node.
func trimPod(pod object) error {
	err := alter(pod, "metadata", func(m object) error {
		delete(m, "annotations")
		return nil
	})
	if err != nil {
		return err
	}
	err = alter(pod, "spec", func(spec object) error {
		delete(spec, "volumes") // the attributes of a CSI or flex volume are anything
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

func trimContainers(all []object) error {
	for _, c := range all {
		maps.DeleteFunc(c, func(field string, _ json.RawMessage) bool { return !slices.Contains(containerFields, field) })
	}
	return nil
}

// trimStatuses drops what containers wrote when they ended: the end of their logs, with
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
