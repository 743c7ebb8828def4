package upstream

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream/window"
)

func TestStatsByClass(t *testing.T) {
	var s staged
	s.set(100 * second)
	u := open(t, Config{Clock: s.clock})
	call := func(at time.Duration, priority, instance string) {
		s.set(at)
		do(t, u, "GET", "/artists/1", "", HeaderPriority, priority, HeaderInstance, instance)
	}
	const ms = time.Millisecond
	for i := range 30 { // low: 10 in each 100 ms, three times, 700 ms apart
		call(100*second+time.Duration(i/10)*700*ms+time.Duration(i%10)*ms+1, "low", "b")
	}
	for i := range 5 {
		call(103*second+time.Duration(i)*ms, "high", "a")
	}
	call(103*second+10*ms, "urgent", "not a name!")
	s.set(104*second - 1)
	st := u.Stats(0)
	if st.Classes["low"].Calls != 30 || st.Classes["high"].Calls != 5 || st.Classes["none"].Calls != 1 {
		t.Errorf("calls: %+v", st.Classes)
	}
	if w := st.Classes["low"].Worst; w.Calls != 20 || w.End != 100*second+709*ms+1 {
		t.Errorf("low's worst window: %+v", w)
	}
	if w := st.Classes["high"].Worst; w.Calls != 5 || w.End != 103*second+4*ms {
		t.Errorf("high's worst window: %+v", w)
	}
	if len(st.Instances) != 2 || st.Instances["b"] != 30 || st.Instances["a"] != 5 {
		t.Errorf("instances: %v", st.Instances)
	}
	// Only the last second: high is in it, low is not.
	st = u.Stats(second)
	if st.Classes["low"].Calls != 30 || st.Classes["low"].Worst.Calls != 0 || st.Classes["high"].Worst.Calls != 5 || st.Log.Calls != 6 {
		t.Errorf("the last second: %+v", st)
	}
	// After years too.
	s.set(10_000 * time.Hour)
	if st := u.Stats(0); st.Classes["low"].Worst.Calls != 20 {
		t.Errorf("%+v", st.Classes)
	}
}

// The upstream stalls for a while: calls that were sent evenly arrive at once.
func TestSentSeries(t *testing.T) {
	var s staged
	u := open(t, Config{Clock: s.clock, Limit: 10})
	send := func(sent, arrives time.Duration) {
		s.set(arrives)
		do(t, u, "GET", "/artists/1", "", HeaderPriority, "high", HeaderSentAt, fmt.Sprint(int64(sent)))
	}
	for i := range 20 { // ten a second, all of which arrive at 5 s
		send(2*second+time.Duration(i)*100*time.Millisecond, 5*second)
	}
	st := u.Stats(0)
	if st.Violations != 10 || st.Worst.Calls != 20 {
		t.Errorf("by arrival: %d violations, %+v", st.Violations, st.Worst)
	}
	if st.Sent.Calls != 20 || st.Sent.Above != 0 || st.Sent.Worst.Calls != 10 || st.Classes["high"].WorstSent.Calls != 10 {
		t.Errorf("by send time: %+v", st.Sent)
	}
	if tr := st.Sent.Transit; tr.Max != 3_000_000 || tr.P50 < 2_100_000 || tr.P50 > 2_100_000*17/16 {
		t.Errorf("transit: %+v", tr)
	}
	// And calls that were sent at once and arrive evenly, in another order.
	for i := range 20 {
		send(30*second-time.Duration(i), 31*second+time.Duration(i)*time.Second)
	}
	st = u.Stats(25 * second)
	if st.Violations != 10 || st.Sent.Above != 10 || st.Sent.Worst != (window.Window{Calls: 20, End: 30 * second}) {
		t.Errorf("sent at once: %d violations, %+v", st.Violations, st.Sent)
	}
	// A malformed header counts as none.
	for _, bad := range []string{"", "soon", "-5", "1e9"} {
		s.set(s.clock() + second)
		do(t, u, "GET", "/artists/1", "", HeaderSentAt, bad)
	}
	if st := u.Stats(0); st.Sent.Calls != 40 || st.Calls != 44 {
		t.Errorf("%+v", st.Sent)
	}
}

