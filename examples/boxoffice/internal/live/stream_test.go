package live

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/metrics/promtest"
	"github.com/millrace-go/millrace/sse"
)

// inbox has the stored events of all members; its ids are numbers.
type inbox struct {
	mu   sync.Mutex
	last int
}

// Replay implements Replayer.
func (i *inbox) Replay(_ context.Context, _ string, since sse.Cursors) (all sse.Missed, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	from := 0
	if seen := since["notification"]; seen != "" {
		if from, err = strconv.Atoi(seen); err != nil {
			return all, err
		}
	}
	for id := from + 1; id <= i.last; id++ {
		all.Events = append(all.Events, notice(strconv.Itoa(id)))
	}
	return all, nil
}

// store stores the next, and returns its id.
func (i *inbox) store() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last++
	return strconv.Itoa(i.last)
}

// greeting is replayed to every stream that opens: the later events are live.
type greeting struct{}

// Replay implements Replayer.
func (greeting) Replay(context.Context, string, sse.Cursors) (sse.Missed, error) {
	return sse.Missed{Events: []sse.Event{{Name: "hello", Data: []byte("hello")}}}, nil
}

var greeted = Config{Replayers: []Replayer{greeting{}}}

// TestAfterACut: a tab whose connection breaks comes back to its address, while
// events are sent, and has each notification once and in order.
func TestAfterACut(t *testing.T) {
	both(t, func(t *testing.T, streams sse.Config) {
		stored := &inbox{}
		o := open(t, inMemory(t), Config{Streams: streams, Replayers: []Replayer{stored}})
		page := o.tab(browser(t), "ann")
		const all, each = 60, 4
		var sender sync.WaitGroup
		read := make(chan struct{})
		sender.Go(func() {
			for range all / each {
				for range each {
					o.send("ann", stored.store())
				}
				select { // goes on while the page comes back
				case <-read:
				case <-t.Context().Done():
					return
				}
			}
		})
		for got := 0; got < all; {
			s := page.opens()
			for range each {
				got++
				s.gets(strconv.Itoa(got))
			}
			if got < all {
				read <- struct{}{}
			}
			s.leave()
		}
		close(read)
		sender.Wait()
		if st := o.Hub().Stats(); st.Evictions != 0 || st.Victims != 0 {
			t.Errorf("the tab was taken for several: %+v", st)
		}
	})
}

