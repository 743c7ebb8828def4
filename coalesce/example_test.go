package coalesce_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/internal/sqlitedb"
)

// A request publishes, the next one finds the key being refreshed, and a request that cannot
// wait takes over.
func ExampleNew() {
	coalescer, err := coalesce.New(memcoalesce.New(), coalesce.Config{})
	check(err)
	ctx := context.Background()
	for _, p := range []coalesce.Priority{coalesce.Low, coalesce.Low, coalesce.High, coalesce.High} {
		d, err := coalescer.Do(ctx, "artist-7", p, func(_ context.Context, version int64) error {
			fmt.Println("publish", p) // with the version as the event's sequence
			return nil
		})
		check(err)
		fmt.Println(d.Outcome)
	}
	// Output:
	// publish LOW
	// Published
	// AlreadyProcessing
	// publish HIGH
	// Upgraded
	// AlreadyProcessing
}

// A worker skips obsolete events. Its write is conditional on the version as well, because the
// event may become obsolete during the work.
func ExampleCoalescer_Obsolete() {
	db, done := artists()
	defer done()
	coalescer, err := coalesce.New(memcoalesce.New(), coalesce.Config{})
	check(err)
	ctx := context.Background()

	low, err := coalescer.Request(ctx, "artist-7", coalesce.Low)
	check(err)
	obsolete, err := coalescer.Obsolete(ctx, "artist-7", low.Ticket.Version)
	fmt.Println("low is obsolete before its work:", obsolete, err)
	// While the low worker fetches, a high request arrives, and the high worker is quicker.
	high, err := coalescer.Request(ctx, "artist-7", coalesce.High)
	check(err)

	save := func(t coalesce.Ticket, level int) {
		r, err := db.ExecContext(ctx, `INSERT INTO artists (id, level, version) VALUES (?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET level = excluded.level, version = excluded.version
			WHERE artists.version < excluded.version`, t.Key, level, t.Version)
		check(err)
		n, err := r.RowsAffected()
		fmt.Println("rows written by", t.Priority, n, err)
	}
	save(high.Ticket, 61)
	save(low.Ticket, 60)
	obsolete, err = coalescer.Obsolete(ctx, "artist-7", low.Ticket.Version)
	fmt.Println("low is obsolete after its work:", obsolete, err)
	// Output:
	// low is obsolete before its work: false <nil>
	// rows written by HIGH 1 <nil>
	// rows written by LOW 0 <nil>
	// low is obsolete after its work: true <nil>
}

// A request that knows of a change asks for one more run after the current one; the worker
// begins it when the current run ends.
func ExampleCoalescer_Done() {
	coalescer, err := coalesce.New(memcoalesce.New(), coalesce.Config{})
	check(err)
	ctx := context.Background()
	publish := func(_ context.Context, t coalesce.Ticket) error {
		fmt.Println("publish", t.Priority)
		return nil
	}
	run, err := coalescer.Request(ctx, "artist-7", coalesce.Low)
	check(err)
	check(coalescer.Publish(ctx, run.Ticket, publish))
	for range 100 {
		_, err := coalescer.Again(ctx, "artist-7", coalesce.Low)
		check(err)
	}
	// The worker, after its work; version, priority and key are those of the event.
	for t, again := run.Ticket, true; again; {
		fmt.Println("done")
		t, again, err = coalescer.Done(ctx, t.Key, t.Priority, t.Version)
		check(err)
		if again {
			check(coalescer.Publish(ctx, t, publish))
		}
	}
	// Output:
	// publish LOW
	// done
	// publish LOW
	// done
}

// artists creates a table in its own database.
func artists() (db *sql.DB, done func()) {
	dir, err := os.MkdirTemp("", "coalesce")
	check(err)
	db, err = sqlitedb.Open(filepath.Join(dir, "app.db"), sqlitedb.Config{})
	check(err)
	_, err = db.Exec(`CREATE TABLE artists (id TEXT PRIMARY KEY, level INTEGER NOT NULL, version INTEGER NOT NULL)`)
	check(err)
	return db, func() {
		check(db.Close())
		check(os.RemoveAll(dir))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
