package bundle

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"rollcall/shared/evidence"
	"rollcall/shared/roll"
)

// readCluster reads the one cluster of the bundle. Without its ARN the account and the region are
// unknown.
func readCluster(c *contents, in *input, v *value) {
	if v.kind == object && v.has("cluster") {
		v = v.get("cluster")
	}
	if v.kind != object || !v.has("arn") {
		in.fail(v.from, "there is no \"cluster\" with an arn in this: it should be what %s prints", in.spec.command)
		return
	}
	var cluster ekstypes.Cluster
	in.decode(v, &cluster)
	id, ok := roll.ParseClusterARN(aws.ToString(cluster.Arn))
	if !ok {
		in.fail(v.get("arn").from, "arn: %q has not the form arn:<partition>:eks:<region>:<account>:cluster/<name>", aws.ToString(cluster.Arn))
		return
	}
	in.refuseTrimmed(v)
	if cluster.Name == nil {
		cluster.Name = &id.Name
	}
	c.cluster().put(cluster)
}

// readInstances reads reservations with instances, or bare instances, as --query
// 'Reservations[].Instances[]' prints them.
func readInstances(c *contents, in *input, v *value) {
	for _, row := range in.rows(v, shape{list: "Reservations", id: "InstanceId", other: "Instances"}) {
		if !row.has("Instances") {
			var i types.Instance
			in.decode(row, &i)
			c.putInstance(in, row, instance{Instance: i})
			in.refuseTrimmed(row)
			continue
		}
		var r types.Reservation
		in.decode(row, &r)
		for _, i := range instancesOf(r) {
			c.putInstance(in, row, i)
		}
		for _, i := range row.down("Instances[]") {
			in.refuseTrimmed(i)
		}
	}
}

func (c *contents) putInstance(in *input, row *value, i instance) {
	if aws.ToString(i.InstanceId) == "" {
		in.fail(row.from, "an instance in this has no InstanceId")
		return
	}
	c.instances().put(i)
}

// readAccessEntries reads access entries in full, or the ARNs that list-access-entries prints. ARNs
// only show which principals have an entry.
func readAccessEntries(c *contents, in *input, v *value) {
	if v.kind == object && v.has("accessEntry") {
		in.fail(v.from, "this is one access entry, and nothing would tell of the others: put all of them into {\"accessEntries\": [...]}")
		return
	}
	list := v
	if v.kind == object && v.has("accessEntries") {
		in.whole(v)
		list = v.get("accessEntries")
	}
	if list.kind != array {
		in.fail(v.from, "there is no array \"accessEntries\" in this: it should be {\"accessEntries\": [...]}, each as in the accessEntry of %s", in.spec.command)
		return
	}
	for i := range list.items {
		c.putAccessEntry(in, &list.items[i])
	}
}

func (c *contents) putAccessEntry(in *input, v *value) {
	switch {
	case v.kind == text:
		c.accessEntries().put(accessEntry{AccessEntry: ekstypes.AccessEntry{PrincipalArn: &v.text}, listed: true})
		return
	case v.kind == object && v.has("accessEntry"):
		v = v.get("accessEntry")
	}
	if v.kind != object || !v.has("principalArn") {
		in.fail(v.from, "this access entry has no principalArn")
		return
	}
	var e accessEntry
	in.decode(v, &e.AccessEntry)
	c.accessEntries().put(e)
	c.accessEntries().trim(aws.ToString(e.PrincipalArn), in.trimmed(v))
	if v.has("associatedAccessPolicies") {
		var p eks.ListAssociatedAccessPoliciesOutput
		in.decode(v.get("associatedAccessPolicies"), &p.AssociatedAccessPolicies)
		tableOf[eks.ListAssociatedAccessPoliciesOutput](c, fileAccessPolicies).set(aws.ToString(e.PrincipalArn), p)
	}
}

func readLedger(c *contents, in *input, v *value) {
	known := tableOf[evidence.Remembered](c, fileLedger)
	if v.kind != object || !v.has("nodes") || v.get("nodes").kind != object {
		in.fail(v.from, "there is no object \"nodes\" in this: it should be {\"nodes\": {\"NODE\": {\"conditions\": [...], \"at\": \"...\", \"readyFlips\": [...]}}}")
		return
	}
	nodes := v.get("nodes")
	for i := range nodes.fields {
		var r evidence.Remembered
		in.decode(&nodes.fields[i].value, &r)
		known.set(nodes.fields[i].name, r)
	}
}
