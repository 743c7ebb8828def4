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

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

var errRefused = errors.New("refused")

// refuse makes the publisher refuse the events that match.
func (b *bench) refuse(err error, match func(name string) bool) {
	b.pub.Fail = func(_ string, e event.Event) error {
		if match(name(e)) {
			return err
		}
		return nil
	}
}

func is(names ...string) func(string) bool {
	return func(n string) bool { return slices.Contains(names, n) }
}

// keysOf returns n distinct keys.
func keysOf(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("k%03d-", i))
	}
	return out
}

func TestStrictReadsNotPastAFailingBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append(keysOf(100)...)
		b.refuse(errRefused, is("k000-1"))
		attempts := 0
		stop := b.start(outbox.RelayConfig{MinBatch: 10, MaxBatch: 10, Chunk: 1, MaxAge: -1,
			Hooks: outbox.Hooks{Failed: func(int, string, int, error) { attempts++ }}})
		time.Sleep(time.Minute)
		synctest.Wait()
		// The rest of the batch, and with each further attempt one probe.
		if got, most := len(b.order()), 9+attempts-1; got < 9 || got > most {
			t.Errorf("published %d events behind a failing one after %d attempts, want 9 to %d", got, attempts, most)
		}
		stop()
	})
}

func TestOtherKeysOfTheBatchPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a", "b", "a", "c", "b")
		b.refuse(errRefused, is("a1"))
		stop := b.start(outbox.RelayConfig{Chunk: 1, Lanes: 2})
		synctest.Wait()
		got := b.order()
		slices.Sort(got)
		assert.Equalf(t, "b1 b2 c1", strings.Join(got, " "), "published %v while a1 fails, want the other keys", got)
		stop()
	})
}

func TestMaxAge(t *testing.T) {
	for _, o := range []outbox.Ordering{outbox.Strict, outbox.ByKey} {
		for _, c := range []struct {
			name   string
			others bool
			err    error
			parked bool
		}{
			{"others get through", true, errRefused, true},
			{"nothing else waits", false, errRefused, false},
			{"the broker answers", false, fault.MarkPermanent(errRefused), true},
			{"the broker is away", true, fault.MarkInfrastructure(errRefused), false},
		} {
			t.Run(fmt.Sprint(o, " ", c.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 1)
					b.refuse(c.err, is("bad1"))
					parked := make(chan time.Time, 1)
					start := time.Now()
					stop := b.start(outbox.RelayConfig{Ordering: o, Hooks: outbox.Hooks{
						Parked: func(int, string, string, error) { parked <- time.Now() }}})
					b.append("bad", "bad")
					for time.Since(start) < 20*time.Minute {
						if c.others {
							b.append("good")
						}
						time.Sleep(time.Second)
					}
					synctest.Wait()
					select {
					case at := <-parked:
						least, most := 5*time.Minute, 6*time.Minute
						if fault.Of(c.err) == fault.Permanent {
							least, most = 0, 0
						}
						if age := at.Sub(start); !c.parked || age < least || age > most {
							t.Errorf("parked after %v; want %v, after %v to %v", age, c.parked, least, most)
						}
						assert.Contains(t, b.order(), "bad2", "the event behind the parked one was not published")
					default:
						if c.parked {
							t.Error("not parked in 20 minutes")
						}
					}
					stop()
				})
			})
		}
	}
}

// TestProbesFindThePoison: all events behind the failing one were committed before it failed,
// so a further read must give the evidence.
func TestProbesFindThePoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.refuse(errRefused, is("k000-1"))
		b.append(keysOf(200)...)
		stop := b.start(outbox.RelayConfig{MinBatch: 10, MaxBatch: 100})
		time.Sleep(8 * time.Minute)
		synctest.Wait()
		assert.Equal(t, 199, len(b.order()), "events were published after the poison was to be parked")
		if p, _ := b.store.Parked(t.Context(), 0, 10); len(p) != 1 || p[0].Key != "k000-" {
			t.Errorf("parked %+v, want the poison", p)
		}
		stop()
	})
}

// TestOutageCatchesUp checks that an outage with unclassified errors ends soon after the broker
// is back, with no parked event, in order.
func TestOutageCatchesUp(t *testing.T) {
	for _, o := range []outbox.Ordering{outbox.Strict, outbox.ByKey} {
		t.Run(fmt.Sprint(o), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 1)
				var away atomic.Bool
				var tries, first, last atomic.Int64
				away.Store(true)
				b.pub.Fail = func(string, event.Event) error {
					if away.Load() {
						tries.Add(1)
						return errRefused
					}
					now := time.Now().UnixNano()
					first.CompareAndSwap(0, now)
					last.Store(now)
					return nil
				}
				stop := b.start(outbox.RelayConfig{Ordering: o})
				for i := range 100 {
					b.append(keysOf(20)[i%20])
					time.Sleep(time.Second)
				}
				time.Sleep(time.Hour)
				if n := tries.Load(); n > 20_000 {
					t.Errorf("%d attempts in an outage of an hour", n)
				}
				away.Store(false)
				time.Sleep(31 * time.Second) // the cap of the backoff
				synctest.Wait()
				assert.Equal(t, 100, len(b.order()), "events were published after the outage")
				if took := last.Load() - first.Load(); took > int64(time.Second) {
					t.Errorf("the rest followed the first event within %v, want at once", time.Duration(took))
				}
				assert.Equal(t, 0, outboxtest.Inversions(b.pub.Published()), "inversions")
				stop()
			})
		})
	}
}

func TestByKeyBoundsWhatStandsAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		var cured atomic.Bool
		b.refuse(errRefused, func(n string) bool { return strings.HasPrefix(n, "bad") && !cured.Load() })
		stop := b.start(outbox.RelayConfig{Ordering: outbox.ByKey, MaxAside: 5, MaxAge: -1})
		for range 20 {
			b.append("bad", "good")
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Hour)
		st, err := b.store.Stats(t.Context())
		if err != nil || st[0].Aside != 5 || st[0].Backlog <= 5 {
			t.Errorf("%d events stand aside of %d, %v; want 5, and others that wait for room", st[0].Aside, st[0].Backlog, err)
		}
		cured.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 40, len(b.order()), "events were published at last")
		assert.Equal(t, 0, outboxtest.Inversions(b.pub.Published()), "inversions")
		stop()
	})
}

func TestOneBurstStaysWithinMaxAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.refuse(errRefused, func(n string) bool { return strings.HasPrefix(n, "bad") })
		for range 20 {
			b.append("bad", "good", "bad2")
		}
		// One message a call: a failed call with many would repeat some of the good ones.
		stop := b.start(outbox.RelayConfig{Ordering: outbox.ByKey, MaxAside: 25, MaxAge: -1, Chunk: 1})
		time.Sleep(time.Hour)
		st, err := b.store.Stats(t.Context())
		if err != nil || st[0].Aside != 20 || len(b.order()) != 20 {
			t.Errorf("%d events stand aside and %d were published, %v; want one key's 20 and the good 20", st[0].Aside, len(b.order()), err)
		}
		stop()
	})
}
