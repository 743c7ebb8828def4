package logsub

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/bus/driver"
)

// delivery is one entry on its way to an acknowledgement; it implements [driver.Delivery].
type delivery struct {
	lane    *lane
	message driver.Message
	place   place

	// Guarded by the lane's mu.
	seq     int64
	nacks   int
	due     time.Time // after a nack: when to redeliver
	settled bool      // since it was last handed over
}

// Message implements [driver.Delivery].
func (d *delivery) Message() driver.Message { return d.message }

// Context implements [driver.Delivery].
func (d *delivery) Context() context.Context { return d.lane.ctx }

// Done implements [driver.Delivery].
func (d *delivery) Done() { d.lane.ack(d) }

// Back implements [driver.Delivery].
func (d *delivery) Back() { d.lane.nack(d) }

// Alone implements [driver.Suspected].
func (d *delivery) Alone() bool {
	d.lane.mu.Lock()
	defer d.lane.mu.Unlock()
	return d.lane.careful > 0
}

// Begin implements [driver.Suspected].
func (d *delivery) Begin(ctx context.Context) (before int, err error) {
	l := d.lane
	if l.start.Message == d.message.ID {
		before = l.start.Times
	}
	return before, l.note(ctx, d.message.ID, before+1)
}

// End implements [driver.Suspected].
func (d *delivery) End(ctx context.Context) error { return d.lane.note(ctx, "", 0) }

func (l *lane) note(ctx context.Context, message string, times int) error {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	if err := l.sub.hub.b.Directory.Alone(ctx, l.lease.Cursor, message, times); err != nil {
		return fmt.Errorf("logsub: note which message of lane %d is handled alone: %w", l.lease.Lane, err)
	}
	return nil
}
