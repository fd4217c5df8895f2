package kube

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// planted is in every place of a pod that can hold confidential data.
const planted = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

const fullPod = `{
  "metadata": {
    "name": "web", "namespace": "team", "labels": {"app": "web"}, "managedFields": [{"manager": "SECRET"}],
    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "SECRET", "vault/agent": "SECRET", "karpenter.sh/do-not-disrupt": "1h", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "kubernetes.io/config.mirror": "x"},
    "ownerReferences": [{"kind": "DaemonSet", "name": "web"}]
  },
  "spec": {
    "nodeName": "n", "hostNetwork": true, "tolerations": [{"operator": "Exists"}],
    "volumes": [{"name": "v", "csi": {"driver": "d", "volumeAttributes": {"password": "SECRET"}}}, {"name": "data", "persistentVolumeClaim": {"claimName": "data-web"}, "comes later": "SECRET"}, {"name": "aws-iam-token", "projected": {"sources": ["SECRET"]}}, {"name": "eks-pod-identity-token", "projected": {"sources": ["SECRET"]}}, {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"metadata": {"annotations": {"a": "SECRET"}}}}}],
    "containers": [{
      "name": "web", "image": "web:1", "resources": {"requests": {"memory": "64Mi"}},
      "env": [{"name": "PASSWORD", "value": "SECRET"}], "envFrom": [{"prefix": "SECRET"}],
      "command": ["sh", "-c", "SECRET"], "args": ["--token=SECRET"], "workingDir": "/SECRET",
      "livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": "SECRET"}]}},
      "lifecycle": {"preStop": {"exec": {"command": ["SECRET"]}}}, "volumeMounts": [{"subPath": "SECRET"}], "comes later": "SECRET"
    }],
    "initContainers": [{"name": "init", "image": "init:1", "env": [{"name": "A", "value": "SECRET"}]}],
    "ephemeralContainers": [{"name": "debug", "image": "debug:1", "targetContainerName": "web", "env": [{"name": "A", "value": "SECRET"}]}]
  },
  "status": {
    "phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
    "containerStatuses": [{
      "name": "web", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
      "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "cannot log in with SECRET"}}
    }],
    "initContainerStatuses": [{"name": "init", "state": {"terminated": {"exitCode": 0, "message": "SECRET"}}}],
    "ephemeralContainerStatuses": [{"name": "debug", "lastState": {"terminated": {"message": "SECRET"}}}]
  }
}`

const trimmedPod = `{
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "web", "namespace": "team", "labels": {"app": "web"}, "ownerReferences": [{"kind": "DaemonSet", "name": "web"}],
    "annotations": {"karpenter.sh/do-not-disrupt": "1h", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "kubernetes.io/config.mirror": "x"}},
  "spec": {
    "nodeName": "n", "hostNetwork": true, "tolerations": [{"operator": "Exists"}],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web"}}, {"name": "aws-iam-token"}, {"name": "eks-pod-identity-token"}, {"name": "scratch", "ephemeral": {}}],
    "containers": [{"name": "web", "image": "web:1", "resources": {"requests": {"memory": "64Mi"}}}],
    "initContainers": [{"name": "init", "image": "init:1"}],
    "ephemeralContainers": [{"name": "debug", "image": "debug:1"}]
  },
  "status": {
    "phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
    "containerStatuses": [{
      "name": "web", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
      "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}
    }],
    "initContainerStatuses": [{"name": "init", "state": {"terminated": {"exitCode": 0}}}],
    "ephemeralContainerStatuses": [{"name": "debug", "lastState": {"terminated": {}}}]
  }
}`

const fullDaemonSet = `{
  "metadata": {"name": "aws-node", "namespace": "kube-system", "labels": {"k8s-app": "aws-node"}, "managedFields": [{"manager": "SECRET"}],
    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "SECRET"}},
  "spec": {
    "selector": {"matchLabels": {"k8s-app": "aws-node"}}, "comes later": "SECRET",
    "template": {"metadata": {"annotations": {"token": "SECRET"}}, "spec": {
      "hostNetwork": true, "imagePullSecrets": [{"name": "SECRET"}], "tolerations": [{"operator": "Exists"}],
      "volumes": [{"name": "conf", "hostPath": {"path": "/etc/cni/net.d"}}, {"name": "v", "csi": {"volumeAttributes": {"password": "SECRET"}}}],
      "containers": [{"name": "aws-node", "image": "cni:1", "env": [{"name": "PASSWORD", "value": "SECRET"}], "args": ["SECRET"]}],
      "initContainers": [{"name": "init", "image": "init:1", "command": ["SECRET"]}]
    }}
  },
  "status": {"desiredNumberScheduled": 2}
}`

