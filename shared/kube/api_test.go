package kube

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"rollcall/tests/harness/expect"
)

// everyType has the types of the core group, as an API server has them.
var everyType = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := corev1.AddToScheme(s); err != nil {
		panic(err)
	}
	return s
}()

// nodeOf returns the fields of a node that are read.
func nodeOf(n *corev1.Node) *NodeObject {
	out := &NodeObject{ObjectMeta: n.ObjectMeta, Spec: NodeSpec{ProviderID: n.Spec.ProviderID, Unschedulable: n.Spec.Unschedulable}}
	for _, t := range n.Spec.Taints {
		out.Spec.Taints = append(out.Spec.Taints, NodeTaint{Key: t.Key, Value: t.Value, Effect: string(t.Effect), TimeAdded: t.TimeAdded})
	}
	for _, c := range n.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, Condition{Type: string(c.Type), Status: string(c.Status), LastTransitionTime: c.LastTransitionTime, Reason: c.Reason})
	}
	return out
}

// Each field that is decoded is one of the full type, of the same kind, under the same name.
func TestObjectsAreThoseOfKubernetes(t *testing.T) {
	for of, full := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[NodeObject](): reflect.TypeFor[corev1.Node](), reflect.TypeFor[podObject](): reflect.TypeFor[corev1.Pod](),
		reflect.TypeFor[volumeObject](): reflect.TypeFor[corev1.PersistentVolume](), reflect.TypeFor[budgetObject](): reflect.TypeFor[policyv1.PodDisruptionBudget](),
	} {
		compare(t, full.Name(), of, full)
	}
	got, want := reflect.TypeFor[NodeTaint]().NumField(), reflect.TypeFor[corev1.Taint]().NumField()
	expect.That(t, got == want, "a taint has %d fields, %d are kept: a change of a node's taints would lose the others", want, got)
}

// compare finds each field of a type by its name in JSON among those of the full type.
func compare(t *testing.T, path string, of, full reflect.Type) {
	t.Helper()
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		if full.Kind() != of.Kind() {
			t.Errorf("%s is a %s, not a %s", path, full.Kind(), of.Kind())
			return
		}
		of, full = of.Elem(), full.Elem()
	}
	switch {
	case of == full:
	case of.Kind() != full.Kind():
		t.Errorf("%s is a %s, not a %s", path, full.Kind(), of.Kind())
	case of.Kind() == reflect.Struct:
		for _, f := range reflect.VisibleFields(of) {
			if len(f.Index) > 1 {
				continue
			}
			name := f.Tag.Get("json")
			name, _, _ = strings.Cut(name, ",")
			same, found := full.FieldByNameFunc(func(n string) bool {
				g, _ := full.FieldByName(n)
				its, _, _ := strings.Cut(g.Tag.Get("json"), ",")
				return its == name
			})
			if !found {
				t.Errorf("%s has no field %q", path, name)
				continue
			}
			compare(t, path+"."+name, f.Type, same.Type)
		}
	}
}
