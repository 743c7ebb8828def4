package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
	"github.com/millrace-go/millrace/sse"
)

// streamWriteTimeout is after how long a client that does not read is cut. The end of
// a process waits as long for such a client.
const streamWriteTimeout = 5 * time.Second

// buildLive makes the live streams, which the role api serves and the others send
// to. It connects to nothing.
func (a *App) buildLive(opened *closers) error {
	if !a.cfg.Has(config.RoleAPI) && !a.cfg.Has(config.RoleWorker) {
		return nil
	}
	shared, err := a.sharedStreams(opened)
	if err != nil {
		return err
	}
	a.live, err = live.New(a.cfg.Secret, shared, live.Config{
		Replayers: a.replayers(),
		Rooms:     func(ctx context.Context, member string) ([]string, error) { return a.chat.Rooms(ctx, member) },
		Muted:     func(ctx context.Context, member string) (bool, error) { return a.inbox.Muted(ctx, member) },
		Streams:   sse.Config{Lean: a.cfg.LeanStreams, PerAddress: a.cfg.Door.Streams, Timeout: redisTimeout, WriteTimeout: streamWriteTimeout, TracerProvider: a.tracing},
		Logger:    a.log,
	})
	return err
}

// replayers read the first events of a stream. The notices come last: a stream
// remembers the last 64 events it was sent, which must include the events that are
// replayed and live at once.
func (a *App) replayers() []live.Replayer { return []live.Replayer{messages{a}, notices{a}} }

// notices and messages are the first events of a stream. The inbox and the chat send
// to the streams and are read by them: all three exist when a stream opens, in any
// order of creation.
type (
	notices  struct{ app *App }
	messages struct{ app *App }
)

// Replay implements [live.Replayer].
func (n notices) Replay(ctx context.Context, member string, since sse.Cursors) (sse.Missed, error) {
	return n.app.inbox.Replay(ctx, member, since)
}

// Replay implements [live.Replayer].
func (m messages) Replay(ctx context.Context, member string, since sse.Cursors) (sse.Missed, error) {
	return m.app.chat.Replay(ctx, member, since)
}

// sharedStreams is the state that processes share: in Redis, or in this process
// alone.
func (a *App) sharedStreams(opened *closers) (live.Shared, error) {
	if a.cfg.RoomInMemory() {
		return live.Memory()
	}
	// A client of their own: opening a stream does not wait for other calls'
	// connections.
	client, err := a.openRedis(opened)
	if err != nil {
		return live.Shared{}, err
	}
	return live.Redis(client, a.cfg.RedisPrefix)
}

// streams are the parts that serve live streams. They begin before the HTTP server,
// so that the first request finds them. They end before it, since the server waits
// for its requests, and a stream never ends by itself.
type streams struct {
	drain   context.CancelFunc
	drained chan struct{}
}

// startLive starts the streams where they are served.
func (a *App) startLive(run *stages) {
	if a.live == nil || !a.cfg.Has(config.RoleAPI) {
		return
	}
	open, drain := context.WithCancel(context.Background())
	a.streams = &streams{drain: drain, drained: make(chan struct{})}
	run.start("streams", func(ctx context.Context) error {
		defer context.AfterFunc(ctx, drain)()
		err := a.live.Run(open)
		close(a.streams.drained)
		if err == nil {
			<-ctx.Done()
		}
		return err
	})
}

// startDrain is a part that at its end closes the streams of all tabs, and waits for
// them. Started after the HTTP server, it ends before it.
func (a *App) startDrain(run *stages) {
	if a.streams == nil {
		return
	}
	run.start("open streams", func(ctx context.Context) error {
		<-ctx.Done()
		a.streams.drain()
		<-a.streams.drained
		return nil
	})
}

// liveCollectors are the metrics of the streams.
func (a *App) liveCollectors() ([]prometheus.Collector, error) {
	if a.live == nil {
		return nil, nil
	}
	return a.live.Collectors()
}

// liveStats are the figures for an operator; nil where no streams are served.
func (a *App) liveStats() func() sse.Stats {
	if a.live == nil || !a.cfg.Has(config.RoleAPI) {
		return nil
	}
	return a.live.Hub().Stats
}
