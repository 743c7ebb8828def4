package txbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sqltx"
)

const (
	savepoint = "SAVEPOINT millrace_attempt"
	release   = "RELEASE SAVEPOINT millrace_attempt"
	undo      = "ROLLBACK TO SAVEPOINT millrace_attempt"
)

// WrapHandler implements driver.HandlerWrapper. A consumer runs a handler again after a failure, in
// the same transaction. So each run has a savepoint, and the writes of a failed run are undone.
// In the handler, package sqltx finds the transaction.
func (d *Driver) WrapHandler(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		dl := deliveryOf(msg.Context())
		if dl == nil {
			return next(msg)
		}
		return d.attempt(dl, msg, next)
	}
}

func (d *Driver) attempt(dl *delivery, msg *message.Message, next message.HandlerFunc) (produced []*message.Message, err error) {
	outer := msg.Context()
	if _, err := dl.tx.ExecContext(outer, savepoint); err != nil {
		return nil, d.lose(dl, msg, err)
	}
	pool, err := d.deliveries(outer) // known since the subscription began
	if err != nil {
		return nil, d.lose(dl, msg, err)
	}
	ctx, end, committed := sqltx.Adopt(outer, pool, dl.tx)
	msg.SetContext(ctx)
	returned := false
	defer func() {
		msg.SetContext(outer)
		if returned {
			return
		}
		// A panic: the transaction is rolled back to the savepoint, or lost.
		end() //nolint:errcheck // the panic says more
		if _, failed := dl.tx.ExecContext(context.WithoutCancel(outer), undo); failed != nil {
			dl.lose()
		}
	}()
	produced, err = next(msg)
	returned = true
	if doomed := end(); err == nil {
		err = doomed
	}
	msg.SetContext(outer)
	if err == nil {
		_, failed := dl.tx.ExecContext(outer, release)
		if failed == nil {
			dl.keep(committed)
			return produced, nil
		}
		err = fmt.Errorf("the handler's transaction cannot be committed: %w", failed)
	}
	// In the same transaction, and so in its snapshot, another run can conflict again for ever.
	if sqltx.IsConflict(err) {
		return nil, d.lose(dl, msg, err)
	}
	// The handler's writes must be undone, even if its context has ended.
	if _, failed := dl.tx.ExecContext(context.WithoutCancel(outer), undo); failed != nil {
		return nil, errors.Join(err, d.lose(dl, msg, failed))
	}
	return nil, err
}

// lose drops a transaction that has ended or cannot succeed (a conflict, a broken connection): the
// message is redelivered in a new one. It returns the error to the consumer once the consumer
// can see that the message was taken back.
func (d *Driver) lose(dl *delivery, msg *message.Message, err error) error {
	dl.lose()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-msg.Context().Done():
	case <-timer.C:
	}
	return fault.MarkInfrastructure(fmt.Errorf("%s: the transaction that the message came in is lost: %w", d.Name, err))
}
