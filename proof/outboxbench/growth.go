package outboxbench

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/proof/backlog"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/report"
)

// Growth sizes a run of [RunGrowth]. The zero value is the published one.
type Growth struct {
	URL    string // PostgreSQL
	Rows   []int  // backlogs to drain; 1,000, 10,000, 100,000 and 1,000,000
	Shards []int  // 1, 2, 4 and 8
	Size   int    // bytes of payload; 200
	Rounds int    // interleaved rounds of each backlog; 3
	Prefix string // of the schemas; "grow"
}

func (g Growth) withDefaults() Growth {
	if g.Rows == nil {
		g.Rows = []int{1000, 10_000, 100_000, 1_000_000}
	}
	if g.Shards == nil {
		g.Shards = []int{1, 2, 4, 8}
	}
	g.Size = cmp.Or(g.Size, 200)
	g.Rounds = cmp.Or(g.Rounds, 3)
	g.Prefix = cmp.Or(g.Prefix, "grow")
	return g
}

// pile is a point of the plot: a backlog in so many shards.
type pile struct{ rows, shards int }

// RunGrowth measures how a drain grows with the backlog and the shards, beside a
// read of the same rows by primary key. A backlog is filled once for each number of
// shards, and drained in each round. It leaves no schema behind.
func RunGrowth(ctx context.Context, cfg Growth, out *report.Recorder) error {
	cfg = cfg.withDefaults()
	if cfg.Shards[0] != 1 {
		return fmt.Errorf("Shards begin with %d; give 1 first, whose rows are read by primary key", cfg.Shards[0])
	}
	drains, reads := map[pile][]report.Pace{}, map[int][]float64{}
	for i, rows := range cfg.Rows {
		if err := cfg.backlog(ctx, i, rows, drains, reads, out); err != nil {
			return fmt.Errorf("%d rows: %w", rows, err)
		}
	}
	cfg.record(drains, reads, out)
	return nil
}

// backlog measures one size with all numbers of shards.
func (g Growth) backlog(ctx context.Context, i, rows int, drains map[pile][]report.Pace, reads map[int][]float64, out *report.Recorder) (err error) {
	var all []*sharded
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	for _, shards := range g.Shards {
		start := time.Now()
		s, err := g.fill(ctx, pile{rows, shards})
		if s != nil {
			all = append(all, s)
		}
		if err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		fmt.Fprintf(out, "%d rows are in %d shards after %s\n", rows, shards, time.Since(start).Round(100*time.Millisecond))
	}
	for round := 1; round <= g.Rounds; round++ {
		out.Round(i*g.Rounds+round, len(g.Rows)*g.Rounds)
		rate, err := rawRead(ctx, all[0].place, all[0].rows)
		if err != nil {
			return fmt.Errorf("read by primary key: %w", err)
		}
		reads[rows] = append(reads[rows], rate)
		fmt.Fprintf(out, "round %d  %8d rows  read by primary key  %9.0f rows/s\n", round, rows, rate)
		for _, s := range all {
			w, err := s.drain(ctx)
			if err != nil {
				return fmt.Errorf("%d shards: %w", s.shards, err)
			}
			drains[s.pile] = append(drains[s.pile], w)
			fmt.Fprintf(out, "round %d  %8d rows  %d shards             %9.0f events/s\n", round, rows, s.shards, w.Rate)
		}
	}
	return nil
}

// sharded is an outbox with a backlog, which can be drained again and again.
type sharded struct {
	pile
	place place.Place
	db    *sql.DB
	store driver.SQLStore
}

// fill makes a schema with a backlog. Close its result even beside an error.
func (g Growth) fill(ctx context.Context, p pile) (*sharded, error) {
	at, err := place.Postgres(g.URL, fmt.Sprintf("%s_outbox_%d", g.Prefix, p.shards))
	if err != nil {
		return nil, err
	}
	s := &sharded{pile: p, place: at}
	if s.db, err = at.Fresh(ctx); err != nil {
		return s, err
	}
	if s.store, err = pgoutbox.New(s.db, pgoutbox.Config{Shards: p.shards}); err != nil {
		return s, err
	}
	if err := backlog.Fill(ctx, s.db, s.store, p.rows, manyKeys, backlog.Text(g.Size)); err != nil {
		return s, err
	}
	return s, at.Settle(ctx)
}

// drain relays the backlog from its first event, from the relay's start until the
// cursors are behind the last one.
func (s *sharded) drain(ctx context.Context) (report.Pace, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if _, err := s.db.ExecContext(ctx, `DELETE FROM outbox_cursors`); err != nil {
		return report.Pace{}, fmt.Errorf("go back to the first event: %w", err)
	}
	var published atomic.Int64
	relay, err := outbox.NewRelay(s.store, counter{func(string) { published.Add(1) }}, outbox.RelayConfig{})
	if err != nil {
		return report.Pace{}, err
	}
	w, err := report.Timed(s.rows, func() error { return relay.Drain(ctx) })
	if err == nil && int(published.Load()) != s.rows {
		err = fmt.Errorf("of %d events %d were published", s.rows, published.Load())
	}
	return w, err
}

func (s *sharded) close(ctx context.Context) error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, s.place.Drop(context.WithoutCancel(ctx)))
}

// record keeps the results.
func (g Growth) record(drains map[pile][]report.Pace, reads map[int][]float64, out *report.Recorder) {
	out.Title("medians of %d rounds; rows of %d B into a publisher that counts, from the relay's start until the cursors are behind the last row; %d keys", g.Rounds, g.Size, manyKeys)
	out.Chart(report.Chart{Name: "drain", Title: "Draining a backlog, by its size and the shards", Unit: "events/s", X: "rows of backlog", Note: fmt.Sprintf("rows of %d B on PostgreSQL", g.Size)})
	same := func(v float64) float64 { return v }
	for i, shards := range g.Shards {
		name := fmt.Sprintf("%d shards", shards)
		if shards == 1 {
			name = "1 shard"
		}
		for _, rows := range g.Rows {
			got := drains[pile{rows, shards}]
			report.Paced(out, report.Figure{Chart: "drain", Name: name, Role: report.Ours, Colour: i, X: report.Number(rows)}, got, report.Pace.Itself)
			rates := make([]float64, len(got))
			for n, w := range got {
				rates[n] = w.Rate
			}
			out.Told(fmt.Sprintf("drain of %d rows, %s / read by primary key", rows, name), report.Between(rates, reads[rows], same, "events/s"))
		}
	}
	for _, rows := range g.Rows {
		out.Figure(report.Figure{Chart: "drain", Name: "limit: a read by primary key", Role: report.Limit, Colour: -1, X: report.Number(rows), Rounds: report.Rounds(reads[rows], same)})
	}
}
