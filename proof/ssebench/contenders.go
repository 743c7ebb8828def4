package ssebench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	r3labs "github.com/r3labs/sse/v2"
	tmaxmax "github.com/tmaxmax/go-sse"

	"github.com/millrace-go/millrace/proof/together"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/memsse"
)

const (
	bare     = "bare net/http"
	lean     = "millrace lean"
	portable = "millrace portable"
)

// contenders, in the order of the table.
var contenders = [...]struct {
	name string
	open func(ctx context.Context, ping time.Duration) (site, error)
}{
	{bare, func(context.Context, time.Duration) (site, error) { return &handler{}, nil }},
	{"tmaxmax/go-sse", func(context.Context, time.Duration) (site, error) { return &joe{}, nil }},
	{"r3labs/sse", func(context.Context, time.Duration) (site, error) { return newR3labs(), nil }},
	{portable, func(ctx context.Context, ping time.Duration) (site, error) { return openHub(ctx, ping, false) }},
	{lean, func(ctx context.Context, ping time.Duration) (site, error) { return openHub(ctx, ping, true) }},
}

// site serves streams.
type site interface {
	http.Handler
	// send sends an event to all streams, and returns when another can be sent.
	send(ctx context.Context, data []byte) error
	close() error
}

func open(ctx context.Context, name string, ping time.Duration) (site, error) {
	for _, c := range contenders {
		if c.name == name {
			return c.open(ctx, ping)
		}
	}
	if name == bareWrites {
		return &wire{}, nil
	}
	return nil, fmt.Errorf("there is no contender %q", name)
}

// hub is our contender.
type hub struct {
	*sse.Hub
	end func() error
}

func openHub(ctx context.Context, ping time.Duration, lean bool) (site, error) {
	places, broker := memsse.New()
	all, err := sse.New(places, broker, sse.Config{Lean: lean, Ping: ping, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	h := &hub{all, together.Background(ctx, all.Run)}
	if err := h.Ready(ctx); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The crowd waits in vain for a client without a stream.
	_ = h.Serve(w, r, sse.Stream{Member: r.URL.Query().Get("member")})
}

func (h *hub) send(ctx context.Context, data []byte) error {
	return h.ToAll(ctx, sse.Event{Data: data})
}

func (h *hub) close() error { return h.end() }

// handler is a handler written without a library.
type handler struct {
	mu    sync.Mutex
	conns map[chan []byte]struct{}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	events := make(chan []byte, 64)
	h.mu.Lock()
	if h.conns == nil {
		h.conns = map[chan []byte]struct{}{}
	}
	h.conns[events] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.conns, events)
		h.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flusher := http.NewResponseController(w)
	for err := flusher.Flush(); err == nil; err = flusher.Flush() {
		select {
		case frame := <-events:
			if _, err := w.Write(frame); err != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

func (h *handler) send(_ context.Context, data []byte) error {
	frame := append(append([]byte("data: "), data...), "\n\n"...)
	h.mu.Lock()
	defer h.mu.Unlock()
	for events := range h.conns {
		events <- frame
	}
	return nil
}

func (h *handler) close() error { return nil }

// joe is go-sse with its own provider, Joe.
type joe struct{ tmaxmax.Server }

func (j *joe) send(_ context.Context, data []byte) error {
	var m tmaxmax.Message
	m.AppendData(string(data))
	return j.Publish(&m)
}

func (j *joe) close() error { return j.Shutdown(context.Background()) }

// r3 is r3labs/sse without replay.
type r3 struct{ *r3labs.Server }

// stream is the stream that all subscribe to; r3labs finds it in the query.
const stream = "all"

func newR3labs() *r3 {
	s := r3labs.New()
	s.AutoReplay = false
	s.CreateStream(stream)
	return &r3{s}
}

func (r *r3) send(_ context.Context, data []byte) error {
	r.Publish(stream, &r3labs.Event{Data: data})
	return nil
}

func (r *r3) close() error { r.Close(); return nil }
