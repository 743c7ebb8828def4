package queuenotice_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/queuenotice"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a publisher that keeps its messages, and fails on demand.
type desk struct {
	mu     sync.Mutex
	taken  []*message.Message
	topics []string
	fail   func(call int) error
	calls  int
	block  chan struct{}
}

func (d *desk) Publish(topic string, messages ...*message.Message) error {
	if d.block != nil {
		<-d.block
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	if d.fail != nil {
		if err := d.fail(d.calls); err != nil {
			return err
		}
	}
	d.taken = append(d.taken, messages...)
	d.topics = append(d.topics, topic)
	return nil
}

func (d *desk) Close() error { return nil }

func (d *desk) ids() (ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.taken {
		ids = append(ids, m.UUID)
	}
	return ids
}

func notice(user string) queue.Notice {
	return queue.Notice{Event: "show-1", User: user, Entry: queue.Entry{ID: "e-" + user}, Time: time.UnixMilli(1_700_000_000_123)}
}

func open(t *testing.T, p message.Publisher, cfg queuenotice.Config) *queuenotice.Notices {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	n, err := queuenotice.New(p, cfg)
	require.NoError(t, err)
	return n
}

// run runs n until the returned function, which waits for its end.
func run(t *testing.T, n *queuenotice.Notices) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	return func() {
		cancel()
		assert.NoError(t, <-ended)
	}
}

// TestTurn: no token, and an id that no admission has.
func TestTurn(t *testing.T) {
	d := &desk{}
	n := open(t, d, queuenotice.Config{Token: func(string, string, queue.Entry) (string, error) { return "token", nil }})
	stop := run(t, n)
	n.Notify(queue.Notice{Event: "show-1", User: "ada", Time: time.UnixMilli(1_700_000_000_123)})
	stop()
	want := `{"action":"turn","eventId":"show-1","userId":"ada","entryToken":"","timestamp":1700000000123}`
	if len(d.taken) != 1 || string(d.taken[0].Payload) != want || d.taken[0].UUID != "ada:show-1:turn" {
		t.Errorf("%v", d.taken)
	}
}

func TestMessage(t *testing.T) {
	d := &desk{}
	n := open(t, d, queuenotice.Config{Topic: "doors", Token: func(event, user string, e queue.Entry) (string, error) {
		if user == "none" {
			return "", errors.New("no key")
		}
		return event + "/" + user + "/" + e.ID, nil
	}})
	stop := run(t, n)
	for _, user := range []string{"ada", "none", "o\ndd"} {
		n.Notify(notice(user))
	}
	stop()
	want := []string{
		`{"action":"admitted","eventId":"show-1","userId":"ada","entryToken":"show-1/ada/e-ada","timestamp":1700000000123}`,
		`{"action":"admitted","eventId":"show-1","userId":"none","entryToken":"","timestamp":1700000000123}`,
		`{"action":"admitted","eventId":"show-1","userId":"o\ndd","entryToken":"show-1/o\ndd/e-o\ndd","timestamp":1700000000123}`,
	}
	if len(d.taken) != len(want) || d.topics[0] != "doors" {
		t.Fatalf("%d messages to %v", len(d.taken), d.topics)
	}
	for i, m := range d.taken {
		if string(m.Payload) != want[i] || event.Key(m) != "show-1" {
			t.Errorf("%s with key %q, want %s", m.Payload, event.Key(m), want[i])
		}
	}
	assert.Equal(t, "ada:show-1", d.taken[0].UUID, "id")
	if id := d.taken[2].UUID; len(id) != 64 || strings.Contains(id, "\n") {
		t.Errorf("the id %q of an odd user", id)
	}
}

func TestOrder(t *testing.T) {
	d := &desk{}
	n := open(t, d, queuenotice.Config{})
	var want []string
	for i := range 1000 {
		n.Notify(notice(fmt.Sprint(i)))
		want = append(want, fmt.Sprintf("%d:show-1", i))
	}
	stop := run(t, n)
	stop()
	if got := d.ids(); !slices.Equal(got, want) {
		t.Errorf("%d messages, or in another order", len(got))
	}
	if published, dropped := n.Counts(); d.calls > 20 || published != 1000 || dropped != 0 {
		t.Errorf("%d calls, %d published, %d dropped", d.calls, published, dropped)
	}
}

func TestNotifyNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{block: make(chan struct{})}
		n := open(t, d, queuenotice.Config{Buffer: 10})
		stop := run(t, n)
		n.Notify(notice("first"))
		synctest.Wait() // the publisher has it, and blocks
		for i := range 15 {
			n.Notify(notice(fmt.Sprint(i)))
		}
		if _, dropped := n.Counts(); dropped != 5 {
			t.Errorf("%d dropped with 10 in the buffer", dropped)
		}
		close(d.block)
		stop()
		if got := d.ids(); len(got) != 11 || got[10] != "9:show-1" {
			t.Errorf("published %v", got)
		}
	})
}

func TestFailuresAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{fail: func(call int) error {
			switch call {
			case 1:
				return errors.New("away")
			case 2:
				panic("broken")
			}
			return nil
		}}
		n := open(t, d, queuenotice.Config{})
		stop := run(t, n)
		for i := range 4 {
			n.Notify(notice(fmt.Sprint(i)))
			synctest.Wait()
		}
		stop()
		if got, want := d.ids(), []string{"2:show-1", "3:show-1"}; !slices.Equal(got, want) {
			t.Errorf("published %v", got)
		}
		if published, dropped := n.Counts(); published != 2 || dropped != 2 {
			t.Errorf("%d published, %d dropped", published, dropped)
		}
	})
}

func TestDrain(t *testing.T) {
	for _, tc := range []struct {
		name               string
		fail               func(int) error
		published, dropped int64
	}{
		{"healthy", nil, 250, 0},
		{"failing", func(call int) error {
			if call > 1 {
				return errors.New("away")
			}
			return nil
		}, 100, 150},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := open(t, &desk{fail: tc.fail}, queuenotice.Config{})
			for i := range 250 {
				n.Notify(notice(fmt.Sprint(i)))
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			require.NoError(t, n.Run(ctx))
			if published, dropped := n.Counts(); published != tc.published || dropped != tc.dropped {
				t.Errorf("%d published, %d dropped", published, dropped)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	if _, err := queuenotice.New(nil, queuenotice.Config{}); err == nil {
		t.Error("a nil publisher was taken")
	}
	if _, err := queuenotice.New(&desk{}, queuenotice.Config{Buffer: -1}); err == nil || !strings.Contains(err.Error(), "Config.Buffer") {
		t.Errorf("Buffer -1: %v", err)
	}
}
