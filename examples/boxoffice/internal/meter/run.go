package meter

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
)

// after is how long after the end of a second it is written: late enough for a
// call that is being counted just then.
const after = 20 * time.Millisecond

// Run writes each second when it is over, until ctx ends, and then once more. It
// ends within Config.Timeout of that.
func (m *Meter) Run(ctx context.Context) error {
	failing := false
	write := func(ctx context.Context) time.Duration {
		err := m.flush(ctx)
		if err != nil && !failing {
			m.cfg.Logger.Warn("meter: calls are counted but not written down", "error", err)
		}
		failing = err != nil
		return m.untilNext()
	}
	signal.Signal(nil).Repeat(ctx, write)
	write(ctx)
	return nil
}

func (m *Meter) untilNext() time.Duration {
	return time.Second - time.Duration(m.clock.now().Nanosecond()) + after
}

// flush writes the counts. Counts that cannot be written are dropped: keeping them
// would repeat a write that may have worked.
func (m *Meter) flush(ctx context.Context) error {
	counts := m.pending.take()
	if len(counts) == 0 && m.clock.known.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.Timeout)
	defer cancel()
	sent := m.clock.elapsed()
	now, err := m.store.Add(ctx, counts)
	if err != nil {
		for _, s := range counts {
			m.dropped.Add(s.High + s.Low)
		}
		return err
	}
	m.clock.learn(sent, now)
	return nil
}
