package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

// TestLogsByDefault sets no Logger in any configuration.
func TestLogsByDefault(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	log := newLines()
	slog.SetDefault(log.logger())
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a")
		b.refuse(errRefused, is("a1"))
		stop := b.start(outbox.RelayConfig{})
		m, err := outbox.NewMonitor(unknowing{}, outbox.MonitorConfig{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.NoError(t, m.Run(ctx))
		stop()
		store := deafStore{b.store}
		box, err := outbox.New(store, outbox.Config{Topic: "t"})
		require.NoError(t, err)
		box.Wake()
		assert.NoError(t, box.Close(t.Context()))
	})
	for _, text := range []string{"nothing gets through", "the backlog is unknown", "waking other processes failed"} {
		if n := len(log.with(text)); n == 0 {
			t.Errorf("no line tells that %s: %v", text, log.all())
		}
	}
}

type unknowing struct{}

func (unknowing) Stats(context.Context) ([]driver.ShardStats, error) { return nil, errRefused }

// deafStore is a store whose notifications fail.
type deafStore struct{ *outboxtest.Memory }

func (deafStore) Notify(context.Context) error                 { return errRefused }
func (deafStore) NotifyIn(context.Context, sqltx.Execer) error { return errRefused }

// TestLastingTroubleIsToldRarely: a failure that lasts for hours is logged at once, and then
// less and less often.
func TestLastingTroubleIsToldRarely(t *testing.T) {
	for _, c := range []struct {
		name, first, end string
		err              error // of the publisher
		store            bool
	}{
		{"everything is refused", "nothing gets through", "get through again", errRefused, false},
		{"the broker is away", "publisher is unreachable", "get through again", fault.MarkInfrastructure(errRefused), false},
		{"the database is away", "store fails", "store answers again", nil, true},
	} {
		for _, o := range []outbox.Ordering{outbox.Strict, outbox.ByKey} {
			t.Run(fmt.Sprint(o, " ", c.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 1)
					log := newLines()
					var away atomic.Bool
					away.Store(true)
					b.pub.Fail = func(string, event.Event) error {
						if away.Load() {
							return c.err
						}
						return nil
					}
					b.store.Intercept = func(op string) error {
						if c.store && away.Load() && (op == "read" || op == "settle") {
							return errors.New("no connection")
						}
						return nil
					}
					stop := b.start(outbox.RelayConfig{Ordering: o, Logger: log.logger()})
					b.append(keysOf(10)...)
					synctest.Wait()
					if lines := log.with(c.first); len(lines) != 1 || !strings.Contains(fmt.Sprint(lines), "error:") {
						t.Errorf("%d lines told of it at once, want one with the error: %v", len(lines), log.all())
					}
					time.Sleep(6 * time.Hour)
					if n := len(log.all()); n > 30 || n < 8 {
						t.Errorf("%d lines in six hours, want about one an hour after the first: %v", n, log.all()[:8])
					}
					away.Store(false)
					time.Sleep(5 * time.Minute)
					if n := len(log.with(c.end)); n != 1 {
						t.Errorf("%d lines tell that it is over, want one: %v", n, log.all()[len(log.all())-3:])
					}
					assert.Equal(t, 10, len(b.names()), "events were published")
					stop()
				})
			})
		}
	}
}

// TestFailingEventHasTwoLines follows one failing event while others are published: one line at
// its first failure, none for its retries, and one when it is parked.
func TestFailingEventHasTwoLines(t *testing.T) {
	for _, o := range []outbox.Ordering{outbox.Strict, outbox.ByKey} {
		for _, permanent := range []bool{false, true} {
			t.Run(fmt.Sprint(o, " permanent ", permanent), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 1)
					log := newLines()
					err := errRefused
					if permanent {
						err = fault.MarkPermanent(err)
					}
					b.refuse(err, is("bad1"))
					stop := b.start(outbox.RelayConfig{Ordering: o, Logger: log.logger()})
					for range 600 {
						b.append("good")
						if b.seq["good"] == 5 {
							b.append("bad", "good")
						}
						time.Sleep(time.Second)
					}
					stop()
					parked, perr := b.store.Parked(t.Context(), 0, 10)
					if perr != nil || len(parked) != 1 {
						t.Fatalf("%d events are parked, %v", len(parked), perr)
					}
					first, last := log.with("an event fails"), log.with("parked")
					want := 1
					if permanent {
						want = 0
					}
					if len(first) != want || len(last) != 1 || len(log.all()) != want+1 {
						t.Fatalf("lines: %v", log.all())
					}
					for _, line := range append(first, last...) {
						if line["topic"] != "t" || line["event_id"] != parked[0].MessageID || !strings.Contains(line["error"], "refused") || line["attempts"] == "" {
							t.Errorf("the line has not all of topic, event id, attempts and error: %v", line)
						}
					}
					if last[0]["attempts"] != fmt.Sprint(parked[0].Attempts) {
						t.Errorf("parked after %s attempts, stored are %d", last[0]["attempts"], parked[0].Attempts)
					}
				})
			})
		}
	}
}

// single is a store whose pool has one connection.
type single struct {
	*outboxtest.Memory
	err error
}

func (s single) Listen(context.Context, func()) error { return fmt.Errorf("pool: %w", s.err) }

// TestDeafStoreIsToldOnce: a pool too small to listen, or behind a pooler, is logged once. A store
// that never listens is not logged: that may be intended.
func TestDeafStoreIsToldOnce(t *testing.T) {
	for err, remedy := range map[error]string{
		driver.ErrOneConnection: "allow two or more", driver.ErrPooler: "give the relay a URL that leads to the server itself", driver.ErrUnsupported: "",
	} {
		want := min(len(remedy), 1)
		synctest.Test(t, func(t *testing.T) {
			log := newLines()
			r, rerr := outbox.NewRelay(single{outboxtest.NewMemory(1), err}, &outboxtest.Publisher{}, outbox.RelayConfig{Logger: log.logger()})
			require.NoError(t, rerr)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			assert.NoError(t, r.Run(ctx))
			if lines := log.with("no wake-ups"); len(lines) != want || want == 1 && !strings.Contains(lines[0]["error"], remedy) {
				t.Errorf("after %v: lines %v, want %d with the remedy", err, lines, want)
			}
		})
	}
}
