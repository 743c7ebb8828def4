package amqpbus

import (
	"context"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
)

var (
	// errUnroutable is returned by Publish when no queue accepted a message. It is
	// transient: declare the topic's groups to repair it.
	errUnroutable = errors.New("amqpbus: no queue takes the message")
	// errPartitions is returned by Declare for a group that exists with another
	// number of queues.
	errPartitions = errors.New("amqpbus: the group has another number of partitions")
	// errBusy is returned by Browse when the topic has a consumer.
	errBusy = errors.New("amqpbus: the topic is being consumed")
	// errUnconfirmed is returned by Publish when the broker did not confirm: the connection
	// was lost, the wait was too long, or the broker refused. The messages may have arrived
	// or not; publish them again.
	errUnconfirmed = errors.New("amqpbus: the broker did not confirm")
)

var errClosed = fmt.Errorf("amqpbus: %w", bus.ErrClosed)

// translate wraps an error and marks its class. Errors of the broker or the network are
// infrastructure, unless the broker refuses the message itself.
func translate(what string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("amqpbus: %s: %w", what, err)
	if errors.Is(err, context.Canceled) {
		return err // the caller cancelled
	}
	return fault.Mark(err, func(error) fault.Class { return fault.Infrastructure })
}

// is reports whether the broker closed the channel, or the connection, with the code.
func is(err error, code int) bool {
	var e *amqp.Error
	return errors.As(err, &e) && e.Code == code
}

// within makes requests, and returns when ctx ends, even if they have not ended: the client
// takes no context. A broker that hangs answers none of them, and reads nothing, until the
// connection's heartbeat fails.
func within[T any](ctx context.Context, request func() (T, error)) (answer T, err error) {
	if ctx.Done() == nil { // it does not end
		return request()
	}
	type result struct {
		answer T
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := request()
		done <- result{answer, err}
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}
