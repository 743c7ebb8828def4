package redisqueue_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/draw"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/filesettings"
	"github.com/millrace-go/millrace/queue/token"
)

// presale is a room on Redis that opens in an hour, which ahead can make pass.
type presale struct {
	*room
	queue *queue.Room
}

func newPresale(t *testing.T, client redis.UniversalClient, prefix string) *presale {
	t.Helper()
	p := &presale{room: newRoom(t, client, prefix, 1)}
	settings, err := filesettings.Open(filepath.Join(t.TempDir(), "settings.json"))
	require.NoError(t, err)
	keys, err := token.NewRing(strings.Repeat("s", 32))
	require.NoError(t, err)
	p.queue, err = queue.New(p.store, keys, queue.Config{Threshold: 1, Settings: settings, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = p.queue.OpenAt(t.Context(), "e", p.room.visit().Now.Add(time.Hour), "")
	require.NoError(t, err)
	return p
}

func (p *presale) join(n int) {
	p.t.Helper()
	for from := 0; from < n; from += driver.MaxVisits {
		visits := make([]driver.Visit, min(driver.MaxVisits, n-from))
		for i := range visits {
			visits[i].User = fmt.Sprintf("user-%011d", from+i)
		}
		p.visit(visits...)
	}
}

// open has an admitter draw, and returns how long it took.
func (p *presale) open() time.Duration {
	p.t.Helper()
	p.ahead.Add((time.Hour - driver.FreezeBefore).Microseconds())
	ctx, stop := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	start := time.Now()
	go func() { ended <- p.queue.Run(ctx) }()
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C { // as long as it takes on a busy machine
		s, err := p.queue.State(p.t.Context(), "e")
		require.NoError(p.t, err)
		if s.Phase == driver.Opened {
			tick.Stop()
			break
		}
	}
	took := time.Since(start)
	stop()
	require.NoError(p.t, <-ended)
	return took
}

// TestDraw draws a room in Redis, whose users then have the places of what is
// published, before all that came after the freeze.
func TestDraw(t *testing.T) {
	const users = 1500
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			prefix := redistest.Prefix(t, client)
			p := newPresale(t, client, prefix)
			p.join(users)
			require.Positive(t, p.open())
			p.check("late")
			pub, err := p.queue.Published(t.Context(), "e")
			require.NoError(t, err)
			var leaves []draw.Leaf
			require.NoError(t, p.queue.Leaves(t.Context(), "e", func(part []draw.Leaf) error { leaves = append(leaves, part...); return nil }))
			placeOf, err := pub.Verify(leaves)
			require.NoError(t, err)
			require.Len(t, leaves, users)
			for i := range users {
				user := fmt.Sprintf("user-%011d", i)
				leaf, err := p.queue.Receipt(t.Context(), "e", user)
				require.NoError(t, err)
				place := placeOf(leaf)
				require.Positive(t, place)
				if i%100 == 0 {
					require.Equal(t, place-1, p.check(user).Ahead)
				}
			}
			require.Equal(t, users, p.check("late").Ahead)
			for name, ttl := range ttls(t, client, prefix) {
				if name == "draw" || name == "leaves" {
					require.InDelta(t, 7*24, ttl.Hours(), 1, name)
				}
			}
			// The room lapses before its draw, and opens once more.
			require.NoError(t, client.Del(t.Context(), prefix+"{e}:room").Err())
			_, err = p.queue.Clear(t.Context(), "e")
			require.NoError(t, err)
			_, err = p.queue.OpenAt(t.Context(), "e", p.room.visit().Now.Add(time.Hour), "")
			require.NoError(t, err)
			p.ahead.Add(time.Hour.Microseconds())
			d, err := p.store.(driver.Drawer).Draw(t.Context(), "e", p.rules, driver.DrawStep{Kind: driver.DrawFreeze, Holder: 1})
			require.NoError(t, err)
			require.Equal(t, driver.Frozen, d.Phase)
			require.Empty(t, d.Seed, "it is published with the next leaves")
		})
	}
}

// TestDrawOfMany draws 200,000 users, with all that a draw is, and prints how long it
// takes and what a user costs. It has a server of its own.
func TestDrawOfMany(t *testing.T) {
	if testing.Short() {
		t.Skip("200,000 users in Redis")
	}
	const users = 200_000
	s := redistest.StartServer(t)
	client := open(t, s.URL())
	bytes := func() int {
		info, err := client.Info(t.Context(), "memory").Result()
		require.NoError(t, err)
		_, rest, _ := strings.Cut(info, "used_memory_dataset:")
		n := 0
		_, err = fmt.Sscan(rest, &n)
		require.NoError(t, err)
		return n
	}
	p := newPresale(t, client, "")
	before := bytes()
	p.join(users)
	waiting := bytes()
	require.NoError(t, client.ConfigResetStat(t.Context()).Err())
	took := p.open()
	drawn := bytes()
	stats, err := client.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	t.Logf("%d users: drawn in %s; %d bytes a head before the freeze, %d with the leaves", users, took, (waiting-before)/users, (drawn-before)/users)
	for line := range strings.Lines(stats) {
		if strings.HasPrefix(line, "cmdstat_evalsha") {
			t.Log(strings.TrimSpace(line))
		}
	}
	require.LessOrEqual(t, (waiting-before)/users, 160)
}
