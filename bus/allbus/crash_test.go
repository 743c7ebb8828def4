package allbus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/event"
)

// What a consumer process is told.
const (
	envURL    = "MILLRACE_ALLBUS_URL"
	envTopic  = "MILLRACE_ALLBUS_TOPIC"
	envLedger = "MILLRACE_ALLBUS_LEDGER"

	poisoned = 3 // its exit code when the poison has killed it
)

// restarted opens a URL for a process that comes back under its name.
func restarted(ctx context.Context, url string) (*bus.Bus, error) {
	const holder, ttl = "pod-1", 3 * time.Second
	log := slog.New(slog.DiscardHandler)
	return bus.NewOpener(
		sqlitebus.Scheme(sqlitebus.Config{Holder: holder, LeaseTTL: ttl, Logger: log}),
		pgbus.Scheme(pgbus.Config{Holder: holder, LeaseTTL: ttl, Logger: log}),
		mysqlbus.Scheme(mysqlbus.Config{Holder: holder, LeaseTTL: ttl, Logger: log}),
		redisbus.Scheme(redisbus.Config{LeaseTTL: ttl, Logger: log}),
	).Open(ctx, url)
}

// consumeUntilKilled is the other process: it writes down what it handles, and dies of the
// poison as if it had run out of memory.
func consumeUntilKilled(url string) error {
	ledger, err := os.OpenFile(os.Getenv(envLedger), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	b, err := restarted(context.Background(), url)
	if err != nil {
		return err
	}
	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	consumer := bus.Consumer{Topic: os.Getenv(envTopic), Group: group, Concurrency: 4, Window: 64}
	handle := func(m *message.Message) error {
		if strings.HasPrefix(string(m.Payload), "poison") {
			os.Exit(poisoned)
		}
		_, err := fmt.Fprintln(ledger, string(m.Payload))
		return err
	}
	consumer.Handler = handle
	if err := r.Add(consumer); err != nil {
		return err
	}
	return r.Run(context.Background())
}

// A message that kills its process becomes a dead letter after a few deaths, and the others
// are handled in order.
func TestAMessageThatKillsItsProcess(t *testing.T) {
	for _, name := range []string{"sqlite", "postgres", "mysql", "redis"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, topic := urls()[name](t, ""), "t-"+uuid.NewString()
			b, err := restarted(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}()
			const reader = "reader"
			err = b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}, bus.Topic{Name: topic + ".DLT", Groups: []string{reader}})
			if err != nil {
				t.Fatal(err)
			}
			const keys, each = 6, 8
			publish := func(payload, key string) {
				t.Helper()
				m := message.NewMessage(uuid.NewString(), []byte(payload))
				m.Metadata.Set(event.KeyHeader, key)
				if err := b.Publisher().Publish(topic, m); err != nil {
					t.Fatal(err)
				}
			}
			for n := 1; n <= each; n++ {
				for k := range keys {
					publish(fmt.Sprintf("key%d %d", k, n), fmt.Sprint("key", k))
				}
				if n == 3 {
					publish("poison", "key1")
				}
			}
			ledger := filepath.Join(t.TempDir(), "ledger")
			if err := os.WriteFile(ledger, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			letters := make(chan *message.Message, 10)
			r, err := bus.NewRunner(b, bus.RunnerConfig{})
			if err == nil {
				err = r.Add(bus.Consumer{Topic: topic + ".DLT", Group: reader, Handler: func(m *message.Message) error {
					letters <- m
					return nil
				}})
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.Run(ctx) }()
			defer func() {
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}()

			const most = 10
			deaths := 0
			for ; deaths <= most; deaths++ {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), envURL+"="+url, envTopic+"="+topic, envLedger+"="+ledger)
				cmd.Stderr = os.Stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				gone := make(chan error, 1)
				go func() { gone <- cmd.Wait() }()
				kill := func() {
					cmd.Process.Kill() //nolint:errcheck // it may have ended
					<-gone
				}
				select {
				case err := <-gone:
					var exit *exec.ExitError
					if !errors.As(err, &exit) || exit.ExitCode() != poisoned {
						t.Fatalf("the process ended with %v", err)
					}
					continue
				case m := <-letters:
					if m.Metadata[bus.DLQReason] != bus.ReasonCrashed || string(m.Payload) != "poison" {
						t.Errorf("the dead letter is %s: %v", m.Payload, m.Metadata)
					}
				case <-time.After(time.Minute):
					kill()
					t.Fatal("neither a death nor a dead letter within a minute")
				}
				for deadline := time.Now().Add(time.Minute); ; {
					missing := inOrder(t, ledger, keys, each)
					if missing == 0 {
						break
					}
					if time.Now().After(deadline) {
						t.Errorf("%d healthy messages were not handled", missing)
						break
					}
					<-time.After(20 * time.Millisecond)
				}
				kill()
				break
			}
			// Two starts without progress and two deaths alone, and more where a start got as
			// far as the poison.
			if deaths < 4 || deaths > 7 {
				t.Errorf("%d processes died, want 4 to 7", deaths)
			}
			t.Logf("%d processes died", deaths)
		})
	}
}

// inOrder checks that each key was handled in order, apart from repeats, and returns how
// many messages are missing.
func inOrder(t *testing.T, ledger string, keys, each int) (missing int) {
	t.Helper()
	text, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var key string
		var n int
		if _, err := fmt.Sscan(line, &key, &n); err != nil {
			continue // being written
		}
		if n > last[key]+1 {
			t.Fatalf("%s after %d", strings.TrimSpace(line), last[key])
		}
		last[key] = max(last[key], n)
	}
	missing = keys * each
	for _, n := range last {
		missing -= n
	}
	return missing
}
