package contracts_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

var samplesFile = flag.String("samples", "", "where TestWalk writes one of each message, to be the examples of docs/asyncapi.yaml")

// everything is more messages than a walk publishes on one topic.
const everything = 100_000

// walkMessages reads the messages that the office published during the walk, from the
// transport itself, and judges each by the AsyncAPI file. It runs last.
func walkMessages(t *testing.T, w *walker, o *office) {
	f := readAsyncAPI(t)
	o.prefetch(t)
	o.binary(t, w)
	transport, side := o.transport(t, "boxoffice.db"), o.transport(t, notices)
	seen, samples := map[string]bool{}, map[string]object{}
	read := func(b *bus.Bus, topics map[string]object) {
		for topic, channel := range topics {
			all, err := b.Browse(t.Context(), topic, everything)
			require.NoError(t, err)
			for _, m := range all {
				name, err := f.judgeMessage(topic, channel, m)
				if err != nil {
					t.Errorf("%s: %s %v: %v", topic, m.Payload, m.Metadata, err)
					break // others of the topic would say the same
				}
				seen[topic+" "+name] = true
				if samples[name] == nil {
					samples[name] = object{"headers": m.Metadata, "payload": json.RawMessage(m.Payload)}
				}
			}
		}
	}
	read(transport, f.channels("transport"))
	read(side, f.channels("notices"))
	for _, missing := range unseen(f, seen) {
		t.Error(missing)
	}
	if *samplesFile != "" {
		save(t, *samplesFile, samples)
	}
}

// save writes one of each message, to be the examples of the file.
func save(t *testing.T, file string, samples map[string]object) {
	t.Helper()
	text, err := json.MarshalIndent(samples, "", "  ")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	require.NoError(t, err)
}

// unseen are the messages of the file that were never published. One dead letter
// topic represents all, since one piece of code writes them.
func unseen(f *eventFile, seen map[string]bool) (missing []string) {
	letters := false
	for _, server := range []string{"transport", "notices"} {
		for topic, channel := range f.channels(server) {
			for name := range channel["messages"].(object) {
				letters = letters || name == deadLetter && seen[topic+" "+name]
				if name != deadLetter && !seen[topic+" "+name] {
					missing = append(missing, fmt.Sprintf("no %s was published on %s", name, topic))
				}
			}
		}
	}
	if !letters {
		missing = append(missing, "there was no dead letter")
	}
	slices.Sort(missing)
	return missing
}

const (
	deadLetter = "DeadLetter"
	admitted   = "Admitted"
)

// judgeMessage judges a message by the channel it was published on, and returns its
// name there.
func (f *eventFile) judgeMessage(topic string, channel object, m *message.Message) (string, error) {
	names := channel["messages"].(object)
	if names[deadLetter] != nil {
		return deadLetter, f.judge("components/messages/DeadLetter/headers", m.Metadata)
	}
	if names[admitted] != nil {
		return admitted, f.judgeParts(admitted, m)
	}
	e, err := event.Decode(m)
	if err != nil {
		return "", err
	}
	if names[e.Type] == nil {
		return "", fmt.Errorf("the channel %s has no message %s", topic, e.Type)
	}
	if e.AggregateID == poisoned {
		return e.Type, nil
	}
	if m.Metadata[event.ContentTypeHeader] != "application/cloudevents+json" {
		return e.Type, f.judgeBinary(e.Type, m)
	}
	if err := f.judgeParts(e.Type, m); err != nil {
		return "", err
	}
	again, err := event.Binary{}.Encode(e)
	if err != nil {
		return "", err
	}
	return e.Type, f.judgeBinary(e.Type, again)
}

// judgeParts judges headers and payload.
func (f *eventFile) judgeParts(name string, m *message.Message) error {
	if err := f.judge("components/messages/"+name+"/headers", m.Metadata); err != nil {
		return err
	}
	return f.judge("components/messages/"+name+"/payload", json.RawMessage(m.Payload))
}

// judgeBinary judges an event in binary mode.
func (f *eventFile) judgeBinary(typ string, m *message.Message) error {
	if err := f.judge("components/schemas/BinaryHeaders", m.Metadata); err != nil {
		return fmt.Errorf("in binary mode: %w", err)
	}
	return f.judge("components/schemas/"+typ, json.RawMessage(m.Payload))
}

// prefetch makes an artist old, so that the office asks for it by itself.
func (o *office) prefetch(t *testing.T) {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite://"+filepath.Join(o.dir, "boxoffice.db"))
	require.NoError(t, err)
	defer s.Close()
	_, err = s.DB().ExecContext(t.Context(), `UPDATE artists SET last_checked_at = last_checked_at - 90000000 WHERE artist_id = '42'`)
	require.NoError(t, err)
	low := o.transport(t, "boxoffice.db")
	boxtest.WaitFor(t, "a refresh that nobody asked for", func() bool {
		all, err := low.Browse(t.Context(), artist.TopicLow, 1)
		require.NoError(t, err)
		return len(all) > 0
	})
}

// binary publishes an event in binary mode, as a foreign program may, and checks that
// it is handled.
func (o *office) binary(t *testing.T, w *walker) {
	t.Helper()
	views := func() (n int64) {
		var show struct{ ViewCount int64 }
		w.do(t, call{method: "GET", path: "/api/shows/show-4", status: 200, into: &show})
		return show.ViewCount
	}
	before := views()
	e, err := events.New(events.ShowViewed, "product", "show-4", "", false, events.Viewed{ViewedAt: events.Time(1_700_000_000_000)})
	require.NoError(t, err)
	m, err := event.Binary{}.Encode(e)
	require.NoError(t, err)
	require.NoError(t, o.transport(t, "boxoffice.db").Publisher().Publish(events.Products, m))
	boxtest.WaitFor(t, "the visit to be counted", func() bool { return views() == before+1 })
}
