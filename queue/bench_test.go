package queue_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/token"
)

// million is a store with a million in line. Every look finds that the first of
// them were admitted.
type million struct {
	driver.Store
	admit   int64 // between two looks
	version atomic.Int64
	beats   atomic.Int64
	now     time.Time
}

const (
	crowd      = 1_000_000
	crowdEpoch = 7
	crowdFirst = 1_700_000_000_000_000 / driver.BlockSize * driver.BlockSize
)

func (m *million) head() int64 { return m.version.Load() * m.admit }

func (m *million) state() queue.State {
	return queue.State{
		Epoch: crowdEpoch, Now: m.now, Threshold: 1000, Active: 1000, Waiting: int(crowd - m.head()),
		Rate: driver.Rate{Admitted: 6000, Over: time.Minute},
	}
}

func (m *million) Look(_ context.Context, _ string, _ driver.Rules, epoch, version uint64) (driver.View, error) {
	const blocks = (crowd + driver.BlockSize - 1) / driver.BlockSize
	v := driver.View{Full: version == 0}
	first := int64(0)
	if version == 0 {
		m.version.Store(0)
		v.Version = driver.MaxBlocks
	} else if version < blocks {
		first = int64(version)
		v.Version = version + driver.MaxBlocks
	} else {
		first = m.head() / driver.BlockSize
		m.version.Add(1)
		v.Version = version + 1
	}
	last := first + driver.MaxBlocks
	if version >= blocks {
		last = m.head()/driver.BlockSize + 1
	}
	v.More = version+driver.MaxBlocks < blocks
	for n := first; n < min(last, blocks); n++ {
		b := driver.Block{Number: crowdFirst/driver.BlockSize + n}
		for i := range int64(driver.BlockSize) {
			if at := n*driver.BlockSize + i; at >= m.head() && at < crowd {
				b.Bits[i/64] |= 1 << (i % 64)
			}
		}
		v.Blocks = append(v.Blocks, b)
	}
	v.State = m.state()
	return v, nil
}

func (m *million) Visit(_ context.Context, _ string, _ driver.Rules, b driver.Beats, visits []driver.Visit) (driver.Visited, error) {
	m.beats.Add(int64(len(b.Orders)))
	return driver.Visited{State: m.state(), Outcomes: make([]driver.Outcome, len(visits))}, nil
}

func tickets(b testing.TB, ring *token.Ring, n int) []queue.Visitor {
	b.Helper()
	sealer := seal.NewTickets(ring)
	all := make([]queue.Visitor, n)
	for i := range all {
		user := "user-" + strconv.Itoa(i)
		order := crowdFirst + rand.Int64N(crowd)
		all[i] = queue.Visitor{User: user, Ticket: sealer.Seal(seal.Ticket{Event: "show-1", User: user, Epoch: crowdEpoch, Order: order, Until: time.Now().Add(time.Hour)})}
	}
	return all
}

// BenchmarkPoll is a poll with a ticket at a million waiting, by 64 goroutines.
func BenchmarkPoll(b *testing.B) {
	ring := ring(b)
	room := open(b, &million{now: time.Now()}, queue.Config{})
	visitors := tickets(b, ring, 100_000)
	ctx := context.Background()
	if _, err := room.Check(ctx, "show-1", visitors[0]); err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		i := rand.IntN(len(visitors))
		for pb.Next() {
			if i++; i >= len(visitors) {
				i = 0
			}
			place, err := room.Check(ctx, "show-1", visitors[i])
			if err != nil || place.Status != queue.Waiting {
				b.Error(place, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "polls/s")
}

// BenchmarkTicket is the part of a poll that opens its ticket.
func BenchmarkTicket(b *testing.B) {
	ring := ring(b)
	v := tickets(b, ring, 1)[0]
	opener := seal.NewTickets(ring)
	for b.Loop() {
		if _, err := opener.Open(v.Ticket, "show-1", v.User); err != nil {
			b.Fatal(err)
		}
	}
}
