package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/sse"
)

// inOrder has the stored notifications, in the order of commits.
func (o *office) inOrder() []string {
	o.t.Helper()
	rows, err := o.Store.Reader().QueryContext(o.t.Context(), `SELECT notification_id FROM notifications ORDER BY position, member_id`)
	if err != nil {
		o.t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	var all []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			o.t.Fatal(err)
		}
		all = append(all, id)
	}
	if err := rows.Err(); err != nil {
		o.t.Fatal(err)
	}
	return all
}

// write stores notifications from several writers at once.
func (o *office) write(writers, each int) {
	o.t.Helper()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				e := notice(o.t, events.PostLiked, "ann", fmt.Sprintf("show-%d", i))
				if w%2 == 0 {
					e = notice(o.t, events.ReservationNotice, "f-000", fmt.Sprintf("r-%d", i))
				}
				if _, err := o.try(o.t.Context(), e, nil); err != nil {
					o.t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestLiveSendsInTheOrderOfCommits(t *testing.T) {
	o := newOffice(t, inbox.Config{Page: 2})
	o.follow("ann", 3)
	out := &wire{}
	out.before = func(_ context.Context, _ string, e sse.Event) error {
		// By then any reader sees it.
		assert.Equalf(t, 1, o.count(`SELECT COUNT(*) FROM notifications WHERE notification_id = $1`, e.ID), "%s is sent before its commit", e.ID)
		return nil
	}
	o.inbox.SetSender(out)
	stop := o.run()
	o.write(4, 5)
	const all = 2*5 + 2*5*3
	got := out.wait(t, all)
	if want := o.inOrder(); !slices.Equal(got, want) {
		t.Errorf("sent\n%v, stored\n%v", got, want)
	}
	for i, e := range out.event {
		id, _, _ := strings.Cut(e.ID, "/")
		if at, ok := events.MadeAt(id); !ok || !e.At.Equal(at) || time.Since(at) > time.Hour {
			t.Errorf("%s happened at %v, its event was made at %v", e.ID, e.At, at)
		}
		if e.Name != "notification" || e.ID[len(e.ID)-len(out.to[i]):] != out.to[i] {
			t.Errorf("%+v went to %s", e, out.to[i])
		}
	}
	stop() // a send is counted when it has returned
	if s := o.inbox.Stats(); s.Sent != all || s.Failed+s.Dropped != 0 {
		t.Errorf("%+v", s)
	}
}

func TestOneProcessSends(t *testing.T) {
	url := boxtest.URL(t)
	out := &wire{}
	var both []*office
	for _, holder := range []string{"first", "second"} {
		o := open(t, url, inbox.Config{Holder: holder})
		o.inbox.SetSender(out)
		both = append(both, o)
	}
	both[0].follow("ann", 3)
	stop := both[0].run()
	stopOther := both[1].run()
	const all = 2*4*3 + 2*4
	var writers sync.WaitGroup
	for _, o := range both {
		writers.Go(func() { o.write(2, 4) })
	}
	writers.Wait()
	out.wait(t, all)
	if got, want := out.all(), both[0].inOrder(); !slices.Equal(got, want) {
		t.Errorf("sent\n%v, stored\n%v", got, want)
	}
	// The other one continues where the first one ended.
	stop()
	more := both[0].reserved("bob", 3)
	if got := out.wait(t, all+3)[all:]; !slices.Equal(got, more) {
		t.Errorf("sent %v, want %v", got, more)
	}
	stopOther() // a send is counted when it has returned
	assert.EqualValues(t, all+3, both[0].inbox.Stats().Sent+both[1].inbox.Stats().Sent, "sent")
}

func TestCrashBetweenCommitAndSend(t *testing.T) {
	url := boxtest.URL(t)
	dead := open(t, url, inbox.Config{Holder: "dead"})
	dead.inbox.SetSender(&wire{})
	stored := dead.reserved("ann", 2) // and its process ends

	next := open(t, url, inbox.Config{Holder: "next"})
	out := &wire{}
	next.inbox.SetSender(out)
	next.run()
	stored = append(stored, next.reserved("ann", 1)...)
	if got := out.wait(t, 3); !slices.Equal(got, stored) {
		t.Errorf("sent %v, want %v", got, stored)
	}
}

// A process that hangs in the middle of a batch, until after its lease, counts as
// dead; its batch is left to replays.
func TestCrashWhileSending(t *testing.T) {
	url := boxtest.URL(t)
	hung := open(t, url, inbox.Config{Holder: "hung"})
	hangs, let := make(chan struct{}), make(chan struct{})
	first := &wire{before: func(context.Context, string, sse.Event) error {
		close(hangs)
		<-let
		return errors.New("too late")
	}}
	hung.inbox.SetSender(first)
	taken := hung.reserved("ann", 3)
	stop := hung.run()
	<-hangs

	next := open(t, url, inbox.Config{Holder: "next"})
	out := &wire{}
	next.inbox.SetSender(out)
	next.run()
	later := next.reserved("ann", 2)
	if got := out.wait(t, 2); !slices.Equal(got, later) {
		t.Errorf("sent %v, want %v", got, later)
	}
	close(let)
	stop()
	if s := hung.inbox.Stats(); s.Failed != 1 || s.Dropped != 2 || s.Sent != 0 {
		t.Errorf("%+v", s)
	}
	replayed, err := next.inbox.Replay(t.Context(), "ann", nil)
	require.NoError(t, err)
	var got []string
	for _, e := range replayed.Events {
		got = append(got, e.ID)
	}
	if want := slices.Concat(taken, later); !slices.Equal(got, want) {
		t.Errorf("replayed %v, want %v", got, want)
	}
}

func TestStreamsAway(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	out := &wire{before: func(context.Context, string, sse.Event) error { return errors.New("connection refused") }}
	o.inbox.SetSender(out)
	o.run()
	mine := o.reserved("ann", 5)
	boxtest.WaitFor(t, "the failures", func() bool { return o.inbox.Stats().Failed == 5 })
	if got := ids(o.list("ann")); !slices.Equal(got, reversed(mine)) || len(out.all()) != 0 {
		t.Errorf("stored %v, sent %v", got, out.all())
	}
	assert.NoError(t, o.inbox.Read(t.Context(), "ann", mine[0]))
}

func TestASlowStreamIsBounded(t *testing.T) {
	o := newOffice(t, inbox.Config{SendTimeout: 500 * time.Millisecond})
	slow := true // used by the sending goroutine only
	out := &wire{before: func(ctx context.Context, _ string, _ sse.Event) error {
		if slow {
			slow = false
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	o.inbox.SetSender(out)
	o.reserved("ann", 4)
	o.run()
	boxtest.WaitFor(t, "the end of the batch", func() bool { return o.inbox.Stats() == inbox.Stats{Failed: 1, Dropped: 3} },
		func() string { return fmt.Sprintf("%+v", o.inbox.Stats()) })
	next := o.reserved("ann", 1)
	if got := out.wait(t, 1); !slices.Equal(got, next) {
		t.Errorf("sent %v, want %v", got, next)
	}
}

func TestLateIsNoNews(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	out := &wire{}
	o.inbox.SetSender(out)
	late := o.reserved("ann", 3)
	o.Exec(t, `UPDATE notifications SET created_at = created_at - 61000`)
	read := o.reserved("ann", 1)[0]
	require.NoError(t, o.inbox.Read(t.Context(), "ann", read))
	fresh := o.reserved("ann", 1)
	o.run()
	if got := out.wait(t, 1); !slices.Equal(got, fresh) {
		t.Errorf("sent %v, want %v", got, fresh)
	}
	if s := o.inbox.Stats(); s.Dropped != int64(len(late)) || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}

// More than one batch is taken up, each of whole pages.
func TestManyToSend(t *testing.T) {
	o := newOffice(t, inbox.Config{Page: 1000})
	o.follow("ann", 450)
	for i := range 5 { // 2250 where 2000 are taken up at once
		o.handle(notice(t, events.PostLiked, "ann", fmt.Sprint("show-", i)))
	}
	out := &wire{}
	o.inbox.SetSender(out)
	stop := o.run()
	if got, want := out.wait(t, 2250), o.inOrder(); !slices.Equal(got, want) {
		t.Errorf("%d were sent of %d, or in another order", len(got), len(want))
	}
	stop() // a send is counted when it has returned
	if s := o.inbox.Stats(); s.Sent != 2250 || s.Dropped+s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}
