package outbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the tests cause many failures
	goleak.VerifyTestMain(m)
}

// bench is an outbox in memory with a relay that is not started.
type bench struct {
	t     testing.TB
	store *outboxtest.Memory
	box   *outbox.Outbox
	pub   *outboxtest.Publisher
	seq   map[string]int
}

func newBench(t testing.TB, shards int) *bench {
	t.Helper()
	store := outboxtest.NewMemory(shards)
	box, err := outbox.New(store, outbox.Config{Topic: "t"})
	require.NoError(t, err)
	return &bench{t: t, store: store, box: box, pub: &outboxtest.Publisher{}, seq: map[string]int{}}
}

// append commits one event per key, in one transaction.
func (b *bench) append(keys ...string) {
	b.t.Helper()
	err := b.store.Do(context.Background(), func(ctx context.Context, tx sqltx.Execer) error {
		for _, key := range keys {
			b.seq[key]++
			e, err := outboxtest.NewEvent(key, b.seq[key])
			if err != nil {
				return err
			}
			if err := b.box.Append(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) relay(cfg outbox.RelayConfig) *outbox.Relay {
	b.t.Helper()
	r, err := outbox.NewRelay(b.store, b.pub, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// start runs a relay; stop ends it and waits.
func (b *bench) start(cfg outbox.RelayConfig) (stop func()) {
	b.t.Helper()
	end := b.run(b.pub, cfg)
	return func() {
		b.t.Helper()
		if err := end(); err != nil {
			b.t.Errorf("Run: %v", err)
		}
	}
}

// run runs a relay into another publisher; end ends it and returns what Run returned.
func (b *bench) run(pub message.Publisher, cfg outbox.RelayConfig) (end func() error) {
	b.t.Helper()
	r, err := outbox.NewRelay(b.store, pub, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

// order lists the published events as key + sequence number.
func (b *bench) order() (out []string) {
	for _, p := range b.pub.Published() {
		out = append(out, name(p.Event))
	}
	return out
}

func name(e event.Event) string { return e.Key() + string('0'+rune(e.Sequence)) }

// lines collects log lines.
type lines struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func newLines() *lines { return &lines{} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		return slog.String(a.Key, a.Value.String())
	}}))
}

// all returns the lines' attributes, as text.
func (l *lines) all() (out []map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.out.String()) {
		m := map[string]string{}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			m["msg"] = line // groups are not flat
		}
		out = append(out, m)
	}
	return out
}

// with returns the lines whose message contains the text.
func (l *lines) with(text string) (out []map[string]string) {
	for _, m := range l.all() {
		if strings.Contains(m["msg"], text) {
			out = append(out, m)
		}
	}
	return out
}
