package heldseats_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/heldseats"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ttl = time.Minute

// mirrored is a box office whose held seats are copied.
type mirrored struct {
	*boxtest.Box
	t    *testing.T
	copy heldseats.Store
	logs *bytes.Buffer
	*heldseats.Mirror
}

func mirror(t *testing.T, to heldseats.Store) *mirrored {
	t.Helper()
	m := &mirrored{Box: boxtest.New(t), t: t, copy: to, logs: &bytes.Buffer{}}
	var err error
	m.Mirror, err = heldseats.New(m.Store, to, heldseats.Config{
		TTL: ttl, Holder: "test", Timeout: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(m.logs, nil)),
	})
	require.NoError(t, err)
	m.Catalog.SetMirror(m.Mirror)
	return m
}

// start runs a part until the test ends, or until it is stopped.
func (m *mirrored) start(part func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(m.t.Context())
	done := make(chan error, 1)
	go func() { done <- part(ctx) }()
	ended := false
	stop = func() {
		if !ended {
			ended = true
			cancel()
			if err := <-done; err != nil {
				m.t.Error(err)
			}
		}
	}
	m.t.Cleanup(stop)
	return stop
}

// want waits until the copy of show-1 is this.
func (m *mirrored) want(seats map[string]string) {
	m.t.Helper()
	var got map[string]string
	boxtest.WaitFor(m.t, "the copy of the held seats", func() (same bool) {
		var err error
		got, err = m.copy.Read(m.t.Context(), "show-1")
		return err == nil && maps.Equal(got, seats)
	}, func() string { return fmt.Sprintf("it is %v, want %v", got, seats) })
}

func (m *mirrored) repair() {
	m.t.Helper()
	lease, err := m.Store.TakeLease(m.t.Context(), "held-seats", "test", time.Minute)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := m.Repair(m.t.Context(), lease); err != nil {
		m.t.Fatal(err)
	}
}

func inRedis(t *testing.T, client redis.UniversalClient, prefix string) heldseats.Store {
	t.Helper()
	to, err := heldseats.NewRedis(client, prefix)
	require.NoError(t, err)
	return to
}

func mini(t *testing.T) (*miniredis.Miniredis, redis.UniversalClient) {
	t.Helper()
	server := miniredis.RunT(t)
	return server, redistest.Open(t, "redis://"+server.Addr())
}

// stores are the stores that can hold the copy.
func stores(t *testing.T, each func(t *testing.T, to heldseats.Store)) {
	t.Run("memory", func(t *testing.T) { each(t, heldseats.NewMemory()) })
	t.Run("miniredis", func(t *testing.T) {
		_, client := mini(t)
		each(t, inRedis(t, client, "box:"))
	})
	t.Run("redis", func(t *testing.T) {
		client := redistest.Open(t, servicetest.Redis(t))
		each(t, inRedis(t, client, redistest.Prefix(t, client)))
	})
	t.Run("cluster", func(t *testing.T) {
		client := redistest.Open(t, "redis://"+servicetest.RedisCluster(t))
		each(t, inRedis(t, client, redistest.Prefix(t, client)))
	})
}

// After each commit the copy has the held seats, and the stop of the process writes the
// rest.
func TestMirror(t *testing.T) {
	stores(t, func(t *testing.T, to heldseats.Store) {
		m := mirror(t, to)
		stop := m.start(m.Run)
		a := m.Reserve(t, "ann", "A-1", "A-2")
		b := m.Reserve(t, "bob", "B-1")
		m.want(map[string]string{"A-1": a.ID, "A-2": a.ID, "B-1": b.ID})
		if _, err := m.Booking.Reserve(t.Context(), "cid", "show-1", []string{"C-1", "A-1"}); err == nil {
			t.Error("a taken seat was held")
		}
		m.Deliver(t, m.Paid(t, m.Pay(t, a, boxtest.Approve)))
		m.want(map[string]string{"B-1": b.ID})
		_, err := m.Booking.Cancel(t.Context(), "bob", b.ID)
		require.NoError(t, err)
		m.want(map[string]string{"B-1": b.ID}) // it is on hold until the event is handled
		m.Deliver(t, m.Outbox.Take()...)
		m.want(map[string]string{})
		c := m.Reserve(t, "cid", "C-1")
		stop()
		m.want(map[string]string{"C-1": c.ID})
	})
}

// The key and its form are a contract.
func TestKey(t *testing.T) {
	server, client := mini(t)
	m := mirror(t, inRedis(t, client, "box:"))
	m.start(m.Run)
	r := m.Reserve(t, "ann", "A-1")
	m.want(map[string]string{"A-1": r.ID})
	if got := server.HGet("box:hold_seats:show-1", "A-1"); got != r.ID || len(server.Keys()) != 1 {
		t.Errorf("%q, keys %v", got, server.Keys())
	}
}

