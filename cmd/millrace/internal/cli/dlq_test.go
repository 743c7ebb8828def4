package cli_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

const group = "billing"

// refusal has a reason of its own, and escape sequences that would turn a terminal red.
type refusal struct{ error }

func (refusal) FailureReason() string { return "API_4XX" }

// consume runs a consumer until stop is called.
func consume(t *testing.T, b *bus.Bus, c bus.Consumer) (stop func()) {
	t.Helper()
	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = r.Add(c)
	}
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return stop
}

// bury publishes n events that a consumer sends to dead letters, and returns their ids.
func bury(t *testing.T, b *bus.Bus, topic string, n int) (ids []string) {
	t.Helper()
	buried := make(chan struct{}, n)
	if err := b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}, bus.Topic{Name: topic + ".DLT", Groups: []string{driver.RedriveGroup}}); err != nil {
		t.Fatal(err)
	}
	stop := consume(t, b, bus.Consumer{
		Topic: topic, Group: group,
		Handler: func(*message.Message) error {
			return fault.MarkPermanent(refusal{errors.New("no such account \x1b[31m")})
		},
		Hooks: bus.Hooks{OnDeadLetter: func(bus.Report) { buried <- struct{}{} }},
	})
	var all []*message.Message
	for i := range n {
		e, err := event.New([]string{"OrderPlaced", "OrderPaid"}[i%2], "/shop", map[string]int{"amount": i})
		require.NoError(t, err)
		e.AggregateID = fmt.Sprint("order-", i%3)
		m, err := event.Structured{}.Encode(e)
		require.NoError(t, err)
		ids, all = append(ids, e.ID), append(all, m)
	}
	require.NoError(t, b.Publisher().Publish(topic, all...))
	for range n {
		select {
		case <-buried:
		case <-time.After(time.Minute):
			t.Fatal("not all events became dead letters within a minute")
		}
	}
	stop()
	return ids
}

// arrived runs a consumer until it has seen so many events and a last one, and returns the
// payloads by id. An event that arrives twice fails the test.
func arrived(t *testing.T, b *bus.Bus, topic string, n int) map[string]string {
	t.Helper()
	got := map[string]string{}
	var mu sync.Mutex
	seen, last := make(chan struct{}, 1000), make(chan struct{})
	stop := consume(t, b, bus.Consumer{Topic: topic, Group: group, Handler: func(m *message.Message) error {
		mu.Lock()
		defer mu.Unlock()
		if m.UUID == "last" {
			close(last)
			return nil
		}
		if _, twice := got[m.UUID]; twice {
			t.Errorf("%s was delivered twice", m.UUID)
		}
		got[m.UUID] = string(m.Payload)
		seen <- struct{}{}
		return nil
	}})
	within := func(c <-chan struct{}, what string) {
		t.Helper()
		select {
		case <-c:
		case <-time.After(time.Minute):
			t.Fatalf("%s did not come within a minute; there were %d", what, len(got))
		}
	}
	for range n {
		within(seen, "a redriven event")
	}
	// Messages that arrive too often come before this one, or beside it.
	require.NoError(t, b.Publisher().Publish(topic, message.NewMessage("last", []byte("x"))))
	within(last, "the last message")
	stop()
	return got
}

type letter struct {
	ID, Type, Key, OriginalTopic, Group, Reason, Class, Error, Payload string
	Attempts, Redrives, Edits                                          int
	LastFailure                                                        *time.Time
	Metadata                                                           map[string]string
}

type listing struct {
	Pending  int
	Complete bool
	Letters  []letter
}

func (l listing) ids() (ids []string) {
	for _, letter := range l.Letters {
		ids = append(ids, letter.ID)
	}
	slices.Sort(ids)
	return ids
}

type outcome struct {
	Matched, Done int
	DryRun        bool
	Failed        []struct{ ID, Error string }
}

func sorted(ids ...string) []string { return slices.Sorted(slices.Values(ids)) }

