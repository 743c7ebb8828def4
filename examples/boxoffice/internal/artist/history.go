package artist

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// MaxHistory is how many changes a page has at most.
const MaxHistory = 50

const (
	// historyFor is how long a change is kept.
	historyFor = 90 * 24 * time.Hour
	// historyMost is how many changes of an artist are kept: as many as hourly changes
	// in 90 days, and some more. Only wishes to refresh can make more.
	historyMost = 2400
	// historyBytes bounds an answer, which has one change at least.
	historyBytes = 1 << 20
)

// Change is a snapshot that an artist had.
type Change struct {
	// ID is the place of the change; later changes have larger ones.
	ID string `json:"id"`
	// ChangedAt is when the mirror found it.
	ChangedAt time.Time `json:"changedAt"`
	// Snapshot is as that of a [View]; null when it is damaged.
	Snapshot json.RawMessage `json:"snapshot"`
}

// History has the snapshots of an artist, the newest first, in the JSON of GET
// /api/artists/{id}/history.
type History struct {
	Changes []Change `json:"changes"`
	// Next is the Before of the next page; nil at the end.
	Next *string `json:"next"`
}

// HistoryQuery asks for a page of a history.
type HistoryQuery struct {
	// Before is the ID of a change: only earlier ones are returned. When empty, all are.
	Before string
	// Limit is the length of the page, 1 to 50; 10 when zero. There may be fewer: a page
	// has about a megabyte at most.
	Limit int
}

// ErrBadQuery is returned for an impossible page.
var ErrBadQuery = errors.New("artist: Before is the id of a change, and Limit 1 to 50")

// History returns the artist's snapshots of the last 90 days, the current one among
// them if it is that young. It fails with ErrBadID or ErrBadQuery, or when the
// database does.
func (x *Reader) History(ctx context.Context, id string, q HistoryQuery) (History, error) {
	if err := CheckID(id); err != nil {
		return History{}, err
	}
	before := int64(math.MaxInt64)
	if q.Before != "" {
		n, err := strconv.ParseInt(q.Before, 10, 64)
		if err != nil || n < 1 {
			return History{}, ErrBadQuery
		}
		before = n
	}
	q.Limit = cmp.Or(q.Limit, 10)
	if q.Limit < 0 || q.Limit > MaxHistory {
		return History{}, ErrBadQuery
	}
	h, err := x.history(ctx, id, before, q.Limit)
	if err != nil {
		return History{}, fmt.Errorf("artist: the history of %s: %w", id, err)
	}
	return h, nil
}

func (x *Reader) history(ctx context.Context, id string, before int64, limit int) (h History, err error) {
	// One row more shows whether there is another page.
	found, err := x.store.Reader().QueryContext(ctx, x.sql.History, id, before, historyFor.Milliseconds(), limit+1)
	if err != nil {
		return h, err
	}
	defer found.Close() //nolint:errcheck // found.Err says what went wrong
	h.Changes = []Change{}
	for size := 0; found.Next(); {
		if n := len(h.Changes); n == limit || size >= historyBytes {
			h.Next = &h.Changes[n-1].ID
			break
		}
		var at, changed int64
		var hash string
		var packed []byte
		if err := found.Scan(&at, &changed, &hash, &packed); err != nil {
			return h, err
		}
		c := Change{ID: strconv.FormatInt(at, 10), ChangedAt: events.Time(changed)}
		if c.Snapshot, err = unpack(packed, hash); err != nil {
			x.metrics.count(func(s *Stats) { s.Unreadable++ })
			x.cfg.Logger.Warn("a snapshot of the history could not be read", "artist", id, "change", c.ID, "error", err)
		}
		size += len(c.Snapshot)
		h.Changes = append(h.Changes, c)
	}
	return h, found.Err()
}

// expire deletes the changes that are too old, and those of artists that have too
// many.
func (a *Archiver) expire(ctx context.Context, lease store.Lease) error {
	n, err := a.purge(ctx, lease, a.sql.Expire, historyFor.Milliseconds())
	a.m.metrics.count(func(s *Stats) { s.Expired += n })
	if err != nil {
		return err
	}
	many, err := store.Column(ctx, a.m.store.Reader(), a.sql.Many, historyMost)
	if err != nil {
		return fmt.Errorf("artist: archive: %w", err)
	}
	for _, id := range many {
		n, err := a.purge(ctx, lease, a.sql.Trim, id, historyMost-1)
		a.m.metrics.count(func(s *Stats) { s.Expired += n })
		if err != nil {
			return err
		}
	}
	return nil
}
