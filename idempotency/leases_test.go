package idempotency_test

import (
	"bytes"
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
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
)

// shaky is a lease store whose calls fail while fail returns an error.
type shaky struct {
	driver.LeaseStore
	fail func(call string) error
}

func (s shaky) Extend(ctx context.Context, c idempotency.Claim, ttl time.Duration) error {
	if err := s.fail("extend"); err != nil {
		return err
	}
	return s.LeaseStore.Extend(ctx, c, ttl)
}

func (s shaky) Complete(ctx context.Context, c idempotency.Claim, result []byte) error {
	if err := s.fail("complete"); err != nil {
		return err
	}
	return s.LeaseStore.Complete(ctx, c, result)
}

func (s shaky) Release(ctx context.Context, c idempotency.Claim) error {
	if err := s.fail("release"); err != nil {
		return err
	}
	return s.LeaseStore.Release(ctx, c)
}

func newLeases(t testing.TB, store driver.LeaseStore, cfg idempotency.LeaseConfig) *idempotency.Leases {
	t.Helper()
	cfg.Group = "mailer"
	l, err := idempotency.NewLeases(store, cfg)
	require.NoError(t, err)
	return l
}

func TestLeasesDo(t *testing.T) {
	store := memidempotency.NewLeases()
	l := newLeases(t, store, idempotency.LeaseConfig{})
	e := newEvent(t)
	var tokens []int64
	for i, step := range []struct {
		err   error
		fresh bool
	}{{errHandler, false}, {nil, true}, {nil, false}} {
		result, fresh, err := l.Do(t.Context(), e, func(ctx context.Context, c idempotency.Claim) ([]byte, error) {
			from, ok := idempotency.ClaimFrom(ctx)
			got, ok2 := event.FromContext(ctx)
			if !ok || !ok2 || from.Token != c.Token || got.ID != e.ID || c.Key != "mailer:"+e.ID {
				t.Errorf("the work's context holds %v and %v under %+v", from, got, c)
			}
			tokens = append(tokens, c.Token)
			return []byte("sent"), step.err
		})
		if fresh != step.fresh || !errors.Is(err, step.err) || step.err == nil && (err != nil || string(result) != "sent") {
			t.Errorf("step %d: %q, %v, %v; want %+v", i, result, fresh, err, step)
		}
	}
	if len(tokens) != 2 || tokens[1] <= tokens[0] {
		t.Errorf("tokens %v, want two that grow", tokens)
	}
	if _, _, err := l.Do(t.Context(), event.Event{Type: "T"}, nil); fault.Of(err) != fault.Permanent {
		t.Errorf("an event without an id: %v (%v), want permanent", err, fault.Of(err))
	}
	if _, ok := idempotency.ClaimFrom(t.Context()); ok {
		t.Error("ClaimFrom finds a claim outside the work")
	}
}

func TestLeasesTakenAndMismatch(t *testing.T) {
	store := memidempotency.NewLeases()
	l := newLeases(t, store, idempotency.LeaseConfig{})
	never := func(context.Context, idempotency.Claim) ([]byte, error) {
		t.Error("the work ran")
		return nil, nil
	}
	_, _, err := l.Once(t.Context(), "k", "a", func(ctx context.Context, _ idempotency.Claim) ([]byte, error) {
		_, _, err := l.Once(ctx, "k", "a", never)
		wait := fault.Wait(err)
		if fault.Of(err) != fault.Busy || !strings.Contains(fmt.Sprint(err), `another worker holds the key "k" for`) || wait <= 0 || wait > 30*time.Second {
			t.Errorf("a key that is held: %v (%v, %v), want a busy error with the rest of the lease", err, fault.Of(err), wait)
		}
		if _, _, err := l.Once(ctx, "k", "b", never); !errors.Is(err, idempotency.ErrMismatch) || fault.Of(err) != fault.Permanent {
			t.Errorf("another request: %v (%v), want a permanent ErrMismatch", err, fault.Of(err))
		}
		return nil, nil
	})
	assert.NoError(t, err)
}

// TestLeasesRenew: work that takes longer than the lease keeps the lease; another worker always
// finds the key taken.
func TestLeasesRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memidempotency.NewLeases()
		l := newLeases(t, store, idempotency.LeaseConfig{TTL: 30 * time.Second})
		over := make(chan error, 1)
		go func() {
			_, _, err := l.Do(t.Context(), event.Event{ID: "e1"}, func(ctx context.Context, _ idempotency.Claim) ([]byte, error) {
				time.Sleep(5 * time.Minute)
				return nil, ctx.Err()
			})
			over <- err
		}()
		for range 29 {
			time.Sleep(10 * time.Second)
			if c, err := store.Claim(t.Context(), driver.Record{Key: "mailer:e1"}, time.Minute); err != nil || c.State != driver.Taken {
				t.Errorf("during the work: %v, %v; want taken", c.State, err)
			}
		}
		assert.NoError(t, <-over)
	})
}

// TestLeasesLost: a worker that cannot renew loses the lease at the deadline. Another worker
// takes over, and the end of the first one does not count.
func TestLeasesLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memidempotency.NewLeases()
		cut := newLeases(t, shaky{store, func(string) error { return errors.New("the network is gone") }},
			idempotency.LeaseConfig{TTL: 30 * time.Second, Finish: time.Second, Logger: slog.New(slog.DiscardHandler)})
		well := newLeases(t, store, idempotency.LeaseConfig{})
		began := time.Now()
		_, _, err := cut.Do(t.Context(), event.Event{ID: "e1"}, func(ctx context.Context, _ idempotency.Claim) ([]byte, error) {
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, driver.ErrLeaseLost) || time.Since(began) != 30*time.Second {
				t.Errorf("the work ended after %v with %v", time.Since(began), cause)
			}
			return nil, ctx.Err()
		})
		if !errors.Is(err, driver.ErrLeaseLost) || !errors.Is(err, context.Canceled) {
			t.Errorf("the first: %v, want ErrLeaseLost and the work's own error", err)
		}
		result, fresh, err := well.Do(t.Context(), event.Event{ID: "e1"}, func(context.Context, idempotency.Claim) ([]byte, error) {
			return []byte("second"), nil
		})
		if err != nil || !fresh || string(result) != "second" {
			t.Errorf("the second: %q, %v, %v", result, fresh, err)
		}
	})
}

