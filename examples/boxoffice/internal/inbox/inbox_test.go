package inbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/notices"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/sqltx"
)

func TestRecipients(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	o.follow("ann", 2)
	o.Exec(t, `INSERT INTO follows (followed_id, follower_id, created_at) VALUES ('bob', 'eve', 1)`)
	for _, voter := range []string{"bob", "cleo"} {
		o.Exec(t, `INSERT INTO ballots (show_id, member_id, choice, created_at) VALUES ('show-1', $1, 'opener', 1)`, voter)
	}
	o.Exec(t, `INSERT INTO ballots (show_id, member_id, choice, created_at) VALUES ('show-2', 'eve', 'opener', 1)`)
	for _, c := range []struct {
		typ, member, ref, effect, kind string
		told                           []string
	}{
		{events.MemberFollowed, "ann", "bob", "stored", notices.Follow, []string{"bob"}},
		{events.PostLiked, "ann", "show-1", "stored", notices.PostLike, []string{"f-000", "f-001"}},
		{events.CommentCreated, "ann", "c-1", "stored", notices.Comment, []string{"f-000", "f-001"}},
		{events.PostLiked, "nobody", "show-1", "nobody", notices.PostLike, nil},
		{events.VoteClosed, "", "show-1", "stored", notices.VoteClosed, []string{"bob", "cleo"}},
		{events.VoteClosed, "", "show-3", "nobody", notices.VoteClosed, nil},
		{events.ReservationNotice, "ann", "r-1", "stored", notices.Reservation, []string{"ann"}},
		{events.TransferNotice, "ann", "t-1", "stored", notices.Transfer, []string{"ann"}},
	} {
		e := notice(t, c.typ, c.member, c.ref)
		effect, err := o.try(t.Context(), e, nil)
		if err != nil || effect != c.effect {
			t.Errorf("%s of %s: %q, %v", c.typ, c.member, effect, err)
		}
		if n := o.count(`SELECT COUNT(*) FROM notifications WHERE notification_id LIKE $1`, e.ID+"/%"); n != len(c.told) {
			t.Errorf("%s of %s was stored for %d, want %v", c.typ, c.member, n, c.told)
		}
		for _, member := range c.told {
			n := o.list(member)[0]
			if n.ID != e.ID+"/"+member || n.Type != c.kind || n.RefID != c.ref || !strings.Contains(n.Message, c.typ) ||
				!n.ReadAt.IsZero() || time.Since(n.CreatedAt).Abs() > time.Minute {
				t.Errorf("%s is told %+v of %s", member, n, c.typ)
			}
		}
	}
}

func TestAnEventThatComesTwiceIsStoredOnce(t *testing.T) {
	o := newOffice(t, inbox.Config{Page: 2})
	out := &wire{}
	o.inbox.SetSender(out)
	o.follow("ann", 5)
	o.run()
	one, many := notice(t, events.MemberFollowed, "ann", "bob"), notice(t, events.PostLiked, "ann", "show-1")
	// Without its key, or past the guard: the id prevents the duplicate.
	o.handle(one, many, one, many)
	out.wait(t, 6)
	o.handle(one, many)

	// With its key the handler is not even called.
	keys, err := sqlidempotency.New(o.Store.DB(), sqlidempotency.Config{Dialect: map[string]sqltx.Dialect{
		"sqlite": sqltx.SQLite, "postgres": sqltx.Postgres, "mysql": sqltx.MySQL,
	}[o.Store.Dialect()]})
	require.NoError(t, err)
	require.NoError(t, keys.Migrate(t.Context()))
	guard, err := idempotency.New[*sql.Tx](keys, idempotency.Config{Group: events.GroupNotifications})
	require.NoError(t, err)
	guarded := notice(t, events.MemberFollowed, "cleo", "bob")
	asked := 0
	for range 3 {
		err := o.Store.Write(t.Context(), func(ctx context.Context, _ *sql.Tx) error {
			_, err := guard.Do(ctx, guarded, func(ctx context.Context, _ *sql.Tx) error {
				asked++
				_, err := o.try(ctx, guarded, nil)
				return err
			})
			return err
		})
		require.NoError(t, err)
	}
	out.wait(t, 7)
	boxtest.WaitFor(t, "the rest of the pages", func() bool { return o.count(`SELECT COUNT(*) FROM notification_fanouts`) == 0 })
	o.reserved("last", 1) // a second send would have come before it
	sent := out.wait(t, 8)
	slices.Sort(sent)
	if n := o.count(`SELECT COUNT(*) FROM notifications`); n != 8 || asked != 1 || len(slices.Compact(sent)) != 8 {
		t.Errorf("%d rows, the guarded handler asked %d times, sent %v", n, asked, sent)
	}
}

