package chat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Sockets are the WebSockets of this process.
type Sockets struct {
	cfg      Config
	messages *Messages
	feeds    *feeds
	counts   *counts
}

// Check returns ErrUpgrade or ErrOrigin for a request that [Sockets.Serve] would refuse
// for any member.
func (o *Sockets) Check(r *http.Request) error {
	switch {
	case !isHandshake(r):
		return ErrUpgrade
	case !fromHere(r, o.cfg.Origins):
		return ErrOrigin
	}
	return nil
}

// Serve answers a WebSocket handshake and keeps the socket until it ends. After an
// error nothing was answered.
func (o *Sockets) Serve(w http.ResponseWriter, r *http.Request, v Visit) error {
	if err := o.Check(r); err != nil {
		return err
	}
	last, err := o.messages.Last(r.Context(), v.Room)
	if err != nil {
		return err
	}
	if v.After < 0 || v.After > last {
		v.After = last
	}
	s := newSocket(v.Room, v.Address, o.cfg.Backlog)
	if !o.feeds.enter(s) {
		return ErrClosed
	}
	defer o.feeds.leave(s)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{OriginPatterns: o.cfg.Origins})
	if err != nil {
		return nil //nolint:nilerr // Accept has answered
	}
	o.serve(context.WithoutCancel(r.Context()), conn, s, v)
	return nil
}

// serve has three goroutines: this one writes, one reads, one pings.
func (o *Sockets) serve(ctx context.Context, conn *websocket.Conn, s *socket, v Visit) {
	ctx, cancel := context.WithCancel(ctx)
	conn.SetReadLimit(maxFrame)
	var parts sync.WaitGroup
	parts.Go(func() { o.hear(ctx, conn, s, v) })
	parts.Go(func() { o.ping(ctx, conn, s) })
	at := o.write(ctx, conn, s, v.After)
	o.feeds.unfollow(s)
	if bye, ok := goodbyes[s.why]; ok {
		_ = conn.Close(bye.code, fmt.Sprintf("%s; after=%d", bye.text, at)) // the client may be gone
	}
	cancel()
	_ = conn.CloseNow() // closed already, but after gone
	parts.Wait()
}

// write sends the client the stored messages and then the new ones. It returns the
// place up to which the client was sent everything, once the socket has ended.
func (o *Sockets) write(ctx context.Context, conn *websocket.Conn, s *socket, at int64) int64 {
	life := time.NewTimer(o.lifetime())
	defer life.Stop()
	at, ok := o.catchUp(ctx, conn, s, at)
	for ok {
		select {
		case <-s.ended: // before waiting frames
			return at
		default:
		}
		select {
		case <-s.ended:
		case <-life.C:
			s.cut(aged)
		case f := <-s.backlog:
			if ok = o.put(ctx, conn, s, f); ok && f.seq > 0 {
				at = f.seq
			}
		}
	}
	<-s.ended
	return at
}

// catchUp writes the stored messages, until the feed of the room has the rest.
func (o *Sockets) catchUp(ctx context.Context, conn *websocket.Conn, s *socket, at int64) (int64, bool) {
	for {
		messages, err := o.readFor(ctx, s, at)
		if err != nil {
			s.cut(broken)
			return at, false
		}
		for _, m := range messages {
			select {
			case <-s.ended:
				return at, false
			default:
			}
			if !o.put(ctx, conn, s, frameOf(m)) {
				return at, false
			}
			at = m.Seq
		}
		if len(messages) < page && o.feeds.follow(s, at) {
			return at, o.put(ctx, conn, s, readyFrame(at))
		}
	}
}

func (o *Sockets) readFor(ctx context.Context, s *socket, at int64) ([]Message, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return o.messages.After(ctx, s.room, at, page)
}

// put writes one frame. A write that takes too long closes the connection.
func (o *Sockets) put(ctx context.Context, conn *websocket.Conn, s *socket, f frame) bool {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.WriteTimeout)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageText, f.body); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			o.counts.slow.Add(1)
		}
		s.cut(gone)
		return false
	}
	if o.cfg.Delivered != nil && !f.at.IsZero() {
		o.cfg.Delivered(max(0, time.Since(f.at)))
	}
	return true
}

// hear reads the client's frames until it has left.
func (o *Sockets) hear(ctx context.Context, conn *websocket.Conn, s *socket, v Visit) {
	for {
		kind, body, err := conn.Read(ctx)
		switch {
		case err != nil:
			s.cut(gone)
			return
		case kind != websocket.MessageText:
			s.cut(binary)
			return
		}
		s.answer(v.Post(ctx, body))
	}
}

// ping checks that the client is alive. Only ping waits for the answer.
func (o *Sockets) ping(ctx context.Context, conn *websocket.Conn, s *socket) {
	tick := time.NewTicker(o.cfg.Ping)
	defer tick.Stop()
	for {
		select {
		case <-s.ended:
			return
		case <-tick.C:
		}
		asked, cancel := context.WithTimeout(ctx, o.cfg.WriteTimeout)
		err := conn.Ping(asked)
		cancel()
		if err != nil {
			s.cut(gone)
			return
		}
	}
}

// lifetime is a tenth more or less for each, so that sockets that were opened
// together do not end together.
func (o *Sockets) lifetime() time.Duration {
	return time.Duration(float64(o.cfg.Lifetime) * (.9 + .2*rand.Float64())) //nolint:gosec // not a secret
}
