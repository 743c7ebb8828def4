package scenarios

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/counter"
	counterdriver "github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/counter/sqlcounter"
	"github.com/millrace-go/millrace/internal/pair"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

// The primary is replaced by a replica that lacks its last 200 commits, while relays of
// both kinds of stores, a consumer of the SQL transport and a flusher of counters run.
// Everything that is in the new primary is published, handled and counted, also rows that
// take the ids and places of lost ones.
func TestScenario26Failover(t *testing.T) {
	onServersOnly(t)
	for _, db := range []string{"postgres", "mariadb", "mysql"} {
		t.Run(db, func(t *testing.T) { failover(t, db) })
	}
}

// lag is how many commits the replica lacks, and how many follow the failover.
const lag = 200

// startDrill runs everything on a new pair of servers, and returns once the consumer has
// handled a message: a table made later would be missing after a power loss, because the
// files are frozen, and a real server writes those of a new table at once.
func startDrill(t *testing.T, ctx context.Context, name string) (*pair.Pair, *drill) {
	t.Helper()
	p, err := pair.Start(ctx, name)
	if errors.Is(err, pair.ErrNoCommand) {
		servicetest.Missing(t, err.Error())
	}
	require.NoError(t, err)
	t.Cleanup(func() { check(t, "end the servers", p.Close()) })
	d := newDrill(t, ctx, p)
	d.run(ctx)
	d.until(ctx, func() string {
		for range d.handled.Range {
			return ""
		}
		return "the consumer has handled nothing yet"
	})
	return p, d
}

func failover(t *testing.T, name string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p, d := startDrill(t, ctx, name)
	d.commits(ctx, lag)
	require.NoError(t, p.Lag(ctx))
	// The rows to be lost are read, published and settled, except for those in flight.
	d.commits(ctx, lag)
	d.through(ctx, p.Primary)
	d.ends(ctx, "failover", p.Replica, p.Promote)
}

// A machine that flushes its log once a second loses power: rows, places and cursors of
// the last second are lost together, and the server starts again as the same server. The
// same promises hold.
func TestPowerLossWithRelaxedFlushing(t *testing.T) {
	onServersOnly(t)
	for _, db := range []string{"mariadb", "mysql"} {
		t.Run(db, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			p, d := startDrill(t, ctx, db)
			d.commits(ctx, lag)
			require.NoError(t, p.Freeze(ctx))
			d.commits(ctx, lag)
			d.through(ctx, p.Primary)
			d.ends(ctx, "power loss", p.Primary, p.Lose)
		})
	}
}

// ends lets the fault happen, continues to write, and judges the server at url.
func (d *drill) ends(ctx context.Context, fault, url string, strike func(context.Context) error) {
	d.t.Helper()
	before := d.state(ctx, d.pair.Primary)
	if err := strike(ctx); err != nil {
		d.t.Fatal(err)
	}
	began := time.Now()
	left := map[string]bool{}
	for _, id := range d.state(ctx, url).cursor {
		left[id] = true
	}
	lost := 0
	for _, id := range before.cursor { // by id: writers have gone on since
		if !left[id] {
			lost++
		}
	}
	if lost < lag*9/10 {
		d.t.Fatalf("after the %s %d commits are lost; the drill needs about %d", fault, lost, lag)
	}
	d.commits(ctx, lag)
	d.endWriting()
	d.until(ctx, func() string { return d.missing(d.state(ctx, url)) })
	measured(d.t, "%s: %d commits were lost by the %s; all that is there was published, handled and counted %s after it",
		d.pair.Name, lost, fault, time.Since(began).Round(100*time.Millisecond))
	d.end()
	d.inOrder(d.state(ctx, url))
}

// drill has all parts of ours that keep a position in a database.
type drill struct {
	t    *testing.T
	pair *pair.Pair
	pool *sql.DB

	stores    map[string]driver.Store
	boxes     map[string]*outbox.Outbox
	published map[string]*outboxtest.Publisher
	changes   counterdriver.SQLLog
	totals    counterdriver.SQLApplier
	count     *counter.Counter

	handled sync.Map // message id
	fresh   atomic.Int64

	writing  context.CancelFunc
	stop     context.CancelFunc
	writers  sync.WaitGroup
	work     sync.WaitGroup
	failures []error
}

