package bus

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
)

// PanicError is what a panic in a handler becomes: a transient error.
type PanicError struct {
	Value any    // what was handed to panic
	Stack []byte // of the goroutine that panicked
}

func (p *PanicError) Error() string { return fmt.Sprintf("bus: the handler panicked: %v", p.Value) }

// Unwrap returns the panic's value where that is an error.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

var (
	errNacked   = errors.New("bus: the handler nacked the message without an error")
	errProduced = fault.MarkPermanent(errors.New("bus: a middleware returned messages to publish; a consumer publishes through a Publisher or the outbox"))
)

// call runs the handler. A handler that acknowledges its message early does not let the
// next message of the key start: that happens when it has returned.
func call(ctx context.Context, next message.HandlerFunc, msg *message.Message) error {
	if ctx != msg.Context() { // the attempt's own context outlives the handler's
		msg = msg.Copy()
		msg.SetContext(ctx)
	}
	produced, err := next(msg)
	switch {
	case err == nil && len(produced) > 0:
		return errProduced
	case err == nil && isClosed(msg.Nacked()):
		return errNacked
	case err != nil && isClosed(msg.Acked()):
		return nil // as Watermill has it: an early ack wins over a later error
	}
	return err
}

// guard calls after with the result of run, even when run panics or ends its
// goroutine.
func guard(run func() error, after func(error)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = "it ended its goroutine (runtime.Goexit)"
		}
		// The class is ours to say: a panic's value may be an error with a
		// class of its own, which speaks of something else.
		after(fault.MarkTransient(&PanicError{Value: v, Stack: debug.Stack()}))
	}()
	err := run()
	returned = true
	after(err)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
