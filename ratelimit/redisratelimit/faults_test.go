package redisratelimit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

func planOfLimits(t testing.TB, l ratelimit.Limits) *ratelimit.Plan {
	t.Helper()
	p, err := l.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// usage is what was granted, by the server's clock, which nobody sets here.
type usage struct {
	t    *testing.T
	plan *ratelimit.Plan
	mu   sync.Mutex
	at   []int64 // in order, as one caller asks at a time
}

// ask takes what there is, and returns how much.
func (u *usage) ask(s *redisratelimit.Store) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	g, err := s.Acquire(u.t.Context(), u.plan, ratelimit.Ask{Runs: []ratelimit.Run{{Priority: ratelimit.High, Size: 1, Count: 10_000}}})
	if err != nil {
		return 0, err
	}
	for range g.Runs[0].Granted {
		u.at = append(u.at, g.At)
	}
	return g.Runs[0].Granted, nil
}

// must is ask of a server that just came back, which may still be loading.
func (u *usage) must(s *redisratelimit.Store) int {
	u.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		n, err := u.ask(s)
		if err == nil {
			return n
		}
		if time.Now().After(deadline) {
			u.t.Fatal(err)
		}
	}
}

// gain asks until something is granted again.
func (u *usage) gain(s *redisratelimit.Store) {
	u.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); u.must(s) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			u.t.Fatal("nothing is granted any more")
		}
	}
}

// check finds a span with more grants than the bound.
func (u *usage) check() {
	u.t.Helper()
	for from := range u.at {
		for to := from; to < len(u.at); to++ {
			n, span := to-from+1, u.at[to]-u.at[from]
			most := u.plan.Burst + int(span*int64(u.plan.Rate)/1_000_000)
			if u.plan.Strict {
				if span >= u.plan.Window.Microseconds() {
					break
				}
				most = u.plan.Rate
			}
			if n > most {
				u.t.Fatalf("%d were granted within %d µs, at most %d may be", n, span, most)
			}
		}
	}
}

