package cli_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/redisidempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sqltx"
)

// history is a topic with events, and the store of its consumers' keys.
type history struct {
	bus                        *bus.Bus
	rawURL, topic, group, keys string
	store                      driver.SQLStore[*sql.Tx]
	began                      string // before the first event, as --since takes it
}

// keysIn makes a store of keys in the database of a URL.
func keysIn(t *testing.T, rawURL string) driver.SQLStore[*sql.Tx] {
	t.Helper()
	d, err := database.Open(rawURL, true)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, d.Close())
	})
	s, err := sqlidempotency.New(d.DB, sqlidempotency.Config{Dialect: sqltx.Dialect(d.Dialect)})
	if err == nil {
		err = s.Migrate(t.Context())
	}
	require.NoError(t, err)
	return s
}

// written makes a history of n events. Keys are in the transport's own database, or else in
// a file.
func written(t *testing.T, rawURL, topic, group string, n int) *history {
	t.Helper()
	keys := rawURL
	if _, err := database.DialectOf(rawURL); err != nil {
		keys = "sqlite://" + filepath.Join(t.TempDir(), "keys.db")
	}
	h := &history{
		bus: openBus(t, rawURL), rawURL: rawURL, topic: topic, group: group, keys: keys, store: keysIn(t, keys),
		began: time.Now().Add(-time.Hour).Format(time.RFC3339Nano),
	}
	require.NoError(t, h.bus.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
	all := make([]*message.Message, n)
	for i := range all {
		e, err := event.New("OrderPlaced", "/shop", map[string]int{"n": i})
		require.NoError(t, err)
		e.AggregateID = fmt.Sprint("order-", i%100)
		if all[i], err = (event.Structured{}).Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	for some := range slices.Chunk(all, 1000) {
		require.NoError(t, h.bus.Publisher().Publish(topic, some...))
	}
	return h
}

// effects runs a group's consumer until it has handled everything, and counts its effects.
func (h *history) effects(t *testing.T, group string) int {
	t.Helper()
	guard, err := idempotency.New[*sql.Tx](h.store, idempotency.Config{Group: group})
	require.NoError(t, err)
	r, err := bus.NewRunner(h.bus, bus.RunnerConfig{})
	require.NoError(t, err)
	var n atomic.Int64
	require.NoError(t, r.Add(bus.BatchConsumer{
		Topic: h.topic, Group: group, Size: 500, Concurrency: 2, Window: 2000,
		Guarded: guard.HandleBatch(func(_ context.Context, _ *sql.Tx, fresh []event.Event) error {
			n.Add(int64(len(fresh)))
			return nil
		}),
	}))
	h.through(t, r, group)
	return int(n.Load())
}

// through runs a runner until its group has no messages left.
func (h *history) through(t *testing.T, r *bus.Runner, group string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	for left := true; left; {
		select {
		case err := <-ended:
			t.Fatalf("the runner ended: %v", err)
		case <-t.Context().Done():
			t.Fatal("the test is over")
		case <-time.After(20 * time.Millisecond):
		}
		lags, err := h.bus.Lag(t.Context())
		require.NoError(t, err)
		// A broker may take a moment to know a new group.
		left = !slices.ContainsFunc(lags, func(l bus.Lag) bool { return l.Topic == h.topic && l.Group == group && l.Messages == 0 })
	}
	stop()
	require.NoError(t, <-ended)
	for live := true; live; { // a broker may take a moment to notice
		all, err := h.bus.Groups(t.Context(), h.topic)
		require.NoError(t, err)
		live = slices.ContainsFunc(all, func(g busdriver.Group) bool { return g.Group == group && g.Live })
	}
}

func (h *history) replay(ctx context.Context, s cli.Streams, args ...string) run {
	return toolWith(ctx, s, append([]string{
		"replay", "--topic", h.topic, "--group", h.group, "--since", h.began, "--keys", h.keys, "--bus", h.rawURL, "--yes",
	}, args...)...)
}

// cutAt is an error stream that cancels a context when given words are written to it.
type cutAt struct {
	words  string
	cancel context.CancelFunc
}

func (c cutAt) Write(text []byte) (int, error) {
	if bytes.Contains(text, []byte(c.words)) {
		c.cancel()
	}
	return len(text), nil
}

// 10,000 events have one effect each. A replay adds none, a replay with --again one more of
// each, also when it is interrupted at any of its steps and repeated; and a new group
// beside has one of each.
func TestReplay(t *testing.T) {
	t.Parallel()
	const n = 10_000
	for _, name := range []string{"sqlite", "postgres", "mariadb", "mysql", "redis", "kafka", "nats"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := uniqueTopic()
			group := ownGroup(topic)
			h := written(t, transports[name](t, topic), topic, group, n)
			has := func(what, group string, want int) {
				t.Helper()
				if got := h.effects(t, group); got != want {
					t.Fatalf("%s: %d effects, want %d", what, got, want)
				}
			}
			has("the first time", group, n)

			h.replay(t.Context(), cli.Streams{}, "--dry-run").want(t, 0, "10000 events since", "10000 of them have a key of group "+group+": its guard skips them", "the group would get 10000 messages again")
			h.replay(t.Context(), cli.Streams{}).want(t, 0, "the group gets 10000 messages again; start its consumers")
			has("replayed", group, 0)

			for _, words := range []string{"reading the events", "forgetting the keys", "moving group"} {
				ctx, cancel := context.WithCancel(t.Context())
				streams := cli.Streams{Err: cutAt{words, cancel}}
				if words == "reading the events" { // with --yes nothing is read beforehand
					h.replay(ctx, streams, "--again", "--dry-run").want(t, 130, "interrupted")
				} else {
					h.replay(ctx, streams, "--again").want(t, 130, "the same command forgets the keys that are left and moves it")
				}
				cancel()
				if got := groupsOf(t, h.rawURL, topic); len(got) != 1 || got[0].Lag != 0 {
					t.Errorf("interrupted at %q, the group is moved before all keys are forgotten: %+v", words, got)
				}
			}
			has("after interruptions", group, 0)
			got := read[struct{ Events, Forgotten, Again int }](t, h.replay(t.Context(), cli.Streams{}, "--again", "--json").want(t, 0))
			if got.Events != n || got.Again != n {
				t.Errorf("it says %+v", got)
			}
			has("replayed with --again", group, n)

			h.replay(t.Context(), cli.Streams{}, "--as", "audit").want(t, 0, "0 of them have a key of group audit", "the new group audit begins there")
			has("beside", "audit", n)
		})
	}
}

