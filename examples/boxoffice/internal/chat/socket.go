package chat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	// maxFrame is the longest frame of a client: a message whose every character is
	// written as two escapes, with its envelope.
	maxFrame = 16 << 10
	// goodbye is how long the close handshake may take.
	goodbye = 12 * time.Second
)

// ErrOrigin is returned for a socket that another site's page opens, and ErrUpgrade
// for a request that asks for none.
var (
	ErrOrigin  = errors.New("chat: the page is from another site")
	ErrUpgrade = errors.New("chat: not a WebSocket handshake")
)

// why a socket ends.
type why int

const (
	gone    why = iota + 1 // the client left, or does not answer
	slow                   // it does not read
	leaving                // the process ends
	aged                   // it lived long enough
	binary                 // it speaks another language
	broken                 // the room cannot be read
)

// goodbyes are the close codes of [Chat.Serve] and their texts.
var goodbyes = map[why]struct {
	code websocket.StatusCode
	text string
}{
	slow:    {websocket.StatusTryAgainLater, "too slow"},
	leaving: {websocket.StatusServiceRestart, "the server ends"},
	aged:    {websocket.StatusServiceRestart, "open for long enough"},
	binary:  {websocket.StatusUnsupportedData, "send text frames"},
	broken:  {websocket.StatusInternalError, "the room cannot be read"},
}

// Visit is a member that opens a socket of a room.
type Visit struct {
	Room, Member string
	// Address is the address that Config.PerAddress counts; "" is not counted.
	Address string
	// After is the place up to which the client has all messages; negative for new ones
	// only.
	After int64
	// Post is given each text frame of the client and returns the answer to it. It is
	// called for one frame after the other.
	Post func(ctx context.Context, frame []byte) (answer []byte)
}

// socket is an open WebSocket.
type socket struct {
	room    string
	address string
	at      int64 // the last message in its backlog; feeds.mu
	backlog chan frame

	once  sync.Once
	ended chan struct{}
	why   why // valid once ended is closed
}

func newSocket(room, address string, backlog int) *socket {
	return &socket{room: room, address: address, backlog: make(chan frame, backlog), ended: make(chan struct{})}
}

func (s *socket) cut(w why) {
	s.once.Do(func() {
		s.why = w
		close(s.ended)
	})
}

// give puts the messages that the socket has not had yet into its backlog, or reports
// false when they do not fit.
func (s *socket) give(frames []frame) bool {
	for _, f := range frames {
		if f.seq <= s.at {
			continue
		}
		select {
		case s.backlog <- f:
			s.at = f.seq
		default:
			return false
		}
	}
	return true
}

// answer puts the answer to a post into the backlog; the poster can wait.
func (s *socket) answer(b []byte) {
	select {
	case s.backlog <- frame{body: b}:
	case <-s.ended:
	}
}

// Check returns ErrUpgrade or ErrOrigin for a request that [Chat.Serve] would refuse
// for any member.
func (c *Chat) Check(r *http.Request) error {
	switch {
	case !isHandshake(r):
		return ErrUpgrade
	case !c.fromHere(r):
		return ErrOrigin
	}
	return nil
}

// Serve answers a WebSocket handshake and keeps the socket until it ends. After an
// error nothing was answered.
func (c *Chat) Serve(w http.ResponseWriter, r *http.Request, v Visit) error {
	if err := c.Check(r); err != nil {
		return err
	}
	last, err := c.Last(r.Context(), v.Room)
	if err != nil {
		return err
	}
	if v.After < 0 || v.After > last {
		v.After = last
	}
	s := newSocket(v.Room, v.Address, c.cfg.Backlog)
	if !c.feeds.enter(s) {
		return ErrClosed
	}
	defer c.feeds.leave(s)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{OriginPatterns: c.cfg.Origins})
	if err != nil {
		return nil //nolint:nilerr // Accept has answered
	}
	c.serve(context.WithoutCancel(r.Context()), conn, s, v)
	return nil
}

