package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// A stock that the store knows already is told again only when it is as old as stockRenewed.
const stockRenewed = stockLasts / 6

// stockLasts is how long the last answer of Config.Stock holds while there is no other,
// and how long an event without any answer admits no user.
const stockLasts = time.Minute

// places are as many as users may be inside, by the threshold and by the stock.
func places(s *State) int {
	if s.Stock.Known {
		return min(s.Threshold, s.Stock.Left)
	}
	return s.Threshold
}

// reaches says whether the stock is enough for a position, if all users before it buy.
func reaches(s *State, position int) bool {
	return !s.Stock.Known || position <= s.Stock.Left
}

// restock asks for the stock of the event, and tells the store if it knows another or users
// have left since. The answer may be from before some of them bought: of the users that leave
// while it is asked for, each counts as gone. Without an answer the last one holds, for
// stockLasts. That of an event which is sold out holds until there is another: users would be
// let in to an empty house.
func (l *line) restock(ctx context.Context) {
	if l.room.cfg.Stock == nil {
		return
	}
	if l.state.Load() == nil && !l.pausing() {
		l.tellStock(ctx, nil) // the answer says how many users have left
	}
	before := l.state.Load()
	left, err := l.askStock(ctx)
	if errors.Is(err, errStockBusy) && l.unstocked.Load() == 0 {
		return // the caller that asks tells the answer, or that there is none
	}
	l.stocked(ctx, err)
	stock := driver.Stock{Known: true, Left: min(left, driver.MaxStock)}
	if before != nil {
		stock.At, stock.Gone, stock.Epoch = before.Now, max(0, int(before.Entered)-before.Active), before.Epoch
	}
	if err != nil {
		if stock = (driver.Stock{}); !l.outlived() {
			return
		}
	}
	if s := l.state.Load(); s != nil && s.Stock.Known == stock.Known && s.Stock.Left == stock.Left && s.Stock.Gone == 0 &&
		!s.Stock.At.IsZero() && s.Now.Sub(s.Stock.At) < stockRenewed {
		return
	}
	l.tellStock(ctx, &stock)
}

// forgetStock forgets a stock that is not asked for any more.
func (l *line) forgetStock(ctx context.Context) {
	if s := l.state.Load(); s != nil && s.Stock.Known {
		l.tellStock(ctx, &driver.Stock{})
	}
}

var errStockBusy = errors.New("the last call has not returned yet")

// askStock makes a call of Config.Stock, and waits for it no longer than Config.Timeout.
// There is one call at a time, so a call that hangs holds up itself alone.
func (l *line) askStock(ctx context.Context) (left int, err error) {
	if !l.asksStock.CompareAndSwap(false, true) {
		return 0, errStockBusy
	}
	defer func() {
		if err != nil {
			l.room.counts.stockFailed.Add(1)
		} else {
			l.room.counts.stockKnown.Add(1)
		}
	}()
	ctx, cancel := l.room.bounded(ctx)
	defer cancel()
	type result struct {
		left int
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var got result
		defer func() {
			if p := recover(); p != nil {
				l.room.counts.panics.Add(1)
				got = result{err: fmt.Errorf("panic: %v", p)}
			}
			l.asksStock.Store(false)
			done <- got
		}()
		if got.left, got.err = l.room.cfg.Stock(ctx, l.event); got.err == nil && got.left < 0 {
			got.err = fmt.Errorf("it answers %d; it must not be negative", got.left)
		}
	}()
	select {
	case got := <-done:
		return got.left, got.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// stocked logs when the stock cannot be asked for, and when it can be again.
func (l *line) stocked(ctx context.Context, err error) {
	var failing bool
	if err != nil {
		failing = !l.unstocked.CompareAndSwap(0, max(1, int64(l.room.now())))
	} else {
		failing = l.unstocked.Swap(0) != 0
	}
	l.room.turned(ctx, failing, err,
		"queue: the stock of an event cannot be asked for; the last answer holds for a while", "queue: the stock of an event is known again",
		slog.String("event", l.event), slog.Duration("stock_lasts", stockLasts))
}

// outlived says that the last answer is too old to hold, whichever process told it.
func (l *line) outlived() bool {
	s, since := l.state.Load(), l.unstocked.Load()
	if s == nil || since == 0 || l.room.now()-time.Duration(since) < stockLasts {
		return false
	}
	known := s.Stock
	return known.At.IsZero() || known.Known && known.Left > 0 && s.Now.Sub(known.At) >= stockLasts
}

// tellStock brings the stock into the store, if there is one.
func (l *line) tellStock(ctx context.Context, stock *driver.Stock) {
	ctx, cancel := l.room.bounded(ctx)
	defer cancel()
	_, _ = l.change(ctx, driver.Change{Stock: stock}) // if that fails, the next tick tells it
}
