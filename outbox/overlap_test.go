package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// perBatch events of as many keys are one read of overlapping, and two reads are MaxBatch.
const perBatch = 64

func overlapping(o outbox.Ordering) outbox.RelayConfig {
	return outbox.RelayConfig{Ordering: o, MinBatch: perBatch, MaxBatch: 2 * perBatch, Chunk: 1}
}

// held is a bench with four batches of the same keys; the publisher holds the first event of one
// key until release is closed, and then returns the error.
func held(t *testing.T, err error) (b *bench, release chan struct{}) {
	b = newBench(t, 1)
	for range 4 {
		b.append(keysOf(perBatch)...)
	}
	release = make(chan struct{})
	var failed atomic.Bool
	b.pub.Fail = func(_ string, e event.Event) error {
		time.Sleep(time.Millisecond) // a quicker publisher gets one lane
		if name(e) != "k007-1" {
			return nil
		}
		<-release
		if failed.Swap(true) {
			return nil
		}
		return err
	}
	return b, release
}

// TestRoundsOverlap holds one event: its lane waits, the others go on with the next batch, and
// with no more than MaxBatch events that are not settled.
func TestRoundsOverlap(t *testing.T) {
	poison := fault.MarkPermanent(errRefused)
	for _, o := range []outbox.Ordering{outbox.Strict, outbox.ByKey} {
		for what, fails := range map[string]error{
			"it passes": nil, "it fails once": errRefused, "the broker is away": fault.MarkInfrastructure(errRefused), "it is refused": poison,
		} {
			t.Run(what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b, release := held(t, fails)
					cfg, confirmed, busy := overlapping(o), 0, time.Duration(0)
					cfg.Hooks.Round = func(_ int, took time.Duration, n int) { confirmed += n; busy += took }
					stop := b.start(cfg)
					time.Sleep(time.Second)
					got := b.order()
					if !slices.ContainsFunc(got, func(n string) bool { return strings.HasSuffix(n, "-2") }) {
						t.Errorf("no lane goes on with the next batch beside one that waits: %v", got)
					}
					if len(got) >= 2*perBatch || slices.Contains(got, "k007-2") {
						t.Errorf("%d events were published although the first batch is not settled, want fewer than MaxBatch, and none of the key that waits", len(got))
					}
					if st, err := b.store.Stats(t.Context()); err != nil || st[0].Backlog != 4*perBatch {
						t.Errorf("%d events wait in the store, %v; want all, as the first batch is not settled", st[0].Backlog, err)
					}
					close(release)
					time.Sleep(time.Minute)
					want := 4 * perBatch
					if errors.Is(fails, poison) {
						want--
					}
					if n := len(b.names()); n != want || outboxtest.Inversions(b.pub.Published()) != 0 || outboxtest.Duplicates(b.pub.Published()) != 0 {
						t.Errorf("%d events were published, %d out of order, %d twice; want %d, 0, 0", n,
							outboxtest.Inversions(b.pub.Published()), outboxtest.Duplicates(b.pub.Published()), want)
					}
					stop()
					assert.Equalf(t, want, confirmed, "the rounds confirmed %d events", confirmed)
					if busy > 1500*time.Millisecond {
						t.Errorf("the rounds took %v together, want the second of waiting counted once", busy)
					}
				})
			})
		}
	}
}

// TestShutdownFinishesBothBatches stops a relay whose rounds overlap.
func TestShutdownFinishesBothBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, release := held(t, nil)
		stop := b.start(overlapping(outbox.Strict))
		time.Sleep(time.Second)
		time.AfterFunc(20*time.Second, func() { close(release) })
		began := time.Now()
		stop()
		if took := time.Since(began); took < 20*time.Second || took > 21*time.Second {
			t.Errorf("the shutdown took %v, want until the event was published", took)
		}
		assert.Equal(t, 2*perBatch, len(b.order()), "events of the batches in flight were published")
		assert.NoError(t, b.relay(outbox.RelayConfig{}).Drain(t.Context()))
		assert.Equal(t, 0, outboxtest.Duplicates(b.pub.Published()), "events were published again after a clean stop")
	})
}

// TestShutdownTimeoutCountsForBothBatches has a publisher that is so slow that the second batch
// would end behind ShutdownTimeout.
func TestShutdownTimeoutCountsForBothBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append(slices.Repeat([]string{"k"}, 8)...)
		slow := publisherFunc(func(topic string, msgs ...*message.Message) error {
			select {
			case <-msgs[0].Context().Done():
				return msgs[0].Context().Err()
			case <-time.After(5 * time.Second):
				return b.pub.Publish(topic, msgs...)
			}
		})
		end := b.run(slow, outbox.RelayConfig{MinBatch: 4, MaxBatch: 8, Chunk: 1, Lanes: 1, ShutdownTimeout: 22 * time.Second})
		synctest.Wait()
		began := time.Now()
		assert.NoError(t, end())
		if took := time.Since(began); took > 22*time.Second {
			t.Errorf("the shutdown took %v, want no more than ShutdownTimeout", took)
		}
		assert.Equal(t, 4, len(b.order()), "events were published")
	})
}

