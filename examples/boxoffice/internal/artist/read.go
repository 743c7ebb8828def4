package artist

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

const (
	// perSecond is how many waiting requests the estimate takes to be done a second.
	perSecond = 100
	// freshFor is how long after a check a snapshot is FRESH.
	freshFor = time.Hour
	// missingFor is how long the upstream's answer that it has no such artist is valid,
	// before a read asks again.
	missingFor = time.Hour
	// touchPrecision is that of an artist's last read, on which tiers depend. Less costs
	// more writes.
	touchPrecision = 5 * time.Minute
)

// record has the columns of an artist.
type record struct {
	version                                  int64
	hash                                     string
	updated, checked, missing, requested, at int64 // ms; at is now
	content                                  []byte
	state                                    string
	retry                                    int64
	tier                                     int   // of the archive; 0 when it is not there
	asked                                    int64 // ms; a refresh waits in the database since; 0 when none does
}

// age is how long ago the upstream was asked.
func (r record) age() time.Duration { return time.Duration(r.at-r.checked) * time.Millisecond }

// waits reports whether a refresh waits in the database that no check has answered since.
func (r record) waits() bool { return r.asked > r.checked }

// resting reports whether a refresh failed for good a moment ago. Trying again at
// every read would spend the shared budget on an artist that fails.
func (r record) resting() bool { return r.state == "FAILED" && r.retry > r.at }

// Reader reads artists, their histories, and takes wishes to refresh them.
type Reader struct {
	*desk
	deferrals *deferrals
	touches   *touches
	flights   singleflight.Group
}

// Get returns the mirror's data of an artist and, when the data is too old or
// missing, has a refresh asked for. It waits for the database, for the archive when
// the snapshot lies there, and for no other server. It fails with ErrBadID, or when
// the database does.
func (x *Reader) Get(ctx context.Context, id string) (View, error) {
	if err := CheckID(id); err != nil {
		return View{}, err
	}
	l, err := x.look(ctx, id)
	if err != nil {
		return View{}, err
	}
	if l.found && l.at-l.requested >= touchPrecision.Milliseconds() {
		x.touches.add(id)
	}
	v := x.view(ctx, id, l)
	if v.UpdateQueued {
		v.EstimatedWaitMs = x.estimatedWait()
	}
	return v, nil
}

// estimatedWait is how long a refresh that is queued now will take, in ms; nil when
// unknown.
func (x *Reader) estimatedWait() *int64 {
	n, known := x.cfg.HighLag()
	if !known || n <= 0 {
		return nil
	}
	ms := n * 1000 / perSecond
	return &ms
}

// look is the result of a read.
type look struct {
	record
	found    bool
	snapshot []byte // unpacked; nil when there is none
}

// look reads an artist. Concurrent readers of one artist share the reading and the
// unpacking.
func (x *Reader) look(ctx context.Context, id string) (look, error) {
	if err := ctx.Err(); err != nil {
		return look{}, err
	}
	flight := x.flights.DoChan(id, func() (any, error) {
		// The read serves many callers, so no caller's deadline bounds it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), x.cfg.ReadTimeout)
		defer cancel()
		r, found, err := x.read(ctx, id)
		if err != nil {
			return look{}, err
		}
		l := look{record: r, found: found}
		if r.missing == 0 {
			l.snapshot = x.content(ctx, id, r)
		}
		return l, nil
	})
	select {
	case got := <-flight:
		l, _ := got.Val.(look)
		return l, got.Err
	case <-ctx.Done():
		return look{}, ctx.Err()
	}
}

func (x *Reader) read(ctx context.Context, id string) (r record, found bool, err error) {
	err = x.store.Reader().QueryRowContext(ctx, x.sql.Read, id).Scan(&r.version, &r.hash, &r.updated, &r.checked,
		&r.missing, &r.requested, &r.content, &r.state, &r.retry, &r.tier, &r.asked, &r.at)
	if errors.Is(err, sql.ErrNoRows) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, fmt.Errorf("artist: read %s: %w", id, err)
	}
	return r, true, nil
}

// view decides how fresh a record is and whether a refresh is wanted.
func (x *Reader) view(ctx context.Context, id string, r look) View {
	queue := func(reason Reason) bool {
		if r.waits() {
			return x.asks.promises()
		}
		return x.queue(ctx, ask{id: id, reason: reason, unknown: !r.found, request: requestID(ctx)})
	}
	age := r.age()
	switch {
	case !r.found:
		known := x.asks.knows(id)
		v := View{Freshness: NotFound, UpdateQueued: queue(CacheMiss)}
		if known && v.UpdateQueued {
			v.Freshness = Updating
		}
		return v
	case r.missing > 0:
		v := View{Freshness: NotFound, LastCheckedAt: when(r.checked)}
		if age >= missingFor {
			v.UpdateQueued = queue(TooOld)
		}
		return v
	}
	v := View{Snapshot: r.snapshot, Freshness: Fresh, LastCheckedAt: when(r.checked), LastUpdatedAt: when(r.updated)}
	switch {
	case v.Snapshot == nil:
		v.Freshness = NotFound
		if v.UpdateQueued = !r.resting() && queue(CacheMiss); v.UpdateQueued {
			v.Freshness = Updating
		}
	case age < freshFor:
	default:
		v.Freshness = Stale
		v.UpdateQueued = !r.resting() && queue(TooOld)
	}
	return v
}

// content unpacks the snapshot, which may be in the archive. An unreadable one counts
// as missing: the refresh restores it.
func (x *Reader) content(ctx context.Context, id string, r record) []byte {
	if r.hash == "" {
		return nil
	}
	content, err := x.stored(ctx, id, r)
	if err != nil {
		x.metrics.count(func(s *Stats) { s.Unreadable++ })
		x.cfg.Logger.Warn("a snapshot could not be read; it is fetched again", "artist", id, "error", err)
		return nil
	}
	return content
}

func (x *Reader) stored(ctx context.Context, id string, r record) ([]byte, error) {
	packed, hash := r.content, r.hash
	for try := 1; packed == nil; try++ {
		if r.tier == 0 || x.cfg.Archive == nil {
			return nil, errors.New("artist: the extract is neither in the database nor in the archive")
		}
		var err error
		if packed, err = x.cfg.Archive.Get(ctx, r.tier, id); err == nil {
			x.metrics.count(func(s *Stats) { s.Unarchived++ })
			break
		}
		if !errors.Is(err, archive.ErrNotFound) || try == 2 {
			return nil, err
		}
		// It moved between the look and the read.
		var found bool
		if r, found, err = x.read(ctx, id); err != nil || !found {
			return nil, errors.Join(err, archive.ErrNotFound)
		}
		packed, hash = r.content, r.hash
	}
	return unpack(packed, hash)
}

// queue has a refresh asked for and reports whether one is in flight. When too many
// wait, it waits for the database to take some of them.
func (x *Reader) queue(ctx context.Context, q ask) bool {
	queued, full := x.asks.offer(q)
	if full == nil {
		return queued
	}
	ctx, cancel := context.WithTimeout(ctx, x.cfg.ReadTimeout)
	defer cancel()
	for full != nil {
		select {
		case <-full:
			queued, full = x.asks.offer(q)
		case <-ctx.Done():
			x.asks.drop()
			return false
		}
	}
	return queued
}

// when is nil for a time that has not come.
func when(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	t := events.Time(ms)
	return &t
}
