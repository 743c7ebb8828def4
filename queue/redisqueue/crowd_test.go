package redisqueue_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
)

// crowd is users of one event, through eight instances with a client each.
type crowd struct {
	t      *testing.T
	ctx    context.Context
	stores []driver.Store
	rules  driver.Rules
	most   int  // the highest threshold there is
	away   bool // Redis may be away: calls without an answer are repeated

	progress chan struct{} // one for each user who is through

	mu         sync.Mutex
	arrivals   []arrival
	admissions []driver.Admission
}

type arrival struct {
	start, end time.Time
	order      int64
}

const (
	instances = 8
	people    = 480
)

func newCrowd(t *testing.T, connect func() redis.UniversalClient, prefix string) *crowd {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // far more than it takes
	t.Cleanup(cancel)
	c := &crowd{t: t, ctx: ctx, rules: rulesOf(10), most: 40, progress: make(chan struct{}, people)}
	c.rules.Tick, c.rules.Batch = 10*time.Millisecond, 20
	for range instances {
		c.stores = append(c.stores, newStore(t, connect(), prefix))
	}
	return c
}

// ask repeats a call until it is answered, and returns the number of attempts, 0
// after giving up.
func (c *crowd) ask(call func() error) int {
	for tries := 1; ; tries++ {
		err := call()
		if err == nil {
			return tries
		}
		if c.ctx.Err() != nil || !c.away || fault.Of(err) != fault.Infrastructure {
			c.t.Error(err)
			return 0
		}
		time.Sleep(5 * time.Millisecond) // the server is on its way
	}
}

func (c *crowd) visit(store driver.Store, v driver.Visit) (o driver.Outcome, s driver.State, tries int) {
	tries = c.ask(func() error {
		answer, err := store.Visit(c.ctx, "e", c.rules, driver.Beats{}, []driver.Visit{v})
		if err == nil {
			o, s = answer.Outcomes[0], answer.State
		}
		return err
	})
	if tries > 0 && s.Active > c.most {
		c.t.Errorf("%d are active, and the threshold was never above %d", s.Active, c.most)
	}
	return o, s, tries
}

// live is the life of one user: arrives, waits, is inside for one visit, and goes.
func (c *crowd) live(user string, r *rand.Rand) {
	store := func() driver.Store { return c.stores[r.IntN(instances)] }
	came := arrival{start: time.Now()}
	o, s, tries := c.visit(store(), driver.Visit{Kind: driver.Check, User: user})
	came.end, came.order = time.Now(), o.Order
	if tries == 0 {
		return
	}
	// A user who had to repeat the call may have been admitted by the unanswered one.
	if tries == 1 && o.Status == driver.Active && s.Active > s.Threshold {
		c.t.Errorf("%s enters as number %d of %d", user, s.Active, s.Threshold)
	}
	impatient := r.IntN(8) == 0
	for o.Status == driver.Waiting {
		kind := driver.Heartbeat
		if impatient {
			kind = driver.Leave
		}
		before := o
		if o, _, tries = c.visit(store(), driver.Visit{Kind: kind, User: user}); tries == 0 {
			return
		}
		if o.Status != driver.None && o.Order != came.order {
			c.t.Errorf("%s came with order %d, and has %d", user, came.order, o.Order)
		}
		if o.Status == driver.Waiting && o.Ahead > before.Ahead {
			c.t.Errorf("%s had %d ahead, and has %d", user, before.Ahead, o.Ahead)
		}
	}
	switch {
	case o.Status == driver.Active:
		_, _, tries = c.visit(store(), driver.Visit{Kind: driver.Done, User: user})
	case !impatient:
		c.t.Errorf("%s was lost: %+v", user, o)
	}
	if tries == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arrivals = append(c.arrivals, came)
	c.progress <- struct{}{}
}

