package redisgate_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/redisgate"
	"github.com/millrace-go/millrace/queue/token"
)

const event = "show-1"

// newGate makes a process' gate, with a store of its own.
func newGate(t testing.TB, client redis.UniversalClient, prefix string) *frontgate.Gate {
	t.Helper()
	store, err := redisgate.New(client, redisgate.Config{Prefix: prefix})
	require.NoError(t, err)
	ring, err := token.NewRing("0123456789abcdef0123456789abcdef")
	require.NoError(t, err)
	g, err := frontgate.New(store, ring, frontgate.Config{})
	require.NoError(t, err)
	return g
}

// Eight processes on one Redis: positions are unique and dense, and a position from
// one process can be checked by another.
func TestManyGates(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			prefix := redistest.Prefix(t, client)
			first := newGate(t, client, prefix)
			_, err := first.Activate(t.Context(), event)
			require.NoError(t, err)
			const instances, callers, calls = 8, 8, 20
			var mu sync.Mutex
			var given []int64
			var ids []string
			var all sync.WaitGroup
			for range instances {
				g := newGate(t, client, prefix)
				for range callers {
					all.Go(func() {
						for range calls {
							p, err := g.Assign(t.Context(), event, "")
							if err != nil {
								t.Error(err)
								return
							}
							mu.Lock()
							given, ids = append(given, p.Position), append(ids, p.RequestID)
							mu.Unlock()
						}
					})
				}
			}
			all.Wait()
			for i, one := range slices.Sorted(slices.Values(given)) {
				if one != int64(i)+1 {
					t.Fatalf("of %d positions the %d. is %d", len(given), i+1, one)
				}
			}
			round, err := first.Advance(t.Context(), event, 500)
			require.NoError(t, err)
			for i, id := range ids {
				turn, err := first.Check(t.Context(), event, id, "")
				if err != nil || turn.Position != given[i] || turn.Admitted != (given[i] <= round.Serving) {
					t.Fatalf("position %d: %+v, %v", given[i], turn, err)
				}
			}
		})
	}
}

// benchCallers is how many goroutines call at once.
const benchCallers = 64

func parallel(b *testing.B, call func() error) {
	b.Helper()
	b.SetParallelism((benchCallers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := call(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// bench is a gate that is on, with a position given out and the given number served.
func bench(b *testing.B, served int64) (*frontgate.Gate, string) {
	b.Helper()
	client := servers["redis"](b)
	g := newGate(b, client, redistest.Prefix(b, client))
	_, err := g.Activate(b.Context(), event)
	require.NoError(b, err)
	place, err := g.Assign(b.Context(), event, "")
	if err == nil && served > 0 {
		_, err = g.Advance(b.Context(), event, served)
	}
	require.NoError(b, err)
	return g, place.RequestID
}

func BenchmarkAssign(b *testing.B) {
	g, _ := bench(b, 0)
	parallel(b, func() error { _, err := g.Assign(b.Context(), event, ""); return err })
}

// A waiting visitor polls.
func BenchmarkCheck(b *testing.B) {
	g, id := bench(b, 0)
	parallel(b, func() error { _, err := g.Check(b.Context(), event, id, ""); return err })
}

// An admitted visitor gets a token.
func BenchmarkCheckAdmitted(b *testing.B) {
	g, id := bench(b, 1)
	parallel(b, func() error { _, err := g.Check(b.Context(), event, id, ""); return err })
}

// The edge checks a token.
func BenchmarkPosition(b *testing.B) {
	g, id := bench(b, 1)
	turn, err := g.Check(b.Context(), event, id, "")
	if err != nil {
		b.Fatal(err)
	}
	parallel(b, func() error { _, err := g.Position(b.Context(), event, turn.Token, ""); return err })
}
