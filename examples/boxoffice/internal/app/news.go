package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/memsse"
	"github.com/millrace-go/millrace/sse/redissse"
)

// news is everything that arrives at a member's open pages: the notices of the inbox and
// the messages of the chat, and the live streams that carry both. The inbox and the chat
// send to the streams and are read by them.
type news struct {
	inbox *inbox.Inbox
	chat  *chat.Chat
	live  *live.Live // nil in a process that neither serves streams nor sends to them
}

// newNews connects to nothing.
func newNews(b *base, shows *catalog.Catalog) (n *news, err error) {
	n = &news{}
	if n.inbox, err = inbox.New(b.store, inbox.Config{Holder: b.holder, Traces: b.tracing != nil, Logger: b.log}); err != nil {
		return nil, err
	}
	rooms, err := roomsBroker(b)
	if err != nil {
		return nil, err
	}
	if n.chat, err = chat.New(b.store, shows, b.outbox, rooms, chat.Config{
		NoRoom: catalog.ErrNoShow, PerAddress: b.cfg.Door.Streams, Logger: b.log,
		Delivered: func(after time.Duration) { n.live.RoomDelivered(after) }, // sockets are opened where streams are
	}); err != nil {
		return nil, err
	}
	if n.live, err = n.newLive(b); err != nil {
		return nil, err
	}
	if n.live != nil {
		n.inbox.SetSender(n.live.Hub())
		n.chat.SetSender(n.live.Hub())
	}
	return n, nil
}

// streamWriteTimeout is after how long a client that does not read is cut. The end of
// a process waits as long for such a client.
const streamWriteTimeout = 5 * time.Second

// newLive makes the live streams, which the role api serves and the role worker sends to.
func (n *news) newLive(b *base) (*live.Live, error) {
	if !b.cfg.Has(config.RoleAPI) && !b.cfg.Has(config.RoleWorker) {
		return nil, nil
	}
	shared, err := sharedStreams(b)
	if err != nil {
		return nil, err
	}
	return live.New(b.cfg.Secret, shared, live.Config{
		Replayers: n.replayers(),
		Rooms:     n.chat.Rooms,
		Muted:     n.inbox.Muted,
		Streams:   sse.Config{Lean: b.cfg.LeanStreams, PerAddress: b.cfg.Door.Streams, Timeout: redisTimeout, WriteTimeout: streamWriteTimeout, TracerProvider: b.tracing},
		Logger:    b.log,
	})
}

// replayers read the first events of a stream. The notices come last: a stream
// remembers the last 64 events it was sent, which must include the events that are
// replayed and live at once.
func (n *news) replayers() []live.Replayer { return []live.Replayer{n.chat, n.inbox} }

// sharedStreams is the state that processes share: in Redis, or in this process
// alone.
func sharedStreams(b *base) (live.Shared, error) {
	if b.cfg.RoomInMemory() {
		return live.Memory()
	}
	// A client of their own: opening a stream does not wait for other calls'
	// connections.
	client, err := b.redis()
	if err != nil {
		return live.Shared{}, err
	}
	return live.Redis(client, b.cfg.RedisPrefix)
}

// roomsBroker carries the notifications of the rooms. In memory they reach this
// process only; sockets of other processes then find new messages by polling.
func roomsBroker(b *base) (driver.Broker, error) {
	if b.cfg.RoomInMemory() {
		_, broker := memsse.New()
		return broker, nil
	}
	client, err := b.redis()
	if err != nil {
		return nil, err
	}
	_, broker, err := redissse.New(client, redissse.Config{Prefix: b.cfg.RedisPrefix + "chat:"})
	return broker, err
}

// operated adds the streams and the chat to the operator's reports.
func (n *news) operated(cfg *ops.Config, served bool) {
	if n.live == nil {
		return
	}
	cfg.Chat = n.chat.Stats
	if served {
		cfg.Streams = n.live.Hub().Stats
	}
}

// collectors are the metrics of the streams and the chat.
func (n *news) collectors() ([]prometheus.Collector, error) {
	if n.live == nil {
		return nil, nil
	}
	streams, err := n.live.Collectors()
	return append(streams, n.chat.Collector()), err
}
