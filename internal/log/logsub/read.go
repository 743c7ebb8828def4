package logsub

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/log"
)

// nackDelay is how long a nacked message waits for its next delivery. The consumer implements
// retries with longer pauses, without a nack.
var nackDelay = backoff.Policy{Initial: 5 * time.Millisecond, Max: 100 * time.Millisecond}

// read reads messages ahead until the intake stops.
func (l *lane) read(ctx context.Context) {
	wake, cancel := l.sub.hub.wakes.lane(l.lease.Lane).Subscribe()
	defer cancel()
	at := l.lease.Position
	failures, counted := 0, false
	var ahead []log.Entry
	for ctx.Err() == nil {
		if len(ahead) > 0 {
			n := l.admit(len(ahead))
			if n == 0 {
				l.wait(ctx, nil, 0)
				continue
			}
			l.prepare(ahead[:n])
			ahead = ahead[n:]
			continue
		}
		entries, position, err := l.sub.hub.b.Log.Read(ctx, l.lease.Lane, at, l.batch())
		if err == nil && len(entries) > 0 && !counted {
			err = l.count(ctx)
			counted = err == nil
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, log.ErrLeaseLost):
			// Entries in memory are invalid on this server.
			l.committer.remove(l)
			l.lose()
		case err != nil:
			failures++
			l.sub.log.Warn("bus: reading failed; trying again", slog.Int("attempt", failures), slog.Any("error", err))
			l.wait(ctx, nil, retry.Delay(failures))
		default:
			failures, ahead, at = 0, entries, position
			if len(entries) == 0 {
				l.wait(ctx, wake, l.sub.hub.cfg.PollInterval)
			}
		}
	}
}

// admit reserves room in the window for up to most messages, and returns the number. After 0 the
// lane is kicked when it may try again.
func (l *lane) admit(most int) int {
	l.mu.Lock()
	room := l.room()
	l.mu.Unlock()
	if room <= 0 {
		return 0
	}
	return l.sub.window.Take(l, min(most, room))
}

// prepare makes deliveries of entries.
func (l *lane) prepare(entries []log.Entry) {
	made := make([]*delivery, len(entries))
	for i, e := range entries {
		m, err := decode(e, l.sub.hub.b.headers())
		if err != nil {
			l.sub.log.Error("bus: a message is delivered without its metadata", slog.String("id", m.ID), slog.Any("error", err))
		}
		made[i] = &delivery{lane: l, message: m, place: place{e.Position, e.ID}}
	}
	l.mu.Lock()
	l.ready = append(l.ready, made...)
	l.mu.Unlock()
	l.sub.ready.Send()
}

func (l *lane) batch() int { return min(max(l.sub.window.Size(), minReadBatch), maxReadBatch) }

// wait returns when the lane is kicked or woken, after d when it is not 0, or when the intake
// stops.
func (l *lane) wait(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	var after <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-wake:
	case <-l.kicked:
	case <-after:
	case <-ctx.Done():
	}
}