// TestFaults takes all that it can just before and just after each of the faults:
// a whole window of the strict mode, and what buckets have that begin empty.
func TestFaults(t *testing.T) {
	limits := map[string]ratelimit.Limits{
		"buckets": {HardLimit: 100, Rate: 20, Burst: 50},
		"strict":  {HardLimit: 60, Rate: 50, Strict: true, Delay: 10 * time.Millisecond},
	}
	aof := []string{"--appendonly", "yes", "--appendfsync", "always"}
	faults := []struct {
		name    string
		options []string
		hurt    func(t *testing.T, s *server, admin redis.UniversalClient)
		keeps   bool // the state
	}{
		{"flush", nil, func(t *testing.T, _ *server, admin redis.UniversalClient) {
			if err := admin.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"scripts are gone", nil, func(t *testing.T, _ *server, admin redis.UniversalClient) {
			if err := admin.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"crash", nil, func(_ *testing.T, s *server, _ redis.UniversalClient) { s.kill(); s.start() }, false},
		{"crash with AOF", aof, func(_ *testing.T, s *server, _ redis.UniversalClient) { s.kill(); s.start() }, false},
	}
	for mode, l := range limits {
		for _, f := range faults {
			t.Run(mode+"/"+f.name, func(t *testing.T) {
				t.Parallel() // a window takes a second
				s := newServer(t, f.options...)
				client := open(t, s.url())
				store := newStore(t, client, "rate")
				u := &usage{t: t, plan: planOfLimits(t, l)}
				u.must(store)
				u.gain(store)
				f.hurt(t, s, client)
				if n := u.must(store); n != 0 && !f.keeps {
					t.Errorf("%d were granted at once after it", n)
				}
				u.gain(store)
				u.check()
			})
		}
	}
}

// TestPromotion makes a master of a replica that has not heard of the last grants.
func TestPromotion(t *testing.T) {
	old, next := newServer(t, "--repl-diskless-sync-delay", "0"), newServer(t)
	host, port, _ := strings.Cut(old.address, ":")
	replica := open(t, next.url())
	if err := replica.SlaveOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	u := &usage{t: t, plan: planOfLimits(t, ratelimit.Limits{HardLimit: 100, Rate: 20, Burst: 50})}
	master := open(t, old.url())
	before := newStore(t, master, "rate")
	u.must(before) // begins to fill
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		n, err := replica.Exists(t.Context(), "{rate}:global").Result()
		if err == nil && n == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing is replicated: %v", err)
		}
	}
	// To the replica, the tokens that the master grants from now on are still there.
	value, err := master.Get(t.Context(), "{rate}:global").Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if err := replica.SlaveOf(t.Context(), "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	u.gain(before)
	old.kill()
	// What was replicated is there, and is not believed.
	if got, err := replica.Get(t.Context(), "{rate}:global").Bytes(); err != nil || string(got) != string(value) {
		t.Fatalf("the replica has %x, %v; want %x", got, err, value)
	}
	after := newStore(t, replica, "rate")
	if n := u.must(after); n != 0 {
		t.Errorf("%d were granted at once by the replica", n)
	}
	u.gain(after)
	u.check()
}

// A server that hangs is left when the context ends, long before the client's own
// timeout.
func TestHungServer(t *testing.T) {
	s := newServer(t)
	client, err := redisdb.Open(s.url(), redisdb.Config{Timeout: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	store := newStore(t, client, "rate")
	plan := planOfLimits(t, ratelimit.Limits{HardLimit: 500, Rate: 450})
	ask := ratelimit.Ask{Runs: []ratelimit.Run{{Priority: ratelimit.High, Size: 1, Count: 1}}}
	if _, err := store.Acquire(t.Context(), plan, ask); err != nil {
		t.Fatal(err)
	}
	s.signal(syscall.SIGSTOP)
	defer s.signal(syscall.SIGCONT)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = store.Acquire(ctx, plan, ask)
	if !errors.Is(err, context.DeadlineExceeded) && fault.Of(err) != fault.Infrastructure {
		t.Errorf("a server that hangs: %v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

func TestReadOnly(t *testing.T) {
	s := newServer(t)
	client := open(t, s.url())
	if err := client.SlaveOf(t.Context(), "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := newStore(t, client, "rate").Acquire(t.Context(), planOfLimits(t, ratelimit.Limits{HardLimit: 500, Rate: 450}),
		ratelimit.Ask{Runs: []ratelimit.Run{{Priority: ratelimit.High, Size: 1, Count: 1}}})
	if fault.Of(err) != fault.Infrastructure {
		t.Errorf("a replica answers %v, class %v", err, fault.Of(err))
	}
}

// A user who may not run INFO is told what to allow, without a password.
func TestForbidden(t *testing.T) {
	s := newServer(t)
	admin := open(t, s.url())
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">geheim", "~*", "+@all", "-info").Err(); err != nil {
		t.Fatal(err)
	}
	client := open(t, "redis://app:geheim@"+s.address+"/0")
	_, err := newStore(t, client, "rate").Acquire(t.Context(), planOfLimits(t, ratelimit.Limits{HardLimit: 500, Rate: 450}),
		ratelimit.Ask{Runs: []ratelimit.Run{{Priority: ratelimit.High, Size: 1, Count: 1}}})
	if err == nil || !strings.Contains(err.Error(), "+info") || strings.Contains(err.Error(), "geheim") || fault.Of(err) != fault.Infrastructure {
		t.Errorf("a user without INFO: %v, class %v", err, fault.Of(err))
	}
}

// Two processes take all they can from one budget in real time.
func TestRealTime(t *testing.T) {
	for mode, l := range map[string]ratelimit.Limits{
		"buckets": {HardLimit: 500, Rate: 300, Burst: 40}, "strict": {HardLimit: 500, Rate: 60, Strict: true},
	} {
		for kind, connect := range servers {
			t.Run(mode+"/"+kind, func(t *testing.T) {
				t.Parallel() // a window takes a second
				client := connect(t)
				n := name(t, client)
				u := &usage{t: t, plan: planOfLimits(t, l)}
				u.must(newStore(t, client, n))
				var all sync.WaitGroup
				for range 2 {
					s := newStore(t, client, n)
					all.Go(func() {
						for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
							if _, err := u.ask(s); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				u.gain(newStore(t, client, n))
				u.check()
			})
		}
	}
}

func TestNew(t *testing.T) {
	if _, err := redisratelimit.New(nil, redisratelimit.Config{}); err == nil {
		t.Error("a nil client was accepted")
	}
	client := open(t, servicetest.Redis(t))
	for _, bad := range []string{"{a}", "a}", "a b", "a\n", "\xff", strings.Repeat("a", 201)} {
		if _, err := redisratelimit.New(client, redisratelimit.Config{Name: bad}); err == nil {
			t.Errorf("the name %q was accepted", bad)
		}
	}
	for _, good := range []string{"", "rate", "künstler:1", strings.Repeat("a", 200)} {
		if _, err := redisratelimit.New(client, redisratelimit.Config{Name: good}); err != nil {
			t.Errorf("the name %q: %v", good, err)
		}
	}
}
