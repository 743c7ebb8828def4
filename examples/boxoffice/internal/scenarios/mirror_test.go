package scenarios

import (
	"database/sql"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
)

// A lock holds the database for ten seconds. The breaker opens, so that few calls are spent on
// results that cannot be written; no request is acknowledged or dropped; readers wait for nothing;
// and afterwards all is done by itself.
func TestScenario05SlowDatabase(t *testing.T) {
	columns(t, slowDatabaseInABubble, slowDatabaseOnServers)
}

func slowDatabaseInABubble(t *testing.T) {
	const artists = 20
	s := setup{worker: artist.WorkerConfig{
		// One batch at a time, whose failed writes open the breaker though the reads between them
		// succeed.
		HighBatch: 5, HighBatches: 1, WriteTimeout: 500 * time.Millisecond, BreakerOpen: 2 * time.Second,
	}}
	bubble(t, s, func(t *testing.T, w *town) {
		for i := range artists {
			w.get(t, strconv.Itoa(i+1))
		}
		eventually(t, "all are asked for, and noted", func() bool {
			return w.behind(t, artist.TopicHigh) == artists && w.box.Query(t, `SELECT COUNT(*) FROM artists`) == strconv.Itoa(artists)
		})
		tx, err := w.box.Store.DB().BeginTx(t.Context(), &sql.TxOptions{})
		require.NoError(t, err)
		r := w.works(t)
		opened, paused := false, false
		reads := &waits{}
		for range 100 { // 10 s
			time.Sleep(100 * time.Millisecond)
			opened = opened || w.breaker(t) == 2
			paused = paused || r.Status()[0].Paused
			reads.get(t, w.mirror, "7")
			if n := w.behind(t, artist.TopicHigh); n != artists {
				t.Fatalf("%d of %d are unacknowledged while nothing can be written", n, artists)
			}
		}
		if !opened || !paused {
			t.Errorf("the breaker opened: %v, the consumer paused: %v; want both", opened, paused)
		}
		if n := w.api.Stats(0).Calls; n == 0 || n > 6*5 {
			t.Errorf("%d calls of the upstream in ten seconds for nothing, want a few batches of 5", n)
		}
		reads.atOnce(t, 50*time.Millisecond)
		check(t, "let the database go", tx.Rollback())
		// At most one pause of 30 s and one opening of the breaker are in the way.
		took := eventually(t, "all is done", func() bool { return w.behind(t, artist.TopicHigh) == 0 })
		t.Logf("all was done %v after the database was back", took)
		for i := range artists {
			if v := w.get(t, strconv.Itoa(i+1)); v.Freshness != artist.Fresh {
				t.Errorf("artist %d is %s", i+1, v.Freshness)
			}
		}
		assert.EqualValues(t, 0, w.breaker(t), "the breaker did not close")
		// High keeps its target again.
		w.get(t, "100")
		if took := eventually(t, "the next artist is there", func() bool { return w.get(t, "100").Freshness == artist.Fresh }); took > 3*time.Second {
			t.Errorf("the next artist took %v, the target is 3 s", took)
		}
		w.kept(t)
	})
}

// An unchanged artist is checked and not written, and its age is that of the check: it is asked for
// once, and not repeatedly.
func TestScenario06UnchangedData(t *testing.T) { columns(t, unchangedInABubble, unchangedOnServers) }

func unchangedInABubble(t *testing.T) {
	bubble(t, setup{}, func(t *testing.T, w *town) {
		w.works(t)
		w.get(t, "7")
		fresh := func() bool { return w.get(t, "7").Freshness == artist.Fresh }
		eventually(t, "it is there", fresh)
		w.age(t, "7", 2*time.Hour)
		before := map[string]string{}
		columns := []string{"last_updated_at", "content_hash", "name", "level", "source_updated_at"}
		for _, c := range columns {
			before[c] = w.row(t, c, "7")
		}
		checked := w.row(t, "last_checked_at", "7")
		time.Sleep(time.Minute) // of the bubble: the mirror forgets that it has just asked
		if v := w.get(t, "7"); v.Freshness != artist.Stale || !v.UpdateQueued {
			t.Fatalf("after two hours: %+v", v)
		}
		eventually(t, "it was checked", fresh)
		eventually(t, "it was counted", func() bool { return w.mirror.Stats().Unchanged > 0 })
		for _, c := range columns {
			if now := w.row(t, c, "7"); now != before[c] {
				t.Errorf("%s went from %s to %s, and nothing has changed", c, before[c], now)
			}
		}
		if now := w.row(t, "last_checked_at", "7"); now <= checked {
			t.Errorf("last_checked_at went from %s to %s", checked, now)
		}
		if s := w.mirror.Stats(); s.Unchanged != 1 || s.Changed != 1 {
			t.Errorf("%d unchanged and %d changed, want one each", s.Unchanged, s.Changed)
		}
		for range 60 { // a minute of reads
			time.Sleep(time.Second)
			if v := w.get(t, "7"); v.Freshness != artist.Fresh || v.UpdateQueued {
				t.Fatalf("it is asked for again: %+v", v)
			}
		}
		synctest.Wait()
		assert.EqualValues(t, 2, w.kept(t).Calls, "calls of the upstream")
	})
}

