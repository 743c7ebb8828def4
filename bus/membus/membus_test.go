package membus_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, scheme bus.Scheme, url string) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), url, scheme)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close())
	})
	return b
}

func TestConformance(t *testing.T) {
	scheme := membus.Scheme()
	url := func(t *testing.T) string {
		return "mem://" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	}
	bustest.Run(t, func(t *testing.T) *bus.Bus { return open(t, scheme, url(t)) },
		bustest.Again(func(t *testing.T, _ *bus.Bus) *bus.Bus { return open(t, scheme, url(t)) }),
		bustest.URL("mem://", scheme))
}

func publish(b *bus.Bus, topic string, payloads ...string) error {
	for _, p := range payloads {
		if err := b.Publisher().Publish(topic, message.NewMessage(p, []byte(p))); err != nil {
			return err
		}
	}
	return nil
}

// receive takes and acknowledges n messages and returns their payloads.
func receive(t *testing.T, b *bus.Bus, group, topic string, n int) string {
	t.Helper()
	sub, err := b.Subscriber(group, bus.SubscriberConfig{})
	require.NoError(t, err)
	defer sub.Close()
	ch, err := sub.Subscribe(context.Background(), topic)
	require.NoError(t, err)
	var got []string
	for range n {
		m := <-ch
		got = append(got, string(m.Payload))
		m.Ack()
	}
	return strings.Join(got, " ")
}

func TestRetentionDropsWhatEveryGroupHasRead(t *testing.T) {
	b := open(t, membus.Scheme(), "mem://?retention=3")
	if err := publish(b, "t", "1", "2", "3", "4", "5"); err != nil {
		t.Fatal(err) // no group: the oldest are dropped
	}
	require.Equal(t, "3 4 5", receive(t, b, "g", "t", 3), "a new group")
	require.NoError(t, publish(b, "t", "6", "7"))
	require.Equal(t, "6 7", receive(t, b, "g", "t", 2))
}

func TestRetentionRefusesToDropWhatAGroupHasNotRead(t *testing.T) {
	b := open(t, membus.Scheme(), "mem://?retention=3")
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "t", Groups: []string{"slow"}}))
	require.NoError(t, publish(b, "t", "1", "2", "3"))
	err := publish(b, "t", "4")
	if !errors.Is(err, membus.ErrFull) || !strings.Contains(err.Error(), "slow") {
		t.Fatalf("got %v, want ErrFull naming the group", err)
	}
	if c := fault.Of(err); c != fault.Infrastructure {
		t.Errorf("class %v: a consumer that publishes would dead-letter instead of pausing", c)
	}
	require.Equal(t, "1 2 3", receive(t, b, "slow", "t", 3))
	assert.NoError(t, publish(b, "t", "4"), "after the group has read")
}

func TestAPublishLargerThanTheRetentionIsRefused(t *testing.T) {
	b := open(t, membus.Scheme(), "mem://?retention=2")
	m := func(id string) *message.Message { return message.NewMessage(id, nil) }
	err := b.Publisher().Publish("t", m("1"), m("2"), m("3"))
	require.Equalf(t, fault.Permanent, fault.Of(err), "got %v, want a permanent error", err)
	if got, err := b.Browse(t.Context(), "t", 10); err != nil || len(got) != 0 {
		t.Fatalf("%d messages were kept of a refused publish (%v)", len(got), err)
	}
}

func TestNamesShareAStoreWhileOneIsOpen(t *testing.T) {
	scheme := membus.Scheme()
	a, b := open(t, scheme, "mem://shared"), open(t, scheme, "mem://shared")
	other, private := open(t, scheme, "mem://other"), open(t, scheme, "mem://")
	require.NoError(t, publish(a, "t", "1"))
	count := func(b *bus.Bus) int {
		got, err := b.Browse(t.Context(), "t", 10)
		require.NoError(t, err)
		return len(got)
	}
	if count(b) != 1 || count(other) != 0 || count(private) != 0 {
		t.Fatalf("shared %d, other %d, private %d; want 1 0 0", count(b), count(other), count(private))
	}
	a.Close()
	require.Equal(t, 1, count(b), "closing one bus emptied the other's store")
	b.Close()
	require.Equal(t, 0, count(open(t, scheme, "mem://shared")), "the store outlived its last bus")
}

func TestPendingShowsWhatAGroupHasNotAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := bus.Open(t.Context(), "mem://?retention=5", membus.Scheme())
		require.NoError(t, err)
		defer b.Close()
		pending := func(group string, limit int, want string) {
			t.Helper()
			got, err := b.Pending(t.Context(), "t", group, limit)
			require.NoError(t, err)
			var all []string
			for _, m := range got {
				all = append(all, m.UUID)
			}
			assert.Equalf(t, want, strings.Join(all, " "), "pending of %s", group)
		}
		pending("g", 10, "") // neither topic nor group
		if err := publish(b, "t", "0", "1", "2", "3", "4", "5"); err != nil {
			t.Fatal(err) // the first is dropped again
		}
		pending("nobody", 10, "1 2 3 4 5")
		sub := sourcetest.Subscriber(b.Driver(), "g", 10)
		ch, err := sub.Subscribe(t.Context(), "t")
		require.NoError(t, err)
		for range 4 {
			m := <-ch
			if m.UUID == "1" || m.UUID == "3" {
				m.Ack()
			}
		}
		synctest.Wait()
		pending("g", 10, "2 4 5")
		pending("g", 2, "2 4")
		require.NoError(t, sub.Close())
		pending("g", 10, "2 4 5")
	})
}

// The driver's own subscriber, without a dispatcher.
func TestTheWindowBoundsWhatIsUnacknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := bus.Open(t.Context(), "mem://", membus.Scheme())
		require.NoError(t, err)
		defer b.Close()
		const window = 3
		sub := sourcetest.Subscriber(b.Driver(), "g", window)
		defer sub.Close()
		ch, err := sub.Subscribe(t.Context(), "t")
		require.NoError(t, err)
		for n := range 200 {
			require.NoError(t, publish(b, "t", strconv.Itoa(n)))
		}
		take := func() (got []*message.Message) {
			for {
				synctest.Wait()
				select {
				case m := <-ch:
					got = append(got, m)
				default:
					return got
				}
			}
		}
		out := take()
		require.Len(t, out, window, "messages are out")
		// The first message stays out while others come and go. Their number is bounded, or a
		// crash would redeliver every message behind the first.
		first, n := out[0], len(out)
		for len(out) > 0 {
			for _, m := range out {
				if m != first {
					m.Ack()
				}
			}
			out = take()
			n += len(out)
		}
		assert.Equal(t, 24*window, n, "messages came beside an unacknowledged one")
		// A nacked message is redelivered before any new message.
		first.Nack()
		again := take()
		if len(again) != 1 || again[0].UUID != first.UUID {
			t.Fatalf("after the nack: %d messages", len(again))
		}
		again[0].Ack()
		if next := take(); len(next) != window || next[0].UUID != strconv.Itoa(24*window) {
			t.Errorf("after the ack: %d messages, want to go on at %d", len(next), 24*window)
		}
	})
}

func TestURLErrors(t *testing.T) {
	scheme := membus.Scheme()
	open(t, scheme, "mem://kept?retention=5")
	for url, want := range map[string]string{
		"mem://?retention=0":             `"retention" is "0"`,
		"mem://?retention=many":          `"retention" is "many"`,
		"mem://?retenton=5":              `unknown parameter "retenton"; known are: retention`,
		"mem://?retention=1&retention=2": `given 2 times`,
		"mem://user:hunter2@name":        "has a user",
		"mem://name/path":                "has a path",
		"mem://kept?retention=6":         "retention=5",
	} {
		b, err := bus.Open(t.Context(), url, scheme)
		if err == nil {
			b.Close()
			t.Errorf("%s was opened", url)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}

func TestItSaysThatItIsNotDurable(t *testing.T) {
	b := open(t, membus.Scheme(), "mem://")
	want := driver.Capabilities{OrderedPerKey: true, ConsumerGroups: true, Replay: true}
	if got := b.Capabilities(); got != want {
		t.Fatalf("capabilities %+v, want %+v", got, want)
	}
}
