package artist

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// objects is an archive in memory that can fail.
type objects struct {
	mu    sync.Mutex
	all   map[object][]byte
	fails string // the operation that fails
	calls int    // of Put
	onPut func()
}

var errDisk = errors.New("no space left on device")

func (o *objects) Put(_ context.Context, tier int, id string, data []byte) error {
	o.mu.Lock()
	o.calls++
	hook := o.onPut
	fails := o.fails == "put" && o.calls > 1 // the first goes through
	if !fails {
		if o.all == nil {
			o.all = map[object][]byte{}
		}
		o.all[object{id, tier}] = data
	}
	o.mu.Unlock()
	if hook != nil {
		hook()
	}
	if fails {
		return errDisk
	}
	return nil
}

func (o *objects) Get(_ context.Context, tier int, id string) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if data, ok := o.all[object{id, tier}]; ok {
		return data, nil
	}
	return nil, archive.ErrNotFound
}

func (o *objects) Delete(_ context.Context, tier int, id string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fails == "delete" {
		return errDisk
	}
	delete(o.all, object{id, tier})
	return nil
}

// in returns the tiers of an artist's objects.
func (o *objects) in(id string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var tiers []int
	for tier := 1; tier <= 4; tier++ {
		if _, ok := o.all[object{id, tier}]; ok {
			tiers = append(tiers, tier)
		}
	}
	return fmt.Sprint(tiers)
}

func newArchiver(t testing.TB, o archive.Store) (*rig, *Archiver) {
	t.Helper()
	r := newRig(t, Config{Archive: o}, WorkerConfig{})
	a, err := NewArchiver(r.mirror, ArchiverConfig{Holder: "test", Logger: quiet, Zone: time.UTC})
	require.NoError(t, err)
	return r, a
}

// unread makes an artist that was not read for some days.
func (r *rig) unread(t testing.TB, id string, days int) {
	t.Helper()
	r.upstream.has(t, id, 1)
	require.NoError(t, r.refresh(t, request(t, id, event.Low, 1)))
	ms := int64(days) * 24 * 3600 * 1000
	r.box.Exec(t, `UPDATE artists SET last_requested_at = now_ms() - $2, last_checked_at = now_ms() - $2 WHERE artist_id = $1`, id, ms)
}

func (r *rig) stored(t testing.TB, id string) bool {
	t.Helper()
	return r.box.Query(t, `SELECT COUNT(*) FROM artist_extracts WHERE artist_id = $1`, id) == "1"
}

// Snapshots move to the tier of their age, further as they grow older, and come back
// when they are read.
func TestArchive(t *testing.T) {
	dir, err := archive.NewDir(t.TempDir() + "/archive")
	require.NoError(t, err)
	r, a := newArchiver(t, dir)
	in := func(id string) string {
		var tiers []int
		for tier := 1; tier <= 4; tier++ {
			if _, err := dir.Get(t.Context(), tier, id); err == nil {
				tiers = append(tiers, tier)
			}
		}
		return fmt.Sprint(tiers)
	}
	for id, days := range map[string]int{"d29": 29, "d31": 31, "d91": 91, "d181": 181, "d366": 366} {
		r.unread(t, id, days)
	}
	r.box.Exec(t, `INSERT INTO artists (artist_id, missing_since, last_requested_at) VALUES ('never', 1, 1)`)
	check := func(when string, want map[string]string) {
		t.Helper()
		for id, tiers := range want {
			if got := in(id); got != tiers || r.stored(t, id) != (tiers == "[]") {
				t.Errorf("%s: %s lies in %s and in the database: %v; want %s", when, id, got, r.stored(t, id), tiers)
			}
		}
		if n := r.box.Query(t, `SELECT COUNT(*) FROM artist_archive WHERE state <> 'STORED'`); n != "0" {
			t.Errorf("%s: %s rows are left over", when, n)
		}
	}
	for range 2 { // the second time there is nothing to do
		require.NoError(t, a.Archive(t.Context()))
		check("at first", map[string]string{"d29": "[]", "d31": "[1]", "d91": "[2]", "d181": "[3]", "d366": "[4]"})
	}
	assert.EqualValues(t, 4, r.mirror.Stats().Archived, "moves")
	assert.Equal(t, "0", r.box.Query(t, `SELECT COUNT(*) FROM artists WHERE artist_id = 'never'`), "an id that never was an artist's is still remembered")
	r.box.Exec(t, `UPDATE artists SET last_requested_at = last_requested_at - $1`, int64(60)*24*3600*1000)
	require.NoError(t, a.Archive(t.Context()))
	check("after two months", map[string]string{"d29": "[1]", "d31": "[2]", "d91": "[2]", "d181": "[3]", "d366": "[4]"})
	// A reader gets the snapshot from the archive, and has it refreshed.
	v := r.get(t, "d366")
	if v.Freshness != Stale || !v.UpdateQueued || level(v) != "1" {
		t.Fatalf("from the archive: %+v", v)
	}
	was := r.box.Query(t, `SELECT last_updated_at FROM artists WHERE artist_id = 'd366'`)
	r.mirror.touches.write(t.Context())
	require.NoError(t, r.refresh(t, request(t, "d366", event.High, 2)))
	if v := r.get(t, "d366"); v.Freshness != Fresh || level(v) != "1" || !r.stored(t, "d366") {
		t.Errorf("read back: %+v", v)
	}
	assert.Equal(t, was, r.box.Query(t, `SELECT last_updated_at FROM artists WHERE artist_id = 'd366'`), "reading it back counts as a change")
	require.NoError(t, a.Archive(t.Context()))
	check("after it was read", map[string]string{"d366": "[]", "d181": "[3]"})
}

