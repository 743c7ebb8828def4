package redisqueue_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

// long is a line on a server of the test's own, and a clock that can be moved.
type long struct {
	t     testing.TB
	admin redis.UniversalClient
	store driver.Store
	rules driver.Rules
	ahead atomic.Int64 // µs
	users []string
	state driver.State
	order []int64 // of users
}

// newLong makes a line for n users of 16 bytes.
func newLong(t testing.TB, n int) *long {
	l := &long{t: t, rules: rulesOf(0)}
	s := redistest.StartServer(t, "--slowlog-log-slower-than", "200", "--slowlog-max-len", "4096")
	client, err := redisdb.Open(s.URL(), redisdb.Config{Timeout: time.Minute}) // a busy machine is slow with the whole line
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() }) //nolint:errcheck // nothing is lost
	l.admin, l.store = client, newStore(t, client, "")
	redisqueue.Clocked(l.store, func() int64 { return time.Now().UnixMicro() + l.ahead.Load() })
	l.order = make([]int64, n)
	for i := range n {
		user := binary.BigEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15)
		l.users = append(l.users, string(binary.BigEndian.AppendUint64(user, uint64(i))))
	}
	return l
}

// join lines all users up, by four processes in calls of 500.
func (l *long) join() {
	all := make(chan int)
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for i := range all {
				v := l.visit(driver.Beats{}, driver.Check, l.users[i:min(i+500, len(l.users))])
				for j, o := range v.Outcomes {
					l.order[i+j] = o.Order
				}
			}
		})
	}
	for i := 0; i < len(l.users); i += 500 {
		all <- i
	}
	close(all)
	done.Wait()
}

func (l *long) visit(b driver.Beats, kind driver.Kind, users []string) driver.Visited {
	visits := make([]driver.Visit, len(users))
	for i, user := range users {
		visits[i] = driver.Visit{Kind: kind, User: user}
	}
	v, err := l.store.Visit(context.Background(), "e", l.rules, b, visits)
	if err != nil {
		l.t.Error(err)
	}
	return v
}

// some are n different users from all over the line.
func (l *long) some(n int) (users []string, orders []int64) {
	at, step := rand.IntN(len(l.users)), len(l.users)/n
	for range n {
		at = (at + step) % len(l.users)
		users, orders = append(users, l.users[at]), append(orders, l.order[at])
	}
	return users, orders
}

// field is a value of the server's INFO.
func (l *long) field(name string) string {
	text, err := l.admin.Info(context.Background(), "everything").Result()
	if err != nil {
		l.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, "\r\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

func (l *long) memory() float64 {
	n, err := strconv.ParseFloat(l.field("used_memory"), 64)
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// say prints directly: the log of a benchmark is cut.
func (l *long) say(format string, args ...any) {
	if testing.Verbose() {
		fmt.Printf(format+"\n", args...)
	}
}

// scripts is the number of scripts the server has run, and their total time.
func (l *long) scripts() (n int, took time.Duration) {
	for _, command := range []string{"eval", "evalsha"} {
		line := l.field("cmdstat_" + command)
		if line == "" {
			continue
		}
		calls, usec := 0, 0
		if _, err := fmt.Sscanf(line, "calls=%d,usec=%d", &calls, &usec); err != nil {
			l.t.Fatal(err)
		}
		n, took = n+calls, took+time.Duration(usec)*time.Microsecond
	}
	return n, took
}

// times prints how long Redis was in scripts while do ran: in the mean, and the
// longest, which on a loaded machine includes the work of other processes.
func (l *long) times(what string, do func()) {
	ctx := context.Background()
	if err := l.admin.(*redis.Client).SlowLogReset(ctx).Err(); err != nil {
		l.t.Fatal(err)
	}
	calls, busy := l.scripts()
	start := time.Now()
	do()
	took := time.Since(start)
	more, sum := l.scripts()
	calls, busy = more-calls, sum-busy
	slow, err := l.admin.(*redis.Client).SlowLogGet(ctx, -1).Result()
	if err != nil {
		l.t.Fatal(err)
	}
	most := slowest
	for _, c := range slow {
		if strings.HasPrefix(c.Args[0], "eval") {
			most = max(most, c.Duration)
		}
	}
	l.say("%-34s %5d scripts, mean %8v, longest at most %8v; all took %v", what, calls, busy/time.Duration(calls), most, took.Round(time.Millisecond))
}

// slowest is the duration from which on the server logs a command.
const slowest = 200 * time.Microsecond

// exact compares a look and many visits with the queue itself.
func (l *long) exact(when string) {
	ctx := context.Background()
	line, err := l.admin.ZRangeWithScores(ctx, "{e}:queue", 0, -1).Result()
	if err != nil {
		l.t.Fatal(err)
	}
	var looked []int64
	for at, more := uint64(0), true; more; {
		v, err := l.store.Look(ctx, "e", l.rules, l.state.Epoch, at)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, b := range v.Blocks {
			for i := range int64(driver.BlockSize) {
				if b.Bits[i/64]&(1<<(i%64)) != 0 {
					looked = append(looked, b.Number*driver.BlockSize+i)
				}
			}
		}
		at, more, l.state = v.Version, v.More, v.State
	}
	slices.Sort(looked)
	if len(looked) != len(line) || l.state.Waiting-l.state.Entitled != len(line) {
		l.t.Fatalf("%s: %d wait; a look sees %d, and says %d", when, len(line), len(looked), l.state.Waiting-l.state.Entitled)
	}
	place := map[string]int{}
	for i, z := range line {
		place[z.Member.(string)] = i
		if looked[i] != int64(z.Score) {
			l.t.Fatalf("%s: number %d is %d, and a look sees %d", when, i, int64(z.Score), looked[i])
		}
	}
	users, _ := l.some(500)
	for _, some := range [][]string{users, users[:10]} { // which are counted in another way
		v := l.visit(driver.Beats{}, driver.Heartbeat, some)
		for i, o := range v.Outcomes {
			ahead, ok := place[some[i]]
			if ok != (o.Status == driver.Waiting && !o.Turn) || ok && (o.Ahead-ahead < v.Entitled || o.Ahead-ahead > l.state.Entitled) {
				l.t.Fatalf("%s: number %d is answered %+v", when, ahead, o)
			}
		}
	}
}
