package redissse_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/tcpproxy"
	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
)

const (
	fleetMembers = 50
	fleetTabs    = 8 // of each member
)

// fleetSpan is how long tabs come and go: a minute with MILLRACE_LONG.
func fleetSpan() time.Duration {
	if os.Getenv("MILLRACE_LONG") != "" {
		return time.Minute
	}
	return 4 * time.Second
}

// fleet is four instances with hubs, one of them in a process that is killed, and
// members whose tabs come and go.
type fleet struct {
	t      *testing.T
	ledger *ledger
	locals []*local
	web    *http.Client
	number atomic.Int64
	ctx    context.Context // ends the streams still open

	mu     sync.Mutex
	remote *remote
	kills  int
	visits map[string]*visit // by token
}

func (f *fleet) at(i int) (string, *remote) {
	if i < len(f.locals) {
		return f.locals[i].process.at, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.remote.at, f.remote
}

// TestFleet lets members open and drop streams at random at four instances. At no time
// are more than three registered of any member; the oldest is the one evicted. Its
// socket is closed within a ping, though every other message about it is lost, and
// connections with more of them are cut. One instance is killed: its places are free
// when its lease is over. In the end nothing is left.
func TestFleet(t *testing.T) {
	server := redistest.StartServer(t)
	network := proxytest.Start(t, server.Address)
	ctx, cancel := context.WithCancel(context.Background())
	f := &fleet{t: t, ledger: keepLedger(t, server.Address), visits: map[string]*visit{}, ctx: ctx, web: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	for range 2 {
		f.locals = append(f.locals, startLocal(t, open(t, server.URL()), open(t, server.URL())))
	}
	f.locals = append(f.locals, startLocal(t, open(t, server.URL()), open(t, "redis://"+network.Addr()+"/0")))
	f.remote = startRemote(t, server.URL())
	t.Cleanup(f.remoteEnds)
	var visits sync.WaitGroup
	t.Cleanup(func() { cancel(); visits.Wait() })

	f.run(&visits, network, server)
	f.closed()
	f.killed(&visits)
	cancel()
	visits.Wait()
	redistest.Eventually(t, "nothing is left", func() error {
		if _, _, _, left := f.ledger.seen(); left > 0 {
			return fmt.Errorf("%d entries", left)
		}
		return nil
	})
	victims, opened, most, _ := f.ledger.seen()
	assert.Truef(t, f.tried(), "too little was put to the test: %d opened, at most %d registered, %d evicted", opened, most, len(victims))
	t.Logf("%d opened, %d evicted, at most %d registered, %d kills", opened, len(victims), most, f.kills)
}

// run lets tabs come and go for the span. The tabs that stay do so until they are evicted.
func (f *fleet) run(visits *sync.WaitGroup, network *tcpproxy.Proxy, server *redistest.Server) {
	over := make(chan struct{})
	var coming sync.WaitGroup // tabs that leave by themselves
	for m := range fleetMembers {
		for tab := range fleetTabs {
			random := rand.New(rand.NewPCG(uint64(m), uint64(tab)))
			coming.Go(func() {
				select {
				case <-time.After(time.Duration(random.IntN(2000)) * time.Millisecond):
				case <-over:
				}
				for {
					select {
					case <-over:
						return
					default:
					}
					instance := random.IntN(4)
					if random.IntN(3) == 0 { // it stays, and another comes in its place
						visits.Go(func() { f.visit(instance, member(m), 0, nil) })
						time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
						continue
					}
					f.visit(instance, member(m), time.Duration(100+random.IntN(2900))*time.Millisecond, nil)
					time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond) // an evicted tab does not come back at once
				}
			})
		}
	}
	every := time.NewTicker(400 * time.Millisecond)
	defer every.Stop()
	begun, span := time.Now(), fleetSpan()
	// On a busy machine, go on until enough evictions were tested.
	for next := min(span/2, 10*time.Second); time.Since(begun) < span || !f.tried() && time.Since(begun) < 2*time.Minute; <-every.C {
		network.Cut()
		if time.Since(begun) > next {
			f.replace(server.URL())
			next += 10 * time.Second
		}
	}
	close(over)
	coming.Wait()
}

// tried says whether there were enough evictions with and without messages.
func (f *fleet) tried() bool {
	victims, opened, most, _ := f.ledger.seen()
	told := int64(0)
	for _, l := range f.locals {
		told += l.lossy.told.Load()
	}
	return len(victims) >= 4*fleetMembers && opened >= fleetMembers*fleetTabs && most == rules.Max && told >= fleetMembers
}

// replace kills the instance in a process of its own, and starts another.
func (f *fleet) replace(url string) {
	f.mu.Lock()
	dead := f.remote
	f.kills++
	f.mu.Unlock()
	dead.kill(f.t)
	next := startRemote(f.t, url)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remote = next
}

// remoteEnds is for a test that fails before the last kill.
func (f *fleet) remoteEnds() {
	if f.remote != nil {
		f.remote.kill(f.t)
	}
}

// closed checks that the client of each victim was told and closed. The delay is
// counted in pings that it got since then, which a busy machine sends late too: one
// may be on its way, the next finds out, and one more may come while Redis is asked.
func (f *fleet) closed() {
	f.t.Helper()
	told, late, worst, forgotten := 0, time.Duration(0), 0, 0
	var victims []victim
	// This many evicted tabs of a member are remembered. For older ones it is as if the
	// cap had lost them, and they are told to come back.
	const remembered = 32
	since := func(v victim, until time.Time) (n int) {
		for _, other := range victims {
			if other.key == v.key && other.at.After(v.at) && other.at.Before(until) {
				n++
			}
		}
		return n
	}
	judge := func(v victim) error {
		f.mu.Lock()
		got := f.visits[v.token]
		f.mu.Unlock()
		if got == nil {
			return fmt.Errorf("nobody came as %q", v.token)
		}
		got.mu.Lock()
		defer got.mu.Unlock()
		pings := 0
		for _, at := range got.pings {
			if at.After(v.at) {
				pings++
			}
		}
		worst = max(worst, pings)
		switch {
		case pings > 3:
			return fmt.Errorf("%s was evicted, and had %d pings since", v.conn, pings)
		case got.ended.IsZero():
			return errOpen
		case got.told:
			told++
			late = max(late, got.ended.Sub(v.at))
		case !got.dropped && !got.turned && (got.remote == nil || !got.remote.killed.Load()):
			if n := since(v, got.ended); n < remembered {
				return fmt.Errorf("%s was evicted at %v, and not told: %d, until %v, %q; %d others since", v.conn, v.at, got.status, got.ended, got.last, n)
			}
			forgotten++
		}
		return nil
	}
	redistest.Eventually(f.t, "all victims are closed", func() error {
		victims, _, _, _ = f.ledger.seen()
		told, late, worst, forgotten = 0, 0, 0, 0
		for _, v := range victims {
			if err := judge(v); err != nil {
				if !errors.Is(err, errOpen) {
					f.t.Fatal(err)
				}
				return fmt.Errorf("%s: %w", v.conn, err)
			}
		}
		return nil
	})
	f.t.Logf("%d victims were told, the last after %v, and had at most %d pings more; %d were forgotten before", told, late.Round(time.Millisecond), worst, forgotten)
}

var errOpen = errors.New("its socket is open")

// killed gives all places of some members to an instance, which is then killed. When its
// lease is over, and the other instances have renewed theirs, they have all places again.
func (f *fleet) killed(visits *sync.WaitGroup) {
	t := f.t
	t.Helper()
	const dying = 10
	fill := func(instance func(int) int, members int, prefix string, each int) {
		var opened sync.WaitGroup
		for m := range members {
			for range each {
				opened.Add(1)
				visits.Go(func() {
					once := sync.OnceFunc(opened.Done)
					defer once() // also when it is not opened, which the ledger tells
					f.visit(instance(m), fmt.Sprint(prefix, m), 0, once)
				})
			}
		}
		opened.Wait()
	}
	fill(func(int) int { return len(f.locals) }, dying, "dying-", rules.Max)
	f.mu.Lock()
	dead := f.remote
	f.kills++
	f.mu.Unlock()
	dead.kill(t)
	f.mu.Lock()
	f.remote = nil
	f.mu.Unlock()
	killed := time.Now()
	asked := killed.Add(fleetConfig().Lease)
	redistest.Eventually(t, "the lease is over, and all others know", func() error {
		sure := 0
		for _, renewals := range f.ledger.instances(asked) {
			if renewals >= 2 { // the second renewal has the answer to the first
				sure++
			}
		}
		if sure < len(f.locals) {
			return fmt.Errorf("%d know", sure)
		}
		return nil
	})
	t.Logf("%v after the kill the lease of %v is over for all", time.Since(killed).Round(time.Millisecond), fleetConfig().Lease)
	var ghosts []string
	for name, renewals := range f.ledger.instances(killed) {
		if renewals == 0 {
			ghosts = append(ghosts, name)
		}
	}
	left := func() (n int) {
		for _, name := range ghosts {
			n += len(f.ledger.of(name))
		}
		return n
	}
	if n := left(); n < dying*rules.Max {
		t.Errorf("the instance had %d places when it was killed, want at least %d", n, dying*rules.Max)
	}
	fill(func(m int) int { return m % len(f.locals) }, dying, "dying-", rules.Max)
	fill(func(m int) int { return m % len(f.locals) }, fleetMembers, "member-", 1)
	redistest.Eventually(t, "no place is leaked", func() error { // as the ledger comes to know
		if n := left(); n > 0 {
			return fmt.Errorf("the dead have %d places", n)
		}
		return nil
	})
	victims, _, _, _ := f.ledger.seen()
	for _, v := range victims {
		assert.Falsef(t, strings.HasPrefix(v.key, "sse:notification:{dying-"), "%s was evicted while a dead instance had the places", v.conn)
	}
}
