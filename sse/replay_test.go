package sse_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
)

// logged is the log of a logger.
type logged struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// stored is a table of events, as an app has it.
type stored struct {
	mu     sync.Mutex
	events []sse.Event
	during func() // called while the first Replay is under way
}

func (s *stored) add(name string, id int) sse.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := sse.Event{Name: name, ID: strconv.Itoa(id), Data: fmt.Appendf(nil, "%s%d", name, id)}
	s.events = append(s.events, e)
	return e
}

func (s *stored) Replay(_ context.Context, since sse.Cursors) (sse.Missed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.during != nil {
		during := s.during
		s.during = nil
		s.mu.Unlock()
		during()
		s.mu.Lock()
	}
	var missed sse.Missed
	for _, e := range s.events {
		id, err := strconv.Atoi(e.ID)
		if err != nil {
			return missed, err
		}
		if last, err := strconv.Atoi(since[e.Name]); err != nil || id > last {
			missed.Events = append(missed.Events, e)
		}
	}
	return missed, nil
}

func TestAfterACutNothingIsMissingAndNothingTwice(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		for _, many := range []int{20, 200} { // fewer and more than a stream remembers
			s, table := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean}), &stored{}
			s.replay = table.Replay
			ctx := t.Context()
			var want []string
			n := 0
			commit := func(publish bool) {
				n++
				e := table.add("notification", n)
				want = append(want, string(e.Data))
				if publish {
					must(t, s.ToMember(ctx, "ann", e))
				}
			}
			for range many {
				commit(true) // no stream is open
			}
			// During the replay some events are stored and sent, and others are only
			// stored: those are sent when the stream is live.
			var late []sse.Event
			during := make(chan struct{})
			table.during = func() {
				defer close(during)
				for range 5 {
					commit(true)
				}
				commit(false)
				late = append(late, table.events[len(table.events)-1])
			}
			c := dial(t, s.url+"?member=ann", "Last-Event-ID", "5;chat=3")
			<-during
			for _, data := range want[5:many] {
				c.gets(data)
			}
			c.gets(want[many:]...)
			for _, e := range late {
				must(t, s.ToMember(ctx, "ann", e))
			}
			commit(true)
			c.gets(want[len(want)-1])
			last := fmt.Sprintf("%d;chat=3", n)
			must(t, s.ToMember(ctx, "ann", text("end")))
			if e := c.next(); e.Data != "end" || e.LastID != last {
				t.Errorf("at the end there is %+v, want the id %q", e, last)
			}
			s.end()
		}
	})
}

func TestBothCursorsResume(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s, table := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean}), &stored{}
		s.replay = table.Replay
		for i := 1; i <= 4; i++ {
			table.add("notification", i)
			table.add("chat", i)
		}
		c := dial(t, s.url+"?member=ann", "Last-Event-ID", "3;chat=1")
		c.gets("chat2", "chat3", "notification4")
		if e := c.next(); e.Data != "chat4" || e.LastID != "4;chat=4" {
			t.Errorf("at the end there is %+v", e)
		}
		// A client that cannot set the header, and one that made the header up.
		query := dial(t, s.url+"?member=bob&lastEventId=4%3Bchat%3D3")
		query.gets("chat4")
		madeUp := dial(t, s.url+"?member=eve", "Last-Event-ID", "4;chat=4;chat=4")
		madeUp.gets("notification1", "chat1")
	})
}

// broken lets a test cut a broker.
type broken struct {
	driver.Broker
	mu  sync.Mutex
	l   []driver.Listener
	cut atomic.Bool
}

func (b *broken) Listen(ctx context.Context, l driver.Listener) error {
	hear := l.Hear
	l.Hear = func(m driver.Message) {
		if !b.cut.Load() {
			hear(m)
		}
	}
	b.mu.Lock()
	b.l = append(b.l, l)
	b.mu.Unlock()
	return b.Broker.Listen(ctx, l)
}

