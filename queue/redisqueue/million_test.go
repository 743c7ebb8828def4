package redisqueue_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// thin makes three of four users leave, so that the bitmaps are moved down.
func (l *long) thin() {
	bits := func() int64 {
		n, err := l.admin.StrLen(context.Background(), "{e}:waiting").Result()
		if err != nil {
			l.t.Fatal(err)
		}
		return n
	}
	before := bits()
	for i := 0; i < len(l.users)*3/4; i += 500 {
		l.visit(driver.Beats{}, driver.Leave, l.users[i:i+500])
	}
	l.ahead.Add(time.Minute.Microseconds())
	l.sweep("want few")
	if after := bits(); 2*after > before {
		l.t.Errorf("the bitmap of the line has %d bytes, and %d when it was four times as long", after, before)
	}
	l.exact("when most have left")
}

func (l *long) sweep(want string) (removed int) {
	for from, done := int64(0), false; !done; {
		s, err := l.store.Sweep(context.Background(), "e", l.rules, from)
		if err != nil {
			l.t.Fatal(err)
		}
		removed += s.Removed
		from, done, l.state = s.Next, s.Done, s.State
	}
	l.say("removed %d; %s; %d wait", removed, want, l.state.Waiting)
	return removed
}

func (l *long) tour(proven bool) {
	ctx := context.Background()
	exact := func(when string) {
		if proven {
			l.exact(when)
		}
	}
	n := len(l.users)
	before := l.memory()
	l.times("join, 500 in a call", l.join)
	per := (l.memory() - before) / float64(n)
	l.say("memory for each of %d who wait: %.1f B", n, per)
	if per > 160 {
		l.t.Errorf("%.1f B for each who waits, want at most 160", per)
	}
	exact("at first")
	l.times("poll of random, 500 in a call", func() {
		for range 20 {
			users, _ := l.some(500)
			l.visit(driver.Beats{}, driver.Heartbeat, users)
		}
	})
	v := l.visit(driver.Beats{}, driver.Heartbeat, nil)
	l.times("beats of random, 500 in a call", func() {
		for range 20 {
			_, orders := l.some(500)
			l.visit(driver.Beats{Epoch: v.Epoch, Orders: orders}, 0, nil)
		}
	})
	l.times("one poll in a call", func() {
		for i := range 200 {
			l.visit(driver.Beats{}, driver.Heartbeat, l.users[i*n/200:i*n/200+1])
		}
	})
	l.times("look at all, 256 blocks in a call", func() {
		for at, more := uint64(0), true; more; {
			v, err := l.store.Look(ctx, "e", l.rules, v.Epoch, at)
			if err != nil {
				l.t.Fatal(err)
			}
			at, more = v.Version, v.More
		}
	})
	l.times("leave of random, 500 in a call", func() {
		for range 4 {
			users, _ := l.some(500)
			l.visit(driver.Beats{}, driver.Leave, users)
		}
	})
	l.rules.Threshold, l.rules.Batch = 10_000, 10_000
	l.times("admit 10,000 in a tick", func() {
		sum := 0
		for more := true; more; {
			a, err := l.store.Admit(ctx, "e", l.rules)
			if err != nil {
				l.t.Fatal(err)
			}
			more = a.More
			sum += len(a.Admitted)
		}
		if sum != 10_000 {
			l.t.Errorf("%d were admitted", sum)
		}
	})
	exact("after admissions")
	l.times("sweep, all alive", func() {
		if n := l.sweep("want none"); n > 0 {
			l.t.Errorf("%d were removed who were heard of", n)
		}
	})
	// A random seven of ten have a sign of life later.
	l.ahead.Add((9 * time.Minute).Microseconds())
	v = l.visit(driver.Beats{}, driver.Heartbeat, nil)
	removed := 0
	l.times("beats of all but 30 %", func() {
		alive := make([]int64, 0, 500)
		for _, order := range l.order {
			if rand.IntN(10) >= 3 {
				alive = append(alive, order)
			}
			if len(alive) == 500 {
				l.visit(driver.Beats{Epoch: v.Epoch, Orders: alive}, 0, nil)
				alive = alive[:0]
			}
		}
		l.visit(driver.Beats{Epoch: v.Epoch, Orders: alive}, 0, nil)
	})
	l.ahead.Add((3 * time.Minute).Microseconds())
	l.times("sweep of 30 % at random", func() { removed = l.sweep("want 30 %") })
	exact("after a sweep")
	if share := float64(removed) / float64(n); share < 0.25 || share > 0.35 {
		l.t.Errorf("%d of %d were removed, who are three of ten", removed, n)
	}
	if proven {
		l.thin()
	}
	l.times("10,000 are no-shows", func() {
		for range 45 {
			if _, err := l.store.Admit(ctx, "e", l.rules); err != nil {
				l.t.Fatal(err)
			}
		}
	})
	l.ahead.Add((20 * time.Minute).Microseconds())
	l.times("sweep of all the rest", func() { l.sweep("want all") })
	l.times("clear", func() {
		if _, err := l.store.Change(ctx, "e", l.rules, driver.Change{Clear: true}); err != nil {
			l.t.Fatal(err)
		}
	})
}

// TestLongLine compares a line of more than a segment of the bitmaps with the queue
// itself, and its memory with the promise.
func TestLongLine(t *testing.T) {
	newLong(t, 200_000).tour(true)
}

// BenchmarkMillion prints the costs of a line of a million.
func BenchmarkMillion(b *testing.B) {
	for range b.N {
		l := newLong(b, 1_000_000)
		l.tour(false)
		l.join()
		l.times("clear a million", func() {
			if _, err := l.store.Change(context.Background(), "e", l.rules, driver.Change{Clear: true}); err != nil {
				b.Fatal(err)
			}
		})
	}
	b.ReportMetric(0, "ns/op")
}
