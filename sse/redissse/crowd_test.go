package redissse_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/sse/driver"
)

const (
	crowdInstances = 4
	crowdMembers   = 20
	crowdTabs      = 8  // of each member
	crowdSteps     = 12 // of each tab
)

// crowd is members whose tabs open and drop streams at random at four instances.
type crowd struct {
	t         *testing.T
	client    redis.UniversalClient
	prefix    string
	instances []driver.Cap

	mu    sync.Mutex
	lives [crowdInstances]driver.Live
	conns map[string]*life
}

// life is the known part of a connection's life, from outside.
type life struct {
	conn           driver.Conn
	opens, opened  time.Time // it was registered between these, if at all
	removes        time.Time // and removed after this, if at all
	evicts, victim time.Time // the call that evicted it began and ended
}

// TestCrowd: a member never has more than three registered streams, at any look, and
// the oldest is the one evicted.
func TestCrowd(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := &crowd{t: t, client: connect(t), conns: map[string]*life{}}
			c.prefix = redistest.Prefix(t, c.client)
			for range crowdInstances {
				c.instances = append(c.instances, newCap(t, connect(t), c.prefix))
			}
			for i := range c.instances {
				c.renew(t.Context(), i)
			}
			c.run()
			c.check()
		})
	}
}

// renew keeps a lease that outlasts the test, even on a busy machine.
func (c *crowd) renew(ctx context.Context, i int) {
	live, err := c.instances[i].Renew(ctx, fmt.Sprint("i", i), time.Hour)
	if err != nil {
		c.t.Error(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lives[i] = live
}

func (c *crowd) live(i int) driver.Live {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lives[i]
}

func member(m int) string { return fmt.Sprint("member-", m) }

// run runs all tabs, while instances renew and sweep, and others look.
func (c *crowd) run() {
	ctx := c.t.Context()
	var tabs, others sync.WaitGroup
	over := make(chan struct{})
	for m := range crowdMembers {
		for tab := range crowdTabs {
			tabs.Go(func() { c.tab(ctx, m, tab) })
		}
	}
	meanwhile := func(do func()) {
		others.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					do()
				}
			}
		})
	}
	for i := range c.instances {
		meanwhile(func() {
			c.renew(ctx, i)
			s, err := c.instances[i].Sweep(ctx, rules, c.live(i), "")
			if err != nil || s.Removed != 0 {
				c.t.Errorf("%d swept of those who are there, %v", s.Removed, err)
			}
		})
	}
	looks := 0
	meanwhile(func() {
		for m := range crowdMembers {
			looks++
			n, err := c.client.ZCard(ctx, c.prefix+"sse:notification:{"+member(m)+"}").Result()
			if err != nil || n > int64(rules.Max) {
				c.t.Errorf("%s has %d streams, %v", member(m), n, err)
			}
		}
	})
	tabs.Wait()
	close(over)
	others.Wait()
	if looks < crowdMembers {
		c.t.Errorf("only %d looks", looks)
	}
}

// tab opens streams and drops them, at any instance.
func (c *crowd) tab(ctx context.Context, m, tab int) {
	random := rand.New(rand.NewPCG(uint64(m), uint64(tab)))
	for step := range crowdSteps {
		i := random.IntN(crowdInstances)
		id := fmt.Sprintf("i%d.%d-%d-%d", i, m, tab, step)
		l := &life{conn: driver.Conn{Member: member(m), ID: id, Token: "tab of " + id}, opens: time.Now()}
		// Recorded before it opens, since others may evict it before the answer comes.
		c.mu.Lock()
		c.conns[id] = l
		c.mu.Unlock()
		o, err := c.instances[i].Open(ctx, rules, c.live(i), l.conn)
		if err != nil || o.Ghosts != 0 || len(o.Replaced) != 0 {
			c.t.Errorf("open %s: %+v, %v", id, o, err)
			return
		}
		c.mu.Lock()
		l.opened = time.Now()
		for _, victim := range o.Evicted {
			v := c.conns[victim.ID]
			if v == nil || v.conn != victim || !v.victim.IsZero() || victim.ID == id {
				c.t.Errorf("%s evicts %+v", id, victim)
				continue
			}
			v.evicts, v.victim = l.opens, l.opened
		}
		c.mu.Unlock()
		if random.IntN(3) == 0 {
			continue // it stays until others evict it
		}
		c.mu.Lock()
		l.removes = time.Now()
		c.mu.Unlock()
		if err := c.instances[i].Close(ctx, []driver.Conn{l.conn}); err != nil {
			c.t.Error(err)
		}
	}
}

// check compares the observed lives with the promise.
func (c *crowd) check() {
	ctx := c.t.Context()
	evicted, compared := 0, 0
	for _, v := range c.conns {
		if v.victim.IsZero() {
			continue
		}
		evicted++
		for _, d := range c.conns {
			if d == v || d.conn.Member != v.conn.Member {
				continue
			}
			compared++
			// d was there before v came, and still there when v was evicted.
			if d.opened.Before(v.opens) && d.leaves().After(v.victim) {
				c.t.Errorf("%s was evicted, and %s is older", v.conn.ID, d.conn.ID)
			}
		}
	}
	if evicted < crowdMembers || compared < evicted {
		c.t.Errorf("only %d were evicted", evicted)
	}
	// The registered connections decide: each that was neither evicted nor closed.
	var all []driver.Conn
	left := map[string]int{}
	for _, l := range c.conns {
		all = append(all, l.conn)
		if l.victim.IsZero() && l.removes.IsZero() {
			left[l.conn.Member]++
		}
	}
	for len(all) > 0 {
		n := min(len(all), driver.MaxConns)
		gone, err := c.instances[0].Gone(ctx, all[:n])
		if err != nil {
			c.t.Fatal(err)
		}
		missing := map[string]bool{}
		for _, m := range gone {
			missing[m.ID] = true
		}
		for _, conn := range all[:n] {
			l := c.conns[conn.ID]
			if stays := l.victim.IsZero() && l.removes.IsZero(); stays == missing[conn.ID] {
				c.t.Errorf("%s should be there: %t, and is gone: %t", conn.ID, stays, missing[conn.ID])
			}
		}
		if err := c.instances[0].Close(ctx, all[:n]); err != nil {
			c.t.Fatal(err)
		}
		all = all[n:]
	}
	for m := range crowdMembers {
		n, err := c.client.Exists(ctx, c.prefix+"sse:notification:{"+member(m)+"}", c.prefix+"sse:notification:{"+member(m)+"}:tabs").Result()
		if err != nil && !errors.Is(err, redis.Nil) || n != 0 {
			c.t.Errorf("%d keys are left of %s, %v", n, member(m), err)
		}
		if left[member(m)] > rules.Max {
			c.t.Errorf("%d should be left of %s", left[member(m)], member(m))
		}
	}
}

// leaves is the earliest time at which it may have been removed.
func (l *life) leaves() time.Time {
	switch {
	case l.removes.IsZero() && l.victim.IsZero():
		return time.Now()
	case l.removes.IsZero() || !l.victim.IsZero() && l.evicts.Before(l.removes):
		return l.evicts
	}
	return l.removes
}
