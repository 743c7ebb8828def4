package allbus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/bus/sqsbus"
)

const (
	envMember = "MILLRACE_ALLBUS_MEMBER" // makes a process of the test binary a member of a group
	poisoned  = 3                        // its exit code when the poison has killed it
)

// membership is the configuration of a process that consumes.
type membership struct {
	URL, Topic, Ledger  string
	Holder              string // its name for the transport, over restarts; random when empty
	Concurrency, Window int
	Work                time.Duration // of a handler, at most

	// In the handler of message number After, the process sends itself Signal; 0: never. From
	// outside, a test on a busy machine would send it late.
	After  int64
	Signal syscall.Signal
}

// openAs opens a URL for a member. A killed member keeps its partitions only for a few seconds;
// six is the least that Kafka's brokers accept.
func openAs(ctx context.Context, url, holder string) (*bus.Bus, error) {
	const ttl = 3 * time.Second
	return bus.Open(ctx, url, allbus.Schemes(allbus.Config{
		SQLite:   sqlitebus.Config{Holder: holder, LeaseTTL: ttl},
		Postgres: pgbus.Config{Holder: holder, LeaseTTL: ttl},
		MySQL:    mysqlbus.Config{Holder: holder, LeaseTTL: ttl},
		Redis:    redisbus.Config{LeaseTTL: ttl},
		Kafka:    kafkabus.Config{Instance: holder, SessionTimeout: 2 * ttl},
		NATS:     natsbus.Config{Holder: holder, LeaseTTL: ttl},
		SQS:      sqsbus.Config{Visibility: ttl},
		Logger:   slog.New(slog.DiscardHandler),
	})...)
}

// beMember consumes until the process is asked to end, and writes the handled messages into the
// ledger. The poison kills the process, as if it had run out of memory.
func beMember(text string) error {
	var told membership
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1) // the test process has ended
	}()
	ledger, err := os.OpenFile(told.Ledger, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	b, err := openAs(ctx, told.URL, told.Holder)
	if err != nil {
		return err
	}
	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	var begun atomic.Int64
	handle := func(m *message.Message) error {
		if begun.Add(1) == told.After {
			if err := syscall.Kill(os.Getpid(), told.Signal); err != nil {
				return err
			}
		}
		if strings.HasPrefix(string(m.Payload), "poison") {
			os.Exit(poisoned)
		}
		if told.Work > 0 {
			time.Sleep(rand.N(told.Work))
		}
		_, err := fmt.Fprintln(ledger, string(m.Payload), os.Getpid())
		return err
	}
	err = r.Add(bus.Consumer{Topic: told.Topic, Group: group, Handler: handle, Concurrency: told.Concurrency, Window: told.Window})
	if err != nil {
		return err
	}
	if err := r.Run(ctx); err != nil {
		return err
	}
	return b.Close()
}

// member is a process that consumes.
type member struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended, with err
	err  error
}

// start starts a member. It ends with the test at the latest.
func (told membership) start(t *testing.T) *member {
	t.Helper()
	given, err := json.Marshal(told)
	require.NoError(t, err)
	m := &member{cmd: exec.Command(os.Args[0]), gone: make(chan struct{})}
	m.cmd.Env = append(os.Environ(), envMember+"="+string(given), "GORACE=atexit_sleep_ms=0") // or each exit takes a second
	m.cmd.Stderr = os.Stderr
	if _, err := m.cmd.StdinPipe(); err != nil { // ends when this process does
		t.Fatal(err)
	}
	require.NoError(t, m.cmd.Start())
	go func() {
		m.err = m.cmd.Wait()
		close(m.gone)
	}()
	t.Cleanup(m.kill)
	return m
}

// kill ends the member like kill -9, if it has not ended.
func (m *member) kill() {
	m.cmd.Process.Kill() //nolint:errcheck // it may have ended
	<-m.gone
}

// stop asks the member to end, and waits until it has ended.
func (m *member) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, m.cmd.Process.Signal(syscall.SIGTERM))
	m.stopped(t)
}

// stopped waits until a member has ended in order.
func (m *member) stopped(t *testing.T) {
	t.Helper()
	select {
	case <-m.gone:
		require.NoError(t, m.err, "an orderly stop ended with")
	case <-time.After(2 * time.Minute):
		t.Fatal("a member that has to stop goes on after 2 minutes")
	}
}

// died reports whether the member has ended.
func (m *member) died() bool {
	select {
	case <-m.gone:
		return true
	default:
		return false
	}
}

// newLedger makes the file that members write: a line for each handled message, "key number
// process".
func newLedger(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return path
}

func readLedger(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text[:bytes.LastIndexByte(text, '\n')+1]
}

// lines returns how many messages were handled, repeats included.
func lines(t *testing.T, ledger string) int { return bytes.Count(readLedger(t, ledger), []byte("\n")) }

// tally returns the number of different messages handled, and the number of repeats. The first
// handlings of a key's messages must be in order, without a gap.
func tally(t *testing.T, ledger string) (handled, again int) {
	t.Helper()
	last := map[string]int{}
	for line := range strings.Lines(string(readLedger(t, ledger))) {
		fields := strings.Fields(line)
		require.Lenf(t, fields, 3, "the ledger has %q, want a key, a number and a process", line)
		key := fields[0]
		n, err := strconv.Atoi(fields[1])
		switch {
		case err != nil:
			t.Fatalf("the ledger has %q: %v", line, err)
		case n <= last[key]:
			again++
		case n == last[key]+1:
			last[key], handled = n, handled+1
		default:
			t.Fatalf("of %s, %d was handled after %d", key, n, last[key])
		}
	}
	return handled, again
}

// until waits for a condition.
func until(t *testing.T, within time.Duration, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(within); !done(); <-tick.C {
		require.Falsef(t, time.Now().After(deadline), "not within %v: %s", within, what)
	}
}
