package bundle

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/kube"
	"rollcall/tests/harness/must"
)

const poolOfPart = `[{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "of-the-part"}, "spec": {"template": {"spec": {}}}}]`

// A part answers what it has, and never that there is nothing else.
func TestAPartStandsBeforeTheRest(t *testing.T) {
	part, err := OpenPart(map[string][]byte{fileNodePools: []byte(poolOfPart)})
	must.Succeed(t, err)
	rest, err := OpenPart(map[string][]byte{fileNodePools: []byte(`[{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "of-the-rest"}, "spec": {"template": {"spec": {}}}}]`)})
	must.Succeed(t, err)
	both := client(t, rest).Behind(client(t, part))
	for _, name := range []string{"of-the-part", "of-the-rest"} {
		answer, err := both.Read(t.Context(), kube.ANodePool(name))
		if err != nil || names(t, answer) != "NodePool/"+name {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, q := range []kube.Question{kube.ANodePool("other"), kube.AllNodePools(), kube.AwsAuth()} {
		if _, err := both.Read(t.Context(), q); !errors.Is(err, kube.ErrNotCaptured) {
			t.Errorf("%s: %v", q, err)
		}
	}
	_, err = eks.NewFromConfig(part.AWS()).DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("payments")})
	if _, ok := errors.AsType[*awserr.NotCaptured](err); !ok {
		t.Errorf("the cluster: %v", err)
	}
}

func TestFaultsOfAPartAreReported(t *testing.T) {
	_, err := OpenPart(map[string][]byte{fileNodePools: []byte(`[{"kind": "NodePool"}]`), fileTemplates: []byte(`{`)})
	if faults, ok := errors.AsType[Faults](err); !ok || len(faults) != 2 {
		t.Errorf("got %v", err)
	}
}
