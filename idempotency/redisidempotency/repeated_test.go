package redisidempotency_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/redisidempotency"
	"github.com/millrace-go/millrace/internal/redistest"
)

// repeats is a client that sends the named commands twice, and gets only the second answer: as
// go-redis does by default when the first answer is late.
type repeats []string

func (repeats) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (repeats) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r repeats) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil && slices.Contains(r, strings.ToLower(cmd.Name())) {
			err = next(ctx, cmd)
		}
		return err
	}
}

// TestRepeatedCommands: a command that go-redis sends again, because its answer was late, finds
// its own work and not that of another worker.
func TestRepeatedCommands(t *testing.T) {
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		client.AddHook(repeats{"set", "setnx", "eval", "evalsha"})
		p := redistest.Prefix(t, client)
		s := newStore(t, client, redisidempotency.Config{Prefix: p})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // a lease lasts longer
		defer cancel()
		ran := 0
		for i, want := range []bool{true, false} {
			fresh, err := s.Once(ctx, record("g:1"), func(context.Context) error { ran++; return nil })
			if fresh != want || err != nil || ran != 1 {
				t.Errorf("call %d: fresh %v, %v, after %d runs of the handler; want %v", i+1, fresh, err, ran, want)
			}
		}
		l := newLeases(t, client, redisidempotency.Config{Prefix: p + "l:"})
		c, err := l.Claim(ctx, record("k"), time.Minute)
		if c.State != driver.Claimed || c.Token == 0 || err != nil {
			t.Fatalf("the claim of a free key: %+v, %v", c, err)
		}
		assert.NoError(t, l.Complete(ctx, c, []byte("done")))
	})
}

// TestCompletedByAnother: a call that lost its lease says so, also when the call that took over has
// completed the key.
func TestCompletedByAnother(t *testing.T) {
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		p := redistest.Prefix(t, client)
		s := newStore(t, client, redisidempotency.Config{Prefix: p, Lease: 30 * time.Millisecond})
		fresh, err := s.Once(t.Context(), record("g:1"), func(ctx context.Context) error {
			client.Set(ctx, p+"g:1", "another", 0)
			<-ctx.Done()
			return client.Set(t.Context(), p+"g:1", "1", 0).Err()
		})
		if fresh || !errors.Is(err, driver.ErrLeaseLost) {
			t.Errorf("%v, %v; want ErrLeaseLost", fresh, err)
		}
	})
}

// cuts is a client that ends the caller's context just when SET NX was executed.
type cuts struct {
	repeats
	end context.CancelFunc
}

func (c cuts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if name := cmd.Name(); name == "set" || name == "setnx" {
			if c.end(); ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return err
	}
}

// TestCutCommand: a call that is cancelled while it takes a key leaves the key free.
func TestCutCommand(t *testing.T) {
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		p := redistest.Prefix(t, client)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		client.AddHook(cuts{nil, end})
		s := newStore(t, client, redisidempotency.Config{Prefix: p})
		fresh, err := s.Once(ctx, record("g:1"), func(ctx context.Context) error { return ctx.Err() })
		if fresh || !errors.Is(err, context.Canceled) {
			t.Errorf("the call that was cancelled: %v, %v", fresh, err)
		}
		assert.EqualValues(t, 0, client.Exists(t.Context(), p+"g:1").Val(), "the key is held")
	})
}
