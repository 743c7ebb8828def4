package artist

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
)

// history reads a page.
func (r *rig) history(t testing.TB, id string, q HistoryQuery) History {
	t.Helper()
	h, err := r.mirror.History(t.Context(), id, q)
	require.NoError(t, err)
	return h
}

// levels are the levels of the snapshots of a page.
func levels(h History) (all []string) {
	for _, c := range h.Changes {
		all = append(all, level(View{Snapshot: c.Snapshot}))
	}
	return all
}

// Each change is kept, and nothing else: neither a check without a change nor a
// snapshot that comes back from the archive.
func TestHistory(t *testing.T) {
	r, a := newArchiver(t, &objects{})
	version := int64(0)
	check := func(p event.Priority, level int) {
		t.Helper()
		version++
		r.upstream.has(t, "1", level)
		require.NoError(t, r.worker.handle(p)(t.Context(), []event.Event{request(t, "1", p, version)}))
	}
	for _, level := range []int{1, 1, 2, 3, 3, 2} {
		check(event.High, level)
	}
	r.box.Exec(t, `UPDATE artists SET last_requested_at = 1`)
	require.NoError(t, a.Archive(t.Context()))
	check(event.High, 2) // a reader brings it back
	if got := fmt.Sprint(levels(r.history(t, "1", HistoryQuery{}))); got != "[2 3 2 1]" {
		t.Errorf("levels %s, want [2 3 2 1]", got)
	}
	// The pages together are the same.
	var all []string
	for q := (HistoryQuery{Limit: 3}); ; {
		h := r.history(t, "1", q)
		all = append(all, levels(h)...)
		for _, c := range h.Changes {
			assert.Falsef(t, c.ChangedAt.IsZero(), "%+v has no time", c)
		}
		if h.Next == nil {
			break
		}
		q.Before = *h.Next
	}
	assert.Equal(t, "[2 3 2 1]", fmt.Sprint(all), "page by page")
	if h := r.history(t, "never-seen", HistoryQuery{}); h.Changes == nil || len(h.Changes) != 0 || h.Next != nil {
		t.Errorf("of an artist that nobody knows: %+v", h)
	}
	assert.EqualValues(t, 4, r.mirror.Stats().Remembered, "changes are counted")
	// A damaged change does not affect the others.
	r.box.Exec(t, `UPDATE artist_history SET content_hash = 'x' WHERE position = $1`, r.box.Query(t, `SELECT MIN(position) FROM artist_history`))
	if h := r.history(t, "1", HistoryQuery{}); len(h.Changes) != 4 || h.Changes[3].Snapshot != nil || h.Changes[2].Snapshot == nil {
		t.Errorf("with one that is damaged: %v", levels(h))
	}
}

