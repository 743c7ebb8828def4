package kafkabus

import (
	"context"
	"errors"
	"fmt"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/millrace-go/millrace/fault"
)

// ErrTopic is wrapped by the error of Declare for a topic that exists with
// another number of partitions, or that the cluster cannot hold as asked.
var ErrTopic = errors.New("the topic cannot be as declared")

// kerror returns the brokers' error code in err.
func kerror(err error) (sarama.KError, bool) {
	var k sarama.KError
	if errors.As(err, &k) {
		return k, true
	}
	var topic *sarama.TopicError
	if errors.As(err, &topic) {
		return topic.Err, true
	}
	var f *kerr.Error // of franz-go
	if errors.As(err, &f) {
		return sarama.KError(f.Code), true
	}
	return sarama.ErrNoError, false
}

func isKerror(err error, codes ...sarama.KError) bool {
	k, ok := kerror(err)
	if !ok {
		return false
	}
	for _, code := range codes {
		if k == code {
			return true
		}
	}
	return false
}

// permanent reports whether the message itself is what the brokers refuse. All
// else, permissions included, is about the cluster: it concerns every message,
// and waiting for somebody to mend it is right.
func permanent(err error) bool {
	var encoding sarama.PacketEncodingError
	return errors.As(err, &encoding) || isKerror(err,
		sarama.ErrMessageSizeTooLarge, sarama.ErrMessageSetSizeTooLarge, sarama.ErrInvalidTimestamp,
		sarama.ErrInvalidRecord, sarama.ErrUnsupportedForMessageFormat, sarama.ErrInvalidTopic)
}

// refused reports whether trying to publish again is of no use.
func refused(err error) bool {
	return permanent(err) || isKerror(err,
		sarama.ErrTopicAuthorizationFailed, sarama.ErrClusterAuthorizationFailed, sarama.ErrSASLAuthenticationFailed,
		sarama.ErrUnsupportedSASLMechanism, sarama.ErrInvalidRequiredAcks, sarama.ErrPolicyViolation,
		sarama.ErrUnsupportedVersion, sarama.ErrSecurityDisabled)
}

// unknownTopic reports whether a topic is not there, or not the one that it was.
func unknownTopic(err error) bool {
	return isKerror(err, sarama.ErrUnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID)
}

// judged gives an error the class that callers act on.
func judged(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled): // the caller's own doing says nothing about the cluster
		return err
	case permanent(err), errors.Is(err, ErrTopic), fault.Of(err) == fault.Permanent:
		return fault.MarkPermanent(err)
	}
	return fault.MarkInfrastructure(err)
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return judged(fmt.Errorf("kafkabus: "+format+": %w", append(args, err)...))
}
