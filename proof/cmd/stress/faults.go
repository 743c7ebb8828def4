package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/pair"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

const (
	// relayEnv makes this program a relay, and names its holder; urlEnv and kindEnv
	// name its database. Publications go to file descriptor 3, a line each.
	relayEnv = "MILLRACE_STRESS_RELAY"
	urlEnv   = "MILLRACE_STRESS_URL"
	kindEnv  = "MILLRACE_STRESS_DATABASE"

	leaseTTL = 2 * time.Second
)

// runFaults is the stress with relays and servers that fail.
func runFaults(ctx context.Context, cfg outboxtest.StressConfig) (checks []judge.Check) {
	fmt.Printf("\nThe same on a primary with a replica and three relay processes: one stopped (SIGSTOP) for twice its lease,\n")
	fmt.Printf("one killed, then a failover to a replica that lags. Repeated: published again after these faults.\n\n")
	fmt.Printf("%-12s %9s %6s %9s %9s %9s %10s\n", "database", "committed", "lost", "ghosts", "inverted", "repeated", "undone")
	for _, name := range []string{"postgres", "mariadb", "mysql"} {
		title := name + " with faults"
		r, undone, err := faults(ctx, name, cfg)
		if err != nil {
			checks = append(checks, unfinished(title, err))
			continue
		}
		fmt.Printf("%-12s %9d %6d %9d %9d %9d %10d\n", name, r.Appended, r.Lost, r.Uncommitted, r.Inverted, r.Duplicated, undone)
		checks = append(checks,
			judge.That(title+": each commit that lasts is published, in order", r.Lost+r.Uncommitted+r.Inverted == 0,
				"lost %d, not committed %d, inverted %d", r.Lost, r.Uncommitted, r.Inverted),
			committed(title, r), judge.Control(title+": the failover undoes commits", undone > 0, "%d", undone))
	}
	return checks
}