func (b *broken) set(down bool) {
	b.cut.Store(down)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.l {
		if down {
			l.Down()
		} else {
			l.Up()
		}
	}
}

func TestWhatTheBrokerLostIsReadFromTheTable(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		b, table := &broken{Broker: newBroker(t)}, &stored{}
		s := start(t, newCap(t), b, sse.Config{Lean: lean})
		s.replay = table.Replay
		ctx := t.Context()
		send := func(id int) { t.Helper(); must(t, s.ToMember(ctx, "ann", table.add("notification", id))) }
		c := dial(t, s.url+"?member=ann")
		send(1)
		c.gets("notification1")
		b.set(true)
		send(2)
		send(3)
		late := dial(t, s.url+"?member=ann", "Last-Event-ID", "2") // comes during the outage of the broker
		late.gets("notification3")
		send(4)
		b.set(false)
		c.gets("notification2", "notification3", "notification4")
		late.gets("notification4")
		send(5)
		c.gets("notification5")
		late.gets("notification5")
		assert.EqualValues(t, 1, s.Stats().Gaps, "gaps")
	})
}

// An event that is heard between the loss and the replay is not sent again, and the client's
// cursor does not stay at the lost event before it: a client that comes back then would get the
// later event twice.
func TestAReplayDoesNotSetTheCursorBack(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		b, table := &broken{Broker: newBroker(t)}, &stored{}
		s := start(t, newCap(t), b, sse.Config{Lean: lean})
		s.replay = table.Replay
		ctx := t.Context()
		send := func(id int) { t.Helper(); must(t, s.ToMember(ctx, "ann", table.add("notification", id))) }
		c := dial(t, s.url+"?member=ann", "Last-Event-ID", ";chat=7")
		send(1)
		c.gets("notification1")
		b.set(true)
		send(2)
		b.cut.Store(false)
		send(3)
		send(4)
		c.gets("notification3", "notification4")
		b.cut.Store(true)
		send(5)
		send(6)
		b.set(false)
		for _, want := range []told{{Data: "notification2", LastID: "4;chat=7"}, {Data: "notification5", LastID: "5;chat=7"}, {Data: "notification6", LastID: "6;chat=7"}} {
			if e := c.next(); e.Data != want.Data || e.LastID != want.LastID {
				t.Errorf("got %+v, want %+v", e, want)
			}
		}
	})
}

// A replay of lost events leaves out those that came live, though both are more than a stream
// remembers.
func TestAReplayLeavesOutWhatCameLive(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		b, table := &broken{Broker: newBroker(t)}, &stored{}
		s := start(t, newCap(t), b, sse.Config{Lean: lean})
		s.replay = table.Replay
		send := func(id int) { t.Helper(); must(t, s.ToMember(t.Context(), "ann", table.add("notification", id))) }
		c := dial(t, s.url+"?member=ann")
		send(1)
		c.gets("notification1")
		b.set(true)
		for id := 2; id < 12; id++ {
			send(id)
		}
		b.cut.Store(false)
		for id := 12; id < 72; id++ {
			send(id)
			c.gets(fmt.Sprint("notification", id))
		}
		b.set(false)
		for id := 2; id < 12; id++ {
			c.gets(fmt.Sprint("notification", id))
		}
		send(72)
		c.gets("notification72")
	})
}

// The broker comes back while a stream that opened without it reads its table.
func TestWhatIsLostWhileAStreamOpensIsReadLater(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		b, table := &broken{Broker: newBroker(t)}, &stored{}
		s := start(t, newCap(t), b, sse.Config{Lean: lean})
		var back sync.Once
		s.replay = func(ctx context.Context, since sse.Cursors) (sse.Missed, error) {
			missed, err := table.Replay(ctx, since)
			back.Do(func() {
				must(t, s.ToMember(ctx, "ann", table.add("notification", 2)))
				b.set(false)
				must(t, s.ToMember(ctx, "ann", table.add("notification", 3)))
			})
			return missed, err
		}
		b.set(true)
		table.add("notification", 1)
		dial(t, s.url+"?member=ann").gets("notification1", "notification3", "notification2")
	})
}