// A Redis that has lost everything is filled again by the sweep, without a booking.
func TestLostCopy(t *testing.T) {
	stores(t, func(t *testing.T, to heldseats.Store) {
		m := mirror(t, to)
		r := m.Reserve(t, "ann", "A-1", "A-2") // and it is not written
		m.start(m.Sweep)
		m.want(map[string]string{"A-1": r.ID, "A-2": r.ID})
	})
}

// Every error in the copy is repaired: a seat too few, one too many, one of another.
func TestWrongCopy(t *testing.T) {
	stores(t, func(t *testing.T, to heldseats.Store) {
		m := mirror(t, to)
		r := m.Reserve(t, "ann", "A-1", "A-2")
		err := to.Change(t.Context(), "show-1", ttl,
			heldseats.Change{Seat: "A-2", Was: heldseats.Any, Now: "another"}, heldseats.Change{Seat: "B-1", Was: heldseats.Any, Now: "nobody's"})
		require.NoError(t, err)
		m.repair()
		m.want(map[string]string{"A-1": r.ID, "A-2": r.ID})
	})
}

// Of two changes, the newer one stays even if the older one comes last.
func TestLateChange(t *testing.T) {
	stores(t, func(t *testing.T, to heldseats.Store) {
		m := mirror(t, to)
		m.start(m.Run)
		m.Held("show-1", "new", []string{"A-1"})
		m.want(map[string]string{"A-1": "new"})
		m.Freed("show-1", "old", []string{"A-1"})
		m.Held("show-1", "new", []string{"A-2"})
		m.want(map[string]string{"A-1": "new", "A-2": "new"})
		// A repair that saw the seat free before does not take it from its new holder.
		require.NoError(t, to.Change(t.Context(), "show-1", ttl, heldseats.Change{Seat: "A-1", Was: "", Now: "old"}))
		m.want(map[string]string{"A-1": "new", "A-2": "new"})
	})
}

// During an outage of Redis seats are held, sold and freed. Then the copy is right again.
func TestRedisAway(t *testing.T) {
	server, client := mini(t)
	m := mirror(t, inRedis(t, client, ""))
	stop := m.start(m.Run)
	server.Close()
	sold, kept := m.Reserve(t, "ann", "A-1"), m.Reserve(t, "bob", "B-1")
	m.Deliver(t, m.Paid(t, m.Pay(t, sold, boxtest.Approve)))
	assert.Equal(t, "SOLDHOLD", m.Seat(t, "show-1", "A-1")+m.Seat(t, "show-1", "B-1"))
	m.repair()
	m.repair()
	require.NoError(t, server.Restart())
	server.FlushAll()
	m.repair()
	m.want(map[string]string{"B-1": kept.ID})
	stop()
	if n := strings.Count(m.logs.String(), "can't be written"); n != 1 {
		t.Errorf("the outage was logged %d times:\n%s", n, m.logs)
	}
}

// Without a writer the waiting changes are bounded, and the repair restores the dropped
// ones.
func TestBound(t *testing.T) {
	_, client := mini(t)
	m := mirror(t, inRedis(t, client, ""))
	seats := make([]string, 1000)
	for i := range seats {
		seats[i] = fmt.Sprint("X-", i)
	}
	for i := range 11 {
		m.Held("show-1", fmt.Sprint("r-", i), seats)
	}
	r := m.Reserve(t, "ann", "A-1")
	stop := m.start(m.Run)
	boxtest.WaitFor(t, "the waiting changes to be written", func() bool {
		got, err := m.copy.Read(t.Context(), "show-1")
		return err == nil && len(got) > 0
	})
	got, err := m.copy.Read(t.Context(), "show-1")
	if err != nil || len(got) != 1000 || got["X-0"] != "r-9" {
		t.Errorf("%d seats, the first by %s; want 1000 by the tenth: %v", len(got), got["X-0"], err)
	}
	stop()
	m.repair()
	m.want(map[string]string{"A-1": r.ID})
}

// Without a box office the copy disappears; with one it stays.
func TestExpiry(t *testing.T) {
	server, client := mini(t)
	m := mirror(t, inRedis(t, client, ""))
	r := m.Reserve(t, "ann", "A-1")
	m.repair()
	server.FastForward(ttl - time.Second)
	m.repair()
	server.FastForward(ttl - time.Second)
	m.want(map[string]string{"A-1": r.ID})
	server.FastForward(time.Second)
	m.want(map[string]string{})
}

func TestBadConfig(t *testing.T) {
	b := boxtest.New(t)
	for text, cfg := range map[string]heldseats.Config{
		"TTL": {Holder: "x"}, "Holder": {TTL: 1}, "Every": {TTL: 1, Holder: "x", Every: -1}, "Timeout": {TTL: 1, Holder: "x", Timeout: -1},
	} {
		if _, err := heldseats.New(b.Store, heldseats.NewMemory(), cfg); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := heldseats.NewRedis(nil, ""); err == nil {
		t.Error("a nil client was accepted")
	}
}
