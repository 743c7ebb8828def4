package upstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream/window"
)

// wire is a client that decides which bytes travel together.
type wire struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dialWire(t *testing.T, p *boxtest.Pipes) *wire {
	t.Helper()
	c, err := p.Dial(t.Context(), "", "")
	require.NoError(t, err)
	return &wire{t: t, Conn: c, r: bufio.NewReader(c)}
}

func (w *wire) send(parts ...string) {
	w.t.Helper()
	for _, part := range parts {
		if _, err := io.WriteString(w, part); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *wire) read(status int) {
	w.t.Helper()
	res, err := http.ReadResponse(w.r, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != status {
		w.t.Fatalf("%d, want %d; %v", res.StatusCode, status, err)
	}
}

// bubble serves on a network in memory, with the bubble's clock.
func bubble(t *testing.T, cfg Config) (*Upstream, *boxtest.Pipes, *http.Client) {
	t.Helper()
	start := time.Now()
	cfg.Clock = func() time.Duration { return time.Since(start) }
	u, p := open(t, cfg), boxtest.NewPipes()
	return u, p, serveOn(t, u, p, p.Dial)
}

func calls(t *testing.T, u *Upstream) []Call {
	t.Helper()
	var b strings.Builder
	require.NoError(t, u.WriteLog(&b, 0))
	calls, err := ReadLog(strings.NewReader(b.String()))
	require.NoError(t, err)
	return calls
}

const oneCall = "GET /artists/1 HTTP/1.1\r\nHost: x\r\n\r\n"

func TestArrivalIsTheFirstRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, p, _ := bubble(t, Config{Latency: time.Second})
		w := dialWire(t, p)
		defer w.Close()
		for range 2 { // the second one on a connection that was used
			time.Sleep(100 * time.Millisecond)
			w.send("GET /artists/1 HTTP/1.1\r\n") // arrives here
			time.Sleep(300 * time.Millisecond)
			w.send("X-Priority: low\r\nHost: x\r\n\r\n")
			w.read(200)
		}
		got := calls(t, u)
		if len(got) != 2 || got[0].Arrival != 100*time.Millisecond || got[1].Arrival != 1500*time.Millisecond || got[1].Priority != "low" {
			t.Errorf("%+v", got)
		}
		st := u.Stats(0)
		if st.Late != 0 || st.Queue.P50 != 300_000 || st.Handler.P50 != 1_000_000 {
			t.Errorf("late %d, queue %+v, handler %+v", st.Late, st.Queue, st.Handler)
		}
	})
}

func TestSplitRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, p, _ := bubble(t, Config{})
		w := dialWire(t, p)
		defer w.Close()
		bytewise := func(s string) {
			for _, b := range []byte(s) {
				w.send(string(b))
				time.Sleep(time.Millisecond)
			}
		}
		bytewise("GET /_/faults HTTP/1.1\r\nHost: x\r\n\r\n")
		w.read(200)
		bytewise(strings.Replace(oneCall, "artists", "_artists", 1)) // begins like a control path
		w.read(404)
		bytewise("POST /_/reset/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nGET /")
		w.read(404)
		at := time.Duration(0)
		if got := calls(t, u); len(got) != 1 {
			t.Fatalf("%d calls, want the one that is no control request", len(got))
		} else {
			at = got[0].Arrival
		}
		// "GET /_/faults…" took its milliseconds, then "GET /_a" shows a call.
		control := len("GET /_/faults HTTP/1.1\r\nHost: x\r\n\r\n")
		assert.Equal(t, time.Duration(control+len("GET /_a")-1)*time.Millisecond, at, "it arrived at")
		// A request that begins like a control request and is cut is no call, and the
		// service goes on.
		w.send("GET /")
		require.NoError(t, w.Close())
		w = dialWire(t, p)
		w.send(oneCall)
		w.read(200)
		_ = w.Close()
		if st := u.Stats(0); st.Calls != 2 || st.Late != 0 {
			t.Errorf("%d calls, %d late", st.Calls, st.Late)
		}
	})
}

func TestEveryRequestCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, p, _ := bubble(t, Config{BodyBytes: 50_000})
		w := dialWire(t, p)
		defer func() { _ = w.Close() }()
		want, late := int64(0), int64(0)
		check := func(what string) {
			t.Helper()
			synctest.Wait()
			if st := u.Stats(0); st.Calls != want || st.Late != late {
				t.Fatalf("%s: %d calls, %d late; want %d and %d", what, st.Calls, st.Late, want, late)
			}
		}
		exchange := func(request string, status int, calls int64) {
			t.Helper()
			w.send(request)
			w.read(status)
			want += calls
			check(request)
		}
		long := "X-Long: " + strings.Repeat("x", 3000) + "\r\n"
		for range 3 {
			exchange(oneCall, 200, 1)
			exchange("GET /_/stats HTTP/1.1\r\nHost: x\r\n\r\n", 200, 0)
			exchange("GET /artists/2 HTTP/1.1\r\n"+long+"Host: x\r\n\r\n", 200, 1)
			exchange("GET /_/stats HTTP/1.1\r\n"+long+"Host: x\r\n\r\n", 200, 0)
			exchange("GET /artists/0 HTTP/1.1\r\nHost: x\r\n\r\n", 404, 1)
			exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 404, 1)
			exchange("GET /%5F/stats HTTP/1.1\r\nHost: x\r\n\r\n", 404, 1)
			exchange("POST /artists/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nGET /a", 405, 1)
			exchange("POST /_/reset/ HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nGET /arti", 404, 0)
		}

		// A body that waits for its 100 Continue is not another request.
		w.send("POST /_/faults HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 13\r\n\r\n")
		w.read(100)
		exchange(`{"kind":"no"}`, 400, 0)

		// Two in one piece: the second arrives in its handler.
		w.send(oneCall + oneCall)
		w.read(200)
		w.read(200)
		want, late = want+2, late+1
		check("pipelined")

		// A request that is not HTTP is a call all the same.
		exchange("FLOOD FLOOD FLOOD\r\n\r\n", 400, 1)
		_ = w.Close()
		w = dialWire(t, p)
		exchange(oneCall, 200, 1)
		check("after a connection that was not HTTP")
	})
}

func TestBanOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, _, c := bubble(t, Config{Limit: 20})
		status := func() (int, string) {
			code, _, h, err := get(t.Context(), c, "http://up/artists/3")
			require.NoError(t, err)
			return code, h.Get("Retry-After")
		}
		for i := range 20 {
			if code, _ := status(); code != 200 {
				t.Fatalf("call %d: %d", i+1, code)
			}
		}
		if code, retry := status(); code != 429 || retry != "10" {
			t.Fatalf("call 21: %d, Retry-After %q", code, retry)
		}
		time.Sleep(10*time.Second - 1)
		if code, retry := status(); code != 429 || retry != "1" {
			t.Errorf("the ban ended early: %d, Retry-After %q", code, retry)
		}
		time.Sleep(time.Nanosecond)
		if code, _ := status(); code != 200 {
			t.Errorf("the ban did not end: %d", code)
		}
		if st := u.Stats(0); st.Calls != 23 || st.Violations != 1 || st.Bans != 1 || st.Refused != 2 || st.Worst.Calls != 21 || st.Late != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestConcurrentCalls(t *testing.T) {
	const callers, each = 16, 40
	u := open(t, Config{Limit: callers * each})
	ln := listen(t)
	c := serveOn(t, u, ln, nil)
	url := "http://" + ln.Addr().String()
	var wg sync.WaitGroup
	failed := make(chan error, callers)
	for n := range callers {
		wg.Go(func() {
			priority := []string{"high", "low", "low", ""}[n%4]
			for i := range each {
				code, body, _, err := get(t.Context(), c, fmt.Sprintf("%s/artists/%d", url, 1+n*each+i),
					HeaderPriority, priority, HeaderInstance, fmt.Sprint("i", n%3), HeaderSentAt, fmt.Sprint(int64(u.cfg.Clock())))
				if err == nil && (code != 200 || len(body) != 3000) {
					err = fmt.Errorf("%d, %d bytes", code, len(body))
				}
				if err == nil && i%10 == 0 {
					_, _, _, err = get(t.Context(), c, url+"/_/stats")
				}
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	st := u.Stats(0)
	if st.Calls != callers*each || st.Late != 0 || st.Violations != 0 || st.Log.Calls != st.Calls {
		t.Errorf("%d calls, %d late, %d violations, %d in the log; want %d, 0, 0, all", st.Calls, st.Late, st.Violations, st.Log.Calls, callers*each)
	}
	if st.Classes["high"].Calls != callers/4*each || st.Classes["low"].Calls != callers/2*each || st.Classes["none"].Calls != callers/4*each {
		t.Errorf("classes: %+v", st.Classes)
	}
	if n := st.Instances["i0"] + st.Instances["i1"] + st.Instances["i2"]; n != st.Calls || st.Sent.Calls != st.Calls {
		t.Errorf("instances: %v, sent: %+v", st.Instances, st.Sent)
	}
	logged := calls(t, u)
	var times []time.Duration
	for i, c := range logged {
		times = append(times, c.Arrival)
		if i > 0 && c.Arrival < logged[i-1].Arrival {
			t.Fatalf("the log is out of order at %d", i)
		}
		if c.Sent > c.Arrival || c.Sent == 0 {
			t.Fatalf("call %d was sent at %v and arrived at %v", i, c.Sent, c.Arrival)
		}
	}
	if got := window.Worst(times, second); got != st.Worst {
		t.Errorf("worst window of the log %+v, of the stats %+v", got, st.Worst)
	}
}

// An end of the connection during a control request's first bytes is passed on.
func TestConnPassesErrorsOn(t *testing.T) {
	var s staged
	mine, theirs := net.Pipe()
	c := newConn(theirs, gateAt(&s, 1, time.Second))
	defer c.Close()
	go func() {
		_, _ = io.WriteString(mine, "GET")
		_ = mine.Close()
	}()
	b, err := io.ReadAll(c)
	if string(b) != "GET" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	assert.EqualValues(t, 0, c.gate.calls, "calls")
	if err := c.CloseWrite(); err != nil { // a pipe has no half
		t.Error(err)
	}
}

// net/http ends a pending read by a deadline. The bytes of the read are not lost.
func TestDeadlineKeepsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s staged
		mine, theirs := net.Pipe()
		c := newConn(theirs, gateAt(&s, 1, time.Second))
		defer c.Close()
		defer mine.Close()
		go func() {
			_, _ = io.WriteString(mine, "GET /")
			time.Sleep(2 * time.Second)
			s.set(2 * time.Second)
			_, _ = io.WriteString(mine, "artists/1")
		}()
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Second)))
		buf := make([]byte, 4)
		if n, err := c.Read(buf); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%d bytes, %v", n, err)
		}
		require.NoError(t, c.SetReadDeadline(time.Time{}))
		got := ""
		for len(got) < len("GET /artists/1") {
			n, err := c.Read(buf)
			require.NoErrorf(t, err, "after %q", got)
			got += string(buf[:n])
		}
		if k, ok := c.take(); got != "GET /artists/1" || !ok || k.arrival != 2*time.Second {
			t.Errorf("%q, %+v, %v", got, k, ok)
		}
		if _, ok := c.take(); ok {
			t.Error("the ticket was taken twice")
		}
	})
}
