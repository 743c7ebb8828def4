package redissse

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/sse/driver"
)

// Listen hears messages until ctx ends; see [driver.Broker]. It holds one connection on
// a single server, and one per channel on a Cluster, whose nodes each know their own
// channels only. It returns an error when the client is closed, and when the server
// says that it lacks the right or the command.
func (b *broker) Listen(ctx context.Context, l driver.Listener) error {
	if l.Hear == nil || l.Up == nil || l.Down == nil {
		return bad("listen", "Hear, Up or Down of the Listener is nil; set all three")
	}
	each := [][]string{b.channels}
	if b.sharded {
		each = nil
		for _, channel := range b.channels {
			each = append(each, []string{channel})
		}
	}
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h := &hearing{l: l, deaf: len(each)}
	var all sync.WaitGroup
	for _, names := range each {
		one := &line{broker: b, channels: names, hearing: h}
		all.Go(func() {
			if err := one.keep(inner); err != nil {
				stop(err)
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return b.failed("listen", b.advise(context.Cause(inner)))
}

// useless says whether a retry cannot help.
func useless(err error) bool {
	return errors.Is(err, redis.ErrClosed) || redis.HasErrorPrefix(err, "NOPERM") || redis.HasErrorPrefix(err, "unknown command")
}

// hearing is all lines together: up when all are.
type hearing struct {
	l    driver.Listener
	mu   sync.Mutex
	deaf int // lines that are not up
}

func (h *hearing) up() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.deaf--; h.deaf == 0 {
		h.l.Up()
	}
}

func (h *hearing) down() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.deaf++; h.deaf == 1 {
		h.l.Down()
	}
}
