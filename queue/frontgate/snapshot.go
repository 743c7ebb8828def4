package frontgate

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/batch"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// known is a process's state of an event's gate.
type known struct {
	assigns *batch.Combiner[struct{}, assigned]
	keeps   *batch.Combiner[keeping, int64]

	mu      sync.Mutex
	state   driver.State
	at      time.Time // the beginning of the call that returned the state; zero when there is none
	tried   time.Time // when the last one began
	err     error     // of the last one
	refresh chan struct{}
	used    time.Time
	moves   moves
}

type assigned struct {
	position int64 // 0: the gate is off
	state    driver.State
}

// event returns the state of an event.
func (g *Gate) event(event string) *known {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.events[event]
	if k == nil {
		if len(g.events) >= g.cfg.MaxEvents {
			g.forget()
		}
		event = strings.Clone(event) // it may be a part of a large request
		k = &known{}
		k.assigns = batch.New(driver.MaxAssign, g.cfg.Timeout, func(ctx context.Context, requests []struct{}) ([]assigned, error) {
			return g.assign(ctx, event, k, len(requests))
		})
		k.keeps = batch.New(driver.MaxAssign, g.cfg.Timeout, func(ctx context.Context, asks []keeping) ([]int64, error) {
			return g.keep(ctx, event, asks)
		})
		g.events[event] = k
	}
	k.mu.Lock()
	k.used = now
	k.mu.Unlock()
	return k
}

// forget drops the event that was not in use for longest. A call that uses it ends
// as usual.
func (g *Gate) forget() {
	oldest, at := "", time.Time{}
	for event, k := range g.events {
		k.mu.Lock()
		if oldest == "" || k.used.Before(at) {
			oldest, at = event, k.used
		}
		k.mu.Unlock()
	}
	delete(g.events, oldest)
}

// assign takes a position.
func (k *known) assign(ctx context.Context) (assigned, error) {
	a, err := k.assigns.Do(ctx, struct{}{})
	switch {
	case err != nil:
		return assigned{}, refused(ctx, err)
	case a.position == 0:
		return assigned{}, ErrOff
	}
	return a, nil
}

// assign serves a batch of callers in one call.
func (g *Gate) assign(ctx context.Context, event string, k *known, n int) ([]assigned, error) {
	began := time.Now()
	state, err := g.store.Assign(ctx, event, n)
	if err != nil {
		return nil, err
	}
	k.learn(state, began)
	answers := make([]assigned, n)
	for i := range answers {
		answers[i].state = state
		if state.On {
			answers[i].position = state.Assigned - int64(n-1-i)
		}
	}
	return answers, nil
}

// learn takes over a state unless a later call has brought one.
func (k *known) learn(s driver.State, began time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if began.Before(k.at) {
		return
	}
	if s.Epoch != k.state.Epoch {
		k.moves = nil
	}
	k.state, k.at, k.err = s, began, nil
	k.moves.add(began, s.Serving)
}

// blur is how far a store's clock may be wrong from call to call.
const blur = 2 * time.Second

// look returns the state of a gate: at most Config.Refresh old, and up to
// Config.Stale during a refresh or an outage of the store. A caller whose request
// id or token has a later epoch than the known one, begun since then by the store's
// clock or a little before, refreshes the state first.
func (g *Gate) look(ctx context.Context, event string, epoch uint64, since time.Time) (*known, driver.State, error) {
	if err := driver.CheckEvent(event); err != nil {
		return nil, driver.State{}, err
	}
	k := g.event(event)
	k.mu.Lock()
	now := time.Now()
	known := !k.at.IsZero() && now.Sub(k.at) < g.cfg.Stale
	newer := epoch > k.state.Epoch && k.state.Now.Sub(since) < blur
	pause := now.Sub(k.tried) < g.cfg.Refresh
	switch {
	case known && !newer && (now.Sub(k.at) < g.cfg.Refresh || k.refresh != nil || pause),
		k.refresh == nil && pause && k.err != nil:
		defer k.mu.Unlock()
		return k.answer(now, g.cfg.Stale)
	case k.refresh == nil:
		k.refresh, k.tried = make(chan struct{}), now
		done := k.refresh
		k.mu.Unlock()
		g.renew(ctx, event, k, now, done)
	default:
		done := k.refresh
		k.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return nil, driver.State{}, refused(ctx, context.Cause(ctx))
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.answer(time.Now(), g.cfg.Stale)
}

// answer is the known state, or the reason for its absence. The caller holds k.mu.
func (k *known) answer(now time.Time, stale time.Duration) (*known, driver.State, error) {
	switch {
	case !k.at.IsZero() && now.Sub(k.at) < stale:
		return k, k.state, nil
	case k.err != nil:
		return nil, driver.State{}, unavailable(k.err)
	}
	return nil, driver.State{}, unavailable(errOld)
}

// renew asks the store for all callers: it does not end when its caller leaves.
func (g *Gate) renew(ctx context.Context, event string, k *known, began time.Time, done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.cfg.Timeout)
	defer cancel()
	state, err := driver.State{}, errPanic
	defer func() {
		if err == nil {
			k.learn(state, began)
		}
		k.mu.Lock()
		k.err, k.refresh = err, nil
		k.mu.Unlock()
		close(done)
	}()
	state, err = g.store.State(ctx, event)
}