// After any failure or kill half-way, the snapshot is readable at all times, and the
// next run leaves it in one place.
func TestArchiveSurvivesCrashes(t *testing.T) {
	for _, op := range []string{"put", "delete"} {
		o := &objects{}
		r, a := newArchiver(t, o)
		ids := []string{"1", "2", "3"}
		for _, id := range ids {
			r.unread(t, id, 31)
		}
		readable := func(when string) {
			t.Helper()
			for _, id := range ids {
				if v := r.get(t, id); level(v) != "1" {
					t.Errorf("%s %s: artist %s reads %s", op, when, id, v.Snapshot)
				}
			}
			r.mirror.touches.take() // the archiver shall find them unread
		}
		o.fails = op
		if op == "delete" { // there is something to delete when a tier is left
			require.NoError(t, a.Archive(t.Context()))
			r.box.Exec(t, `UPDATE artists SET last_requested_at = last_requested_at - $1`, int64(60)*24*3600*1000)
		}
		require.ErrorIsf(t, a.Archive(t.Context()), errDisk, "%s fails", op)
		readable("after the failure")
		o.fails = ""
		require.NoError(t, a.Archive(t.Context()))
		readable("afterwards")
		want := map[string]string{"put": "[1]", "delete": "[2]"}[op]
		for _, id := range ids {
			if got := o.in(id); got != want || r.stored(t, id) {
				t.Errorf("%s: artist %s lies in %s, want %s", op, id, got, want)
			}
		}
		if n := r.box.Query(t, `SELECT COUNT(*) FROM artist_archive WHERE state <> 'STORED'`); n != "0" {
			t.Errorf("%s: %s rows are left over", op, n)
		}
	}
}

// An artist that is read or refreshed while it is copied stays.
func TestArchiveYieldsToReaders(t *testing.T) {
	o := &objects{}
	r, a := newArchiver(t, o)
	r.unread(t, "1", 31)
	o.onPut = func() {
		r.box.Exec(t, `UPDATE artists SET last_requested_at = now_ms() WHERE artist_id = '1'`)
	}
	require.NoError(t, a.Archive(t.Context()))
	if o.in("1") != "[]" || !r.stored(t, "1") {
		t.Errorf("read while it was copied: objects in %s, in the database: %v", o.in("1"), r.stored(t, "1"))
	}
	r.unread(t, "2", 31)
	o.onPut = func() {
		r.upstream.has(t, "2", 8)
		assert.NoError(t, r.refresh(t, request(t, "2", event.High, 9)))
	}
	require.NoError(t, a.Archive(t.Context()))
	if v := r.get(t, "2"); o.in("2") != "[]" || level(v) != "8" {
		t.Errorf("refreshed while it was copied: objects in %s, reads %s", o.in("2"), v.Snapshot)
	}
}

// The job is due once a day, and is made up for after a night without a process; a
// process without the lease does nothing.
func TestArchiveIsDue(t *testing.T) {
	r, a := newArchiver(t, &objects{})
	if wait, err := a.untilDue(t.Context()); err != nil || wait != 0 {
		t.Errorf("never done: due in %v, %v", wait, err)
	}
	other, err := NewArchiver(r.mirror, ArchiverConfig{Holder: "other", Logger: quiet})
	require.NoError(t, err)
	lease, err := r.box.Store.TakeLease(t.Context(), archiveLease, "other", time.Minute)
	require.NoError(t, err)
	assert.ErrorIs(t, a.Archive(t.Context()), store.ErrLeaseHeld, "without the lease")
	require.NoError(t, lease.Drop(t.Context()))
	start(t, "archiver", other.Run)
	eventually(t, "it was done", func() bool { return r.box.Query(t, `SELECT COUNT(*) FROM artist_jobs`) == "1" })
	wait, err := a.untilDue(t.Context())
	if err != nil || wait <= 0 || wait > 25*time.Hour {
		t.Errorf("after it was done: due in %v, %v", wait, err)
	}
	seoul := time.FixedZone("KST", 9*3600)
	for at, want := range map[string]string{
		"2026-03-04T02:59:59+09:00": "2026-03-03T03:00:00+09:00",
		"2026-03-04T03:00:00+09:00": "2026-03-04T03:00:00+09:00",
		"2026-03-03T23:00:00Z":      "2026-03-04T03:00:00+09:00",
	} {
		moment, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		if got := lastAt(moment, seoul).Format(time.RFC3339); got != want {
			t.Errorf("at %s it was last due at %s, want %s", at, got, want)
		}
	}
}

// The leftovers of a crash are cleaned up also when no snapshot is old any more.
func TestArchiveCleansUp(t *testing.T) {
	o := &objects{fails: "put"}
	r, a := newArchiver(t, o)
	for _, id := range []string{"1", "2"} {
		r.unread(t, id, 31)
	}
	require.ErrorIs(t, a.Archive(t.Context()), errDisk)
	if got := o.in("1") + o.in("2"); got != "[1][]" && got != "[][1]" {
		t.Fatalf("the objects lie in %s, want one of them", got)
	}
	o.fails = ""
	r.box.Exec(t, `UPDATE artists SET last_requested_at = now_ms()`)
	require.NoError(t, a.Archive(t.Context()))
	if n := r.box.Query(t, `SELECT COUNT(*) FROM artist_archive`); n != "0" || o.in("1")+o.in("2") != "[][]" || !r.stored(t, "1") || !r.stored(t, "2") {
		t.Errorf("%s rows and the objects in %s are left over", n, o.in("1")+o.in("2"))
	}
}