const (
	drillTopic = "drill"
	drillKeys  = 10
)

// silent is a logger for expected messages of an outage.
func silent() *slog.Logger {
	if os.Getenv("MILLRACE_FAULTTEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

func newDrill(t *testing.T, ctx context.Context, p *pair.Pair) *drill {
	t.Helper()
	d := &drill{
		t: t, pair: p, stores: map[string]driver.Store{}, boxes: map[string]*outbox.Outbox{},
		published: map[string]*outboxtest.Publisher{"cursor": {}, "status": {}},
	}
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	var err error
	d.pool, err = p.Open(p.URL)
	must(err)
	t.Cleanup(func() { check(t, "close the pool", d.pool.Close()) })
	dialect := sqltx.MySQL
	migrations := []func(context.Context) error{}
	if p.Name == "postgres" {
		dialect = sqltx.Postgres
		cursor, err := pgoutbox.New(d.pool, pgoutbox.Config{})
		must(err)
		status, err := pgoutbox.New(d.pool, pgoutbox.Config{Status: true})
		must(err)
		d.stores["cursor"], d.stores["status"] = cursor, status
		migrations = append(migrations, cursor.Migrate, status.Migrate)
	} else {
		cursor, err := mysqloutbox.New(d.pool, mysqloutbox.Config{})
		must(err)
		status, err := mysqloutbox.New(d.pool, mysqloutbox.Config{Status: true})
		must(err)
		d.stores["cursor"], d.stores["status"] = cursor, status
		migrations = append(migrations, cursor.Migrate, status.Migrate)
	}
	d.changes, err = sqlcounter.NewLog(d.pool, dialect, "drill")
	must(err)
	d.totals, err = sqlcounter.New(d.pool, sqlcounter.Config{Dialect: dialect})
	must(err)
	for _, up := range append(migrations, d.changes.Migrate, d.totals.Migrate) {
		must(up(ctx))
	}
	for _, q := range []string{
		`CREATE TABLE drill_keys (k INT PRIMARY KEY, n BIGINT NOT NULL)`,
		`CREATE TABLE drill_rows (id VARCHAR(36) PRIMARY KEY)`,
	} {
		_, err := d.pool.ExecContext(ctx, q)
		must(err)
	}
	for k := range drillKeys {
		_, err := d.pool.ExecContext(ctx, fmt.Sprintf(`INSERT INTO drill_keys (k, n) VALUES (%d, 0)`, k))
		must(err)
	}
	for kind, store := range d.stores {
		d.boxes[kind], err = outbox.New(store, outbox.Config{Topic: drillTopic, Logger: silent()})
		must(err)
	}
	d.count, err = counter.New("drill", memcounter.New(), counter.Config{
		Applier: d.totals, Source: d.changes, Every: 100 * time.Millisecond, Lease: 2 * time.Second, Logger: silent(),
	})
	must(err)
	return d
}

// run starts relays, a consumer, a flusher and writers.
func (d *drill) run(ctx context.Context) {
	d.t.Helper()
	run, stop := context.WithCancel(ctx)
	d.stop = stop
	d.t.Cleanup(d.end)
	var mu sync.Mutex
	d.do(&d.work, &mu, func() error { return d.consume(run) })
	quick := outbox.Backoff{Initial: 50 * time.Millisecond, Max: time.Second}
	for kind, store := range d.stores {
		relay, err := outbox.NewRelay(store, d.published[kind], outbox.RelayConfig{LeaseTTL: 2 * time.Second, Pause: quick, Retry: quick, Logger: silent()})
		if err != nil {
			d.t.Fatal(err)
		}
		d.do(&d.work, &mu, func() error { return relay.Run(run) })
	}
	d.do(&d.work, &mu, func() error { return d.count.Run(run) })

	writing, stopWriting := context.WithCancel(run)
	d.writing = stopWriting
	for range 4 {
		d.do(&d.writers, &mu, func() error { d.write(writing); return nil })
	}
}

func (d *drill) do(group *sync.WaitGroup, mu *sync.Mutex, work func() error) {
	group.Go(func() {
		if err := work(); err != nil {
			mu.Lock()
			d.failures = append(d.failures, err)
			mu.Unlock()
		}
	})
}

func (d *drill) endWriting() {
	d.writing()
	d.writers.Wait()
}

func (d *drill) end() {
	d.endWriting()
	d.stop()
	d.work.Wait()
	for _, err := range d.failures {
		d.t.Errorf("ended with: %v", err)
	}
	d.failures = nil
}

// open opens the SQL transport through the address that stays.
func (d *drill) open(ctx context.Context) (*bus.Bus, error) {
	const held = 2 * time.Second
	return bus.Open(ctx, d.pair.URL, pgbus.Scheme(pgbus.Config{LeaseTTL: held, Logger: silent()}),
		mysqlbus.Scheme(mysqlbus.Config{LeaseTTL: held, Logger: silent()}))
}

// consume handles the messages of the transport, and publishes some.
func (d *drill) consume(ctx context.Context) (err error) {
	b, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := b.Declare(ctx, bus.Topic{Name: drillTopic, Partitions: 2, Groups: []string{"drill"}}); err != nil {
		return err
	}
	runner, err := bus.NewRunner(b, bus.RunnerConfig{Logger: silent(), DrainTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	err = runner.Add(bus.Consumer{Topic: drillTopic, Group: "drill", Handler: func(msg *message.Message) error {
		d.handled.Store(msg.UUID, true)
		return nil
	}})
	if err != nil {
		return err
	}
	var publishing sync.WaitGroup
	defer publishing.Wait()
	publishing.Go(func() {
		for tick := time.NewTicker(5 * time.Millisecond); ctx.Err() == nil; {
			e, err := outboxtest.NewEvent(fmt.Sprint("key-", rand.IntN(drillKeys)), 1)
			if err != nil {
				continue
			}
			// A failed message may or may not be in the table; the table has the expected ones.
			_ = b.Publisher().Publish(drillTopic, message.NewMessage(e.ID, []byte("{}")))
			select {
			case <-tick.C:
			case <-ctx.Done():
				tick.Stop()
			}
		}
	})
	return runner.Run(ctx)
}

// write commits, until ctx ends, a row with an event in each outbox and a change row.
func (d *drill) write(ctx context.Context) {
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		if d.commit(bounded) == nil {
			d.fresh.Add(1)
		}
		cancel()
	}
}

func (d *drill) commit(ctx context.Context) error {
	return sqltx.Do(ctx, d.pool, func(ctx context.Context, tx *sql.Tx) error {
		k := rand.IntN(drillKeys)
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(`UPDATE drill_keys SET n = n + 1 WHERE k = %d`, k)); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, fmt.Sprintf(`SELECT n FROM drill_keys WHERE k = %d`, k)).Scan(&n); err != nil {
			return err
		}
		e, err := outboxtest.NewEvent(fmt.Sprint("key-", k), n)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(`INSERT INTO drill_rows (id) VALUES ('%s')`, e.ID)); err != nil {
			return err
		}
		for _, box := range d.boxes {
			if err := box.Append(ctx, tx, e); err != nil {
				return err
			}
		}
		return d.changes.Append(ctx, tx, counter.Change{Key: "rows", N: 1})
	})
}

