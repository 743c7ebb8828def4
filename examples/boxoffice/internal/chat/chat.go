package chat

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/sse/driver"
)

//go:embed sql/chat.sql
var chatSQL string

// MaxText is the longest message, in characters.
const MaxText = 1000

var (
	// ErrNoRoom is returned for an id that names no room.
	ErrNoRoom = errors.New("chat: no such room")
	// ErrNotJoined is returned for a message of a member that has not joined the room.
	ErrNotJoined = errors.New("chat: the member has not joined the room")
	// ErrText is returned for a message that is empty, too long, or no text.
	ErrText = fmt.Errorf("chat: a message is 1 to %d characters of text", MaxText)
	// ErrClosed is returned when no sockets are accepted: the process begins or ends, or
	// has as many as it may.
	ErrClosed = errors.New("chat: no sockets are taken now")
)

// Shows has the rooms: one for each show. It fails for an unknown one.
type Shows interface {
	Exists(ctx context.Context, id string) error
}

// Message is a stored message; its JSON is what clients see, by a read and on a socket
// alike. Seq is its place in the room, from 1 without a gap.
type Message struct {
	ID       string    `json:"id"`
	Room     string    `json:"-"`
	Seq      int64     `json:"seq"`
	SenderID string    `json:"senderId"`
	Text     string    `json:"message"`
	SentAt   time.Time `json:"sentAt"`
}

// Config of a [Chat]. The zero value works.
type Config struct {
	// NoRoom is the error by which Shows reports an unknown room; every error of it when
	// nil.
	NoRoom error
	// Origins are the hosts whose pages may open a socket, beside the one that serves
	// it.
	Origins []string
	// Backlog is how many frames wait for a socket before it is cut; 256 when zero.
	Backlog int
	// Sockets is how many a process takes; 10,000 when zero.
	Sockets int
	// PerAddress is how many of them may have one [Visit.Address]; 1,000 when zero.
	PerAddress int
	// WriteTimeout bounds each write to a socket, and the wait for the answer to a ping;
	// 10 s when zero.
	WriteTimeout time.Duration
	// Ping is how often a client is pinged; 20 s when zero.
	Ping time.Duration
	// Lifetime is how long a socket lives, give or take a tenth; 30 min when zero.
	Lifetime time.Duration
	// Look is how often the rooms with open sockets are read without a bell; 2 s when
	// zero. It is how late messages are during an outage of the broker.
	Look time.Duration
	// Alerts is how many events wait for the live streams before further ones are
	// dropped; 1024 when zero.
	Alerts int
	// Delivered is called for each message that is written to a socket as it happens,
	// with how long ago it was sent; 0 where clocks disagree. It must return at once.
	// Nil by default.
	Delivered func(after time.Duration)
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) validate() error {
	if min(c.Backlog, c.Sockets, c.PerAddress, c.Alerts) < 0 || min(c.WriteTimeout, c.Ping, c.Lifetime, c.Look) < 0 {
		return errors.New("chat: a number or duration of Config is negative; use 0 for the default")
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.Backlog = cmp.Or(c.Backlog, 256)
	c.Sockets = cmp.Or(c.Sockets, 10_000)
	c.PerAddress = cmp.Or(c.PerAddress, 1000)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 10*time.Second)
	c.Ping = cmp.Or(c.Ping, 20*time.Second)
	c.Lifetime = cmp.Or(c.Lifetime, 30*time.Minute)
	c.Look = cmp.Or(c.Look, 2*time.Second)
	c.Alerts = cmp.Or(c.Alerts, 1024)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

type statements struct {
	AddRoom, AddMember, RemoveMember, IsMember, RoomsOf string
	Lock, Last, Stored, Next, Keep                      string
	After, Before, LeftOut, Place                       string
}

// Chat is the rooms, put together here of the parts that have its methods. It is safe
// for concurrent use.
type Chat struct {
	*Members
	*Posts
	*Messages
	*Replays
	*Workers
	*Sockets

	started atomic.Bool
	bells   *bells
	alerts  *alerts
	streams *streams
	counts  *counts
}

// New makes a Chat on an open store. The broker carries only the bells of the rooms
// between the processes.
func New(s *store.Store, shows Shows, outbox store.Appender, broker driver.Broker, cfg Config) (*Chat, error) {
	if s == nil || shows == nil || outbox == nil || broker == nil {
		return nil, errors.New("chat: the store, the shows, the outbox or the broker is nil; give all four")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	sql := &statements{}
	if err := s.Load(chatSQL, sql); err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	c := &Chat{counts: &counts{}}
	c.streams = &streams{counts: c.counts}
	c.alerts = newAlerts(c.streams, cfg.Alerts)
	open := newFeeds(cfg.Sockets, cfg.PerAddress)
	c.bells = newBells(broker, open, c.counts)
	c.Members = &Members{s, shows, cfg.NoRoom, sql, c.streams}
	c.Posts = &Posts{s, outbox, sql, c.Members, c.counts}
	c.Messages = &Messages{s, sql}
	c.Replays = &Replays{s, sql, c.Members, c.Messages}
	c.Workers = &Workers{s, sql, c.bells, c.alerts, c.streams, c.counts}
	c.Sockets = &Sockets{cfg, c.Messages, open, c.counts}
	return c, nil
}

// SetSender sets the live streams, which know the chat as well. It is called before
// anything else.
func (c *Chat) SetSender(s Sender) { c.streams.sender = s }
