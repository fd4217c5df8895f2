package testbed

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mapNodes is the aws-auth entry for the cluster's nodes.
const mapNodes = `- rolearn: ` + NodeRoleARN + `
  username: system:node:{{EC2PrivateDNSName}}
  groups: [system:bootstrappers, system:nodes]
`

// mapRollcall holds the aws-auth entries for Rollcall's roles.
const mapRollcall = `- rolearn: ` + ViewerRoleARN + `
  username: ` + ViewerUsername + `
  groups: ["` + ViewersGroup + `"]
- rolearn: ` + RemediatorRoleARN + `
  username: rollcall-remediator
  groups: ["` + RemediatorsGroup + `"]
- rolearn: ` + OperatorRoleARN + `
  username: rollcall-operator
  groups: ["` + ViewersGroup + `", "` + RemediatorsGroup + `"]
`

// mapRoles returns the bed's aws-auth after [Bed.Reset], that of a healthy cluster. It maps the cluster's
// nodes, Rollcall's roles, [Options.Viewers] and [Options.Remediators].
func (b *Bed) mapRoles() string {
	roles := mapNodes + mapRollcall
	for _, arn := range b.options.Viewers {
		roles += "- rolearn: " + arn + "\n  username: viewer\n  groups: [\"" + ViewersGroup + "\"]\n"
	}
	for _, arn := range b.options.Remediators {
		roles += "- rolearn: " + arn + "\n  username: remediator\n  groups: [\"" + RemediatorsGroup + "\"]\n"
	}
	return roles
}

// SetAWSAuth replaces mapRoles of the ConfigMap aws-auth and returns when the authenticator uses it. It waits up to a
// second longer, so that tokens made afterwards differ from earlier ones: the API server caches the result for a token
// for 10 seconds.
func (b *Bed) SetAWSAuth(ctx context.Context, mapRoles string) error {
	if err := b.writeAWSAuth(ctx, mapRoles); err != nil {
		return err
	}
	if err := b.awaitAWSAuth(ctx); err != nil {
		return err
	}
	// SDK signatures have a resolution of one second.
	now := time.Now()
	select {
	case <-time.After(now.Truncate(time.Second).Add(time.Second).Sub(now)):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the next second: %w", context.Cause(ctx))
	}
}

// UnmapNodes removes the node role from aws-auth, as a faulty manual edit would: no node can join any more. It returns
// when the authenticator uses the change.
func (b *Bed) UnmapNodes(ctx context.Context) error {
	return b.SetAWSAuth(ctx, strings.TrimPrefix(b.mapRoles(), mapNodes))
}

// AdminPolicy is the access policy of those who may do everything in a cluster.
const AdminPolicy = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"

// Admit sets the access entries of [ClusterName] to take effect: aws-auth, the only thing by which the bed's API server
// authenticates, maps their roles alone and to the same groups. The role of the nodes has an entry of type EC2_LINUX.
func (b *Bed) Admit(ctx context.Context, entries ...AccessEntry) error {
	roles := ""
	for _, e := range entries {
		name, groups := e.PrincipalARN[strings.LastIndex(e.PrincipalARN, "/")+1:], e.KubernetesGroups
		switch {
		case e.PrincipalARN == NodeRoleARN:
			roles += mapNodes
			continue
		case slices.Contains(e.Policies, AdminPolicy):
			groups = []string{"system:masters"}
		}
		roles += "- rolearn: " + e.PrincipalARN + "\n  username: " + name + "\n  groups: [\"" + strings.Join(groups, "\", \"") + "\"]\n"
	}
	if err := b.SetAccessEntries(ctx, ClusterName, entries...); err != nil {
		return err
	}
	return b.SetAWSAuth(ctx, roles)
}

