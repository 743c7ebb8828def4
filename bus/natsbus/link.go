package natsbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
	"github.com/millrace-go/millrace/fault"
)

// answerTimeout bounds how long a server has to answer one request. A stream elects a new
// leader in a few seconds; the request is then repeated.
const answerTimeout = 5 * time.Second

// fastBatches is the level of JetStream's API with batches in order: NATS 2.14.
const fastBatches = 4

var (
	errDisconnected = fault.MarkInfrastructure(errors.New("the connection broke before the answer came"))
	errNoAnswer     = fault.MarkInfrastructure(fmt.Errorf("no answer within %s", answerTimeout))
)

// link is the connection to NATS, once connect has made it. A request ends when its
// connection breaks, because its answer cannot arrive then.
type link struct {
	names
	conn    *nats.Conn
	js      jetstream.JetStream
	changes chan nats.Status

	mu       sync.Mutex
	unbroken context.Context // ends when the present connection breaks
	broke    context.CancelFunc
}

// connect connects, and checks that this package can use the server.
func (l *link) connect(ctx context.Context, servers string, options []nats.Option, logger *slog.Logger) (err error) {
	options = append(options[:len(options):len(options)],
		nats.Name("millrace"), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.PingInterval(5*time.Second),
		// A message that cannot be sent now fails now, or it would arrive after its caller
		// got an error.
		nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			logger.Warn("bus: the connection to NATS has trouble", slog.Any("error", err))
		}),
	)
	if l.conn, err = nats.Connect(servers, options...); err != nil {
		return fault.MarkInfrastructure(err)
	}
	l.changes = l.conn.StatusChanged(nats.RECONNECTING, nats.CONNECTED)
	l.unbroken, l.broke = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.js, err = jetstream.New(l.conn); err != nil {
		return err
	}
	var account *jetstream.AccountInfo
	err = l.do(ctx, func(ctx context.Context) error {
		account, err = l.js.AccountInfo(ctx)
		return err
	})
	if err == nil && account.API.Level < fastBatches {
		err = fault.MarkPermanent(fmt.Errorf("the server is NATS %s; 2.14 or later is needed", l.conn.ConnectedServerVersion()))
	}
	return err
}

// watch notes when the connection breaks, and wakes all readers when there is another one:
// wake-ups may have been missed.
func (l *link) watch(ctx context.Context, hub *logdriver.Hub) {
	for {
		select {
		case now := <-l.changes:
			if now == nats.CONNECTED {
				hub.Wake()
				hub.WakeGroups()
				continue
			}
			l.mu.Lock()
			l.broke()
			l.unbroken, l.broke = context.WithCancel(context.Background())
			l.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// do makes a request. It ends with ctx, with the connection, or after answerTimeout.
func (l *link) do(ctx context.Context, request func(ctx context.Context) error) error {
	bounded, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	bounded, broken := context.WithCancelCause(bounded)
	defer broken(nil)
	l.mu.Lock()
	unbroken := l.unbroken
	l.mu.Unlock()
	defer context.AfterFunc(unbroken, func() { broken(errDisconnected) })()
	err := request(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return context.Cause(bounded)
	}
	return err
}

// exchange sends requests and receives at most most answers in an inbox. It passes the
// answers on until one is the last.
func (l *link) exchange(ctx context.Context, most int, send func(inbox string) error, answer func(*nats.Msg) (last bool, err error)) error {
	return l.do(ctx, func(ctx context.Context) error {
		inbox, answers := l.conn.NewInbox(), make(chan *nats.Msg, most)
		sub, err := l.conn.ChanSubscribe(inbox+".>", answers)
		if err != nil {
			return err
		}
		defer sub.Unsubscribe() //nolint:errcheck // it fails where the connection has ended
		if err := send(inbox); err != nil {
			return err
		}
		for {
			select {
			case m := <-answers:
				if status(m) == "503" {
					return nats.ErrNoResponders
				}
				if last, err := answer(m); last || err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
}

func (l *link) close() {
	l.conn.Close()
	l.conn.RemoveStatusListener(l.changes)
	l.broke()
}
