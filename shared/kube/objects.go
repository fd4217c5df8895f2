package kube

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The objects of this file have the fields that are read, under the names of k8s.io/api, whose
// package would link every type of the core group; TestObjectsAreThoseOfKubernetes compares them.
// https://kubernetes.io/docs/reference/kubernetes-api/

// NodeObject has the fields of a node that are read.
type NodeObject struct {
	Kind              string `json:"kind"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              NodeSpec   `json:"spec"`
	Status            NodeStatus `json:"status"`
}

// NodeSpec has those of its spec.
type NodeSpec struct {
	ProviderID    string      `json:"providerID"`
	Unschedulable bool        `json:"unschedulable"`
	Taints        []NodeTaint `json:"taints"`
}

// NodeTaint has all fields of a taint: a patch replaces the list.
type NodeTaint struct {
	Key       string       `json:"key"`
	Value     string       `json:"value,omitempty"`
	Effect    string       `json:"effect"`
	TimeAdded *metav1.Time `json:"timeAdded,omitempty"`
}

// NodeStatus has those of its status.
type NodeStatus struct {
	Conditions      []Condition      `json:"conditions"`
	VolumesAttached []AttachedVolume `json:"volumesAttached"`
}

// Condition is a condition of a node or of a pod.
type Condition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	Reason             string      `json:"reason"`
}

// AttachedVolume is a volume that the control plane attached to it.
type AttachedVolume struct {
	Name string `json:"name"`
}

const (
	conditionReady  = "Ready" // of nodes and pods
	conditionTrue   = string(metav1.ConditionTrue)
	effectNoExecute = "NoExecute"
)

type podObject struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		NodeName    string `json:"nodeName"`
		Tolerations []struct {
			Key      string `json:"key"`
			Operator string `json:"operator"`
			Value    string `json:"value"`
			Effect   string `json:"effect"`
		} `json:"tolerations"`
		Volumes []struct {
			Name                  string    `json:"name"`
			Ephemeral             *struct{} `json:"ephemeral"`
			PersistentVolumeClaim *struct {
				ClaimName string `json:"claimName"`
			} `json:"persistentVolumeClaim"`
		} `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase      string       `json:"phase"`
		StartTime  *metav1.Time `json:"startTime"`
		Conditions []Condition  `json:"conditions"`
	} `json:"status"`
}

type budgetObject struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector                   *metav1.LabelSelector `json:"selector"`
		UnhealthyPodEvictionPolicy *string               `json:"unhealthyPodEvictionPolicy"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64              `json:"observedGeneration"`
		CurrentHealthy     int32              `json:"currentHealthy"`
		DesiredHealthy     int32              `json:"desiredHealthy"`
		Conditions         []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

type volumeObject struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              volumeSpec `json:"spec"`
	Status            struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

type volumeSpec struct {
	CSI *struct {
		Driver       string `json:"driver"`
		VolumeHandle string `json:"volumeHandle"`
	} `json:"csi"`
	AWSElasticBlockStore *struct {
		VolumeID string `json:"volumeID"`
	} `json:"awsElasticBlockStore"`
	Local    *struct{} `json:"local"`
	HostPath *struct{} `json:"hostPath"`
	ClaimRef *struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"claimRef"`
	NodeAffinity                  *volumeAffinity `json:"nodeAffinity"`
	PersistentVolumeReclaimPolicy string          `json:"persistentVolumeReclaimPolicy"`
}

type volumeAffinity struct {
	Required *struct {
		NodeSelectorTerms []nodeTerm `json:"nodeSelectorTerms"`
	} `json:"required"`
}

type nodeTerm struct {
	MatchExpressions []nodeRequirement `json:"matchExpressions"`
	MatchFields      []nodeRequirement `json:"matchFields"`
}

type nodeRequirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}