// A low refresh waits in its queue when a reader comes: the high one runs at once, and the low one
// is skipped when its turn comes.
func TestScenario07PriorityInversion(t *testing.T) {
	columns(t, inversionInABubble, inversionOnServers)
}

func inversionInABubble(t *testing.T) {
	bubble(t, setup{}, func(t *testing.T, w *town) {
		w.due(t, 7, 1)
		w.prefetches(t, 100)
		eventually(t, "low waits", func() bool { return w.behind(t, artist.TopicLow) == 1 })
		w.get(t, "7")
		eventually(t, "high took over", func() bool { return w.behind(t, artist.TopicHigh) == 1 })
		if s := w.coalescer.Stats(); s.Published != 1 || s.Upgraded != 1 {
			t.Errorf("%+v", s)
		}
		current, err := w.coalescer.Sequence(t.Context(), "7")
		if err != nil || current == 0 {
			t.Fatal(current, err)
		}
		r := w.works(t)
		eventually(t, "both are acknowledged", func() bool {
			return w.behind(t, artist.TopicHigh)+w.behind(t, artist.TopicLow) == 0
		})
		st := r.Status()
		if st[0].Handled != 1 || st[1].Handled != 0 || st[1].Obsolete != 1 || w.mirror.Stats().Obsolete != 1 {
			t.Errorf("high %+v, low %+v", st[0], st[1])
		}
		s := w.kept(t)
		if s.Classes["high"].Calls != 1 || s.Classes["low"].Calls != 0 {
			t.Errorf("calls: %+v", s.Classes)
		}
		if v := w.row(t, "version", "7"); v != strconv.FormatUint(current, 10) {
			t.Errorf("the row has version %s, want that of high, %d", v, current)
		}
		// The run is over: the next one may begin.
		if d, err := w.coalescer.Request(t.Context(), "7", coalesce.Low); err != nil || d.Outcome != coalesce.Published {
			t.Errorf("the next request: %v, %v", d.Outcome, err)
		}
	})
}

// slowly is a broker that takes a second for everything.
type slowly struct {
	message.Publisher
	published atomic.Int64
}

func (s *slowly) Publish(topic string, all ...*message.Message) error {
	time.Sleep(time.Second)
	defer s.published.Add(int64(len(all)))
	return s.Publisher.Publish(topic, all...)
}

// While each publish takes a second, reads take as long as the database: reads of known artists,
// and of unknown ones.
func TestScenario09SlowBroker(t *testing.T) { columns(t, slowBrokerInABubble, slowBrokerOnServers) }

func slowBrokerInABubble(t *testing.T) {
	var broker *slowly
	bubble(t, setup{publisher: func(p message.Publisher) message.Publisher {
		broker = &slowly{Publisher: p}
		return broker
	}}, func(t *testing.T, w *town) {
		w.works(t)
		w.get(t, "1")
		eventually(t, "it is there", func() bool { return w.get(t, "1").Freshness == artist.Fresh })
		w.age(t, "1", 2*time.Hour)
		time.Sleep(time.Minute) // of the bubble: the mirror forgets that it has just asked
		before := broker.published.Load()
		reads := &waits{}
		var readers sync.WaitGroup
		for i := range 200 {
			readers.Go(func() { reads.get(t, w.mirror, strconv.Itoa(1+i%50)) })
		}
		readers.Wait()
		assert.EqualValues(t, 0, broker.published.Load()-before, "events had been published when the reads were answered")
		if v := w.get(t, "1"); v.Freshness != artist.Stale || v.Snapshot == nil {
			t.Errorf("what is there is served meanwhile: %s", v.Freshness)
		}
		reads.atOnce(t, 100*time.Millisecond)
		eventually(t, "all were published and fetched", func() bool {
			return broker.published.Load()-before == 50 && w.behind(t, artist.TopicHigh) == 0
		})
		w.kept(t)
	})
}
