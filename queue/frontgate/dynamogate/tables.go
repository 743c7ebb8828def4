package dynamogate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The attributes of the tables.
const (
	attrEvent = "eventId" // the key of both tables

	attrNext     = "nextPosition"   // counters: the last position given out
	attrServing  = "servingCounter" // counters
	attrActive   = "active"         // counters: whether the gate is on
	attrEpoch    = "epoch"          // both: when the counters began, in µs since 1970
	attrOpened   = "opened"         // counters: nextPosition when the gate was switched on last
	attrAdvanced = "lastAdvance"    // counters: the last round, in ms since 1970
	attrExpires  = "expiresAt"      // both: from when on DynamoDB may remove it, in s since 1970

	attrRange    = "rangeId" // positions: the sort key, epoch and first position
	attrFirst    = "firstPosition"
	attrLast     = "lastPosition"
	attrAssigned = "assignedAt" // positions: in ms since 1970
)

// CreateTables implements [driver.TableStore]. The tables are billed by request and have an expiry.
func (s *store) CreateTables(ctx context.Context) error {
	for _, t := range s.tables() {
		if err := s.createTable(ctx, t); err != nil {
			return failed("create the table "+t.name, err)
		}
	}
	return nil
}

type table struct {
	name string
	keys []types.KeySchemaElement
}

func (s *store) tables() []table {
	event := types.KeySchemaElement{AttributeName: aws.String(attrEvent), KeyType: types.KeyTypeHash}
	ranges := types.KeySchemaElement{AttributeName: aws.String(attrRange), KeyType: types.KeyTypeRange}
	return []table{
		{s.cfg.Counters, []types.KeySchemaElement{event}},
		{s.cfg.Positions, []types.KeySchemaElement{event, ranges}},
	}
}

// soon is how long a table may take to be ready.
const soon = 2 * time.Minute

func (s *store) createTable(ctx context.Context, t table) error {
	attributes := make([]types.AttributeDefinition, len(t.keys))
	for i, k := range t.keys {
		attributes[i] = types.AttributeDefinition{AttributeName: k.AttributeName, AttributeType: types.ScalarAttributeTypeS}
	}
	_, err := s.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &t.name, KeySchema: t.keys, AttributeDefinitions: attributes, BillingMode: types.BillingModePayPerRequest,
	})
	var there *types.ResourceInUseException
	if err != nil && !errors.As(err, &there) {
		return err
	}
	ready := dynamodb.NewTableExistsWaiter(s.client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, 5*time.Second
	})
	if err := ready.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &t.name}, soon); err != nil {
		return err
	}
	described, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.name})
	if err != nil {
		return err
	}
	same := func(a, b types.KeySchemaElement) bool {
		return aws.ToString(a.AttributeName) == aws.ToString(b.AttributeName) && a.KeyType == b.KeyType
	}
	if !slices.EqualFunc(described.Table.KeySchema, t.keys, same) {
		return fmt.Errorf("%w: there is one of that name with another key; name another table in the Config", errTable)
	}
	return s.expire(ctx, t.name)
}

// expire turns on DynamoDB's expiry for a table.
func (s *store) expire(ctx context.Context, table string) error {
	now, err := s.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil {
		return err
	}
	if d := now.TimeToLiveDescription; d != nil {
		on := d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling
		switch {
		case on && aws.ToString(d.AttributeName) == attrExpires:
			return nil
		case on:
			return fmt.Errorf("%w: it expires by the attribute %q; it has to be %q", errTable, aws.ToString(d.AttributeName), attrExpires)
		}
	}
	_, err = s.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(attrExpires), Enabled: aws.Bool(true)},
	})
	return err
}