// TestDeadLetters runs the steps of an operator on every transport.
func TestDeadLetters(t *testing.T) {
	eachTransport(t, func(t *testing.T, rawURL, topic string) {
		b := openBus(t, rawURL)
		ids := bury(t, b, topic, 6)
		dlt := topic + ".DLT"
		dlq := func(command string, more ...string) run {
			return tool(t, append([]string{"dlq", command, dlt, "--bus", rawURL}, more...)...)
		}
		list := func(want ...string) {
			t.Helper()
			got := read[listing](t, dlq("list", "--json").want(t, 0))
			if !slices.Equal(got.ids(), sorted(want...)) {
				t.Fatalf("pending are %v, want %v", got.ids(), want)
			}
		}

		all := read[listing](t, dlq("list", "--json").want(t, 0))
		if !slices.Equal(all.ids(), sorted(ids...)) || all.Pending != 6 {
			t.Fatalf("listed %+v", all)
		}
		if l := all.Letters[0]; l.Reason != "API_4XX" || l.Class != "permanent" || l.Group != group || l.OriginalTopic != topic || l.Attempts != 1 || l.LastFailure == nil || l.Payload != "" {
			t.Errorf("listed as %+v", l)
		}
		shown := dlq("list").want(t, 0, "API_4XX", "OrderPlaced", "no such account", "6 dead letters")
		assert.NotContainsf(t, shown.out, "\x1b", "an error commands the terminal: %q", shown.out)
		paid := read[listing](t, dlq("list", "--type", "OrderPaid", "--since", "1h", "--json").want(t, 0))
		if !slices.Equal(paid.ids(), sorted(ids[1], ids[3], ids[5])) {
			t.Errorf("of type OrderPaid are %v", paid.ids())
		}
		dlq("list", "--reason", "OTHER").want(t, 0, "no dead letters of 6")

		dlq("show", ids[1]).want(t, 0, "OrderPaid", "order-1", "no such account", `"amount": 1`, topic)
		one := read[letter](t, dlq("show", ids[1], "--json").want(t, 0))
		if !strings.Contains(one.Payload, `"amount":1`) || one.Key != "order-1" || one.Metadata[driver.DLQGroup] != group {
			t.Errorf("shown as %+v", one)
		}
		dlq("show", "nobody").want(t, 1, "no such dead letter")

		file := filepath.Join(t.TempDir(), "payload.json")
		edited := strings.Replace(one.Payload, `"amount":1`, `"amount":150`, 1)
		for payload, code := range map[string]int{"{}": 1, edited: 0} {
			require.NoError(t, os.WriteFile(file, []byte(payload), 0o600))
			dlq("edit", ids[1], "--payload", file).want(t, code)
		}
		if one = read[letter](t, dlq("show", ids[1], "--json").want(t, 0)); one.Edits != 1 || one.Payload != edited {
			t.Errorf("after the edit: %+v", one)
		}
		list(ids...)

		dry := read[outcome](t, dlq("redrive", "--all", "--dry-run", "--json").want(t, 0))
		if !dry.DryRun || dry.Done != 6 {
			t.Errorf("the dry run would redrive %+v", dry)
		}
		dlq("drop", ids[4], "--dry-run").want(t, 0, "1 dead letter would be dropped")
		list(ids...)

		dlq("drop", ids[4], "--yes").want(t, 0, "1 dead letter dropped")
		list(ids[0], ids[1], ids[2], ids[3], ids[5])
		dlq("redrive", ids[3], "nobody").want(t, 1, "1 dead letter redriven", `there is no dead letter "nobody"`)
		list(ids[0], ids[1], ids[2], ids[5])
		dlq("redrive", "--type", "OrderPaid", "--rate", "100").want(t, 0, "2 dead letters redriven")
		list(ids[0], ids[2])
		rest := read[outcome](t, dlq("redrive", "--all", "--json").want(t, 0))
		if rest.Done != 2 || len(rest.Failed) != 0 {
			t.Errorf("the rest: %+v", rest)
		}
		list()
		dlq("redrive", "--all").want(t, 0, "0 dead letters redriven")

		got := arrived(t, b, topic, 5)
		for i, id := range ids {
			payload, came := got[id]
			if came == (i == 4) {
				t.Errorf("event %d came back: %v", i, came)
			}
			if i == 1 && payload != edited {
				t.Errorf("the edited event came as %s", payload)
			}
		}
		list()
	})
}

// graves is a fresh bus in a file with n dead letters.
func graves(t *testing.T, n int) (b *bus.Bus, rawURL string, ids []string) {
	t.Helper()
	rawURL = "sqlite://" + filepath.Join(t.TempDir(), "bus.db") + "?synchronous=normal"
	b = openBus(t, rawURL)
	return b, rawURL, bury(t, b, "orders", n)
}