// A replay moves no group ahead: messages that it has not handled yet are not skipped, nor
// are those of another group whose name is given as that of a new one.
func TestReplaySkipsNothing(t *testing.T) {
	t.Parallel()
	topic := uniqueTopic()
	h := written(t, transports["sqlite"](t, topic), topic, group, 10)
	h.began = time.Now().Add(time.Hour).Format(time.RFC3339Nano)
	h.replay(t.Context(), cli.Streams{}).want(t, 0, "0 events since", "the group gets 0 messages again")
	assert.Equal(t, 10, h.effects(t, group), "effects")

	require.NoError(t, h.bus.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{"audit"}}))
	h.replay(t.Context(), cli.Streams{}, "--as", "audit").want(t, 1, "group audit of "+topic+" is there already, and would skip 10 messages from before --since")
	assert.Equal(t, 10, h.effects(t, "audit"), "effects of the group that was there")
	h.replay(t.Context(), cli.Streams{}, "--as", "audit").want(t, 0, "the new group audit begins there") // it has nothing left to skip
}

// A replay that ends after it has forgotten keys says how many, also to programs.
func TestReplayTellsHowFarItGot(t *testing.T) {
	t.Parallel()
	topic := uniqueTopic()
	h := written(t, transports["sqlite"](t, topic), topic, group, 10)
	require.Equal(t, 10, h.effects(t, group), "effects")
	ctx, cancel := context.WithCancel(t.Context())
	cut := h.replay(ctx, cli.Streams{Err: cutAt{"moving group", cancel}}, "--again", "--json")
	cut.want(t, 130, "10 keys of group "+group+" forgotten, and the group was not moved")
	got := read[struct {
		Forgotten, Again int
		Error            string
	}](t, cut)
	assert.Equal(t, 10, got.Forgotten, "forgotten")
	assert.Zero(t, got.Again)
	assert.NotEmpty(t, got.Error)
	h.replay(t.Context(), cli.Streams{}, "--again").want(t, 0, "0 keys of group "+group+" forgotten", "the group gets 10 messages again")
	assert.Equal(t, 10, h.effects(t, group), "effects of the replay")
}