func TestEventsThatCannotBeRight(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	with := func(typ string, n events.Noticed, change func(*event.Event)) event.Event {
		e, err := events.New(typ, "notice", "x", "ann", true, n)
		require.NoError(t, err)
		if change != nil {
			change(&e)
		}
		return e
	}
	good := events.Noticed{MemberID: "ann", RefID: "bob", Message: "hello"}
	for name, e := range map[string]event.Event{
		"not its data":      with(events.PostLiked, good, func(e *event.Event) { e.Data = []byte(`[1]`) }),
		"no message":        with(events.PostLiked, events.Noticed{MemberID: "ann", RefID: "bob"}, nil),
		"a long message":    with(events.PostLiked, events.Noticed{MemberID: "ann", RefID: "bob", Message: strings.Repeat("x", 9000)}, nil),
		"about nothing":     with(events.PostLiked, events.Noticed{MemberID: "ann", Message: "hello"}, nil),
		"a long reference":  with(events.PostLiked, events.Noticed{MemberID: "ann", RefID: strings.Repeat("x", 129), Message: "hello"}, nil),
		"nobody acted":      with(events.PostLiked, events.Noticed{RefID: "bob", Message: "hello"}, nil),
		"no member to tell": with(events.ReservationNotice, events.Noticed{RefID: "r", Message: "hello"}, nil),
		"long parameters":   with(events.PostLiked, events.Noticed{MemberID: "ann", RefID: "bob", Message: "hello", Params: events.NoticeParams{Show: strings.Repeat("x", 5000)}}, nil),
		"odd parameters": with(events.PostLiked, good, func(e *event.Event) {
			e.Data = []byte(`{"memberId":"ann","refId":"bob","message":"hello","params":{"seats":1}}`)
		}),
		"an odd member to tell": with(events.MemberFollowed, events.Noticed{MemberID: "ann", RefID: "b o;b", Message: "hello"}, nil),
		"an odd id":             with(events.MemberFollowed, good, func(e *event.Event) { e.ID = "7;chat=9" }),
		"a long id":             with(events.MemberFollowed, good, func(e *event.Event) { e.ID = strings.Repeat("7", 64) }),
	} {
		if _, err := o.try(t.Context(), e, nil); fault.Of(err) != fault.Permanent {
			t.Errorf("%s: %v is not permanent", name, err)
		}
	}
	assert.Equal(t, 0, o.count(`SELECT COUNT(*) FROM notifications`), "were stored")
	o.handle(with(events.MemberFollowed, good, nil))
}

func TestManyRecipientsComeInPages(t *testing.T) {
	for _, n := range []int{1, 3, 4, 5, 10, 12} { // of pages of 4
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			o := newOffice(t, inbox.Config{Page: 4})
			all := o.follow("ann", n)
			for _, voter := range all {
				o.Exec(t, `INSERT INTO ballots (show_id, member_id, choice, created_at) VALUES ('show-1', $1, 'opener', 1)`, voter)
			}
			for i, e := range []event.Event{notice(t, events.CommentCreated, "ann", "c-1"), notice(t, events.VoteClosed, "", "show-1")} {
				o.handle(e)
				for stored := min(n, 4); ; stored = min(n, stored+4) {
					require.Equal(t, stored, o.count(`SELECT COUNT(*) FROM notifications WHERE notification_id LIKE $1`, e.ID+"/%"), "are stored")
					// A step that fails, or whose process dies, has no effect.
					ctx, cancel := context.WithCancel(t.Context())
					cancel()
					if _, err := o.inbox.FanOut(ctx); err == nil {
						t.Fatal("a step that was cut off did not say so")
					}
					more, err := o.inbox.FanOut(t.Context())
					require.NoError(t, err)
					if !more {
						break
					}
				}
				for _, member := range all {
					if got := o.list(member); len(got) != i+1 {
						t.Errorf("%s has %d", member, len(got))
					}
				}
			}
		})
	}
}