// TestInterrupted ends a redrive in its middle, as Ctrl-C does.
func TestInterrupted(t *testing.T) {
	b, rawURL, ids := graves(t, 60)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := strings.NewReader("")
	got := toolWith(ctx, cli.Streams{In: first, Asks: true, Err: writer(func(p []byte) {
		if strings.Contains(string(p), "redriven") && !strings.Contains(string(p), " 0 redriven") {
			cancel() // as soon as some are redriven
		}
	})}, "dlq", "redrive", "orders.DLT", "--all", "--rate", "20", "--bus", rawURL)
	got.want(t, 130, "interrupted", "the rest is pending")
	left := read[listing](t, tool(t, "dlq", "list", "orders.DLT", "--bus", rawURL, "--json").want(t, 0))
	if n := len(left.Letters); n == 0 || n == 60 {
		t.Errorf("%d of 60 letters are left", n)
	}
	if done := fmt.Sprintf("%d dead letters redriven", 60-len(left.Letters)); !strings.Contains(got.out, done) {
		t.Errorf("%q is missing in %s", done, got.out)
	}
	tool(t, "dlq", "redrive", "orders.DLT", "--all", "--bus", rawURL).want(t, 0, fmt.Sprintf("%d dead letters redriven", len(left.Letters)))
	if came := arrived(t, b, "orders", 60); len(came) != len(ids) {
		t.Errorf("%d of %d events came back", len(came), len(ids))
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func TestDropAsks(t *testing.T) {
	b, rawURL, _ := graves(t, 3)
	line := []string{"dlq", "drop", "orders.DLT", "--all", "--bus", rawURL}
	pending := func() int {
		t.Helper()
		return read[listing](t, tool(t, "dlq", "list", "orders.DLT", "--bus", rawURL, "--json").want(t, 0)).Pending
	}
	tool(t, line...).want(t, 2, "--yes")
	for _, answer := range []string{"n\n", "\n", "", "yesterday\n"} {
		toolWith(t.Context(), cli.Streams{In: strings.NewReader(answer), Asks: true}, line...).want(t, 1, "Drop 3 dead letters of orders.DLT for good?", "nothing was done")
	}
	if n := pending(); n != 3 {
		t.Errorf("without a yes %d of 3 letters are left", n)
	}
	toolWith(t.Context(), cli.Streams{In: strings.NewReader("y\n"), Asks: true, Err: writer(func(p []byte) {
		if strings.Contains(string(p), "for good?") {
			bury(t, b, "orders", 1) // while the question is open
		}
	})}, line...).want(t, 0, "3 dead letters dropped")
	if n := pending(); n != 1 {
		t.Errorf("after a yes to 3 of 4 letters %d are left", n)
	}
}

func TestEditor(t *testing.T) {
	_, rawURL, ids := graves(t, 2)
	line := []string{"dlq", "edit", "orders.DLT", ids[0], "--bus", rawURL}
	payload := func() string {
		t.Helper()
		return read[letter](t, tool(t, "dlq", "show", "orders.DLT", ids[0], "--bus", rawURL, "--json").want(t, 0)).Payload
	}
	before := payload()
	with := func(change func(string) string) cli.Streams {
		return cli.Streams{Edit: func(_ context.Context, path string) error {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			assert.Containsf(t, string(text), "\n  \"", "the editor gets JSON on one line: %s", text)
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("others may read the payload: %v %v", info.Mode(), err)
			}
			return os.WriteFile(path, []byte(change(string(text))), 0o600)
		}}
	}
	toolWith(t.Context(), with(func(s string) string { return s + "\n" }), line...).want(t, 0, "nothing was changed")
	toolWith(t.Context(), with(func(s string) string { return strings.Replace(s, `"amount": 0`, `"amount": 7`, 1) }), line...).want(t, 0, "the payload was replaced")
	if got, want := payload(), strings.Replace(before, `"amount":0`, `"amount":7`, 1); got != want {
		t.Errorf("the payload is %s, want %s", got, want)
	}
	refused := toolWith(t.Context(), with(func(string) string { return `{"mine":1}` }), line...).want(t, 1, "is refused", "what you wrote is in ")
	_, kept, _ := strings.Cut(refused.err, "what you wrote is in ")
	kept, _, _ = strings.Cut(kept, ";")
	defer os.Remove(kept)
	if text, err := os.ReadFile(kept); err != nil || string(text) != `{"mine":1}` {
		t.Errorf("what was refused is kept as %q: %v", text, err)
	}
	gone := toolWith(t.Context(), cli.Streams{Edit: func(context.Context, string) error { return errors.New("crashed") }}, line...).want(t, 1, "the editor failed, what it wrote is in ")
	_, path, _ := strings.Cut(gone.err, "what it wrote is in ")
	path, _, _ = strings.Cut(path, ":")
	assert.NoError(t, os.RemoveAll(filepath.Dir(path)))

	// A real editor, from the environment.
	script := filepath.Join(t.TempDir(), "editor")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nsed -i 's/\"amount\": 7/\"amount\": 8/' \"$2\"\n"), 0o700))
	env := func(name string) string { return map[string]string{"EDITOR": script + " --wait"}[name] }
	toolWith(t.Context(), cli.Streams{Env: env}, line...).want(t, 0, "the payload was replaced")
	assert.Contains(t, payload(), `"amount":8`, "after the real editor")
}

// A letter without its topic stays, and the tool reports it.
func TestRedriveFails(t *testing.T) {
	b, rawURL, _ := graves(t, 1)
	require.NoError(t, b.Publisher().Publish("orders.DLT", message.NewMessage("homeless", []byte{0xff, 0x00, 0x1b})))
	tool(t, "dlq", "redrive", "orders.DLT", "--all", "--bus", rawURL).want(t, 1, "homeless stays", "dlq_original_topic", "1 dead letter redriven", "1 cannot be")
	tool(t, "dlq", "show", "orders.DLT", "homeless", "--bus", rawURL).want(t, 0, "3 bytes that are no text", "/wAb", "not an event")
	tool(t, "dlq", "list", "orders.DLT", "--bus", "sqlite://"+t.TempDir()+"/none.db").want(t, 1, "there is no file")
}