// TestShutdownTimeoutCountsForSettlements has a database that refuses, or hangs, when a slow
// publisher returns shortly before the end of ShutdownTimeout.
func TestShutdownTimeoutCountsForSettlements(t *testing.T) {
	for name, most := range map[string]time.Duration{"refuses": 22 * time.Second, "hangs": 24 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 1)
				b.append("k")
				slow := publisherFunc(func(topic string, msgs ...*message.Message) error {
					time.Sleep(20 * time.Second)
					return b.pub.Publish(topic, msgs...)
				})
				r, err := outbox.NewRelay(silent{b.store, name == "hangs"}, slow, outbox.RelayConfig{ShutdownTimeout: 22 * time.Second})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- r.Run(ctx) }()
				synctest.Wait()
				cancel()
				began := time.Now()
				if err := <-done; err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Run returns %v, and its batch is not settled", err)
				}
				if took := time.Since(began); took > most {
					t.Errorf("the shutdown took %v, want %v at most", took, most)
				}
			})
		})
	}
}

// silent is a store that takes no settlement, and gives no answer if it hangs.
type silent struct {
	*outboxtest.Memory
	hangs bool
}

func (s silent) Settle(ctx context.Context, _ driver.Lease, _ driver.Settlement) error {
	if s.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return errors.New("no connection")
}

func (s silent) Release(ctx context.Context, l driver.Lease) error {
	return s.Settle(ctx, l, driver.Settlement{})
}

// TestLostLeaseEndsBothRounds: the lease is lost while the first batch is settled. It is not
// given up, nor taken again, before the call of the second batch has returned.
func TestLostLeaseEndsBothRounds(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprint("deaf ", deaf), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, release := held(t, nil)
				var hold, lost, returned atomic.Bool
				hold.Store(true)
				pub := publisherFunc(func(topic string, msgs ...*message.Message) error {
					if e, err := event.Decode(msgs[0]); err != nil || e.Sequence != 2 || !hold.Swap(false) {
						return errors.Join(err, b.pub.Publish(topic, msgs...))
					}
					<-msgs[0].Context().Done()
					if deaf {
						time.Sleep(time.Hour)
					}
					returned.Store(true)
					return msgs[0].Context().Err()
				})
				leases := 0
				b.store.Intercept = func(op string) error {
					switch op {
					case "lease":
						leases++
						if leases == 2 && !returned.Load() {
							t.Error("the lease is taken again beside a call of the tenure before")
						}
					case "release":
						if lost.Load() && !deaf && !returned.Load() {
							t.Error("the lease is given up beside a call that returns")
						}
					case "settle":
						if lost.CompareAndSwap(false, true) {
							return driver.ErrLeaseLost
						}
					}
					return nil
				}
				end := b.run(pub, overlapping(outbox.Strict))
				time.Sleep(time.Second)
				close(release)
				time.Sleep(2 * time.Hour)
				if n := len(b.names()); n != 4*perBatch || outboxtest.Inversions(b.pub.Published()) != 0 {
					t.Errorf("%d events were published, %d out of order; want %d, 0", n, outboxtest.Inversions(b.pub.Published()), 4*perBatch)
				}
				assert.NoError(t, end())
			})
		})
	}
}

// TestStopBesideADeafRound stops a relay that has lost its lease, and waits for a call of the second
// batch which ignores that.
func TestStopBesideADeafRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, release := held(t, nil)
		pub := publisherFunc(func(topic string, msgs ...*message.Message) error {
			if e, err := event.Decode(msgs[0]); err != nil || e.Sequence != 2 {
				return errors.Join(err, b.pub.Publish(topic, msgs...))
			}
			time.Sleep(time.Hour)
			return errRefused
		})
		b.store.Intercept = func(op string) error {
			if op == "settle" {
				return driver.ErrLeaseLost
			}
			return nil
		}
		cfg := overlapping(outbox.Strict)
		cfg.PublishTimeout = 2 * time.Hour
		end := b.run(pub, cfg)
		time.Sleep(time.Second)
		close(release)
		time.Sleep(time.Second)
		began := time.Now()
		if err := end(); err == nil || time.Since(began) > 3*time.Second {
			t.Errorf("Run returns %v after %v, want the hanging publisher after 3s at most", err, time.Since(began))
		}
		time.Sleep(time.Hour)
	})
}

