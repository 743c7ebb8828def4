package pgoutbox

import (
	"context"
	"database/sql"
	_ "embed" // for the statement
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/sqlrows"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
)

//go:embed sql/oldest_snapshot.sql
var oldestSnapshot string

// hidden is the Holder when this user may not see other users' sessions.
const hidden = "sessions of other users are hidden: GRANT pg_read_all_stats TO the user"

// snapshots finds the oldest snapshot on the server.
type snapshots struct {
	db *sql.DB

	mu sync.Mutex
	// seen holds when a holder's xmin was first observed, for holders whose age the server does
	// not know. The age is then at least the time since.
	seen map[string]sighting
}

type sighting struct {
	xmin string
	at   time.Time
}

var (
	_ driver.Snapshotter = (*store)(nil)
	_ driver.Snapshotter = (*statusStore)(nil)
)

// OldestSnapshot implements driver.Snapshotter. The age of a session's snapshot is the age of
// its transaction. A snapshot that a replica holds, by its slot or by hot_standby_feedback, has
// no date on the server: its age is the time since this store first saw it.
func (s *snapshots) OldestSnapshot(ctx context.Context) (driver.Snapshot, error) {
	var oldest driver.Snapshot
	blind := false
	met := map[string]sighting{}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	err := sqlrows.Each(ctx, s.db, func(rows *sql.Rows) error {
		var name, xmin string
		var micros sql.NullInt64
		if err := rows.Scan(&name, &xmin, &micros); err != nil {
			return err
		}
		if name == "" {
			blind = true
			return nil
		}
		age := sqlstore.Micros(micros.Int64)
		if !micros.Valid {
			first, known := s.seen[name]
			if !known || first.xmin != xmin {
				first = sighting{xmin, now}
			}
			met[name] = first
			age = now.Sub(first.at)
		}
		if oldest.Holder == "" || age > oldest.Age {
			oldest = driver.Snapshot{Age: max(age, 0), Holder: name}
		}
		return nil
	}, oldestSnapshot)
	if err != nil {
		return driver.Snapshot{}, fmt.Errorf("pgoutbox: oldest snapshot: %w", err)
	}
	s.seen = met
	switch {
	case blind && oldest.Holder == "":
		oldest.Holder = hidden
	case blind:
		oldest.Holder += "; " + hidden
	}
	return oldest, nil
}
