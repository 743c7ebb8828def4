package scenarios

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/app"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
)

func id(n int) string { return strconv.Itoa(n) }

// workersStop stops the workers, so that the requests stay to be counted.
func (m *mirror) workersStop() { m.t.Helper(); m.stop(m.called("worker")...) }
func (m *mirror) workersStart() {
	m.t.Helper()
	for _, name := range m.called("worker") {
		m.start(name)
	}
}

// herdOnServers: a thousand members read one unknown artist at once.
func herdOnServers(t *testing.T) {
	m := openMirror(t, 50*time.Millisecond, officePlan{})
	m.workersStop()
	m.crowdAsks("7", 1000)
	assert.Equal(t, 1, m.behind(artist.TopicHigh), "events for one artist")
	m.workersStart()
	m.done() // no reads meanwhile: on a slow machine the lock may be over
	assert.Equal(t, artist.Fresh, m.must("7").Freshness, "the artist")
	assert.EqualValues(t, 1, m.kept().Calls, "calls of the upstream")
	measured(t, "1000 concurrent requests through %d processes: 1 event, 1 call", len(m.apis()))
}

// crowdAsks makes n read an artist at once, from all processes, and waits until each
// process has its answer of the coalescer.
func (m *mirror) crowdAsks(artistID string, n int) {
	m.t.Helper()
	names := m.called("api")
	answered := func() float64 {
		return m.metric(`artist_ask_total{result="asked"}`, names...) + m.metric(`artist_ask_total{result="refused"}`, names...)
	}
	before := answered()
	urls := m.apis()
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-begin
			_, err := m.get(urls[i%len(urls)], artistID)
			check(m.t, "read", err)
		})
	}
	close(begin)
	all.Wait()
	eventually(m.t, "all have their answer", func() bool {
		return m.metric("artist_ask_waiting", names...) == 0 && answered()-before >= float64(len(names))
	})
}

// tenOnServers asks ten processes for one artist at once, repeatedly.
func tenOnServers(t *testing.T) {
	p := officePlan{processes: [][2]string{{"relay", "relay"}}}
	for n := range 10 {
		p.processes = append(p.processes, [2]string{fmt.Sprint("api ", n+1), "api"})
	}
	m := openMirror(t, 0, p)
	const often = 10
	for n := range often {
		m.crowdAsks(id(n+1), 10)
		if got := m.behind(artist.TopicHigh); got != n+1 {
			t.Fatalf("round %d: %d events, want %d", n+1, got, n+1)
		}
	}
	measured(t, "%d rounds of ten processes: %d events", often, m.behind(artist.TopicHigh))
}

// chaosOnServers kills one of two workers in the middle of its fetches.
func chaosOnServers(t *testing.T) {
	const asked = 300
	m := openMirror(t, time.Second, officePlan{})
	for i := range asked {
		m.must(id(i + 1))
	}
	eventually(t, "the workers are at it", func() bool { return m.upstreamStats().Calls > 20 })
	left := m.behind(artist.TopicHigh)
	m.kill("worker 1")
	began := time.Now()
	if left == 0 {
		t.Fatal("all was done before the worker was killed")
	}
	m.done()
	took := time.Since(began)
	for i := range asked {
		if v := m.must(id(i + 1)); v.Freshness != artist.Fresh {
			t.Errorf("artist %d is %s", i+1, v.Freshness)
		}
	}
	m.kept()
	m.start("worker 1")
	measured(t, "%d of %d were unacknowledged when one of two workers was killed; the other had done all %v later", left, asked, took.Round(100*time.Millisecond))
}

