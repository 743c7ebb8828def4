package logbustest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// Transport is the transport under test.
type Transport struct {
	// Scheme makes the scheme with these settings.
	Scheme func(Settings) bus.Scheme
	// URL returns the URL of a database of its own, which is removed with the test.
	URL func(t testing.TB) string
	// OpenDB opens an application's pool on the database of a URL.
	OpenDB func(url string) (*sql.DB, error)
}

// Settings are the settings of a transport's Config that the tests change.
type Settings struct {
	DB       *sql.DB
	LeaseTTL time.Duration
	Holder   string
	Logger   *slog.Logger
}

// Main runs the tests, or the consumer process that a test has started.
func Main(m *testing.M, tr Transport) {
	if url := os.Getenv(envURL); url != "" {
		if err := consume(tr, url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func (tr Transport) open(ctx context.Context, url string, s Settings) (*bus.Bus, error) {
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	return bus.Open(ctx, url, tr.Scheme(s))
}

// Open opens the URL. The bus is closed with the test.
func (tr Transport) Open(t testing.TB, url string, s Settings) *bus.Bus {
	t.Helper()
	b, err := tr.open(context.Background(), url, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// payments opens a database with the topic of consumer processes, and their ledger.
func (tr Transport) payments(t testing.TB, s Settings) (url string, b *bus.Bus, l *ledger) {
	t.Helper()
	url = tr.URL(t)
	b = tr.Open(t, url, s)
	declare(t, b, processTopic, processGroup)
	return url, b, newLedger(t)
}

// declare makes a topic and its groups, or ends the test.
func declare(t testing.TB, b *bus.Bus, topic string, groups ...string) {
	t.Helper()
	if err := b.Declare(t.Context(), bus.Topic{Name: topic, Groups: groups}); err != nil {
		t.Fatal(err)
	}
}

// App opens an application's pool with room for n transactions.
func (tr Transport) App(t testing.TB, url string, n int) *sql.DB {
	t.Helper()
	db, err := tr.OpenDB(url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the application's pool: %v", err)
		}
	})
	return db
}

// Keyed makes a message.
func Keyed(key, payload string) *message.Message {
	m := message.NewMessage(payload, []byte(payload))
	m.Metadata.Set(event.KeyHeader, key)
	return m
}

// Expect receives a message and acknowledges it.
func Expect(t testing.TB, ch <-chan *message.Message, payload string) {
	t.Helper()
	if m := sourcetest.Receive(t, ch); string(m.Payload) != payload {
		t.Fatalf("got %s, want %s", m.Payload, payload)
	} else {
		m.Ack()
	}
}

// Payloads returns the payloads of a topic.
func Payloads(t testing.TB, b *bus.Bus, topic string) []string {
	t.Helper()
	got, err := b.Browse(t.Context(), topic, 1000)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(got))
	for i, m := range got {
		out[i] = string(m.Payload)
	}
	return out
}

// must runs a statement of the application.
func must(t testing.TB, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, statement string,
) {
	t.Helper()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
