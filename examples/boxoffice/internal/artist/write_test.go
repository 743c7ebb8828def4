package artist

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// A check without a change moves the time of the check and nothing that a reader
// could take for news. The artist is fresh: no reader asks again.
func TestUnchangedData(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	r.upstream.has(t, "7", 3)
	require.NoError(t, r.refresh(t, request(t, "7", event.High, 10)))
	r.age(t, "7", 2*time.Hour)
	before := r.get(t, "7")
	if before.Freshness != Stale || !before.UpdateQueued {
		t.Fatalf("after two hours: %+v", before)
	}
	row := func() string {
		return r.box.Query(t, `SELECT a.name || ' ' || a.content_hash || ' ' || CAST(a.last_updated_at AS CHAR(20)) || ' ' || CAST(a.level AS CHAR(20))
			FROM artists a JOIN artist_extracts e ON e.artist_id = a.artist_id WHERE a.artist_id = '7'`)
	}
	was := row()
	for version := int64(11); version < 14; version++ {
		require.NoError(t, r.refresh(t, request(t, "7", event.High, version)))
	}
	if row() != was {
		t.Errorf("an unchanged artist was rewritten: %s, was %s", row(), was)
	}
	after := r.get(t, "7")
	if after.Freshness != Fresh || after.UpdateQueued || !after.LastUpdatedAt.Equal(*before.LastUpdatedAt) || !after.LastCheckedAt.After(*before.LastCheckedAt) {
		t.Errorf("after a check that found nothing new: %+v, was %+v", after, before)
	}
	if s := r.mirror.Stats(); s.Unchanged != 3 || s.Changed != 1 {
		t.Errorf("%d unchanged and %d changed, want 3 and 1", s.Unchanged, s.Changed)
	}
	// The next change is seen.
	r.upstream.has(t, "7", 4)
	require.NoError(t, r.refresh(t, request(t, "7", event.High, 20)))
	if v := r.get(t, "7"); level(v) != "4" || !v.LastUpdatedAt.After(*before.LastUpdatedAt) {
		t.Errorf("after a change: %+v", v)
	}
}

func TestOlderVersionNeverOverwrites(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	r.upstream.has(t, "1", 50)
	require.NoError(t, r.refresh(t, request(t, "1", event.High, 50)))
	for name, say := range map[string]func(){
		"another document": func() { r.upstream.has(t, "1", 40) },
		"the same":         func() { r.upstream.has(t, "1", 50) },
		"a 404":            func() { r.upstream.put("1", nil) },
		"a 500":            func() { r.upstream.put("1", func() (Document, error) { return Document{}, refusal(500) }) },
	} {
		say()
		was := r.box.Query(t, `SELECT CAST(last_checked_at AS CHAR(20)) || ' ' || CAST(version AS CHAR(20)) FROM artists WHERE artist_id = '1'`)
		_ = r.refresh(t, request(t, "1", event.Low, 49)) // the outcome of the event does not matter here
		if now := r.box.Query(t, `SELECT CAST(last_checked_at AS CHAR(20)) || ' ' || CAST(version AS CHAR(20)) FROM artists WHERE artist_id = '1'`); now != was {
			t.Errorf("%s of an older request: checked and version %s, was %s", name, now, was)
		}
		if v := r.get(t, "1"); level(v) != "50" || v.Freshness != Fresh {
			t.Errorf("%s of an older request: %s %s", name, v.Freshness, v.Snapshot)
		}
		if n := r.box.Query(t, `SELECT COUNT(*) FROM update_status`); n != "0" {
			t.Errorf("%s of an older request left %s rows in update_status", name, n)
		}
	}
	// Many at once, in any order: the newest wins, also for artists that none of them
	// finds.
	var wg sync.WaitGroup
	for version := 1; version <= 12; version++ {
		wg.Go(func() {
			var batch []result
			for id := range 10 {
				d := document(t, fmt.Sprint("new-", id), version)
				batch = append(batch, result{id: d.ID, version: int64(version), doc: d})
			}
			assert.NoErrorf(t, r.worker.store(t.Context(), batch), "version %d", version)
		})
	}
	wg.Wait()
	for id := range 10 {
		if v := r.get(t, fmt.Sprint("new-", id)); level(v) != "12" {
			t.Errorf("new-%d has version %s, want 12", id, level(v))
		}
	}
}

