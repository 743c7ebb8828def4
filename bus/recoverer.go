package bus

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
)

// panicError is the transient error of a handler that panicked.
type panicError struct {
	Value any    // the argument of panic
	Stack []byte // of the goroutine that panicked
}

func (p *panicError) Error() string { return fmt.Sprintf("bus: the handler panicked: %v", p.Value) }

// Unwrap returns the panic's value if it is an error.
func (p *panicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

var (
	errNacked   = errors.New("bus: the handler nacked the message without an error")
	errProduced = fault.MarkPermanent(errors.New("bus: a middleware returned messages to publish; a consumer publishes through a Publisher or the outbox"))
)

// call runs the handler. If a handler acknowledges its message early, the next message of the
// key still waits until the handler has returned.
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
		return nil // as in Watermill: an early ack overrides a later error
	}
	return err
}

// guard calls after with the result of run, even when run panics or ends its goroutine.
func (c *consumer) guard(run func() error, after func(error)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = "it ended its goroutine (runtime.Goexit)"
		}
		// A panic is always transient: its value may be an error with a class, but that class
		// does not describe the panic.
		after(fault.MarkTransient(&panicError{Value: v, Stack: debug.Stack()}))
	}()
	err := run()
	c.ask(err)
	returned = true
	after(err)
}

// ask asks a handler's error for its text, which panics for a nil pointer of many error types, and
// the classifiers for its class: here a panic is the handler's, later it would end the process.
func (c *consumer) ask(err error) {
	if err == nil {
		return
	}
	_ = err.Error()
	all := []error{err}
	if some := partial(err); some != nil {
		all = some.Unwrap()
	}
	for _, one := range all {
		_ = one.Error()
		fault.Of(one, c.Classifiers...)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
