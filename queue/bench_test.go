package queue_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/token"
)

// million is a store with a million in line. Every look finds that the first of
// them were admitted.
type million struct {
	queue.Store
	admit   int64 // between two looks
	version atomic.Int64
	beats   atomic.Int64
	now     time.Time
}

const (
	crowd      = 1_000_000
	crowdEpoch = 7
	crowdFirst = 1_700_000_000_000_000 / queue.BlockSize * queue.BlockSize
)

func (m *million) head() int64 { return m.version.Load() * m.admit }

func (m *million) state() queue.State {
	return queue.State{
		Epoch: crowdEpoch, Now: m.now, Threshold: 1000, Active: 1000, Waiting: int(crowd - m.head()),
		Rate: queue.Rate{Admitted: 6000, Over: time.Minute},
	}
}

func (m *million) Look(_ context.Context, _ string, _ queue.Rules, epoch, version uint64) (queue.View, error) {
	const blocks = (crowd + queue.BlockSize - 1) / queue.BlockSize
	v := queue.View{Full: version == 0}
	first := int64(0)
	if version == 0 {
		m.version.Store(0)
		v.Version = queue.MaxBlocks
	} else if version < blocks {
		first = int64(version)
		v.Version = version + queue.MaxBlocks
	} else {
		first = m.head() / queue.BlockSize
		m.version.Add(1)
		v.Version = version + 1
	}
	last := first + queue.MaxBlocks
	if version >= blocks {
		last = m.head()/queue.BlockSize + 1
	}
	v.More = version+queue.MaxBlocks < blocks
	for n := first; n < min(last, blocks); n++ {
		b := queue.Block{Number: crowdFirst/queue.BlockSize + n}
		for i := range int64(queue.BlockSize) {
			if at := n*queue.BlockSize + i; at >= m.head() && at < crowd {
				b.Bits[i/64] |= 1 << (i % 64)
			}
		}
		v.Blocks = append(v.Blocks, b)
	}
	v.State = m.state()
	return v, nil
}

func (m *million) Visit(_ context.Context, _ string, _ queue.Rules, b queue.Beats, visits []queue.Visit) (queue.Visited, error) {
	m.beats.Add(int64(len(b.Orders)))
	return queue.Visited{State: m.state(), Outcomes: make([]queue.Outcome, len(visits))}, nil
}

func tickets(b testing.TB, ring *token.Ring, n int) []queue.Visitor {
	b.Helper()
	sealer := token.NewTickets(ring)
	all := make([]queue.Visitor, n)
	for i := range all {
		user := "user-" + strconv.Itoa(i)
		order := crowdFirst + rand.Int64N(crowd)
		all[i] = queue.Visitor{User: user, Ticket: sealer.Seal(token.Ticket{Event: "show-1", User: user, Epoch: crowdEpoch, Order: order, Until: time.Now().Add(time.Hour)})}
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
	opener := token.NewTickets(ring)
	for b.Loop() {
		if _, err := opener.Open(v.Ticket, "show-1", v.User); err != nil {
			b.Fatal(err)
		}
	}
}
