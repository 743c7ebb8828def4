package scenarios

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
	"github.com/millrace-go/millrace/internal/pgdb"
)

// mirror is an office on servers whose artists are looked at: the upstream counts
// every window of a second and is the judge.
type mirror struct {
	*office
	rows  *sql.DB
	kafka *bus.Bus
	locks *coalesce.Coalescer // the office's own: this test is one more of its processes
}

// openMirror starts one. latency is the upstream's.
func openMirror(t *testing.T, latency time.Duration, p officePlan) *mirror {
	t.Helper()
	if p.processes == nil {
		p.processes = apart()
	}
	p.upstream = []string{"--body-bytes", "3000", "--latency", latency.String()}
	m := &mirror{office: openOffice(t, p)}
	var err error
	if m.rows, err = pgdb.Open(m.db); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, "close the pool", m.rows.Close()) })
	if m.kafka, err = bus.Open(t.Context(), m.bus+"?lag=all", kafkabus.Scheme(kafkabus.Config{Logger: quiet})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, "close the bus", m.kafka.Close()) })
	locks, err := rediscoalesce.New(openRedis(t, m.redis), rediscoalesce.Config{Prefix: m.prefix + "upd:"})
	require.NoError(t, err)
	if m.locks, err = coalesce.New(locks, coalesce.Config{Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	return m
}

// behind is how many requests of a topic are not acknowledged.
func (m *mirror) behind(topic string) int {
	m.t.Helper()
	return lagOf(m.t.(*testing.T), m.kafka, topic)
}

// ask asks for a refresh as prefetch does, or as a reader's process does.
func (m *mirror) ask(id string, p event.Priority) error {
	topic, reason := artist.TopicLow, artist.Prefetched
	if p == event.High {
		topic, reason = artist.TopicHigh, artist.TooOld
	}
	_, err := m.locks.Do(m.t.Context(), id, coalesce.Priority(p), func(ctx context.Context, version int64) error {
		e, err := event.New(artist.UpdateRequest, events.Source, artist.Request{
			SchemaVersion: "1.1", CharacterID: id, OCID: id, Priority: p, Reason: reason, RequestedAt: time.Now().UTC(), Version: version,
		})
		if err != nil {
			return err
		}
		e.AggregateType, e.AggregateID, e.Priority, e.Sequence = "artist", id, p, uint64(version)
		msg, err := event.Structured{}.Encode(e)
		if err != nil {
			return err
		}
		return m.kafka.Publisher().Publish(topic, msg)
	})
	return err
}

// asks asks for n artists from an id on, as fast as possible.
func (m *mirror) asks(from, n int, p event.Priority) {
	m.t.Helper()
	ids := make(chan string)
	var askers sync.WaitGroup
	for range 64 {
		askers.Go(func() {
			for id := range ids {
				check(m.t, "ask for "+id, m.ask(id, p))
			}
		})
	}
	for i := range n {
		ids <- strconv.Itoa(from + i)
	}
	close(ids)
	askers.Wait()
}

// paced calls do perSecond times a second, for a time, each in a goroutine of its own.
func paced(perSecond int, span time.Duration, do func(i int)) {
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	var all sync.WaitGroup
	defer all.Wait()
	for i := range int(span * time.Duration(perSecond) / time.Second) {
		<-tick.C
		all.Go(func() { do(i) })
	}
}

// get reads an artist from one of the APIs.
func (m *mirror) get(base, id string) (v artist.View, err error) {
	return v, m.json(http.MethodGet, base+"/api/artists/"+id, "", nil, &v)
}

// must reads an artist that is answered.
func (m *mirror) must(id string) artist.View {
	m.t.Helper()
	v, err := m.get(m.apis()[0], id)
	if err != nil {
		m.t.Fatal(err)
	}
	return v
}

// fresh waits until an artist is.
func (m *mirror) fresh(id string) time.Duration {
	m.t.Helper()
	return eventually(m.t, "artist "+id+" is fresh", func() bool { return m.must(id).Freshness == artist.Fresh })
}

// reads reads artists, one id after the other, perSecond a second, for a time, from the
// APIs in turn, and returns the p95.
func (m *mirror) reads(from, perSecond int, span time.Duration, bases ...string) time.Duration {
	m.t.Helper()
	return m.readsAmong(from, int(span/time.Second)*perSecond, perSecond, span, bases...)
}

// readsAmong reads n artists repeatedly.
func (m *mirror) readsAmong(from, n, perSecond int, span time.Duration, bases ...string) time.Duration {
	m.t.Helper()
	var mu sync.Mutex
	var took []time.Duration
	paced(perSecond, span, func(i int) {
		began := time.Now()
		_, err := m.get(bases[i%len(bases)], strconv.Itoa(from+i%n))
		check(m.t, "read", err)
		mu.Lock()
		took = append(took, time.Since(began))
		mu.Unlock()
	})
	return p95(took)
}

// readsWithin judges the median round. Where reads without any load are beyond the
// bound, the machine is too busy to show it, and they are judged by those.
func readsWithin(t *testing.T, r round, bound time.Duration) {
	t.Helper()
	if r.judged >= bound && (r.control < bound || r.ratio() > unchanged) {
		t.Errorf("p95 of reads is %v, want less than %v; without load it is %v", r.judged, bound, r.control)
	}
	measured(t, "reads p95 %v, without load %v", r.judged.Round(100*time.Microsecond), r.control.Round(100*time.Microsecond))
}

// done waits until no artist is left to be fetched.
func (m *mirror) done() time.Duration {
	m.t.Helper()
	return eventually(m.t, "all is fetched", func() bool { return m.behind(artist.TopicHigh)+m.behind(artist.TopicLow) == 0 })
}

// kept fails when the upstream's limit did not hold or a refresh became a dead letter.
func (m *mirror) kept() upstream.Stats {
	m.t.Helper()
	s := m.upstreamStats()
	if s.Violations != 0 || s.Bans != 0 || s.Worst.Calls > hardLimit {
		m.t.Errorf("the upstream saw %d violations and %d bans, and %d calls in its worst second", s.Violations, s.Bans, s.Worst.Calls)
	}
	if letters, err := m.kafka.Browse(m.t.Context(), artist.DeadLetters, 10); err != nil || len(letters) != 0 {
		m.t.Errorf("%d dead letters, %v", len(letters), err)
	}
	return s
}

// query returns the one value that a query finds, as text.
func (m *mirror) query(query string, args ...any) string {
	m.t.Helper()
	var v sql.NullString
	if err := m.rows.QueryRowContext(m.t.Context(), query, args...).Scan(&v); err != nil {
		m.t.Fatalf("%s: %v", query, err)
	}
	return v.String
}

// age makes an artist's last check a thing of the past.
func (m *mirror) age(id string, by time.Duration) {
	m.t.Helper()
	m.query(`UPDATE artists SET last_checked_at = last_checked_at - $2, last_updated_at = last_updated_at - $2 WHERE artist_id = $1 RETURNING artist_id`, id, by.Milliseconds())
}

// elsewhere is the share of the processors that other programs use, measured before
// there is an office; 0 without /proc. A miss on a busy machine reports it.
func elsewhere(t *testing.T) float64 {
	t.Helper()
	busy := func() (at, all float64, ok bool) {
		text, err := os.ReadFile("/proc/stat")
		if err != nil {
			return 0, 0, false
		}
		first, _, _ := bytes.Cut(text, []byte("\n"))
		for i, field := range strings.Fields(string(first))[1:] {
			n, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return 0, 0, false
			}
			if all += n; i != 3 && i != 4 { // idle, and waiting for disks
				at += n
			}
		}
		return at, all, true
	}
	at, all, ok := busy()
	if !ok {
		return 0
	}
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	<-timer.C
	atNow, allNow, _ := busy()
	return (atNow - at) / max(allNow-all, 1)
}

// used is how much of a rate processes have to use, on a machine that is idle: the
// burst is some 30 ms of the rate, and a worker that has to wait longer for a processor
// loses tokens. That all of it can be used is exact in virtual time.
const used = 0.9

// share judges how much of a rate was used: at least the part atLeast of want. others
// is the result of elsewhere.
func share(t *testing.T, what string, rates []float64, want, atLeast, others float64) {
	t.Helper()
	slices.Sort(rates)
	median := rates[len(rates)/2]
	if median < atLeast*want {
		t.Errorf("%s: %.1f/s, want at least %.0f/s; %.0f %% of the processors did something else before the office started: "+
			"when that is much, free the machine and run it again", what, median, atLeast*want, 100*others)
	}
	measured(t, "%s: %.1f/s of %.0f/s (rounds %s)", what, median, want, fmt.Sprintf("%.0f", rates))
}
