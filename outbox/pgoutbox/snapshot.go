package pgoutbox

import (
	"context"
	"database/sql"
	_ "embed" // for the statement
	"fmt"
	"sync"
	"time"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/internal/sqlstore"
)

//go:embed sql/oldest_snapshot.sql
var oldestSnapshot string

// hidden is said of sessions that this user may not see.
const hidden = "sessions of other users are hidden: GRANT pg_read_all_stats TO the user"

// snapshots finds the oldest snapshot on the server.
type snapshots struct {
	db *sql.DB

	mu sync.Mutex
	// seen is when a holder's xmin was met first, where the server does not say how old
	// it is. The age is then at least the time since.
	seen map[string]sighting
}

type sighting struct {
	xmin string
	at   time.Time
}

var (
	_ outbox.Snapshotter = (*Store)(nil)
	_ outbox.Snapshotter = (*StatusStore)(nil)
)

// OldestSnapshot implements outbox.Snapshotter. The age of a session's snapshot is that
// of its transaction. What a replica keeps, by its slot or by hot_standby_feedback, is as
// old as this store knows it, because the server does not date it.
func (s *snapshots) OldestSnapshot(ctx context.Context) (outbox.Snapshot, error) {
	var oldest outbox.Snapshot
	blind := false
	met := map[string]sighting{}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	err := sqlstore.Each(ctx, s.db, oldestSnapshot, nil, func(rows *sql.Rows) error {
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
			oldest = outbox.Snapshot{Age: max(age, 0), Holder: name}
		}
		return nil
	})
	if err != nil {
		return outbox.Snapshot{}, fmt.Errorf("pgoutbox: oldest snapshot: %w", err)
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