// A broker that flaps while a stream reads many missed events has it read again only what came
// after them.
func TestAFlapWhileAStreamOpensRepeatsNothing(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		b, table := &broken{Broker: newBroker(t)}, &stored{}
		s := start(t, newCap(t), b, sse.Config{Lean: lean})
		reads := make(chan struct{}, 2)
		var flap sync.Once
		s.replay = func(ctx context.Context, since sse.Cursors) (sse.Missed, error) {
			defer func() { reads <- struct{}{} }()
			missed, err := table.Replay(ctx, since)
			flap.Do(func() {
				b.set(true)
				b.set(false)
			})
			return missed, err
		}
		for id := range 100 {
			table.add("notification", id+1)
		}
		c := dial(t, s.url+"?member=ann")
		<-reads
		<-reads
		must(t, s.ToMember(t.Context(), "ann", table.add("notification", 101)))
		for id := range 101 {
			c.gets(fmt.Sprint("notification", id+1))
		}
	})
}

func TestAReplayThatFailsEndsTheStream(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, Inbox: "/inbox"})
		for i, replay := range []sse.Replayer{
			func(context.Context, sse.Cursors) (sse.Missed, error) { return sse.Missed{}, errors.New("no table") },
			func(context.Context, sse.Cursors) (sse.Missed, error) { panic("a bug") },
			func(context.Context, sse.Cursors) (sse.Missed, error) {
				return sse.Missed{Events: []sse.Event{{Name: "chat", ID: "a b"}}}, nil
			},
		} {
			s.replay = replay
			c := dial(t, s.url+"?member=ann")
			if e := c.next(); e.Name != "fallback" || e.Data != `{"inbox":"/inbox"}` {
				t.Errorf("it ends with %+v", e)
			}
			c.over()
			eventually(t, "it is counted", func() bool { return s.Stats().Ended.Unsynced == int64(i+1) })
		}
	})
}

// A client that leaves while its replay is read is not logged; a replay that fails
// is.
func TestAReaderThatLeavesWhileItCatchesUpIsNoTrouble(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		for name, fails := range map[string]bool{"leaves": false, "fails": true} {
			if lean && !fails {
				continue // it looks at its client again when it has caught up
			}
			t.Run(name, func(t *testing.T) {
				var log logged
				s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				reading := make(chan struct{})
				s.replay = sse.Replayer(func(ctx context.Context, _ sse.Cursors) (sse.Missed, error) {
					close(reading)
					if fails {
						return sse.Missed{}, errors.New("no table")
					}
					<-ctx.Done()
					return sse.Missed{}, ctx.Err()
				})
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"?member=ann", nil)
				require.NoError(t, err)
				gone := make(chan struct{})
				go func() {
					defer close(gone)
					if res, err := http.DefaultTransport.RoundTrip(r); err == nil {
						_, _ = io.Copy(io.Discard, res.Body) // until it ends
						_ = res.Body.Close()                 // nothing was written
					}
				}()
				<-reading
				if !fails {
					leave()
				}
				<-gone
				<-s.served
				s.end()
				if ended := s.Stats().Ended; (ended.Unsynced == 1) != fails || (ended.Gone == 1) == fails {
					t.Errorf("it is counted as %+v", ended)
				}
				if text := log.String(); strings.Contains(text, "could not be read") != fails {
					t.Errorf("it is told %q", text)
				}
			})
		}
	})
}

// A replayed event is published only after its client has left and come back.
func TestAnEventPublishedAfterItsReplayDoesNotComeTwice(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s, table := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean}), &stored{}
		s.replay = table.Replay
		first, late := table.add("notification", 1), table.add("notification", 2)
		must(t, s.ToAll(t.Context(), first)) // to no stream
		c := dial(t, s.url+"?member=ann&token=t")
		c.gets("notification1")
		e := c.next()
		require.Equalf(t, "notification2", e.Data, "it gets %+v", e)
		c.close()
		c = dial(t, s.url+"?member=ann&token=t", "Last-Event-ID", e.LastID)
		must(t, s.ToAll(t.Context(), late))
		must(t, s.ToAll(t.Context(), table.add("notification", 3)))
		c.gets("notification3")
		if s.Stats().Duplicates == 0 {
			t.Error("the second one was not published to the stream")
		}
	})
}