const trimmedDaemonSet = `{"metadata":{"labels":{"k8s-app":"aws-node"},"name":"aws-node","namespace":"kube-system"},"spec":{"selector":{"matchLabels":{"k8s-app":"aws-node"}},"template":{"spec":{"containers":[{"image":"cni:1","name":"aws-node"}],"hostNetwork":true,"initContainers":[{"image":"init:1","name":"init"}],"tolerations":[{"operator":"Exists"}],"volumes":[{"hostPath":{"path":"/etc/cni/net.d"},"name":"conf"},{"name":"v"}]}}},"status":{"desiredNumberScheduled":2}}`

func TestDaemonSetsLeaveThePackageWithoutTheirSecrets(t *testing.T) {
	c, _ := over(t, saying(http.StatusOK, `{"kind":"DaemonSetList","apiVersion":"apps/v1","items":[`+strings.ReplaceAll(fullDaemonSet, "SECRET", planted)+`]}`))
	got, err := c.printed(t.Context(), DaemonSets())
	must.Succeed(t, err)
	expect.That(t, !strings.Contains(string(got), planted) && strings.Contains(string(got), "/etc/cni/net.d"), "%s", got)
	trimmed, err := Trim(json.RawMessage(`{"kind":"DaemonSet",` + strings.TrimSpace(fullDaemonSet)[1:]))
	must.Succeed(t, err)
	text, err := json.Marshal(trimmed)
	must.Succeed(t, err)
	diff := cmp.Diff(`{"kind":"DaemonSet",`+trimmedDaemonSet[1:], strings.Replace(string(text), `,"managedFields":[{"manager":"SECRET"}]`, "", 1))
	expect.That(t, diff == "", "(-want +got)\n%s", diff)
}

func TestPodsLeaveThePackageWithoutTheirSecrets(t *testing.T) {
	pod := strings.ReplaceAll(fullPod, "SECRET", planted)
	for _, body := range []string{
		`{"kind":"PodList","apiVersion":"v1","items":[` + pod + `]}`,
		`{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod",` + strings.TrimSpace(pod)[1:] + `]}`,
	} {
		c, _ := over(t, saying(http.StatusOK, body))
		got, err := c.printed(t.Context(), PodsOf("n"))
		must.Succeed(t, err)
		expect.That(t, !strings.Contains(string(got), planted) && !strings.Contains(string(got), "PASSWORD"), "a secret is told: %s", got)
		var answer struct{ Items []any }
		var want any
		must.Succeed(t, json.Unmarshal(got, &answer))
		must.Succeed(t, json.Unmarshal([]byte(trimmedPod), &want))
		expect.Same(t, answer.Items, []any{want}, "answer.Items")
	}
}

// The source of a volume's data is confidential.
func TestVolumesLeaveThePackageWithoutTheirSources(t *testing.T) {
	c, _ := over(t, saying(http.StatusOK, `{"kind":"PersistentVolumeList","apiVersion":"v1","items":[{
		"metadata": {"name": "pv", "annotations": {"a": "`+planted+`"}}, "status": {"phase": "Bound"},
		"spec": {"claimRef": {"namespace": "shop", "name": "data"}, "hostPath": {"path": "/data"}, "nodeAffinity": {},
			"csi": {"driver": "d", "volumeHandle": "h", "nodePublishSecretRef": {"name": "`+planted+`"}, "volumeAttributes": {"a": "`+planted+`"}}, "nfs": {"server": "`+planted+`"}, "mountOptions": ["`+planted+`"]}}]}`))
	got, err := c.printed(t.Context(), AllVolumes())
	expect.That(t, err == nil && !strings.Contains(string(got), planted) && strings.Contains(string(got), `"claimRef"`) && strings.Contains(string(got), `"volumeHandle"`) && strings.Contains(string(got), `"hostPath"`), "%s, %v", got, err)
}