// commits waits until n more transactions have committed.
func (d *drill) commits(ctx context.Context, n int64) {
	d.t.Helper()
	want := d.fresh.Load() + n
	d.until(ctx, func() string {
		if have := d.fresh.Load(); have < want {
			return fmt.Sprintf("%d of %d commits", have, want)
		}
		return ""
	})
}

// until polls until nothing is missing.
func (d *drill) until(ctx context.Context, missing func() string) {
	d.t.Helper()
	limit := time.After(90 * time.Second)
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		what := missing()
		if what == "" {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			d.t.Fatalf("not within 90 s: %s", what)
		case <-ctx.Done():
			d.t.Fatalf("%s: %v", what, ctx.Err())
		}
	}
}

// state has the rows of a server, and the pending work.
type state struct {
	cursor, status, bus []string // ids in the order of their rows
	pending             int      // events of the status outbox that are not PUBLISHED
	rows, counted       int
}

func (d *drill) state(ctx context.Context, url string) (s state) {
	d.t.Helper()
	db, err := d.pair.Open(url)
	if err != nil {
		d.t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // a side connection
	list := func(query string) (ids []string) {
		rows, err := db.QueryContext(ctx, query)
		if err != nil {
			d.t.Fatalf("%s: %v", query, err)
		}
		defer rows.Close() //nolint:errcheck // Err is checked below
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				d.t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if err := rows.Err(); err != nil {
			d.t.Fatal(err)
		}
		return ids
	}
	number := func(query string) (n int) {
		if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
			d.t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	s.cursor = list(`SELECT message_id FROM outbox_messages ORDER BY id`)
	s.status = list(`SELECT id FROM outbox_events ORDER BY seq`)
	s.bus = list(`SELECT message_id FROM bus_messages ORDER BY id`)
	s.pending = number(`SELECT COUNT(*) FROM outbox_events WHERE state <> 'PUBLISHED'`)
	s.rows = number(`SELECT COUNT(*) FROM drill_rows`)
	s.counted = number(`SELECT COALESCE(SUM(total), 0) FROM count_totals`)
	return s
}

// through waits until everything that a server has now is published and handled.
func (d *drill) through(ctx context.Context, url string) {
	d.t.Helper()
	s := d.state(ctx, url)
	s.pending, s.counted = 0, s.rows // writers go on
	d.until(ctx, func() string { return d.missing(s) })
}

// missing describes the parts of a state that are not published, handled or counted.
func (d *drill) missing(s state) string {
	unpublished := func(kind string, ids []string) (n int) {
		seen := d.order(kind)
		for _, id := range ids {
			if _, ok := seen[id]; !ok {
				n++
			}
		}
		return n
	}
	cursor, status, bus := unpublished("cursor", s.cursor), unpublished("status", s.status), 0
	for _, id := range s.bus {
		if _, ok := d.handled.Load(id); !ok {
			bus++
		}
	}
	if cursor+status+s.pending+bus == 0 && s.counted == s.rows {
		return ""
	}
	return fmt.Sprintf("of %d events in the cursor outbox %d are not published, of %d in the status outbox %d (%d not marked), of %d messages %d are not handled, %d of %d rows are counted",
		len(s.cursor), cursor, len(s.status), status, s.pending, len(s.bus), bus, s.counted, s.rows)
}

// order is when each event was published first.
func (d *drill) order(kind string) map[string]int {
	seen := map[string]int{}
	for i, p := range d.published[kind].Published() {
		if _, ok := seen[p.Event.ID]; !ok {
			seen[p.Event.ID] = i
		}
	}
	return seen
}

// inOrder checks that the events of a state were first published in the order of
// their rows, key by key.
func (d *drill) inOrder(s state) {
	d.t.Helper()
	keys := map[string]string{}
	for _, p := range slices.Concat(d.published["cursor"].Published(), d.published["status"].Published()) {
		keys[p.Event.ID] = p.Event.AggregateID
	}
	for kind, ids := range map[string][]string{"cursor": s.cursor, "status": s.status} {
		at, last := d.order(kind), map[string]int{}
		for _, id := range ids {
			if at[id] < last[keys[id]] {
				d.t.Errorf("%s outbox: event %s of %s was first published before an earlier one", kind, id, keys[id])
			}
			last[keys[id]] = max(last[keys[id]], at[id])
		}
	}
}
