package dynamogate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/queue/frontgate/dynamogate"
)

func TestCreateTables(t *testing.T) {
	s, client, cfg := fresh(t)
	ctx := t.Context()
	_, err := s.Switch(ctx, "show-1", true)
	require.NoError(t, err)
	// Again, from other stores: existing tables stay.
	for range 2 {
		require.NoError(t, newStore(t, client, cfg).CreateTables(ctx))
	}
	if state, err := s.State(ctx, "show-1"); err != nil || !state.On {
		t.Errorf("%+v, %v", state, err)
	}
	for _, name := range []string{cfg.Counters, cfg.Positions} {
		ttl, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
		if err != nil || ttl.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabled || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != "expiresAt" {
			t.Errorf("%s expires by %+v, %v", name, ttl, err)
		}
	}
	// With the names swapped, the tables have other keys.
	wrong := newStore(t, client, dynamogate.Config{Counters: cfg.Positions, Positions: cfg.Counters})
	if err := wrong.CreateTables(ctx); fault.Of(err) != fault.Permanent || !strings.Contains(fmt.Sprint(err), "another key") {
		t.Errorf("tables of others: %v", err)
	}
	if _, err := wrong.State(ctx, "show-1"); fault.Of(err) != fault.Permanent {
		t.Errorf("a call on tables of others: %v", err)
	}
}

// Missing tables are an incomplete set-up.
func TestNoTables(t *testing.T) {
	client := open(t, servicetest.DynamoDB(t))
	s := newStore(t, client, dynamogate.Config{Counters: "t-not-there", Positions: "t-not-there-either"})
	for name, err := range all(t.Context(), s) {
		if fault.Of(err) != fault.Infrastructure {
			t.Errorf("%s: %v is %s", name, err, fault.Of(err))
		}
	}
}

// Each range that was given out has one item, and together they are all positions.
func TestAudit(t *testing.T) {
	s, client, cfg := fresh(t)
	ctx := t.Context()
	_, err := s.Switch(ctx, "show-1", true)
	require.NoError(t, err)
	sizes := []int{1, 999, 7, 1000, 1}
	var last int64
	for _, n := range sizes {
		state, err := s.Assign(ctx, "show-1", n)
		require.NoError(t, err)
		last = state.Assigned
	}
	out, err := client.Query(ctx, &dynamodb.QueryInput{
		TableName: &cfg.Positions, KeyConditionExpression: aws.String("eventId = :e"), ConsistentRead: aws.Bool(true),
		ExpressionAttributeValues: map[string]types.AttributeValue{":e": &types.AttributeValueMemberS{Value: "show-1"}},
	})
	require.NoError(t, err)
	number := func(item map[string]types.AttributeValue, name string) (n int64) {
		t.Helper()
		v, ok := item[name].(*types.AttributeValueMemberN)
		if !ok {
			t.Fatalf("%s is %v", name, item[name])
		}
		_, err := fmt.Sscan(v.Value, &n)
		require.NoError(t, err)
		return n
	}
	next, got := int64(1), []int{}
	for _, item := range out.Items { // in the order of their key
		first, end := number(item, "firstPosition"), number(item, "lastPosition")
		assert.Equal(t, next, first, "a range begins at")
		next, got = end+1, append(got, int(end-first)+1)
		assigned := time.UnixMilli(number(item, "assignedAt"))
		if kept := time.Unix(number(item, "expiresAt"), 0).Sub(assigned); kept < 24*time.Hour-time.Second || kept > 24*time.Hour {
			t.Errorf("a range is kept for %s", kept)
		}
	}
	if next != last+1 || !slices.Equal(got, sizes) {
		t.Errorf("%d positions were given out in %v; the audit has %v up to %d", last, sizes, got, next-1)
	}
}

// Positions that could not be recorded are not given out.
func TestAuditRefused(t *testing.T) {
	client := open(t, servicetest.DynamoDB(t))
	cfg := tables(t, client)
	s := newStore(t, client, cfg)
	require.NoError(t, s.CreateTables(t.Context()))
	_, err := s.Switch(t.Context(), "show-1", true)
	require.NoError(t, err)
	blind := newStore(t, client, dynamogate.Config{Counters: cfg.Counters, Positions: "t-not-there"})
	if state, err := blind.Assign(t.Context(), "show-1", 3); fault.Of(err) != fault.Infrastructure || state.On {
		t.Errorf("without an audit: %+v, %v", state, err)
	}
	if state, err := s.Assign(t.Context(), "show-1", 1); err != nil || state.Assigned != 4 {
		t.Errorf("after it: %+v, %v", state, err)
	}
}
