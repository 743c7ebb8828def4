package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/queue"
	queuedriver "github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// begin is when the clock of a test's store starts.
var begin = time.Date(2026, 3, 1, 19, 0, 0, 0, time.UTC)

// lobby has waiting rooms with the states that a test sets.
type lobby struct {
	mu     sync.Mutex
	states map[string]queue.State
	gates  map[string]driver.State
	err    error // the answer of rooms and gates
	closed error // the answer of the list of shows
	asked  int
	hang   chan struct{} // nothing is answered until it is closed
}

func newLobby() *lobby {
	return &lobby{states: map[string]queue.State{}, gates: map[string]driver.State{}}
}

func (l *lobby) State(_ context.Context, event string) (queue.State, error) {
	if l.hang != nil {
		<-l.hang
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	return l.states[event], l.err
}

func (l *lobby) Status(_ context.Context, event string) (driver.State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gates[event], l.err
}

func (l *lobby) shows(context.Context) ([]ops.RoomShow, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return []ops.RoomShow{{ID: "show-1", Title: "Moonlight Parade"}, {ID: "show-2", Title: "Paper Kites"}}, l.closed
}

// at sets the number of admissions of show-1 at a time after the beginning.
func (l *lobby) at(after time.Duration, epoch uint64, entered int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states["show-1"] = queue.State{Epoch: epoch, Now: begin.Add(after), Entered: entered}
}

func (l *lobby) desk(t *testing.T) *desk {
	t.Helper()
	return newDesk(t, func(c *ops.Config) { c.Rooms = &ops.RoomsConfig{Room: l, Gate: l, Shows: l.shows} })
}

type admitted struct {
	Until     int64
	PerSecond []*float64
}

// admitted is the part of a new report on show-1's admissions.
func (d *desk) admitted(t *testing.T) admitted {
	t.Helper()
	var report struct {
		Rooms struct{ Shows []struct{ Admitted admitted } }
	}
	require.NoError(t, json.Unmarshal([]byte(text(t)(d.ops.ReportNow(t.Context()))), &report))
	require.Len(t, report.Rooms.Shows, 2, "shows")
	return report.Rooms.Shows[0].Admitted
}

// known are the figures that are not null, by how long after the beginning their
// second ends.
func (a admitted) known() map[int64]float64 {
	out := map[int64]float64{}
	for i, n := range a.PerSecond {
		if n != nil {
			out[a.Until-int64(len(a.PerSecond)-1-i)-begin.Unix()] = *n
		}
	}
	return out
}

func TestRooms(t *testing.T) {
	l := newLobby()
	l.states["show-1"] = queue.State{
		Epoch: 7, Now: begin, Threshold: 100, Paused: true, Gated: true, Settling: 1500 * time.Millisecond, Waiting: 1204, Active: 97, Entitled: 12,
		Joined: 5000, Entered: 3796, NoShows: 31, Expired: 8, Departed: 3657, Swept: 4, Returning: 21, Laned: 3,
		Stock: queuedriver.Stock{Known: true, Left: 230}, Lanes: [queuedriver.MaxLanes]queue.Lane{{Name: "member", Share: 0.3}},
	}
	l.gates["show-1"] = driver.State{Epoch: 3, On: true, Assigned: 9000, Serving: 5500}
	d := l.desk(t)
	holds(t, "the rooms", text(t)(d.ops.ReportNow(t.Context())),
		`"rooms":{"shows":[{"eventId":"show-1","title":"Moonlight Parade","ageSeconds":`,
		`"error":"","state":{"threshold":100,"paused":true,"gated":true,"settlingSeconds":1.5,"waiting":1204,"active":97,"entitled":12,"returning":21,"laned":3,"stock":230,"shares":{"member":0.3},`+
			`"joined":5000,"entered":3796,"noShows":31,"expired":8,"departed":3657,"swept":4},"gate":{"on":true,"assigned":9000,"serving":5500},"gateError":""`,
		`{"eventId":"show-2","title":"Paper Kites"`,
	)
	if got := text(t)(newDesk(t, nil).ops.ReportNow(t.Context())); strings.Contains(got, `"rooms"`) {
		t.Errorf("without waiting rooms the report has some: %s", got)
	}
}

// Unknown values are null, and the last known ones are shown with their age.
func TestRoomsUnknown(t *testing.T) {
	l := newLobby()
	d := l.desk(t)
	assert.Contains(t, text(t)(d.ops.Report(t.Context())), `"rooms":{"shows":[],"error":""}`, "before anybody has asked the report")
	l.err = errors.New("queue: the store cannot be asked")
	none := text(t)(d.ops.ReportNow(t.Context()))
	holds(t, "rooms that never answered", none, `"ageSeconds":null,"error":"queue: the store cannot be asked","state":null,"gate":null,"gateError":"queue: the store cannot be asked"`)
	assert.NotContainsf(t, none, `"perSecond":[0`, "a rate that nobody knows is 0: %s", none)
	l.err = nil
	l.states["show-1"] = queue.State{Epoch: 1, Now: begin, Waiting: 77}
	text(t)(d.ops.ReportNow(t.Context()))
	l.err, l.closed = errors.New("queue: gone"), nil
	holds(t, "rooms that no longer answer", text(t)(d.ops.ReportNow(t.Context())), `"error":"queue: gone","state":{"threshold":0`, `"waiting":77`)
	l.closed = errors.New("catalog: gone")
	holds(t, "shows that nobody knows", text(t)(d.ops.ReportNow(t.Context())), `"waiting":77`, `"error":"catalog: gone"}`)
}

// The figures by the second add up to the counts between the first whole second and
// the last, for any times of the looks.
func TestRoomsAdmissions(t *testing.T) {
	l := newLobby()
	d := l.desk(t)
	// 10 in each of the first two seconds, none in the third, then 5 within 2.5 s.
	for _, s := range []struct {
		after   time.Duration
		entered int64
	}{{0, 40}, {500 * time.Millisecond, 45}, {2 * time.Second, 60}, {3 * time.Second, 60}, {5500 * time.Millisecond, 65}} {
		l.at(s.after, 1, s.entered)
		d.admitted(t)
	}
	got := d.admitted(t)
	want := map[int64]float64{1: 10, 2: 10, 3: 0, 4: 2, 5: 2}
	known := got.known()
	if len(got.PerSecond) != 120 || got.Until != begin.Unix()+5 || len(known) != len(want) {
		t.Fatalf("%d seconds until %d: %v, want %v", len(got.PerSecond), got.Until-begin.Unix(), known, want)
	}
	for second, n := range want {
		if math.Abs(known[second]-n) > 1e-9 {
			t.Errorf("in the second until %d there were %v, want %v", second, known[second], n)
		}
	}
}

// A room that was cleared or lost its state counts from 0 again: the admissions in
// between are unknown.
func TestRoomsBeginAnew(t *testing.T) {
	l := newLobby()
	d := l.desk(t)
	l.at(0, 1, 1000)
	d.admitted(t)
	l.at(time.Second, 1, 1010)
	d.admitted(t)
	l.at(2*time.Second, 2, 3)
	d.admitted(t)
	l.at(3*time.Second, 2, 7)
	if got := d.admitted(t).known(); len(got) != 2 || got[1] != 10 || got[3] != 4 {
		t.Errorf("%v, want 10 until second 1 and 4 until second 3", got)
	}
	// Another count under the same epoch, which no room has, shows no negative rate.
	l.at(4*time.Second, 2, 2)
	assert.Len(t, d.admitted(t).known(), 2, "after a count that fell")
	// A clock that was put back far resets the samples too.
	l.at(-time.Hour, 2, 9)
	if got := d.admitted(t); len(got.known()) != 0 || got.Until != begin.Add(-time.Hour).Unix() {
		t.Errorf("after the clock was put back: %v until %d", got.known(), got.Until-begin.Unix())
	}
}

// Admissions without a look at the room are not shown by the second.
func TestRoomsNotLookedAt(t *testing.T) {
	l := newLobby()
	d := l.desk(t)
	for _, s := range []struct {
		after   time.Duration
		entered int64
	}{{0, 0}, {time.Second, 5}, {60 * time.Second, 300}, {61 * time.Second, 306}} {
		l.at(s.after, 1, s.entered)
		d.admitted(t)
	}
	if got := d.admitted(t).known(); len(got) != 2 || got[1] != 5 || got[61] != 6 {
		t.Errorf("%v, want 5 until second 1 and 6 until second 61", got)
	}
	// Two minutes later the older admissions are no longer shown.
	l.at(170*time.Second, 1, 400)
	if got := d.admitted(t).known(); len(got) != 1 || got[61] != 6 {
		t.Errorf("%v, want 6 until second 61 alone", got)
	}
}

// TestNobodyWaitsForTheRooms: reports are available although no room answers, and the
// rooms are looked at in the background while reports are asked for.
func TestNobodyWaitsForTheRooms(t *testing.T) {
	l := newLobby()
	l.hang = make(chan struct{})
	d := l.desk(t)
	d.run(t)
	answered := sync.OnceFunc(func() { close(l.hang) })
	t.Cleanup(answered) // before Run is waited for
	assert.Contains(t, atOnce(t, "the report", func() string { return text(t)(d.ops.Report(t.Context())) }), `"rooms":{`, "the report has no rooms")
	boxtest.WaitFor(t, "the shows", func() bool {
		return strings.Contains(atOnce(t, "a report", func() string { return text(t)(d.ops.Report(t.Context())) }), `"eventId":"show-2"`)
	})
	l.at(0, 1, 0)
	answered()
	d.reports(t, `"title":"Moonlight Parade","ageSeconds":0`)
	l.at(time.Second, 1, 8)
	d.reports(t, `"entered":8`, `,8]`)
}

func TestRoomsAreChecked(t *testing.T) {
	newDesk(t, func(cfg *ops.Config) {
		wrong := *cfg
		wrong.Rooms = &ops.RoomsConfig{Room: newLobby()}
		if _, err := ops.New(wrong); err == nil || !strings.Contains(err.Error(), "Config.Rooms") {
			t.Errorf("rooms of no shows: %v", err)
		}
	})
}
