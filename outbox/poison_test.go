package outbox_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox"
)

// poisons appends n events of n keys. Of these, bad ones fail for ever: the first ones, or if
// spread is set, evenly spread ones.
func (b *bench) poisons(n, bad int, spread bool, err error) {
	b.t.Helper()
	keys := keysOf(n)
	is := map[string]bool{}
	for i := range bad {
		at := i
		if spread {
			at = i * (n / bad)
		}
		keys[at] = fmt.Sprintf("bad%03d-", i)
		is[keys[at]+"1"] = true
	}
	b.append(keys...)
	b.refuse(err, func(name string) bool { return is[name] })
}

// names returns the names of the published events, without duplicates.
func (b *bench) names() map[string]bool {
	out := map[string]bool{}
	for _, p := range b.pub.Published() {
		out[p.Topic+" "+name(p.Event)] = true
	}
	return out
}

// TestPermanentErrorsParkAtOnce: of a thousand events, the broker refuses five permanently.
func TestPermanentErrorsParkAtOnce(t *testing.T) {
	for _, o := range []outbox.Ordering{outbox.Strict, outbox.ByKey} {
		for _, c := range []struct {
			name   string
			spread bool
			bad    int
			dead   func(string) string
		}{
			{"in front", false, 5, nil}, {"all over", true, 5, nil}, {"a batch of nothing else", false, 300, nil}, {"with dead letters", true, 5, toDLT},
		} {
			t.Run(fmt.Sprint(o, " ", c.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 1)
					b.poisons(1000, c.bad, c.spread, fault.MarkPermanent(errRefused))
					if refuse := b.pub.Fail; c.dead != nil {
						b.pub.Fail = func(topic string, e event.Event) error {
							if topic == "t.DLT" {
								return nil
							}
							return refuse(topic, e)
						}
					}
					tries := map[string]int{}
					var mu sync.Mutex
					stop := b.start(outbox.RelayConfig{Ordering: o, MaxAge: 8 * time.Second, DeadLetter: c.dead, Hooks: outbox.Hooks{
						Parked: func(_ int, _, id string, _ error) { mu.Lock(); tries[id]++; mu.Unlock() }}})
					synctest.Wait()
					want := 1000 - c.bad
					if c.dead != nil {
						want += c.bad
					}
					assert.Equal(t, want, len(b.names()), "events and dead letters were published at once")
					parked, err := b.store.Parked(t.Context(), 0, 1000)
					if err != nil || len(parked) != c.bad || len(tries) != c.bad {
						t.Fatalf("%d events are parked and %d were reported, %v; want %d", len(parked), len(tries), err, c.bad)
					}
					for _, p := range parked {
						if p.Attempts != 1 || !strings.HasPrefix(p.Key, "bad") {
							t.Errorf("parked %s after %d attempts, want a bad one after its first", p.Key, p.Attempts)
						}
					}
					stop()
				})
			})
		}
	}
}

// TestPoisonsAgeTogether has events that fail with unclassified errors, in front of other
// events of the same batch and of later ones. They are parked after about one MaxAge together,
// not one after the other.
func TestPoisonsAgeTogether(t *testing.T) {
	const maxAge = time.Minute
	for _, lanes := range []int{1, 16} {
		for _, c := range []struct {
			bad    int
			spread bool
		}{{5, false}, {5, true}, {50, false}, {50, true}} {
			t.Run(fmt.Sprint(c.bad, " spread ", c.spread, " lanes ", lanes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 1)
					b.poisons(100, c.bad, c.spread, errRefused)
					b.append(slices.Repeat([]string{"later"}, 100)...)
					stop := b.start(outbox.RelayConfig{MaxAge: maxAge, Lanes: lanes, MaxBatch: 100})
					start := time.Now()
					for len(b.names()) < 100-c.bad && time.Since(start) < time.Hour {
						time.Sleep(time.Second)
					}
					if took := time.Since(start); took > 15*time.Second {
						t.Errorf("the good events of the batch passed after %v, want at most 15 s", took)
					}
					for len(b.names()) < 200-c.bad && time.Since(start) < time.Hour {
						time.Sleep(time.Second)
					}
					took := time.Since(start)
					t.Logf("all passed after %v", took)
					if took > maxAge*5/4 {
						t.Errorf("what is behind the batch passed after %v, want about one MaxAge", took)
					}
					if p, err := b.store.Parked(t.Context(), 0, 1000); err != nil || len(p) != c.bad {
						t.Errorf("%d events are parked, %v; want %d", len(p), err, c.bad)
					}
					stop()
				})
			})
		}
	}
}