// TestLeasesCompleteFails: work that is done but cannot be recorded is not a success, and its
// key is not released before the deadline.
func TestLeasesCompleteFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memidempotency.NewLeases()
		errAway := errors.New("the store is away")
		var away atomic.Bool
		l := newLeases(t, shaky{store, func(call string) error {
			if away.Load() {
				return errAway
			}
			return nil
		}}, idempotency.LeaseConfig{TTL: 30 * time.Second, Finish: 10 * time.Second})
		work := func(outage time.Duration) (fresh bool, err error) {
			_, fresh, err = l.Do(t.Context(), event.Event{ID: outage.String()}, func(context.Context, idempotency.Claim) ([]byte, error) {
				away.Store(true)
				time.AfterFunc(outage, func() { away.Store(false) })
				return nil, nil
			})
			return fresh, err
		}
		if fresh, err := work(5 * time.Second); !fresh || err != nil {
			t.Errorf("an outage shorter than Finish: %v, %v", fresh, err)
		}
		fresh, err := work(time.Hour)
		if fresh || !errors.Is(err, errAway) || !strings.Contains(err.Error(), "is done") {
			t.Errorf("an outage longer than Finish: %v, %v", fresh, err)
		}
		if c, err := store.Claim(t.Context(), driver.Record{Key: "mailer:1h0m0s"}, time.Minute); err != nil || c.State != driver.Taken {
			t.Errorf("before the deadline the key is %v, %v; want taken", c.State, err)
		}
		synctest.Wait()
	})
}

func TestLeasesPanicReleases(t *testing.T) {
	store := memidempotency.NewLeases()
	l := newLeases(t, store, idempotency.LeaseConfig{})
	e := newEvent(t)
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("the panic came out as %v", p)
			}
		}()
		_, _, _ = l.Do(t.Context(), e, func(context.Context, idempotency.Claim) ([]byte, error) { panic("boom") })
	}()
	if _, fresh, err := l.Do(t.Context(), e, func(context.Context, idempotency.Claim) ([]byte, error) { return nil, nil }); !fresh || err != nil {
		t.Errorf("after the panic: %v, %v", fresh, err)
	}
}

// TestLeasesCancelledReleases: a cancelled consumer still releases its key.
func TestLeasesCancelledReleases(t *testing.T) {
	store := memidempotency.NewLeases()
	var log bytes.Buffer
	l := newLeases(t, store, idempotency.LeaseConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	e := newEvent(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := l.Do(ctx, e, func(ctx context.Context, _ idempotency.Claim) ([]byte, error) {
		cancel()
		return nil, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, driver.ErrLeaseLost) || log.Len() > 0 {
		t.Errorf("cancelled work: %v\n%s", err, &log)
	}
	if _, fresh, err := l.Do(t.Context(), e, func(context.Context, idempotency.Claim) ([]byte, error) { return nil, nil }); !fresh || err != nil {
		t.Errorf("after the cancellation: %v, %v", fresh, err)
	}
}

func TestNewLeasesChecks(t *testing.T) {
	store := memidempotency.NewLeases()
	for want, cfg := range map[string]idempotency.LeaseConfig{
		"LeaseConfig.Group is empty": {}, "colon": {Group: "a:b"},
		"LeaseConfig.TTL": {Group: "g", TTL: time.Millisecond}, "LeaseConfig.Finish": {Group: "g", Finish: -1},
	} {
		if _, err := idempotency.NewLeases(store, cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewLeases(%+v) = %v, want an error about %s", cfg, err, want)
		}
	}
	if _, err := idempotency.NewLeases(nil, idempotency.LeaseConfig{Group: "g"}); err == nil {
		t.Error("NewLeases took no store")
	}
}

// cut is a lease store that grants a claim just when the context of its caller ends.
type cut struct {
	driver.LeaseStore
	end context.CancelFunc
}

func (s cut) Claim(ctx context.Context, r driver.Record, ttl time.Duration) (driver.Claim, error) {
	c, err := s.LeaseStore.Claim(ctx, r, ttl)
	if s.end(); ctx.Err() != nil {
		return driver.Claim{}, ctx.Err()
	}
	return c, err
}

// TestLeasesOfACutClaim: a caller that leaves while its claim is granted leaves the key free.
func TestLeasesOfACutClaim(t *testing.T) {
	store := memidempotency.NewLeases()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	cutOff := newLeases(t, cut{store, end}, idempotency.LeaseConfig{})
	_, _, err := cutOff.Once(ctx, "k", "", func(ctx context.Context, _ idempotency.Claim) ([]byte, error) { return nil, ctx.Err() })
	assert.ErrorIs(t, err, context.Canceled, "the caller that left")
	_, fresh, err := newLeases(t, store, idempotency.LeaseConfig{}).Once(t.Context(), "k", "",
		func(context.Context, idempotency.Claim) ([]byte, error) { return nil, nil })
	if !fresh || err != nil {
		t.Errorf("the next caller: fresh %v, %v", fresh, err)
	}
}
