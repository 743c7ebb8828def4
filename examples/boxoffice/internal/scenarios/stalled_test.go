package scenarios

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/memsse"
	"github.com/millrace-go/millrace/sse/redissse"
)

// The process that serves streams beside another one.
const childStreams = "SCENARIOS_CHILD_STREAMS"

// streaming is a hub behind a server whose kernel buffers little for its clients, so
// that a client that does not read stalls at once. The write to it has no deadline:
// waiting for it would never end.
func streaming(ctx context.Context, limit driver.Cap, broker driver.Broker, ready func(*sse.Hub, string)) error {
	hub, err := sse.New(limit, broker, sse.Config{
		WriteTimeout: time.Hour, Ping: time.Hour, Lifetime: 24 * time.Hour, MaxBytes: 1 << 30, MaxFrames: 1 << 20,
		Lease: 2 * time.Minute, Timeout: 30 * time.Second, Logger: quiet,
	})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = hub.Serve(w, r, sse.Stream{Member: r.URL.Query().Get("member")}) // it has answered
	})}
	ended := make(chan error, 2)
	running, stop := context.WithCancel(ctx)
	go func() { ended <- hub.Run(running) }()
	go func() { ended <- server.Serve(smallBuffers{ln}) }()
	if err = hub.Ready(ctx); err == nil {
		ready(hub, ln.Addr().String())
		<-ctx.Done()
	}
	// The stalled write has no end but this.
	closed := server.Close()
	stop()
	for range 2 {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, closed)
}

type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(4 << 10)
	}
	return conn, err
}

// onRedis has the shared state of the processes' streams.
func onRedis(url, prefix string) (driver.Cap, driver.Broker, func() error, error) {
	client, err := redisdb.Open(url, redisdb.Config{Timeout: time.Minute})
	if err != nil {
		return nil, nil, nil, err
	}
	limit, broker, err := redissse.New(client, redissse.Config{Prefix: prefix})
	if err != nil {
		return nil, nil, nil, errors.Join(err, client.Close())
	}
	return limit, broker, client.Close, nil
}

// serveStreamsAlone is a process that serves streams until it is asked to end.
func serveStreamsAlone(text string) error {
	var given []string
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	limit, broker, end, err := onRedis(given[0], given[1])
	if err != nil {
		return err
	}
	err = streaming(ctx, limit, broker, func(_ *sse.Hub, address string) { fmt.Println(address) })
	return errors.Join(err, end())
}

// listeners are many clients that read all events.
type listeners struct {
	t     *testing.T
	hub   *sse.Hub // that sends
	n     int
	conns []net.Conn
	read  sync.WaitGroup

	mu    sync.Mutex
	sent  time.Time
	event string
	took  []time.Duration
	heard chan struct{} // one for each delivery
}

// opens opens a stream over a connection of its own, and returns its lines.
func opens(t *testing.T, address, member string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	check(t, "a small buffer", conn.(*net.TCPConn).SetReadBuffer(4<<10))
	if _, err := fmt.Fprintf(conn, "GET /?member=%s HTTP/1.1\r\nHost: x\r\n\r\n", member); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(conn)
	for line := ""; !strings.HasPrefix(line, "retry:"); {
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	return conn, lines
}

func listen(t *testing.T, hub *sse.Hub, n int, addresses ...string) *listeners {
	l := &listeners{t: t, hub: hub, n: n, heard: make(chan struct{}, n)}
	t.Cleanup(func() {
		for _, conn := range l.conns {
			_ = conn.Close() // its reader ends
		}
		l.read.Wait()
	})
	for i := range n {
		conn, lines := opens(t, addresses[i%len(addresses)], fmt.Sprint("m", i))
		l.conns = append(l.conns, conn)
		l.read.Go(func() { l.hears(lines) })
	}
	return l
}

func (l *listeners) hears(lines *bufio.Reader) {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		l.mu.Lock()
		right := data == l.event
		l.took = append(l.took, time.Since(l.sent))
		l.mu.Unlock()
		if right {
			l.heard <- struct{}{}
		}
	}
}

