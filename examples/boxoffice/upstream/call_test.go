package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"io"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnknownArtists(t *testing.T) {
	u := open(t, Config{})
	for _, id := range []string{"0", "10001", "-1", "01", "+1", "1e3", "x", "", "1/", "1/2", "99999999999999999999", "%31%30%30%30%31"} {
		rec := do(t, u, "GET", "/artists/"+id, "")
		var p struct {
			Type   string
			Status int
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil || rec.Code != 404 || p.Status != 404 || p.Type != "/problems/artist-not-found" {
			t.Errorf("%q: %d %s", id, rec.Code, rec.Body)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		assert.Equalf(t, 405, do(t, u, method, "/artists/1", "").Code, "%s", method)
	}
	if st := u.Stats(0); st.Calls != 15 || st.Statuses[404] != 12 || st.Statuses[405] != 3 {
		t.Errorf("all of them are calls: %+v", st)
	}
}

func TestFaults(t *testing.T) {
	for _, size := range []int{3000, 300_000} {
		u := open(t, Config{BodyBytes: size})
		whole := do(t, u, "GET", "/artists/7", "").Body.Bytes()
		for _, status := range []int{400, 403, 404, 429, 500, 502, 503, 504} {
			fault(t, u, `{"kind":"status","status":`+strconv.Itoa(status)+`,"calls":1}`)
			rec := do(t, u, "GET", "/artists/7", "")
			if rec.Code != status || rec.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%d: %d %s", status, rec.Code, rec.Body)
			}
			if again := rec.Header().Get("Retry-After"); (again != "") != (status == 429 || status == 503) {
				t.Errorf("%d: Retry-After %q", status, again)
			}
		}
		fault(t, u, `{"kind":"truncated","calls":1}`)
		cut := do(t, u, "GET", "/artists/7", "")
		if b := cut.Body.Bytes(); cut.Code != 200 || len(b) >= size || !bytes.HasPrefix(whole, b) ||
			cut.Header().Get("Content-Length") != strconv.Itoa(len(b)) || !isSyntax(b) {
			t.Errorf("truncated: %d, %d of %d bytes", cut.Code, len(b), size)
		}
		fault(t, u, `{"kind":"malformed","calls":1}`)
		if bad := do(t, u, "GET", "/artists/7", ""); bad.Code != 200 || bad.Body.Len() != size || !isSyntax(bad.Body.Bytes()) {
			t.Errorf("malformed: %d, %d bytes", bad.Code, bad.Body.Len())
		}
		assert.True(t, bytes.Equal(do(t, u, "GET", "/artists/7", "").Body.Bytes(), whole), "a fault outlived its calls, or damaged what is shared")
		got := u.Stats(0).Faults
		if got["status_503"] != 1 || got["status_400"] != 1 || got["truncated"] != 1 || got["malformed"] != 1 || len(got) != 10 {
			t.Errorf("counted: %v", got)
		}
	}
}

func isSyntax(b []byte) bool {
	var v any
	var syntax *json.SyntaxError
	return errors.As(json.Unmarshal(b, &v), &syntax)
}

// The connection breaks within the body, also when the body is small.
func TestDrop(t *testing.T) {
	for _, size := range []int{3000, 300_000} {
		u := open(t, Config{BodyBytes: size})
		ln := listen(t)
		c := serveOn(t, u, ln, nil)
		url := "http://" + ln.Addr().String() + "/artists/7"
		fault(t, u, `{"kind":"drop","calls":1}`)
		code, body, h, err := get(t.Context(), c, url)
		if code != 200 || !errors.Is(err, io.ErrUnexpectedEOF) || len(body) == 0 || len(body) >= size || h.Get("Content-Length") != strconv.Itoa(size) {
			t.Errorf("%d, %d of %d bytes, %v", code, len(body), size, err)
		}
		if code, body, _, err := get(t.Context(), c, url); code != 200 || len(body) != size || err != nil {
			t.Errorf("the call after it: %d, %d bytes, %v", code, len(body), err)
		}
		if st := u.Stats(0); st.Faults["drop"] != 1 || st.Statuses[0] != 1 || st.Statuses[200] != 1 {
			t.Errorf("faults %v, statuses %v", st.Faults, st.Statuses)
		}
	}
}

func TestFaultRules(t *testing.T) {
	u := open(t, Config{})
	code := func(id string) int { return do(t, u, "GET", "/artists/"+id, "").Code }
	want := func(what string, got, want int) {
		t.Helper()
		assert.Equalf(t, want, got, "%s", what)
	}
	f := fault(t, u, `{"kind":"status","status":500,"artists":["7","8"],"calls":2}`)
	fault(t, u, `{"kind":"status","status":418,"artists":["7","nobody"]}`)
	if f.ID != 1 || f.Calls != 2 {
		t.Errorf("%+v", f)
	}
	want("another artist", code("9"), 200)
	want("the oldest rule decides", code("7"), 500)
	var list Faults
	if err := json.Unmarshal(do(t, u, "GET", "/_/faults", "").Body.Bytes(), &list); err != nil || len(list.Faults) != 2 || list.Faults[0].Calls != 1 {
		t.Errorf("in force: %+v %v", list, err)
	}
	want("its last call", code("8"), 500)
	want("used up", code("8"), 200)
	want("the next rule's turn", code("7"), 418)
	want("without an end", code("7"), 418)
	want("an unknown artist", code("nobody"), 418)
	want("clear", do(t, u, "DELETE", "/_/faults", "").Code, 204)
	want("cleared", code("7"), 200)
	if rec := do(t, u, "GET", "/_/faults", ""); rec.Body.String() != "{\"faults\":[]}\n" {
		t.Errorf("none in force: %s", rec.Body)
	}

	rolls := []float64{0.1, 0.25, 0.9, 0.2}
	u.rules.roll = func() float64 { r := rolls[0]; rolls = rolls[1:]; return r }
	fault(t, u, `{"kind":"status","status":502,"rate":0.25,"calls":2}`)
	for i, status := range []int{502, 200, 200, 502, 200} { // the last one needs no roll
		want("roll "+strconv.Itoa(i), code("1"), status)
	}
	if got := u.Stats(0).Faults; got["status_500"] != 2 || got["status_418"] != 3 || got["status_502"] != 2 {
		t.Errorf("counted: %v", got)
	}
	for range maxRules {
		fault(t, u, `{"kind":"truncated"}`)
	}
	want("too many rules", do(t, u, "POST", "/_/faults", `{"kind":"truncated"}`).Code, 409)
}

// A refused call uses up no fault.
func TestBanComesBeforeFaults(t *testing.T) {
	u := open(t, Config{Limit: 1})
	do(t, u, "GET", "/artists/1", "")
	fault(t, u, `{"kind":"status","status":500,"calls":1}`)
	var s staged
	u.gate.clock = s.clock // stands still: the next call is one too many
	s.set(u.gate.last)
	require.Equal(t, 429, do(t, u, "GET", "/artists/1", "").Code)
	s.set(s.clock() + 11*second)
	assert.Equal(t, 500, do(t, u, "GET", "/artists/1", "").Code)
}

func TestDelayAndLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		clock := func() time.Duration { return time.Since(start) }
		took := func(u *Upstream, path string) time.Duration {
			before := time.Now()
			do(t, u, "GET", path, "")
			return time.Since(before)
		}
		u := open(t, Config{Clock: clock, Latency: 40 * time.Millisecond})
		assert.Equal(t, 40*time.Millisecond, took(u, "/artists/1"), "latency")
		fault(t, u, `{"kind":"delay","delayMs":12000,"artists":["1"]}`)
		fault(t, u, `{"kind":"delay","delayMs":500}`)
		fault(t, u, `{"kind":"status","status":504,"artists":["1"]}`)
		assert.Equal(t, 12540*time.Millisecond, took(u, "/artists/1"), "delays and latency")
		assert.Equal(t, 540*time.Millisecond, took(u, "/artists/2"), "another artist")
		if got := u.Stats(0); got.Faults["delay"] != 3 || got.Handler.Max != 12_540_000 || got.Queue.Max != 0 {
			t.Errorf("%v, handler %+v, queue %+v", got.Faults, got.Handler, got.Queue)
		}

		u = open(t, Config{Clock: clock, Limit: 1000, Latency: 10 * time.Millisecond, Jitter: 20 * time.Millisecond})
		fault(t, u, `{"kind":"delay","jitterMs":5}`)
		seen := map[time.Duration]bool{}
		for range 50 {
			d := took(u, "/artists/1")
			if d < 10*time.Millisecond || d > 35*time.Millisecond {
				t.Fatalf("%v is not between 10 and 35 ms", d)
			}
			seen[d] = true
		}
		if len(seen) == 1 {
			t.Error("there is no jitter")
		}
	})
}