// unchangedOnServers looks at the row of an artist that has not changed.
func unchangedOnServers(t *testing.T) {
	m := openMirror(t, 20*time.Millisecond, officePlan{})
	m.must("7")
	m.fresh("7")
	m.done()
	m.age("7", 2*time.Hour)
	row := `SELECT concat_ws('|', last_updated_at, content_hash, name, level, source_updated_at) FROM artists WHERE artist_id = '7'`
	checkedAt := `SELECT last_checked_at FROM artists WHERE artist_id = '7'`
	before, checked := m.query(row), m.query(checkedAt)
	eventually(t, "its age is told, and a refresh is queued", func() bool { // a process remembers for a while that it has asked
		v := m.must("7")
		return v.UpdateQueued || v.Freshness == artist.Fresh
	})
	m.fresh("7")
	m.done()
	if now := m.query(row); now != before {
		t.Errorf("the row went from %s to %s, and nothing has changed", before, now)
	}
	if now := m.query(checkedAt); now <= checked {
		t.Errorf("last_checked_at went from %s to %s", checked, now)
	}
	paced(50, 6*time.Second, func(int) { // longer than a process remembers that it has asked
		if v := m.must("7"); v.Freshness != artist.Fresh || v.UpdateQueued {
			t.Errorf("it is asked for again: %+v", v)
		}
	})
	m.done()
	s := m.kept()
	assert.EqualValues(t, 2, s.Calls, "calls of the upstream")
	measured(t, "%d calls; only last_checked_at differs", s.Calls)
}

// inversionOnServers reads an artist while its low refresh waits in its queue.
func inversionOnServers(t *testing.T) {
	m := openMirror(t, 20*time.Millisecond, officePlan{})
	m.workersStop()
	check(t, "ask", m.ask("7", event.Low))
	m.must("7")
	eventually(t, "high took over", func() bool { return m.behind(artist.TopicHigh) == 1 && m.behind(artist.TopicLow) == 1 })
	current, err := m.locks.Sequence(t.Context(), "7")
	if err != nil || current == 0 {
		t.Fatal(current, err)
	}
	m.workersStart()
	m.done()
	m.fresh("7")
	s := m.kept()
	if s.Classes["high"].Calls != 1 || s.Classes["low"].Calls != 0 {
		t.Errorf("calls: %+v", s.Classes)
	}
	if n := m.metric("obsolete_event_skipped_total", m.called("worker")...); n != 1 {
		t.Errorf("%.0f events were skipped as obsolete, want that of low", n)
	}
	if v := m.query(`SELECT version FROM artists WHERE artist_id = '7'`); v != strconv.FormatUint(current, 10) {
		t.Errorf("the row has version %s, want that of high, %d", v, current)
	}
	measured(t, "1 call of high, none of low, 1 event skipped as obsolete")
}

// slowedBroker is slow while it is told to be.
type slowedBroker struct {
	message.Publisher
	by atomic.Int64 // nanoseconds
}

// Publish implements message.Publisher.
func (s *slowedBroker) Publish(topic string, all ...*message.Message) error {
	if d := time.Duration(s.by.Load()); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		<-timer.C
	}
	return s.Publisher.Publish(topic, all...)
}

// slowBrokerOnServers reads through a process of the API for which each publish takes
// a second. Brokers announce their own addresses, so a proxy is not possible.
func slowBrokerOnServers(t *testing.T) {
	m := openMirror(t, 20*time.Millisecond, officePlan{})
	broker := &slowedBroker{}
	api := m.runApp("api", app.Options{WrapArtists: func(next message.Publisher) message.Publisher {
		broker.Publisher = next
		return broker
	}})
	const span, perSecond = 3 * time.Second, 100
	next := 1
	read := func(slow time.Duration) time.Duration {
		broker.by.Store(int64(slow))
		p := m.reads(next, perSecond, span, api.URL())
		next += int(span/time.Second) * perSecond
		return p
	}
	read(0)
	r := rounds(t, func() time.Duration { return read(0) }, func() time.Duration { return read(time.Second) })
	readsWithin(t, r, 100*time.Millisecond)
	broker.by.Store(0)
	m.fresh(id(next - 1)) // requests of the slow time are done
	m.kept()
	if res, err := m.http.Get(api.URL() + "/readyz"); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("ready: %v, %v", res, err)
	} else {
		check(t, "close the answer", res.Body.Close())
	}
}
