package outbox_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an outbox in memory with a relay that was not started.
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
	if err != nil {
		t.Fatal(err)
	}
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
	r := b.relay(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return func() {
		b.t.Helper()
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("Run: %v", err)
		}
	}
}

// order lists what was published as key + sequence number.
func (b *bench) order() (out []string) {
	for _, p := range b.pub.Published() {
		out = append(out, name(p.Event))
	}
	return out
}

func name(e event.Event) string { return e.Key() + string('0'+rune(e.Sequence)) }
