package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

// The bounds: of a call as its caller sees it, for make prove on an idle machine, and of a
// script by Redis's own clock.
const (
	callWithin   = 50 * time.Millisecond
	scriptWithin = 10 * time.Millisecond
)

const million = 1_000_000

// line is one of a million, in a store.
type line struct {
	t     *testing.T
	store driver.Store
	rules driver.Rules
	users []string
	die   func() // ends the grace of all that wait
}

func (l *line) visit(kind driver.Kind, users ...string) {
	visits := make([]driver.Visit, len(users))
	for i, user := range users {
		visits[i] = driver.Visit{Kind: kind, User: user}
	}
	if _, err := l.store.Visit(context.Background(), "e", l.rules, driver.Beats{}, visits); err != nil {
		l.t.Error(err)
	}
}

// joins lets all line up, four at a time in calls of 500.
func (l *line) joins() {
	var all sync.WaitGroup
	quarter := (len(l.users) + 3) / 4
	for part := range slices.Chunk(l.users, quarter) {
		all.Go(func() {
			for some := range slices.Chunk(part, driver.MaxVisits) {
				l.visit(driver.Check, some...)
			}
		})
	}
	all.Wait()
}

// each times calls one by one, in three rounds, and returns the median of their p99.
func (l *line) each(n int, call func(i int)) time.Duration {
	var p99 []time.Duration
	for r := range 3 {
		var took []time.Duration
		for i := range n {
			began := time.Now()
			call(r*n + i)
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		p99 = append(p99, took[len(took)*99/100])
	}
	slices.Sort(p99)
	return p99[1]
}

// tour tests the line. scripts returns the time within which 99 of 100 scripts ended
// since its last call, by the server's clock; nil without a server.
func (l *line) tour(scripts func() time.Duration) {
	began := time.Now()
	l.joins()
	report := fmt.Sprintf("%d join within %v", len(l.users), time.Since(began).Round(time.Millisecond))
	judge := func(what string, p99, within time.Duration) {
		if p99 > within && len(l.users) == million {
			l.t.Errorf("%s: p99 %v, want at most %v", what, p99, within)
		}
		report += fmt.Sprintf("; %s p99 %v", what, p99.Round(time.Microsecond))
		if scripts == nil {
			return
		}
		script := scripts()
		if script > scriptWithin {
			l.t.Errorf("%s: 99 of 100 scripts took up to %v, want at most %v", what, script, scriptWithin)
		}
		report += fmt.Sprintf(" (script %v)", script.Round(time.Microsecond))
	}
	if scripts != nil {
		// Five hundred people take longer than one, and the steps of the histogram double.
		if script := scripts(); script > 2*scriptWithin {
			l.t.Errorf("joins by 500: 99 of 100 scripts took up to %v, want at most %v", script, 2*scriptWithin)
		} else {
			report += fmt.Sprintf(" (script of 500: %v)", script)
		}
	}
	judge("join", l.each(200, func(i int) { l.visit(driver.Check, fmt.Sprint("late", i)) }), callWithin)
	step := len(l.users) / 700
	judge("poll", l.each(200, func(i int) { l.visit(driver.Heartbeat, l.users[i*step]) }), callWithin)
	l.rules.Threshold, l.rules.Batch = min(40_000, len(l.users)/5), 100
	admitted := 0
	admit := func() {
		a, err := l.store.Admit(context.Background(), "e", l.rules)
		if err != nil {
			l.t.Error(err)
		}
		admitted += len(a.Admitted)
	}
	judge("admit", l.each(100, func(int) { admit() }), callWithin)
	if admitted == 0 {
		l.t.Error("nobody was admitted")
	}
	// A crowd that may enter all at once enters a chunk at a time, or Redis would serve
	// no other call meanwhile.
	l.rules.Threshold, l.rules.Batch = 40_000+len(l.users)/5, 10_000
	judge("admit of 10000", l.each(10, func(int) { admit() }), callWithin)
	walk := l.sweep()
	judge("sweep", l.each(max(1, len(l.users)/30_000), func(int) { walk.step() }), callWithin)
	for walk.rounds == 0 { // to the end of the line
		walk.step()
	}
	waiting := l.waiting()
	if want := len(l.users) + 600 - admitted; walk.removed != 0 || waiting != want {
		l.t.Errorf("%d wait and %d were swept away, want %d and nobody: all are alive", waiting, walk.removed, want)
	}
	// All leave without a message.
	l.die()
	l.rules.SweepEvery = time.Microsecond // the last walk began a moment ago
	walk = l.sweep()
	var took []time.Duration
	for walk.rounds == 0 {
		began := time.Now()
		walk.step()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	judge("sweep of the dead", took[(len(took)-1)*99/100], callWithin)
	if left := l.waiting(); walk.removed != waiting || left != 0 {
		l.t.Errorf("%d of %d were swept away, and %d are left", walk.removed, waiting, left)
	}
	measured(l.t, "%s; %d waited, %d were let in", report, waiting, admitted)
}

// sweep is a walk over the line.
type sweep struct {
	*line
	from            int64
	removed, rounds int
}

func (l *line) sweep() *sweep { return &sweep{line: l} }

// step sweeps a part of the line, and restarts at its end.
func (s *sweep) step() {
	swept, err := s.store.Sweep(context.Background(), "e", s.rules, s.from)
	if err != nil {
		s.t.Fatal(err)
	}
	s.removed += swept.Removed
	if s.from = swept.Next; swept.Done {
		s.from = 0
		s.rounds++
	}
}

func (l *line) waiting() int {
	v, err := l.store.Look(context.Background(), "e", l.rules, 0, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	return v.State.Waiting - v.State.Entitled // whose turn has not come
}

func newLine(t *testing.T, store driver.Store, n int) *line {
	l := &line{t: t, store: store, rules: driver.Rules{
		Threshold: 0, Active: 10 * time.Minute, Seen: 10 * time.Minute, NoShow: 150 * time.Second,
		Tick: time.Microsecond, Batch: 100, SweepEvery: time.Millisecond, Settle: time.Second,
	}}
	for i := range n {
		l.users = append(l.users, fmt.Sprintf("user-%07d", i))
	}
	return l
}

// A million wait for one event. Joins and polls are answered as always, the first are
// let in, and the sweep, which walks over all of them, delays no caller for more than
// a few milliseconds, by Redis's own clock where there is one.
func TestScenario21Million(t *testing.T) {
	n := often(t, million, 30_000)
	columns(t, func(t *testing.T) {
		store, err := memqueue.New(memqueue.Config{})
		require.NoError(t, err)
		l := newLine(t, store, n)
		l.die = func() { l.rules.Seen = time.Microsecond }
		l.tour(nil)
	}, func(t *testing.T) {
		for name, open := range map[string]func() []*redistest.Server{
			"redis":   func() []*redistest.Server { return []*redistest.Server{redistest.StartServer(t)} },
			"cluster": func() []*redistest.Server { return startCluster(t).nodes },
		} {
			t.Run(name, func(t *testing.T) {
				nodes := open()
				url := (&ownCluster{nodes: nodes}).url()
				store, err := redisqueue.New(openRedis(t, url), redisqueue.Config{})
				require.NoError(t, err)
				l := newLine(t, store, n)
				l.die = func() { forgetSeen(t, nodes) }
				l.tour(func() time.Duration { return scriptTimes(t, nodes) })
			})
		}
	})
}

// forgetSeen deletes the bitmaps of the members seen in each minute, as their expiry
// does when the grace is over.
func forgetSeen(t *testing.T, nodes []*redistest.Server) {
	t.Helper()
	deleted := 0
	for _, node := range nodes {
		client := openRedis(t, node.URL())
		keys, err := client.Keys(t.Context(), "*{e}:seen:*").Result()
		require.NoError(t, err)
		for _, key := range keys {
			deleted++
			check(t, "delete a bitmap", client.Unlink(t.Context(), key).Err())
		}
	}
	if deleted == 0 {
		t.Fatal("nobody was heard of")
	}
}

// scriptTimes is the longest duration of 99 of 100 scripts, by the servers' own
// histogram, which it resets. The steps of the histogram double, so the result is up
// to twice as long.
func scriptTimes(t *testing.T, nodes []*redistest.Server) (p99 time.Duration) {
	t.Helper()
	type bucket struct{ µs, calls int64 }
	for _, node := range nodes {
		client := openRedis(t, node.URL())
		reply, err := client.Do(t.Context(), "LATENCY", "HISTOGRAM", "eval", "evalsha").Result()
		require.NoError(t, err)
		for _, command := range pairs(t, reply) {
			fields := pairs(t, command)
			calls, _ := fields["calls"].(int64)
			var all []bucket
			for µs, up := range pairsOf[int64](t, fields["histogram_usec"]) {
				all = append(all, bucket{µs, up.(int64)})
			}
			slices.SortFunc(all, func(a, b bucket) int { return int(a.µs - b.µs) })
			for _, b := range all {
				if b.calls*100 >= calls*99 { // calls up to this bucket
					p99 = max(p99, time.Duration(b.µs)*time.Microsecond)
					break
				}
			}
		}
		require.NoError(t, client.Do(t.Context(), "CONFIG", "RESETSTAT").Err())
	}
	if p99 == 0 {
		t.Error("no script ran: the histogram is empty")
	}
	return p99
}

// pairs reads a reply of names and values, in either version of the protocol.
func pairs(t *testing.T, reply any) map[string]any { t.Helper(); return pairsOf[string](t, reply) }

func pairsOf[K comparable](t *testing.T, reply any) map[K]any {
	t.Helper()
	found := map[K]any{}
	switch all := reply.(type) {
	case map[any]any:
		for k, v := range all {
			found[k.(K)] = v
		}
	case []any:
		for i := 0; i+1 < len(all); i += 2 {
			found[all[i].(K)] = all[i+1]
		}
	default:
		t.Fatalf("no pairs: %T", reply)
	}
	return found
}