// A missing artist is a mark for readers and a dead letter for operators.
func TestMissingArtist(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	err := r.refresh(t, request(t, "404", event.High, 1))
	var some bus.BatchError
	if !errors.As(err, &some) || fault.Of(some[0]) != fault.Permanent || reasonOf(some[0]) != API4XX {
		t.Fatalf("a 404 fails with %v", err)
	}
	v := r.get(t, "404")
	if v.Freshness != NotFound || v.UpdateQueued || v.Snapshot != nil || v.LastCheckedAt == nil {
		t.Errorf("the upstream has none: %+v", v)
	}
	if s := r.box.Query(t, `SELECT state || ' ' || last_error_code FROM update_status WHERE character_id = '404'`); s != "FAILED API_4XX" {
		t.Errorf("update_status says %s", s)
	}
	// After a while a read asks again, and this time the artist exists.
	r.age(t, "404", 2*time.Hour)
	if v := r.get(t, "404"); v.Freshness != NotFound || !v.UpdateQueued {
		t.Errorf("two hours later: %+v", v)
	}
	r.upstream.has(t, "404", 1)
	require.NoError(t, r.refresh(t, request(t, "404", event.High, 2)))
	if v := r.get(t, "404"); v.Freshness != Fresh || level(v) != "1" {
		t.Errorf("it came to be: %+v", v)
	}
	assert.Equal(t, "0", r.box.Query(t, `SELECT COUNT(*) FROM update_status`), "rows are left in update_status")
	// The artist goes, and comes back unchanged: its snapshot was never lost.
	r.upstream.put("404", nil)
	_ = r.refresh(t, request(t, "404", event.High, 3)) // a 404, as above
	if v := r.get(t, "404"); v.Freshness != NotFound || v.Snapshot != nil {
		t.Errorf("it went: %+v", v)
	}
	r.upstream.has(t, "404", 1)
	require.NoError(t, r.refresh(t, request(t, "404", event.High, 4)))
	if v := r.get(t, "404"); v.Freshness != Fresh || level(v) != "1" {
		t.Errorf("it came back: %+v", v)
	}
	if s := r.mirror.Stats(); s.Unchanged != 1 || s.Missing != 2 {
		t.Errorf("%d unchanged and %d missing, want 1 and 2", s.Unchanged, s.Missing)
	}
}

// A batch of everything: each artist gets its own outcome, in one write.
func TestMixedBatch(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	var batch []event.Event
	for i := range 60 {
		id := fmt.Sprint("a", i)
		switch i % 4 {
		case 0, 1:
			r.upstream.has(t, id, i)
		case 2: // a 404
		case 3:
			r.upstream.put(id, func() (Document, error) { return Document{}, refusal(503) })
		}
		batch = append(batch, request(t, id, event.High, int64(100+i)))
	}
	if err := r.refresh(t, batch[:8]...); err == nil { // some are known already
		t.Fatal("no failure was reported")
	}
	err := r.refresh(t, batch...)
	var some bus.BatchError
	require.Truef(t, errors.As(err, &some), "the batch: %v", err)
	for i := range batch {
		want := []string{"", "", API4XX, API5XX}[i%4]
		got := ""
		if e := some[i]; e != nil {
			got = reasonOf(e)
		}
		if got != want {
			t.Errorf("event %d: %q (%v), want %q", i, got, some[i], want)
		}
	}
	for query, want := range map[string]string{
		`SELECT COUNT(*) FROM artist_extracts`:                                 "30",
		`SELECT COUNT(*) FROM artists WHERE missing_since > 0`:                 "15",
		`SELECT COUNT(*) FROM update_status WHERE state = 'RETRYING'`:          "15",
		`SELECT COUNT(*) FROM update_status WHERE state = 'FAILED'`:            "15",
		`SELECT fail_count FROM update_status WHERE character_id = 'a3'`:       "2",
		`SELECT fail_count FROM update_status WHERE character_id = 'a11'`:      "1",
		`SELECT last_error_message FROM update_status WHERE character_id='a3'`: "the upstream answers 503",
	} {
		assert.Equalf(t, want, r.box.Query(t, query), "%s", query)
	}
	for i := range 60 {
		if v := r.get(t, fmt.Sprint("a", i)); i%4 < 2 && level(v) != fmt.Sprint(i) {
			t.Errorf("a%d: %s", i, v.Snapshot)
		}
	}
}

// Of several requests for one artist in a batch the newest is carried out.
func TestOneFetchPerArtistAndBatch(t *testing.T) {
	r := newRig(t, Config{}, WorkerConfig{})
	r.upstream.has(t, "1", 1)
	require.NoError(t, r.refresh(t, request(t, "1", event.High, 5), request(t, "1", event.High, 9), request(t, "1", event.High, 7)))
	if n := r.upstream.asked("1"); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	assert.Equal(t, "9", r.box.Query(t, `SELECT version FROM artists WHERE artist_id = '1'`), "version")
	assert.EqualValues(t, 2, r.mirror.Stats().Obsolete, "obsolete")
}