func faults(ctx context.Context, name string, cfg outboxtest.StressConfig) (r outboxtest.StressResult, undone int, err error) {
	p, err := pair.Start(ctx, name)
	if err != nil {
		return r, 0, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	db, err := p.Open(p.URL)
	if err != nil {
		return r, 0, err
	}
	defer db.Close() //nolint:errcheck // the run is over
	db.SetMaxOpenConns(cfg.Writers + 8)
	store, err := open(name, db)
	if err != nil {
		return r, 0, err
	}
	if err := store.Migrate(ctx); err != nil {
		return r, 0, err
	}
	f := &fleet{pair: p, store: store}
	cfg.Store, cfg.DB, cfg.Unrelated, cfg.Naive = store, db, db, false
	cfg.Faults = &outboxtest.StressFaults{
		Relays:    f.run,
		Strike:    func(ctx context.Context) error { return f.strike(ctx, cfg.Duration) },
		Committed: func(ctx context.Context) ([]string, error) { return messageIDs(ctx, p) },
	}
	r, err = outboxtest.Stress(ctx, cfg)
	return r, f.undone, err
}

func open(name string, db *sql.DB) (driver.SQLStore, error) {
	if name == "postgres" {
		return pgoutbox.New(db, pgoutbox.Config{})
	}
	return mysqloutbox.New(db, mysqloutbox.Config{})
}

// messageIDs are the ids on the server that took over.
func messageIDs(ctx context.Context, p *pair.Pair) ([]string, error) {
	db, err := p.Open(p.Replica)
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // a side connection
	rows, err := db.QueryContext(ctx, `SELECT message_id FROM outbox_messages`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err is checked below
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// fleet is the relay processes of a run.
type fleet struct {
	pair   *pair.Pair
	store  driver.SQLStore
	undone int

	mu    sync.Mutex
	relay map[string]*launch.Process // those that live, by holder
}

// run starts the relays and reads what they publish until ctx is done. They share
// one pipe, so that the order of lines is the order of publishing.
func (f *fleet) run(ctx context.Context, published func(id, aggregate string, version uint64)) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.relay = map[string]*launch.Process{}
	for i := range 3 {
		name := fmt.Sprint("relay-", i+1)
		if f.relay[name], err = launch.Start(launch.Spec{
			Name: name, Path: os.Args[0], Files: []*os.File{w}, Log: os.Stderr,
			Env: append(os.Environ(), relayEnv+"="+name, urlEnv+"="+f.pair.URL, kindEnv+"="+f.pair.Name),
		}); err != nil {
			delete(f.relay, name)
			break
		}
	}
	f.mu.Unlock()
	_ = w.Close() // the children have it
	ctx, end := context.WithCancel(ctx)
	defer end()
	stopped := make(chan error, 1)
	go func() { <-ctx.Done(); stopped <- f.stop() }()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var id, aggregate string
		var version uint64
		if _, bad := fmt.Sscan(lines.Text(), &id, &aggregate, &version); bad != nil {
			err = errors.Join(err, fmt.Errorf("a relay wrote %q: %w", lines.Text(), bad))
			break
		}
		published(id, aggregate, version)
	}
	end() // all relays have ended, or wrote what they should not
	return errors.Join(err, lines.Err(), r.Close(), <-stopped)
}

// stop ends the relays that live. One that ended by itself is an error.
func (f *fleet) stop() (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.relay {
		err = errors.Join(err, p.Stop(30*time.Second))
	}
	return err
}

// strike stops, kills and fails over, a quarter of the run after one another.
func (f *fleet) strike(ctx context.Context, span time.Duration) error {
	steps := []func(context.Context) error{
		func(ctx context.Context) error {
			return f.holder(ctx, func(_ string, p *launch.Process) error {
				if err := p.Suspend(); err != nil {
					return err
				}
				_ = backoff.Sleep(ctx, 2*leaseTTL) // the length of the fault
				return p.Resume()
			})
		},
		func(ctx context.Context) error {
			return f.holder(ctx, func(name string, p *launch.Process) error {
				p.Kill()
				f.mu.Lock()
				delete(f.relay, name)
				f.mu.Unlock()
				return nil
			})
		},
		f.failover,
	}
	for _, step := range steps {
		if err := backoff.Sleep(ctx, span/4); err != nil {
			return nil
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	_ = backoff.Sleep(ctx, span/4)
	return nil
}

// holder does something to the process that holds the lease.
func (f *fleet) holder(ctx context.Context, do func(name string, p *launch.Process) error) error {
	for {
		stats, err := f.store.Stats(ctx)
		if err == nil {
			f.mu.Lock()
			p := f.relay[stats[0].Holder]
			f.mu.Unlock()
			if p != nil {
				return do(stats[0].Holder, p)
			}
		}
		if backoff.Sleep(ctx, 50*time.Millisecond) != nil {
			return errors.Join(errors.New("no relay holds the lease"), err)
		}
	}
}

// failover lets the replica lag, then promotes it.
func (f *fleet) failover(ctx context.Context) error {
	if err := f.pair.Lag(ctx); err != nil {
		return err
	}
	_ = backoff.Sleep(ctx, time.Second) // commits that will be lost
	before, err := count(ctx, f.pair, f.pair.Primary)
	if err != nil {
		return err
	}
	after, err := count(ctx, f.pair, f.pair.Replica)
	if err != nil {
		return err
	}
	f.undone = before - after
	return f.pair.Promote(ctx)
}

func count(ctx context.Context, p *pair.Pair, url string) (n int, err error) {
	db, err := p.Open(url)
	if err != nil {
		return 0, err
	}
	defer db.Close() //nolint:errcheck // a side connection
	err = db.QueryRowContext(ctx, `SELECT COUNT(*) FROM outbox_messages`).Scan(&n)
	return n, err
}

// relayProcess is one relay, until it is interrupted.
func relayProcess(ctx context.Context, holder string) error {
	kind := os.Getenv(kindEnv)
	db, err := (&pair.Pair{Name: kind}).Open(os.Getenv(urlEnv))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the process ends
	store, err := open(kind, db)
	if err != nil {
		return err
	}
	out := os.NewFile(3, "publications")
	relay, err := outbox.NewRelay(store, lines{out}, outbox.RelayConfig{Holder: holder, LeaseTTL: leaseTTL})
	if err != nil {
		return err
	}
	return relay.Run(ctx)
}

// lines publishes events as lines, each by one write, which the pipe keeps whole.
type lines struct{ to io.WriteCloser }

// Publish implements message.Publisher.
func (l lines) Publish(_ string, msgs ...*message.Message) error {
	for _, msg := range msgs {
		e, err := event.Decode(msg)
		if err != nil {
			return err
		}
		if strings.ContainsAny(e.AggregateID, " \n") {
			return fmt.Errorf("the aggregate %q does not fit a line", e.AggregateID)
		}
		if _, err := fmt.Fprintf(l.to, "%s %s %d\n", e.ID, e.AggregateID, e.Sequence); err != nil {
			return err
		}
	}
	return nil
}

// Close implements message.Publisher.
func (l lines) Close() error { return l.to.Close() }
