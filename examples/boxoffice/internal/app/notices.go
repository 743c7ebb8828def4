package app

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/internal/backoff"
)

// noticeTopic is where other programs read whom the waiting room has let in.
const noticeTopic = "queue.admitted"

// errNoTransport drops a notice.
var errNoTransport = errors.New("app: the transport of the notices is not open yet")

// noticeTransport publishes notices on a transport of their own. Nobody waits for
// it: while it is away, at the start too, notices are dropped and people are let
// in all the same.
type noticeTransport struct {
	opener *bus.Opener
	url    string
	log    *slog.Logger
	bus    atomic.Pointer[bus.Bus]
}

func (a *App) newNoticeTransport() *noticeTransport {
	schemes := append(transportSchemes(transport{log: a.log}), sqsbus.Scheme(sqsbus.Config{Logger: a.log}))
	return &noticeTransport{opener: bus.NewOpener(schemes...), url: a.cfg.NoticeURL, log: a.log}
}

// Publish implements message.Publisher.
func (n *noticeTransport) Publish(topic string, messages ...*message.Message) error {
	b := n.bus.Load()
	if b == nil {
		return errNoTransport
	}
	return b.Publisher().Publish(topic, messages...)
}

// Close implements message.Publisher.
func (n *noticeTransport) Close() error { return nil }

// Run opens the transport, as often as it takes, and closes it when ctx ends.
func (n *noticeTransport) Run(ctx context.Context) error {
	pause := backoff.Policy{Max: 30 * time.Second, Jitter: .2}
	for attempt := 1; ; attempt++ {
		err := n.open(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil
		}
		n.log.WarnContext(ctx, "BOXOFFICE_NOTICE_URL (--notice-url): the transport can't be opened, notices are dropped; it is tried again", "error", err)
		if backoff.Sleep(ctx, pause.Delay(attempt)) != nil {
			return nil
		}
	}
	<-ctx.Done()
	return n.bus.Swap(nil).Close()
}

func (n *noticeTransport) open(ctx context.Context) error {
	b, err := n.opener.Open(ctx, n.url)
	if err != nil {
		return err
	}
	if err := b.Declare(ctx, bus.Topic{Name: noticeTopic, Partitions: partitions}); err != nil {
		return errors.Join(err, b.Close())
	}
	n.bus.Store(b)
	return nil
}