// The permissions and the trust policy, for EKS Pod Identity, of the role of Karpenter's
// controller.
// https://karpenter.sh/docs/reference/cloudformation/
const (
	controllerTrust    = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`
	controllerLaunches = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["ec2:RunInstances","ec2:CreateFleet"],"Resource":"*"}]}`
	controllerPasses   = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"iam:PassRole","Resource":"*"}]}`
)

// MapController creates a role of that name for Karpenter's controller and maps it in aws-auth instead of the node
// role, as somebody does who confuses the two: no node can join any more. It returns when the authenticator uses the
// change.
func (b *Bed) MapController(ctx context.Context, name string) error {
	client := iam.NewFromConfig(b.AWSConfigFor(Seeder))
	if _, err := client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String(name), AssumeRolePolicyDocument: aws.String(controllerTrust)}); err != nil {
		return fmt.Errorf("make the role %s: %w", name, err)
	}
	if _, err := client.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: aws.String(name), PolicyName: aws.String("launches"), PolicyDocument: aws.String(controllerLaunches)}); err != nil {
		return fmt.Errorf("write a policy into the role %s: %w", name, err)
	}
	made, err := client.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String(name + "-passes"), PolicyDocument: aws.String(controllerPasses)})
	if err != nil {
		return fmt.Errorf("make a policy: %w", err)
	}
	if _, err := client.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String(name), PolicyArn: made.Policy.Arn}); err != nil {
		return fmt.Errorf("attach a policy to the role %s: %w", name, err)
	}
	return b.SetAWSAuth(ctx, strings.Replace(b.mapRoles(), NodeRoleARN, "arn:aws:iam::"+AccountID+":role/"+name, 1))
}

// ResetAWSAuth restores aws-auth to its content after [Start], if it differs.
func (b *Bed) ResetAWSAuth(ctx context.Context) error {
	cm, err := b.kube.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "aws-auth", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read aws-auth: %w", err)
	}
	if err == nil && maps.Equal(cm.Data, awsAuthData(b.mapRoles(), b.authVersion.Load())) {
		return nil
	}
	return b.SetAWSAuth(ctx, b.mapRoles())
}

// awsAuthData returns an aws-auth whose version shows in its mapping of the bed's prober.
func awsAuthData(mapRoles string, version int64) map[string]string {
	return map[string]string{
		"mapRoles": mapRoles,
		"mapUsers": "- userarn: " + prober.ARN + "\n  username: " + probeUser(version) + "\n",
	}
}

func probeUser(version int64) string { return fmt.Sprintf("testbed-probe-%d", version) }

func (b *Bed) writeAWSAuth(ctx context.Context, mapRoles string) error {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "aws-auth", Namespace: metav1.NamespaceSystem},
		Data:       awsAuthData(mapRoles, b.authVersion.Add(1)),
	}
	configMaps := b.kube.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	_, err := configMaps.Update(ctx, cm, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = configMaps.Create(ctx, cm, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write aws-auth: %w", err)
	}
	return nil
}

// awaitAWSAuth waits until the authenticator uses the last aws-auth written.
func (b *Bed) awaitAWSAuth(ctx context.Context) error {
	want := probeUser(b.authVersion.Load())
	err := poll(ctx, 30*time.Second, 20*time.Millisecond, func(ctx context.Context) error {
		user, err := b.whoIs(ctx, prober)
		if err != nil {
			return err
		}
		if user != want {
			return fmt.Errorf("the authenticator still works by an earlier version (%q)", user)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for aws-auth to take effect: %w; see %s", err, b.logPath("aws-iam-authenticator"))
	}
	return nil
}

// whoIs returns the user that the API server authenticates from a fresh EKS token of the
// identity.
func (b *Bed) whoIs(ctx context.Context, id Identity) (string, error) {
	// The API server caches the result for a token, so each review needs a new token. Tokens signed in the same second
	// differ by their validity.
	token, err := eksToken(ctx, id, time.Now(), int(60+b.questions.Add(1)%600))
	if err != nil {
		return "", err
	}
	review, err := b.kube.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("review the token of %s: %w", id.ARN, err)
	}
	if !review.Status.Authenticated {
		return "", fmt.Errorf("the token of %s was refused: %s", id.ARN, review.Status.Error)
	}
	return review.Status.User.Username, nil
}

// eksToken returns what "aws eks get-token" prints for [ClusterName]: a presigned GetCallerIdentity whose signature
// covers the name of the cluster. The validity is in seconds.
func eksToken(ctx context.Context, id Identity, at time.Time, expires int) (string, error) {
	url := fmt.Sprintf("https://%s/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Expires=%d", stsHost, expires)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("make a token for %s: %w", id.ARN, err)
	}
	req.Header.Set("X-K8s-Aws-Id", ClusterName)
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, id.Credentials(), req, emptyPayloadHash, "sts", Region, at)
	if err != nil {
		return "", fmt.Errorf("sign a token for %s: %w", id.ARN, err)
	}
	return "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(signed)), nil
}
