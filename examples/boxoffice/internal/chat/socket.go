package chat

import (
	"context"
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

// goodbyes are the close codes of [Sockets.Serve] and their texts.
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