// A follower that comes or goes between the pages pushes no other out, and no
// follower is notified twice.
func TestFollowersThatComeAndGo(t *testing.T) {
	o := newOffice(t, inbox.Config{Page: 3})
	all := o.follow("ann", 12)
	e := notice(t, events.PostLiked, "ann", "show-1")
	o.handle(e)
	gone := all[2:5] // of them one was notified, and was the end of the page
	for _, member := range gone {
		o.Exec(t, `DELETE FROM follows WHERE follower_id = $1`, member)
	}
	for _, member := range []string{"a-before", "f-005a", "z-behind"} {
		o.Exec(t, `INSERT INTO follows (followed_id, follower_id, created_at) VALUES ('ann', $1, 1)`, member)
	}
	for {
		more, err := o.inbox.FanOut(t.Context())
		require.NoError(t, err)
		if !more {
			break
		}
	}
	for _, member := range append(slices.Clone(all), "f-005a", "z-behind") {
		want := 1
		if slices.Contains(gone[1:], member) {
			want = 0
		}
		if got := o.list(member); len(got) != want {
			t.Errorf("%s has %d, want %d", member, len(got), want)
		}
	}
	assert.Empty(t, o.list("a-before"), "who came before the page that was under way")
}

func TestSeveralProcessesFanOut(t *testing.T) {
	url := boxtest.URL(t)
	first := open(t, url, inbox.Config{Page: 3, Holder: "first"})
	second := open(t, url, inbox.Config{Page: 3, Holder: "second"})
	all := first.follow("ann", 30)
	const n = 4
	for i := range n {
		first.handle(notice(t, events.PostLiked, "ann", fmt.Sprintf("show-%d", i)))
	}
	var pages atomic.Int64
	var both sync.WaitGroup
	for _, o := range []*office{first, second} {
		both.Go(func() {
			for t.Context().Err() == nil && o.count(`SELECT COUNT(*) FROM notification_fanouts`) > 0 {
				did, err := o.inbox.FanOut(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if did {
					pages.Add(1)
				}
			}
		})
	}
	both.Wait()
	for _, member := range all {
		if got := first.list(member); len(got) != n {
			t.Errorf("%s has %d, want %d", member, len(got), n)
		}
	}
	// 9 full pages after the first, and an empty one that ends them.
	assert.EqualValues(t, n*10, pages.Load(), "pages")
}

func TestARollbackLeavesNothing(t *testing.T) {
	o := newOffice(t, inbox.Config{Page: 2})
	o.follow("ann", 5)
	o.reserved("ann", 1)
	for _, e := range []event.Event{notice(t, events.MemberFollowed, "ann", "bob"), notice(t, events.PostLiked, "ann", "show-1")} {
		if _, err := o.try(t.Context(), e, errUndone); err == nil {
			t.Fatal("it was not undone")
		}
	}
	o.reserved("ann", 1)
	rows, jobs := o.count(`SELECT COUNT(*) FROM notifications`), o.count(`SELECT COUNT(*) FROM notification_fanouts`)
	if last := o.count(`SELECT position FROM notification_positions WHERE name = 'stored'`); rows != 2 || jobs != 0 || last != 2 {
		t.Errorf("%d rows, %d waiting, last position %d", rows, jobs, last)
	}
}

func TestConfig(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	for _, cfg := range []inbox.Config{
		{}, {Holder: "x", Page: -1}, {Holder: "x", Page: 1001}, {Holder: "x", LeaseTTL: -1},
		{Holder: "x", SendTimeout: -1}, {Holder: "x", SendLease: -1}, {Holder: "x", SendLease: time.Second, SendTimeout: time.Second},
	} {
		if _, err := inbox.New(o.Store, cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
