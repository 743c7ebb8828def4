package outboxbench

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/report"
)

// Config sizes a run. The zero value is the published one.
type Config struct {
	URL      string // PostgreSQL, of Run and RunStatus
	MariaDB  string // of RunMariaDB
	MySQL    string // of RunMySQL
	Rows     int    // backlog to drain; 50,000
	Size     int    // bytes of payload; 500
	Rounds   int    // interleaved rounds of everything; 5
	Rate     int    // events per second while latency is measured; 500
	Seconds  int    // length of a latency measurement; 5
	Bookings int    // whose parts are measured; 2000, and a quarter of it on SQLite
	Prefix   string // of the schemas and databases; "bench"
}

func (c Config) withDefaults() Config {
	c.Rows = cmp.Or(c.Rows, 50_000)
	c.Size = cmp.Or(c.Size, 500)
	c.Rounds = cmp.Or(c.Rounds, 5)
	c.Rate = cmp.Or(c.Rate, 500)
	c.Seconds = cmp.Or(c.Seconds, 5)
	c.Bookings = cmp.Or(c.Bookings, 2000)
	c.Prefix = cmp.Or(c.Prefix, "bench")
	return c
}

// The keys by which the appender process finds its system.
const (
	ours          = "millrace"
	peer          = "watermill"
	rivers        = "river"
	oursOnMariaDB = "millrace-mariadb"
	peerOnMariaDB = "watermill-mariadb"
	oursOnMySQL   = "millrace-mysql"
	peerOnMySQL   = "watermill-mysql"
)

func systemOf(cfg Config, key string) (system, error) {
	s, known := map[string]struct {
		on     func(server, name string) (place.Place, error)
		server string
		name   string // behind the prefix
		in     func(place.Place) system
	}{
		ours:          {place.Postgres, cfg.URL, "millrace", millraceOnPostgres},
		peer:          {place.Postgres, cfg.URL, "watermill", watermillOnPostgres},
		rivers:        {place.Postgres, cfg.URL, "river", func(db place.Place) system { return riverQueue{db} }},
		oursOnMariaDB: {place.MariaDB, cfg.MariaDB, "millrace", millraceOnMariaDB},
		peerOnMariaDB: {place.MariaDB, cfg.MariaDB, "watermill", watermillOnMariaDB},
		oursOnMySQL:   {place.MariaDB, cfg.MySQL, "millrace", millraceOnMariaDB},
		peerOnMySQL:   {place.MariaDB, cfg.MySQL, "watermill", watermillOnMariaDB},
	}[key]
	if !known {
		return nil, fmt.Errorf("unknown system %q", key)
	}
	db, err := s.on(s.server, cfg.Prefix+"_"+s.name)
	if err != nil {
		return nil, err
	}
	return s.in(db), nil
}

// Run measures the cursor outbox on PostgreSQL beside its peers and writes the
// report. It leaves no schema behind.
func Run(ctx context.Context, cfg Config, out *report.Recorder) error {
	cfg = cfg.withDefaults()
	var reads []float64
	m, err := measure(ctx, cfg, cfg.Rows, out, func(key string, s system, round int) error {
		if key != ours {
			return nil
		}
		rate, err := rawRead(ctx, s.at(), cfg.Rows)
		if err != nil {
			return fmt.Errorf("raw read: %w", err)
		}
		reads = append(reads, rate)
		fmt.Fprintf(out, "round %d  read     %-17s %9.0f rows/s\n", round, "raw", rate)
		return nil
	}, ours, peer, rivers)
	if err != nil {
		return err
	}
	statements, err := idleStatements(ctx, cfg)
	if err != nil {
		return fmt.Errorf("idle: %w", err)
	}
	share, err := bookingShare(ctx, cfg, cfg.Bookings)
	if err != nil {
		return fmt.Errorf("booking: %w", err)
	}
	lite, err := bookingShareSQLite(ctx, cfg.Bookings/4)
	if err != nil {
		return fmt.Errorf("booking on SQLite: %w", err)
	}
	f := m.report(cfg, cfg.Rows, out)
	read := report.Median(reads, func(r float64) float64 { return r })
	out.Figure(report.Figure{Chart: "drain", Name: "limit: the same rows by primary key, 1000 at a time", Role: report.Limit,
		Rounds: report.Rounds(reads, func(r float64) float64 { return r })})
	fmt.Fprintf(out, "%-58s %10.0f\n\n", "reading the same rows by primary key, 1000 at a time", read)
	out.Mark("drain", "12 × watermill-sql", 12*f[peer].rate)
	out.Mark("drain", "0.45 × the read by primary key", 0.45*read)
	out.Mark("p50", "half of watermill-sql's", ms(f[peer].p50)/2)
	out.Mark("p99", "no more than watermill-sql's", ms(f[peer].p99))
	out.AtLeast("drain / tuned watermill-sql", report.Ratio(f[ours].rate, f[peer].rate, "events/s"), 12)
	out.Told("drain / River", report.Ratio(f[ours].rate, f[rivers].rate, "events/s"))
	out.AtLeast("drain / raw read by primary key", report.Ratio(f[ours].rate, read, "events/s"), 0.45)
	out.AtMost("p50 latency / tuned watermill-sql", report.Ratio(ms(f[ours].p50), ms(f[peer].p50), "ms"), 0.5)
	out.AtMost("p99 latency / tuned watermill-sql", report.Ratio(ms(f[ours].p99), ms(f[peer].p99), "ms"), 1)
	out.AtMost("statements per second of an idle relay", report.Value(statements, "statements"), 2)
	out.Below("append's part of a booking transaction, PostgreSQL", report.Value(share.append, "of its time"), 0.1)
	out.Told("  of that, an empty round trip (SELECT 1)", report.Value(share.roundTrip, "of its time"))
	out.Below("append's part of a booking transaction, SQLite", report.Value(lite.append, "of its time"), 0.1)
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// idleStatements counts the statements of our relay when it has nothing to do.
func idleStatements(ctx context.Context, cfg Config) (float64, error) {
	s, err := systemOf(cfg, ours)
	if err != nil {
		return 0, err
	}
	defer s.at().Drop(context.WithoutCancel(ctx)) //nolint:errcheck // best effort after the measurement
	return idle(ctx, s, time.Duration(cfg.Seconds)*2*time.Second)
}

// rawRead reads the same rows by primary key in batches of 1000: the ceiling.
func rawRead(ctx context.Context, db place.Place, n int) (float64, error) {
	conn, err := pgx.Connect(ctx, db.URL)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx) //nolint:errcheck // read only
	start := time.Now()
	read := 0
	for after := int64(0); read < n; {
		rows, err := conn.Query(ctx, `SELECT id, topic, message_id, message_key, headers, payload, created_at
			FROM outbox_messages WHERE lane = 0 AND id > $1 ORDER BY id LIMIT 1000`, after)
		if err != nil {
			return 0, err
		}
		batch := 0
		for rows.Next() {
			var topic, id, key, headers string
			var payload []byte
			var at time.Time
			if err := rows.Scan(&after, &topic, &id, &key, &headers, &payload, &at); err != nil {
				return 0, err
			}
			batch++
		}
		if err := rows.Err(); err != nil {
			return 0, err
		}
		if batch == 0 {
			return 0, fmt.Errorf("%d of %d rows", read, n)
		}
		read += batch
	}
	return float64(read) / time.Since(start).Seconds(), nil
}