func TestStatsAreJSON(t *testing.T) {
	u := open(t, Config{})
	do(t, u, "GET", "/artists/1", "", HeaderPriority, "low", HeaderInstance, "a", HeaderSentAt, "1")
	rec := do(t, u, "GET", "/_/stats?last=10s", "")
	var st Stats
	dec := json.NewDecoder(rec.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&st); err != nil || rec.Code != 200 {
		t.Fatalf("%d, %v", rec.Code, err)
	}
	if st.Calls != 1 || st.Limit != 500 || st.DailyBudget != 20_000_000 || st.BodyBytes != 3000 || st.Statuses[200] != 1 ||
		st.Classes["low"].Worst.Calls != 1 || st.Sent.Worst.Calls != 1 || st.Log.Calls != 1 || st.Late != 1 {
		t.Errorf("%+v", st)
	}
}

func TestLogIsBounded(t *testing.T) {
	var s staged
	g := newGate(Config{Clock: s.clock, LogCalls: 1000, Limit: 1 << 30}.withDefaults())
	const n = 5*chunkCalls + 17
	for i := range n {
		s.set(time.Duration(i))
		k := g.arrive(false)
		g.identify(k, identity{class: classLow})
		if i == 3*chunkCalls {
			g.reset()
		}
	}
	var kept []time.Duration
	require.NoError(t, g.read(-1, func(records []record, _ []string) error {
		for _, r := range records {
			kept = append(kept, r.arrival)
		}
		return nil
	}))
	since := n - 3*chunkCalls - 1 // calls after the reset
	if g.log.lost == 0 || len(kept) < 1000 || len(kept) > 1000+2*chunkCalls || g.log.lost+int64(len(kept)) != int64(since) {
		t.Errorf("%d kept, %d lost of %d", len(kept), g.log.lost, since)
	}
	for i, at := range kept {
		if want := time.Duration(n - len(kept) + i); at != want {
			t.Fatalf("call %d of the log arrived at %d, want %d: not the newest, or out of order", i, at, want)
		}
	}
	if g.classes[classLow] != int64(since) { // the counts lose nothing
		t.Errorf("%d counted, want %d", g.classes[classLow], since)
	}
	late := ticket{seq: g.log.first - 1}
	g.identify(late, identity{class: classHigh})
	g.decide(late, 200)
	g.finish(late, 0)
	if g.classes[classHigh] != 1 || g.statuses[200] != 1 {
		t.Error("a call that the log dropped is not counted")
	}
}

func TestInstancesAreBounded(t *testing.T) {
	u := open(t, Config{Limit: 1 << 20})
	for i := range maxInstances + 50 {
		k := u.gate.arrive(false)
		u.gate.identify(k, identity{instance: fmt.Sprint("i", i)})
	}
	st := u.Stats(0)
	if len(st.Instances) > maxInstances || st.Instances["others"] != 52 || st.Instances["i0"] != 1 {
		t.Errorf("%d instances, %d others", len(st.Instances), st.Instances["others"])
	}
}

