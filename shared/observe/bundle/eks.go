package bundle

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

func clusterSpec() spec {
	return spec{
		name: fileCluster, required: true, command: "aws eks describe-cluster --name CLUSTER --output json", read: readCluster,
		table: func() filed { return newTable(fileCluster, keyed[types.Cluster]("Name")) },
		write: func(c *contents) (any, error) {
			return map[string]any{"cluster": encoder{lower: true}.one(&c.cluster().rows[0])}, nil
		},
		calls: []operation{
			on("", nil, func(c *contents, _ *eks.ListClustersInput) (*eks.ListClustersOutput, error) {
				return &eks.ListClustersOutput{Clusters: append([]string{}, c.cluster().keys...)}, nil
			}, nil),
			on("", nil, func(c *contents, in *eks.DescribeClusterInput) (*eks.DescribeClusterOutput, error) {
				cluster, err := c.cluster().known(aws.ToString(in.Name), notFound("No cluster found for name: %s.", aws.ToString(in.Name)))
				return &eks.DescribeClusterOutput{Cluster: cluster}, err
			}, func(c *contents, _ *eks.DescribeClusterInput, out *eks.DescribeClusterOutput) {
				putOne(c, fileCluster, out.Cluster)
			}),
		},
	}
}

// nodeGroupsSpec is that of a file with all node groups of the cluster.
func nodeGroupsSpec() spec {
	out := listing[types.Nodegroup](shape{file: fileNodeGroups, command: "aws eks describe-nodegroup, once for each,", list: "nodegroups", id: "nodegroupName", one: "nodegroup"})
	out.calls = []operation{
		on(fileNodeGroups, func(in *eks.ListNodegroupsInput) bool { return in.NextToken != nil }, func(c *contents, _ *eks.ListNodegroupsInput) (*eks.ListNodegroupsOutput, error) {
			return &eks.ListNodegroupsOutput{Nodegroups: append([]string{}, c.nodeGroups().keys...)}, c.nodeGroups().listing()
		}, func(c *contents, _ *eks.ListNodegroupsInput, _ *eks.ListNodegroupsOutput) {
			// A bundle keeps no names alone, but the described groups are all there are.
			c.nodeGroups().held = true
		}),
		on(fileNodeGroups, asksAll, func(c *contents, in *eks.DescribeNodegroupInput) (*eks.DescribeNodegroupOutput, error) {
			all, name := c.nodeGroups(), aws.ToString(in.NodegroupName)
			group, err := all.known(name, cmp.Or(all.listing(), notFound("No node group found for name: %s.", name)))
			return &eks.DescribeNodegroupOutput{Nodegroup: group}, err
		}, func(c *contents, _ *eks.DescribeNodegroupInput, out *eks.DescribeNodegroupOutput) {
			putOne(c, fileNodeGroups, out.Nodegroup)
		}),
	}
	return out
}

func notFound(format string, args ...any) error {
	return &types.ResourceNotFoundException{Message: aws.String(fmt.Sprintf(format, args...))}
}

func accessEntriesSpec() spec {
	return spec{
		name: fileAccessEntries, command: "aws eks describe-access-entry, once for each, --output json", read: readAccessEntries, write: writeAccessEntries,
		table: func() filed {
			return newTable(fileAccessEntries, func(e *accessEntry) string { return aws.ToString(e.PrincipalArn) })
		},
		calls: []operation{
			on(fileAccessEntries, asksAll, func(c *contents, _ *eks.ListAccessEntriesInput) (*eks.ListAccessEntriesOutput, error) {
				return &eks.ListAccessEntriesOutput{AccessEntries: append([]string{}, c.accessEntries().keys...)}, c.accessEntries().missing()
			}, func(c *contents, _ *eks.ListAccessEntriesInput, out *eks.ListAccessEntriesOutput) {
				for i := range out.AccessEntries {
					if !c.accessEntries().has(out.AccessEntries[i]) {
						c.accessEntries().put(accessEntry{AccessEntry: types.AccessEntry{PrincipalArn: &out.AccessEntries[i]}, listed: true})
					}
				}
				c.entries = c.entries || aws.ToString(out.NextToken) == ""
				c.accessEntries().held = true // a cluster may have none
			}),
			on("", nil, (*contents).accessEntry, func(c *contents, _ *eks.DescribeAccessEntryInput, out *eks.DescribeAccessEntryOutput) {
				if out.AccessEntry != nil {
					c.accessEntries().put(accessEntry{AccessEntry: *out.AccessEntry})
				}
			}),
		},
	}
}

func (c *contents) accessEntry(in *eks.DescribeAccessEntryInput) (*eks.DescribeAccessEntryOutput, error) {
	entries, principal := c.accessEntries(), aws.ToString(in.PrincipalArn)
	entry, err := entries.known(principal, notFound("The specified principalArn could not be found: %s", principal))
	if entry.listed {
		err = entries.lacks("the access entry of " + principal + " beyond its ARN")
	}
	return &eks.DescribeAccessEntryOutput{AccessEntry: &entry.AccessEntry}, err
}

func shiftsSpec() spec {
	type output = arczonalshift.GetManagedResourceOutput
	return spec{
		name: fileShifts, command: "aws arc-zonal-shift get-managed-resource --resource-identifier ARN --output json",
		table: func() filed { return newTable(fileShifts, func(*output) string { return "" }) },
		read: func(c *contents, in *input, v *value) {
			var out output
			in.decode(v, &out)
			tableOf[output](c, fileShifts).put(out)
		},
		write: func(c *contents) (any, error) {
			return encoder{lower: true}.one(&tableOf[output](c, fileShifts).rows[0]), nil
		},
		calls: []operation{on("", nil, func(c *contents, _ *arczonalshift.GetManagedResourceInput) (*output, error) {
			// No other file of a bundle can show a shift, so without zonal-shifts.json there counts
			// as none: whoever acts asks ARC again.
			out, _ := tableOf[output](c, fileShifts).find("")
			shifts := *out // a copy, because the client modifies its answer
			return &shifts, nil
		}, func(c *contents, _ *arczonalshift.GetManagedResourceInput, out *output) {
			tableOf[output](c, fileShifts).put(*out)
		})},
	}
}
