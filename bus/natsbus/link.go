package natsbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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

// logAgain is how long an error of the connection that repeats itself is not logged again: a
// refused sign-in does so with each attempt to connect.
const logAgain = 30 * time.Second

// fastBatches is the level of JetStream's API with batches in order: NATS 2.14.
const fastBatches = 4

var (
	errDisconnected = errors.New("the connection broke before the answer came")
	errNoAnswer     = fmt.Errorf("no answer within %s", answerTimeout)
)

// link is the connection to NATS, once connect has made it. A request ends when its
// connection breaks, because its answer cannot arrive then.
type link struct {
	names
	client  nats.Options
	conn    *nats.Conn
	js      jetstream.JetStream
	changes chan nats.Status

	mu       sync.Mutex
	unbroken context.Context // ends when the present connection breaks
	broke    context.CancelFunc
}

// connect connects, and checks that this package can use the server.
func (l *link) connect(ctx context.Context, logger *slog.Logger) (err error) {
	o := l.client
	o.Name, o.MaxReconnect, o.ReconnectWait, o.PingInterval = "millrace", -1, 100*time.Millisecond, 5*time.Second
	o.ReconnectJitter, o.ReconnectJitterTLS = 100*time.Millisecond, 100*time.Millisecond
	// A message that cannot be sent now fails now, or it would arrive after its caller got an
	// error.
	o.ReconnectBufSize = -1
	// Otherwise the client closes the connection for good when its sign-in is refused twice.
	o.IgnoreAuthErrorAbort = true
	var last string // of the errors, which come one after the other
	var logged time.Time
	o.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if now := err.Error(); now != last || time.Since(logged) > logAgain {
			last, logged = now, time.Now()
			logger.Warn("bus: the connection to NATS has trouble", slog.Any("error", err))
		}
	}
	if l.conn, err = o.Connect(); err != nil {
		return fault.MarkInfrastructure(err)
	}
	l.changes = l.conn.StatusChanged(nats.RECONNECTING, nats.CONNECTED)
	l.unbroken, l.broke = context.WithCancel(context.Background())
	if l.js, err = jetstream.New(l.conn); err != nil {
		return err
	}
	return l.do(ctx, func(ctx context.Context) error {
		account, err := l.js.AccountInfo(ctx)
		if err == nil && account.API.Level < fastBatches {
			err = fault.MarkPermanent(fmt.Errorf("the server is NATS %s; 2.14 or later is needed", l.conn.ConnectedServerVersion()))
		}
		return err
	})
}

// watch passes on that a member of another process came or left. It notes when the connection
// breaks, and wakes all readers when there is another one: wake-ups may have been missed.
func (l *link) watch(ctx context.Context, hub *logdriver.Hub) {
	l.conn.Subscribe(l.groups(), func(*nats.Msg) { hub.WakeGroups() }) //nolint:errcheck // it fails after Close
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
		err = context.Cause(bounded)
	}
	return classed(err)
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

// close ends the connection, if there is one.
func (l *link) close() error {
	if l.conn != nil {
		l.conn.Close()
		l.conn.RemoveStatusListener(l.changes)
		l.broke()
	}
	return nil
}

// JetStream's codes that the client has no name for.
const (
	messageTooLarge jetstream.ErrorCode = 10054 // beyond the stream's own limit
	tooFewServers   jetstream.ErrorCode = 10005 // for the replicas of a stream
	noCluster       jetstream.ErrorCode = 10074 // and more than one replica
)

// classed gives the error of a request its class. Absent servers and leaders may come back, and
// a lost stream is created again.
func classed(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case isAPI(err, tooFewServers):
		err = fmt.Errorf("%w; start the cluster's servers that are absent, or ask for fewer replicas", err)
	case isAPI(err, noCluster):
		return fault.MarkPermanent(fmt.Errorf("%w; ask for one replica, or make the server part of a cluster", err))
	case errors.Is(err, nats.ErrMaxPayload), isAPI(err, messageTooLarge):
		return fault.MarkPermanent(err)
	case isBadRequest(err):
		return err // what it means depends on the request
	}
	return fault.Mark(err, func(error) fault.Class { return fault.Infrastructure }) // unless it has a class
}

// isAPI reports whether JetStream refused a request for one of the reasons.
func isAPI(err error, codes ...jetstream.ErrorCode) bool {
	var answer *jetstream.APIError
	return errors.As(err, &answer) && slices.Contains(codes, answer.ErrorCode)
}

func isBadRequest(err error) bool {
	var answer *jetstream.APIError
	return errors.As(err, &answer) && answer.Code == 400
}

// isGone reports whether the stream that was written to does not exist.
func isGone(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound)
}