// TestTheFourthTab: three streams, and the oldest is evicted.
func TestTheFourthTab(t *testing.T) {
	both(t, func(t *testing.T, streams sse.Config) {
		cfg := greeted
		cfg.Streams = streams
		o := open(t, inMemory(t), cfg)
		ours := browser(t)
		var tabs []*tab
		var open []*stream
		for range 3 {
			page := o.tab(ours, "ann")
			s := page.opens()
			s.gets("hello")
			tabs, open = append(tabs, page), append(open, s)
		}
		fourth := o.tab(ours, "ann").opens()
		fourth.gets("hello")
		open[0].ends("evicted")
		for range 2 { // it stays away, however often it asks
			require.Equal(t, http.StatusNoContent, tabs[0].open().status, "the evicted tab is answered")
		}
		o.send("ann", "1")
		for _, s := range append(open[1:], fourth) {
			s.gets("1")
		}
		// A tab that opens the page again has a new ticket, and a stream.
		o.tab(ours, "ann").opens().gets("hello")
		open[1].ends("evicted")
		// Another member has a limit of her own.
		o.tab(browser(t), "bea").opens().gets("hello")
		if st := o.Hub().Stats(); st.Streams != 4 || st.Victims != 2 || st.Evictions != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// TestFourTabsComeToRest: four tabs that reconnect by themselves, as browsers do, and
// do not even know the event evicted.
func TestFourTabsComeToRest(t *testing.T) {
	both(t, func(t *testing.T, streams sse.Config) {
		cfg := greeted
		cfg.Streams = streams
		o := open(t, inMemory(t), cfg)
		ours := browser(t)
		heard := make(chan string, 100)
		var running sync.WaitGroup
		for range 4 {
			page := o.tab(ours, "ann")
			first := page.opens()
			first.gets("hello")
			running.Go(func() {
				for s := first; s.status == http.StatusOK; s = page.open() {
					for e, ok := s.next(); ok; e, ok = s.next() {
						if e.name == "notification" {
							heard <- e.data
						}
						if e.data == "bye" {
							return
						}
					}
				}
				heard <- "given up"
			})
		}
		require.Equal(t, "given up", <-heard, "came first")
		o.send("ann", "1")
		for range 3 {
			assert.Equal(t, "1", <-heard, "want the notification")
		}
		if st := o.Hub().Stats(); st.Opened != 4+1 || st.Streams != 3 || st.Victims != 1 || st.Evictions != 1 {
			t.Errorf("it took more than one stream each, and one refusal: %+v", st)
		}
		o.send("ann", "bye")
		running.Wait()
	})
}

// TestTwoProcesses: a stream that began at one process goes on at the other.
func TestTwoProcesses(t *testing.T) {
	server := redistest.StartServer(t)
	both(t, func(t *testing.T, streams sse.Config) {
		cfg, prefix := greeted, fmt.Sprintf("p%v:", streams.Lean)
		cfg.Streams = streams
		a, b := open(t, inRedis(t, server, prefix), cfg), open(t, inRedis(t, server, prefix), cfg)
		elsewhere := open(t, inRedis(t, server, "other:"), cfg)
		ours := browser(t)
		var witnesses []*stream
		for _, o := range []*office{a, b} {
			s := o.tab(browser(t), "bea").opens()
			s.gets("hello")
			witnesses = append(witnesses, s)
		}
		// said returns when both have received the event: messages come in their order.
		said := func(by *office, id string) {
			t.Helper()
			by.send("ann", id)
			by.send("bea", id)
			for _, s := range witnesses {
				s.gets(id)
			}
		}

		page := a.tab(ours, "ann")
		first := page.opens()
		first.gets("hello")
		said(b, "1")
		first.gets("1")

		stolen := &tab{t: t, browser: browser(t), office: b, ticket: page.ticket}
		require.Equal(t, http.StatusUnauthorized, stolen.open().status, "the ticket at the other process, without the cookie")
		page.office = b
		moved := page.opens()
		moved.gets("hello")
		first.ends("evicted") // its place is taken by itself
		said(a, "2")
		moved.gets("2")

		second, third, fourth := a.tab(ours, "ann").opens(), b.tab(ours, "ann").opens(), a.tab(ours, "ann").opens()
		for _, s := range []*stream{second, third, fourth} {
			s.gets("hello")
		}
		moved.ends("evicted")
		for _, at := range []*office{a, b} {
			page.office = at
			assert.Equal(t, http.StatusNoContent, page.open().status, "the evicted tab is answered")
		}
		elsewhere.send("ann", "not-ours")
		// One that only sends, as the workers do.
		worker := newLive(t, inRedis(t, server, prefix), Config{})
		must(t, worker.Hub().ToMember(t.Context(), "ann", notice("3")))
		for _, s := range []*stream{second, third, fourth} {
			s.gets("3")
		}
	})
}

// TestDrain: the end of a process closes all streams, and leaves none behind.
func TestDrain(t *testing.T) {
	both(t, func(t *testing.T, streams sse.Config) {
		cfg := greeted
		streams.Retry, streams.Spread = time.Second, time.Second
		cfg.Streams = streams
		o := open(t, inMemory(t), cfg)
		var all []*stream
		for i := range 9 {
			s := o.tab(browser(t), "member-"+strconv.Itoa(i/3)).opens()
			s.gets("hello")
			all = append(all, s)
		}
		late := o.tab(browser(t), "ann")
		o.end()
		for _, s := range all {
			after, err := strconv.Atoi(s.ends("").retry)
			if err != nil || after < 1000 || after > 2000 {
				t.Errorf("a tab is told to come back after %d ms (%v)", after, err)
			}
		}
		if st := o.Hub().Stats(); st.Streams != 0 || st.Ended.Drained != 9 {
			t.Errorf("%+v", st)
		}
		if got := late.opens().ends("fallback"); got.data != `{"inbox":"/api/notifications"}` {
			t.Errorf("who comes too late is told %+v", got)
		}
	})
}

// TestCollectors: every series is there from the start, and counts.
func TestCollectors(t *testing.T) {
	o := open(t, inMemory(t), greeted)
	collectors, err := o.Collectors()
	must(t, err)
	read := func() map[string]float64 { return promtest.Read(t, collectors...) }
	before := read()
	for _, name := range []string{"issued", "first", "returned", "refused", "unknown"} {
		if n, there := before["stream_tickets_total "+name]; !there || n != 0 {
			t.Errorf("%s: %v, %v", name, n, there)
		}
	}
	for _, kind := range []string{"notification", "chat", "room"} {
		if n, there := before["live_latency_seconds "+kind]; !there || n != 0 {
			t.Errorf("the latency of %s: %v, %v", kind, n, there)
		}
	}
	page := o.tab(browser(t), "ann")
	page.opens().gets("hello")
	stream := page.opens()
	stream.gets("hello")
	for _, e := range []sse.Event{{Name: "notification"}, {Name: "notification", At: time.Now()}, {Name: "chat", At: time.Now()}, {Name: "room", At: time.Now()}, {Name: "other", At: time.Now()}} {
		e.Data = []byte("x")
		must(t, o.Hub().ToMember(t.Context(), "ann", e))
	}
	stream.gets("x", "x", "x", "x", "x")
	o.RoomDelivered(time.Second)
	// An event with a time and a kind; it is counted right after the write.
	eventually(t, "the latencies are counted", func() bool {
		now := read()
		return now["live_latency_seconds notification"] == 1 && now["live_latency_seconds chat"] == 1 && now["live_latency_seconds room"] == 1
	})
	stolen := &tab{t: t, browser: browser(t), office: o, ticket: page.ticket}
	stolen.open()
	after := read()
	for name, want := range map[string]float64{
		"stream_tickets_total issued": 1, "stream_tickets_total first": 1, "stream_tickets_total returned": 1, "stream_tickets_total refused": 1,
		"stream_tickets_total unknown": 0, "millrace_sse_opened_total": 2, "millrace_sse_members": 1,
	} {
		if after[name] != want {
			t.Errorf("%s is %v, want %v", name, after[name], want)
		}
	}
}