// The secrets that a service account may use are confidential.
func TestServiceAccountsLeaveThePackageWithTheirRoleAlone(t *testing.T) {
	c, _ := over(t, saying(http.StatusOK, `{"kind":"ServiceAccountList","apiVersion":"v1","items":[{
		"metadata": {"name": "karpenter", "namespace": "kube-system", "annotations": {"a": "`+planted+`", "eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/x"}},
		"secrets": [{"name": "`+planted+`"}], "imagePullSecrets": [{"name": "`+planted+`"}]}]}`))
	got, err := c.printed(t.Context(), ControllerAccounts())
	expect.That(t, err == nil && !strings.Contains(string(got), planted) && strings.Contains(string(got), `"eks.amazonaws.com/role-arn":"arn:aws:iam::111122223333:role/x"`), "%s, %v", got, err)
}

// Any pod is either trimmed or an error.
func FuzzWhateverAPodHolds(f *testing.F) {
	f.Add([]byte(fullPod))
	f.Add([]byte(`{"spec":{"containers":[null,{"env":1}],"initContainers":null},"status":{"containerStatuses":[{"state":null}]}}`))
	f.Add([]byte(`{"metadata":7}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var pod object
		if unmarshal(data, &pod) != nil || pod == nil || trimPod.object(pod) != nil {
			t.Skip()
		}
		inner := func(o object, field string) object {
			v, err := as[object](o[field])
			must.That(t, err == nil, "%s: %v", field, err)
			return v
		}
		each := func(o object, field string, holds func(object)) {
			err := eachObject(o[field], func(o object) error { holds(o); return nil })
			must.That(t, err == nil, "%s: %v", field, err)
		}
		kept := func(only []string) func(object) {
			return func(o object) {
				for key := range o {
					must.That(t, slices.Contains(only, key), "%s is left", key)
				}
			}
		}
		kept(podAnnotations)(inner(inner(pod, "metadata"), "annotations"))
		spec := inner(pod, "spec")
		each(spec, "volumes", kept([]string{"name", "persistentVolumeClaim", "ephemeral"}))
		each(spec, "volumes", func(v object) { kept(nil)(inner(v, "ephemeral")) })
		for _, field := range []string{"containers", "initContainers", "ephemeralContainers"} {
			each(spec, field, kept(trimContainer.only))
		}
	})
}

func TestANodeClaimsListOfInstanceTypesIsNotKept(t *testing.T) {
	claim := func(requirements ...string) string {
		return `{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"default-abc12"},"spec":{"expireAfter":"720h","requirements":[` + strings.Join(requirements, ",") + `]}}`
	}
	of := func(key string, n int) string {
		return `{"key":"` + key + `","operator":"In","values":["v"` + strings.Repeat(`,"v"`, n-1) + `]}`
	}
	exists := `{"key":"team","operator":"Exists"}`
	for name, tt := range map[string]struct{ from, want string }{
		"as Karpenter creates it": {claim(of("node.kubernetes.io/instance-type", 600), of("kubernetes.io/arch", 1), exists), claim(of("kubernetes.io/arch", 1), exists)},
		"as many as are kept":     {claim(of("node.kubernetes.io/instance-type", requiredValues)), claim(of("node.kubernetes.io/instance-type", requiredValues))},
		"one more":                {claim(of("node.kubernetes.io/instance-type", requiredValues+1)), claim()},
		"none":                    {`{"kind":"NodeClaim","spec":{"expireAfter":"720h"}}`, `{"kind":"NodeClaim","spec":{"expireAfter":"720h"}}`},
		"no spec":                 {`{"kind":"NodeClaim"}`, `{"kind":"NodeClaim"}`},
	} {
		got, err := Trim(json.RawMessage(tt.from))
		must.Succeed(t, err)
		data, err := json.Marshal(got)
		must.Succeed(t, err)
		var want any
		must.Succeed(t, json.Unmarshal([]byte(tt.want), &want))
		wanted, err := json.Marshal(want)
		expect.That(t, err == nil && string(data) == string(wanted), "%s: got %s\nwant %s", name, data, wanted)
	}
	for _, text := range []string{`{"kind":"NodeClaim","spec":{"requirements":"all"}}`, `{"kind":"NodeClaim","spec":{"requirements":[{"values":"all"}]}}`} {
		_, err := Trim(json.RawMessage(text))
		expect.That(t, err != nil, "%s: no error", text)
	}
}
