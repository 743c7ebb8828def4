package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/ssetest"
)

func TestPagesAtEqualTimes(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	mine := o.reserved("ann", 11)
	o.reserved("bob", 3)
	o.Exec(t, `UPDATE notifications SET created_at = 1000`)
	for _, i := range []int{0, 4, 5, 10} {
		require.NoError(t, o.inbox.Read(t.Context(), "ann", mine[i]))
	}
	unread := slices.DeleteFunc(slices.Clone(mine), func(id string) bool {
		return slices.Contains([]string{mine[0], mine[4], mine[5], mine[10]}, id)
	})
	for _, only := range []bool{false, true} {
		want := reversed(mine)
		if only {
			want = reversed(unread)
		}
		for _, limit := range []int{1, 3, 4, 100} {
			var got []string
			for before := ""; ; before = got[len(got)-1] {
				page, err := o.inbox.List(t.Context(), "ann", inbox.Query{Unread: only, Before: before, Limit: limit})
				require.NoError(t, err)
				if len(page) == 0 {
					break
				}
				if len(page) > limit {
					t.Fatalf("a page of %d has %d", limit, len(page))
				}
				got = append(got, ids(page)...)
				if before == "" {
					// A notification that arrives while one pages is on no later page.
					id := o.reserved("ann", 1)[0]
					defer o.inbox.Read(t.Context(), "ann", id) //nolint:errcheck // the next round asks for what was there
					mine = append(mine, id)
					unread = append(unread, id)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("unread %v in pages of %d: %v, want %v", only, limit, got, want)
			}
			want = reversed(mine)
			if only {
				want = reversed(unread)
			}
		}
	}
	// A page behind one that is not the member's, or was deleted, is the end.
	for _, before := range []string{"gone", o.list("bob")[0].ID} {
		if page, err := o.inbox.List(t.Context(), "ann", inbox.Query{Before: before, Limit: 10}); err != nil || len(page) != 0 {
			t.Errorf("before %s: %v, %v", before, page, err)
		}
	}
}

func TestRead(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	mine := o.reserved("ann", 3)
	theirs := o.reserved("bob", 1)
	unread := func(member string, want int64) {
		t.Helper()
		if n, err := o.inbox.UnreadCount(t.Context(), member); n != want || err != nil {
			t.Errorf("%s has %d unread, %v; want %d", member, n, err, want)
		}
	}
	unread("ann", 3)
	require.NoError(t, o.inbox.Read(t.Context(), "ann", mine[1]))
	first := o.list("ann")[1]
	if first.ReadAt.IsZero() || first.ReadAt.Before(first.CreatedAt) {
		t.Errorf("read at %v, created at %v", first.ReadAt, first.CreatedAt)
	}
	o.Exec(t, `UPDATE notifications SET read_at = 1000 WHERE notification_id = $1`, mine[1])
	if err := o.inbox.Read(t.Context(), "ann", mine[1]); err != nil || o.list("ann")[1].ReadAt.UnixMilli() != 1000 {
		t.Errorf("again: %v, read at %v", err, o.list("ann")[1].ReadAt)
	}
	for _, id := range []string{theirs[0], "nothing", ""} {
		assert.ErrorIsf(t, o.inbox.Read(t.Context(), "ann", id), inbox.ErrNotFound, "%q", id)
	}
	unread("ann", 2)
	unread("bob", 1)
	unread("nobody", 0)
}

func TestReadUpTo(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	mine := o.reserved("ann", 6)
	theirs := o.reserved("bob", 2)
	require.NoError(t, o.inbox.Read(t.Context(), "ann", mine[2]))
	o.Exec(t, `UPDATE notifications SET read_at = 1000 WHERE notification_id = $1`, mine[2])
	for _, id := range []string{theirs[1], "nothing", ""} {
		assert.ErrorIsf(t, o.inbox.ReadUpTo(t.Context(), "ann", id), inbox.ErrNotFound, "%q", id)
	}
	for round := range 2 { // again is harmless
		require.NoError(t, o.inbox.ReadUpTo(t.Context(), "ann", mine[3]))
		var unread []string
		for _, n := range o.list("ann") {
			if n.ReadAt.IsZero() {
				unread = append(unread, n.ID)
			}
			if n.ID == mine[2] && n.ReadAt.UnixMilli() != 1000 {
				t.Errorf("round %d: what was read before is read at %v now", round, n.ReadAt)
			}
		}
		if want := []string{mine[5], mine[4]}; !slices.Equal(unread, want) {
			t.Errorf("round %d: unread %v, want %v", round, unread, want)
		}
	}
	if n, err := o.inbox.UnreadCount(t.Context(), "bob"); n != 2 || err != nil {
		t.Errorf("bob has %d unread, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.inbox.ReadUpTo(ctx, "ann", mine[5]); err == nil || errors.Is(err, inbox.ErrNotFound) {
		t.Errorf("a database that does not answer: %v", err)
	}
}

func TestReplay(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	ask := func(member string, since sse.Cursors) []string {
		t.Helper()
		all, err := o.inbox.Replay(t.Context(), member, since)
		require.NoError(t, err)
		var got []string
		for _, e := range all.Events {
			got = append(got, e.ID)
		}
		return got
	}
	same := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	same("an empty inbox", ask("ann", nil), nil)
	mine := o.reserved("ann", 70)
	theirs := o.reserved("bob", 1)
	same("what is to come live", ask("ann", nil), nil)
	out := &wire{}
	o.inbox.SetSender(out)
	stop := o.run()
	out.wait(t, 71)
	stop()
	coming := o.reserved("ann", 1)
	require.NoError(t, o.inbox.Read(t.Context(), "ann", mine[65]))
	last := append(slices.Clone(mine[59:65]), mine[66:]...)
	same("the newest ten unread, oldest first", ask("ann", sse.Cursors{"chat": "room:7"}), last)
	same("after a cursor", ask("ann", sse.Cursors{"notification": mine[62]}), append(slices.Clone(mine[63:65]), mine[66:]...))
	same("after one that was read", ask("ann", sse.Cursors{"notification": mine[65]}), mine[66:])
	same("after the last", ask("ann", sse.Cursors{"notification": mine[69]}), nil)
	same("bounded", ask("ann", sse.Cursors{"notification": mine[0]}), append(slices.Clone(mine[19:65]), mine[66:]...))
	same("after one that is another's", ask("ann", sse.Cursors{"notification": theirs[0]}), last)
	same("after one that is gone", ask("ann", sse.Cursors{"notification": "gone"}), last)

	o.run()
	out.wait(t, 72)
	same("what came live", ask("ann", sse.Cursors{"notification": mine[69]}), coming)
	whole, err := o.inbox.Replay(t.Context(), "bob", nil)
	all := whole.Events
	if err != nil || len(all) != 1 || len(whole.Left) > 0 {
		t.Fatalf("%v, %v", whole, err)
	}
	var data map[string]any
	require.NoError(t, json.Unmarshal(all[0].Data, &data))
	if all[0].Name != "notification" || len(data) != 5 || data["id"] != theirs[0] || data["type"] != "RESERVATION" || data["refId"] != "r-0" || data["message"] == "" ||
		fmt.Sprint(data["params"]) != "map[member:bob show:r-0]" {
		t.Errorf("%s %v", all[0].Name, data)
	}
	for cursor, want := range map[string]int{"": 60, mine[0]: 19, mine[18]: 1, mine[19]: 0, mine[69]: 0} {
		missed, err := o.inbox.Replay(t.Context(), "ann", sse.Cursors{"notification": cursor})
		if err != nil || missed.Left["notification"] != want {
			t.Errorf("after %q %v are left out, %v; want %d", cursor, missed.Left, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.inbox.Replay(ctx, "ann", nil); err == nil {
		t.Error("a database that does not answer is an empty inbox")
	}
}

func TestMuted(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	out := &wire{}
	o.inbox.SetSender(out)
	muted := func(member string, want bool) {
		t.Helper()
		if got, err := o.inbox.Muted(t.Context(), member); got != want || err != nil {
			t.Errorf("%s is muted: %v, %v", member, got, err)
		}
	}
	muted("ann", false)
	for _, m := range []bool{false, true, true} {
		require.NoError(t, o.inbox.Mute(t.Context(), "ann", m))
		muted("ann", m)
	}
	muted("bob", false)
	stop := o.run()
	quiet := o.reserved("ann", 2)
	loud := o.reserved("bob", 1)
	if got := out.wait(t, 1); !slices.Equal(got, loud) {
		t.Errorf("sent %v", got)
	}
	if got := ids(o.list("ann")); !slices.Equal(got, reversed(quiet)) {
		t.Errorf("stored %v", got)
	}
	require.NoError(t, o.inbox.Mute(t.Context(), "ann", false))
	muted("ann", false)
	loud = append(loud, o.reserved("ann", 1)...)
	if got := out.wait(t, 2); !slices.Equal(got, loud) {
		t.Errorf("sent %v, want %v", got, loud)
	}
	assert.Equal(t, "[ann false ann true ann true ann false]", fmt.Sprint(out.mutes), "the streams heard")
	stop() // a send is counted when it has returned
	if s := o.inbox.Stats(); s.Dropped != 0 || s.Failed != 0 || s.Sent != 2 {
		t.Errorf("%+v", s)
	}
}

func TestReplayer(t *testing.T) {
	ssetest.RunReplayer(t, func(t *testing.T) ssetest.ReplayerHarness {
		o, out, stored := newOffice(t, inbox.Config{}), &wire{}, 0
		o.inbox.SetSender(out)
		o.run()
		replay := sse.Replayer(func(ctx context.Context, since sse.Cursors) (sse.Missed, error) {
			return o.inbox.Replay(ctx, "ann", since)
		})
		store := func(context.Context) (string, error) {
			stored++
			id := o.reserved("ann", 1)[0]
			out.wait(t, stored)
			return id, nil
		}
		return ssetest.ReplayerHarness{Replayer: replay, Event: inbox.EventName, Store: store, Bound: 50}
	})
}