// run runs all users while instances admit and the threshold changes.
func (c *crowd) run() {
	var users, others sync.WaitGroup
	over := make(chan struct{})
	running := func() bool {
		select {
		case <-over:
			return false
		default:
			return c.ctx.Err() == nil
		}
	}
	for _, store := range c.stores {
		others.Go(func() {
			for running() {
				c.admit(store)
			}
		})
	}
	others.Go(func() {
		for i := 0; running(); i++ {
			threshold := []int{5, c.most, 1, 20}[i%4]
			c.ask(func() error {
				_, err := c.stores[i%instances].Change(c.ctx, "e", c.rules, driver.Change{Threshold: &threshold})
				return err
			})
		}
	})
	for i := range 48 {
		users.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 7))
			for j := range people / 48 {
				c.live(fmt.Sprintf("user-%d-%d", r.Uint32(), i*100+j), r)
			}
		})
	}
	users.Wait()
	close(over)
	others.Wait()
}

func (c *crowd) admit(store driver.Store) {
	a, err := store.Admit(c.ctx, "e", c.rules)
	if err != nil {
		if !c.away || fault.Of(err) != fault.Infrastructure {
			c.t.Error(err)
		}
		return
	}
	if len(a.Admitted) == 0 {
		return
	}
	if a.Active+a.Entitled-a.Silent > a.Threshold+a.Silent {
		c.t.Errorf("%d are admitted to be %d of %d", len(a.Admitted), a.Active, a.Threshold)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.admissions = append(c.admissions, a)
}

// check compares the end state, and the order of the whole run, with the promise.
func (c *crowd) check() {
	c.t.Helper()
	v, err := c.stores[0].Look(c.ctx, "e", c.rules, 0, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	if v.Waiting != 0 || v.Active != 0 || v.Entitled != 0 || v.Swept+v.NoShows+v.Expired != 0 {
		c.t.Errorf("all have gone, and the room is %+v", v.State)
	}
	if v.Joined != people || v.Departed != people {
		c.t.Errorf("%d came; %d joined, and %d departed", people, v.Joined, v.Departed)
	}
	// Arrivals after another user's answer are behind it: tau is 1 for those pairs.
	pairs := 0
	for _, a := range c.arrivals {
		for _, b := range c.arrivals {
			if a.end.Before(b.start) {
				pairs++
				if a.order >= b.order {
					c.t.Errorf("order %d came before order %d", a.order, b.order)
				}
			}
		}
	}
	if pairs < people {
		c.t.Errorf("only %d pairs of arrivals did not overlap", pairs)
	}
	slices.SortFunc(c.admissions, func(a, b driver.Admission) int { return a.Now.Compare(b.Now) })
	last, admitted := int64(0), map[string]bool{}
	for _, a := range c.admissions {
		for _, one := range a.Admitted {
			if one.Order <= last {
				c.t.Errorf("order %d is admitted after order %d", one.Order, last)
			}
			if last = one.Order; admitted[one.User] {
				c.t.Errorf("%s is admitted twice", one.User)
			}
			admitted[one.User] = true
		}
	}
	if len(admitted) == 0 {
		c.t.Error("nobody was admitted from the line")
	}
}

func TestCrowd(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			prefix := redistest.Prefix(t, connect(t))
			c := newCrowd(t, func() redis.UniversalClient { return connect(t) }, prefix)
			c.run()
			c.check()
		})
	}
}

// TestCrowdOverRestarts kills the server in the middle, and starts it with its data.
func TestCrowdOverRestarts(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t, "--appendonly", "yes", "--appendfsync", "always")
	c := newCrowd(t, func() redis.UniversalClient { return open(t, s.URL()) }, "")
	c.away = true
	var crowd sync.WaitGroup
	crowd.Go(c.run)
	for i := range people {
		select {
		case <-c.progress:
		case <-c.ctx.Done():
			t.Fatal("the crowd stands still")
		}
		if i%80 == 40 {
			s.Kill()
			s.Start()
		}
	}
	crowd.Wait()
	c.check()
}
