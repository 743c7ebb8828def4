package rediscounter_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
)

// byPost returns the plainer name of a delta.
func byPost(post int) string { return fmt.Sprintf("count:comment:delta:{post-%d}", post) }

// TestKeysByPostAreNoBatch shows why these names are not used: keys that are moved aside
// together must be in one slot.
func TestKeysByPostAreNoBatch(t *testing.T) {
	slots := map[uint16]bool{}
	for post := range 5000 {
		slots[slotOf(byPost(post))] = true
	}
	if len(slots) < 4000 {
		t.Errorf("5,000 posts are of %d slots", len(slots))
	}
	client, ctx := servers["cluster"](t), t.Context()
	move := redis.NewScript(`for _, key in ipairs(KEYS) do redis.call('DEL', key) end return #KEYS`)
	if err := move.Run(ctx, client, []string{byPost(1), byPost(2)}).Err(); err == nil || !strings.Contains(err.Error(), "CROSSSLOT") {
		t.Errorf("the deltas of two posts were moved together: %v", err)
	}
	if n, err := move.Run(ctx, client, []string{byPost(1)}).Int(); n != 1 || err != nil {
		t.Errorf("one alone: %d, %v", n, err)
	}
}

// TestAFlushIsAFewBatches: the cost of a flush does not grow with the number of changed posts.
func TestAFlushIsAFewBatches(t *testing.T) {
	client := servers["redis"](t)
	s, ctx := newStore(t, client, redistest.Prefix(t, client)), t.Context()
	const posts = 5000
	for post := range posts {
		require.NoError(t, s.Add(ctx, "comment", fmt.Sprint("post-", post), 1))
	}
	var commands commandCount
	client.AddHook(&commands)
	taken, err := s.Take(ctx, "comment", 1000)
	require.NoError(t, err)
	moved := 0
	for _, batch := range taken {
		moved += len(batch.Deltas)
	}
	if moved != posts || len(taken) > 16 || commands.Load() > 40 { // a read and a script for each part, and a connection
		t.Errorf("%d of %d posts are in %d batches, which took %d commands", moved, posts, len(taken), commands.Load())
	}
}

// commandCount counts commands, also each one in a pipeline.
type commandCount struct{ atomic.Int64 }

func (c *commandCount) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *commandCount) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.Add(1); return next(ctx, cmd) }
}

func (c *commandCount) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error { c.Add(int64(len(all))); return next(ctx, all) }
}

// slotOf returns a Cluster's slot: CRC16 (XMODEM) of the text in braces, modulo 16384.
func slotOf(key string) (crc uint16) {
	_, tag, _ := strings.Cut(key, "{")
	tag, _, _ = strings.Cut(tag, "}")
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}