// A long delay is served to its end over a network, and ends when the client
// disconnects.
func TestDelayOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, _, c := bubble(t, Config{})
		fault(t, u, `{"kind":"delay","delayMs":60000}`)
		start := time.Now()
		if code, _, _, err := get(t.Context(), c, "http://up/artists/1"); code != 200 || err != nil || time.Since(start) != time.Minute {
			t.Errorf("%d after %v, %v", code, time.Since(start), err)
		}
		c.Timeout = time.Second
		if _, _, _, err := get(t.Context(), c, "http://up/artists/1"); err == nil {
			t.Error("an answer came early")
		}
		synctest.Wait()
		if st := u.Stats(0); st.Handler.Count != 2 || time.Since(start) != 61*time.Second {
			t.Errorf("the handler goes on after its client: %+v at %v", st.Handler, time.Since(start))
		}
	})
}

// An answer that is to come in minutes does not delay the end of the service: it is sent
// at once.
func TestEndHurriesDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, p := open(t, Config{}), boxtest.NewPipes()
		fault(t, u, `{"kind":"delay","delayMs":600000}`)
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- u.Serve(ctx, p) }()
		w := dialWire(t, p)
		defer w.Close()
		w.send(oneCall)
		start := time.Now()
		time.AfterFunc(time.Minute, stop)
		w.read(200)
		if took := time.Since(start); took != time.Minute {
			t.Errorf("the answer took %v, want the minute until the end", took)
		}
		assert.NoError(t, <-served)
		if _, err := p.Dial(t.Context(), "", ""); err == nil {
			t.Error("the listener is still open")
		}
	})
}