// TestTroubleEndsBothRounds: the first batch fails, for all or for one event, while a slow
// publisher has just begun with the second.
func TestTroubleEndsBothRounds(t *testing.T) {
	away := fault.MarkInfrastructure(errRefused)
	for what, c := range map[string]struct {
		first, second error // of the event that is held, and of the second batch
		lost          bool  // the lease
		calls         int   // that may begin after it
		away          int   // how often the publisher is found away
	}{
		"the broker is away":                       {away, nil, false, 1, 1},
		"an event fails, and the broker goes away": {errRefused, away, false, perBatch, 1},
		"the lease is lost":                        {nil, nil, true, 1, 0},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 1)
				for range 2 {
					b.append(keysOf(perBatch)...)
				}
				second := make(chan struct{})
				var begun sync.Once
				var failed, over atomic.Bool
				var after, away atomic.Int32
				b.pub.Fail = func(_ string, e event.Event) error {
					if over.Load() {
						return nil
					}
					if failed.Load() {
						after.Add(1)
					}
					time.Sleep(10 * time.Millisecond)
					switch {
					case name(e) == "k007-1" && !failed.Load():
						<-second
						if c.lost {
							time.Sleep(time.Second / 2)
						}
						failed.Store(true)
						return c.first
					case e.Sequence == 2:
						begun.Do(func() { close(second) })
						if failed.Load() {
							return c.second
						}
					}
					return nil
				}
				b.store.Intercept = func(op string) error {
					if c.lost && op == "settle" {
						select {
						case <-second:
							if !failed.Swap(true) {
								return driver.ErrLeaseLost
							}
						default:
						}
					}
					return nil
				}
				cfg := overlapping(outbox.Strict)
				cfg.Lanes = 2
				cfg.LeaseTTL = 200 * time.Millisecond
				cfg.Hooks.Failed = func(_ int, _ string, attempts int, err error) {
					if attempts == 0 && fault.Of(err) == fault.Infrastructure {
						away.Add(1)
					}
				}
				stop := b.start(cfg)
				<-second
				time.Sleep(700 * time.Millisecond) // Pause begins with 1 s ± 20 %
				if n := int(after.Load()); n > c.calls {
					t.Errorf("%d calls began after the first batch had failed, want %d at most", n, c.calls)
				}
				if n := int(away.Load()); n != c.away {
					t.Errorf("the publisher was found away %d times, want %d", n, c.away)
				}
				over.Store(true)
				time.Sleep(time.Minute)
				if n := len(b.names()); n != 2*perBatch || outboxtest.Inversions(b.pub.Published()) != 0 {
					t.Errorf("%d events were published, %d out of order; want %d, 0", n, outboxtest.Inversions(b.pub.Published()), 2*perBatch)
				}
				stop()
			})
		})
	}
}

// TestHungCallOfTheSecondBatchEndsTheLease: the first batch has a failing event, so both batches
// are one when the call hangs.
func TestHungCallOfTheSecondBatchEndsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, release := held(t, errRefused)
		var once atomic.Bool
		hang := hangOn(b.pub, func(_, name string) bool { return name[len(name)-1] == '2' && !once.Swap(true) })
		cfg := overlapping(outbox.Strict)
		var ended atomic.Int64
		start := time.Now()
		cfg.Hooks.Lease = func(_ int, held bool) {
			if !held {
				ended.Store(int64(time.Since(start)))
			}
		}
		end := b.run(hang, cfg)
		time.Sleep(time.Second)
		close(release)
		time.Sleep(40 * time.Second)
		if took := time.Duration(ended.Load()); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("the lease ended after %v, want after PublishTimeout", took)
		}
		close(hang.released)
		assert.NoError(t, end())
	})
}

// TestShutdownAbandonsBothRounds has calls of both batches that never return, or such a call of the
// second batch and a store that does not settle the first.
func TestShutdownAbandonsBothRounds(t *testing.T) {
	for what, settles := range map[string]bool{"calls of both hang": true, "the store is down": false} {
		t.Run(what, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { shutdownAbandons(t, settles) }) })
	}
}

func shutdownAbandons(t *testing.T, settles bool) {
	b := newBench(t, 1)
	for range 2 {
		b.append(keysOf(perBatch)...)
	}
	b.pub.Fail = func(string, event.Event) error { time.Sleep(time.Millisecond); return nil } // a quicker publisher gets one lane
	var once sync.Map
	hang := hangOn(b.pub, func(_, name string) bool {
		if !settles && name[len(name)-1] == '1' {
			return false
		}
		_, hangs := once.LoadOrStore(name[len(name)-1], true)
		return !hangs // the first of each batch
	})
	b.store.Intercept = func(op string) error {
		if !settles && op == "settle" {
			return errors.New("no connection")
		}
		return nil
	}
	cfg := overlapping(outbox.Strict)
	cfg.PublishTimeout, cfg.LeaseTTL = time.Hour, time.Hour
	end := b.run(hang, cfg)
	time.Sleep(time.Second)
	if _, now := hang.calls(); (now == 2) != settles || now == 0 {
		t.Errorf("%d calls hang, want one of each batch that hangs", now)
	}
	began := time.Now()
	assert.Error(t, end(), "Run returns no error beside calls that hang")
	if took := time.Since(began); took > 35*time.Second {
		t.Errorf("the shutdown took %v, want ShutdownTimeout and a little", took)
	}
	close(hang.released)
	time.Sleep(time.Second)
}
