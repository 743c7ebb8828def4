package app

import (
	"context"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
)

// streams are the open live streams. They begin before the HTTP server, so that the
// first request finds them. They end before it, since the server waits for its
// requests, and a stream never ends by itself.
type streams struct {
	live    *live.Live
	drain   chan context.CancelFunc // of the streams that Run serves
	drained chan struct{}
}

func newStreams(l *live.Live) *streams {
	return &streams{live: l, drain: make(chan context.CancelFunc, 1), drained: make(chan struct{})}
}

// Run serves the streams, until Drain or ctx ends them.
func (s *streams) Run(ctx context.Context) error {
	open, drain := context.WithCancel(ctx)
	defer drain()
	s.drain <- drain
	err := s.live.Run(open)
	close(s.drained)
	if err == nil {
		<-ctx.Done()
	}
	return err
}

// Drain is a part that at its end closes the streams of all tabs, and waits for them.
// Started after the HTTP server, it ends before it.
func (s *streams) Drain(ctx context.Context) error {
	<-ctx.Done()
	(<-s.drain)()
	<-s.drained
	return nil
}
