package inbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/sse"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(killedEnv); url != "" {
		fmt.Fprintln(os.Stderr, sendUntilKilled(url))
		os.Exit(1)
	}
	boxtest.Main(m)
}

// office is an inbox on a database.
type office struct {
	*boxtest.Box
	t     *testing.T
	inbox *inbox.Inbox
}

func newOffice(t *testing.T, cfg inbox.Config) *office {
	t.Helper()
	return open(t, boxtest.URL(t), cfg)
}

// open is another process on the same database.
func open(t *testing.T, url string, cfg inbox.Config) *office {
	t.Helper()
	o := &office{Box: boxtest.Open(t, url), t: t}
	if cfg.Holder == "" {
		cfg.Holder = "test"
	}
	var err error
	if o.inbox, err = inbox.New(o.Store, cfg); err != nil {
		t.Fatal(err)
	}
	return o
}

// notice is an event of the community, by a member and about something.
func notice(t testing.TB, typ, member, ref string) event.Event {
	t.Helper()
	e, err := events.New(typ, "notice", ref, member, member != "", events.Noticed{
		MemberID: member, RefID: ref, Params: events.NoticeParams{Member: member, Show: ref}, Message: typ + " by " + member + " on " + ref, At: time.Now().UTC(),
	})
	require.NoError(t, err)
	return e
}

var errUndone = errors.New("undone on purpose")

// try handles an event as the consumer does; then is the handler's error, which
// decides about the transaction.
func (o *office) try(ctx context.Context, e event.Event, then error) (effect string, err error) {
	c := o.inbox.Consumers()[0]
	err = o.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if effect, err = c.Handlers[e.Type](ctx, tx, e); err != nil {
			return err
		}
		if err := o.Store.RecordEffects(ctx, tx, c.Group, effect, e); err != nil {
			return err
		}
		return then
	})
	return effect, err
}

// handle handles well-formed events.
func (o *office) handle(all ...event.Event) {
	o.t.Helper()
	for _, e := range all {
		if _, err := o.try(o.t.Context(), e, nil); err != nil {
			o.t.Fatal(err)
		}
	}
}

// reserved stores n notifications for a member and returns their ids.
func (o *office) reserved(member string, n int) []string {
	o.t.Helper()
	ids := make([]string, n)
	for i := range ids {
		e := notice(o.t, events.ReservationNotice, member, "r-"+strconv.Itoa(i))
		o.handle(e)
		ids[i] = e.ID + "/" + member
	}
	return ids
}

// follow makes followers of a member: f-000, f-001 and so on.
func (o *office) follow(member string, n int) []string {
	o.t.Helper()
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("f-%03d", i)
		o.Exec(o.t, `INSERT INTO follows (followed_id, follower_id, created_at) VALUES ($1, $2, 1)`, member, all[i])
	}
	return all
}

// list is everything in a member's inbox, newest first.
func (o *office) list(member string) []inbox.Notification {
	o.t.Helper()
	all, err := o.inbox.List(o.t.Context(), member, inbox.Query{Limit: 1000})
	if err != nil {
		o.t.Fatal(err)
	}
	return all
}

func (o *office) count(query string, args ...any) int {
	o.t.Helper()
	n, err := strconv.Atoi(o.Query(o.t, query, args...))
	if err != nil {
		o.t.Fatal(err)
	}
	return n
}

// run runs the inbox until the test ends, or stop is called.
func (o *office) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- o.inbox.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			o.t.Errorf("run: %v", err)
		}
	})
	o.t.Cleanup(stop)
	return stop
}

func ids(all []inbox.Notification) []string {
	out := make([]string, len(all))
	for i, n := range all {
		out[i] = n.ID
	}
	return out
}

func reversed(all []string) []string {
	out := slices.Clone(all)
	slices.Reverse(out)
	return out
}

// wire stands in for the streams and records the events it was sent.
type wire struct {
	// before is asked about each send.
	before func(ctx context.Context, member string, e sse.Event) error

	mu    sync.Mutex
	sent  []string // ids
	to    []string // members
	event []sse.Event
	mutes []string
}

func (w *wire) ToMember(ctx context.Context, member string, e sse.Event) error {
	if w.before != nil {
		if err := w.before(ctx, member, e); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent, w.to, w.event = append(w.sent, e.ID), append(w.to, member), append(w.event, e)
	return nil
}

func (w *wire) Mute(_ context.Context, member string, muted bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mutes = append(w.mutes, fmt.Sprintf("%s %v", member, muted))
	return nil
}

func (w *wire) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

// wait waits until n were sent and returns them.
func (w *wire) wait(t *testing.T, n int) []string {
	t.Helper()
	boxtest.WaitFor(t, fmt.Sprintf("%d live sends", n), func() bool { return len(w.all()) >= n },
		func() string { return fmt.Sprint(w.all()) })
	return w.all()
}