// tell sends events to all, each when all have the one before it: if the hub, or one
// of them, waited for the stalled one, the first event would be the last. It returns
// the median of the deliveries.
func (l *listeners) tell(events int) time.Duration {
	l.t.Helper()
	l.mu.Lock()
	l.took = nil
	l.mu.Unlock()
	for range events {
		data := unique() + strings.Repeat("x", 200)
		l.mu.Lock()
		l.sent, l.event = time.Now(), data
		l.mu.Unlock()
		check(l.t, "send", l.hub.ToAll(l.t.Context(), sse.Event{Data: []byte(data)}))
		late := time.NewTimer(patience)
		for range l.n {
			select {
			case <-l.heard:
			case <-late.C:
				l.t.Fatal("an event did not reach all: somebody waits for the stalled one")
			}
		}
		late.Stop()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.took)
	return l.took[len(l.took)/2]
}

// stalls plays rounds with and without a reader that does not read.
func stalls(t *testing.T, hub *sse.Hub, addresses ...string) {
	const readers, events = 200, 60
	l := listen(t, hub, readers, addresses...)
	l.tell(10)
	n := 0
	r := rounds(t, func() time.Duration { return l.tell(events) }, func() time.Duration {
		n++
		member := fmt.Sprint("slow", n)
		conn, _ := opens(t, addresses[0], member)
		defer conn.Close() //nolint:errcheck // it is cut with what it never read
		// More than both kernels hold: the write to it waits from now on.
		check(t, "send", hub.ToMember(t.Context(), member, sse.Event{Data: bytes.Repeat([]byte("x"), 900<<10)}))
		return l.tell(events)
	})
	// Each event above shows that all receive it; how soon is judged with proveEnv.
	if proved(t) != "" && r.ratio() > unchanged {
		t.Errorf("others hear after %v beside a stalled reader, after %v without: %.2f times, at most %.1f", r.judged, r.control, r.ratio(), unchanged)
	}
	measured(t, "%d others hear after %v beside a stalled reader, %v without: %.2f times", readers, r.judged.Round(time.Microsecond), r.control.Round(time.Microsecond), r.ratio())
}

// A client opens a stream and reads nothing, and the write to it has no deadline. The
// others receive every event, as soon as without that client.
func TestScenario23StalledReader(t *testing.T) {
	columns(t, func(t *testing.T) {
		limit, broker := memsse.New()
		hub, address := serveStreams(t, limit, broker)
		stalls(t, hub, address)
	}, func(t *testing.T) {
		url := "redis://" + servicetest.RedisCluster(t)
		prefix := redistest.Prefix(t, openRedis(t, url))
		limit, broker, end, err := onRedis(url, prefix)
		require.NoError(t, err)
		t.Cleanup(func() { check(t, "close the client", end()) })
		hub, _ := serveStreams(t, limit, broker)
		given, err := json.Marshal([]string{url, prefix})
		require.NoError(t, err)
		var addresses []string
		for n := range 2 {
			p, err := launch.Start(launch.Spec{Name: fmt.Sprint("streams ", n+1), Path: os.Args[0], Env: append(os.Environ(), childStreams+"="+string(given)), Log: os.Stderr})
			require.NoError(t, err)
			t.Cleanup(func() { check(t, "stop the streams", p.Stop(30*time.Second)) })
			address, err := p.FirstLine(t.Context())
			require.NoError(t, err)
			addresses = append(addresses, strings.TrimSpace(address))
		}
		stalls(t, hub, addresses...)
	})
}

// serveStreams serves them in this process, until the test's end.
func serveStreams(t *testing.T, limit driver.Cap, broker driver.Broker) (hub *sse.Hub, address string) {
	t.Helper()
	type served struct {
		hub     *sse.Hub
		address string
	}
	ready, failed := make(chan served, 1), make(chan error, 1)
	start(t, "streams", func(ctx context.Context) error {
		err := streaming(ctx, limit, broker, func(h *sse.Hub, a string) { ready <- served{h, a} })
		failed <- err
		return err
	})
	select {
	case s := <-ready:
		return s.hub, s.address
	case err := <-failed:
		t.Fatal(err)
	}
	return nil, ""
}
