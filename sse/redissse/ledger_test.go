package redissse_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ledger reads a server's commands that change the registered connections, in the
// order of their execution, and checks each of them against the promise.
type ledger struct {
	t    *testing.T
	done chan struct{}

	mu         sync.Mutex
	registered map[string][]entry // by member's key, oldest first
	changed    map[string]bool    // keys with an entry made by this script
	named      []string           // the arguments of this script
	tokens     map[string]string  // connection → token
	victims    []victim
	most       int
	opened     int
	renewals   map[string][]time.Time // by instance
}

type entry struct {
	conn  string
	score int64
}

// victim was evicted at a time of the server's clock, which is this machine's.
type victim struct {
	key, conn, token string
	at               time.Time
}

func keepLedger(t *testing.T, address string) *ledger {
	t.Helper()
	l := &ledger{
		t: t, done: make(chan struct{}), registered: map[string][]entry{}, changed: map[string]bool{},
		tokens: map[string]string{}, renewals: map[string][]time.Time{},
	}
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	_, err = fmt.Fprint(conn, "MONITOR\r\n")
	require.NoError(t, err)
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 16<<20)
	if !lines.Scan() || lines.Text() != "+OK" {
		t.Fatalf("the server does not show its commands: %q, %v", lines.Text(), lines.Err())
	}
	go func() {
		defer close(l.done)
		for lines.Scan() {
			l.line(lines.Text())
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-l.done
	})
	return l
}

// line reads `+1700000000.000001 [0 lua] "ZADD" "key" …`. No name in these tests has
// a quote or a backslash.
func (l *ledger) line(line string) {
	stamp, rest, _ := strings.Cut(strings.TrimPrefix(line, "+"), " ")
	from, command, ok := strings.Cut(rest, "] ")
	seconds, err := strconv.ParseFloat(stamp, 64)
	if !ok || err != nil {
		l.t.Errorf("the server says %q", line)
		return
	}
	at := time.UnixMicro(int64(seconds * 1e6))
	args := strings.Split(strings.Trim(command, `"`), `" "`)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !strings.HasSuffix(from, "lua") {
		l.settle()
		l.named = args
		return
	}
	key := ""
	if len(args) > 1 {
		key = args[1]
	}
	switch {
	case args[0] == "ZADD" && key == "sse:instances":
		l.renewals[args[3]] = append(l.renewals[args[3]], at)
	case !strings.HasPrefix(key, "sse:notification:{"):
	case args[0] == "HSET" && strings.HasSuffix(key, ":tabs"):
		l.tokens[args[2]] = args[3]
	case !strings.HasSuffix(key, "}"):
	case args[0] == "ZADD":
		score, err := strconv.ParseInt(args[2], 10, 64)
		if err != nil {
			l.t.Errorf("the score of %q is no time", line)
		}
		if have := l.registered[key]; len(have) > 0 && have[len(have)-1].score >= score {
			l.t.Errorf("%s is not the youngest of %v", args[3], have)
		}
		l.registered[key] = append(l.registered[key], entry{args[3], score})
		l.changed[key] = true
		l.opened++
	case args[0] == "ZREM":
		l.remove(key, args[2], at)
	}
}

// remove records that an entry is gone. In a script that registers, an entry removed
// after the registration is the victim. It has to be the oldest of the silent ones
// among the script's arguments, or the oldest of all.
func (l *ledger) remove(key, conn string, at time.Time) {
	have := l.registered[key]
	i := slices.IndexFunc(have, func(e entry) bool { return e.conn == conn })
	if i < 0 {
		return // it was gone already
	}
	if l.changed[key] {
		first := slices.IndexFunc(have[:len(have)-1], func(e entry) bool { return slices.Contains(l.named, e.conn) })
		if i != max(0, first) || len(have) <= rules.Max {
			l.t.Errorf("%s is evicted; registered are, oldest first, %v", conn, have)
		}
		l.victims = append(l.victims, victim{key, conn, l.tokens[conn], at})
	}
	l.registered[key] = slices.Delete(have, i, i+1)
}

// settle runs when a script has ended: its changes are not visible before.
func (l *ledger) settle() {
	for key := range l.changed {
		n := len(l.registered[key])
		if l.most = max(l.most, n); n > rules.Max {
			l.t.Errorf("%s has %d registered: %v", key, n, l.registered[key])
		}
	}
	clear(l.changed)
}

// of returns all entries of an instance.
func (l *ledger) of(instance string) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, have := range l.registered {
		for _, e := range have {
			if strings.HasPrefix(e.conn, instance+".") {
				all = append(all, key)
			}
		}
	}
	return all
}

func (l *ledger) seen() (victims []victim, opened, most, left int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, have := range l.registered {
		left += len(have)
	}
	return slices.Clone(l.victims), l.opened, l.most, left
}

// instances are those that ever renewed, and how often since a time.
func (l *ledger) instances(since time.Time) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]int{}
	for name, times := range l.renewals {
		all[name] = 0
		for _, at := range times {
			if at.After(since) {
				all[name]++
			}
		}
	}
	return all
}
