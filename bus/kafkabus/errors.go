package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/millrace-go/millrace/fault"
)

// ErrTopic is wrapped by the error of Declare for a topic that exists with
// another number of partitions, or that the cluster cannot hold as asked.
var ErrTopic = errors.New("the topic cannot be as declared")

// codeOf returns the brokers' error code in err.
func codeOf(err error) (int16, bool) {
	if k, ok := errors.AsType[*kerr.Error](err); ok {
		return k.Code, true
	}
	k, ok := errors.AsType[sarama.KError](err)
	return int16(k), ok
}

// isKerror reports whether err has one of the brokers' error codes, given as errors of
// either client.
func isKerror(err error, codes ...error) bool {
	have, ok := codeOf(err)
	return ok && slices.ContainsFunc(codes, func(c error) bool {
		code, _ := codeOf(c)
		return code == have
	})
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