// Keys in Redis alone, and in Redis before a database, are forgotten as well.
func TestReplayForgetsInRedis(t *testing.T) {
	t.Parallel()
	topic := uniqueTopic()
	h := written(t, transports["sqlite"](t, topic), topic, group, 100)
	raw := servicetest.Redis(t)
	client, err := redisdb.Open(raw, redisdb.Config{})
	require.NoError(t, err)
	defer client.Close()
	prefix := topic + ":"
	fast, err := redisidempotency.New(client, redisidempotency.Config{Prefix: prefix})
	require.NoError(t, err)
	layered, err := idempotency.NewLayered(fast, h.store, idempotency.LayeredConfig{Timeout: 10 * time.Second})
	require.NoError(t, err)
	for name, store := range map[string]driver.Store{"alone": fast, "layered": layered} {
		group := group
		guard, err := idempotency.New[idempotency.NoTx](store, idempotency.Config{Group: group})
		require.NoError(t, err)
		var n atomic.Int64
		effects := func() int64 {
			n.Store(0)
			r, err := bus.NewRunner(h.bus, bus.RunnerConfig{})
			if err == nil {
				err = r.Add(bus.Consumer{Topic: topic, Group: group, Concurrency: 8, Guarded: guard.Handle(func(context.Context, idempotency.NoTx, event.Event) error {
					n.Add(1)
					return nil
				})})
			}
			require.NoError(t, err)
			h.through(t, r, group)
			return n.Load()
		}
		both := []string{"--keys", raw, "--keys-prefix", prefix}
		for i, want := range []int64{100, 0, 100} {
			if got := effects(); got != want {
				t.Errorf("%s, run %d: %d effects, want %d", name, i+1, got, want)
			}
			if i < 2 {
				h.replay(t.Context(), cli.Streams{}, append(both, []string{"--json", "--again"}[i])...).want(t, 0)
			}
		}
		h.replay(t.Context(), cli.Streams{}, append(both, "--again")...).want(t, 0, "100 keys of group "+group+" forgotten")
	}
}

// Messages that are not events are counted separately: they have no keys.
func TestReplayOfOtherMessages(t *testing.T) {
	t.Parallel()
	topic := uniqueTopic()
	h := written(t, transports["sqlite"](t, topic), topic, group, 2)
	require.NoError(t, h.bus.Publisher().Publish(topic, message.NewMessage("1", []byte("no event"))))
	h.replay(t.Context(), cli.Streams{}, "--dry-run").want(t, 0, "2 events since", "and 1 message that are no events")
	asked := toolWith(t.Context(), cli.Streams{Asks: true, In: strings.NewReader("n\n")},
		"replay", "--topic", topic, "--group", group, "--since", "1h", "--again", "--keys", h.keys, "--bus", h.rawURL)
	asked.want(t, 1, "so that it gets 0 messages again, and forget 0 keys? [y/N]", "nothing was done")
	bare := tool(t, "replay", "--topic", topic, "--group", group, "--since", "1h", "--dry-run", "--bus", h.rawURL).want(t, 0)
	assert.Contains(t, bare.out, "name the store of its idempotency keys with --keys", "without --keys")
}
