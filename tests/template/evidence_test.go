package template

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rollcall/tests/harness/must"
)

// bucket holds a bucket's properties, as far as the template sets them.
type bucket struct {
	BucketName       *string
	BucketEncryption struct {
		ServerSideEncryptionConfiguration []struct {
			ServerSideEncryptionByDefault struct{ SSEAlgorithm, KMSMasterKeyID string }
			BucketKeyEnabled              bool
		}
	}
	VersioningConfiguration struct{ Status string }
	OwnershipControls       struct {
		Rules []struct{ ObjectOwnership string }
	}
	PublicAccessBlockConfiguration map[string]bool
	LifecycleConfiguration         struct{ Rules []lifecycle }
}

type lifecycle struct {
	ID                             string `json:"Id"`
	Status                         string
	ExpirationInDays               string
	NoncurrentVersionExpiration    struct{ NoncurrentDays int }
	AbortIncompleteMultipartUpload struct{ DaysAfterInitiation int }
	ExpiredObjectDeleteMarker      bool
}

// evidence returns the evidence bucket, which is the only bucket.
func evidence(t *testing.T, tmpl *Template) bucket {
	t.Helper()
	if ids := tmpl.ofType("AWS::S3::Bucket"); !slices.Equal(ids, []string{"EvidenceBucket"}) {
		t.Fatalf("buckets %v", ids)
	}
	var b bucket
	must.Succeed(t, tmpl.properties("EvidenceBucket", &b))
	return b
}

func TestEvidenceIsEncryptedVersionedAndPrivate(t *testing.T) {
	b := evidence(t, read(t))
	encryption := b.BucketEncryption.ServerSideEncryptionConfiguration
	if len(encryption) != 1 || encryption[0].ServerSideEncryptionByDefault.SSEAlgorithm != "aws:kms" || !encryption[0].BucketKeyEnabled {
		t.Errorf("encryption %+v", encryption)
	}
	// See TestOneKeyEncryptsEverything for a key of one's own.
	if key := encryption[0].ServerSideEncryptionByDefault.KMSMasterKeyID; key != "" {
		t.Errorf("it is encrypted with %s, which nobody asked for", key)
	}
	if b.VersioningConfiguration.Status != "Enabled" {
		t.Errorf("versioning %q", b.VersioningConfiguration.Status)
	}
	if rules := b.OwnershipControls.Rules; len(rules) != 1 || rules[0].ObjectOwnership != "BucketOwnerEnforced" {
		t.Errorf("objects belong to %+v", rules)
	}
	want := map[string]bool{"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true}
	if diff := cmp.Diff(want, b.PublicAccessBlockConfiguration); diff != "" {
		t.Errorf("public access (-want +got):\n%s", diff)
	}
	// With a fixed name a new stack would collide with the bucket that the last stack left.
	if b.BucketName != nil {
		t.Errorf("the bucket is named %s", *b.BucketName)
	}
}

func TestEvidenceGoesByItsAgeAndNotWithTheStack(t *testing.T) {
	tmpl := read(t)
	age := lifecycle{ID: "age", Status: "Enabled", ExpirationInDays: "90"}
	age.NoncurrentVersionExpiration.NoncurrentDays = 30
	age.AbortIncompleteMultipartUpload.DaysAfterInitiation = 7
	markers := lifecycle{ID: "delete-markers", Status: "Enabled", ExpiredObjectDeleteMarker: true}
	if diff := cmp.Diff([]lifecycle{age, markers}, evidence(t, tmpl).LifecycleConfiguration.Rules); diff != "" {
		t.Errorf("lifecycle (-want +got):\n%s", diff)
	}
	for _, id := range []string{"EvidenceBucket", "EvidenceBucketPolicy"} {
		outlives(t, tmpl, id)
	}
	if got := tmpl.Outputs["EvidenceBucket"]; got != "${EvidenceBucket}" {
		t.Errorf("the output is %v", got)
	}
}

func TestEvidenceTravelsEncryptedAndNobodyElseIsLetIn(t *testing.T) {
	tmpl := read(t)
	if ids := tmpl.ofType("AWS::S3::BucketPolicy"); len(ids) != 1 || tmpl.Resources[ids[0]].Properties["Bucket"] != "${EvidenceBucket}" {
		t.Fatalf("bucket policies %v", ids)
	}
	got, err := tmpl.Statements("EvidenceBucketPolicy", "PolicyDocument")
	must.Succeed(t, err)
	want := []Statement{{
		Sid: "NobodyWithoutTLS", Effect: "Deny", Actions: []string{"s3:*"}, Resources: []string{"${EvidenceBucket.Arn}", "${EvidenceBucket.Arn}/*"},
		Principals: map[string][]string{"AWS": {"*"}}, Conditions: map[string]map[string][]string{"Bool": {"aws:SecureTransport": {"false"}}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bucket policy (-want +got):\n%s", diff)
	}
}
