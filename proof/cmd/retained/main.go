// Command retained fills an outbox with millions of rows that were published and
// are kept, and a backlog of millions more, lets a transaction commit that began
// before all of them, and then runs a relay with its pruning and its statistics. It
// prints the times of each statement, and exits with 1 when an event was lost,
// doubled or published out of its key's order, or when a statement was slow.
//
//	go run ./proof/cmd/retained [-rows 20000000] [-backlog 4000000] postgres mysql
//
// It needs the servers at MILLRACE_POSTGRES_URL and MILLRACE_MYSQL_URL, whose user
// may make databases and read statistics; `make retained` sets them. 20 million
// rows take some 12 GB of disk, on MySQL 45 with its binary log.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/proof/together"
)

// slow is the limit for a statement of the relay while its data are in memory.
const slow = 100 * time.Millisecond

// late is how many events the transaction appends that commits after all others.
const late = 500

func main() {
	flags := flag.NewFlagSet("retained", flag.ContinueOnError)
	rows := flags.Int("rows", 20_000_000, "events that were published and are kept")
	backlog := flags.Int("backlog", 4_000_000, "events that wait")
	os.Exit(command.Run(flags, os.Args[1:], func(ctx context.Context) error {
		names := flags.Args()
		if len(names) == 0 {
			names = []string{"postgres", "mysql"}
		}
		var checks []judge.Check
		for _, name := range names {
			d, err := open(ctx, name)
			if err == nil {
				var some []judge.Check
				some, err = run(ctx, d, *rows, *backlog)
				checks = append(checks, some...)
				err = errors.Join(err, d.close(context.WithoutCancel(ctx)))
			}
			if err != nil {
				checks = append(checks, judge.Control(name+": the run came to its end", false, "%v", err))
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return judge.Conclude(screen.New(os.Stdout, true), checks)
	}))
}

// database is one under test.
type database struct {
	title string
	db    *sql.DB
	store driver.SQLStore
	close func(ctx context.Context) error
	// copies appends count copies of the row of an id; the n-th has the key n % 1000
	// and n behind its message id.
	copies func(ctx context.Context, id int64, from, count int) error
	// forget resets the server's statistics of statements, and spent returns them.
	forget func(ctx context.Context) error
	spent  func(ctx context.Context) ([]statement, error)
}

// statement is the server's record of one statement.
type statement struct {
	text      string
	calls     int
	mean, max time.Duration
	read      float64 // buffers or rows per call
}

func run(ctx context.Context, d *database, rows, backlog int) ([]judge.Check, error) {
	if err := d.store.Migrate(ctx); err != nil {
		return nil, err
	}
	seen := &counter{seen: make([]uint64, (rows+backlog)/64+1), last: make([]int, keys)}
	box, err := outbox.New(d.store, outbox.Config{Topic: "events"})
	if err != nil {
		return nil, err
	}
	defer box.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the run is over
	origin, err := appendOne(ctx, d.db, box)
	if err != nil {
		return nil, err
	}
	held, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer held.Rollback() //nolint:errcheck // committed below
	for i := range late {
		e, err := event.New("Late", "/retained", i)
		if err != nil {
			return nil, err
		}
		e.AggregateID = "late"
		if err := box.Append(ctx, held, e); err != nil {
			return nil, err
		}
	}

	start := time.Now()
	stop := relay(d.store, seen, -1)
	err = errors.Join(fill(ctx, d, origin, 0, rows, "retained"), seen.wait(ctx, rows, 1))
	if err = errors.Join(err, stop()); err != nil {
		return nil, err
	}
	fmt.Printf("%s: %d events appended and published in %s beside the open transaction\n", d.title, rows, time.Since(start).Round(time.Second))
	if err := fill(ctx, d, origin, rows, backlog, "backlog"); err != nil {
		return nil, err
	}
	if err := held.Commit(); err != nil {
		return nil, err
	}
	if err := d.forget(ctx); err != nil {
		return nil, err
	}
	start = time.Now()
	stop = relay(d.store, seen, time.Second)
	looked := together.Background(ctx, func(ctx context.Context) error { return look(ctx, d.store) })
	err = seen.wait(ctx, rows+backlog, 1+late)
	took := time.Since(start)
	if err = errors.Join(err, looked(), stop()); err != nil {
		return nil, err
	}
	all, err := d.spent(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Printf("%s: a backlog of %d and %d rows of the late transaction published in %s, %.0f a second\n\n",
		d.title, backlog, late, took.Round(100*time.Millisecond), float64(backlog)/took.Seconds())
	return append(seen.judge(d.title, rows+backlog), fast(d.title, all)), print(all)
}

// appendOne appends the event whose row is copied.
func appendOne(ctx context.Context, db *sql.DB, box *outbox.Outbox) (id int64, err error) {
	e, err := event.New("SeatHeld", "/retained", map[string]any{"seat": "A1", "schedule": 42, "note": strings.Repeat("x", 100)})
	if err != nil {
		return 0, err
	}
	e.AggregateID = "origin"
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(box.Append(ctx, tx, e), tx.Commit()); err != nil {
		return 0, err
	}
	return id, db.QueryRowContext(ctx, `SELECT min(id) FROM outbox_messages`).Scan(&id)
}

// fill appends in transactions of 20,000.
func fill(ctx context.Context, d *database, origin int64, from, count int, what string) error {
	const at = 20_000
	told := time.Now()
	for n := 0; n < count; n += at {
		if err := d.copies(ctx, origin, from+n, min(at, count-n)); err != nil {
			return err
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Printf("%s: %d of %d rows of the %s\n", d.title, n+at, count, what)
		}
	}
	return nil
}

// relay publishes until the returned function is called.
func relay(s driver.SQLStore, to *counter, retention time.Duration) (stop func() error) {
	return together.Background(context.Background(), func(ctx context.Context) error {
		r, err := outbox.NewRelay(s, to, outbox.RelayConfig{Retention: retention})
		if err != nil {
			return err
		}
		return r.Run(ctx)
	})
}

// look asks for the statistics as a monitor does.
func look(ctx context.Context, s driver.SQLStore) error {
	for {
		if _, err := s.Stats(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		if backoff.Sleep(ctx, 5*time.Second) != nil {
			return nil
		}
	}
}

const keys = 1000

// counter takes messages and counts them by the number behind their ids.
type counter struct {
	mu                           sync.Mutex
	seen                         []uint64
	last                         []int // per key
	n, others, doubled, inverted int
}

func (c *counter) Publish(_ string, messages ...*message.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range messages {
		_, number, ok := strings.Cut(m.UUID, "#")
		if !ok {
			c.others++ // of the late transaction, or the row that was copied
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		if c.seen[n/64]&(1<<(n%64)) != 0 {
			c.doubled++
			continue
		}
		c.seen[n/64] |= 1 << (n % 64)
		if n < c.last[n%keys] {
			c.inverted++
		}
		c.last[n%keys] = n
		c.n++
	}
	return nil
}

func (*counter) Close() error { return nil }

// wait returns when so many copies, and so many others, were published. A minute
// without a publication is an error.
func (c *counter) wait(ctx context.Context, want, wantOthers int) error {
	before, since := -1, time.Now()
	for tick := time.Tick(20 * time.Millisecond); ; {
		c.mu.Lock()
		n, others := c.n, c.others
		c.mu.Unlock()
		if n >= want && others >= wantOthers {
			return nil
		}
		if n+others != before {
			before, since = n+others, time.Now()
		}
		if time.Since(since) > time.Minute {
			return fmt.Errorf("nothing was published for a minute; %d of %d are", n, want)
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *counter) judge(title string, want int) []judge.Check {
	return []judge.Check{
		judge.That(title+": each event is published once and in order", c.n == want && c.doubled+c.inverted == 0,
			"lost %d, doubled %d, out of order %d", want-c.n, c.doubled, c.inverted),
		judge.That(title+": the late transaction is published", c.others == late+1, "%d of %d", c.others-1, late),
	}
}

// print writes the table.
func print(all []statement) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "calls\tmean ms\tmax ms\tread per call\tstatement")
	for _, s := range all {
		fmt.Fprintf(w, "%d\t%.2f\t%.1f\t%.0f\t%s\n", s.calls, float64(s.mean)/1e6, float64(s.max)/1e6, s.read, s.text)
	}
	return w.Flush()
}

// fast finds the slowest statement.
func fast(title string, all []statement) judge.Check {
	if len(all) == 0 {
		return judge.Control(title+": the server tells the times of statements", false, "it has none")
	}
	worst := slices.MaxFunc(all, func(a, b statement) int { return cmp.Compare(a.max, b.max) })
	return judge.That(title+": no statement is slow", worst.max <= slow, "the slowest took %s, at most %s: %s", worst.max.Round(time.Millisecond), slow, worst.text)
}
