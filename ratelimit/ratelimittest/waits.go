package ratelimittest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

func waitCases() []testCase {
	return []testCase{{Name: "waits-outlive-lost-answers", Run: waitsOutliveLostAnswers}}
}

// lossy loses every third answer, as at the caller's timeout: the store has decided, and the limiter
// does not know. The store's clock advances with each call.
type lossy struct {
	driver.Store
	move         func(time.Duration)
	calls        int
	granted      int // with an answer
	lost         int // without one
	passed, each time.Duration
}

func (l *lossy) Acquire(ctx context.Context, plan *driver.Plan, ask driver.Ask) (driver.Grant, error) {
	l.move(l.each)
	l.passed += l.each
	g, err := l.Store.Acquire(ctx, plan, ask)
	if err != nil {
		return g, err
	}
	n := 0
	for i, r := range g.Runs {
		n += r.Granted * ask.Runs[i].Size
	}
	if l.calls++; l.calls%3 != 2 {
		l.granted += n
		return g, nil
	}
	l.lost += n
	return driver.Grant{}, context.DeadlineExceeded
}

// waitsOutliveLostAnswers has callers of Wait on a store whose answers get lost. None of them
// fails, and grants without an answer are not used.
func waitsOutliveLostAnswers(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{
		{HardLimit: 500, Rate: 200, LowRate: 150, Burst: 40, Delay: time.Second}, {HardLimit: 50, Rate: 40, LowRate: 30, Strict: true, Delay: time.Second},
	} { // permits outlive the answers of a slow store
		steps.Do(h.Lose(ctx))
		p := steps.Get(full(ctx, h, l))
		store := &lossy{Store: h.Store, move: h.Move, each: 10 * time.Millisecond}
		if l.Strict {
			store.each = p.plan.Window / 3
		}
		limiter, err := ratelimit.New(store, ratelimit.Config{
			Limits: l, Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler),
			BreakerCalls: 20, BreakerRatio: 0.9,
		})
		if err != nil {
			return err
		}
		// Bursts are granted at once, so the callers need more than one call.
		served, errs := waitInTurn(ctx, limiter, p.plan.Burst+10)
		if errs != nil {
			return fmt.Errorf("%+v: %d served: %w", l, served, errs)
		}
		if store.lost == 0 || served > store.granted {
			return fmt.Errorf("%+v: %d were served, %d were granted with an answer and %d without", l, served, store.granted, store.lost)
		}
		most := p.plan.Burst + int(float64(p.plan.Rate)*store.passed.Seconds())
		if l.Strict {
			most = p.plan.Rate * int(1+store.passed/p.plan.Window)
		}
		if store.granted+store.lost > most {
			return fmt.Errorf("%+v: %d were charged within %s, at most %d may be", l, store.granted+store.lost, store.passed, most)
		}
	}
	return nil
}

// waitInTurn has callers of both priorities wait, and returns how many were served.
func waitInTurn(ctx context.Context, l *ratelimit.Limiter, callers int) (served int, err error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range callers {
		wg.Go(func() {
			_, one := l.Wait(ctx, driver.Priority(i%2))
			mu.Lock()
			defer mu.Unlock()
			if err = errors.Join(err, one); one == nil {
				served++
			}
		})
	}
	wg.Wait()
	return served, err
}
