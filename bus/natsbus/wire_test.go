package natsbus_test

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

// dial connects to the server of a place.
func dial(t *testing.T, place string) (conn *nats.Conn, prefix string) {
	t.Helper()
	u, err := url.Parse(place)
	require.NoError(t, err)
	conn, err = nats.Connect("nats://" + u.Host)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn, u.Query().Get("prefix")
}

// Another process's messages arrive at once: without a wake-up the next poll is an hour off.
func TestOtherProcessWakes(t *testing.T) {
	place := natstest.URL(t)
	cfg := natsbus.Config{PollInterval: time.Hour}
	from, to := open(t, cfg, place), open(t, cfg, place)
	publish(t, from, "topic", keyed("k", "0"))
	ch := subscribe(t, to, "group", "topic")
	receive(t, ch).Ack()
	for n := range 20 {
		publish(t, from, "topic", keyed(fmt.Sprint("k", n), fmt.Sprint(n)))
		receive(t, ch).Ack()
	}
}

// NATS's own tools show metadata as headers. Messages of other writers are delivered, with
// their headers.
func TestWire(t *testing.T) {
	place := natstest.URL(t)
	b := open(t, natsbus.Config{Partitions: 1}, place)
	m := keyed("k", "ours")
	m.Metadata.Set("plain", "a b")
	m.Metadata.Set("odd name", "two\nlines")
	m.Metadata.Set("a/b", "c") // a header may not have the name
	m.Metadata.Set("Status", "503")
	publish(t, b, "payment.events", m)
	conn, prefix := dial(t, place)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), prefix+"+payment=2Eevents")
	require.NoError(t, err)
	stored, err := stream.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, prefix+".payment=2Eevents.0", stored.Subject)
	require.Equal(t, m.UUID, stored.Header.Get("_watermill_message_uuid"))
	require.Equal(t, "a b", stored.Header.Get("plain"))
	require.Equal(t, "ours", string(stored.Data))

	odd := message.NewMessage("two\nlines", nil)
	require.ErrorContains(t, b.Publisher().Publish("payment.events", odd), "id")

	foreign := nats.NewMsg(stored.Subject)
	foreign.Data = []byte("theirs")
	foreign.Header.Set("X-From", "elsewhere")
	_, err = js.PublishMsg(t.Context(), foreign, jetstream.WithMsgID("once"))
	require.NoError(t, err)
	ch := subscribe(t, b, "group", "payment.events")
	got := receive(t, ch)
	require.Equal(t, m.Metadata, got.Metadata)
	require.Equal(t, m.UUID, got.UUID)
	got.Ack()
	got = receive(t, ch)
	require.Equal(t, message.Metadata{"X-From": "elsewhere"}, got.Metadata)
	require.Equal(t, "2", got.UUID)
	require.Equal(t, "theirs", string(got.Payload))
	got.Ack()
	require.Empty(t, event.Key(got))
}

// A group's unacknowledged messages can be browsed, in the order of publishing, and stay.
func TestPendingAndBrowse(t *testing.T) {
	b := open(t, natsbus.Config{Partitions: 3}, natstest.URL(t))
	for n := range 30 {
		publish(t, b, "topic", keyed(fmt.Sprint("k", n), fmt.Sprint(n)))
	}
	texts := func(all []*message.Message, err error) string {
		t.Helper()
		require.NoError(t, err)
		var out []string
		for _, m := range all {
			out = append(out, string(m.Payload))
		}
		return strings.Join(out, " ")
	}
	require.Equal(t, "0 1 2 3", texts(b.Pending(t.Context(), "topic", "group", 4)))
	require.Equal(t, "27 28 29", texts(b.Browse(t.Context(), "topic", 3)))
	require.Empty(t, texts(b.Browse(t.Context(), "none", 3)))
	ch := subscribe(t, b, "group", "topic")
	for range 30 {
		receive(t, ch).Ack()
	}
	until(t, "nothing is pending", func() bool { return texts(b.Pending(t.Context(), "topic", "group", 4)) == "" })
	require.Equal(t, "0 1 2 3", texts(b.Pending(t.Context(), "topic", "other", 4)))
}

// A topic is declared with a retention, which can be changed, and partitions, which cannot.
// A single server refuses more than one replica.
func TestDeclare(t *testing.T) {
	place := natstest.URL(t)
	b := open(t, natsbus.Config{Logger: slog.New(slog.DiscardHandler)}, place)
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Partitions: 5, Retention: time.Hour, Groups: []string{"g.*", "h"}}))
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Retention: 2 * time.Hour}))
	require.ErrorContains(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Partitions: 4}), "has 5, not 4")
	err := b.Declare(t.Context(), bus.Topic{Name: "many", Replication: 3})
	require.ErrorContains(t, err, "ask for one replica")
	require.Equal(t, fault.Permanent, fault.Of(err))
	err = open(t, natsbus.Config{}, place+"2&replicas=3").Ping(t.Context())
	require.ErrorContains(t, err, "ask for one replica")
	require.Equal(t, fault.Permanent, fault.Of(err))
	require.ErrorContains(t, b.Declare(t.Context(), bus.Topic{Name: strings.Repeat(".", 200)}), "shorten the topic")
	lags, err := b.Lag(t.Context())
	require.NoError(t, err)
	require.Equal(t, []bus.Lag{{Topic: "topic", Group: "g.*"}, {Topic: "topic", Group: "h"}}, lags)
	conn, prefix := dial(t, place)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), prefix+"+topic")
	require.NoError(t, err)
	require.Equal(t, jetstream.FileStorage, stream.CachedInfo().Config.Storage)
	require.Equal(t, "2h0m0s", stream.CachedInfo().Config.Metadata["millrace_retention"])
	changed := stream.CachedInfo().Config
	changed.AllowDirect = false
	_, err = js.UpdateStream(t.Context(), changed)
	require.NoError(t, err)
	_, err = b.Lag(t.Context())
	require.ErrorContains(t, err, "is no topic of Millrace")
	require.Equal(t, fault.Permanent, fault.Of(err))
}
