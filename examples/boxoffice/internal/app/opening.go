package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue"
)

// opensLater sets the opening of BOXOFFICE_OPENING, once Redis and the database answer.
func (o *office) opensLater(ctx context.Context) error {
	show, at := o.cfg.Queue.Opening.Show, time.Now().Add(o.cfg.Queue.Opening.After)
	pause := kit.Backoff{Max: 5 * time.Second, Jitter: .2}
	for attempt := 1; ; attempt++ {
		err := o.setOpening(ctx, show, at)
		if err == nil || ctx.Err() != nil {
			break
		}
		if errors.Is(err, catalog.ErrNoShow) {
			return fmt.Errorf("BOXOFFICE_OPENING (--opening): %w", err)
		}
		o.log.WarnContext(ctx, "BOXOFFICE_OPENING (--opening): the opening is not set", "show", show, "error", err)
		if fault.Of(err) == fault.Permanent || kit.Sleep(ctx, pause.Delay(attempt)) != nil {
			break
		}
	}
	<-ctx.Done()
	return nil
}

// setOpening leaves a show alone that has had an opening: after a restart the sale goes on.
func (o *office) setOpening(ctx context.Context, show string, at time.Time) error {
	if err := o.sales.catalog.Exists(ctx, show); err != nil {
		return err
	}
	known, err := o.store.RoomSettings().Load(ctx, show)
	if err != nil || known.Draw != nil {
		return err
	}
	_, err = o.waiting.room.OpenAt(queue.By(ctx, "BOXOFFICE_OPENING", "to try an on-sale"), show, at, "")
	return err
}