// serve has three goroutines: this one writes, one reads, one pings.
func (c *Chat) serve(ctx context.Context, conn *websocket.Conn, s *socket, v Visit) {
	ctx, cancel := context.WithCancel(ctx)
	conn.SetReadLimit(maxFrame)
	var parts sync.WaitGroup
	parts.Go(func() { c.hear(ctx, conn, s, v) })
	parts.Go(func() { c.ping(ctx, conn, s) })
	at := c.write(ctx, conn, s, v.After)
	c.feeds.unfollow(s)
	if bye, ok := goodbyes[s.why]; ok {
		_ = conn.Close(bye.code, fmt.Sprintf("%s; after=%d", bye.text, at)) // the client may be gone
	}
	cancel()
	_ = conn.CloseNow() // closed already, but after gone
	parts.Wait()
}

// write sends the client the stored messages and then the new ones. It returns the
// place up to which the client was sent everything, once the socket has ended.
func (c *Chat) write(ctx context.Context, conn *websocket.Conn, s *socket, at int64) int64 {
	life := time.NewTimer(c.lifetime())
	defer life.Stop()
	at, ok := c.catchUp(ctx, conn, s, at)
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
			if ok = c.put(ctx, conn, s, f); ok && f.seq > 0 {
				at = f.seq
			}
		}
	}
	<-s.ended
	return at
}

// catchUp writes the stored messages, until the feed of the room has the rest.
func (c *Chat) catchUp(ctx context.Context, conn *websocket.Conn, s *socket, at int64) (int64, bool) {
	for {
		messages, err := c.readFor(ctx, s, at)
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
			if !c.put(ctx, conn, s, frameOf(m)) {
				return at, false
			}
			at = m.Seq
		}
		if len(messages) < page && c.feeds.follow(s, at) {
			return at, c.put(ctx, conn, s, readyFrame(at))
		}
	}
}

func (c *Chat) readFor(ctx context.Context, s *socket, at int64) ([]Message, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return c.After(ctx, s.room, at, page)
}

// put writes one frame. A write that takes too long closes the connection.
func (c *Chat) put(ctx context.Context, conn *websocket.Conn, s *socket, f frame) bool {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.WriteTimeout)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageText, f.body); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			c.counts.slow.Add(1)
		}
		s.cut(gone)
		return false
	}
	if c.cfg.Delivered != nil && !f.at.IsZero() {
		c.cfg.Delivered(max(0, time.Since(f.at)))
	}
	return true
}

// hear reads the client's frames until it has left.
func (c *Chat) hear(ctx context.Context, conn *websocket.Conn, s *socket, v Visit) {
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
func (c *Chat) ping(ctx context.Context, conn *websocket.Conn, s *socket) {
	tick := time.NewTicker(c.cfg.Ping)
	defer tick.Stop()
	for {
		select {
		case <-s.ended:
			return
		case <-tick.C:
		}
		asked, cancel := context.WithTimeout(ctx, c.cfg.WriteTimeout)
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
func (c *Chat) lifetime() time.Duration {
	return time.Duration(float64(c.cfg.Lifetime) * (.9 + .2*rand.Float64())) //nolint:gosec // not a secret
}

func isHandshake(r *http.Request) bool {
	return r.Method == http.MethodGet && holds(r.Header, "Connection", "upgrade") && holds(r.Header, "Upgrade", "websocket") &&
		r.Header.Get("Sec-WebSocket-Key") != ""
}

func holds(h http.Header, name, token string) bool {
	for _, line := range h.Values(name) {
		for t := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// fromHere reports whether the page is from this site, or from one of the others
// that may. Programs send no origin.
func (c *Chat) fromHere(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || slices.ContainsFunc(c.cfg.Origins, func(o string) bool { return strings.EqualFold(o, u.Host) })
}
