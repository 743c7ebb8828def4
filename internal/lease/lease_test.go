package lease_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/lease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errLost = errors.New("the lease is lost")
	errAway = errors.New("the store is away")
)

const ttl = 30 * time.Second

func TestTerm(t *testing.T) {
	asked := time.Now()
	term := lease.NewTerm(ttl, 5*time.Second)
	assert.False(t, term.Valid(asked), "a lease that was never had is valid")
	term.Extended(asked)
	for after, want := range map[time.Duration]bool{0: true, 25*time.Second - 1: true, 25 * time.Second: false, time.Hour: false} {
		assert.Equalf(t, want, term.Valid(asked.Add(after)), "valid %v after it was asked for", after)
	}
	if got := term.Next().Sub(asked); got != 10*time.Second {
		t.Errorf("to be extended after %v, want a third of %v", got, ttl)
	}
	if term.Soon(asked.Add(7*time.Second)) || !term.Soon(asked.Add(8*time.Second)) {
		t.Error("it is soon enough after 7 s, or not after 8 s, of 30 s")
	}
	term.Failed(asked.Add(10 * time.Second))
	assert.Equal(t, 12*time.Second, term.Next().Sub(asked), "after a failure at 10 s to be tried again at")
}

// keep keeps a lease that was held at the beginning of the bubble, and returns when it was
// extended. The answers are the store's, after their delays.
func keep(ctx context.Context, term *lease.Term, answer func(ctx context.Context, after time.Duration) error) (at []time.Duration, over time.Duration, err error) {
	began := time.Now()
	err = term.Keep(ctx, errLost, func(ctx context.Context) error {
		at = append(at, time.Since(began))
		return answer(ctx, time.Since(began))
	})
	return at, time.Since(began), err
}

func seconds(all ...int) (at []time.Duration) {
	for _, s := range all {
		at = append(at, time.Duration(s)*time.Second)
	}
	return at
}

func TestKeepExtends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 35*time.Second)
		defer cancel()
		term := lease.NewTerm(ttl, 0)
		term.Extended(time.Now())
		at, _, err := keep(ctx, term, func(context.Context, time.Duration) error { return nil })
		if err != nil || !slices.Equal(at, seconds(10, 20, 30)) || !term.Valid(time.Now()) {
			t.Errorf("extended at %v with %v, want each 10 s", at, err)
		}
	})
}

func TestKeepTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 27*time.Second)
		defer cancel()
		term := lease.NewTerm(ttl, 0)
		term.Extended(time.Now())
		at, _, err := keep(ctx, term, func(_ context.Context, after time.Duration) error {
			if after < 14*time.Second {
				return errAway
			}
			return nil
		})
		if err != nil || !slices.Equal(at, seconds(10, 12, 14, 24)) {
			t.Errorf("extended at %v with %v", at, err)
		}
	})
}

func TestKeepEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(context.Context, time.Duration) error
		after  time.Duration
		err    error
	}{
		"lost": {func(context.Context, time.Duration) error { return errors.Join(errAway, errLost) }, 10 * time.Second, errLost},
		"away": {func(context.Context, time.Duration) error { return errAway }, 25 * time.Second, lease.ErrExpired},
		"hangs": {func(ctx context.Context, _ time.Duration) error {
			<-ctx.Done()
			return ctx.Err()
		}, 25 * time.Second, lease.ErrExpired},
	} {
		synctest.Test(t, func(t *testing.T) {
			term := lease.NewTerm(ttl, 5*time.Second)
			term.Extended(time.Now())
			if _, over, err := keep(t.Context(), term, tc.answer); over != tc.after || !errors.Is(err, tc.err) {
				t.Errorf("%s: ended after %v with %v, want %v after %v", name, over, err, tc.err, tc.after)
			}
		})
	}
}

func TestKeepAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 61*time.Second)
		defer cancel()
		term := lease.NewTerm(ttl, 0)
		at, _, err := keep(ctx, term, func(_ context.Context, after time.Duration) error {
			if after < 40*time.Second {
				return errAway
			}
			return nil
		})
		if err != nil || at[0] != 0 || at[1] != 2*time.Second || !slices.Equal(at[len(at)-3:], seconds(40, 50, 60)) {
			t.Errorf("asked at %v with %v, want at once and each 2 s until 40 s, then each 10 s", at, err)
		}
	})
}

func TestAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		asking, cancel := lease.Asking(ctx)
		defer cancel()
		end()
		began := time.Now()
		<-asking.Done()
		if got := time.Since(began); got != time.Second {
			t.Errorf("the request ended %v after its context, want 1 s", got)
		}
		if asking, cancel := lease.Asking(ctx); asking.Err() == nil {
			cancel()
			t.Error("a request begins after its context has ended")
		}
		asking, cancel = lease.Asking(t.Context())
		cancel()
		assert.Error(t, asking.Err(), "a request goes on after it was cancelled")
	})
}