func TestHistoryRefuses(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	for _, q := range []HistoryQuery{{Before: "x"}, {Before: "0"}, {Before: "-1"}, {Before: "99999999999999999999"}, {Limit: -1}, {Limit: 51}} {
		if _, err := r.mirror.History(t.Context(), "1", q); !errors.Is(err, ErrBadQuery) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if _, err := r.mirror.History(t.Context(), "a.b", HistoryQuery{}); !errors.Is(err, ErrBadID) {
		t.Errorf("a bad id: %v", err)
	}
}

// An answer has about a megabyte at most, with snapshots of any size, and at least
// one change.
func TestHistoryPageIsBounded(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	large := make([]byte, 700_000)
	for i := range large {
		large[i] = 'x'
	}
	content := []byte(strconv.Quote(string(large)))
	packed, err := pack(content)
	require.NoError(t, err)
	for range 5 {
		r.box.Exec(t, `INSERT INTO artist_history (artist_id, changed_at, content_hash, content) VALUES ('1', now_ms(), $1, $2)`, hashOf(content), packed)
	}
	seen := 0
	for q := (HistoryQuery{Limit: 50}); ; {
		h := r.history(t, "1", q)
		if seen += len(h.Changes); len(h.Changes) > 2 || len(h.Changes) == 0 {
			t.Errorf("a page of %d changes of 700 KB", len(h.Changes))
		}
		if h.Next == nil {
			break
		}
		q.Before = *h.Next
	}
	assert.Equal(t, 5, seen, "changes on all pages")
}

// Snapshots older than 90 days are neither shown nor kept, and an artist that changes
// too often keeps the newest; many rows are deleted in many transactions.
func TestHistoryExpires(t *testing.T) {
	r, a := newArchiver(t, &objects{fails: "delete"})
	const day = 24 * 3600 * 1000
	add := func(id string, n int, age int64) {
		t.Helper()
		for range n {
			r.box.Exec(t, `INSERT INTO artist_history (artist_id, changed_at, content_hash, content) VALUES ($1, now_ms() - $2, 'x', 'x')`, id, age)
		}
	}
	add("old", purgeBatch+7, 91*day)
	add("young", 3, 89*day)
	add("busy", historyMost+purgeBatch+9, day)
	newest := r.box.Query(t, `SELECT MAX(position) FROM artist_history WHERE artist_id = 'busy'`)
	if h := r.history(t, "old", HistoryQuery{}); len(h.Changes) != 0 || h.Next != nil {
		t.Errorf("%d changes are shown after 91 days", len(h.Changes))
	}
	// Rows expire also while the archive accepts nothing.
	r.box.Exec(t, `INSERT INTO artist_archive (artist_id, tier, state, changed_at) VALUES ('gone', 1, 'DELETING', 1)`)
	require.ErrorIs(t, a.Archive(t.Context()), errDisk, "the archive is away")
	for id, want := range map[string]string{"old": "0", "young": "3", "busy": strconv.Itoa(historyMost)} {
		if n := r.box.Query(t, `SELECT COUNT(*) FROM artist_history WHERE artist_id = $1`, id); n != want {
			t.Errorf("%s keeps %s changes, want %s", id, n, want)
		}
	}
	assert.Equal(t, newest, r.box.Query(t, `SELECT MAX(position) FROM artist_history WHERE artist_id = 'busy'`), "the newest change is gone")
	assert.EqualValues(t, 2*purgeBatch+16, r.mirror.Stats().Expired, "expired")
}

// Prefetch checks archived artists, and those that have not changed stay archived.
func TestColdStaysArchived(t *testing.T) {
	o := &objects{}
	r, a := newArchiver(t, o)
	r.unread(t, "same", 31)
	r.unread(t, "other", 31)
	require.NoError(t, a.Archive(t.Context()))
	r.upstream.has(t, "other", 2)
	low := func(version int64) {
		t.Helper()
		all := []event.Event{request(t, "same", event.Low, version), request(t, "other", event.Low, version)}
		require.NoError(t, r.worker.handle(event.Low)(t.Context(), all))
	}
	low(2)
	if r.stored(t, "same") || o.in("same") != "[1]" {
		t.Errorf("unchanged: in the database %v, in tiers %s", r.stored(t, "same"), o.in("same"))
	}
	assert.True(t, r.stored(t, "other"), "what has changed was not written")
	if v := r.get(t, "same"); v.Freshness != Fresh || level(v) != "1" {
		t.Errorf("unchanged reads %+v", v)
	}
	r.mirror.touches.take()
	require.NoError(t, a.Archive(t.Context()))
	if v := r.get(t, "other"); v.Freshness != Fresh || level(v) != "2" || o.in("other") != "[1]" || r.stored(t, "other") {
		t.Errorf("changed and archived again: %+v, in tiers %s", v, o.in("other"))
	}
	// A reader brings it back.
	require.NoError(t, r.refresh(t, request(t, "same", event.High, 3)))
	assert.True(t, r.stored(t, "same"), "it was read, and is still in the archive only")
	// A snapshot that is in no place is written again.
	r.mirror.touches.take()
	r.box.Exec(t, `DELETE FROM artist_extracts WHERE artist_id = 'same'`)
	r.box.Exec(t, `DELETE FROM artist_archive WHERE artist_id = 'same'`)
	low(4)
	assert.True(t, r.stored(t, "same"), "it is nowhere")
}
