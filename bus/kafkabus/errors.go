package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/millrace-go/millrace/fault"
)

// errTopic is wrapped by the error of Declare for a topic that exists with another number
// of partitions, or that the cluster cannot hold as declared.
var errTopic = errors.New("the topic cannot be as declared")

// isKerror reports whether err is one of these errors of the brokers.
func isKerror(err error, these ...*kerr.Error) bool {
	k, ok := errors.AsType[*kerr.Error](err)
	return ok && slices.Contains(these, k)
}

// permanent reports whether the brokers refuse the message itself. All other errors,
// permissions included, are about the cluster: they concern every message, and retrying
// until the cluster is repaired is right.
func permanent(err error) bool {
	return isKerror(err, kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidTimestamp,
		kerr.InvalidRecord, kerr.UnsupportedForMessageFormat, kerr.InvalidTopicException)
}

// refused reports whether publishing again is useless.
func refused(err error) bool {
	return permanent(err) || isKerror(err, kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.SaslAuthenticationFailed,
		kerr.UnsupportedSaslMechanism, kerr.InvalidRequiredAcks, kerr.PolicyViolation, kerr.UnsupportedVersion, kerr.SecurityDisabled)
}

// unknownTopic reports whether a topic does not exist, or was replaced by another.
func unknownTopic(err error) bool {
	return isKerror(err, kerr.UnknownTopicOrPartition, kerr.UnknownTopicID)
}

// judged marks an error with the class that callers act on.
func judged(err error) error {
	if errors.Is(err, context.Canceled) { // a cancelled caller says nothing about the cluster
		return err
	}
	return fault.Mark(err, classify)
}

func classify(err error) fault.Class {
	if permanent(err) || errors.Is(err, errTopic) {
		return fault.Permanent
	}
	return fault.Infrastructure
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return judged(fmt.Errorf("kafkabus: "+format+": %w", append(args, err)...))
}
