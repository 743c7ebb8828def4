package inbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

const (
	sendLease = "notification-send"
	// sendLook is how often a process looks for the commits of others; its own ones wake
	// it.
	sendLook = 250 * time.Millisecond
	// maxBatch bounds the notifications taken up at once. Two pages of recipients fit,
	// so that there is always a whole one.
	maxBatch = 2 * maxPage
	// fresh is how old a notification may be to be sent live.
	fresh = time.Minute
)

// outgoing is a notification that was committed and is to be sent live.
type outgoing struct {
	Notification
	member   string
	position int64
	age      time.Duration
	trace    string // of its event; "" where that is not kept
	wanted   bool   // neither read already nor muted
}

// Deliveries go to the live streams.
type Deliveries struct {
	*desk
	stored signal.Signal // notifications were committed
}

// Run sends committed notifications to the streams, in the order of commits, while
// this process has the lease of that job.
func (d *Deliveries) Run(ctx context.Context) {
	job := d.store.NewJob(sendLease, d.cfg.Holder, d.cfg.SendLease, d.cfg.Logger)
	defer job.GiveBack(ctx)
	d.repeat(ctx, d.stored, "notifications could not be sent live", func(ctx context.Context) (time.Duration, error) {
		for ctx.Err() == nil {
			if more, err := d.sendSome(ctx, job); err != nil || !more {
				return sendLook, err
			}
		}
		return sendLook, nil
	})
}

// sendSome sends the next batch, and reports whether there was one for this process.
func (d *Deliveries) sendSome(ctx context.Context, job *store.Job) (bool, error) {
	var sent, stored int64
	if err := d.store.Reader().QueryRowContext(ctx, d.sql.Places).Scan(&sent, &stored); err != nil {
		return false, fmt.Errorf("inbox: look for what to send: %w", err)
	}
	if sent >= stored {
		return false, nil
	}
	lease, err := job.Take(ctx)
	if errors.Is(err, store.ErrLeaseHeld) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	batch, err := d.takeUp(ctx, lease)
	if err != nil {
		job.Lost()
		if errors.Is(err, store.ErrLeaseLost) {
			return true, nil
		}
		return false, err
	}
	d.deliver(ctx, batch)
	return true, nil
}

// takeUp moves the mark of sent notifications over the next batch and returns it. The
// mark moves first: a process that dies after that leaves the batch unsent, and no
// process sends it twice.
func (d *Deliveries) takeUp(ctx context.Context, lease store.Lease) (batch []outgoing, err error) {
	err = d.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := lease.Keep(ctx, tx, d.cfg.SendLease); err != nil {
			return err
		}
		var sent, stored int64
		if err := tx.QueryRowContext(ctx, d.sql.Places).Scan(&sent, &stored); err != nil {
			return err
		}
		var err error
		if batch, err = d.toSend(ctx, tx, sent, stored); err != nil {
			return err
		}
		if len(batch) == maxBatch { // the last position may have more than was read
			last := batch[len(batch)-1].position
			for len(batch) > 0 && batch[len(batch)-1].position == last {
				batch = batch[:len(batch)-1]
			}
			stored = last - 1
		}
		if err := d.takeTraces(ctx, tx, batch, sent, stored); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, d.sql.MarkSent, stored)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("inbox: take up what to send: %w", err)
	}
	return batch, nil
}

func (d *Deliveries) toSend(ctx context.Context, tx *sql.Tx, after, upTo int64) ([]outgoing, error) {
	return store.List(ctx, tx, d.sql.ToSend, []any{after, upTo, maxBatch}, func(row *sql.Rows) (outgoing, error) {
		var o outgoing
		var age int64
		err := row.Scan(&o.ID, &o.member, &o.Type, column{&o.Params}, &o.Message, &o.RefID, &o.position, &age, &o.wanted)
		o.age = time.Duration(age) * time.Millisecond
		return o, err
	})
}

// happened is the commit time of the notification's event, or else of the
// notification.
func (o outgoing) happened() time.Time {
	id, _, _ := strings.Cut(o.ID, "/")
	if at, ok := events.MadeAt(id); ok {
		return at
	}
	return time.Now().Add(-o.age)
}

// deliver sends a batch, each once. A notification that fails, is outdated, or was
// not sent in time is counted and left to the inbox.
func (d *Deliveries) deliver(ctx context.Context, batch []outgoing) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.SendTimeout)
	defer cancel()
	for _, o := range batch {
		switch {
		case !o.wanted:
			continue
		case o.age > fresh || ctx.Err() != nil:
			d.counts.dropped.Add(1)
			continue
		}
		e, err := live(o.Notification)
		if e.At = o.happened(); err == nil {
			err = d.sender.ToMember(o.within(ctx), o.member, e)
		}
		if err != nil {
			d.counts.failed.Add(1)
		} else {
			d.counts.sent.Add(1)
		}
	}
}
