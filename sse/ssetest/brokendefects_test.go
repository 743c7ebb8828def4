package ssetest_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/memsse"
	"github.com/millrace-go/millrace/sse/ssetest"
)

// wire is a correct Broker with one defect.
type wire struct {
	driver.Broker
	publish func(w *wire, ctx context.Context, m driver.Message) error
	listen  func(w *wire, ctx context.Context, l driver.Listener) error

	mu        sync.Mutex
	late      *driver.Message
	listeners []driver.Listener
}

func (w *wire) Publish(ctx context.Context, m driver.Message) error {
	if w.publish == nil {
		return w.Broker.Publish(ctx, m)
	}
	return w.publish(w, ctx, m)
}

func (w *wire) Listen(ctx context.Context, l driver.Listener) error {
	w.mu.Lock()
	w.listeners = append(w.listeners, l)
	w.mu.Unlock()
	if w.listen == nil {
		return w.Broker.Listen(ctx, l)
	}
	return w.listen(w, ctx, l)
}

// cut acts like a broker whose connections break.
func (w *wire) cut(down, up bool) func(context.Context) error {
	return func(context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, l := range w.listeners {
			if down {
				l.Down()
			}
			if up {
				l.Up()
			}
		}
		return nil
	}
}

func changed(change func(w *wire, m *driver.Message) (times int)) func(*wire, context.Context, driver.Message) error {
	return func(w *wire, ctx context.Context, m driver.Message) error {
		for range change(w, &m) {
			if err := w.Broker.Publish(ctx, m); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestEveryBrokerCaseCatchesADefect(t *testing.T) {
	type defect struct {
		name string
		by   []string
		wire *wire
		cut  [2]bool
	}
	by := func(names ...string) []string { return names }
	all := []defect{
		{name: "loses messages", by: by("everybody-hears-everything", "order-by-address", "listening-ends"), wire: &wire{publish: changed(func(*wire, *driver.Message) int { return 0 })}},
		{name: "sends twice", by: by("everybody-hears-everything"), wire: &wire{publish: changed(func(*wire, *driver.Message) int { return 2 })}},
		{name: "loses the id", by: by("everybody-hears-everything"), wire: &wire{publish: changed(func(_ *wire, m *driver.Message) int { m.ID = ""; return 1 })}},
		{name: "mixes kinds", by: by("everybody-hears-everything"), wire: &wire{publish: changed(func(_ *wire, m *driver.Message) int { m.Kind = driver.ToAll; return 1 })}},
		{name: "changes the order", by: by("order-by-address"), wire: &wire{publish: swaps}},
		{name: "cuts frames", by: by("large-and-binary-frames"), wire: &wire{publish: changed(func(_ *wire, m *driver.Message) int { m.Frame = m.Frame[:min(len(m.Frame), 1000)]; return 1 })}},
		{name: "ends frames at NUL", by: by("large-and-binary-frames"), wire: &wire{publish: changed(func(_ *wire, m *driver.Message) int {
			m.Frame = []byte(strings.SplitN(string(m.Frame), "\x00", 2)[0])
			return 1
		})}},
		{name: "needs a listener", by: by("nobody-listens"), wire: &wire{publish: func(w *wire, ctx context.Context, m driver.Message) error {
			if len(w.listeners) == 0 {
				return context.DeadlineExceeded
			}
			return w.Broker.Publish(ctx, m)
		}}},
		{name: "takes anything", by: by("messages-that-cannot-be"), wire: &wire{publish: func(*wire, context.Context, driver.Message) error { return nil }}},
		{name: "answers that the context ended", by: by("listening-ends", "everybody-hears-everything"), wire: &wire{listen: func(w *wire, ctx context.Context, l driver.Listener) error {
			if err := w.Broker.Listen(ctx, l); err != nil {
				return err
			}
			return ctx.Err()
		}}},
		{name: "does not tell a cut", by: by("a-cut-is-told"), cut: [2]bool{false, false}},
		{name: "is never up again", by: by("a-cut-is-told"), cut: [2]bool{true, false}},
	}
	var mutants []conformance.Mutant[ssetest.BrokerHarness]
	for _, d := range all {
		mutants = append(mutants, conformance.Mutant[ssetest.BrokerHarness]{Name: d.name, Cases: d.by, Hangs: true, Open: func(t *testing.T) ssetest.BrokerHarness {
			t.Helper()
			w := &wire{}
			if d.wire != nil {
				w.publish, w.listen = d.wire.publish, d.wire.listen
			}
			_, w.Broker = memsse.New()
			return ssetest.BrokerHarness{Broker: w, Cut: w.cut(d.cut[0], d.cut[1])}
		}})
	}
	suite := ssetest.BrokerSuite()
	suite.Limit = 300 * time.Millisecond // long enough to see that a message is missing
	suite.Mutants(t, mutants)
}

// swaps sends each second message before the first.
func swaps(w *wire, ctx context.Context, m driver.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.late == nil {
		w.late = &m
		return nil
	}
	late := *w.late
	w.late = nil
	if err := w.Broker.Publish(ctx, m); err != nil {
		return err
	}
	return w.Broker.Publish(ctx, late)
}

// The suite passes a broker whose connections break and come back.
func TestACorrectBrokerThatIsCut(t *testing.T) {
	ssetest.RunBroker(t, func(t *testing.T) ssetest.BrokerHarness {
		_, b := memsse.New()
		w := &wire{Broker: b}
		return ssetest.BrokerHarness{Broker: w, Cut: w.cut(true, true)}
	})
}
