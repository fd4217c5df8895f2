package bundle

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"rollcall/shared/aws/awserr"
	"rollcall/shared/kube"
	"rollcall/tests/harness/expect"
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
		expect.That(t, err == nil && names(t, answer) == "NodePool/"+name, "%s: %v", name, err)
	}
	for _, q := range []kube.Question{kube.ANodePool("other"), kube.AllNodePools(), kube.AwsAuth()} {
		_, err := both.Read(t.Context(), q)
		expect.That(t, errors.Is(err, kube.ErrNotCaptured), "%s: %v", q, err)
	}
	_, err = eks.NewFromConfig(part.AWS()).DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("payments")})
	_, ok := errors.AsType[*awserr.NotCaptured](err)
	expect.That(t, ok, "the cluster: %v", err)
}

func TestFaultsOfAPartAreReported(t *testing.T) {
	_, err := OpenPart(map[string][]byte{fileNodePools: []byte(`[{"kind": "NodePool"}]`), fileTemplates: []byte(`{`)})
	faults, ok := errors.AsType[Faults](err)
	expect.That(t, ok && len(faults) == 2, "got %v", err)
}
