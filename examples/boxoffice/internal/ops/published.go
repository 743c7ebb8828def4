package ops

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/internal/migrate"
)

var (
	//go:embed sql/migrations/*.sql
	migrations embed.FS
	//go:embed sql/published.sql
	publishedSQL string
)

// writeEvery is how often a relay writes its count: a killed relay loses the count of
// that time.
const writeEvery = time.Second

// Published counts the events that the relays of all processes published. The outbox
// keeps positions, which are no numbers of events on every database, and deletes old
// events; so each relay adds to a row of the database that they share. It is safe for
// concurrent use.
type Published struct {
	store *store.Store
	log   *slog.Logger
	sql   struct{ Add, Total string }

	mu      sync.Mutex
	own     int64 // by this process
	unsaved int64 // of those, not yet in the row
	others  int64 // in the row, but not of this process, at the last look
	looked  bool

	saving sync.Mutex
}

// NewPublished makes a Published; nil means slog.Default(). It does no I/O:
// call Migrate once before use.
func NewPublished(s *store.Store, log *slog.Logger) (*Published, error) {
	if s == nil {
		return nil, errors.New("ops: NewPublished: store is nil; open one with store.Open")
	}
	if log == nil {
		log = slog.Default()
	}
	p := &Published{store: s, log: log}
	if err := s.Load(publishedSQL, &p.sql); err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	return p, nil
}

// Migrate makes the row.
func (p *Published) Migrate(ctx context.Context) error {
	sub, err := fs.Sub(migrations, "sql/migrations")
	if err != nil {
		return fmt.Errorf("ops: migrations: %w", err)
	}
	dialect := map[string]string{"sqlite": migrate.SQLite, "postgres": migrate.Postgres, "mysql": migrate.MySQL}[p.store.Dialect()]
	if err := (migrate.Set{Package: "boxoffice_ops", Dialect: dialect, FS: sub}).Up(ctx, p.store.DB()); err != nil {
		return fmt.Errorf("ops: %w", err)
	}
	return nil
}

// Add counts events that this process's relay published. It does no I/O.
func (p *Published) Add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own += n
	p.unsaved += n
}

// Own is how many events this process published.
func (p *Published) Own() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own
}

// one counts an event, as a hook of the relay.
func (p *Published) one(int, string, time.Duration) { p.Add(1) }

// Total is how many events all processes published, except the last second of other
// processes.
func (p *Published) Total(ctx context.Context) (int64, error) {
	// While this process writes its own count, the row may include that or not, and a
	// read would wait for the writer: the counts of others can be a moment old.
	if !p.saving.TryLock() {
		if total, ok := p.lastTotal(); ok {
			return total, nil
		}
		p.saving.Lock()
	}
	defer p.saving.Unlock()
	var row int64
	if err := p.store.Reader().QueryRowContext(ctx, p.sql.Total).Scan(&row); err != nil {
		return 0, fmt.Errorf("ops: published: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.others, p.looked = row+p.unsaved-p.own, true
	return p.others + p.own, nil
}

func (p *Published) lastTotal() (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.others + p.own, p.looked
}

// Run writes every second the number of events that this process published, until ctx
// ends, and then once more.
func (p *Published) Run(ctx context.Context) error {
	failing := false
	signal.Every(ctx, writeEvery, func(ctx context.Context) {
		err := p.save(ctx)
		// Once per outage, not once per second.
		if err != nil && !failing && ctx.Err() == nil {
			p.log.Warn("ops: published events are counted but not written down", "error", err)
		}
		failing = err != nil
	})
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*writeEvery)
	defer cancel()
	if err := p.save(last); err != nil {
		p.log.Warn("ops: the count of published events is short by this process's last", "error", err)
	}
	return nil
}

func (p *Published) save(ctx context.Context) error {
	p.saving.Lock()
	defer p.saving.Unlock()
	p.mu.Lock()
	n := p.unsaved
	p.mu.Unlock()
	if n == 0 {
		return nil
	}
	err := p.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, p.sql.Add, n)
		return err
	})
	if err != nil {
		return fmt.Errorf("ops: published: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unsaved -= n
	return nil
}