// Many streams, an event each millisecond, and clients that are cut and come
// back all the time: each sees each event once, in order.
func TestClientsThatComeAndGoSeeEachEventOnce(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		const clients, events = 6, 300
		s, table := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean}), &stored{}
		s.replay = table.Replay
		var all sync.WaitGroup
		var cuts atomic.Int64
		for i := range clients {
			all.Go(func() {
				var seen []string
				last := ""
				for len(seen) < events {
					c := dial(t, fmt.Sprintf("%s?member=m%d&token=t", s.url, i), "Last-Event-ID", last)
					for range 7 + 5*i {
						e, ok := c.comes()
						if !ok || e.Name != "notification" { // too much came at once, and it was cut
							break
						}
						seen, last = append(seen, e.Data), e.LastID
						if len(seen) == events {
							break
						}
					}
					c.close()
					<-c.ended
					cuts.Add(1)
				}
				for n, data := range seen {
					if want := fmt.Sprintf("notification%d", n+1); data != want {
						t.Errorf("client %d sees %q as event %d", i, data, n+1)
						return
					}
				}
			})
		}
		for n := 1; n <= events; n++ {
			must(t, s.ToAll(t.Context(), table.add("notification", n)))
		}
		all.Wait()
		if cuts.Load() < clients*2 {
			t.Errorf("%d cuts", cuts.Load())
		}
	})
}

func TestCursorsAreGivenToTheReplayer(t *testing.T) {
	s := start(t, newCap(t), newBroker(t), sse.Config{})
	given := make(chan []string, 1)
	s.replay = sse.Replayer(func(_ context.Context, since sse.Cursors) (sse.Missed, error) {
		given <- []string{since["notification"], since["chat"]}
		return sse.Missed{}, nil
	})
	dial(t, s.url+"?member=ann", "Last-Event-ID", ";chat=9")
	assert.Equal(t, []string{"", "9"}, <-given, "given")
}

// The gaps of a replay come before its events, also after an outage of the broker;
// muted members get only the gaps of unmuted names.
func TestWhatAReplayLeavesOutIsSaid(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		b := &cutting{Broker: newBroker(t)}
		s := start(t, newCap(t), b, sse.Config{Lean: lean})
		left := map[string]int{"notification": 7, "chat": 2, "none": 0}
		s.replay = sse.Replayer(func(_ context.Context, since sse.Cursors) (sse.Missed, error) {
			id := "1"
			if since["notification"] != "" {
				id = "2"
			}
			return sse.Missed{Events: []sse.Event{{Name: "notification", ID: id, Data: []byte("event" + id)}}, Left: left}, nil
		})
		says := func(c *client, name, data string) {
			t.Helper()
			if e := c.next(); e.Name != name || e.Data != data {
				t.Fatalf("got %+v; want %s %s", e, name, data)
			}
		}
		muted := dial(t, s.url+"?member=bob&muted")
		says(muted, "gap", `{"event":"chat","count":2}`)
		c := dial(t, s.url+"?member=ann")
		for _, id := range []string{"event1", "event2"} {
			says(c, "gap", `{"event":"chat","count":2}`)
			says(c, "gap", `{"event":"notification","count":7}`)
			says(c, "notification", id)
			if id == "event1" {
				b.listener.Down()
				b.listener.Up()
			}
		}
		must(t, s.ToMember(t.Context(), "bob", text("x")))
		says(muted, "gap", `{"event":"chat","count":2}`) // after the loss
		muted.gets("x")
		assert.EqualValues(t, 4, s.Stats().Replayed, "were replayed")
	})
}
