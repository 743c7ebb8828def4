package dynamogate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/millrace-go/millrace/fault"
)

var (
	errTable   = errors.New("the table is not ours")
	errContend = errors.New("others changed the gate at every try")
	errItem    = errors.New("the item is none of ours")
)

// wrong lists the answers for which a retry cannot help. All other errors are
// trouble with DynamoDB, such as throttling and 5xx, or with the set-up, such as a
// missing table or right.
var wrong = []string{"ValidationException", "ItemCollectionSizeLimitExceededException", "SerializationException"}

// classify classifies DynamoDB errors: unreachable, slow, throttled, 5xx, and a
// missing table or right are infrastructure.
func classify(err error) fault.Class {
	var api smithy.APIError
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return fault.Unclassified
	case errors.Is(err, errTable), errors.Is(err, errItem):
		return fault.Permanent
	case errors.Is(err, errContend):
		return fault.Transient
	case errors.As(err, &api) && slices.Contains(wrong, api.ErrorCode()):
		return fault.Permanent
	}
	return fault.Infrastructure
}

// failed wraps an error with its class.
func failed(what string, err error) error {
	return fault.Mark(fmt.Errorf("dynamogate: %s: %w", what, err), classify)
}

// refusedAs is the item at the time when a condition did not hold; false for other
// errors.
func refusedAs(err error) (map[string]types.AttributeValue, bool) {
	var condition *types.ConditionalCheckFailedException
	if errors.As(err, &condition) {
		return condition.Item, true
	}
	return nil, false
}
