package template

import (
	"slices"
	"testing"

	"rollcall/tests/harness/expect"
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
	ids := tmpl.ofType("AWS::S3::Bucket")
	must.That(t, slices.Equal(ids, []string{"EvidenceBucket"}), "buckets %v", ids)
	var b bucket
	must.Succeed(t, tmpl.properties("EvidenceBucket", &b))
	return b
}

func TestEvidenceIsEncryptedVersionedAndPrivate(t *testing.T) {
	b := evidence(t, read(t))
	encryption := b.BucketEncryption.ServerSideEncryptionConfiguration
	expect.That(t, len(encryption) == 1 && encryption[0].ServerSideEncryptionByDefault.SSEAlgorithm == "aws:kms" && encryption[0].BucketKeyEnabled, "encryption %+v", encryption)
	// See TestOneKeyEncryptsEverything for a key of one's own.
	key := encryption[0].ServerSideEncryptionByDefault.KMSMasterKeyID
	expect.That(t, key == "", "it is encrypted with %s, which nobody asked for", key)
	expect.That(t, b.VersioningConfiguration.Status == "Enabled", "versioning %q", b.VersioningConfiguration.Status)
	rules := b.OwnershipControls.Rules
	expect.That(t, len(rules) == 1 && rules[0].ObjectOwnership == "BucketOwnerEnforced", "objects belong to %+v", rules)
	want := map[string]bool{"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true}
	expect.Same(t, b.PublicAccessBlockConfiguration, want, "public access")
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
	expect.Same(t, evidence(t, tmpl).LifecycleConfiguration.Rules, []lifecycle{age, markers}, "lifecycle")
	for _, id := range []string{"EvidenceBucket", "EvidenceBucketPolicy"} {
		outlives(t, tmpl, id)
	}
	expect.Equal(t, tmpl.Outputs["EvidenceBucket"], "${EvidenceBucket}", "the output is")
}

func TestEvidenceTravelsEncryptedAndNobodyElseIsLetIn(t *testing.T) {
	tmpl := read(t)
	ids := tmpl.ofType("AWS::S3::BucketPolicy")
	must.That(t, len(ids) == 1 && tmpl.Resources[ids[0]].Properties["Bucket"] == "${EvidenceBucket}", "bucket policies %v", ids)
	got, err := tmpl.Statements("EvidenceBucketPolicy", "PolicyDocument")
	must.Succeed(t, err)
	want := []Statement{{
		Sid: "NobodyWithoutTLS", Effect: "Deny", Actions: []string{"s3:*"}, Resources: []string{"${EvidenceBucket.Arn}", "${EvidenceBucket.Arn}/*"},
		Principals: map[string][]string{"AWS": {"*"}}, Conditions: map[string]map[string][]string{"Bool": {"aws:SecureTransport": {"false"}}},
	}}
	expect.Same(t, got, want, "bucket policy")
}
