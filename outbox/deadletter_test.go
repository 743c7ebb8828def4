package outbox_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

func toDLT(topic string) string { return topic + ".DLT" }

// TestMaxRetries has an event that never succeeds: after 3 retries, 1, 2 and 4 seconds apart,
// it is parked if the failures are its own fault.
func TestMaxRetries(t *testing.T) {
	away := fault.MarkInfrastructure(errRefused)
	for _, o := range []outbox.Ordering{outbox.Strict, outbox.ByKey} {
		for _, c := range []struct {
			name       string
			others     bool
			err        error // of the event
			deadLetter error // of its dead letter; errNone for no topic
			parked     bool
			dead       int
		}{
			{"others get through", true, errRefused, nil, true, 1},
			{"others get through, no dead letter", true, errRefused, errNone, true, 0},
			{"nothing else waits", false, errRefused, nil, true, 1},
			{"nothing else waits, no dead letter", false, errRefused, errNone, false, 0},
			{"the broker answers", false, fault.MarkPermanent(errRefused), errNone, true, 0},
			{"all is refused", false, errRefused, errRefused, false, 0},
			{"the broker is away", true, away, nil, false, 0},
			{"the dead letter's broker is away", true, errRefused, away, false, 0},
			{"the dead letter is refused for good", true, errRefused, fault.MarkPermanent(errRefused), true, 0},
		} {
			t.Run(fmt.Sprint(o, " ", c.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 1)
					b.pub.Fail = func(topic string, e event.Event) error {
						switch {
						case strings.HasSuffix(topic, ".DLT"):
							return c.deadLetter
						case name(e) == "bad1":
							return c.err
						}
						return nil
					}
					parked := make(chan time.Duration, 1)
					start := time.Now()
					cfg := outbox.RelayConfig{Ordering: o, MaxRetries: 3, MaxAge: -1, Hooks: outbox.Hooks{
						Parked: func(int, string, string, error) { parked <- time.Since(start) }}}
					if c.deadLetter != errNone { //nolint:errorlint // a mark of this table
						cfg.DeadLetter = toDLT
					}
					stop := b.start(cfg)
					b.append("bad", "bad")
					for range 600 {
						if c.others {
							b.append("good")
						}
						time.Sleep(100 * time.Millisecond)
					}
					synctest.Wait()
					select {
					case took := <-parked:
						// 1, 2 and 4 s, each less a fifth at most. The first is cut short if no
						// event had been published before: until then the event is not to
						// blame.
						least, most := 4800*time.Millisecond, 12*time.Second
						if fault.Of(c.err) == fault.Permanent {
							least, most = 0, 0
						}
						if !c.parked || took < least || took > most {
							t.Errorf("parked after %v; want %v, after %v to %v", took, c.parked, least, most)
						}
					default:
						if c.parked {
							t.Error("not parked in a minute")
						}
					}
					dead := 0
					for _, g := range b.pub.Published() {
						if g.Topic == "t.DLT" {
							dead++
						}
					}
					assert.Equal(t, c.dead, dead, "dead letters")
					if c.parked && !slices.Contains(b.order(), "bad2") {
						t.Error("the event behind the parked one was not published")
					}
					stop()
				})
			})
		}
	}
}

var errNone = errors.New("no dead letter topic")

// TestRefusedDeadLetterIsTriedAgain: the dead letter is refused twice.
func TestRefusedDeadLetterIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		var tries atomic.Int32
		b.pub.Fail = func(topic string, e event.Event) error {
			if topic == "t.DLT" && tries.Add(1) <= 2 || topic == "t" && e.Key() == "bad" {
				return errRefused
			}
			return nil
		}
		stop := b.start(outbox.RelayConfig{Ordering: outbox.ByKey, MaxRetries: 3, DeadLetter: toDLT})
		b.append("bad")
		for range 60 {
			b.append("good")
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if p, _ := b.store.Parked(t.Context(), 0, 10); len(p) != 1 || tries.Load() != 3 {
			t.Errorf("%d events are parked after %d dead letters, want one after the third", len(p), tries.Load())
		}
		stop()
	})
}

// TestDeadLetterIsTheBus compares a dead letter's metadata with the metadata that package bus
// reads and redrives.
func TestDeadLetterIsTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		cause := strings.Repeat("ü", 5000) + "\xff"
		b.pub.Fail = func(topic string, _ event.Event) error {
			if topic == "t" {
				return fault.MarkPermanent(errors.New(cause))
			}
			return nil
		}
		b.append("key")
		relay := b.relay(outbox.RelayConfig{MaxRetries: 1, DeadLetter: toDLT, Holder: "here"})
		start := time.Now()
		require.NoError(t, relay.Drain(t.Context()))
		got := b.pub.Published()
		if len(got) != 1 || got[0].Topic != "t.DLT" {
			t.Fatalf("published %d messages, want a dead letter", len(got))
		}
		m := got[0].Message.Metadata
		for name, want := range map[string]string{
			busdriver.DLQOriginalTopic: "t", busdriver.DLQGroup: "outbox", busdriver.DLQReason: bus.ReasonPermanent,
			busdriver.DLQClass: fault.Permanent.String(), busdriver.DLQAttempts: "1", busdriver.DLQWorker: "here",
			busdriver.DLQFirstFailure: start.UTC().Format(time.RFC3339Nano), event.KeyHeader: "key",
		} {
			if m[name] != want {
				t.Errorf("%s is %q, want %q", name, m[name], want)
			}
		}
		if at, err := time.Parse(time.RFC3339Nano, m[busdriver.DLQLastFailure]); err != nil || !at.Equal(start) {
			t.Errorf("%s is %q, want the time of the one attempt", busdriver.DLQLastFailure, m[busdriver.DLQLastFailure])
		}
		if n := len(m[busdriver.DLQError]); n > 4<<10 || n < 4000 {
			t.Errorf("%s has %d bytes, want it cut to 4 KiB", busdriver.DLQError, n)
		}
		assert.Equal(t, got[0].Event.ID, got[0].Message.UUID, "the dead letter has another id than its event")
	})
}

// preferring is a store with its own defaults.
type preferring struct{ *outboxtest.Memory }

func (preferring) Prefer() driver.Preferences {
	return driver.Preferences{MaxRetries: 1, DeadLetter: toDLT}
}

func TestStoresPrefer(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  outbox.RelayConfig
		dead string
	}{
		{"the kind's defaults", outbox.RelayConfig{}, "t.DLT"},
		{"the caller's own", outbox.RelayConfig{DeadLetter: func(string) string { return "dead" }}, "dead"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 1)
				b.pub.Fail = func(topic string, _ event.Event) error {
					if topic == "t" {
						return errRefused
					}
					return nil
				}
				b.append("a")
				relay, err := outbox.NewRelay(preferring{b.store}, b.pub, c.cfg)
				require.NoError(t, err)
				require.NoError(t, relay.Drain(t.Context()))
				if got := b.pub.Published(); len(got) != 1 || got[0].Topic != c.dead {
					t.Errorf("published %+v, want a dead letter in %q", got, c.dead)
				}
			})
		})
	}
}
