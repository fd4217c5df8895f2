package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	kindSize  = "size"
	attrNodes = "nodes"
)

// fleetPartition returns the partition key of a region's cluster sizes.
func fleetPartition(region string) string { return "fleet#" + region }

// Sizes implements Fleet.
func (d *Dynamo) Sizes(ctx context.Context, region string) (map[string]int, error) {
	sizes := map[string]int{}
	pages := dynamodb.NewQueryPaginator(d.api, &dynamodb.QueryInput{
		TableName:                 &d.table,
		KeyConditionExpression:    aws.String("pk = :pk AND begins_with(sk, :size)"),
		ExpressionAttributeValues: item{":pk": text(fleetPartition(region)), ":size": text(kindSize + "#")},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the sizes of clusters in table %s: %w", d.table, err)
		}
		for _, i := range page.Items {
			key, isText := i[attrSort].(*types.AttributeValueMemberS)
			nodes, isNumber := i[attrNodes].(*types.AttributeValueMemberN)
			if !isText || !isNumber {
				return nil, fmt.Errorf("read the sizes of clusters in table %s: an item of %s has no sort key or no %s", d.table, fleetPartition(region), attrNodes)
			}
			n, err := strconv.Atoi(nodes.Value)
			if err != nil {
				return nil, fmt.Errorf("read the size %s in table %s: %w", key.Value, d.table, err)
			}
			sizes[strings.TrimPrefix(key.Value, kindSize+"#")] = n
		}
	}
	return sizes, nil
}

// PutSize implements Fleet.
func (d *Dynamo) PutSize(ctx context.Context, region, cluster string, nodes int) error {
	_, err := d.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &d.table,
		Key:                       key(fleetPartition(region), kindSize+"#"+cluster),
		UpdateExpression:          aws.String("SET " + attrNodes + " = :n"),
		ExpressionAttributeValues: item{":n": number(int64(nodes))},
	})
	if err != nil {
		return fmt.Errorf("record the size of %s in table %s: %w", cluster, d.table, err)
	}
	return nil
}
