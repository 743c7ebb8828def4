package doorbench

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/report"
)

// Config sizes a run. The zero value is the published one.
type Config struct {
	URL    string // PostgreSQL
	Emits  int    // transactions of one row and one event, by one caller; 2000
	Events int    // that are relayed and handled; 5000
	Rounds int    // interleaved rounds; 5
	Prefix string // of the schema; "bench"
}

func (c Config) withDefaults() Config {
	c.Emits = cmp.Or(c.Emits, 2000)
	c.Events = cmp.Or(c.Events, 5000)
	c.Rounds = cmp.Or(c.Rounds, 5)
	c.Prefix = cmp.Or(c.Prefix, "bench")
	return c
}

// placed is the event.
type placed struct {
	ID, Customer string
	Cents        int64
}

// Spec is that of millrace.Event.
func (p placed) Spec() millrace.Spec { return millrace.On("orders", "Placed", p.Customer) }

// nth is one of 1,000 customers' orders.
func nth(i int) placed { return placed{strconv.Itoa(i), "customer-" + strconv.Itoa(i%1000), int64(i)} }

// way is one way to write the same program.
type way struct {
	name string
	open func(db *sql.DB) (program, error)
}

// program emits and handles.
type program struct {
	migrate func(ctx context.Context) error
	// emit commits a row and its event.
	emit func(ctx context.Context, p placed) error
	// handle relays and handles until ctx ends; each event runs effect in its transaction.
	handle func(ctx context.Context, effect func(ctx context.Context, tx *sql.Tx, p placed) error) error
	close  func() error
}

var ways = []way{{"front door", byFrontDoor}, {"packages by hand", byHand}}

// result is the result of one way in one round.
type result struct{ emits, handles report.Pace }

// Run measures and writes the report. It leaves nothing behind.
func Run(ctx context.Context, cfg Config, out *report.Recorder) error {
	cfg = cfg.withDefaults()
	names := make([]string, len(ways))
	for i, w := range ways {
		names[i] = w.name
	}
	all, err := report.Interleave(out, cfg.Rounds, names, func(_ int, name string) (result, string, error) {
		r, err := ways[slices.Index(names, name)].measure(ctx, cfg)
		return r, fmt.Sprintf("%-18s %9.0f emits/s %9.0f handled/s", name, r.emits.Rate, r.handles.Rate), err
	})
	if err != nil {
		return err
	}
	out.Title("medians of %d rounds; %d transactions of a row and an event, %d events relayed in memory and handled in a transaction each", cfg.Rounds, cfg.Emits, cfg.Events)
	fmt.Fprintf(out, "%-18s %10s %12s %12s %12s\n", "", "emits/s", "CPU µs each", "handled/s", "CPU µs each")
	out.Chart(report.Chart{Name: "emit", Title: "Emitting in a transaction, one caller", Unit: "events/s"})
	out.Chart(report.Chart{Name: "handle", Title: "Relaying and handling, once each", Unit: "events/s"})
	medians := map[string]result{}
	for i, w := range ways {
		role := report.Ours
		if i > 0 {
			role = report.Peer
		}
		m := result{
			report.Paced(out, report.Figure{Chart: "emit", Name: w.name, Role: role}, all[w.name], func(r result) report.Pace { return r.emits }),
			report.Paced(out, report.Figure{Chart: "handle", Name: w.name, Role: role}, all[w.name], func(r result) report.Pace { return r.handles }),
		}
		medians[w.name] = m
		fmt.Fprintf(out, "%-18s %10.0f %12.1f %12.0f %12.1f\n", w.name, m.emits.Rate, report.Micros(m.emits.CPU), m.handles.Rate, report.Micros(m.handles.CPU))
	}
	fmt.Fprintln(out)
	door, hand := medians[ways[0].name], medians[ways[1].name]
	out.AtLeast("emitting, front door / packages by hand", report.Ratio(door.emits.Rate, hand.emits.Rate, "events/s"), 0.95)
	out.AtLeast("handling, front door / packages by hand", report.Ratio(door.handles.Rate, hand.handles.Rate, "events/s"), 0.95)
	return nil
}

// measure emits and handles in a schema of its own.
func (w way) measure(ctx context.Context, cfg Config) (r result, err error) {
	p, err := place.Postgres(cfg.URL, cfg.Prefix+"_door")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.Drop(context.WithoutCancel(ctx))) }()
	db, err := p.Fresh(ctx)
	if err != nil {
		return r, err
	}
	defer db.Close() //nolint:errcheck // measured work is done
	program, err := w.open(db)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, program.close()) }()
	if err := program.migrate(ctx); err != nil {
		return r, err
	}
	for _, table := range []string{`CREATE TABLE orders (id TEXT, cents BIGINT)`, `CREATE TABLE effects (id TEXT, cents BIGINT)`} {
		if _, err := db.ExecContext(ctx, table); err != nil {
			return r, err
		}
	}
	for i := range max(1, cfg.Emits/20) { // the set-up of a first call is not measured
		if err := program.emit(ctx, nth(i)); err != nil {
			return r, err
		}
	}
	end := report.Begin()
	for i := range cfg.Emits {
		if err := program.emit(ctx, nth(i)); err != nil {
			return r, err
		}
	}
	r.emits = end(cfg.Emits)
	if err := p.Settle(ctx); err != nil {
		return r, err
	}
	r.handles, err = program.drain(ctx, cfg)
	return r, err
}

// drain emits the remaining events and handles all.
func (p program) drain(ctx context.Context, cfg Config) (report.Pace, error) {
	have := cfg.Emits + max(1, cfg.Emits/20)
	for i := have; i < cfg.Events; i++ {
		if err := p.emit(ctx, nth(i)); err != nil {
			return report.Pace{}, err
		}
	}
	all := max(have, cfg.Events)
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	left, ended := make(chan struct{}, all), make(chan error, 1)
	end := report.Begin()
	go func() {
		ended <- p.handle(ctx, func(ctx context.Context, tx *sql.Tx, o placed) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO effects VALUES ($1, $2)`, o.ID, o.Cents)
			if err == nil {
				left <- struct{}{}
			}
			return err
		})
	}()
	for range all {
		select {
		case <-left:
		case <-ctx.Done():
			return report.Pace{}, errors.Join(errors.New("not all events were handled within a minute"), <-ended)
		}
	}
	pace := end(all)
	stop()
	return pace, <-ended
}