func TestLogRoundTrip(t *testing.T) {
	var s staged
	u := open(t, Config{Clock: s.clock, Limit: 2})
	want := []Call{
		{Arrival: 5, Priority: "none", Status: 200},
		{Arrival: 7, Sent: 6, Priority: "high", Status: 404, Instance: "api-1.local:80"},
		{Arrival: 7, Priority: "low", Status: 429, Instance: "b"},
		{Arrival: 100 * second, Sent: 99 * second, Priority: "low", Status: 200},
	}
	for _, c := range want {
		s.set(c.Arrival)
		path := "/artists/1"
		if c.Status == 404 {
			path = "/artists/none"
		}
		do(t, u, "GET", path, "", HeaderPriority, c.Priority, HeaderInstance, c.Instance, HeaderSentAt, fmt.Sprint(int64(c.Sent)))
	}
	rec := do(t, u, "GET", "/_/log", "")
	text := rec.Body.String()
	got, err := ReadLog(strings.NewReader(text))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	last, err := ReadLog(do(t, u, "GET", "/_/log?last=90s", "").Body)
	if err != nil || !slices.Equal(last, want[3:]) {
		t.Errorf("the last 90 s: %+v, %v", last, err)
	}
	// A log that was cut anywhere but between lines is noticed.
	for i := range text {
		calls, err := ReadLog(strings.NewReader(text[:i]))
		assert.Equalf(t, i > 0 && text[i-1] == '\n', (err == nil), "cut at %d: %d calls, %v", i, len(calls), err)
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add(logHead)
	f.Add(logHead + "5\t0\tnone\t200\t\n7\t6\thigh\t404\tapi-1\n")
	f.Add(logHead + "5\t0\tnone\t70000\t\n")
	f.Add("5\t0\tnone\t200\t\n")
	f.Fuzz(func(t *testing.T, text string) {
		calls, err := ReadLog(strings.NewReader(text))
		if err != nil {
			if calls != nil {
				t.Error("calls beside an error")
			}
			return
		}
		for _, c := range calls {
			if c.Status < 0 || c.Status > 65535 || classOf(c.Priority).String() != c.Priority || !validInstance(c.Instance) {
				t.Errorf("%+v", c)
			}
		}
		if want := strings.Count(text, "\n") - 1; len(calls) != want {
			t.Errorf("%d calls of %d lines", len(calls), want)
		}
	})
}

func TestQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		us := rapid.SliceOfN(rapid.Int64Range(0, 1<<uint(rapid.IntRange(1, 45).Draw(t, "bits"))), 1, 80).Draw(t, "us")
		var h histogram
		for _, n := range us {
			h.add(time.Duration(n) * time.Microsecond)
		}
		slices.Sort(us)
		got := h.quantiles()
		for q, v := range map[float64]int64{0.5: got.P50, 0.99: got.P99} {
			exact := us[int(q*float64(len(us)))]
			if v < exact || v > exact+exact/16 {
				t.Fatalf("quantile %v of %v: %d, exact %d", q, us, v, exact)
			}
		}
		if got.Max != us[len(us)-1] || got.Count != int64(len(us)) {
			t.Fatalf("%+v", got)
		}
	})
	if q := new(histogram).quantiles(); q != (Quantiles{}) {
		t.Errorf("of nothing: %+v", q)
	}
	var h histogram
	h.add(-time.Second) // sent by another clock
	h.add(time.Duration(1<<63 - 1))
	if q := h.quantiles(); q.Count != 2 || q.Max != time.Duration(1<<63-1).Microseconds() {
		t.Errorf("%+v", q)
	}
}

// Stats and the log may be read while calls arrive and the log drops some.
func TestReadersDoNotDisturbArrivals(t *testing.T) {
	u := open(t, Config{Limit: 1 << 30, LogCalls: 1})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 8 * chunkCalls {
			k := u.gate.arrive(false)
			u.gate.identify(k, identity{class: class(rand.N(3)), instance: fmt.Sprint("i", i%50)})
			u.gate.decide(k, 200)
			u.gate.finish(k, 0)
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		st := u.Stats(0)
		n := int64(0)
		for _, c := range st.Classes {
			n += c.Calls
		}
		if n > st.Calls {
			t.Fatalf("%d calls by class of %d", n, st.Calls)
		}
		calls(t, u)
	}
	if st := u.Stats(0); st.Calls != 8*chunkCalls || st.Log.Calls+st.Log.Lost != st.Calls {
		t.Errorf("%d calls, %+v", st.Calls, st.Log)
	}
}
