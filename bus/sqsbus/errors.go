package sqsbus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
)

// errTooLarge is wrapped by the error of Publish for a message that does not fit
// into SQS, compressed or not.
var errTooLarge = errors.New("sqsbus: the message is too large")

// errOtherGroup is wrapped by the error of Declare and Subscribe when a topic's
// queue belongs to another group.
var errOtherGroup = errors.New("sqsbus: the queue belongs to another group")

// errOtherTopic is wrapped by the errors of calls that use a topic or a group whose name in
// SQS or SNS belongs to another.
var errOtherTopic = errors.New("sqsbus: the queue belongs to another topic")

// refused are the answers that concern the message or its receipt, and would be the same the
// next time. All others are about the server or its configuration.
var refused = []string{
	"InvalidMessageContents", "InvalidParameter", "InvalidParameterValue", "ParameterValueInvalid", "InvalidAttributeValue", "MessageTooLong",
	"BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", "MissingParameter",
	"ReceiptHandleIsInvalid", "MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight",
}

// final reports whether an entry of a request would be refused again. SQS calls an entry that it
// throttles, or cannot encrypt, a fault of the sender too.
func final(f types.BatchResultErrorEntry) bool {
	return f.SenderFault && slices.Contains(refused, aws.ToString(f.Code))
}

// classify implements fault.Classifier.
func classify(err error) fault.Class {
	var api smithy.APIError
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return fault.Unclassified
	case errors.As(err, &api) && slices.Contains(refused, api.ErrorCode()):
		return fault.Permanent
	}
	return fault.Infrastructure
}

// translate adds the package's name and the class to an error.
func translate(what string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("sqsbus: %s: %w", what, err)
	if errors.Is(err, bus.ErrClosed) {
		return err
	}
	return fault.Mark(err, classify)
}

// isCode reports whether an answer has one of the codes.
func isCode(err error, codes ...string) bool {
	var api smithy.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode())
}
