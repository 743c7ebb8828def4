package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/admissions"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/queue/queuenotice"
)

// noticeTopic is where other programs read the admissions of the waiting room.
const noticeTopic = "queue.admitted"

// errNoTransport drops a notice.
var errNoTransport = errors.New("app: the transport of the notices is not open yet")

// noticeTransport publishes notices on a transport of their own. Admissions do not
// wait for it: during its outage, at the start too, notices are dropped and people
// are let in all the same.
type noticeTransport struct {
	schemes []bus.Scheme
	url     string
	reader  *bus.RunnerConfig // nil in a process that does not keep admissions
	log     *slog.Logger
	rows    *admissions.Log
	bus     atomic.Pointer[bus.Bus]
}

// admitted is the operator's list of admissions, and the transport that brings them.
type admitted struct {
	rows      *admissions.Log
	transport *noticeTransport // nil when admissions are not published
}

func newAdmitted(b *base) (*admitted, error) {
	rows, err := admissions.New(b.store, admissions.Config{Holder: b.holder, Logger: b.log})
	if err != nil || b.cfg.NoticeURL == "" {
		return &admitted{rows: rows}, err
	}
	linked := append(schemes(nil, "", b.log), sqsbus.Scheme(sqsbus.Config{Logger: b.log}))
	n := &noticeTransport{schemes: linked, url: b.cfg.NoticeURL, log: b.log, rows: rows}
	if b.cfg.Has(config.RoleWorker) {
		n.reader = &bus.RunnerConfig{DrainTimeout: b.opt.Drain, Logger: b.log, WorkerID: b.holder, TracerProvider: b.tracing}
	}
	return &admitted{rows, n}, nil
}

// newNotices makes the notices of the people that this process lets in: as its
// admitter, or at once by a request. It is nil where notices are off.
func (w *waiting) newNotices(b *base, to *admitted) (*queuenotice.Notices, error) {
	if to.transport == nil || !b.cfg.Has(config.RoleAPI) && !b.cfg.Has(config.RoleAdmitter) {
		return nil, nil
	}
	return queuenotice.New(to.transport, queuenotice.Config{Topic: noticeTopic, Token: w.issue, Logger: b.log})
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

// Run opens the transport, with retries, and closes it when ctx ends.
func (n *noticeTransport) Run(ctx context.Context) error {
	pause := kit.Backoff{Max: 30 * time.Second, Jitter: .2}
	for attempt := 1; ; attempt++ {
		opened, err := n.serve(ctx)
		if ctx.Err() != nil {
			if opened {
				return err
			}
			return nil // it was away, and that was said
		}
		if opened {
			attempt = 1
		}
		n.log.WarnContext(ctx, "BOXOFFICE_NOTICE_URL (--notice-url): the transport can't be used, notices are dropped; it is tried again", "error", err)
		if kit.Sleep(ctx, pause.Delay(attempt)) != nil {
			return nil
		}
	}
}

// serve opens the transport, and consumes it if that is this process's role, until
// ctx ends or something fails.
func (n *noticeTransport) serve(ctx context.Context) (opened bool, err error) {
	b, err := bus.Open(ctx, n.url, n.schemes...)
	if err != nil {
		return false, err
	}
	defer func() {
		n.bus.CompareAndSwap(b, nil)
		err = errors.Join(err, b.Close())
	}()
	topic := bus.Topic{Name: noticeTopic, Partitions: partitions}
	shared := b.Capabilities().ConsumerGroups
	if shared {
		topic.Groups = []string{admissions.Group}
	}
	if err := b.Declare(ctx, topic); err != nil {
		return false, err
	}
	n.bus.Store(b)
	if n.reader == nil {
		<-ctx.Done()
		return true, nil
	}
	if !shared {
		n.log.InfoContext(ctx, "BOXOFFICE_NOTICE_URL (--notice-url): on this transport each notice has one reader, so the box office leaves them to your program; the operator's list of admissions stays empty", "transport", b.Name())
		<-ctx.Done()
		return true, nil
	}
	runner, err := bus.NewRunner(b, *n.reader)
	if err == nil {
		err = runner.Add(n.rows.Consumer(noticeTopic))
	}
	if err != nil {
		return true, err
	}
	if err := runner.Run(ctx); err != nil {
		return true, fmt.Errorf("read the notices: %w", err)
	}
	return true, nil
}

// Newest implements api.Admissions.
func (d *admitted) Newest(ctx context.Context, limit int) ([]admissions.Admission, error) {
	return d.rows.Newest(ctx, limit)
}

// State implements api.Admissions.
func (d *admitted) State() api.AdmissionState {
	if d.transport == nil {
		return api.AdmissionsOff
	}
	b := d.transport.bus.Load()
	switch {
	case b == nil:
		return api.AdmissionsAway
	case !b.Capabilities().ConsumerGroups:
		return api.AdmissionsElsewhere
	}
	return api.AdmissionsOn
}
